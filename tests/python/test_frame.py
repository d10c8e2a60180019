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
