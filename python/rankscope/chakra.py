"""Chakra: execution traces that simulators replay.

    rankscope.chakra.build("host.json.gz", "device.json.gz", "rank0.et")
    assert rankscope.chakra.check("rank0.et").fit
"""
from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _engine
from ._settings import Path
from ._files import whole
from ._job import warn
from .errors import UsageError

__all__ = ["Check", "Converted", "Linked", "build", "build_job", "check", "convert", "link", "read"]


class _Answer:
    """What a step came to: `report` its counts, `problems` what was wrong with the input, `output` where it was
    written, `data` the bytes when no output was named."""

    def __init__(self, report: Dict[str, int], data: Optional[bytes], problems: List[Dict[str, Any]], output: Optional[str]) -> None:
        self.report, self.data, self.problems, self.output = report, data, problems, output

    def __bytes__(self) -> bytes:
        if self.data is None:
            raise UsageError("the bytes are in %s" % self.output)
        return self.data

    def __repr__(self) -> str:
        where = self.output if self.output else "%d bytes" % len(self.data or b"")
        return "<rankscope.chakra.%s %s: %s>" % (type(self).__name__, where, ", ".join("%s %d" % item for item in self.report.items() if item[1]))


class Linked(_Answer):
    """A linked trace. `explanation`: with explain, a line for each synchronization dependency that was found."""

    def __init__(self, report: Dict[str, int], data: Optional[bytes], problems: List[Dict[str, Any]], output: Optional[str],
                 explanation: List[str]) -> None:
        super().__init__(report, data, problems, output)
        self.explanation = explanation


class Converted(_Answer):
    """A Chakra execution trace. `groups`: {"pg_name": [ranks]}."""

    def __init__(self, report: Dict[str, int], data: Optional[bytes], problems: List[Dict[str, Any]], output: Optional[str],
                 groups: Dict[str, List[int]]) -> None:
        super().__init__(report, data, problems, output)
        self.groups = groups


class Check:
    """What proving a trace found: `faults`, their number; `text`, for people; `report`, everything."""

    def __init__(self, faults: int, text: str, report: Dict[str, Any]) -> None:
        self.faults, self.text, self.report = faults, text, report

    @property
    def fit(self) -> bool:
        """Whether nothing is wrong."""
        return self.faults == 0

    def __repr__(self) -> str:
        return "<rankscope.chakra.Check, %d faults>\n%s" % (self.faults, self.text.rstrip("\n"))


def link(host: Path, device: Path, output: Optional[Path] = None, *, rank: Optional[int] = None, min_match: float = 0.5,
         jobs: int = 0, max_ratio: int = 1000, explain: bool = False) -> Linked:
    """Links a PyTorch execution trace with a Kineto trace of the same run.

    host, device: the two files, packed or not
    output: the linked trace (.gz and .zst are packed), whole or not at all; None: the bytes are in the answer
    rank: which rank of a merged device trace
    min_match: refuse when a smaller share of the host nodes is found in the device trace, 0 to 1
    explain: name every synchronization dependency
    """
    with whole(output) as temporary:
        report, data, problems, lines = _engine.chakra_link(
            os.fspath(host), os.fspath(device), temporary, output, rank, float(min_match),
            {"jobs": jobs, "max_ratio": max_ratio}, bool(explain))
    warn(problems, 2)
    return Linked(report, data, problems, _name(output), lines.splitlines())


def _choices(timing: str, target: str) -> Dict[str, int]:
    if timing not in ("recorded", "exclusive"):
        raise UsageError("timing is \"recorded\" or \"exclusive\", not %r" % (timing,))
    if target not in ("any", "astra-sim"):
        raise UsageError("target is \"any\" or \"astra-sim\", not %r" % (target,))
    return {"exclusive": int(timing == "exclusive"), "astra": int(target == "astra-sim")}


