/* rocprofv3's databases and Nsight Systems' exports: what their records become, and files that lie. */
#include "base/memory.h"
#include "databases.h"

#define ROCPD_KERNELS                                                                                        \
    "create table k(guid, name, start, \"end\", pid, tid, agent_type_index, stream_id, queue_id, stack_id, " \
    "grid_x,"                                                                                                \
    "grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z, lds_size);"                                      \
    "insert into k values('g', 'gemm', 2000, 3000, 9, 10, 1, 4, 2, 77, 1000, 1, 1, 256, 1, 1, 512);"         \
    "create view kernels as select * from k;"

TEST(test_rocpd)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            ROCPD_KERNELS
            "create table rocpd_kernel_dispatch(id); insert into rocpd_kernel_dispatch values(1),(2);"
            "create table memory_copies(name, start, \"end\", pid, tid, dst_agent_type, "
            "dst_agent_type_index, src_agent_type_index, size);"
            "insert into memory_copies values('MEMORY_COPY_DEVICE_TO_HOST',5,9,9,10,'CPU',0,6,64);"
            "create table regions(category, name, pid, tid, start, \"end\", stack_id);"
            "insert into regions values('HIP_RUNTIME_API','hipLaunchKernel',9,10,1000,1100,77),"
            "('MARKER_CORE_RANGE_API','step',9,10,900,4000,78), ('RCCL_API','ncclAllReduce',9,10,1,2,79);",
            &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 5);
    expect_event(e, 0, "kernel", "gemm", 2000, 1000);
    expect_int(e, 0, RS_COL_CORRELATION, 77);
    expect_int(e, 0, RS_COL_STREAM, 4);
    expect_text(e, 0, RS_COL_GRID, "[4, 1, 1]");
    expect_event(e, 1, "gpu_memcpy", "MEMORY_COPY_DEVICE_TO_HOST", 5, 4);
    expect_int(e, 1, RS_COL_DEVICE, 6);
    expect_event(e, 2, "hip_runtime", "hipLaunchKernel", 1000, 100);
    expect_int(e, 2, RS_COL_CORRELATION, 77);
    expect_event(e, 3, "user_annotation", "step", 900, 3100);
    expect_event(e, 4, "other_api", "ncclAllReduce", 1, 1);
    assert_int_equal(problem_count(e, "hidden_records"), 1); /* tables of a layout that is not known */
    assert_int_equal(e->n_lost, 1);
    rs_events_free(e);
}

/* What was counted belongs to the kernel of that number and recording; a kernel without times shifts no other. */
TEST(test_rocpd_counters)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            "create table kernels(guid, name, start, \"end\", pid, tid, dispatch_id);"
            "insert into kernels values('g','lost',0,0,9,9,3),('g','gemm',50,90,9,9,2),('h','add',10,20,8,8,2);"
            "create table counters_collection(guid, counter_name, value, dispatch_id);"
            "insert into counters_collection values('h','SQ_WAVES',4,2),('g','SQ_WAVES',1.5,2),"
            "('g','MfmaUtil',60,2),('g','SQ_WAVES',7,3),('g','SQ_WAVES',7,9),('g','SQ_WAVES',NULL,2);",
            &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 2);
    assert_int_equal(e->n_counters, 2);
    const rs_sparse *waves = &e->counters[0].values, *matrix = &e->counters[1].values;
    assert_true(waves->n == 2 && waves->rows[0] == 0 && waves->reals[0] == 1.5 && waves->reals[1] == 4);
    assert_true(matrix->n == 1 && matrix->rows[0] == 0 && matrix->reals[0] == 60);
    assert_int_equal(problem_count(e, "unmatched_counters"), 3);
    rs_events_free(e);
}

