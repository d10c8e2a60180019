"""A job in the browser: rankscope.view(source)."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, Dict, List, Optional

from . import sources
from ._job import Job, SETTINGS, make_options
from .errors import Error, UsageError

_PASSED_ON = ("ranks", "steps", "window", "recursive", "renumber")


class View:
    """A job that is served on this machine: `url` is to be opened in a browser, close() ends it. A context manager."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, embeds: bool = False) -> None:
        self._process, self.url, self._embeds = process, url, embeds

    def close(self) -> None:
        """Ends the server."""
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()

    def __repr__(self) -> str:
        return "<rankscope.View %s>" % (self.url if self._process.poll() is None else "(closed)")

    def _repr_html_(self) -> str:
        link = '<a href="%s" target="_blank">the job in a window of its own</a> (from this machine)' % self.url
        if not self._embeds:
            return link
        return '<iframe src="%s" title="rankscope" style="width: 100%%; height: 720px; border: 1px solid #ccc"></iframe><p>%s</p>' % (
            self.url, link)


def _program() -> str:
    """The program that RANKSCOPE_PROGRAM names, else the one that belongs to the package."""
    named = os.environ.get("RANKSCOPE_PROGRAM")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "rankscope")
    if named or os.access(beside, os.X_OK):
        return named or beside
    raise UsageError("the program rankscope is not in this package, which was not installed from a wheel: set RANKSCOPE_PROGRAM to "
                     "where it is")


def view(source: Any, *, open: bool = True, port: int = 0, perfetto: bool = False, max_events: int = 200000, ui: Optional[str] = None,
         report: bool = True, memory: Any = (), **settings: Any) -> View:
    """Serves a job, or a source that rankscope.open takes, on this machine and opens the explorer in your browser; a notebook shows
    the answer in place. It runs until the answer is closed or this program ends.

    source: files of a disk: paths, or a job of such
    open: start a browser; False: `url` of the answer is to be opened
    port: of 127.0.0.1; 0: any that is free
    perfetto: in place of the explorer a trace that Perfetto's UI opens; the next three are for it alone
    max_events: about that many events, those that matter most, so that the viewer stays quick; 0: all
    ui: the address of another viewer
    report: serve the report, too
    memory: snapshots of PyTorch's allocator to be shown with the traces: a path, or several
    settings: ranks, steps, window, recursive and renumber, as open takes them"""
    unknown = sorted(set(settings) - set(_PASSED_ON))
    if unknown:
        raise TypeError("view() got an unexpected keyword argument '%s'; it takes %s" % (unknown[0], ", ".join(_PASSED_ON)))
    if isinstance(source, Job):
        given, files, options = source._sources[0], source._sources[1], dict(source._settings["options"])
    else:
        given, files = sources.resolve(source, recursive=bool(settings.get("recursive")))
        options = {}
    options.update(make_options(SETTINGS, settings))
    words = ["view", "--port", str(port), "--no-progress"] + ([] if open else ["--no-open"])
    if perfetto:
        words += ["--perfetto", "--max-events", str(max_events)] + (["--ui", ui] if ui else []) + ([] if report else ["--no-report"])
    for path in [memory] if isinstance(memory, (str, os.PathLike)) else memory:
        words += ["--memory", os.fspath(path)]
    words += _as_words(options)
    for path in given:
        words.append(path)
    for file in files:
        if file.data is not None or file.url is not None:
            raise UsageError("view serves files of a disk: write the job into one with job.fuse(path) and view that")
        words.append("%d=%s" % (file.rank, file.name) if file.rank >= 0 else file.name)
    process = subprocess.Popen([_program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    url = process.stdout.readline().strip()
    if not url:
        text = process.stderr.read().strip().splitlines()
        process.wait()
        lines = [line for line in text if line.startswith("rankscope:")] or text or ["the program ended with %s" % process.returncode]
        raise (UsageError if process.returncode == 2 else Error)(lines[-1].replace("rankscope: ", "", 1))
    _drain(process.stderr)
    return View(process, url, embeds=not perfetto)


def _as_words(options: Dict[str, Optional[str]]) -> List[str]:
    words: List[str] = []
    for name, text in options.items():
        if name in ("jobs", "max-ratio", *_PASSED_ON):
            words += ["--" + name] if text is None else ["--" + name, text]
    return words


def _drain(stream: Any) -> None:
    """Passes on what the server has to say, so that it never waits for a reader."""
    import threading

    def work() -> None:
        for line in stream:
            if "Ctrl-C" not in line:
                sys.stderr.write(line)

    threading.Thread(target=work, name="rankscope-view", daemon=True).start()
