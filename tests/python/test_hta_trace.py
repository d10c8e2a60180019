"""HTA's Trace, TraceSymbolTable and LabeledTrace: what notebooks program against."""
import gzip
import json

import pytest

pd = pytest.importorskip("pandas")

from rankscope import _engine, hta  # noqa: E402
from rankscope.hta import DeviceType, LabeledTrace, TimeSeriesTypes, TraceAnalysis  # noqa: E402
from rankscope.hta.common.trace import Trace  # noqa: E402
from rankscope.hta.common.trace_symbol_table import TraceSymbolTable  # noqa: E402
from rankscope.hta.common.types import GroupingPattern, to_grouping_pattern  # noqa: E402


@pytest.fixture(scope="module")
def trace(small):
    return TraceAnalysis(trace_dir=str(small)).t


def raw_events(small, rank=0):
    with gzip.open(small / ("rank%d.json.gz" % rank)) as file:
        return json.load(file)["traceEvents"]


# ---- loading ---------------------------------------------------------------------------------------------------------


def test_parsed_traces_have_all_rows_and_the_files_times(small):
    parsed = Trace(trace_dir=str(small))
    assert parsed.trace_files == {rank: str(small / ("rank%d.json.gz" % rank)) for rank in (0, 1)} and parsed.get_ranks() == []
    parsed.parse_traces()
    raw = raw_events(small)
    complete = [event for event in raw if event["ph"] == "X" and event.get("cat") != "Trace"]
    frame = parsed.get_trace(0)
    assert abs(frame["ts"].min() - min(event["ts"] for event in complete)) <= 1
    assert frame["index"].is_monotonic_increasing and set(frame["iteration"]) >= {10, 11}
    assert parsed.min_ts == min(parsed.get_trace(rank)["ts"].min() for rank in (0, 1))
    before = len(frame)
    parsed.align_and_filter_trace()
    aligned = parsed.get_trace(0)
    assert len(aligned) < before and 0 <= aligned["ts"].min() < 1000
    rows = frame.set_index("index").loc[aligned["index"]]
    assert (rows["ts"].to_numpy() - parsed.min_ts == aligned["ts"].to_numpy()).all()


def test_some_ranks(small):
    one = Trace(trace_dir=str(small))
    one.parse_traces(max_ranks=1)
    assert one.get_ranks() == [0] and one.is_parsed
    one.parse_single_rank(1)
    one.parse_single_rank(99)
    assert one.get_ranks() == [0, 1]
    none = Trace(trace_dir=str(small))
    none.trace_files = {}
    none.parse_traces()
    assert not none.is_parsed and none.get_ranks() == []


def test_durations_and_steps(trace):
    frame = trace.get_trace(0)
    assert trace.get_trace_duration() == trace.get_trace_duration(0) == frame["ts"].max() - frame["ts"].min()
    assert trace.get_iterations() == [10, 11] and trace.get_iterations(999) == []


@pytest.mark.parametrize("ask", [
    lambda t: t.get_trace(999), lambda t: t.get_raw_trace_for_one_rank(999), lambda t: t.get_trace_start_unixtime_ns(999)])
def test_unknown_ranks_say_which_there_are(trace, ask):
    with pytest.raises(ValueError, match=r"rank 999 is not among the traces; there are \[0, 1\]"):
        ask(trace)


def test_files_of_any_packing(small, tmp_path):
    with gzip.open(small / "rank0.json.gz") as file:
        text = file.read()
    wanted = json.loads(text)
    pyarrow = pytest.importorskip("pyarrow")
    packed = tmp_path / "rank0.json.zst"
    with pyarrow.CompressedOutputStream(str(packed), "zstd") as out:
        out.write(text)
    plain = tmp_path / "rank1.json"
    plain.write_bytes(text.replace(b'"rank": 0', b'"rank": 1'))
    analysis = TraceAnalysis({0: str(packed), 1: str(plain)})
    assert analysis.t.get_raw_trace() == wanted
    assert {key: analysis.t.meta_data[0][key] for key in wanted if key != "traceEvents"} == \
        {key: value for key, value in wanted.items() if key != "traceEvents"}
    assert analysis.t.get_device_type() == analysis.t.meta_data[1]["device_type"] == "NVIDIA GPU"


