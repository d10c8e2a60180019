/* The forms of a trace that are read without a complaint. */
#include "support.h"

#include "trace/facet.h"

#define EVENT(name, ts)                                                                                      \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":1,\"tid\":7,\"ts\":" #ts ",\"dur\":2}"

/* Three events "a", "b", "c" at 1, 2 and 3 us, whatever the form. */
static void check_three(const char *s)
{
    rs_events *e = load_text(s);
    if (e->n != 3 || problem_total(e) || e->truncated) fail_msg("%zu events from %s", e->n, s);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rs_event_name(e, i)[0], 'a' + (int)i);
        assert_int_equal(e->start[i], 1000 * (int64_t)(i + 1));
        assert_int_equal(e->duration[i], 2000);
        assert_int_equal(e->phase[i], 'X');
        assert_int_equal(rs_event_kind(e, i), RS_KIND_KERNEL);
        assert_int_equal(e->threads[e->thread[i]].tid, 7);
    }
    rs_events_free(e);
}

TEST(test_forms)
{
    static const char *const forms[] = {
        "[" EVENT("a", 1) "," EVENT("b", 2) "," EVENT("c", 3) "]",
        "{\"traceEvents\":[" EVENT("a", 1) "," EVENT("b", 2) "," EVENT("c", 3) "]}",
        " \n\t{ \"traceEvents\" : [ " EVENT("a", 1) " ,\r\n " EVENT("b", 2) "\n,\n" EVENT("c", 3) " ] } \n",
        /* lines, with and without line ends of other systems, or none at all */
        EVENT("a", 1) "\n" EVENT("b", 2) "\n" EVENT("c", 3) "\n",
        EVENT("a", 1) "\r\n" EVENT("b", 2) "\r\n" EVENT("c", 3),
        EVENT("a", 1) EVENT("b", 2) EVENT("c", 3),
        /* documents after each other */
        "[" EVENT("a", 1) "]\n[" EVENT("b", 2) "," EVENT("c", 3) "]",
        "{\"traceEvents\":[" EVENT("a", 1) "]}{\"traceEvents\":[" EVENT("b", 2) "," EVENT("c", 3) "]}",
        "{\"traceEvents\":[]}[" EVENT("a", 1) "]" EVENT("b", 2) "{\"traceEvents\":[" EVENT("c", 3) "]}",
        /* keys before and behind, the array in two parts */
        "{\"x\":{\"traceEvents\":[1]},\"y\":[[]],\"traceEvents\":[" EVENT("a", 1) "," EVENT("b", 2) "," EVENT(
            "c", 3) "],\"z\":null,\"w\":\"]}\"}",
        "{\"traceEvents\":[" EVENT("a", 1) "],\"x\":1,\"traceEvents\":[" EVENT("b", 2) "," EVENT("c", 3) "]}",
        /* what writers leave behind */
        "[" EVENT("a", 1) "," EVENT("b", 2) "," EVENT("c", 3) ",]",
        "[" EVENT("a", 1) "," EVENT("b", 2) "," EVENT("c", 3) ",\n]",
        /* members in any order, unknown and double ones */
        "[{\"dur\":2,\"ts\":1,\"tid\":7,\"pid\":1,\"name\":\"a\",\"cat\":\"kernel\",\"ph\":\"X\"},"
        "{\"ph\":\"i\",\"ph\":\"X\",\"cat\":\"x\",\"cat\":\"kernel\",\"name\":\"q\",\"name\":\"b\",\"pid\":9,"
        "\"pid\":1,"
        "\"tid\":8,\"tid\":7,\"ts\":99,\"ts\":2,\"dur\":9,\"dur\":2},"
        "{\"s\":{\"a\":[{\"ph\":\"M\"}]},\"ph\":\"X\",\"u\":null,\"cat\":\"kernel\",\"v\":true,\"name\":"
        "\"c\",\"pid\":1,"
        "\"w\":-1.5e3,\"tid\":7,\"ts\":3,\"x\":\"}\",\"dur\":2,\"y\":[]}]",
        /* numbers as strings */
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":1,\"tid\":7,\"ts\":\"1\",\"dur\":\"2.0\"},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":1,\"tid\":7,\"ts\":\"2.000\",\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"pid\":1,\"tid\":7,\"ts\":0.3e1,\"dur\":20e-1}]",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) check_three(forms[i]);
}

