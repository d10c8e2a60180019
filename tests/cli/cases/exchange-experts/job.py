"""Two ranks with three layers of experts: dispatch, computation, combine of DeepEP; rank 1 computes longer. Writes rank0.json and rank1.json."""
import json

for rank in range(2):
    events, at = [], 1000 + 30 * rank
    for k in range(5):
        for name, until in (("void deep_ep::intranode::dispatch<8>(int4*)", 1130 + 1000 * k), ("gemm", 0), ("void deep_ep::intranode::combine<8>(int4*)", 1600 + 1000 * k)):
            end = until or at + 100 + 200 * rank + 10 * k
            n = len(events)
            events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=n, dur=1, args=dict(correlation=n)))
            events.append(dict(ph="X", cat="kernel", name=name, pid=0, tid=7, ts=at, dur=end - at, args=dict(correlation=n, stream=7, device=0)))
            at = end
        at = 2000 + 1000 * k + 30 * rank
    with open("rank%d.json" % rank, "w") as f:
        json.dump(dict(distributedInfo=dict(rank=rank, world_size=2), traceEvents=events), f)
