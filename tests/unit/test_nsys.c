/* Nsight Systems' exports: operators among NVTX ranges, payloads as bytes, calls around calls, the host's states,
 * counters; databases that are packed or come as a stream. */
#include <unistd.h>

#include "databases.h"
#include "format/range_names.h"

#define THREAD "(5<<24)|7"

/* ---- names of ranges --------------------------------------------------------------------------------- */

static void expect_name(const char *range, bool bare, const char *name, int64_t sequence, const char *sizes)
{
    rs_range_name n = rs_range_name_of(range, strlen(range), bare);
    assert_int_equal(n.is_operator, name != NULL);
    if (!name) {
        assert_int_equal(n.length, strlen(range));
        return;
    }
    assert_int_equal(n.length, strlen(name));
    assert_memory_equal(range, name, n.length);
    assert_int_equal(n.sequence, sequence);
    assert_int_equal(n.sizes != NULL, sizes != NULL);
    if (!sizes) return;
    assert_int_equal(n.sizes_length, strlen(sizes));
    assert_memory_equal(n.sizes, sizes, n.sizes_length);
}

TEST(test_names)
{
    expect_name("aten::mm, seq = 12", false, "aten::mm", 12, NULL);
    expect_name("aten::mm, seq = 12, op_id = 7", false, "aten::mm", 12, NULL);
    expect_name("aten::mm, op_id = 7", false, "aten::mm", RS_NO_VALUE, NULL);
    expect_name("aten::mm, seq = 12, op_id = 7, sizes = [[2, 3], [], [3, 4]], input_op_ids = [(3,0), (4,1)]",
                false, "aten::mm", 12, "[[2, 3], [], [3, 4]]");
    expect_name("aten::mm, sizes = [[2, 3]]", false, "aten::mm", RS_NO_VALUE, "[[2, 3]]");
    expect_name("FSDP::forward (a.b), op_id = 3", false, "FSDP::forward (a.b)", RS_NO_VALUE, NULL);
    expect_name("detach_, seq = 5", false, "detach_", 5, NULL);
    /* the same in the middle is part of the name */
    expect_name("a, seq = 1, b, seq = 2", false, "a, seq = 1, b", 2, NULL);
    expect_name("a, seq = 1 and more", false, NULL, 0, NULL);
    expect_name(", seq = 1", true, NULL, 0, NULL);
    expect_name("a, seq = ", true, NULL, 0, NULL);
    expect_name("a, sizes = [[2, 3]", true, NULL, 0, NULL);
    expect_name("a, sizes = [x]", true, NULL, 0, NULL);
    expect_name("a, seq = 99999999999999999999", true, NULL, 0, NULL);
    /* by itself */
    expect_name("aten::mul_", true, "aten::mul_", RS_NO_VALUE, NULL);
    expect_name("aten::mul_", false, NULL, 0, NULL);
    expect_name("torch::autograd::AccumulateGrad", true, "torch::autograd::AccumulateGrad", RS_NO_VALUE,
                NULL);
    static const char *const others[] = {
        "",           "detach_",  "aten::", "::mul",
        "aten:::mul", "aten::2d", "step 1", "autograd::engine::evaluate_function: MulBackward0",
        "a::b c"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) expect_name(others[i], true, NULL, 0, NULL);
}

/* A name with very many fields is read once. */
TEST(test_long_names)
{
    static const char *const parts[] = {", seq = 1", ", sizes = [[", ", sizes = [[1, 2], [3]]", "aten::"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        text t = {0};
        for (size_t i = 0; i < 60000; i++) text_add(&t, parts[k], strlen(parts[k]));
        text_add(&t, "x", 1);
        rs_range_name n = rs_range_name_of(t.s, t.n, true);
        assert_int_equal(n.is_operator, k == 3);
        assert_int_equal(n.length, t.n);
        text_clear(&t);
    }
}

/* ---- operators --------------------------------------------------------------------------------------- */

