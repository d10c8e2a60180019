"""The store through the package, against the program."""
import json
import subprocess

import pytest

import rankscope as rs


def test_what_is_kept(small, tmp_path, program):
    traces = small  # a copy would be too young to be kept
    kept = tmp_path / "kept"
    assert len(rs.store.entries(kept)) == 0
    made = rs.store.build(traces, kept)
    assert len(made) >= 2 and {row["state"] for row in made} == {"fresh"}, made
    assert sorted(map(str, made["size_bytes"])) == sorted(map(str, rs.store.entries(kept)["size_bytes"]))
    done = subprocess.run([program, "store", "list", "--store", kept, "--format", "json"], stdout=subprocess.PIPE, check=True)
    rows = next(iter(json.loads(done.stdout)["tables"].values()))
    assert [row["size_bytes"] for row in rows] == rs.store.entries(kept)["size_bytes"]

    with rs.open(traces) as job:
        want = job.kernels().csv()
    with rs.open(traces, store=kept) as job:
        assert job.kernels().csv() == want
    one = made["file"][0]
    assert 0 < len(rs.store.entries(kept, paths=one)) < len(rs.store.entries(kept))
    first = next(path for path in sorted(kept.rglob("*")) if path.is_file() and path.stat().st_size > 1000)
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 255
    first.write_bytes(data)
    assert len(rs.store.verify(kept)) == 1 and not first.exists()
    assert len(rs.store.drop(kept, paths=[one])) >= 1
    assert len(rs.store.drop(kept)) >= 1 and len(rs.store.entries(kept)) == 0


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path))
    assert rs.store.default() == str(tmp_path) and len(rs.store.entries()) == 0
    monkeypatch.setenv("RANKSCOPE_CACHE", "")
    assert rs.store.default() is None
    with pytest.raises(rs.UsageError, match="RANKSCOPE_CACHE"):
        rs.store.entries()
    monkeypatch.delenv("RANKSCOPE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert rs.store.default() == "/c/rankscope"
    monkeypatch.setenv("XDG_CACHE_HOME", "c")
    monkeypatch.setenv("HOME", "/h")
    assert rs.store.default() == "/h/.cache/rankscope"


def test_only_files_are_kept(tmp_path):
    with pytest.raises(rs.UsageError, match="paths"):
        rs.store.build(b"{}", tmp_path)
