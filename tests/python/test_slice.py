"""Parts of a job written again: the same bytes as the program's."""
import inspect
import json
import os
import subprocess

import pytest

import rankscope as rs


def same(program, tmp_path, words, write):
    """What the program writes for the words, and what write(path) does."""
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    table = write(ours)
    ran = subprocess.run([program, *map(str, words), "-o", theirs, "--format", "csv"], stdout=subprocess.PIPE, check=True)
    assert ours.read_bytes() == theirs.read_bytes() and table.csv() == ran.stdout.decode()
    return table


def test_slice(program, small, job, tmp_path):
    rank0 = small / "rank0.json.gz"
    same(program, tmp_path, ["slice", "--name", "gemm", small], lambda path: job.slice(path, name="gemm"))
    same(program, tmp_path, ["slice", "--categories", "kernel,gpu_memcpy", "--left-out", "--enclosing", "none", rank0],
         lambda path: rs.slice(rank0, path, categories=["kernel", "gpu_memcpy"], left_out=True, enclosing="none"))
    table = same(program, tmp_path, ["slice", "--steps", "11", "--ranks", "1", small],
                 lambda path: rs.slice(small, path, steps=11, ranks=[1]))
    assert table["rank"] == [1] and "left_out" in table.tables


def test_a_job_that_was_asked_before(small, tmp_path):
    job = rs.open(small, keep=True, progress=False)
    job.breakdown()
    job.slice(tmp_path / "a.json", name="gemm")
    rs.slice(small, tmp_path / "b.json", name="gemm", progress=False)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert job.breakdown()["rank"] == [0, 1]


def test_a_file_a_rank(small, job, tmp_path):
    job.slice(str(tmp_path / "out") + "/", categories="kernel")
    assert sorted(os.listdir(tmp_path / "out")) == ["rank_0.json.gz", "rank_1.json.gz"]
    assert rs.open(tmp_path / "out", progress=False).ranks == [0, 1]


def test_share(program, small, job, tmp_path):
    table = same(program, tmp_path, ["share", "--keep-values", "--map", tmp_path / "theirs.csv", small],
                 lambda path: job.share(path, keep_values=True, map=tmp_path / "ours.csv"))
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()
    removed = rs.share(small, tmp_path / "x.json", steps=11, table="removed", progress=False)
    assert removed.name == "removed" and removed.num_rows > 0 and "slice" in table.tables
    text = (tmp_path / "ours.json").read_text(encoding="utf-8")
    host = json.loads((tmp_path / "ours.json").read_text(encoding="utf-8"))
    assert host["traceEvents"] and os.fspath(small) not in text


def test_what_is_refused(small, job, tmp_path):
    with pytest.raises(TypeError, match="did you mean categories"):
        job.slice(tmp_path / "x.json", categorys="kernel")
    with pytest.raises(TypeError, match="keep_names"):
        rs.open(small).share(tmp_path / "x.json", keep_name=True)
    with pytest.raises(rs.UsageError, match="cut|whole|none"):
        job.slice(tmp_path / "x.json", enclosing="some")
    with pytest.raises(rs.UsageError):
        job.slice(tmp_path / "x.json", name="nothing is called so")
    with pytest.raises(rs.UsageError, match="give steps to open"):
        rs.slice(job, tmp_path / "x.json", steps="11")
    copy = tmp_path / "rank0.json.gz"
    copy.write_bytes((small / "rank0.json.gz").read_bytes())
    for write in (lambda: rs.slice(copy, copy), lambda: rs.share(copy, tmp_path / "x.json", map=copy)):
        with pytest.raises(rs.UsageError, match="one of the inputs"):
            write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank0.json.gz"]


def test_options_are_the_program_s(program):
    said = subprocess.run([program, "share", "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    for name in inspect.signature(rs.Job.share).parameters:
        if name not in ("self", "path", "progress"):
            assert "--" + name.replace("_", "-") in said, name
