"""Flight-recorder dumps: which rank hung, in which collective, why, and where in its code.

    report = rankscope.flight.analyze("dumps/")
    report.verdict, report.culprits, report.summary
"""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _engine, _settings, sources
from ._files import whole
from ._job import warn
from ._progress import progress as _progress
from ._table import Table
from .errors import InputOSError, UsageError

__all__ = ["Report", "analyze", "live", "watch"]

TABLES = ("groups", "entries", "side_by_side", "dumps", "lateness", "collectives", "roots", "log", "attempts", "progress", "stacks")


class Report:
    """What the dumps show. Its attributes are those of `rankscope flight --format json`."""

    def __init__(self, flight: _engine.Flight) -> None:
        self._flight = flight
        self._answer: Dict[str, Any] = json.loads(flight.json())

    @property
    def verdict(self) -> str:
        """healthy, rank_missing, dump_missing, type_mismatch, size_mismatch, dtype_mismatch, state_mismatch,
        stuck_in_collective, rank_blocked_before_start, p2p_size_mismatch, p2p_order, p2p_deadlock,
        cross_group_order, straggler, crashed, bad_config or bad_input."""
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
    def roots(self) -> List[Dict[str, Any]]:
        """What the hang comes from; roots do not depend on each other."""
        return self._answer["roots"]

    @property
    def cause(self) -> Optional[Dict[str, Any]]:
        """Why a rank failed, as the job's log or its stack shows."""
        return self._answer["cause"]

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
        """A table: groups, entries, side_by_side (one column a rank), dumps, lateness, collectives, roots, log (events of the
        job's logs), attempts (of torchrun to run the job), progress (a row a rank and group) or stacks (of a job that runs).

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
        from html import escape
        proof = "".join("<li>%s</li>" % escape(line["text"]) for line in self.evidence[:20])
        return "<p><b>%s</b>: %s</p><ul>%s</ul>" % (escape(self.verdict), escape(self.summary), proof)


_Paths = Union[_settings.Path, Sequence[_settings.Path], None]


def _paths(given: _Paths) -> List[str]:
    several: Sequence[Any] = () if given is None else [given] if isinstance(given, (str, os.PathLike)) else given
    return [os.fsdecode(os.fspath(one)) for one in several]


def analyze(source: Any = None, *, logs: _Paths = None, prefix: Optional[str] = None, allow_missing: bool = False, torchft_size: int = 0,
            jobs: int = 0, progress: _settings.Progress = "auto") -> Report:
    """Reads the dumps of one job and says what went wrong.

    source: a directory, a file, a list of them, a dict {rank: path}, or a dict {rank: bytes, URL or file object}; without it the
        dumps that the logs name
    logs: the job's logs, one for the job or one a node or rank: why a rank failed
    prefix: only files whose name contains it
    allow_missing: dumps that are not there are no fault by themselves
    torchft_size: ranks of a replica under torchft; 0: none
    """
    settings = {"jobs": jobs, "allow_missing": allow_missing, "prefix": prefix, "replica_size": torchft_size, "logs": _paths(logs)}
    if source is None and not settings["logs"]:
        raise UsageError("which dumps? analyze(folder), analyze(logs=...) or both")
    paths, files = ([], []) if source is None else sources.resolve(source)
    if files and (paths or any(file.rank < 0 for file in files)):
        raise TypeError("analyze takes paths, or a dict {rank: bytes, URL or file object}, not %r" % type(source).__name__)
    sources.fetch(files, whole=True)
    dumps = [(file.rank, file.data if isinstance(file.data, bytes) else b"",
              "<dump of rank %d>" % file.rank if file.name == "<bytes>" else file.name) for file in files]
    with _progress(progress, "reading dumps") as call:
        flight = _engine.Flight(None if dumps else paths, dumps or None, settings, call)
    warn(flight.problems, 2)
    return Report(flight)


# ---- a job that runs ----------------------------------------------------------------------------------------------

# (page or handler, rank or -1, address, status, timed out, failure or None, body)
_Answer = Tuple[str, int, str, int, bool, Optional[str], bytes]
_PORT = 25999
_NCCL_JSON = "dump_nccl_trace_json?includecollectives=true&onlyactive=false"
_CPU_JSON = "fr_trace_json?includecollectives=true&onlyactive=false"
_NCCL_PICKLE = "dump_nccl_trace_pickle?includecollectives=true&includestacktraces=true&onlyactive=false"
_CONNECTIONS = 64
_MOST_BYTES = 512 << 20  # of an answer, as in the command line


def _address(text: str, port: bool) -> str:
    """"host", "host:port", "http://host:port/" as "http://host:port"."""
    text = text.strip().rstrip("/")
    if not text.startswith(("http://", "https://")):
        text = "http://" + text
    host = text.split("://", 1)[1]
    return text if not port or ":" in host.rsplit("]", 1)[-1] else "%s:%d" % (text, _PORT)


def _body(answer: Any, until: float) -> bytes:
    """All of an answer. One that drips, never ends or is cut short is a failure, as no answer is."""
    import time
    parts: List[bytes] = []
    n = 0
    while True:
        part = answer.read1(1 << 16)
        n += len(part)
        if time.monotonic() > until:
            raise TimeoutError
        if n > _MOST_BYTES:
            raise ValueError("the answer is larger than %d MB" % (_MOST_BYTES >> 20))
        if not part:
            break
        parts.append(part)
    if answer.length:
        raise ValueError("the answer ends %d bytes too early" % answer.length)
    return b"".join(parts)


def _ask(wanted: Sequence[Tuple[int, str, str]], timeout: float) -> List[_Answer]:
    """Asks for all of (rank or -1, address, page) at once. Who does not answer is no error."""
    import socket
    import time
    from concurrent.futures import ThreadPoolExecutor
    from http.client import HTTPException
    from urllib import error, request

    class NoRedirect(request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    opener = request.build_opener(request.ProxyHandler({}), NoRedirect())

    def one(what: Tuple[int, str, str]) -> _Answer:
        rank, address, page = what
        name, failure, status, body, late = page.split("?")[0], None, 0, b"", False
        url = "%s/%s%s" % (address, "handler/" if rank >= 0 else "", page)
        until = time.monotonic() + timeout
        try:
            try:
                answer = opener.open(request.Request(url, data=b"" if rank >= 0 else None), timeout=timeout)
            except error.HTTPError as refusal:
                answer = refusal
            with answer:
                status, body = answer.code, _body(answer, until)
        except (OSError, ValueError, HTTPException) as problem:
            status, body = 0, b""
            reason = getattr(problem, "reason", problem)
            late = isinstance(reason, (socket.timeout, TimeoutError))
            failure = "no answer in time" if late else str(getattr(reason, "strerror", None) or reason)[:110]
        return name, rank, address, status, late, failure, body

    pool = ThreadPoolExecutor(max_workers=max(1, min(_CONNECTIONS, len(wanted))))
    try:
        return list(pool.map(one, wanted))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _ask_workers(workers: Sequence[Tuple[int, str]], timeout: float, pyspy: bool, frames: bool) -> List[_Answer]:
    """The records and stacks of all workers; then, of those whose record is of another recorder, that one."""
    pages = [_NCCL_PICKLE if frames else _NCCL_JSON, "dump_traceback"] + (["pyspy_dump"] if pyspy else [])
    answers = _ask([(rank, address, page) for rank, address in workers for page in pages], timeout)
    known = {answer[1] for answer in answers if answer[0] != "dump_traceback" and _engine.flight_count_records([answer])}
    return answers + _ask([(rank, address, _CPU_JSON) for rank, address in workers if rank not in known], timeout)


def _allowed(workers: Sequence[Tuple[int, str]], server: str, hosts: Sequence[str]) -> List[Tuple[int, str]]:
    """The workers that may be asked: a page could name any machine."""
    import warnings

    from .errors import InputWarning
    refused = [worker for worker in workers if not _engine.flight_may_ask(worker[1], server, list(hosts))]
    if refused:
        warnings.warn("%d workers that the server names were not asked, as they are not on its own host: %s ...; allow_hosts allows a host"
                      % (len(refused), refused[0][1][:80]), InputWarning, 4)
    return [worker for worker in workers if worker not in refused]


def _ask_server(server: str, timeout: float, pyspy: bool, frames: bool, hosts: Sequence[str]) -> List[_Answer]:
    """The front end's pages of the recorders until one describes groups, then the stacks; where none does, each worker."""
    answers: List[_Answer] = []
    found = False
    wait = timeout * 6  # the front end waits for its workers
    for page in ("fr_trace_nccl_json", "fr_trace_json", "torchcomms_fr_trace_json"):
        answers += _ask([(-1, server, page)], wait)
        if not answers[-1][3]:
            text = ("%s does not answer (%s): is the debug server started there? torch.distributed.debug.start_debug_server()"
                    % (server, answers[-1][5]))
            raise InputOSError(text, [{"message": text, "file": server, "offset": None}])
        found = _engine.flight_count_records(answers[-1:]) > 0
        if found:
            break
    answers += _ask([(-1, server, "stacks")], wait)
    if pyspy or b"Failed to fetch: status=408" in answers[-1][6]:  # py-spy needs no lock of the interpreter
        answers += _ask([(-1, server, "pyspy_dump")], wait)
    if not found:
        answers += _ask_workers(_allowed(_engine.flight_workers(answers), server, hosts), timeout, pyspy, frames)
    return answers


