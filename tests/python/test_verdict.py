"""Verdicts: one of each job, whatever is asked of it, as a sentence with its parts."""
import pickle

import pytest

import rankscope as rs

JUDGED = ["summary", "diagnose", "stragglers", "collectives", "blame", "whatif", "variance", "replay"]


@pytest.fixture(scope="module")
def job(small):
    with rs.open(small, progress=False) as job:
        yield job


def test_a_sentence_and_its_parts(job):
    verdict = job.run("diagnose").verdict
    assert isinstance(verdict, str) and verdict.startswith(verdict.claim) and verdict.claim == "Rank 1 computes 1.40\u00d7 slower than its peers"
    assert (verdict.kind, verdict.id, verdict.culprits, verdict.ranks) == ("finding", "straggler", [{"rank": 1}], [1])
    assert verdict.gain_low_pct <= verdict.gain_pct <= verdict.gain_high_pct and not verdict.sensitivity and verdict.reason is None
    assert verdict.gain_pct == pytest.approx(100 * (1 - verdict.after_us / verdict.before_us))
    question, = verdict.evidence
    assert question["command"] == "replay" and question["python"].startswith("job.replay(what_if='scale class=computation&rank=1=0.71")
    assert question["shell"].endswith("' PATH...")


def test_evidence_shows_the_numbers(job):
    verdict = job.run("diagnose").verdict
    whole = [row for row in verdict.verify(job)["what_if"] if row["rank"] is None]
    assert [row["gain_pct"] for row in whole] == [verdict.gain_pct]
    assert [row["gain_pct"] for row in eval(verdict.evidence[0]["python"]).result["what_if"] if row["rank"] is None] == [verdict.gain_pct]


@pytest.mark.parametrize("name", JUDGED)
def test_all_say_the_same(job, name):
    result = job.run(name)
    assert result.verdict == job.run("diagnose").verdict and result.verdict.culprits == [{"rank": 1}]
    assert result.late[0]["rank"] == result.late[0]["because_of"] == 1
    assert str(result.table).startswith(str(result.verdict))


def test_only_the_first_table_begins_with_it(job):
    table = job.stragglers()
    assert repr(table).startswith(str(table.verdict)) and table.verdict in table._repr_html_()
    assert repr(table[:1]).startswith("<rankscope.Table") and table[:1].verdict == table.verdict
    assert job.kernels().verdict is None and repr(job.kernels()).startswith("<rankscope.Table")


def test_off(small):
    with rs.open(small, progress=False, no_verdict=True) as job:
        assert job.stragglers().verdict is None and job.summary().verdict is None and job.run("stragglers").verdicts == []
        assert job.run("diagnose").verdict.kind == "finding"  # that was asked for


def test_of_a_selection_nothing_is_said(job):
    assert job.summary(steps="10").verdict is None


def test_pickled(job):
    verdict = job.run("diagnose").verdict
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict and again.__dict__ == verdict.__dict__


def test_mapped_and_merged(small):
    from rankscope import _engine
    queries = [("stragglers", {}, None)]
    packed = []
    for path in sorted(small.iterdir()):
        if path.name.startswith("rank"):
            with rs.open(path, progress=False) as one:
                packed.append(one._job.map(queries))
    with rs.open(small, progress=False) as job:
        whole = job.run("stragglers")
    merged, = _engine.merge(packed, queries)
    assert len(packed) == 2 and merged.verdicts[0]["text"] == whole.verdict and merged.late == whole.late
