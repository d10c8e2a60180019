"""Stands where HTA's `hta.configs.env_options` stands: what the environment switches. "1" is on.

rankscope itself follows HTA_DISABLE_NS_ROUNDING; the others are read for those who ask."""
import os

HTA_DISABLE_NS_ROUNDING_ENV = "HTA_DISABLE_NS_ROUNDING"
HTA_DISABLE_CG_DEPTH_ENV = "HTA_DISABLE_CG_DEPTH"
CP_LAUNCH_EDGE_ENV = "CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE"
CP_LAUNCH_EDGE_SHOW_ENV = "CRITICAL_PATH_SHOW_ZERO_WEIGHT_LAUNCH_EDGE"
CP_STRICT_NEG_WEIGHT_CHECK_ENV = "CRITICAL_PATH_STRICT_NEGATIVE_WEIGHT_CHECKS"


def _is_on(name: str) -> bool:
    return os.environ.get(name, "0") == "1"


def disable_ns_rounding() -> bool:
    return _is_on(HTA_DISABLE_NS_ROUNDING_ENV)


def disable_call_graph_depth() -> bool:
    return _is_on(HTA_DISABLE_CG_DEPTH_ENV)


def critical_path_add_zero_weight_launch_edges() -> bool:
    return _is_on(CP_LAUNCH_EDGE_ENV)


def critical_path_show_zero_weight_launch_edges() -> bool:
    return _is_on(CP_LAUNCH_EDGE_SHOW_ENV)


def critical_path_strict_negative_weight_check() -> bool:
    return _is_on(CP_STRICT_NEG_WEIGHT_CHECK_ENV)


def get_options() -> str:
    """A line a switch: whether it is on, and what the environment says."""
    asked = (
        (disable_ns_rounding, HTA_DISABLE_NS_ROUNDING_ENV),
        (disable_call_graph_depth, HTA_DISABLE_CG_DEPTH_ENV),
        (critical_path_add_zero_weight_launch_edges, CP_LAUNCH_EDGE_ENV),
        (critical_path_show_zero_weight_launch_edges, CP_LAUNCH_EDGE_SHOW_ENV),
        (critical_path_strict_negative_weight_check, CP_STRICT_NEG_WEIGHT_CHECK_ENV),
    )
    return "".join("%s=%s, %s=%s\n" % (ask.__name__, ask(), name, os.environ.get(name, "unset")) for ask, name in asked)
