#!/usr/bin/env python3
"""What watching costs: bench/watch.py [BIN] [--torch PYTHON]

A window of 4096 ranks is added to a history of 432 windows of as many (src/packs/watch/tests/live/make_history.py): its traces are those of the
recorded job with a sidecar, a copy a rank. With a Python that has torch, a gloo job of two ranks runs with the sidecar of this
tree for two minutes. Writes the section of bench/RESULTS.md.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile

from results import ROOT, Section

BIN = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] != "--torch" else ROOT / "build-bench" / "rankscope").resolve())
TORCH = sys.argv[sys.argv.index("--torch") + 1] if "--torch" in sys.argv else None
TESTS = ROOT / "src" / "packs" / "watch" / "tests"
RANKS, WINDOWS, RUNS = 4096, 432, 3
EVERY_S = 600  # the sidecar's default


def run(*words, codes=(0, 1)):
    """Processor time, s, and the most memory, MB."""
    process = subprocess.Popen([BIN, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in codes, (words, status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def make_window(base):
    """4096 traces of three steps, 10 kB each."""
    folder = base / "window"
    folder.mkdir()
    with tarfile.open(TESTS / "data" / "gloo_sidecar.tgz") as archive:
        archive.extractall(base)
    text = sorted((base / "in").glob("*.rank0.json"))[0].read_text()
    text = text.replace('"world_size": 2', '"world_size": %d' % RANKS).replace('"pg_size": 2', '"pg_size": %d' % RANKS)
    for rank in range(RANKS):
        (folder / ("w.rank%d.json" % rank)).write_text(text.replace('"rank": 0', '"rank": %d' % rank))
    return folder


def measure_window(section, base):
    folder, history = make_window(base), base / "history.db"
    subprocess.run([sys.executable, str(TESTS / "live" / "make_history.py"), BIN, str(history), str(RANKS), str(WINDOWS), "600"], check=True)
    empty = base / "empty"
    empty.mkdir()
    watch = lambda source: ("watch", source, "--history", base / "one.db", "--once", "--settle", "0s", "--quiet", "--jobs", "1")
    opened, added, summary, memory = [], [], [], []
    for _ in range(RUNS):
        shutil.copy(history, base / "one.db")
        opened.append(run(*watch(empty))[0])
        cost, most = run(*watch(folder))
        added.append(cost)
        memory.append(most)
        summary.append(run("summary", "--no-verdict", "--quiet", "--jobs", "1", folder)[0])
    opened, added, summary = map(statistics.median, (opened, added, summary))
    section.row("a window of 4096 ranks: read, summarised, added, judged", "`summary` of the same files", (added - opened) / summary)
    section.row("opening a history of 432 windows of 4096 ranks", "`summary` of one window", opened / summary)
    section.row("a window every ten minutes, all of it", "% of a core", 100 * (added - opened) / EVERY_S, 5)
    section.row("history (step and own work)", "bytes a rank and window", history.stat().st_size / RANKS / WINDOWS, 100)
    section.row("peak memory", "MB", statistics.median(memory), form="%.0f")
    cost, most = run("report", "--history", history, "-o", base / "page.html")
    section.row("`report --history` of it", "opening it", cost / opened)


def measure_sidecar(section, base):
    package, folder = base / "package" / "rankscope" / "record", base / "job"
    package.mkdir(parents=True)
    folder.mkdir()
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    for name in ("sidecar", "features", "files"):
        shutil.copy(ROOT / "python" / "rankscope" / "record" / (name + ".py"), package)
    subprocess.run([str(pathlib.Path(TORCH).parent / "torchrun"), "--nproc-per-node", "2", str(TESTS / "live" / "sidecar_job.py"), str(folder), "150", "10", "1e9", BIN],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(base / "package"), "OMP_NUM_THREADS": "1"})
    costs = [json.loads(path.read_text()) for path in sorted(folder.glob("cost.rank*.json"))]
    calls = statistics.median(t for c in costs for t in c["calls"])
    lengths = {how: [t for c in costs for t in c["lengths"][how]] for how in ("window", "after", "quiet")}
    step = statistics.median(lengths["quiet"])
    windows = sum(c["windows"] for c in costs)
    extra = sum(len(lengths[how]) * (statistics.median(lengths[how]) - step) for how in ("window", "after")) / windows
    section.row("sidecar: a step outside of windows", "%% of a step of %.0f ms" % (1e3 * step), 100 * calls / step, 0.5, form="%.3f")
    section.row("sidecar: a window of three steps", "steps that are lost", extra / step)
    section.row("sidecar: at the default, all of it", "% of the time", 100 * (calls / step + extra / EVERY_S), 0.5, form="%.3f")


def main():
    section = Section("Watching")
    begun = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="watch-bench-") as name:
        measure_window(section, pathlib.Path(name))
        if TORCH:
            measure_sidecar(section, pathlib.Path(name))
    lines = ["Written by `bench/watch.py`: medians of %d runs on one thread, in processor time. A window's traces have 10 kB a rank, so that what is not reading shows." % RUNS,
             "The machine's load over the last minute was %.1f at the start and %.1f at the end (this run makes 1)." % (begun, os.getloadavg()[0])]
    section.write(lines)


main()
