"""Replaces HTA's `hta.common.timeline`: events as bars over time, drawn with plotly."""
import logging
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, List, Optional

from .._need import optional, pandas
from .trace_df import find_events_by_name_patterns_using_decoded_names, find_events_by_name_patterns_using_symbol_table
from .trace_symbol_table import TraceSymbolTable

px = optional("plotly.express")  # None: plot_events_timeline says so
to_html: Any = getattr(optional("plotly.io"), "to_html", None)

logger = logging.getLogger("rankscope.hta")

AnnotationStreamID = 0
CPUStreamID = -1
DefaultMustHaveColumns: List[str] = ["name", "ts", "dur"]
DefaultHoverColumns: List[str] = ["trace", "rank", "iteration", "stream", "cat", "index"]
DefaultTaskLabelColumns: List[str] = ["stream", "rank", "trace", "depth"]
DefaultCallStackHoverColumns: List[str] = [
    "name", "cat", "index", "ts", "dur", "rank", "stream", "height", "depth", "tid", "index_correlation"]
REQUIRED_COLUMNS_FOR_CPU_GPU_ALIGNMENT = {
    "index", "stream", "ts", "dur", "name", "first_kernel_start", "kernel_span", "num_kernels"}


class EventType(Enum):
    """Which events are drawn."""

    GPUEvents = 0
    CPUEvents = 1
    AllEvents = 2


class PlotFormat(Enum):
    """Where the picture goes: a text of HTML, the screen, a file."""

    HTML = "html"
    Inline = "inline"
    File = "file"


@dataclass
class TimelinePlotSetting:
    """How a timeline is drawn. With auto_detect the events say which of the next four hold."""

    auto_detect: bool = True
    event_type: EventType = EventType.GPUEvents
    multi_ranks: bool = False
    multi_traces: bool = False
    multi_streams: bool = True
    x_start_column: str = "calibrated_start_global"
    x_end_column: str = "calibrated_end_global"
    task_column: str = "task"
    color_column: str = "name"
    task_height: int = 30
    amplify_short_events: bool = True
    short_events_display_duration: int = 1000  # how long shorter ones are drawn
    use_global_time: bool = False
    plot_format: PlotFormat = PlotFormat.Inline
    compress_threads: bool = True


DefaultTimelinePlotSetting = TimelinePlotSetting()


def auto_detect_setting(events, setting: TimelinePlotSetting) -> None:
    """Sets what the events show, where the setting asks for it."""
    if not setting.auto_detect:
        return

    def several(column: str) -> bool:
        return column in events.columns and events[column].nunique() > 1

    setting.multi_ranks, setting.multi_traces, setting.multi_streams = several("rank"), several("trace"), several("stream")
    on_host = events["stream"] == CPUStreamID if "stream" in events.columns else pandas().Series(True, index=events.index)
    setting.event_type = (
        EventType.CPUEvents if on_host.all() else EventType.AllEvents if on_host.any() else EventType.GPUEvents
    )


def _check_timeline_input(df, setting: TimelinePlotSetting) -> bool:
    """Whether the frame is one of prepare_timeline_events."""
    wanted = (setting.x_start_column, setting.x_end_column, setting.task_column, setting.color_column)
    missing = [column for column in wanted if column not in df.columns]
    if len(df) == 0 or missing:
        logger.error("there is nothing to draw: %s", "no column " + ", ".join(missing) if len(df) else "no events")
        return False
    return True


_WHOLE_NAMES = re.compile(r"##.*##$|<.+>$|Mem\w+(\s+\w+)?\s+\(.+\)$")


def _simplify_name(name: str, max_length: int = 45) -> str:
    """A name without type and arguments, cut to at most max_length characters (20 at least)."""
    if not _WHOLE_NAMES.match(name):
        for long, short in (("(anonymous namespace)::", "anon::"), ("autograd::engine::evaluate_function: ", "autograd::")):
            name = name.replace(long, short)
        name = re.sub(r"^void\s+", "", name)
        head = re.match(r"[^(\[*&]+", name)
        name = head.group(0) if head else name
    most = max(20, max_length)
    return name if len(name) < most else name[: most - 3] + "..."


def _label(prefix: str, column):
    texts = column.astype(str)
    return prefix + " " + (texts.str.ljust(5) if column.dtype == object else texts.str.zfill(3))


