"""The critical path as a graph: HTA's CPGraph on the engine's tables, without pickle."""
import gc
import json
import logging
import os
import zipfile
from collections import namedtuple
from collections.abc import Mapping as AbstractMapping
from enum import Enum
from functools import cached_property
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple, Union

from . import _cuda_events as cuda_events
from . import _frames
from ._digraph import Graph
from ._need import pandas
from .common.names import shorten_name
from .configs import env_options
from .utils.utils import is_comm_kernel

logger = logging.getLogger("rankscope.hta")

__all__ = ["CPEdge", "CPEdgeType", "CPGraph", "CPNode", "CriticalPathAnalysis", "restore_cpgraph"]

_FORMAT = "rankscope critical path"
_VERSION = 1
_MEMBER = "critical_path.json"


class CPEdgeType(Enum):
    """Kinds of dependencies."""

    OPERATOR_KERNEL = "critical_path_operator"
    DEPENDENCY = "critical_path_dependency"
    KERNEL_LAUNCH_DELAY = "critical_path_kernel_launch_delay"
    KERNEL_KERNEL_DELAY = "critical_path_kernel_kernel_delay"
    SYNC_DEPENDENCY = "critical_path_sync_dependency"


_KINDS = {kind.value: kind for kind in CPEdgeType}


class CPNode(namedtuple("CPNode", "idx ev_idx ts is_start is_blocking")):
    """Start or end of an event. ev_idx is the event's position in traceEvents, ts its time in microseconds."""

    __slots__ = ()


class CPEdge(namedtuple("CPEdge", "begin end weight type")):
    """A dependency between two nodes (their idx), its length in microseconds, and its CPEdgeType."""

    __slots__ = ()


def _numbers(values: List[Any]) -> List[Any]:
    """Whole numbers where they are, as HTA's rounded times are."""
    whole = list(map(int, values))
    return whole if whole == values else [i if i == v else float(v) for i, v in zip(whole, values)]


