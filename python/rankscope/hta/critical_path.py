"""The critical path as a graph: HTA's CPGraph on the engine's tables, without networkx and without pickle."""
import json
import logging
import os
import zipfile
from collections import namedtuple
from collections.abc import Mapping as AbstractMapping
from enum import Enum
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple, Union

from . import _frames
from ._need import pandas
from .common.names import shorten_name

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


class CPNode(namedtuple("CPNode", "idx ev_idx ts is_start is_blocking")):
    """Start or end of an event. ev_idx is the event's position in traceEvents, ts its time in microseconds."""

    __slots__ = ()


class CPEdge(namedtuple("CPEdge", "begin end weight type")):
    """A dependency between two nodes (their idx), its length in microseconds, and its CPEdgeType."""

    __slots__ = ()


def _number(value):
    """A whole number where it is one, as HTA's rounded times are."""
    return int(value) if value == int(value) else float(value)


class _EdgeView:
    """graph.edges as networkx has it: iteration, len, in, [u, v], (data=...)."""

    def __init__(self, graph: "CPGraph"):
        self._graph = graph

    def __iter__(self) -> Iterator[Tuple[int, int]]:
        return iter(self._graph._edges)

    def __len__(self) -> int:
        return len(self._graph._edges)

    def __contains__(self, pair) -> bool:
        return tuple(pair) in self._graph._edges

    def __getitem__(self, pair) -> Dict[str, Any]:
        pair = tuple(pair)
        known = self._graph._attributes.get(pair)
        if known is None:
            edge = self._graph._edges[pair]
            known = self._graph._attributes[pair] = {"weight": edge.weight, "object": edge}
        return known

    def __call__(self, data: Union[bool, str] = False, default: Any = None):
        return self.data(data, default) if data else list(self)

    def data(self, data: Union[bool, str] = True, default: Any = None):
        out = []
        for pair in self:
            attributes = self[pair]
            value = attributes if data is True else attributes.get(data, default)
            out.append((pair[0], pair[1], value))
        return out


class _NodeView(AbstractMapping):
    """graph.nodes: the numbers of the nodes; nodes[i] their attributes."""

    def __init__(self, graph: "CPGraph"):
        self._graph = graph

    def __iter__(self):
        return iter(range(len(self._graph.node_list)))

    def __len__(self):
        return len(self._graph.node_list)

    def __getitem__(self, idx: int) -> Dict[str, Any]:
        return {"object": self._graph.node_list[idx]}

    def __call__(self, data: bool = False):
        return [(i, self[i]) for i in self] if data else list(self)


