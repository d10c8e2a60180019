"""The recorder, on a stand-in for torch whose clock the test holds; what it writes is read by `rankscope metrics`."""

import contextlib
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import threading
import types

import pytest

import standin_torch
from rankscope.record import Recorder, RecorderError, RecorderWarning

pytestmark = pytest.mark.filterwarnings("error::rankscope.record.RecorderWarning")


@pytest.fixture
def machine():
    return standin_torch.Machine()


@pytest.fixture
def torch(monkeypatch, machine):
    return standin_torch.install(monkeypatch, machine, rank=0, world_size=2)


def overlap_only(directory, **options):
    return Recorder(directory, trace=False, **options)


def records(directory, rank=0):
    lines = pathlib.Path(directory, "rank_%02d_metrics.jsonl" % rank).read_text().splitlines()
    return [json.loads(line) for line in lines]


def ranges(record):
    return [(r["tag"], r["stream"], r["start_ms"], r["end_ms"]) for r in record["profile"]["ranges"]]


def program():
    """The command line of this project: where a test run says, else of this environment, else of the build."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for name in (os.environ.get("RANKSCOPE_BIN"), os.path.join(sysconfig.get_path("scripts"), "rankscope"),
                 root / "build" / "rankscope", shutil.which("rankscope")):
        if name and os.access(name, os.X_OK):
            return str(name)
    raise AssertionError("no rankscope program: build it, or set RANKSCOPE_BIN")


def metrics(tmp_path, directory, *more):
    out = tmp_path / "summary"
    words = [program(), "metrics", "--log-dir", str(directory), "--label", "run", "--output", str(out), "--no-plots", "--skip-warmup", "0"]
    done = subprocess.run([*words, *more], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "summary.json").read_text())["datasets"]["run"], done.stderr


# ---- overlap ------------------------------------------------------------------------------------------------------


def test_waiting_collective(torch, machine, tmp_path):
    with overlap_only(tmp_path / "run") as recorder:
        for loss in (4.0, 2.0):
            with recorder.step():
                with recorder.range("forward"):
                    torch.run(10)
                assert torch.distributed.all_reduce(torch.Tensor()) is None
                recorder.log(loss=loss)
            machine.sleep(20)
    first, second = records(tmp_path / "run")
    assert first["profile"]["total_ms"] == 14 == second["profile"]["total_ms"]
    assert ranges(first) == [("epoch0_step0_forward", "compute", 0, 10), ("all_reduce", "allreduce", 10, 14)]
    assert [(r["epoch"], r["step"], r["global_step"], r["loss"], r["rank"], r["world_size"]) for r in (first, second)] == \
        [(0, 0, 0, 4.0, 0, 2), (0, 1, 1, 2.0, 0, 2)]
    assert first["pid"] == os.getpid() and first["device"] == "cuda:0 Stand-in GPU-1" and first["t_start_ns"] > 0
    summary, _ = metrics(tmp_path, tmp_path / "run")
    assert summary["count"] == 2 and summary["mean_loss"] == 3
    assert (summary["mean_compute_ms"], summary["mean_comm_ms"], summary["mean_overlap_ms"], summary["mean_idle_ms"]) == (10, 4, 0, 0)


def test_hidden_collective(torch, machine, tmp_path):
    """Asynchronous: the range holds the collective, not the call, and the wait is no computation."""
    with overlap_only(tmp_path / "run") as recorder:
        with recorder.step():
            with recorder.range("backward"):
                torch.run(5)
                work = torch.distributed.all_reduce(torch.Tensor(), async_op=True, ms=9.0)  # 5 to 14
                torch.run(6)  # 5 to 11
                work.wait()  # nothing until 14
                torch.run(2)
    (record,) = records(tmp_path / "run")
    assert ranges(record) == [("epoch0_step0_backward", "compute", 0, 11), ("epoch0_step0_backward", "compute", 14, 16),
                              ("all_reduce", "allreduce", 5, 14)]
    summary, _ = metrics(tmp_path, tmp_path / "run")
    assert summary["mean_step_ms"] == 16
    assert summary["mean_compute_ms"] == 13
    assert summary["mean_overlap_ms"] == summary["mean_allreduce_overlap_ms"] == 6
    assert summary["mean_exposed_comm_ms"] == 3
    assert summary["overlap_ratio"] == pytest.approx(6 / 13)
    # who reads the stored numbers finds the same
    compat = tmp_path / "compat"
    done = subprocess.run([program(), "metrics", "--log-dir", str(tmp_path / "run"), "--label", "run", "--output", str(compat),
                           "--compat", "aorta", "--no-plots"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stored = json.loads((compat / "summary.json").read_text())["datasets"]["run"]
    assert (stored["mean_overlap_ms"], stored["mean_compute_ms"]) == (6, 13)


def test_all_gather_counts(torch, tmp_path):
    """Whatever stream it is told under, an all-gather is communication, and so is a broadcast."""
    with overlap_only(tmp_path / "run") as recorder:
        with recorder.step():
            torch.distributed._all_gather_base(torch.Tensor(), torch.Tensor())  # 4, once although one calls the other
            torch.distributed.broadcast(torch.Tensor(), 0)
            with recorder.range("my sum", stream="allreduce", function="all_reduce"):
                torch.run(3)
    (record,) = records(tmp_path / "run")
    assert [r[0] for r in ranges(record)] == ["all_gather_into_tensor", "broadcast", "epoch0_step0_my sum"]
    summary, _ = metrics(tmp_path, tmp_path / "run")
    assert (summary["mean_comm_ms"], summary["mean_step_ms"], summary["mean_idle_ms"]) == (9, 9, 0)
    assert summary["collectives"]["all_gather"]["mean_ms"] == 4
    assert summary["collectives"]["broadcast"]["mean_ms"] == 2


def test_step_ends_with_its_last_stream(torch, machine, tmp_path):
    """The time of a step is not that of the stream on which its end was issued."""
    side = torch.cuda.Stream()
    with overlap_only(tmp_path / "run") as recorder:
        with recorder.step():
            with torch.cuda.stream(side), recorder.range("optimizer", stream="aux"):
                torch.run(30)
            with recorder.range("forward"):
                torch.run(10)
    (record,) = records(tmp_path / "run")
    assert record["profile"]["total_ms"] == 30
    assert ranges(record) == [("epoch0_step0_optimizer", "aux", 0, 30), ("epoch0_step0_forward", "compute", 0, 10)]
    assert record["profile"]["markers"] == [{"stream": "compute", "tag": "epoch0_step0_end", "time_ms": 30, "metadata": {}}]


def test_work_across_steps(torch, machine, tmp_path):
    """A collective that outlives its step is told in both, in each the part that lies there; work on another stream that
    runs ahead of the step's start likewise."""
    side = torch.cuda.Stream()
    with overlap_only(tmp_path / "run") as recorder:
        with recorder.step():
            with recorder.range("forward"):
                torch.run(10)
            work = torch.distributed.all_reduce(torch.Tensor(), async_op=True, ms=7.0)  # 10 to 17
        machine.sleep(6)
        with recorder.step():  # begins at 10 on the GPU
            with torch.cuda.stream(side), recorder.range("prefetch", stream="aux"):
                torch.run(8)  # 6 to 14
            with recorder.range("forward"):
                torch.run(10)  # 10 to 20
            work.wait()
    first, second = records(tmp_path / "run")
    assert first["profile"]["total_ms"] == 10
    assert ranges(first) == [("epoch0_step0_forward", "compute", 0, 10), ("epoch0_step1_prefetch", "aux", 6, 10)]
    assert second["profile"]["total_ms"] == 10
    assert ranges(second) == [("epoch0_step1_prefetch", "aux", 0, 4), ("epoch0_step1_forward", "compute", 0, 10),
                              ("all_reduce", "allreduce", 0, 7)]
    summary, stderr = metrics(tmp_path, tmp_path / "run")
    assert summary["mean_comm_ms"] * 2 == 7 and "cut" not in stderr