#define STRINGS                                                                                              \
    "create table StringIds(id integer primary key, value text);"                                            \
    "insert into StringIds values(1,'cudaLaunchKernelExC_v11060'),(2,'ncclDevKernel_SendRecv'),"             \
    "(3,'aten::add_, seq = 3, op_id = 9, sizes = [[4], [4], []]'),(4,'cudaMemcpy'),(5,'cudaMemcpy_v3020'),"  \
    "(6,'NCCL'),(7,'read'),(8,'PyObject_GetAttr'),(9,'/usr/bin/python3.8'),(10,'0x7f75'),(11,'worker');"

TEST(test_operators)
{
    rs_events *e;
    assert_int_equal(
        load_database(STRINGS
                      "create table NVTX_EVENTS(start,\"end\",eventType,text,textId,globalTid,domainId);"
                      "insert into NVTX_EVENTS values(0,NULL,75,'CCCL',NULL," THREAD ",2),"
                      "(1,9,59,NULL,3," THREAD ",0),(2,8,59,'aten::copy_',NULL," THREAD ",NULL),"
                      "(3,7,59,'cub::DeviceScan',NULL," THREAD ",2),(4,6,60,'aten::mm, seq = 4',NULL," THREAD
                      ",0),"
                      "(5,6,59,'Forward',NULL," THREAD ",0),(5,6,59,'x, seq = 7',NULL," THREAD ",2);",
                      &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 6);
    expect_event(e, 0, "cpu_op", "aten::add_", 1, 8);
    expect_int(e, 0, RS_COL_SEQUENCE_NUMBER, 3);
    expect_text(e, 0, RS_COL_INPUT_DIMS, "[[4], [4], []]");
    expect_event(e, 1, "cpu_op", "aten::copy_", 2, 6);
    /* a library's domain; a range that is no thread's */
    expect_event(e, 2, "user_annotation", "cub::DeviceScan", 3, 4);
    expect_event(e, 3, "user_annotation", "aten::mm, seq = 4", 4, 2);
    expect_event(e, 4, "user_annotation", "Forward", 5, 1);
    expect_event(e, 5, "cpu_op", "x", 5, 1);
    rs_events_free(e);
}

/* ---- payloads as bytes ------------------------------------------------------------------------------- */

#define SCHEMAS                                                                                                     \
    "create table NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId,schemaId,idx,flags,type,name,description,"                   \
    "arrayOrUnionDetail,offset);"                                                                                   \
    "insert into NVTX_PAYLOAD_SCHEMA_ENTRIES values(1,101,0,NULL,18,'NCCL communicator ID',NULL,NULL,NULL),"        \
    "(1,101,1,NULL,5,'No. of ranks',NULL,NULL,8),(1,101,2,NULL,5,'Rank',NULL,NULL,12),"                             \
    "(1,102,0,NULL,18,'NCCL communicator ID',NULL,NULL,NULL),(1,102,1,NULL,22,'Message size [bytes]',NULL,NULL,8)," \
    "(1,103,1,NULL,22,'Message size [bytes]',NULL,NULL,900),(1,104,1,NULL,20,'Message size [bytes]',NULL,NULL,0);"
/* domain 1; schema; size; place */
#define HEADER(schema, size) "0100000000000000" schema "00000000000000" size "000000000000002000000000000000"
#define COMM "ffffffffffffffff"

TEST(test_payloads)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            STRINGS SCHEMAS
            "create table NVTX_EVENTS(start,\"end\",eventType,text,textId,globalTid,domainId,binaryData);"
            "insert into NVTX_EVENTS values"
            "(1,2,59,'ncclCommInitRank',NULL," THREAD ",1,x'" HEADER("65", "18") COMM
            "04000000010000000000000000000000'),"
            "(10,20,59,'ncclAllGather',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
            "0010000000000000'),"
            "(30,31,59,'ncclGroupStart',NULL," THREAD ",1,NULL),"
            "(32,33,59,'ncclSend',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
            "0500000000000000'),"
            "(34,35,59,'ncclRecv',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
            "0700000000000000'),"
            "(36,37,59,'ncclSend',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
            "0100000000000000'),"
            "(40,50,59,'ncclGroupEnd',NULL," THREAD ",1,NULL),"
            "(60,70,59,'ncclAlltoAll',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
            "0300000000000000'),"
            /* shorter than it says; beyond its end; a type that is no whole number; no such schema; no header */
            "(80,90,59,'ncclReduce',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
            "'),"
            "(100,110,59,'ncclReduce',NULL," THREAD ",1,x'" HEADER("67", "10") COMM
            "0300000000000000'),"
            "(120,130,59,'ncclReduce',NULL," THREAD ",1,x'" HEADER("68", "10") COMM
            "0300000000000000'),"
            "(140,150,59,'ncclReduce',NULL," THREAD ",1,x'" HEADER("69", "10") COMM
            "0300000000000000'),"
            "(160,170,59,'ncclReduce',NULL," THREAD ",1,x'00');"
            "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(12,14," THREAD ",1,1),(42,44," THREAD ",2,1),"
            "(62,64," THREAD ",3,1),(82,84," THREAD ",4,1),(102,104," THREAD ",5,1),(122,124," THREAD ",6,1),"
            "(142,144," THREAD ",7,1),(162,164," THREAD ",8,1);"
            "create table CUPTI_ACTIVITY_KIND_KERNEL(start,\"end\",deviceId,streamId,correlationId,globalPid,"
            "demangledName);"
            "insert into CUPTI_ACTIVITY_KIND_KERNEL values(200,210,0,9,1,5<<24,2),(220,230,0,9,2,5<<24,2),"
            "(240,250,0,9,3,5<<24,2),(260,270,0,9,4,5<<24,2),(280,290,0,9,5,5<<24,2),(300,310,0,9,6,5<<24,2),"
            "(320,330,0,9,7,5<<24,2),(340,350,0,9,8,5<<24,2);",
            &e, NULL),
        RS_OK);
    size_t first = 21;
    assert_int_equal(e->n, first + 8);
    expect_text(e, first, RS_COL_COLLECTIVE, "allgather");
    expect_text(e, first, RS_COL_GROUP_NAME, "18446744073709551615");
    expect_int(e, first, RS_COL_GROUP_SIZE, 4);
    expect_int(e, first, RS_COL_IN_NELEMS, 4096);
    expect_int(e, first, RS_COL_OUT_NELEMS, 4 * 4096);
    expect_text(e, first + 1, RS_COL_COLLECTIVE, "sendrecv");
    expect_int(e, first + 1, RS_COL_IN_NELEMS, 6);
    expect_int(e, first + 1, RS_COL_OUT_NELEMS, 7);
    expect_text(e, first + 2, RS_COL_COLLECTIVE, "alltoall");
    expect_int(e, first + 2, RS_COL_IN_NELEMS, 12);
    expect_int(e, first + 2, RS_COL_OUT_NELEMS, 12);
    for (size_t i = 3; i < 8; i++) {
        expect_text(e, first + i, RS_COL_COLLECTIVE, "reduce");
        expect_int(e, first + i, RS_COL_IN_NELEMS, RS_NO_VALUE);
    }
    rs_events_free(e);
}

