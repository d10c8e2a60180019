"""Overlap metrics of runs, from their ranks' JSONL.

    report = rankscope.metrics.report({"before": "runs/a", "after": "runs/b"}, reference="before", candidate="after")
    report.tables["comparison"]
"""
from __future__ import annotations

import contextlib
import json
import os
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _engine
from ._files import whole
from ._job import finish
from ._progress import progress as _progress
from ._settings import Path, Progress
from ._table import Result, Table
from .errors import InputWarning, UsageError

__all__ = ["Report", "can_plot", "report"]

NO_PICTURES = ("this build of rankscope cannot draw: it was made without cairo, FreeType or the font DejaVu Sans. Install "
               "libcairo2-dev, libfreetype-dev and fonts-dejavu-core and build it again, or draw the table `percentiles` "
               "yourself")


def can_plot() -> bool:
    """Whether this build draws pictures."""
    return bool(_engine.can_plot())


class Report:
    """What the runs' records show: `tables` (datasets, comparison, ranks, percentiles, collectives, dips, traces),
    `summary` (summary.json as a dict), `problems`, `notes`, `found` (fail_on was met), `files` (what was written)."""

    def __init__(self, result: Result, summary: str, files: List[str]) -> None:
        self.result, self._summary, self.files = result, summary, files
        self.tables, self.problems, self.notes, self.found = result.tables, result.problems, result.notes, result.found

    @property
    def summary(self) -> Dict[str, Any]:
        """summary.json."""
        answer: Dict[str, Any] = json.loads(self._summary)
        return answer

    def json(self) -> str:
        """summary.json as text."""
        return self._summary

    def __getitem__(self, name: str) -> Table:
        return self.result[name]

    def __repr__(self) -> str:
        return "<rankscope.metrics.Report>\n%r" % (self.result.table,)

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


def report(runs: Mapping[str, Path], *, reference: Optional[str] = None, candidate: Optional[str] = None,
           skip_warmup: Optional[int] = None, between_run_sd: Optional[float] = None, traces: bool = False,
           compat: Optional[str] = None, fail_on: Optional[str] = None, output: Optional[Path] = None, plots: Union[bool, str] = "auto", jobs: int = 0,
           progress: Progress = "auto") -> Report:
    """Reads the records of one or several runs and compares two of them.

    runs: {label: directory with rank_R_metrics.jsonl}
    reference, candidate: the labels to compare
    skip_warmup: records of each rank that are left out: 5, or 0 under compat="aorta"
    between_run_sd: how much equal runs differ (standard deviation in percent), known from elsewhere; without it no
        difference is called better or worse
    traces: read torch profiler traces in the directories, too
    compat: "aorta" for AORTA's numbers
    fail_on: a condition on the comparison, as the program's --fail-on; the report's `found` says
    output: a directory that receives summary.json and LABEL_timeline.png
    plots: "auto" draws if this build can and warns if not, True insists, False does not
    """
    if compat not in (None, "aorta"):
        raise UsageError("compat takes aorta, not %r" % (compat,))
    if (reference is None) != (candidate is None) and compat is None:
        raise UsageError("%s needs %s" % (("reference", "candidate") if candidate is None else ("candidate", "reference")))
    if plots not in ("auto", True, False):
        raise TypeError("plots takes \"auto\", True or False")
    if plots is True and output is None:
        raise UsageError("plots need a directory: output")
    folder = None if output is None else os.fspath(output)
    draw = folder is not None and plots is not False
    if draw and not can_plot():
        if plots is True:
            raise UsageError(NO_PICTURES)
        warnings.warn(NO_PICTURES + " (plots=False silences this)", InputWarning, stacklevel=2)
        draw = False
    labels = [(str(label), os.fspath(directory)) for label, directory in dict(runs).items()]
    if not labels:
        raise UsageError("which runs? {label: directory}")
    settings = {"aorta": compat == "aorta", "skip_warmup": skip_warmup, "jobs": jobs, "traces": traces,
                "between_run_sd": between_run_sd, "reference": reference, "candidate": candidate, "fail_on": fail_on}
    files: List[str] = []
    with contextlib.ExitStack() as stack:
        pictures = None
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        if folder is not None and draw:
            places = [os.path.join(folder, label + "_timeline.png") for label, _ in labels]
            _check_labels(labels)
            pictures = [stack.enter_context(whole(place)) for place in places]
            files += places
        with _progress(progress, "reading") as call:
            answer, summary = _engine.metrics(labels, settings, pictures, call)
        if folder is not None:  # summary.json comes last: where it is, everything is
            place = os.path.join(folder, "summary.json")
            _write(place, summary)
            files.append(place)
    return Report(finish(answer, 2), summary, files)


def _write(path: str, text: str) -> None:
    with whole(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(text)


def _check_labels(labels: Sequence[Tuple[str, str]]) -> None:
    """The engine says what is wrong with a label; before that no file may be named after it."""
    for label, _ in labels:
        if "/" in label or "\0" in label or label in ("", ".", "..") or label.startswith(".."):
            raise UsageError("a label is part of a file's name: %r cannot be" % label)
