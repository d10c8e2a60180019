"""job.frame: what lies in what, conditions on the rows, and both together with further arguments."""
import concurrent.futures

import pytest

import rankscope as rs

pd = pytest.importorskip("pandas")

MORE = ["parent", "depth", "height", "num_kernels", "kernel_dur_sum", "kernel_span", "first_kernel_start", "last_kernel_end"]


def nested(rows):
    """What each event of a thread lies in, by a look at each pair: the shortest that holds it, of equals the earlier."""
    above = {}
    for row in rows:
        holds = [o for o in rows if o["ts"] <= row["ts"] and o["end"] >= row["end"] and o is not row
                 and (o["dur"], -o["index"]) > (row["dur"], -row["index"])
                 and not (row["dur"] > 0 and o["end"] == row["ts"])]
        above[row["index"]] = min(holds, key=lambda o: (o["dur"], -o["index"]))["index"] if holds else None
    return above


def test_calls(job):
    frame = job.frame(calls=True).to_pandas()
    plain = job.frame().to_pandas()
    assert frame.columns.tolist() == plain.columns.tolist() + MORE
    pd.testing.assert_frame_equal(frame[plain.columns], plain)
    for _, of_rank in frame.groupby("rank"):
        rows = {row["index"]: row for row in of_rank.to_dict("records")}
        above = {index: None if pd.isna(row["parent"]) else row["parent"] for index, row in rows.items()}
        for _, thread in of_rank[of_rank["gpu"] == 0].groupby(["pid", "tid"]):
            events = thread.to_dict("records")
            assert {row["index"]: above[row["index"]] for row in events} == nested(events)
        work = {index: row for index, row in rows.items() if row["gpu"] and row["cat"] != "gpu_user_annotation"}
        assert all(above[index] == row["index_correlation"] for index, row in work.items())
        below = {index: [] for index in rows}
        levels = {index: 0 if index in work else 1 for index in rows}
        for index in rows:
            path = [index]
            while above[path[-1]] is not None:
                path.append(above[path[-1]])
            if not rows[index]["gpu"] or index in work:
                assert rows[index]["depth"] == len(path) - 1
            for up, at in enumerate(path):
                levels[at] = max(levels[at], up + levels[index])
                if index in work:
                    below[at].append(work[index])
        for index, row in rows.items():
            if row["gpu"] and index not in work:  # an annotation on a stream calls nothing
                assert pd.isna(row["depth"]) and pd.isna(row["height"]) and row["num_kernels"] == 0
                continue
            assert row["height"] == levels[index] and row["num_kernels"] == len(below[index])
            if below[index]:
                first, last = min(w["ts"] for w in below[index]), max(w["end"] for w in below[index])
                want = [sum(w["dur"] for w in below[index]), last - first, first, last]
                assert [row[name] for name in MORE[4:]] == pytest.approx(want, abs=1e-3)
            else:
                assert row["kernel_dur_sum"] == 0 and pd.isna(row["kernel_span"]) and pd.isna(row["first_kernel_start"])


@pytest.mark.parametrize("condition, same", [
    ("cat=kernel and dur>100", lambda f: (f["cat"] == "kernel") & (f["dur"] > 100)),
    ("ts>=20ms and ts<22ms", lambda f: (f["ts"] >= 20000) & (f["ts"] < 22000)),
    ("not (name~aten or ts<20ms)", lambda f: ~(f["name"].str.contains("aten") | (f["ts"] < 20000))),
    ("name=no such", lambda f: f["dur"] < 0),
])
def test_a_condition(job, condition, same):
    whole = job.frame(calls=True, args="all").to_pandas()
    part = job.frame(calls=True, args="all", where=condition).to_pandas()
    want = whole[same(whole)].reset_index(drop=True)
    assert len(part) == len(want)
    if len(want):  # what no row has is no column
        pd.testing.assert_frame_equal(part, want[part.columns], check_dtype=False)
        assert want.drop(columns=part.columns).isna().all().all()


def test_under_an_operator(job):
    frame = job.frame(calls=True).to_pandas()
    under = job.frame(where="under(aten::linear)").to_pandas()
    parents = frame.set_index(["rank", "index"])["parent"]
    names = frame.set_index(["rank", "index"])["name"]

    def lies_in(rank, index):
        while not pd.isna(index):
            if names[rank, index] == "aten::linear":
                return True
            index = parents[rank, index]
        return False

    inside = frame[[lies_in(rank, index) for rank, index in zip(frame["rank"], frame["index"])]]
    assert list(zip(under["rank"], under["index"])) == list(zip(inside["rank"], inside["index"]))


def test_merged_from_parts_it_is_the_same(small, job):
    options = {"frame": {"calls": True, "where": "cat=kernel and ts<20ms", "args": "grid"}}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        tables = rs.summarize(small, analyses=options, executor=pool, chunk=1)
    assert tables["frame"].csv() == job.frame(**options["frame"]).csv()


def test_htas_frame(job):
    part = job.frame(compat="hta", where="under(aten::mm)").to_pandas()
    whole = job.frame(compat="hta").to_pandas()
    assert 0 < len(part) < len(whole) and set(part["index"]) <= set(whole["index"])
    with pytest.raises(rs.UsageError, match="calls.*our own frame"):
        job.frame(compat="hta", calls=True)