TEST(test_begin_end)
{
    rs_events *e = load_text("[{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1},"
                             "{\"ph\":\"B\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":2},"
                             "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":3},"
                             "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
                             "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":8.5},"
                             "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":11},"
                             "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":12},"
                             "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":13}]");
    static const struct {
        char phase;
        int64_t duration;
    } rows[] = {{'X', 10000},      {'X', 6500},       {'X', 2000},       {'E', RS_NO_TIME},
                {'E', RS_NO_TIME}, {'E', RS_NO_TIME}, {'E', RS_NO_TIME}, {'B', RS_NO_TIME}};
    assert_int_equal(e->n, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(e->phase[i], rows[i].phase);
        assert_true(e->duration[i] == rows[i].duration);
    }
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
}

/* torch.autograd's EventList.export_chrome_trace: the process is the only word on what its events are. Arrows and
 * events of other processes, or with a category, stay what they are, and so do those of an object. */
TEST(test_function_events)
{
    static const char *const forms[] = {"[%s]", "{\"traceEvents\": [%s]}"};
    for (size_t form = 0; form < 2; form++) {
        char whole[1000];
        snprintf(
            whole, sizeof whole, forms[form],
            "{\"name\": \"aten::add\", \"ph\": \"X\", \"ts\": 1.5, \"dur\": 2.0, \"tid\": 1, \"pid\": \"CPU "
            "functions\", \"args\": {}}, "
            "{\"name\": \"aten::add\", \"ph\": \"s\", \"ts\": 1.5, \"tid\": 1, \"pid\": \"CPU functions\", "
            "\"id\": 0, \"args\": {}}, "
            "{\"name\": \"b\", \"ph\": \"X\", \"ts\": 1.5, \"dur\": 2.0, \"tid\": 1, \"pid\": \"CPU\"}, "
            "{\"name\": \"c\", \"ph\": \"X\", \"ts\": 1.5, \"dur\": 2.0, \"tid\": 1, \"pid\": \"CPU "
            "functions\", \"cat\": \"python_function\"}");
        rs_events *e = load_text(whole);
        assert_int_equal(e->n, 4);
        assert_true(rs_event_kind(e, 0) == (form ? RS_KIND_OTHER : RS_KIND_CPU_OP));
        for (uint32_t i = 1; i < 3; i++) assert_int_equal(e->category[i], 0);
        assert_int_equal(rs_event_kind(e, 3), RS_KIND_PYTHON_FUNCTION);
        rs_events_free(e);
    }
}

/* Ascend's trace_view.json: processes by name, and their names may follow their events. */
TEST(test_ascend)
{
    rs_events *e = load_text(
        "[{\"ph\":\"X\",\"name\":\"aclnnAdd_Add\",\"pid\":800,\"tid\":3,\"ts\":\"5.5\",\"dur\":1.5,\"args\":{\"Stream Id\":3}},"
        "{\"ph\":\"X\",\"name\":\"hcom_allReduce_\",\"pid\":800,\"tid\":5,\"ts\":\"6.5\",\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"MEMCPY_ASYNC\",\"pid\":800,\"tid\":3,\"ts\":\"9.5\",\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"AscendCL@aclnnAdd\",\"pid\":43,\"tid\":9,\"ts\":\"1\",\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"Computing\",\"pid\":44,\"tid\":0,\"ts\":\"5.5\",\"dur\":1.5},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":800,\"tid\":0,\"args\":{\"name\":\"Ascend Hardware\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":43,\"tid\":0,\"args\":{\"name\":\"CANN\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":44,\"tid\":0,\"args\":{\"name\":\"Overlap "
        "Analysis\"}}]");
    static const rs_kind kinds[] = {RS_KIND_KERNEL, RS_KIND_KERNEL, RS_KIND_MEMCPY, RS_KIND_RUNTIME,
                                    RS_KIND_OTHER};
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(rs_event_kind(e, i), kinds[i]);
    assert_int_equal(e->args[RS_COL_STREAM].n, 3);
    assert_int_equal(rs_sparse_int(&e->args[RS_COL_STREAM], 1), 5);
    rs_events_free(e);
}

