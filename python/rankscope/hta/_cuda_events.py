"""Which launches CUDA's events order, in the frame of a rank: HTA's frames of cudaEventRecord and cudaStreamWaitEvent."""
import bisect
from typing import Any, Dict, List, Optional, Tuple

from ._need import pandas
from .common.trace_symbol_table import TraceSymbolTable


def _named(frame: Any, symbols: TraceSymbolTable, name: str) -> Any:
    """The calls of a function in the order of time; None where the trace has no such name."""
    number = symbols.get_sym_id_map().get(name)
    return None if number is None else frame[frame["name"] == number].sort_values("ts", kind="stable")


def _launches(frame: Any, symbols: TraceSymbolTable) -> List[Dict[str, Any]]:
    """The launches of work that is in the trace, in the order of time, with the stream and device of the work."""
    calls = frame.query(symbols.get_runtime_launch_events_query()).sort_values("ts", kind="stable")
    work = frame[(frame["stream"] != -1) & (frame["index_correlation"] > 0)]
    place = dict(zip(work["index"].tolist(), zip(work["stream"].tolist(), work["pid"].tolist())))
    rows = calls[["index", "ts", "pid", "tid", "correlation", "index_correlation"]].to_dict("records")
    return [{**row, "where": place[row["index_correlation"]]} for row in rows if row["index_correlation"] in place]


def _by(launches: List[Dict[str, Any]], key: Any) -> Dict[Any, Tuple[List[Any], List[Dict[str, Any]]]]:
    """Launches by a key: their times, and they themselves."""
    groups: Dict[Any, Tuple[List[Any], List[Dict[str, Any]]]] = {}
    for launch in launches:
        times, rows = groups.setdefault(key(launch), ([], []))
        times.append(launch["ts"])
        rows.append(launch)
    return groups


def records(frame: Any, symbols: TraceSymbolTable) -> Optional[Any]:
    """The calls of cudaEventRecord that a call waits for, with their stream and device (gpu), and the last launch onto these
    before the call: index_previous_launch, correlation_launch_event; -1 without one. None where there are no such calls."""
    calls = _named(frame, symbols, "cudaEventRecord")
    if calls is None or "wait_on_stream" not in frame.columns:
        return None
    waits = frame[frame["wait_on_stream"] > -1].drop_duplicates("wait_on_cuda_event_record_corr_id")
    place = dict(zip(waits["wait_on_cuda_event_record_corr_id"].tolist(), zip(waits["wait_on_stream"].tolist(), waits["pid"].tolist())))
    groups = _by(_launches(frame, symbols), lambda launch: launch["where"])
    rows = []
    for call in calls[["pid", "tid", "ts", "name", "correlation"]].to_dict("records"):
        if call["correlation"] not in place:
            continue
        stream, gpu = where = place[call["correlation"]]
        times, launches = groups.get(where, ([], []))
        before = bisect.bisect_right(times, call["ts"])
        last = launches[before - 1] if before else {"index": -1, "correlation": -1}
        rows.append({**call, "stream": stream, "gpu": gpu, "index_previous_launch": last["index"],
                     "correlation_launch_event": last["correlation"]})
    return pandas().DataFrame(rows) if rows else None


def waits(frame: Any, symbols: TraceSymbolTable) -> Optional[Any]:
    """The calls of cudaStreamWaitEvent by index, with the stream that waits, and the next launch onto it by the same thread:
    index_next_launch; -1 without one. None where there are no such calls."""
    calls = _named(frame, symbols, "cudaStreamWaitEvent")
    if calls is None or "Stream Wait Event" not in symbols.get_sym_id_map():
        return None
    work = frame[(frame["stream"] != -1) & (frame["index_correlation"] > 0)]
    stream_of = dict(zip(work["index"].tolist(), work["stream"].tolist()))
    groups = _by(_launches(frame, symbols), lambda launch: (launch["pid"], launch["tid"], launch["where"][0]))
    rows = []
    columns = ["index", "name", "ts", "pid", "tid", "correlation", "index_correlation"]
    for call in calls[calls["index_correlation"] > 0][columns].to_dict("records"):
        stream = stream_of.get(call["index_correlation"])
        if stream is None:
            continue
        times, launches = groups.get((call["pid"], call["tid"], stream), ([], []))
        after = bisect.bisect_left(times, call["ts"])
        rows.append({**call, "stream": stream, "index_next_launch": launches[after]["index"] if after < len(launches) else -1})
    return pandas().DataFrame(rows).set_index("index") if rows else None
