"""Short recordings of a job for as long as it runs, watched by `rankscope watch`."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Collection

from . import features
from .files import RecorderError, RecorderWarning, finish

POLL_S = 1.0  # between two looks for a plan
NOTICE_S = 4.0  # from the plan of a window to its first step: every rank has looked by then
MOST_RANKS = 64


def chosen(ranks: Collection[int] | None, world_size: int) -> list[int]:
    """The ranks that record: those given, else all of a small job, else as many of a large one, at equal distances."""
    if ranks is not None:
        return sorted({rank for rank in ranks if 0 <= rank < world_size})
    n = min(world_size, MOST_RANKS)
    return [i * world_size // n for i in range(n)]


class Sidecar:
    """A window of `steps` steps every `every` seconds, of chosen ranks at once; a context manager around the training loop.

    >>> with Sidecar("/shared/job17") as sidecar:
    ...     for batch in loader:
    ...         train(batch)
    ...         sidecar.step()

    directory: one that all ranks see. Traces are in windows/, and are deleted once `rankscope watch` has summarised them into
    history.db, but those of the windows in which a change began; changes.jsonl has a line a change, watch.log what the watch
    complains of. `alive` in it is touched while the first recording rank, which runs the watch, is well.

    ranks: those that record; by default all, in jobs above 64 ranks 64 of them at equal distances.

    program: the command rankscope; None: that of this package, or of PATH. watch: more of its options, such as
    ("--webhook", URL, "--metrics-listen", "9464"). keep: delete no trace.

    No rank waits for another: the first recording rank writes down at which step the next window begins, and a thread of each
    rank reads it once a second. A rank that learns of it too late leaves the window out. Nothing here stops a training run: what
    fails is a `RecorderWarning` and in `notes`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        every: float = 600.0,
        steps: int = 3,
        ranks: Collection[int] | None = None,
        watch: Collection[str] = (),
        program: str | None = None,
        keep: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        if not every > 0:
            raise ValueError(f"every is a number of seconds above 0, not {every!r}")
        if not isinstance(steps, int) or steps < 1:
            raise ValueError(f"steps is a number of steps, at least one, not {steps!r}")
        self.directory = Path(directory)
        self.notes: list[str] = []
        self.windows = 0  # that this rank has written
        self._every, self._steps, self._ranks, self._keep = every, steps, ranks, keep
        self._words, self._program = tuple(watch), program
        self._rank, self._world_size = rank, world_size
        self._torch: Any = None
        self._profile: Any = None
        self._left = 0  # steps until the window ends
        self._step = 0
        self._plan: tuple[int, int] | None = None  # window and its first step, for this rank to record
        self._seen = -1  # newest window that was read
        self._pace = 0.1  # seconds a step
        self._last: float | None = None
        self._due = 0.0
        self._stop = threading.Event()
        self._written: queue.Queue[tuple[Any, int] | None] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self._watcher: subprocess.Popen[bytes] | None = None
        self._leads = self._records = False

    @property
    def recording(self) -> bool:
        """Whether a window is being recorded."""
        return self._profile is not None

    def _note(self, text: str) -> None:
        self.notes.append(text)
        warnings.warn(text, RecorderWarning, stacklevel=3)

    # ---- begin and end -----------------------------------------------------------------------------------------------

    def __enter__(self) -> Sidecar:
        self._torch = features.import_torch()
        place = features.Place(self._torch, self._rank, self._world_size, self._note)
        self._rank, self._world_size = place.rank, max(place.world_size, 1)
        ranks = chosen(self._ranks, self._world_size)
        self._records, self._leads = place.rank in ranks, ranks[:1] == [place.rank]
        if not self._records:
            return self
        try:
            (self.directory / "windows").mkdir(parents=True, exist_ok=True)
            if self._leads:
                (self.directory / ".plan").unlink(missing_ok=True)
        except OSError as error:
            raise RecorderError(f"{self.directory}: cannot be written to ({error}): choose another directory") from error
        self._warm_up()
        if self._leads:
            self._start_watch()
        self._due = time.monotonic() + min(self._every, 30.0)  # the first steps of a job are like no others
        for run in (self._follow, self._write):
            thread = threading.Thread(target=run, daemon=True, name=f"rankscope-{run.__name__[1:]}")
            self._threads.append(thread)
            thread.start()
        return self

    def _start_watch(self) -> None:
        place = self._program or os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin", "rankscope")
        program = place if os.access(place, os.X_OK) else shutil.which("rankscope")
        if program is None:
            self._note("the program rankscope is not found: windows are recorded, and neither watched nor deleted")
            return
        words = [program, "watch", str(self.directory / "windows"), "--history", str(self.directory / "history.db"),
                 "--format", "jsonl", "--every", "5s", "--settle", "5s", "--jobs", "1", "--no-progress",
                 *([] if self._keep else ["--delete-traces"]), *self._words]
        if shutil.which("nice"):
            words = ["nice", "-n", "10", *words]
        try:
            with open(self.directory / "changes.jsonl", "ab") as out, open(self.directory / "watch.log", "ab") as log:
                self._watcher = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        except OSError as error:
            self._note(f"rankscope watch could not be started ({error}): windows are recorded, and not watched")

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self._profile is not None:
            self._end_window(whole=False)
        self._stop.set()
        self._written.put(None)
        for thread in self._threads:
            thread.join(60)
        if self._watcher is None:
            return
        self._watcher.send_signal(signal.SIGTERM)
        try:
            self._watcher.wait(30)
        except subprocess.TimeoutExpired:
            self._watcher.kill()

    # ---- threads -----------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Makes and reads plans."""
        plan = self.directory / ".plan"
        while not self._stop.wait(POLL_S):
            try:
                if self._leads:
                    self._lead(plan)
                text = json.loads(plan.read_text())
                window, first = int(text["window"]), int(text["step"])
            except (OSError, ValueError, KeyError, TypeError):
                continue  # none yet, or it is being replaced
            if window > self._seen:
                self._seen = window
                self._plan = (window, first)

    def _lead(self, plan: Path) -> None:
        if self._watcher is None or self._watcher.poll() is None:
            (self.directory / "alive").touch()
        elif self._watcher.returncode is not None and not self._stop.is_set():
            self._note(f"rankscope watch ended with code {self._watcher.returncode}: see {self.directory / 'watch.log'}")
            self._watcher = None
        if time.monotonic() < self._due or not self._step:
            return
        self._due = time.monotonic() + self._every
        first = self._step + 2 + int(NOTICE_S / max(self._pace, 1e-3))
        part = plan.with_name(".plan.part")
        part.write_text(json.dumps({"window": int(time.time()), "step": first}))
        os.replace(part, plan)

    def _write(self) -> None:
        """Traces are written next to the training: torch's part of it needs no interpreter."""
        while (item := self._written.get()) is not None:
            profile, window = item
            final = self.directory / "windows" / f"w{window}.rank{self._rank}.json.gz"
            raw = final.with_name(f".{final.name.removesuffix('.gz')}.part.json")
            try:
                profile.export_chrome_trace(str(raw))
                finish(raw, final)
                self.windows += 1
            except (OSError, RuntimeError) as error:
                raw.unlink(missing_ok=True)
                self._note(f"{final}: could not be written ({error})")
            del profile

    # ---- steps -------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """A training step is over."""
        if not self._records:
            return
        now = time.monotonic()
        if self._last is not None and self._profile is None:
            self._pace += 0.1 * (now - self._last - self._pace)
        self._last = now
        self._step += 1
        if self._profile is not None:
            self._left -= 1
            if self._left > 0:
                self._profile.step()
            else:
                self._end_window(whole=True)
        elif self._plan is not None and self._step >= self._plan[1]:
            late, self._plan = self._step > self._plan[1], self._plan if self._step == self._plan[1] else None
            if late:
                self.notes.append(f"rank {self._rank} left a window out: it learned of it after the first step")
            else:
                self._begin_window()

    def _profiler(self, first: int) -> Any:
        """Records from the step after `first` on; steps have the job's numbers, the same on all ranks."""
        api = self._torch.profiler
        actions = api.ProfilerAction

        def schedule(step: int) -> Any:
            at = step - first
            if at == 0:
                return actions.WARMUP
            if 0 < at < self._steps:
                return actions.RECORD
            return actions.RECORD_AND_SAVE if at == self._steps else actions.NONE

        profile = api.profile(activities=set(api.supported_activities()), schedule=schedule, on_trace_ready=lambda _: None)
        profile.step_num = first
        profile.current_action = schedule(first)
        return profile

    def _warm_up(self) -> None:
        """The first use of the profiler loads its libraries, which may take seconds: before the first step."""
        try:
            profile = self._profiler(0)
            profile.start()
            for _ in range(self._steps + 1):
                profile.step()
            profile.stop()
        except Exception as error:
            self._note(f"torch.profiler could not be tried: {error}")

    def _begin_window(self) -> None:
        try:
            profile = self._profiler(self._step)
            profile.start()
        except Exception as error:  # another profiler may be running
            self._plan = None
            self._note(f"a window could not be recorded: {error}")
            return
        if features.distributed(self._torch) is None and hasattr(profile, "add_metadata_json"):
            profile.add_metadata_json("distributedInfo", json.dumps({"rank": self._rank, "world_size": self._world_size}))
        self._profile, self._left = profile, self._steps + 1

    def _end_window(self, whole: bool) -> None:
        profile, self._profile = self._profile, None
        plan, self._plan = self._plan, None
        try:
            profile.step() if whole else None
            profile.stop()
        except Exception as error:
            self._note(f"torch.profiler could not be stopped: {error}")
            return
        if whole and plan is not None:
            self._written.put((profile, plan[0]))

