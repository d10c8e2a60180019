"""What this process's torch can do, found by asking it; nothing is taken from a version number."""

from __future__ import annotations

import importlib
import inspect
import os
import socket
from typing import Any, Callable

from .files import RecorderError

Note = Callable[[str], None]

# The first that is set tells; launchers in the order in which one hides another.
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
WORLD_VARIABLES = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL_VARIABLES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")


def import_torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise RecorderError(
            f"the recorder needs PyTorch 2.0 or newer, and this Python cannot import it ({error}): "
            "pip install torch, or run in the environment that trains"
        ) from error


def distributed(torch: Any) -> Any:
    """torch.distributed where it is there and initialised, else None."""
    dist = getattr(torch, "distributed", None)
    if dist is None or not getattr(dist, "is_available", lambda: False)():
        return None
    return dist if dist.is_initialized() else None


def number_of(variables: tuple[str, ...]) -> int | None:
    for name in variables:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None


class Place:
    """Who records: rank, world size, host, device."""

    def __init__(self, torch: Any, rank: int | None, world_size: int | None, note: Note) -> None:
        dist = distributed(torch)
        self.grouped = dist is not None
        if rank is None:
            rank = dist.get_rank() if dist else number_of(RANK_VARIABLES)
        if world_size is None:
            world_size = dist.get_world_size() if dist else number_of(WORLD_VARIABLES)
        if rank is None:
            rank = 0
            if world_size != 1:
                note("the rank is not known (no process group yet, RANK is not set): taken as 0; enter the recorder after "
                     "init_process_group, start with torchrun, or pass rank=")
        self.rank = rank
        self.world_size = world_size if world_size is not None else 1
        self.local_rank = number_of(LOCAL_VARIABLES)
        self.host = socket.gethostname()
        self.pid = os.getpid()

    def device(self, torch: Any) -> str | None:
        """What no renumbering of visible devices can confuse: the uuid where torch gives it, else the name."""
        try:
            index = torch.cuda.current_device()
            properties = torch.cuda.get_device_properties(index)
            uuid = getattr(properties, "uuid", None)
            return f"cuda:{index} {properties.name}" + (f" {uuid}" if uuid is not None else "")
        except (AttributeError, AssertionError, RuntimeError):
            return None


def has_gpu(torch: Any) -> bool:
    """A CUDA or HIP device whose events can be timed."""
    cuda = getattr(torch, "cuda", None)
    return cuda is not None and cuda.is_available() and hasattr(cuda, "Event")


def accepted(function: Any, wanted: dict[str, Any], note: Note) -> dict[str, Any]:
    """The keyword arguments of `wanted` that the function knows; of those that were asked for and are not, it warns."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return wanted
    for name, value in wanted.items():
        if name not in parameters and value:
            note(f"this torch's profiler does not know {name}: left out; a newer PyTorch has it")
    return {name: value for name, value in wanted.items() if name in parameters}


def experimental(torch: Any, stacks: bool, note: Note) -> Any:
    """The profiler's experimental configuration with synchronisation events on (and call stacks in the file), or None."""
    config = getattr(torch.profiler, "_ExperimentalConfig", None)
    if config is None:
        config = getattr(getattr(getattr(torch, "_C", None), "_profiler", None), "_ExperimentalConfig", None)
    for options in ({"enable_cuda_sync_events": True, **({"verbose": True} if stacks else {})}, {"enable_cuda_sync_events": True}):
        try:
            if config is not None:
                return config(**options)
        except TypeError:
            continue
    note("this torch's profiler cannot record synchronisation events: the critical path lacks their edges; a newer "
         "PyTorch can")
    return None
