"""Replaces HTA's `hta.configs.env_options`: what the environment switches. "1" is on.

rankscope itself follows disable_ns_rounding; the others are kept for those who ask."""
import os
from typing import Dict, Optional

HTA_DISABLE_NS_ROUNDING_ENV = "HTA_DISABLE_NS_ROUNDING"
HTA_DISABLE_CG_DEPTH_ENV = "HTA_DISABLE_CG_DEPTH"
CP_LAUNCH_EDGE_ENV = "CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE"
CP_LAUNCH_EDGE_SHOW_ENV = "CRITICAL_PATH_SHOW_ZERO_WEIGHT_LAUNCH_EDGE"
CP_STRICT_NEG_WEIGHT_CHECK_ENV = "CRITICAL_PATH_STRICT_NEGATIVE_WEIGHT_CHECKS"

_VARIABLES = {
    "disable_ns_rounding": HTA_DISABLE_NS_ROUNDING_ENV,
    "disable_call_graph_depth": HTA_DISABLE_CG_DEPTH_ENV,
    "critical_path_add_zero_weight_launch_edges": CP_LAUNCH_EDGE_ENV,
    "critical_path_show_zero_weight_launch_edges": CP_LAUNCH_EDGE_SHOW_ENV,
    "critical_path_strict_negative_weight_check": CP_STRICT_NEG_WEIGHT_CHECK_ENV,
}


class HTAEnvOptions:
    """The switches of a process: what was set here, else what the environment says at the time of asking."""

    _instance: Optional["HTAEnvOptions"] = None

    def __init__(self) -> None:
        self._given: Dict[str, bool] = {}

    @classmethod
    def instance(cls) -> "HTAEnvOptions":
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def _is_on(self, name: str) -> bool:
        return self._given.get(name, os.environ.get(_VARIABLES[name], "0") == "1")

    def disable_ns_rounding(self) -> bool:
        return self._is_on("disable_ns_rounding")

    def set_disable_ns_rounding(self, value: bool) -> None:
        self._given["disable_ns_rounding"] = bool(value)

    def disable_call_graph_depth(self) -> bool:
        return self._is_on("disable_call_graph_depth")

    def set_disable_call_graph_depth(self, value: bool) -> None:
        self._given["disable_call_graph_depth"] = bool(value)

    def critical_path_add_zero_weight_launch_edges(self) -> bool:
        return self._is_on("critical_path_add_zero_weight_launch_edges")

    def set_critical_path_add_zero_weight_launch_edges(self, value: bool) -> None:
        self._given["critical_path_add_zero_weight_launch_edges"] = bool(value)

    def critical_path_show_zero_weight_launch_edges(self) -> bool:
        return self._is_on("critical_path_show_zero_weight_launch_edges")

    def set_critical_path_show_zero_weight_launch_edges(self, value: bool) -> None:
        self._given["critical_path_show_zero_weight_launch_edges"] = bool(value)

    def critical_path_strict_negative_weight_check(self) -> bool:
        return self._is_on("critical_path_strict_negative_weight_check")

    def set_critical_path_strict_negative_weight_check(self, value: bool) -> None:
        self._given["critical_path_strict_negative_weight_check"] = bool(value)

    def get_options_str(self) -> str:
        """A line a switch: whether it is on, and what the environment says."""
        return "".join(
            "%s=%s, %s=%s\n" % (name, self._is_on(name), variable, os.environ.get(variable, "unset"))
            for name, variable in _VARIABLES.items()
        )


def disable_ns_rounding() -> bool:
    return HTAEnvOptions.instance().disable_ns_rounding()


def disable_call_graph_depth() -> bool:
    return HTAEnvOptions.instance().disable_call_graph_depth()


def critical_path_add_zero_weight_launch_edges() -> bool:
    return HTAEnvOptions.instance().critical_path_add_zero_weight_launch_edges()


def critical_path_show_zero_weight_launch_edges() -> bool:
    return HTAEnvOptions.instance().critical_path_show_zero_weight_launch_edges()


def critical_path_strict_negative_weight_check() -> bool:
    return HTAEnvOptions.instance().critical_path_strict_negative_weight_check()


def get_options() -> str:
    return HTAEnvOptions.instance().get_options_str()
