"""The modules around HTA's Trace: filters, call graphs, timelines, configuration, files."""
import json
import logging

import pytest

from conftest import ROOT

pd = pytest.importorskip("pandas")

from rankscope.hta import TraceAnalysis  # noqa: E402
from rankscope.hta._answers import rules  # noqa: E402
from rankscope.hta.common import execution_trace  # noqa: E402
from rankscope.hta.common import call_stack, trace_call_stack, trace_df, trace_file, trace_filter, trace_stack_filter  # noqa: E402
from rankscope.hta.common.trace import Trace, add_fwd_bwd_links, transform_correlation_to_index  # noqa: E402
from rankscope.hta.common.trace_call_graph import CallGraph  # noqa: E402
from rankscope.hta.common.trace_parser import _compress_df, parse_trace_dataframe  # noqa: E402
from rankscope.hta.common.trace_symbol_table import TraceSymbolTable  # noqa: E402
from rankscope.hta.configs.config import HtaConfig  # noqa: E402
from rankscope.hta.configs.default_values import YamlVersion  # noqa: E402
from rankscope.hta.configs.env_options import HTAEnvOptions, get_options  # noqa: E402
from rankscope.hta.configs import parser_config  # noqa: E402
from rankscope.hta.utils import checker, utils, validate_trace  # noqa: E402


@pytest.fixture(scope="module")
def decoded(small):
    trace = Trace(trace_dir=str(small))
    trace.parse_traces()
    trace.decode_symbol_ids(use_shorten_name=False)
    return trace


def frame_of(rows, columns="index ts dur tid stream index_correlation s_name s_cat"):
    frame = pd.DataFrame(rows, columns=columns.split())
    frame["pid"], frame["end"], frame["iteration"] = 1, frame["ts"] + frame["dur"], 5
    return frame


# A step on thread 1, its backward pass on thread 2, and a kernel that this launched.
JOINED = frame_of([
    (0, 0, 100, 1, -1, -1, "ProfilerStep#5", "user_annotation"),
    (1, 10, 80, 1, -1, -1, "## backward ##", "user_annotation"),
    (2, 12, 40, 2, -1, -1, "autograd::engine::evaluate_function: Mm", "cpu_op"),
    (3, 15, 10, 2, -1, 5, "cudaLaunchKernel", "cuda_runtime"),
    (4, 200, 5, 2, -1, -1, "late", "cpu_op"),
    (5, 60, 25, 7, 7, 3, "gemm", "kernel"),
])


# ---- call graphs -----------------------------------------------------------------------------------------------------


def test_threads_are_joined_and_work_hangs_below_its_launch():
    frame = JOINED.assign(name=JOINED["s_name"], cat=JOINED["s_cat"])
    graph = CallGraph.from_dataframe(frame, rank=3)
    rows = graph.trace_data.get_trace(3).set_index("index")
    assert "parent" not in frame.columns
    assert rows["parent"].to_dict() == {0: -1, 1: 0, 2: 1, 3: 2, 4: -2, 5: 3}
    assert rows["depth"].tolist() == [0, 1, 2, 3, 0, 4] and rows["height"].tolist() == [4, 3, 2, 1, 1, 0]
    assert rows["num_kernels"].tolist() == [1, 1, 1, 1, 0, 1] and rows["kernel_dur_sum"].tolist() == [25] * 4 + [0, 25]
    assert rows["first_kernel_start"].tolist() == [60] * 4 + [-1, 60] and rows["last_kernel_end"].tolist() == [85] * 4 + [-1, 85]
    assert sorted(graph.mapping["label"]) == ["bwd", "main"]
    assert graph.get_stack_of_node(5)["index"].tolist() == [0, 1, 2, 3, 5]
    assert graph.get_stack_of_node(2, skip_ancestors=True)["index"].tolist() == [2, 3, 5]
    assert graph.get_csg_of_node(5).identity == trace_call_stack.CallStackIdentity(3, 1, 2)
    assert graph.get_gpu_kernels()["index"].tolist() == [5]
    with pytest.raises(ValueError, match="no event 99"):
        graph.get_stack_of_node(99)


