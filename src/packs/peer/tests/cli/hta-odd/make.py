"""Three ranks of few events, odd ones among them: launches without work and outside operators, work without a launch or before it, zero lengths,
halves of microseconds, nested and equal operators, names that repeat, gaps of every cause, copies that meet."""
import json
import os

STEP, OP, CALL, KERNEL, COPY, SET, GPU_NOTE, SYNC = "user_annotation cpu_op cuda_runtime kernel gpu_memcpy gpu_memset gpu_user_annotation cuda_sync".split()
MM, NCCL = "void gemm<128>(float*)", "ncclKernel_AllReduce_RING_LL_Sum_float"


def event(cat, name, tid, ts, dur, corr=None, **args):
    on = {"device": 0, "stream": tid} if cat in (KERNEL, COPY, SET, SYNC) else {}
    ids = {"correlation": corr} if corr is not None else {}
    return {"ph": "X", "cat": cat, "name": name, "pid": 0 if on or cat == GPU_NOTE else 1, "tid": tid, "ts": ts, "dur": dur, "args": {**on, **ids, **args}}


def events(rank):
    late = 7 * rank
    yield event(STEP, "ProfilerStep#4", 1, 0, 100)
    yield event(STEP, "ProfilerStep#5", 1, 100, 100 + late)
    yield event(STEP, "ProfilerStep#6", 1, 200 + late, 50)
    # an operator in an operator: the launch is the inner one's
    yield event(OP, "aten::linear", 1, 2, 20)
    yield event(OP, "aten::mm", 1, 4, 10, **{"Sequence number": 3, "Input Dims": [[2, 3], [3, 4]]})
    yield event(CALL, "cudaLaunchKernel", 1, 6, 2, 1)
    yield event(KERNEL, MM, 7, 10.5, 9.5, 1)
    yield event(CALL, "cudaLaunchKernel", 1, 11, 2, 2)
    yield event(KERNEL, "add", 7, 20, 0, 2)  # of no length, where the last ends
    # the launch begins with its operator; its work before it; the same kernel again, and no launch
    yield event(OP, "aten::relu", 1, 30, 5)
    yield event(CALL, "cudaLaunchKernelExC", 1, 30, 3, 3)
    yield event(KERNEL, MM, 7, 29, 4, 3)
    yield event(KERNEL, MM, 7, 33.4, 1.2, 99)
    # launches without work, of no operator, of one that is not aten's, of no launching call
    yield event(OP, "aten::zero_", 1, 40, 6)
    yield event(CALL, "cudaMemsetAsync", 1, 41, 2, 4)
    yield event(CALL, "cudaLaunchKernel", 1, 44, 1, 5)
    yield event(CALL, "cudaLaunchKernel", 1, 48, 1, 55)
    yield event(SET, "Memset (Device)", 7, 47, 3, 4, bytes=4096, **{"memory bandwidth (GB/s)": 1.5})
    yield event(CALL, "cudaLaunchKernel", 1, 50, 1, 6)
    yield event(KERNEL, "alone", 9, 52, 30 + late, 6)
    yield event(OP, "my::op", 1, 55, 5)
    yield event(CALL, "cuLaunchKernel", 1, 56, 2, 7)
    yield event(KERNEL, "mine", 7, 60, 5, 7)
    yield event(CALL, "cudaEventRecord", 1, 59, 1, 8)
    # copies that meet, of one name on two streams, and one from a host that waits
    yield event(OP, "aten::copy_", 1, 62, 8)
    yield event(CALL, "cudaMemcpyAsync", 1, 63, 1, 10)
    yield event(CALL, "cudaMemcpyAsync", 1, 65, 4, 11)
    yield event(COPY, "Memcpy HtoD (Pageable -> Device)", 7, 70, 10, 10, bytes=1000, **{"memory bandwidth (GB/s)": 2.0})
    yield event(COPY, "Memcpy HtoD (Pageable -> Device)", 11, 75, 10, 11, bytes=3000, **{"memory bandwidth (GB/s)": 4.0})
    yield event(COPY, "Memcpy DtoH (Device -> Pinned)", 11, 85, 5, 12, bytes=500, **{"memory bandwidth (GB/s)": 0.5})
    yield event(CALL, "cudaDeviceSynchronize", 1, 72, 20, 13)
    yield event(OP, "aten::only%d" % rank, 2, 90, 5)  # another thread's
    # communication under work and alone; the queue of a stream while it waits
    yield event(OP, "nccl:all_reduce", 1, 104, 6)
    yield event(CALL, "cudaLaunchKernel", 1, 105, 2, 14)
    yield event(KERNEL, NCCL, 20, 110 + late, 40 - late, 14)
    yield event(OP, "aten::mm", 1, 112, 10)
    yield event(CALL, "cudaLaunchKernel", 1, 113, 2, 15)
    yield event(CALL, "cudaLaunchKernel", 1, 116, 2, 16)
    yield event(KERNEL, MM, 7, 120, 20, 15)
    yield event(KERNEL, "add", 7, 140, 2, 16)
    # the same operator with the same kernels, and with others
    yield event(OP, "aten::mm", 1, 160, 8)
    yield event(CALL, "cudaLaunchKernel", 1, 161, 1, 17)
    yield event(CALL, "cudaLaunchKernel", 1, 163, 1, 18)
    yield event(KERNEL, MM, 7, 165, 15, 17)
    yield event(KERNEL, "add", 7, 182, 3, 18)
    yield event(OP, "aten::mm", 1, 185, 5, **{"Sequence number": 3})
    yield event(CALL, "cudaLaunchKernel", 1, 186, 1, 19)
    yield event(KERNEL, MM, 7, 189.25, 6.5, 19)
    yield event(GPU_NOTE, "part", 7, 100, 60)
    yield event(GPU_NOTE, "part", 7, 120, 10)
    yield event(STEP, "part", 1, 104, 30)
    # the last step is left out where HTA leaves it out
    yield event(CALL, "cudaLaunchKernel", 1, 210 + late, 2, 20)
    yield event(KERNEL, NCCL, 20, 215 + late, 20, 20)
    yield event(KERNEL, MM, 7, 216, 5, 21)


def write(name, rank, listed):
    with open(name, "w") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 3}, "traceEvents": listed}, file)


# What comes first in time and in the file: a step, a launch, its work.
LAUNCH, WORK = event(CALL, "cudaLaunchKernel", 1, -4, 1, 30), event(KERNEL, MM, 7, -6, 1, 30)
for rank, first in enumerate(([], [LAUNCH, dict(WORK, ts=-2)], [WORK, LAUNCH])):
    write("rank%d.json" % rank, rank, first + list(events(rank)))
os.mkdir("alone")
write("alone/launch.json", 0, [LAUNCH])