class CPGraph:
    """Nodes are starts and ends of events, edges what had to wait for what; the longest path is marked.

    Holds no trace. Members are those of HTA's class of this name, and of a networkx directed graph what reads it;
    to_networkx() gives a real one where networkx is installed.
    """

    def __init__(self, data: Dict[str, Any]):
        """From what `save` writes; use TraceAnalysis.critical_path_analysis to make one."""
        self._data = data
        self.rank: int = data["rank"]
        self.annotation: str = data["annotation"]
        self.instance_id = tuple(data["instance_id"]) if isinstance(data["instance_id"], list) else data["instance_id"]
        self.data_load_events = data["data_load_events"]
        self.path_weight = data["path_weight"]
        self.node_list: List[CPNode] = [CPNode._make(row) for row in zip(range(len(data["nodes"]["event"])), *(
            data["nodes"][c] for c in ("event", "ts", "is_start", "is_blocking")))]
        self.critical_path_nodes: List[int] = data["path"]
        self.event_to_start_node_map: Dict[int, int] = {}
        self.event_to_end_node_map: Dict[int, int] = {}
        for node in self.node_list:
            (self.event_to_start_node_map if node.is_start else self.event_to_end_node_map)[node.ev_idx] = node.idx
        self.critical_path_events_set: Set[int] = {self.node_list[i].ev_idx for i in self.critical_path_nodes}
        self._edges: Dict[Tuple[int, int], CPEdge] = {}
        self._attributes: Dict[Tuple[int, int], Dict[str, Any]] = {}  # weights may be changed: critical_path goes by them
        self._names: Optional[Dict[int, str]] = None
        self._trace: Any = None
        self._owner: Dict[Tuple[int, int], int] = {}
        self._neighbours: Optional[Tuple[Dict[int, List[int]], Dict[int, List[int]]]] = None
        edges = data["edges"]
        pairs = list(zip(edges["begin"], edges["end"]))
        kinds = {kind.value: kind for kind in CPEdgeType}
        made = map(CPEdge._make, zip(edges["begin"], edges["end"], edges["weight"], (kinds[kind] for kind in edges["type"])))
        self._edges.update(zip(pairs, made))
        self._owner.update((pair, owner) for pair, owner in zip(pairs, edges["event"]) if owner is not None)
        critical = {self._edges[pair] for pair, marked in zip(pairs, edges["critical"]) if marked}
        self.critical_path_edges_set: Set[CPEdge] = critical

    def _sides(self) -> Tuple[Dict[int, List[int]], Dict[int, List[int]]]:
        """What follows each node and what comes before it, made when it is first asked for."""
        if self._neighbours is None:
            self._neighbours = ({}, {})
            for begin, end in self._edges:
                self._neighbours[0].setdefault(begin, []).append(end)
                self._neighbours[1].setdefault(end, []).append(begin)
        return self._neighbours

    @property
    def _next(self) -> Dict[int, List[int]]:
        return self._sides()[0]

    @property
    def _before(self) -> Dict[int, List[int]]:
        return self._sides()[1]

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
        graph = cls(_read(result.tables, rank, annotation, instance_id, data_load_events))
        graph._trace = trace
        return graph, True

    # ---- the path under other weights ------------------------------------------------------------------------

    def critical_path(self) -> bool:
        """Looks for the longest path again, by the weights that the edges have now (edges[u, v]["weight"]), and sets
        critical_path_nodes, critical_path_events_set, critical_path_edges_set and path_weight. Of paths of one length that of
        the earlier nodes counts. False where the edges form a circle."""
        weights = self.edges
        missing = {node: len(self._before.get(node, ())) for node in self}
        ready = [node for node in self if not missing[node]]
        length = {node: 0 for node in self}
        came_from: Dict[int, int] = {}
        done = 0
        while ready:
            node = ready.pop()
            done += 1
            for after in self._next.get(node, ()):
                there = length[node] + weights[node, after]["weight"]
                known = came_from.get(after)
                if known is None or there > length[after] or (there == length[after] and node < known):
                    length[after], came_from[after] = there, node
                missing[after] -= 1
                if not missing[after]:
                    ready.append(after)
        if done < len(self.node_list):
            logger.error("the edges form a circle: there is no longest path")
            return False
        last = max(self, key=lambda node: (length[node], -node), default=None)
        path = []
        while last is not None:
            path.append(last)
            last = came_from.get(last)
        self.critical_path_nodes = path[::-1]
        self.critical_path_events_set = {self.node_list[node].ev_idx for node in path}
        pairs = list(zip(self.critical_path_nodes, self.critical_path_nodes[1:]))
        self.critical_path_edges_set = {self._edges[pair] for pair in pairs}
        self.path_weight = sum(weights[pair]["weight"] for pair in pairs)
        return True

    @property
    def edge_to_event_map(self) -> Dict[Tuple[int, int], int]:
        """The event that the time of an edge (its pair of nodes) is charged to."""
        return self._owner

    def _get_node_name(self, ev_idx: int) -> Optional[str]:
        """The name of an event; a graph that was restored from a file knows those of its path."""
        if self._names is None:
            if self._trace is not None:
                frame = self._trace.get_trace(self.rank)
                self._names = dict(zip(frame["index"].tolist(), self._trace.symbol_table.decode(frame["name"]).tolist()))
            else:
                parts = self._data["breakdown"]
                self._names = dict(zip(parts["event_idx"], parts["s_name"]))
        return self._names.get(ev_idx)

    # ---- reading ---------------------------------------------------------------------------------------------

    @property
    def edges(self) -> _EdgeView:
        return _EdgeView(self)

    @property
    def nodes(self) -> _NodeView:
        return _NodeView(self)

    def __len__(self) -> int:
        return len(self.node_list)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.node_list)))

    def __contains__(self, idx) -> bool:
        return isinstance(idx, int) and 0 <= idx < len(self.node_list)

    def __getitem__(self, idx: int) -> Dict[int, Dict[str, Any]]:
        return {v: self.edges[idx, v] for v in self.successors(idx)}

    def number_of_nodes(self) -> int:
        return len(self.node_list)

    def number_of_edges(self) -> int:
        return len(self._edges)

    def order(self) -> int:
        return len(self.node_list)

    def size(self) -> int:
        return len(self._edges)

    def has_node(self, idx: int) -> bool:
        return idx in self

    def has_edge(self, begin: int, end: int) -> bool:
        return (begin, end) in self._edges

    def get_edge_data(self, begin: int, end: int, default: Any = None):
        return self.edges[begin, end] if self.has_edge(begin, end) else default

    def successors(self, idx: int) -> Iterator[int]:
        return iter(self._next.get(idx, ()))

    def predecessors(self, idx: int) -> Iterator[int]:
        return iter(self._before.get(idx, ()))

    neighbors = successors

    def out_edges(self, idx: int, data: Union[bool, str] = False):
        pairs = [(idx, end) for end in self.successors(idx)]
        return self._with_data(pairs, data)

    def in_edges(self, idx: int, data: Union[bool, str] = False):
        pairs = [(begin, idx) for begin in self.predecessors(idx)]
        return self._with_data(pairs, data)

    def _with_data(self, pairs, data):
        if not data:
            return pairs
        return [(u, v, self.edges[u, v] if data is True else self.edges[u, v].get(data)) for u, v in pairs]

    def in_degree(self, idx: int) -> int:
        return len(self._before.get(idx, ()))

    def out_degree(self, idx: int) -> int:
        return len(self._next.get(idx, ()))

    def is_directed(self) -> bool:
        return True

    def is_multigraph(self) -> bool:
        return False

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
        """Position of the event that the edge's time is charged to, None if it is nobody's."""
        return self._owner.get((edge.begin, edge.end))

    def get_edges_attributed_to_event(self, ev_idx: int) -> List[CPEdge]:
        """The edges whose time is charged to an event."""
        return [self._edges[pair] for pair, owner in self._owner.items() if owner == ev_idx]

    def edges_of_type(self, kind: CPEdgeType) -> List[CPEdge]:
        """All edges of a kind, on the path or not."""
        return [edge for edge in self._edges.values() if edge.type == kind]

    def get_critical_path_breakdown(self):
        """One row an edge of the path: whose time it is, and what bounds it."""
        columns = self._data["breakdown"]
        frame = pandas().DataFrame({c: pandas().Series(v, dtype=_BREAKDOWN[c]) for c, v in columns.items()})
        for column in ("type", "s_name", "cat", "bound_by"):
            frame[column] = _frames.text(frame[column])
        return frame

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
        """A networkx.DiGraph with the same numbers, weights and objects."""
        try:
            import networkx
        except ImportError:
            raise ImportError("to_networkx needs networkx: pip install networkx") from None
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes(data=True))
        graph.add_edges_from(self.edges(data=True))
        return graph

    # ---- keeping -----------------------------------------------------------------------------------------------

    def save(self, out_dir: str) -> str:
        """Writes the graph to out_dir.zip (plain JSON inside, no pickle) and returns that path."""
        path = os.fspath(out_dir).rstrip("/") + ".zip"
        temporary = path + ".part"
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_MEMBER, json.dumps({"format": _FORMAT, "version": _VERSION, **self._data}))
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
    """HTA's functions behind those of TraceAnalysis, of a Trace."""

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


