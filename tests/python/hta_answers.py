"""HTA's recorded answers, asked through the Python API: which call a recorded command line stands for, and how its
frame is compared."""
import csv
import gzip
import io
import json
import math
import os
import pathlib
import re
import shutil

from rankscope.hta import CPEdgeType, TraceAnalysis

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CORPUS = pathlib.Path(os.environ.get("RANKSCOPE_CORPUS") or ROOT.parent / "shared" / "corpus")
ANSWERS = CORPUS.parent / "goldens" / "hta"


def cases():
    """The recorded cases; none where the corpus is not at hand."""
    path = ANSWERS / "cases.json"
    return json.loads(path.read_text()) if path.exists() else []


def pending():
    """Names of the cases that are not built yet: the lines of area hta in tests/golden/pending.txt."""
    lines = (pathlib.Path(__file__).resolve().parent.parent / "golden" / "pending.txt").read_text().splitlines()
    return {line[len("hta "):].strip() for line in lines if line.startswith("hta ")}


def dtypes():
    """Columns, dtypes and index of HTA's frames by call."""
    path = ANSWERS / "dtypes.json"
    return json.loads(path.read_text()) if path.exists() else {}


def open_trace(name):
    """The drop-in on a trace of the corpus."""
    path = CORPUS / "kineto" / "hta" / name
    return TraceAnalysis(trace_dir=str(path)) if path.is_dir() else TraceAnalysis(trace_files=[str(path)])


class Options:
    """A recorded command line."""

    def __init__(self, arguments):
        self.command = arguments[0]
        self.trace = arguments[-1].replace("{corpus}", str(CORPUS))
        self.words = arguments[1:-1]

    def flag(self, name):
        return "--" + name in self.words

    def value(self, name, otherwise=None):
        return self.words[self.words.index("--" + name) + 1] if self.flag(name) else otherwise

    @property
    def exact(self):
        return self.value("compat") == "hta-exact"


def open_analysis(options, folder=None):
    """The drop-in on a case's trace; a copy in folder where something is written beside it."""
    path = options.trace
    if folder is not None:
        copy = os.path.join(folder, os.path.basename(path))
        (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, copy)
        path = copy
    files = {"trace_dir": path} if os.path.isdir(path) else {"trace_files": [path]}
    return TraceAnalysis(include_last_profiler_step=options.flag("include-last-step"), **files)


# ---- calls ---------------------------------------------------------------------------------------------------------


def with_ranks(frames):
    import pandas as pd
    parts = [f.reset_index(drop=f.index.name is None).assign(rank=r) for r, f in frames.items()]
    return pd.concat(parts) if parts else pd.DataFrame()


def flat(frame):
    """Index to columns, the last level of a heading of two."""
    import pandas as pd
    if frame is None:
        return pd.DataFrame()
    if frame.columns.nlevels > 1:
        frame = frame.set_axis([c[-1] for c in frame.columns], axis=1)
    named = [n for n in frame.index.names if n is not None]
    return frame.reset_index() if named else frame


def ask(analysis, o, folder):
    """The frame of a case's call."""
    ranks = analysis.t.get_ranks()
    quiet = {"visualize": False}
    if o.command == "breakdown":
        return analysis.get_temporal_breakdown(**quiet)
    if o.command == "overlap":
        return analysis.get_comm_comp_overlap(**quiet)
    if o.command == "kernels":
        types, names = analysis.get_gpu_kernel_breakdown(
            num_kernels=int(o.value("top", 10)), duration_ratio=float(o.value("duration-ratio", 0.8)),
            include_memory_kernels=not o.flag("no-memory"), **quiet)
        return types if o.value("by") == "type" else names
    if o.command == "idle":
        idle, intervals = analysis.get_idle_time_breakdown(
            ranks=ranks, consecutive_kernel_delay=int(o.value("kernel-delay", 30)),
            show_idle_interval_stats=o.flag("intervals"), **quiet)
        return flat(intervals) if o.flag("intervals") else idle
    if o.command == "bandwidth":
        if o.flag("series"):
            return with_ranks(analysis.get_memory_bw_time_series(ranks))
        return flat(analysis.get_memory_bw_summary(ranks))
    if o.command == "queue":
        if o.flag("series"):
            return with_ranks(analysis.get_queue_length_time_series(ranks))
        if o.flag("blocked"):
            series = analysis.get_queue_length_time_series(ranks)
            return analysis.get_time_spent_blocked_on_full_queue(series, int(o.value("max-length")))
        return flat(analysis.get_queue_length_summary(ranks))
    if o.command == "launches":
        return with_ranks(analysis.get_cuda_kernel_launch_stats(
            ranks, include_memory_events=not o.flag("no-memory"), **quiet))
    if o.command == "sequences":
        return analysis.get_frequent_cuda_kernel_sequences(
            o.value("op"), str(folder), min_pattern_len=int(o.value("min-length")), rank=int(o.value("ranks")))
    if o.command == "counters":
        frames = analysis.get_cupti_counter_data_with_operators(ranks)
        both = with_ranks(dict(zip(ranks, frames)))
        return both.assign(op_stack=[";".join(s) for s in both["op_stack"]])
    assert o.command == "critical-path", o.command
    return ask_path(analysis, o)


