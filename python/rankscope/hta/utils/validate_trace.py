"""Replaces HTA's `hta.utils.validate_trace`: whether the arguments of a trace's events are what they should be."""
import argparse
from collections import defaultdict
from typing import Any, Dict, List, Tuple

from .._need import pandas
from ..common.trace_file import read_trace
from ..configs.default_values import AttributeSpec, ValueType
from ..configs.parser_config import ParserConfig

__all__ = ["get_argument_spec", "get_expected_arguments", "validate_trace_format"]

LEVELS = {"minimal": "ARGS_MINIMUM", "standard": "ARGS_DEFAULT", "complete": "ARGS_COMPLETE"}


def get_argument_spec(level: str = "standard") -> List[AttributeSpec]:
    """The arguments that a level looks at: minimal, standard or complete."""
    if level not in LEVELS:
        raise KeyError("level is %s, not %r" % (", ".join(LEVELS), level))
    return getattr(ParserConfig, LEVELS[level])


def get_expected_arguments(attribute_specs: List[AttributeSpec]) -> Any:
    """Their names, types, defaults and columns, as a frame."""
    return pandas().DataFrame({
        "arg_keys": [spec.raw_name for spec in attribute_specs],
        "arg_value_types": pandas().Series([spec.value_type for spec in attribute_specs], dtype=object),
        "arg_default_values": pandas().Series([spec.default_value for spec in attribute_specs], dtype=object),
        "trace_df_column_name": [spec.name for spec in attribute_specs],
    })


def _get_argument_value_types(df: Any) -> Dict[str, Tuple[ValueType, Any]]:
    """Type and default by name."""
    return dict(zip(df["arg_keys"], zip(df["arg_value_types"], df["arg_default_values"])))


def _check_args(
    args: Dict[str, Any],
    arg_type_map: Dict[str, Tuple[ValueType, Any]],
    skipped_arguments: Dict[str, int],
    type_violations: Dict[str, str],
) -> None:
    """Counts the arguments of an event that are not known, and names those whose value has another type than its default."""
    for key, value in args.items():
        if key not in arg_type_map:
            skipped_arguments[key] += 1
            continue
        kind, default = arg_type_map[key]
        fits = isinstance(value, type(default)) or (isinstance(value, int) and isinstance(default, float))
        if kind != ValueType.Object and not fits:
            type_violations[key] = "%s: %r is a %s; a value like %r is expected (%s)" % (
                key, value, type(value).__name__, default, kind.name)


def validate_trace_format(
    trace_file_path: str, level: str = "standard", ignore_missing_arguments: bool = True
) -> Tuple[bool, Dict[str, Any]]:
    """Whether a trace is as HTA expects it, and what is not, by kind: trace_read_error, trace_data_error, args_data_type,
    type_violations, skipped_arguments (arguments that the level does not know, unless these are ignored)."""
    known = _get_argument_value_types(get_expected_arguments(get_argument_spec(level)))
    try:
        trace = read_trace(trace_file_path)
    except Exception as error:  # whatever makes a file unreadable is the answer
        return False, {"trace_read_error": error}
    if not isinstance(trace, dict) or "traceEvents" not in trace:
        return False, {"trace_data_error": "'traceEvents' section not found"}
    errors: Dict[str, Any] = {}
    skipped: Dict[str, int] = defaultdict(int)
    violations: Dict[str, str] = {}
    for event in trace["traceEvents"]:
        args = event.get("args", {}) if isinstance(event, dict) else {}
        if isinstance(args, dict):
            _check_args(args, known, skipped, violations)
        else:
            errors["args_data_type"] = "args is not a dict: %r" % (args,)
    if skipped and not ignore_missing_arguments:
        errors["skipped_arguments"] = dict(skipped)
    if violations:
        errors["type_violations"] = violations
    return not errors, errors


def main() -> None:
    parser = argparse.ArgumentParser(description="Say whether the arguments of a trace's events have the types that HTA expects")
    parser.add_argument("trace_file")
    parser.add_argument("--level", default="standard", choices=list(LEVELS))
    given = parser.parse_args()
    good, errors = validate_trace_format(given.trace_file, given.level)
    print("Validation result: %s" % good)
    for kind, what in errors.items():
        print("%s:" % kind)
        for line in what.items() if isinstance(what, dict) else [("", what)]:
            print("  %s %s" % line)


if __name__ == "__main__":
    main()
