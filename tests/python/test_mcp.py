"""`rankscope mcp`, as the official SDK's client sees it over standard input and output."""
import asyncio
import json
import os
import pathlib
import subprocess
import sys

import pytest

import rankscope
from rankscope import mcp as ours

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA, DUMPS = ROOT / "tests" / "data", ROOT / "src" / "packs" / "flight" / "tests" / "data" / "flight"


@pytest.fixture
def questions(program, tmp_path):
    return ours.Questions(program, [str(DATA)], 60)


def test_paths_stay_below_the_roots(questions, tmp_path):
    assert questions.paths(["small", str(DATA / "small" / "rank0.json.gz")]) == [str(DATA / "small"), str(DATA / "small" / "rank0.json.gz")]
    (tmp_path / "link").symlink_to("/etc")
    beside = ours.Questions(questions.program, [str(tmp_path)], 60)
    for given in ("../..", "/etc/passwd", "link/passwd", "0=/etc/passwd", "-", "small\0x"):
        with pytest.raises((ours.Refusal, ValueError)):
            beside.paths([given])
    with pytest.raises(ours.Refusal, match="--root"):
        questions.paths(["../../README.md"])
    with pytest.raises(ours.Refusal, match="which traces"):
        questions.paths([])


def test_answers_keep_to_their_budget(questions):
    paths = questions.paths(["small"])
    for words in (["summary"], ["diagnose"], ["compare", "--by=op"]):
        given = paths * 2 if words[0] == "compare" else paths
        for budget in (1500, 6000):
            text = questions.ask(words, given, budget)
            assert len(text.encode()) <= budget
            for left in json.loads(text)["left_out"]:
                rest = json.loads(questions.evidence(left["id"], left["shown"], 20000))
                assert len(rest["rows"]) == left["rows"] - left["shown"] and rest["next_row"] is None
    with pytest.raises(ours.Refusal, match="600 to 200000"):
        questions.ask(["summary"], paths, 10)


def test_ids_count_too(program):
    class Wordy(ours.Questions):
        def with_ids(self, answer, words, paths, query):
            return dict(super().with_ids(answer, words, paths, query), ids="x" * 1500)

    questions = Wordy(program, [str(DATA)], 60)
    for budget in (3900, 4500):
        text = questions.ask(["summary"], questions.paths(["small"]), budget)
        assert 1500 < len(text.encode()) <= budget
    with pytest.raises(ours.Refusal, match="try 3200"):
        questions.ask(["summary"], questions.paths(["small"]), 1600)


def test_a_table_page_by_page(questions, program):
    found = json.loads(questions.ask(["sql"], questions.paths(["small"]), 800, "SELECT position, name FROM events"))
    left, = found["left_out"]
    whole = subprocess.run([program, "sql", "--format", "jsonl", "SELECT position, name FROM events", DATA / "small"], stdout=subprocess.PIPE, check=True)
    rows, at, pages = [], 0, 0
    while at is not None:
        text = questions.evidence(left["id"], at, 20000)
        assert len(text.encode()) <= 20000
        page = json.loads(text)
        assert page["first_row"] == at and page["rows"]
        rows, at, pages = rows + page["rows"], page["next_row"], pages + 1
    with pytest.raises(ours.Refusal):  # a path is no query, and is not read
        questions.ask(["sql"], questions.paths(["small"]), 800, str(DATA / "small" / "rank0.json.gz"))
    assert rows == [json.loads(line) for line in whole.stdout.splitlines()] and len(rows) == left["rows"] and pages > 2


def test_jobs_apart(questions):
    paths = questions.paths(["small/rank0.json.gz", "small/rank1.json.gz"])
    query = "SELECT kind, name, time_diff_us FROM diff('1', '2') ORDER BY abs(time_diff_us) DESC, name"
    found = json.loads(questions.ask(["sql", "--apart"], paths, 800, query))
    assert found["tables"]["rows"][0]["kind"] == "communication"
    left, = found["left_out"]
    rest = json.loads(questions.evidence(left["id"], left["shown"], 100000))
    assert len(rest["rows"]) == left["rows"] - left["shown"] > 10 and rest["next_row"] is None
    with pytest.raises(ours.Refusal, match="here: apart true"):
        questions.ask(["sql"], paths, 800, query)
    with pytest.raises(ours.Refusal, match="there is no input '3'; there is 1"):
        questions.ask(["sql", "--apart"], paths, 800, "SELECT * FROM diff('1', '3')")
    with pytest.raises(ours.Refusal, match="several statements"):
        questions.ask(["sql"], paths, 800, "SELECT 1; SELECT 2")
    assert json.loads(questions.ask(["sql"], paths, 800, "SELECT '}{' AS a; -- one"))["tables"]["rows"] == [{"a": "}{"}]


