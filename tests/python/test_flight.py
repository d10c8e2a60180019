"""Flight-recorder dumps through the package, against the program's answers."""
import json
import pickle
import sqlite3
import subprocess

import pytest

import rankscope as rs

RANKS = 4


def dump(rank, last):
    entries = []
    for seq in range(1, last + 1):
        done = seq < 6
        entries.append({
            "frames": [{"name": "all_reduce", "filename": "/lib/torch/distributed/distributed_c10d.py", "line": 1},
                       {"name": "forward", "filename": "/app/model.py", "line": 212}],
            "record_id": seq - 1, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": seq,
            "p2p_seq_id": 0, "op_id": seq, "profiling_name": "nccl:all_reduce", "time_created_ns": 10**18 + seq * 10**6 + rank,
            "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]], "output_dtypes": ["Float"],
            "state": "completed" if done else "started", "time_discovered_started_ns": 10**18 + seq * 10**6 + 100,
            "time_discovered_completed_ns": 10**18 + seq * 10**6 + 500 if done else None, "retired": done,
            "timeout_ms": 600000, "is_p2p": False})
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(RANKS)))}},
            "pg_status": {"0": {"last_enqueued_collective": last, "last_started_collective": last,
                                "last_completed_collective": min(last, 5)}}, "entries": entries}


@pytest.fixture
def dumps(tmp_path):
    """Rank 2 never calls the sixth all_reduce."""
    for rank in range(RANKS):
        (tmp_path / ("nccl_trace_rank_%d" % rank)).write_bytes(pickle.dumps(dump(rank, 5 if rank == 2 else 6), protocol=2))
    return tmp_path


def test_verdict(dumps, program):
    report = rs.flight.analyze(dumps)
    assert (report.verdict, report.culprits, report.seq, report.op) == ("rank_missing", [2], 6, "all_reduce")
    assert report.found and not report.healthy and report.members == [0, 1, 2, 3]
    done = subprocess.run([program, "flight", "--format", "json", str(dumps)], stdout=subprocess.PIPE)
    assert done.returncode == 1 and json.loads(done.stdout) == report.to_dict() == json.loads(report.json())
    assert "rank_missing" in repr(report) and "rank_missing" in report._repr_html_()
    assert any("model.py:212" in frame for frame in report.stack(1))


def test_tables(dumps):
    report = rs.flight.analyze(dumps)
    assert len(report.entries) == 23 and set(report.tables) == set(rs.flight.TABLES)
    assert set(report.table("entries", ranks=[0, 1])["rank"]) == {0, 1}
    assert len(report.table("groups", groups=["default_pg"])) == 1
    with pytest.raises(rs.UsageError):
        report.table("entries", ranks=9)
    with pytest.raises(rs.UsageError, match="there is groups"):
        report.table("entry")
    del report  # tables outlive it


def test_from_memory(dumps):
    given = {rank: (dumps / ("nccl_trace_rank_%d" % rank)).read_bytes() for rank in range(RANKS)}
    assert rs.flight.analyze(given).to_dict()["summary"] == rs.flight.analyze(dumps).summary
    with pytest.raises(TypeError):
        rs.flight.analyze(b"one dump of no rank")


def test_files(dumps, tmp_path):
    report = rs.flight.analyze(dumps)
    report.write_timeline(tmp_path / "timeline.json")
    assert len(json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]) >= 23
    report.write_database(tmp_path / "dumps.sqlite")
    with sqlite3.connect(tmp_path / "dumps.sqlite") as database:
        assert database.execute("select count(*) from nccl_calls").fetchone()[0] == 23


def test_bad_dumps(tmp_path):
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"nothing")
    with pytest.raises(rs.InputError) as caught:
        rs.flight.analyze(tmp_path)
    assert caught.value.problems and caught.value.problems[0]["file"].endswith("rank_0")


def test_a_lost_dump_is_told(dumps):
    (dumps / "nccl_trace_rank_3").write_bytes(b"nothing")
    with pytest.warns(rs.InputWarning, match="rank_3"):
        report = rs.flight.analyze(dumps)
    assert report.verdict == "rank_missing" and report.problems
