"""Jobs: every analysis is a method and gives what the program prints."""
import inspect
import json
import pathlib
import re
import subprocess
import sys

import pytest

import rankscope as rs
from rankscope import _engine
from rankscope._job import python_name

ROWS = _engine.analyses()
NEEDS = {"sequences": {"op": "aten::linear"}, "annotate": {}, "critical-path": {}}
TRACES = [row["name"] for row in ROWS if row["input"] == "traces"]


def program_json(program, *words):
    done = subprocess.run([program, *map(str, words), "--format", "json", "--quiet"], stdout=subprocess.PIPE)
    assert done.returncode in (0, 1, 4), words
    return done.stdout


@pytest.mark.parametrize("name", TRACES)
def test_same_bytes_as_the_program(job, small, program, name):
    options = NEEDS.get(name, {})
    words = [word for key, value in options.items() for word in ("--" + key, value)]
    result = job.run(name, **options)
    for table in result.tables.values():
        printed = program_json(program, name, small, *words, "--table", table.name)
        spoken = json.loads(printed)
        rows = spoken["tables"][table.name] if isinstance(spoken, dict) else spoken
        assert json.loads(table.json()) == rows


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_method_for_every_row(row):
    name = python_name(row["name"])
    holder = rs if row["input"] == "file" else rs.Job
    method = getattr(holder, name)
    if name == "events":
        method = rs._job.Events.__call__
    parameters = inspect.signature(method).parameters
    for spec in row["options"]:
        assert parameters[python_name(spec["name"])].kind is inspect.Parameter.KEYWORD_ONLY
        assert spec["help"].split()[0] in method.__doc__
    assert {"compat", "table", "progress"} <= set(parameters)
    for table in row["tables"][""]:
        for column in table["columns"]:
            assert "    %s" % column["name"] in method.__doc__


def test_help_teaches(job):
    import pydoc
    text = pydoc.plain(pydoc.render_doc(job.kernels))
    assert "top=5" in text or "top: " in text
    assert "type, name" in text and "Table kernels" in text and "--" not in job.kernels.__doc__
    assert max(map(len, job.kernels.__doc__.splitlines())) <= 100


def test_options_reach_the_engine(job):
    few = job.kernels(by="name", top=3)
    assert len([row for row in few if row["rank"] == 0]) == 4  # three, and the others
    assert len(job.kernels(top=2)) < len(job.kernels(top=5))


def test_kinds_of_options(small):
    with rs.open(small) as job:
        assert {row["rank"] for row in job.breakdown()} == {0, 1}
        assert len(job.idle(streams=[7])) == len(job.idle(streams="7")) == len(job.idle(streams=range(7, 8)))
        assert job.launches(memory=False).to_dicts() if "memory" in inspect.signature(job.launches).parameters else True
        with pytest.raises(TypeError, match="did you mean top"):
            job.kernels(tpo=3)
        with pytest.raises(TypeError):
            job.kernels(top=object())
        with pytest.raises(rs.UsageError, match="top takes a whole number"):
            job.kernels(top=1.5)


def test_compat(job):
    assert "idle_time_pctg" in job.breakdown(compat="hta").columns or "idle_time(us)" in job.breakdown(compat="hta").columns
    with pytest.raises(rs.UsageError, match="compat"):
        job.breakdown(compat="htb")


def test_tables_of_a_run(job):
    info = job.info()
    assert set(info.tables) == {"ranks", "categories", "streams", "software"}
    assert job.info(table="streams").name == "streams"
    with pytest.raises(rs.UsageError, match="there is ranks"):
        job.info(table="stream")


def test_ranks_and_events(job):
    assert job.ranks == [0, 1]
    events = job.events
    assert len(events) == sum(job.info()["events"])
    kernels = job.events(where="cat=kernel", limit=5)
    assert len(kernels) == 10 and set(kernels["category"]) == {"kernel"}


def test_settings(small):
    assert rs.open(small, ranks=1).ranks == [1]
    assert rs.open(small, ranks=[1, 0]).ranks == [0, 1]
    assert rs.open(small, ranks=range(1)).ranks == [0]
    assert rs.open(small, jobs=1, keep=False).breakdown().json() == rs.open(small, jobs=2).breakdown().json()
    with pytest.raises(rs.UsageError):
        rs.open(small, ranks=[])
    with pytest.raises(rs.UsageError):
        rs.open(small, max_memory="lots")
    with pytest.raises(rs.UsageError, match="ranks"):
        rs.open(small, ranks=7).breakdown()


def test_sources(small, job):
    files = sorted(pathlib.Path(small).glob("rank*.json.gz"))
    wanted = job.breakdown().json()
    assert rs.open([str(path) for path in files]).breakdown().json() == wanted
    assert rs.open(iter(files)).breakdown().json() == wanted
    swapped = rs.open({1: files[0], 0: files[1]}).breakdown()
    assert swapped["span_us"] == job.breakdown()["span_us"][::-1]
    one = rs.open(files[0]).breakdown().json()
    data = files[0].read_bytes()
    assert rs.open(data).breakdown().json() == one
    assert rs.open(bytearray(data)).breakdown().json() == one
    assert rs.open(memoryview(data)).breakdown().json() == one
    with open(files[0], "rb") as file:
        assert rs.open(file).breakdown().json() == one
    with pytest.raises(TypeError):
        rs.open(7)


