"""The store: what is kept of traces that were read, so that they need not be read again (docs/store.md).

    job = rankscope.open("traces/", store="kept/")      # keeps what it computes there, and takes it from there
    rankscope.store.entries("kept/")

The package keeps nothing unless it is given a folder. The program's own is default()."""
from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Union

from . import _engine, _settings, sources
from ._job import choose, finish, make_settings
from ._progress import progress as _progress
from ._table import Table
from .errors import UsageError

__all__ = ["build", "default", "drop", "entries", "verify"]

_Paths = Union[_settings.Path, Sequence[_settings.Path]]


def default() -> Optional[str]:
    """The folder of the program `rankscope`, where the environment says none else; None where it keeps nothing."""
    own, cache, home = (os.environ.get(name) for name in ("RANKSCOPE_CACHE", "XDG_CACHE_HOME", "HOME"))
    if own is not None:
        return own or None
    if cache and cache.startswith("/"):
        return cache + "/rankscope"
    return home + "/.cache/rankscope" if home and home.startswith("/") else None


def _do(what: str, folder: Optional[_settings.Path], paths: _Paths, stacklevel: int) -> Table:
    place = default() if folder is None else folder
    if not place:
        raise UsageError("there is no store: give its folder, or set RANKSCOPE_CACHE")
    several: List[Any] = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    return choose(finish(_engine.store(os.fspath(place), what, [os.fspath(one) for one in several]), stacklevel + 1), None)


def entries(folder: Optional[_settings.Path] = None, *, paths: _Paths = ()) -> Table:
    """What a store holds, a row an entry.

    folder: of the store; without it the program's own
    paths: only what is of these files, or of files in these folders"""
    return _do("list", folder, paths, 2)


def verify(folder: Optional[_settings.Path] = None) -> Table:
    """Reads every entry, removes what is damaged, stale or made by another version, and lists that."""
    return _do("verify", folder, (), 2)


def drop(folder: Optional[_settings.Path] = None, *, paths: _Paths = ()) -> Table:
    """Removes entries and lists them.

    paths: only what is of these files, or of files in these folders"""
    return _do("drop", folder, paths, 2)


def build(source: Any, folder: Optional[_settings.Path] = None, *, progress: _settings.Progress = "auto", **settings: Any) -> Table:
    """Reads traces with all known arguments and keeps their events, so that no question to them reads the text again; returns what
    the store then holds of them.

    source, settings: as rankscope.open takes them; paths only: bytes are not kept"""
    place = default() if folder is None else folder
    if not place:
        raise UsageError("there is no store: give its folder, or set RANKSCOPE_CACHE")
    paths, files = sources.resolve(source, recursive=bool(settings.get("recursive", False)))
    if files:
        raise UsageError("a store keeps what is of files of a disk: build takes paths")
    job = _engine.Job(paths, None, "", make_settings(keep=False, store=place, **settings))
    try:
        with _progress(progress, "reading") as call:
            finish(job.build_store(call), 2)
        names = [name for name, *_ in job.files()]
    finally:
        job.close()
    return _do("list", place, names, 2)