class CPGraph(Graph):
    """Nodes are starts and ends of events, edges what had to wait for what; the longest path is marked.

    A networkx.DiGraph where networkx is installed; elsewhere it has the members of one that read. In addition it has the
    members of HTA's class of this name. Edges have a weight, which may be set, and the CPEdge they were made of as object.
    """

    def __init__(self, data: Optional[Mapping[str, Any]] = None, **attributes: Any):
        """From what `save` writes; use TraceAnalysis.critical_path_analysis to make one. Without data it is empty, as
        networkx needs it for copies and parts of a graph."""
        super().__init__()
        if hasattr(self, "graph"):
            self.graph.update(attributes)
        data = _EMPTY if data is None else data
        self._data = data
        self.rank: int = data["rank"]
        self.annotation: str = data["annotation"]
        self.instance_id = tuple(data["instance_id"]) if isinstance(data["instance_id"], list) else data["instance_id"]
        self.data_load_events = data["data_load_events"]
        self._rows: Any = None
        self._trace: Any = None
        self._looked_again = False

    # What follows is made when somebody first asks for it.

    @cached_property
    def path_weight(self) -> Any:
        return self._data["path_weight"]

    @cached_property
    def node_list(self) -> List[CPNode]:
        nodes = self._data["nodes"]
        columns = [nodes[name] for name in ("event", "ts", "is_start", "is_blocking")]
        return list(map(CPNode._make, zip(range(len(columns[0])), *columns)))

    @cached_property
    def critical_path_nodes(self) -> List[int]:
        return self._data["path"]

    def _nodes_of_events(self, starts: bool) -> Dict[int, int]:
        nodes = self._data["nodes"]
        return {event: i for i, (event, start) in enumerate(zip(nodes["event"], nodes["is_start"])) if start == starts}

    @cached_property
    def event_to_start_node_map(self) -> Dict[int, int]:
        return self._nodes_of_events(True)

    @cached_property
    def event_to_end_node_map(self) -> Dict[int, int]:
        return self._nodes_of_events(False)

    @cached_property
    def critical_path_events_set(self) -> Set[int]:
        events = self._data["nodes"]["event"]
        return {events[i] for i in self.critical_path_nodes}

    @cached_property
    def _read_edges(self) -> Dict[Tuple[int, int], CPEdge]:
        edges = self._data["edges"]
        columns = edges["begin"], edges["end"], edges["weight"], list(map(_KINDS.__getitem__, edges["type"]))
        return dict(zip(zip(*columns[:2]), map(CPEdge._make, zip(*columns))))

    @cached_property
    def _owner(self) -> Dict[Tuple[int, int], int]:
        edges = self._data["edges"]
        return {(u, v): owner for u, v, owner in zip(edges["begin"], edges["end"], edges["event"]) if owner is not None}

    @cached_property
    def critical_path_edges_set(self) -> Set[CPEdge]:
        edges = self._data["edges"]
        return {self._read_edges[u, v] for u, v, marked in zip(edges["begin"], edges["end"], edges["critical"]) if marked}

    def _make_dictionaries(self):
        nodes = {node.idx: {"object": node} for node in self.node_list}
        after: Dict[int, Dict[int, Dict[str, Any]]] = {idx: {} for idx in nodes}
        before: Dict[int, Dict[int, Dict[str, Any]]] = {idx: {} for idx in nodes}
        collects = gc.isenabled()
        gc.disable()  # a dictionary an edge, none of them in a circle: looking for circles takes longer than making them
        try:
            for (begin, end), edge in self._read_edges.items():
                after[begin][end] = before[end][begin] = {"weight": edge.weight, "object": edge}
        finally:
            if collects:
                gc.enable()
        return nodes, after, before

    def _edge(self, begin: int, end: int) -> CPEdge:
        """The CPEdge between two nodes; of an edge that was added without one, a dependency."""
        data = self._succ[begin][end]
        return data.get("object") or CPEdge(begin, end, data.get("weight", 1), CPEdgeType.DEPENDENCY)

    # ---- making ----------------------------------------------------------------------------------------------

    @classmethod
    def analyze(cls, trace, rank: int, annotation: str, instance_id=None, data_load_events=None):
        """(graph, True), or None when no event is named so."""
        import rankscope

        if isinstance(instance_id, (tuple, list)):
            if len(instance_id) != 2:
                raise ValueError("instance_id is a number or (first, last), not %r" % (instance_id,))
            first, last = int(instance_id[0]), int(instance_id[1])
        else:
            first = last = int(instance_id or 0)
        answers = trace.answers
        options = {
            "annotation": annotation,
            "instance": str(first) if first == last else "%d-%d" % (first, last),
            "data_load": ",".join(data_load_events) if data_load_events else None,
        }
        try:
            result = answers.run("critical-path", answers.one(rank), edges=True, nodes=True, breakdown=True, **options)
        except rankscope.UsageError as error:
            if "there are 0 events" in str(error):
                logger.error("%s", error)
                return None
            raise
        if len(result.tables["critical_path"]) == 0:
            logger.error("rank %s: %s", rank, "; ".join(result.notes) or "nothing to look at")
            return None
        graph = cls(_Answer(result.tables, rank, annotation, instance_id, data_load_events))
        graph._trace = trace
        if env_options.critical_path_add_zero_weight_launch_edges():
            graph._add_launch_edges()
        return graph, True

    # ---- the path under other weights ------------------------------------------------------------------------

    def critical_path(self) -> bool:
        """Looks for the longest path again, by the edges and weights that there are now (edges[u, v]["weight"]), and sets
        critical_path_nodes, critical_path_events_set, critical_path_edges_set and path_weight. Of paths of one length that of
        the earlier nodes counts. False where the edges form a circle."""
        order = self._sorted()
        if order is None:
            return False
        length = {node: 0 for node in order}
        came_from: Dict[int, int] = {}
        for node in order:
            for after, data in self._succ[node].items():
                there = length[node] + data.get("weight", 1)
                known = came_from.get(after)
                if known is None or there > length[after] or (there == length[after] and node < known):
                    length[after], came_from[after] = there, node
        last = max(order, key=lambda node: (length[node], -node), default=None)
        path = []
        while last is not None:
            path.append(last)
            last = came_from.get(last)
        self.critical_path_nodes = path[::-1]
        self.critical_path_events_set = {self.node_list[node].ev_idx for node in path if 0 <= node < len(self.node_list)}
        self.critical_path_edges_set = {self._edge(*pair) for pair in self._path_pairs()}
        self.path_weight = sum(self._succ[u][v].get("weight", 1) for u, v in self._path_pairs())
        self._looked_again = True
        return True

    def _path_pairs(self) -> List[Tuple[int, int]]:
        return list(zip(self.critical_path_nodes, self.critical_path_nodes[1:]))

    def _sorted(self) -> Optional[List[int]]:
        """The nodes, each after all that it waits for; None, with an error in the log, where the edges form a circle."""
        missing = {node: len(before) for node, before in self._pred.items()}
        order = [node for node in missing if not missing[node]]
        for node in order:
            for after in self._succ[node]:
                missing[after] -= 1
                if not missing[after]:
                    order.append(after)
        if len(order) < len(missing):
            logger.error("the edges form a circle: there is no longest path")
            return None
        return order

    def _validate_graph(self) -> bool:
        """Whether nothing waits for itself or ends before it begins, and no stream waits for itself.

        HTA takes weights of -1 and less for 0 unless CRITICAL_PATH_STRICT_NEGATIVE_WEIGHT_CHECKS is on; so does this."""
        good = True
        stream = dict(zip(self._event_rows()["index"].tolist(), self._event_rows()["stream"].tolist()))
        for begin, end in self.edges:
            edge = self._edge(begin, end)
            if edge.weight <= -1 and not env_options.critical_path_strict_negative_weight_check():
                self._succ[begin][end]["weight"] = 0
            elif edge.weight < -1:
                logger.error("%s ends before it begins", edge)
                good = False
            if edge.type == CPEdgeType.SYNC_DEPENDENCY:
                streams = [stream.get(ev_idx, -1) for ev_idx in self.get_events_for_edge(edge)]
                if streams[0] != -1 and streams[0] == streams[1]:
                    logger.error("%s: stream %s waits for itself", edge, streams[0])
                    good = False
        return good and self._sorted() is not None

    # ---- more edges ----------------------------------------------------------------------------------------------

    def _add_edge(self, edge: CPEdge) -> None:
        self._succ[edge.begin][edge.end] = self._pred[edge.end][edge.begin] = {"weight": edge.weight, "object": edge}

    def _add_edge_helper(self, src: CPNode, dest: CPNode, type: CPEdgeType = CPEdgeType.OPERATOR_KERNEL, zero_weight: bool = False) -> CPEdge:
        """Adds an edge as long as the time between two nodes; dependencies take no time."""
        none = zero_weight or type in (CPEdgeType.DEPENDENCY, CPEdgeType.SYNC_DEPENDENCY)
        edge = CPEdge(src.idx, dest.idx, 0 if none else dest.ts - src.ts, type)
        self._add_edge(edge)
        return edge

    def _add_gpu_cpu_sync_edge(self, gpu_node: CPNode, runtime_eid: int) -> None:
        """Lets the end of a call of the host wait for a node of the GPU; nothing for a call that has no nodes."""
        end = self.get_nodes_for_event(runtime_eid)[1]
        if end is not None:
            self._add_edge_helper(gpu_node, end, CPEdgeType.SYNC_DEPENDENCY)

    def _add_kernel_launch_delay_edge(self, runtime_index: int, kernel_start_node: CPNode, zero_weight: bool = False) -> bool:
        """Lets a kernel wait for its launch. False for a launch that has no nodes."""
        start = self.get_nodes_for_event(runtime_index)[0]
        if start is not None:
            self._add_edge_helper(start, kernel_start_node, CPEdgeType.KERNEL_LAUNCH_DELAY, zero_weight)
        return start is not None

    def _add_launch_edges(self) -> None:
        """Edges of no weight from each launch to its work, where there is none: they only say what caused what."""
        frame = self.full_trace_df
        work = frame[(frame["stream"] >= 0) & (frame["index_correlation"] > 0)]
        for ev_idx, launch in zip(work["index"].tolist(), work["index_correlation"].tolist()):
            begin, end = self.get_nodes_for_event(launch)[0], self.get_nodes_for_event(ev_idx)[0]
            if begin is not None and end is not None and end.idx not in self._succ[begin.idx]:
                self._add_edge_helper(begin, end, CPEdgeType.KERNEL_LAUNCH_DELAY, zero_weight=True)

    def _attribute_edge(self, e: CPEdge, src_parent: Optional[int]) -> None:
        """Charges an edge's time to an event: between the ends of one event to it, between two events to the outer one,
        which is src_parent between the end of one and the beginning of the next."""
        if e.type not in (CPEdgeType.OPERATOR_KERNEL, CPEdgeType.KERNEL_KERNEL_DELAY):
            return
        begin, end = self.node_list[e.begin], self.node_list[e.end]
        if begin.is_start or e.type is CPEdgeType.KERNEL_KERNEL_DELAY:
            owner: Optional[int] = begin.ev_idx
        else:
            owner = src_parent if end.is_start else end.ev_idx
        assert owner is not None, "the edge is between two events: src_parent says in which"
        self._owner[e.begin, e.end] = int(owner)

    @property
    def edge_to_event_map(self) -> Dict[Tuple[int, int], int]:
        """The event that the time of an edge (its pair of nodes) is charged to."""
        return self._owner

    # ---- the trace behind ------------------------------------------------------------------------------------------

    @property
    def full_trace_df(self):
        """The rank's frame."""
        if self._trace is None:
            raise ValueError("this graph was restored without its trace: restore_cpgraph(file, t_full=analyzer.t)")
        return self._trace.get_trace(self.rank)

    @property
    def symbol_table(self):
        """The texts of the frame's numbers."""
        if self._trace is None:
            raise ValueError("this graph was restored without its trace: restore_cpgraph(file, t_full=analyzer.t)")
        return self._trace.symbol_table

    def _event_rows(self):
        """Texts and places of events: of all in the rank's frame, of a graph without its trace those of its path."""
        if self._rows is None:
            pd = pandas()
            if self._trace is None:
                parts = self._data["breakdown"]
                rows = pd.DataFrame({c: parts[c] for c in ("index", "s_name", "cat", "pid", "tid", "stream")})
                self._rows = rows.dropna(subset=["index"]).drop_duplicates("index")
            else:
                frame, texts = self.full_trace_df, self.symbol_table.decode
                self._rows = pd.DataFrame({
                    "index": frame["index"], "s_name": texts(frame["name"]), "cat": texts(frame["cat"]),
                    **{c: frame[c] for c in ("pid", "tid", "stream")}})
        return self._rows

    def _get_node_name(self, ev_idx: int) -> Optional[str]:
        """The name of an event; a graph that was restored without its trace knows those of its path."""
        rows = self._event_rows()
        found = rows.loc[rows["index"] == ev_idx, "s_name"]
        return found.iloc[0] if len(found) else None

    def _get_cuda_event_record_df(self):
        """The calls of cudaEventRecord that a call waits for, and the launch on their stream before each."""
        return cuda_events.records(self.full_trace_df, self.symbol_table)

    def _get_cuda_stream_wait_event_df(self):
        """The calls of cudaStreamWaitEvent, and the launch of their thread and stream after each."""
        return cuda_events.waits(self.full_trace_df, self.symbol_table)

    # ---- reading ---------------------------------------------------------------------------------------------

    def get_nodes_for_event(self, ev_idx: int) -> Tuple[Optional[CPNode], Optional[CPNode]]:
        """Start and end of an event (its position in traceEvents); None where it has no nodes."""
        start, end = self.event_to_start_node_map.get(ev_idx), self.event_to_end_node_map.get(ev_idx)
        return (
            None if start is None else self.node_list[start],
            None if end is None else self.node_list[end],
        )

    def get_events_for_edge(self, edge: CPEdge) -> Tuple[int, int]:
        """Positions in traceEvents of the events at both ends."""
        return self.node_list[edge.begin].ev_idx, self.node_list[edge.end].ev_idx

    def get_event_attribution_for_edge(self, edge: CPEdge) -> Optional[int]:
        """Position of the event that the edge's time is charged to, None if it belongs to none."""
        return self._owner.get((edge.begin, edge.end))

    def get_edges_attributed_to_event(self, ev_idx: int) -> List[CPEdge]:
        """The edges whose time is charged to an event."""
        return [self._edge(*pair) for pair, owner in self._owner.items() if owner == ev_idx]

    def edges_of_type(self, kind: CPEdgeType) -> List[CPEdge]:
        """All edges of a kind, on the path or not."""
        every = self._read_edges.values() if "_made" not in self.__dict__ else (self._edge(*pair) for pair in self.edges)
        return [edge for edge in every if edge.type == kind]

    def get_critical_path_breakdown(self):
        """One row an edge of the path: whose time it is, and what bounds it."""
        columns = self._breakdown_again() if self._looked_again else self._data["breakdown"]
        frame = pandas().DataFrame({c: pandas().Series(v, dtype=_BREAKDOWN[c]) for c, v in columns.items()})
        for column in ("type", "s_name", "cat", "bound_by"):
            frame[column] = _frames.text(frame[column])
        return frame

    def _breakdown_again(self) -> Dict[str, List[Any]]:
        """The rows of a path that critical_path found under other weights."""
        rows = {row["index"]: row for row in self._event_rows().to_dict("records")}
        columns: Dict[str, List[Any]] = {name: [] for name in _BREAKDOWN}
        for begin, end in self._path_pairs():
            edge, owner = self._edge(begin, end), self._owner.get((begin, end))
            row = rows.get(owner)
            if owner is not None and row is None:
                raise ValueError("the new path has events that the saved one has not: restore_cpgraph(file, t_full=analyzer.t)")
            values = {"event_idx": owner, "duration": self._succ[begin][end].get("weight", 1), "type": edge.type.value}
            values.update({c: row[c] if row else None for c in ("s_name", "cat", "pid", "tid", "stream", "index")})
            if row:
                values.update(s_name=shorten_name(row["s_name"]), pid=str(row["pid"]), tid=str(row["tid"]),
                              stream=None if row["stream"] < 0 else row["stream"])
            values["bound_by"] = _bound_by(edge.type, row, self.data_load_events or ())
            for name, value in values.items():
                columns[name].append(value)
        return columns

    def summary(self):
        """Share of the path's time, in percent, by what bounds it."""
        frame = self.get_critical_path_breakdown()
        share = frame.groupby("bound_by")["duration"].sum() / frame["duration"].sum() * 100
        print("Time share of boundness on critical path: ")
        return share

    def show_critical_path(self) -> None:
        """Prints the path, node by node."""
        for i in self.critical_path_nodes:
            print(self.node_list[i])

    def to_networkx(self):
        """A networkx.DiGraph of its own with the same numbers, weights and objects."""
        try:
            import networkx
        except ImportError:
            raise ImportError("to_networkx needs networkx: pip install networkx") from None
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes(data=True))
        graph.add_edges_from(self.edges(data=True))
        return graph

    def _as_it_is(self) -> Dict[str, Any]:
        """What `save` writes: what was read, with the edges, weights and path that there are now."""
        if "_made" not in self.__dict__:
            return dict(self._data)
        pairs = sorted(self.edges)
        kept = [self._edge(*pair) for pair in pairs]
        path = set(self._path_pairs())
        frame = self.get_critical_path_breakdown()
        rows = frame.astype(object).where(frame.notna(), None)
        return {
            **self._data,
            "path_weight": self.path_weight,
            "path": list(self.critical_path_nodes),
            "edges": {
                "begin": [begin for begin, _ in pairs],
                "end": [end for _, end in pairs],
                "weight": [self._succ[begin][end].get("weight", 1) for begin, end in pairs],
                "type": [edge.type.value for edge in kept],
                "event": [self._owner.get(pair) for pair in pairs],
                "critical": [int(pair in path) for pair in pairs],
            },
            "breakdown": {column: rows[column].tolist() for column in frame.columns},
        }

    # ---- keeping -----------------------------------------------------------------------------------------------

    def save(self, out_dir: str) -> str:
        """Writes the graph to out_dir.zip (plain JSON inside, no pickle) and returns that path."""
        path = os.fspath(out_dir).rstrip("/") + ".zip"
        temporary = path + ".part"
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_MEMBER, json.dumps({"format": _FORMAT, "version": _VERSION, **self._as_it_is()}))
        os.replace(temporary, path)
        return path

    def write_overlay(self, trace, rank: int, path: str, only_critical: bool = True, all_edges: bool = False) -> None:
        """Writes the rank's trace with this path marked."""
        if rank != self.rank:
            raise ValueError("this is the graph of rank %s, not of rank %s" % (self.rank, rank))
        answers = trace.answers
        instance = self.instance_id
        if isinstance(instance, tuple):
            instance = "%d-%d" % instance
        result = answers.run(
            "critical-path",
            answers.one(rank),
            annotation=self.annotation,
            instance=str(instance or 0),
            data_load=",".join(self.data_load_events) if self.data_load_events else None,
            overlay=path,
            overlay_edges="all" if all_edges and not only_critical else None,
        )
        result.write_trace(path, keep_all=not only_critical)


