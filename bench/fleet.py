#!/usr/bin/env python3
"""What a job of very many ranks costs: bench/fleet.py FOLDER [PARTS]

Per analysis: processor time to map a rank, bytes that travel, time and memory to merge all. Processor times are user + system of
this process, so that they hold on a busy machine. With EXECUTOR=threads|processes|dask|ray the whole is done once through it and
compared, byte for byte, with what one process answers.

    build/rankscope-synth --out traces --dp 512 --tp 8 --layers 1 --micro-batches 1 --no-truth     # 4096 ranks, 1.2 GB
"""
import os
import pickle
import resource
import sys
import time

import rankscope as rs
from rankscope import fleet

NAMES = ["summary", "breakdown", "kernels", "overlap", "collectives", "stragglers", "steps", "ops", "launches", "idle"]


def cost():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak():
    """Most bytes held since the last call, MiB."""
    with open("/proc/self/status", encoding="ascii") as file:
        most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return most / 1024


def executor(kind):
    if kind == "threads":
        from concurrent.futures import ThreadPoolExecutor
        return ThreadPoolExecutor(2)
    if kind == "processes":
        from concurrent.futures import ProcessPoolExecutor
        return ProcessPoolExecutor(2)
    if kind == "dask":
        from distributed import Client
        return Client(n_workers=2, threads_per_worker=1, dashboard_address=None).get_executor()
    return fleet.RayExecutor()


def main():
    folder, parts = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 256
    if os.environ.get("EXECUTOR"):
        analyses = NAMES[:5]
        with executor(os.environ["EXECUTOR"]) as pool:
            begin, used = time.monotonic(), cost()
            tables = rs.summarize(folder, analyses=analyses, executor=pool)
            print("%s: %.1f s, %.1f s of processor time here" % (os.environ["EXECUTOR"], time.monotonic() - begin, cost() - used))
        alone = rs.summarize(folder, analyses=analyses)
        same = all({n: t.csv() for n, t in tables[name].tables.items()} == {n: t.csv() for n, t in alone[name].tables.items()}
                   for name in analyses)
        sys.exit(0 if same else "the answers differ")
    print("%-24s %10s %12s %10s %10s %10s" % ("analyses", "ms a rank", "bytes a rank", "merge s", "MiB", "task B"))
    for names in [[name] for name in NAMES] + [NAMES[:5], NAMES]:
        begin = cost()
        plan = fleet.plan(folder, analyses=names, parts=parts)
        n_ranks = sum(len(plan.files(part)) for part in range(len(plan)))
        planned = cost() - begin
        begin = cost()
        packed = [plan.run(part) for part in range(len(plan))]
        mapped = cost() - begin
        task = len(pickle.dumps(plan)) / n_ranks
        peak()
        begin = cost()
        tables = plan.merge(packed)
        merged, most = cost() - begin, peak()
        print("%-24s %10.2f %12.0f %10.2f %10.0f %10.0f   (plan %.2f s, %d rows)" % (
            "+".join(names) if len(names) < 3 else "%d of them" % len(names), 1000 * mapped / n_ranks, sum(map(len, packed)) / n_ranks, merged, most,
            task, planned, len(tables[names[0]])), flush=True)


if __name__ == "__main__":
    main()