def test_host_never_waits(torch, machine, tmp_path):
    """Events are read when the GPU has long passed them; a host that runs far ahead waits for the oldest step only."""
    with overlap_only(tmp_path / "run") as recorder:
        for step in range(40):
            with recorder.step():
                with recorder.range("forward"):
                    torch.run(10)
                torch.distributed.all_reduce(torch.Tensor(), async_op=True).wait()
                recorder.log(loss=torch.Tensor(1.0 + step), grad_norm=torch.Tensor(float("nan")), lr=0.1)
            machine.sleep(9)
        assert machine.synchronizations == 0
        assert 20 < len(records(tmp_path / "run")) < 40  # written meanwhile
        ahead = 40
        for step in range(100):
            with recorder.step():
                torch.run(10)
            ahead += 1
        assert 0 < machine.synchronizations < 100
    found = records(tmp_path / "run")
    assert len(found) == ahead
    assert [r["loss"] for r in found[:40]] == [1.0 + step for step in range(40)]
    assert found[0]["grad_norm"] is None and found[0]["lr"] == 0.1 and found[50]["loss"] is None
    assert all(r["profile"]["total_ms"] == (14 if n < 40 else 10) for n, r in enumerate(found))
    assert machine.now >= 40 * 14 + 100 * 10


def test_no_number(torch, tmp_path):
    """What cannot be logged is told, and no reason to stop a training run; a number of the host is taken as it is now."""
    loss = torch.Tensor(3.0, is_cuda=False)
    with pytest.warns(RecorderWarning) as told, overlap_only(tmp_path / "run") as recorder:
        with recorder.step():
            recorder.log(loss=loss, lr="fast", grad_norm=[1, 2])
            loss.value = 4.0
    assert sorted(str(w.message) for w in told) == ["left out: 1 x grad_norm that is no number", "left out: 1 x lr that is no number"]
    (record,) = records(tmp_path / "run")
    assert (record["loss"], record["lr"], record["grad_norm"]) == (3.0, None, None)