TEST(test_nsys)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            "create table StringIds(id integer primary key, value text);"
            "insert into StringIds values(1,'cudaLaunchKernel_v7000'),(2,'gemm<float>'),(3,'step "
            "1'),(4,'cuMemcpy');"
            "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20,(5<<24)|7,1,1),(21,22,(5<<24)|7,2,4);"
            "create table "
            "CUPTI_ACTIVITY_KIND_KERNEL(start,\"end\",deviceId,streamId,correlationId,globalPid,"
            "demangledName,"
            "gridX,gridY,gridZ,blockX,blockY,blockZ,registersPerThread,staticSharedMemory,"
            "dynamicSharedMemory);"
            "insert into CUPTI_ACTIVITY_KIND_KERNEL values(30,90,0,7,1,5<<24,2,4,1,1,128,1,1,40,16,32);"
            "create table "
            "CUPTI_ACTIVITY_KIND_MEMCPY(start,\"end\",deviceId,streamId,correlationId,globalPid,bytes,"
            "copyKind);"
            "insert into CUPTI_ACTIVITY_KIND_MEMCPY values(40,50,0,8,2,5<<24,4096,1);"
            "create table "
            "CUPTI_ACTIVITY_KIND_MEMSET(start,\"end\",deviceId,streamId,correlationId,globalPid,bytes);"
            "insert into CUPTI_ACTIVITY_KIND_MEMSET values(60,61,0,8,3,5<<24,10);"
            "create table NVTX_EVENTS(start,\"end\",eventType,text,textId,globalTid);"
            "insert into NVTX_EVENTS values(5,100,59,NULL,3,(5<<24)|7),(6,90,60,'own text',NULL,(5<<24)|7),"
            "(1,NULL,75,'NCCL',NULL,1),(7,NULL,59,'open',NULL,1);",
            &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 8);
    expect_event(e, 3, "cuda_runtime", "cudaLaunchKernel", 10, 10);
    assert_int_equal(e->threads[e->thread[3]].pid, 5);
    assert_int_equal(e->threads[e->thread[3]].tid, 7);
    expect_event(e, 4, "cuda_driver", "cuMemcpy", 21, 1);
    expect_event(e, 5, "kernel", "gemm<float>", 30, 60);
    expect_text(e, 5, RS_COL_GRID, "[4, 1, 1]");
    expect_int(e, 5, RS_COL_SHARED_MEMORY, 48);
    expect_event(e, 6, "gpu_memcpy", "Memcpy HtoD", 40, 10);
    expect_event(e, 7, "gpu_memset", "Memset", 60, 1);
    expect_event(e, 0, "user_annotation", "step 1", 5, 95);
    expect_event(e, 1, "user_annotation", "own text", 6, 84);
    expect_event(e, 2, "user_annotation", "open", 7, 0);
    rs_events_free(e);
}

/* ---- rocpd: the tables behind the views --------------------------------------------------------------- */

/* As rocprofv3 writes them: names end in the process's id; ids of threads and processes are row ids. */
#define INFO(S)                                                                                              \
    "create table \"rocpd_string" S "\"(id integer primary key, guid, string);"                              \
    "insert into \"rocpd_string" S "\" values(1,'g','HIP_RUNTIME_API'),(2,'g','hipLaunchKernel'),"           \
    "(3,'g','MEMORY_COPY_HOST_TO_DEVICE'),(4,'g','MARKER_CORE_RANGE_API'),(5,'g','ProfilerStep#1');"         \
    "create table \"rocpd_info_process" S "\"(id integer primary key, guid, pid);"                           \
    "insert into \"rocpd_info_process" S "\" values(1,'g',4242);"                                            \
    "create table \"rocpd_info_thread" S "\"(id integer primary key, guid, tid);"                            \
    "insert into \"rocpd_info_thread" S "\" values(8,'g',4243);"                                             \
    "create table \"rocpd_info_agent" S "\"(id integer primary key, guid, type, type_index);"                \
    "insert into \"rocpd_info_agent" S "\" values(0,'g','CPU',0),(4,'g','GPU',2);"                           \
    "create table \"rocpd_info_kernel_symbol" S                                                              \
    "\"(id integer primary key, guid, kernel_name, display_name,"                                            \
    "arch_vgpr_count);"                                                                                      \
    "insert into \"rocpd_info_kernel_symbol" S "\" values(3,'g','_Z4gemm.kd','gemm',64);"                    \
    "create table \"rocpd_event" S "\"(id integer primary key, guid, category_id, stack_id);"                \
    "insert into \"rocpd_event" S "\" values(1,'g',1,77),(2,'g',NULL,77),(3,'g',NULL,78),(4,'g',4,79);"

