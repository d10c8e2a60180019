"""HTA's recorded answers through the drop-in, one test a case. Skipped where the corpus is not at hand."""
import pytest

pytest.importorskip("pandas")
import hta_answers  # noqa: E402

CASES = hta_answers.cases()
PENDING = hta_answers.pending()
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
@pytest.mark.parametrize("case", [
    pytest.param(case, id=case["name"], marks=pytest.mark.xfail(strict=True, reason="pending") if case["name"] in PENDING else ())
    for case in CASES])
def test_answer(case, analysis, tmp_path):
    options = hta_answers.Options(case["args"])
    if options.command == "annotate":
        analysis(options)  # the environment
        got = hta_answers.ask_counters(hta_answers.open_analysis(options, tmp_path), options)
    else:
        got = hta_answers.rows_of(hta_answers.ask(analysis(options), options, tmp_path))
    assert hta_answers.difference(got, hta_answers.answer(case), case) is None


# ---- index and dtypes ----------------------------------------------------------------------------------------------------

QUIET = {"visualize": False}
CALLS = {
    "get_temporal_breakdown": lambda a, r: a.get_temporal_breakdown(**QUIET),
    "get_comm_comp_overlap": lambda a, r: a.get_comm_comp_overlap(**QUIET),
    "get_gpu_kernel_breakdown__type": lambda a, r: a.get_gpu_kernel_breakdown(**QUIET)[0],
    "get_gpu_kernel_breakdown__kernels": lambda a, r: a.get_gpu_kernel_breakdown(**QUIET)[1],
    "get_gpu_user_annotation_breakdown__cpu": lambda a, r: a.get_gpu_user_annotation_breakdown(False, **QUIET),
    "get_gpu_user_annotation_breakdown__gpu": lambda a, r: a.get_gpu_user_annotation_breakdown(True, **QUIET),
    "get_idle_time_breakdown": lambda a, r: a.get_idle_time_breakdown(r, **QUIET)[0],
    "get_idle_time_breakdown__intervals":
        lambda a, r: a.get_idle_time_breakdown(r, show_idle_interval_stats=True, **QUIET)[1],
    "get_memory_bw_summary": lambda a, r: a.get_memory_bw_summary(r),
    "get_memory_bw_time_series": lambda a, r: a.get_memory_bw_time_series(r)[r[0]],
    "get_queue_length_summary": lambda a, r: a.get_queue_length_summary(r),
    "get_queue_length_time_series": lambda a, r: a.get_queue_length_time_series(r)[r[0]],
    "get_time_spent_blocked_on_full_queue":
        lambda a, r: a.get_time_spent_blocked_on_full_queue(a.get_queue_length_time_series(r)),
    "get_cuda_kernel_launch_stats": lambda a, r: a.get_cuda_kernel_launch_stats(r, **QUIET)[r[0]],
    "get_aten_op_kernels_and_delay": lambda a, r: a.get_aten_op_kernels_and_delay(r)[r[0]],
    "get_frequent_cuda_kernel_sequences":
        lambda a, r: a.get_frequent_cuda_kernel_sequences("aten::clone", a.folder, min_pattern_len=1),
    "get_cupti_counter_data_with_operators_0": lambda a, r: a.get_cupti_counter_data_with_operators(r)[0],
    "get_gpu_kernels_with_user_annotations": lambda a, r: a.get_gpu_kernels_with_user_annotations(r[0]),
}
TRACES = {
    "get_gpu_user_annotation_breakdown__gpu": "nccl.json.gz",
    "get_aten_op_kernels_and_delay": "nccl.json.gz",
    "get_gpu_kernels_with_user_annotations": "nccl.json.gz",
    "get_cupti_counter_data_with_operators_0": "cupti.json.gz",
}
DTYPES = hta_answers.dtypes()


def is_text(dtype):
    """HTA's were recorded with pandas 1.5; since pandas 3 texts have a type of their own."""
    return str(dtype) in ("object", "str")


@pytest.mark.skipif(not DTYPES, reason="no recorded answers at hand")
@pytest.mark.parametrize("name", DTYPES)
def test_index_and_dtypes(name, tmp_path):
    analysis = hta_answers.open_trace(TRACES.get(name, "two_ranks"))
    analysis.folder = str(tmp_path)
    frame, want = CALLS[name](analysis, analysis.t.get_ranks()), DTYPES[name]
    columns = [tuple(c) if isinstance(c, list) else c for c in want["columns"]]
    if name == "get_gpu_kernels_with_user_annotations":  # comes with the trace's other columns as well
        assert set(columns) <= set(frame.columns)
    else:  # the order of counters is that of a set in HTA
        order = [c for c in frame.columns if "smsp__" not in c], [c for c in columns if "smsp__" not in c]
        assert order[0] == order[1] and set(frame.columns) == set(columns)
    for column, dtype in zip(columns, want["dtypes"]):
        got = frame[column].dtype
        assert str(got) == dtype or (dtype == "object" and is_text(got)), (column, got, dtype)
    assert list(frame.index.names) == want["index_names"]
    assert str(frame.index.dtype) == want["index_dtype"] or (want["index_dtype"] == "object" and is_text(frame.index.dtype))
    # pandas 2 has one class for what was Index and Int64Index
    assert type(frame.index).__name__ in ([want["index_type"]] if want["index_type"] != "Int64Index" else ["Int64Index", "Index"])
