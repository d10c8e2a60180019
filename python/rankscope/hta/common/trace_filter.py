"""Replaces HTA's `hta.common.trace_filter`: objects that choose rows of a frame.

A filter is called with a frame and, where names are numbers, the symbol table. A frame without the column that it looks
at comes back as it is, with a warning."""
import logging
from abc import ABC, abstractmethod
from typing import Any, List, Optional, Tuple, Union

from .._need import pandas
from ..utils.utils import get_symbol_column_names
from .trace_symbol_table import TraceSymbolTable

logger = logging.getLogger("rankscope.hta")


class Filter(ABC):
    """What chooses rows."""

    @abstractmethod
    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        """The rows of df that are chosen."""


def _lacks(df, column: str, who: Any) -> bool:
    if column in df.columns:
        return False
    logger.warning("%s: the frame has no column %s, all rows are kept", type(who).__name__, column)
    return True


def _numbers(value: Any, what: str) -> List[int]:
    if not isinstance(value, (int, list)):
        raise TypeError("%s takes a number or a list of them, not %r" % (what, value))
    return [value] if isinstance(value, int) else value


class IterationFilter(Filter):
    """Rows of training steps, by their numbers."""

    def __init__(self, iterations: Union[int, List[int]]) -> None:
        self.iterations = _numbers(iterations, "iterations")

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        return df if _lacks(df, "iteration", self) else df[df["iteration"].isin(self.iterations)]


class IterationIndexFilter(Filter):
    """Rows of training steps, by their places: 0 is the first step there is. Steps -1 (none) have no place; a frame of
    them alone is kept, and places that are not there give an empty frame."""

    def __init__(self, iteration_index: Union[int, List[int]]) -> None:
        self.iteration_index = _numbers(iteration_index, "iteration_index")

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        if _lacks(df, "iteration", self):
            return df
        steps = sorted(step for step in df["iteration"].dropna().unique() if step != -1)
        if not steps:
            return df
        chosen = [step for place, step in enumerate(steps) if place in self.iteration_index]
        if not chosen:
            logger.warning("there are %d steps, none at %s", len(steps), self.iteration_index)
            return pandas().DataFrame()
        return df[df["iteration"].isin(chosen)]


class FirstIterationFilter(IterationIndexFilter):
    """Rows of the first training step."""

    def __init__(self) -> None:
        super().__init__([0])


class RankFilter(Filter):
    """Rows of ranks, of a frame with a column rank."""

    def __init__(self, ranks: Union[int, List[int]]) -> None:
        self.ranks = _numbers(ranks, "ranks")

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        return df if _lacks(df, "rank", self) else df[df["rank"].isin(self.ranks)]


class TimeRangeFilter(Filter):
    """Rows that begin and end between two times."""

    def __init__(self, time_range: Tuple[int, int]) -> None:
        if not isinstance(time_range, tuple) or len(time_range) != 2 or not all(isinstance(time, int) for time in time_range):
            raise ValueError("time_range takes a pair of whole numbers, not %r" % (time_range,))
        self.time_start, self.time_end = time_range
        if self.time_start > self.time_end:
            raise ValueError("time_range ends before it starts: %r" % (time_range,))

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        if _lacks(df, "ts", self):
            return df
        return df[(df["ts"] >= self.time_start) & (df["ts"] + df["dur"] <= self.time_end)]


class NameStringColumnFilter(Filter):
    """Rows whose name, a text, a regular expression matches from its start."""

    def __init__(self, name_pattern: str) -> None:
        self.name_pattern = name_pattern

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        column = get_symbol_column_names(df)[0]
        if not column:
            logger.warning("no column of the frame holds names as texts, all rows are kept")
            return df
        return df[df[column].str.match(self.name_pattern)]


class NameIdColumnFilter(Filter):
    """The same where names are numbers of the symbol table."""

    def __init__(self, name_pattern: str) -> None:
        self.name_pattern = name_pattern
        self.name_column = "name"

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        if symbol_table is None:
            logger.warning("names are numbers and there is no symbol table, all rows are kept")
            return df
        return df[df[self.name_column].isin(list(symbol_table.get_symbol_ids(self.name_pattern).values()))]


class NameFilter(Filter):
    """The same of either kind: with a symbol table, given here or there, names are numbers."""

    def __init__(
        self, name_pattern: str, symbol_table: Optional[TraceSymbolTable] = None, name_column: Optional[str] = None
    ) -> None:
        self.name_pattern, self.symbol_table, self.name_column = name_pattern, symbol_table, name_column

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        symbols = self.symbol_table if symbol_table is None else symbol_table
        if len(df) == 0:
            return df
        if symbols is None:
            return NameStringColumnFilter(self.name_pattern)(df)
        return NameIdColumnFilter(self.name_pattern)(df, symbols)


class QueryFilter:
    """Rows for which an expression of DataFrame.query holds."""

    def __init__(self, query_str: str) -> None:
        self.filter_query = query_str

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        return df.query(self.filter_query)


ZeroDurationFilter = QueryFilter("dur > 0")


def _is_gpu(df, symbol_table: Optional[TraceSymbolTable]):
    """GPU work, and the device's synchronizations, which have no stream."""
    work = (df["stream"] >= 0) & (df["correlation"] >= 0)
    if symbol_table is None:
        return work
    numbers = [symbol_table.get_sym_id_map().get(name, -1) for name in ("Event Sync", "Context Sync")]
    return work | df["name"].isin(numbers)


class GPUKernelFilter(Filter):
    """Rows of the GPU. Without a symbol table synchronizations without a stream are not recognised."""

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        return df if _lacks(df, "stream", self) else df[_is_gpu(df, symbol_table)]


class CPUOperatorFilter(Filter):
    """Rows of the host: all others, and without a symbol table those without a stream."""

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        if _lacks(df, "stream", self):
            return df
        return df[df["stream"] == -1] if symbol_table is None else df[~_is_gpu(df, symbol_table)]


class MemCopyEventFilter(Filter):
    """Rows of one kind of copy, by its whole name."""

    def __init__(self, memory_copy_type: str, symbol_table: Optional[TraceSymbolTable] = None) -> None:
        self.memory_copy_type, self.symbol_table = memory_copy_type, symbol_table

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        symbols = self.symbol_table if symbol_table is None else symbol_table
        numbers = symbols.get_sym_id_map() if symbols is not None else {}
        if len(df) == 0 or self.memory_copy_type not in numbers:
            return df.iloc[:0] if len(df.columns) else df
        return df[(df["name"] == numbers[self.memory_copy_type]) & (df["cat"] == numbers.get("gpu_memcpy", -1))]


class CompositeFilter(Filter):
    """Filters one after the other."""

    def __init__(self, filters: List[Filter]) -> None:
        if any(one is self for one in filters):
            raise ValueError("a filter cannot be made of itself")
        for one in filters:
            if not isinstance(one, (Filter, QueryFilter)):
                raise TypeError("filters takes filters, not %r" % (one,))
        self.filters = filters

    def __call__(self, df, symbol_table: Optional[TraceSymbolTable] = None):
        for one in self.filters:
            df = one(df, symbol_table)
        return df
