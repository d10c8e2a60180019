"""The recorder with a real torch, where there is one; with a GPU, where there is one."""
import gzip
import json
import os
import pathlib
import socket
import subprocess
import sys
import warnings

import pytest

import rankscope as rs
from rankscope.record import Recorder, RecorderWarning

torch = pytest.importorskip("torch", reason="torch is not installed")

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.fixture
def group(monkeypatch):
    """A process group of this process alone."""
    import torch.distributed as dist
    if not dist.is_available():
        pytest.skip("this torch has no torch.distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", init_method="tcp://127.0.0.1:%d" % port, rank=0,
                            world_size=1)
    yield dist
    dist.destroy_process_group()


def train(recorder, device, steps=8):
    torch.manual_seed(0)
    model = torch.nn.Linear(256, 256).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in recorder.steps([torch.randn(64, 256) for _ in range(steps)]):
        batch = batch.to(device)
        with recorder.range("forward"):
            loss = model(batch).square().mean()
        with recorder.range("backward"):
            loss.backward()
        if torch.distributed.is_initialized():
            for parameter in model.parameters():
                torch.distributed.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        recorder.log(loss=loss, lr=0.01)


def test_trace(tmp_path, group):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecorderWarning)
        with Recorder(tmp_path / "run", wait=2, warmup=1, active=3) as recorder:
            train(recorder, "cuda" if torch.cuda.is_available() else "cpu")
    expected = [] if torch.cuda.is_available() else ["no CUDA or HIP device", "this torch's profiler sees no GPU here"]
    observes = hasattr(torch.profiler, "ExecutionTraceObserver")
    if "enable_cuda_sync_events" not in torch.profiler._ExperimentalConfig.__init__.__doc__:
        expected.append("this torch's profiler cannot record synchronisation events")
    if not observes:
        expected.append("this torch has no ExecutionTraceObserver")
    assert [note.split(":")[0] for note in recorder.notes] == expected
    (trace,) = (tmp_path / "run" / "torch_profiler").rglob("*.gz")
    job = rs.open(trace)
    steps = job.steps()
    assert len(steps) == 3 and job.ranks == [0]
    kept = json.loads(gzip.open(trace).read())
    assert kept["distributedInfo"]["rank"] == 0 and kept["record_shapes"] == 1
    assert kept["rankscope_recorder"]["cycle"] == 0
    names = {event["name"] for event in kept["traceEvents"] if event.get("cat") == "user_annotation"}
    assert {"forward", "backward"} <= names and sum(name.startswith("ProfilerStep#") for name in names) == 3
    host = tmp_path / "run" / "execution_trace" / "rank0.json.gz"
    assert host.exists() == observes
    if observes:
        nodes = json.loads(gzip.open(host).read())["nodes"]
        assert any("aten::linear" in node["name"] or "aten::addmm" in node["name"] for node in nodes)
    hidden = [path for path in pathlib.Path(tmp_path).rglob(".*")]
    assert hidden == []


def test_loop_fails(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecorderWarning)
        with pytest.raises(ValueError, match="loss"), Recorder(tmp_path / "run", wait=0, warmup=0, active=50, world_size=1) as recorder:
            for n in range(5):
                with recorder.step():
                    torch.ones(8, 8).sum()
                    if n == 3:
                        raise ValueError("loss is not a number")
    (trace,) = (tmp_path / "run").rglob("*.pt.trace.json.gz")
    assert len(rs.open(trace).steps()) == 3
    kept = json.loads(gzip.open(trace).read())["traceEvents"]
    steps = [event for event in kept if event["name"].startswith("ProfilerStep#")]
    assert [event["name"] for event in steps] == ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"]
    assert sum(event["name"] == "aten::ones" for event in kept) == 3


