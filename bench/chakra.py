#!/usr/bin/env python3
"""Times chakra link, convert and build on a synthesised pair of traces against loading the two, and writes the
section "Chakra" of bench/RESULTS.md: ratios of medians of interleaved runs, in processor time. Run by bench/run, or alone when
build-bench is there. BENCH_PAIR_BYTES (2e8) is the size of both inputs together, BENCH_RUNS the number of runs (5).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

from results import ROOT, Section

BUILD = pathlib.Path(os.environ.get("BENCH_BUILD") or ROOT / "build-bench")
DATA = ROOT / "bench" / "data"
PAIR = DATA / "pair"
BYTES = int(float(os.environ.get("BENCH_PAIR_BYTES", "2e8")))
RUNS = int(os.environ.get("BENCH_RUNS", "5"))


def run(*words):
    """Standard output, processor seconds, and the peak of memory in bytes."""
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("%s: exit %d" % (" ".join(map(str, words)), process.returncode))
    return out, {"cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024}


def make_pair():
    host, device = PAIR / "et.json", PAIR / "rank0.json"
    if not host.exists() or host.stat().st_size + device.stat().st_size < BYTES:
        PAIR.mkdir(parents=True, exist_ok=True)
        run(BUILD / "rankscope-synth", "--out", PAIR, "--dp", "1", "--size", BYTES * 56 // 100, "--no-truth",
            "--execution-trace", host)
    return host, device


def main():
    host, device = make_pair()
    pair = ["--host", host, "--device", device, "--quiet", "--jobs", "1"]
    linked, trace = DATA / "pair.linked.json", DATA / "pair.et"
    commands = {
        "load": [BUILD / "bench" / "bench-chakra", host, device],
        "link": [BUILD / "rankscope", "chakra", "link", *pair, "-o", linked],
        "convert": [BUILD / "rankscope", "chakra", "convert", "--quiet", linked, "-o", trace],
        "build": [BUILD / "rankscope", "chakra", "build", *pair, "-o", trace],
    }
    samples = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, words in commands.items():
            out, usage = run(*words)
            samples[name].append({**usage, **(json.loads(out) if name == "load" else {})})
    load = samples["load"][0]

    def middle(name, key):
        return statistics.median(s[key] for s in samples[name])

    section = Section("Chakra", "ratio")

    section.row("build: link and convert", "loading both inputs", middle("build", "cpu") / middle("load", "cpu"), 1.5)
    for name in "link", "convert":
        section.row(name, "loading both inputs", middle(name, "cpu") / middle("load", "cpu"))
    for name in "build", "link", "convert":
        section.row("peak memory, " + name, "the text of both inputs", middle(name, "peak") / load["text"], 1.5 if name == "build" else None)
    section.write([
        "Written by `bench/chakra.py`, which `make bench` runs: medians of %d runs on one thread, taken in turn, in" % RUNS,
        "processor time. A pair of %.0f MB made by rankscope-synth: %d nodes and %d events." % (load["text"] / 1e6, load["nodes"], load["events"]),
    ])


main()
