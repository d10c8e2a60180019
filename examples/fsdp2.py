#!/usr/bin/env python3
"""Trains a small transformer with FSDP2 and records it: a job to try rankscope on, with or without GPUs.

    torchrun --standalone --nproc-per-node 2 examples/fsdp2.py run1
    torchrun --standalone --nproc-per-node 4 examples/fsdp2.py run2 --override layers=4 --override slow_rank=2 --override slow_ms=30
    rankscope summary -r run1/torch_profiler
    rankscope stragglers -r run2/torch_profiler
    rankscope flight run1/flight

--override NAME=VALUE changes one of the settings below. NCCL is used where there are GPUs, else gloo. Needs PyTorch 2.6 or newer.
"""
import argparse
import dataclasses
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from rankscope.record import Recorder, dump_flight, set_up_flight


@dataclasses.dataclass
class Settings:
    steps: int = 10
    batch: int = 4  # sequences a rank
    length: int = 64  # tokens a sequence
    width: int = 128
    heads: int = 4
    layers: int = 2
    vocabulary: int = 512
    learning_rate: float = 1e-3
    wait: int = 2  # steps before the recording, then one to warm up
    active: int = 4  # steps that are recorded
    shard_layers: bool = True  # each layer by itself, else the model as a whole
    slow_rank: int = -1  # a rank that is held up in every step; -1: none
    slow_ms: float = 20.0

    def override(self, text):
        name, equals, value = text.partition("=")
        kinds = {field.name: type(field.default) for field in dataclasses.fields(self)}
        if not equals or name not in kinds:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE with one of {', '.join(kinds)}")
        kind = kinds[name]
        try:
            if kind is bool:
                value = {"true": True, "1": True, "false": False, "0": False}[value.lower()]
            setattr(self, name, kind(value))
        except (KeyError, ValueError):
            raise argparse.ArgumentTypeError(f"{name}: {value!r} is no {kind.__name__}") from None


class Model(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.embedding = nn.Embedding(s.vocabulary, s.width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(s.width, s.heads, 4 * s.width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(s.layers))
        self.head = nn.Linear(s.width, s.vocabulary)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def train(s, directory):
    rank, gpu = dist.get_rank(), torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    torch.manual_seed(0)
    model = Model(s).to(device)
    for layer in model.layers if s.shard_layers else ():
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.learning_rate)
    batches = (torch.randint(s.vocabulary, (s.batch, s.length + 1)) for _ in range(s.steps))
    with Recorder(directory, wait=s.wait, warmup=1, active=s.active) as recorder:
        for batch in recorder.steps(batches):
            batch = batch.to(device)
            if rank == s.slow_rank:
                with torch.profiler.record_function("delayed"):
                    time.sleep(s.slow_ms / 1000)
            with recorder.range("forward"):
                logits = model(batch[:, :-1])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            with recorder.range("backward"):
                loss.backward()
            with recorder.range("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
            recorder.log(loss=loss, lr=s.learning_rate)
    dump_flight(directory)
    if rank == 0:
        print(f"loss {loss.item():.3f}; recorded: {directory}")


def main():
    settings = Settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", help="for what is recorded; the same for all ranks")
    parser.add_argument("--override", action="append", default=[], metavar="NAME=VALUE", help="one of the settings, again for more")
    arguments = parser.parse_args()
    for text in arguments.override:
        try:
            settings.override(text)
        except argparse.ArgumentTypeError as error:
            parser.error(str(error))
    set_up_flight(arguments.directory)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        train(settings, arguments.directory)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
