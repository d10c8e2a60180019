"""TraceLens' performance report and its comparison of reports: sheets, columns, order and numbers as that tool has them, faults
included (docs/differences.md).

    sheets = rankscope.tracelens.report("trace.json.gz", device="MI300X")
    sheets["gpu_timeline"].to_pandas()
    sheets.save("sheets/")
    rankscope.tracelens.compare("old/", "new.json.gz", names=["old", "new"])["ops_summary"]
"""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _engine
from ._files import whole
from ._job import Job, finish, open_job
from ._progress import progress as _progress
from ._settings import Path, Progress
from ._table import Result, Table
from .errors import UsageError

__all__ = ["Comparison", "Report", "compare", "report"]

_Sheets = Dict[str, Table]


def _by_name(tables: List[_engine.Table], result: Result) -> _Sheets:
    return {table.name: Table(table, result) for table in tables}


def _save(sheets: _Sheets, folder: str) -> None:
    if folder.endswith(".xlsx"):
        raise UsageError("%s: sheets are written into a folder; a workbook is what the program writes: rankscope report --tracelens FILE.xlsx" % folder)
    os.makedirs(folder, exist_ok=True)
    for name, table in sheets.items():
        with whole(os.path.join(folder, name + ".csv")) as path, open(path, "w", encoding="utf-8", newline="") as file:
            file.write(table.csv())


def _of(sheets: _Sheets, name: str) -> Table:
    if name not in sheets:
        raise UsageError("there is no sheet \"%s\"; there is %s" % (name, ", ".join(sheets)))
    return sheets[name]


class Report:
    """Sheets by name for each rank. `report["gpu_timeline"]` where there is one rank, else `report[rank]["gpu_timeline"]`."""

    __slots__ = ("ranks", "job", "problems", "notes")

    ranks: Dict[int, _Sheets]  # each rank's sheets, in TraceLens' order
    job: _Sheets  # those over all ranks: of several, or where only they were asked for

    def __init__(self, ranks: Dict[int, _Sheets], job: _Sheets, result: Result) -> None:
        self.ranks, self.job, self.problems, self.notes = ranks, job, result.problems, result.notes

    @property
    def sheets(self) -> _Sheets:
        """The sheets of the one rank, or those over all ranks where there are no others."""
        if len(self.ranks) == 1:
            return next(iter(self.ranks.values()))
        if any(self.ranks.values()):
            raise UsageError("there are the sheets of %d ranks: report[%d] has those of one" % (len(self.ranks), next(iter(self.ranks))))
        return self.job

    def __getitem__(self, key: Union[int, str]) -> Any:
        if isinstance(key, str):
            return self.job[key] if key in self.job else _of(self.sheets, key)
        if key not in self.ranks:
            raise UsageError("there is no rank %s; there is %s" % (key, ", ".join(map(str, self.ranks))))
        return self.ranks[key]

    def save(self, folder: Path) -> None:
        """Writes a CSV file a sheet, as `report --tracelens` does: those of several ranks into rank0, rank1, ..."""
        place = os.fspath(folder)
        _save(self.job, place)
        for rank, sheets in self.ranks.items():
            _save(sheets, place if len(self.ranks) == 1 else os.path.join(place, "rank%d" % rank))

    def __repr__(self) -> str:
        shown = self.sheets if len(self.ranks) == 1 else self.job
        return "<rankscope.tracelens.Report, ranks %s: %s>" % (", ".join(map(str, self.ranks)), ", ".join(shown))


class Comparison:
    """Sheets of a comparison by name."""

    __slots__ = ("sheets", "problems", "notes")

    sheets: _Sheets

    def __init__(self, sheets: _Sheets, result: Result) -> None:
        self.sheets, self.problems, self.notes = sheets, result.problems, result.notes

    def __getitem__(self, name: str) -> Table:
        return _of(self.sheets, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sheets)

    def save(self, folder: Path) -> None:
        """Writes a CSV file a sheet, as `report --tracelens --compare` does."""
        _save(self.sheets, os.fspath(folder))

    def __repr__(self) -> str:
        return "<rankscope.tracelens.Comparison: %s>" % ", ".join(self.sheets)