#define SIZES "64,256,1,1,1000,1,1"
#define INLINE(S)                                                                                            \
    INFO(S)                                                                                                  \
    "create table \"rocpd_kernel_dispatch" S "\"(id integer primary key, guid, nid, pid, tid, agent_id,"     \
    "kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", group_segment_size, workgroup_size_x,"     \
    "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id);"                  \
    "insert into \"rocpd_kernel_dispatch" S "\" values(1,'g',1,1,8,4,3,1,5,9,2000,3000," SIZES ",2),"        \
    "(2,'g',1,1,555,4,3,2,5,NULL,4000,4100," SIZES ",NULL);"                                                 \
    "create table \"rocpd_memory_copy" S "\"(id integer primary key, guid, nid, pid, tid, start, \"end\","   \
    "name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id);"                             \
    "insert into \"rocpd_memory_copy" S "\" values(1,'g',1,1,8,5000,5500,3,4,0,4096,5,9,3);"                 \
    "create table \"rocpd_region" S "\"(id integer primary key, guid, nid, pid, tid, start, \"end\","        \
    "name_id, event_id);"                                                                                    \
    "insert into \"rocpd_region" S "\" values(1,'g',1,1,8,1000,1100,2,1),(2,'g',1,1,8,900,6000,5,4);"

static void expect_base(const rs_events *e)
{
    assert_int_equal(e->n, 5);
    expect_event(e, 0, "kernel", "gemm", 2000, 1000);
    expect_int(e, 0, RS_COL_CORRELATION, 77);
    expect_int(e, 0, RS_COL_STREAM, 9);
    expect_int(e, 0, RS_COL_DEVICE, 2);
    expect_int(e, 0, RS_COL_REGISTERS, 64);
    expect_int(e, 0, RS_COL_SHARED_MEMORY, 64);
    expect_text(e, 0, RS_COL_GRID, "[4, 1, 1]");
    assert_int_equal(e->threads[e->thread[0]].pid, 4242);
    expect_event(e, 1, "kernel", "gemm", 4000, 100); /* no event, no such thread, no stream */
    expect_int(e, 1, RS_COL_STREAM, 5);
    expect_event(e, 2, "gpu_memcpy", "MEMORY_COPY_HOST_TO_DEVICE", 5000, 500);
    expect_int(e, 2, RS_COL_DEVICE, 2);
    expect_int(e, 2, RS_COL_BYTES, 4096);
    expect_int(e, 2, RS_COL_CORRELATION, 78);
    expect_event(e, 3, "hip_runtime", "hipLaunchKernel", 1000, 100);
    expect_int(e, 3, RS_COL_CORRELATION, 77);
    assert_int_equal(e->threads[e->thread[3]].tid, 4243);
    expect_event(e, 4, "user_annotation", "ProfilerStep#1", 900, 5100);
}

TEST(test_rocpd_tables)
{
    rs_events *e;
    /* no views at all */
    assert_int_equal(load_database(INLINE("_0194-ab"), &e, NULL), RS_OK);
    expect_base(e);
    assert_int_equal(e->n_lost, 0);
    assert_int_equal(rs_problems_worst(&e->problems), RS_WARNING);
    assert_int_equal(problem_count(e, "hidden_records"), 5);
    rs_events_free(e);
    /* a view that hides the dispatch without an event */
    static const char hides[] =
        INLINE("_x") "create view rocpd_kernel_dispatch as select * from rocpd_kernel_dispatch_x;"
                     "create view kernels as select 'wrong' as name, k.start, k.\"end\" from "
                     "rocpd_kernel_dispatch k join rocpd_event_x e on e.id = k.event_id;";
    assert_int_equal(load_database(hides, &e, NULL), RS_OK);
    expect_base(e);
    rs_events_free(e);
    /* a view that cannot be read, and plain tables in which ids need their guid */
    assert_int_equal(load_database(INLINE("") "create view kernels as select * from nowhere;"
                                              "create view regions as select * from regions;",
                                   &e, NULL),
                     RS_OK);
    expect_base(e);
    rs_events_free(e);
}

