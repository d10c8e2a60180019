"""What the ranges of one step add up to. Ranges are (start, end) in milliseconds; all answers are unions."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

Interval = tuple[float, float]

COLLECTIVES = ("allreduce", "reducescatter", "allgather")
LANES = ("compute", "allreduce", "reducescatter", "aux")


def unite(intervals: Iterable[Interval]) -> list[Interval]:
    united: list[Interval] = []
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def length(intervals: Iterable[Interval]) -> float:
    return sum(end - start for start, end in intervals)


def intersect(a: Sequence[Interval], b: Sequence[Interval]) -> list[Interval]:
    """Of two unions."""
    common, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            common.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return common


def subtract(whole: Interval, holes: Iterable[Interval]) -> list[Interval]:
    """What is left of one interval."""
    left, at = [], whole[0]
    for start, end in unite(holes):
        if start > at:
            left.append((at, min(start, whole[1])))
        at = max(at, end)
    left.append((at, whole[1]))
    return [piece for piece in left if piece[0] < piece[1]]


def collective_of(function: str) -> str | None:
    """all_reduce, ALLREDUCE and allreduce_coalesced are one kind; what is none of the three is None."""
    plain = function.lower().replace("_", "")
    return next((kind for kind in COLLECTIVES if plain.startswith(kind)), None)


def segments(ranges: Sequence[dict[str, Any]], total: float) -> list[dict[str, Any]]:
    """[0, total] cut wherever the set of active streams may change."""
    changes: dict[float, list[tuple[str, int]]] = {}
    for r in ranges:
        changes.setdefault(r["start_ms"], []).append((r["stream"], 1))
        changes.setdefault(r["end_ms"], []).append((r["stream"], -1))
    active: dict[str, int] = {}
    found, last = [], 0.0
    for at in sorted(changes) + [total]:
        if at > last:
            found.append({"start_ms": last, "end_ms": at, "active_streams": sorted(s for s, n in active.items() if n)})
            last = at
        for stream, change in changes.get(at, ()):
            active[stream] = active.get(stream, 0) + change
    return found


def overlap(ranges: Sequence[dict[str, Any]], total: float) -> dict[str, Any]:
    """The `overlap` of a record: what a reader finds who does not add up the ranges himself."""
    lanes: dict[str, list[Interval]] = {}
    kinds: dict[str, list[Interval]] = {kind: [] for kind in COLLECTIVES}
    compute: list[Interval] = []
    for r in ranges:
        interval = (r["start_ms"], r["end_ms"])
        lanes.setdefault(r["stream"], []).append(interval)
        kind = collective_of(r["metadata"].get("function") or r["tag"])
        if kind:
            kinds[kind].append(interval)
        elif r["stream"] == "compute":
            compute.append(interval)
    compute = unite(compute)
    busy = {lane: length(unite(parts)) for lane, parts in lanes.items()}
    hidden = {"compute_" + kind: length(intersect(compute, unite(kinds[kind]))) for kind in ("allreduce", "reducescatter")}
    hidden["compute_comm"] = length(intersect(compute, unite(part for parts in kinds.values() for part in parts)))
    answer = {name: ms for name, ms in hidden.items() if ms > 0}
    answer["idle"] = max(total - length(unite(part for parts in lanes.values() for part in parts)), 0.0)
    return {
        "per_stream_ms": {lane: ms for lane, ms in busy.items() if ms > 0},
        "overlap_ms": answer,
        "active_segments": segments(ranges, total),
        "utilization": {lane: busy.get(lane, 0.0) / total if total > 0 else 0.0 for lane in dict.fromkeys((*LANES, *busy))},
    }
