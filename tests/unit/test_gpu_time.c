/* The GPU-time analyses on one small trace: their answers, and every allocation failing in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "rankscope/job.h"
#include "peers.h"
#include "unit.h"

/* Two streams: computation 100-200, communication 150-260, a copy 240-300, computation 400-450 whose launch
 * comes after the stream ran dry; a graph launch owns the first two. */
static const char trace[] =
    "{\"distributedInfo\":{\"rank\":3},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":9,\"tid\":9,\"ts\":0,"
    "\"dur\":250},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":9,\"tid\":9,\"ts\":250,"
    "\"dur\":250},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":9,\"tid\":9,\"ts\":10,"
    "\"dur\":20,"
    "\"args\":{\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":9,\"tid\":9,\"ts\":40,"
    "\"dur\":5,"
    "\"args\":{\"correlation\":2}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,\"ts\":350,"
    "\"dur\":10,"
    "\"args\":{\"correlation\":3}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":100,"
    "\"args\":{\"correlation\":1,\"stream\":7,\"device\":0}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":8,\"ts\":150,"
    "\"dur\":110,"
    "\"args\":{\"correlation\":1,\"stream\":8,\"device\":0}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pinned -> "
    "Device)\",\"pid\":0,\"tid\":7,\"ts\":240,"
    "\"dur\":60,\"args\":{\"correlation\":2,\"stream\":7,\"device\":0,\"bytes\":120000,"
    "\"memory bandwidth (GB/s)\":2.0}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":400,\"dur\":50,"
    "\"args\":{\"correlation\":3,\"stream\":7,\"device\":0}}]}";

static rs_status run_on(const char *text, const char *name, const char *option, const char *value,
                        rs_compat compat, const char *steps, rs_result *result, rs_error *err)
{
    const rs_analysis *a = rs_analysis_find(name);
    assert_non_null(a);
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .steps = steps};
    rs_job *job;
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(a, &n);
    *result = (rs_result){0};
    rs_status status = rs_job_open_bytes(text, strlen(text), "trace.json", &settings, &job, err);
    if (status != RS_OK) return status;
    rs_options *options;
    status = rs_options_create(specs, n, &options, err);
    if (status == RS_OK && option) status = rs_options_set(options, option, value, err);
    if (status == RS_OK) status = rs_job_run(job, a, options, compat, result, err);
    rs_options_free(options);
    rs_job_close(job);
    return status;
}

static rs_status run(const char *name, const char *option, rs_compat compat, const char *steps,
                     rs_result *result, rs_error *err)
{
    return run_on(trace, name, option, NULL, compat, steps, result, err);
}

/* The cell of a column by name; times in us. */
static double cell(const rs_result *r, size_t table, size_t row, const char *column)
{
    const rs_table *t = r->tables[table];
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t c = 0; c < spec->n_columns; c++)
        if (strcmp(spec->columns[c].name, column) == 0 && row < rs_table_n_rows(t))
            return rs_table_real(t, row, c);
    fail_msg("no %s in row %zu of %s", column, row, spec->name);
    return 0;
}

static rs_result answer(const char *name, const char *option, const char *steps)
{
    rs_result r;
    rs_error err = RS_ERROR_INIT;
    char line[400];
    if (run(name, option, RS_COMPAT_NONE, steps, &r, &err) != RS_OK)
        fail_msg("%s: %s", name, rs_error_text(&err, line, sizeof line));
    return r;
}

#define EXPECT(table, row, column, want) assert_true(cell(&r, table, row, column) == (want))

