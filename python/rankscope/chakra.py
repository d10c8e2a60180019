"""Chakra: execution traces that simulators replay.

    rankscope.chakra.build("host.json.gz", "device.json.gz", "rank0.et")
    assert rankscope.chakra.check("rank0.et").fit
"""
from __future__ import annotations

import json
import os
import subprocess
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _engine
from ._settings import Path
from ._files import whole
from ._job import warn
from .errors import Error, InputWarning, UsageError

__all__ = ["Check", "Converted", "Linked", "build", "build_job", "check", "convert", "generate", "link", "read", "text", "timeline",
           "visualize"]


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
    output: the linked trace (.gz and .zst are packed), written atomically; None: the bytes are in the answer
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
    output: the execution trace (.gz and .zst are packed; .json is {"workload_graph": [...]}), written atomically;
        None: the bytes are in the answer
    groups: where {"pg_name": [ranks]} goes as JSON; it is in the answer, too
    timing: what duration_micros says: "recorded", so that a replay takes as long as the recording, or "exclusive"
    target: "any", what was recorded, or "astra-sim", what that simulator takes
    rank: of the trace, where it does not name it
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
    settings = _settings(name, timing, target, rank, 0, max_ratio, allow_unlinked)
    with whole(output) as temporary, whole(groups) as side:
        report, made, problems, members = _engine.chakra_convert(path, data, temporary, output, settings)
        if side is not None:
            with open(side, "w", encoding="utf-8") as file:
                file.write(members)
    warn(problems, 2)
    return Converted(report, made, problems, _name(output), json.loads(members) if members.strip() else {})


def _settings(name: str, timing: str, target: str, rank: Optional[int], jobs: int, max_ratio: int, unlinked: bool = False) -> Dict[str, int]:
    return dict(_choices(timing, target), jobs=jobs, max_ratio=max_ratio, json=int(name.endswith((".json", ".json.gz", ".json.zst"))),
                unlinked=int(unlinked), rank=rank or 0, rank_set=int(rank is not None))


def build(host: Path, device: Path, output: Optional[Path] = None, *, groups: Optional[Path] = None, rank: Optional[int] = None,
          timing: str = "recorded", target: str = "any", min_match: float = 0.5, jobs: int = 0, max_ratio: int = 1000) -> Converted:
    """link and convert in memory, without the linked trace's text between them; the same bytes. Returns what convert returns, with
    the problems of both."""
    made, problems, text = _build(host, device, output, groups, rank, timing, target, min_match, jobs, max_ratio)
    warn(problems, 2)
    return made


def _build(host: Path, device: Path, output: Optional[Path], groups: Optional[Path], rank: Optional[int], timing: str, target: str,
           min_match: float, jobs: int, max_ratio: int) -> Tuple[Converted, List[Dict[str, Any]], str]:
    settings = _settings("" if output is None else os.fsdecode(output), timing, target, rank, jobs, max_ratio)
    with whole(output) as temporary, whole(groups) as side:
        _, problems, report, data, more, members = _engine.chakra_build(
            os.fspath(host), os.fspath(device), temporary, output, rank, float(min_match), settings)
        if side is not None:
            with open(side, "w", encoding="utf-8") as file:
                file.write(members)
    problems = problems + more
    return Converted(report, data, problems, _name(output), json.loads(members) if members.strip() else {}), problems, members


