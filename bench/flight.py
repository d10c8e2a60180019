#!/usr/bin/env python3
"""Times `rankscope flight` on dumps of a simulated job against CPython's own pickle.load of the same files.

usage: bench/flight.py [--bin PATH] [--sim PATH] [--runs N] [--big] [--out FILE.json]

512 ranks x 2000 entries (and with --big 4096 x 2000) are written by flight_sim. Yardstick, measured in the same run:
pickle.load of every file, one after the other, in this interpreter (it builds Python objects and analyses nothing).
Both read files that are in the page cache. Ratios are of medians; memory is the peak of the whole process.
"""
import argparse
import gc
import io
import json
import os
import pickle
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Data(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("a dump holds only data")


def load_all(files):
    start = time.perf_counter()
    n = 0
    for name in files:
        with open(name, "rb") as f:
            n += len(pickle.load(f)["entries"])
    return time.perf_counter() - start, n


def run(binary, folder, *more):
    start = time.perf_counter()
    child = subprocess.Popen([binary, "flight", folder, "--format", "json", *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit("rankscope failed on %s" % folder)
    return seconds, usage.ru_maxrss * 1024, json.loads(out)


def make(sim, folder, dp):
    subprocess.run([sim, "write", folder, "host_stop", "7", "8", "8", str(dp), "90", "8", "2000", "0"], check=True, stdout=subprocess.DEVNULL)
    files = sorted(os.path.join(folder, f) for f in os.listdir(folder))
    with open(files[0], "rb") as f:
        Data(io.BytesIO(f.read())).load()
    return files, sum(os.path.getsize(f) for f in files)


def measure(args, work, dp, loads):
    folder = os.path.join(work, "dp%d" % dp)
    files, size = make(args.sim, folder, dp)
    row = {"ranks": len(files), "bytes": size}
    loads_s, ours, one, peaks = [], [], [], []
    for _ in range(args.runs if loads else 3):
        if loads:
            seconds, row["entries"] = load_all(files)
            loads_s.append(seconds)
            gc.collect()
        seconds, peak, report = run(args.bin, folder)
        ours.append(seconds)
        peaks.append(peak)
        if loads:
            one.append(run(args.bin, folder, "--jobs", "1")[0])
    row["entries"] = report["entries"]
    row["verdict"] = report["verdict"]
    row["seconds"] = statistics.median(ours)
    row["ns_per_entry"] = row["seconds"] / report["entries"] * 1e9
    row["peak_memory_over_bytes"] = max(peaks) / size
    if loads:
        row["pickle_load_seconds"] = statistics.median(loads_s)
        row["one_thread_seconds"] = statistics.median(one)
        row["time_over_pickle_load"] = row["seconds"] / row["pickle_load_seconds"]
        row["one_thread_over_pickle_load"] = row["one_thread_seconds"] / row["pickle_load_seconds"]
    shutil.rmtree(folder)
    return row


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", default=os.path.join(HERE, "build/rankscope"))
    p.add_argument("--sim", default=os.path.join(HERE, "build/tests/flight/flight_sim"))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--big", action="store_true", help="4096 ranks too: 1.3 GB on disk")
    p.add_argument("--out")
    a = p.parse_args()
    result = {"python": platform.python_version(), "cores": os.cpu_count(), "runs": a.runs, "cases": []}
    with tempfile.TemporaryDirectory() as work:
        result["cases"].append(measure(a, work, 8, True))
        if a.big:
            big = measure(a, work, 64, False)
            big["cost_per_entry_over_small"] = big["ns_per_entry"] / result["cases"][0]["ns_per_entry"]
            result["cases"].append(big)
    text = json.dumps(result, indent=1)
    print(text)
    if a.out:
        with open(a.out, "w") as f:
            f.write(text + "\n")


main()
