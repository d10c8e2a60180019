"""Frames rank by rank: each file is read when a rank is asked for that it may hold, and then freed."""
from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import _engine, sources
from ._job import choose, finish, make_options, REGISTRY
from ._progress import progress as _progress
from ._settings import Progress
from ._table import Table
from .errors import AmbiguousError, UsageError

_IN_NAME = re.compile(r"rank[-_]?([0-9]{1,9})", re.IGNORECASE)


class Frames:
    """What job.frames() gives: frames[rank], and iteration over the tables of all ranks, in the order of the files' names."""

    def __init__(self, given: Tuple[List[str], List[sources.File]], settings: Dict[str, Any], options: Dict[str, Any],
                 progress: Progress) -> None:
        options = dict(options)
        for name in ("ranks", "of"):
            if options.pop(name, None) is not None:
                raise UsageError("frames gives one rank after another: frames()[rank], not %s=" % name)
        self._options = make_options(REGISTRY["frame"], options)
        self._given, self._settings, self._progress = given, settings, progress
        self._files: Optional[List[sources.File]] = None
        self._ranks: Dict[int, List[int]] = {}  # of the files that were read, by number
        self._chosen = _numbers(settings["options"].get("ranks"))

    def _list(self) -> List[sources.File]:
        """The files in the engine's order, which knows what is in folders."""
        if self._files is None:
            paths, files = self._given
            job = _engine.Job(paths, None, "", self._settings)
            for file in files:
                job.add(file.name, file.data, file.rank, file.optional)
            data = {os.fsdecode(os.fsencode(file.name)): file.data for file in files}
            self._files = [sources.File(name, data.get(name), rank, optional, parts=parts, instead=instead)
                           for name, rank, optional, parts, instead in job.files()]
            job.close()
        return self._files

    def _read(self, number: int, wanted: Optional[int]) -> Dict[int, Table]:
        """The tables of a file, by rank; of the rank that is wanted alone."""
        file = self._list()[number]
        options = {name: text for name, text in self._settings["options"].items() if name != "ranks"}
        job = _engine.Job([], None, "", dict(self._settings, keep=True, keep_memory=1 << 62, options=options))
        try:
            job.add(file.name, file.data, file.rank, file.optional, file.parts, file.instead)
            with _progress(self._progress, "reading") as call:
                info = choose(finish(job.run("info", {}, None, call), 3), "ranks")
                for rank, source in zip(info["rank"], info["rank_from"]):
                    if source in ("the only file", "order of the file names") and len(self._list()) > 1:
                        raise UsageError("%s does not name its rank, which follows from its place among the others: job.frame(ranks=...) reads "
                                         "them all" % file.name)
                self._note(number, info["rank"])
                return {rank: choose(finish(job.run("frame", self._options, None, call, (str(rank), None, None)), 3), None)
                        for rank in info["rank"] if wanted in (None, rank) and (self._chosen is None or rank in self._chosen)}
        finally:
            job.close()

    def _note(self, number: int, ranks: List[int]) -> None:
        for other, known in self._ranks.items():
            twice = set(known) & set(ranks) if other != number else set()
            if twice:
                raise AmbiguousError("%s and %s are both of rank %d: job.frame(ranks=%d) reads recordings that follow each other as one" % (
                    self._list()[other].name, self._list()[number].name, min(twice), min(twice)))
        self._ranks[number] = list(ranks)

    def _named(self, number: int) -> List[int]:
        """The ranks that a file's name, or whoever gave it, says; its text may say others."""
        file = self._list()[number]
        return [file.rank] if file.rank >= 0 else [int(found) for found in _IN_NAME.findall(os.path.basename(file.name))]

    def _order(self, rank: int) -> Iterator[int]:
        """Files by how likely they are of a rank: it was read there, said by hand, is in the name, or nothing is known."""
        def weight(number: int) -> int:
            file = self._list()[number]
            if number in self._ranks:
                return 0 if rank in self._ranks[number] else 9
            if file.rank >= 0:
                return 1 if file.rank == rank else 9
            names = self._named(number)
            return 3 if not names else 2 if rank in names else 4

        weights = {number: weight(number) for number in range(len(self._list()))}
        return iter(sorted((number for number, known in weights.items() if known < 9), key=lambda number: (weights[number], number)))

    def __getitem__(self, rank: int) -> Table:
        """The frame of a rank. Where names give ranks, one file is read."""
        for number in self._order(int(rank)):
            found = self._read(number, int(rank)).get(int(rank))
            if found is not None:
                return found
        known = sorted(one for ranks in self._ranks.values() for one in ranks if self._chosen is None or one in self._chosen)
        raise UsageError("there is no rank %s; there %s %s" % (rank, "is" if len(known) == 1 else "are", ", ".join(map(str, known)) or "none"))

    def __iter__(self) -> Iterator[Table]:
        def place(number: int) -> Tuple[int, int]:
            known = self._named(number)
            return (known[0] if known else 1 << 62), number

        for number in sorted(range(len(self._list())), key=place):
            for table in self._read(number, None).values():
                yield table

    def __repr__(self) -> str:
        return "<rankscope.Frames: frames[rank], or one table after another>"


def _numbers(text: Optional[str]) -> Optional[List[int]]:
    """"0,3,8-15" as numbers."""
    if text is None:
        return None
    out: List[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out
