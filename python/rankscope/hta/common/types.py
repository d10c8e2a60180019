"""Replaces HTA's `hta.common.types`: kinds of devices and copies, and patterns of names."""
import re
from dataclasses import dataclass
from enum import Enum
from typing import Dict, List, Optional, Pattern, Union


class DeviceType(Enum):
    """Where events ran."""

    UNKNOWN = 0
    CPU = 1
    GPU = 2
    ALL = 3


class MemcpyType(Enum):
    """Which way a copy goes."""

    DTOD = 0
    DTOH = 1
    HTOD = 2
    UNKNOWN = 3


MEMCPY_TYPE_TO_STR: Dict[MemcpyType, str] = {
    kind: "memcpy_" + ("type_unknown" if kind is MemcpyType.UNKNOWN else kind.name.lower()) for kind in MemcpyType
}


def infer_device_type(df) -> DeviceType:
    """Where the events of one thread or stream ran: work has a stream, and pid or tid 0; host events have stream -1."""
    if "stream" not in df.columns:
        return DeviceType.UNKNOWN
    has_ids = "pid" in df.columns and "tid" in df.columns
    if (df["stream"] > 0).all() or (has_ids and ((df["pid"] == 0).all() or (df["tid"] == 0).all())):
        return DeviceType.GPU
    return DeviceType.CPU if (df["stream"] == -1).all() else DeviceType.UNKNOWN


@dataclass
class GroupingPattern:
    """Names that match a regular expression from their start, or, inverse, those that do not."""

    pattern: Pattern[str]
    inverse_match: bool = False
    group_name: str = ""

    def match(self, name: str) -> bool:
        return bool(self.pattern.match(name)) != self.inverse_match

    def __hash__(self) -> int:
        return hash((self.pattern, self.inverse_match))


def to_grouping_pattern(
    pattern: Union[str, List[str], Pattern[str], GroupingPattern],
    group_name: Optional[str] = None,
    inverse_match: Optional[bool] = None,
) -> GroupingPattern:
    """A GroupingPattern of a text, of several of which one has to match, or of a compiled expression; one that is
    given is returned as it is."""
    if isinstance(pattern, GroupingPattern):
        return pattern
    if isinstance(pattern, list):
        pattern = "|".join("(%s)" % one for one in pattern)
    if not isinstance(pattern, (str, re.Pattern)):
        raise ValueError("a pattern is a text, a list of them or a compiled expression, not %s" % type(pattern).__name__)
    return GroupingPattern(re.compile(pattern), bool(inverse_match), group_name or "")


def _group(name: str, pattern: str, inverse: bool = False) -> GroupingPattern:
    return GroupingPattern(re.compile(pattern), inverse, name)


# The texts are HTA's rules: what counts as what in its numbers.
ProfilerStepGroupingPattern = _group("Profiler Step", r"^ProfilerStep#(\d+)")
MemoryKernelGroupingPattern = _group("Memory", r"(^(hip)?Memcpy)|(^(hip)?Memset)|(^dma)")
MTIAMemoryKernelGroupingPattern = _group("MTIA Memory", r"(^dma)")
CommunicateKernelGroupingPattern = _group("Communicate", r"(^nccl)")
ComputeKernelGroupingPattern = _group(
    "Compute", r"(^nccl)|(.*Memcpy)|(.*Memset)|(.*dma)|(^.*Sync)|(cuda.*LaunchKernel)|(^runFunction)", True
)
KERNEL_CATEGORY_PATTERN = _group("GPU Kernels", r"(kernel)|(gpu_mem.+)|(mtia_ccp_events)")
KERNEL_LAUNCH_CATEGORY_PATTERN = _group("Kernel Launch", r"(cuda.*LaunchKernel)|(cuLaunchKernel)|(^runFunction)")
CPU_OP_CATEGORY_PATTERN = _group("CPU Ops", r"(cpu_op)|(user_annotation)")
DEVICE_RUNTIME_CATEGORY_PATTERN = _group("Device Runtimes", r"(cuda_runtime)|(mtia_runtime)")
MEMORY_CATEGORY_PATTERN = _group("Memory", r"(gpu_mem.+)|(mtia_ccp_events)")
GPU_EVENT_CATEGORY_PATTERN = _group("GPU Events", r"(.*kernel)|(^gpu_mem)|(^mtia_ccp_events)|(^cuda_sync)")
CPU_EVENTS_CATEGORY_PATTERN = _group("CPU Events", r"(cpu_op)|(user_annotation)|(^(.+)_runtime)")
CPU_AND_GPU_EVENTS_CATEGORY_PATTERN = _group(
    "CPU/GPU Events",
    r"(cpu_op)|(user_annotation)|(cuda_runtime)|(.*kernel)|(^gpu_mem)|(^mtia_ccp_events)|(^cuda_sync)",
)
PYTHON_FUNCTION_PATTERN = _group("Python Functions", r"(python_function)")
ALL_CATEGORY_PATTERN = _group("All", r".*")
CUDA_SYNC_PATTERN = _group("CUDA Sync", r"(cuda_sync)")

common_grouping_patterns: Dict[str, GroupingPattern] = {
    "memory_kernels": MemoryKernelGroupingPattern,
    "compute_kernels": ComputeKernelGroupingPattern,
    "communicate_kernels": CommunicateKernelGroupingPattern,
}
