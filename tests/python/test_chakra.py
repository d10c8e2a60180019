"""Chakra through the package: a pair of traces, linked, converted, checked, as the program does it."""
import gzip
import json
import subprocess

import pytest

import rankscope as rs


def node(number, name, parent, record, thread):
    empty = {"values": [], "shapes": [], "types": []}
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": empty, "outputs": empty,
            "attrs": [{"name": "rf_id", "type": "uint64", "value": record}, {"name": "tid", "type": "uint64", "value": thread}]}


def operator(name, start, duration, record):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 7, "ts": start, "dur": duration,
            "args": {"Record function id": record}}


@pytest.fixture
def pair(tmp_path):
    """Operator 10 encloses 11, which launches; 12 starts behind a wait for the GPU."""
    host = {"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [
        node(11, "aten::mm", 10, 102, 1), node(10, "aten::linear", 2, 101, 1), node(12, "aten::item", 2, 103, 1),
        node(2, "[pytorch|profiler|execution_trace|thread]", 1, 0, 1),
        node(1, "[pytorch|profiler|execution_trace|process]", 1, 0, 0)], "finish_ts": 5}
    device = {"traceEvents": [
        operator("aten::linear", 100, 50, 101), operator("aten::mm", 100, 20, 102), operator("aten::item", 400, 10, 103),
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 7, "ts": 110, "dur": 5,
         "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 9, "ts": 130, "dur": 200,
         "args": {"correlation": 5, "stream": 9, "device": 0}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 7, "ts": 160, "dur": 180,
         "args": {"correlation": 6}}]}
    for name, value in ("host", host), ("device", device):
        (tmp_path / (name + ".json")).write_text(json.dumps(value))
    return tmp_path / "host.json", tmp_path / "device.json"


def test_link(pair, tmp_path, program):
    linked = rs.chakra.link(*pair, explain=True)
    assert linked.report["linked"] == 3 and linked.report["gpu_nodes"] == 1 and linked.report["stream_syncs"] == 1
    assert len(linked.explanation) == 1 and "gemm" in {one["name"] for one in json.loads(bytes(linked))["nodes"]}
    subprocess.run([program, "chakra", "link", "--host", pair[0], "--device", pair[1], "-o", tmp_path / "cli.json", "--quiet"], check=True)
    assert (tmp_path / "cli.json").read_bytes() == bytes(linked)
    written = rs.chakra.link(*pair, tmp_path / "linked.json.gz")
    assert gzip.decompress((tmp_path / "linked.json.gz").read_bytes()) == bytes(linked)
    with pytest.raises(rs.UsageError, match="linked.json.gz"):
        bytes(written)


def test_choices(pair, tmp_path):
    rs.chakra.build(*pair, tmp_path / "a.et", timing="exclusive", target="astra-sim")
    assert {one["name"]: one.get("string_val") for one in rs.chakra.read(tmp_path / "a.et")["metadata"]["attr"]}["timing"] == "exclusive"
    rs.chakra.build(*pair, tmp_path / "b.et")
    assert rs.chakra.check(tmp_path / "b.et", tolerance=0.5, target="astra-sim").fit is False  # a parent, as recorded
    assert rs.chakra.check(tmp_path / "a.et", target="astra-sim").fit
    rs.chakra.convert(rs.chakra.link(*pair), tmp_path / "w.json")
    assert "workload_graph" in json.loads((tmp_path / "w.json").read_text())
    with pytest.raises(rs.InputError, match="never linked"):
        rs.chakra.convert(pair[0])
    assert rs.chakra.convert(pair[0], allow_unlinked=True).report["nodes"] == 5
    for wrong in {"timing": "none"}, {"target": "none"}:
        with pytest.raises(rs.UsageError):
            rs.chakra.build(*pair, **wrong)
    with pytest.raises(rs.UsageError):
        rs.chakra.check(tmp_path / "a.et", tolerance=-1)


def test_jobs(pair, tmp_path, program):
    for kind, source in ("et", pair[0]), ("traces", pair[1]):
        (tmp_path / kind).mkdir()
        for rank in range(2):
            (tmp_path / kind / ("rank%d.json" % rank)).write_bytes(source.read_bytes())
    made = rs.chakra.build_job(tmp_path / "et", tmp_path / "traces", tmp_path / "job", jobs=2)
    assert sorted(made) == [0, 1] and all(one.report["gpu_nodes"] == 1 for one in made.values())
    files = [tmp_path / "job" / ("chakra.%d.et" % rank) for rank in range(2)]
    assert sorted(rs.chakra.build_job(tmp_path / "et", tmp_path / "traces", tmp_path / "job", groups=tmp_path / "groups.json")) == [0, 1]
    subprocess.run([program, "chakra", "build", "--host", tmp_path / "et", "--device", tmp_path / "traces", "-o", tmp_path / "cli",
                    "--comm-groups", tmp_path / "cli.json", "--quiet"], check=True)
    assert (tmp_path / "groups.json").read_bytes() == (tmp_path / "cli.json").read_bytes()
    for rank in range(2):
        name = "chakra.%d.et" % rank
        assert (tmp_path / "job" / name).read_bytes() == (tmp_path / "cli" / name).read_bytes()
    both = rs.chakra.check(files)
    assert both.fit and both.report["ranks"] == 2 and len(both.report["files"]) == 2
    with pytest.raises(rs.UsageError, match="linked"):
        rs.chakra.check(files, linked=pair[0])
    with pytest.raises(rs.UsageError):
        rs.chakra.check([])


