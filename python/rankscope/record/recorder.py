"""The recorder that a training script sees."""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import Any, Callable, Collection, Iterable, Iterator, TypeVar

from . import features
from .collectives import Collectives, default_hook
from .devices import Devices, find_reader
from .files import Layout, RecorderError, RecorderWarning
from .overlap import Overlap, Value
from .profiler import Profiler
from .snapshots import Snapshots

T = TypeVar("T")


class Recorder:
    """Records one rank of a training run; a context manager around the training loop.

    directory: one for all ranks; each writes files of its own, named by its rank.

    trace: record a trace with ``torch.profiler``: after `skip_first` steps, `wait` steps of nothing, `warmup` steps that
    are thrown away and `active` steps that are kept; `repeat` such cycles, a file each (0: until the end). `shapes`,
    `stacks`, `memory`, `flops` and `modules` are the profiler's options of these names; `sync_events` records waits
    between streams, which the critical path needs; `execution_trace` writes what ``rankscope chakra link`` needs.

    overlap: write ``rank_R_metrics.jsonl``, one line a step; `collectives` times the calls of ``torch.distributed``.

    device_period: seconds between two samples of what NVML or AMD SMI says of this rank's device (power, clocks, use, memory,
    temperature), written to ``rank_R_device.jsonl``; steps have the means of theirs. 0: none are taken.

    snapshots: events that the GPU's caching allocator remembers (100000 are some steps and 100 MB of host memory), so that
    ``memory/out_of_memory/rankR.pickle`` shows who held the memory when an allocation failed and the error ended the loop;
    also at the end of each step of `snapshot_steps`, ``memory/stepN/rankR.pickle``. Both are what ``rankscope memory`` reads;
    enter the recorder before the model is made, else its parameters have no origin. 0: none.

    first_step: the `global_step` of the first, in a run that goes on from a checkpoint.

    rank, world_size: if neither the process group nor the launcher's environment gives them.

    Nothing here stops a training run once it has begun: what cannot be recorded or written is a `RecorderWarning` and
    is in `notes`. What was recorded is written also when the loop fails; the step that failed is left out.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        trace: bool = True,
        overlap: bool = True,
        skip_first: int = 0,
        wait: int = 5,
        warmup: int = 1,
        active: int = 3,
        repeat: int = 1,
        shapes: bool = True,
        stacks: bool = False,
        memory: bool = False,
        flops: bool = False,
        modules: bool = False,
        sync_events: bool = True,
        execution_trace: bool = True,
        collectives: bool = True,
        device_period: float = 0.0,
        snapshots: int = 0,
        snapshot_steps: Collection[int] = (),
        first_step: int = 0,
        compress: bool = True,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        schedule = {"skip_first": skip_first, "wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
        for name, value in schedule.items():
            if not isinstance(value, int) or value < (name == "active"):
                raise ValueError(f"{name} is a number of steps{', at least one' if name == 'active' else ''}, not {value!r}")
        if not device_period >= 0:
            raise ValueError(f"device_period is a number of seconds, 0 for no samples, not {device_period!r}")
        if not isinstance(snapshots, int) or snapshots < bool(snapshot_steps):
            raise ValueError(f"snapshots is a number of events to remember, above 0 for snapshot_steps, not {snapshots!r}")
        if rank is not None and rank < 0:
            raise ValueError(f"rank {rank} is negative")
        self.directory = os.fspath(directory)
        self.notes: list[str] = []
        self._options = {
            **schedule, "trace": trace, "overlap": overlap, "shapes": shapes, "stacks": stacks, "memory": memory,
            "flops": flops, "modules": modules, "sync_events": sync_events, "execution_trace": execution_trace,
            "collectives": collectives, "device_period": device_period, "first_step": first_step, "compress": compress,
        }
        self._snapshot_options = (snapshots, snapshot_steps)
        self._rank, self._world_size = rank, world_size
        self._torch: Any = None
        self._profiler: Profiler | None = None
        self._overlap: Overlap | None = None
        self._collectives: Collectives | None = None
        self._devices: Devices | None = None
        self._snapshots: Snapshots | None = None
        self._step_number = first_step
        self._entered = self._in_step = False
        self._left_out = 0
        self._layout: Layout | None = None

    # ---- what is known ---------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        if self._layout is None:
            raise RecorderError("the rank is known once the recorder is entered: with Recorder(...) as recorder")
        return self._layout.rank

    @property
    def files(self) -> list[str]:
        """What is written so far, whole."""
        found = list(self._profiler.files) if self._profiler else []
        if self._devices and self._devices.written:
            found.append(self._devices.path)
        if self._overlap and self._overlap.written:
            found.append(self._overlap.layout.metrics)
        found += self._snapshots.files if self._snapshots else []
        return [str(path) for path in found]

    @property
    def entered(self) -> bool:
        """Whether the run has begun."""
        return self._entered

    def _note(self, text: str) -> None:
        self.notes.append(text)
        warnings.warn(text, RecorderWarning, stacklevel=4)

    # ---- the run ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Recorder:
        if self._entered:
            raise RecorderError("this recorder was used already: make a new one for another run")
        torch = self._torch = features.import_torch()
        place = features.Place(torch, self._rank, self._world_size, self._note)
        layout = self._layout = Layout(self.directory, place.rank, bool(self._options["compress"]))
        try:
            layout.directory.mkdir(parents=True, exist_ok=True)
            aside = layout.put_earlier_aside()
        except OSError as error:
            raise RecorderError(f"{self.directory}: cannot be written to ({error}): choose another directory") from error
        if aside is not None:
            self._note(f"{self.directory}: held rank {place.rank} of an earlier run, which is in {aside} now")
        self._entered = True
        with contextlib.ExitStack() as undo:
            if self._options["overlap"]:
                self._start_overlap(torch, layout, place, undo)
            if self._options["device_period"]:
                self._start_devices(torch, layout, undo)
            if self._snapshot_options[0]:
                self._start_snapshots(torch, layout, undo)
            if self._options["trace"]:
                self._profiler = Profiler(torch, layout, place, self._options, self._note)
                self._profiler.start()
            undo.pop_all()
        return self

    def _start_overlap(self, torch: Any, layout: Layout, place: features.Place, undo: contextlib.ExitStack) -> None:
        if not features.has_gpu(torch):
            self._note("no CUDA or HIP device: overlap cannot be timed, no metrics are written")
            return
        self._overlap = Overlap(torch, layout, place, int(self._options["first_step"]), self._note)
        undo.callback(self._overlap.file.close)
        if self._options["collectives"] and (place.grouped or place.world_size > 1):
            self._collectives = Collectives(torch, self._overlap, self._note)
            undo.callback(self._collectives.remove)
            self._collectives.install()

    def _start_devices(self, torch: Any, layout: Layout, undo: contextlib.ExitStack) -> None:
        reader = find_reader(torch, self._note)
        if reader is None:
            return
        self._devices = Devices(reader, layout, float(self._options["device_period"]), self._note)  # type: ignore[arg-type]
        undo.callback(self._devices.close)
        if self._overlap is not None:
            self._overlap.devices = self._devices
        self._devices.start()

    def _start_snapshots(self, torch: Any, layout: Layout, undo: contextlib.ExitStack) -> None:
        if not features.has_gpu(torch):
            self._note("no CUDA or HIP device: no memory snapshots are taken")
            return
        snapshots = Snapshots(torch, layout, *self._snapshot_options, self._note)
        if snapshots.start():
            self._snapshots = snapshots
            undo.callback(snapshots.stop)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self._snapshots is not None:
            self._snapshots.failed(error)
            self._snapshots.stop()
        if self._in_step:
            self._left_out += 1
            self._end_step(dropped=True, failed=True)
        if self._collectives is not None:
            self._collectives.remove()
        if self._profiler is not None:
            self._profiler.stop(error)
        if self._overlap is not None:
            self._overlap.close()
        if self._devices is not None:
            self._devices.close()
        if self._left_out:
            self._note(f"left out: {self._left_out} steps that an error or a break ended")

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _begin_step(self, epoch: int) -> None:
        if not self._entered:
            raise RecorderError("a step outside of the recorder: with Recorder(...) as recorder: ... goes around the loop")
        if self._in_step:
            raise RecorderError("a step within a step: end the first one before the next begins")
        if self._overlap is not None:
            self._overlap.begin_step(epoch)
        self._in_step = True

    def _end_step(self, dropped: bool, failed: bool = False) -> None:
        """dropped: in no record. failed: it ran, and is taken out of the trace; else it was no step at all."""
        self._in_step = False
        if self._snapshots is not None and not dropped:
            self._snapshots.end_step(self._step_number)
        self._step_number += failed or not dropped
        if self._overlap is not None:
            self._overlap.end_step(dropped)
        if self._profiler is not None and (failed or not dropped):
            self._profiler.step(failed)

    def begin_step(self, *, epoch: int = 0) -> None:
        """As entering ``with recorder.step()``, for loops that a framework runs; end_step() ends it."""
        self._begin_step(epoch)

    def end_step(self, *, keep: bool = True, ran: bool = True) -> None:
        """Ends what begin_step() began. keep=False: it is left out; ran=False: nothing of a step ran in it."""
        if not self._in_step:
            raise RecorderError("end_step() without begin_step()")
        self._end_step(dropped=not keep, failed=not keep and ran)

    @contextlib.contextmanager
    def step(self, *, epoch: int = 0) -> Iterator[Recorder]:
        """One training step: ``with recorder.step(): ...``. Fetching the batch belongs inside, else its time is in no step."""
        self._begin_step(epoch)
        try:
            yield self
        except BaseException:
            self._left_out += 1
            self._end_step(dropped=True, failed=True)
            raise
        self._end_step(dropped=False)

    def steps(self, batches: Iterable[T], *, epoch: int = 0) -> Iterator[T]:
        """The batches, a step each, fetching included: ``for batch in recorder.steps(loader): ...``. A step that the loop
        leaves by break is left out."""
        source = iter(batches)
        while True:
            self._begin_step(epoch)
            try:
                batch = next(source)
            except StopIteration:
                self._end_step(dropped=True)
                return
            except BaseException:
                self._left_out += 1
                self._end_step(dropped=True, failed=True)
                raise
            done = False
            try:
                yield batch
                done = True
            finally:
                if self._in_step:
                    self._left_out += not done
                    self._end_step(dropped=not done, failed=not done)

    def log(self, *, loss: Any = None, grad_norm: Any = None, lr: Any = None) -> None:
        """Numbers of the current step. Tensors may be on the GPU: they are copied in passing, without a wait."""
        if not self._in_step:
            raise RecorderError("log() belongs inside a step")
        if self._overlap is None or self._overlap.step is None:
            return
        for name, value in (("loss", loss), ("grad_norm", grad_norm), ("lr", lr)):
            if value is None:
                continue
            try:
                self._overlap.step.values[name] = Value(self._torch, value)
            except (RuntimeError, TypeError, ValueError):
                self._overlap.missed(f"{name} that is no number")

    @contextlib.contextmanager
    def range(self, name: str, *, stream: str = "compute", function: str | None = None) -> Iterator[None]:
        """Names a stretch of work on the current GPU stream, and in the trace. `stream` is the lane it is shown in;
        "compute" is what communication is compared with. A communication of your own is recognised by its function:
        ``recorder.range("my sum", stream="allreduce", function="all_reduce")``. Time in which the stream waits for a
        collective is no part of it."""
        annotation = contextlib.nullcontext()
        if self._profiler is not None and self._profiler.running:
            annotation = self._torch.profiler.record_function(name)
        with annotation:
            if self._overlap is None:
                yield
                return
            found = self._overlap.begin(name, stream, function)
            try:
                yield
            finally:
                self._overlap.end_on_its_stream(found)

    # ---- communication that no function shows ------------------------------------------------------------------------

    def wait(self, work: Any) -> Any:
        """``work.wait()``, whose time is no computation. Only needed where `notes` says that waits cannot be seen."""
        if self._collectives is None:
            return work.wait()
        return self._collectives.pause(work.wait)

    def ddp_hook(self, state: Any = None, hook: Callable[[Any, Any], Any] | None = None) -> tuple[Any, Callable[[Any, Any], Any]]:
        """For DistributedDataParallel, whose gradients are reduced where no function can be replaced:
        ``model.register_comm_hook(*recorder.ddp_hook())``. `hook` is the hook that does the work; all-reduce by default."""
        if self._collectives is None:
            return state, hook or default_hook()
        return state, self._collectives.ddp_hook(state, hook)
