"""HTA's TraceDiff: two traces by name, count and time."""
import os
from enum import Enum
from typing import Any, Dict, List, Optional, Union

import rankscope

from . import _figures, _frames
from ._answers import NO_ROUNDING
from .common.trace import DEFAULT_TRACE_DIR, Trace

__all__ = ["DeviceType", "LabeledTrace", "TraceDiff", "compare"]


class DeviceType(Enum):
    """Which rows are compared."""

    ALL = "ALL"
    CPU = "CPU"
    GPU = "GPU"


_KINDS = {DeviceType.ALL: "all", DeviceType.CPU: "host", DeviceType.GPU: "gpu"}


class LabeledTrace:
    """A trace and the word that stands before its columns."""

    def __init__(
        self,
        label: str = "t0",
        t: Optional[Trace] = None,
        trace_dir: str = DEFAULT_TRACE_DIR,
        trace_files: Union[Dict[int, str], List[str], None] = None,
    ):
        self.label = label
        self.t = t if t is not None else Trace(trace_files, trace_dir)

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
        return cls(label, trace_files=source)

    @property
    def answers(self):
        return self.t.answers

    def ranks(self) -> List[int]:
        return self.t.get_ranks()

    def iterations(self, rank: Optional[int] = None) -> List[int]:
        """Numbers of the training steps of a rank, nothing cut off."""
        steps = self.answers.job.run("steps").tables["steps"]
        wanted = self.ranks()[0] if rank is None else rank
        return sorted({s for r, s in zip(steps["rank"], steps["step"]) if r == wanted})

    def extract_ops(self, rank=None, iteration=None, use_short_name: bool = False, device_type=DeviceType.ALL):
        """The trace's own side of a comparison: counts and durations by name."""
        frame = TraceDiff.compare_traces(self, self, rank, rank, iteration, iteration, device_type, use_short_name)
        return frame.iloc[:, :2].set_axis(["counts", "total_duration"], axis=1)


def _several(value) -> Optional[List[int]]:
    if value is None:
        return None
    return [int(value)] if isinstance(value, int) else [int(v) for v in value]


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
            compat = "hta-exact" if os.environ.get(NO_ROUNDING) == "1" else "hta"
            table = rankscope.diff(
                *jobs, compat=compat, kind=_KINDS[DeviceType(device_type)], short_names=bool(use_short_name)
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
        columns = [c for c in df.columns if c.endswith(ending)]
        if path:
            _figures.difference(df, columns, title, path)
        if show_image:
            _figures.difference(df, columns, title)


def _job(trace: LabeledTrace, rank, iteration):
    ranks = _several(rank) or trace.ranks()[:1]
    missing = [r for r in ranks if r not in trace.ranks()]
    if missing:
        raise ValueError("%s: rank %s is not among the traces; there are %s" % (trace.label, missing[0], trace.ranks()))
    known = trace.iterations(ranks[0])
    steps = _several(iteration) or known[:1]
    missing = [s for s in steps if s not in known]
    if missing:
        raise ValueError("%s: there is no iteration %s; there are %s" % (trace.label, missing[0], known or "none"))
    return rankscope.open(trace.t.source, ranks=ranks, steps=steps or None, keep=False)


def compare(control: Any, test: Any, **options):
    """TraceDiff.compare_traces of two traces, directories, files, or what LabeledTrace takes."""
    return TraceDiff.compare_traces(control, test, **options)