@pytest.mark.parametrize("text, wanted", [
    (b'{"a": [1, {"traceEvents": 2}], "traceEvents": [{"x": "]}"}], "b": {"c": null}}', {"a": [1, {"traceEvents": 2}], "b": {"c": None}}),
    (b'{"a": 1, "traceEvents": [{"x": 1}, {"y"', {"a": 1}),  # breaks off
    (b'{"traceEvents": []}', {}),
    (b"\xef\xbb\xbf {}", {}),
])
def test_header_of_a_file(tmp_path, text, wanted):
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    assert json.loads(_engine.file_header(path)) == wanted
    assert _engine.file_text(str(path)) == text


def test_no_header(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(b"[]")
    with pytest.raises(Exception, match="no JSON object"):
        _engine.file_header(path)


# ---- one rank after another ------------------------------------------------------------------------------------------


def test_counters_beside_the_traces_do_not_disturb(small, tmp_path):
    import shutil
    folder = tmp_path / "traces"
    shutil.copytree(small, folder)
    analysis = TraceAnalysis(trace_dir=str(folder))
    analysis.generate_trace_with_counters(TimeSeriesTypes.QUEUE_LENGTH, ranks=[1])
    assert len(list(folder.glob("*_with_counters*"))) == 1
    for ask in (lambda: analysis.critical_path_analysis(1, "ProfilerStep", 0)[1],
                lambda: len(analysis.get_frequent_cuda_kernel_sequences("aten::mm", str(tmp_path), 1, rank=1)) > 0,
                lambda: analysis.generate_trace_with_counters(TimeSeriesTypes.QUEUE_LENGTH, ranks=[0]) is None):
        assert ask()


# ---- symbols ---------------------------------------------------------------------------------------------------------


def test_symbols_are_those_of_all_rows(small):
    table = TraceAnalysis(trace_dir=str(small)).t.symbol_table  # no frame was read
    raw = [event for rank in (0, 1) for event in raw_events(small, rank) if event["ph"] == "X" and event.get("cat") != "Trace"]
    assert {event["name"] for event in raw} | {event["cat"] for event in raw} <= set(table.get_sym_table())
    assert {"ProfilerStep#10", "ProfilerStep#11"} == set(table.get_symbol_ids(to_grouping_pattern("ProfilerStep")))
    assert [table.sym_table[number] for number in table.get_profiler_step_ids()] == sorted(
        table.get_symbol_ids("ProfilerStep#1[01]"), key=table.sym_index.get)


def test_columns_become_texts(small):
    analysis = TraceAnalysis(trace_dir=str(small))
    frame = analysis.t.get_trace(0).copy()
    wanted = analysis.t.symbol_table.decode(frame["name"])
    analysis.t.symbol_table.add_symbols_to_trace_df(frame, "name")
    assert frame["name"].tolist() == wanted.tolist() and "s_name" not in frame
    odd = pd.DataFrame({"name": [-1, 0, 10 ** 6]})
    analysis.t.symbol_table.add_symbols_to_trace_df(odd, "name")
    assert odd["name"].tolist() == ["", analysis.t.symbol_table.sym_table[0], ""]


def test_tables_of_symbols(tmp_path):
    first, second = TraceSymbolTable(["a", "b"]), TraceSymbolTable(["b", "c"])
    both = TraceSymbolTable.combine_symbol_tables([first, second])
    assert both.get_sym_table() == ["a", "b", "c"] and TraceSymbolTable.clone(both).get_sym_index() == both.get_sym_index()
    gaps = TraceSymbolTable.create_from_symbol_id_map({"x": 2, "y": 0})
    assert gaps.get_sym_table() == ["y", "Undefined-1", "x"]
    frame = pd.DataFrame({"name": ["b", "c"], "cat": ["a", "a"]})
    assert set(TraceSymbolTable.create_from_df(frame).sym_table) == {"a", "b", "c"}
    both.encode_df(frame)
    assert frame.to_dict("list") == {"name": [1, 2], "cat": [0, 0]}
    both.decode_df(frame)
    assert frame["s_name"].tolist() == ["b", "c"] and frame["name"].tolist() == [1, 2]
    reverse = TraceSymbolTable(["c", "b", "a"])
    reverse.update_encoded_df(frame, both)
    assert frame["name"].tolist() == [1, 0] and frame["cat"].tolist() == [2, 2]
    with pytest.raises(ValueError, match="name is none"):
        TraceSymbolTable.create_from_df(frame[["cat"]].assign(cat="x"))
    both._to_csv_file(tmp_path / "symbols.csv")
    assert TraceSymbolTable.from_csv_file(str(tmp_path / "symbols.csv")).sym_table == both.sym_table
    inverse = GroupingPattern(to_grouping_pattern(["a", "b"]).pattern, inverse_match=True)
    assert both.get_symbol_ids(inverse) == {"c": 2} and both.get_symbol_names([2, 7]) == {2: "c"}


# ---- comparing -------------------------------------------------------------------------------------------------------


def test_rows_of_one_side(small):
    labeled = LabeledTrace("x", trace_dir=str(small))
    every = labeled.extract_ops(0, 10)
    host, gpu = (labeled.extract_ops(0, 10, kind) for kind in (DeviceType.CPU, DeviceType.GPU))
    assert len(host) + len(gpu) == len(every) and (host["stream"] == -1).all() and (gpu["stream"] >= 0).all() and len(gpu) > 20
    assert set(labeled.extract_ops([0, 1], [10, 11])["rank"]) == {0, 1}
    summary = labeled.get_ops_summary(gpu)
    names = hta.TraceDiff.compare_traces(labeled, labeled, 0, 0, 10, 10, DeviceType.GPU)
    assert dict(zip(summary["name"], summary["counts"])) == names.iloc[:, 0].to_dict()
    assert summary["total_duration"].sum() == gpu["dur"].sum()


@pytest.mark.parametrize("given, words", [
    ({"rank": 9}, "rank 9 is not among"), ({"rank": "bad"}, "rank takes a number"), ({"iteration": 99}, "no iteration 99"),
    ({"iteration": "bad"}, "iteration takes a number")])
def test_what_one_side_has_not(small, given, words):
    with pytest.raises(ValueError, match=words):
        LabeledTrace("x", trace_dir=str(small)).extract_ops(**given)


def test_one_side_needs_a_trace():
    with pytest.raises(ValueError, match="trace_dir"):
        LabeledTrace(label="x")


# ---- counters and arrows of one's own --------------------------------------------------------------------------------


def test_series_as_events(trace):
    series = pd.DataFrame({"pid": [0, 0], "ts": [5, 7], "used": [1, 2], "id": [3, 3]})
    events = trace.convert_time_series_to_events(series, "memory", "used")
    assert events[1] == {"ph": "C", "pid": 0, "ts": 7 + trace.min_ts, "name": "memory", "args": {"memory": 2}, "id": 3}
    assert trace.convert_time_series_to_events(series, "memory", "missing") == []
    assert Trace.flow_event(1, 2, 3, 4, False, "n", "c", {"a": 1}) == {
        "ph": "f", "id": 1, "pid": 2, "tid": 3, "ts": 4, "cat": "c", "name": "n", "bp": "e", "args": {"a": 1}}


def test_a_rule_for_stragglers_of_ones_own(small):
    seen = []

    def rule(rows, symbols, candidates, visualize):
        seen.append((set(rows["rank"]), symbols, candidates, visualize))
        return rows[rows["stream"] > 0].groupby("rank")["dur"].sum()

    analysis = TraceAnalysis(trace_dir=str(small))
    slow = analysis.get_potential_stragglers(num_candidates=-1, straggler_identification_impl=rule)
    assert slow == [1] and seen == [({0, 1}, analysis.t.symbol_table, 1, False)]
