"""HTA's TraceDiff: two traces by name, count and time."""
import os
from typing import Any, Dict, List, Literal, Optional, Union

import rankscope

from . import _figures, _frames
from ._need import pandas
from ._answers import rules
from .common.trace import DEFAULT_TRACE_DIR, Trace
from .common.types import DeviceType
from .common.names import shorten_name

__all__ = ["DeviceType", "LabeledTrace", "TraceDiff", "compare"]


_KINDS: Dict[DeviceType, Literal["all", "host", "gpu"]] = {DeviceType.ALL: "all", DeviceType.CPU: "host", DeviceType.GPU: "gpu"}


class LabeledTrace:
    """A trace and the word that prefixes its columns; without a word, t and a number made up."""

    def __init__(
        self,
        label: Optional[str] = None,
        t: Optional[Trace] = None,
        trace_dir: Optional[str] = None,
        trace_files: Union[Dict[int, str], List[str], None] = None,
    ):
        if t is None and trace_dir is None and trace_files is None:
            raise ValueError("LabeledTrace takes a trace t, a directory trace_dir, or trace_files")
        if label is None:
            from random import randint
            label = "t%d" % randint(1, 10000)
        self.label = label
        self.t = t if t is not None else Trace(trace_files, DEFAULT_TRACE_DIR if trace_dir is None else trace_dir)
        if not self.t.is_parsed:
            self.t.parse_traces()
        self._iterations: Any = None

    @classmethod
    def of(cls, source: Any, label: str) -> "LabeledTrace":
        """From a LabeledTrace, Trace, TraceAnalysis, directory, file, or what Trace takes for files."""
        if isinstance(source, LabeledTrace):
            return source
        if isinstance(source, Trace):
            return cls(label, source)
        if hasattr(source, "t") and isinstance(source.t, Trace):
            return cls(label, source.t)
        if isinstance(source, (str, os.PathLike)):
            path = os.path.expanduser(os.fspath(source))
            return cls(label, trace_dir=path) if os.path.isdir(path) else cls(label, trace_files=[path])
        if isinstance(source, tuple):
            return cls(label, trace_files=list(source))
        if isinstance(source, (dict, list)):
            return cls(label, trace_files=source)
        raise ValueError("a side is a LabeledTrace, Trace, TraceAnalysis, path, or files; not %s" % type(source).__name__)

    @property
    def answers(self):
        return self.t.answers

    def ranks(self) -> List[int]:
        return self.t.get_ranks()

    @property
    def iteration_df(self):
        """The training steps of each rank (rank, iteration), nothing cut off. May be set: extract_ops goes by it."""
        if self._iterations is None:
            steps = self.answers.job.run("steps").tables["steps"]
            pairs = sorted(set(zip(steps["rank"], steps["step"])))
            self._iterations = pandas().DataFrame(pairs, columns=["rank", "iteration"])
        return self._iterations

    @iteration_df.setter
    def iteration_df(self, frame) -> None:
        self._iterations = frame

    def iterations(self, rank: Optional[int] = None) -> List[int]:
        """Numbers of the training steps, of a rank or of the first, nothing cut off."""
        steps = self.iteration_df
        if "rank" in steps.columns:
            steps = steps[steps["rank"] == (self.ranks()[0] if rank is None else rank)]
        return sorted(set(steps["iteration"].tolist()))

    def extract_ops(self, rank=None, iteration=None, device_type: DeviceType = DeviceType.ALL):
        """The rows of the trace of some ranks and steps, on one kind of device. What is not given is the first."""
        pd = pandas()
        ranks, steps = self._chosen(rank, iteration)
        rows = pd.concat([self.t.get_trace(r).assign(rank=r) for r in ranks]) if len(ranks) > 1 else self.t.get_trace(ranks[0])
        rows = rows[rows["iteration"].isin(steps)]
        kind = DeviceType(device_type)
        if kind is DeviceType.CPU:
            return rows[rows["stream"] == -1]
        return rows[rows["stream"] != -1] if kind is DeviceType.GPU else rows

    def _chosen(self, rank, iteration):
        known = self.ranks()
        if not known:
            raise ValueError("%s: the trace has no rank" % self.label)
        ranks = _several(rank, "rank") or known[:1]
        missing = [r for r in ranks if r not in known]
        if missing:
            raise ValueError("%s: rank %s is not among the traces; there are %s" % (self.label, missing[0], known))
        known = self.iterations(ranks[0])
        steps = _several(iteration, "iteration") or known[:1]
        missing = [s for s in steps if s not in known]
        if missing or not steps:
            raise ValueError("%s: there is no iteration %s; there are %s" % (self.label, missing[0] if missing else "", known or "none"))
        return ranks, steps

    def get_ops_summary(self, ops):
        """Counts and durations of rows that extract_ops gave, by category and name."""
        groups = ops.groupby(["cat", "name"])["dur"].agg(counts="count", total_duration="sum").reset_index()
        groups = groups.rename(columns={"cat": "cat_id", "name": "name_id"})
        groups["cat"] = self.t.symbol_table.decode(groups["cat_id"])
        groups["name"] = self.t.symbol_table.decode(groups["name_id"])
        groups["short_name"] = groups["name"].map(shorten_name)
        return groups[["cat", "name", "short_name", "counts", "total_duration", "cat_id", "name_id"]]


