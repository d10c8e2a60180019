"""Replaces HTA's `hta.configs.default_values`."""
import re
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Union

DEFAULT_TRACE_DIR = "/tmp/trace"
DEFAULT_CONFIG_FILENAME = "trace_analyzer.json"
DF_SYMBOL_COLUMNS: List[str] = ["cat", "name"]
IS_DEBUG_ENABLED = True
MAX_NUM_PROCESSES_SMALL = 4
MAX_NUM_PROCESSES = 32


class YamlVersion(NamedTuple):
    """Which version of the list of arguments."""

    major: int
    minor: int
    patch: int

    def get_version_str(self) -> str:
        return ".".join(map(str, self))

    @staticmethod
    def from_string(version_str: str) -> "YamlVersion":
        if not re.fullmatch(r"\d+\.\d+\.\d+", version_str):
            raise ValueError("a version is three numbers with dots between, like 1.0.0, not %r" % version_str)
        return YamlVersion(*map(int, version_str.split(".")))


class ValueType(Enum):
    """What an argument's values are."""

    Int = 1
    Float = 2
    String = 3
    Object = 4


class AttributeSpec(NamedTuple):
    """An argument of events: its column, its name in the file, its type, and what is used where it is missing."""

    name: str
    raw_name: str
    value_type: ValueType
    default_value: Union[int, float, str, object]
    min_supported_version: YamlVersion

    def __eq__(self, other: Any) -> bool:  # the version does not count
        return isinstance(other, AttributeSpec) and tuple(self)[:4] == tuple(other)[:4]

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.raw_name, self.value_type))


class EventArgs(NamedTuple):
    """All arguments that are known, and the sets that are asked for together."""

    AVAILABLE_ARGS: Dict[str, AttributeSpec]
    ARGS_INPUT_SHAPE: List[AttributeSpec]
    ARGS_BANDWIDTH: List[AttributeSpec]
    ARGS_SYNC: List[AttributeSpec]
    ARGS_MINIMUM: List[AttributeSpec]
    ARGS_COMPLETE: List[AttributeSpec]
    ARGS_INFO: List[AttributeSpec]
    ARGS_COMMUNICATION: List[AttributeSpec]
    ARGS_TRITON_KERNELS: List[AttributeSpec]
    ARGS_DEFAULT: List[AttributeSpec]
