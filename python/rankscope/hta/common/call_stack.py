"""Stands where HTA's `hta.common.call_stack` stands: the events of each thread as a tree, without their GPU work.

`trace_call_stack` and `trace_call_graph` have it with the work, and join the threads of forward and backward."""
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from .._need import pandas
from ._stacks import Tree, nest

__all__ = ["CallGraph", "CallStackGraph", "CallStackIdentity", "CallStackNode"]


class CallStackIdentity(NamedTuple):
    """A thread of a rank."""

    rank: int = -1
    pid: int = -1
    tid: int = -1


@dataclass
class CallStackNode:
    """An event: what it lies in, how deep, and what lies in it."""

    parent: int = -1
    depth: int = -1
    children: List[int] = field(default_factory=list)


class CallStackGraph(Tree):
    """The events of one thread. The root is node -1; filter_func chooses rows beforehand."""

    def __init__(self, df: Any, identity: CallStackIdentity, filter_func: Optional[Callable[[Any], Any]] = None) -> None:
        self.identity = identity
        self.df = df if filter_func is None else filter_func(df)
        self.root_index = -1
        self.nodes: Dict[int, CallStackNode] = {-1: CallStackNode()}
        rows = self.df
        for event, parent in nest(rows["index"].tolist(), rows["ts"].tolist(), rows["dur"].tolist(), -1):
            above = self.nodes[parent]
            self.nodes[event] = CallStackNode(parent, above.depth + 1)
            above.children.append(event)

    def get_dataframe(self):
        return self.df

    def get_depth(self):
        """How deep each event lies, by its index."""
        depths = {node: at.depth for node, at in self.nodes.items() if node >= 0}
        return pandas().Series(depths, dtype="int64", name="depth")


class CallGraph:
    """The trees of all threads of the host, of some ranks or of all; the frames get a column depth."""

    def __init__(self, trace: Any, ranks: Optional[List[int]] = None, filter_func: Optional[Callable[[Any], Any]] = None) -> None:
        self.trace_data = trace
        self.ranks = [rank for rank in trace.get_ranks() if ranks is None or rank in ranks]
        if not self.ranks:
            raise ValueError("none of the ranks %s is loaded; there are %s" % (ranks, trace.get_ranks()))
        self.call_stacks: List[CallStackGraph] = []
        rows = []
        for rank in self.ranks:
            frame = trace.get_trace(rank)
            depth = pandas().Series(-1, index=frame["index"], dtype="int64")
            for (pid, tid), thread in frame[frame["stream"] == -1].groupby(["pid", "tid"], sort=True):
                stack = CallStackGraph(thread, CallStackIdentity(rank, pid, tid), filter_func)
                depth.update(stack.get_depth())
                rows.append((rank, pid, tid, len(self.call_stacks)))
                self.call_stacks.append(stack)
            frame["depth"] = depth.to_numpy()
        self.mapping = pandas().DataFrame(rows, columns=["rank", "pid", "tid", "stack_index"])
