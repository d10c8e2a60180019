"""HTA's table of the names and categories that its frames hold as numbers."""
import os
import re
from typing import Any, Callable, Dict, Iterable, List, Optional

from .._need import pandas
from .names import shorten_name
from .types import (
    CPU_EVENTS_CATEGORY_PATTERN,
    GroupingPattern,
    KERNEL_CATEGORY_PATTERN,
    KERNEL_LAUNCH_CATEGORY_PATTERN,
    MemoryKernelGroupingPattern,
    ProfilerStepGroupingPattern,
)

__all__ = ["TraceSymbolTable", "decode_symbol_id_to_symbol_name"]

# Calls that launch work, as HTA's queries know them.
_LAUNCHES = (
    "cudaMemsetAsync",
    "cudaMemcpyAsync",
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cuLaunchKernel",
    "runFunction - job_prep_and_submit_for_execution",
    "hipLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipMemcpyAsync",
    "hipMemsetAsync",
    "hipMemcpyWithStream",
)


def _is_text(series) -> bool:
    return series.dtype == object or str(series.dtype) in ("str", "string")


def _is_number(series) -> bool:
    return series.dtype.kind in "iu"


class TraceSymbolTable:
    """Texts by number. As in HTA no caller may rely on which number a text has.

    The table of a Trace holds all texts of its files: it is filled at the first access, as what is made by the
    engine needs no table."""

    NULL: int = -128  # stands for a text that is not there

    def __init__(self, symbols: Iterable[str] = ()):
        self._texts: List[str] = []
        self._numbers: Dict[str, int] = {}
        self._more: Optional[Callable[[], Iterable[str]]] = None
        self.add_symbols(symbols)

    def fill_later(self, more: Callable[[], Iterable[str]]) -> None:
        """more gives the texts that are still missing when the table is first looked at."""
        self._more = more

    def _filled(self) -> "TraceSymbolTable":
        if self._more is not None:
            more, self._more = self._more, None
            self.add_symbols(more())
        return self

    @property
    def sym_table(self) -> List[str]:
        """The texts in the order of their numbers."""
        return self._filled()._texts

    @sym_table.setter
    def sym_table(self, texts: List[str]) -> None:
        self._more, self._texts = None, texts

    @property
    def sym_index(self) -> Dict[str, int]:
        """The number of each text."""
        return self._filled()._numbers

    @sym_index.setter
    def sym_index(self, numbers: Dict[str, int]) -> None:
        self._more, self._numbers = None, numbers

    def add_symbols(self, symbols: Iterable[str]) -> None:
        for symbol in symbols:
            if symbol not in self._numbers:
                self._numbers[symbol] = len(self._texts)
                self._texts.append(symbol)

    def add_symbols_mp(self, symbols_list: List[Iterable[str]]) -> None:
        """As add_symbols for each of several lists. Nothing is gained by processes: there is one table to fill."""
        for symbols in symbols_list:
            self.add_symbols(symbols)

    def number(self, symbol: Any) -> int:
        """The number of a text that was added; -1: it was not."""
        return self._numbers.get(symbol, -1)

    def get_sym_table(self) -> List[str]:
        return self.sym_table

    def get_sym_id_map(self) -> Dict[str, int]:
        return self.sym_index

    get_sym_index = get_sym_id_map

    def get_sym_table_series(self):
        """Texts by number, as a series."""
        return pandas().Series(self.sym_table, dtype=object if self.sym_table else "string")

    def get_sym_index_series(self):
        """Numbers by text, as a series."""
        return pandas().Series(self.sym_index, dtype="int64")

    def is_empty(self) -> bool:
        return not self.sym_table

    # ---- other tables ------------------------------------------------------------------------------------------

    @staticmethod
    def clone(symbol_table: "TraceSymbolTable") -> "TraceSymbolTable":
        copy = TraceSymbolTable()
        copy._texts, copy._numbers = list(symbol_table.sym_table), dict(symbol_table.sym_index)
        return copy

    @staticmethod
    def combine_symbol_tables(tables: List["TraceSymbolTable"]) -> "TraceSymbolTable":
        """One table with the texts of all, in their order."""
        return TraceSymbolTable(text for table in tables for text in table.sym_table)

    @staticmethod
    def create_from_df(df) -> "TraceSymbolTable":
        """The texts of the columns cat and name."""
        for column in ("cat", "name"):
            if column not in df.columns or not _is_text(df[column]):
                raise ValueError("the frame needs columns name and cat of texts; %s is none" % column)
        return TraceSymbolTable(text for column in ("cat", "name") for text in df[column].unique())

    @staticmethod
    def create_from_symbol_id_map(symbol_id_map: Dict[str, int]) -> "TraceSymbolTable":
        """Texts under given numbers; Undefined-N is the text of a number that is missing."""
        texts = ["Undefined-%d" % number for number in range(max(symbol_id_map.values(), default=-1) + 1)]
        for text, number in symbol_id_map.items():
            texts[number] = text
        return TraceSymbolTable(texts)

    @staticmethod
    def from_csv_file(file_path: str) -> "TraceSymbolTable":
        """From a file of comma-separated values with a column `symbol`."""
        if not os.path.exists(file_path):
            raise FileNotFoundError("there is no file %s" % file_path)
        frame = pandas().read_csv(file_path)
        if "symbol" not in frame.columns:
            raise ValueError("%s has no column symbol; it has %s" % (file_path, ", ".join(map(str, frame.columns))))
        return TraceSymbolTable(frame["symbol"].tolist())

    def _to_csv_file(self, file_path: str) -> None:
        pandas().DataFrame({"symbol": self.sym_table}).to_csv(file_path)

    # ---- columns of a frame ------------------------------------------------------------------------------------

    def encode(self, series):
        """Numbers for texts; new texts get new numbers."""
        codes, different = pandas().factorize(series)
        self.add_symbols(different)
        numbers = pandas().Series([self._numbers[s] for s in different], dtype="int64")
        numbers = numbers.reindex(codes).set_axis(series.index) if len(series) else numbers
        return pandas().to_numeric(numbers, downcast="integer")

    def decode(self, series):
        """Texts for numbers; "" for a number that is no text's."""
        import numpy  # pandas needs it, too

        texts = numpy.empty(len(self.sym_table) + 1, dtype=object)
        texts[:-1] = self.sym_table
        texts[-1] = ""
        numbers = series.to_numpy(dtype="int64", na_value=-1) if series.dtype == object else series.to_numpy()
        known = (numbers >= 0) & (numbers < len(self.sym_table))
        return pandas().Series(texts[numpy.where(known, numbers, len(self.sym_table)).astype("int64")], index=series.index)

    def encode_df(self, df) -> None:
        """Texts of name and cat become numbers. A text that is not in the table is a KeyError."""
        for column in ("name", "cat"):
            if column in df.columns and _is_text(df[column]):
                numbers = self.sym_index
                df[column] = [numbers[text] for text in df[column]]

    def decode_df(self, df, create_new_columns: bool = True) -> None:
        """Numbers of name and cat become texts, in s_name and s_cat or in their own place."""
        for column in ("name", "cat"):
            if column in df.columns and _is_number(df[column]):
                df["s_" + column if create_new_columns else column] = self.decode(df[column])

    def update_encoded_df(self, df, old_symbol_table: "TraceSymbolTable") -> None:
        """Numbers of another table become those of this one."""
        for column in ("cat", "name"):
            numbers = self.sym_index
            df[column] = [numbers[text] for text in old_symbol_table.decode(df[column])]

    def add_symbols_to_trace_df(self, trace_df, col: str) -> None:
        """Puts the texts in the place of a column of numbers."""
        trace_df[col] = self.decode(trace_df[col])

    # ---- looking for texts -------------------------------------------------------------------------------------

    def find_matches(self, patterns: Iterable[str]) -> List[int]:
        """Numbers of the texts that contain one of these."""
        patterns = list(patterns)
        return [i for i, s in enumerate(self.sym_table) if any(p in s for p in patterns)]

    def find_matched_symbols(self, patterns: Iterable[str]) -> List[str]:
        """Texts that contain one of these."""
        return [self.sym_table[i] for i in self.find_matches(patterns)]

    def get_symbol_ids(self, symbol_pattern: Any) -> Dict[str, int]:
        """Numbers of the texts that a GroupingPattern, or a text of a regular expression, matches from their start."""
        pattern = symbol_pattern
        if not isinstance(pattern, GroupingPattern):
            pattern = GroupingPattern(re.compile(pattern))
        return {text: number for text, number in self.sym_index.items() if pattern.match(text)}

    def get_symbol_names(self, symbol_ids: List[int]) -> Dict[int, str]:
        """Texts of the numbers that there are."""
        return {number: self.sym_table[number] for number in sorted(set(symbol_ids)) if 0 <= number < len(self.sym_table)}

    def get_cpu_event_cat_ids(self) -> List[int]:
        return list(self.get_symbol_ids(CPU_EVENTS_CATEGORY_PATTERN).values())

    def get_gpu_kernel_cat_ids(self) -> List[int]:
        return list(self.get_symbol_ids(KERNEL_CATEGORY_PATTERN).values())

    def get_profiler_step_ids(self) -> List[int]:
        return list(self.get_symbol_ids(ProfilerStepGroupingPattern).values())

    def get_memory_name_ids(self) -> List[int]:
        return list(self.get_symbol_ids(MemoryKernelGroupingPattern).values())

    def get_kernel_launch_ids(self) -> List[int]:
        return list(self.get_symbol_ids(KERNEL_LAUNCH_CATEGORY_PATTERN).values())

    # ---- queries for DataFrame.query ---------------------------------------------------------------------------

    def _any_of(self, column: str, texts: Iterable[str], missing: Optional[int]) -> str:
        return "(%s)" % " or ".join("(%s == %s)" % (column, self.sym_index.get(text, missing)) for text in texts)

    def get_operator_or_cuda_runtime_query(self) -> str:
        """Rows that are operators or calls of the CUDA runtime or driver."""
        return self._any_of("cat", ("cpu_op", "cuda_runtime", "cuda_driver"), self.NULL)

    def get_runtime_launch_events_query(self) -> str:
        """Rows that launched work which is in the trace."""
        return "%s and (index_correlation > 0)" % self._any_of("name", _LAUNCHES, self.NULL)


def decode_symbol_id_to_symbol_name(df, symbol_table: TraceSymbolTable, use_shorten_name: bool) -> None:
    """Adds the texts s_name, s_cat and s_user_annotation of the columns of numbers."""
    for column in ("name", "cat", "user_annotation"):
        if column in df.columns and _is_number(df[column]):
            texts = symbol_table.decode(df[column])
            if use_shorten_name:
                short = {text: shorten_name(text) for text in texts.unique()}
                texts = texts.map(short)
            df["s_" + column] = texts