def ask_path(analysis, o):
    import pandas as pd
    rank, instance = int(o.value("ranks")), o.value("instance")
    if instance and "-" in instance:
        instance = tuple(int(i) for i in instance.split("-"))
    elif instance:
        instance = int(instance)
    graph = graph_of(analysis, rank, o.value("annotation"), instance)
    if o.flag("sync-edges"):
        pairs = [graph.get_events_for_edge(e) for e in graph.edges_of_type(CPEdgeType.SYNC_DEPENDENCY)]
        return pd.DataFrame([(rank, *p) for p in pairs], columns=["rank", "source", "target"])
    weight = sum(graph.edges[pair]["weight"] for pair in zip(graph.critical_path_nodes, graph.critical_path_nodes[1:]))
    assert math.isclose(weight, graph.path_weight, abs_tol=1.0)
    return pd.DataFrame([(rank, graph.number_of_nodes(), graph.path_weight)], columns=["rank", "nodes", "path_weight"])


def graph_of(analysis, rank, annotation, instance):
    """A graph, checked; kept with the analysis, as several cases ask for parts of one."""
    kept = analysis.__dict__.setdefault("kept_graphs", {})
    key = rank, annotation, instance
    if key not in kept:
        kept.clear()  # cases of one graph follow one another
        graph, ok = analysis.critical_path_analysis(rank, annotation, instance)
        assert ok
        check_graph(graph)
        kept[key] = graph
    return kept[key]


def check_graph(graph):
    """What must hold for any graph."""
    path = graph.critical_path_nodes
    assert len(graph.critical_path_edges_set) == max(len(path) - 1, 0)
    assert all(graph.has_edge(u, v) for u, v in zip(path, path[1:]))
    assert {graph.node_list[i].ev_idx for i in path} == graph.critical_path_events_set
    assert [n.idx for n in graph.node_list] == list(range(len(graph.node_list)))
    assert all(a.ts <= b.ts for a, b in zip(graph.node_list, graph.node_list[1:]))


def ask_counters(analysis, o):
    """The counter events of the written trace."""
    rank = int(o.value("ranks"))
    analysis.generate_trace_with_counters(ranks=[rank])
    path = re.sub(r"\.json", "_with_counters.json", analysis.t.trace_files[rank])
    rows = [["name", "pid", "id", "ts", "counter", "value"]]
    if os.path.exists(path):
        with open(path, "rb") as file:
            data = file.read()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        counters = [json.loads(text) for text in re.findall(rb'\{"ph": "C",[^{}]*\{[^{}]*\}\}', data)]
        if len(data) < 4 << 20:  # larger files hold the same, and Python takes a second for each
            assert counters == [event for event in json.loads(data)["traceEvents"] if event.get("ph") == "C"]
        for event in counters:
            for name, value in event["args"].items():
                rows.append([str(x) for x in (event["name"], event["pid"], event.get("id", ""), event["ts"], name, value)])
    return rows


# ---- comparing -------------------------------------------------------------------------------------------------------


def rows_of(frame):
    text = frame.to_csv(index=False)
    return list(csv.reader(io.StringIO(text))) if text.strip() else [[]]


def answer(case):
    csv.field_size_limit(1 << 30)
    with gzip.open(ANSWERS / case["golden"], "rt", newline="") as file:
        return list(csv.reader(file))


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def _key(text):
    value = _number(text)
    return text if value is None else repr(value)


def same(got, want, rtol, atol):
    if got == want:
        return True
    a, b = _number(got), _number(want)
    if want == "" or want.lower() == "nan":
        return got == "" or (a is not None and math.isnan(a))
    if a is None or b is None:
        return False
    return math.isclose(a, b, rel_tol=rtol, abs_tol=atol)


def difference(got, want, case):
    """None, or what differs first."""
    columns = case.get("columns") or want[0]
    if len(want) == 1:
        return None if len(got) <= 1 else "%d rows, none expected" % (len(got) - 1)
    missing = [c for c in columns if c not in got[0]]
    if missing:
        return "columns missing: %s; there are %s" % (missing, got[0])
    if len(got) != len(want):
        return "%d rows, %d expected" % (len(got) - 1, len(want) - 1)

    def keyed(rows):
        at = {c: i for i, c in enumerate(rows[0])}
        groups = {}
        for row in rows[1:]:
            groups.setdefault(tuple(_key(row[at[k]]) for k in case["keys"]), []).append({c: row[at[c]] for c in at})
        for group in groups.values():
            if case.get("near"):
                group.sort(key=lambda row: [_number(row[c]) or 0.0 for c in case["near"]])
        return groups

    mine, theirs = keyed(got), keyed(want)
    for key, rows in theirs.items():
        if len(mine.get(key, ())) != len(rows):
            return "%d rows of %s, %d expected" % (len(mine.get(key, ())), key, len(rows))
        for a, b in zip(mine[key], rows):
            for c in columns:
                if not same(a[c], b[c], case.get("rtol", 1e-9), case.get("atol", 1e-6)):
                    return "%s of %s: %r, expected %r" % (c, key, a[c][:80], b[c][:80])
    return None
