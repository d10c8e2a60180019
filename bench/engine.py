#!/usr/bin/env python3
"""Times the engine on a synthesised job against loading it, and clocks of a large job, and writes the section "Engine" of
bench/RESULTS.md: ratios of medians of interleaved runs on one thread, in processor time. Run by bench/run, or alone when build-bench is there.

BENCH_JOB_EVENTS (1e6) is the number of events of each of the 8 ranks, BENCH_CLOCKS ("1024 10000") the ranks and collectives of
the job of which only clocks are asked, BENCH_RUNS the number of runs (5).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

from results import ROOT, Section

BUILD = pathlib.Path(os.environ.get("BENCH_BUILD") or ROOT / "build-bench")
JOB = pathlib.Path(os.environ.get("BENCH_DATA") or ROOT / "bench" / "data") / "job"
EVENTS = int(float(os.environ.get("BENCH_JOB_EVENTS", "1e6")))
CLOCKS = os.environ.get("BENCH_CLOCKS", "1024 10000").split()
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
EVENT_BYTES = 298


def run(*words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("%s: exit %d" % (" ".join(map(str, words)), done.returncode))
    return done.stdout


def make_job():
    """Eight ranks of about EVENTS events each."""
    named = JOB / ("events-%d" % EVENTS)
    if not named.exists():
        JOB.mkdir(parents=True, exist_ok=True)
        for old in JOB.iterdir():
            old.unlink()
        run(BUILD / "rankscope-synth", "--out", JOB, "--dp", "4", "--tp", "2", "--size", EVENTS * EVENT_BYTES, "--no-truth")
        named.touch()
    return sorted(JOB.glob("rank*.json"))


def main():
    paths = make_job()
    samples = {"replay": [], "clocks": []}
    for _ in range(RUNS):
        samples["replay"].append(json.loads(run(BUILD / "bench" / "bench-engine", "replay", *paths)))
        samples["clocks"].append(json.loads(run(BUILD / "bench" / "bench-engine", "clocks", *CLOCKS)))
    assert all(s["off"] == 0 for s in samples["replay"]), "a replay is not the recording"

    def middle(name, key):
        return statistics.median(s[key] for s in samples[name])

    one, section = samples["replay"][0], Section("Engine")

    load = middle("replay", "load")
    section.row("skeletons of all ranks, links not counted", "loading them", middle("replay", "build") / load)
    section.row("skeletons of all ranks", "critical paths of them", middle("replay", "build") / middle("replay", "path"), 1.0)
    section.row("join: clocks, meetings, inferred edges, order", "loading them", middle("replay", "join") / load)
    section.row("one replay", "loading them", middle("replay", "replay") / load)
    section.row("one replay", "ns an edge", 1e9 * middle("replay", "replay") / one["edges"], 25)
    section.row("skeleton", "bytes an event", one["bytes"] / one["events"], 16)
    section.row("peak memory, skeletons, join and replay", "bytes an event", middle("replay", "peak") / one["events"])
    section.row("clocks of %s ranks with %s collectives, match counted" % tuple(CLOCKS), "seconds of this processor",
        middle("clocks", "match") + middle("clocks", "clocks"), 10)
    section.row("peak memory of that", "GB", middle("clocks", "peak") / 1e9, 1)
    section.write([
        "Written by `bench/engine.py`, which `make bench` runs: medians of %d runs on one thread, in processor time. A job of %d ranks made" % (RUNS, one["ranks"]),
        "by rankscope-synth: %d events (%.2f GB), of which the skeletons keep %d nodes and %d edges." % (
            one["events"], one["text"] / 1e9, one["nodes"], one["edges"]),
        "The machine's load over the last minute was %.1f at the end (this run makes 1)." % os.getloadavg()[0],
    ])


main()