def test_call_graph_of_a_trace(decoded):
    graph = CallGraph(decoded, ranks=[0])
    rows = decoded.get_trace(0)
    work = rows[(rows["stream"] > 0) & (rows["index_correlation"] > 0)]
    assert (work["height"] == 0).all() and (work["parent"] == work["index_correlation"]).all()
    steps = rows[rows["s_name"].str.startswith("ProfilerStep") & (rows["s_cat"] == "user_annotation")]
    assert (steps["depth"] == 0).all() and steps["num_kernels"].sum() > 50
    launches = rows[rows["s_name"] == "cudaLaunchKernel"]
    assert (launches["num_kernels"] == 1).all() and (launches["height"] == 1).all()
    inner = rows[(rows["stream"] == -1) & (rows["parent"] >= 0)]
    outer = rows.set_index("index").loc[inner["parent"]]
    assert (outer["ts"].to_numpy() <= inner["ts"].to_numpy()).all() and (outer["depth"].to_numpy() + 1 == inner["depth"].to_numpy()).all()
    kernel = work["index"].iloc[0]
    stack = graph.get_stack_of_node(kernel)
    assert stack["depth"].tolist() == list(range(len(stack))) and stack["index"].iloc[-1] == kernel


@pytest.mark.parametrize("rows, parents", [
    ([(0, 0, 10), (1, 0, 5), (2, 5, 5)], [-1, 0, 0]),
    ([(0, 0, 10), (1, 4, 12), (2, 12, 1)], [-1, 0, 1]),  # what overlaps lies in what began before
    ([(0, 0, 0), (1, 0, 5), (2, 5, 0), (3, 5, 0), (4, 6, 0)], [1, -1, 1, 2, -1]),  # what takes no time
])
def test_nesting(rows, parents):
    frame = pd.DataFrame(rows, columns=["index", "ts", "dur"])
    graph = call_stack.CallStackGraph(frame, call_stack.CallStackIdentity(0, 1, 2))
    assert [graph.get_parent(index) for index, *_ in rows] == parents
    assert graph.get_parent(99) == -2 and graph.get_children(99) == [] and graph.get_path_to_root(99) == []
    seen = []
    graph.dfs_traverse(lambda index, node: seen.append(index), lambda index, node: seen.append(-100 - index))
    assert len(seen) == 2 * len(graph.get_nodes())


# ---- filters ---------------------------------------------------------------------------------------------------------


def test_filters_one_after_the_other(decoded):
    frame, symbols = decoded.get_trace(0), decoded.symbol_table
    first = trace_filter.FirstIterationFilter()
    work = trace_filter.CompositeFilter([first, trace_filter.GPUKernelFilter(), trace_filter.NameFilter("nccl")])(frame, symbols)
    assert len(work) and (work["iteration"] == 10).all() and work["s_name"].str.startswith("nccl").all()
    host = trace_filter.CPUOperatorFilter()(frame, symbols)
    assert len(host) + len(trace_filter.GPUKernelFilter()(frame, symbols)) == len(frame)
    begin, end = int(frame["ts"].quantile(0.2)), int(frame["ts"].quantile(0.6))
    inside = trace_filter.TimeRangeFilter((begin, end))(frame)
    assert 0 < len(inside) < len(frame) and (inside["ts"] >= begin).all() and (inside["ts"] + inside["dur"] <= end).all()
    assert len(trace_filter.ZeroDurationFilter(frame)) == (frame["dur"] > 0).sum()
    assert len(trace_filter.MemCopyEventFilter("no such copy")(frame, symbols)) == 0


