"""Files that are written atomically."""
from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator


@contextlib.contextmanager
def whole(path: Any) -> Iterator[Any]:
    """The path of a temporary file next to path, which takes its place when the block ends well. None gives None."""
    if path is None:
        yield None
        return
    import tempfile  # slow to import, and seldom needed
    path = os.fsdecode(path)
    handle, temporary = tempfile.mkstemp(prefix=".rankscope-", dir=os.path.dirname(path) or ".")
    os.close(handle)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