def test_stack(job):
    """Every tenth event's stack against a walk along the parents that the frame gives."""
    rows = list(job.frame(calls=True))
    of = {(row["rank"], row["index"]): row for row in rows}
    seen = set()
    for row in rows[::10]:
        want = [row["index"]]
        while of[row["rank"], want[-1]]["parent"] is not None:
            want.append(of[row["rank"], want[-1]]["parent"])
        stack = job.stack(row)
        assert stack["index"] == want and set(stack["rank"]) == {row["rank"]}
        assert list(stack)[0] == {name: row[name] for name in stack.columns}
        seen.add((row["gpu"], len(want)))
    assert {gpu for gpu, _ in seen} == {0, 1} and max(length for _, length in seen) >= 4
    event = next(row for row in rows if row["gpu"] and row["rank"] == 1)
    assert job.stack(event["index"], rank=1, args="grid")["index"] == job.stack(event)["index"]
    with pytest.raises(rs.UsageError, match="several ranks"):
        job.stack(0)
    with pytest.raises(rs.UsageError, match="position 10000000"):
        job.stack(10**7, rank=0)
    with pytest.raises(rs.UsageError, match="whole number"):
        job.stack(-1, rank=0)
    with pytest.raises(rs.UsageError, match="no index"):
        job.stack({"name": "a"})
    with pytest.raises(rs.UsageError, match="stack.*our own frame"):
        job.frame(compat="hta", stack=3)


def read_events(monkeypatch):
    """How many events each engine job has read when it is closed."""
    from rankscope import _frames
    seen = []

    class Job:
        def __init__(self, *words):
            self.job = real(*words)

        def __getattr__(self, name):
            return getattr(self.job, name)

        def close(self):
            seen.append(self.job.stats()["events"])
            self.job.close()

    real = _frames._engine.Job
    monkeypatch.setattr(_frames._engine, "Job", Job)
    return seen


def test_frames_read_what_is_asked_for(synthesised, monkeypatch):
    with rs.open(synthesised) as job:
        whole = {rank: job.frame(ranks=rank, where="cat=kernel").csv() for rank in job.ranks}
        n_events = job.stats()["events"]
        seen = read_events(monkeypatch)
        frames = job.frames(where="cat=kernel")
        assert frames[3].csv() == whole[3]
        assert len(seen) == 2 and seen[0] == 0 and 0 < seen[1] < n_events / 3  # the list of files, and one file
        assert [table.csv() for table in frames] == [whole[rank] for rank in sorted(whole)]
        with pytest.raises(rs.UsageError, match="no rank 9; there are 0, 1, 2, 3"):
            frames[9]
        for wrong in {"ranks": 1}, {"of": 1}:
            with pytest.raises(rs.UsageError, match="frames"):
                job.frames(**wrong)
        with pytest.raises(TypeError, match="wehre"):
            job.frames(wehre="x")
    with rs.open(synthesised, ranks="1-2", steps=11) as part:
        assert [set(table["rank"]) for table in part.frames()] == [{1}, {2}]
        assert part.frames()[2].csv() == part.frame(ranks=2).csv()
        with pytest.raises(rs.UsageError, match="no rank 0"):
            part.frames()[0]


def test_frames_of_bytes_and_of_files_without_ranks(small, synthesised, tmp_path):
    files = sorted(small.iterdir())
    with rs.open({0: files[0].read_bytes(), 1: files[1]}) as job:
        assert [table.csv() for table in job.frames()] == [job.frame(ranks=rank).csv() for rank in (0, 1)]
    for name in "ab":
        (tmp_path / (name + ".json")).write_text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    with rs.open(tmp_path) as job, pytest.raises(rs.UsageError, match="does not name its rank"):
        job.frames()[1]
    trace = next(path for path in sorted(synthesised.iterdir()) if "rank0" in path.name)
    (tmp_path / "two").mkdir()
    for name in ("a0.json", "b0.json"):
        (tmp_path / "two" / name).write_bytes(trace.read_bytes())
    with rs.open(tmp_path / "two") as job, pytest.raises(rs.Error, match="rank 0"):
        list(job.frames())


CONDITIONS = {
    "cat=kernel and dur>100": "category = 'kernel' and dur_us > 100",
    "cat=kernel or cat=gpu_memcpy": "category = 'kernel' or category = 'gpu_memcpy'",
    "not (cat=cpu_op or dur<5)": "not (category = 'cpu_op' or coalesce(dur_us < 5, false))",
    "name =~ ^aten::.*(mm|linear)$": "name regexp '^aten::.*(mm|linear)$'",
    "ts>=20ms and not (name~nccl)": "ts_us >= 20000 and not name regexp 'nccl'",
    "under(aten::linear)": "under(event, 'aten::linear')",
    "under(aten::linear) and cat=kernel": "under(event, 'aten::linear') and category = 'kernel'",
    "after(aten::linear) and cat=cpu_op": "after(event, 'aten::linear') and category = 'cpu_op'",
    "before(aten::linear) and not cat=kernel": "before(event, 'aten::linear') and category <> 'kernel'",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_one_language(job, condition):
    """The filter of events and of the frame, the filter in SQL, and SQL's own words choose the same events."""
    def places(table, name):
        return sorted(zip(table["rank"], table[name]))

    want = places(job.events(where=condition), "position")
    assert 0 < len(want) < len(job.events)
    quoted = condition.replace("'", "''")
    for where in (CONDITIONS[condition], "holds(event, '%s')" % quoted):
        assert places(job.sql("select rank, position from events where " + where), "position") == want
    assert places(job.sql("select rank, position from events('%s')" % quoted), "position") == want
    rows = set(places(job.frame(), "index"))
    assert places(job.frame(where=condition), "index") == [place for place in want if place in rows]
