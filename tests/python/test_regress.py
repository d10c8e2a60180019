"""Comparisons of runs through the package, against the program's answers."""
import json
import os
import subprocess
import xml.etree.ElementTree as tree

import pytest

import rankscope as rs


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    maker = os.environ.get("RANKSCOPE_SYNTH", str(__import__("conftest").ROOT / "build" / "rankscope-synth"))
    if not os.path.exists(maker):
        pytest.skip("no trace synthesiser: build the target rankscope_synth")
    root = tmp_path_factory.mktemp("runs")
    for side, seeds, options in ("base", range(1, 4), ()), ("new", range(4, 7), ("--scale-kernel", "gemm:1.1")):
        (root / side).mkdir()
        for seed in seeds:
            subprocess.run([maker, "--out", root / side / ("run%d" % seed), "--dp", "1", "--steps", "6", "--layers", "1",
                            "--tokens", "512", "--seed", str(seed), "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)
    return root


def printed(program, *words):
    text = subprocess.run([program, "regress", "--format", "json", *map(str, words)], capture_output=True, text=True).stdout
    return json.loads(text)["tables"]


def rows(result):
    return {name: table.to_dicts() for name, table in result.tables.items() if len(table)}


def test_as_the_program(sides, program):
    report = rs.regress(sides / "base", sides / "new")
    expected = printed(program, sides / "base", sides / "new")
    assert rows(report) == {name: table for name, table in expected.items() if table}
    assert report.verdict == "slower" and report.found and report.change_pct > 0 and report.reason is None
    assert report.parts.column("part")[0] == "computation"
    suite = tree.fromstring(report.junit())
    assert suite.get("failures") == "1" and len(suite) >= 2
    by = {"by": "part", "method": "exposed"}
    assert rows(rs.regress(sides / "base", sides / "new", **by)) == printed(
        program, "--by", "part", "--method", "exposed", sides / "base", sides / "new")


def test_sides(sides, tmp_path):
    base, new = sorted((sides / "base").iterdir()), sorted((sides / "new").iterdir())
    whole = rs.regress(sides / "base", sides / "new")
    assert rows(rs.regress(base, new)) == rows(whole)
    with rs.open(base[0]) as one, rs.open(new[0]) as other:
        single = rs.regress(one, other)
        assert single.verdict == "undecided" and "between-run-sd" in single.reason and not single.found
        assert rs.regress(one, other, strict=True).found
        assert rs.regress(one, other, between_run_sd=0.5).verdict == "slower"
    rs.regress.save(tmp_path / "base.json", sides / "base")
    stored = rs.regress(tmp_path / "base.json", sides / "new")
    assert stored["verdict"].to_dicts() == whole["verdict"].to_dicts()
    assert any("new side" in note for note in stored.notes)


def test_history(sides, tmp_path, program):
    for i in range(12):
        run = list(sorted((sides / ("base" if i < 7 else "new")).iterdir()))[i % 3]
        (tmp_path / ("night%d" % i)).symlink_to(run)
    history = rs.regress.history(tmp_path)
    assert history["changes"].column("place") == [7] and "gemm" in history["causes"].column("kernel")[0]
    assert rows(history) == {name: table for name, table in printed(program, "--history", tmp_path).items() if table}


def test_refusals(sides, tmp_path):
    for words in {"alpha": 2}, {"min_effect": -1}, {"by": "name"}, {"step": "all"}, {"between_run_sd": -1}:
        with pytest.raises(rs.UsageError):
            rs.regress(sides / "base", sides / "new", **words)
    with pytest.raises(rs.InputError):
        rs.regress.history(tmp_path / "none")
    (tmp_path / "cut.json").write_text('{"rankscope_regress": 2, "runs": [{"label": "x"')
    with pytest.raises(rs.InputError, match="byte"):
        rs.regress(tmp_path / "cut.json", sides / "new")
    rs.regress.save(tmp_path / "job.json", sides / "base", step="job")
    with pytest.raises(rs.UsageError):
        rs.regress(tmp_path / "job.json", sides / "new")