TEST(test_breakdown_and_overlap)
{
    rs_result r = answer("breakdown", NULL, NULL);
    EXPECT(0, 0, "rank", 3);
    EXPECT(0, 0, "span_us", 350);
    EXPECT(0, 0, "compute_us", 150);
    EXPECT(0, 0, "exposed_comm_us", 60);
    EXPECT(0, 0, "exposed_copy_us", 40);
    EXPECT(0, 0, "idle_us", 100);
    EXPECT(0, 0, "comm_us", 110);
    EXPECT(0, 0, "copy_us", 60);
    rs_result_clear(&r);
    r = answer("breakdown", NULL, "2");
    EXPECT(0, 0, "span_us", 50);
    rs_result_clear(&r);
    r = answer("overlap", NULL, NULL);
    EXPECT(0, 0, "overlapped_us", 50);
    EXPECT(0, 0, "overlap_pct", 100.0 * 50000 / 110000);
    rs_result_clear(&r);
    r = answer("timeline", NULL, NULL);
    EXPECT(0, 3, "time_ms", 0.25);
    rs_result_clear(&r);
}

TEST(test_kernels)
{
    rs_result r = answer("kernels", NULL, NULL);
    assert_int_equal(rs_table_n_rows(r.tables[0]), 3);
    EXPECT(0, 0, "sum_us", 150);
    EXPECT(0, 0, "mean_us", 75);
    EXPECT(0, 2, "cumulative_pct", 100);
    rs_result_clear(&r);
    r = answer("kernels", "no-memory", NULL);
    assert_int_equal(rs_table_n_rows(r.tables[0]), 2);
    rs_result_clear(&r);
}

TEST(test_waiting)
{
    rs_result r = answer("idle", NULL, NULL);
    assert_int_equal(rs_table_n_rows(r.tables[0]), 2);
    EXPECT(0, 0, "idle_us", 100); /* launched at 350, dry since 300 */
    EXPECT(0, 1, "idle_us", 40);  /* queued at 40, 40 us late */
    rs_result_clear(&r);
    r = answer("queue", "series", NULL);
    EXPECT(0, 0, "max", 2); /* stream 7: the graph's kernel and the copy */
    EXPECT(0, 1, "max", 1);
    assert_int_equal(rs_table_n_rows(r.tables[1]), 8);
    rs_result_clear(&r);
    r = answer("launches", "list", NULL);
    EXPECT(0, 0, "gpu_events", 2);
    EXPECT(0, 0, "delay_us", 70 + 120);
    EXPECT(1, 2, "launch_delay_us", 195);
    rs_result_clear(&r);
    r = answer("bandwidth", NULL, NULL);
    EXPECT(0, 0, "mean_gbps", 2);
    rs_result_clear(&r);
}

/* 300 launches fill the queue while the GPU is still busy elsewhere; `more` begin while it is full, and return
 * when work starts. They return at once if `waits` is false. */
static char *full_queue(bool waits, int more)
{
    enum { FILL = 300 };
    size_t room = 200000, n = 0;
    char *text = malloc(room);
    assert_non_null(text);
    n += (size_t)snprintf(text + n, room - n, "{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[");
    for (int i = 0; i < FILL + more; i++) {
        int j = i - FILL;
        double begin = j < 0    ? i
                       : j == 0 ? 400
                                : 902 + 100 * j,
               end = j < 0 || !waits ? begin + 0.5 : 1000.2 + 100 * j;
        n += (size_t)snprintf(
            text + n, room - n,
            "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
            "\"tid\":9,\"ts\":%.1f,\"dur\":%.1f,\"args\":{\"correlation\":%d}},"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,"
            "\"dur\":100,\"args\":{\"correlation\":%d,\"stream\":7,\"device\":0}}",
            i ? "," : "", begin, end - begin, i + 1, 1000 + 100 * i, i + 1);
        assert_true(n < room);
    }
    snprintf(text + n, room - n, "]}");
    return text;
}