@pytest.mark.parametrize("make, error", [
    (lambda: trace_filter.IterationFilter("x"), TypeError), (lambda: trace_filter.RankFilter(None), TypeError),
    (lambda: trace_filter.TimeRangeFilter((5, 3)), ValueError), (lambda: trace_filter.TimeRangeFilter(3), ValueError),
    (lambda: trace_filter.CompositeFilter([3]), TypeError)])
def test_wrong_filters(make, error):
    with pytest.raises(error):
        make()


def test_operators_in_time():
    under = trace_stack_filter.UnderOperatorFilter("## backward ##", 0, include_gpu_kernels=True)(JOINED)
    assert under["index"].tolist() == [1, 2, 3, 5]
    assert trace_stack_filter.AfterOperatorFilter("## backward ##", -1)(JOINED)["index"].tolist() == [4]
    assert trace_stack_filter.BeforeOperatorFilter("late", 0)(JOINED)["index"].tolist() == [0, 1, 2, 3]
    assert len(trace_stack_filter.UnderOperatorFilter("nowhere", 0)(JOINED)) == 0
    both = trace_stack_filter.CombinedOperatorFilter("ProfilerStep#5", "no", "no", stack_depths=[1])
    assert both(JOINED.assign(depth=[0, 1, 2, 3, 0, 4]))["index"].tolist() == [1]
    found, row = trace_df.find_op_occurrence(JOINED, "late", -1)
    assert found and row["ts"] == 200 and trace_df.get_iterations(JOINED) == [5]


# ---- timelines -------------------------------------------------------------------------------------------------------


def test_timeline(decoded, tmp_path):
    pytest.importorskip("plotly")
    from rankscope.hta.analyzers.timeline import prepare_timeline_gpu_events
    from rankscope.hta.common import timeline
    CallGraph(decoded, ranks=[0])
    frame = decoded.get_trace(0)
    chart = timeline.Timeline(frame, decoded.symbol_table, setting=timeline.TimelinePlotSetting(plot_format=timeline.PlotFormat.HTML))
    lanes = set(chart.timeline_events["task"])
    assert "cpu level 000" in lanes and "gpu stream 007" in lanes
    text = timeline.plot_events_timeline("t", chart.timeline_events, chart.setting, output_image_path=str(tmp_path / "t.html"))
    assert "plotly" in text and (tmp_path / "t.html").stat().st_size > 10000
    steps = timeline.align_module_with_kernels(frame, ["ProfilerStep"], decoded.symbol_table)
    marks = steps[steps["stream"] == 0]
    assert len(marks) == 2 and (marks["ts"] == marks["first_kernel_start"]).all() and len(steps) == 2 + (frame["stream"] > 0).sum()
    work = prepare_timeline_gpu_events(frame.assign(rank=0), decoded.symbol_table, streams=[7])
    assert set(work["task"]) == {"rank 0 stream 7"} and timeline.plot_events_timeline("t", pd.DataFrame()) is None


# ---- configuration ---------------------------------------------------------------------------------------------------


def test_columns_by_configuration(small):
    file = str(small / "rank0.json.gz")
    few = parser_config.ParserConfig(parser_config.ParserConfig.get_minimum_args())
    few.add_args([parser_config.AVAILABLE_ARGS[key] for key in ("threads::grid", "kernel::queued", "cpu_op::sequence_number")])
    meta, frame, symbols = parse_trace_dataframe(file, few)
    assert {"grid", "queued", "sequence"} <= set(frame.columns) and "bytes" not in frame.columns
    kernel = frame[frame["name"].isin(symbols.get_symbol_ids("sm90_").values())].iloc[0]
    assert isinstance(kernel["grid"], list) and len(kernel["grid"]) == 3 and (frame.loc[frame["stream"] < 0, "queued"] == -1).all()
    assert meta["distributedInfo"]["rank"] == 0 and "ProfilerStep#10" in symbols.sym_index
    every = parse_trace_dataframe(file, parser_config.ParserConfig(parse_all_args=True))[1]
    assert {"grid", "registers_per_thread", "fwd_thread_id", "bytes", "est_occupancy"} <= set(every.columns)


