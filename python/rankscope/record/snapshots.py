"""Snapshots of the GPU's caching allocator, for `rankscope memory`: when the memory runs out, and at the end of chosen steps."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any, Collection

from . import features
from .files import Layout


class Snapshots:
    """entries: events that the allocator remembers. steps: those at whose end a snapshot is taken. What goes wrong here is a note."""

    def __init__(self, torch: Any, layout: Layout, entries: int, steps: Collection[int], note: features.Note) -> None:
        self.torch, self.layout, self.note = torch, layout, note
        self.entries, self.steps = entries, frozenset(steps)
        self.files: list[Path] = []

    def start(self) -> bool:
        """Python stacks alone: with C++ frames the first snapshot takes minutes, during which the other ranks wait."""
        wanted = {"enabled": "all", "context": "all", "stacks": "python", "max_entries": self.entries}
        problem: Exception | None = None
        for more in ({"global_record_annotations": True}, {}):  # since PyTorch 2.6: which step an event is of
            try:
                self.torch.cuda.memory._record_memory_history(**wanted, **more)
                return True
            except (AttributeError, RuntimeError, TypeError, ValueError) as error:
                problem = error
        self.note(f"this torch cannot remember what its allocator does ({problem}): no memory snapshots; PyTorch 2.1 and newer can")
        return False

    def failed(self, error: BaseException | None) -> None:
        """Takes a snapshot where the error is that the memory ran out; the failed allocation is among the last events."""
        kind = getattr(self.torch, "OutOfMemoryError", None) or getattr(self.torch.cuda, "OutOfMemoryError", None)
        if kind is not None and isinstance(error, kind):
            self._write("out_of_memory")

    def end_step(self, number: int) -> None:
        if number in self.steps:
            self._write(f"step{number}")

    def _write(self, what: str) -> None:
        final = self.layout.snapshot(what)
        if final in self.files:
            return
        part = final.with_name(f".{final.name}.{os.getpid()}.part")
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            with open(part, "wb") as file:
                pickle.dump(self.torch.cuda.memory._snapshot(), file, protocol=4)
            os.replace(part, final)
            self.files.append(final)
        except (AttributeError, MemoryError, OSError, RuntimeError) as error:
            self.note(f"{final}: the memory snapshot could not be taken: {error}")
        finally:
            part.unlink(missing_ok=True)

    def stop(self) -> None:
        try:
            self.torch.cuda.memory._record_memory_history(enabled=None)
        except (RuntimeError, TypeError):
            pass  # the process ends, or the allocator goes on remembering, which costs little
