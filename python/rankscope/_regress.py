"""Is the new code slower? By a test over runs.

    report = rankscope.regress("base/", "new/")
    report.verdict, report.reason, report["parts"]
    rankscope.regress.save("baseline.json", "base/")
    rankscope.regress.history("nightly/")["changes"]
"""
from __future__ import annotations

import contextlib
import os
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _engine
from ._files import whole
from ._job import Job, finish, open_job
from ._progress import progress as _progress
from ._settings import Path, Progress
from ._table import Result, Table
from .errors import InputError, UsageError

Source = Union[Path, Job]
Side = Union[Source, Sequence[Source]]
Members = List[Tuple[str, Any]]

_HEAD = re.compile(rb'\s*\{\s*"rankscope_regress"')
_CHOICES = {"by": ("kernel", "part", "operator", "phase", "group"), "method": ("path", "exposed"), "step": ("rank", "job")}


def _natural(path: str) -> Tuple[List[Any], str]:
    """Text order, but runs of digits by their value."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"([0-9]+)", path) if part], path


class Comparison(Result):
    """What two sides of runs say: tables verdict, parts and runs."""

    __slots__ = ("_junit",)

    def __init__(self, result: Result, junit: str) -> None:
        for name in ("tables", "main", "problems", "notes", "found", "_page"):
            setattr(self, name, getattr(result, name))
        self._junit = junit

    def _cell(self, column: str) -> Any:
        return self.tables["verdict"].column(column)[0]

    @property
    def verdict(self) -> str:  # type: ignore[override]
        """slower, faster, same or undecided."""
        return str(self._cell("verdict"))

    @property
    def reason(self) -> Optional[str]:
        """Why it is undecided."""
        reason: Optional[str] = self._cell("reason")
        return reason

    @property
    def change_pct(self) -> Optional[float]:
        """Ratio of the runs' geometric means, less 1, in percent."""
        change: Optional[float] = self._cell("change_pct")
        return change

    @property
    def parts(self) -> Table:
        """The parts of the change; none where the sides cannot be compared part by part, and `notes` say why."""
        return self.tables["parts"]

    def junit(self) -> str:
        """The verdict and the parts as test cases of JUnit."""
        return self._junit


class Regress:
    """`rankscope.regress(base, new)`; with `save` and `history`."""

    def __call__(self, base: Side, new: Side, *, alpha: float = 0.05, min_effect: float = 0.5,
                 between_run_sd: Optional[float] = None, by: str = "kernel", method: str = "path", step: str = "rank",
                 strict: bool = False, jobs: Optional[int] = None, progress: Progress = "auto") -> Comparison:
        """Compares two sides, each a folder of runs, one run, a list of runs (paths or jobs), or what `save` wrote.

        The unit is the run: see `rankscope regress --help`.

        alpha: share of false alarms that is accepted
        min_effect: a change below that many percent does not matter
        between_run_sd: how much equal runs differ (standard deviation in percent), known from elsewhere
        by: what the change is divided by: kernel, part, operator, phase or group
        method: path, or exposed for the parts of the time line
        step: rank for the mean over ranks, job for the time from the last rank's end to the last rank's end
        strict: `found` is also true when it is undecided
        """
        settings = _settings(alpha, min_effect, by, method, step)
        settings.update(question="compare", strict=strict, between_run_sd=None if between_run_sd is None else between_run_sd / 100)
        if between_run_sd is not None and not between_run_sd >= 0:
            raise UsageError("between_run_sd takes 0 or more percent")
        result, text = _ask([base, new], settings, jobs, progress)
        return Comparison(result, text)

    def save(self, path: Path, base: Side, *, step: str = "rank", jobs: Optional[int] = None,
             progress: Progress = "auto") -> None:
        """Keeps what a base needs, some ten kB a run, so that traces need not be kept."""
        settings = _settings(0.05, 0.5, "kernel", "path", step)
        settings["question"] = "save"
        _, text = _ask([base], settings, jobs, progress)
        with whole(os.fspath(path)) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(text)

    def history(self, runs: Side, *, alpha: float = 0.05, min_effect: float = 0.5, by: str = "kernel", method: str = "path",
                step: str = "rank", jobs: Optional[int] = None, progress: Progress = "auto") -> Result:
        """Where the level of ten or more runs changed: tables history, changes and causes.

        runs: a folder whose folders and files are runs, or what `save` wrote, in the order of their names; or a list

        rankscope.report(answer) shows it as a page with its line chart."""
        settings = _settings(alpha, min_effect, by, method, step)
        settings["question"] = "history"
        called = os.fsdecode(runs) if isinstance(runs, (str, os.PathLike)) else "runs"
        if isinstance(runs, (str, os.PathLike)):
            folder = os.fspath(runs)
            if not os.path.isdir(folder):
                raise InputError("%s: a history is a folder of runs" % folder)
            entries = [os.path.join(folder, name) for name in os.listdir(folder) if name[0] != "."]
            runs = [*sorted(entries, key=_natural)]
        result, _ = _ask([runs], settings, jobs, progress)
        result._page = ("history", [called])
        return result

    def __repr__(self) -> str:
        return "rankscope.regress"


def _settings(alpha: float, min_effect: float, by: str, method: str, step: str) -> Dict[str, Any]:
    if not 0 < alpha < 0.5:
        raise UsageError("alpha takes a share above 0 and below 0.5")
    if not min_effect >= 0:
        raise UsageError("min_effect takes 0 or more percent")
    for name, value in ("by", by), ("method", method), ("step", step):
        if value not in _CHOICES[name]:
            raise UsageError("%s takes %s, not %r" % (name, ", ".join(_CHOICES[name]), value))
    return {"alpha": alpha, "min_effect": min_effect / 100, "by": by, "method": method, "step": step}


def _stored(path: str) -> Optional[bytes]:
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(64)
        return head + file.read() if _HEAD.match(head) else None


def _runs(side: Side) -> List[Source]:
    """A folder with folders in it is one run for each."""
    if isinstance(side, Job):
        return [side]
    if not isinstance(side, (str, os.PathLike)):
        return list(side)
    path = os.fspath(side)
    if not os.path.isdir(path):
        return [path]
    folders = sorted((entry.path for entry in os.scandir(path) if entry.is_dir() and entry.name[0] != "."), key=_natural)
    return [*folders] or [path]


def _engine_job(job: Any) -> Any:
    return job._job


def _members(side: Side, jobs: Optional[int], stack: contextlib.ExitStack) -> Members:
    members: Members = []
    for place, run in enumerate(_runs(side)):
        if isinstance(run, Job):
            members.append(("run %d" % place, _engine_job(run)))
            continue
        path = os.fspath(run)
        stored = _stored(path)
        if stored is None:
            job = stack.enter_context(open_job(path, keep=False, jobs=jobs, progress=None))
            members.append((path, _engine_job(job)))
        else:
            members.append((path, stored))
    return members


def _ask(sides: Sequence[Side], settings: Dict[str, Any], jobs: Optional[int], progress: Progress) -> Tuple[Result, str]:
    with contextlib.ExitStack() as stack:
        members = [_members(side, jobs, stack) for side in sides] + [[]]
        with _progress(progress, "reading") as call:
            answer, text = _engine.regress(members[0], members[1], settings, call)
    return finish(answer, 3), text


regress = Regress()
