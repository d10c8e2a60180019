/* rocprofv3 JSON and CSV: what their records become, and files that lie. */
#include "native.h"
#include "rankscope/job.h"

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

TEST(test_json)
{
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

/* Kernels with counters come first, and again in the list of kernels; parts of the device add up. */
#define DISPATCH(id, kernel, from, to)                                                                       \
    "\"correlation_id\":{\"internal\":" #id "},\"start_timestamp\":" #from ",\"end_timestamp\":" #to         \
    ",\"dispatch_info\":{\"dispatch_id\":" #id ",\"kernel_id\":" #kernel "}"
#define VALUE(handle, value) "{\"counter_id\":{\"more\":[1],\"handle\":" #handle "},\"value\":" #value "}"
#define COUNTED(which, values) "{\"dispatch_data\":{" which "},\"records\":[" values "],\"x\":[]}"
static const char counted_json[] =
    "{\"rocprofiler-sdk-tool\":[{\"counters\":[{\"id\":{\"handle\":5},\"name\":\"SQ_WAVES\"},"
    "{\"id\":{\"handle\":6},\"name\":\"MfmaUtil\"},{\"id\":7}],"
    "\"kernel_symbols\":[{\"kernel_id\":1,\"kernel_name\":\"add\"},{\"kernel_id\":2,\"kernel_name\":\"gemm\"}],"
    "\"callback_records\":{\"counter_collection\":[" COUNTED(
        DISPATCH(2, 2, 5000, 9000),
        VALUE(5, 32) "," VALUE(6, 62.5) "," VALUE(5, 8) "," VALUE(
            99, 1)) ","
                    "{\"records\":[" VALUE(5, 3) "]}," COUNTED(
                        DISPATCH(1, 1, 1000, 2000),
                        VALUE(5, 16)) "]},"
                                      "\"buffer_records\":{\"kernel_dispatch\":[{" DISPATCH(
                                          1, 1, 1000, 2000) "},"
                                                            "{" DISPATCH(3, 1, 9500, 9600) "}]}}]}";

static double counted(const rs_events *e, const char *name, uint32_t row)
{
    for (size_t k = 0; k < e->n_counters; k++)
        for (size_t i = 0; i < e->counters[k].values.n; i++)
            if (strcmp(text_at(e, e->counters[k].name), name) == 0 && e->counters[k].values.rows[i] == row)
                return e->counters[k].values.reals[i];
    return -1;
}

TEST(test_json_counters)
{
    rs_events *e;
    assert_int_equal(load_native(counted_json, sizeof counted_json - 1, "9_results.json", &e, NULL), RS_OK);
    assert_int_equal(e->n, 3);
    expect_event(e, 0, "kernel", "gemm", 5000, 4000);
    expect_event(e, 1, "kernel", "add", 1000, 1000);
    expect_event(e, 2, "kernel", "add", 9500, 100);
    assert_int_equal(e->n_counters, 2);
    assert_true(counted(e, "SQ_WAVES", 0) == 40 && counted(e, "MfmaUtil", 0) == 62.5);
    assert_true(counted(e, "SQ_WAVES", 1) == 16 && counted(e, "MfmaUtil", 1) == -1);
    assert_true(counted(e, "SQ_WAVES", 2) == -1);
    rs_events_free(e);
    for (size_t n = 30; n < sizeof counted_json - 1; n++) { /* cut anywhere */
        if (rs_format_of_text((const uint8_t *)counted_json, n) != &rs_format_rocprof_json) continue;
        assert_int_equal(load_native(counted_json, n, "x.json", &e, NULL), RS_OK);
        assert_true(e->truncated);
        rs_events_free(e);
    }
}

/* Cut anywhere: the records before the cut, and a loss that is told. */
TEST(test_json_cut)
{
    for (size_t n = 30; n < sizeof json - 1; n++) {
        rs_events *e;
        if (rs_format_of_text((const uint8_t *)json, n) != &rs_format_rocprof_json) continue;
        assert_int_equal(load_native(json, n, "x.json", &e, NULL), RS_OK);
        assert_true(e->truncated);
        assert_true(problem_count(e, "truncated") + problem_count(e, "bad_json") == 1);
        rs_events_free(e);
    }
}

/* A launch and its kernel are linked: launches and queue work on what rocprofv3 recorded of the API. */
TEST(test_json_linked)
{
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

TEST(test_csv)
{
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

/* ---- which format ----------------------------------------------------------------------------------- */

static const rs_format *format_of(const char *s)
{
    return rs_format_of_text((const uint8_t *)s, strlen(s));
}

TEST(test_formats)
{
    assert_ptr_equal(format_of("{\"traceEvents\":[]}"), &rs_format_kineto);
    assert_ptr_equal(format_of("\n { \"rocprofiler-sdk-tool\":[]}"), &rs_format_rocprof_json);
    assert_ptr_equal(format_of("Start_Timestamp,End_Timestamp\n"), &rs_format_rocprof_csv);
    assert_ptr_equal(format_of("a,b\nStart_Timestamp,End_Timestamp\n"), &rs_format_kineto);
    assert_ptr_equal(format_of("[\"Start_Timestamp\",\"End_Timestamp\"]"), &rs_format_kineto);
    assert_ptr_equal(format_of(""), &rs_format_kineto);
    assert_ptr_equal(format_of("\x80\x04}"), &rs_format_torch_snapshot);
    assert_ptr_equal(format_of("\x80\x06}"), &rs_format_kineto);
    assert_non_null(rs_format_of_text((const uint8_t *)"SQLite format 3", 16)->database_read);
}

/* What each row of the registry owes to those who read it. */
TEST(test_format_rows)
{
    size_t n = 0, otherwise = 0;
    for (const rs_format *const *row = rs_format_rows; *row; row++, n++) {
        const rs_format *f = *row;
        assert_true(f->name && f->title);
        otherwise += !f->sniff;
        assert_true(!f->load != !f->database_read);
        assert_true(!f->database_read == !f->database_is && !f->database_read == !f->database_mark);
        assert_true(!f->elsewhere ==
                    (f->records == RS_RECORDS_EVENTS)); /* named in the message of who cannot use it */
        assert_true(!f->run_open == !f->run_add && !f->run_open == !f->run_close);
        for (size_t i = 0; i < n; i++) assert_string_not_equal(f->name, rs_format_rows[i]->name);
    }
    assert_true(n >= 10); /* packs add rows */
    assert_int_equal(otherwise, 1);
    assert_ptr_equal(rs_run_name_of("a/1_kernel_trace.csv.gz").format, &rs_format_rocprof_csv);
    assert_ptr_equal(rs_run_name_of("a/1_results.json").format, &rs_format_rocprof_json);
    assert_ptr_equal(rs_run_name_of("a/1_results.db").format, &rs_format_rocpd);
    assert_null(rs_run_name_of("a/rank0.json").format);
}
