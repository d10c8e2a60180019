"""How far a long read is: on a terminal or in a notebook, from the second second on. tqdm's bar where it is installed, else a line."""
from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from typing import Any, Callable, Optional

_AFTER = 1.0  # shorter work is not worth a line
_EVERY = 0.25


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Bar:
    """tqdm's bar, a widget in a notebook that has them. Called with (done, total); made when work takes long, wiped by `close`."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = what, unit
        self.begin, self.last = time.monotonic(), 0.0
        self.bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.begin < _AFTER or now - self.last < _EVERY:
            return
        self.last = now
        if self.bar is None:
            widgets = _in_notebook() and importlib.util.find_spec("ipywidgets") is not None
            make = importlib.import_module("tqdm.notebook" if widgets else "tqdm").tqdm
            self.bar = make(desc=self.what, leave=False, file=sys.stderr, initial=done, **(
                {"unit": "B", "unit_scale": True, "unit_divisor": 1024} if self.unit == "bytes" else {"unit": " " + self.unit}))
        self.bar.total = total or None
        self.bar.update(max(0, done - self.bar.n))
        self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class Line:
    """Called with (done, total) of a unit; `close` wipes the line."""

    def __init__(self, what: str, unit: str = "bytes", stream: Any = None) -> None:
        self.what, self.unit, self.stream = what, unit, stream or sys.stderr
        self.begin, self.last, self.width = time.monotonic(), 0.0, 0

    def _amount(self, n: int) -> str:
        return _bytes(n) if self.unit == "bytes" else "%d %s" % (n, self.unit)

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.begin < _AFTER or now - self.last < _EVERY:
            return
        self.last = now
        share = " of %s (%d%%)" % (self._amount(total), 100 * done // total) if total else ""
        self._write("%s: %s%s" % (self.what, self._amount(done), share))

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

    def __init__(self, wanted: Any, what: str, unit: str = "bytes") -> None:
        self.line: Any = None
        self.call: Optional[Callable[[int, int], Any]] = wanted if callable(wanted) else None
        if self.call is None and wanted not in ("auto", True, False, None):
            raise TypeError("progress takes \"auto\", True, False or a function of (done, total)")
        if self.call is None and (wanted is True or wanted == "auto"):
            terminal = sys.stderr is not None and (wanted is True or _in_notebook() or _is_terminal(sys.stderr))
            if terminal:
                self.call = self.line = Bar(what, unit) if _has_tqdm() else Line(what, unit)

    def __enter__(self) -> Optional[Callable[[int, int], Any]]:
        return self.call

    def __exit__(self, *_: object) -> None:
        if self.line:
            self.line.close()


def _has_tqdm() -> bool:
    try:
        return importlib.util.find_spec("tqdm") is not None
    except ValueError:  # somebody put None into sys.modules
        return False


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False