class CriticalPathAnalysis:
    """HTA's functions that are called by those of TraceAnalysis, of a Trace."""

    @classmethod
    def critical_path_analysis(cls, t, rank: int, annotation: str, instance_id=None, data_load_events=None):
        return CPGraph.analyze(t, rank, annotation, instance_id, data_load_events)

    @classmethod
    def overlay_critical_path_analysis(
        cls, t, rank: int, critical_path_graph: CPGraph, output_dir: str, only_show_critical_events: bool = True,
        show_all_edges: bool = False,
    ) -> str:
        """Writes output_dir/overlaid_critical_path_NAME."""
        target = os.path.join(os.path.expanduser(output_dir), "overlaid_critical_path_" + os.path.basename(t.trace_files[rank]))
        critical_path_graph.write_overlay(t, rank, target, only_show_critical_events, show_all_edges)
        return target

    @staticmethod
    def _is_zero_weight_launch_edge(edge: CPEdge) -> bool:
        return edge.type is CPEdgeType.KERNEL_LAUNCH_DELAY and edge.weight == 0


_EMPTY: Dict[str, Any] = {
    "rank": -1,
    "annotation": "",
    "instance_id": None,
    "data_load_events": None,
    "path_weight": 0,
    "nodes": {"event": [], "ts": [], "is_start": [], "is_blocking": []},
    "path": [],
    "edges": {"begin": [], "end": [], "weight": [], "type": [], "event": [], "critical": []},
    "breakdown": {},
}

