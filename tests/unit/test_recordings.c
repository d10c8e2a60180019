/* Several recordings of one rank: found by their times, read as one rank whose ids do not link across. */
#include "support.h"

#include "job/job_internal.h"

/* One recording: a step of 100 us at `ts` with an operator, a launch and its kernel, under the ids that every
 * recording begins with. */
static text recording(int rank, int step, int64_t base_s, int ts, const char *kernel)
{
    text t = {0};
    text_printf(&t, "{\"distributedInfo\":{\"rank\":%d},\"baseTimeNanoseconds\":%lld,\"traceEvents\":[\n",
                rank, (long long)base_s * 1000000000);
    text_printf(&t,
                "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,"
                "\"ts\":%d,\"dur\":100},\n"
                "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":20,"
                "\"args\":{\"External id\":5}},\n"
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":7,\"External id\":5}},\n"
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":30,"
                "\"args\":{\"correlation\":7,\"stream\":7,\"device\":0}}]}\n",
                step, ts, step, ts + 10, ts + 15, kernel, ts + 40);
    return t;
}

static rs_status run(const text *files, size_t n, const char *analysis, rs_result *result, rs_error *err)
{
    static const char *const names[] = {"a.json", "b.json", "c.json", "d.json"};
    rs_job *job;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 2};
    assert_int_equal(rs_job_open_bytes(files[0].s, files[0].n, names[0], &settings, &job, NULL), RS_OK);
    for (size_t i = 1; i < n; i++) {
        rs_job_file file = {.name = names[i], .bytes = files[i].s, .n_bytes = files[i].n, .rank = -1};
        assert_int_equal(rs_job_add(job, &file, NULL), RS_OK);
    }
    rs_status status = rs_job_run(job, rs_analysis_find(analysis), NULL, RS_COMPAT_NONE, result, err);
    assert_int_equal(rs_job_n_files(job), n);
    for (size_t i = 0; i < n; i++) assert_non_null(rs_job_get_file(job, i).bytes);
    rs_job_close(job);
    return status;
}

static int64_t cell(const rs_table *t, size_t row, const char *column)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t c = 0; c < spec->n_columns; c++)
        if (strcmp(spec->columns[c].name, column) == 0) return rs_table_int(t, row, c);
    fail_msg("no column %s", column);
    return 0;
}

/* Two of rank 0, the later one first, and one of rank 1. The second has a clock base a second later. */
TEST(test_joined)
{
    text files[] = {recording(0, 4, 101, 100, "late"), recording(0, 1, 100, 200, "early"),
                    recording(1, 1, 100, 200, "other")};
    rs_result result = {0};
    assert_int_equal(run(files, 3, "steps", &result, NULL), RS_OK);
    const rs_table *steps = rs_result_table(&result, "steps");
    static const int64_t want[3][3] = {{0, 1, 0}, {0, 4, 1000000000 - 100000}, {1, 1, 0}};
    assert_int_equal(rs_table_n_rows(steps), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cell(steps, i, "rank"), want[i][0]);
        assert_int_equal(cell(steps, i, "step"), want[i][1]);
        assert_int_equal(cell(steps, i, "start_us"), want[i][2]);
    }
    rs_result_clear(&result);
    assert_int_equal(run(files, 3, "info", &result, NULL), RS_OK);
    const rs_table *ranks = rs_result_table(&result, "ranks");
    assert_int_equal(rs_table_n_rows(ranks), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cell(ranks, i, "rank"), want[i][0]);
        assert_int_equal(cell(ranks, i, "first_step"), want[i][1]);
        assert_int_equal(cell(ranks, i, "events"), 4);
        assert_int_equal(cell(ranks, i, "unlinked"), 0);
    }
    rs_result_clear(&result);
    /* the same correlation stands in both: every kernel stays with the operator of its own recording */
    assert_int_equal(run(files, 2, "launchers", &result, NULL), RS_OK);
    const rs_table *launchers = result.tables[0];
    assert_int_equal(rs_table_n_rows(launchers), 2);
    for (size_t i = 0; i < 2; i++) assert_int_equal(cell(launchers, i, "kernel_count"), 1);
    rs_result_clear(&result);
    for (size_t i = 0; i < 3; i++) text_clear(&files[i]);
}

/* Between recordings the profiler was off: that time is neither busy nor idle, of no step, and no gap. Each has a step
 * of 100 us, and a kernel of 30 us from 40 us on. */
TEST(test_between)
{
    text files[] = {recording(0, 4, 101, 100, "late"), recording(0, 1, 100, 200, "early")};
    rs_result result = {0};
    assert_int_equal(run(files, 2, "breakdown", &result, NULL), RS_OK);
    const rs_table *t = result.tables[0];
    assert_int_equal(cell(t, 0, "span_us"), 60000);
    assert_int_equal(cell(t, 0, "busy_us"), 60000);
    assert_int_equal(cell(t, 0, "idle_us"), 0);
    rs_result_clear(&result);
    assert_int_equal(run(files, 2, "steps", &result, NULL), RS_OK);
    t = rs_result_table(&result, "steps");
    for (size_t i = 0; i < 2; i++) assert_int_equal(cell(t, i, "period_us"), 100000);
    rs_result_clear(&result);
    assert_int_equal(run(files, 2, "summary", &result, NULL), RS_OK);
    t = rs_result_table(&result, "ranks");
    assert_int_equal(cell(t, 0, "span_us"), 200000);
    assert_int_equal(cell(t, 0, "gpu_span_us"), 60000);
    assert_int_equal(cell(t, 0, "host_wait_us"), 0);
    rs_result_clear(&result);
    for (size_t i = 0; i < 2; i++) text_clear(&files[i]);
}