def test_default_configuration(small, monkeypatch):
    monkeypatch.setattr(parser_config, "_default", parser_config._default)
    monkeypatch.setattr(parser_config, "_default_given", False)
    parser_config.ParserConfig.set_default_cfg(parser_config.ParserConfig([parser_config.AVAILABLE_ARGS["data::bytes"]]))
    trace = Trace(trace_dir=str(small))
    trace.parse_traces()
    assert "bytes" in trace.get_trace(0) and "input_dims" not in trace.get_trace(0)
    assert "input_dims" in TraceAnalysis(trace_dir=str(small)).get_gpu_kernels_with_user_annotations(0)  # its own frame


def test_names_of_arguments():
    name = parser_config.ParserConfig.transform_arg_name
    assert [name(raw) for raw in ("Fwd thread id", "memory bandwidth (GB/s)", "est. achieved occupancy %", "name")] == [
        "fwd_thread_id", "memory_bandwidth", "est_achieved_occupancy", "arg_name"]
    with pytest.raises(ValueError, match="1.0.0"):
        YamlVersion.from_string("1.0")


def test_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("HTA_DISABLE_CG_DEPTH", "1")
    assert "disable_call_graph_depth=True" in get_options() and "disable_ns_rounding=False" in get_options()
    (tmp_path / "c.json").write_text(json.dumps({"a": {"b": 1}}))
    config = HtaConfig(str(tmp_path / "c.json"), load_default_paths=False)
    assert config.get_config("a.b") == 1 and config.get_config("a.c", 7) == 7 and config.get_config("a.b.c") is None


# ---- files and small helpers -----------------------------------------------------------------------------------------


def test_files(tmp_path, caplog):
    for name, rank in (("a.json.gz", 3), ("b.json", 4)):
        trace_file.write_trace({"traceEvents": [{"ph": "X"}]}, str(tmp_path / "run" / name))
        trace_file.update_trace_rank(str(tmp_path / "run" / name), rank)
    assert trace_file.get_trace_files(str(tmp_path / "run")) == {3: str(tmp_path / "run" / "a.json.gz"), 4: str(tmp_path / "run" / "b.json")}
    trace_file.write_trace({"traceEvents": []}, str(tmp_path / "c.json"))
    with caplog.at_level(logging.WARNING, "rankscope.hta"):
        assert trace_file.create_rank_to_trace_dict([str(tmp_path / "c.json")] * 2)[1] == {0: str(tmp_path / "c.json")}
    assert "does not have the rank" in caplog.text and "same rank" in caplog.text
    with pytest.raises(ValueError, match="txt"):
        trace_file.read_trace(str(tmp_path / "x.txt"))


def test_helpers(tmp_path):
    assert [utils.get_kernel_type(name) for name in ("ncclKernel_AllReduce", "Memcpy DtoH (Device)", "gemm", "Context Sync")] == [
        "COMMUNICATION", "MEMORY", "COMPUTATION", "OTHER"]
    merged = utils.merge_kernel_intervals(pd.DataFrame({"ts": [5, 0, 20], "dur": [5, 6, 1]}))
    assert merged.to_dict("list") == {"ts": [0, 20], "end": [10, 21]}
    assert checker.is_valid_directory(str(tmp_path)).success and "not exist" in checker.is_valid_directory("/nowhere").reason
    frame = pd.DataFrame({"index": [1, 2, 3], "name": [0, 0, 0], "correlation": [15, 15, 16], "stream": [-1, 7, 7]})
    assert transform_correlation_to_index(frame, TraceSymbolTable())["index_correlation"].tolist() == [2, 1, 0]


