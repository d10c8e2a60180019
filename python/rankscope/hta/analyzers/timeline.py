"""Replaces HTA's `hta.analyzers.timeline`: the work of the GPUs over time, by its kind of name."""
import re
from typing import Any, Iterable, List, Optional

from .._need import pandas
from ..common.trace_symbol_table import TraceSymbolTable

try:
    import plotly.express as px
except ImportError:  # plot_timeline says so
    px = None  # type: ignore[assignment]

_COLUMNS = ("iteration", "name", "cat", "rank", "stream", "ts", "dur")
_DRAWN = ("calibrated_start_global", "calibrated_end_global", "task", "label")


def _need(df, columns: Iterable[str]) -> None:
    missing = [column for column in columns if column not in df.columns]
    if missing:
        raise ValueError("the frame has no column %s; it has %s" % (", ".join(missing), ", ".join(map(str, df.columns))))


def _get_unique_values(df, col: str, exclude_values: Iterable[int] = (-1,)) -> List[Any]:
    _need(df, [col])
    return sorted(value for value in df[col].unique().tolist() if value not in exclude_values)


def _simplify_name(name: str) -> str:
    """Without type, arguments and spaces."""
    for pattern in (r"\(.+\)", r"<.*>?", r"^void\s+", r"\s+", "autograd::engine::evaluate_function"):
        name = re.sub(pattern, "", name)
    return name


def prepare_timeline_gpu_events(
    df,
    symbol_table: TraceSymbolTable,
    ranks: Optional[List[int]] = None,
    iterations: Optional[List[int]] = None,
    streams: Optional[List[int]] = None,
    duration_threshold: int = 1000,
):
    """The work of some ranks, steps and streams, or of all, with lanes and labels; shorter work is drawn that long (us)."""
    _need(df, _COLUMNS)
    chosen = df["stream"] != -1
    for column, values in (("rank", ranks), ("iteration", iterations), ("stream", streams)):
        chosen &= df[column].isin(_get_unique_values(df, column) if values is None else values)
    events = df[chosen].copy()
    events["s_name"], events["s_cat"] = symbol_table.decode(events["name"]), symbol_table.decode(events["cat"])
    events["label"] = events["s_name"].map(_simplify_name)
    start = events["ts"] - events["ts"].min() if len(events) else events["ts"]
    events["calibrated_start_global"] = pandas().to_datetime(start, unit="us")
    events["calibrated_end_global"] = pandas().to_datetime(start + events["dur"].clip(lower=duration_threshold), unit="us")
    events["task"] = "rank " + events["rank"].astype(str) + " stream " + events["stream"].astype(str)
    return events.sort_values(["rank", "stream", "ts"], kind="stable")


def plot_timeline(title: str, events, ranks: Optional[List[int]] = None) -> None:
    """Draws what prepare_timeline_gpu_events gave."""
    _need(events, _DRAWN)
    if px is None:
        raise ImportError("timelines are drawn with plotly, which is not installed: pip install plotly")
    if ranks is None:
        ranks = sorted(events["rank"].unique()) if "rank" in events.columns else []
    hover = [column for column in ("rank", "stream", "iteration", "s_cat", "s_name", "dur") if column in events.columns]
    px.timeline(
        events,
        x_start="calibrated_start_global",
        x_end="calibrated_end_global",
        y="task",
        color="label",
        hover_data=hover,
        category_orders={"task": sorted(events["task"].unique())},
        height=200 + 120 * len(ranks),
        title=title,
    ).show()


def plot_timeline_gpu_kernels(
    title: str,
    df,
    symbol_table: TraceSymbolTable,
    ranks: Optional[List[int]] = None,
    iterations: Optional[List[int]] = None,
    streams: Optional[List[int]] = None,
    duration_threshold: int = 1000,
) -> None:
    """Both in one."""
    plot_timeline(title, prepare_timeline_gpu_events(df, symbol_table, ranks, iterations, streams, duration_threshold), ranks)


def plot_timeline_gpu_kernels_from_trace(
    title: str,
    t: Any,
    ranks: Optional[List[int]] = None,
    iterations: Optional[List[int]] = None,
    streams: Optional[List[int]] = None,
    duration_threshold: int = 1000,
) -> None:
    """The same of a Trace."""
    chosen = t.get_ranks() if ranks is None else ranks
    rows = pandas().concat([t.get_trace(rank).assign(rank=rank) for rank in chosen])
    plot_timeline_gpu_kernels(title, rows, t.symbol_table, chosen, iterations, streams, duration_threshold)