/* A step that both recordings have is one step, and that is told. */
TEST(test_repeated_steps)
{
    text files[] = {recording(0, 1, 100, 200, "one"), recording(0, 1, 101, 200, "two"),
                    recording(0, 2, 102, 200, "three")};
    rs_result result = {0};
    for (size_t first = 0; first < 2; first++) {
        assert_int_equal(run(files + first, 2, "steps", &result, NULL), RS_OK);
        assert_int_equal(rs_table_n_rows(rs_result_table(&result, "steps")), first + 1);
        size_t told = 0;
        for (size_t i = 0; i < result.problems.n; i++)
            if (strcmp(result.problems.items[i].kind, "repeated_steps") == 0)
                told += result.problems.items[i].count;
        assert_int_equal(told, first ? 0 : 1);
        rs_result_clear(&result);
    }
    for (size_t i = 0; i < 3; i++) text_clear(&files[i]);
}

/* A part of a job that holds the recordings of a rank joins them as the job would. */
TEST(test_mapped)
{
    text files[] = {recording(0, 4, 101, 100, "late"), recording(0, 1, 100, 200, "early")};
    const rs_query query = {.analysis = rs_analysis_find("steps")};
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    rs_job *job;
    rs_bytes packed;
    rs_result result = {0};
    assert_int_equal(rs_job_open_bytes(files[0].s, files[0].n, "a.json", &settings, &job, NULL), RS_OK);
    rs_job_file file = {.name = "b.json", .bytes = files[1].s, .n_bytes = files[1].n, .rank = -1};
    assert_int_equal(rs_job_add(job, &file, NULL), RS_OK);
    assert_int_equal(rs_job_map(job, &query, 1, &packed, NULL), RS_OK);
    assert_int_equal(rs_merge_packed(&packed, 1, &query, 1, &result, NULL), RS_OK);
    const rs_table *steps = rs_result_table(&result, "steps");
    assert_int_equal(rs_table_n_rows(steps), 2);
    for (size_t i = 0; i < 2; i++) assert_int_equal(cell(steps, i, "rank"), 0);
    assert_int_equal(cell(steps, 1, "step"), 4);
    rs_result_clear(&result);
    rs_bytes_free(&packed);
    rs_job_close(job);
    for (size_t i = 0; i < 2; i++) text_clear(&files[i]);
}

/* Two that overlap by 50 us are two claims to one rank. */
TEST(test_refused)
{
    text files[] = {recording(0, 1, 100, 200, "a"), recording(0, 2, 100, 250, "b")};
    rs_result result = {0};
    rs_error err = RS_ERROR_INIT;
    char line[512];
    assert_int_equal(run(files, 2, "info", &result, &err), RS_ERR_AMBIGUOUS);
    rs_error_text(&err, line, sizeof line);
    assert_non_null(strstr(line, "a.json"));
    assert_non_null(strstr(line, "b.json"));
    assert_non_null(strstr(line, "--renumber"));
    rs_result_clear(&result);
    for (size_t i = 0; i < 2; i++) text_clear(&files[i]);
}

/* Ids move only where both use the same ones; what stands for none stays. */
TEST(test_append)
{
    text a = recording(0, 1, 100, 200, "a"), b = recording(0, 2, 100, 400, "b");
    rs_events *x = load(a.s, a.n), *y = load(b.s, b.n);
    y->args[RS_COL_CORRELATION].narrow[0] = -1;
    assert_int_equal(rs_events_append(x, y, 5000, NULL), RS_OK);
    assert_int_equal(x->n, 8);
    assert_int_equal(x->start[4], 405000);
    assert_string_equal(rs_event_name(x, 7), "b");
    int64_t v;
    assert_true(rs_events_int(x, RS_COL_CORRELATION, 2, &v) && v == 7);
    assert_true(rs_events_int(x, RS_COL_CORRELATION, 6, &v) && v == -1);
    assert_true(rs_events_int(x, RS_COL_CORRELATION, 7, &v) && v == 14);
    assert_true(rs_events_int(x, RS_COL_EXTERNAL_ID, 5, &v) && v == 12);
    assert_true(rs_events_int(x, RS_COL_STREAM, 7, &v) && v == 7);
    rs_events_free(x);
    rs_events_free(y);
    text_clear(&a);
    text_clear(&b);
}

/* Ids that take eight bytes in one recording only, and such as do so once they have moved. */
TEST(test_append_wide)
{
    static const int64_t ids[][2] = {{7, INT64_C(1) << 40}, {INT64_C(1) << 40, 7}, {INT32_MAX, INT32_MAX}};
    for (size_t k = 0; k < 3; k++) {
        text a = recording(0, 1, 100, 200, "a"), b = recording(0, 2, 100, 400, "b");
        rs_events *x = load(a.s, a.n), *y = load(b.s, b.n);
        x->args[RS_COL_CORRELATION].n = y->args[RS_COL_CORRELATION].n = 0;
        assert_int_equal(rs_events_push_int(x, RS_COL_CORRELATION, 2, ids[k][0], NULL), RS_OK);
        assert_int_equal(rs_events_push_int(y, RS_COL_CORRELATION, 2, ids[k][1], NULL), RS_OK);
        assert_int_equal(rs_events_append(x, y, 5000, NULL), RS_OK);
        int64_t v;
        assert_true(rs_events_int(x, RS_COL_CORRELATION, 2, &v) && v == ids[k][0]);
        /* the operators' External ids clash in all of them, so that all ids move by the greatest */
        assert_true(rs_events_int(x, RS_COL_CORRELATION, 6, &v) &&
                    v == ids[k][1] + (ids[k][0] > 7 ? ids[k][0] : 7));
        rs_events_free(x);
        rs_events_free(y);
        text_clear(&a);
        text_clear(&b);
    }
}
