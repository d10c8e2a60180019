"""Tables: cells, slices, other libraries, notebooks."""
import gc
import copy
import json
import math
import pickle
import sys

import pytest

import rankscope as rs


def test_cells(job):
    table = job.breakdown()
    rows = table.to_dicts()
    assert rows == list(table) and len(rows) == len(table) == table.num_rows == 2
    assert table.columns == [column["name"] for column in table.schema] == list(rows[0])
    assert table["rank"] == table.column(0) == [0, 1]
    assert table[0] == rows[0] and table[-1] == rows[1]
    for column in table.columns:
        assert table[column] == [row[column] for row in rows]
    with pytest.raises(IndexError):
        table[2]
    with pytest.raises(KeyError, match="breakdown has no column nothing; it has rank, "):
        table["nothing"]
    with pytest.raises(TypeError):
        rs._engine.Table()


def test_types(job):
    for row in job.events[:50]:
        assert isinstance(row["rank"], int) and isinstance(row["name"], str) and isinstance(row["ts_us"], float)
        assert row["stream"] is None or isinstance(row["stream"], int)
    shown = json.loads(job.events(limit=50).json())
    assert shown == job.events(limit=50).to_dicts()


def test_slices(job):
    events = job.events(limit=100)
    assert events[5:9].to_dicts() == events.to_dicts()[5:9]
    assert events[:0].to_dicts() == [] and events[9:5].to_dicts() == []
    assert events[-3:].to_dicts() == events.to_dicts()[-3:]
    assert len(list(events)) == 200
    with pytest.raises(ValueError):
        events[::2]


def test_rows_that_are_wanted(job):
    kernels = job.kernels(top=100)
    assert kernels.shape == (len(kernels), len(kernels.columns))
    assert kernels.head(3).to_dicts() == kernels.to_dicts()[:3] and kernels.tail(2).to_dicts() == kernels.to_dicts()[-2:]
    assert len(kernels.head(0)) == len(kernels.tail(0)) == 0 and len(kernels.head(10 ** 9)) == len(kernels)
    longest = kernels.sort("sum_us", descending=True)
    assert longest["sum_us"] == sorted(kernels["sum_us"], reverse=True)
    assert kernels.sort(["rank", "count"]).to_dicts() == sorted(kernels.to_dicts(), key=lambda row: (row["rank"], row["count"]))
    assert kernels.filter(rank=1).to_dicts() == [row for row in kernels if row["rank"] == 1]
    assert kernels.filter(lambda row: row["count"] > 3, rank=[0, 7]).to_dicts() == [
        row for row in kernels if row["rank"] == 0 and row["count"] > 3]
    assert kernels.filter(lambda row: row["count"] > 3).to_dicts() == [row for row in kernels if row["count"] > 3]
    assert kernels.take([2, 0]).to_dicts() == [kernels[2], kernels[0]] and kernels.head(1).result is kernels.result
    for wrong in ([-1], [len(kernels)], ["a"]):
        with pytest.raises((IndexError, TypeError)):
            kernels.take(wrong)
    assert "rank" in kernels and "nothing" not in kernels and kernels._ipython_key_completions_() == kernels.columns


def test_unknown_values_are_sorted_last(job):
    streams = job.events.sort("stream", descending=True)["stream"]
    known = [value for value in streams if value is not None]
    assert known and len(known) < len(streams) and streams[:len(known)] == sorted(known, reverse=True)


def test_tables_travel(job):
    """Pickled and copied to the nanosecond, whatever is in them."""
    for table in (job.breakdown(), job.steps(), job.kernels(), job.events(limit=100), job.summary(), job.events(limit=0)):
        for other in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
            assert other.schema == table.schema and other.csv() == table.csv() and other.text() == table.text()
            assert other.name == table.name and other.result is None
    state = job.breakdown()._engine.state()
    with pytest.raises(ValueError, match="unit parsec"):
        rs._engine.table_restore(state[:3] + ([("x", "int", "parsec", None, None, [1])],))
    with pytest.raises(ValueError, match="differ in length"):
        rs._engine.table_restore(state[:3] + ([("x", "int", None, None, None, [1]), ("y", "int", None, None, None, [])],))
    for wrong in (None, (), state[:3], ("t", None, 0, [1]), ("t", None, 0, [("x", "int", None, None, None, ["a"])]),
                  ("t", None, 0, [("x", "text", None, None, None, ["a"])])):
        with pytest.raises((TypeError, ValueError, rs.UsageError)):
            rs._engine.table_restore(wrong)


def test_repr_names_the_columns(job, monkeypatch):
    """What is seen is what the table is indexed by."""
    monkeypatch.setenv("COLUMNS", "400")
    table = job.breakdown()
    assert repr(table).splitlines()[1].split() == table.columns
    monkeypatch.setenv("COLUMNS", "70")
    assert all(len(line) <= 70 for line in repr(job.kernels()).splitlines()[1:]) and "\u2026" in repr(table)


def test_renderers(job):
    table = job.breakdown()
    assert table.csv().splitlines()[0] == ",".join(table.columns)
    assert [json.loads(line) for line in table.jsonl().splitlines()] == json.loads(table.json())
    assert table.markdown().startswith("|") and "rank" in table.text()
    assert all(ord(letter) < 128 for letter in table.text(utf8=False))
    assert "breakdown, 2 rows" in repr(table)


def test_repr_of_a_long_table(job):
    events = job.events(limit=100)
    assert "180 more rows" in repr(events)
    assert "180 more rows" in events._repr_html_()
    assert events._repr_html_().count("<tr>") == 22


