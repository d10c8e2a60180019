"""What callers give, as the engine wants it."""
from __future__ import annotations

import numbers
import os
import re
from typing import Any, Callable, Dict, Iterable, Optional, Union

from .errors import UsageError

# What callers may give.
Path = Union[str, "os.PathLike[str]"]
Ranges = Union[int, str, Iterable[int], None]
Size = Union[int, str, None]
Progress = Union[str, bool, None, Callable[[int, int], Any]]

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)


def ranges(value: Ranges, what: str) -> Optional[str]:
    """None, 3, range(4), [0, 3, 8] or "0,3,8-15" as the last."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        raise TypeError("%s takes numbers, not %r" % (what, value))
    if isinstance(value, int):
        return str(value)
    try:
        numbers_given = [int(one) if isinstance(one, numbers.Integral) else None for one in value]
    except TypeError:
        numbers_given = [None]
    if None in numbers_given:
        raise TypeError("%s takes a number, several, a range or a text like \"0,3,8-15\", not %r" % (what, value))
    if not numbers_given:
        raise UsageError("%s is empty: it would select nothing" % what)
    return ",".join(map(str, numbers_given))


def size(value: Size, what: str) -> Optional[int]:
    """None, bytes or "4G"."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise UsageError("%s takes bytes or a size like \"512M\" or \"4G\", not %r" % (what, value))
    return int(float(match.group(1)) * 1024 ** "_kmgt".index(match.group(2).lower() or "_"))


def keep_memory(keep: Union[bool, int, str, None]) -> int:
    """How many bytes of events a job may keep for its next analysis: half of the machine's memory, unless set."""
    if keep is not True:
        return size(keep, "keep") or 0 if keep else 0
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            memory = min(memory, int(limit.read()))
    except (OSError, ValueError):  # no such limit
        pass
    return memory // 2


def option(spec: Dict[str, Any], name: str, value: Any) -> Any:
    """An option's value as text, None for a set flag, () when it is to be left alone."""
    kind = spec["type"]
    if value is None or (kind == "flag" and value is False):
        return ()
    if kind == "flag":
        if value is True:
            return None
        raise TypeError("%s takes True or False, not %r" % (name, value))
    if kind == "ranges":
        return ranges(value, name)
    if spec["metavar"] == "SIZE":
        return str(size(value, name))
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bool):
        raise TypeError("%s takes %s, not %r" % (name, spec["metavar"], value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return ("\n" if kind == "lines" else ",").join(str(one) for one in (sorted(value) if isinstance(value, (set, frozenset)) else value))
    raise TypeError("%s cannot be %r" % (name, value))
