"""Replaces HTA's `hta.common.call_stack`: the events of each thread as a tree, without their GPU work.

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
    """An event: what is around it, how deep it is, and what is inside of it."""

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
        """How deep each event is, by its index."""
        depths = {node: at.depth for node, at in self.nodes.items() if node >= 0}
        return pandas().Series(depths, dtype="int64", name="depth")


def _shorten_calls(frame: Any) -> None:
    """Lets no Python call end after its caller on the same thread (python_id, python_parent_id)."""
    if not {"python_id", "python_parent_id"} <= set(frame.columns):
        return
    calls = frame[frame["python_id"] >= 0]
    rows = dict(zip(calls["python_id"].tolist(), zip(
        calls["python_parent_id"].tolist(), calls["ts"].tolist(), calls["dur"].tolist(), calls["pid"].tolist(), calls["tid"].tolist())))
    ends: Dict[Any, Any] = {}
    for first in rows:
        path, seen = [first], {first}
        while path:  # callers before what they call; a circle of callers is cut where it closes
            above, start, length, *thread = rows[path[-1]]
            if above in rows and above not in ends and above not in seen:
                path.append(above)
                seen.add(above)
                continue
            end = start + length
            if above in ends and list(rows[above][3:]) == thread:
                end = min(end, ends[above])
            ends[path.pop()] = max(end, start)
    shorter = {call: end - rows[call][1] for call, end in ends.items() if end < rows[call][1] + rows[call][2]}
    if not shorter:
        return
    changed = calls.index[calls["python_id"].isin(list(shorter))]
    frame.loc[changed, "dur"] = [shorter[call] for call in frame.loc[changed, "python_id"].tolist()]
    if "end" in frame.columns:
        frame.loc[changed, "end"] = frame.loc[changed, "ts"] + frame.loc[changed, "dur"]


class CallGraph:
    """The trees of all threads of the host, of some ranks or of all; the frames get a column depth.

    With pre_process_trace_data, Python calls that outlast their callers are shortened first, in the frames themselves."""

    def __init__(
        self,
        trace: Any,
        ranks: Optional[List[int]] = None,
        filter_func: Optional[Callable[[Any], Any]] = None,
        pre_process_trace_data: bool = False,
    ) -> None:
        self.trace_data = trace
        have = sorted(trace.get_all_traces())
        self.ranks = [rank for rank in have if ranks is None or rank in ranks]
        if not self.ranks:
            raise ValueError("none of the ranks %s is loaded; there are %s" % (ranks, have))
        if pre_process_trace_data:
            for rank in self.ranks:
                _shorten_calls(trace.get_trace(rank))
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
