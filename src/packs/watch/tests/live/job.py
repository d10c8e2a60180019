"""A job on the CPU that is watched live: torchrun --nproc-per-node N job.py FOLDER WINDOWS FROM TO

Sleeps are its computation, gloo its network. In the windows FROM to TO - 1 the rank 1 needs half as long again. Every window is three
steps by torch.profiler's schedule, a file a rank; it is written elsewhere and renamed.
"""
import os
import sys
import time

import torch
import torch.distributed as dist

STEP_S, PER_WINDOW = 0.08, 3


def main():
    folder, windows, begin, end = sys.argv[1], *map(int, sys.argv[2:5])
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    gradient = torch.ones(20000)
    window = 0

    def keep(profiler):
        nonlocal window
        name = f"w{window:03d}.rank{rank}.json"
        profiler.export_chrome_trace(os.path.join(folder, "." + name))
        os.rename(os.path.join(folder, "." + name), os.path.join(folder, name))
        window += 1

    schedule = torch.profiler.schedule(wait=1, warmup=1, active=PER_WINDOW, repeat=windows)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, on_trace_ready=keep
    ) as profiler:
        while window < windows:
            slow = rank == 1 and begin <= window < end
            with torch.profiler.record_function("forward"):
                time.sleep(STEP_S * (1.5 if slow else 1))
            dist.all_reduce(gradient)
            profiler.step()
    dist.destroy_process_group()


main()