def test_short_loop(tmp_path):
    """No step that nobody ran: neither beside others nor by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecorderWarning)
        for directory, steps in (("one", 3), ("none", 2)):
            with Recorder(tmp_path / directory, wait=1, warmup=1, active=3, world_size=1) as recorder:
                train(recorder, "cpu", steps)
    (trace,) = (tmp_path / "one").rglob("*.pt.trace.json.gz")
    assert [row["step"] for row in rs.open(trace).steps()] == [2]
    assert not list((tmp_path / "none").rglob("*.pt.trace.json*"))
    assert any("has no trace" in note for note in recorder.notes)


def test_fsdp2_example(tmp_path):
    """Two ranks, one of them held up; the job as a user runs it."""
    root = pathlib.Path(__file__).resolve().parents[2]
    pytest.importorskip("torch.distributed.fsdp", reason="no FSDP")
    if not hasattr(torch.distributed.fsdp, "fully_shard"):
        pytest.skip("no FSDP2 in this torch")
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(root / "examples" / "fsdp2.py"),
             str(tmp_path / "run")]
    changes = ["layers=1", "width=32", "length=16", "steps=6", "wait=1", "active=3", "slow_rank=1", "slow_ms=100"]
    done = subprocess.run(words + [word for change in changes for word in ("--override", change)], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    job = rs.open(tmp_path / "run" / "torch_profiler", recursive=True)
    assert job.ranks == [0, 1] and len(job.steps()) == 6
    late = {row["rank"]: row["cost_us"] for row in job.stragglers()}
    assert late[1] > late[0] and late[1] > 200_000
    if hasattr(torch._C._distributed_c10d, "_dump_fr_trace"):
        assert sorted(path.name for path in (tmp_path / "run" / "flight").iterdir()) == ["rank_0", "rank_1"]
    wrong = subprocess.run([sys.executable, str(root / "examples" / "fsdp2.py"), "x", "--override", "layer=1"], capture_output=True,
                           text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert wrong.returncode == 2 and "is not NAME=VALUE with one of steps, batch" in wrong.stderr


def test_waits_are_seen(group):
    """Work.wait of a real torch can be replaced and restored."""
    from rankscope.record.collectives import Collectives

    class Clock:
        pauses = 0

        def recording(self):
            return True

        def event(self):
            return object()

        def pause(self, before, after):
            Clock.pauses += 1

    notes = []
    original = group.Work.wait
    collectives = Collectives(torch, Clock(), notes.append)
    collectives.install()
    try:
        assert notes == []
        group.all_reduce(torch.ones(3), async_op=True).wait()
        assert Clock.pauses == 1
    finally:
        collectives.remove()
    assert group.Work.wait is original
    group.all_reduce(torch.ones(3), async_op=True).wait()
    assert Clock.pauses == 1


@on_gpu
def test_overlap(tmp_path, group):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecorderWarning)
        with Recorder(tmp_path / "run", trace=False) as recorder:
            train(recorder, "cuda", 20)
    lines = [json.loads(line) for line in (tmp_path / "run" / "rank_00_metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 20 and recorder.notes == []
    for record in lines:
        assert record["profile"]["total_ms"] > 0 and record["loss"] is not None
        tags = [r["tag"].split("_", 2)[-1] for r in record["profile"]["ranges"]]
        assert {"forward", "backward", "all_reduce"} <= {*tags, *(r["tag"] for r in record["profile"]["ranges"])}
        assert all(0 <= r["start_ms"] < r["end_ms"] <= record["profile"]["total_ms"] for r in record["profile"]["ranges"])


@on_gpu
def test_asynchronous_collective(tmp_path, group):
    """Its range holds what ran, although nobody waits for it in the step."""
    big = torch.ones(1 << 26, device="cuda")
    with Recorder(tmp_path / "run", trace=False, overlap=True) as recorder:
        for _ in range(3):
            with recorder.step():
                work = group.all_reduce(big, async_op=True)
            work.wait()
    lines = [json.loads(line) for line in (tmp_path / "run" / "rank_00_metrics.jsonl").read_text().splitlines()]
    assert all(any(r["tag"] == "all_reduce" for r in line["profile"]["ranges"]) for line in lines)