def live(server: Optional[str] = None, *, workers: Union[Dict[int, str], Sequence[str], None] = None, stall: float = 30.0,
         timeout: float = 10.0, pyspy: bool = False, frames: bool = False, logs: _Paths = None,
         allow_hosts: Sequence[str] = ()) -> Report:
    """A snapshot of a job that runs, from its servers.

    server: the job's debug server (torch.distributed.debug): "host", "host:port" or a URL; the port is 25999 unless given
    workers: the workers' own servers instead: {rank: "host:port"}, or a list in the order of ranks
    stall: seconds without an issue or a completion after which a job hangs
    timeout: seconds that a worker has for an answer
    pyspy: ask for py-spy's stacks, too; it must be installed on the hosts
    frames: with workers, ask for the recorded stacks; their making may need the GIL
    allow_hosts: with server, hosts besides its own on which workers may be asked; one * is any text ("node*")
    """
    flight = _snapshot(server, workers, stall, timeout, pyspy, frames, logs, None, allow_hosts)
    warn(flight.problems, 2)
    return Report(flight)


def _snapshot(server: Optional[str], workers: Union[Dict[int, str], Sequence[str], None], stall: float, timeout: float, pyspy: bool,
              frames: bool, logs: _Paths, previous: Optional[_engine.Flight], hosts: Sequence[str]) -> _engine.Flight:
    import time
    if (server is None) == (workers is None):
        raise UsageError("live takes a server or workers: live(\"host:25999\") or live(workers={0: \"host:port\", ...})")
    if not stall > 0 or not timeout > 0:
        raise UsageError("stall and timeout take seconds, more than 0")
    if server is not None:
        answers = _ask_server(_address(server, True), timeout, pyspy, frames, hosts)
    else:
        assert workers is not None
        pairs = sorted(workers.items()) if isinstance(workers, dict) else list(enumerate(workers))
        answers = _ask_workers([(rank, _address(address, False)) for rank, address in pairs], timeout, pyspy, frames)
    settings = {"allow_missing": True, "now_ns": time.time_ns(), "stall_ns": int(stall * 1e9), "logs": _paths(logs)}
    return _engine.Flight(None, None, settings, None, answers, previous)


