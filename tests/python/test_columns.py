"""Columns for other programs: what `--format arrow` and `arrows` write, as Arrow's users read it, against csv."""
import csv
import io
import json
import os
import pty
import subprocess
import sys

import pytest

from rankscope import _parquet

pyarrow = pytest.importorskip("pyarrow")
COMMANDS = [["events"], ["breakdown"], ["kernels", "--by", "name"], ["ops"], ["launchers"], ["collectives"], ["frame"],
            ["sequences", "--op", "aten::linear"], ["queue", "--series"], ["info", "--table", "ranks"], ["steps"],
            ["critical-path", "--edges"], ["events", "--schema"], ["counters"], ["memory", "--schema"],
            ["events", "--where", "name = nobody"]]


def output(program, *words):
    ran = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.returncode == 0, (words, ran.stderr)
    return ran.stdout


def check_cells(table, rows):
    """Every cell of the Arrow table against the text of it that csv has."""
    assert table.num_rows == len(rows)
    for at, field in enumerate(table.schema):
        for got, text in zip(table.column(at).to_pylist(), (row[at] for row in rows)):
            if text == "":
                assert got is None or got == "", field.name
            elif pyarrow.types.is_dictionary(field.type):
                assert got == text, field.name
            else:
                assert got == (int(text) if pyarrow.types.is_integer(field.type) else float(text)), field.name


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_cell(program, small, words):
    words = words + [str(small)]
    rows = list(csv.reader(io.StringIO(output(program, *words, "--format", "csv").decode())))
    file = pyarrow.ipc.open_file(io.BytesIO(output(program, *words, "--format", "arrow"))).read_all()
    stream = pyarrow.ipc.open_stream(io.BytesIO(output(program, *words, "--format", "arrows"))).read_all()
    file.validate(full=True)
    assert file.equals(stream, check_metadata=True)
    assert file.schema.names == rows[0]
    check_cells(file, rows[1:])


def test_other_readers(program, small, tmp_path):
    path, stream = tmp_path / "e.arrow", tmp_path / "e.arrows"
    output(program, "events", small, "--format", "arrow", "-o", path)
    output(program, "events", small, "--format", "arrows", "-o", stream)
    expected = json.loads(output(program, "events", small, "--format", "json"))["tables"]["events"]
    names, spent = [row["name"] for row in expected], sum(row["dur_us"] or 0 for row in expected)
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    frame = pandas.read_feather(path)
    assert list(frame["name"]) == names and frame["dur_us"].sum() == pytest.approx(spent)
    for frame in (polars.read_ipc(path), polars.read_ipc_stream(stream)):
        assert frame["name"].to_list() == names and frame["dur_us"].sum() == pytest.approx(spent)
    batches = pyarrow.ipc.open_stream(stream)
    count, total = duckdb.from_arrow(batches).aggregate("count(distinct name), sum(dur_us)").fetchall()[0]
    assert count == len(set(names)) and total == pytest.approx(spent)


def test_the_package_writes_the_same(program, small, job):
    assert job.breakdown().render("arrow") == output(program, "breakdown", small, "--format", "arrow")


def test_no_bytes_for_a_terminal(program, small, tmp_path):
    for words in (["breakdown", small], ["flight", tmp_path]):
        ours, theirs = pty.openpty()
        ran = subprocess.run([program, *words, "--format", "arrow"], stdout=theirs, stderr=subprocess.PIPE)
        os.close(ours)
        os.close(theirs)
        assert ran.returncode == 2 and b"give a file with -o, or a pipe" in ran.stderr


def read_parquet(source):
    import pyarrow.parquet
    return pyarrow.parquet.read_table(source)


def parquet(program, *words, **how):
    """The package's command, as `rankscope` runs it."""
    code = "import sys; from rankscope import _parquet; sys.exit(_parquet.main(sys.argv[1], *_parquet.split(sys.argv[2:])))"
    return subprocess.run([sys.executable, "-c", code, program, *map(str, words)], stderr=subprocess.PIPE,
                          env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)), **how)


