"""Replaces HTA's `hta.common.trace_call_stack`: the events of a thread as a tree with the GPU work that they launch."""
import functools
import logging
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional

from .._need import pandas
from ._stacks import NON_EXISTENT_NODE_INDEX, NULL_NODE_INDEX, Tree, nest
from .trace_symbol_table import TraceSymbolTable
from .types import DeviceType, infer_device_type

__all__ = [
    "CLOSE_END",
    "CallStackGraph",
    "CallStackIdentity",
    "CallStackNode",
    "NON_EXISTENT_NODE_INDEX",
    "NULL_NODE_INDEX",
    "OPEN_END",
    "is_events_sorted",
    "sort_events",
]

logger = logging.getLogger("rankscope.hta")

# Ends of events in rows of index, duration, which end, time.
OPEN_END = -1
CLOSE_END = 1
_INDEX, _LENGTH, _END, _TIME = range(4)

# What save_call_stack_to_dataframe writes, and what stands where there is nothing.
STACK_COLUMNS = {
    "parent": -1,
    "depth": -1,
    "height": -1,
    "num_kernels": 0,
    "kernel_dur_sum": 0,
    "kernel_span": 0,
    "first_kernel_start": -1,
    "last_kernel_end": -1,
}


# ---- the order of ends -----------------------------------------------------------------------------------------------


def _cmp_events_with_zero_duration(x: Any, y: Any) -> bool:
    """Whether x comes before y at the same time, where one takes none: it is inside of the other, or in the earlier of two."""
    if x[_LENGTH] and y[_LENGTH]:
        raise ValueError("neither event is of no duration")
    if x[_LENGTH] or y[_LENGTH]:
        return bool(x[_END] == OPEN_END if x[_LENGTH] else y[_END] == CLOSE_END)
    if x[_END] != y[_END]:
        return bool(x[_END] == OPEN_END)
    return bool(x[_INDEX] < y[_INDEX] if x[_END] == OPEN_END else x[_INDEX] > y[_INDEX])


def _less_than(x: Any, y: Any) -> bool:
    """Whether the end x of an event comes before the end y: by time; then ends before beginnings, the outer event outside."""
    if x[_TIME] != y[_TIME]:
        return bool(x[_TIME] < y[_TIME])
    if x[_INDEX] == y[_INDEX]:
        return bool(x[_END] < y[_END])
    if not x[_LENGTH] or not y[_LENGTH]:
        return _cmp_events_with_zero_duration(x, y)
    if x[_END] != y[_END]:
        return bool(x[_END] == CLOSE_END)
    outer_first = (-x[_LENGTH], x[_INDEX]) < (-y[_LENGTH], y[_INDEX])
    return bool(outer_first if x[_END] == OPEN_END else not outer_first)


def sort_events(events: Any) -> None:
    """Puts the rows of an array into that order, in place."""
    rows = sorted(events.tolist(), key=functools.cmp_to_key(lambda x, y: -1 if _less_than(x, y) else 1))
    if rows:
        events[:] = rows


def is_events_sorted(events: Any) -> bool:
    """Whether no row of an array comes before the one above it."""
    return not any(_less_than(events[at], events[at - 1]) for at in range(1, len(events)))


# ---- the tree --------------------------------------------------------------------------------------------------------


class CallStackIdentity(NamedTuple):
    """A thread of a rank."""

    rank: int = -1
    pid: int = -1
    tid: int = -1


@dataclass
class CallStackNode:
    """An event: what is around it or launched it, how deep it is, how high what is inside of it is, and what that is.

    Work of the GPU has height 0, events of the host at least 1."""

    parent: int = -1
    depth: int = -1
    height: int = 1
    device: DeviceType = DeviceType.CPU
    children: List[int] = field(default_factory=list)


def _root_of(identity: CallStackIdentity) -> int:
    """A negative number for each thread."""
    try:
        return -abs(int(identity.tid)) or -1
    except (TypeError, ValueError):
        return -abs(hash(str(identity.tid))) or -1