/* torch_npu's span of a CANN operator is the call that launches where an arrow to the device begins on it; operators of
 * PyTorch stay operators, and so does what no arrow begins on. */
TEST(test_ascend_launches)
{
    rs_events *e = load_text(
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":7,\"ts\":\"1\",\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aclnnMm\",\"pid\":7,\"tid\":7,\"ts\":\"2.5\",\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aclnnCast\",\"pid\":7,\"tid\":7,\"ts\":\"6\",\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aclnnMm\",\"pid\":7,\"tid\":8,\"ts\":\"2.5\",\"dur\":2},"
        "{\"ph\":\"s\",\"cat\":\"async_npu\",\"name\":\"torch_to_npu\",\"id\":5,\"pid\":7,\"tid\":7,\"ts\":\"2.5\"},"
        "{\"ph\":\"s\",\"cat\":\"async_npu\",\"name\":\"torch_to_npu\",\"id\":6,\"pid\":7,\"tid\":7,\"ts\":\"1\"},"
        "{\"ph\":\"f\",\"cat\":\"async_npu\",\"name\":\"torch_to_npu\",\"id\":5,\"pid\":800,\"tid\":3,\"ts\":\"9.5\"},"
        "{\"ph\":\"X\",\"name\":\"Mm\",\"pid\":800,\"tid\":3,\"ts\":\"9.5\",\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"Add\",\"pid\":800,\"tid\":3,\"ts\":\"11\",\"dur\":1},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":800,\"tid\":0,\"args\":{\"name\":\"Ascend Hardware\"}}]");
    static const rs_kind kinds[] = {RS_KIND_CPU_OP, RS_KIND_RUNTIME, RS_KIND_CPU_OP, RS_KIND_CPU_OP};
    rs_trace t;
    const rs_links *links;
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(rs_event_kind(e, i), kinds[i]);
    rs_trace_init(&t, e, NULL, e->n);
    assert_int_equal(rs_trace_links(&t, &links, NULL), RS_OK);
    assert_int_equal(links->launch_of[0], 1);
    assert_int_equal(links->launch_of[1], RS_NO_ROW);
    assert_int_equal(links->n_by_flow, 1);
    rs_trace_clear(&t);
    rs_events_free(e);
}

TEST(test_ids)
{
    rs_events *e =
        load_text("[{\"ph\":\"X\",\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":1,\"dur\":1},"
                  "{\"ph\":\"X\",\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\"ts\":2,\"dur\":1},"
                  "{\"ph\":\"X\",\"pid\":-1,\"tid\":9223372036854775807,\"ts\":2,\"dur\":1},"
                  "{\"ph\":\"X\",\"pid\":\"7\",\"tid\":7,\"ts\":2,\"dur\":1},"
                  "{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":2,\"dur\":1},"
                  "{\"ph\":\"X\",\"pid\":null,\"ts\":2,\"dur\":1}]");
    assert_int_equal(e->n, 6);
    assert_int_equal(problem_total(e), 0);
    assert_int_equal(e->thread[0], e->thread[1]);
    const rs_thread *t = e->threads;
    assert_string_equal(text_at(e, t[e->thread[0]].pid_text), "Spans");
    assert_string_equal(text_at(e, t[e->thread[0]].tid_text), "PyTorch Profiler");
    assert_true(t[e->thread[2]].pid == -1 && t[e->thread[2]].tid == INT64_MAX);
    assert_int_not_equal(e->thread[3], e->thread[4]); /* "7" is not 7 */
    assert_int_equal(t[e->thread[4]].pid, 7);
    assert_true(t[e->thread[5]].pid == RS_NO_VALUE && t[e->thread[5]].tid == RS_NO_VALUE);
    rs_events_free(e);
}

