"""The first screen, the fused trace and the report page, as the program gives them."""
import pathlib
import pickle

import pytest

import rankscope as rs

SAMPLE = pathlib.Path(__file__).resolve().parent.parent / "data" / "small"


def test_summary_is_the_whole_first_screen():
    summary = rs.open(SAMPLE, progress=False).summary()
    assert isinstance(summary, rs.Summary) and "Where the GPU time goes" in str(summary)
    assert "findings" in summary.tables and "<pre" in summary._repr_html_()
    assert type(rs.open(SAMPLE, progress=False).summary(table="findings")) is rs.Table


def test_summary_speaks_python():
    summary = rs.open(SAMPLE, progress=False).summary()
    said = summary.screen(width=0) + "".join(summary.findings) + summary._repr_html_()
    assert "`rankscope " not in said and "job.diagnose()" in said


def test_fuse(tmp_path):
    job = rs.open(SAMPLE, progress=False)
    table = job.fuse(tmp_path / "all.json.gz", categories=["kernel", "gpu_memcpy"])
    assert table["rank"] == [0, 1]
    assert rs.open(tmp_path / "all.json.gz", progress=False).ranks == [0, 1]
    table = job.fuse(tmp_path / "all.json.gz", clocks="certain")
    assert table["clock_low_us"][1] < -3000 and table["clock_high_us"][1] > 3000  # milliseconds: gradients alone tie them
    assert job.fuse(tmp_path / "all.json.gz", clocks="file")["clock_low_us"] == [None, None]
    with pytest.raises(rs.UsageError, match="clocks takes"):
        job.fuse(tmp_path / "x.json", clocks="guess")
    with pytest.raises(rs.UsageError, match="max_events"):
        job.fuse(tmp_path / "x.json", max_events=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.json.gz"]


def test_report(tmp_path):
    try:
        rs.open(SAMPLE, progress=False).report(tmp_path / "page.html")
    except rs.UsageError as error:
        pytest.skip(str(error))
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_report_with_memory(tmp_path):
    block = {"address": 4096, "size": 2097152, "requested_size": 777777, "state": "active_allocated", "frames": []}
    segment = {"device": 0, "address": 4096, "total_size": 2097152, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "frames": [],
               "blocks": [block]}
    (tmp_path / "rank5.pickle").write_bytes(pickle.dumps({"segments": [segment], "device_traces": []}, 4))
    job = rs.open(SAMPLE, progress=False)
    try:
        job.report(tmp_path / "page.html", memory=tmp_path / "rank5.pickle")
    except rs.UsageError as error:
        pytest.skip(str(error))
    assert "777777" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(rs.InputError, match="holds no snapshot of PyTorch's allocator"):
        job.report(tmp_path / "page.html", memory=[SAMPLE])


def test_render():
    table = rs.open(SAMPLE, progress=False).breakdown()
    assert "csv" in rs.output_forms() and table.render("csv") == table.csv()
    with pytest.raises(rs.UsageError, match="text|csv"):
        table.render("xlsx")
