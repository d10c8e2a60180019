"""Replaces HTA's `hta.common.trace_call_graph`: the call stacks of all threads of a rank, joined."""
import logging
from typing import Any, Dict, Iterator, List, Optional

from .._need import pandas
from .trace import Trace, get_cpu_gpu_correlation
from .trace_call_stack import STACK_COLUMNS, CallStackGraph, CallStackIdentity, CallStackNode
from .trace_symbol_table import TraceSymbolTable
from .types import DeviceType, infer_device_type

__all__ = ["CallGraph"]

logger = logging.getLogger("rankscope.hta")

_STEP, _BACKWARD = "ProfilerStep#", "## backward ##"


class CallGraph:
    """What contains what and what launched what, of some ranks or of all that are loaded.

    The ranks' frames get columns: parent, depth (0: outermost), height (0: work of the GPU), and of the work below an event
    num_kernels, kernel_dur_sum, kernel_span, first_kernel_start, last_kernel_end. The operators of the thread that runs the
    backward pass are in the step's annotation "## backward ##", or in the step, as far as they begin in it."""

    stack_columns = list(STACK_COLUMNS)

    def __init__(self, trace: Trace, ranks: Optional[List[int]] = None) -> None:
        self.trace_data = trace
        have = trace.get_ranks()
        self.ranks = [rank for rank in ranks if rank in have] if ranks else have
        if not self.ranks:
            raise ValueError("none of the ranks %s is loaded; there are %s" % (ranks, have or "none"))
        self.call_stacks: List[CallStackGraph] = []
        self.rank_to_nodes: Dict[int, Dict[int, CallStackNode]] = {}
        self.rank_to_stacks: Dict[int, Dict[CallStackIdentity, CallStackGraph]] = {}
        rows: List[Any] = []
        for rank in self.ranks:
            self._build(rank, rows)
        self.mapping = pandas().DataFrame(rows, columns=["rank", "pid", "tid", "label", "stack_index", "stack_root", "count"])
        self._rank = self.ranks[0]

    @staticmethod
    def from_dataframe(df, symbol_table: Optional[TraceSymbolTable] = None, rank: int = -1) -> "CallGraph":
        """Of a frame at hand; the frame itself stays as it is."""
        trace = Trace(trace_files={}, trace_dir="")
        trace.symbol_table = TraceSymbolTable.create_from_df(df) if symbol_table is None else symbol_table
        trace.traces[rank] = df.copy()
        trace.is_parsed = True
        return CallGraph(trace)

    def _build(self, rank: int, rows: List[Any]) -> None:
        frame = self.trace_data.get_trace(rank)
        nodes: Dict[int, CallStackNode] = {}
        stacks: Dict[CallStackIdentity, CallStackGraph] = {}
        self.rank_to_nodes[rank], self.rank_to_stacks[rank] = nodes, stacks
        if "end" not in frame.columns:
            frame["end"] = frame["ts"] + frame["dur"]
        for name, missing in STACK_COLUMNS.items():
            frame[name] = missing
        correlations = get_cpu_gpu_correlation(frame)
        labels: Dict[str, List[CallStackGraph]] = {}
        first = len(rows)
        for (pid, tid), thread in frame.groupby(["pid", "tid"], sort=True):
            if infer_device_type(thread) == DeviceType.GPU:
                continue
            identity = CallStackIdentity(rank, pid, tid)
            stack = CallStackGraph(thread, identity, correlations, frame, self.trace_data.symbol_table, nodes)
            label = self._label(thread)
            labels.setdefault(label, []).append(stack)
            stacks[identity] = stack
            rows.append([rank, pid, tid, label, len(self.call_stacks), stack.root_index, 1])
            self.call_stacks.append(stack)
        self._join(labels)
        seen: Dict[int, int] = {}
        for row in rows[first:]:
            row[5] = self.call_stacks[row[4]].root_index
            row[6] = seen[row[5]] = seen.get(row[5], 0) + 1
        if stacks:
            self.call_stacks[-1].save_call_stack_to_dataframe(apply_whole_graph=True)

    def _names(self, rows):
        """Names as texts: a frame holds numbers of the symbol table, or texts."""
        return self.trace_data.symbol_table.decode(rows["name"]) if rows["name"].dtype.kind in "iu" else rows["name"]

    def _label(self, thread) -> str:
        names = self._names(thread)
        if names.str.startswith(_STEP).any():
            return "main"
        return "bwd" if names.str.contains("autograd::", regex=False).any() else names.iloc[0]

    def _join(self, labels: Dict[str, List[CallStackGraph]]) -> None:
        """Hangs the backward pass of another thread into the main one, where there is one of each."""
        main, backward = labels.get("main", []), labels.get("bwd", [])
        if len(main) != 1 or len(backward) != 1:
            return
        rows = main[0].df
        names = self._names(rows)
        for beginning in (_BACKWARD, _STEP):
            above = rows.loc[names.str.startswith(beginning), "index"].tolist()
            if above:
                break
        for index in above:
            backward[0].update_parent_of_first_layer_nodes(index)
            if backward[0].root_index not in backward[0].nodes or backward[0].root_index == main[0].root_index:
                break

    # ---- asking ------------------------------------------------------------------------------------------------

    def get_call_stacks(
        self, rank: Optional[int] = None, pid: Optional[int] = None, tid: Optional[int] = None, stack_index: Optional[int] = None
    ) -> Iterator[CallStackGraph]:
        """The stacks of a rank, process, thread or number; what is not given does not matter."""
        wanted = {"rank": rank, "pid": pid, "tid": tid, "stack_index": stack_index}
        for row in self.mapping.to_dict("records"):
            if all(value is None or row[name] == value for name, value in wanted.items()):
                yield self.call_stacks[row["stack_index"]]

    def _frame(self, rank: Optional[int]):
        if rank is not None and rank in self.ranks:
            self._rank = rank
        return self.trace_data.get_trace(self._rank)

    def get_node_attributes(self, index: int, rank: Optional[int] = None):
        """An event's row; of the rank that was asked about last where none is given."""
        frame = self._frame(rank)
        rows = frame[frame["index"] == index]
        if len(rows) == 0:
            raise ValueError("there is no event %s on rank %s" % (index, self._rank))
        return rows.iloc[0]

    def _host_event(self, index: int, rank: Optional[int]):
        """An event's row, of work that of its launch."""
        row = self.get_node_attributes(index, rank)
        return self.get_node_attributes(row["parent"], rank) if row["stream"] > 0 else row

    def get_csg_of_node(self, index: int, rank: Optional[int] = None) -> CallStackGraph:
        """The stack that contains an event."""
        row = self._host_event(index, rank)
        for stack in self.get_call_stacks(self._rank, row["pid"], row["tid"]):
            return stack
        raise ValueError("event %s of rank %s is in no call stack" % (index, self._rank))

    def get_stack_of_node(self, index: int, rank: Optional[int] = None, skip_ancestors: bool = False):
        """The rows of an event, of what is around it, and of all that is inside of it, in the order of time."""
        stack = self.get_csg_of_node(index, rank)
        indices = set(stack.get_descendants(index))
        if not skip_ancestors:
            indices.update(stack.get_path_to_root(index))
        rows = stack.full_df
        return rows[rows["index"].isin([at for at in indices if at >= 0])].sort_values(["ts", "depth"], kind="stable")

    def get_gpu_kernels(self, rank: Optional[int] = None):
        """The rows of work."""
        frame = self._frame(rank)
        return frame[frame["stream"] != -1]