TEST(test_metadata)
{
    rs_events *e = load_text(
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA "
        "H100\",\"maxThreadsPerBlock\":1024},"
        "{\"id\":1,\"name\":\"other\"}],\"cupti_version\":24,\"cuda_runtime_version\":12040,\"cuda_driver_"
        "version\":12050,"
        "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,\"world_size\":8,\"pg_config\":[{\"pg_name\":"
        "\"0\"}],"
        "\"nccl_version\":\"2.20.5\"},\"record_shapes\":1,\"with_stack\":true,\"with_flops\":0,\"profile_"
        "memory\":false,"
        "\"INFO\":[\"i1\",\"i2\"],\"WARNING\":[\"w\"],\"ERROR\":[],\"trace_id\":\"ABC\",\"displayTimeUnit\":"
        "\"ms\","
        "\"baseTimeNanoseconds\":1700000000000000123,\"roctracer_version\":4.1,\"hip_driver_version\":6,"
        "\"traceEvents\":[" EVENT("a", 1) "],\"traceName\":\"/tmp/\\u00e9.json\",\"world_size\":\"none\"}");
    const rs_file_info *i = &e->info;
    assert_int_equal(i->schema_version, 1);
    assert_int_equal(i->n_devices, 2);
    assert_string_equal(text_at(e, i->device_name), "NVIDIA H100");
    assert_int_equal(i->max_threads_per_block, 1024);
    assert_int_equal(i->cupti, 24);
    assert_int_equal(i->cuda_runtime, 12040);
    assert_int_equal(i->cuda_driver, 12050);
    assert_int_equal(i->rank, 3);
    assert_int_equal(i->world_size, 8);
    assert_string_equal(text_at(e, i->backend), "nccl");
    assert_string_equal(text_at(e, i->nccl_version), "2.20.5");
    assert_true(i->record_shapes && i->with_stack && !i->with_flops && !i->profile_memory &&
                !i->with_modules);
    assert_string_equal(text_at(e, i->trace_id), "ABC");
    assert_string_equal(text_at(e, i->display_unit), "ms");
    assert_true(i->base_time_ns == 1700000000000000123);
    assert_int_equal(i->roctracer_x1000, 4100);
    assert_int_equal(i->hip_driver, 6);
    assert_string_equal(text_at(e, i->trace_name), "/tmp/\xc3\xa9.json");
    assert_int_equal(e->n_log, 3);
    assert_int_equal(e->log[2].level, 'W');
    assert_string_equal(text_at(e, e->log[1].text), "i2");
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
    /* damage in what the file says about itself is counted too */
    e = load_text("{\"traceName\":\"x\xff\",\"traceEvents\":[" EVENT("a", 1) "]}");
    assert_string_equal(text_at(e, e->info.trace_name), "x\xef\xbf\xbd");
    assert_int_equal(problem_count(e, "invalid_utf8"), 1);
    rs_events_free(e);
}

