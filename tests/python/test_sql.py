"""SQL over a job: the answers of the program, as tables of the package."""
import subprocess

import pytest

import rankscope as rs


def test_answers_are_the_programs(program, small, job):
    query = "SELECT e.rank, e.name, e.ts_us, k.sum_us FROM events e JOIN kernels('--top 3') k USING (rank, name) ORDER BY e.event"
    ran = subprocess.run([program, "sql", "--format", "csv", query, small], stdout=subprocess.PIPE, check=True)
    table = job.sql(query)
    assert table.num_rows > 3 and table.csv() == ran.stdout.decode()
    assert table["rank"][0] == 0 and isinstance(table["ts_us"][0], float)


def test_the_job_stays_usable(small):
    with rs.open(small, progress=False) as job:
        assert job.sql("SELECT count(*) AS n FROM events")["n"] == [1550]
        assert job.breakdown()["rank"] == [0, 1]
        assert job.sql("SELECT rank FROM breakdown ORDER BY rank")["rank"] == [0, 1]
    with pytest.raises(rs.Error, match="closed"):
        job.sql("SELECT 1")


def test_what_is_refused(job):
    with pytest.raises(rs.UsageError, match="character 8: there is no column nmae; did you mean name"):
        job.sql("SELECT nmae FROM events")
    with pytest.raises(rs.UsageError, match="only read"):
        job.sql("ATTACH 'x' AS x")
    with pytest.raises(rs.UsageError, match="one statement"):
        job.sql("SELECT 1; SELECT 2")
    with pytest.raises(rs.UsageError, match="timeout takes seconds"):
        job.sql("SELECT 1", timeout=0)
    with pytest.raises(ValueError, match="null character"):
        job.sql("SELECT 1\0")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
    with pytest.raises(rs.Error, match="took longer"):
        job.sql(endless + "count(*) FROM c", timeout=0.05)
    with pytest.raises(rs.Error, match="more than"):
        job.sql(endless + "x FROM c", max_memory=1 << 22)


def test_jobs_are_compared(small, program):
    ranks = ["%s/rank%d.json.gz" % (small, rank) for rank in (0, 1)]
    query = "SELECT kind, name, time_diff_us FROM diff('1', 'new') ORDER BY kind, name"
    with rs.open(ranks[0], progress=False) as base, rs.open(ranks[1], progress=False) as new:
        table = base.sql(query, others={"new": new})
        ran = subprocess.run([program, "sql", "--apart", "--format", "csv", query, ranks[0], "new=" + ranks[1]], stdout=subprocess.PIPE, check=True)
        assert table.num_rows > 10 and table.csv() == ran.stdout.decode()
        assert base.sql("SELECT rank FROM breakdown('', 'new')", others={"new": new})["rank"] == [1]
        same = base.sql("SELECT max(abs(time_diff_us)) AS most FROM diff('1', 'same')", others={"same": base})
        assert same["most"] == [0]
        assert base.sql("SELECT rank FROM breakdown")["rank"] == [0]
        for others, message in (({"new": 3}, "new is 'int'"), ({"a,b": new}, "no name"), ({1: new}, "no name")):
            with pytest.raises(rs.UsageError, match=message):
                base.sql("SELECT 1", others=others)
        with pytest.raises(rs.UsageError, match="compares jobs"):
            base.sql(query)
        with pytest.raises(rs.UsageError, match="there is no input 'old'"):
            base.sql("SELECT * FROM diff('1', 'old')", others={"new": new})
    with rs.open(ranks[0], progress=False) as base:
        with pytest.raises(rs.Error, match="closed"):
            base.sql("SELECT 1", others={"new": new})
