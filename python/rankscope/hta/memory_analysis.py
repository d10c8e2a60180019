"""HTA's MemoryAnalysis: the memory timeline that PyTorch's profiler exports."""
import os

import rankscope

from . import _figures

__all__ = ["MemoryAnalysis"]

# HTA's names of the categories, by the engine's columns.
CATEGORIES = {
    "parameter": "Parameter",
    "optimizer_state": "Optimizer_State",
    "input": "Input",
    "temporary": "Temporary",
    "activation": "Activation",
    "gradient": "Gradient",
    "autograd_detail": "Autograd_Detail",
    "unknown": "Unknown",
}


class MemoryAnalysis:
    """Memory held by category over time, from export_memory_timeline's file of raw events."""

    def __init__(self, path: str):
        self.path = os.path.expanduser(os.fspath(path))
        self._tables = None

    def _read(self):
        if self._tables is None:
            self._tables = rankscope.memory(self.path, series=True).tables
        return self._tables

    def get_memory_timeline(self, visualize: bool = True):
        """One row a change: time_ms since the first, and gigabytes held by category."""
        frame = self._read()["series"].to_pandas()
        # Units of a picture; the engine's own table has bytes.
        out = frame[["time_us"]].rename(columns={"time_us": "time_ms"}) / 1e3
        for column, name in CATEGORIES.items():
            out[name] = frame[column] / 1e9
        if visualize:
            _figures.memory(out, list(CATEGORIES.values()))
        return out

    def visualize(self) -> None:
        """Draws the timeline."""
        self.get_memory_timeline(visualize=True)

    def get_memory_summary(self):
        """What each category holds at the peak, and its own peak."""
        return self._read()["memory"].to_pandas()