/* ---- calls around calls ------------------------------------------------------------------------------ */

#define CALLS "create table CUPTI_ACTIVITY_KIND_RUNTIME(start,\"end\",globalTid,correlationId,nameId);"

TEST(test_nested_calls)
{
    rs_events *e;
    assert_int_equal(load_database(STRINGS CALLS
                                   "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20," THREAD ",1,4),"
                                   "(11,19," THREAD ",1,5),(31,39," THREAD ",2,5),(30,40," THREAD ",2,4),"
                                   /* another thread, another process, one after it, no id at all */
                                   "(10,20,(5<<24)|8,1,4),(12,13,(6<<24)|7,1,4),(50,60," THREAD ",1,4),"
                                   "(51,52," THREAD ",NULL,4),(53,54," THREAD ",NULL,4);",
                                   &e, NULL),
                     RS_OK);
    assert_int_equal(e->n, 7);
    expect_event(e, 0, "cuda_runtime", "cudaMemcpy", 10, 10);
    expect_event(e, 1, "cuda_runtime", "cudaMemcpy", 30, 10);
    expect_event(e, 2, "cuda_runtime", "cudaMemcpy", 10, 10);
    assert_int_equal(e->threads[e->thread[2]].tid, 8);
    expect_event(e, 3, "cuda_runtime", "cudaMemcpy", 12, 1);
    expect_event(e, 4, "cuda_runtime", "cudaMemcpy", 50, 10);
    rs_events_free(e);
}