TEST(test_full_queue)
{
    NEEDS_PEERS();
    rs_error err = RS_ERROR_INIT;
    rs_result r;
    char *text = full_queue(true, 10);
    assert_int_equal(run_on(text, "queue", NULL, NULL, RS_COMPAT_NONE, NULL, &r, &err), RS_OK);
    EXPECT(0, 0, "max", 301); /* the one that waits is counted */
    EXPECT(2, 0, "limit", 301);
    EXPECT(2, 0, "blocked_us", 600 + 9 * 98);
    rs_result_clear(&r);
    assert_int_equal(run_on(text, "queue", "max-length", "300", RS_COMPAT_NONE, NULL, &r, &err), RS_OK);
    EXPECT(2, 0, "limit", 300);
    assert_true(cell(&r, 2, 0, "blocked_us") > 600 + 9 * 98);
    rs_result_clear(&r);
    assert_int_equal(run_on(text, "queue", NULL, NULL, RS_COMPAT_HTA, NULL, &r, &err), RS_OK);
    assert_int_equal(rs_table_n_rows(r.tables[2]), 0); /* HTA's limit is 1024 */
    rs_result_clear(&r);
    free(text);
    text = full_queue(false, 10); /* as deep, but nobody waits: no limit was met */
    assert_int_equal(run_on(text, "queue", NULL, NULL, RS_COMPAT_NONE, NULL, &r, &err), RS_OK);
    EXPECT(0, 0, "max", 301);
    assert_int_equal(rs_table_n_rows(r.tables[2]), 0);
    rs_result_clear(&r);
    free(text);
    text = full_queue(true, 2); /* two that waited make no limit */
    assert_int_equal(run_on(text, "queue", NULL, NULL, RS_COMPAT_NONE, NULL, &r, &err), RS_OK);
    EXPECT(0, 0, "max", 301);
    assert_int_equal(rs_table_n_rows(r.tables[2]), 0);
    rs_result_clear(&r);
    free(text);
}

TEST(test_waits_of_mtia_are_no_work)
{
    NEEDS_PEERS();
    static const char mtia[] =
        "{\"distributedInfo\":{\"rank\":3},\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"event_wait\",\"pid\":17,\"tid\":3,\"ts\":0,"
        "\"dur\":90,\"args\":{\"stream\":1,\"wait_on_stream\":2}},"
        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"merge\",\"pid\":17,\"tid\":3,\"ts\":100,"
        "\"dur\":10,\"args\":{\"stream\":1}},"
        "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"name\":\"event_record\",\"pid\":17,\"tid\":3,\"ts\":110,"
        "\"dur\":1,\"args\":{\"stream\":1}}]}";
    rs_error err = RS_ERROR_INIT;
    rs_result r;
    assert_int_equal(run_on(mtia, "kernels", NULL, NULL, RS_COMPAT_NONE, NULL, &r, &err), RS_OK);
    assert_int_equal(rs_table_n_rows(r.tables[0]), 1);
    EXPECT(0, 0, "sum_us", 10);
    rs_result_clear(&r);
    assert_int_equal(run_on(mtia, "kernels", NULL, NULL, RS_COMPAT_HTA, NULL, &r, &err), RS_OK);
    assert_int_equal(rs_table_n_rows(r.tables[0]), 3);
    rs_result_clear(&r);
}

TEST(test_every_allocation_may_fail)
{
    static const struct {
        const char *name, *option;
    } runs[] = {{"breakdown", NULL}, {"overlap", NULL},   {"timeline", NULL},      {"kernels", NULL},
                {"idle", NULL},      {"queue", "series"}, {"bandwidth", "series"}, {"launches", "list"}};
    static const rs_compat modes[] = {RS_COMPAT_NONE, RS_COMPAT_HTA};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        for (size_t m = 0; m < 2; m++) {
            size_t n;
            if (!rs_analysis_tables(rs_analysis_find(runs[i].name), modes[m], &n)) continue;
            const char *option =
                modes[m] == RS_COMPAT_HTA && strcmp(runs[i].name, "launches") == 0 ? NULL : runs[i].option;
            rs_status status = RS_ERR_NOMEM;
            for (uint64_t k = 1; status != RS_OK; k++) {
                rs_result r;
                rs_error err = RS_ERROR_INIT;
                char line[400];
                rs_test_fail_allocation(k);
                status = run(runs[i].name, option, modes[m], NULL, &r, &err);
                rs_test_fail_allocation(0);
                if (status != RS_OK && status != RS_ERR_NOMEM)
                    fail_msg("%s, allocation %d: %s", runs[i].name, (int)k,
                             rs_error_text(&err, line, sizeof line));
                rs_result_clear(&r);
            }
        }
    }
}
