"""Overlap metrics through the package, against the program's answers."""
import json
import subprocess

import pytest

import rankscope as rs


def record(rank, step, compute, overlap):
    total = 20.0
    ranges = [("compute", "compute", 0.0, compute), ("allreduce", "all_reduce", compute - overlap, total)]
    return {"rank": rank, "world_size": 2, "epoch": 0, "step": step, "global_step": step, "loss": 0.5, "grad_norm": 1.0,
            "lr": 0.0003, "profile": {"index": step, "total_ms": total, "ranges": [
                {"stream": stream, "tag": tag, "start_ms": start, "end_ms": end, "duration_ms": end - start, "metadata": {}}
                for stream, tag, start, end in ranges], "markers": []}}


@pytest.fixture
def runs(tmp_path):
    for label, overlap in ("before", 1.0), ("after", 6.0):
        folder = tmp_path / label
        folder.mkdir()
        for rank in range(2):
            lines = [json.dumps(record(rank, step, 12.0 + rank, overlap)) for step in range(20)]
            (folder / ("rank_%d_metrics.jsonl" % rank)).write_text("\n".join(lines) + "\n")
    return {"before": tmp_path / "before", "after": tmp_path / "after"}


def test_as_the_program(runs, tmp_path, program):
    report = rs.metrics.report(runs, reference="before", candidate="after")
    words = [word for label, folder in runs.items() for word in ("--log-dir", str(folder), "--label", label)]
    subprocess.run([program, "metrics", *words, "--reference", "before", "--candidate", "after", "--output",
                    str(tmp_path / "cli"), "--no-plots", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    assert json.loads((tmp_path / "cli" / "summary.json").read_text()) == report.summary
    assert set(report.tables) == {"datasets", "comparison", "ranks", "percentiles", "collectives", "dips",
                                   "traces", "steps", "exposed"}
    assert len(report["datasets"]) == 2 and len(report["comparison"]) > 0
    assert report._repr_html_().startswith("<table") and "comparison" in repr(report)


def test_settings(runs):
    few = rs.metrics.report(runs, skip_warmup=15)
    many = rs.metrics.report(runs, compat="aorta")
    assert few["ranks"].to_dicts() != many["ranks"].to_dicts()
    for words in {"reference": "before"}, {"compat": "hta"}, {"fail_on": "nonsense >"}, {"plots": True}:
        with pytest.raises(rs.UsageError):
            rs.metrics.report(runs, **words)
    with pytest.raises(rs.UsageError):
        rs.metrics.report({})
    with pytest.raises(rs.UsageError):
        rs.metrics.report({"../x": runs["before"]}, output="unused", plots=False)


def test_noise(runs):
    """Two runs do not say how much equal runs differ: told by the caller, or undecided."""
    unknown = rs.metrics.report(runs, reference="before", candidate="after")["comparison"].to_dicts()
    known = rs.metrics.report(runs, reference="before", candidate="after", between_run_sd=0.5)["comparison"].to_dicts()
    verdicts = [{row["metric"]: row["verdict"] for row in rows} for rows in (unknown, known)]
    assert [v["hidden_share"] for v in verdicts] == ["undecided", "better"]
    gate = {"reference": "before", "candidate": "after", "fail_on": "beyond_noise >= 1"}
    with pytest.raises(rs.UsageError):
        rs.metrics.report(runs, **gate)
    assert rs.metrics.report(runs, between_run_sd=0.5, **gate).found


def test_output(runs, tmp_path):
    report = rs.metrics.report(runs, output=tmp_path / "out", plots=False)
    assert [path.rsplit("/")[-1] for path in report.files] == ["summary.json"]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == report.summary
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.json"]


def test_pictures(runs, tmp_path):
    if rs.metrics.can_plot():
        report = rs.metrics.report(runs, output=tmp_path / "out", plots=True)
        assert [open(path, "rb").read(4) for path in report.files[:2]] == [b"\x89PNG"] * 2
    else:  # the wheel: said plainly, with a remedy
        with pytest.raises(rs.UsageError, match="cannot draw.*libcairo2-dev"):
            rs.metrics.report(runs, output=tmp_path / "out", plots=True)
        with pytest.warns(rs.InputWarning, match="plots=False"):
            assert len(rs.metrics.report(runs, output=tmp_path / "out").files) == 1


def test_missing(tmp_path):
    with pytest.raises(rs.Error):
        rs.metrics.report({"a": tmp_path})