/* Several processes in one file. */
TEST(test_rocpd_processes)
{
    rs_events *e;
    assert_int_equal(
        load_database(INLINE("_a") INLINE("_b") "update rocpd_info_process_b set pid = 4300;", &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 10);
    assert_int_equal(e->threads[e->thread[0]].pid, 4242);
    assert_int_equal(e->threads[e->thread[2]].pid, 4300);
    rs_events_free(e);
}

/* The newer layout: times and threads stand in tables of their own. */
TEST(test_rocpd_spine)
{
    rs_events *e;
    static const char sql[] = INFO(
        "_u") "create table rocpd_track_u(id integer primary key, guid, nid, ppid, pid, tid, agent_id, "
              "queue_id,"
              "stream_id, name_id);"
              "insert into rocpd_track_u "
              "values(1,'g',1,0,1,8,4,5,9,NULL),(2,'g',1,0,1,8,NULL,NULL,NULL,NULL);"
              "create table rocpd_timestamp_u(id integer primary key, value, phase, track_id);"
              "insert into rocpd_timestamp_u values(1,2000,1,1),(2,3000,2,1),(3,1000,1,2),(4,1100,2,2);"
              "create table rocpd_kernel_dispatch_u(id integer primary key, guid, track_id, kernel_id, "
              "dispatch_id, start_id, end_id, group_segment_size, workgroup_size_x, workgroup_size_y,"
              "workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id);"
              "insert into rocpd_kernel_dispatch_u values(1,'g',1,3,1,1,2," SIZES ",2),"
              "(2,'g',1,3,2,1,99," SIZES ",2);"
              "create table rocpd_region_u(id integer primary key, guid, track_id, start_id, end_id, name_id,"
              "event_id);"
              "insert into rocpd_region_u values(1,'g',2,3,4,2,1);";
    assert_int_equal(load_database(sql, &e, NULL), RS_OK);
    assert_int_equal(e->n, 2);
    expect_event(e, 0, "kernel", "gemm", 2000, 1000);
    expect_int(e, 0, RS_COL_DEVICE, 2);
    expect_int(e, 0, RS_COL_STREAM, 9);
    expect_text(e, 0, RS_COL_GRID, "[4, 1, 1]");
    expect_event(e, 1, "hip_runtime", "hipLaunchKernel", 1000, 100);
    assert_int_equal(e->threads[e->thread[1]].pid, 4242);
    assert_int_equal(e->threads[e->thread[1]].tid, 4243);
    assert_int_equal(problem_count(e, "no_time"), 1); /* the timestamp is not in the file */
    rs_events_free(e);
}

/* ---- Nsight Systems: synchronization, NCCL, graphs ----------------------------------------------------- */

#define STRINGS                                                                                              \
    "create table StringIds(id integer primary key, value text);"                                            \
    "insert into StringIds "                                                                                 \
    "values(1,'cudaLaunchKernelExC_v11060'),(2,'ncclDevKernel_AllReduce_Sum_f32_RING_LL')"                   \
    ",(3,'cudaStreamSynchronize_v3020'),(4,'{\"NCCL communicator ID\": 18446744073709551615, "               \
    "\"Message size [bytes]\": 4096}'),(5,'cudaGraphLaunch_v10000'),(6,'NCCL');"

TEST(test_nsys_sync)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            STRINGS "create table CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId,contextId,streamId,correlationId,"
                    "globalPid,eventId);"
                    "insert into CUPTI_ACTIVITY_KIND_CUDA_EVENT values(0,1,7,10,5<<24,3),(0,1,8,20,5<<24,3),"
                    "(0,1,9,15,6<<24,3),(0,1,'x',NULL,5<<24,3);"
                    "create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start,\"end\",deviceId,contextId,"
                    "streamId,correlationId,globalPid,syncType,eventId);"
                    "insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values(1,2,0,1,9,17,5<<24,2,3),"
                    "(3,9,0,1,4294967295,30,5<<24,1,3),(4,5,0,1,7,31,5<<24,3,4294967295),"
                    "(6,8,1,2,0,32,5<<24,4,4294967295),(7,8,0,1,9,5,5<<24,2,3),(8,9,0,1,9,40,5<<24,99,3);",
            &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 6);
    expect_event(e, 0, "cuda_sync", "Stream Wait Event", 1, 1);
    expect_int(e, 0, RS_COL_STREAM, 9);
    expect_int(e, 0, RS_COL_CORRELATION, 17);
    expect_int(e, 0, RS_COL_WAIT_ON_EVENT, 10); /* recorded again later, and by another process */
    expect_int(e, 0, RS_COL_WAIT_ON_STREAM, 7);
    expect_event(e, 1, "cuda_sync", "Event Sync", 3, 6);
    expect_int(e, 1, RS_COL_STREAM, RS_NO_VALUE);
    expect_int(e, 1, RS_COL_WAIT_ON_EVENT, 20);
    expect_int(e, 1, RS_COL_WAIT_ON_STREAM, 8);
    expect_event(e, 2, "cuda_sync", "Stream Sync", 4, 1);
    expect_int(e, 2, RS_COL_STREAM, 7);
    expect_int(e, 2, RS_COL_WAIT_ON_EVENT, RS_NO_VALUE);
    expect_event(e, 3, "cuda_sync", "Context Sync", 6, 2);
    expect_int(e, 3, RS_COL_STREAM, RS_NO_VALUE);
    expect_int(e, 3, RS_COL_DEVICE, 1);
    expect_int(e, 3, RS_COL_CONTEXT, 2);
    expect_int(e, 4, RS_COL_WAIT_ON_EVENT, RS_NO_VALUE); /* before it was recorded at all */
    expect_event(e, 5, "cuda_sync", "Sync", 8, 1);
    assert_int_equal(rs_event_kind(e, 5), RS_KIND_SYNC);
    rs_events_free(e);
}