_BREAKDOWN = {
    "event_idx": "float64",
    "duration": None,
    "type": object,
    "s_name": object,
    "cat": object,
    "pid": object,
    "tid": object,
    "stream": "float64",
    "index": "float64",
    "bound_by": object,
}


def _bound_by(kind: CPEdgeType, row: Any, data_load_events: Any) -> str:
    """HTA's word for what an edge's time is spent on."""
    if kind is CPEdgeType.KERNEL_KERNEL_DELAY:
        return "gpu_kernel_kernel_overhead"
    if kind is CPEdgeType.KERNEL_LAUNCH_DELAY:
        return "gpu_kernel_launch_overhead"
    if kind is not CPEdgeType.OPERATOR_KERNEL:
        return ""
    if row is None:
        return "cpu_bound"
    if row["stream"] < 0 or row["stream"] != row["stream"]:
        return "data_loading" if any(text in row["s_name"] for text in data_load_events) else "cpu_bound"
    return "gpu_communication_bound" if is_comm_kernel(row["s_name"]) else "gpu_compute_bound"


class _Answer(AbstractMapping):
    """The engine's tables as what `save` writes: plain lists and numbers, made when they are asked for."""

    def __init__(self, tables, rank: int, annotation: str, instance_id, data_load_events):
        self._tables = tables
        self._made: Dict[str, Any] = {
            "rank": int(rank),
            "annotation": annotation,
            "instance_id": list(instance_id) if isinstance(instance_id, tuple) else instance_id,
            "data_load_events": list(data_load_events) if data_load_events else None,
        }

    def __iter__(self):
        return iter(_EMPTY)

    def __len__(self) -> int:
        return len(_EMPTY)

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in _EMPTY:
                raise KeyError(name)
            self._made[name] = getattr(self, "_" + name)()
        return self._made[name]

    def _path_weight(self) -> Any:
        return _numbers(self._tables["critical_path"]["path_weight"])[0]

    def _nodes(self) -> Dict[str, List[Any]]:
        nodes = self._tables["nodes"]
        return {
            "event": nodes["event"],
            "ts": _numbers(nodes["ts_us"]),
            "is_start": [at == "start" for at in nodes["at"]],
            "is_blocking": list(map(bool, nodes["blocking"])),
        }

    def _path(self) -> List[int]:
        return [i for _, i in sorted((at, i) for i, at in enumerate(self._tables["nodes"]["path"]) if at is not None)]

    def _edges(self) -> Dict[str, List[Any]]:
        edges, nodes = self._tables["edges"], self._tables["nodes"]
        place = dict(zip(zip(nodes["event"], nodes["at"]), range(len(nodes))))
        return {
            "begin": [place[end] for end in zip(edges["source"], edges["source_at"])],
            "end": [place[end] for end in zip(edges["target"], edges["target_at"])],
            "weight": _numbers(edges["weight"]),
            "type": edges["type"],
            "event": edges["event"],
            "critical": edges["critical"],
        }

    def _breakdown(self) -> Dict[str, List[Any]]:
        parts = self._tables["breakdown"]
        return {
            "event_idx": parts["event"],
            "duration": _numbers(parts["duration"]),
            "type": parts["type"],
            "s_name": [None if n is None else shorten_name(n) for n in parts["name"]],
            "cat": parts["cat"],
            "pid": parts["pid"],
            "tid": parts["tid"],
            "stream": parts["stream"],
            "index": parts["event"],
            "bound_by": [b or "" for b in parts["bound_by"]],
        }


