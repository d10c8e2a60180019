"""HTA's critical path as a graph that people change: with networkx and without."""
import subprocess
import sys

import pytest

pd = pytest.importorskip("pandas")

from rankscope.hta import CPEdge, CPEdgeType, TraceAnalysis, restore_cpgraph  # noqa: E402
from rankscope.hta import _cuda_events as cuda_events  # noqa: E402
from rankscope.hta.common.trace_symbol_table import TraceSymbolTable  # noqa: E402
from rankscope.hta.configs.env_options import HTAEnvOptions  # noqa: E402


@pytest.fixture
def analysis(small):
    return TraceAnalysis(trace_dir=str(small))


@pytest.fixture
def graph(analysis):
    made, ok = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=0)
    assert ok
    return made


@pytest.fixture(autouse=True)
def switches(monkeypatch):
    monkeypatch.setattr(HTAEnvOptions, "_instance", None)


def heaviest(graph):
    """The edge of the path that takes longest."""
    pairs = zip(graph.critical_path_nodes, graph.critical_path_nodes[1:])
    return max(pairs, key=lambda pair: graph.edges[pair]["weight"])


def test_it_is_a_graph_of_networkx(graph):
    nx = pytest.importorskip("networkx")
    assert isinstance(graph, nx.DiGraph) and nx.is_directed_acyclic_graph(graph)
    assert nx.dag_longest_path_length(graph) == graph.path_weight
    u, v = heaviest(graph)
    assert graph[u][v] is graph.edges[u, v] and graph.pred[v][u]["object"].type == CPEdgeType.OPERATOR_KERNEL
    part = graph.subgraph(graph.critical_path_nodes)
    assert part.number_of_nodes() == len(graph.critical_path_nodes) and nx.has_path(part, u, v)
    twin = graph.copy()
    twin.remove_edge(u, v)
    assert graph.has_edge(u, v) and twin.number_of_edges() == graph.number_of_edges() - 1
    assert nx.ancestors(graph.reverse(), u) == nx.descendants(graph, u)


def test_the_path_found_again_is_that_of_the_engine(graph):
    before, nodes, weight = graph.get_critical_path_breakdown(), graph.critical_path_nodes, graph.path_weight
    assert graph.critical_path()
    assert graph.critical_path_nodes == nodes and graph.path_weight == weight
    pd.testing.assert_frame_equal(graph.get_critical_path_breakdown(), before)


@pytest.mark.parametrize("loads", [None, ["aten::to"]])
def test_a_shorter_edge_moves_the_path(analysis, loads):
    graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0, data_load_events=loads)
    labels = set(graph.get_critical_path_breakdown()["bound_by"])
    u, v = heaviest(graph)
    weight, whole = graph.path_weight, graph.edges[u, v]["weight"]
    graph.edges[u, v]["weight"] = 0
    assert graph.critical_path() and weight - whole <= graph.path_weight < weight
    rows = graph.get_critical_path_breakdown()
    assert rows["duration"].sum() == graph.path_weight and len(rows) == len(graph.critical_path_nodes) - 1
    assert rows["s_name"].notna().any() and set(rows["bound_by"]) <= labels | {"", "cpu_bound"}
    assert graph.summary().sum() == pytest.approx(100)
    nx = pytest.importorskip("networkx")
    assert nx.dag_longest_path_length(graph) == graph.path_weight


def test_a_changed_graph_is_kept_as_it_is(graph, analysis, tmp_path):
    u, v = heaviest(graph)
    graph.edges[u, v]["weight"] = 1
    graph._add_edge(CPEdge(0, len(graph.node_list) - 1, 10**9, CPEdgeType.DEPENDENCY))
    assert graph.critical_path() and graph.path_weight >= 10**9
    again = restore_cpgraph(graph.save(str(tmp_path / "kept")), analysis.t, 0)
    assert again.critical_path_nodes == graph.critical_path_nodes and again.path_weight == graph.path_weight
    assert again.edges[u, v]["weight"] == 1 and again.number_of_edges() == graph.number_of_edges()
    pd.testing.assert_frame_equal(again.get_critical_path_breakdown(), graph.get_critical_path_breakdown())
    again.edges[0, len(graph.node_list) - 1]["weight"] = 0
    assert again.critical_path() and again.path_weight < 10**9
    bare = restore_cpgraph(graph.save(str(tmp_path / "kept")))
    bare.edges[0, len(graph.node_list) - 1]["weight"] = 0
    assert bare.critical_path()
    with pytest.raises(ValueError, match="t_full=analyzer.t"):
        bare.get_critical_path_breakdown()