def test_bytes_are_not_copied(small):
    data = (small / "rank0.json.gz").read_bytes()
    before = sys.getrefcount(data)
    job = rs.open(data)
    assert sys.getrefcount(data) == before + 2  # the job and its engine hold these very bytes
    assert len(job.breakdown()) == 1
    job.close()
    assert sys.getrefcount(data) == before


def test_keep(small):
    def read_by(job):
        before = job.stats()["bytes_read"]
        job.breakdown()
        return job.stats()["bytes_read"] - before

    for keep, again in ((True, False), ("1G", False), (False, True), ("1k", True)):
        with rs.open(small, keep=keep) as job:
            first = read_by(job)
            assert first > 0 and read_by(job) == (first if again else 0)
    with pytest.raises(rs.UsageError):
        rs.open(small, keep="plenty")


def test_two_jobs(job, small):
    same = rs.diff(small, small)
    assert set(same["change"]) == {"same"}
    assert job.diff(job).to_dicts() == same.to_dicts() == rs.diff(job, small).to_dicts()
    with pytest.raises(rs.UsageError, match="compares two jobs"):
        job.run("diff")


def test_many_jobs(job, small):
    same = rs.compare(small, small, job, by="op")
    assert set(same["variant"]) == {1, 2} and set(same["time_diff_us"]) == {0}
    assert job.compare(job, job, by="op").to_dicts() == same.to_dicts()
    with pytest.raises(rs.UsageError, match="two jobs or more"):
        job.compare()
    with pytest.raises(TypeError):
        job.compare(by="op", other=job)


def test_closed(small):
    with rs.open(small) as job:
        table = job.breakdown()
    assert len(table.to_dicts()) == 2  # tables outlive their job
    with pytest.raises(rs.UsageError, match="closed"):
        job.breakdown()
    job.close()
    assert "closed" in repr(job)


def test_errors(tmp_path):
    with pytest.raises(rs.InputOSError, match="No such file") as caught:
        rs.open(tmp_path / "none.json").breakdown()
    assert isinstance(caught.value, OSError) and caught.value.filename == str(tmp_path / "none.json")
    assert caught.value.causes[0]["message"] and caught.value.status == "io"
    (tmp_path / "bad.json").write_text("this is no trace")
    with pytest.raises(rs.InputError) as caught:
        rs.open(tmp_path / "bad.json").breakdown()
    assert isinstance(caught.value, ValueError) and caught.value.causes[0]["file"].endswith("bad.json")
    for rank in "ab":
        (tmp_path / ("%s_rank0.json" % rank)).write_text('{"traceEvents": [{"ph":"X","ts":1,"dur":1,"name":"a","cat":"kernel","pid":0,"tid":7}]}')
    with pytest.raises(rs.AmbiguousError, match="rank 0"):
        rs.open([tmp_path / "a_rank0.json", tmp_path / "b_rank0.json"]).breakdown()
    with pytest.raises(rs.UsageError, match="did you mean breakdown"):
        rs.open(tmp_path).run("brekdown")


def test_loss_is_told(tmp_path):
    text = '{"traceEvents": [{"ph":"X","ts":1,"dur":1,"name":"a","cat":"kernel","pid":0,"tid":7,"args":{"stream":7}}, {"ph":"X","ts":2'
    (tmp_path / "cut.json").write_text(text)
    with pytest.warns(rs.InputWarning, match="cut.json") as told:
        table = rs.open(tmp_path / "cut.json").breakdown()
    assert {warning.filename for warning in told} == {__file__}  # at the user's line
    assert any(problem["severity"] == "loss" and problem["offsets"] for problem in table.problems)


def test_same_answer_again(job):
    first = {name: {t.name: t.json() for t in job.run(name, **NEEDS.get(name, {})).tables.values()} for name in TRACES}
    for name in TRACES:
        again = job.run(name, **NEEDS.get(name, {}))
        assert {t.name: t.json() for t in again.tables.values()} == first[name]


@pytest.mark.parametrize("said, ours", [
    ("--steps 3-5 selects nothing", "steps=3-5 selects nothing"),
    ("say it with --device", "say it with device="),
    ("--jobs takes 1 to 4096, not 0", "jobs takes 1 to 4096, not 0"),
    ("; --from gpu uses the GPU's", "; from_=\"gpu\" uses the GPU's"),
    ("number them by name with --renumber", "number them by name with renumber=True"),
    ("give it as RANK=PATH", "give it as {rank: path}"),
    ("with --clocks likely|certain it is unknown", "with clocks=\"likely\" or \"certain\" it is unknown"),
    ("12 % of the time (--table gemms)", "12 % of the time (table=\"gemms\")"),
    ("see `rankscope stragglers`", "see job.stragglers()"),
    ("rankscope roofline --by op|model adds them up", "job.roofline(by=\"op\" or \"model\") adds them up"),
    ("is a dump, no trace: see `rankscope flight`", "is a dump, no trace: see rankscope.flight.analyze()"),
    ("rocprofv3 --kernel-trace --memory-copy-trace, around the process", "rocprofv3 --kernel-trace --memory-copy-trace, around the process"),
    ("unpack it first with `zstd -d --long=31`", "unpack it first with `zstd -d --long=31`"),
    ("rankscope capture puts the rank there", "rankscope capture puts the rank there"),
])
def test_messages_speak_python(said, ours):
    from rankscope._words import in_python
    assert in_python(said) == ours