def _us(name: str, value: Optional[float]) -> Optional[float]:
    if value is not None and not 0 < value < 1e12:
        raise UsageError("%s takes microseconds, more than 0" % name)
    return value


def report(source: Any, *, device: Optional[Path] = None, short_kernels: Optional[float] = None, collectives: bool = False,
           detailed: bool = False, micro_idle: Optional[float] = None, unlinked: bool = False, recompute: bool = False,
           progress: Progress = "auto") -> Report:
    """TraceLens' performance report of a job, or of a source that open takes.

    device: whose rates make the roofline columns: a name of `job.roofline(table="devices")`, or a file in TraceLens' form
    short_kernels: also the sheets of kernels shorter than that many microseconds (TraceLens: 10)
    collectives: only its collective report over all ranks, which is with the others otherwise (`.job`)
    detailed: also the sheets of single collectives
    micro_idle: gpu_timeline lists pauses shorter than that many microseconds separately
    unlinked: GPU work whose launch is not in the file counts in gpu_timeline
    recompute: what activation checkpointing computes again is in rows of its own (needs Python functions in the trace)"""
    settings = {"device": None if device is None else os.fspath(device), "short_kernels": _us("short_kernels", short_kernels),
                "micro_idle": _us("micro_idle", micro_idle), "unlinked": unlinked, "recompute": recompute,
                "collectives": collectives, "detailed": detailed}
    job: Any = source if isinstance(source, Job) else open_job(source, keep=False)
    try:
        with _progress(progress, "reading") as call:
            ranks, of_job, told = _engine.tracelens(job._job, settings, call)
    finally:
        if job is not source:
            job.close()
    result = finish(told, 2)
    return Report({rank: _by_name(tables, result) for rank, tables in ranks}, _by_name(of_job, result), result)


def _input(source: Any, device: Optional[Path], progress: Progress) -> Tuple[Optional[str], _Sheets]:
    if isinstance(source, (str, os.PathLike)) and _engine.tracelens_is_report(source):
        return os.fspath(source), {}
    given = source if isinstance(source, Report) else report(source, device=device, progress=progress)
    if len(given.ranks) != 1:
        raise UsageError("TraceLens compares reports of one rank, and here are %d: name one rank's trace, or compare all of them with "
                         "rankscope.compare()" % len(given.ranks))
    return None, given.sheets


def _name_of(source: Any, place: int) -> str:
    """The file's name without its last ending, as TraceLens calls a report."""
    if isinstance(source, (str, os.PathLike)):
        return os.path.splitext(os.path.basename(os.fspath(source).rstrip("/")))[0]
    return "report%d" % place


def compare(base: Any, *others: Any, names: Optional[Sequence[str]] = None, sheets: Union[None, str, Sequence[str]] = None,
            device: Optional[Path] = None, progress: Progress = "auto") -> Comparison:
    """TraceLens' comparison of reports with the first of them. Each is a Report, a workbook, a folder of CSV files, or a job or source
    of one rank.

    names: what the columns of each begin with; else the files' names without their last ending
    sheets: only these of gpu_timeline, ops_summary, kernel_summary, ops_all and roofline
    device: for those that are traces, as in report"""
    sources = (base,) + others
    if not others:
        raise UsageError("compared with what? rankscope.tracelens.compare(base, other, ...)")
    called = [_name_of(source, place) for place, source in enumerate(sources)] if names is None else list(names)
    if len(called) != len(sources):
        raise UsageError("names has %d for %d reports" % (len(called), len(sources)))
    inputs = []
    for name, source in zip(called, sources):
        path, tables = _input(source, device, progress)
        inputs.append((name, path, [table._engine for table in tables.values()]))
    groups = sheets if sheets is None or isinstance(sheets, str) else ",".join(sheets)
    compared, told = _engine.tracelens_compare(inputs, groups)
    result = finish(told, 2)
    return Comparison(_by_name(compared, result), result)
