"""Flight-recorder dumps through the package, against the program's answers."""
import json
import os
import pickle
import sqlite3
import subprocess
import threading

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


def test_attempts_of_torchrun():
    log = os.path.join(os.path.dirname(__file__), "..", "..", "src", "packs", "flight", "tests", "data", "torchrun", "restarted-info.log")
    report = rs.flight.analyze(logs=log)
    table = report.table("attempts")
    assert list(table["outcome"]) == ["restarted", "finished"] and list(table["judged"]) == [0, 1]
    assert (list(table["rank"])[0], list(table["code"])[0]) == (1, 7) and len(report.to_dict()["attempts"]) == 2


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


def test_the_job_s_log(dumps, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/app/train.py\", line 41, in <module>\n"
                   "[rank2]:     loss = step(batch)\n[rank2]: ValueError: bad batch\n")
    alone = rs.flight.analyze(logs=log)
    assert alone.verdict == "crashed" and alone.culprits == [2] and len(alone.table("log")) >= 1
    for path in dumps.glob("nccl_trace*"):
        path.rename(path.with_name(path.name))
    both = rs.flight.analyze([str(path) for path in sorted(dumps.glob("nccl_trace*"))], logs=[log])
    assert both.culprits == [2] and both.cause["exception"] == "ValueError" and both.roots[0]["rank"] == 2
    with pytest.raises(rs.UsageError, match="which dumps"):
        rs.flight.analyze()


class Servers:
    """The workers of a job that runs, and its front end, on one port."""

    def __init__(self):
        import http.server
        import time
        servers = self
        self.dumps = {rank: dump(rank, 5 if rank == 2 else 6) for rank in range(RANKS)}
        self.asked, self.shift = [], time.time_ns() - 10**18 - 10**11  # the last event lies 100 s back

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                servers.asked.append((self.command, self.path))
                self.send(*servers.page(self.path.strip("/").split("?")[0]))

            def do_POST(self):
                servers.asked.append((self.command, self.path))
                rank, _, handler = self.path.strip("/").split("?")[0].partition("/handler/")
                self.send(*servers.handler(int(rank), handler))

            def send(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def record(self, rank):
        made = json.loads(json.dumps(self.dumps[rank]))
        for entry in made["entries"]:
            for name in ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"):
                if entry[name]:
                    entry[name] += self.shift
        return json.dumps(made)

    def handler(self, rank, name):
        if rank not in self.dumps:
            return 500, b"gone"
        if name == "dump_nccl_trace_json":
            return 200, self.record(rank).encode()
        if name == "dump_traceback":
            return 200, b"Current thread 0x02 (most recent call first):\n  File \"/app/loader.py\", line 212 in next_batch\n"
        return 404, b"no"

    def page(self, name):
        what = {"fr_trace_nccl_json": "dump_nccl_trace_json", "stacks": "dump_traceback"}.get(name)
        if what is None:
            return 404, b"no"
        blocks = ["<h2>Rank %d: http://%s/%d/handler/%s?</h2> <pre>%s</pre>\n" % (
            rank, self.address, rank, what, self.handler(rank, what)[1].decode().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
            for rank in self.dumps]
        return 200, ("<h1>Page</h1>\n" + "".join(blocks)).encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def servers():
    started = Servers()
    yield started
    started.close()


@pytest.mark.parametrize("manner", ["drips", "cut", "no http"])
def test_a_rank_whose_answer_does_not_end(servers, manner):
    """It is evidence, as a rank that does not answer: nothing waits for ever, and half an answer is none."""
    import socket
    stuck = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def talk(connection):
        with connection:
            connection.recv(4096)
            if manner == "no http":
                connection.sendall(b"\x16\x03\x01 what\r\n\r\n")
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + servers.record(2).encode()[:500])
            while manner == "drips" and not ended.wait(0.02):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    def serve():
        while True:
            try:
                connection, _ = stuck.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    workers = {rank: "%s/%d" % (servers.address, rank) for rank in range(RANKS)}
    workers[2] = "127.0.0.1:%d" % stuck.getsockname()[1]
    try:
        with pytest.warns(rs.InputWarning, match={"drips": "does not answer", "cut": "too early"}.get(manner, "")):
            report = rs.flight.live(workers=workers, timeout=0.3)
    finally:
        ended.set()
        stuck.close()
    assert report.culprits == [2]


def test_a_job_that_runs(servers):
    workers = {rank: "%s/%d" % (servers.address, rank) for rank in range(RANKS)}
    report = rs.flight.live(workers=workers)
    assert (report.verdict, report.culprits) == ("rank_missing", [2])
    assert any("loader.py" in str(row) for row in report.table("stacks"))
    assert {method for method, _ in servers.asked} == {"POST"}
    assert rs.flight.live(servers.address).culprits == [2]  # the front end's pages
    del servers.dumps[2]  # a rank that does not answer is evidence
    with pytest.warns(rs.InputWarning):
        report = rs.flight.live(workers=workers)
    assert report.culprits == [2]
    for wrong in ({}, {"server": "a", "workers": ["b"]}, {"server": "a", "stall": 0}):
        with pytest.raises(rs.UsageError):
            rs.flight.live(**wrong)
    servers.close()
    with pytest.raises(rs.InputOSError, match="start_debug_server"):
        rs.flight.live(servers.address)


def test_workers_elsewhere_are_not_asked(servers):
    """A page that names other machines, or other paths of this one, makes nothing be asked there."""
    import http.server
    import threading
    asked = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(self.path)
            self.send_error(404)
        do_GET = do_POST

        def log_message(self, *_):
            pass

    other = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Elsewhere)
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    own, page = servers.address, servers.page
    try:
        for named in ("http://127.0.0.2:%d" % other.server_port, "http://%s/admin/delete?user=" % own, "http://x@%s" % own):
            servers.page = lambda name: (200, b"<h2>Rank 0: %s</h2><pre>no JSON</pre>" % named.encode())
            del servers.asked[:]
            with pytest.warns(rs.InputWarning, match="not asked"), pytest.raises(rs.Error):
                rs.flight.live(own)
            assert asked == [] and {method for method, _ in servers.asked} == {"GET"}
        servers.page = lambda name: (200, b"<h2>Rank 0: http://127.0.0.2:%d</h2><pre>no JSON</pre>" % other.server_port)
        with pytest.raises(rs.Error):
            rs.flight.live(own, allow_hosts=["127.0.0.*"])
        assert asked and all(path.startswith("/handler/") for path in asked)
    finally:
        servers.page = page
        other.shutdown()
        other.server_close()


def test_watching(servers, tmp_path):
    servers.dumps = {rank: dump(rank, 5) for rank in range(RANKS)}

    def sleep(_):
        servers.dumps = {rank: dump(rank, 5 if rank == 2 else 6) for rank in range(RANKS)}

    reports = list(rs.flight.watch("http://" + servers.address, sleep=sleep, stall=1))
    assert [report.verdict for report in reports] == ["healthy", "rank_missing"]
    with pytest.raises(rs.UsageError, match="taken"):
        reports[0].table("entries")
    assert reports[1].culprits == [2] and len(reports[1].entries) == 23
    (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps(dump(0, 6), protocol=2))
    (tmp_path / "nccl_trace_rank_1").write_bytes(pickle.dumps(dump(1, 5), protocol=2))
    assert [report.found for report in rs.flight.watch(tmp_path, every=1)] == [True]
    with pytest.raises(rs.UsageError, match="every"):
        next(rs.flight.watch(tmp_path, every=0))