/* Kineto of PyTorch 1.8: other names of the header's members, categories in capitals, threads as texts. */
TEST(test_first_kineto)
{
    rs_events *e = load_text(
        "{\"schemaVersion\":1,\"computeProperties\":[{\"id\":0,\"name\":\"Tesla V100-DGXS-32GB\","
        "\"totalGlobalMem\":34084028416,\"major\":7,\"minor\":5,\"multiProcessorCount\":80}],\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"pid\":24572,\"tid\":\"24610\",\"ts\":1,\"dur\":9,"
        "\"args\":{\"Device\":24572,\"External id\":2}},"
        "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":24572,\"tid\":\"24610\",\"ts\":2,"
        "\"dur\":1,\"args\":{\"correlation\":579,\"external id\":2}},"
        "{\"ph\":\"s\",\"id\":579,\"pid\":24572,\"tid\":24610,\"ts\":2,\"cat\":\"async\",\"name\":\"launch\"},"
        "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"sgemm\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":4,\"dur\":3,"
        "\"args\":{\"device\":0,\"stream\":7,\"correlation\":579,\"external id\":2}}]}");
    assert_int_equal(e->n_devices, 1);
    assert_string_equal(text_at(e, e->devices[0].name), "Tesla V100-DGXS-32GB");
    assert_int_equal(e->devices[0].units, 80);
    assert_int_equal(e->devices[0].major, 7);
    assert_int_equal(e->devices[0].minor, 5);
    static const rs_kind kinds[] = {RS_KIND_CPU_OP, RS_KIND_RUNTIME, RS_KIND_OTHER, RS_KIND_KERNEL};
    for (size_t i = 0; i < 4; i++) assert_int_equal(rs_event_kind(e, i), kinds[i]);
    assert_int_equal(e->thread[0], e->thread[1]);
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
}

TEST(test_documents)
{
    rs_events *e = load_text("{\"distributedInfo\":{\"rank\":4},\"traceEvents\":[" EVENT(
        "a",
        1) "]}\n"
           "{\"distributedInfo\":{\"rank\":9},\"traceEvents\":[]}\n"
           "{\"traceEvents\":[" EVENT("b", 2) "," EVENT(
               "c",
               3) "],\"distributedInfo\":{\"rank\":2}}{\"distributedInfo\":{\"rank\":5},\"traceEvents\":[]}");
    assert_int_equal(e->n_documents, 2);
    assert_int_equal(e->documents[0].first_row, 0);
    assert_int_equal(e->documents[0].rank, 4);
    assert_int_equal(e->documents[1].first_row, 1);
    assert_int_equal(e->info.rank, 4);
    assert_int_equal(e->documents[1].rank, 2);
    rs_events_free(e);
}

/* ---- arguments -------------------------------------------------------------------------------------- */

TEST(test_every_column)
{
    /* the same layout several times, so that both readers are asked */
    text t = {0};
    text_puts(&t, "[");
    for (int k = 0; k < 5; k++) {
        text_printf(&t, "%s{\"ph\":\"X\",\"name\":\"n\",\"ts\":1,\"dur\":1,\"id\":%d,\"args\":{\"nothing\":0",
                    k ? "," : "", k);
        for (size_t c = 0; c < RS_COL_FLOW_ID; c++) {
            text_printf(&t, ",\"%s\":", rs_column_infos[c].key);
            if (rs_column_infos[c].type == RS_COLUMN_INT) text_printf(&t, "%d", (int)c * 10 + k - 3);
            if (rs_column_infos[c].type == RS_COLUMN_REAL) text_printf(&t, "%d.25", (int)c * 10 + k);
            if (rs_column_infos[c].type == RS_COLUMN_TEXT && c % 2)
                text_printf(&t, "[[%d], \"x\"]", (int)c + k);
            if (rs_column_infos[c].type == RS_COLUMN_TEXT && c % 2 == 0)
                text_printf(&t, "\"t%d\"", (int)c + k);
        }
        text_puts(&t, "}}");
    }
    text_puts(&t, "]");
    for (int simd = 1; simd <= 4; simd++) {
        /* all columns, then each alone: the others are not kept */
        for (size_t only = 0; only <= RS_N_COLUMNS; only++) {
            rs_load_settings settings = {
                .simd = simd, .columns = only == RS_N_COLUMNS ? RS_ALL_COLUMNS : UINT64_C(1) << only};
            rs_events *e;
            assert_int_equal(load_with(t.s, t.n, &settings, &e, NULL), RS_OK);
            assert_int_equal(problem_total(e), 0);
            for (size_t c = 0; c < RS_N_COLUMNS; c++) {
                bool kept = settings.columns >> c & 1;
                assert_int_equal(e->args[c].n, kept ? 5 : 0);
                for (uint32_t k = 0; kept && k < 5; k++) {
                    int64_t i;
                    double d;
                    char word[32];
                    rs_column_id id = (rs_column_id)c;
                    if (c == RS_COL_FLOW_ID) {
                        assert_true(rs_events_int(e, id, k, &i) && i == k);
                    } else if (rs_column_infos[c].type == RS_COLUMN_INT) {
                        assert_true(rs_events_int(e, id, k, &i) && i == (int64_t)c * 10 + k - 3);
                    } else if (rs_column_infos[c].type == RS_COLUMN_REAL) {
                        assert_true(rs_events_real(e, id, k, &d) && d == (double)(c * 10 + k) + 0.25);
                    } else {
                        snprintf(word, sizeof word, c % 2 ? "[[%d], \"x\"]" : "t%d", (int)(c + k));
                        assert_string_equal(text_at(e, rs_events_text(e, id, k)), word);
                    }
                }
            }
            rs_events_free(e);
        }
    }
    text_clear(&t);
}