def test_no_step_no_file(torch, tmp_path):
    with overlap_only(tmp_path / "run") as recorder:
        pass
    assert list((tmp_path / "run").iterdir()) == [] == recorder.files


def test_long_runs_keep_precision(torch, machine, tmp_path):
    """Times are told from the step's own start: 32-bit floats would lose the microseconds after seconds."""
    with overlap_only(tmp_path / "run") as recorder:
        for _ in range(3):
            machine.sleep(100_000)
            with recorder.step(), recorder.range("forward"):
                torch.run(0.125)
    assert [ranges(r) for r in records(tmp_path / "run")] == \
        [[("epoch0_step%d_forward" % n, "compute", 0, 0.125)] for n in range(3)]


def test_arguments_pass_unchanged(torch, tmp_path):
    """async_op by position, errors of the call itself, names that a module imported before, and all restored."""
    user = types.ModuleType("user_code")
    user.reduce = torch.distributed.all_reduce
    original = torch.distributed.all_reduce
    wait = torch.distributed.Work.wait
    sys.modules["user_code"] = user
    try:
        with overlap_only(tmp_path / "run") as recorder:
            assert user.reduce is not original and user.reduce.__name__ == "all_reduce"
            kept = user.reduce
            user.late = torch.distributed.broadcast  # as if imported within the recording
            with recorder.step():
                work = user.reduce(torch.Tensor(), None, None, True)
                assert isinstance(work, torch.distributed.Work) and work.wait()
                with pytest.raises(ValueError, match="invalid root"):
                    torch.distributed.broadcast(torch.Tensor(), 99)
        assert user.reduce is original is torch.distributed.all_reduce
        assert user.late is torch.distributed.broadcast and not hasattr(user.late, "__wrapped__")
        assert torch.distributed.Work.wait is wait
        assert kept(torch.Tensor()) is None  # a name imported meanwhile goes on working
    finally:
        del sys.modules["user_code"]
    (record,) = records(tmp_path / "run")
    assert ranges(record) == [("all_reduce", "allreduce", 0, 4)]