def test_html_shows_numbers():
    from rankscope._table import _show
    assert [_show(value) for value in (0.0, 1.5, 1234567.0, 0.00012345, -2e20, None, 7, "a")] == [
        "0", "1.5", "1234567", "0.0001234", "-2e+20", "", "7", "a"]


def test_html_is_escaped(tmp_path):
    name = "<script>alert('x')</script>" + "y" * 200 + "\\\" onload=\\\"z"
    (tmp_path / "t.json").write_text('{"traceEvents": [{"ph":"X","ts":1,"dur":5,"name":"%s","cat":"kernel","pid":0,"tid":7,"args":{"stream":7}}]}' % name)
    page = rs.open(tmp_path / "t.json").kernels(by="name")._repr_html_()
    assert "<script" not in page and '" onload' not in page
    assert "&lt;script&gt;" in page and "\u2026" in page


def test_arrow(job):
    pyarrow = pytest.importorskip("pyarrow")
    events = job.events
    arrow = pyarrow.table(events)
    assert arrow.to_pylist() == events.to_dicts()
    arrow.validate(full=True)
    assert arrow.schema.field("rank").type == pyarrow.int64() and arrow.schema.field("ts_us").type == pyarrow.float64()
    assert arrow.schema.field("name").type == pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8())
    words = arrow.column("name").chunk(0).dictionary.to_pylist()
    assert len(words) == len(set(words)) < len(events)  # each text once
    assert arrow.schema.field("ts_us").metadata[b"unit"] == b"us"
    assert pyarrow.schema(events.__arrow_c_schema__() and events) == arrow.schema
    for name in job.info().tables:
        table = job.info(table=name)
        assert table.to_arrow().to_pylist() == table.to_dicts()


def test_arrow_outlives_everything(small):
    pyarrow = pytest.importorskip("pyarrow")
    job = rs.open(small)
    wanted = job.breakdown().to_dicts()
    arrow = job.breakdown().to_arrow()
    ranks = pyarrow.table(job.breakdown()).column("rank")
    job.close()
    del job
    gc.collect()
    assert arrow.to_pylist() == wanted and ranks.to_pylist() == [0, 1]


def test_arrow_copies_no_numbers(job):
    pyarrow = pytest.importorskip("pyarrow")
    events = job.events
    first, second = (pyarrow.table(events).column("rank").chunk(0).buffers()[1].address for _ in range(2))
    assert first == second
    times = {pyarrow.table(events).column("ts_us").chunk(0).buffers()[1].address for _ in range(1)}
    assert first not in times


def test_unused_capsules_are_freed(job):
    table = job.breakdown()
    for _ in range(1000):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()


def test_polars(job):
    pytest.importorskip("polars")
    events = job.events
    frame = events.to_polars()
    assert frame.to_dicts() == events.to_dicts()


def check_frame(frame, table):
    pandas = pytest.importorskip("pandas")
    assert list(frame.columns) == table.columns and len(frame) == len(table)
    for spec in table.schema:
        values, cells = frame[spec["name"]], table[spec["name"]]
        if spec["type"] == "int":
            assert str(values.dtype) == ("Int64" if None in cells else "int64")
        elif spec["type"] != "text":
            assert str(values.dtype) == "float64"
        for value, cell in zip(values, cells):
            assert cell is None and pandas.isna(value) or value == cell


def test_pandas(job):
    pytest.importorskip("pandas")
    check_frame(job.events.to_pandas(), job.events)
    for name, table in job.info().tables.items():
        check_frame(table.to_pandas(), table)
    mine = job.breakdown().to_pandas()
    mine.loc[0, "span_us"] = -1.0  # a copy: nothing of it is read-only, nothing else changes
    assert mine["span_us"][0] == -1.0 and job.breakdown()["span_us"][0] > 0
    empty = job.events(limit=1)[:0]
    assert list(empty.to_pandas().columns) == empty.columns


def test_pandas_without_pyarrow(job, monkeypatch):
    pandas = pytest.importorskip("pandas")
    events = job.events(limit=200)
    wanted = events.to_pandas()
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "pyarrow", None)
        frame = events.to_pandas()
    check_frame(frame, events)
    pandas.testing.assert_frame_equal(frame, wanted)


def test_what_is_missing_is_told(job, monkeypatch):
    for name, method in ("pyarrow", "to_arrow"), ("polars", "to_polars"), ("pandas", "to_pandas"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match="pip install " + name):
            getattr(job.breakdown(), method)()


def test_unknown_reals_are_none(job):
    values = [value for table in job.info().tables.values() for name in table.columns for value in table[name]]
    assert not any(isinstance(value, float) and math.isnan(value) for value in values)


def test_repr_leaves_out_empty_columns(job):
    """Columns without a value are named below the table, also where they are many; every other one is shown."""
    table = job.blame()
    empty = [name for name in table.columns if all(value is None for value in table[name])]
    assert empty and len(empty) < len(table.columns)
    text, page = repr(table), table._repr_html_()
    assert text.endswith("no values: " + ", ".join(empty))
    for name in empty:
        assert "<th" in page and ">%s</th>" % name not in page
    assert ">blame_us</th>" in page


def test_repr_of_a_table_without_values_has_its_columns(job):
    table = job.blame().filter(lambda row: False)
    assert len(table) == 0 and "blame_us" in repr(table) and "no values" not in repr(table)