def restore_cpgraph(zip_filename: str, t_full=None, rank: Optional[int] = None) -> CPGraph:
    """The graph that CPGraph.save wrote. The file has what the path needs; t_full, the Trace, gives the names of the other events.

    Archives of HTA hold pickles, which can run any code when they are read, and are refused.
    """
    with zipfile.ZipFile(zip_filename) as archive:
        members = archive.namelist()
        if _MEMBER not in members:
            pickled = [m for m in members if m.endswith((".pkl", ".pickle")) or archive.open(m).read(1) == b"\x80"]
            if pickled:
                raise ValueError(
                    "%s was saved by HTA: it holds pickles (%s), and reading one can run any code it carries. Run "
                    "critical_path_analysis on the trace again and save its graph" % (zip_filename, ", ".join(pickled))
                )
            raise ValueError("%s is no saved critical path: it has no %s" % (zip_filename, _MEMBER))
        data = json.loads(archive.read(_MEMBER))
    if data.get("format") != _FORMAT or data.get("version") != _VERSION:
        raise ValueError("%s: format %r, version %r is not known here; this reads version %d"
                         % (zip_filename, data.get("format"), data.get("version"), _VERSION))
    if rank is not None and rank != data["rank"]:
        raise ValueError("%s is of rank %s, not of rank %s" % (zip_filename, data["rank"], rank))
    graph = CPGraph(data)
    graph._trace = t_full
    return graph