def test_convert_and_check(pair, tmp_path):
    linked = rs.chakra.link(*pair, tmp_path / "linked.json")
    one = rs.chakra.convert(linked, tmp_path / "a.et", groups=tmp_path / "groups.json")
    assert one.report["nodes"] - one.report["gaps"] == 6 and one.report["gpu_nodes"] == 1
    assert json.loads((tmp_path / "groups.json").read_text()) == one.groups
    assert bytes(rs.chakra.convert((tmp_path / "linked.json").read_bytes())) == (tmp_path / "a.et").read_bytes()
    assert bytes(rs.chakra.build(*pair)) == (tmp_path / "a.et").read_bytes()
    check = rs.chakra.check(tmp_path / "a.et", linked=tmp_path / "linked.json")
    assert check.fit and check.report["ok"] and "faults" in check.text
    # the launch lets the kernel go in the midst of the operator; the wait ends before the last one starts
    assert one.report["gaps"] == 2 and len(rs.chakra.read(tmp_path / "a.et")["nodes"]) == 8


def test_errors_leave_no_file(pair, tmp_path):
    (tmp_path / "other.json").write_text(json.dumps({"traceEvents": [operator("a", 1, 2, 7001), operator("b", 4, 2, 7002)]}))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(rs.InputError):
        rs.chakra.link(pair[0], tmp_path / "other.json", tmp_path / "out.json")
    with pytest.raises(rs.InputOSError):
        rs.chakra.convert(tmp_path / "none.json", tmp_path / "out.et")
    with pytest.raises(rs.UsageError, match="min_match"):
        rs.chakra.link(*pair, min_match=2)
    with pytest.raises(OSError):
        rs.chakra.link(*pair, tmp_path / "no folder" / "out.json")
    assert sorted(tmp_path.iterdir()) == before


def test_a_rank_that_fails_is_told(pair, tmp_path):
    for kind, source in ("et", pair[0]), ("traces", pair[1]):
        (tmp_path / kind).mkdir()
        for rank in range(2):
            (tmp_path / kind / ("rank%d.json" % rank)).write_bytes(source.read_bytes())
    other = json.dumps({"traceEvents": [operator("a", 1, 2, 7001), operator("b", 4, 2, 7002)]})
    (tmp_path / "traces" / "rank1.json").write_text(other)
    with pytest.warns(rs.InputWarning, match="rank 1: "):
        assert sorted(rs.chakra.build_job(tmp_path / "et", tmp_path / "traces", tmp_path / "job")) == [0]
    (tmp_path / "traces" / "rank0.json").write_text(other)
    with pytest.warns(rs.InputWarning), pytest.raises(rs.InputError):
        rs.chakra.build_job(tmp_path / "et", tmp_path / "traces", tmp_path / "job")


def test_the_small_tools_write_what_the_program_writes(pair, tmp_path, program):
    def say(*words):
        return subprocess.run([program, "chakra", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    rs.chakra.build(*pair, tmp_path / "a.et")
    assert rs.chakra.visualize(tmp_path / "a.et").encode() == say("visualize", tmp_path / "a.et")
    assert rs.chakra.visualize(tmp_path / "a.et", tmp_path / "a.graphml") is None
    say("visualize", tmp_path / "a.et", "-o", tmp_path / "cli.graphml")
    assert (tmp_path / "a.graphml").read_bytes() == (tmp_path / "cli.graphml").read_bytes()
    (tmp_path / "w.txt").write_text("DATA\n1\nconv -1 5 NONE 0 6 NONE 0 7 ALLREDUCE 1024 3\n")
    made = rs.chakra.text(tmp_path / "w.txt", tmp_path / "w", npus=2, passes=3)
    say("text", tmp_path / "w.txt", "-o", tmp_path / "cli", "--npus", "2", "--passes", "3")
    assert made == [str(tmp_path / "w.0.et"), str(tmp_path / "w.1.et")]
    assert all((tmp_path / ("w.%d.et" % n)).read_bytes() == (tmp_path / ("cli.%d.et" % n)).read_bytes() for n in range(2))
    made = rs.chakra.generate(tmp_path / "ours", npus=2)
    say("generate", "-o", tmp_path / "theirs", "--npus", "2")
    assert sorted(path.name for path in (tmp_path / "theirs").iterdir()) == sorted(path.rsplit("/", 1)[1] for path in made)
    assert all((tmp_path / "theirs" / path.rsplit("/", 1)[1]).read_bytes() == open(path, "rb").read() for path in made)
    (tmp_path / "log").write_text("issue,npu=0,cycle=0,node=1,name=COMP_NODE_a\ncallback,npu=0,cycle=3000,node=1,name=COMP_NODE_a\n"
                                  "issue,npu=0,cycle=5,node=2,name=COMP_NODE_b\n")
    with pytest.warns(rs.InputWarning):
        trace = rs.chakra.timeline(tmp_path / "log", frequency=1500)
    assert [event["dur"] for event in trace["traceEvents"] if event["ph"] == "X"] == [2]
    for wrong in (lambda: rs.chakra.text(tmp_path / "w.txt", tmp_path / "w", npus=0), lambda: rs.chakra.timeline(tmp_path / "log", frequency=0),
                  lambda: rs.chakra.generate(tmp_path / "ours", npus=0)):
        with pytest.raises(rs.UsageError):
            wrong()
    with pytest.raises(rs.InputError, match="w.txt.*line|line"):
        (tmp_path / "w.txt").write_text("DATA\n1\nconv\n")
        rs.chakra.text(tmp_path / "w.txt", tmp_path / "w")
