"""Stands where HTA's `hta.common.trace_parser` stands. There is one way of reading here, the engine's; the choice of HTA's is
kept for those who ask."""
import gzip
import json
from typing import Any, BinaryIO, Dict

from ..configs.parser_config import ParserBackend, ParserConfig
from .trace import parse_trace_dict, parse_trace_file

__all__ = [
    "ParserBackend",
    "get_default_trace_parsing_backend",
    "parse_metadata_ijson",
    "parse_trace_dataframe",
    "parse_trace_dict",
    "set_default_trace_parsing_backend",
]

_backend = ParserBackend.JSON


def _auto_detect_parser_backend() -> ParserBackend:
    return ParserBackend.JSON


def set_default_trace_parsing_backend(parser_backend: ParserBackend) -> None:
    global _backend
    _backend = ParserBackend(parser_backend)


def get_default_trace_parsing_backend() -> ParserBackend:
    return _backend


def _open_trace_file(trace_file_path: str) -> BinaryIO:
    return gzip.open(trace_file_path, "rb") if trace_file_path.endswith(".gz") else open(trace_file_path, "rb")


def parse_metadata_ijson(fh: BinaryIO) -> Dict[str, Any]:
    """What an open trace says of itself: every top-level key but traceEvents."""
    return {key: value for key, value in json.load(fh).items() if key != "traceEvents"}


def parse_trace_dataframe(trace_file_path: str, cfg: Any = None):
    """What a file says of itself, its rows with the arguments of cfg, and the table of its symbols."""
    return parse_trace_file(trace_file_path, ParserConfig() if cfg is None else cfg)
