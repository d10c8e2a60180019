"""HTA's TraceAnalysis on rankscope's engine."""
import logging
import os
import re
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from . import _figures, _frames
from ._answers import Answers
from ._need import pandas
from .common.trace import DEFAULT_TRACE_DIR, Trace

if TYPE_CHECKING:
    from .critical_path import CPGraph

logger = logging.getLogger("rankscope.hta")

__all__ = ["TraceAnalysis", "TimeSeriesTypes"]


class TimeSeriesTypes(Flag):
    """Which counters generate_trace_with_counters writes."""

    QUEUE_LENGTH = auto()
    MEMCPY_BANDWIDTH = auto()


_COUNTERS = {TimeSeriesTypes.QUEUE_LENGTH: "queue", TimeSeriesTypes.MEMCPY_BANDWIDTH: "bandwidth"}

_TEMPORAL = {
    "rank": "int64",
    "idle_time(us)": "float64",
    "compute_time(us)": "float64",
    "non_compute_time(us)": "float64",
    "kernel_time(us)": "float64",
    "idle_time_pctg": "float64",
    "compute_time_pctg": "float64",
    "non_compute_time_pctg": "float64",
}
_STATISTICS = {c: "float64" for c in ("sum (us)", "max (us)", "min (us)", "stddev", "mean (us)")}
_KERNELS = {"name": "text", **_STATISTICS, "kernel_type": "text", "rank": "int64"}
_ANNOTATIONS = {"name": "text", **_STATISTICS, "rank": "int64"}
_IDLE = {
    "rank": "int64",
    "stream": "small",
    "idle_category": "text",
    "idle_time": "float64",
    "idle_time_ratio": "float64",
}
_INTERVALS = {"rank": "int64", "stream": "small", **{c: "float64" for c in _frames.DESCRIBE}}
_BANDWIDTH = {"ts": "float64", "pid": "objects", "name": "text", "memory_bw_gbps": "float64"}
_QUEUE = {"ts": "whole", "pid": "objects", "tid": "objects", "stream": "small", "queue_length": "int64"}
_BLOCKED = ["rank", "stream", "duration_at_max_queue_length", "relative_duration_at_max_queue_length"]
_LAUNCHES = {"correlation": "small", "cpu_duration": "float64", "gpu_duration": "float64", "launch_delay": "float64"}
_DELAYS = {
    "aten_op_name": "text",
    "kernel_sequence": "text",
    "occurrence_count": "int64",
    "avg_aten_op_launch_delay": "float64",
    "avg_runtime_delay": "float64",
}
_SEQUENCES = {
    "pattern": "text",
    "count": "int64",
    "GPU kernel duration (us)": "float64",
    "CPU op duration (us)": "float64",
}


