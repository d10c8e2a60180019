/* rocprofv3 JSON, CSV and rocpd, Nsight Systems: what their records become, and files that lie. */
#include "support.h"

#include <sqlite3.h>
#include <unistd.h>

#include "rankscope/job.h"
#include "trace/native.h"

static rs_status load_native(const char *s, size_t n, const char *name, rs_events **out, rs_error *err)
{
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    guarded g = guarded_copy(s, n);
    assert_int_equal(rs_source_open_bytes(g.bytes, g.n, name, 0, &source, NULL), RS_OK);
    rs_status status = rs_trace_load(name, g.bytes, g.n, source, &settings, out, err);
    rs_source_close(source);
    guarded_free(&g);
    return status;
}

static void expect_event(const rs_events *e, size_t row, const char *category, const char *name,
                         int64_t start, int64_t duration)
{
    assert_true(row < e->n);
    assert_string_equal(e->strings.items[e->categories[e->category[row]].name].text, category);
    assert_string_equal(rs_event_name(e, row), name);
    assert_int_equal(e->start[row], start);
    assert_int_equal(e->duration[row], duration);
}

static void expect_int(const rs_events *e, size_t row, rs_column_id column, int64_t wanted)
{
    int64_t v = RS_NO_VALUE;
    rs_events_int(e, column, (uint32_t)row, &v);
    assert_int_equal(v, wanted);
}

