"""Pictures and pages in a notebook."""
import sys

import pytest

import rankscope as rs


@pytest.fixture(scope="module")
def opened(small):
    pytest.importorskip("plotly")
    with rs.open(small) as job:
        yield job


def test_breakdown(opened):
    figure = opened.plot.breakdown()
    rows = opened.breakdown()
    assert [bar.name for bar in figure.data] == ["computation", "exposed communication", "exposed copies", "idle"]
    assert list(figure.data[0].x) == rows["compute_pct"] and list(figure.data[0].y) == ["rank 0", "rank 1"]
    assert [sum(bar.x[at] for bar in figure.data) for at in range(2)] == pytest.approx([100, 100])
    assert len(opened.plot.breakdown(ranks=[1]).data[0].y) == 1


def test_steps(opened):
    figure = opened.plot.steps()
    assert [line.name for line in figure.data] == ["rank 0", "rank 1"] and list(figure.data[0].x) == [10, 11]
    assert [1e3 * value for value in figure.data[0].y] == pytest.approx(opened.steps().filter(rank=0)["length_us"])


def test_timeline(opened):
    figure = opened.plot.timeline()
    names = {bar.name for bar in figure.data}
    assert {"computation", "communication", "memory"} <= names and "of" not in figure.layout.title.text
    drawn = sum(len(bar.x) for bar in figure.data)
    assert drawn == sum(opened.breakdown()["gpu_events"])
    assert all("nccl" in text.lower() for bar in figure.data if bar.name == "communication" for text in bar.customdata)
    few = opened.plot.timeline(steps=10, most=7)
    assert sum(len(bar.x) for bar in few.data) == 7 and "longest 7 of" in few.layout.title.text


def test_roofline(opened):
    figure = opened.plot.roofline()
    roofs = [line for line in figure.data if line.mode == "lines"]
    points = [at for line in figure.data if line.mode == "markers" for at in zip(line.x, line.y)]
    rows = [row for row in opened.roofline(table="args") if row["flops_per_byte"] and row["tflops_per_s"]]
    assert roofs and sorted(points) == sorted((row["flops_per_byte"], row["tflops_per_s"]) for row in rows)


def test_heatmap(opened):
    figure = opened.plot.heatmap()
    workers = opened.whatif(map=True, table="workers")
    assert sorted(value for row in figure.data[0].z for value in row) == pytest.approx(sorted(workers["slowdown"]))


def test_nothing_to_draw(small):
    pytest.importorskip("plotly")
    with rs.open(b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1}]}') as job:
        for draw in (job.plot.timeline, job.plot.roofline, job.plot.steps, job.plot.heatmap):
            with pytest.raises(rs.UsageError, match="nothing to draw"):
                draw()


def test_without_plotly(job, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(ImportError, match="pip install plotly"):
        job.plot.breakdown()


def test_a_job_and_its_report_show_themselves(job, small, tmp_path):
    assert "rank0.json.gz" in job._repr_html_() and "2 files" in job._repr_html_()
    page = rs.report(job, height=300)
    assert page._repr_html_().startswith("<iframe") and "height: 300px" in page._repr_html_()
    page.save(tmp_path / "a.html")
    job.report(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert "srcdoc=\"&lt;!" in page._repr_html_() and rs.report(small / "rank0.json.gz").html.startswith("<!")
    job.close()
    assert "closed" in job._repr_html_()