# Options that may stand in what the engine says: of other programs, and of what only the command line shows.
OTHERS = {"kernel-trace", "memory-copy-trace", "hip-trace", "runtime-trace", "marker-trace", "collection-period", "cuda-graph-trace",
          "cuda-event-trace", "capture-range", "duration", "long", "native", "xla", "pytorch", "python-backtrace", "type", "include-blobs",
          "include-json", "output", "gpu-metrics-devices", "mpp", "sample", "pmc", "save-result", "save-detailed", "output-details"}
SHOWN = {"format", "schema", "names", "fail-on", "short-kernels", "compare", "collectives", "no-align"}


def test_no_message_speaks_of_options():
    """All texts of the engine, but those of the program and of the viewer, have no option left in Python's words."""
    from rankscope._words import in_python
    root = pathlib.Path(__file__).resolve().parent.parent.parent / "src"
    left = {}
    for path in root.rglob("*.c"):
        if {"cli", "view", "tests"} & set(path.relative_to(root).parts):
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for match in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
            said = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match.group()))
            if "--" not in said or said.startswith("rankscope "):  # examples of the manual
                continue
            for name in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", in_python(said)):
                if name not in OTHERS | SHOWN:
                    left.setdefault(name, "%s: %s" % (path.name, said[:80]))
    assert left == {}


def test_settings_come_from_the_engine(small):
    import inspect
    parameters = inspect.signature(rs.open).parameters
    assert list(parameters)[:3] == ["source", "ranks", "steps"] and parameters["max_ratio"].default == 1000
    with pytest.raises(TypeError, match="did you mean recursive"):
        rs.open(small, recursiv=True)
    with pytest.raises(rs.UsageError, match="jobs takes 1 to 4096, not 5000"):
        rs.open(small, jobs=5000)
    with pytest.raises(rs.UsageError, match="max_ratio must be at least 1"):
        rs.open(small, max_ratio=0)
    with rs.open(small, jobs=0, max_memory="1.5G", steps=range(10, 11)) as job:
        assert job.kernels()


# ---- a part of the job, for one call ---------------------------------------------------------------------------------


def test_one_call_may_ask_about_a_part(small, job):
    whole = job.breakdown().csv()
    step = job.steps()["step"][0]
    read = job.stats()["bytes_read"]
    for given in ({"ranks": [1]}, {"steps": step}, {"ranks": 0, "steps": [step]}):
        assert job.breakdown(**given).csv() == rs.open(small, **given).breakdown().csv()
    assert job.kernels(window=(0, 20.5)).csv() == rs.open(small, window="0-20.5").kernels().csv()
    assert job.run("breakdown", ranks=1).table.csv() == job.breakdown(ranks=1).csv()
    assert set(job.events(ranks=1, limit=3)["rank"]) == {1}
    assert job.diff(job, ranks=0).csv() == rs.diff(rs.open(small, ranks=0), rs.open(small, ranks=0)).csv()
    assert job.breakdown().csv() == whole
    assert job.stats()["bytes_read"] == read


def test_a_part_within_the_part_that_was_opened(small):
    with rs.open(small, ranks=[0]) as job:
        assert job.breakdown(steps=10)["rank"] == [0]
        assert job.breakdown(ranks=1)["rank"] == [1]  # what one call says goes before what open said
        assert job.breakdown()["rank"] == [0]


@pytest.mark.parametrize("name, options, error, words", [
    ("breakdown", {"ranks": 7}, rs.UsageError, "none of the 2 ranks"),
    ("breakdown", {"steps": 99}, rs.UsageError, "steps 10-11"),
    ("breakdown", {"steps": "x"}, rs.UsageError, "list of whole numbers"),
    ("breakdown", {"window": (5, 3)}, rs.UsageError, "empty"),
    ("doctor", {"steps": 10}, rs.UsageError, "cannot follow"),
    ("breakdown", {"rank": 0}, TypeError, "did you mean ranks"),
    ("breakdown", {"compat": "tracelens"}, rs.UsageError, "there is hta, hta-exact"),
    ("doctor", {"compat": "hta"}, rs.UsageError, "imitates no other tool"),
    ("breakdown", {"compat": "x"}, rs.UsageError, "hta-exact, tracelens"),
])
def test_what_one_call_cannot_ask(job, name, options, error, words):
    with pytest.raises(error, match=words):
        job.run(name, **options)
    assert len(job.breakdown()) == 2


def test_summary_tells_its_verdict(job):
    summary = job.summary()
    assert summary.verdict == summary.findings[0]
    assert "Rank 1" in summary.verdict
    assert len(summary.findings) == len(summary.tables["findings"])
