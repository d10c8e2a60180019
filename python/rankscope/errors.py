"""What rankscope raises. Every error gives, in one line, the file, the place and what to do."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

__all__ = ["AmbiguousError", "Cancelled", "Error", "InputError", "InputOSError", "InputWarning", "LimitError",
           "UsageError"]


class Error(Exception):
    """The base of all.

    `status` is one of usage, format, io, limit, ambiguous, cancelled; `causes` lists what happened, the root
    first: dicts with message, file and offset (a byte of the uncompressed text), None where there is none;
    `problems` what was found wrong with the input until then, as a result's problems."""

    status: str = "error"
    causes: List[Dict[str, Any]]
    problems: List[Dict[str, Any]]

    def __init__(self, message: str, causes: Sequence[Dict[str, Any]] = (), problems: Sequence[Dict[str, Any]] = ()) -> None:
        super().__init__(message)
        self.causes = list(causes)
        self.problems = list(problems)


class UsageError(Error, ValueError):
    """What was asked for does not exist: an option's value, a table, a rank."""

    status = "usage"


class InputError(Error, ValueError):
    """The input is not what it should be."""

    status = "format"


class InputOSError(Error, OSError):
    """The system refused to open or read the input. `filename` names it."""

    status = "io"

    filename: Optional[str]

    def __init__(self, message: str, causes: Sequence[Dict[str, Any]] = (), problems: Sequence[Dict[str, Any]] = ()) -> None:
        super().__init__(message, causes, problems)
        self.filename = next((cause["file"] for cause in self.causes if cause["file"]), None)

    def __str__(self) -> str:
        return str(self.args[0])


class LimitError(Error):
    """A limit that guards against hostile input was reached; the settings of rankscope.open raise it."""

    status = "limit"


class AmbiguousError(Error, ValueError):
    """Several readings are possible and none is guessed: two files of one rank, several ranks in one file."""

    status = "ambiguous"


class Cancelled(Error):
    """The progress function returned False."""

    status = "cancelled"


class InputWarning(UserWarning):
    """Part of the input was lost or is unreliable; `problems` of the table says what, how often and where."""


_CLASSES = {cls.status: cls for cls in (UsageError, InputError, InputOSError, LimitError, AmbiguousError, Cancelled)}


def _make(status: str, message: str, causes: Sequence[Dict[str, Any]], problems: Sequence[Dict[str, Any]] = ()) -> BaseException:
    """The exception for a status of the engine, in the words of Python."""
    if status == "memory":
        return MemoryError(message)
    from ._words import in_python
    causes = [dict(cause, message=in_python(cause["message"])) for cause in causes]
    return _CLASSES.get(status, Error)(in_python(message), causes, problems)
