"""Replaces HTA's `hta.configs.parser_config`: which arguments of events become columns of a Trace's frames."""
import copy
import re
from enum import Enum
from typing import Any, Dict, List, Optional, Set, Tuple

from .default_values import AttributeSpec, ValueType, YamlVersion
from .event_args_yaml_parser import parse_event_args_yaml, v1_0_0

__all__ = ["AVAILABLE_ARGS", "AttributeSpec", "DEFAULT_PARSE_VERSION", "ParserBackend", "ParserConfig", "TraceType", "ValueType"]


class ParserBackend(str, Enum):
    """HTA's ways of reading. Here there is one; the choice is kept and has no effect."""

    JSON = "json"
    IJSON = "ijson"
    IJSON_BATCHED = "ijson_batched"
    IJSON_BATCH_AND_COMPRESS = "ijson_batch_and_compress"


class TraceType(str, Enum):
    """What was recorded."""

    Training = "training"
    TrainingWoProfilerstepAnnot = "training_wo_profilerstep_annot"
    Inference = "inference"


DEFAULT_PARSE_VERSION = v1_0_0
DEFAULT_VER_EVENT_ARGS = parse_event_args_yaml(DEFAULT_PARSE_VERSION)
AVAILABLE_ARGS: Dict[str, AttributeSpec] = DEFAULT_VER_EVENT_ARGS.AVAILABLE_ARGS
_SETS = ("INPUT_SHAPE", "BANDWIDTH", "SYNC", "MINIMUM", "COMPLETE", "INFO", "TRITON_KERNELS", "COMMUNICATION", "DEFAULT")


