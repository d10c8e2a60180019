"""Kineto JSON as nsys exports it to SQLite: CUPTI's tables, operators and annotations as NVTX ranges (as PyTorch's
emit_nvtx names them), NCCL's calls with their payloads as bytes.

Facts: exports of nsys 2022 to 2026 (shared/corpus/real/nsys) and torch/csrc/profiler/util.cpp, getNvtxStr.
"""
import re
import sqlite3
import struct
from pftrace import ns

MEMORY = ["Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"]
COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "PtoP": 10}
SYNCS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
TABLES = """StringIds(id integer primary key, value text)
CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId)
CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory)
CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind)
CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, streamId, correlationId, globalPid, bytes, memKind)
CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId, contextId, streamId, correlationId, globalPid, eventId)
CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId)
NVTX_EVENTS(start, end, eventType, text, textId, globalTid, domainId, binaryData)
NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId, schemaId, idx, flags, type, name, description, arrayOrUnionDetail, offset)
ThreadNames(nameId, globalTid)
TARGET_INFO_GPU(id, name)
TARGET_INFO_SESSION_START_TIME(utcEpochNs)"""


def range_of(e):
    """What emit_nvtx calls an operator."""
    args, text = e.get("args", {}), e["name"]
    if "Sequence number" in args:
        text += ", seq = %d" % args["Sequence number"]
    text += ", op_id = %d" % args.get("External id", 1)
    if args.get("Input Dims"):
        text += ", sizes = " + str(args["Input Dims"]).replace("'", "")
    return text


SIZES = {"BFloat16": 2, "Half": 2, "Float": 4, "Double": 8, "Long": 8, "Int": 4, "Byte": 1}
SMALLER = {"reducescatter": "Out msg nelems", "_reduce_scatter_base": "Out msg nelems"}
CALLS = {"allreduce": "AllReduce", "_allgather_base": "AllGather", "allgather": "AllGather", "_reduce_scatter_base": "ReduceScatter",
         "reducescatter": "ReduceScatter", "broadcast": "Broadcast", "reduce": "Reduce", "send": "Send", "recv": "Recv"}


def payload(schema, *values):
    """Domain, schema, size and place of the payload, then the payload."""
    body = b"".join(struct.pack("<Q", v) for v in values)
    return struct.pack("<QQQQ", 1, schema, len(body), 32) + body


def can_hold(trace):
    """Whether an export of nsys may hold the job: CUDA's work and calls, and ranges."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    return (any(e.get("cat") == "cuda_runtime" for e in events)
            and all(type(e.get("pid")) is type(e.get("tid")) is int for e in events if e.get("cat") in ("cpu_op", "cuda_runtime"))
            and not any(re.match(r"hip|Memcpy.*Host|Memset \(Unknown", e["name"]) for e in events))


def export(trace, nccl):
    db = sqlite3.connect(":memory:")
    for table in TABLES.splitlines():
        db.execute("create table " + re.sub(r"\bend\b", '"end"', table))
    strings, records = {}, {}

    def text(s):
        return strings.setdefault(s, len(strings) + 1)

    def row(table, *values):
        db.execute("insert into %s values(%s)" % (table, ", ".join("?" * len(values))), values)

    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    process = next(e["pid"] for e in events if e.get("cat") == "cuda_runtime")
    for e in events:
        start = ns(e["ts"])
        end, cat, args, name = ns(e["ts"] + e["dur"]), e.get("cat"), e.get("args", {}), e["name"]
        thread = e["pid"] << 24 | e["tid"] if cat in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver") else 0
        place = (args.get("device"), args.get("stream"), args.get("correlation"), process << 24)
        if cat == "cpu_op":
            row("NVTX_EVENTS", start, end, 59, range_of(e), None, thread, 0, None)
        elif cat == "user_annotation":
            row("NVTX_EVENTS", start, end, 59, name, None, thread, 0, None)
        elif cat in ("cuda_runtime", "cuda_driver"):
            row("CUPTI_ACTIVITY_KIND_RUNTIME", start, end, thread, args.get("correlation"), text(name))
        elif cat == "kernel":
            shape = [args[k][i] if k in args else None for k in ("grid", "block") for i in range(3)]
            row("CUPTI_ACTIVITY_KIND_KERNEL", start, end, *place, text(name), *shape, args.get("registers per thread"), 0, args.get("shared memory"))
        elif cat == "gpu_memcpy":
            way = re.match(r"Memcpy (\w+)(?: \((.*) -> (.*)\))?", name)
            kinds = [MEMORY.index(k) if k else None for k in way.groups()[1:]]
            row("CUPTI_ACTIVITY_KIND_MEMCPY", start, end, *place, args.get("bytes"), COPIES[way[1]], *kinds)
        elif cat == "gpu_memset":
            kind = re.match(r"Memset \((.*)\)", name)
            row("CUPTI_ACTIVITY_KIND_MEMSET", start, end, *place, args.get("bytes"), MEMORY.index(kind[1]) if kind else None)
        elif cat == "cuda_sync":
            on = args.get("wait_on_cuda_event_record_corr_id", -1)
            event = None if on < 0 else len(records) + 1 if on not in records else records[on]
            if event and on not in records:
                records[on] = event
                row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", 0, 1, args.get("wait_on_stream"), on, process << 24, event)
            row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start, end, args.get("device"), args.get("context"), args.get("stream"), args.get("correlation"),
                process << 24, SYNCS[name], event)
    for schema, entries in ((101, ((18, "NCCL communicator ID"), (18, "No. of ranks"))), (102, ((18, "NCCL communicator ID"), (22, "Message size [bytes]")))):
        for i, (kind, field) in enumerate(entries):
            row("NVTX_PAYLOAD_SCHEMA_ENTRIES", 1, schema, i, None, kind, field, None, None, 8 * i or None)
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    groups = set()
    for e in events:
        args = e.get("args", {})
        if not nccl or e.get("cat") != "kernel" or args.get("Collective name") not in CALLS or args.get("dtype") not in SIZES:
            continue
        call, group, name = launches[args["correlation"]], int(args["Process Group Name"]), args["Collective name"]
        thread = call["pid"] << 24 | call["tid"]
        if group not in groups:
            groups.add(group)
            row("NVTX_EVENTS", ns(call["ts"]), ns(call["ts"]), 59, "ncclCommInitRank", None, thread, 1, payload(101, group, args["Group size"]))
        size = args[SMALLER.get(name, "In msg nelems")] * SIZES[args["dtype"]]
        row("NVTX_EVENTS", ns(call["ts"]), ns(call["ts"] + call["dur"]), 59, "nccl" + CALLS[name], None, thread, 1, payload(102, group, size))
    for device in trace.get("deviceProperties", []):
        row("TARGET_INFO_GPU", device["id"], device["name"])
    if "baseTimeNanoseconds" in trace:
        row("TARGET_INFO_SESSION_START_TIME", trace["baseTimeNanoseconds"])
    for e in trace["traceEvents"]:
        if e.get("ph") == "M" and e["name"] == "thread_name" and e["pid"] == process:
            row("ThreadNames", text(e["args"]["name"]), e["pid"] << 24 | e["tid"])
    for s, i in strings.items():
        row("StringIds", i, s)
    db.commit()
    return db.serialize()
