#!/usr/bin/env python3
"""Makes small profiler databases as the real ones are laid out: databases.py nsys|rocpd|rocpd-spine|rocpd-views|rocpd-hiding FILE [RANK]

Three training steps: each launches five kernels, the last of them a collective on a stream of its own that waits for
the fourth, and ends in a synchronization.
"""
import pathlib
import sqlite3
import sys

KIND, PATH, RANK = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0
STEPS, KERNELS = 3, 5
PID, TID = 4000 + RANK, 4100 + RANK
COMM = 1234567890123456789


def timeline():
    """(kind, name, start, end, correlation, stream, bytes): what happened, in nanoseconds."""
    now, number, free = 1_000_000, 1, {7: 0, 20: 0}
    for step in range(STEPS):
        begin = now
        for k in range(KERNELS):
            comm = k == KERNELS - 1
            stream = 20 if comm else 7
            if comm:
                yield "record", "cudaEventRecord", now, now + 900, number, 7, step
                yield "wait", "cudaStreamWaitEvent", now + 1000, now + 1800, number + 1, 20, step
                number, now = number + 2, now + 2000
                yield "nccl", "ncclAllReduce", now - 100, now + 6000, None, None, 1 << 20
            yield "call", "cudaLaunchKernel", now, now + 5000, number, None, None
            start = max(now + 7000, free[stream], free[7] if comm else 0)
            free[stream] = start + (30_000 + 4_000 * RANK if comm else 12_000 + 1_000 * k)
            name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if comm else "gemm_%d" % (k % 2)
            yield "kernel", name, start, free[stream], number, stream, None
            number, now = number + 1, now + 6500
        yield "copy", "copy", max(now + 4000, free[7]), max(now + 4000, free[7]) + 8000, number, 7, 4096
        free[7] = max(now + 4000, free[7]) + 8000
        yield "call", "cudaMemcpyAsync", now, now + 2500, number, None, None
        number, now = number + 1, now + 3000
        end = max(max(free.values()), now) + 1000
        yield "sync", "cudaDeviceSynchronize", now, end, number, None, None
        number, now = number + 1, end + 2000
        yield "range", "ProfilerStep#%d" % step, begin, now - 500, None, None, None


def nsys(db):
    thread, process = PID << 24 | TID, PID << 24
    strings = {}

    def text(s):
        return strings.setdefault(s, len(strings) + 1)

    db.executescript("""
        create table StringIds(id integer primary key, value text not null);
        create table TARGET_INFO_GPU(id, name, busLocation, uuid);
        create table TARGET_INFO_SESSION_START_TIME(utcEpochNs);
        create table NVTX_EVENTS(start, "end", eventType, rangeId, category, color, text, textId, globalTid,
            endGlobalTid, domainId, jsonText, jsonTextId, binaryData);
        create table CUPTI_ACTIVITY_KIND_RUNTIME(start, "end", eventClass, globalTid, correlationId, nameId, returnValue);
        create table CUPTI_ACTIVITY_KIND_KERNEL(start, "end", deviceId, contextId, streamId, correlationId, globalPid,
            demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory,
            dynamicSharedMemory, registersPerThread, graphNodeId);
        create table CUPTI_ACTIVITY_KIND_MEMCPY(start, "end", deviceId, streamId, correlationId, globalPid, bytes, copyKind);
        create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, "end", deviceId, contextId, streamId, correlationId,
            globalPid, syncType, eventId);
        create table CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId, contextId, streamId, correlationId, globalPid, eventId);
        insert into TARGET_INFO_GPU values(0, 'NVIDIA H100', '', '');
        insert into TARGET_INFO_SESSION_START_TIME values(1700000000000000000);""")
    nvtx = 'insert into NVTX_EVENTS(start, "end", eventType, textId, globalTid, domainId, jsonTextId) values(?,?,?,?,?,?,?)'
    db.execute(nvtx, (0, None, 75, text("NCCL"), thread, 3, None))
    db.execute(nvtx, (10, 20, 59, text("ncclCommInitRank"), thread, 3,
                      text('{"NCCL communicator ID": %d, "No. of ranks": 2, "Rank": %d}' % (COMM, RANK))))
    for kind, name, start, end, number, stream, extra in timeline():
        if kind == "kernel":
            db.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values(?,?,?,1,?,?,?,?,?,132,1,1,128,1,1,0,1024,64,null)",
                       (start, end, RANK, stream, number, process, text(name), text(name)))
        elif kind == "copy":
            db.execute("insert into CUPTI_ACTIVITY_KIND_MEMCPY values(?,?,?,?,?,?,?,1)",
                       (start, end, RANK, stream, number, process, extra))
        elif kind == "range":
            db.execute(nvtx, (start, end, 59, text(name), thread, 0, None))
        elif kind == "nccl":
            db.execute(nvtx, (start, end, 59, text(name), thread, 3,
                              text('{"NCCL communicator ID": %d, "Message size [bytes]": %d}' % (COMM, extra))))
        else:
            db.execute("insert into CUPTI_ACTIVITY_KIND_RUNTIME values(?,?,0,?,?,?,0)",
                       (start, end, thread, number, text(name + "_v10000")))
        if kind == "record":
            db.execute("insert into CUPTI_ACTIVITY_KIND_CUDA_EVENT values(?,1,?,?,?,?)",
                       (RANK, stream, number, process, 5))
        if kind in ("wait", "sync"):
            db.execute("insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values(?,?,?,1,?,?,?,?,?)",
                       (start, end, RANK, stream or 4294967295, number, process, 2 if kind == "wait" else 4,
                        5 if kind == "wait" else 4294967295))
    db.executemany("insert into StringIds values(?, ?)", [(i, s) for s, i in strings.items()])