def test_other_threads(torch, machine, tmp_path):
    """autograd issues collectives from its own threads."""
    with overlap_only(tmp_path / "run") as recorder:
        with recorder.step():
            with recorder.range("backward"):
                torch.run(5)
                thread = threading.Thread(target=lambda: torch.distributed.all_reduce(torch.Tensor(), async_op=True))
                thread.start()
                thread.join()
                torch.run(5)
    (record,) = records(tmp_path / "run")
    assert ranges(record) == [("epoch0_step0_backward", "compute", 0, 10), ("all_reduce", "allreduce", 5, 9)]


def test_gradients_of_ddp(torch, tmp_path):
    class Bucket:
        pass

    def hook(state, bucket):
        assert state == "state" and isinstance(bucket, Bucket)
        return torch.distributed.all_reduce(torch.Tensor(), async_op=True).get_future()

    with overlap_only(tmp_path / "run") as recorder:
        _, registered = recorder.ddp_hook("state", hook)
        registered(None, Bucket())  # outside of a step: not timed, done all the same
        with recorder.step(), recorder.range("backward"):
            torch.run(4)
            registered(None, Bucket())
            torch.run(4)
    (record,) = records(tmp_path / "run")
    assert ranges(record)[1] == ("all_reduce", "allreduce", 4, 8)


def test_what_is_not_timed_is_told(monkeypatch, machine, tmp_path):
    torch = standin_torch.install(monkeypatch, machine, rank=0, world_size=2, futures=False)
    with pytest.warns(RecorderWarning) as told:
        with overlap_only(tmp_path / "run") as recorder:
            with recorder.range("validation"):
                torch.run(1)
            with recorder.step():
                torch.distributed.all_reduce(torch.Tensor(), async_op=True)
                torch.distributed.all_reduce(torch.Tensor(is_cuda=False))  # the host's: no time of the GPU's
                machine.capturing = True
                torch.distributed.all_reduce(torch.Tensor())
                with recorder.range("graph"):
                    pass
                machine.capturing = False
                torch.distributed.distributed_c10d._world.pg_coalesce_state["pg"] = [1]
                torch.distributed.all_reduce(torch.Tensor())
                torch.distributed.distributed_c10d._world.pg_coalesce_state.clear()
    assert [str(w.message) for w in told] == recorder.notes == [
        "left out: 1 x all_reduce called asynchronously, of a backend that gives no future",
        "left out: 1 x all_reduce coalesced with others",
        "left out: 1 x all_reduce in a CUDA graph that was being captured",
        "left out: 1 x range in a CUDA graph that was being captured",
        "left out: 1 x range outside of a step",
    ]
    (record,) = records(tmp_path / "run")
    assert ranges(record) == []


# ---- a loop that fails --------------------------------------------------------------------------------------------


def test_error_in_the_loop(torch, machine, tmp_path):
    with pytest.raises(ZeroDivisionError), pytest.warns(RecorderWarning, match="left out: 1 steps that an error"):
        with Recorder(tmp_path / "run", wait=0, warmup=0, active=5) as recorder:
            for n in range(4):
                with recorder.step(), recorder.range("forward"):
                    torch.run(10)
                    1 / (2 - n)
    assert [r["global_step"] for r in records(tmp_path / "run")] == [0, 1]
    trace = tmp_path / "run" / "torch_profiler" / "rank0" / "rank0_cycle000.pt.trace.json.gz"
    names = [e["name"] for e in json.loads(gzip.open(trace).read())["traceEvents"]]
    assert names == ["ProfilerStep#0", "ProfilerStep#1"]
    assert torch.distributed.all_reduce.__module__ == "standin_torch"  # restored


def test_error_that_the_loop_survives(torch, tmp_path):
    with pytest.warns(RecorderWarning, match="left out: 1 steps"), overlap_only(tmp_path / "run") as recorder:
        for n in range(3):
            try:
                with recorder.step(), recorder.range("forward"):
                    torch.run(10)
                    if n == 1:
                        raise ValueError("bad batch")
            except ValueError:
                pass
    assert [(r["global_step"], r["step"]) for r in records(tmp_path / "run")] == [(0, 0), (1, 1)]


