"""Flight-recorder dumps: which rank hung, in which collective, why, and where in its code.

    report = rankscope.flight.analyze("dumps/")
    report.verdict, report.culprits, report.summary
"""
from __future__ import annotations

import html
import json
import os
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _engine, _settings, sources
from ._files import whole
from ._job import warn
from ._progress import progress as _progress
from ._table import Table

__all__ = ["Report", "analyze"]

TABLES = ("groups", "entries", "side_by_side", "dumps", "lateness", "collectives")


class Report:
    """What the dumps tell. Its attributes are those of `rankscope flight --format json`."""

    def __init__(self, flight: _engine.Flight) -> None:
        self._flight = flight
        self._answer: Dict[str, Any] = json.loads(flight.json())

    @property
    def verdict(self) -> str:
        """healthy, rank_missing, dump_missing, type_mismatch, size_mismatch, dtype_mismatch, state_mismatch,
        stuck_in_collective, rank_blocked_before_start, p2p_size_mismatch, p2p_order, p2p_deadlock,
        cross_group_order, straggler, bad_config or bad_input."""
        return self._answer["verdict"]

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict == "healthy"

    @property
    def found(self) -> bool:
        """Whether something is wrong."""
        return not self.healthy

    @property
    def summary(self) -> str:
        """The verdict as one sentence."""
        return self._answer["summary"]

    @property
    def culprits(self) -> List[int]:
        """Global ranks at fault, sorted."""
        return self._answer["culprits"]

    @property
    def group(self) -> Optional[str]:
        """The process group of the collective, None if it concerns no one group."""
        return self._answer["group"]

    @property
    def group_desc(self) -> Optional[str]:
        """Its description."""
        return self._answer["group_desc"]

    @property
    def seq(self) -> Optional[int]:
        """Sequence number of the collective."""
        return self._answer["seq"]

    @property
    def op(self) -> Optional[str]:
        """The operation: all_reduce, send, ..."""
        return self._answer["op"]

    @property
    def members(self) -> Optional[List[int]]:
        """Ranks of the group."""
        return self._answer["members"]

    @property
    def evidence(self) -> List[Dict[str, Any]]:
        """Lines of proof."""
        return self._answer["evidence"]

    @property
    def waiting(self) -> List[Dict[str, Any]]:
        """Ranks that wait and are not at fault."""
        return self._answer["waiting"]

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """Everything that looked wrong, the root first."""
        return self._answer["findings"]

    @property
    def problems(self) -> List[Dict[str, Any]]:
        """Defects of the dumps, as rankscope.Table.problems."""
        return self._flight.problems

    def to_dict(self) -> Dict[str, Any]:
        """All of it."""
        return dict(self._answer)

    def json(self) -> str:
        """As `rankscope flight --format json` prints it."""
        return self._flight.json()

    def table(self, name: str, *, ranks: _settings.Ranges = None, groups: Union[str, Sequence[str], None] = None,
              stacks: bool = False) -> Table:
        """A table: groups, entries, side_by_side (one column a rank), dumps, lateness or collectives.

        ranks: only these, as rankscope.open takes them; groups: names or descriptions; stacks: with entries' stacks"""
        if groups is not None and not isinstance(groups, str):
            groups = ",".join(groups)
        return Table(self._flight.table(name, _settings.ranges(ranks, "ranks"), groups, stacks))

    @property
    def tables(self) -> Dict[str, Table]:
        """All tables by name."""
        return {name: self.table(name) for name in TABLES}

    @property
    def entries(self) -> Table:
        """One row an entry of the ring."""
        return self.table("entries")

    def stack(self, number: int) -> List[str]:
        """Frames of a stack that evidence or entries name, innermost first."""
        return self._flight.stack(number).splitlines()

    def write_timeline(self, path: _settings.Path) -> None:
        """Writes a trace of the recorded operations for a viewer: one process a rank, one track a group."""
        with whole(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(self._flight.timeline())

    def write_database(self, path: _settings.Path) -> None:
        """Writes an SQLite database; an existing file is replaced."""
        self._flight.database(os.fspath(path))

    def __repr__(self) -> str:
        return "<rankscope.flight.Report %s: %s>" % (self.verdict, self.summary)

    def _repr_html_(self) -> str:
        proof = "".join("<li>%s</li>" % html.escape(line["text"]) for line in self.evidence[:20])
        return "<p><b>%s</b>: %s</p><ul>%s</ul>" % (html.escape(self.verdict), html.escape(self.summary), proof)


def analyze(source: Any, *, prefix: Optional[str] = None, allow_missing: bool = False, torchft_size: int = 0, jobs: int = 0,
            progress: _settings.Progress = "auto") -> Report:
    """Reads the dumps of one job and says what went wrong.

    source: a directory, a file, a list of them, a dict {rank: path}, or a dict {rank: bytes, URL or file object}
    prefix: only files whose name contains it
    allow_missing: dumps that are not there are no fault by themselves
    torchft_size: ranks of a replica under torchft; 0: none
    """
    settings = {"jobs": jobs, "allow_missing": allow_missing, "prefix": prefix, "replica_size": torchft_size}
    paths, files = sources.resolve(source)
    if files and (paths or any(file.rank < 0 for file in files)):
        raise TypeError("analyze takes paths, or a dict {rank: bytes, URL or file object}, not %r" % type(source).__name__)
    sources.fetch(files, whole=True)
    dumps = [(file.rank, file.data if isinstance(file.data, bytes) else b"",
              "<dump of rank %d>" % file.rank if file.name == "<bytes>" else file.name) for file in files]
    with _progress(progress, "reading dumps") as call:
        flight = _engine.Flight(None if dumps else paths, dumps or None, settings, call)
    warn(flight.problems, 2)
    return Report(flight)
