"""A linked trace of communication kernels, each recorded in another way: what a kernel does, its bytes and its group come from
its record, else from its arguments, else from what the linker kept of them, else from its name."""
import json

# What the record says (None: there is none) in attributes and inputs, the kernel's name, its args, what else it has.
TENSOR, GROUP = [1, 2, 0, 16, 4, "cuda:0"], ["9", ""]
ROWS = [
    # the record's name is before the texts among its inputs, these before the kernel's arguments, and these before its name
    (dict(collective_name="allgather"), [[TENSOR], "barrier"], "ncclDevKernel_AllReduce", {"Collective name": "gather"}, {}),
    (dict(collective_name=""), [[TENSOR], "barrier", "gather"], "ncclDevKernel_AllReduce", {"Collective name": "gather"}, {}),
    (dict(collective_name="w"), [[TENSOR], "barrier"], "ncclDevKernel_AllReduce", {"Collective name": "gather"}, {}),
    ({}, [[TENSOR], "wait", "scatter"], "ncclDevKernel_AllReduce", {}, {}),
    ({}, [[TENSOR]], "ncclDevKernel_AllReduce", {"Collective name": "gather"}, {"collective_name": "scatter"}),
    ({}, [[TENSOR]], "ncclDevKernel_AllReduce", {"Collective name": ""}, {"collective_name": "scatter"}),
    ({}, [[TENSOR]], "ncclDevKernel_AllReduce", {}, {}),
    (None, None, "ncclDevKernel_Generic_4", {}, {}),
    # by the name alone
    *((None, None, name, {}, {}) for name in (
        "ncclKernel_All2All", "nccl_dev_kernel_Reduce-Scatter", "ncclKernel_Broadcast", "ncclKernel_Scatter", "ncclDevKernel_SendRecv", "ncclKernel_Reduce",
        "ncclDevKernel_Send", "ncclDevKernel_Recv", "rccl AllToAll", "oneccl_allreduce", "oneccl_send", "hcclAllGather", "mscclKernel_Sum", "mscclKernel_AllGather", "mscclpp_reduce",
        "nvshmem_barrier", "multimem_all_reduce", "cross_device_reduce_1stage", "one_shot_all_reduce", "twoShotAllReduce", "gemm_reduce")),
    (dict(collective_name="isend"), [[TENSOR]], "ncclDevKernel_AllReduce", {}, {}),
    (dict(collective_name="irecv"), [], "ncclDevKernel_AllReduce", {}, {}),
    (dict(collective_name="ncclSend"), [[TENSOR]], "ncclDevKernel_AllReduce", {}, {}),
    (dict(collective_name="ncclRecv"), [], "ncclDevKernel_AllReduce", {}, {}),
    (dict(collective_name="barrier"), [], "ncclDevKernel_AllReduce", {}, {}),
    # bytes: of the record's count and type, of the arguments', of the linker's, of the record's tensors
    (dict(in_msg_nelems=5, dtype="Float"), [[TENSOR]], "ncclDevKernel_AllReduce", {"In msg nelems": 6, "dtype": "Half"}, {"in_msg_nelems": 7, "dtype": "Byte"}),
    (dict(in_msg_nelems=5), [[TENSOR]], "ncclDevKernel_AllReduce", {"In msg nelems": 6, "dtype": "Half"}, {"in_msg_nelems": 7, "dtype": "Byte"}),
    (dict(in_msg_nelems=-5, dtype="Float"), [[TENSOR]], "ncclDevKernel_AllReduce", {"In msg nelems": 6}, {"in_msg_nelems": 7, "dtype": "Byte"}),
    (dict(in_msg_nelems=0, dtype="Float"), [[TENSOR]], "ncclDevKernel_AllReduce", {}, {}),
    (dict(in_msg_nelems=5, dtype="Strange"), [[TENSOR, TENSOR], TENSOR], "ncclDevKernel_AllReduce", {}, {}),
    ({}, [[[1, 2, 0, 3, 8, "cpu"]], [[1, 2, 0, 3, 8]], [[1, 2, 0, 3, 8, "cpu", 1]], [[1, 2, 0, "3", 8, "cpu"]], [1, 2, 0, 3, 8, 9]], "ncclDevKernel_AllReduce", {}, {}),
    ({}, [TENSOR, [1, 2, 0, -3, 8, "cpu"]], "ncclDevKernel_AllReduce", {}, {}),
    ({}, [TENSOR, [1, 2, 0, 3, -8, "cpu"]], "ncclDevKernel_AllReduce", {}, {}),
    ({}, [[1, 2, 0, 0, 8, "cpu"], [1, 2, 0, 3, 0, "cpu"]], "ncclDevKernel_AllReduce", {}, {}),
    ({}, [[[1, 2, 0, 2 ** 62, 8, "cpu"]]], "ncclDevKernel_AllReduce", {}, {}),
    # groups: the record's, the argument's, the linker's
    (dict(pg_name="a"), [], "ncclDevKernel_AllReduce", {"Process Group Name": "b"}, {"pg_name": "c"}),
    (dict(pg_name=""), [], "ncclDevKernel_AllReduce", {"Process Group Name": "b"}, {"pg_name": "c"}),
    (dict(pg_name=None), [], "ncclDevKernel_AllReduce", {"Process Group Name": ""}, {"pg_name": "c"}),
    (None, None, "ncclDevKernel_AllReduce", {"Process Group Name": "b"}, {}),
]


def node(ident, name, parent, attrs=None, values=(), **more):
    types = ["String" if isinstance(v, str) else "Tensor(float)" if v and not isinstance(v[0], list) else "GenericList[Tensor(float)]" for v in values]
    io = {"values": list(values), "shapes": [[] for _ in values], "types": types}
    attrs = [{"name": "rf_id", "type": "uint64", "value": ident}] + [{"name": k, "type": "string", "value": v} for k, v in (attrs or {}).items()]
    return dict({"id": ident, "name": name, "ctrl_deps": parent, "inputs": io, "outputs": {"values": [], "shapes": [], "types": []}, "attrs": attrs}, **more)


nodes = [node(1, "[pytorch|profiler|execution_trace|process]", 1), node(2, "[pytorch|profiler|execution_trace|thread]", 1)]
for i, (attrs, values, name, args, more) in enumerate(ROWS):
    at, ts = 10 * (i + 1), 100 * i
    nodes.append(node(at, "nccl:op", 2, host_id=at, ts=ts, inclusive_dur=30, exclusive_dur=30, inter_thread_dep=None))
    if attrs is not None:
        nodes.append(node(at + 1, "record_param_comms", at, attrs, values, host_id=at + 1, ts=ts + 2, inclusive_dur=20, exclusive_dur=20, inter_thread_dep=None))
    nodes.append(node(at + 2, name, at + (attrs is not None), ts=ts + 50, inclusive_dur=10, exclusive_dur=10, inter_thread_dep=None, cat="kernel", ph="X",
                      stream=20, device=0, launch_ts=ts + 10, launch_dur=2, args=args, **more))
print(json.dumps({"rank": 0, "schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": nodes}))