def test_nested_steps(torch, tmp_path):
    with pytest.warns(RecorderWarning, match="left out"):
        with pytest.raises(RecorderError, match="a step within a step"), overlap_only(tmp_path / "run") as recorder:
            with recorder.step():
                torch.run(1)
            with recorder.step():
                with recorder.step():
                    pass
    assert len(records(tmp_path / "run")) == 1


def test_gpu_fails(torch, machine, tmp_path):
    """What was known before stays; the error that the user sees is the loop's own."""
    with pytest.warns(RecorderWarning, match="2 steps could not be timed, the GPU failed: an illegal memory access"):
        with pytest.raises(RuntimeError, match="from the loop"), overlap_only(tmp_path / "run") as recorder:
            for n in range(3):
                with recorder.step():
                    torch.run(10)
                machine.sleep(11)
            machine.broken = True
            raise RuntimeError("from the loop")
    assert [r["global_step"] for r in records(tmp_path / "run")] == [0]


def test_batches(torch, machine, tmp_path):
    def load():
        for n in range(3):
            machine.sleep(5)
            yield n

    seen = []
    with overlap_only(tmp_path / "run", first_step=100) as recorder:
        for epoch in range(2):
            for batch in recorder.steps(load(), epoch=epoch):
                seen.append(batch)
                torch.run(2)
                machine.sleep(3)
    found = records(tmp_path / "run")
    assert seen == [0, 1, 2] * 2
    assert [(r["epoch"], r["step"], r["global_step"]) for r in found] == \
        [(0, 0, 100), (0, 1, 101), (0, 2, 102), (1, 0, 103), (1, 1, 104), (1, 2, 105)]
    assert [r["profile"]["total_ms"] for r in found] == [8] * 6  # fetching included


def test_break(torch, machine, tmp_path):
    with pytest.warns(RecorderWarning, match="left out: 1 steps"), overlap_only(tmp_path / "run") as recorder:
        for n in recorder.steps(range(10)):
            torch.run(2)
            if n == 2:
                break
        with recorder.step():
            torch.run(1)
    assert [r["global_step"] for r in records(tmp_path / "run")] == [0, 1, 2]


# ---- files --------------------------------------------------------------------------------------------------------


def test_ranks_side_by_side(monkeypatch, machine, tmp_path):
    for rank in (0, 11):
        torch = standin_torch.install(monkeypatch, machine, rank=rank, world_size=12)
        with overlap_only(tmp_path / "run") as recorder:
            assert recorder.rank == rank
            with recorder.step(), recorder.range("forward"):
                torch.run(10 + rank)
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["rank_00_metrics.jsonl", "rank_11_metrics.jsonl"]
    summary, stderr = metrics(tmp_path, tmp_path / "run")
    assert summary["count"] == 2 and summary["mean_compute_ms"] == 15.5
    assert [r["rank"] for r in summary["per_rank"]] == [0, 11] and summary["world_size"] == 12


def test_earlier_run_is_kept(torch, tmp_path):
    run = tmp_path / "run"
    for n in range(3):
        with contextlib.nullcontext() if n == 0 else pytest.warns(RecorderWarning, match="rank 0 of an earlier run"):
            with Recorder(run, wait=0, warmup=0, active=1) as recorder:
                for _ in range(2):
                    with recorder.step():
                        torch.run(n + 1)
    assert records(run)[0]["profile"]["total_ms"] == 3
    kept = sorted((run / "previous").rglob("rank_00_metrics.jsonl"))
    assert len(kept) == 2
    assert len(list((run / "previous").rglob("*.pt.trace.json.gz"))) == 2
    assert len(list((run / "torch_profiler").rglob("*"))) == 2


def with_group(monkeypatch, machine, tmp_path):
    """A trace of a process group, where torch itself writes the rank."""
    with monkeypatch.context() as patch:
        torch = standin_torch.install(patch, machine, rank=5, world_size=8)
        with Recorder(tmp_path / "group", wait=0, warmup=0, active=1) as recorder:
            run_steps(torch, recorder, 1)
        return recorder.files[0]


