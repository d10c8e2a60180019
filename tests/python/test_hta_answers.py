"""HTA's recorded answers through the drop-in, one test a case. Skipped where the corpus is not at hand."""
import pytest

pytest.importorskip("pandas")
import hta_answers  # noqa: E402

CASES = hta_answers.cases()
_open = {}


@pytest.fixture
def analysis(request, monkeypatch):
    """The drop-in on a trace, kept for the cases of the same trace that follow."""
    def find(options):
        monkeypatch.delenv("HTA_DISABLE_NS_ROUNDING", raising=False)
        if options.exact:
            monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
        key = options.trace, options.exact, options.flag("include-last-step")
        if key not in _open:
            _open.clear()
            _open[key] = hta_answers.open_analysis(options)
        return _open[key]
    return find


@pytest.mark.skipif(not CASES, reason="no recorded answers at hand")
@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_answer(case, analysis, tmp_path):
    options = hta_answers.Options(case["args"])
    if options.command == "annotate":
        analysis(options)  # the environment
        got = hta_answers.ask_counters(hta_answers.open_analysis(options, tmp_path), options)
    else:
        got = hta_answers.rows_of(hta_answers.ask(analysis(options), options, tmp_path))
    assert hta_answers.difference(got, hta_answers.answer(case), case) is None