#define THREAD "(5<<24)|7"
/* A collective by itself, two in a group, and one whose launch stands in no range. */
TEST(test_nsys_nccl)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            STRINGS
            "create table "
            "NVTX_EVENTS(start,\"end\",eventType,text,textId,globalTid,domainId,jsonText,jsonTextId);"
            "insert into NVTX_EVENTS values(0,NULL,75,NULL,6," THREAD ",2,NULL,NULL),"
            "(1,2,59,'ncclCommInitRank',NULL," THREAD ",2,'{\"NCCL communicator ID\": 18446744073709551615,"
            "\"No. of ranks\": 4, \"Rank\": 1}',NULL),"
            "(10,20,59,'ncclAllReduce',NULL," THREAD ",2,NULL,4),"
            "(30,31,59,'ncclGroupStart',NULL," THREAD ",2,NULL,NULL),"
            "(32,33,59,'ncclAllGather',NULL," THREAD ",2,'{\"NCCL communicator ID\": 18446744073709551615,"
            "\"Message size [bytes]\": 100}',NULL),"
            "(34,35,59,'ncclAllGather',NULL," THREAD ",2,'{\"NCCL communicator ID\": 18446744073709551615,"
            "\"Message size [bytes]\": 20}',NULL),"
            "(40,50,59,'ncclGroupEnd',NULL," THREAD ",2,NULL,NULL),"
            "(60,70,59,'ncclAllReduce',NULL," THREAD ",3,NULL,4),"
            "(80,90,59,'ncclReduceScatter',NULL," THREAD ",2,'{\"Message size [bytes]\": ',NULL);"
            "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(12,14," THREAD ",1,1),(42,44," THREAD ",2,1),"
            "(62,64," THREAD ",3,1),(82,84," THREAD ",4,1),(12,14,(5<<24)|8,5,1);"
            "create table CUPTI_ACTIVITY_KIND_KERNEL(start,\"end\",deviceId,streamId,correlationId,globalPid,"
            "demangledName);"
            "insert into CUPTI_ACTIVITY_KIND_KERNEL values(100,110,0,9,1,5<<24,2),(120,130,0,9,2,5<<24,2),"
            "(140,150,0,9,3,5<<24,2),(160,170,0,9,4,5<<24,2),(180,190,0,9,5,5<<24,2);",
            &e, NULL),
        RS_OK);
    size_t first = 13;
    assert_int_equal(e->n, 18);
    assert_int_equal(rs_event_kind(e, first), RS_KIND_KERNEL);
    expect_text(e, first, RS_COL_COLLECTIVE, "allreduce");
    expect_text(e, first, RS_COL_GROUP_NAME, "18446744073709551615");
    expect_text(e, first, RS_COL_DTYPE, "Byte");
    expect_int(e, first, RS_COL_IN_NELEMS, 4096);
    expect_int(e, first, RS_COL_OUT_NELEMS, 4096);
    expect_int(e, first, RS_COL_GROUP_SIZE, 4);
    /* both of the group; the gathered side is the number of ranks times larger */
    expect_text(e, first + 1, RS_COL_COLLECTIVE, "allgather");
    expect_int(e, first + 1, RS_COL_IN_NELEMS, 120);
    expect_int(e, first + 1, RS_COL_OUT_NELEMS, 480);
    /* a domain of another name, although the range looks alike */
    assert_true(rs_events_text(e, RS_COL_COLLECTIVE, (uint32_t)first + 2) == RS_NO_STRING);
    /* a broken payload: the name is known, nothing else */
    expect_text(e, first + 3, RS_COL_COLLECTIVE, "reducescatter");
    expect_int(e, first + 3, RS_COL_IN_NELEMS, RS_NO_VALUE);
    /* another thread */
    assert_true(rs_events_text(e, RS_COL_COLLECTIVE, (uint32_t)first + 4) == RS_NO_STRING);
    rs_events_free(e);
}

