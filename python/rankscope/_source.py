"""What rankscope.open takes, as paths or as bytes."""
from __future__ import annotations

import os
from typing import Any, List, Optional, Tuple


def resolve(source: Any) -> Tuple[Optional[List[str]], Optional[bytes], str]:
    """(paths, data, name): a list of paths, or bytes and the name that messages call them by."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return None, bytes(source), "<bytes>"  # bytes itself is not copied
    if isinstance(source, (str, os.PathLike)):
        return [os.fsdecode(source)], None, ""
    if isinstance(source, dict):
        return ["%d=%s" % (int(rank), os.fsdecode(path)) for rank, path in source.items()], None, ""
    if hasattr(source, "read"):
        data = source.read()
        if isinstance(data, str):
            data = data.encode("utf-8")
        return None, bytes(data), str(getattr(source, "name", "<file object>"))
    try:
        return None, bytes(memoryview(source)), "<%s>" % type(source).__name__
    except TypeError:
        pass
    try:
        paths = [os.fsdecode(path) for path in source]
    except TypeError:
        raise TypeError("open takes paths, bytes or a file object, not %r" % type(source).__name__) from None
    return paths, None, ""