def build_job(host: Path, device: Path, output: Path, *, groups: Optional[Path] = None, timing: str = "recorded", target: str = "any",
              min_match: float = 0.5, jobs: int = 0, max_ratio: int = 1000) -> Dict[int, Converted]:
    """Builds every rank of a job: host and device are the folders of both kinds of traces (or one of both), output
    gets chakra.RANK.et for each. Returns what build returns, by rank. A rank that fails is reported as a warning and left out; the
    first one's error is raised when all fail.

    groups: where the process groups of all ranks go as one JSON object, {"pg_name": [ranks]}"""
    from concurrent.futures import ThreadPoolExecutor
    _choices(timing, target)
    pairs, problems = _engine.chakra_pairs(os.fspath(host), os.fspath(device), jobs, max_ratio)
    warn(problems, 2)
    folder = os.fspath(output)
    os.makedirs(folder, exist_ok=True)
    workers = jobs or os.cpu_count() or 1
    each = max(1, workers // max(1, len(pairs)))

    def one(pair: Tuple[int, str, str]) -> Union[Error, Tuple[Converted, List[Dict[str, Any]], str]]:
        rank, host_file, device_file = pair
        try:
            return _build(host_file, device_file, os.path.join(folder, "chakra.%d.et" % rank), None, rank, timing, target, min_match,
                          each, max_ratio)
        except Error as error:
            return error

    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        answers = list(pool.map(one, pairs))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    made: Dict[int, Converted] = {}
    texts: List[str] = []
    failed: Optional[Error] = None
    for (rank, _, _), answer in zip(pairs, answers):
        if isinstance(answer, Error):
            failed = failed or answer
            warnings.warn("rank %d: %s" % (rank, answer), InputWarning, stacklevel=2)
        else:
            made[rank] = answer[0]
            warn(answer[1], 2)
            if answer[2].strip():
                texts.append(answer[2])
    if failed is not None and not made:
        raise failed
    if groups is not None:
        with whole(groups) as side, open(side, "w", encoding="utf-8") as file:
            file.write(_engine.chakra_join_groups(texts))
    return made


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


def text(workload: Path, prefix: Path, *, npus: int = 1, passes: int = 1, max_ratio: int = 1000) -> List[str]:
    """Writes a text workload (docs/chakra.md) as execution traces, PREFIX.0.et and on, one for each NPU; returns their paths.

    passes: forward and backward passes in each"""
    if not 1 <= npus <= 1 << 20 or not 1 <= passes <= 1 << 20:
        raise UsageError("npus and passes take 1 to %d" % (1 << 20))
    data = _engine.chakra_text(os.fspath(workload), passes, max_ratio)
    return [_put("%s.%d.et" % (os.fsdecode(prefix), npu), data) for npu in range(npus)]


def generate(folder: Path, *, npus: int = 64, runtime: int = 5, tensor_size: int = 1024, comm_size: int = 65536) -> List[str]:
    """Writes small synthetic execution traces into a folder, PATTERN.NPU.et; returns their paths.

    runtime: microseconds of a compute node; tensor_size, comm_size: bytes of a memory and of a communication node"""
    if not 1 <= npus <= 1 << 20 or min(runtime, tensor_size, comm_size) < 0:
        raise UsageError("npus takes 1 to %d, the others nothing negative" % (1 << 20))
    os.makedirs(folder, exist_ok=True)
    return [_put(os.path.join(os.fsdecode(folder), "%s.%d.et" % (name, npu)),
                 _engine.chakra_generate(number, npu, npus, runtime, tensor_size, comm_size))
            for number, name in enumerate(_engine.chakra_patterns()) for npu in range(npus)]


def visualize(path: Path, output: Optional[Path] = None, *, max_ratio: int = 1000) -> Optional[str]:
    """An execution trace as a graph: what Graphviz reads, as text, or in the file output: .dot, .graphml, or a picture (.pdf,
    .svg, .png), which Graphviz's program dot draws."""
    name = "" if output is None else os.fsdecode(output)
    graph = _engine.chakra_graph(os.fspath(path), "graphml" if name.endswith(".graphml") else "dot", max_ratio)
    if output is None:
        return graph.decode("utf-8")
    if not name.endswith((".pdf", ".svg", ".png")):
        _put(name, graph)
        return None
    with whole(output) as temporary:
        try:
            done = subprocess.run(["dot", "-T" + name[-3:], "-o", temporary], input=graph, stderr=subprocess.PIPE)
        except FileNotFoundError:
            raise UsageError("pictures are drawn by Graphviz's program dot, which is not installed: install graphviz, or write %s as "
                             ".dot or .graphml" % name) from None
        if done.returncode:
            raise UsageError("dot failed on this graph; .dot and .graphml need no dot")
    return None


def timeline(log: Path, output: Optional[Path] = None, *, frequency: float = 1000.0, max_ratio: int = 1000) -> Optional[Dict[str, Any]]:
    """The log of a simulator's run as a trace for viewers: in the file output, else as a dict.

    frequency: cycles a microsecond (MHz)"""
    if not frequency > 0:
        raise UsageError("frequency takes a number of MHz, more than 0, not %r" % (frequency,))
    with whole(output) as temporary:
        data, problems = _engine.chakra_timeline(os.fspath(log), temporary, output, float(frequency), max_ratio)
    warn(problems, 2)
    return None if data is None else json.loads(data)


def _put(path: str, data: bytes) -> str:
    with whole(path) as temporary, open(temporary, "wb") as file:
        file.write(data)
    return path


def _name(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.fsdecode(path)
