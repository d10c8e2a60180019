#!/usr/bin/env python3
"""Writes a large allocator snapshot of the shape that torch.cuda.memory._dump_snapshot writes.

usage: make_snapshot.py FILE [--events N] [--shared] [--depth N] [--protocol N] [--layers N] [--leak] [--fail]

A training loop runs on a model of the caching allocator: blocks are rounded to 512 bytes, small ones come from segments of
2 MiB, those below 10 MiB from segments of 20 MiB, others have a segment of their own; freed blocks are used again for the
same size. --leak keeps a tensor of each step; --fail ends with an allocation for which there is room in fragments only. Stacks are Python and C++ frames as torch's unwinder gives them: one dict a frame; each event has a list of its own,
as torch writes them, or with --shared one list a stack.
"""
import argparse
import pickle


class Device:
    """The allocator of one device, and what it records."""

    def __init__(self, own_lists):
        self.own_lists, self.events, self.segments, self.free, self.live = own_lists, [], [], {}, {}
        self.address, self.time, self.open = 0x7F0000000000, 1760000000000000, {}

    def record(self, action, address, size, stack):
        self.time += 3
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time,
                            "compile_context": "N/A", "user_metadata": "", "frames": list(stack) if self.own_lists else stack})

    def segment(self, size, kind, stack):
        segment = {"address": self.address, "size": size, "type": kind, "blocks": [], "used": 0, "stack": stack}
        self.address += size + (1 << 21)
        self.segments.append(segment)
        self.record("segment_alloc", segment["address"], size, stack)
        return segment

    def alloc(self, size, stack):
        rounded = max(512, (size + 511) // 512 * 512)
        block = self.free.get(rounded) and self.free[rounded].pop()
        if not block:
            kind = "small" if rounded <= 1 << 20 else "large"
            whole = 2 << 20 if kind == "small" else 20 << 20 if rounded < 10 << 20 else (rounded + (2 << 20) - 1) // (2 << 20) * (2 << 20)
            segment = self.open.get(kind)
            if whole > 20 << 20 or not segment or segment["used"] + rounded > segment["size"]:
                segment = self.segment(whole, kind, stack)
                if whole <= 20 << 20:
                    self.open[kind] = segment
            block = {"address": segment["address"] + segment["used"], "size": rounded}
            segment["used"] += rounded
            segment["blocks"].append(block)
        self.record("alloc", block["address"], size, stack)
        self.live[block["address"]] = (block, size, stack)
        return block["address"]

    def release(self, address, stack):
        block, size, _ = self.live.pop(address)
        self.record("free_requested", address, size, stack)
        self.record("free_completed", address, size, stack)
        self.free.setdefault(block["size"], []).append(block)

    def fail(self, stack):
        """An allocation that all free memory together would do for."""
        free = sum(b["size"] for blocks in self.free.values() for b in blocks)
        self.record("oom", 64 << 20, (64 << 20) + free // 2, stack)
        self.events[-1]["device_free"] = self.events[-1].pop("addr")

    def snapshot(self):
        segments = []
        for s in self.segments:
            blocks, active = [], 0
            for b in s["blocks"]:
                held = self.live.get(b["address"])
                active += b["size"] if held else 0
                blocks.append({"address": b["address"], "size": b["size"], "requested_size": held[1] if held else b["size"],
                               "state": "active_allocated" if held else "inactive", "frames": held[2] if held else []})
            if s["used"] < s["size"]:
                rest = s["size"] - s["used"]
                blocks.append({"address": s["address"] + s["used"], "size": rest, "requested_size": rest, "state": "inactive",
                               "frames": []})
            segments.append({"device": 0, "address": s["address"], "total_size": s["size"], "allocated_size": active,
                             "active_size": active, "requested_size": active, "stream": 0, "segment_type": s["type"],
                             "segment_pool_id": (0, 0), "is_expandable": False, "frames": s["stack"], "blocks": blocks})
        return segments


def stacks(depth):
    """A function that makes stacks: the frames are shared by name, file and line."""
    frames = {}

    def frame(name, filename, line):
        return frames.setdefault((name, filename, line), {"name": name, "filename": filename, "line": line})

    native = [frame(n, "??", 0) for n in ("torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)",
                                          "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)")]
    interpreter = [frame("_PyEval_EvalFrameDefault", "/build/Python-3.11/Python/ceval.c", line) for line in range(4200, 4200 + depth)]

    def python(op, layer, line):
        inner = native + [frame("at::_ops::%s::call(at::Tensor const&)" % op, "??", 0)]
        user = [frame("forward", "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 134),
                frame("forward", "/opt/venv/lib/python3.11/site-packages/mylm/model.py", line),
                frame("forward", "/opt/venv/lib/python3.11/site-packages/mylm/layer%d.py" % layer, 88),
                frame("train_step", "/workspace/job/train.py", 262), frame("<module>", "/workspace/job/train.py", 340)]
        return inner + user + interpreter

    def backward(op):
        return native + [frame("at::_ops::%s::call(at::Tensor const&)" % op, "??", 0),
                         frame("torch::autograd::generated::%sBackward0::apply(std::vector<at::Tensor>&&)" % op.capitalize(), "??", 0),
                         frame("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", "??", 0)
                         ] + interpreter[:depth // 2]

    return python, backward


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file")
    p.add_argument("--events", type=int, default=400000)
    p.add_argument("--shared", action="store_true")
    p.add_argument("--depth", type=int, default=20)
    p.add_argument("--protocol", type=int, default=4)
    p.add_argument("--layers", type=int, default=48)
    p.add_argument("--leak", action="store_true")
    p.add_argument("--fail", action="store_true")
    a = p.parse_args()
    python, backward = stacks(a.depth)
    ops = ("mm", "gelu", "rms_norm", "add", "softmax")
    device, notes, step = Device(not a.shared), [], 0
    # a stack is one list, which an event has or copies
    made = {(layer, op): python(op, layer, 90 + k) for layer in range(a.layers) for k, op in enumerate(ops)}
    back = {op: backward(op) for op in ops}
    metric = python("add", 0, 7)
    for layer in range(a.layers):
        for k, op in enumerate(ops):
            device.alloc((4 << 20) + layer * 512 + k * 100, made[layer, op])
    while len(device.events) < a.events:
        notes.append({"stage": "START", "name": "ProfilerStep#%d" % step, "device": 0, "time_us": device.time + 1})
        kept = []
        for layer in range(a.layers):
            for k, op in enumerate(ops):
                temporary = device.alloc((1 << 19) + k * 700, made[layer, op])
                kept.append((device.alloc((12 << 20) + layer * 4096 + k * 100, made[layer, op]), op))
                device.release(temporary, made[layer, op])
        for address, op in reversed(kept):
            gradient = device.alloc((2 << 20) + 100, back[op])
            device.release(address, back[op])
            device.release(gradient, back[op])
        if a.leak:
            device.alloc((3 << 20) + step, metric)
        notes.append({"stage": "END", "name": "ProfilerStep#%d" % step, "device": 0, "time_us": device.time + 1})
        step += 1
    if a.fail:
        device.fail(made[0, "mm"])
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False}
    with open(a.file, "wb") as f:
        pickle.dump({"segments": device.snapshot(), "device_traces": [device.events], "allocator_settings": settings,
                     "external_annotations": notes}, f, a.protocol)


if __name__ == "__main__":
    main()
