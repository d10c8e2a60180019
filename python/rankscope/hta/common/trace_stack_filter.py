"""Replaces HTA's `hta.common.trace_stack_filter`: filters by the place of an operator in time."""
import logging
from enum import Enum
from typing import List, Optional

from .._need import pandas
from ..utils.utils import get_symbol_column_names
from .trace_df import find_op_occurrence
from .trace_filter import Filter, FirstIterationFilter
from .trace_symbol_table import TraceSymbolTable

logger = logging.getLogger("rankscope.hta")


def get_matching_kernels(df_ops, df_both, cat_column: str):
    """The rows of work that calls of the runtime among df_ops launched."""
    launches = df_ops.loc[df_ops[cat_column].isin(["cuda_runtime", "cuda_driver", "hip_runtime"]), "index"]
    return df_both[df_both["index_correlation"].isin(launches)]


class OperatorFilterMethod(Enum):
    """Which events are meant: those within the operator, after it, before it."""

    Under = 0
    After = 1
    Before = 2
    Ancestors = 3
    Stack = 4


class OperatorFilter(Filter):
    """Events of the operator's own stream (host: -1) within, after or before its n-th occurrence in time (negative:
    from the last), with the work that they launched where include_gpu_kernels says so. Empty where it does not occur."""

    def __init__(
        self,
        op_name: str,
        position: int,
        method: OperatorFilterMethod,
        include_gpu_kernels: bool = False,
        name_column: Optional[str] = None,
    ) -> None:
        if method not in (OperatorFilterMethod.Under, OperatorFilterMethod.After, OperatorFilterMethod.Before):
            raise NotImplementedError("operators are looked at by Under, After and Before, not by %s" % (method,))
        self.op_name, self.position, self.method = op_name, position, method
        self.include_gpu_kernels, self.name_column = include_gpu_kernels, name_column or ""

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        if self.name_column:
            name, cat = self.name_column, self.name_column.replace("name", "cat")
        else:
            name, cat = get_symbol_column_names(df)
        if not name or not cat or name not in df.columns or cat not in df.columns:
            logger.error("the frame has no names and categories as texts (decode_symbol_ids adds them), all rows are kept")
            return df
        found, op = find_op_occurrence(df, self.op_name, self.position, name)
        if not found:
            logger.warning("there is no occurrence %d of %s", self.position, self.op_name)
            return pandas().DataFrame()
        if self.method is OperatorFilterMethod.Under:
            chosen = (df["ts"] >= op["ts"]) & (df["end"] <= op["end"])
        elif self.method is OperatorFilterMethod.After:
            chosen = df["ts"] >= op["end"]
        else:
            chosen = df["end"] <= op["ts"]
        rows = df[chosen & (df["stream"] == op["stream"])]
        return pandas().concat([rows, get_matching_kernels(rows, df, cat)]) if self.include_gpu_kernels else rows


class UnderOperatorFilter(OperatorFilter):
    """Events within an operator."""

    def __init__(self, op_name: str, position: int, include_gpu_kernels: bool = False, name_column: Optional[str] = None) -> None:
        super().__init__(op_name, position, OperatorFilterMethod.Under, include_gpu_kernels, name_column)


class AfterOperatorFilter(OperatorFilter):
    """Events after an operator's end."""

    def __init__(self, op_name: str, position: int, include_gpu_kernels: bool = False, name_column: Optional[str] = None) -> None:
        super().__init__(op_name, position, OperatorFilterMethod.After, include_gpu_kernels, name_column)


class BeforeOperatorFilter(OperatorFilter):
    """Events in front of an operator's start."""

    def __init__(self, op_name: str, position: int, include_gpu_kernels: bool = False, name_column: Optional[str] = None) -> None:
        super().__init__(op_name, position, OperatorFilterMethod.Before, include_gpu_kernels, name_column)


class CombinedOperatorFilter(Filter):
    """Events of the first step, within root_op's first occurrence, after preceding_op's last and before following_op's
    first; an operator that does not occur restricts nothing. stack_depths keeps those depths (a CallGraph's) of host events."""

    def __init__(
        self,
        root_op_name: str,
        preceding_op_name: str,
        following_op_name: str,
        include_gpu_kernels: bool = False,
        stack_depths: Optional[List[int]] = None,
    ) -> None:
        self.root_op_name, self.preceding_op_name, self.following_op_name = root_op_name, preceding_op_name, following_op_name
        self.include_gpu_kernels, self.stack_depths = include_gpu_kernels, stack_depths or []

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        name, cat = get_symbol_column_names(df)
        if not name or not cat:
            logger.error("the frame has no names and categories as texts (decode_symbol_ids adds them), all rows are kept")
            return df
        rows = FirstIterationFilter()(df)
        for kind, op, position in (
            (UnderOperatorFilter, self.root_op_name, 0),
            (AfterOperatorFilter, self.preceding_op_name, -1),
            (BeforeOperatorFilter, self.following_op_name, 0),
        ):
            if find_op_occurrence(rows, op, position, name)[0]:
                rows = kind(op, position, False, name)(rows)
        if len(rows) and self.include_gpu_kernels:
            rows = pandas().concat([get_matching_kernels(rows, df, cat), rows])
        if self.stack_depths and "depth" in rows.columns:
            rows = rows[(rows["stream"] > 0) | rows["depth"].isin(self.stack_depths)]
        return rows
