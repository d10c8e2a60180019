#!/usr/bin/env python3
"""Times `rankscope memory` on an allocator snapshot and writes the section "Memory" of bench/RESULTS.md: ratios of medians of
interleaved runs, in processor time, on one thread. Run by bench/run, or alone when there is a program.

usage: bench/memory.py [--bin PATH] [--runs N] [--viz PATH] [--big]

Yardsticks, of the same file: CPython's pickle.load in a process of its own, and `trace` of PyTorch's _memory_viz.py, which --viz
names (torch/cuda/_memory_viz.py; it runs without torch). --big also reads 8 ranks of 500 MB, which takes 4 GB of memory to make.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from results import ROOT, Section

LOAD = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"


def run(*words):
    """Processor seconds and the peak of memory in bytes."""
    child = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit("%s: exit %d" % (" ".join(map(str, words)), child.returncode))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def make(path, events):
    subprocess.run([sys.executable, ROOT / "bench" / "make_snapshot.py", path, "--events", str(events)], check=True)
    return path.stat().st_size


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default=ROOT / "build-bench" / "rankscope")
    p.add_argument("--runs", type=int, default=int(os.environ.get("BENCH_RUNS", "5")))
    p.add_argument("--viz", default=os.environ.get("BENCH_MEMORY_VIZ"))
    p.add_argument("--big", action="store_true")
    a = p.parse_args()
    section = Section("Memory", "ratio")

    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "rank0.pickle"
        size = make(path, 394586)
        ours = (a.bin, "memory", "--no-store", "--no-progress", "-q", "--jobs", 1)
        ways = {"ours": (*ours, path), "load": (sys.executable, "-c", LOAD, path)}
        if a.viz:
            ways["viz"] = (sys.executable, a.viz, "trace", path)
        samples = {way: [] for way in ways}
        for _ in range(a.runs):
            for way, words in ways.items():
                samples[way].append(run(*words))
        seconds = {way: statistics.median(s for s, _ in found) for way, found in samples.items()}
        section.row("`memory`: all tables but timeline", "pickle.load", seconds["ours"] / seconds["load"], 0.5)
        if a.viz:
            section.row("_memory_viz.py trace", "`memory`", seconds["viz"] / seconds["ours"], 5, least=True)
        section.row("peak of memory", "half the file and 64 MiB", max(m for _, m in samples["ours"]) / (size / 2 + (64 << 20)), 1)
        if a.big:
            big = make(path, 4200000)
            for rank in range(1, 8):
                os.link(path, path.with_name("rank%d.pickle" % rank))
            _, peak = run(a.bin, "memory", "--no-store", "--no-progress", "-q", "--jobs", 2, name)
            section.row("peak of memory, 8 ranks of %.0f MB, two threads" % (big / 1e6), "2 GB", peak / 2e9, 1)
    section.write([
        "Written by `bench/memory.py`, which `make bench` runs: medians of %d runs on one thread, interleaved, in processor time," % a.runs,
        "of a made snapshot of 394586 events, %.0f MB." % (size / 1e6) + (
            "" if a.viz else " PyTorch's viewer was not measured: BENCH_MEMORY_VIZ can name its torch/cuda/_memory_viz.py."),
    ])


main()
