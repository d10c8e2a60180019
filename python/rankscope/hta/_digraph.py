"""The directed graph below CPGraph: networkx' DiGraph where networkx is installed, else what reads like one.

Its dictionaries are made at the first access: most who ask for a critical path look at its path alone."""
from collections.abc import Mapping as AbstractMapping
from typing import Any, Dict, Iterator, Tuple, Union

Dicts = Tuple[Dict[int, Dict[str, Any]], Dict[int, Dict[int, Dict[str, Any]]], Dict[int, Dict[int, Dict[str, Any]]]]

# What networkx keeps of a graph's dictionaries.
_VIEWS = ("adj", "succ", "pred", "nodes", "edges", "out_edges", "in_edges", "degree", "out_degree", "in_degree")


class Dictionaries:
    """Nodes, successors and predecessors in networkx' dictionaries, and under its names for them."""

    __dict__: Dict[str, Any]

    def _make_dictionaries(self) -> Dicts:
        return {}, {}, {}

    def _dictionaries(self) -> Dicts:
        made = self.__dict__.get("_made")
        if made is None:
            made = self.__dict__["_made"] = self._make_dictionaries()
        return made

    def _put(self, place: int, value: Any) -> None:
        made = list(self._dictionaries())
        made[place] = value
        self.__dict__["_made"] = tuple(made)
        for view in _VIEWS:
            self.__dict__.pop(view, None)

    @property
    def _node(self):
        return self._dictionaries()[0]

    @_node.setter
    def _node(self, value: Any) -> None:
        self._put(0, value)

    @property
    def _succ(self):
        return self._dictionaries()[1]

    @_succ.setter
    def _succ(self, value: Any) -> None:
        self._put(1, value)

    _adj = _succ

    @property
    def _pred(self):
        return self._dictionaries()[2]

    @_pred.setter
    def _pred(self, value: Any) -> None:
        self._put(2, value)


class _EdgeView:
    """graph.edges: iteration, len, in, [u, v], (data=...)."""

    def __init__(self, graph: "ReadGraph"):
        self._graph = graph

    def __iter__(self) -> Iterator[Tuple[int, int]]:
        return ((u, v) for u, ends in self._graph._succ.items() for v in ends)

    def __len__(self) -> int:
        return sum(map(len, self._graph._succ.values()))

    def __contains__(self, pair) -> bool:
        u, v = pair
        return v in self._graph._succ.get(u, ())

    def __getitem__(self, pair) -> Dict[str, Any]:
        u, v = pair
        return self._graph._succ[u][v]

    def __call__(self, data: Union[bool, str] = False, default: Any = None):
        return self.data(data, default) if data else list(self)

    def data(self, data: Union[bool, str] = True, default: Any = None):
        if isinstance(data, bool):
            return [(u, v, self[u, v]) for u, v in self]
        return [(u, v, self[u, v].get(data, default)) for u, v in self]


class _NodeView(AbstractMapping):
    """graph.nodes: the numbers of the nodes; nodes[i] their attributes."""

    def __init__(self, graph: "ReadGraph"):
        self._graph = graph

    def __iter__(self):
        return iter(self._graph._node)

    def __len__(self):
        return len(self._graph._node)

    def __getitem__(self, idx: int) -> Dict[str, Any]:
        return self._graph._node[idx]

    def __call__(self, data: bool = False):
        return list(self.items()) if data else list(self)


class ReadGraph(Dictionaries):
    """The members of networkx' DiGraph that read it, for where networkx is missing."""

    @property
    def edges(self) -> _EdgeView:
        return _EdgeView(self)

    @property
    def nodes(self) -> _NodeView:
        return _NodeView(self)

    def __len__(self) -> int:
        return len(self._node)

    def __iter__(self) -> Iterator[int]:
        return iter(self._node)

    def __contains__(self, idx) -> bool:
        return idx in self._node

    def __getitem__(self, idx: int) -> Dict[int, Dict[str, Any]]:
        return self._succ[idx]

    def number_of_nodes(self) -> int:
        return len(self)

    def number_of_edges(self) -> int:
        return len(self.edges)

    def order(self) -> int:
        return len(self)

    def size(self) -> int:
        return len(self.edges)

    def has_node(self, idx: int) -> bool:
        return idx in self

    def has_edge(self, begin: int, end: int) -> bool:
        return (begin, end) in self.edges

    def get_edge_data(self, begin: int, end: int, default: Any = None):
        return self.edges[begin, end] if self.has_edge(begin, end) else default

    def successors(self, idx: int) -> Iterator[int]:
        return iter(self._succ[idx])

    def predecessors(self, idx: int) -> Iterator[int]:
        return iter(self._pred[idx])

    neighbors = successors

    def out_edges(self, idx: int, data: Union[bool, str] = False):
        return self._with_data([(idx, end) for end in self._succ[idx]], data)

    def in_edges(self, idx: int, data: Union[bool, str] = False):
        return self._with_data([(begin, idx) for begin in self._pred[idx]], data)

    def _with_data(self, pairs, data):
        if not data:
            return pairs
        return [(u, v, self.edges[u, v] if data is True else self.edges[u, v].get(data)) for u, v in pairs]

    def in_degree(self, idx: int) -> int:
        return len(self._pred[idx])

    def out_degree(self, idx: int) -> int:
        return len(self._succ[idx])

    def is_directed(self) -> bool:
        return True

    def is_multigraph(self) -> bool:
        return False


def _base() -> Any:
    try:
        import networkx
    except ImportError:
        return ReadGraph

    class DiGraph(Dictionaries, networkx.DiGraph):
        """networkx' DiGraph over those dictionaries."""

        def __init__(self) -> None:
            self.graph: Dict[str, Any] = {}
            self.__networkx_cache__: Dict[str, Any] = {}

    return DiGraph


Graph = _base()