def test_circles_and_negative_weights(graph, caplog):
    assert graph._validate_graph()
    u, v = heaviest(graph)
    graph._add_edge(CPEdge(u, v, -5, CPEdgeType.OPERATOR_KERNEL))
    assert graph._validate_graph() and graph.edges[u, v]["weight"] == 0  # as HTA takes it
    HTAEnvOptions.instance().set_critical_path_strict_negative_weight_check(True)
    assert not graph._validate_graph() and "ends before it begins" in caplog.text
    graph._add_edge(CPEdge(v, u, 0, CPEdgeType.DEPENDENCY))
    assert not graph.critical_path() and "circle" in caplog.text


def test_launch_edges_of_no_weight(analysis, graph, monkeypatch):
    monkeypatch.setenv("CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE", "1")
    more, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)
    added = [more.edges[pair]["object"] for pair in set(more.edges) - set(graph.edges)]
    assert added and {(edge.type, edge.weight) for edge in added} == {(CPEdgeType.KERNEL_LAUNCH_DELAY, 0)}
    frame = analysis.t.get_trace(0)
    launch = dict(zip(frame["index"], frame["index_correlation"]))
    assert all(launch[work] == call for call, work in map(more.get_events_for_edge, added))
    assert more.critical_path_nodes == graph.critical_path_nodes


WITHOUT = """
import sys
sys.modules["networkx"] = None
from rankscope.hta import TraceAnalysis
graph, _ = TraceAnalysis(trace_dir=sys.argv[1]).critical_path_analysis(0, "ProfilerStep", 0)
nodes = list(graph.critical_path_nodes)
assert graph.critical_path() and graph.critical_path_nodes == nodes and graph._validate_graph()
u, v = nodes[:2]
assert graph[u][v] is graph.edges[u, v] and (u, v) in graph.edges and v in graph.successors(u) and u in graph.predecessors(v)
assert graph.out_edges(u, data="weight")[0][2] == graph.edges[u, graph.out_edges(u)[0][1]]["weight"]
assert len(graph.edges(data=True)) == len(graph.edges) == graph.number_of_edges() and len(graph.nodes) == graph.order()
print(len(graph), graph.number_of_edges(), graph.path_weight)
"""


def test_without_networkx(small, graph):
    run = subprocess.run([sys.executable, "-c", WITHOUT, str(small)], capture_output=True, text=True)
    assert run.stdout.split() == [str(n) for n in (len(graph), graph.number_of_edges(), graph.path_weight)], run.stderr


# ---- CUDA's events ---------------------------------------------------------------------------------------------------


def test_records_and_waits_find_their_launches():
    """Two launches onto stream 7 around a record on it, which stream 8 waits for before its own launch."""
    names = "cudaLaunchKernel cudaEventRecord cudaStreamWaitEvent gemm|Stream Wait Event".replace("|", " ").split(" ", 4)
    symbols = TraceSymbolTable([*names, "kernel", "cuda_runtime", "cuda_sync"])
    number = symbols.get_sym_id_map()
    rows = [  # index, name, ts, stream, correlation, index_correlation, wait_on_stream, wait_on_cuda_event_record_corr_id
        (1, "cudaLaunchKernel", 10, -1, 1, 11, -1, -1),
        (2, "cudaEventRecord", 20, -1, 2, -1, -1, -1),
        (3, "cudaLaunchKernel", 30, -1, 3, 13, -1, -1),
        (4, "cudaStreamWaitEvent", 40, -1, 4, 14, -1, -1),
        (5, "cudaLaunchKernel", 50, -1, 5, 15, -1, -1),
        (6, "cudaEventRecord", 60, -1, 6, -1, -1, -1),
        (11, "gemm", 12, 7, 1, 1, -1, -1),
        (13, "gemm", 32, 7, 3, 3, -1, -1),
        (14, "Stream Wait Event", 42, 8, 4, 4, 7, 2),
        (15, "gemm", 52, 8, 5, 5, -1, -1),
    ]
    columns = "index name ts stream correlation index_correlation wait_on_stream wait_on_cuda_event_record_corr_id"
    frame = pd.DataFrame(rows, columns=columns.split()).assign(tid=1)
    frame["name"] = frame["name"].map(number)
    frame["pid"] = (frame["stream"] == -1) * 100
    records, waits = cuda_events.records(frame, symbols), cuda_events.waits(frame, symbols)
    assert records[["correlation", "stream", "gpu", "index_previous_launch", "correlation_launch_event"]].values.tolist() == [[2, 7, 0, 1, 1]]
    assert waits["index_next_launch"].to_dict() == {4: 5} and waits["stream"].tolist() == [8]
    assert cuda_events.waits(frame[frame["ts"] < 50], symbols)["index_next_launch"].tolist() == [-1]
    assert cuda_events.records(frame, TraceSymbolTable(["gemm"])) is None