def test_rank_by_the_launcher(monkeypatch, machine, tmp_path):
    torch = standin_torch.install(monkeypatch, machine)
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.warns(RecorderWarning, match="no process group when the recorder was entered"):
        with Recorder(tmp_path / "run", wait=0, warmup=0, active=1) as recorder:
            with recorder.step():
                torch.run(1)
    (trace,) = (tmp_path / "run").rglob("*.pt.trace.json.gz")
    assert "distributedInfo" not in json.loads(gzip.open(with_group(monkeypatch, machine, tmp_path)).read())
    assert trace.name == "rank5_cycle000.pt.trace.json.gz"
    assert json.loads(gzip.open(trace).read())["distributedInfo"] == {"rank": 5, "world_size": 8}


def test_rank_unknown(monkeypatch, machine, tmp_path):
    standin_torch.install(monkeypatch, machine)
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(RecorderWarning, match="the rank is not known.*pass rank="):
        with overlap_only(tmp_path / "run") as recorder:
            assert recorder.rank == 0
    with overlap_only(tmp_path / "other", rank=3, world_size=1) as recorder:
        assert recorder.rank == 3


def test_directory_that_cannot_be(torch, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecorderError, match="file: cannot be written to .*: choose another directory"):
        with Recorder(tmp_path / "file"):
            pass


def test_without_torch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RecorderError, match="needs PyTorch 2.0 or newer.*pip install torch"):
        with Recorder(tmp_path / "run"):
            pass
    assert not (tmp_path / "run").exists()


def test_imports_no_torch():
    code = "import sys, rankscope.record; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bad_arguments(torch, tmp_path):
    with pytest.raises(ValueError, match="active is a number of steps, at least one, not 0"):
        Recorder(tmp_path, active=0)
    with pytest.raises(ValueError, match="wait is a number of steps"):
        Recorder(tmp_path, wait=-1)
    with pytest.raises(ValueError, match="rank -1"):
        Recorder(tmp_path, rank=-1)
    recorder = overlap_only(tmp_path / "run")
    with pytest.raises(RecorderError, match="outside of the recorder"):
        with recorder.step():
            pass
    with pytest.raises(RecorderError, match="once the recorder is entered"):
        recorder.rank
    with recorder:
        with pytest.raises(RecorderError, match=r"log\(\) belongs inside a step"):
            recorder.log(loss=1)
    with pytest.raises(RecorderError, match="used already"):
        with recorder:
            pass


# ---- the trace ----------------------------------------------------------------------------------------------------


def run_steps(torch, recorder, n):
    for _ in range(n):
        with recorder.step():
            torch.run(1)


