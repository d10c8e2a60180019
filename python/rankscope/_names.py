"""Names of columns: one quantity has one name, and where tables have more than one, each finds the column."""
from typing import Dict, Sequence, Tuple

# The name that new tables take comes first. Frames in the form of another tool keep that tool's.
SAME: Tuple[Tuple[str, ...], ...] = (
    ("compute_us", "computation_us"),
    ("comm_us", "communication_us"),
    ("exposed_comm_us", "exposed_us"),
    ("exposed_copy_us", "exposed_copies_us"),
    ("start_us", "ts_us", "ts"),
    ("end_us", "end"),
    ("duration_us", "dur_us", "dur", "duration"),
    ("weight_us", "weight"),
    ("path_weight_us", "path_weight"),
    ("call_mean_us", "mean_launch_us"),
    ("category", "cat"),
    ("position", "index"),
)
_GROUPS: Dict[str, Tuple[str, ...]] = {name: group for group in SAME for name in group}


def find(name: str, columns: Sequence[str]) -> str:
    """The column of a table that a name means: its own, else the one under another name of the same quantity. The name
    itself where there is none, or more than one."""
    if name in columns or name not in _GROUPS:
        return name
    others = [other for other in _GROUPS[name] if other in columns]
    return others[0] if len(others) == 1 else name