class TraceAnalysis:
    """The analyses of HTA's class of this name: same arguments, same frames, same numbers.

    trace_files is {rank: path}, a list of paths whose ranks the files name, or None for the traces in trace_dir.
    The engine reads each trace once and keeps it. With HTA_DISABLE_NS_ROUNDING=1 in the environment times are
    not rounded to whole microseconds, as in HTA.

    All durations and times are in microseconds. `ranks` defaults to [0] wherever HTA has it so.
    """

    def __init__(
        self,
        trace_files: Union[Dict[int, str], List[str], None] = None,
        trace_dir: str = DEFAULT_TRACE_DIR,
        include_last_profiler_step: bool = False,
    ):
        self.t = Trace(trace_files, trace_dir)
        self.t.load_traces(include_last_profiler_step=bool(include_last_profiler_step))
        self.include_last_profiler_step = bool(include_last_profiler_step)

    @property
    def _answers(self) -> Answers:
        return self.t.answers

    # ---- where time goes -----------------------------------------------------------------------------------

    def get_temporal_breakdown(self, visualize: bool = True):
        """Idle, compute and non-compute time of each rank's GPU."""
        frame = _frames.shaped(self._answers.frame("breakdown", "breakdown"), _TEMPORAL)
        frame = _frames.numbered(frame)
        if visualize:
            _figures.temporal(frame)
        return frame

    def get_comm_comp_overlap(self, visualize: bool = True):
        """Share of the communication that computation overlaps, by rank."""
        frame = self._answers.frame("overlap", "overlap")
        frame = _frames.numbered(_frames.shaped(frame, {"rank": "int64", "comp_comm_overlap_pctg": "float64"}))
        if visualize:
            _figures.overlap(frame)
        return frame

    def get_gpu_kernel_breakdown(
        self,
        visualize: bool = True,
        duration_ratio: float = 0.8,
        num_kernels: int = 10,
        include_memory_kernels: bool = True,
        image_renderer: str = "",
    ) -> Tuple[Any, Any]:
        """Time by kernel type over all ranks, and statistics of the largest kernels of each type and rank."""
        tables = self._answers.run(
            "kernels",
            duration_ratio=float(duration_ratio),
            top=int(num_kernels),
            no_memory=not include_memory_kernels,
        ).tables
        types = _frames.shaped(
            tables["types"].to_pandas(), {"kernel_type": "text", "sum": "int64", "percentage": "float64"}
        )
        names = _frames.shaped(tables["kernels"].to_pandas(), _KERNELS)
        types, names = _frames.numbered(types), _frames.numbered(names)
        if visualize:
            _figures.kernels(types, names, image_renderer)
        return types, names

    def get_gpu_user_annotation_breakdown(
        self,
        use_gpu_annotation: bool = True,
        visualize: bool = True,
        duration_ratio: float = 0.8,
        num_kernels: int = 1000,
        allowlist_patterns: Optional[List[str]] = None,
        image_renderer: str = "",
    ):
        """Length of the user annotations by name and rank; None when the traces have none.

        allowlist_patterns are literal texts, as in HTA: names that contain one are never folded into "others".
        """
        for pattern in allowlist_patterns or []:
            if "," in pattern:
                raise ValueError("allowlist_patterns: %r has a comma, which the engine takes for a separator" % pattern)
        frame = self._answers.frame(
            "annotations",
            "annotations",
            from_="gpu" if use_gpu_annotation else "host",
            duration_ratio=float(duration_ratio),
            top=int(num_kernels),
            keep=",".join(allowlist_patterns) if allowlist_patterns else None,
        )
        if len(frame) == 0:
            logger.warning("no %s annotations in the traces", "GPU" if use_gpu_annotation else "user")
            return None
        frame = _frames.numbered(_frames.shaped(frame, _ANNOTATIONS))
        if visualize:
            _figures.annotations(frame, "GPU" if use_gpu_annotation else "CPU", image_renderer)
        return frame

    def get_gpu_kernels_with_user_annotations(
        self, rank: int, expand_names: bool = True, shorten_names: bool = True, shortern_names: Optional[bool] = None
    ):
        """The GPU rows of a rank's trace, each with the innermost GPU annotation over it; None without annotations.

        expand_names adds the texts s_name, s_cat and s_user_annotation, shorten_names shortens kernel names.
        """
        self._answers.chosen([rank])
        shorten = shorten_names if shortern_names is None else shortern_names  # as HTA 0.5 spells it
        return self.t.gpu_rows_with_annotations(rank, expand_names, shorten)

    def get_idle_time_breakdown(
        self,
        ranks: Optional[List[int]] = None,
        streams: Optional[List[int]] = None,
        visualize: bool = True,
        visualize_pctg: bool = True,
        show_idle_interval_stats: bool = False,
        consecutive_kernel_delay: int = 30,
    ) -> Tuple[Any, Optional[Any]]:
        """Idle time of each stream by what it waited for, and, if asked, statistics of the intervals."""
        wanted = self._answers.chosen(ranks)
        tables = self._answers.run(
            "idle",
            kernel_delay=float(consecutive_kernel_delay),
            streams=",".join(str(int(s)) for s in streams) if streams else None,
        ).tables
        frame = _frames.of_ranks(tables["idle"].to_pandas(), wanted)
        if len(frame) == 0:
            raise ValueError("No objects to concatenate: ranks %s have no GPU work on these streams" % (list(wanted),))
        frame = _frames.counted_by_rank(_frames.shaped(frame, _IDLE))
        statistics = None
        if show_idle_interval_stats:
            rows = _frames.of_ranks(tables["intervals"].to_pandas(), wanted).set_index("idle_category")
            statistics = _frames.shaped(rows, _INTERVALS)
        if visualize:
            _figures.idle(frame, visualize_pctg)
            frame = frame.assign(stream=_frames.text(frame["stream"].astype(str)))
        return frame, statistics

    # ---- memory bandwidth and queue length -------------------------------------------------------------------

    def get_memory_bw_time_series(self, ranks: Optional[List[int]] = None) -> Dict[int, Any]:
        """Bandwidth in use by kind of copy, at every change; one frame a rank that copies."""
        wanted = self._answers.chosen(ranks)
        frame = self._answers.frame("bandwidth", "series", series=True)
        return {
            rank: _frames.counted(_frames.shaped(rows, _BANDWIDTH))
            for rank, rows in _frames.split(frame, wanted).items()
        }

    def get_memory_bw_summary(self, ranks: Optional[List[int]] = None):
        """Statistics of the samples above zero, by rank and kind of copy; None without any."""
        wanted = self._answers.chosen(ranks)
        frame = _frames.of_ranks(self._answers.frame("bandwidth", "bandwidth"), wanted)
        return _frames.described(frame.assign(name=_frames.text(frame["name"])), ["rank", "name"], "memory_bw_gbps")

    def get_queue_length_time_series(self, ranks: Optional[List[int]] = None) -> Dict[int, Any]:
        """Launches whose work has not started, by stream, at every change; one frame a rank."""
        wanted = self._answers.chosen(ranks)
        frame = self._answers.frame("queue", "series", series=True)
        out = {}
        for rank, rows in _frames.split(frame, wanted).items():
            index = pandas().Index(rows["index"].tolist(), dtype="int64", name="index")
            rows = _frames.shaped(rows, _QUEUE)
            rows.index = index
            out[rank] = rows
        return out

    def get_queue_length_summary(self, ranks: Optional[List[int]] = None):
        """Statistics of the queue length by rank and stream; None when nothing was launched."""
        wanted = self._answers.chosen(ranks)
        frame = _frames.of_ranks(self._answers.frame("queue", "queue"), wanted)
        return _frames.described(frame, ["rank", "stream"], "queue_length")

    def get_queue_length_summary_from_time_series(self, queue_length_dict: Dict[int, Any]):
        """The same of series at hand: get_queue_length_time_series' own, or what was made of them."""
        pd = pandas()
        parts = [rows.assign(rank=rank) for rank, rows in queue_length_dict.items() if len(rows)]
        if not parts:
            return None
        both = pd.concat(parts)[["rank", "stream", "queue_length"]]
        both["stream"] = both["stream"].astype("int64")
        return both.groupby(["rank", "stream"]).describe()

    def get_time_spent_blocked_on_full_queue(
        self, queue_length_dict: Dict[int, Any], max_queue_length: int = 1024
    ):
        """How long the queue of these series was full. As in HTA one row a rank, of the last stream that was."""
        pd = pandas()
        rows = []
        for rank, series in queue_length_dict.items():
            full = None
            starts = self._answers.frame("frame", "frame", of=str(self._answers.chosen([rank])[0]))["ts"]
            span = starts.max() - starts.min() if len(starts) else 0
            for stream, part in series.groupby("stream"):
                lasted = -part["ts"].diff(-1)
                blocked = part["queue_length"] >= max_queue_length
                if blocked.any():
                    time = lasted[blocked].sum()
                    full = [rank, stream, time, time / span if span else float("nan")]
            if full:
                rows.append(full)
        if not rows:
            return pd.DataFrame({c: pd.Series([], dtype=object) for c in _BLOCKED})
        return pd.DataFrame(rows, columns=_BLOCKED)

    def generate_trace_with_counters(
        self,
        time_series: Optional[TimeSeriesTypes] = None,
        ranks: Optional[List[int]] = None,
        output_suffix: str = "_with_counters",
    ) -> None:
        """Writes each trace again with counter tracks, next to it: NAME.json.gz becomes NAME_with_counters.json.gz."""
        if time_series is None:
            time_series = TimeSeriesTypes.QUEUE_LENGTH | TimeSeriesTypes.MEMCPY_BANDWIDTH
        counters = [name for kind, name in _COUNTERS.items() if kind & time_series]
        if not counters:
            raise ValueError("time_series names no counters: QUEUE_LENGTH, MEMCPY_BANDWIDTH, or both with |")
        for rank in self._answers.chosen(ranks):
            result = self._answers.run("annotate", self._answers.one(rank), counters=",".join(counters))
            if len(result.tables["counter_events"]) == 0:
                logger.warning("rank %s has nothing to count; no file is written", rank)
                continue
            target = _with_suffix(self.t.trace_files[rank], output_suffix)
            result.write_trace(target)
            logger.info("rank %s: %s", rank, target)

    # ---- launches and operators --------------------------------------------------------------------------------

    def get_cuda_kernel_launch_stats(
        self,
        ranks: Optional[List[int]] = None,
        runtime_cutoff: int = 50,
        launch_delay_cutoff: int = 100,
        include_memory_events: bool = True,
        visualize: bool = True,
    ) -> Dict[int, Any]:
        """Each launch's duration, its kernel's, and the delay between them. The cutoffs are the pictures'."""
        wanted = self._answers.chosen(ranks)
        frame = self._answers.frame("launches", "launches", no_memory=not include_memory_events)
        out = {}
        for rank in wanted:
            out[rank] = _frames.counted(_frames.shaped(frame[frame["rank"] == rank], _LAUNCHES))
        if visualize:
            _figures.launches(out, runtime_cutoff, launch_delay_cutoff)
        return out

    def get_aten_op_kernels_and_delay(
        self, ranks: Optional[List[int]] = None, sort_by: Optional[List[str]] = None
    ) -> Dict[int, Any]:
        """Operators by the kernels one execution launches: how often, and how long launch and kernel took to come."""
        wanted = self._answers.chosen(ranks)
        keys = list(sort_by) if sort_by else ["occurrence_count"]
        unknown = [k for k in keys if k not in _DELAYS]
        if unknown:
            raise ValueError("sort_by knows %s, not %s" % (", ".join(_DELAYS), ", ".join(unknown)))
        frame = self._answers.frame("delays", "delays")
        out = {}
        for rank in wanted:
            rows = _frames.shaped(frame[frame["rank"] == rank], _DELAYS)
            rows = _frames.counted(rows.sort_values(["aten_op_name", "kernel_sequence"], kind="stable"))
            out[rank] = rows.sort_values(keys, ascending=False, kind="stable")
        return out

    def get_frequent_cuda_kernel_sequences(
        self,
        operator_name: str,
        output_dir: str,
        min_pattern_len: int = 3,
        rank: int = 0,
        top_k: int = 5,
        visualize: bool = False,
        compress_other_kernels: bool = True,
    ):
        """The sequences of kernels under an operator, most frequent first.

        Also writes the trace with the top_k sequences marked: output_dir/overlaid_NAME.
        """
        pd = pandas()
        if not operator_name:
            logger.error("operator_name is empty: name an operator, or a part of its name")
            return pd.DataFrame()
        self._answers.chosen([rank])
        if not os.path.isdir(output_dir) or not os.access(output_dir, os.W_OK):
            logger.error("output_dir is no directory that can be written to: %s", output_dir)
            return pd.DataFrame()
        target = os.path.join(output_dir, "overlaid_" + os.path.basename(self.t.trace_files[rank]))
        result = self._answers.run(
            "sequences",
            self._answers.one(rank),
            op=operator_name,
            min_length=int(min_pattern_len),
            top=int(top_k),
            overlay=target,
        )
        frame = result.tables["sequences"].to_pandas()
        if len(frame) == 0:
            logger.warning("no sequence of %d or more kernels under %s", min_pattern_len, operator_name)
            return pd.DataFrame()
        result.write_trace(target, compress=bool(compress_other_kernels))
        frame = _frames.numbered(_frames.shaped(frame, _SEQUENCES))
        if visualize:
            _figures.sequences(frame, operator_name)
        return frame

    def get_cupti_counter_data_with_operators(self, ranks: Optional[List[int]] = None) -> List[Any]:
        """One frame a rank: the trace's columns of each measured kernel, its counters, and its operators."""
        wanted = self._answers.chosen(ranks)
        tables = self._answers.run("counters").tables
        frame, launches = tables["counters"].to_pandas(), tables["launches"].to_pandas()
        out = []
        for rank in wanted:
            rows = frame[frame["rank"] == rank]
            if len(rows):
                of_rank = launches[launches["rank"] == rank]
                out.append(self.t.counter_rows(rank, rows, dict(zip(of_rank["index"], of_rank["launch"]))))
        return out

    # ---- the critical path ---------------------------------------------------------------------------------------

    def critical_path_analysis(
        self,
        rank: int,
        annotation: str,
        instance_id: Union[Optional[int], Tuple[int, int]],
        data_load_events: Optional[List[str]] = None,
    ) -> Optional[Tuple["CPGraph", bool]]:
        """The event graph of a part of the trace with its longest path, and whether it could be solved.

        annotation "" is the whole trace. instance_id is which of the annotation's events, or the first and last.
        None, with an error in the log, when no event has the annotation's name.
        """
        from .critical_path import CPGraph  # brings networkx

        self._answers.chosen([rank])
        return CPGraph.analyze(self.t, rank, annotation, instance_id, data_load_events)

    def overlay_critical_path_analysis(
        self,
        rank: int,
        critical_path_graph: "CPGraph",
        output_dir: str,
        only_show_critical_events: bool = True,
        show_all_edges: bool = False,
    ) -> str:
        """Writes the trace with the path marked; returns the file: output_dir/overlaid_critical_path_NAME."""
        directory = os.path.expanduser(output_dir)
        if os.path.exists(directory) and not os.path.isdir(directory):
            logger.error("output_dir is a file, not a directory: %s", directory)
            return ""
        os.makedirs(directory, exist_ok=True)
        target = os.path.join(directory, "overlaid_critical_path_" + os.path.basename(self.t.trace_files[rank]))
        critical_path_graph.write_overlay(
            self.t, rank, target, only_critical=only_show_critical_events, all_edges=show_all_edges
        )
        return target

    # ---- steps and stragglers --------------------------------------------------------------------------------------

    def get_profiler_steps(self) -> List[int]:
        """Numbers of the training steps that HTA's window leaves, over all ranks."""
        table = self._answers.run("stragglers").tables["steps"]
        return [int(step) for step in table.to_pandas()["step"]]

    def get_potential_stragglers(
        self,
        profiler_steps: Optional[List[int]] = None,
        num_candidates: int = 2,
        visualize: bool = False,
        straggler_identification_impl: Optional[Callable[..., Any]] = None,
    ) -> List[int]:
        """The ranks most often among the last to start the collective that varies most, by HTA's rule.

        straggler_identification_impl: another rule, called as HTA calls it with the rows of the steps over all ranks
        (with columns rank and idx), the symbol table, num_candidates and visualize; it gives a series of counts by rank.
        """
        num_candidates = max(1, int(num_candidates))
        known = self.get_profiler_steps()
        steps = [s for s in (profiler_steps or known) if s in known]
        if not steps:
            raise ValueError(
                "none of the steps %s is in the traces; there are %s" % (profiler_steps or [], known or "none")
            )
        if straggler_identification_impl is not None:
            frames = {rank: self.t.get_trace(rank) for rank in self.t.get_ranks()}
            rows = pandas().concat(frames, names=["rank", "idx"]).reset_index()
            rows = rows[rows["iteration"].isin(steps)]
            counts = straggler_identification_impl(rows, self.t.symbol_table, num_candidates, visualize)
            return counts.sort_values(ascending=False)[:num_candidates].index.tolist()
        frame = self._answers.frame(
            "stragglers", "stragglers", candidates=int(num_candidates), in_steps=",".join(str(s) for s in steps)
        )
        if len(frame) == 0:
            raise ValueError(
                "no straggler by HTA's rule, which needs kernels named ncclKernel... on two ranks; "
                "rankscope.open(...).stragglers() matches the collectives of any library"
            )
        if visualize:
            _figures.stragglers(frame)
        return [int(rank) for rank in frame["rank"]][:num_candidates]


def _with_suffix(path: str, suffix: str) -> str:
    """The suffix comes before .json in the file's name."""
    folder, name = os.path.split(path)
    changed = re.sub(r"\.json", lambda m: suffix + ".json", name, count=1)
    return os.path.join(folder, changed if changed != name else name + suffix)
