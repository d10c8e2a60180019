"""Samples of the device, on stand-ins for NVML and AMD SMI. Real boards are read in the last test, where there is one."""
import json
import sys
import types

import pytest

import standin_torch
from rankscope.record import Recorder, RecorderWarning
from rankscope.record.devices import Devices, find_reader
from rankscope.record.files import Layout

pytestmark = pytest.mark.filterwarnings("error::rankscope.record.RecorderWarning")


@pytest.fixture
def torch(monkeypatch):
    return standin_torch.install(monkeypatch, standin_torch.Machine(), rank=0, world_size=2)


class NotSupported(Exception):
    pass


def nvml(monkeypatch, asked):
    def by_uuid(uuid):
        asked.append(uuid)
        return "handle"

    def no_sensor(*arguments):
        asked.append("temperature")
        raise NotSupported("no sensor")

    module = types.SimpleNamespace(
        NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0, nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=by_uuid, nvmlDeviceGetHandleByIndex=by_uuid,
        nvmlDeviceGetPowerUsage=lambda handle: 512500, nvmlDeviceGetClockInfo=lambda handle, clock: {1: 1980, 2: 2619}[clock],
        nvmlDeviceGetUtilizationRates=lambda handle: types.SimpleNamespace(gpu=97),
        nvmlDeviceGetMemoryInfo=lambda handle: types.SimpleNamespace(used=12_000_000),
        nvmlDeviceGetTemperature=no_sensor, nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 4)
    monkeypatch.setitem(sys.modules, "pynvml", module)


SAMPLE = {"power_w": 512.5, "clock_mhz": 1980, "memory_clock_mhz": 2619, "use_pct": 97, "memory_used_mb": 12, "throttle_reasons": 4}


def test_nvml(monkeypatch, torch):
    asked = []
    nvml(monkeypatch, asked)
    reader = find_reader(torch, asked.append)
    assert reader() == SAMPLE == reader()
    assert asked.count("temperature") == 1  # what a board cannot tell is asked once
    assert len(asked) == 2 and asked[0] != 0  # by its own number, not by its place


def test_library_is_not_there(monkeypatch, torch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.warns(RecorderWarning, match="pynvml cannot be imported: no samples of the device are taken; install nvidia-ml-py"):
        with Recorder(tmp_path, trace=False, device_period=0.5) as recorder:
            pass
    torch.version = types.SimpleNamespace(hip="6.3")
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    notes = []
    assert find_reader(torch, notes.append) is None and notes[0].startswith("amdsmi cannot be imported")
    assert recorder.files == []


def test_amd_smi_fails(monkeypatch, torch):
    def init():
        raise NotSupported("no driver")
    torch.version = types.SimpleNamespace(hip="6.3")
    monkeypatch.setitem(sys.modules, "amdsmi", types.SimpleNamespace(amdsmi_init=init))
    notes = []
    assert find_reader(torch, notes.append) is None
    assert notes == ["amdsmi cannot read this device (no driver): no samples of it are taken"]


def test_steps_have_theirs(monkeypatch, torch, tmp_path):
    nvml(monkeypatch, [])
    with Recorder(tmp_path, trace=False, device_period=1000) as recorder:  # one sample by itself, the others by hand
        for n in range(3):
            with recorder.step():
                torch.run(1e6)
                if n != 1:
                    recorder._devices.take()
    (line, *more) = (tmp_path / "rank_00_device.jsonl").read_text().splitlines()
    assert {**json.loads(line), "time_ns": 0} == {**SAMPLE, "time_ns": 0} and len(more) == 2
    steps = [json.loads(text) for text in (tmp_path / "rank_00_metrics.jsonl").read_text().splitlines()]
    assert steps[0]["device_samples"]["power_w"] == 512.5 and steps[0]["device_samples"]["samples"] >= 1
    assert str(tmp_path / "rank_00_device.jsonl") in recorder.files
    assert not recorder._devices.thread.is_alive()


def test_means(tmp_path):
    devices = Devices(lambda: {}, Layout(tmp_path, 0, True), 1, print)
    devices.held = [(10, {"power_w": 1, "throttle_reasons": 1}), (20, {"power_w": 3, "throttle_reasons": 4}), (30, {"power_w": 9})]
    assert devices.within(10, 30) == {"samples": 2, "power_w": 2, "throttle_reasons": 5}
    assert devices.within(30, 31) == {"samples": 1, "power_w": 9}
    assert devices.within(31, 99) is None
    devices.close()
    assert not devices.path.exists()


def test_wrong_period(tmp_path):
    with pytest.raises(ValueError, match="device_period"):
        Recorder(tmp_path, device_period=-1)


def test_real_board():
    real = pytest.importorskip("torch", reason="torch is not installed")
    if not real.cuda.is_available():
        pytest.skip("no GPU")
    pytest.importorskip("amdsmi" if real.version.hip else "pynvml")
    sample = find_reader(real, pytest.fail)()
    assert sample["power_w"] > 5 and sample["clock_mhz"] > 100 and sample["memory_used_mb"] > 0
