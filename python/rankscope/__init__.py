"""Why a multi-GPU training job is slow, stuck or different.

    import rankscope as rs
    job = rs.open("traces/")
    job.breakdown()                 # one method for every analysis; help(job.breakdown) explains it
    job.kernels(by="name", top=5).to_pandas()
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from . import _engine, errors
from ._job import Events, Job, Page, report
from ._table import Result, Summary, Table
from ._verdict import Verdict
from .errors import AmbiguousError, Cancelled, Error, InputError, InputOSError, InputWarning, LimitError, UsageError

if TYPE_CHECKING:
    from . import chakra, fleet, flight, metrics, store, tracelens
    from ._job import compare, diff, memory, open_job as open, share_job as share, slice_job as slice
    from ._regress import Comparison, regress
    from ._sample import sample
    from ._view import View, view
    from .executors import summarize

__all__ = ["AmbiguousError", "Cancelled", "Comparison", "Error", "Events", "InputError", "InputOSError", "InputWarning", "Job",
           "LimitError", "Page", "Result", "Summary", "Table", "UsageError", "Verdict", "View", "chakra", "compare", "diff", "errors", "fleet", "flight", "memory",
           "metrics", "open", "output_forms", "regress", "report", "sample", "share", "slice", "store", "summarize", "tracelens", "view"]
__version__: str = _engine.version()


def output_forms() -> List[str]:
    """The names that Table.render takes."""
    return _engine.output_forms()


# What is loaded, or given its signature and docstring, when somebody first asks for it: an import takes as long as what
# everybody needs.
_MODULES = ("chakra", "fleet", "flight", "metrics", "store", "tracelens")
_ELSEWHERE = {"Comparison": "_regress", "regress": "_regress", "sample": "_sample", "summarize": "executors", "View": "_view", "view": "_view"}


def __getattr__(name: str) -> Any:
    from importlib import import_module
    if name in _MODULES:
        return import_module("." + name, __name__)
    if name in _ELSEWHERE:
        value = getattr(import_module("." + _ELSEWHERE[name], __name__), name)
    elif name in ("compare", "diff", "memory", "open", "share", "slice"):
        from . import _job
        value = _job.documented(name)
    else:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