class ParserConfig:
    """What a Trace reads in addition to times, names and threads.

    args are the arguments with a column of their own; with parse_all_args all that the file has. Other settings of HTA are
    kept and have no effect: reading is the engine's.
    """

    ARGS_INPUT_SHAPE: List[AttributeSpec]
    ARGS_BANDWIDTH: List[AttributeSpec]
    ARGS_SYNC: List[AttributeSpec]
    ARGS_MINIMUM: List[AttributeSpec]
    ARGS_COMPLETE: List[AttributeSpec]
    ARGS_INFO: List[AttributeSpec]
    ARGS_TRITON_KERNELS: List[AttributeSpec]
    ARGS_COMMUNICATION: List[AttributeSpec]
    ARGS_DEFAULT: List[AttributeSpec]
    DEFAULT_MIN_REQUIRED_COLS: List[str] = ["ts", "dur", "name", "cat", "pid", "tid"]

    def __init__(
        self,
        args: Optional[List[AttributeSpec]] = None,
        user_provide_trace_type: Optional[TraceType] = None,
        version: YamlVersion = DEFAULT_PARSE_VERSION,
        parse_all_args: bool = False,
        selected_arg_keys: Optional[List[str]] = None,
        skip_event_types: Optional[Set[str]] = None,
    ) -> None:
        self.args: List[AttributeSpec] = list(args) if args else self.get_default_args(version)
        self.arg_map: Dict[str, AttributeSpec] = {spec.name: spec for spec in self.args}
        self.user_provide_trace_type = user_provide_trace_type
        self.version = version
        self.parse_all_args = parse_all_args
        self.selected_arg_keys = selected_arg_keys
        self.skip_event_types: Optional[Set[str]] = {"python_function"} if skip_event_types is None else skip_event_types
        self.parser_backend: Optional[ParserBackend] = None
        self.trace_memory = False
        self.drop_gpu_user_annotation = True
        self.batch_size = 1000
        self.min_required_cols: List[str] = list(self.DEFAULT_MIN_REQUIRED_COLS)

    def clone(self) -> "ParserConfig":
        return copy.deepcopy(self)

    def get_fingerprint_key(self) -> Tuple[Any, ...]:
        """What decides which columns frames have: configurations with the same key read the same."""
        return (self.version, self.parse_all_args, tuple(spec.name for spec in self.get_args()))

    def __repr__(self) -> str:
        which = "all arguments" if self.parse_all_args else ", ".join(spec.name for spec in self.get_args())
        return "ParserConfig(version=%s, args=%s)" % (self.version.get_version_str(), which)

    # ---- the configuration that a Trace without one goes by --------------------------------------------------

    @classmethod
    def get_default_cfg(cls) -> "ParserConfig":
        return _default.clone()

    @classmethod
    def set_default_cfg(cls, cfg: "ParserConfig") -> None:
        global _default, _default_given
        _default, _default_given = cfg.clone(), True

    @classmethod
    def get_versioned_cfg(cls, version: YamlVersion) -> "ParserConfig":
        return ParserConfig(version=version)

    @staticmethod
    def set_global_parser_config_version(version: YamlVersion) -> None:
        """The default becomes that of a version."""
        global _default, AVAILABLE_ARGS
        _default = ParserConfig(version=version)
        AVAILABLE_ARGS = parse_event_args_yaml(version).AVAILABLE_ARGS
        _take_sets(version)

    # ---- sets of arguments -----------------------------------------------------------------------------------

    @classmethod
    def get_minimum_args(cls, version: YamlVersion = DEFAULT_PARSE_VERSION) -> List[AttributeSpec]:
        return list(parse_event_args_yaml(version).ARGS_MINIMUM)

    @classmethod
    def get_default_args(cls, version: YamlVersion = DEFAULT_PARSE_VERSION) -> List[AttributeSpec]:
        return list(parse_event_args_yaml(version).ARGS_DEFAULT)

    @classmethod
    def get_info_args(cls, version: YamlVersion = DEFAULT_PARSE_VERSION) -> List[AttributeSpec]:
        return list(parse_event_args_yaml(version).ARGS_INFO)

    @classmethod
    def get_all_available_args(cls) -> Dict[str, AttributeSpec]:
        return AVAILABLE_ARGS

    @classmethod
    def show_available_args(cls) -> None:
        from pprint import pprint

        pprint(AVAILABLE_ARGS)

    @classmethod
    def enable_communication_args(
        cls, cfg: Optional["ParserConfig"] = None, version: YamlVersion = DEFAULT_PARSE_VERSION
    ) -> "ParserConfig":
        """Adds the arguments of collectives, to the default where no configuration is given."""
        chosen = _default if cfg is None else cfg
        chosen.add_args(parse_event_args_yaml(version).ARGS_COMMUNICATION)
        return chosen

    # ---- settings --------------------------------------------------------------------------------------------

    def set_args(self, args: List[AttributeSpec]) -> None:
        self.args, self.arg_map = [], {}
        self.add_args(args)

    def add_args(self, args: List[AttributeSpec]) -> None:
        for spec in args:
            if spec.name not in self.arg_map:
                self.args.append(spec)
                self.arg_map[spec.name] = spec

    def get_args(self) -> List[AttributeSpec]:
        """The arguments, or those that set_args_selector chose."""
        if self.selected_arg_keys is None:
            return self.args
        return [self.arg_map[name] for name in self.selected_arg_keys]

    def set_args_selector(self, selected_arg_keys: Optional[List[str]] = None) -> "ParserConfig":
        self.selected_arg_keys = selected_arg_keys
        return self

    def set_parse_all_args(self, parse_all_args: bool) -> "ParserConfig":
        self.parse_all_args = parse_all_args
        return self

    def set_skip_event_types(self, skip_event_types: Optional[Set[str]] = None) -> "ParserConfig":
        self.skip_event_types = skip_event_types
        return self

    def set_min_required_cols(self, cols: List[str]) -> None:
        self.min_required_cols = list(cols)

    def get_min_required_cols(self) -> List[str]:
        return self.min_required_cols

    def set_trace_memory(self, trace_memory: bool) -> None:
        self.trace_memory = trace_memory

    def set_drop_gpu_user_annotation(self, should_drop: bool) -> None:
        self.drop_gpu_user_annotation = should_drop

    def set_parser_backend(self, parser_backend: ParserBackend) -> None:
        self.parser_backend = parser_backend

    # ---- names and types of arguments ------------------------------------------------------------------------

    @classmethod
    def transform_arg_name(cls, arg: str) -> str:
        """An argument's column: lower case, without what is in parentheses, one _ for signs between words."""
        words = re.sub(r"[ \-/.%_]+", "_", re.sub(r"\([^)]*\)", "", arg).lower()).strip("_")
        return "arg_name" if words == "name" else words

    @classmethod
    def make_attribute_spec(
        cls, raw_name: str, value: Any, min_supported_version: YamlVersion = DEFAULT_PARSE_VERSION
    ) -> AttributeSpec:
        """What an argument is, by one of its values."""
        kinds = ((int, ValueType.Int, 0), (float, ValueType.Float, 0.0), (str, ValueType.String, ""), (object, ValueType.Object, None))
        kind, missing = next((kind, missing) for python, kind, missing in kinds if isinstance(value, python))
        return AttributeSpec(cls.transform_arg_name(raw_name), raw_name, kind, missing, min_supported_version)

    @classmethod
    def infer_attribute_specs(cls, args: Any, reference_specs: Optional[Dict[str, AttributeSpec]] = None) -> Dict[str, AttributeSpec]:
        """What the arguments of a series of dicts are, by their first values; those of the reference are what it says."""
        known = {spec.raw_name: spec for spec in (reference_specs or {}).values()}
        found: Dict[str, AttributeSpec] = {}
        for one in args.dropna():
            for name, value in one.items() if isinstance(one, dict) else ():
                if name not in found or name == "name":
                    usual = known.get(name) if name != "name" else None
                    found[name] = usual or cls.make_attribute_spec(name, value)
        return found


def _take_sets(version: YamlVersion) -> None:
    every = parse_event_args_yaml(version)
    for name in _SETS:
        setattr(ParserConfig, "ARGS_" + name, getattr(every, "ARGS_" + name))


_take_sets(DEFAULT_PARSE_VERSION)
_default = ParserConfig()
_default_given = False


def given_default() -> Optional[ParserConfig]:
    """The default configuration, if one is set: then a Trace goes by it."""
    return _default if _default_given else None