TEST(test_argument_spellings)
{
    rs_events *e =
        load_text("[{\"ph\":\"X\",\"args\":{\"stream\":\"7\",\"device\":null,\"correlation\":5.0,\"bytes\":"
                  "true,\"external id\":12,"
                  "\"dtype\":\"Fl\\u006fat\",\"grid\":[1, [2]],\"block\":{\"x\":1},\"Input "
                  "Dims\":null,\"Concrete Inputs\":[\"a\\\"\xc3\xa9\"]}},"
                  "{\"ph\":\"X\",\"args\":{\"stream\":1,\"stream\":2,\"device\":3},\"args\":{\"stream\":4}},"
                  "{\"ph\":\"X\",\"args\":{\"stream\":1,\"stream\":null}},"
                  "{\"ph\":\"X\",\"args\":{\"stream\":1},\"args\":null,\"id\":3,\"id\":\"0x7\"},"
                  "{\"ph\":\"X\",\"args\":[{\"stream\":1}],\"stream\":2},"
                  "{\"ph\":\"X\",\"args\":{\"args\":{\"stream\":1},\"Concrete Inputs\":[\"\\\"\xff\"]}}]");
    int64_t v;
    assert_int_equal(e->n, 6);
    assert_true(rs_events_int(e, RS_COL_STREAM, 0, &v) && v == 7);
    assert_false(rs_events_int(e, RS_COL_DEVICE, 0, &v));
    assert_false(rs_events_int(e, RS_COL_BYTES, 0, &v));
    assert_true(rs_events_int(e, RS_COL_CORRELATION, 0, &v) && v == 5);
    assert_true(rs_events_int(e, RS_COL_EXTERNAL_ID, 0, &v) && v == 12);
    assert_string_equal(text_at(e, rs_events_text(e, RS_COL_DTYPE, 0)), "Float");
    assert_string_equal(text_at(e, rs_events_text(e, RS_COL_GRID, 0)), "[1, [2]]");
    assert_string_equal(text_at(e, rs_events_text(e, RS_COL_BLOCK, 0)), "{\"x\":1}");
    assert_string_equal(text_at(e, rs_events_text(e, RS_COL_CONCRETE_INPUTS, 0)), "[\"a\\\"\xc3\xa9\"]");
    assert_int_equal(rs_events_text(e, RS_COL_INPUT_DIMS, 0), RS_NO_STRING);
    assert_true(rs_events_int(e, RS_COL_STREAM, 1, &v) && v == 4); /* the last of each key */
    assert_false(rs_events_int(e, RS_COL_DEVICE, 1, &v));
    for (uint32_t row = 2; row < 6; row++) assert_false(rs_events_int(e, RS_COL_STREAM, row, &v));
    assert_false(rs_events_int(e, RS_COL_FLOW_ID, 3, &v));
    /* JSON text stays JSON text: its escapes are not decoded when a byte of it is repaired */
    assert_string_equal(text_at(e, rs_events_text(e, RS_COL_CONCRETE_INPUTS, 5)), "[\"\\\"\xef\xbf\xbd\"]");
    assert_int_equal(problem_total(e), 1);
    assert_int_equal(problem_count(e, "invalid_utf8"), 1);
    rs_events_free(e);
}

