"""Many ranks through an executor: each worker makes a small partial result of the ranks it is given, they are merged here."""
from __future__ import annotations

import collections
import concurrent.futures
import os
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Sequence, Tuple, Union, overload

from . import _engine, _settings, sources
from ._job import choose, find, finish, make_options, make_settings
from ._progress import progress as _progress
from ._table import Table
from .errors import Cancelled, UsageError

Query = Tuple[str, Dict[str, Optional[str]], Optional[str]]

_MOST = 16  # files of one task at most: the loss when a worker dies, and what the slowest holds up


@overload
def summarize(  # pyright: ignore[reportOverlappingOverload]  # a str is a sequence of str, too
              source: Any, *, analyses: str, compat: Optional[str] = None, executor: Any = None, chunk: Optional[int] = None,
              storage_options: Optional[Dict[str, Any]] = None, progress: _settings.Progress = None,
              **settings: Any) -> Table: ...
@overload
def summarize(source: Any, *, analyses: Union[Sequence[str], Mapping[str, Mapping[str, Any]]] = ("summary",),
              compat: Optional[str] = None, executor: Any = None, chunk: Optional[int] = None,
              storage_options: Optional[Dict[str, Any]] = None, progress: _settings.Progress = None,
              **settings: Any) -> Dict[str, Table]: ...
def summarize(source: Any, *, analyses: Any = ("summary",), compat: Optional[str] = None, executor: Any = None,
              chunk: Optional[int] = None, storage_options: Optional[Dict[str, Any]] = None,
              progress: _settings.Progress = None, **settings: Any) -> Any:
    """Runs analyses over many ranks: here, or spread over the workers of an executor. The answer is the same, byte for byte.

    source: what rankscope.open takes. Paths must lead to the same files wherever the workers run; URLs are read there.
    analyses: names, or a dict {name: {option: value}}; one name alone gives one table
    executor: any concurrent.futures.Executor: threads, processes, Dask's client.get_executor(), MPIPoolExecutor of mpi4py,
        rankscope.fleet.RayExecutor. Without one, the ranks are read here, on all cores, each once for all analyses.
    chunk: files a task; otherwise a few
    progress: a function of (files done, files in all) that may return False to stop
    settings: those of rankscope.open: ranks, steps, recursive, renumber, ...; jobs is the threads of each worker (1)

    Returns a dict {name: Table}, or one Table; `table.tables` has the others of its analysis."""
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError("executor takes a concurrent.futures.Executor, not %r" % type(executor).__name__)
    if chunk is not None and (not isinstance(chunk, int) or isinstance(chunk, bool) or chunk < 1):
        raise UsageError("chunk takes a number of files, at least 1, not %r" % (chunk,))
    queries, given, files = _begin(source, analyses, compat, storage_options, {"jobs": 1 if executor is not None else 0, **settings},
                                   executor is not None)
    if executor is None and not any(file.url is not None and file.data is None for file in files):
        with _progress(progress, "reading") as call:
            results = _fill(given, files).run_many(queries, call)
        tables = _tables(results, queries, 3)
    else:
        _check_spread(queries)
        parts = _chunks(files, chunk, executor)
        with _progress(progress, "reading", "files") as call:
            packed = _run_parts(parts, len(files), queries, given, executor, call)
        tables = _merge(packed, queries, 3)
    return tables[queries[0][0]] if isinstance(analyses, str) else tables


def _begin(source: Any, analyses: Any, compat: Optional[str], storage_options: Optional[Dict[str, Any]], settings: Dict[str, Any],
           spread: bool) -> Tuple[List[Query], Dict[str, Any], List[sources.File]]:
    """The questions, the settings and the files in the engine's order."""
    queries = _make_queries(analyses, compat)
    if spread:
        _check_spread(queries)
    given = make_settings(**{**settings, "keep": False})
    paths, files = sources.resolve(source, recursive=bool(settings.get("recursive", False)), storage_options=storage_options)
    return queries, given, _in_order(paths, files, given)


def _check_spread(queries: List[Query]) -> None:
    for name, _, _ in queries:
        if not _engine.can_map(name):
            raise UsageError("%s cannot be spread over workers: rankscope.open(...) runs it in one place" % name)


def _merge(packed: List[bytes], queries: List[Query], stacklevel: int) -> Dict[str, Table]:
    return _tables(_engine.merge(packed, queries), queries, stacklevel + 1)


