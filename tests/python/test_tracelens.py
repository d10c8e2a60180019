"""TraceLens' sheets, and pages with one answer alone: the bytes of the program."""
import os
import pathlib
import subprocess

import pytest

import rankscope
from rankscope import tracelens


def run(program, *words):
    subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}


def ranks_of(small):
    return sorted(pathlib.Path(small).glob("rank*"))


class TestReport:
    def test_files_are_the_program_s(self, small, program, tmp_path):
        run(program, "report", "--tracelens", tmp_path / "a", "--short-kernels", "10", "--device", "MI300X", "--detailed", "--unlinked", small)
        answer = tracelens.report(small, short_kernels=10, device="MI300X", detailed=True, unlinked=True)
        answer.save(tmp_path / "b")
        assert files(tmp_path / "a") and files(tmp_path / "a") == files(tmp_path / "b")
        assert [*answer.ranks] == [0, 1] and "gpu_timeline" in answer[1] and "ranks 0, 1" in repr(answer)

    def test_one_rank(self, small, program, tmp_path):
        first = ranks_of(small)[0]
        run(program, "report", "--tracelens", tmp_path / "a", "--micro-idle", "5", first)
        with rankscope.open(first) as job:
            answer = tracelens.report(job, micro_idle=5)
            assert job.breakdown().num_rows > 0  # it is still open
        answer.save(tmp_path / "b")
        assert files(tmp_path / "a") == files(tmp_path / "b")
        assert answer["gpu_timeline"]["type"] and [*answer.sheets] == [*answer.ranks[0]]
        assert "gpu_timeline" in repr(answer)

    def test_collectives_alone(self, small, program, tmp_path):
        run(program, "report", "--tracelens", tmp_path / "a", "--collectives", small)
        answer = tracelens.report(small, collectives=True)
        answer.save(tmp_path / "b")
        assert files(tmp_path / "a") == files(tmp_path / "b") != {}
        assert answer.job and [*answer.sheets] == [*answer.job]

    def test_says_what_is_wrong(self, small):
        answer = tracelens.report(small)
        with pytest.raises(rankscope.UsageError, match="2 ranks"):
            answer["gpu_timeline"]
        with pytest.raises(rankscope.UsageError, match="no rank 7"):
            answer[7]
        with pytest.raises(rankscope.UsageError, match="no sheet"):
            tracelens.report(ranks_of(small)[0])["gpu"]
        with pytest.raises(rankscope.UsageError, match="MI300"):
            tracelens.report(small, device="MI300Z")
        with pytest.raises(rankscope.UsageError, match="short_kernels"):
            tracelens.report(small, short_kernels=-1)
        with pytest.raises(rankscope.Error, match="nothing.json"):
            tracelens.report("nothing.json")
        with pytest.raises(rankscope.UsageError, match="workbook"):
            answer.save("sheets.xlsx")


class TestCompare:
    def test_reports_folders_and_traces(self, small, program, tmp_path):
        first, second = ranks_of(small)
        run(program, "report", "--tracelens", tmp_path / "zero", first)
        run(program, "report", "--tracelens", tmp_path / "a", "--compare", tmp_path / "zero", second, "--names", "old,new")
        answer = tracelens.compare(tracelens.report(first), second, names=["old", "new"])
        answer.save(tmp_path / "b")
        assert files(tmp_path / "a") and files(tmp_path / "a") == files(tmp_path / "b")
        again = tracelens.compare(tmp_path / "zero", second, names=["old", "new"], sheets=["gpu_timeline", "ops_summary"])
        assert set(again) <= set(answer) and again["gpu_timeline"].csv() == answer["gpu_timeline"].csv()
        assert "zero" in tracelens.compare(tmp_path / "zero", second)["gpu_timeline"].csv().split("\n")[0]

    def test_says_what_is_wrong(self, small):
        first, second = ranks_of(small)
        with pytest.raises(rankscope.UsageError, match="with what"):
            tracelens.compare(first)
        with pytest.raises(rankscope.UsageError, match="2 reports"):
            tracelens.compare(first, second, names=["a"])
        with pytest.raises(rankscope.UsageError, match="rankscope.compare"):
            tracelens.compare(first, small)
        with pytest.raises(rankscope.UsageError, match="ops"):
            tracelens.compare(first, second, sheets="nothing")
        with pytest.raises(rankscope.Error):
            tracelens.compare(first, second, names=["a", "a"])


class TestPages:
    def test_comparison(self, small, program, tmp_path):
        first, second = map(os.fspath, ranks_of(small))
        run(program, "compare", "--page", tmp_path / "a.html", first, second)
        table = rankscope.compare(first, second)
        page = rankscope.report(table)
        assert page.html == (tmp_path / "a.html").read_text(encoding="utf-8")
        assert rankscope.report(table.tables["operators"] if "operators" in table.tables else table).html == page.html
        page.save(tmp_path / "b.html")
        assert (tmp_path / "b.html").read_bytes() == (tmp_path / "a.html").read_bytes()

    def test_history(self, small, program, tmp_path):
        for i in range(10):
            (tmp_path / "nightly" / ("run%d" % i)).mkdir(parents=True)
            for path in ranks_of(small):
                (tmp_path / "nightly" / ("run%d" % i) / path.name).symlink_to(path)
        run(program, "regress", "--history", tmp_path / "nightly", "--page", tmp_path / "a.html")
        history = rankscope.regress.history(tmp_path / "nightly")
        assert rankscope.report(history).html == (tmp_path / "a.html").read_text(encoding="utf-8")
        assert rankscope.report(history["history"]).html == rankscope.report(history).html

    def test_of_what_there_is_none(self, small):
        with rankscope.open(small) as job, pytest.raises(rankscope.UsageError, match="compare"):
            rankscope.report(job.breakdown())
        with rankscope.open(small) as job, pytest.raises(rankscope.UsageError, match="compare"):
            rankscope.report(job.breakdown().head(1))
