"""Replaces HTA's module of this name."""
from ..critical_path import CPEdge, CPEdgeType, CPGraph, CPNode, CriticalPathAnalysis, restore_cpgraph

__all__ = ["CPEdge", "CPEdgeType", "CPGraph", "CPNode", "CriticalPathAnalysis", "restore_cpgraph"]
