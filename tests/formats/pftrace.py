"""Kineto JSON as .pftrace, in the two layouts of PyTorch's encoders (facts: torch 2.15, torch/csrc/profiler/cuspy and
torch/profiler/_cuspy/trace.py; tests/perfetto/make_torch has files of the encoder itself).

slices(): everything is a slice, group by group, the beginnings of a group before its ends; with or without categories.
stages(): GPU work is render stages, the host's slices as before, synchronizations and overhead without category.
"""
import re
import struct
import zlib
from fractions import Fraction

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
CALLS = ("cuda_runtime", "cuda_driver")
STAGES = {"kernel": (1, "Kernel"), "gpu_memcpy": (2, "Memcpy"), "gpu_memset": (3, "Memset"), "gpu_user_annotation": (4, "Annotation")}


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def real(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def value_of(v):
    if isinstance(v, bool):
        return number(2, int(v))
    if isinstance(v, int):
        return number(4, v)
    if isinstance(v, (float, Fraction)):
        return real(5, float(v))
    if isinstance(v, str):
        return data(6, v)
    if isinstance(v, list):
        return b"".join(data(12, value_of(x)) for x in v)
    if isinstance(v, dict):
        return b"".join(data(11, data(10, k) + value_of(x)) for k, x in v.items())
    return b""


def ns(text):
    value = Fraction(text) * 1000
    return value.numerator // value.denominator if value.denominator == 1 else round(value)


def whole(place):
    """Processes and threads are numbers here; PyTorch 1.8 wrote texts ("25738", "stream 7")."""
    if isinstance(place, int):
        return place
    digits = re.search(r"\d+$", place)
    return int(digits[0]) if digits else zlib.crc32(place.encode()) >> 1


class Writer:
    def __init__(self, trace):
        self.base = int(trace.get("baseTimeNanoseconds", 0))
        self.events = [dict(e, pid=whole(e["pid"]), tid=whole(e["tid"])) for e in trace["traceEvents"]
                       if e.get("ph") == "X" and e.get("cat") != "Trace"]
        self.packets, self.tracks, self.names, self.categories = [], {}, {}, {}
        self.thread_names = {(whole(e["pid"]), whole(e["tid"])): e["args"]["name"] for e in trace["traceEvents"]
                             if e.get("ph") == "M" and e.get("name") == "thread_name"}
        self.packet(data(6, b"".join(data(1, number(1, clock) + number(2, self.base)) for clock in (6, 1))) + number(8, self.base))

    def packet(self, body):
        self.packets.append(data(1, number(10, 1) + body))

    def bytes(self):
        return b"".join(self.packets)

    def track(self, event):
        pid, tid = event["pid"], event["tid"]
        gpu = event.get("cat") in WORK + ("cuda_sync",)
        if pid not in self.tracks:
            self.tracks[pid] = len(self.tracks) + 1
            process = "GPU %d" % pid if gpu else "Overhead" if event.get("cat") == "overhead" else "python"
            self.packet(data(60, number(1, self.tracks[pid]) + data(3, number(1, pid & 0x7FFFFFFF) + data(6, process))))
        if (pid, tid) not in self.tracks:
            self.tracks[pid, tid] = len(self.tracks) + 1
            name = self.thread_names.get((pid, tid), str(tid))
            thread = number(1, pid & 0x7FFFFFFF) + number(2, tid & 0x7FFFFFFF) + data(5, "stream %d" % tid if gpu else name)
            self.packet(data(60, number(1, self.tracks[pid, tid]) + number(5, self.tracks[pid]) + data(4, thread)))
        return self.tracks[pid, tid]

    def id_of(self, table, text):
        return table.setdefault(text, len(table) + 1)

    def times(self, event):
        start = self.base + ns(event["ts"])
        return start, start + ns(event["dur"])

    def group(self, events, categories):
        """All beginnings, then all ends."""
        for e in events:
            body = number(9, 1) + number(11, self.track(e)) + number(10, self.id_of(self.names, e["name"]))
            if categories:
                body += number(3, self.id_of(self.categories, e["cat"]))
            body += b"".join(data(4, data(10, k) + value_of(v)) for k, v in e.get("args", {}).items())
            self.packet(number(8, self.times(e)[0]) + number(13, 2) + data(11, body))
        for e in events:
            self.packet(number(8, self.times(e)[1]) + data(11, number(9, 2) + number(11, self.track(e))))

    def interned(self, more=b""):
        """Names come first; they are known last."""
        texts = b"".join(data(2, number(1, i) + data(2, n)) for n, i in self.names.items())
        texts += b"".join(data(1, number(1, i) + data(2, n)) for n, i in self.categories.items())
        self.packets.insert(1, data(1, number(10, 1) + number(13, 1) + data(12, texts + more)))


def by_category(events):
    groups = {}
    for e in events:
        groups.setdefault(e.get("cat", ""), []).append(e)
    return groups


def slices(trace, categories):
    w = Writer(trace)
    for e in w.events:
        w.track(e)
    for events in by_category(w.events).values():
        w.group(events, categories)
    w.interned()
    return w.bytes()


def stages(trace):
    w = Writer(trace)
    groups = by_category(w.events)
    host = [e for e in w.events if e["cat"] not in WORK + CALLS + ("cuda_sync", "overhead")]
    w.group(host, True)
    for name in CALLS:
        w.group(groups.get(name, []), True)
    for name in ("overhead", "cuda_sync"):
        w.group(groups.get(name, []), False)
    lanes, specs = {}, b"".join(data(24, number(1, i) + data(2, n)) for i, n in STAGES.values())
    work = [e for name in WORK for e in groups.get(name, [])]
    for at, e in enumerate(work):
        a = dict(e.get("args", {}))
        lane = a.get("stream", e["tid"])
        start, end = w.times(e)
        body = number(1, at + 1) + number(2, end - start) + number(11, a.get("device", e["pid"]))
        body += number(13, lanes.setdefault(lane, 100 + len(lanes))) + number(14, STAGES[e["cat"]][0])
        body += number(20, w.id_of(w.names, e["name"]))
        if "grid" in a:
            sizes = [b"".join(number(i + 1, n) for i, n in enumerate(a[k])) for k in ("grid", "block")]
            values = {1: a.get("registers per thread"), 2: a.get("shared memory")}
            body += data(21, data(1, sizes[0]) + data(2, sizes[1]) +
                         b"".join(data(3, number(1, i) + number(4, v)) for i, v in values.items() if v is not None))
        for key, value in {"device id": a.pop("device", None), "context id": a.pop("context", None),
                           "stream id": a.pop("stream", None), **a}.items():
            if value is not None and key not in ("grid", "block", "registers per thread", "shared memory"):
                body += data(6, data(1, key) + data(2, str(value)))
        w.packet(number(8, start) + number(13, 2) + data(53, body))
    specs += b"".join(data(24, number(1, i) + data(2, "[%05d] stream %d" % (lane, lane))) for lane, i in lanes.items())
    specs += data(1001, number(1, 1) + data(2, "registers_per_thread")) + data(1001, number(1, 2) + data(2, "shared_mem_dynamic"))
    w.interned(specs)
    return w.bytes()
