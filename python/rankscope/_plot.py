"""Pictures of a job in a notebook, drawn with plotly: job.plot.breakdown() and the like. No number is computed here."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from ._table import Table
from .errors import UsageError

if TYPE_CHECKING:
    from ._job import Job

# The report's colours.
COLORS = {"computation": "#0b62a8", "communication": "#e08a00", "memory": "#3aa17e", "idle": "#c9ced6"}
_PARTS = (("compute", "computation"), ("exposed_comm", "communication"), ("exposed_copy", "memory"), ("idle", "idle"))
_WORDS = {"compute": "computation", "exposed_comm": "exposed communication", "exposed_copy": "exposed copies", "idle": "idle"}


def _plotly() -> Any:
    try:
        return importlib.import_module("plotly.graph_objects")
    except ImportError as error:
        raise ImportError("pictures are drawn with plotly: pip install plotly; the tables need none (job.breakdown())") from error


def _short(name: Optional[str], most: int = 80) -> str:
    name = name or ""
    return name if len(name) <= most else name[:most // 2] + "\u2026" + name[-(most // 2):]


def _some(table: Table, what: str) -> Table:
    """The table, if it has rows; else why there is nothing to draw."""
    if not len(table):
        raise UsageError("there is nothing to draw: %s" % ("; ".join(table.notes) or what))
    return table


class Plots:
    """Each method gives a plotly figure; ranks, steps and window choose a part of the job, as in any other call."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def _table(self, analysis: str, table: Optional[str], part: Dict[str, Any], **options: Any) -> Table:
        result = self._job.run(analysis, **{name: value for name, value in part.items() if value is not None}, **options)
        return result.table if table is None else result[table]

    def breakdown(self, *, ranks: Any = None, steps: Any = None, window: Any = None) -> Any:
        """Where each rank's GPU time goes: a bar a rank, in percent of its span."""
        go = _plotly()
        rows = _some(self._table("breakdown", None, {"ranks": ranks, "steps": steps, "window": window}), "no rank has GPU work")
        names = ["rank %s" % rank for rank in rows["rank"]]
        figure = go.Figure([
            go.Bar(y=names, x=rows[part + "_pct"], orientation="h", name=_WORDS[part], marker_color=COLORS[color],
                   customdata=rows[part + "_us"], hovertemplate="%{customdata:.1f} us, %{x:.1f} %<extra>" + _WORDS[part] + "</extra>")
            for part, color in _PARTS])
        return figure.update_layout(barmode="stack", title="Where the GPU time goes", xaxis_title="percent of the span",
                                    yaxis_autorange="reversed", height=160 + 26 * len(names), legend_traceorder="normal")

    def steps(self, *, ranks: Any = None, steps: Any = None, window: Any = None) -> Any:
        """How long each training step took, a line a rank."""
        go = _plotly()
        rows = _some(self._table("steps", "steps", {"ranks": ranks, "steps": steps, "window": window}), "the traces have no steps")
        lines: Dict[Any, List[Any]] = {}
        for rank, step, length in zip(rows["rank"], rows["step"], rows["length_us"]):
            lines.setdefault(rank, []).append((step, None if length is None else length / 1e3))
        figure = go.Figure([go.Scatter(x=[at for at, _ in line], y=[length for _, length in line], mode="lines+markers", name="rank %s" % rank)
                            for rank, line in lines.items()])
        return figure.update_layout(title="Length of the steps", xaxis_title="step", yaxis_title="ms")

    def timeline(self, *, ranks: Any = None, steps: Any = None, window: Any = None, most: int = 5000) -> Any:
        """The GPU work over time, a lane a rank and stream, coloured by what it is. Of more than `most` pieces the longest
        are drawn, and the title says so."""
        go = _plotly()
        part = {"ranks": ranks, "steps": steps, "window": window}
        events = _some(self._table("events", None, part, where="cat in (kernel, gpu_memcpy, gpu_memset)"), "there is no GPU work")
        kernels = self._table("kernels", None, part, by="name", top=1000000, duration_ratio=1)
        kinds = dict(zip(kernels["name"], kernels["class"]))
        lengths = events["dur_us"]
        order = sorted(range(len(events)), key=lambda at: -(lengths[at] or 0))
        shown = sorted(order[:most])
        columns = {name: events[name] for name in ("rank", "stream", "name", "ts_us", "dur_us")}
        lanes = sorted({(columns["rank"][at], columns["stream"][at]) for at in shown}, key=lambda lane: (lane[0], lane[1] is None, lane[1]))
        text = {lane: "rank %s, stream %s" % lane for lane in lanes}
        bars = []
        for kind, color in COLORS.items():
            chosen = [at for at in shown if kinds.get(columns["name"][at], "computation") == kind]
            if chosen:
                bars.append(go.Bar(
                    y=[text[columns["rank"][at], columns["stream"][at]] for at in chosen], x=[columns["dur_us"][at] / 1e3 for at in chosen],
                    base=[columns["ts_us"][at] / 1e3 for at in chosen], orientation="h", name=kind, marker_color=color, marker_line_width=0,
                    customdata=[_short(columns["name"][at]) for at in chosen],
                    hovertemplate="%{customdata}<br>%{base:.3f} ms, %{x:.3f} ms long<extra></extra>"))
        left_out = len(events) - len(shown)
        title = "GPU work" + (": the longest %d of %d pieces" % (len(shown), len(events)) if left_out else "")
        return go.Figure(bars).update_layout(title=title, barmode="overlay", xaxis_title="ms", height=160 + 26 * len(lanes),
                                             yaxis={"categoryorder": "array", "categoryarray": [text[lane] for lane in lanes[::-1]]})

    def roofline(self, *, ranks: Any = None, steps: Any = None, window: Any = None, device: Any = None) -> Any:
        """Operators by their operations a byte and what they reach, below what the device can do."""
        go = _plotly()
        options = {} if device is None else {"device": device}
        result = self._job.run("roofline", **{k: v for k, v in {"ranks": ranks, "steps": steps, "window": window}.items() if v is not None}, **options)
        points = [row for row in result["args"] if row["flops_per_byte"] and row["tflops_per_s"]]
        if not points:
            raise UsageError("there is nothing to draw: %s" % ("; ".join(result.notes) or "no operator has a known number of operations"))
        figure = go.Figure()
        known: List[str] = []
        for row in result["roofs"]:
            name = "%s %s" % (row["precision"], row["unit"])
            if row["mem_gbps"] and row["tflops_per_s"] and name not in known:
                known.append(name)
                slope, peak = row["mem_gbps"] / 1e3, row["tflops_per_s"]
                low, high = min(one["flops_per_byte"] for one in points) / 2, max(max(one["flops_per_byte"] for one in points), peak / slope) * 4
                figure.add_trace(go.Scatter(x=[low, peak / slope, high], y=[low * slope, peak, peak], mode="lines", name=name))
        biggest = max(row["kernel_us"] for row in points) or 1
        for precision in sorted({row["precision"] or "" for row in points}):
            chosen = [row for row in points if (row["precision"] or "") == precision]
            figure.add_trace(go.Scatter(
                x=[row["flops_per_byte"] for row in chosen], y=[row["tflops_per_s"] for row in chosen], mode="markers", name=precision or "operators",
                marker={"size": [6 + 24 * (row["kernel_us"] / biggest) ** 0.5 for row in chosen], "opacity": 0.7},
                customdata=[[_short(row["name"]), row["kernel_us"], row["count"], row["rank"], row["efficiency_pct"] or 0] for row in chosen],
                hovertemplate="%{customdata[0]}, rank %{customdata[3]}<br>%{customdata[1]:.0f} us, %{customdata[2]} times, "
                              "%{customdata[4]:.0f} % of the bound<extra></extra>"))
        return figure.update_layout(title="Roofline", xaxis={"type": "log", "title": "operations a byte"},
                                    yaxis={"type": "log", "title": "TFLOP/s"})

    def heatmap(self, *, ranks: Any = None, steps: Any = None, window: Any = None) -> Any:
        """How much slower the job is for each worker's sake: stages down, data-parallel ranks across."""
        go = _plotly()
        rows = _some(self._table("whatif", "workers", {"ranks": ranks, "steps": steps, "window": window}, map=True), "one rank has no map")
        stages = sorted({stage or 0 for stage in rows["stage"]})
        across = sorted({at if at is not None else rank for at, rank in zip(rows["dp_rank"], rows["rank"])})
        cells: List[List[Optional[float]]] = [[None] * len(across) for _ in stages]
        words = [["" for _ in across] for _ in stages]
        for row in rows:
            y, x = stages.index(row["stage"] or 0), across.index(row["dp_rank"] if row["dp_rank"] is not None else row["rank"])
            known = cells[y][x]
            if known is None or (row["slowdown"] or 0) > known:  # of ranks that share a cell the slowest
                cells[y][x], words[y][x] = row["slowdown"], "rank %s" % row["rank"]
        figure = go.Figure(go.Heatmap(z=cells, x=across, y=stages, text=words, colorscale="YlOrRd", hovertemplate="%{text}: %{z:.3f}<extra></extra>",
                                      colorbar_title="slowdown"))
        return figure.update_layout(title="The job's slowdown by worker", xaxis_title="data-parallel rank", yaxis_title="stage",
                                    xaxis_type="category", yaxis_type="category")