static void expect_text(const rs_events *e, size_t row, rs_column_id column, const char *wanted)
{
    uint32_t id = rs_events_text(e, column, (uint32_t)row);
    assert_true(id != RS_NO_STRING);
    assert_string_equal(e->strings.items[id].text, wanted);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static const char json[] =
    " {\"rocprofiler-sdk-tool\" : [{\"metadata\":{\"pid\":908,\"node\":{\"hostname\":\"h\"}},"
    "\"agents\":[{\"id\":{\"handle\":1},\"type\":1,\"logical_node_type_id\":0},"
    "{\"id\":{\"handle\":77},\"type\":2,\"name\":\"gfx950\",\"product_name\":\"MI\",\"logical_node_type_id\":"
    "3}],"
    "\"strings\":{\"callback_records\":[{\"kind\":\"X\",\"operations\":[\"wrong\"]}],"
    "\"buffer_records\":[{\"kind\":\"HIP\",\"operations\":[\"zero\",\"hipLaunchKernel\"]},"
    "{\"kind\":\"MEMORY_COPY\",\"operations\":[\"MEMORY_COPY_HOST_TO_DEVICE\"]}],"
    "\"marker_api\":[{\"key\":5,\"value\":\"ProfilerStep#3\"}]},"
    "\"kernel_symbols\":[{\"kernel_id\":8,\"kernel_name\":\"_Z1f.kd\",\"formatted_kernel_name\":"
    "\"f\\u0028\\\"x\\\")\","
    "\"arch_vgpr_count\":32}],"
    "\"callback_records\":{\"counter_collection\":[{\"a\":[1,2]}]},"
    "\"buffer_records\":{\"kernel_dispatch\":["
    "{\"kind\":11,\"thread_id\":9,\"correlation_id\":{\"internal\":1,\"external\":0},\"start_timestamp\":"
    "2000,"
    "\"end_timestamp\":3000,\"dispatch_info\":{\"agent_id\":{\"handle\":77},\"queue_id\":{\"handle\":16},"
    "\"kernel_id\":8,\"group_segment_size\":64,\"workgroup_size\":{\"x\":256,\"y\":1,\"z\":1},\"grid_size\":"
    "{\"x\":1000,\"y\":2,\"z\":1}},\"stream_id\":{\"handle\":4}},"
    "{\"correlation_id\":2,\"start_timestamp\":1500,\"end_timestamp\":1400,\"dispatch_info\":{\"kernel_id\":"
    "9}},"
    "{\"correlation_id\":3,\"start_timestamp\":0,\"end_timestamp\":0,\"dispatch_info\":{\"kernel_id\":8}}],"
    "\"hip_api\":[{\"kind\":0,\"operation\":1,\"thread_id\":9,\"correlation_id\":{\"internal\":1},"
    "\"start_timestamp\":1000,\"end_timestamp\":1200}],"
    "\"marker_api\":[{\"kind\":0,\"operation\":0,\"thread_id\":9,\"correlation_id\":{\"internal\":5},"
    "\"start_timestamp\":900,\"end_timestamp\":4000}],"
    "\"memory_copy\":[{\"kind\":1,\"operation\":0,\"thread_id\":9,\"correlation_id\":{\"internal\":7},"
    "\"start_timestamp\":5000,\"end_timestamp\":6000,\"src_agent_id\":{\"handle\":1},\"dst_agent_id\":"
    "{\"handle\":77},\"bytes\":4096}],\"new_list\":[1,2]}}]}";

static void test_json(void **state)
{
    (void)state;
    rs_events *e;
    assert_int_equal(load_native(json, sizeof json - 1, "908_results.json", &e, NULL), RS_OK);
    assert_int_equal(e->n, 5);
    expect_event(e, 0, "kernel", "f(\"x\")", 2000, 1000);
    expect_int(e, 0, RS_COL_DEVICE, 3);
    expect_int(e, 0, RS_COL_STREAM, 4);
    expect_int(e, 0, RS_COL_CORRELATION, 1);
    expect_int(e, 0, RS_COL_REGISTERS, 32);
    expect_text(e, 0, RS_COL_GRID, "[4, 2, 1]"); /* work-items by work-group, rounded up */
    expect_text(e, 0, RS_COL_BLOCK, "[256, 1, 1]");
    expect_event(e, 1, "kernel", "kernel 9", 1500, 0);
    expect_event(e, 2, "hip_runtime", "hipLaunchKernel", 1000, 200);
    expect_event(e, 3, "user_annotation", "ProfilerStep#3", 900, 3100);
    expect_event(e, 4, "gpu_memcpy", "MEMORY_COPY_HOST_TO_DEVICE", 5000, 1000);
    expect_int(e, 4, RS_COL_BYTES, 4096);
    expect_int(e, 4, RS_COL_DEVICE, 3);
    assert_int_equal(problem_count(e, "no_time"), 1);
    assert_int_equal(problem_count(e, "negative_duration"), 1);
    assert_int_equal(problem_count(e, "unnamed_kernel"), 1);
    assert_int_equal(e->info.n_devices, 1);
    assert_false(e->truncated);
    rs_events_free(e);
}

/* Cut anywhere: the records before the cut, and a loss that is told. */
static void test_json_cut(void **state)
{
    (void)state;
    for (size_t n = 30; n < sizeof json - 1; n++) {
        rs_events *e;
        if (rs_trace_format_of((const uint8_t *)json, n) != RS_TRACE_ROCPROF_JSON) continue;
        assert_int_equal(load_native(json, n, "x.json", &e, NULL), RS_OK);
        assert_true(e->truncated);
        assert_true(problem_count(e, "truncated") + problem_count(e, "bad_json") == 1);
        rs_events_free(e);
    }
}

/* A launch and its kernel are linked: launches and queue work on what rocprofv3 recorded of the API. */
static void test_json_linked(void **state)
{
    (void)state;
    rs_job *job;
    rs_result result = {0};
    assert_int_equal(rs_job_open_bytes(json, sizeof json - 1, "x.json", NULL, &job, NULL), RS_OK);
    assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &result, NULL),
                     RS_OK);
    assert_int_equal(rs_table_n_rows(result.tables[0]), 1);
    const rs_table_spec *spec = rs_table_get_spec(result.tables[0]);
    for (size_t c = 0; c < spec->n_columns; c++) {
        if (strcmp(spec->columns[c].name, "gpu_events") == 0)
            assert_int_equal(rs_table_int(result.tables[0], 0, c), 3);
        /* the copy's and the nameless kernel's launches are not in the file, the kernel's is */
        if (strcmp(spec->columns[c].name, "unlinked") == 0)
            assert_int_equal(rs_table_int(result.tables[0], 0, c), 2);
    }
    rs_result_clear(&result);
    rs_job_close(job);
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void test_csv(void **state)
{
    (void)state;
    static const char csv[] =
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_"
        "Timestamp\","
        "\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\","
        "\"Grid_Size_Z\"\r\n"
        "\"KERNEL_DISPATCH\",\"Agent 2\",5,\"f<int, \"x\", \"y\",3>(a, b)\",1,10,30,64,1,1,65,1,1\r\n"
        "\n"
        "\"KERNEL_DISPATCH\",\"2\",5,\"open,1,10,30\n"
        "\"KERNEL_DISPATCH\",2,5,\"g\",2,40,45,64,1,1,64,1,1";
    rs_events *e;
    assert_int_equal(load_native(csv, sizeof csv - 1, "908_kernel_trace.csv", &e, NULL), RS_OK);
    assert_int_equal(e->n, 2);
    expect_event(e, 0, "kernel", "f<int, \"x\", \"y\",3>(a, b)", 10, 20);
    expect_int(e, 0, RS_COL_DEVICE, 2);
    expect_int(e, 0, RS_COL_STREAM, 5);
    expect_text(e, 0, RS_COL_GRID, "[2, 1, 1]");
    assert_int_equal(e->threads[e->thread[0]].pid, 908);
    expect_event(e, 1, "kernel", "g", 40, 5);
    assert_int_equal(problem_count(e, "bad_row"), 1);
    rs_events_free(e);
    static const char copies[] =
        "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,"
        "End_Timestamp\nMEMORY_COPY,MEMORY_COPY_DEVICE_TO_HOST,Agent 4,Agent 0,3,7,9\n";
    assert_int_equal(load_native(copies, sizeof copies - 1, "1_memory_copy_trace.csv", &e, NULL), RS_OK);
    expect_event(e, 0, "gpu_memcpy", "MEMORY_COPY_DEVICE_TO_HOST", 7, 2);
    expect_int(e, 0, RS_COL_DEVICE, 4);
    rs_events_free(e);
    static const char calls[] =
        "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
        "HIP_RUNTIME_API,hipLaunchKernel,8,9,3,1,2\nMARKER_CORE_API,my range,8,9,4,1,6\n";
    assert_int_equal(load_native(calls, sizeof calls - 1, "1_hip_api_trace.csv", &e, NULL), RS_OK);
    expect_event(e, 0, "hip_runtime", "hipLaunchKernel", 1, 1);
    expect_event(e, 1, "user_annotation", "my range", 1, 5);
    assert_int_equal(e->threads[e->thread[0]].pid, 8);
    rs_events_free(e);
}

