"""Replaces HTA's `hta.common.trace_df`: looking for rows of a frame."""
from typing import Any, List, Tuple

from .._need import pandas
from .trace_symbol_table import TraceSymbolTable


def get_iterations(df) -> List[int]:
    """The numbers of the training steps."""
    if "iteration" not in df.columns or df["iteration"].dtype.kind != "i":
        raise TypeError("the frame needs a column iteration of whole numbers")
    return sorted(step for step in df["iteration"].unique().tolist() if step != -1)


def find_op_occurrence(df, op_name: str, position: int, name_column: str = "s_name") -> Tuple[bool, Any]:
    """Whether the event of this name and number in time is there (negative: from the last), and its row."""
    nothing = pandas().Series(dtype=object)
    if len(df) == 0 or "ts" not in df.columns or name_column not in df.columns:
        return False, nothing
    rows = df[df[name_column] == op_name].sort_values("ts", kind="stable")
    if not -len(rows) <= position < len(rows):
        return False, nothing
    return True, rows.iloc[position]


def find_events_by_name_patterns_using_symbol_table(df, list_name_patterns: List[str], symbol_table: TraceSymbolTable):
    """The column index of the rows whose name one of the regular expressions matches from its start; names are numbers."""
    numbers = {number for pattern in list_name_patterns for number in symbol_table.get_symbol_ids(pattern).values()}
    return df.loc[df["name"].isin(numbers), "index"]


def find_events_by_name_patterns_using_decoded_names(df, list_name_patterns: List[str], name_column: str = "s_name"):
    """The same where names are texts."""
    matches = df[name_column].str.match("|".join("(?:%s)" % pattern for pattern in list_name_patterns)) if list_name_patterns else False
    return df.loc[matches, "index"] if list_name_patterns else df["index"].iloc[:0]