def test_options_and_files(torch, tmp_path):
    run = tmp_path / "run"
    with Recorder(run, skip_first=1, wait=1, warmup=1, active=2, repeat=2, stacks=True) as recorder:
        run_steps(torch, recorder, 12)
    options = torch.last_profile.options
    assert options["record_shapes"] is True and options["with_stack"] is True
    assert options["experimental"].options == {"enable_cuda_sync_events": True, "verbose": True}
    written = sorted(str(p.relative_to(run)) for p in run.rglob("*") if p.is_file())
    assert written == ["execution_trace/rank0.json.gz", "rank_00_metrics.jsonl",
                       "torch_profiler/rank0/rank0_cycle000.pt.trace.json.gz",
                       "torch_profiler/rank0/rank0_cycle001.pt.trace.json.gz"]
    assert sorted(recorder.files) == sorted(str(run / name) for name in written)
    steps = [[e["name"] for e in json.loads(gzip.open(run / name).read())["traceEvents"]] for name in written[2:]]
    assert steps == [["ProfilerStep#3", "ProfilerStep#4"], ["ProfilerStep#7", "ProfilerStep#8"]]
    assert json.loads(gzip.open(run / written[3]).read())["rankscope_recorder"]["cycle"] == 1
    done = subprocess.run([program(), "info", "--format", "json", str(run / written[2])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_plain_files(torch, tmp_path):
    with Recorder(tmp_path, wait=0, warmup=0, active=1, compress=False) as recorder:
        run_steps(torch, recorder, 1)
    assert json.loads((tmp_path / "torch_profiler/rank0/rank0_cycle000.pt.trace.json").read_text())["traceEvents"]
    assert json.loads((tmp_path / "execution_trace/rank0.json").read_text())["nodes"] == []


def test_run_too_short(torch, tmp_path):
    with pytest.warns(RecorderWarning, match="rank 0 has no trace: the run ended before the first step that the schedule records"):
        with Recorder(tmp_path / "run", wait=5, warmup=1, active=3) as recorder:
            run_steps(torch, recorder, 3)
    assert recorder.files == [str(tmp_path / "run" / "rank_00_metrics.jsonl")]
    assert not [p for p in (tmp_path / "run").rglob("*") if p.is_file() and p.name != "rank_00_metrics.jsonl"]


def step_names(path):
    return [e["name"] for e in json.loads(gzip.open(path).read())["traceEvents"]]


def test_no_step_that_nobody_ran(torch, tmp_path):
    """The profiler has begun the next step when the loop ends."""
    trace = tmp_path / "run" / "torch_profiler" / "rank0" / "rank0_cycle000.pt.trace.json.gz"
    with Recorder(tmp_path / "run", wait=1, warmup=1, active=5) as recorder:
        run_steps(torch, recorder, 4)
    assert step_names(trace) == ["ProfilerStep#2", "ProfilerStep#3"]
    with pytest.warns(RecorderWarning, match="rank 0 has no trace: the run ended before the first step"):
        with Recorder(tmp_path / "short", wait=1, warmup=1, active=5) as recorder:
            run_steps(torch, recorder, 2)
    assert not list((tmp_path / "short").rglob("*.pt.trace.json*"))


def test_failed_step_is_not_in_the_trace(torch, tmp_path):
    """A step that failed, and that the loop survives, is no part of the next one."""
    with pytest.warns(RecorderWarning, match="left out: 1 steps"), Recorder(tmp_path / "run", wait=0, warmup=0, active=4) as recorder:
        for n in range(4):
            with contextlib.suppress(ValueError), recorder.step():
                torch.run(1)
                if n == 1:
                    raise ValueError("bad batch")
    trace = tmp_path / "run" / "torch_profiler" / "rank0" / "rank0_cycle000.pt.trace.json.gz"
    assert step_names(trace) == ["ProfilerStep#0", "ProfilerStep#2", "ProfilerStep#3"]


def test_disk_full(torch, tmp_path):
    with pytest.warns(RecorderWarning, match="rank0_cycle000.pt.trace.json.gz: could not be written .*No space left"):
        with Recorder(tmp_path / "run", wait=0, warmup=0, active=1) as recorder:
            torch.last_profile.fail = OSError(28, "No space left on device")
            run_steps(torch, recorder, 3)  # the training loop does not notice
    assert len(records(tmp_path / "run")) == 3
    assert not list((tmp_path / "run" / "torch_profiler" / "rank0").iterdir())


@pytest.mark.parametrize("level", ["2.1", "old"])
def test_older_torch(monkeypatch, machine, tmp_path, level):
    """What a torch does not have is found by asking, left out, and said."""
    torch = standin_torch.install(monkeypatch, machine, rank=0, world_size=2, level=level)
    run = tmp_path / "run"

    def record():
        with Recorder(run, wait=1, warmup=0, active=2, modules=True) as recorder:
            run_steps(torch, recorder, 4)
        return recorder

    with pytest.warns(RecorderWarning):
        recorder = record()
    assert any("does not know with_modules" in note for note in recorder.notes)
    assert any("synchronisation events" in note for note in recorder.notes) == (level == "old")
    assert any("ExecutionTraceObserver" in note for note in recorder.notes) == (level == "old")
    assert (run / "execution_trace" / "rank0.json.gz").exists() == (level == "2.1")
    assert torch.log == (["observer starts", "observer stops"] if level == "2.1" else [])
    assert len(list((run / "torch_profiler" / "rank0").iterdir())) == 1


def test_without_gpu(monkeypatch, machine, tmp_path):
    torch = standin_torch.install(monkeypatch, machine, rank=0, world_size=2, gpu=False)
    with pytest.warns(RecorderWarning):
        with Recorder(tmp_path / "run", wait=0, warmup=0, active=1) as recorder:
            with recorder.step(), recorder.range("forward"):
                recorder.log(loss=1.0)
    assert [note.split(":")[0] for note in recorder.notes] == \
        ["no CUDA or HIP device", "this torch's profiler sees no GPU here"]
    assert not (tmp_path / "run" / "rank_00_metrics.jsonl").exists()
    assert len(recorder.files) == 2 and torch is not None


class Allocator:
    """torch.cuda.memory; what it remembers is of the shape that PyTorch's has."""

    def __init__(self, fails=None):
        self.calls, self.fails = [], fails

    def _record_memory_history(self, enabled="all", context="all", stacks="all", max_entries=9):
        self.calls.append((enabled, stacks, max_entries))

    def _snapshot(self):
        if self.fails:
            raise self.fails
        frames = [{"name": "forward", "filename": "/job/model.py", "line": 7}]
        block = {"address": 1 << 40, "size": 2 << 20, "requested_size": 2 << 20, "state": "active_allocated", "frames": frames}
        segment = {"device": 0, "address": 1 << 40, "total_size": 2 << 20, "stream": 0, "segment_type": "large", "frames": [],
                   "segment_pool_id": (0, 0), "blocks": [block]}
        events = [{"action": "alloc", "addr": 1 << 40, "size": 2 << 20, "stream": 0, "time_us": 10, "frames": frames},
                  {"action": "oom", "device_free": 512, "size": 1 << 30, "stream": 0, "time_us": 11, "frames": frames}]
        return {"segments": [segment], "device_traces": [events]}


def test_snapshots(torch, tmp_path):
    """At the end of the chosen step, and when the memory runs out; `rankscope memory` reads both."""
    torch.OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
    torch.cuda.memory = Allocator()
    run = tmp_path / "run"
    with pytest.warns(RecorderWarning, match="left out: 1 steps"):
        with pytest.raises(torch.OutOfMemoryError):
            with overlap_only(run, snapshots=500, snapshot_steps=[11], first_step=10) as recorder:
                for number in range(4):
                    with recorder.step():
                        if number == 3:
                            raise torch.OutOfMemoryError("1 GiB")
    step, failed = run / "memory" / "step11" / "rank0.pickle", run / "memory" / "out_of_memory" / "rank0.pickle"
    assert sorted(run.glob("memory/**/*")) == sorted([step.parent, failed.parent, step, failed])
    assert recorder.files[-2:] == [str(step), str(failed)]
    assert torch.cuda.memory.calls == [("all", "python", 500), (None, "all", 9)]
    done = subprocess.run([program(), "memory", "--format", "json", "--table", "oom", str(failed.parent)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    row, = json.loads(done.stdout)["tables"]["oom"]
    assert (row["rank"], row["requested_bytes"], row["site"]) == (0, 1 << 30, "/job/model.py:7 forward")

    torch.cuda.memory = Allocator()
    with pytest.warns(RecorderWarning, match="of an earlier run"):
        with overlap_only(run, snapshots=500) as recorder:
            run_steps(torch, recorder, 2)
    assert not step.exists() and not failed.exists() and list(run.glob("previous/*/memory/step11/rank0.pickle"))


def test_snapshots_that_fail(torch, tmp_path):
    """The loop goes on, and its own errors stay what they are."""
    torch.cuda.memory = Allocator(fails=MemoryError("no room on the host"))
    with pytest.warns(RecorderWarning, match="rank0.pickle: the memory snapshot could not be taken: no room on the host"):
        with pytest.raises(KeyError):
            with overlap_only(tmp_path / "a", snapshots=5, snapshot_steps=[0]) as recorder:
                run_steps(torch, recorder, 1)
                raise KeyError("the loop's own")
    assert not list((tmp_path / "a" / "memory").rglob("*.p*"))
    torch.cuda.memory = None
    with pytest.warns(RecorderWarning, match="cannot remember what its allocator does"):
        with overlap_only(tmp_path / "b", snapshots=5) as recorder:
            run_steps(torch, recorder, 1)
    with pytest.raises(ValueError, match="above 0 for snapshot_steps"):
        Recorder(tmp_path / "c", snapshot_steps=[1])