def _read(tables, rank: int, annotation: str, instance_id, data_load_events) -> Dict[str, Any]:
    """The engine's tables as what `save` writes: plain lists and numbers."""
    nodes, edges, parts = tables["nodes"], tables["edges"], tables["breakdown"]
    events, starts = nodes["event"], [at == "start" for at in nodes["at"]]
    place = {key: i for i, key in enumerate(zip(events, starts))}
    on_path = sorted((at, i) for i, at in enumerate(nodes["path"]) if at is not None)
    return {
        "rank": int(rank),
        "annotation": annotation,
        "instance_id": list(instance_id) if isinstance(instance_id, tuple) else instance_id,
        "data_load_events": list(data_load_events) if data_load_events else None,
        "path_weight": _number(tables["critical_path"]["path_weight"][0]),
        "nodes": {
            "event": events,
            "ts": [_number(v) for v in nodes["ts_us"]],
            "is_start": starts,
            "is_blocking": [bool(v) for v in nodes["blocking"]],
        },
        "path": [i for _, i in on_path],
        "edges": {
            "begin": [place[e, at == "start"] for e, at in zip(edges["source"], edges["source_at"])],
            "end": [place[e, at == "start"] for e, at in zip(edges["target"], edges["target_at"])],
            "weight": [_number(v) for v in edges["weight"]],
            "type": edges["type"],
            "event": edges["event"],
            "critical": edges["critical"],
        },
        "breakdown": {
            "event_idx": parts["event"],
            "duration": [_number(v) for v in parts["duration"]],
            "type": parts["type"],
            "s_name": [None if n is None else shorten_name(n) for n in parts["name"]],
            "cat": parts["cat"],
            "pid": parts["pid"],
            "tid": parts["tid"],
            "stream": parts["stream"],
            "index": parts["event"],
            "bound_by": [b or "" for b in parts["bound_by"]],
        },
    }


def restore_cpgraph(zip_filename: str, t_full=None, rank: Optional[int] = None) -> CPGraph:
    """The graph that CPGraph.save wrote. t_full and rank are accepted as in HTA; the file has all that is needed.

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
    return CPGraph(data)