def test_parquet(program, small, tmp_path, job):
    path = tmp_path / "e.parquet"
    assert parquet(program, "events", small, "--format", "parquet", "-o", path).returncode == 0
    piped = parquet(program, "events", "--format=parquet", small, stdout=subprocess.PIPE)
    assert piped.returncode == 0 and piped.stdout == path.read_bytes()
    expected = pyarrow.ipc.open_stream(io.BytesIO(output(program, "events", small, "--format", "arrows"))).read_all()
    table = read_parquet(path)
    assert table.equals(expected.unify_dictionaries()) and table.schema.field("dur_us").metadata[b"unit"] == b"us"
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    names, spent = expected.column("name").to_pylist(), sum(value or 0 for value in expected.column("dur_us").to_pylist())
    assert list(pandas.read_parquet(path)["name"]) == names
    assert polars.read_parquet(path)["name"].to_list() == names and polars.scan_parquet(path).select("dur_us").sum().collect().item() == pytest.approx(spent)
    found = duckdb.sql("select count(*), sum(dur_us) from '%s'" % path).fetchall()
    assert found == [(len(names), pytest.approx(spent))]
    assert read_parquet(io.BytesIO(job.breakdown().render("parquet"))).num_rows == 2
    empty = parquet(program, "events", "--where", "name=nobody", "--format", "parquet", small, stdout=subprocess.PIPE)
    assert read_parquet(io.BytesIO(empty.stdout)).num_rows == 0


def test_parquet_is_refused(program, small, tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    ran = parquet(program, "breakdown", small, "--format", "parquet", "-o", other)
    assert ran.returncode == 2 and b"no Parquet file" in ran.stderr and other.read_text() == "mine"
    ran = parquet(program, "breakdown", tmp_path / "nowhere", "--format", "parquet", "-o", tmp_path / "x")
    assert ran.returncode == 3 and b"nowhere" in ran.stderr
    ran = parquet(program, "breakdown", small, "--format", "parquet", "-o", tmp_path / "no" / "x")
    assert ran.returncode == 3 and b"cannot write" in ran.stderr
    ran = subprocess.run([program, "breakdown", "--format", "parquet", small], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.returncode == 2 and b"python -m rankscope" in ran.stderr and ran.stdout == b""
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["other"]


def test_arguments_of_parquet():
    split = _parquet.split
    assert split(["ops", "--format", "csv", "t"]) is None
    assert split(["ops", "--format", "csv", "--format=parquet", "-o", "x", "t"]) == (["ops", "--format=arrows", "--format=arrows", "t"], "x")
    assert split(["ops", "-ox", "--format=parquet", "--", "-o", "--format"]) == (["ops", "--format=arrows", "--", "-o", "--format"], "x")
    assert split(["ops", "--output=a=b", "--format=parquet", "parquet"]) == (["ops", "--format=arrows", "parquet"], "a=b")
    assert split(["slice", "-o", "t.json", "--format", "parquet", "t"]) == (["slice", "-o", "t.json", "--format=arrows", "t"], None)
    assert split(["ops", "-o", "-", "--format=parquet"]) == (["ops", "--format=arrows"], None)
    assert split(["events", "--where", "name=parquet"]) is None


def test_commands_whose_output_is_no_table(program):
    """OWN_OUTPUT is what the program itself says of -o."""
    listed = subprocess.run([program, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    names = {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2:3].islower() and not line.startswith("  rankscope")}
    for name in sorted(names):
        said = subprocess.run([program, name, "--help"], stdout=subprocess.PIPE).stdout.decode()
        usage = said.splitlines()[2] if len(said.splitlines()) > 2 else ""
        if "-o FILE" in usage or "-o DIR" in usage:
            assert name in _parquet.OWN_OUTPUT, name
