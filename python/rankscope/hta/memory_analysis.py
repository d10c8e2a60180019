"""HTA's MemoryAnalysis: the memory timeline that PyTorch's profiler exports."""
import json
import os
from typing import Any, List, Tuple

import rankscope
from rankscope import _engine

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


GIGABYTE = 1024**3  # HTA's GB


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
        frame: Any = self._read()["series"].to_pandas()
        # Units of a picture; the engine's own table has bytes.
        out = frame[["time_us"]].rename(columns={"time_us": "time_ms"}) / 1e3
        for column, name in CATEGORIES.items():
            out[name] = frame[column] / GIGABYTE
        if visualize:
            _figures.memory(out, list(CATEGORIES.values()))
        return out

    def _process_raw_events(self) -> Tuple[List[int], List[List[int]]]:
        """The times of the changes in the file's nanoseconds, and what each category holds from there on, in bytes. What
        was held before the recording is a row of its own, in front, at the first time."""
        changes = json.loads(_engine.file_text(self.path))
        begin = min((time for time, *_ in changes if time > 0), default=0)
        held = [0] * len(CATEGORIES)
        times: List[int] = []
        sizes: List[List[int]] = []
        last = None
        for time, _, size, category in changes:
            held[category] += size
            if time != last:
                times.append(begin if time < 0 else time)
                sizes.append([])
                last = time
            sizes[-1] = list(held)
        return times, sizes

    def plot_memory_timeline(self, save_graph: bool = False) -> None:
        """Draws the timeline, or, with save_graph, writes it to images/memory_plot.png."""
        frame = self.get_memory_timeline(visualize=False)
        if save_graph:
            os.makedirs("images", exist_ok=True)
        _figures.memory(frame, list(CATEGORIES.values()), os.path.join("images", "memory_plot.png") if save_graph else None)

    def visualize(self) -> None:
        """Draws the timeline."""
        self.get_memory_timeline(visualize=True)

    def get_memory_summary(self):
        """What each category holds at the peak, and its own peak."""
        return self._read()["memory"].to_pandas()
