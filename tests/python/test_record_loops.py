"""The recorder in loops of others, on stand-ins for their packages, and the set-up of the flight recorder. Run by hand with
lightning 2.6.6 and transformers 5.23.0: validation between steps is no step, a batch that fails is left out."""
import json
import os
import pathlib
import sys
import types

import pytest

import standin_torch
from rankscope.record import Recorder, RecorderError, dump_flight, lightning_callback, set_up_flight, transformers_callback

pytestmark = pytest.mark.filterwarnings("error::rankscope.record.RecorderWarning")


@pytest.fixture
def machine():
    return standin_torch.Machine()


@pytest.fixture
def torch(monkeypatch, machine):
    return standin_torch.install(monkeypatch, machine, rank=0, world_size=2)


def package(monkeypatch, path, name):
    """A module with one empty base class."""
    parts = path.split(".")
    for n in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:n]), types.ModuleType(".".join(parts[:n])))
    base = type(name, (), {})
    setattr(sys.modules[path], name, base)
    return base


def records(directory):
    lines = pathlib.Path(directory, "rank_00_metrics.jsonl").read_text().splitlines()
    return [(r["step"], r["loss"], r["profile"]["total_ms"]) for r in map(json.loads, lines)]


@pytest.mark.parametrize("path", ["lightning.pytorch", "pytorch_lightning"])
def test_lightning(monkeypatch, torch, tmp_path, path):
    base = package(monkeypatch, path, "Callback")
    callback = lightning_callback(Recorder(tmp_path, trace=False))
    assert isinstance(callback, base)
    trainer = types.SimpleNamespace(sanity_checking=True)
    callback.on_validation_end(trainer, None)  # before training
    callback.on_train_start(trainer, None)
    trainer.sanity_checking = False
    for n in range(4):
        torch.run(10 + n)
        callback.on_train_batch_end(trainer, None, {"loss": float(n)}, None, n)
        if n == 1:
            torch.run(100)
            callback.on_validation_end(trainer, None)
    callback.on_train_end(trainer, None)
    assert records(tmp_path) == [(0, 0.0, 10), (1, 1.0, 11), (2, 2.0, 12), (3, 3.0, 13)]


def test_lightning_fails(monkeypatch, torch, tmp_path):
    package(monkeypatch, "lightning.pytorch", "Callback")
    recorder = Recorder(tmp_path, wait=0, warmup=0, active=9)
    callback = lightning_callback(recorder)
    callback.on_train_start(None, None)
    torch.run(1)
    callback.on_train_batch_end(None, None, None, None, 0)
    torch.run(1)
    callback.on_exception(None, None, ValueError("bad batch"))
    callback.on_train_end(None, None)  # nothing is left to end
    assert [step for step, _, _ in records(tmp_path)] == [0]
    assert len(recorder.files) == 3


def test_transformers(monkeypatch, torch, tmp_path):
    base = package(monkeypatch, "transformers", "TrainerCallback")
    recorder = Recorder(tmp_path, trace=False)
    callback = transformers_callback(recorder)
    assert isinstance(callback, base)
    with recorder:  # entered by the script: the callback leaves that to it
        callback.on_train_begin(None, None, None, model=None)
        for n in range(3):
            torch.run(10 + n)
            callback.on_step_end(None, None, None)
        torch.run(50)
        callback.on_evaluate(None, None, None, metrics={})
        callback.on_train_end(None, None, None)
        assert recorder.entered
    assert records(tmp_path) == [(0, None, 10), (1, None, 11), (2, None, 12)]


def test_without_the_package(monkeypatch, torch, tmp_path):
    for name in ("lightning", "pytorch_lightning", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RecorderError, match="lightning or pytorch_lightning cannot be imported: pip install lightning"):
        lightning_callback(Recorder(tmp_path))
    with pytest.raises(RecorderError, match="transformers cannot be imported"):
        transformers_callback(Recorder(tmp_path))


def test_end_without_begin(torch, tmp_path):
    with Recorder(tmp_path, trace=False) as recorder:
        with pytest.raises(RecorderError, match="end_step\\(\\) without begin_step\\(\\)"):
            recorder.end_step()


@pytest.fixture
def environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("TORCH_FR_", "TORCH_NCCL_")):
            monkeypatch.delenv(name)
    yield monkeypatch
    for name in list(os.environ):  # what set_up_flight left
        if name.startswith(("TORCH_FR_", "TORCH_NCCL_")):
            del os.environ[name]


def test_flight_is_set_up(environment, machine, tmp_path):
    torch = standin_torch.install(environment, machine, rank=0, world_size=2)
    environment.setattr(torch.distributed, "is_initialized", lambda: False)
    environment.setenv("TORCH_NCCL_TRACE_BUFFER_SIZE", "77")
    prefix = str((tmp_path / "run" / "flight" / "rank_").resolve())
    assert set_up_flight(tmp_path / "run", entries=500, timing=True) == {
        "TORCH_FR_BUFFER_SIZE": "77", "TORCH_NCCL_TRACE_BUFFER_SIZE": "77", "TORCH_FR_DUMP_TEMP_FILE": prefix,
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": prefix, "TORCH_NCCL_DUMP_ON_TIMEOUT": "1", "TORCH_NCCL_ENABLE_TIMING": "1"}
    assert os.environ["TORCH_FR_DUMP_TEMP_FILE"] == prefix and (tmp_path / "run" / "flight").is_dir()
    with pytest.raises(ValueError, match="entries"):
        set_up_flight(tmp_path, entries=0)
    environment.setattr(torch.distributed, "is_initialized", lambda: True)
    with pytest.raises(RecorderError, match="before init_process_group"):
        set_up_flight(tmp_path)


def test_flight_is_dumped(environment, machine, tmp_path):
    torch = standin_torch.install(environment, machine, rank=0, world_size=2)
    torch.distributed.get_backend = lambda: "gloo"
    assert dump_flight(tmp_path) is None  # this torch has none
    asked = []
    torch._C = types.SimpleNamespace(_distributed_c10d=types.SimpleNamespace(
        _dump_fr_trace=lambda backend: asked.append(backend) or b"dump", _dump_nccl_trace=lambda: b"of nccl"))
    assert dump_flight(tmp_path).read_bytes() == b"dump" and asked == ["gloo"]
    torch.distributed.get_backend = lambda: "cpu:gloo,cuda:nccl"
    assert dump_flight(tmp_path, rank=5) == tmp_path / "flight" / "rank_5"
    assert (tmp_path / "flight" / "rank_5").read_bytes() == b"of nccl"
    assert sorted(os.listdir(tmp_path / "flight")) == ["rank_0", "rank_5"]
