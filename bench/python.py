#!/usr/bin/env python3
"""Times the Python package against a C program over the same library, and merges many ranks through executors.

usage: bench/python.py [--trace PATH] [--ten PATH] [--synth PATH] [--ranks N] [--threads N] [--runs N] [--dask] [--out FILE.json]

1. rs.open and ten analyses on one trace, in a fresh interpreter each time, against bench-ten, which does the same in C:
   from opening to the last answer, and as whole processes. Both read the file from the page cache, in turn.
2. N small traces (200), all analyses in one process, through a process pool, and through a Dask cluster on this machine:
   are the tables the same bytes, and what does it cost?

3. Where pandas is: eleven frames from rankscope.hta against the same frames from our own methods, compat="hta", in processor time
   without the imports.

Run it with the Python that has the package (and dask[distributed] for --dask). Without --trace a job of one rank is
synthesised.
"""
import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEN = ("breakdown", "overlap", "kernels", "idle", "bandwidth", "queue", "launches", "sequences:op=aten::mm", "counters",
       "critical-path")
MANY = ("summary", "breakdown", "overlap", "kernels", "launches", "timeline", "collectives")


def ten(path, threads):
    """The child: what bench-ten does."""
    begin = time.perf_counter()
    import rankscope as rs
    imported = time.perf_counter()
    job = rs.open(path, jobs=threads, progress=False)
    rows = 0
    for word in TEN:
        name, _, option = word.partition(":")
        options = dict([option.split("=")]) if option else {}
        rows += sum(len(table) for table in job.run(name, **options).tables.values())
    seconds = time.perf_counter() - imported
    import resource
    print(json.dumps({"seconds": seconds, "import": imported - begin, "rows": rows,
                      "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def processor():
    import resource
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


FRAMES = (("breakdown", "breakdown", {}), ("overlap", "overlap", {}), ("kernels", "types", {}), ("kernels", "kernels", {}), ("idle", "idle", {}),
          ("bandwidth", "bandwidth", {}), ("bandwidth", "series", {"series": True}), ("queue", "queue", {}),
          ("queue", "series", {"series": True}), ("launches", "launches", {}), ("delays", "delays", {}))


def own_frames(path, threads):
    import rankscope as rs
    job = rs.open(path, jobs=threads, progress=False)
    rows, runs = 0, {}
    for name, table, options in FRAMES:
        key = name, tuple(options)
        if key not in runs:
            runs[key] = job.run(name, compat="hta", **options)
        rows += len(runs[key].tables[table].to_pandas())
    return rows


def hta_frames(path):
    from rankscope.hta import TraceAnalysis
    analyzer = TraceAnalysis(trace_files={0: path})
    frames = [analyzer.get_temporal_breakdown(visualize=False), analyzer.get_comm_comp_overlap(visualize=False),
              *analyzer.get_gpu_kernel_breakdown(visualize=False), analyzer.get_idle_time_breakdown(visualize=False)[0],
              analyzer.get_memory_bw_summary(), *analyzer.get_memory_bw_time_series().values(), analyzer.get_queue_length_summary(),
              *analyzer.get_queue_length_time_series().values(), *analyzer.get_cuda_kernel_launch_stats(visualize=False).values(),
              *analyzer.get_aten_op_kernels_and_delay().values()]
    return sum(len(frame) for frame in frames)


def frames(kind, path, threads):
    """The child: those frames of one trace."""
    import pandas  # noqa: F401  both need it: its import is no part of the time
    import pyarrow  # noqa: F401
    import rankscope.hta  # noqa: F401
    begin = processor()
    rows = hta_frames(path) if kind == "hta" else own_frames(path, threads)
    print(json.dumps({"seconds": processor() - begin, "rows": rows}))


def importing(module):
    """The child: what importing it takes of the processor's time."""
    begin = processor()
    __import__(module)
    print(json.dumps({"seconds": processor() - begin}))


def measure_frames(args, trace):
    child = [sys.executable, os.path.abspath(__file__)]
    own, hta = [], []
    for _ in range(args.runs):
        own.append(timed([*child, "--frames", "own", trace, args.threads]))
        hta.append(timed([*child, "--frames", "hta", trace, args.threads]))
    return {"own": statistics.median(x["seconds"] for x in own), "hta": statistics.median(x["seconds"] for x in hta),
            "hta_over_own": statistics.median(x["seconds"] for x in hta) / statistics.median(x["seconds"] for x in own),
            "own_rows": own[0]["rows"], "hta_rows": hta[0]["rows"]}


def timed(words):
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: exit %d\n%s" % (words[0], done.returncode, done.stderr))
    return {**json.loads(done.stdout), "whole": time.perf_counter() - begin}


def measure_ten(args, trace):
    python = [sys.executable, os.path.abspath(__file__), "--child", trace, str(args.threads)]
    native = [args.ten, args.threads, trace, *TEN]
    ours, theirs = [], []
    for _ in range(args.runs):
        theirs.append(timed(native))
        ours.append(timed(python))
    assert {x["rows"] for x in ours} == {x["rows"] for x in theirs}, "they did not do the same work"

    def middle(samples, key):
        return statistics.median(sample[key] for sample in samples)

    return {"trace_bytes": os.path.getsize(trace), "rows": ours[0]["rows"], "c_seconds": middle(theirs, "seconds"),
            "python_seconds": middle(ours, "seconds"), "import_seconds": middle(ours, "import"),
            "python_over_c": middle(ours, "seconds") / middle(theirs, "seconds"),
            "python_process_over_c_process": middle(ours, "whole") / middle(theirs, "whole"),
            "python_peak_over_c_peak": middle(ours, "peak") / middle(theirs, "peak")}


def texts(tables):
    """Every table of every analysis, as the command line would print it, and what was noted."""
    return {name: [{n: t.csv() for n, t in table.tables.items()}, table.problems, table.notes] for name, table in tables.items()}


def measure_many(args, folder):
    import rankscope as rs
    files = sorted(str(path) for path in pathlib.Path(folder).iterdir())
    answers, seconds = {}, {}

    def once(name, **how):
        begin = time.perf_counter()
        answers[name] = texts(rs.summarize(files, analyses=MANY, **how))
        seconds[name] = time.perf_counter() - begin

    once("one process, one thread", jobs=1)
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        once("threads", executor=pool)
    with concurrent.futures.ProcessPoolExecutor(args.workers) as pool:
        list(pool.map(abs, range(args.workers)))  # started
        once("processes", executor=pool)
    if args.dask:
        from dask.distributed import Client, LocalCluster
        with LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            once("dask", executor=client.get_executor())
    one = answers.pop("one process, one thread")
    return {"ranks": len(files), "bytes": sum(map(os.path.getsize, files)), "workers": args.workers, "analyses": MANY,
            "seconds": seconds, "same_bytes_as_one_process": {name: answer == one for name, answer in answers.items()}}


def main():
    if sys.argv[1:2] == ["--child"]:
        return ten(sys.argv[2], int(sys.argv[3]))
    if sys.argv[1:2] == ["--frames"]:
        return frames(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    if sys.argv[1:2] == ["--import"]:
        return importing(sys.argv[2])
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trace")
    p.add_argument("--ten", default=str(ROOT / "build-bench/bench/bench-ten"))
    p.add_argument("--synth", default=str(ROOT / "build-bench/rankscope-synth"))
    p.add_argument("--size", type=int, default=50_000_000, help="bytes of the synthesised trace")
    p.add_argument("--ranks", type=int, default=200)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--dask", action="store_true")
    p.add_argument("--out")
    args = p.parse_args()
    result = {"python": platform.python_version(), "cores": len(os.sched_getaffinity(0)), "runs": args.runs}
    with tempfile.TemporaryDirectory() as work:
        trace = args.trace
        if not trace:
            subprocess.run([args.synth, "--out", work + "/one", "--dp", "1", "--size", str(args.size), "--no-truth"], check=True,
                           stdout=subprocess.DEVNULL)
            trace = work + "/one/rank0.json"
        result["ten_analyses"] = measure_ten(args, trace)
        if importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow"):
            result["frames"] = measure_frames(args, trace)
        if args.ranks:
            subprocess.run([args.synth, "--out", work + "/many", "--dp", str(args.ranks), "--no-truth"], check=True,
                           stdout=subprocess.DEVNULL)
            result["many_ranks"] = measure_many(args, work + "/many")
            shutil.rmtree(work + "/many")
    text = json.dumps(result, indent=1)
    print(text)
    if args.out:
        pathlib.Path(args.out).write_text(text + "\n")
    wrong = [name for name, same in result.get("many_ranks", {}).get("same_bytes_as_one_process", {}).items() if not same]
    if wrong:
        sys.exit("other bytes than one process: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
