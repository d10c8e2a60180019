#!/usr/bin/env python3
"""Makes a capture and its replay of an eager trace: python3 pair.py EAGER CAPTURE REPLAY [--nameless] [--times N]

The capture has the host's events of the trace, between hipStreamBeginCapture and hipStreamEndCapture, and no work. The
replay has the work, launched by hipGraphLaunch alone, N times one behind the other. So what every operator launched is
known: it stands in the eager trace.
"""
import argparse
import gzip
import json

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver")


def load(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as f:
        return json.load(f)


def store(path, trace):
    with (gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w")) as f:
        json.dump(trace, f)


def is_span(e):
    return e.get("ph") == "X" and "ts" in e and "dur" in e


def host_of(events, launched):
    """Host events, from 2 us behind the first moment; a call that launched nothing recorded is no node."""
    out = []
    for e in events:
        if e.get("cat") in HOST and is_span(e) and not e["name"].startswith("ProfilerStep#"):
            call = e["cat"].startswith("cuda_")
            if not call or e["args"].get("correlation") in launched:
                out.append(json.loads(json.dumps(e)))
    return out


def make(eager, nameless=False, times=1, name="hipGraphLaunch"):
    events = eager["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events
             if e.get("cat", "").startswith("cuda_") and is_span(e) and "correlation" in e.get("args", {})}
    work = [e for e in events if e.get("cat") in WORK and e.get("args", {}).get("correlation") in calls]
    launched = {e["args"]["correlation"] for e in work}
    host = host_of(events, launched)
    if nameless:
        for e in host:
            e.get("args", {}).pop("kernel", None)
    first = min(e["ts"] for e in host)
    last = max(e["ts"] + e["dur"] for e in host)
    at = next(e for e in host if e["args"].get("correlation") in launched)
    thread = {"ph": "X", "cat": "cuda_runtime", "pid": at["pid"], "tid": at["tid"]}
    begin = dict(thread, name="hipStreamBeginCapture", ts=first - 3, dur=1, args={"correlation": 0})
    end = dict(thread, name="hipStreamEndCapture", ts=last + 3, dur=1, args={"correlation": 0})
    head = {k: v for k, v in eager.items() if k != "traceEvents"}
    capture = dict(head, traceEvents=[begin, *host, end])
    replay, length = [], max(e["ts"] + e["dur"] for e in work) - first + 1000
    for i in range(times):
        shift, correlation = i * length, 10_000_000 + i
        launch = dict(thread, name=name, ts=first + shift, dur=last - first, args={"correlation": correlation})
        root = dict(thread, cat="cpu_op", name="replay", ts=first - 1 + shift, dur=last - first + 2, args={})
        replay += [root, launch]
        for e in work:
            e = json.loads(json.dumps(e))
            e["ts"] += shift
            e["args"]["correlation"] = correlation
            replay.append(e)
    return capture, dict(head, traceEvents=replay)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("eager"), p.add_argument("capture"), p.add_argument("replay")
    p.add_argument("--nameless", action="store_true", help="the capture names no kernels, as CUPTI does")
    p.add_argument("--times", type=int, default=1)
    a = p.parse_args()
    capture, replay = make(load(a.eager), a.nameless, a.times)
    store(a.capture, capture)
    store(a.replay, replay)


if __name__ == "__main__":
    main()
