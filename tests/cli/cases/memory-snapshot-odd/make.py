"""Two snapshots of few events: a block of each purpose, failures of each cause, two devices, open and odd annotations, stacks of Python alone in the
first and with C++ in the second; of these one names its operator."""
import pickle
import sys

sys.path.insert(0, sys.argv[1])
from make_snapshot import Device

JOB, TORCH = "/job/", "/opt/lib/python3.11/site-packages/torch/"
K, M = 1 << 10, 1 << 20


def frame(name, file, line=1):
    return {"name": name, "filename": file, "line": line}


TOP = [frame("main", JOB + "train.py", 9)]
WHO = {name: frames + TOP for name, frames in {
    "parameter": [frame("__init__", TORCH + "nn/modules/linear.py"), frame("build", JOB + "model.py", 3)],
    "activation": [frame("forward", TORCH + "nn/modules/linear.py"), frame("layer", JOB + "model.py", 12)],
    "loss": [frame("cross_entropy_Loss", JOB + "model.py", 30)],
    "gradient": [frame("apply", TORCH + "autograd/function.py"), frame("backward", JOB + "model.py", 40)],
    "state": [frame("_init_group", TORCH + "optim/adam.py"), frame("step", JOB + "train.py", 50)],
    "step": [frame("step", TORCH + "optim/adam.py"), frame("step", JOB + "train.py", 50)],
    "zero": [frame("zero_grad", TORCH + "optim/optimizer.py"), frame("step", JOB + "train.py", 51)],
    "input": [frame("collate", JOB + "data.py", 5)],
    "communication": [frame("all_reduce", TORCH + "distributed/c10d.py"), frame("sync", JOB + "train.py", 60)],
    "other": [frame("evaluate", JOB + "train.py", 70)],
    "nobody": []}.items()}
NATIVE = [frame(n, "??", 0) for n in ("torch::unwind::unwind()", "cublasLtMatmul", "c10d::ProcessGroupNCCL::allreduce(int)")]


def make(path, native, fails):
    devices = [Device(True), Device(True)]
    who = {name: [frame("at::native::x()", "??", 0)] + frames if native and frames else frames for name, frames in WHO.items()}
    if native:
        who["input"] = [frame("at::_ops::stack::call(at::Tensor const&)", "??", 0)] + who["input"]
    d, notes = devices[0], []

    def note(stage, name, device=0, after=1):
        notes.append({"stage": stage, "name": name, "device": device, "time_us": devices[device].time + after})
    d.alloc(4 * M, who["other"])
    if not native:  # what was there before
        d.events.clear()
    for i in range(2):
        d.alloc((3 + i) * M, who["parameter"])
    if native:
        d.alloc(8 * M, [NATIVE[1]] + TOP)
        d.alloc(600, [NATIVE[2]] + who["other"])
    for step in range(6):
        note("START", "ProfilerStep#%d" % (step + 7))
        note("START", "inner")
        note("START", "inner")
        data = d.alloc(700 * K, who["input"])
        note("END", "inner")
        kept = [d.alloc((1 + i) * M + 100, who["activation"]) for i in range(3)]
        note("END", "inner")
        note("END", "never begun")
        loss = d.alloc(512, who["loss"])
        d.release(d.alloc(900 * K, who["activation"]), who["activation"])
        grads = []
        for block in reversed(kept):
            grads.append(d.alloc(M, who["gradient"]))
            d.release(block, who["gradient"])
        d.release(loss, who["loss"])
        d.release(d.alloc(M // 2, who["communication"]), who["communication"])
        if not step:
            d.alloc(2 * M, who["state"])
        d.release(d.alloc(3 * K, who["step"]), who["step"])
        note("START", "Optimizer.step#Adam.step")
        for block in grads:
            d.release(block, who["zero"])
        note("END", "Optimizer.step#Adam.step")
        d.alloc((1 + step % 2) * M, who["nobody"] if step % 2 else who["other"])  # grows
        d.release(data, who["input"])
        note("END", "ProfilerStep#%d" % (step + 7))
    other = devices[1]
    other.alloc(5 * M, who["activation"])
    note("START", "on the other", 1)
    other.alloc(30 * M, who["other"])
    for device, asked, free in fails:
        devices[device].record("oom", free, asked, who["activation"])
        devices[device].events[-1]["device_free"] = devices[device].events[-1].pop("addr")
    other.record("a word of later versions", 1, 1, [])
    segments = devices[0].snapshot()
    for s in other.snapshot():
        segments.append(dict(s, device=1, is_expandable=True))
    with open(path, "wb") as file:
        pickle.dump({"segments": segments, "device_traces": [d.events for d in devices], "external_annotations": notes,
                     "allocator_settings": {"roundup_power2_divisions": {}, "max_split_size": -1, "expandable_segments": native}}, file, protocol=2)


make("rank0.pickle", False, [(0, 40 * M, 13 * M), (1, 30 * M, 16 * M), (0, 400 * M, M), (0, 3 * M, 9 * M)])
make("rank1.pickle", True, [(1, 20 * M, 6 * M)])
