"""HTA's table of the names and categories that its frames hold as numbers."""
from typing import Dict, Iterable, List

from .._need import pandas


class TraceSymbolTable:
    """Texts by number. As in HTA nobody may rely on which number a text has."""

    def __init__(self, symbols: Iterable[str] = ()):
        self.sym_table: List[str] = []
        self.sym_index: Dict[str, int] = {}
        self.add_symbols(symbols)

    def add_symbols(self, symbols: Iterable[str]) -> None:
        for symbol in symbols:
            if symbol not in self.sym_index:
                self.sym_index[symbol] = len(self.sym_table)
                self.sym_table.append(symbol)

    def get_sym_table(self) -> List[str]:
        return self.sym_table

    def get_sym_id_map(self) -> Dict[str, int]:
        return self.sym_index

    def is_empty(self) -> bool:
        return not self.sym_table

    def encode(self, series):
        """Numbers for texts; new texts get new numbers."""
        codes, different = pandas().factorize(series)
        self.add_symbols(different)
        numbers = pandas().Series([self.sym_index[s] for s in different], dtype="int64")
        numbers = numbers.reindex(codes).set_axis(series.index) if len(series) else numbers
        return pandas().to_numeric(numbers, downcast="integer")

    def decode(self, series):
        """Texts for numbers."""
        return pandas().Series(self.sym_table, dtype=object).reindex(series).set_axis(series.index)

    def add_symbols_to_trace_df(self, trace_df, col: str) -> None:
        """Adds the texts of a column of numbers: s_name for name."""
        trace_df["s_" + col] = self.decode(trace_df[col])

    def find_matches(self, patterns: Iterable[str]) -> List[int]:
        """Numbers of the texts that contain one of these."""
        patterns = list(patterns)
        return [i for i, s in enumerate(self.sym_table) if any(p in s for p in patterns)]

    def find_matched_symbols(self, patterns: Iterable[str]) -> List[str]:
        return [self.sym_table[i] for i in self.find_matches(patterns)]

    def get_symbol_ids(self, pattern: str) -> List[int]:
        return self.find_matches([pattern])
