"""Replaces HTA's `hta.utils.utils`: kinds of kernels by their names, short names."""
import os
import re
from enum import Enum
from typing import Tuple

from .._need import pandas
from ..common.names import shorten_name

__all__ = [
    "IdleTimeType",
    "KernelType",
    "flatten_column_names",
    "get_kernel_type",
    "get_memory_kernel_type",
    "get_mp_pool_size",
    "get_symbol_column_names",
    "is_comm_kernel",
    "is_compute_kernel",
    "is_computer_kernel",
    "is_memory_kernel",
    "merge_kernel_intervals",
    "normalize_gpu_stream_numbers",
    "normalize_path",
    "shorten_name",
]


class KernelType(Enum):
    """What a kernel does."""

    COMMUNICATION = 0
    MEMORY = 1
    COMPUTATION = 2
    OTHER = 3


class IdleTimeType(Enum):
    """What an idle stream waits for."""

    HOST_WAIT = 0
    KERNEL_WAIT = 1
    OTHER = 2


# HTA's rules; rankscope's own analyses go by an event's category and know more libraries.
_COMMUNICATION = re.compile(r"nccl.*Kernel|nccl:")
_MEMORY = re.compile(r"Memcpy|Memset|dma")
_NO_COMPUTATION = re.compile(r"nccl.*Kernel|.*Memcpy|Memset|.*Sync")


def is_comm_kernel(name: str) -> bool:
    return _COMMUNICATION.match(name) is not None


def is_memory_kernel(name: str) -> bool:
    return _MEMORY.match(name) is not None


def is_compute_kernel(name: str) -> bool:
    return _NO_COMPUTATION.match(name) is None


is_computer_kernel = is_compute_kernel


def get_kernel_type(name: str) -> str:
    """COMMUNICATION, MEMORY, COMPUTATION or OTHER."""
    if is_comm_kernel(name):
        return KernelType.COMMUNICATION.name
    if is_memory_kernel(name):
        return KernelType.MEMORY.name
    return KernelType.COMPUTATION.name if is_compute_kernel(name) else KernelType.OTHER.name


def get_memory_kernel_type(name: str) -> str:
    """Memset, or Memcpy and which way."""
    if name.startswith("Memset"):
        return "Memset"
    return name[: len("Memcpy HtoD")] if name.startswith("Memcpy") else "Memcpy Unknown"


def merge_kernel_intervals(kernel_df):
    """The intervals (ts, end) in which some kernel runs, in the order of time. kernel_df gets a column `end`, as in HTA."""
    kernel_df.sort_values(by="ts", inplace=True)
    kernel_df["end"] = kernel_df["ts"] + kernel_df["dur"]
    before = kernel_df["end"].cummax().shift()
    number = (kernel_df["ts"] > before).cumsum()
    return kernel_df.groupby(number).agg(ts=("ts", "min"), end=("end", "max")).reset_index(drop=True)


def flatten_column_names(df) -> None:
    """Two rows of headings become one."""
    if df.columns.nlevels > 1:
        df.columns = ["_".join(map(str, names)).rstrip("_") for names in df.columns]


def get_mp_pool_size(obj_size: int, num_objs: int) -> int:
    """How many processes HTA would use for objects of this size: as many as fit into four fifths of the free memory."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(int(free * 0.8 / max(1, obj_size)), num_objs, os.cpu_count() or 1))


def get_symbol_column_names(df) -> Tuple[str, str]:
    """The columns that hold names and categories as texts; "" where there is none."""
    found = []
    for column in ("name", "cat"):
        texts = [c for c in (column, "s_" + column) if c in df.columns and (df[c].dtype == object or str(df[c].dtype) in ("str", "string"))]
        found.append(texts[0] if texts else "")
    return found[0], found[1]


def normalize_path(path: str) -> str:
    """A leading ./ or ~/ becomes the directory that it means."""
    for short, folder in (("./", os.getcwd()), ("~/", os.path.expanduser("~"))):
        if path.startswith(short):
            return os.path.join(folder, path[2:]) if path[2:] else folder
    return path


def normalize_gpu_stream_numbers(df) -> None:
    """Streams become whole numbers; what is none becomes -1."""
    if "stream" in df.columns:
        df["stream"] = pandas().to_numeric(df["stream"], errors="coerce").fillna(-1).astype("int64")