def test_longest_path_under_other_weights(small):
    graph, _ = TraceAnalysis(trace_dir=str(small)).critical_path_analysis(0, "ProfilerStep", 0)
    nodes, weight = graph.critical_path_nodes, graph.path_weight
    assert graph.critical_path() and graph.path_weight == weight
    u, v = max(zip(nodes, nodes[1:]), key=lambda pair: graph.edges[pair]["weight"])
    saved = graph.edges[u, v]["weight"]
    graph.edges[u, v]["weight"] = 0
    assert graph.critical_path() and weight - saved <= graph.path_weight < weight
    assert graph._get_node_name(graph.node_list[nodes[1]].ev_idx)


# ---- rows of frames at hand ------------------------------------------------------------------------------------------


def test_switches_are_the_environments_unless_set(monkeypatch):
    monkeypatch.setattr(HTAEnvOptions, "_instance", None)
    options = HTAEnvOptions.instance()
    assert options is HTAEnvOptions.instance() and not options.disable_ns_rounding()
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
    assert options.disable_ns_rounding() and rules() == "hta-exact"
    options.set_disable_ns_rounding(False)
    assert not options.disable_ns_rounding() and rules() == "hta"


def test_calls_end_with_their_callers():
    """A call outlasts its caller, and by that the caller's caller; a call of another thread stays; a circle ends."""
    rows = [(0, 0, 15, 1, 100, -1), (1, 2, 10, 1, 101, 100), (2, 4, 10, 1, 102, 101), (3, 6, 20, 1, 103, 102),
            (4, 7, 30, 2, 104, 102), (5, 0, 9, 1, 105, 106), (6, 0, 9, 1, 106, 105)]
    frame = pd.DataFrame(rows, columns="index ts dur tid python_id python_parent_id".split()).assign(pid=1, stream=-1)
    frame["end"] = frame["ts"] + frame["dur"]
    trace = Trace(trace_files={}, trace_dir="")
    trace.traces[0], trace.is_parsed = frame, True
    call_stack.CallGraph(trace, pre_process_trace_data=True)
    assert frame["dur"].tolist() == [15, 10, 8, 6, 30, 9, 9] and frame["end"].tolist() == [15, 12, 12, 12, 37, 9, 9]


def test_arrows_join_forward_and_backward():
    columns = "index cat ts dur tid pid ph id bp".split()
    frame = pd.DataFrame([
        (0, "cpu_op", 100, 50, 1, 9, "X", 0, ""),
        (1, "cpu_op", 100, 20, 1, 9, "X", 0, ""),  # of two that begin together the last
        (2, "cpu_op", 200, 50, 2, 9, "X", 0, ""),
        (3, "fwdbwd", 100, 0, 1, 9, "s", 5, ""),
        (4, "fwdbwd", 200, 0, 2, 9, "f", 5, "e"),
        (5, "fwdbwd", 200, 0, 1, 9, "f", 6, "e"),  # no operator begins there
    ], columns=columns)
    add_fwd_bwd_links(frame)
    assert frame["fwdbwd_index"].tolist() == [-1, 2, 1, -1, -1, -1] and frame["fwdbwd"].tolist() == [-1, 0, 1, -1, -1, -1]


def test_the_last_step_is_cut_off_as_by_the_engine(small):
    for last in (False, True):
        trace = Trace(trace_dir=str(small))
        trace.parse_traces()
        whole = trace.get_trace(0)
        trace._filter_irrelevant_gpu_kernels(last)
        cut = trace.get_trace(0)
        assert len(cut) < len(whole) or last
        trace.align_and_filter_trace(last)
        assert sorted(cut["index"]) == sorted(trace.get_trace(0)["index"])


def test_copies_of_mtia_get_stream_and_step():
    trace = Trace(trace_files={}, trace_dir="")
    trace.symbol_table = TraceSymbolTable(["ProfilerStep#7", "dma_request", "aten::add"])
    rows = [(0, 0, 50, -1, 1, 7), (1, 10, 10, 3, 2, -1), (1, 20, 10, -1, 3, 7), (1, 60, 10, 4, 4, -1), (2, 40, 10, -1, 5, -1)]
    frame = pd.DataFrame(rows, columns="name ts dur stream tid iteration".split())
    with pytest.warns(DeprecationWarning):
        trace._fix_mtia_memory_kernels(frame)
    assert frame["stream"].tolist() == [-1, 3, 3, 4, -1] and frame["iteration"].tolist() == [7, 7, 7, -1, -1]