/* The report has ranges in the order of their begins: those of two threads alternate. */
TEST(test_nsys_nccl_of_two_threads)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            STRINGS
            "create table NVTX_EVENTS(start,\"end\",eventType,text,textId,globalTid,domainId,jsonText,jsonTextId);"
            "insert into NVTX_EVENTS values(0,NULL,75,NULL,6," THREAD ",2,NULL,NULL),"
            "(10,20,59,'ncclAllReduce',NULL,(5<<24)|9,2,NULL,4),"
            "(11,21,59,'ncclBroadcast',NULL," THREAD ",2,NULL,4),"
            "(30,40,59,'ncclReduce',NULL,(5<<24)|9,2,NULL,4),"
            "(31,41,59,'ncclAllGather',NULL," THREAD ",2,NULL,4);"
            "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(12,14,(5<<24)|9,1,1),(13,15," THREAD ",2,1),"
            "(32,34,(5<<24)|9,3,1),(33,35," THREAD ",4,1);"
            "create table CUPTI_ACTIVITY_KIND_KERNEL(start,\"end\",deviceId,streamId,correlationId,globalPid,"
            "demangledName);"
            "insert into CUPTI_ACTIVITY_KIND_KERNEL values(100,110,0,9,1,5<<24,2),(120,130,0,9,2,5<<24,2),"
            "(140,150,0,9,3,5<<24,2),(160,170,0,9,4,5<<24,2);",
            &e, NULL),
        RS_OK);
    static const char *const names[] = {"allreduce", "broadcast", "reduce", "allgather"};
    assert_int_equal(e->n, 12);
    for (size_t i = 0; i < 4; i++) expect_text(e, 8 + i, RS_COL_COLLECTIVE, names[i]);
    rs_events_free(e);
}

