"""A line that tells how far a long read is: on a terminal or in a notebook, from the second second on."""
from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional

_AFTER = 1.0  # shorter work is not worth a line
_EVERY = 0.25


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Line:
    """Called with (done, total) bytes; `close` wipes the line."""

    def __init__(self, what: str, stream: Any = None) -> None:
        self.what, self.stream = what, stream or sys.stderr
        self.begin, self.last, self.width = time.monotonic(), 0.0, 0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.begin < _AFTER or now - self.last < _EVERY:
            return
        self.last = now
        share = " of %s (%d%%)" % (_bytes(total), 100 * done // total) if total else ""
        self._write("%s: %s%s" % (self.what, _bytes(done), share))

    def _write(self, text: str) -> None:
        try:
            self.stream.write("\r" + text.ljust(self.width))
            self.stream.flush()
        except (OSError, ValueError):  # a closed stream is no reason to stop
            return
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            self._write("")
            try:
                self.stream.write("\r")
                self.stream.flush()
            except (OSError, ValueError):
                pass


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return "%.3g %s" % (n, unit)
        n /= 1024
    return "%.3g GiB" % n


class progress:
    """Context manager: the callable that a run is given, from what the user asked for ("auto", True, False, None
    or a callable)."""

    def __init__(self, wanted: Any, what: str) -> None:
        self.line: Optional[Line] = None
        self.call: Optional[Callable[[int, int], Any]] = wanted if callable(wanted) else None
        if self.call is None and wanted not in ("auto", True, False, None):
            raise TypeError("progress takes \"auto\", True, False or a function of (done, total)")
        if self.call is None and (wanted is True or wanted == "auto"):
            terminal = sys.stderr is not None and (wanted is True or _in_notebook() or _is_terminal(sys.stderr))
            if terminal:
                self.call = self.line = Line(what)

    def __enter__(self) -> Optional[Callable[[int, int], Any]]:
        return self.call

    def __exit__(self, *_: object) -> None:
        if self.line:
            self.line.close()


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
