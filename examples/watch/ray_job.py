"""The same loop in a Ray Train worker: python ray_job.py DIRECTORY WORKERS

The directory is on storage that all workers see. Ray ends a worker with SIGTERM; the sidecar ends with the loop.
"""
import sys

from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train(config):
    import time

    import torch
    import torch.distributed as dist

    from rankscope.record import Sidecar

    weights = torch.zeros(1000)
    with Sidecar(config["directory"], every=600, steps=3) as sidecar:  # the process group gives the rank
        for _ in range(config["steps"]):
            time.sleep(0.05)
            dist.all_reduce(weights)
            sidecar.step()


if __name__ == "__main__":
    TorchTrainer(train, train_loop_config={"directory": sys.argv[1], "steps": 100000},
                 scaling_config=ScalingConfig(num_workers=int(sys.argv[2])), run_config=RunConfig(name="watched")).fit()
