"""A drop-in for HolisticTraceAnalysis: change `from hta.trace_analysis import TraceAnalysis` to
`from rankscope.hta import TraceAnalysis`.

Same constructor, methods, arguments, frames and numbers; the engine is rankscope's. Needs pandas; pictures need plotly.
Differences, each with its reason: docs/hta-migration.md.
"""
from typing import TYPE_CHECKING, Any

from .memory_analysis import MemoryAnalysis
from .trace_analysis import TimeSeriesTypes, TraceAnalysis
from .trace_diff import DeviceType, LabeledTrace, TraceDiff, compare

if TYPE_CHECKING:
    from .critical_path import CPEdge, CPEdgeType, CPGraph, CPNode, restore_cpgraph

__all__ = [
    "CPEdge",
    "CPEdgeType",
    "CPGraph",
    "CPNode",
    "DeviceType",
    "LabeledTrace",
    "MemoryAnalysis",
    "TimeSeriesTypes",
    "TraceAnalysis",
    "TraceDiff",
    "compare",
    "restore_cpgraph",
]

_GRAPH = ("CPEdge", "CPEdgeType", "CPGraph", "CPNode", "restore_cpgraph")


def __getattr__(name: str) -> Any:
    """The graph's names bring networkx, so they are loaded when one is asked for."""
    if name in _GRAPH:
        from . import critical_path

        return getattr(critical_path, name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