/* Two calls of one number on a thread: one where one is within the other, the outer one, and else two. */
TEST(test_calls_of_one_number)
{
    for (int64_t start = 8; start < 24; start++)
        for (int64_t end = start + 1; end < 25; end += 3) {
            char sql[800];
            rs_events *e;
            const bool within = start >= 10 && end <= 20, around = start <= 10 && end >= 20;
            snprintf(sql, sizeof sql,
                     STRINGS CALLS "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20," THREAD
                                   ",1,4),(%lld,%lld," THREAD ",1,5);",
                     (long long)start, (long long)end);
            assert_int_equal(load_database(sql, &e, NULL), RS_OK);
            assert_int_equal(e->n, within || around ? 1 : 2);
            assert_int_equal(e->start[0], around && !within ? start : 10);
            assert_int_equal(e->duration[0], around && !within ? end - start : 10);
            if (e->n == 2) assert_true(e->start[1] == start && e->duration[1] == end - start);
            rs_events_free(e);
        }
}

/* ---- the host, and counters -------------------------------------------------------------------------- */

static void expect_sample(const rs_events *e, uint32_t row, double wanted)
{
    assert_int_equal(e->phase[row], 'C');
    assert_int_equal(e->n_counters, 1);
    const rs_sparse *c = &e->counters[0].values;
    size_t at = rs_sparse_near(c, 0, row);
    assert_true(at < c->n && c->rows[at] == row);
    assert_true(c->reals[at] == wanted);
}

