"""Why a multi-GPU training job is slow, stuck or different.

    import rankscope as rs
    job = rs.open("traces/")
    job.breakdown()                 # one method for every analysis; help(job.breakdown) explains it
    job.kernels(by="name", top=5).to_pandas()
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Union

from . import _engine, _settings, chakra, errors, flight, metrics, sources as _sources
from ._job import Events, Job, compare, diff, memory
from ._table import Result, Summary, Table
from .errors import AmbiguousError, Cancelled, Error, InputError, InputOSError, InputWarning, LimitError, UsageError
from .executors import summarize

__all__ = ["AmbiguousError", "Cancelled", "Error", "Events", "InputError", "InputOSError", "InputWarning", "Job",
           "LimitError", "Result", "Summary", "Table", "UsageError", "chakra", "compare", "diff", "errors", "flight", "memory",
           "metrics", "open", "output_forms", "summarize"]
__version__: str = _engine.version()


def output_forms() -> List[str]:
    """The names that Table.render takes."""
    return _engine.output_forms()


def open(source: Any, *, ranks: _settings.Ranges = None, steps: _settings.Ranges = None,
         window: Optional[str] = None, recursive: bool = False, renumber: bool = False, single_rank: bool = False,
         jobs: int = 0, max_memory: _settings.Size = None,
         absolute: bool = False, keep: Union[bool, int, str] = True, include_last_step: bool = False,
         storage_options: Optional[Dict[str, Any]] = None, progress: _settings.Progress = "auto") -> Job:
    """Opens the traces of one training run; no path is read before the first analysis.

    source: a path (a file, a directory, a pattern like "traces/*.gz"), a URL (s3://, gs://, https://, ..., through
        fsspec; read at once), the bytes of a file (not copied), any other buffer (copied once), a file object (read
        whole), several of these, or a dict {rank: one of these}
    ranks, steps: only these: a number, several, a range or a text like "0,3,8-15"
    window: only what starts in this time, "10-12.5": milliseconds from the job's first event over all ranks
    recursive: look into the folders of a directory
    renumber: number ranks by file name, whatever the files say
    single_rank: a file that holds several ranks is an error
    jobs: worker threads; 0: one for each core
    max_memory: bytes that loaded ranks may take, or a size like "4G"
    absolute: times as the files have them, not from the job's first event
    keep: keep what was loaded for the next analysis: True (up to half of the memory), False, or a size like "8G"
    include_last_step: under compat="hta", also the last step
    storage_options: what fsspec needs for URLs, such as {"anon": True}
    progress: "auto" (a line on a terminal or in a notebook when reading takes long), True, False, or a function of
        (bytes done, bytes in all) that may return False to stop
    """
    paths, files = _sources.resolve(source, recursive=recursive, storage_options=storage_options)
    _sources.fetch(files)
    settings = _settings.of_job(ranks=ranks, steps=steps, window=window, recursive=recursive, renumber=renumber,
                                single_rank=single_rank, jobs=jobs, max_memory=max_memory, absolute=absolute, keep=keep,
                                include_last_step=include_last_step)
    return Job(paths, files, settings, progress)