def test_a_kernel_s_name_is_no_option():
    assert ours.question_of("rankscope replay --what-if 'scale name='\\''a b'\\''=0.5' PATH...") == ["replay", "--what-if=scale name='a b'=0.5"]
    assert ours.question_of("rankscope replay --what-if 'scale name~x' -o /tmp/y '=0.5' PATH...") is None
    assert ours.question_of("rm -rf /") is None and ours.question_of(None) is None


def test_memory(program, tmp_path):
    """The verdict of snapshots within the budget of a question."""
    subprocess.run([sys.executable, ROOT / "bench" / "make_snapshot.py", tmp_path / "rank0.pickle", "--events", "3000", "--layers", "2", "--fail"],
                   check=True)
    questions = ours.Questions(program, [str(tmp_path)], 60)
    answer = json.loads(questions.ask(["memory", "--top=10", "--by=line"], questions.paths([str(tmp_path)]), ours.USUAL))
    first = answer["tables"]["findings"][0]
    assert "ran out of memory" in first["finding"] and "expandable_segments" in first["remedy"]


def test_a_question_that_takes_too_long(tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    questions = ours.Questions(str(slow), [str(tmp_path)], 0.2)
    with pytest.raises(ours.Refusal, match="--timeout"):
        questions.ask(["summary"], [], 6000)
    with pytest.raises(ours.Refusal, match="--timeout"):
        questions.evidence(questions.remember(words=["summary"], paths=[], table="x"), 0, 6000)


def test_a_query_that_never_ends(program):
    questions = ours.Questions(program, [str(DATA)], 60, query_timeout=0.2)
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    with pytest.raises(ours.Refusal, match="took longer than the 200.* allowed, not counting reading"):
        questions.sql(endless, questions.paths(["small"]), 6000, False)
    assert json.loads(questions.sql("SELECT count(*) > 0 AS a FROM events", questions.paths(["small"]), 6000, False))["tables"]["rows"] == [{"a": 1}]


async def talk(program):
    from mcp import Client, StdioServerParameters
    path = os.pathsep.join([str(pathlib.Path(rankscope.__file__).parent.parent)] + sys.path)
    server = StdioServerParameters(command=sys.executable, args=["-m", "rankscope.mcp", "--root", str(DATA), "--root", str(DUMPS)],
                                   env={"RANKSCOPE_PROGRAM": str(program), "PYTHONPATH": path})
    answers = {}
    async with Client(server) as client:
        answers["tools"] = [tool.name for tool in (await client.list_tools()).tools]

        async def call(key, tool, **given):
            result = await client.call_tool(tool, given)
            answers[key] = (bool(result.is_error), result.content[0].text)
            return answers[key][1]

        await call("summary", "summary", paths=["small"], budget=2000)
        diagnosis = json.loads(await call("diagnose", "diagnose", paths=["small"], budget=4000))
        await call("replay", "evidence", id=diagnosis["tables"]["diagnose"][0]["id"], budget=4000)
        await call("verified", "evidence", id=diagnosis["verdict"]["evidence"], budget=4000)
        hang = json.loads(await call("flight", "flight", paths=[str(DUMPS / "host_stop")], budget=2500))
        await call("entries", "evidence", id=hang["ids"]["entries"], budget=2500)
        await call("compare", "compare", paths=["small/rank0.json.gz", "small/rank1.json.gz"], by="op", budget=2500)
        await call("sql", "sql", query="SELECT count(*) AS n FROM events", paths=["small"], budget=1000)
        await call("outside", "summary", paths=["/etc"])
        await call("wrong", "sql", query="SELECT 1 FROM nowhere", paths=["small"])
        await call("unknown", "evidence", id="e123")
    return answers


def test_the_official_client(program):
    pytest.importorskip("mcp")
    answers = asyncio.run(talk(program))
    assert sorted(answers["tools"]) == ["compare", "diagnose", "evidence", "flight", "memory", "sql", "summary"]
    failed = {key for key, value in answers.items() if key != "tools" and value[0]}
    assert failed == {"outside", "wrong", "unknown"}, answers
    told = {key: json.loads(value[1]) for key, value in answers.items() if key not in failed | {"tools"}}
    assert told["summary"]["verdict"]["culprits"] == told["diagnose"]["verdict"]["culprits"] == [{"rank": 1}]
    assert told["verified"]["tables"]["what_if"][0]["gain_pct"] == told["diagnose"]["verdict"]["gain_pct"]
    assert told["summary"]["tables"]["ranks"][0]["rank"] == 0 and len(answers["summary"][1].encode()) <= 2000
    assert told["diagnose"]["tables"]["diagnose"][0]["id"].startswith("e") and told["replay"]["tables"]
    assert told["flight"]["verdict"] == "rank_missing" and told["flight"]["culprits"] == [1]
    assert told["entries"]["table"] == "entries" and told["entries"]["rows"][0]["group"] is not None
    assert told["sql"]["tables"]["rows"] == [{"n": 1550}]
    assert "--root" in answers["outside"][1] and "nowhere" in answers["wrong"][1] and "ask the question again" in answers["unknown"][1]