/* ---- databases -------------------------------------------------------------------------------------- */

typedef struct image {
    unsigned char *bytes;
    sqlite3_int64 n;
} image;

static image database(const char *sql)
{
    sqlite3 *db;
    image out;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
    out.bytes = sqlite3_serialize(db, "main", &out.n, 0);
    assert_non_null(out.bytes);
    sqlite3_close(db);
    return out;
}

static rs_status load_database(const char *sql, rs_events **out, rs_error *err)
{
    image db = database(sql);
    rs_status status = load_native((const char *)db.bytes, (size_t)db.n, "x.db", out, err);
    sqlite3_free(db.bytes);
    return status;
}

#define ROCPD_KERNELS                                                                                        \
    "create table k(guid, name, start, \"end\", pid, tid, agent_type_index, stream_id, queue_id, stack_id, " \
    "grid_x,"                                                                                                \
    "grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z, lds_size);"                                      \
    "insert into k values('g', 'gemm', 2000, 3000, 9, 10, 1, 4, 2, 77, 1000, 1, 1, 256, 1, 1, 512);"         \
    "create view kernels as select * from k;"

static void test_rocpd(void **state)
{
    (void)state;
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
    assert_int_equal(problem_count(e, "hidden_dispatches"), 1);
    rs_events_free(e);
}

static void test_nsys(void **state)
{
    (void)state;
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
    expect_event(e, 0, "cuda_runtime", "cudaLaunchKernel", 10, 10);
    assert_int_equal(e->threads[e->thread[0]].pid, 5);
    assert_int_equal(e->threads[e->thread[0]].tid, 7);
    expect_event(e, 1, "cuda_driver", "cuMemcpy", 21, 1);
    expect_event(e, 2, "kernel", "gemm<float>", 30, 60);
    expect_text(e, 2, RS_COL_GRID, "[4, 1, 1]");
    expect_int(e, 2, RS_COL_SHARED_MEMORY, 48);
    expect_event(e, 3, "gpu_memcpy", "Memcpy HtoD", 40, 10);
    expect_event(e, 4, "gpu_memset", "Memset", 60, 1);
    expect_event(e, 5, "user_annotation", "step 1", 5, 95);
    expect_event(e, 6, "user_annotation", "own text", 6, 84);
    expect_event(e, 7, "user_annotation", "open", 7, 0);
    rs_events_free(e);
}

/* Wrong types, views that never end, columns that are missing, blobs for names: an error or an honest result.
 */
static void test_hostile_databases(void **state)
{
    (void)state;
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

/* ---- which format ----------------------------------------------------------------------------------- */

static rs_trace_format format_of(const char *s)
{
    return rs_trace_format_of((const uint8_t *)s, strlen(s));
}

static void test_formats(void **state)
{
    (void)state;
    assert_int_equal(format_of("{\"traceEvents\":[]}"), RS_TRACE_KINETO);
    assert_int_equal(format_of("\n { \"rocprofiler-sdk-tool\":[]}"), RS_TRACE_ROCPROF_JSON);
    assert_int_equal(format_of("Start_Timestamp,End_Timestamp\n"), RS_TRACE_ROCPROF_CSV);
    assert_int_equal(format_of("a,b\nStart_Timestamp,End_Timestamp\n"), RS_TRACE_KINETO);
    assert_int_equal(format_of("[\"Start_Timestamp\",\"End_Timestamp\"]"), RS_TRACE_KINETO);
    assert_int_equal(format_of(""), RS_TRACE_KINETO);
    assert_int_equal(rs_trace_format_of((const uint8_t *)"SQLite format 3", 16), RS_TRACE_SQLITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_cut),
        cmocka_unit_test(test_json_linked),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_rocpd),
        cmocka_unit_test(test_nsys),
        cmocka_unit_test(test_hostile_databases),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
