"""A job to try things on, where none is at hand."""
from __future__ import annotations

import subprocess
import tempfile
from typing import TYPE_CHECKING, Optional

from ._view import _program
from .errors import InputError

if TYPE_CHECKING:
    from typing import Literal
    Kind = Literal["straggler", "hang", "loader", "slow-link", "memory", "regression"]


def sample(kind: Kind = "straggler", folder: Optional[str] = None) -> str:
    """Makes a small simulated job with a known fault, as `rankscope demo KIND` does, and returns its folder.

        job = rankscope.open(rankscope.sample("loader"))
        job.diagnose()

    "hang" has flight-recorder dumps (rankscope.flight), "memory" snapshots (rankscope.memory), "regression" the folders before and after
    (rankscope.diff), the others traces. The same kind gives the same files everywhere. Without a folder a new temporary one is made,
    which is left to the system."""
    if folder is None:
        folder = tempfile.mkdtemp(prefix="rankscope-%s-" % kind) + "/job"
    done = subprocess.run([_program(), "demo", "-o", folder, kind], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(done.stderr.strip() or "no job was made")
    return folder