TEST(test_host)
{
    rs_events *e;
    assert_int_equal(
        load_database(
            STRINGS CALLS
            "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20," THREAD ",1,4);"
            "create table ThreadNames(nameId,globalTid); insert into ThreadNames values(11," THREAD
            "),(11,9<<24);"
            "create table OSRT_API(start,\"end\",globalTid,nameId);"
            "insert into OSRT_API values(30,40," THREAD ",7),(31,32,(9<<24)|1,7);"
            "create table SCHED_EVENTS(start,cpu,isSchedIn,globalTid);"
            "insert into SCHED_EVENTS values(60,0,1," THREAD "),(50,0,0," THREAD "),(70,0,0," THREAD "),"
            "(55,1,1,(5<<24)|8),(80,0,0," THREAD "),(90,2,1," THREAD "),(1,2,1,(9<<24)|3);"
            "create table SAMPLING_CALLCHAINS(id,symbol,module,stackDepth);"
            "insert into SAMPLING_CALLCHAINS values(1,8,9,0),(1,7,9,1),(2,10,9,0),(3,NULL,NULL,0);"
            "create table COMPOSITE_EVENTS(id,start,globalTid);"
            "insert into COMPOSITE_EVENTS values(1,12," THREAD "),(2,13," THREAD "),(3,14," THREAD ");"
            "create table TARGET_INFO_GPU(id,name,cuDevice); insert into TARGET_INFO_GPU values(3,'H100',0);"
            "create table TARGET_INFO_GPU_METRICS(typeId,metricId,metricName);"
            "insert into TARGET_INFO_GPU_METRICS values(65539,1,'SM Active'),(65539,0,'GR Active');"
            "create table GPU_METRICS(timestamp,typeId,metricId,value);"
            "insert into GPU_METRICS values(100,65539,1,40),(100,65539,0,90),(200,65539,1,NULL),(300,65539,7,1);",
            &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 1 + 1 + 1 + 2 + 3 + 2);
    assert_int_equal(e->phase[1], 'M');
    expect_text(e, 1, RS_COL_META_NAME, "worker");
    expect_event(e, 2, "os_call", "read", 30, 10);
    expect_event(e, 3, "off_cpu", "off CPU", 50, 10);
    expect_event(e, 4, "off_cpu", "off CPU", 80, 10);
    expect_event(e, 5, "cpu_sample", "PyObject_GetAttr (python3.8)", 12, 0);
    expect_event(e, 6, "cpu_sample", "(python3.8)", 13, 0);
    expect_event(e, 7, "cpu_sample", "sample", 14, 0);
    expect_event(e, 8, "gpu_metric", "SM Active", 100, RS_NO_TIME);
    expect_int(e, 8, RS_COL_DEVICE, 0);
    assert_int_equal(e->threads[e->thread[8]].pid, 5);
    expect_sample(e, 8, 40);
    expect_event(e, 9, "gpu_metric", "GR Active", 100, RS_NO_TIME);
    expect_sample(e, 9, 90);
    rs_events_free(e);
}

/* Whose a GPU is: of several processes only one that the file names. */
TEST(test_counters_of_processes)
{
    rs_events *e;
    assert_int_equal(
        load_database(STRINGS CALLS
                      "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20," THREAD
                      ",1,4),(10,20,(6<<24)|7,1,4);"
                      "create table TARGET_INFO_CUDA_DEVICE(gpuId,cudaId,pid);"
                      "insert into TARGET_INFO_CUDA_DEVICE values(1,0,6),(2,0,7);"
                      "create table TARGET_INFO_GPU_METRICS(typeId,metricId,metricName);"
                      "insert into TARGET_INFO_GPU_METRICS values(1,1,'SM Active'),(2,1,'SM Active');"
                      "create table GPU_METRICS(timestamp,typeId,metricId,value);"
                      "insert into GPU_METRICS values(100,1,1,40),(100,2,1,50);",
                      &e, NULL),
        RS_OK);
    assert_int_equal(e->n, 3);
    assert_int_equal(e->threads[e->thread[2]].pid, 6);
    expect_int(e, 2, RS_COL_DEVICE, 0);
    expect_sample(e, 2, 40);
    rs_events_free(e);
}

/* ---- packed ------------------------------------------------------------------------------------------ */

static rs_status load_packed(const text *packed, rs_events **out, rs_error *err)
{
    return load_native(packed->s, packed->n, "x.sqlite.gz", out, err);
}

TEST(test_packed)
{
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    image db =
        database(STRINGS CALLS "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20," THREAD ",1,4);");
    text packed = gzip_pack(db.bytes, (size_t)db.n, 6);
    assert_int_equal(load_packed(&packed, &e, NULL), RS_OK);
    assert_int_equal(e->n, 1);
    assert_string_equal(e->packing, "gzip");
    assert_int_equal(e->n_bytes, db.n);
    rs_events_free(e);
    /* every prefix: an error, or what is there with a loss that is reported */
    for (size_t n = 20; n < packed.n; n += RS_TEST_SLOW ? 97 : 13) {
        text cut = {.s = packed.s, .n = n};
        if (load_packed(&cut, &e, &err) != RS_OK) continue;
        assert_true(problem_count(e, "packing_truncated") + problem_count(e, "packing_corrupt") > 0);
        rs_events_free(e);
    }
    text_clear(&packed);
    sqlite3_free(db.bytes);
}

/* ---- every prefix ------------------------------------------------------------------------------------ */

TEST(test_cut)
{
    rs_events *e;
    image db = database(
        STRINGS SCHEMAS CALLS
        "create table NVTX_EVENTS(start,\"end\",eventType,text,textId,globalTid,domainId,binaryData);"
        "insert into NVTX_EVENTS values(1,2,59,'ncclAllGather',NULL," THREAD ",1,x'" HEADER("66", "10") COMM
        "0010000000000000');"
        "insert into CUPTI_ACTIVITY_KIND_RUNTIME values(10,20," THREAD ",1,4);"
        "create table SCHED_EVENTS(start,cpu,isSchedIn,globalTid);"
        "insert into SCHED_EVENTS values(60,0,1," THREAD ");");
    for (size_t n = 16; n < (size_t)db.n; n += 61)
        if (load_native((const char *)db.bytes, n, "x.sqlite", &e, NULL) == RS_OK) rs_events_free(e);
    sqlite3_free(db.bytes);
}
