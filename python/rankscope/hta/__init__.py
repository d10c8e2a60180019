"""A drop-in for HolisticTraceAnalysis: change `from hta.trace_analysis import TraceAnalysis` to
`from rankscope.hta import TraceAnalysis`.

Same constructor, methods, arguments, frames and numbers; the engine is rankscope's. Needs pandas; pictures need plotly.
Differences, each with its reason: docs/hta-migration.md.
"""
from .critical_path import CPEdge, CPEdgeType, CPGraph, CPNode, restore_cpgraph
from .memory_analysis import MemoryAnalysis
from .trace_analysis import TimeSeriesTypes, TraceAnalysis
from .trace_diff import DeviceType, LabeledTrace, TraceDiff, compare

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