def test_frames_of_events_are_made_small():
    frame = pd.DataFrame({"ph": ["X", "M", "X"], "name": ["mm", "process", "Trace"], "cat": ["cpu_op", None, "Trace"],
                          "dur": [3, None, 9], "args": [{"External id": 4}, {}, {}]})
    frame, symbols = _compress_df(frame, parser_config.ParserConfig())
    assert len(frame) == 1 and "ph" not in frame and symbols.get_sym_table() == ["cpu_op", "mm"]
    assert frame["external_id"].tolist() == [4] and frame["stream"].tolist() == [-1] and frame["name"].tolist() == [1]
    assert len(_compress_df(pd.DataFrame({"ph": ["M"], "name": ["process"]}))[0]) == 0


# ---- other files -----------------------------------------------------------------------------------------------------


def test_a_trace_is_validated(tmp_path):
    def answer(trace, **options):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(trace))
        return validate_trace.validate_trace_format(str(path), **options)

    def event(**args):
        return {"traceEvents": [{"name": "mm", "args": args}]}

    assert answer(event(stream=7)) == (True, {}) == answer(event(unheard=1))
    assert answer(event(unheard=1), ignore_missing_arguments=False)[1] == {"skipped_arguments": {"unheard": 1}}
    good, errors = answer(event(**{"External id": "x"}))
    assert not good and "'x' is a str" in errors["type_violations"]["External id"]
    assert "args_data_type" in answer({"traceEvents": [{"args": 3}]})[1]
    assert "trace_data_error" in answer([])[1] and "trace_data_error" in answer({})[1]
    assert "trace_read_error" in validate_trace.validate_trace_format(str(tmp_path / "none.json"))[1]
    with pytest.raises(KeyError, match="minimal, standard, complete"):
        validate_trace.get_argument_spec("some")


def test_operators_find_their_nodes_of_an_execution_trace(tmp_path, caplog):
    folder = ROOT / "src" / "packs" / "chakra" / "tests" / "data" / "chakra"
    trace = Trace(trace_files={0: str(folder / "device.json.gz")})
    host = execution_trace.load_execution_trace(str(folder / "host.json.gz"))
    trace.load_traces()
    execution_trace.correlate_execution_trace(trace, 0, host)
    frame = trace.get_trace(0).copy()
    for column in execution_trace.COLUMNS:
        execution_trace.add_et_column(frame, host, column)
    found = frame[frame["et_node"].notna()]
    assert len(found) > 100 and found["et_node"].is_unique
    assert (trace.symbol_table.decode(found["name"]) == found["et_node_name"]).mean() > 0.99
    mm = found[found["et_node_name"] == "aten::mm"].iloc[0]
    assert len(mm["input_shapes"]) == len(mm["input_types"]) == 2 and len(mm["output_shapes"]) == 1
    old = {"schema": "1.0.1", "nodes": [{"id": 1, "name": "a", "parent": 0, "rf_id": 3, "op_schema": "a(Tensor x)", "inputs": [5], "input_shapes": [[]]}]}
    (tmp_path / "old.json").write_text(json.dumps(old))
    node = execution_trace.load_execution_trace(str(tmp_path / "old.json")).nodes[1]
    assert (node.rf_id, node.op_schema, node.inputs, node.input_shapes, node.output_types) == (3, "a(Tensor x)", [5], [[]], [])
    execution_trace.add_et_column(frame, host, "colour")
    assert "no column colour" in caplog.text
    with pytest.raises(ValueError, match="list of nodes"):
        execution_trace.ExecutionTrace({})