def _set_task_names(events, setting: TimelinePlotSetting):
    """The lane of each event."""
    parts = []
    if setting.multi_traces:
        parts.append(_label("trace", events["trace"]))
    if setting.multi_ranks:
        parts.append(_label("rank", events["rank"]))
    if setting.event_type is EventType.GPUEvents and setting.multi_streams:
        parts.append(_label("gpu stream", events["stream"]))
    elif setting.event_type is EventType.CPUEvents:
        if "tid" in events.columns and not setting.compress_threads:
            parts.append(_label("tid", events["tid"]))
        parts.append(_host_lanes(events))
    else:
        lanes = _label("gpu stream", events["stream"])
        lanes = lanes.mask(events["stream"] == AnnotationStreamID, "gpu annotate")
        parts.append(lanes.where(events["stream"] != CPUStreamID, _host_lanes(events)))
    lanes = parts[0]
    for part in parts[1:]:
        lanes = lanes + " " + part
    return lanes


def _host_lanes(events):
    if "depth" in events.columns:
        return _label("cpu level", events["depth"])
    return pandas().Series("cpu events", index=events.index, dtype=object)


def _get_sort_columns(events, setting: TimelinePlotSetting) -> List[str]:
    order = ["trace"] * setting.multi_traces + ["rank"] * setting.multi_ranks
    if setting.event_type is EventType.CPUEvents:
        order += ["tid", "depth"]
    elif setting.multi_streams or setting.event_type is EventType.AllEvents:
        order.append("stream")
    return [column for column in order + ["ts"] if column in events.columns]


def align_module_with_kernels(
    events_df, module_list: List[str], sym_table: Optional[TraceSymbolTable] = None, include_original_cpu_events: bool = False
):
    """The work, and for each host event that a pattern of module_list matches a copy on stream 0 that lasts from the first
    of its work to the last. The frame is one of a CallGraph."""
    missing = REQUIRED_COLUMNS_FOR_CPU_GPU_ALIGNMENT - set(events_df.columns)
    if missing:
        raise ValueError("the frame has no column %s: a CallGraph adds them" % ", ".join(sorted(missing)))
    host = events_df[(events_df["stream"] == CPUStreamID) & (events_df["num_kernels"] >= 1)]
    texts = [c for c in ("name", "s_name") if c in events_df.columns and events_df[c].dtype.kind not in "iuf"]
    if sym_table is not None and "name" not in texts:
        indices = find_events_by_name_patterns_using_symbol_table(host, module_list, sym_table)
    elif texts:
        indices = find_events_by_name_patterns_using_decoded_names(host, module_list, texts[0])
    else:
        raise ValueError("names are numbers: give the symbol table, or add s_name with decode_symbol_ids")
    chosen = host[host["index"].isin(indices)].copy()
    chosen["ts"] = chosen["first_kernel_start"].astype("int64")
    chosen["dur"] = chosen["kernel_span"].astype("int64")
    chosen["stream"] = AnnotationStreamID
    kept = events_df["stream"] != AnnotationStreamID if include_original_cpu_events else events_df["stream"] > 0
    return pandas().concat([events_df[kept], chosen], ignore_index=True)


def prepare_timeline_events(
    df,
    setting: TimelinePlotSetting = DefaultTimelinePlotSetting,
    symbol_table: Optional[TraceSymbolTable] = None,
    hover_columns: Optional[List[str]] = None,
):
    """The events with their lanes and ends, for plot_events_timeline; empty where there is nothing to draw."""
    pd = pandas()
    missing = [column for column in DefaultMustHaveColumns if column not in df.columns]
    if len(df) == 0 or missing:
        logger.error("there is nothing to draw: %s", "no column " + ", ".join(missing) if len(df) else "no events")
        return pd.DataFrame()
    auto_detect_setting(df, setting)
    wanted = {*(hover_columns or DefaultHoverColumns), *DefaultMustHaveColumns, *DefaultTaskLabelColumns}
    if not setting.compress_threads:
        wanted.add("tid")
    events = df[[column for column in df.columns if column in wanted]].copy()
    if symbol_table is not None:
        for column in ("name", "cat"):
            if column in events.columns and events[column].dtype.kind in "iu":
                texts = symbol_table.decode(events[column])
                events[column] = texts.map({text: _simplify_name(text) for text in texts.unique()})
    first = events["ts"].min()
    events["ts"] = events["ts"] - first
    shown = events["dur"].clip(lower=setting.short_events_display_duration) if setting.amplify_short_events else events["dur"]
    events[setting.x_start_column], events[setting.x_end_column] = events["ts"], events["ts"] + shown
    if setting.use_global_time:
        for column in (setting.x_start_column, setting.x_end_column):
            events[column] = pd.to_datetime(events[column] + first, unit="us")
    events[setting.task_column] = _set_task_names(events, setting)
    return events.sort_values(_get_sort_columns(events, setting), kind="stable")