TEST(test_counters)
{
    rs_events *e = load_text(
        "[{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"k\",\"ts\":1,\"dur\":1,\"args\":"
        "{\"smsp__inst_executed.sum\":12.5,\"stream\":7,\"text\":\"x\",\"dram\\u005fbytes\":3e2}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"args\":{\"smsp__inst_executed.sum\":1}},"
        "{\"ph\":\"X\",\"args\":{\"smsp__inst_executed.sum\":4,\"n\":NaN},\"cat\":\"cuda_profiler_range\"}]");
    assert_int_equal(e->n_counters, 2);
    assert_string_equal(text_at(e, e->counters[0].name), "smsp__inst_executed.sum");
    assert_string_equal(text_at(e, e->counters[1].name), "dram_bytes");
    const rs_sparse *s = &e->counters[0].values;
    assert_int_equal(s->n, 2);
    assert_true(s->rows[0] == 0 && s->rows[1] == 2 && s->reals[0] == 12.5 && s->reals[1] == 4);
    assert_true(e->counters[1].values.n == 1 && e->counters[1].values.reals[0] == 300);
    rs_events_free(e);
}

TEST(test_no_trace)
{
    static const char *const poor[] = {"",
                                       " \n",
                                       "7",
                                       "\"text\"",
                                       "hello",
                                       "{}",
                                       "{\"a\":1}",
                                       "[1,2,3]",
                                       "[\"a\"]",
                                       "{\"nodes\":[]}",
                                       "{\"traceEvents\"",
                                       "{\"traceEvents\":[",
                                       "[",
                                       "{\"a\":",
                                       "\x1f",
                                       "<html></html>",
                                       "null",
                                       "[]",
                                       "[{\"step\":1,\"loss\":2.5}]",
                                       "[{\"name\":\"a\",\"ts\":1,\"dur\":2}]",
                                       "{\"traceEvents\":[{\"step\":1,\"loss\":2.5}]}",
                                       "{\"name\":\"step\",\"ts\":1}\n{\"name\":\"step\",\"ts\":2}\n"};
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++) {
        rs_events *e;
        rs_error err = RS_ERROR_INIT;
        rs_status status = load_bytes(poor[i], strlen(poor[i]), &e, &err);
        if (status != RS_ERR_FORMAT) fail_msg("%s: status %d", poor[i], (int)status);
        assert_null(e);
        assert_string_equal(err.causes[0].file, "test");
    }
    rs_events *e = load_text("{\"traceEvents\":[]}");
    assert_int_equal(e->n, 0);
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
}

static bool stop_at_once(void *context)
{
    ++*(int *)context;
    return false;
}

TEST(test_cancel)
{
    int calls = 0;
    rs_load_settings settings = {.progress = stop_at_once, .progress_context = &calls};
    rs_events *e;
    for (settings.threads = 1; settings.threads < 4; settings.threads++) {
        text t = text_trace(3000, 1);
        assert_int_equal(load_with(t.s, t.n, &settings, &e, NULL), RS_ERR_CANCELLED);
        assert_null(e);
        text_clear(&t);
    }
    assert_int_equal(calls, 3);
}
