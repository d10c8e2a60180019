"""What HTA's Trace does with rows of frames at hand. The engine has done it already to the frames that it gives."""
import logging
from typing import Any, Dict, Optional

from .._need import pandas
from .trace_filter import CPUOperatorFilter, GPUKernelFilter
from .trace_symbol_table import TraceSymbolTable

logger = logging.getLogger("rankscope.hta")


def infer_gpu_type(metadata: Optional[Dict[str, Any]], syms: Dict[str, int]) -> str:
    """The kind of device of a trace, by what it says of itself and by the names of its events."""
    if "mtia:hccl" in str(((metadata or {}).get("distributedInfo") or {}).get("backend", "")):
        return "MTIA"
    for name, kind in (
        ("cudaLaunchKernel", "NVIDIA GPU"),
        ("hipLaunchKernel", "AMD GPU"),
        ("runFunction - job_prep_and_submit_for_execution", "MTIA"),
    ):
        if name in syms:
            return kind
    return "UNKNOWN GPU"


def add_fwd_bwd_links(df: Any) -> None:
    """Adds fwdbwd_index, the operator of the other pass that an operator belongs to, and fwdbwd: 0 forward, 1 backward.

    df holds texts of cat, and the columns ph, id and bp of the arrows of category fwdbwd. An arrow's end is on the operator
    of its thread that begins at its time; of several that begin then on the last. -1: no arrow."""
    arrows = df[df["cat"] == "fwdbwd"]
    if len(arrows) == 0:
        return
    df["fwdbwd_index"] = -1
    df["fwdbwd"] = -1
    operators = df[df["cat"] == "cpu_op"].groupby(["ts", "tid", "pid"])["index"].max()
    sides = []
    for ends in (arrows[arrows["ph"] == "s"], arrows[(arrows["ph"] == "f") & (arrows["bp"] == "e")]):
        known: Dict[Any, Any] = {}
        for arrow, place in zip(ends["id"].tolist(), zip(ends["ts"], ends["tid"], ends["pid"])):
            if place in operators.index:
                known[arrow] = max(operators[place], known.get(arrow, -1))
        sides.append(known)
    pairs = [(sides[0][arrow], sides[1][arrow]) for arrow in sides[0] if arrow in sides[1]]
    if not pairs:
        return
    forward, backward = (list(side) for side in zip(*pairs))
    df.loc[forward, "fwdbwd_index"] = backward
    df.loc[backward, "fwdbwd_index"] = forward
    df.loc[forward, "fwdbwd"] = 0
    df.loc[backward, "fwdbwd"] = 1


def fix_mtia_memory_rows(df: Any, symbols: TraceSymbolTable) -> None:
    """Copies of an MTIA device that are on no stream get their thread as stream, those without a step the step they begin in."""
    copies = df["name"].isin(symbols.get_memory_name_ids())
    lost = copies & (df["stream"] == -1)
    df.loc[lost, "stream"] = df.loc[lost, "tid"]
    names = symbols.get_symbol_names(symbols.get_profiler_step_ids())
    steps = df[df["name"].isin(list(names))]
    for name, begin, length in zip(steps["name"].tolist(), steps["ts"].tolist(), steps["dur"].tolist()):
        number = names[name].rpartition("#")[2]
        inside = copies & (df["iteration"] == -1) & (df["ts"] >= begin) & (df["ts"] < begin + length)
        if number.isdigit():
            df.loc[inside, "iteration"] = int(number)


def without_last_step(df: Any, symbols: TraceSymbolTable, include_last_profiler_step: bool):
    """The host's rows up to the last step, or up to its end, and the work that they launched."""
    host, work = CPUOperatorFilter()(df, symbols), GPUKernelFilter()(df, symbols)
    steps = host[host["name"].isin(symbols.get_profiler_step_ids())]
    if include_last_profiler_step:
        host = host[host["ts"] <= steps["end"].max()]
    else:
        host = host[host["ts"] < steps["ts"].max()]
    launched = work.merge(host["correlation"], on="correlation", how="inner")
    return pandas().concat([launched, host], axis=0)
