"""What was installed: the program, the version, licences; what a fresh interpreter needs."""
import json
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import rankscope

FOLDER = pathlib.Path(rankscope.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALLED = (FOLDER / "bin" / "rankscope").exists()


def test_version(program):
    text = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert text.split()[:2] == ["rankscope", rankscope.__version__]


def loaded(statement):
    """The modules that a fresh interpreter loads for a statement."""
    code = "import sys; before = set(sys.modules); %s; print(*sorted(set(sys.modules) - before))" % statement
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout.decode().split()


OTHERS = {"IPython", "asyncio", "concurrent", "dask", "fsspec", "hashlib", "matplotlib", "multiprocessing", "networkx", "numpy", "pandas",
          "plotly", "polars", "pyarrow", "ray", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "torch", "tqdm", "urllib", "yaml"}


@pytest.mark.parametrize("statement, most, not_even", [
    ("import rankscope", 75, {"inspect", "json", "logging", "textwrap"}),
    ("import rankscope.hta", 160, set()),
])
def test_an_import_loads_what_everybody_needs(statement, most, not_even):
    """An import shall take no longer than 0.15 s. Time depends on the machine; what is loaded does not."""
    modules = loaded(statement)
    assert not {name.split(".")[0] for name in modules} & (OTHERS | not_even)
    assert len(modules) <= most, modules


def test_names_that_are_loaded_later():
    code = ("import rankscope as rs; from rankscope import chakra, regress, summarize; import inspect; "
            "assert set(rs.__all__) <= set(dir(rs)) and all(hasattr(rs, name) for name in rs.__all__); "
            "assert 'ranks' in inspect.signature(rs.open).parameters and 'Table kernels' in rs.Job.kernels.__doc__; "
            "assert rs.open is rs._job.open_job and rs.Job.kernels is rs.Job.kernels and chakra is rs.chakra; "
            "assert 'categories' in inspect.signature(rs.Job.slice).parameters and 'a' in inspect.signature(rs.diff).parameters")
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="opne"):
        rankscope.opne


@pytest.mark.skipif(not INSTALLED, reason="not installed from a wheel")
class TestWheel:
    def test_command(self, small):
        command = pathlib.Path(sys.executable).parent / "rankscope"
        done = subprocess.run([command, "breakdown", "--format", "csv", small], stdout=subprocess.PIPE, check=True)
        assert done.stdout.decode() == rankscope.open(small).breakdown().csv()
        assert subprocess.run([command, "breakdwon"], stderr=subprocess.PIPE).returncode == 2

    def test_server_for_agents(self):
        for command in ([pathlib.Path(sys.executable).parent / "rankscope"], [sys.executable, "-m", "rankscope"]):
            said = subprocess.run([*command, "mcp", "--help"], stdout=subprocess.PIPE, check=True).stdout
            assert b"--root" in said

    def test_report(self, small, tmp_path):
        command = pathlib.Path(sys.executable).parent / "rankscope"
        subprocess.run([command, "report", "-o", tmp_path / "a.html", small], check=True, stderr=subprocess.PIPE)
        rankscope.open(small).report(tmp_path / "b.html")
        for name in "ab":
            assert "</html>" in (tmp_path / (name + ".html")).read_text(encoding="utf-8")

    def test_view(self, small, monkeypatch):
        monkeypatch.delenv("RANKSCOPE_PROGRAM", raising=False)
        if not serves(FOLDER / "bin" / "rankscope"):
            with pytest.raises(rankscope.UsageError, match="libevent"):
                rankscope.view(small, open=False)
            pytest.skip("built where libevent is not")
        with rankscope.view(small, open=False, perfetto=True) as served:
            assert b"report.html" in urllib.request.urlopen(served.url).read()
            assert b"</html>" in urllib.request.urlopen(served.url + "report.html").read()

    def test_licences_of_what_travels(self):
        folder = FOLDER / "licenses"
        if not folder.exists():
            pytest.skip("built where Debian's documentation is not")
        assert {path.name for path in folder.iterdir()} >= {"libzstd1.txt", "libisal2.txt"}

    def test_says_that_it_cannot_draw(self, tmp_path):
        if rankscope.metrics.can_plot():
            pytest.skip("this build draws")
        from test_metrics import record
        (tmp_path / "rank_0_metrics.jsonl").write_text("".join(json.dumps(record(0, step, 12.0, 1.0)) + "\n" for step in range(9)))
        done = subprocess.run([FOLDER / "bin" / "rankscope", "metrics", "--log-dir", tmp_path, "--label", "a", "--output", tmp_path / "out"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert b"no pictures" in done.stderr and b"cairo" in done.stderr


def serves(program):
    """Whether the program was built with its HTTP library."""
    return b"libevent" not in subprocess.run([program, "view", "--no-open", "nothing.json"], stderr=subprocess.PIPE).stderr


def test_view(small, monkeypatch, program):
    """The job is served, the trace is that of fuse; of a job whose bytes lie in memory, and of wrong words, it says what to do."""
    import gzip
    built = ROOT / "build" / "rankscope"
    serving = [p for p in (program, built) if pathlib.Path(p).exists() and serves(p)]
    if not serving:
        pytest.skip("no program here has the HTTP library")
    monkeypatch.setenv("RANKSCOPE_PROGRAM", str(serving[0]))
    with rankscope.view(small, open=False, ranks=1, perfetto=True, report=False) as served:
        trace = json.loads(gzip.decompress(urllib.request.urlopen(served.url + "trace.json.gz").read()))
        assert {event["args"]["rank"] for event in trace["traceEvents"] if "rank" in event.get("args", {})} == {1}
        assert served.url in repr(served) and served.url in served._repr_html_()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(served.url + "report.html")
    assert "closed" in repr(served)
    with rankscope.open(small, steps=10) as job, rankscope.view(job, open=False) as served:
        assert urllib.request.urlopen(served.url).status == 200
        assert [rank["rank"] for rank in json.loads(urllib.request.urlopen(served.url + "api/job").read())["ranks"]]
        assert "<iframe" in served._repr_html_()
    with pytest.raises(rankscope.UsageError, match="fuse"):
        rankscope.view(b"{}", open=False)
    with pytest.raises(TypeError, match="step'"):
        rankscope.view(small, step=3)
    with pytest.raises(rankscope.Error, match="nothing.json"):
        rankscope.view("nothing.json", open=False)
