"""Jobs of thousands of ranks: the work is cut into parts, any process does a part, the small results make one answer.

rankscope.summarize does all of it through an executor; RayExecutor makes one of a Ray cluster. What has no executor, such
as an array of batch jobs that share a file system, goes through a Plan:

    plan = fleet.plan("/shared/traces/", analyses=("summary", "kernels"), parts=64)
    plan.write(part, "/shared/results")        # in 64 processes, wherever they run
    tables = plan.merge("/shared/results")     # in one, when they have ended

The answer is the same bytes whoever did the work.
"""
from __future__ import annotations

import concurrent.futures
import hashlib
import importlib
import os
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _engine
from ._settings import Path
from ._table import Table
from .errors import InputOSError, UsageError
from .executors import Query, _begin, _chunks, _map, _merge, summarize
from .sources import File

__all__ = ["Plan", "RayExecutor", "plan", "summarize"]


class Plan:
    """The work of some questions over the files of a job, in parts. Pickles; made twice of the same files it is the same."""

    def __init__(self, parts: List[List[File]], queries: List[Query], settings: Dict[str, Any]) -> None:
        self._parts, self._queries, self._settings = parts, queries, settings
        self._mark: Optional[str] = None

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return "<rankscope.fleet.Plan of %d files in %d parts: %s>" % (
            sum(map(len, self._parts)), len(self), ", ".join(name for name, _, _ in self._queries))

    def files(self, part: int) -> List[str]:
        """The names of a part's files."""
        return [file.name for file in self._parts[self._check(part)]]

    def run(self, part: int) -> bytes:
        """What the ranks of a part contribute: some kilobytes a rank."""
        return _map(self._parts[self._check(part)], self._queries, self._settings)

    def path(self, part: int, folder: Path) -> str:
        """Where write puts a part. The name holds a mark of the files, their sizes and times, the questions and the version:
        what another plan left in the folder is not taken for this one's."""
        return os.path.join(os.fspath(folder), "part-%05d-of-%05d-%s.rankscope" % (self._check(part), len(self), self._marked()))

    def write(self, part: int, folder: Path) -> str:
        """Runs a part and puts what came of it into a folder, which is made. What is there already is not done again, so a job
        that was stopped goes on where it was. Returns the path."""
        path = self.path(part, folder)
        if os.path.exists(path):
            return path
        os.makedirs(os.fspath(folder), exist_ok=True)
        packed = self.run(part)
        fresh = "%s.%d.tmp" % (path, os.getpid())
        try:
            with open(fresh, "wb") as file:
                file.write(packed)
            os.replace(fresh, path)
        except BaseException:
            if os.path.exists(fresh):
                os.unlink(fresh)
            raise
        return path

    def missing(self, folder: Path) -> List[int]:
        """The parts that are not in a folder yet."""
        return [part for part in range(len(self)) if not os.path.exists(self.path(part, folder))]

    def merge(self, parts: Union[Path, Sequence[bytes]]) -> Dict[str, Table]:
        """The answer, {analysis: Table}: of what run gave for all parts, or of the folder that write put them into."""
        if isinstance(parts, (str, os.PathLike)):
            missing = self.missing(parts)
            if missing:
                raise InputOSError("%s: %d of %d parts are missing, the first is part %d; write it, and see why it was not" % (
                    os.fspath(parts), len(missing), len(self), missing[0]))
            packed = []
            for part in range(len(self)):
                with open(self.path(part, parts), "rb") as file:
                    packed.append(file.read())
        else:
            packed = list(parts)
            if len(packed) != len(self):
                raise UsageError("the plan has %d parts, not %d" % (len(self), len(packed)))
        return _merge(packed, self._queries, 2)

    def _check(self, part: int) -> int:
        if isinstance(part, bool) or not isinstance(part, int) or not 0 <= part < len(self):
            raise UsageError("there is no part %r: the plan has %s" % (
                part, "part 0 alone" if len(self) == 1 else "parts 0 to %d" % (len(self) - 1)))
        return part

    def _marked(self) -> str:
        if self._mark is None:
            said: List[Any] = [_engine.version(), self._queries, sorted(self._settings["options"].items())]
            for file in (file for part in self._parts for file in part):
                said.append((file.name, file.rank, list(file.parts), file.instead, file.url))
                for name in file.parts or ([] if file.data is not None or file.url is not None else [file.name]):
                    try:
                        info = os.stat(name)
                        said.append((info.st_size, info.st_mtime_ns))
                    except OSError:  # reading it tells what is wrong
                        said.append(None)
                if isinstance(file.data, bytes):
                    said.append(hashlib.sha256(file.data).hexdigest())
            self._mark = hashlib.sha256(repr(said).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return self._mark


def plan(source: Any, *, analyses: Union[str, Sequence[str], Mapping[str, Mapping[str, Any]]] = ("summary",), parts: Optional[int] = None,
         compat: Optional[str] = None, storage_options: Optional[Dict[str, Any]] = None, **settings: Any) -> Plan:
    """Cuts the work of analyses over many ranks into parts. Nothing is read yet.

    source, analyses, compat, storage_options and settings: as rankscope.summarize takes them; settings["jobs"] is the threads
        of a part (1)
    parts: how many, at most one a file; otherwise a few files a part"""
    if parts is not None and (not isinstance(parts, int) or isinstance(parts, bool) or parts < 1):
        raise UsageError("parts takes a number, at least 1, not %r" % (parts,))
    queries, given, files = _begin(source, analyses, compat, storage_options, {"jobs": 1, **settings}, True)
    if parts is None:
        return Plan(_chunks(files, None, None), queries, given)
    parts = max(1, min(parts, len(files)))
    bounds = [len(files) * part // parts for part in range(parts + 1)]
    return Plan([files[begin:end] for begin, end in zip(bounds, bounds[1:])], queries, given)


class RayExecutor(concurrent.futures.Executor):
    """A Ray cluster as an executor: RayExecutor() uses the one that ray.init() connected to, or connects.

    options: of the tasks, as ray.remote takes them: num_cpus, resources, runtime_env, max_retries, ..."""

    def __init__(self, **options: Any) -> None:
        try:
            self._ray = importlib.import_module("ray")
        except ImportError:
            raise UsageError("RayExecutor needs Ray: pip install ray") from None
        if not self._ray.is_initialized():
            self._ray.init()
        self._max_workers = max(1, int(self._ray.cluster_resources().get("CPU", 1) / (options.get("num_cpus") or 1)))
        task = self._ray.remote(_call)
        self._task = task.options(**options) if options else task
        self._lock = threading.Lock()
        self._waiting: Dict[concurrent.futures.Future[Any], Any] = {}
        self._ended = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """One task of the cluster. Its future is cancelled as long as it has not begun."""
        with self._lock:
            if self._ended:
                raise RuntimeError("cannot schedule new futures after shutdown")
            reference = self._task.remote(fn, args, kwargs)
            future: concurrent.futures.Future[Any] = _RayFuture(self._ray, reference)
            self._waiting[future] = reference
        reference.future().add_done_callback(lambda done: self._finish(future, done))
        return future

    def _finish(self, future: "concurrent.futures.Future[Any]", done: "concurrent.futures.Future[Any]") -> None:
        with self._lock:
            self._waiting.pop(future, None)
        if not future.set_running_or_notify_cancel():
            return
        error = done.exception()
        if error is not None:
            cause = getattr(error, "cause", None)  # what the task itself raised
            future.set_exception(cause if isinstance(cause, BaseException) else error)
        else:
            future.set_result(done.result())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for what is under way. The connection to the cluster stays."""
        with self._lock:
            self._ended = True
            waiting = list(self._waiting)
        if cancel_futures:
            for future in waiting:
                future.cancel()
        if wait:
            concurrent.futures.wait(waiting)


def _call(fn: Any, args: Any, kwargs: Any) -> Any:
    return fn(*args, **kwargs)


class _RayFuture(concurrent.futures.Future):  # type: ignore[type-arg]
    """A future whose cancelling is passed on to Ray."""

    def __init__(self, ray: Any, reference: Any) -> None:
        super().__init__()
        self._ray, self._reference = ray, reference

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._ray.cancel(self._reference, force=False)
        return cancelled