def plot_events_timeline(
    title: str,
    events,
    setting: TimelinePlotSetting = DefaultTimelinePlotSetting,
    hover_columns: Optional[List[str]] = None,
    output_image_path: Optional[str] = None,
) -> Optional[str]:
    """Draws what prepare_timeline_events gave: shows it, writes it (.html or a picture), or returns it as HTML."""
    if not _check_timeline_input(events, setting):
        return None
    if px is None:
        raise ImportError("timelines are drawn with plotly, which is not installed: pip install plotly")
    lanes = sorted(events[setting.task_column].unique())
    height = 80 if len(lanes) < 20 else setting.task_height
    figure = px.timeline(
        events,
        x_start=setting.x_start_column,
        x_end=setting.x_end_column,
        y=setting.task_column,
        color=setting.color_column,
        hover_data=[column for column in hover_columns or DefaultHoverColumns if column in events.columns],
        category_orders={setting.task_column: lanes},
        height=50 + height * len(lanes),
        title=title,
    )
    figure.layout["xaxis"].type = "date" if setting.use_global_time else "linear"
    if not setting.use_global_time:  # px takes lengths for times of the clock
        lengths = (events[setting.x_end_column] - events[setting.x_start_column]).groupby(events[setting.color_column]).agg(list)
        for trace in figure.data:
            trace.x = lengths.get(trace.name, [])
    figure.update_layout(
        xaxis_range=[events[setting.x_start_column].min(), events[setting.x_end_column].max()],
        xaxis={"showgrid": True, "rangeslider_visible": True},
    )
    if output_image_path:
        if output_image_path.endswith(".html"):
            figure.write_html(output_image_path)
        else:
            figure.write_image(output_image_path)
    if setting.plot_format is PlotFormat.Inline:
        figure.show()
    return to_html(figure, include_plotlyjs="cdn") if setting.plot_format is PlotFormat.HTML else None


def get_fig_title_from_fig_name(fig_name: str, sep: str = r"\s+|_+|-+") -> str:
    """my_figure: My Figure."""
    return " ".join(word.capitalize() for word in re.split(sep, fig_name or "untitled_figure") if word)


def get_fig_name_from_fig_title(title: str) -> str:
    """My Figure: my_figure."""
    return "_".join((title or "Untitled Figure").lower().split())


class Timeline:
    """The events of a frame, chosen by a filter, ready to be drawn."""

    def __init__(
        self,
        timeline_events,
        symbol_table: TraceSymbolTable,
        filter_func: Optional[Any] = None,
        setting: TimelinePlotSetting = DefaultTimelinePlotSetting,
        hover_columns: Optional[List[str]] = None,
    ) -> None:
        self.timeline_events, self.symbol_table, self.setting = timeline_events, symbol_table, setting
        self.hover_columns = hover_columns or DefaultHoverColumns
        self.prepare(filter_func)

    @staticmethod
    def is_timeline_events(df, setting: TimelinePlotSetting) -> bool:
        """Whether a frame is ready to be drawn."""
        return {setting.task_column, setting.x_start_column, setting.x_end_column} <= set(df.columns)

    def prepare(self, filter_func: Optional[Any] = None) -> None:
        if self.is_timeline_events(self.timeline_events, self.setting):
            return
        chosen = self.timeline_events if filter_func is None else filter_func(self.timeline_events, self.symbol_table)
        self.timeline_events = prepare_timeline_events(
            chosen, setting=self.setting, symbol_table=self.symbol_table, hover_columns=self.hover_columns)

    def plot(self, title: str, save_path: Optional[str] = None) -> None:
        plot_events_timeline(
            title, self.timeline_events, setting=self.setting, hover_columns=self.hover_columns, output_image_path=save_path)
