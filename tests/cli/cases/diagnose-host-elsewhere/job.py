"""12 steps: the host sleeps for 5 ms in a lock, a profiler samples it, then it launches three kernels of 100 us."""
import json

events, n = [], 0


def add(category, name, tid, at, us, **args):
    events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": at, "dur": us, "args": args})


for step in range(12):
    start = step * 6000
    add("user_annotation", "ProfilerStep#%d" % step, 1, start, 6000)
    add("os_call", "pthread_cond_wait", 1, start + 10, 3000)
    add("off_cpu", "off CPU", 1, start + 20, 2900)
    add("cpu_sample", "PyEval (python3)", 1, start + 4000, 0)
    for k in range(3):
        n += 1
        add("cuda_runtime", "cudaLaunchKernel", 1, start + 5000 + 200 * k, 10, correlation=n)
        add("kernel", "gemm", 7, start + 5015 + 200 * k, 100, device=0, stream=7, correlation=n)
print(json.dumps({"schemaVersion": 1, "traceEvents": events}))