def rocpd(db, spine, views):
    strings = {}
    s = "_0194abcd"

    def text(t):
        return strings.setdefault(t, len(strings) + 1)

    where = "track_id, start_id, end_id" if spine else 'nid, pid, tid, start, "end"'
    db.executescript("""
        create table rocpd_string{s}(id integer primary key, guid default 'g', string);
        create table rocpd_info_process{s}(id integer primary key, guid default 'g', nid, ppid, pid);
        create table rocpd_info_thread{s}(id integer primary key, guid default 'g', nid, pid, tid);
        create table rocpd_info_agent{s}(id integer primary key, guid default 'g', type, type_index, name);
        create table rocpd_info_kernel_symbol{s}(id integer primary key, guid default 'g', kernel_name, display_name);
        create table rocpd_event{s}(id integer primary key autoincrement, guid default 'g', category_id, stack_id);
        create table rocpd_track{s}(id integer primary key, guid default 'g', nid, ppid, pid, tid, agent_id, queue_id, stream_id);
        create table rocpd_timestamp{s}(id integer primary key autoincrement, guid default 'g', value, phase, track_id);
        create table rocpd_kernel_dispatch{s}(id integer primary key autoincrement, guid default 'g', {where}, agent_id,
            kernel_id, queue_id, stream_id, group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z,
            grid_size_x, grid_size_y, grid_size_z, event_id);
        create table rocpd_memory_copy{s}(id integer primary key autoincrement, guid default 'g', {where}, name_id,
            dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id);
        create table rocpd_region{s}(id integer primary key autoincrement, guid default 'g', {where}, name_id, event_id);
        insert into rocpd_info_process{s} values(1, 'g', 1, 0, {pid});
        insert into rocpd_info_thread{s} values(1, 'g', 1, 1, {tid});
        insert into rocpd_info_agent{s} values(0, 'g', 'CPU', 0, 'EPYC'), (4, 'g', 'GPU', {rank}, 'gfx942');
        insert into rocpd_track{s} values(1, 'g', 1, 0, 1, 1, 4, 1, null);
        insert into rocpd_info_kernel_symbol{s} values(1, 'g', 'g0.kd', 'gemm_0'), (2, 'g', 'g1.kd', 'gemm_1'),
            (3, 'g', 'n.kd', 'ncclDevKernel_AllReduce_Sum_f32_RING_LL');
        """.format(s=s, where=where, pid=PID, tid=TID, rank=RANK))
    symbols = {"gemm_0": 1, "gemm_1": 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL": 3}
    hip = {"cudaLaunchKernel": "hipLaunchKernel", "cudaMemcpyAsync": "hipMemcpyAsync",
           "cudaDeviceSynchronize": "hipDeviceSynchronize", "cudaEventRecord": "hipEventRecord",
           "cudaStreamWaitEvent": "hipStreamWaitEvent"}

    def event(category, stack):
        return db.execute("insert into rocpd_event%s(category_id, stack_id) values(?, ?)" % s,
                          (category and text(category), stack)).lastrowid

    def times(start, end):
        if not spine:
            return 1, 1, 1, start, end
        ids = [db.execute("insert into rocpd_timestamp%s(value, phase, track_id) values(?, ?, 1)" % s, (t, p)).lastrowid
               for p, t in ((1, start), (2, end))]
        return [1] + ids

    def insert(table, columns, values):
        db.execute("insert into %s%s(%s, %s) values(%s)" % (table, s, where, columns, ",".join("?" * len(values))), values)

    for kind, name, start, end, number, stream, extra in timeline():
        if kind == "kernel":
            insert("rocpd_kernel_dispatch", "agent_id, kernel_id, queue_id, stream_id, group_segment_size, workgroup_size_x, "
                   "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id",
                   [*times(start, end), 4, symbols[name], 1, stream, 0, 256, 1, 1, 33792, 1, 1, event(None, number)])
        elif kind == "copy":
            insert("rocpd_memory_copy", "name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id",
                   [*times(start, end), text("MEMORY_COPY_HOST_TO_DEVICE"), 4, 0, extra, 1, stream, event(None, number)])
        elif kind == "range":
            insert("rocpd_region", "name_id, event_id",
                   [*times(start, end), text(name), event("MARKER_CORE_RANGE_API", None)])
        elif kind != "nccl":
            insert("rocpd_region", "name_id, event_id",
                   [*times(start, end), text(hip[name]), event("HIP_RUNTIME_API_EXT", number)])
    db.executemany("insert into rocpd_string%s(id, string) values(?, ?)" % s, [(i, t) for t, i in strings.items()])
    if not views:
        return
    # inner joins, as rocprofv3 writes them
    db.executescript("""
        create view kernels as select k.id, k.guid, y.display_name as name, k.start, k."end", p.pid, t.tid,
            a.type_index as agent_type_index, k.stream_id, k.queue_id, e.stack_id, k.grid_size_x as grid_x,
            k.grid_size_y as grid_y, k.grid_size_z as grid_z, k.workgroup_size_x as workgroup_x,
            k.workgroup_size_y as workgroup_y, k.workgroup_size_z as workgroup_z
            from rocpd_kernel_dispatch{s} k join rocpd_event{s} e on e.id = k.event_id
            join rocpd_info_kernel_symbol{s} y on y.id = k.kernel_id join rocpd_info_process{s} p on p.id = k.pid
            join rocpd_info_thread{s} t on t.id = k.tid join rocpd_info_agent{s} a on a.id = k.agent_id;
        create view memory_copies as select n.string as name, m.start, m."end", p.pid, t.tid, d.type as dst_agent_type,
            d.type_index as dst_agent_type_index, c.type_index as src_agent_type_index, m.stream_id, m.queue_id,
            e.stack_id, m.size from rocpd_memory_copy{s} m join rocpd_event{s} e on e.id = m.event_id
            join rocpd_string{s} n on n.id = m.name_id join rocpd_info_process{s} p on p.id = m.pid
            join rocpd_info_thread{s} t on t.id = m.tid join rocpd_info_agent{s} d on d.id = m.dst_agent_id
            join rocpd_info_agent{s} c on c.id = m.src_agent_id;
        create view regions as select c.string as category, n.string as name, p.pid, t.tid, r.start, r."end", e.stack_id
            from rocpd_region{s} r join rocpd_event{s} e on e.id = r.event_id join rocpd_string{s} n on n.id = r.name_id
            join rocpd_string{s} c on c.id = e.category_id join rocpd_info_process{s} p on p.id = r.pid
            join rocpd_info_thread{s} t on t.id = r.tid;""".format(s=s))
    if views == "hiding":
        db.execute("delete from rocpd_info_thread%s" % s)


pathlib.Path(PATH).unlink(missing_ok=True)
database = sqlite3.connect(PATH)
if KIND == "nsys":
    nsys(database)
else:
    rocpd(database, KIND == "rocpd-spine", {"rocpd-views": "all", "rocpd-hiding": "hiding"}.get(KIND))
database.commit()
database.close()
