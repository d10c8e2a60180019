"""Sets PyTorch's flight recorder up, so that a job that hangs leaves what `rankscope flight` reads, and dumps it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import features
from .files import RecorderError


def set_up_flight(directory: str | os.PathLike[str], *, entries: int = 20000, timing: bool = False) -> dict[str, str]:
    """Before ``init_process_group``: remember the last `entries` collectives of each rank, and write them to
    ``directory/flight/rank_R`` when one times out. `timing` lets NCCL time each of them on the GPU, which costs a little.
    Variables that the environment has already stay as they are. Returns those that hold now.

    >>> set_up_flight("run1"); torch.distributed.init_process_group("nccl")     # doctest: +SKIP
    $ rankscope flight run1/flight
    """
    torch = features.import_torch()
    if features.distributed(torch) is not None:
        raise RecorderError("the flight recorder is set up before init_process_group: it has been called already")
    if not isinstance(entries, int) or entries < 1:
        raise ValueError(f"entries is a number of collectives, at least one, not {entries!r}")
    prefix = Path(directory) / "flight" / "rank_"
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecorderError(f"{directory}: cannot be written to ({error}): choose another directory") from error
    wanted = {}
    # each under its present name and that of older releases
    for names, value in ((("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"), str(entries)),
                         (("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"), str(prefix.resolve())),
                         (("TORCH_NCCL_DUMP_ON_TIMEOUT",), "1"),
                         (("TORCH_NCCL_ENABLE_TIMING",), "1" if timing else "")):
        given = next((os.environ[name] for name in names if os.environ.get(name)), value)
        for name in names if given else ():
            os.environ.setdefault(name, given)
            wanted[name] = os.environ[name]
    return wanted


def dump_flight(directory: str | os.PathLike[str], rank: int | None = None) -> Path | None:
    """Writes what the flight recorder of this rank remembers now to ``directory/flight/rank_R``, atomically. None
    where this torch has none, or it remembers nothing. Call it on every rank, for example when a step takes too long."""
    torch = features.import_torch()
    dist = features.distributed(torch)
    if rank is None:
        rank = dist.get_rank() if dist is not None else features.number_of(features.RANK_VARIABLES) or 0
    c10d: Any = getattr(getattr(torch, "_C", None), "_distributed_c10d", None)
    backend = str(dist.get_backend()) if dist is not None else "nccl"
    ways = [("_dump_nccl_trace", {})] if "nccl" in backend else [("_dump_fr_trace", {"backend": backend})]
    for name, options in ways:
        try:
            found = getattr(c10d, name)(**options)
        except (AttributeError, RuntimeError, TypeError):
            continue
        if not found:
            continue
        final = Path(directory) / "flight" / f"rank_{rank}"
        final.parent.mkdir(parents=True, exist_ok=True)
        part = final.with_name(f".{final.name}.{os.getpid()}.part")
        try:
            part.write_bytes(found)
            os.replace(part, final)
        finally:
            part.unlink(missing_ok=True)
        return final
    return None
