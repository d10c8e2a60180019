"""A training loop with a sidecar: torchrun --nproc-per-node 8 train.py DIRECTORY

SIGTERM, as Slurm, Ray and Kubernetes send it, ends the loop after its step: the last window is written and the watch ends well.
"""
import signal
import sys
import time

import torch
import torch.distributed as dist

from rankscope.record import Sidecar


def main():
    ends = []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(True))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", dist.get_node_local_rank()) if torch.cuda.is_available() else torch.device("cpu")
    weights = torch.zeros(1000, device=device)
    ended = torch.zeros(1, device=device)
    with Sidecar(sys.argv[1], every=600, steps=3, watch=("--metrics-listen", "9464")) as sidecar:
        while not ended.item():
            time.sleep(0.05)  # forward and backward
            dist.all_reduce(weights)
            sidecar.step()
            ended.fill_(float(bool(ends)))
            dist.all_reduce(ended)  # all ranks leave the loop together
    dist.destroy_process_group()


main()
