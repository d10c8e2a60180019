"""Ranges of each step, timed by events on the GPU, and one line of JSON a step.

The host never waits for the GPU here: events are recorded in passing and read when they have long been reached, a few
steps later. A step's window begins where its own start event was reached. It ends when the last of its work was done,
on whichever stream, but at the latest where the next step begins: a collective that is still running then is reported in
both steps, in each the part that is there. So nothing is lost between steps, and nothing counts twice.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter, deque
from typing import Any, Iterator

from .devices import Devices
from .features import Note, Place
from .files import Layout
from .intervals import overlap, subtract

# A host that runs further ahead of its GPU than this many steps has to wait for it.
MAX_PENDING = 64


class Range:
    """One stretch on one stream; `end` is None until it is known."""

    __slots__ = ("tag", "stream", "function", "start", "end", "pauses", "on", "awaited", "forgotten")

    def __init__(self, tag: str, stream: str, function: str | None, start: Any, on: Any, awaited: bool) -> None:
        self.tag, self.stream, self.function = tag, stream, function
        self.awaited = awaited  # its end may come after the step's: from a future
        self.start, self.on = start, on
        self.end: Any = None
        self.pauses: list[tuple[Any, Any]] = []
        self.forgotten = False

    def events(self) -> Iterator[Any]:
        yield self.start
        if self.end is not None:
            yield self.end
        for pause in self.pauses:
            yield from pause


class Step:
    __slots__ = ("number", "epoch", "in_epoch", "start", "end", "ranges", "values", "realtime", "boottime", "dropped")

    def __init__(self, number: int, epoch: int, in_epoch: int, start: Any) -> None:
        self.number, self.epoch, self.in_epoch = number, epoch, in_epoch
        self.start: Any = start
        self.end: Any = None
        self.ranges: list[Range] = []
        self.values: dict[str, Any] = {}
        self.realtime = time.time_ns()
        clock = getattr(time, "CLOCK_BOOTTIME", None)
        self.boottime = time.clock_gettime_ns(clock) if clock is not None else None
        self.dropped = False

    def complete(self) -> bool:
        if self.end is None or not self.end.query():
            return False
        return all(r.forgotten or (r.end is not None and r.end.query()) for r in self.ranges)


class Value:
    """A number that may still be on the GPU: it is copied in passing, and read when the copy is done."""

    def __init__(self, torch: Any, value: Any) -> None:
        self.event: Any = None
        value = value.detach() if hasattr(value, "detach") else value
        if getattr(value, "is_cuda", False):
            self.value = torch.empty((), dtype=value.dtype, pin_memory=True)
            self.value.copy_(value.reshape(()), non_blocking=True)
            self.event = torch.cuda.Event()
            self.event.record()
        else:
            self.value = float(value)

    def read(self) -> float | None:
        if self.event is not None:
            self.event.synchronize()  # recorded within a step that is done
        number = float(self.value)
        return number if math.isfinite(number) else None


class Overlap:
    def __init__(self, torch: Any, layout: Layout, place: Place, first_step: int, note: Note) -> None:
        self.torch, self.layout, self.place, self.note = torch, layout, place, note
        self.lock = threading.RLock()  # autograd's threads issue collectives too
        self.pending: deque[Step] = deque()
        self.before: Step | None = None  # written already, but its ranges may reach into the next
        self.step: Step | None = None
        self.number = first_step
        self.in_epoch: Counter[int] = Counter()
        self.written = 0
        self.lost: Counter[str] = Counter()
        self.pool: list[Any] = []
        self.device = place.device(torch)
        self.devices: Devices | None = None  # samples of it
        self.file = open(layout.metrics, "w", encoding="ascii")

    # ---- events --------------------------------------------------------------------------------------------------

    def event(self, stream: Any = None) -> Any:
        """An event recorded now on the current stream, or the given one; None where none may be recorded."""
        if self.step is None or self.torch.cuda.is_current_stream_capturing():
            return None
        with self.lock:
            event = self.pool.pop() if self.pool else self.torch.cuda.Event(enable_timing=True)
        event.record(stream) if stream is not None else event.record()
        return event

    def recording(self) -> bool:
        return self.step is not None

    def missed(self, what: str) -> None:
        with self.lock:
            self.lost[what] += 1

    # ---- ranges --------------------------------------------------------------------------------------------------

    def begin(self, tag: str, stream: str, function: str | None, awaited: bool = False) -> Range | None:
        on = self.torch.cuda.current_stream()
        start = self.event()
        with self.lock:
            if self.step is None or start is None:
                self.lost["range outside of a step" if self.step is None else "range in a CUDA graph that was being captured"] += 1
                return None
            name = tag if awaited else f"epoch{self.step.epoch}_step{self.step.in_epoch}_{tag}"
            found = Range(name, stream, function, start, on, awaited)
            self.step.ranges.append(found)
            return found

    def end(self, r: Range | None, waited: bool = False) -> None:
        """The range ends where the current stream is now. waited: its own stream was delayed by it meanwhile."""
        if r is None:
            return
        if self.step is None:
            event = self.torch.cuda.Event(enable_timing=True)
            event.record()
        else:
            event = self.event()
        if event is None:
            self.forget(r)
            return
        r.end = event
        if waited:
            self.pause(r.start, r.end, r.on)

    def end_on_its_stream(self, r: Range | None) -> None:
        if r is not None:
            r.end = self.event(r.on)
            if r.end is None:
                self.forget(r)

    def forget(self, r: Range | None) -> None:
        if r is not None:
            r.forgotten = True

    def pause(self, start: Any, end: Any, on: Any = None) -> None:
        """A stream that waits does no work: the stretch is cut from the ranges that are open on it."""
        if end is None:
            return
        on = on if on is not None else self.torch.cuda.current_stream()
        with self.lock:
            for r in self.step.ranges if self.step else ():
                if r.end is None and not r.forgotten and r.function is None and r.on == on:
                    r.pauses.append((start, end))

    # ---- steps ---------------------------------------------------------------------------------------------------

    def begin_step(self, epoch: int) -> None:
        start = self.torch.cuda.Event(enable_timing=True)
        start.record()
        with self.lock:
            self.step = Step(self.number, epoch, self.in_epoch[epoch], start)
        self.number += 1
        self.in_epoch[epoch] += 1

    def end_step(self, dropped: bool) -> None:
        end = self.event()
        with self.lock:
            step, self.step = self.step, None
            if step is None:
                return
            step.end, step.dropped = end, dropped or end is None
            for r in step.ranges:
                r.forgotten |= end is None or (r.end is None and not r.awaited)
            if step.dropped:
                self.number -= 1
                self.in_epoch[step.epoch] -= 1
            self.pending.append(step)
        try:
            self.flush()
        except RuntimeError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """The training loop meets the GPU's error on its own, where it can be reported better."""
        self.note(f"rank {self.place.rank}: {len(self.pending)} steps could not be timed, the GPU failed: {error}")
        self.pending.clear()
        self.before = None

    def flush(self, closing: bool = False) -> None:
        """Writes the steps whose end, and whose successor's end, the GPU has reached."""
        while self.pending:
            step = self.pending[0]
            following = self.pending[1] if len(self.pending) > 1 else None
            if following is None and not closing:
                return
            if not self._ready(step, closing) or (following is not None and not self._ready(following, closing)):
                return
            self.pending.popleft()
            if not step.dropped:
                self._write(step, following)
            self._recycle(step)

    def _ready(self, step: Step, closing: bool) -> bool:
        if step.dropped and step.end is None:
            return True
        if closing or len(self.pending) > MAX_PENDING:
            step.end.synchronize()
            for r in step.ranges:
                if r.end is None and not r.forgotten:
                    r.forgotten = True
                    self.missed(f"{r.function} whose end did not come")
                elif r.end is not None:
                    r.end.synchronize()
        return step.complete()

    def _recycle(self, step: Step) -> None:
        """Events are used again once no step that is still to be written needs them."""
        with self.lock:
            if self.before is not None:
                for r in self.before.ranges:
                    self.pool.extend({id(e): e for e in r.events() if e is not None}.values())
            self.before = step

    def close(self) -> None:
        """Waits for what is under way and writes the rest. After an error of the GPU, what is known is written."""
        try:
            self.flush(closing=True)
        except RuntimeError as error:
            self._give_up(error)
        try:
            self.file.close()
            if not self.written:
                self.layout.metrics.unlink()
        except OSError as error:
            self.note(f"{self.layout.metrics}: could not be written ({error})")
        for what, n in sorted(self.lost.items()):
            self.note(f"left out: {n} x {what}")

    # ---- records -------------------------------------------------------------------------------------------------

    def _pieces(self, r: Range, origin: Any) -> list[tuple[float, float]]:
        """Where a range did work, in milliseconds from an event."""
        def at(event: Any) -> float:
            return float(origin.elapsed_time(event))

        whole = (at(r.start), at(r.end))
        return subtract(whole, [(at(a), at(b)) for a, b in r.pauses]) if whole[0] < whole[1] else [whole]

    def _write(self, step: Step, following: Step | None) -> None:
        own = [(r, self._pieces(r, step.start)) for r in step.ranges if not r.forgotten]
        end = max([float(step.start.elapsed_time(step.end)), 0.0] + [piece[1] for _, pieces in own for piece in pieces])
        if following is not None:
            end = min(end, max(float(step.start.elapsed_time(following.start)), 0.0))
        around = [
            (r, self._pieces(r, step.start))
            for other in (self.before, following) if other is not None
            for r in other.ranges if not r.forgotten
        ]
        ranges = []
        for r, pieces in own + around:
            for piece in pieces:
                start, stop = max(piece[0], 0.0), min(piece[1], end)
                if start < stop:
                    metadata = {"function": r.function} if r.function else {}
                    ranges.append({"stream": r.stream, "tag": r.tag, "start_ms": start, "end_ms": stop,
                                   "duration_ms": stop - start, "metadata": metadata})
        record = {
            "rank": self.place.rank,
            "world_size": self.place.world_size,
            "epoch": step.epoch,
            "step": step.in_epoch,
            "global_step": step.number,
            **{name: value.read() if (value := step.values.get(name)) is not None else None for name in ("loss", "grad_norm", "lr")},
            "profile": {
                "index": step.number,
                "total_ms": end,
                "ranges": ranges,
                "markers": [{"stream": "compute", "tag": f"epoch{step.epoch}_step{step.in_epoch}_end", "time_ms": end, "metadata": {}}],
                "overlap": overlap(ranges, end),
            },
            "t_start_ns": step.realtime,
            "t_start_boottime_ns": step.boottime,
            "host": self.place.host,
            "pid": self.place.pid,
            "local_rank": self.place.local_rank,
            "device": self.device,
        }
        if self.devices is not None:  # by the host's clock, which is ahead of the GPU by what is queued
            record["device_samples"] = self.devices.within(step.realtime, step.realtime + round(end * 1e6))
        try:
            self.file.write(json.dumps(record, allow_nan=False) + "\n")
            self.file.flush()
            self.written += 1
        except OSError as error:
            self.lost[f"step that could not be written to {self.layout.metrics} ({error})"] += 1