def watch(source: Any, *, every: float = 10.0, stall: float = 30.0, timeout: float = 10.0, sleep: Optional[Callable[[float], Any]] = None,
          **settings: Any) -> Iterator[Report]:
    """Looks repeatedly at a job that runs, until it hangs; gives a Report at each change of the verdict, the last one being that
    of the hang. It ends, too, when the job's server is gone. Tables of a report are to be looked at before the next one.

    source: the job's debug server ("http://host:25999"), or a folder into which dumps are written
    every: seconds between two looks
    settings: those of live, of a folder those of analyze
    sleep: what waits, time.sleep by default
    """
    import time
    if not every > 0:
        raise UsageError("every takes seconds, more than 0")
    remote = isinstance(source, str) and source.startswith(("http://", "https://"))
    before: Optional[_engine.Flight] = None
    state = ""
    while True:
        if remote:
            try:
                flight = _snapshot(source, None, stall, timeout, bool(settings.get("pyspy")), bool(settings.get("frames")),
                                   settings.get("logs"), before, settings.get("allow_hosts", ()))
            except InputOSError:
                if before is None:
                    raise
                return
        else:
            flight = analyze(source, progress=False, **settings)._flight
        report, before = Report(flight), flight if remote else None
        hangs = report.verdict not in ("healthy", "straggler")
        said = report.verdict if report.healthy else "%s: %s" % (report.verdict, report.summary)
        if said != state:
            state = said
            warn(flight.problems, 2)
            yield report
        if hangs:
            return
        (sleep or time.sleep)(every)
