"""Replaces HTA's `hta.common.trace_file`: files of traces, and which rank each is of."""
import gzip
import json
import logging
import os
import re
from typing import Any, Dict, List, Tuple

from rankscope import _engine

logger = logging.getLogger("rankscope.hta")

_RANK = re.compile(rb'"rank"\s*:\s*(\d+)')


def _rank_of(path: str) -> int:
    """What the file says of its rank, before its events or after them; 0, with a warning, where it says nothing."""
    said = _RANK.search(_engine.file_header(path))
    if said:
        return int(said.group(1))
    logger.warning('%s: this trace file does not have the rank in it and counts as rank 0; add "distributedInfo": {"rank": N}, or say trace_files={rank: path}', path)
    return 0


def create_rank_to_trace_dict(file_list: List[str]) -> Tuple[bool, Dict[int, str]]:
    """(True, {rank: file}); of two files of one rank the last."""
    files: Dict[int, str] = {}
    for path in file_list:
        rank = _rank_of(path)
        if rank in files:
            logger.warning("%s has the same rank as %s, %d, and takes its place", path, files[rank], rank)
        files[rank] = path
    return True, files


def create_rank_to_trace_dict_from_dir(trace_dir: str) -> Tuple[bool, Dict[int, str]]:
    """The same of the files .json and .gz in a directory; (False, {}) where there are none."""
    if not os.access(trace_dir, os.R_OK):
        logger.error("%s is not there or cannot be read", trace_dir)
        return False, {}
    paths = [os.path.join(trace_dir, name) for name in sorted(os.listdir(trace_dir)) if name.endswith((".gz", ".json"))]
    if not paths:
        logger.warning("there is no trace in %s", trace_dir)
        return False, {}
    return create_rank_to_trace_dict(paths)


def get_trace_files(trace_path: str) -> Dict[int, str]:
    """{rank: file} of a directory; empty where there is nothing."""
    return create_rank_to_trace_dict_from_dir(trace_path)[1]


def _check_name(path: str) -> None:
    if not path.endswith((".gz", ".json", ".zst")):
        raise ValueError("a trace's name ends in .gz, .zst or .json; %s does not" % path)


def read_trace(file_path: str) -> Dict[str, Any]:
    """A trace as Python objects."""
    _check_name(file_path)
    return json.loads(_engine.file_text(file_path))


def write_trace(trace_data: Dict[str, Any], file_path: str) -> None:
    """Writes Python objects as a trace, packed if the name ends in .gz; makes the folder."""
    os.makedirs(os.path.dirname(os.path.abspath(file_path)), exist_ok=True)
    opener = gzip.open if file_path.endswith(".gz") else open
    with opener(file_path, "wt", encoding="utf-8") as file:
        json.dump(trace_data, file, indent=None if file_path.endswith(".gz") else 2)


def update_trace_rank(file_path: str, rank: int) -> None:
    """Writes into a trace which rank it is of."""
    trace = read_trace(file_path)
    trace.setdefault("distributedInfo", {})["rank"] = rank
    write_trace(trace, file_path)
