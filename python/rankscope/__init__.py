"""Why a multi-GPU training job is slow, stuck or different.

    import rankscope as rs
    job = rs.open("traces/")
    job.breakdown()                 # one method for every analysis; help(job.breakdown) explains it
    job.kernels(by="name", top=5).to_pandas()
"""
from __future__ import annotations

from typing import List

from . import _engine, chakra, errors, flight, metrics
from ._job import Events, Job, Page, compare, diff, memory, open_job as open, report, share_job as share, slice_job as slice
from ._regress import Comparison, regress
from ._table import Result, Summary, Table
from .errors import AmbiguousError, Cancelled, Error, InputError, InputOSError, InputWarning, LimitError, UsageError
from .executors import summarize
from . import fleet

__all__ = ["AmbiguousError", "Cancelled", "Comparison", "Error", "Events", "InputError", "InputOSError", "InputWarning", "Job",
           "LimitError", "Page", "Result", "Summary", "Table", "UsageError", "chakra", "compare", "diff", "errors", "fleet", "flight", "memory",
           "metrics", "open", "output_forms", "regress", "report", "share", "slice", "summarize"]
__version__: str = _engine.version()


def output_forms() -> List[str]:
    """The names that Table.render takes."""
    return _engine.output_forms()
