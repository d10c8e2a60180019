#!/usr/bin/env python3
"""Times questions to a stored trace and writes the section "Store" of bench/RESULTS.md. Run by bench/run, or alone when
build-bench and the grown trace are there. All in processor time (user and system) on one thread, medians of interleaved
runs. BENCH_RUNS is the number of runs (3 here), BENCH_TRACE another trace, BENCH_COMMANDS some of the commands.

DuckDB is measured beside it where its Python package can be had: `--install` puts it into bench/data/venv. What is compared
is the summed duration by category: DuckDB reading the JSON, DuckDB reading its own database file made of it, and `rankscope sql`.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from results import ROOT, Section

BUILD = pathlib.Path(os.environ.get("BENCH_BUILD") or ROOT / "build-bench")
DATA = ROOT / "bench" / "data"
TRACE = pathlib.Path(os.environ.get("BENCH_TRACE") or DATA / "trace.json")
PLACE = DATA / "store"
VENV = DATA / "venv"
RUNS = int(os.environ.get("BENCH_RUNS", "3"))
COMMANDS = (os.environ.get("BENCH_COMMANDS") or
            "info doctor summary breakdown timeline overlap kernels steps idle queue launches delays bandwidth counters annotations "
            "fragments collectives stragglers critical-path ops modules tree roofline mfu").split()
# asked when only breakdown was: of the arguments that it read, of more and so of the text once more, and of all
NEXT = ["overlap", "ops", "roofline"]
SQL = "SELECT category, sum(dur_us) FROM events WHERE phase = 'X' GROUP BY category"
FIELDS = "STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid VARCHAR, tid VARCHAR, ts DOUBLE, dur DOUBLE)"
READ = "SELECT unnest(traceEvents, recursive := true) FROM read_json('%s', columns = {traceEvents: '" + FIELDS + "[]'}, maximum_object_size = %d)"
ADD = "SELECT cat, sum(dur) FROM (%s) WHERE ph = 'X' GROUP BY cat"
DUCK = {
    "json": "duckdb.sql('SET threads = 1'); duckdb.sql(%(json)r).fetchall()",
    "make": "c = duckdb.connect(%(file)r); c.sql('SET threads = 1'); c.sql(%(make)r)",
    "file": "c = duckdb.connect(%(file)r, read_only=True); c.sql('SET threads = 1'); c.sql(%(own)r).fetchall()",
}

def run(*words, ok=(0, 1)):
    """Processor seconds, seconds, and the peak of memory in bytes; None: it failed."""
    begin = os.times().elapsed
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ok:
        print("bench: %s: exit %d\n%s" % (" ".join(map(str, words)), process.returncode, err[-2000:]), file=sys.stderr)
        return None
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": os.times().elapsed - begin, "peak": usage.ru_maxrss * 1024}

def ask(command, *more, jobs=1):
    sample = run(BUILD / "rankscope", command, "--no-progress", "--jobs", jobs, *more, TRACE)
    if sample is None:
        sys.exit(1)
    return sample

def empty():
    shutil.rmtree(PLACE, ignore_errors=True)

def forget_results():
    """What was answered goes; events and what was worked out from them stay."""
    for path in PLACE.rglob("*"):
        if path.is_file():
            head = path.read_bytes()[:16]
            if head[12:16] in (b"\1\0\0\0", b"\2\0\0\0"):
                path.unlink()

def size():
    return sum(p.stat().st_size for p in PLACE.rglob("*") if p.is_file())

def middle(samples, key="cpu"):
    return statistics.median(s[key] for s in samples)

def duck():
    """Samples by name, or the reason why there are none."""
    python = VENV / "bin" / "python"
    if not python.exists() or run(python, "-c", "import duckdb") is None:
        return None, "DuckDB was not there (bench/store.py --install)"
    file = DATA / "trace.duckdb"
    read = READ % (TRACE, TRACE.stat().st_size * 2)
    texts = {"file": str(file), "json": ADD % read, "make": "CREATE TABLE events AS " + read, "own": ADD % "FROM events"}
    samples = {}
    for name, code in DUCK.items():
        samples[name] = []
        for _ in range(1 if name != "file" else RUNS):
            if name == "make":
                file.unlink(missing_ok=True)
            sample = run(python, "-c", "import duckdb; " + code % texts)
            if sample is None:
                return None, "DuckDB could not read this trace"
            samples[name].append(sample)
    samples["size"] = file.stat().st_size
    file.unlink()
    return samples, None

def main():
    if "--install" in sys.argv:
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", "duckdb"], check=True)
        return
    text = TRACE.stat().st_size
    samples = {}

    def add(name, sample):
        samples.setdefault(name, []).append(sample)

    for turn in range(RUNS):
        empty()
        add("build alone", run(BUILD / "rankscope", "store", "build", "--store", PLACE, "--jobs", "1", TRACE))
        built = size()
        for name in dict.fromkeys([*COMMANDS, *NEXT]):
            add(name + " cold", ask(name, "--no-store"))
            add(name + " first", ask(name, "--store", PLACE))
            add(name + " again", ask(name, "--store", PLACE))
        for jobs in 1, 2:
            empty()
            add("plain %d" % jobs, ask("breakdown", "--no-store", jobs=jobs))
            add("keeping %d" % jobs, ask("breakdown", "--store", PLACE, jobs=jobs))
        kept = size()
        forget_results()
        add("kept first", ask("breakdown", "--store", PLACE))
        for name in NEXT:
            add(name + " next", ask(name, "--store", PLACE))
        add("sql", run(BUILD / "rankscope", "sql", "--no-progress", "--jobs", "1", "--store", PLACE, SQL, TRACE))
        print("bench: store, run %d of %d" % (turn + 1, RUNS), file=sys.stderr)
    empty()
    section, table = Section("Store"), []

    ratios = {name: middle(samples[name + " first"]) / middle(samples[name + " cold"]) for name in COMMANDS}
    again = {name: middle(samples[name + " again"]) * 1000 for name in COMMANDS}
    section.row("not asked before: the median of %d commands" % len(COMMANDS), "without store", statistics.median(ratios.values()), 0.15)
    section.row("not asked before: the worst of them, %s" % max(ratios, key=ratios.get), "without store", max(ratios.values()), 0.15)
    section.row("asked before: the worst of them, %s" % max(again, key=again.get), "ms of processor time", max(again.values()), 50, "%.0f")
    section.row("keeping what `breakdown` reads, 1 thread, processor time", "`breakdown`", middle(samples["keeping 1"]) / middle(samples["plain 1"]) - 1, 0.10)
    if os.getloadavg()[0] < 2.5:  # beside others the clock tells nothing
        section.row("keeping what `breakdown` reads, 2 threads, time on the clock", "`breakdown`",
            middle(samples["keeping 2"], "wall") / middle(samples["plain 2"], "wall") - 1, 0.10)
    section.row("`store build`: all arguments, links, call trees", "`breakdown`", middle(samples["build alone"]) / middle(samples["plain 1"]))
    section.row("size after `store build`", "the text", built / text, 0.25)
    section.row("size after `breakdown`", "the text", kept / text, 0.25)
    for name in NEXT:
        section.row("%s, where only `breakdown` was asked before" % name, "without store", middle(samples[name + " next"]) / middle(samples[name + " cold"]))
    other, why = duck()
    own = middle(samples["sql"])
    if other:
        section.row("summed duration by category: DuckDB reading the JSON", "`rankscope sql`, stored", middle(other["json"]) / own)
        section.row("... DuckDB making its database file", "`store build`", middle(other["make"]) / middle(samples["build alone"]))
        section.row("... DuckDB reading that file", "`rankscope sql`, stored", middle(other["file"]) / own)
        section.row("... size of that file, without arguments", "the text", other["size"] / text)
    for name in COMMANDS:
        cold, first = middle(samples[name + " cold"]), middle(samples[name + " first"])
        table.append("| %s | %.2f | %.0f | %.2f | %.0f |" % (name, cold, first * 1000, first / cold, again[name]))
    section.write([
        "Written by `bench/store.py`, which `make bench` runs: medians of %d runs on one thread, taken in turn, in processor time" % RUNS,
        "(user and system) unless said otherwise, of a trace of %.2f GB. \"Not asked before\" is after `store build`." % (text / 1e9),
        "The machine's load over the last minute was %.1f at the end (this run makes 1)." % os.getloadavg()[0],
    ] + ([why + "."] if why else []), [
        "",
        "| command | without store, s | not asked before, ms | ratio | asked before, ms |",
        "| --- | ---: | ---: | ---: | ---: |",
    ] + table)


main()
