"""A job on the CPU with a sidecar: torchrun --nproc-per-node N sidecar_job.py FOLDER SECONDS EVERY FROM [PROGRAM]

Each rank writes FOLDER/cost.rankR.json: the lengths of its steps in windows, in the 3 s after them (while traces are written), and
of the others, and what the sidecar's own call took. From FROM seconds on rank 1 needs half as long again. With EVERY below 5 s, as in
tests, windows are planned a second ahead, and no trace is deleted.
"""
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist

from rankscope.record import sidecar as module

STEP_S = 0.04


def main():
    folder, seconds, every, begin = pathlib.Path(sys.argv[1]), *map(float, sys.argv[2:5])
    program = sys.argv[5] if len(sys.argv) > 5 else None
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    gradient, end, start = torch.ones(20000), torch.zeros(1), time.monotonic()
    if every < 5:
        module.NOTICE_S, module.POLL_S = 1.0, 0.1
    lengths, calls, recorded = {"window": [], "after": [], "quiet": []}, [], -1e9
    with module.Sidecar(folder, every=every, steps=3, program=program, watch=("--min-effect", "5"), keep=every < 5) as sidecar:
        while end.item() == 0:
            begun = time.perf_counter()
            recorded = begun if sidecar.recording else recorded
            how = "window" if recorded == begun else "after" if begun - recorded < 3 else "quiet"
            slow = rank == 1 and time.monotonic() - start >= begin
            with torch.profiler.record_function("forward"):
                time.sleep(STEP_S * (1.5 if slow else 1))
            dist.all_reduce(gradient)
            called = time.perf_counter()
            sidecar.step()
            calls.append(time.perf_counter() - called)
            lengths[how].append(time.perf_counter() - begun)
            end.fill_(float(rank == 0 and time.monotonic() - start >= seconds))
            dist.all_reduce(end)
    (folder / f"cost.rank{rank}.json").write_text(json.dumps(
        {"lengths": lengths, "calls": calls, "notes": sidecar.notes, "windows": sidecar.windows}))
    dist.destroy_process_group()


main()
