"""Replaces HTA's `hta.common.execution_trace`: PyTorch's execution traces together with the events of a Trace."""
import json
import logging
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from rankscope import _engine

from .._need import pandas
from .trace import Trace

__all__ = ["ExecutionTrace", "Node", "add_et_column", "correlate_execution_trace", "load_execution_trace"]

logger = logging.getLogger("rankscope.hta")

# Categories of the events that an execution trace has, too.
EXECUTION_TRACE_SUPPORTED_EVENTS: List[str] = ["cpu_op", "user_annotation"]
COLUMNS = ("et_node_name", "op_schema", "input_shapes", "input_types", "output_shapes", "output_types")


@dataclass
class Node:
    """An operator of an execution trace. rf_id is its number in the Kineto trace (External id)."""

    id: int
    name: str
    parent_id: int
    rf_id: Optional[int]
    op_schema: str
    inputs: List[Any]
    input_shapes: List[Any]
    input_types: List[Any]
    outputs: List[Any]
    output_shapes: List[Any]
    output_types: List[Any]


class ExecutionTrace:
    """Nodes by their numbers, of what PyTorch's ExecutionTraceObserver wrote."""

    def __init__(self, contents: Dict[str, Any]) -> None:
        if not isinstance(contents, dict) or not isinstance(contents.get("nodes"), list):
            raise ValueError("an execution trace has a list of nodes; this file has none")
        self.schema = str(contents.get("schema", ""))
        self.nodes: Dict[int, Node] = {}
        for node in contents["nodes"]:
            made = _node(node)
            self.nodes[made.id] = made


def _part(node: Dict[str, Any], side: str, what: str) -> List[Any]:
    """values, shapes or types: of `inputs: {values, ...}` as files have them since 1.0.2, or of `inputs, input_shapes, ...`."""
    group = node.get(side + "s", [])
    if isinstance(group, dict):
        return list(group.get(what, []))
    return list(group if what == "values" else node.get("%s_%s" % (side, what), []))


def _node(node: Dict[str, Any]) -> Node:
    attributes = {one["name"]: one.get("value") for one in node.get("attrs", []) if isinstance(one, dict) and "name" in one}
    number = attributes.get("rf_id", node.get("rf_id"))
    return Node(
        id=int(node["id"]),
        name=str(node.get("name", "")),
        parent_id=int(node.get("ctrl_deps", node.get("parent", -1)) or -1),
        rf_id=None if number is None else int(number),
        op_schema=str(attributes.get("op_schema", node.get("op_schema", "")) or ""),
        inputs=_part(node, "input", "values"),
        input_shapes=_part(node, "input", "shapes"),
        input_types=_part(node, "input", "types"),
        outputs=_part(node, "output", "values"),
        output_shapes=_part(node, "output", "shapes"),
        output_types=_part(node, "output", "types"),
    )


def load_execution_trace(et_file: str) -> ExecutionTrace:
    """Reads a file of PyTorch's ExecutionTraceObserver, packed or not."""
    return ExecutionTrace(json.loads(_engine.file_text(et_file)))


def _et_has_overlap(trace_df: Any, et: ExecutionTrace) -> bool:
    """Whether the operators of an execution trace were recorded in the trace, by their numbers."""
    numbers = [
        node.rf_id for node in et.nodes.values()
        if node.rf_id is not None and "execution_trace|thread" not in node.name and "execution_trace|process" not in node.name
    ]
    recorded = trace_df["external_id"]
    return bool(numbers) and bool(recorded.min() <= min(numbers) and max(numbers) <= recorded.max())


def correlate_execution_trace(trace: Trace, rank: int, et: ExecutionTrace) -> None:
    """Adds a column et_node to the rank's frame: the node of each operator and annotation, by External id.

    An error in the log, and no column, where the two were not recorded at the same time."""
    frame = trace.get_trace(rank)
    if not _et_has_overlap(frame, et):
        logger.error("the execution trace was not recorded while the trace of rank %s was: their numbers do not overlap", rank)
        return
    nodes = {node.rf_id: node.id for node in et.nodes.values() if node.rf_id is not None}
    numbers = [trace.symbol_table.get_sym_id_map().get(name) for name in EXECUTION_TRACE_SUPPORTED_EVENTS]
    found = frame["external_id"].map(nodes).astype("float64")
    frame["et_node"] = found.where(frame["cat"].isin(numbers))


def add_et_column(trace_df: Any, et: ExecutionTrace, column: str) -> None:
    """Adds what the nodes of the column et_node say: et_node_name, op_schema, input_shapes, input_types, output_shapes,
    output_types."""
    if "et_node" not in trace_df.columns:
        logger.error("the frame has no column et_node: correlate_execution_trace makes it")
        return
    if column not in COLUMNS:
        logger.error("there is no column %s; there are %s", column, ", ".join(COLUMNS))
        return
    member = "name" if column == "et_node_name" else column
    values = [getattr(et.nodes[int(at)], member) if at == at and int(at) in et.nodes else float("nan") for at in trace_df["et_node"]]
    trace_df[column] = pandas().Series(values, index=trace_df.index, dtype=object)
