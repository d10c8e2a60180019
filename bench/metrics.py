#!/usr/bin/env python3
"""Times `rankscope metrics` on rank metrics against CPython's json.loads of the same lines.

usage: bench/metrics.py [--bin PATH] [--ranks N] [--steps N] [--runs N] [--full] [--out FILE.json]

Records as a trainer writes them (two layers: about 4.7 kB a record) are made here: a block of some hundred different
steps, repeated with rising step numbers. --full: 8 ranks x 100 000 steps, about 3.8 GB. Yardstick, measured in the same
run: json.loads of every line, one file after the other, in this interpreter; it computes nothing. Both use one thread and
files in the page cache, and take turns. Ratios are of the medians of CPU time. Peak memory is of the whole process,
its bound 64 MiB and 64 bytes a record.
"""
import argparse
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def f32(x):
    import struct
    return struct.unpack("f", struct.pack("f", x))[0]


def record(rng, rank, ranks, step, layers=2):
    """One iteration as the trainer's stream profiler records it."""
    ranges, t = [], 0.02
    tag = "epoch0_step%d_" % step

    def add(stream, name, start, length, function=None):
        start, end = f32(start), f32(start + length)
        ranges.append({"stream": stream, "tag": name, "start_ms": start, "end_ms": end, "duration_ms": end - start,
                       "metadata": {"function": function} if function else {}})
        return end

    t = add("aux", tag + "prefetch", t, rng.uniform(0.3, 0.4))
    forward = rng.uniform(7.5, 8.7)
    for i in range(layers):
        add("aux", "all_gather_into_tensor", t + forward * i / layers, 0.55, "all_gather_into_tensor")
    end = add("compute", tag + "forward", t, forward)
    backward = rng.uniform(16, 18)
    for i in range(layers):
        add("aux", "all_gather_into_tensor", end + backward * i / layers, 0.55, "all_gather_into_tensor")
        add("reducescatter", "reduce_scatter_tensor", end + backward * (i + 1) / layers, 1.1, "reduce_scatter_tensor")
    end = add("compute", tag + "backward", end, backward)
    end = add("allreduce", "all_reduce", end + 1.2, 0.35, "all_reduce")
    end = add("aux", tag + "grad_clip", end, 0.4)
    end = add("aux", tag + "optimizer", end, 1.9)
    borders = sorted({r[k] for r in ranges for k in ("start_ms", "end_ms")})
    segments = [{"start_ms": a, "end_ms": b,
                 "active_streams": sorted({r["stream"] for r in ranges if r["start_ms"] <= a and r["end_ms"] >= b})}
                for a, b in zip([0.0] + borders, borders)]
    return {"rank": rank, "world_size": ranks, "epoch": 0, "step": step, "global_step": step,
            "loss": f32(rng.random()), "grad_norm": f32(rng.random()), "lr": 3e-4,
            "profile": {"index": step, "total_ms": f32(end + 0.2), "ranges": ranges,
                        "markers": [{"stream": "compute", "tag": tag + "end", "time_ms": end, "metadata": {}}],
                        "overlap": {"per_stream_ms": {"aux": 3.1, "compute": forward + backward},
                                    "overlap_ms": {"compute_comm": 1.1, "idle": 0.2}, "active_segments": segments,
                                    "utilization": {"compute": 0.9, "aux": 0.1}}}}


def write_rank(path, rank, ranks, steps):
    rng = random.Random(rank)
    block = [json.dumps(record(rng, rank, ranks, 0)) for _ in range(200)]
    parts = [line.split('"global_step": 0', 1) for line in block]
    with open(path, "w") as out:
        for step in range(steps):
            head, tail = parts[step % len(parts)]
            out.write(head + '"global_step": %d' % step + tail + "\n")


def cpu_of(command):
    pid = os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("%s ended with %d" % (command[0], status))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def load_all(files):
    start = time.process_time()
    for name in files:
        with open(name, "rb") as lines:
            for line in lines:
                json.loads(line)
    return time.process_time() - start


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default=os.path.join(HERE, "build/rankscope"))
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--steps", type=int, default=10000)
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--full", action="store_true")
    p.add_argument("--out")
    a = p.parse_args()
    if a.full:
        a.ranks, a.steps, a.runs = 8, 100000, 1
    folder = tempfile.mkdtemp(prefix="rankscope-metrics-")
    try:
        files = [os.path.join(folder, "rank_%02d_metrics.jsonl" % r) for r in range(a.ranks)]
        for rank, name in enumerate(files):
            write_rank(name, rank, a.ranks, a.steps)
        size = sum(os.path.getsize(name) for name in files)
        command = [a.bin, "metrics", "--log-dir", folder, "--label", "bench", "--output", folder + "/out", "--jobs", "1",
                   "--quiet", "--table", "datasets", "--format", "csv"]
        ours, yardstick, peak = [], [], 0
        null = os.open(os.devnull, os.O_WRONLY)
        held = os.dup(1)
        for _ in range(a.runs):
            os.dup2(null, 1)
            seconds, memory = cpu_of(command)
            os.dup2(held, 1)
            ours.append(seconds)
            peak = max(peak, memory)
            yardstick.append(load_all(files))
        bound = (64 << 20) + 64 * a.ranks * a.steps
        result = {"bytes": size, "records": a.ranks * a.steps, "runs": a.runs, "rankscope_cpu_s": statistics.median(ours),
                  "json_loads_cpu_s": statistics.median(yardstick),
                  "ratio": statistics.median(yardstick) / statistics.median(ours), "peak_bytes": peak,
                  "peak_bound_bytes": bound, "python": platform.python_version(), "machine": platform.machine()}
        print("%d records, %.0f MB: rankscope %.2f s (%.0f MB/s), json.loads %.2f s (%.0f MB/s): %.1f times as fast a core; "
              "peak %.1f MiB of %.1f allowed" %
              (result["records"], size / 1e6, result["rankscope_cpu_s"], size / 1e6 / result["rankscope_cpu_s"],
               result["json_loads_cpu_s"], size / 1e6 / result["json_loads_cpu_s"], result["ratio"], peak / 2**20, bound / 2**20))
        if a.out:
            with open(a.out, "w") as f:
                json.dump(result, f, indent=2)
        sys.exit(0 if result["ratio"] >= 5 and peak <= bound else 1)
    finally:
        shutil.rmtree(folder)


main()
