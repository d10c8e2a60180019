"""The sidecar: plans, windows and what goes wrong, on a stand-in for torch's profiler. A job with torch is in
src/packs/watch/tests/live."""

import contextlib
import enum
import gzip
import json
import pathlib
import sys
import time
import types

import pytest

from rankscope.record import RecorderWarning, Sidecar, sidecar


class Action(enum.Enum):
    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class Profile:
    """Keeps the numbers of the steps that are recorded."""

    def __init__(self, *, activities, schedule, on_trace_ready):
        self.schedule, self.step_num, self.current_action, self.steps = schedule, 0, schedule(0), []

    def start(self):
        assert self.current_action == Action.WARMUP

    def step(self):
        self.step_num += 1
        if self.schedule(self.step_num) in (Action.RECORD, Action.RECORD_AND_SAVE):
            self.steps.append(self.step_num)

    def stop(self):
        assert self.schedule(self.step_num) == Action.NONE

    def add_metadata_json(self, key, text):
        assert key == "distributedInfo" and json.loads(text)["world_size"] == 2

    def export_chrome_trace(self, path):
        pathlib.Path(path).write_text(json.dumps({"steps": self.steps}))


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    torch = types.ModuleType("torch")
    torch.profiler = types.SimpleNamespace(profile=Profile, ProfilerAction=Action, supported_activities=lambda: {"CPU"})
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(sidecar, "POLL_S", 0.02)
    monkeypatch.setattr(sidecar, "NOTICE_S", 0.2)
    monkeypatch.setenv("PATH", "/nonexistent")
    return torch


def run(cars, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for car in cars:
            car.step()
        time.sleep(0.01)


def windows(folder):
    found = {}
    for path in pathlib.Path(folder, "windows").glob("w*.rank*.json.gz"):
        window, rank = path.name.split(".")[:2]
        found.setdefault(window, {})[rank] = json.loads(gzip.decompress(path.read_bytes()))["steps"]
    return found


def test_all_ranks_record_the_same_steps(tmp_path):
    with contextlib.ExitStack() as stack:
        with pytest.warns(RecorderWarning, match="rankscope is not found"):
            first = stack.enter_context(Sidecar(tmp_path, every=1.1, rank=0, world_size=2, program=str(tmp_path / "none")))
        second = stack.enter_context(Sidecar(tmp_path, every=1.1, rank=1, world_size=2))
        run([first, second], 4)
    found = windows(tmp_path)
    assert len(found) >= 2 and first.windows == second.windows == len(found)
    for ranks in found.values():
        assert set(ranks) == {"rank0", "rank1"} and ranks["rank0"] == ranks["rank1"]
        steps = ranks["rank0"]
        assert steps == list(range(steps[0], steps[0] + 3))
    assert (tmp_path / "alive").exists() and len(first.notes) == 1 and not second.notes


def test_a_rank_that_learns_late_leaves_the_window_out(tmp_path):
    with Sidecar(tmp_path, rank=1, world_size=2) as car:
        run([car], 0.3)
        (tmp_path / ".plan").write_text(json.dumps({"window": 7, "step": 3}))
        run([car], 0.3)
        (tmp_path / ".plan").write_text('{"window": ')
        run([car], 0.1)
        assert not car.recording and car.windows == 0
    assert car.notes == ["rank 1 left a window out: it learned of it after the first step"] and not windows(tmp_path)


def test_a_window_that_the_job_ends_in_is_left_out(tmp_path):
    with Sidecar(tmp_path, steps=1000, rank=1, world_size=2) as car:
        run([car], 0.1)
        (tmp_path / ".plan").write_text(json.dumps({"window": 7, "step": car._step + 30}))
        run([car], 1)
        assert car.recording
        car._profile.stop = lambda: None
    assert not windows(tmp_path) and not car.recording


def test_a_profiler_that_is_in_use_costs_the_window(tmp_path, torch):
    with Sidecar(tmp_path, rank=1, world_size=2) as car:

        def busy(**options):
            raise RuntimeError("another profiler runs")

        torch.profiler.profile = busy
        run([car], 0.1)
        (tmp_path / ".plan").write_text(json.dumps({"window": 7, "step": car._step + 30}))
        with pytest.warns(RecorderWarning, match="another profiler runs"):
            run([car], 1)
    assert not windows(tmp_path)


def test_other_ranks_do_nothing(tmp_path):
    with Sidecar(tmp_path / "none", ranks=[0], rank=1, world_size=2) as car:
        run([car], 0.05)
    assert not (tmp_path / "none").exists()


def test_chosen_ranks():
    assert sidecar.chosen(None, 4) == [0, 1, 2, 3]
    assert sidecar.chosen([5, 1, 1, 9], 6) == [1, 5]
    many = sidecar.chosen(None, 4096)
    assert len(many) == 64 and many[0] == 0 and {b - a for a, b in zip(many, many[1:])} == {64}


@pytest.mark.parametrize("wrong", [{"every": 0}, {"steps": 0}, {"every": -1.0}])
def test_wrong_options(tmp_path, wrong):
    with pytest.raises(ValueError):
        Sidecar(tmp_path, **wrong)
