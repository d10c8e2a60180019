"""torch.profiler, set up for the analyses: which options, which files, and when each is whole."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

from .._job import slice_job
from ..errors import Error
from . import features
from .files import Layout, finish


class Profiler:
    """One torch.profiler.profile with its schedule. A failure to write is reported, not raised: training goes on."""

    def __init__(self, torch: Any, layout: Layout, place: features.Place, options: dict[str, Any], note: features.Note) -> None:
        self.torch, self.layout, self.place, self.note = torch, layout, place, note
        self.cycle = 0
        self.described = False
        self.running = False
        self.observer = None  # the execution trace's
        self.observed_by_hand = False  # where profile() cannot do it
        self.observing = False
        self.files: list[Any] = []
        self.whole = 0  # steps of the present recording that ended well
        self.failed: list[int] = []  # ... and those that did not, by the profiler's number
        api = torch.profiler
        activities = set(api.supported_activities())
        if not any(getattr(a, "name", str(a)) != "CPU" for a in activities):
            note("this torch's profiler sees no GPU here: the trace will hold host work only")
        wanted: dict[str, Any] = {
            "record_shapes": options["shapes"],
            "profile_memory": options["memory"],
            "with_stack": options["stacks"],
            "with_flops": options["flops"],
            "with_modules": options["modules"],
        }
        if options["sync_events"]:
            config = features.experimental(torch, options["stacks"], note)
            if config is not None:
                wanted["experimental_config"] = config
        if options["execution_trace"]:
            self.observer = self._make_observer()
        if self.observer is not None:
            known = features.accepted(api.profile.__init__, {"execution_trace_observer": self.observer}, lambda text: None)
            self.observed_by_hand = not known
            wanted.update(known)
        wanted = features.accepted(api.profile.__init__, wanted, note)
        # torch's schedule warns on its own when there is no warmup
        schedule = api.schedule(**{name: options[name] for name in ("skip_first", "wait", "warmup", "active", "repeat")})
        self.profile = api.profile(activities=activities, schedule=schedule, on_trace_ready=self._ready, **wanted)

    def _make_observer(self) -> Any:
        observer_class = getattr(self.torch.profiler, "ExecutionTraceObserver", None)
        if observer_class is None:
            self.note("this torch has no ExecutionTraceObserver: no execution trace for chakra; a newer PyTorch has it")
            return None
        path = self.layout.execution_trace
        path.parent.mkdir(parents=True, exist_ok=True)
        observer = observer_class()
        observer.register_callback(str(self.layout.raw(path)))
        return observer

    # ---- the run -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.layout.traces.mkdir(parents=True, exist_ok=True)
        self.profile.__enter__()
        self.running = True
        self._follow()

    def step(self, failed: bool = False) -> None:
        """A step is over. One that failed is taken out of the trace when that is written."""
        if self._recording():
            self.whole += not failed
            if failed:
                self.failed.append(int(self.profile.step_num))
        self.profile.step()
        self._follow()

    def stop(self, error: BaseException | None) -> None:
        """Writes what was recorded so far, also when the training loop failed."""
        if not self.running:
            return
        self.running = False
        if self._recording():  # the step that was begun and has no end, or that nobody ran
            self.failed.append(int(self.profile.step_num))
        try:
            self.profile.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
        except Exception as failure:  # the body's own error is what the user must see
            self.note(f"torch.profiler could not be stopped: {failure}")
        if not self.cycle:
            self.note(f"rank {self.place.rank} has no trace: the run ended before the first step that the schedule records; "
                      "make skip_first, wait and warmup smaller")
        self._finish_execution_trace()

    def _recording(self) -> bool:
        return getattr(self.profile.current_action, "name", "") in ("RECORD", "RECORD_AND_SAVE")

    def _follow(self) -> None:
        """What has to happen when recording begins and ends."""
        recording = self._recording()
        if recording and not self.described:
            self._describe()
        self.described = recording and self.described
        if self.observer is not None and self.observed_by_hand and recording != self.observing:
            self.observing = recording
            self.observer.start() if recording else self.observer.stop()

    def _describe(self) -> None:
        """The rank goes into the file too: a file can be renamed."""
        self.described = True
        add = getattr(self.profile, "add_metadata_json", None)
        if add is None:
            return
        if features.distributed(self.torch) is None:  # else torch writes it
            add("distributedInfo", json.dumps({"rank": self.place.rank, "world_size": self.place.world_size}))
        add("rankscope_recorder", json.dumps({"host": self.place.host, "pid": self.place.pid, "cycle": self.cycle}))

    def _ready(self, profile: Any) -> None:
        final = self.layout.trace(self.cycle)
        raw = self.layout.raw(final)
        whole, failed = self.whole, self.failed
        self.whole, self.failed = 0, []
        self.described = False
        if not whole:
            return
        self.cycle += 1
        try:
            profile.export_chrome_trace(str(raw))
            self._take_out(raw, failed)
            finish(raw, final)
        except (OSError, RuntimeError) as error:
            raw.unlink(missing_ok=True)
            self.note(f"{final}: could not be written ({error}); is there room, and may this process write there?")
        else:
            self.files.append(final)

    def _take_out(self, raw: Path, steps: list[int]) -> None:
        """Leaves out what belongs to these steps: their annotation, what the host did in them and the GPU work launched there."""
        if not steps:
            return
        part = raw.with_name(raw.name.removesuffix(".json") + ".cut.json")
        try:
            with warnings.catch_warnings():  # what a slice of one rank's own file has to say is of no interest here
                warnings.simplefilter("ignore")
                slice_job(str(raw), str(part), where=" and ".join(f"step != {number}" for number in steps))
            os.replace(part, raw)
        except (Error, OSError) as error:
            names = ", ".join(f"ProfilerStep#{number}" for number in steps)
            self.note(f"the trace still holds {names}, which did not end: {error}")
        finally:
            part.unlink(missing_ok=True)

    def _finish_execution_trace(self) -> None:
        if self.observer is None:
            return
        final = self.layout.execution_trace
        raw = self.layout.raw(final)
        try:
            if self.observed_by_hand and self.observing:
                self.observer.stop()
            self.observer.unregister_callback()
            if self.cycle and raw.is_file():
                finish(raw, final)
                self.files.append(final)
            else:
                raw.unlink(missing_ok=True)
        except (OSError, RuntimeError) as error:
            self.note(f"{final}: could not be written ({error})")