def _tables(results: List[Any], queries: List[Query], stacklevel: int) -> Dict[str, Table]:
    return {name: choose(finish(result, stacklevel + 1), None) for (name, _, _), result in zip(queries, results)}


def _make_queries(analyses: Any, compat: Optional[str]) -> List[Query]:
    """[(name, options, compat)] for the engine."""
    if isinstance(analyses, str):
        analyses = {analyses: {}}
    elif not isinstance(analyses, dict):
        names = list(analyses)
        analyses = dict.fromkeys(names, {})
        if len(analyses) < len(names):
            raise UsageError("an analysis is named twice: a second one with other options needs a call of its own")
    if not analyses:
        raise UsageError("no analysis is named")
    queries: List[Query] = []
    for name, options in analyses.items():
        row = find(name)
        if row["input"] != "traces":
            raise UsageError("%s is no analysis of one job's traces" % name)
        queries.append((row["name"], make_options(row, options), compat))
    return queries


def _in_order(paths: List[str], files: List[sources.File], settings: Dict[str, Any]) -> List[sources.File]:
    """All files as the engine finds and sorts them: it knows what is in directories, and which name comes first."""
    job = _engine.Job(paths, None, "", settings)
    waiting: Dict[str, Deque[sources.File]] = collections.defaultdict(collections.deque)
    for name, rank, optional, parts, instead in job.files():
        waiting[name].append(sources.File(name, None, rank, optional, parts=parts, instead=instead))
    for file in files:
        waiting[os.fsdecode(os.fsencode(file.name))].append(file)
        job.add(file.name, None, file.rank, file.optional)
    ordered = [waiting[name].popleft() for name, *_ in job.files()]
    job.close()
    return ordered


def _fill(settings: Dict[str, Any], files: Sequence[sources.File]) -> Any:
    job = _engine.Job([], None, "", settings)
    for file in files:
        job.add(file.name, file.data, file.rank, file.optional, file.parts, file.instead)
    return job


def _map(files: List[sources.File], queries: List[Query], settings: Dict[str, Any]) -> bytes:
    """What a worker does: the partial results of some files, as bytes."""
    sources.fetch(files)
    job = _fill(settings, files)
    try:
        packed: bytes = job.map(queries)
        return packed
    finally:
        job.close()
        for file in files:
            if file.url is not None:
                file.data = None


def _chunks(files: List[sources.File], chunk: Optional[int], executor: Any) -> List[List[sources.File]]:
    if chunk is None:
        tasks = 4 * _workers(executor)
        chunk = max(1, min(_MOST, len(files) // tasks))
    return [files[i:i + chunk] for i in range(0, len(files), chunk)]


def _workers(executor: Any) -> int:
    """How many an executor has; a guess where it does not say."""
    for told in getattr(executor, "_max_workers", None), getattr(executor, "num_workers", None):
        if isinstance(told, int) and told > 0:
            return told
    cores: Any = getattr(getattr(executor, "_client", None), "ncores", None)  # Dask's
    counts: Any = cores() if callable(cores) else {}
    told = sum(counts.values())
    return told if told > 0 else 16


def _run_parts(parts: List[List[sources.File]], n_files: int, queries: List[Query], settings: Dict[str, Any], executor: Any,
               call: Optional[Callable[[int, int], Any]]) -> List[bytes]:
    """The packed results, in the order of the parts. As many tasks as keep the workers busy are under way, no more."""
    done = 0

    def tell(part: List[sources.File]) -> None:
        nonlocal done
        done += len(part)
        if call is not None and call(done, n_files) is False:
            raise Cancelled("stopped by the progress function")

    packed = [b""] * len(parts)
    if executor is None:
        for i, part in enumerate(parts):
            packed[i] = _map(part, queries, settings)
            tell(part)
        return packed
    most = 4 * _workers(executor)
    waiting: Dict[concurrent.futures.Future[bytes], int] = {}
    following = 0
    try:
        while waiting or following < len(parts):
            while following < len(parts) and len(waiting) < most:
                waiting[executor.submit(_map, parts[following], queries, settings)] = following
                following += 1
            ready, _ = concurrent.futures.wait(waiting, timeout=1.0, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ready:
                i = waiting.pop(future)
                packed[i] = future.result()
                tell(parts[i])
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    return packed
