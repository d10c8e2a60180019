"""Replaces HTA's `hta.common.trace_parser`. There is one way of reading here, the engine's; the choice of HTA's is
kept for those who ask."""
import gzip
import json
from typing import Any, BinaryIO, Dict, Optional, Tuple, cast

from ..configs.parser_config import ParserBackend, ParserConfig
from .trace import parse_trace_dict, parse_trace_file
from .trace_symbol_table import TraceSymbolTable

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
    if trace_file_path.endswith(".gz"):
        return cast(BinaryIO, gzip.open(trace_file_path, "rb"))
    return open(trace_file_path, "rb")


def parse_metadata_ijson(fh: BinaryIO) -> Dict[str, Any]:
    """What an open trace says of itself: every top-level key but traceEvents."""
    return {key: value for key, value in json.load(fh).items() if key != "traceEvents"}


def _compress_df(df: Any, cfg: Optional[ParserConfig] = None) -> Tuple[Any, TraceSymbolTable]:
    """Rows of a frame made of traceEvents as HTA keeps them, in place, and the table of their names and categories: events
    with a duration and a category, the arguments of cfg as columns, texts as numbers."""
    chosen = ParserConfig.get_default_cfg() if cfg is None else cfg
    if not {"dur", "cat"} <= set(df.columns):  # the file holds metadata only
        df.drop(index=df.index, inplace=True)
        return df, TraceSymbolTable()
    df.drop(index=df.index[df["dur"].isna() | df["cat"].isna() | (df["cat"] == "Trace")], inplace=True)
    df.drop(columns=[column for column in ("ph", "id", "bp", "s") if column in df.columns], inplace=True)
    if "args" in df.columns:
        args = [one if isinstance(one, dict) else {} for one in df["args"]]
        specs = chosen.get_args()
        if chosen.parse_all_args:
            specs = list(ParserConfig.infer_attribute_specs(df["args"], ParserConfig.get_all_available_args()).values())
        for spec in specs:
            df[spec.name] = [one.get(spec.raw_name, spec.default_value) for one in args]
        df.drop(columns=["args"], inplace=True)
    for column in ("cat", "name"):
        df[column] = df[column].astype(str)
    symbols = TraceSymbolTable.create_from_df(df)
    symbols.encode_df(df)
    return df, symbols


def parse_trace_dataframe(trace_file_path: str, cfg: Any = None):
    """What a file says of itself, its rows with the arguments of cfg, and the table of its symbols."""
    return parse_trace_file(trace_file_path, ParserConfig() if cfg is None else cfg)