def convert(linked: Union[Path, bytes, bytearray, memoryview, Linked], output: Optional[Path] = None, *,
            groups: Optional[Path] = None, timing: str = "recorded", target: str = "any", rank: Optional[int] = None,
            allow_unlinked: bool = False, max_ratio: int = 1000) -> Converted:
    """Writes a linked trace as a Chakra execution trace.

    linked: a file, or bytes (not copied) or what link returned
    output: the execution trace (.gz and .zst are packed; .json is {"workload_graph": [...]}), whole or not at all;
        None: the bytes are in the answer
    groups: where {"pg_name": [ranks]} goes as JSON; it is in the answer, too
    timing: what duration_micros says: "recorded", so that a replay takes as long as the recording, or "exclusive"
    target: "any", what was recorded, or "astra-sim", what that simulator takes
    rank: of the trace, where it does not tell it
    allow_unlinked: convert an execution trace without times, too
    """
    data: Optional[bytes] = None
    if isinstance(linked, Linked):
        data, path = linked.data, linked.output or "the linked trace"
    elif isinstance(linked, (bytes, bytearray, memoryview)):
        data, path = bytes(linked), "the linked trace"
    else:
        path = os.fspath(linked)
    name = "" if output is None else os.fsdecode(output)
    settings = dict(_choices(timing, target), max_ratio=max_ratio, json=int(name.endswith((".json", ".json.gz", ".json.zst"))),
                    unlinked=int(allow_unlinked), rank=rank or 0, rank_set=int(rank is not None))
    with whole(output) as temporary, whole(groups) as side:
        report, made, problems, members = _engine.chakra_convert(path, data, temporary, output, settings)
        if side is not None:
            with open(side, "w", encoding="utf-8") as file:
                file.write(members)
    warn(problems, 2)
    return Converted(report, made, problems, _name(output), json.loads(members) if members.strip() else {})


def build(host: Path, device: Path, output: Optional[Path] = None, *, groups: Optional[Path] = None, rank: Optional[int] = None,
          timing: str = "recorded", target: str = "any", min_match: float = 0.5, jobs: int = 0, max_ratio: int = 1000) -> Converted:
    """link and convert without a file between them. Returns what convert returns, with the problems of both."""
    linked = link(host, device, rank=rank, min_match=min_match, jobs=jobs, max_ratio=max_ratio)
    converted = convert(linked, output, groups=groups, timing=timing, target=target, rank=rank)
    converted.problems[:0] = linked.problems
    return converted


def build_job(host: Path, device: Path, output: Path, *, timing: str = "recorded", target: str = "any",
              min_match: float = 0.5, jobs: int = 0, max_ratio: int = 1000) -> Dict[int, Converted]:
    """Builds every rank of a job: host and device are the folders of both kinds of traces (or one of both), output
    gets chakra.RANK.et for each. Returns what build returns, by rank."""
    pairs, problems = _engine.chakra_pairs(os.fspath(host), os.fspath(device), jobs, max_ratio)
    warn(problems, 2)
    folder = os.fspath(output)
    os.makedirs(folder, exist_ok=True)

    def one(pair: Tuple[int, str, str]) -> Converted:
        return build(pair[1], pair[2], os.path.join(folder, "chakra.%d.et" % pair[0]), rank=pair[0], timing=timing,
                     target=target, min_match=min_match, jobs=1, max_ratio=max_ratio)
    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1) as pool:
        return dict(zip((pair[0] for pair in pairs), pool.map(one, pairs)))


def check(path: Union[Path, Sequence[Path]], *, linked: Optional[Path] = None, tolerance: float = 5.0, target: str = "any",
          groups: Optional[Path] = None, max_ratio: int = 1000) -> Check:
    """Proves an execution trace: ids, dependencies, cycles, launchers, stream order, the time of a replay; with the
    linked trace it was made from also that no node, time or byte was lost.

    path: the trace, or those of all ranks of a job, which are then also held against each other: the same
        collectives in each process group, a receive for every send. A file's rank is the number before its ending
    tolerance: percent by which a replay may differ from the recording
    target: "astra-sim": also what that simulator stops at
    groups: the simulator's file of process groups, {"number": [ranks]}
    """
    astra = bool(_choices("recorded", target)["astra"])
    if not tolerance >= 0:
        raise UsageError("tolerance is a percentage, 0 or more")
    paths = [os.fspath(path)] if isinstance(path, (str, bytes, os.PathLike)) else [os.fspath(each) for each in path]
    if linked is not None and len(paths) > 1:
        raise UsageError("linked is about one trace, not %d" % len(paths))
    faults, text, report = _engine.chakra_check(paths, None if linked is None else os.fspath(linked),
                                                None if groups is None else os.fspath(groups), float(tolerance), astra, max_ratio)
    return Check(faults, text, json.loads(report))


def read(path: Path, *, max_ratio: int = 1000) -> Any:
    """An execution trace as a dict: metadata and nodes."""
    return json.loads(_engine.chakra_print(os.fspath(path), False, max_ratio))


def _name(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.fsdecode(path)