TEST(test_nsys_graph)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            STRINGS
            "create table TARGET_INFO_GPU(id,name); insert into TARGET_INFO_GPU values(0,'H100'),(1,'H100');"
            "create table TARGET_INFO_SESSION_START_TIME(utcEpochNs);"
            "insert into TARGET_INFO_SESSION_START_TIME values(1700000000000000000);"
            "create table DIAGNOSTIC_EVENT(text,severity);"
            "insert into DIAGNOSTIC_EVENT values('Not all events collected: 12 dropped',2),(NULL,1);"
            "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(1,3," THREAD ",1,5);"
            "create table CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start,\"end\",deviceId,streamId,correlationId,"
            "globalPid,graphId);"
            "insert into CUPTI_ACTIVITY_KIND_GRAPH_TRACE values(5,50,0,7,1,5<<24,42);",
            &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 2);
    expect_event(e, 0, "cuda_runtime", "cudaGraphLaunch", 1, 2);
    expect_event(e, 1, "kernel", "CUDA graph 42", 5, 45);
    expect_int(e, 1, RS_COL_CORRELATION, 1);
    assert_int_equal(problem_count(e, "whole_graphs"), 1);
    assert_int_equal(e->info.n_devices, 2);
    assert_string_equal(text_at(e, e->info.device_name), "H100");
    assert_int_equal(e->info.base_time_ns, 1700000000000000000);
    assert_int_equal(e->n_log, 1);
    rs_events_free(e);
}

/* ---- hostile files -------------------------------------------------------------------------------- */

/* Wrong types, views that never end, columns that are missing, blobs for names: an error or an honest result.
 */
TEST(test_hostile_databases)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(load_database("create table other(x);", &e, &err), RS_ERR_FORMAT);
    assert_int_equal(load_database("create table kernels(name, start);", &e, NULL), RS_OK);
    rs_events_free(e);
    assert_int_equal(load_database("create table kernels(name, start, \"end\"); insert into kernels values"
                                   "(zeroblob(1000000), 'soon', 2.5), (NULL, 1, 9223372036854775807),"
                                   "('a', -9223372036854775807, 9223372036854775807);",
                                   &e, NULL),
                     RS_OK);
    assert_int_equal(e->n, 2);
    assert_int_equal(problem_count(e, "no_time"), 1);
    rs_events_free(e);
    assert_int_equal(load_database("create view kernels as select * from nowhere;", &e, &err), RS_ERR_FORMAT);
    assert_int_equal(load_database("create view kernels as select load_extension('x') as name;", &e, &err),
                     RS_ERR_FORMAT);
    /* damaged pages */
    image db = database(ROCPD_KERNELS);
    rng r = {5};
    for (size_t i = 0; i < ROUNDS(400); i++) {
        text t = {0};
        text_add(&t, db.bytes, (size_t)db.n);
        for (int k = 0; k < 8; k++) t.s[16 + rng_below(&r, t.n - 16)] = (char)rng_next(&r);
        if (load_native(t.s, t.n, "x.db", &e, NULL) == RS_OK) rs_events_free(e);
        text_clear(&t);
    }
    sqlite3_free(db.bytes);
}