def _trace_argument_adapter(trace: Any, label: str) -> LabeledTrace:
    return LabeledTrace.of(trace, label)


def __getattr__(name: str):
    """plotly's graph objects under HTA's name for them, loaded when they are asked for."""
    if name == "go":
        import plotly.graph_objects

        return plotly.graph_objects
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def _several(value, what: str) -> Optional[List[int]]:
    """One number or several as a list."""
    if value is None:
        return None
    several = [value] if isinstance(value, int) else value
    if not isinstance(several, (list, tuple, range)) or not all(isinstance(one, int) for one in several):
        raise ValueError("%s takes a number or a list of them, not %r" % (what, value))
    return list(several)


class TraceDiff:
    """Compares two traces as HTA does: rows as they are read, nothing cut off, one rank and one step unless asked."""

    @classmethod
    def compare_traces(
        cls,
        control: Any,
        test: Any,
        control_rank: Union[int, List[int], None] = None,
        test_rank: Union[int, List[int], None] = None,
        control_iteration: Union[int, List[int], None] = None,
        test_iteration: Union[int, List[int], None] = None,
        device_type: DeviceType = DeviceType.ALL,
        use_short_name: bool = False,
    ):
        """Counts and durations of both sides by name, and how they differ; index is the name.

        A rank or iteration that is not given is the first there is.
        """
        a, b = LabeledTrace.of(control, "Control"), LabeledTrace.of(test, "Test")
        first, second = a.label, b.label
        if first == second:
            first, second = first + "_control", second + "_test"
        jobs = [_job(a, control_rank, control_iteration), _job(b, test_rank, test_iteration)]
        try:
            table = rankscope.diff(
                *jobs, compat=rules(), kind=_KINDS[DeviceType(device_type)], short_names=bool(use_short_name)
            )
        finally:
            for job in jobs:
                job.close()
        frame = table.to_pandas()
        types = {c: "float64" for c in frame.columns if c not in ("name", "counts_change_categories")}
        frame = _frames.shaped(frame, {"name": "text", **types, "counts_change_categories": "text"}).set_index("name")
        frame.columns = [
            first + c[len("control"):] if c.startswith("control_")
            else second + c[len("test"):] if c.startswith("test_")
            else c
            for c in frame.columns
        ]
        return frame

    @classmethod
    def ops_diff(
        cls,
        control: Any,
        test: Any,
        control_rank=None,
        test_rank=None,
        control_iteration=None,
        test_iteration=None,
        device_type: DeviceType = DeviceType.ALL,
    ) -> Dict[str, List[str]]:
        """Names by what became of them: added, deleted, increased, decreased, unchanged."""
        frame = cls.compare_traces(
            control, test, control_rank, test_rank, control_iteration, test_iteration, device_type
        )
        before, after = frame.iloc[:, 0], frame.iloc[:, 2]
        both = (before > 0) & (after > 0)
        kinds = {
            "added": before == 0,
            "deleted": after == 0,
            "increased": both & (frame["diff_counts"] > 0),
            "decreased": both & (frame["diff_counts"] < 0),
            "unchanged": both & (frame["diff_counts"] == 0),
        }
        return {kind: frame.index[chosen].tolist() for kind, chosen in kinds.items()}

    @classmethod
    def visualize_counts_diff(cls, df, show_image: bool = True, export_image_path: Optional[str] = None) -> None:
        """Bars of the counts of both sides."""
        cls._draw(df, "_counts", "Counts by name", show_image, export_image_path)

    @classmethod
    def visualize_duration_diff(cls, df, show_image: bool = True, export_image_path: Optional[str] = None) -> None:
        """Bars of the durations of both sides."""
        cls._draw(df, "_total_duration", "Durations by name (us)", show_image, export_image_path)

    @staticmethod
    def _draw(df, ending, title, show_image, path):
        columns = [c for c in df.columns if c.endswith(ending) and not c.startswith("diff_")]
        _figures.difference(df, columns, title, show_image, path)


def _job(trace: LabeledTrace, rank, iteration):
    """The job of one side, opened for the ranks and steps that are compared."""
    known = trace.ranks()
    if iteration is None and not trace.iterations((_several(rank, "rank") or known)[0]):
        ranks, steps = _several(rank, "rank") or known[:1], None  # a trace without steps is compared as a whole
    else:
        ranks, steps = trace._chosen(rank, iteration)
    return rankscope.open(trace.t.source, ranks=ranks, steps=steps, keep=False)


def compare(control: Any, test: Any, **options):
    """TraceDiff.compare_traces of two traces, directories, files, or what LabeledTrace takes."""
    return TraceDiff.compare_traces(control, test, **options)