class CallStackGraph(Tree):
    """The events of one thread (df) with the work that they launched (correlations: cpu_index, gpu_index; its rows are in
    full_df). nodes may be those of other threads of the rank, to which these are added; an event's node has its index."""

    def __init__(
        self,
        df: Any,
        identity: CallStackIdentity,
        correlations: Any,
        full_df: Any,
        symbol_table: TraceSymbolTable,
        nodes: Optional[Dict[int, CallStackNode]] = None,
        use_existing_stack_columns: bool = True,
        save_call_stack_to_df: bool = False,
    ) -> None:
        self.df, self.identity, self.correlations = df, identity, correlations
        self.full_df, self.symbol_table = full_df, symbol_table
        self.nodes: Dict[int, CallStackNode] = {} if nodes is None else nodes
        self.root_index = _root_of(identity)
        self.device_type = infer_device_type(df)
        self._own: List[int] = []
        if self.device_type == DeviceType.GPU:
            logger.error("%s are events of a GPU stream, which call nothing", (identity,))
            return
        self._build()
        if save_call_stack_to_df:
            self._save_call_stack_to_df()

    def __repr__(self) -> str:
        lines = ["CallStackGraph(%s, root %d)" % (self.identity, self.root_index)]
        return "\n".join(lines + ["  %d: %s" % (index, node) for index, node in self.nodes.items()])

    def _add(self, index: int, parent: int, height: int) -> None:
        device = DeviceType.CPU if height else DeviceType.GPU
        self.nodes[index] = CallStackNode(parent, self.nodes[parent].depth + 1, height, device)
        self.nodes[parent].children.append(index)
        self._own.append(index)

    def _add_edge(self, parent: int, child: int, device: DeviceType = DeviceType.CPU) -> None:
        """Puts an event under another, unless it is there."""
        if child not in self.nodes:
            self._add(child, parent, 0 if device == DeviceType.GPU else 1)
        elif child not in self.nodes[parent].children:
            self._update_parent([child], parent)

    def _build(self) -> None:
        rows = self.df
        self.nodes[self.root_index] = CallStackNode(NULL_NODE_INDEX, -1, 1)
        for event, parent in nest(rows["index"].tolist(), rows["ts"].tolist(), rows["dur"].tolist(), self.root_index):
            self._add(event, parent, 1)
        own = set(self._own)
        for launch, work in zip(self.correlations["cpu_index"].tolist(), self.correlations["gpu_index"].tolist()):
            if launch in own and work not in self.nodes:
                self._add(work, launch, 0)
        for index in reversed(self._own):
            self._raise(self.nodes[index].parent)
        if not self._own:
            self._raise(self.root_index)

    def _raise(self, index: int) -> None:
        """A node's height from its children's."""
        node = self.nodes[index]
        node.height = 1 + max((self.nodes[child].height for child in node.children), default=0)

    # ---- joining threads ---------------------------------------------------------------------------------------

    def _update_parent(self, indices: List[int], new_parent_index: int) -> None:
        """Moves nodes with all below them under another node."""
        if new_parent_index not in self.nodes:
            raise ValueError("there is no node %d to move events under" % new_parent_index)
        above = self.nodes[new_parent_index]
        for index in indices:
            node = self.nodes[index]
            self.nodes[node.parent].children.remove(index)
            node.parent = new_parent_index
            above.children.append(index)
            for below in self.get_descendants(index):
                self.nodes[below].depth = self.nodes[self.nodes[below].parent].depth + 1
        for index in self.get_path_to_root(new_parent_index):
            self._raise(index)

    def update_parent_of_first_layer_nodes(self, new_parent_index: int) -> None:
        """Moves the outermost events that begin during another thread's event under that event."""
        if new_parent_index not in self.nodes:
            raise ValueError("there is no node %d to move events under" % new_parent_index)
        rows = self.full_df.loc[self.full_df["index"] == new_parent_index]
        if len(rows) == 0:
            raise ValueError("there is no row %d to move events under" % new_parent_index)
        begin = rows["ts"].iloc[0]
        end = begin + rows["dur"].iloc[0]
        own = self.df.set_index("index")["ts"]
        first = [index for index in self.nodes[self.root_index].children if begin <= own.get(index, begin - 1) <= end]
        self._update_parent(first, new_parent_index)
        if first and not self.nodes[self.root_index].children:
            del self.nodes[self.root_index]
            self.root_index = self.get_root(new_parent_index)

    # ---- as columns --------------------------------------------------------------------------------------------

    def get_dataframe(self):
        return self.df

    def get_depth(self):
        """How deep each event is, by its index."""
        depths = {index: node.depth for index, node in self.nodes.items() if index >= 0}
        return pandas().Series(depths, dtype="Int16", name="depth")

    def _has_valid_stack_columns(self) -> bool:
        """Whether full_df says already what contains what."""
        if not {"parent", "depth", "height"} <= set(self.full_df.columns):
            return False
        return bool(((self.full_df["parent"] != -1) & self.full_df["parent"].notna()).any())

    def _save_call_stack_to_df(self) -> None:
        if self.device_type != DeviceType.GPU and "parent" in self.full_df.columns:
            self.save_call_stack_to_dataframe()

    def save_call_stack_to_dataframe(self, apply_whole_graph: bool = False) -> None:
        """Writes what contains what into columns of full_df: of this thread, or of all whose nodes these are."""
        indices = [index for index in (self.nodes if apply_whole_graph else self._own) if index >= 0]
        values = {name: [getattr(self.nodes[index], name) for index in indices] for name in ("parent", "depth", "height")}
        values.update(self._kernel_columns(indices))
        rows = self.full_df["index"].isin(indices).to_numpy()
        wanted = self.full_df["index"].to_numpy()[rows]
        for name, missing in STACK_COLUMNS.items():
            if name not in self.full_df.columns:
                self.full_df[name] = missing
            by_index = dict(zip(indices, values[name]))
            column = self.full_df[name].tolist()
            for at, index in zip(rows.nonzero()[0].tolist(), wanted.tolist()):
                column[at] = by_index[index]
            self.full_df[name] = pandas().Series(column, index=self.full_df.index)

    def _kernel_columns(self, indices: List[int]) -> Dict[str, List[Any]]:
        """How many pieces of work are below each node, how long they take together, from when to when."""
        full = self.full_df
        work = {index: (start, length) for index, start, length in zip(
            full["index"].tolist(), full["ts"].tolist(), full["dur"].tolist()) if index in self.nodes and self.nodes[index].height == 0}
        known: Dict[int, List[Any]] = {}
        for index in sorted(self.nodes, key=lambda at: -self.nodes[at].depth):
            if index in work:
                start, length = work[index]
                mine = [1, length, start, start + length]
            else:
                below = [known[child] for child in self.nodes[index].children if known.get(child, (0,))[0]]
                mine = [sum(one[0] for one in below), sum(one[1] for one in below), min((one[2] for one in below), default=-1),
                        max((one[3] for one in below), default=-1)]
            known[index] = mine
        columns = list(zip(*(known[index] for index in indices))) or [(), (), (), ()]
        span = [last - first if n else 0 for n, first, last in zip(columns[0], columns[2], columns[3])]
        return {"num_kernels": list(columns[0]), "kernel_dur_sum": list(columns[1]), "kernel_span": span,
                "first_kernel_start": list(columns[2]), "last_kernel_end": list(columns[3])}

    def _add_kernel_info_to_cpu_ops(self) -> None:
        """Writes the columns of the work, where full_df has them."""
        if "num_kernels" in self.full_df.columns:
            self.save_call_stack_to_dataframe(apply_whole_graph=True)