/* Every column of every table with every type: nothing but a status may come of it. */
TEST(test_wrong_types)
{
    static const char *const values[] = {"NULL",
                                         "'text'",
                                         "x'00ff'",
                                         "2.5",
                                         "-1",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "zeroblob(100000)"};
    static const char *const columns =
        "start,\"end\",globalPid,globalTid,deviceId,streamId,contextId,correlationId,nameId,demangledName,"
        "gridX,gridY,gridZ,blockX,blockY,blockZ,registersPerThread,staticSharedMemory,dynamicSharedMemory,"
        "bytes,copyKind,eventType,text,textId,domainId,jsonText,syncType,eventId,graphId,utcEpochNs,name";
    static const char *const names[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_MEMCPY",
                                        "CUPTI_ACTIVITY_KIND_MEMSET",
                                        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                        "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                        "NVTX_EVENTS",
                                        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                        "TARGET_INFO_GPU",
                                        "DIAGNOSTIC_EVENT",
                                        "TARGET_INFO_SESSION_START_TIME"};
    text sql = {0};
    rng r = {9};
    for (size_t round = 0; round < ROUNDS(40); round++) {
        text_puts(&sql,
                  "create table StringIds(id, value);insert into StringIds values(1,2),(2,x'00'),(-1,'a');");
        for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
            text_printf(&sql, "create table %s(%s);", names[t], columns);
            for (int row = 0; row < 3; row++) {
                text_printf(&sql, "insert into %s values(", names[t]);
                for (int c = 0; c < 31; c++)
                    text_printf(&sql, "%s%s", c ? "," : "",
                                values[rng_below(&r, sizeof values / sizeof *values)]);
                text_puts(&sql, ");");
            }
        }
        rs_events *e;
        assert_int_equal(load_database(sql.s, &e, NULL), RS_OK);
        for (size_t i = 0; i < e->n; i++) assert_true(e->start[i] != RS_NO_TIME && e->duration[i] >= 0);
        rs_events_free(e);
        text_clear(&sql);
    }
}

/* Views that count for ever, texts that are too long, tables that refer to each other in circles. */
TEST(test_endless)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    rs_status status = load_database(
        "create view kernels as with recursive n(start) as (select 1 union all select start + 1 from n) "
        "select 'k' as name, start, start as \"end\" from n where start < 0;",
        &e, &err);
    assert_int_equal(status, RS_ERR_LIMIT);
    assert_int_equal(
        load_database(
            "create view kernels as select * from regions; create view regions as select * from kernels;", &e,
            &err),
        RS_ERR_FORMAT);
    assert_int_equal(load_database("create view kernels as select zeroblob(100000000) as name;", &e, &err),
                     RS_ERR_FORMAT);
    assert_int_equal(load_database("create table kernels(name, start, \"end\");"
                                   "create table \"rocpd_kernel_dispatch_'; drop\"(start, \"end\");"
                                   "insert into \"rocpd_kernel_dispatch_'; drop\" values(1, 2);",
                                   &e, &err),
                     RS_OK);
    assert_int_equal(e->n, 0); /* such a name is none of rocprofv3's */
    rs_events_free(e);
}

/* Each allocation of a load failing in turn. SQLite has its own memory. */
TEST(test_allocations)
{
    static const char *const files[] = {
        INLINE("_x"), STRINGS
        "create table NVTX_EVENTS(start,\"end\",eventType,text,globalTid,domainId,jsonText,textId);"
        "insert into NVTX_EVENTS values(0,NULL,75,'NCCL'," THREAD ",2,NULL,NULL),"
        "(10,20,59,'ncclAllReduce'," THREAD ",2,'{\"NCCL communicator ID\":1,\"No. of ranks\":2}',NULL);"
        "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"
        "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(12,14," THREAD ",1,1);"
        "create table CUPTI_ACTIVITY_KIND_KERNEL(start,\"end\",streamId,correlationId,globalPid,"
        "demangledName);insert into CUPTI_ACTIVITY_KIND_KERNEL values(100,110,9,1,5<<24,2);"};
    for (size_t f = 0; f < 2; f++) {
        image db = database(files[f]);
        rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
        rs_status status = RS_ERR_NOMEM;
        for (uint64_t fail = 1; status != RS_OK; fail++) {
            rs_events *e = NULL;
            rs_error err = RS_ERROR_INIT;
            assert_true(fail < 10000);
            rs_test_fail_allocation(fail);
            status = rs_sqlite_load("x.db", db.bytes, (size_t)db.n, &settings, &e, &err);
            rs_test_fail_allocation(0);
            if (status == RS_OK) rs_events_free(e);
        }
        sqlite3_free(db.bytes);
    }
}
