/* The event graph and what leads to it: the longest path, nesting, lanes, synchronizations of every kind. */
#include <stdio.h>
#include <string.h>

#include "engine/graph.h"
#include "engine/lanes.h"
#include "rankscope/job.h"
#include "trace/call_stacks.h"
#include "peers.h"
#include "unit.h"

/* ---- the longest path ---------------------------------------------------------------------------------- */

static rs_path_graph *graph_of(size_t n_items)
{
    rs_path_graph *g = rs_path_graph_create(n_items);
    assert_non_null(g);
    for (size_t i = 0; i < n_items; i++) {
        g->row[i] = (uint32_t)i;
        g->start[i] = g->end[i] = 0;
    }
    return g;
}

static void edge(rs_path_graph *g, uint32_t from, uint32_t to, int64_t weight)
{
    assert_true(rs_path_graph_add(g, from, to, RS_EDGE_OPERATOR, weight, RS_NO_ITEM));
}

TEST(test_longest_path)
{
    rs_path_graph *g = graph_of(3); /* nodes 0 to 5 */
    edge(g, 0, 1, 5);
    edge(g, 1, 2, 1);
    edge(g, 0, 2, 4);
    edge(g, 2, 3, 2);
    edge(g, 0, 4, 7);
    assert_int_equal(rs_path_graph_solve(g, RS_NO_ITEM, NULL), RS_OK);
    assert_int_equal(g->path_weight, 8);
    assert_int_equal(g->n_path, 3);
    assert_int_equal(g->path[0], 0);
    assert_int_equal(g->path[1], 1);
    assert_int_equal(g->path[2], 3);
    assert_int_equal(g->critical[4], 0);
    /* to a given end */
    assert_int_equal(rs_path_graph_solve(g, 4, NULL), RS_OK);
    assert_int_equal(g->path_weight, 7);
    assert_int_equal(g->n_path, 1);
    rs_path_graph_free(g);
}

TEST(test_replaced_and_tied_edges)
{
    rs_path_graph *g = graph_of(2);
    edge(g, 0, 3, 9); /* replaced by the last edge, though that is shorter */
    edge(g, 0, 1, 2);
    edge(g, 0, 2, 2);
    edge(g, 2, 3, 1);
    edge(g, 1, 3, 1); /* as long as over node 2, but added later */
    edge(g, 0, 3, 1);
    assert_int_equal(rs_path_graph_solve(g, RS_NO_ITEM, NULL), RS_OK);
    assert_int_equal(g->path_weight, 3);
    assert_int_equal(g->dead[0], 1);
    assert_int_equal(g->dead[5], 0);
    assert_int_equal(g->path[1], 3);
    rs_path_graph_free(g);
}

TEST(test_circle)
{
    rs_path_graph *g = graph_of(2);
    edge(g, 0, 1, 1);
    edge(g, 1, 2, 1);
    edge(g, 2, 0, 1);
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_path_graph_solve(g, RS_NO_ITEM, &err), RS_ERR_FORMAT);
    rs_path_graph_free(g);
    g = graph_of(0);
    assert_int_equal(rs_path_graph_solve(g, RS_NO_ITEM, NULL), RS_OK);
    assert_int_equal(g->path_weight, 0);
    assert_int_equal(g->n_path, 0);
    rs_path_graph_free(g);
}

/* ---- nesting ------------------------------------------------------------------------------------------- */

static void expect_order(const rs_nested *items, size_t n, const char *want)
{
    uint32_t order[32];
    char got[80];
    size_t at = 0;
    assert_true(rs_call_stack_order(items, n, order));
    for (size_t i = 0; i < 2 * n; i++)
        at += (size_t)sprintf(got + at, "%c%u", order[i] & RS_STACK_END ? ')' : '(', order[i] >> 1);
    assert_string_equal(got, want);
}

TEST(test_nesting)
{
    const rs_nested plain[] = {{0, 10, 0}, {2, 5, 1}, {5, 8, 2}};
    expect_order(plain, 3, "(0(1)1(2)2)0");
    const rs_nested same[] = {{0, 5, 0}, {0, 9, 1}, {0, 9, 2}};
    expect_order(same, 3, "(1(2(0)0)2)1");
    const rs_nested at_the_end[] = {{0, 5, 0}, {5, 5, 1}, {5, 8, 2}};
    expect_order(at_the_end, 3, "(0(1)1)0(2)2");
    const rs_nested at_the_start[] = {{5, 5, 0}, {5, 8, 1}};
    expect_order(at_the_start, 2, "(1(0)0)1");
    const rs_nested negative[] = {{4, 2, 0}, {1, 6, 1}};
    expect_order(negative, 2, "(1(0)0)1");
    const rs_nested overlapping[] = {{0, 5, 0}, {3, 8, 1}};
    expect_order(overlapping, 2, "(0(1)0)1");
}

/* ---- lanes --------------------------------------------------------------------------------------------- */

TEST(test_lanes)
{
    rs_lanes l = {0};
    assert_true(rs_lanes_add(&l, 0, 7, 30, 1));
    assert_true(rs_lanes_add(&l, 0, 7, 10, 2));
    assert_true(rs_lanes_add(&l, 7, 0, 20, 3));
    assert_true(rs_lanes_add(&l, 0, 7, 30, 4));
    assert_true(rs_lanes_finish(&l));
    uint32_t lane = rs_lanes_find(&l, 0, 7), other = rs_lanes_find(&l, 7, 0);
    assert_int_not_equal(lane, other);
    assert_int_equal(rs_lanes_find(&l, 7, 7), UINT32_MAX);
    assert_int_equal(l.entries[rs_lanes_before(&l, lane, 30, false)].value, 4);
    assert_int_equal(l.entries[rs_lanes_before(&l, lane, 30, true)].value, 2);
    assert_true(rs_lanes_before(&l, lane, 9, false) == SIZE_MAX);
    assert_int_equal(l.entries[rs_lanes_after(&l, lane, 11)].value, 1);
    assert_int_equal(l.entries[rs_lanes_after(&l, other, 0)].value, 3);
    assert_true(rs_lanes_after(&l, lane, 31) == SIZE_MAX);
    assert_true(rs_lanes_after(&l, UINT32_MAX, 0) == SIZE_MAX);
    rs_lanes_clear(&l);
    assert_true(rs_lanes_finish(&l));
    assert_true(rs_lanes_before(&l, 0, 0, false) == SIZE_MAX);
    rs_lanes_clear(&l);
}

/* More pairs than are remembered, each with two times, added in another order than they are asked for: each pair has its own two, and none has
 * those of the pair turned round. */
TEST(test_many_lanes)
{
    const int64_t n = 12;
    rs_lanes l = {0};
    for (int64_t k = 0; k < 2 * n * n; k++) {
        const int64_t pair = k * 35 % (n * n), first = pair / n, second = pair % n - 1;
        if ((first + second) % 5 == 0) continue;
        assert_true(
            rs_lanes_add(&l, first, second, 1000 * (k < n * n ? 2 : 1), (uint32_t)(2 * pair + (k < n * n))));
    }
    assert_true(rs_lanes_finish(&l));
    assert_int_equal(rs_lanes_find(&l, n, 0), UINT32_MAX); /* one number is in other pairs */
    assert_int_equal(rs_lanes_find(&l, 0, n), UINT32_MAX);
    for (int64_t pair = 0; pair < n * n; pair++) {
        const int64_t first = pair / n, second = pair % n - 1;
        const uint32_t lane = rs_lanes_find(&l, first, second);
        assert_int_equal(lane == UINT32_MAX, (first + second) % 5 == 0);
        if (lane == UINT32_MAX) continue;
        const size_t early = rs_lanes_after(&l, lane, 0), late = rs_lanes_before(&l, lane, INT64_MAX, false);
        assert_int_equal(late, early + 1);
        assert_int_equal(l.entries[early].value, 2 * pair);
        assert_int_equal(l.entries[late].value, 2 * pair + 1);
        assert_true(rs_lanes_before(&l, lane, 1000, true) == SIZE_MAX);
        assert_true(rs_lanes_after(&l, lane, 2001) == SIZE_MAX);
    }
    rs_lanes_clear(&l);
}

/* ---- synchronizations ---------------------------------------------------------------------------------- */

#define X(cat, name, pid, tid, ts, dur, args)                                                                \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts  \
    ",\"dur\":" #dur ",\"args\":{" args "}},"
#define CALL(name, ts, dur, correlation)                                                                     \
    X("cuda_runtime", name, 9, 9, ts, dur, "\"correlation\":" #correlation)
#define WORK(cat, stream, ts, dur, correlation)                                                              \
    X(cat, "k" #correlation, 0, stream, ts, dur,                                                             \
      "\"correlation\":" #correlation ",\"stream\":" #stream ",\"device\":0,\"External id\":" #correlation)
#define SYNC(name, ts, dur, correlation, args)                                                               \
    X("cuda_sync", name, 0, 7, ts, dur, "\"correlation\":" #correlation ",\"device\":0" args)

/* Two streams. 7: work 1 (100-200), work 4 waits for 8 (310-350). 8: work 2 (120-300). Then every sync. */
#define LAUNCHES(launch, record, wait)                                                                       \
    CALL(launch, 10, 5, 1)                                                                                   \
    CALL(launch, 20, 5, 2)                                                                                   \
    CALL(record, 30, 2, 3)                                                                                   \
    CALL(wait, 40, 2, 5)                                                                                     \
    CALL(launch, 50, 5, 4)                                                                                   \
    WORK("kernel", 7, 100, 100, 1) WORK("kernel", 8, 120, 180, 2) WORK("kernel", 7, 310, 40, 4)

static const char cuda[] =
    "{\"traceEvents\":[" LAUNCHES("cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent")
    /* 8 */ SYNC("Stream Wait Event", 40, 2, 5,
                 ",\"stream\":7,\"wait_on_stream\":8,\"wait_on_cuda_event_record_corr_id\":3")
    /* 9 */ CALL("cudaEventSynchronize", 60, 242, 6)
    /* 10 */ SYNC("Event Sync", 61, 240, 6,
                  ",\"stream\":-1,\"wait_on_stream\":8,\"wait_on_cuda_event_record_corr_id\":3")
    /* 11 */ CALL("cudaStreamSynchronize", 305, 50, 7)
    /* 12 */ SYNC("Stream Sync", 306, 48, 7, ",\"stream\":7")
    /* 13 */ CALL("cudaDeviceSynchronize", 360, 5, 8)
    /* 14 */ SYNC("Context Sync", 361, 3, 8, ",\"stream\":-1")
    /* 15 */ CALL("cudaMemcpy", 400, 60, 9)
    /* 16 */ WORK("gpu_memcpy", 7, 410, 40, 9) "{\"ph\":\"M\"}]}";

/* The same on ROCm: only calls. */
static const char hip[] =
    "{\"traceEvents\":[" LAUNCHES("hipLaunchKernel", "hipEventRecord", "hipStreamWaitEvent")
    /* 8 */ CALL("hipEventSynchronize", 60, 242, 6)
    /* 9 */ CALL("hipStreamSynchronize", 305, 50, 7)
    /* 10 */ CALL("hipDeviceSynchronize", 360, 5, 8)
    /* 11 */ CALL("hipMemcpy", 400, 60, 9)
    /* 12 */ WORK("gpu_memcpy", 7, 410, 40, 9) "{\"ph\":\"M\"}]}";

/* The record starts in the microsecond in which the call does that waits for it; what was recorded earlier is over. */
static const char same_us[] =
    "{\"traceEvents\":[" LAUNCHES("cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent")
    /* 8 */ CALL("cudaLaunchKernel", 356, 3, 6)
    /* 9 */ CALL("cudaEventRecord", 360, 0, 7)
    /* 10 */ CALL("cudaEventSynchronize", 360, 55, 8)
    /* 11 */ WORK("kernel", 7, 370, 40, 6) "{\"ph\":\"M\"}]}";

/* Waits that say nothing: before anything was recorded or launched, and for what was over. */
static const char unnamed[] = "{\"traceEvents\":["
    /* 0 */ CALL("hipEventSynchronize", 1, 1, 20)
    /* 1 */ CALL("hipStreamSynchronize", 4, 1, 21)
    /* 2 */ CALL("hipStreamWaitEvent", 6, 1, 22)
    /* 3 */ CALL("hipLaunchKernel", 10, 5, 1)
    /* 4 */ CALL("hipEventRecord", 30, 2, 3)
    /* 5 */ WORK("kernel", 7, 100, 100, 1)
    /* 6 */ CALL("hipEventSynchronize", 201, 5, 23) "{\"ph\":\"M\"}]}";

/* Two waits for events that no call recorded. A third is of a stream that gets no more work: it makes nothing wait. */
static const char unknown[] =
    "{\"traceEvents\":[" LAUNCHES("cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent")
    /* 8 */ SYNC("Stream Wait Event", 40, 2, 5,
                 ",\"stream\":7,\"wait_on_stream\":8,\"wait_on_cuda_event_record_corr_id\":77")
    /* 9 */ CALL("cudaEventSynchronize", 60, 242, 6)
    /* 10 */ SYNC("Event Sync", 61, 240, 6,
                  ",\"stream\":-1,\"wait_on_stream\":8,\"wait_on_cuda_event_record_corr_id\":78")
    /* 11 */ CALL("cudaStreamWaitEvent", 355, 2, 7)
    /* 12 */ SYNC(
        "Stream Wait Event", 355, 2, 7,
        ",\"stream\":8,\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":3") "{\"ph\":\"M\"}]}";

static rs_status ask(const char *name, const char *trace, const char *const *settings, size_t n,
                     rs_compat compat, rs_result *result, rs_error *err)
{
    const rs_analysis *a = rs_analysis_find(name);
    assert_non_null(a);
    rs_job_settings job_settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    rs_job *job;
    size_t n_specs;
    const rs_option_spec *specs = rs_analysis_options(a, &n_specs);
    *result = (rs_result){0};
    rs_status status = rs_job_open_bytes(trace, strlen(trace), "trace.json", &job_settings, &job, err);
    if (status != RS_OK) return status;
    rs_options *options;
    status = rs_options_create(specs, n_specs, &options, err);
    for (size_t i = 0; status == RS_OK && i < n; i += 2)
        status = rs_options_set(options, settings[i], settings[i + 1], err);
    if (status == RS_OK) status = rs_job_run(job, a, options, compat, result, err);
    rs_options_free(options);
    rs_job_close(job);
    return status;
}

/* untold: how many waits name no work; a note gives their number. */
static void expect_syncs(const char *trace, const char *want, int untold)
{
    static const char *const settings[] = {"annotation", "", "sync-edges", NULL};
    rs_result r;
    char got[400] = "", line[400];
    size_t at = 0, length;
    rs_error err = RS_ERROR_INIT;
    if (ask("critical-path", trace, settings, 4, RS_COMPAT_NONE, &r, &err) != RS_OK)
        fail_msg("%s", rs_error_text(&err, line, sizeof line));
    const rs_table *t = rs_result_table(&r, "sync_edges");
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        at += (size_t)sprintf(got + at, "%s %d>%d%s\n", rs_table_text(t, i, 11, &length),
                              (int)rs_table_int(t, i, 1), (int)rs_table_int(t, i, 2),
                              rs_table_is_null(t, i, 12) ? "" : " told");
    assert_string_equal(got, want);
    if (untold) snprintf(line, sizeof line, "rank 0: of %d waits the trace does not say", untold);
    assert_int_equal(r.n_notes, untold > 0);
    if (untold && !strstr(r.notes[0], line)) fail_msg("%s, not: %s", r.notes[0], line);
    if (!*want) {
        rs_result_clear(&r);
        return;
    }
    /* an end without an external id is kept and marked */
    assert_true(rs_table_is_null(t, 1, 4));
    assert_false(rs_table_is_null(t, 1, 3));
    rs_result_clear(&r);
}

TEST(test_syncs)
{
    expect_syncs(cuda,
                 "stream_wait_event 6>7 told\nevent_sync 6>9 told\nstream_sync 7>11 told\n"
                 "context_sync 6>13 told\ncontext_sync 7>13 told\ncopy 16>15\n",
                 0);
    expect_syncs(hip,
                 "stream_wait_event 6>7\nevent_sync 6>8\nstream_sync 7>9\n"
                 "context_sync 6>10\ncontext_sync 7>10\ncopy 12>11\n",
                 0);
    expect_syncs(same_us, "stream_wait_event 6>7\nevent_sync 11>10\n", 0);
    expect_syncs(unnamed, "", 4);
    expect_syncs(unknown, "", 2);
}

/* ---- the path
 * ---------------------------------------------------------------------------------------------- */

static double cell(const rs_table *t, const char *column)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t c = 0; c < spec->n_columns; c++)
        if (strcmp(spec->columns[c].name, column) == 0) return rs_table_real(t, 0, c);
    fail_msg("no column %s", column);
    return 0;
}

TEST(test_path)
{
    static const char *const settings[] = {"annotation", ""};
    const char *const traces[] = {cuda, hip};
    for (size_t i = 0; i < 2; i++) {
        rs_result r;
        assert_int_equal(ask("critical-path", traces[i], settings, 2, RS_COMPAT_NONE, &r, NULL), RS_OK);
        const rs_table *t = r.tables[0];
        /* call 10-20, launch of 2 at 20 to 120, work 2 to 300, gap to 310, work 4 to 350, then the host until
         * the copy's launch at 400, the copy 410 to 450, and its call's return at 460 */
        assert_true(cell(t, "path_weight") == 450);
        assert_true(cell(t, "launch_us") == 100 + 10);
        assert_true(cell(t, "gpu_compute_us") == 180 + 40);
        assert_true(cell(t, "gap_us") == 10);
        assert_true(cell(t, "gpu_copy_us") == 40);
        assert_true(cell(t, "cpu_us") == 10 + 50 + 10);
        rs_result_clear(&r);
    }
}

TEST(test_words)
{
    rs_result r;
    rs_error err = RS_ERROR_INIT;
    static const char *const missing[] = {"annotation", "step"};
    assert_int_equal(ask("critical-path", cuda, missing, 2, RS_COMPAT_NONE, &r, &err), RS_ERR_USAGE);
    rs_result_clear(&r);
    static const char *const bad[] = {"instance", "1-0"};
    assert_int_equal(ask("critical-path", cuda, bad, 2, RS_COMPAT_NONE, &r, &err), RS_ERR_USAGE);
    rs_result_clear(&r);
    static const char *const counters[] = {"counters", "queue,speed"};
    assert_int_equal(ask("annotate", cuda, counters, 2, RS_COMPAT_NONE, &r, &err), RS_ERR_USAGE);
    rs_result_clear(&r);
    assert_int_equal(ask("sequences", cuda, NULL, 0, RS_COMPAT_NONE, &r, &err), RS_ERR_USAGE);
    rs_result_clear(&r);
    /* no annotation named, none there: the whole trace, and a word about it */
    assert_int_equal(ask("critical-path", cuda, NULL, 0, RS_COMPAT_NONE, &r, &err), RS_OK);
    assert_int_equal(rs_table_n_rows(r.tables[0]), 1);
    assert_int_equal(r.n_notes, 1);
    rs_result_clear(&r);
}

TEST(test_nothing_there)
{
    NEEDS_PEERS();
    static const char *const empty[] = {
        "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\",\"pid\":1}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,"
        "\"tid\":1,\"ts\":1,\"dur\":2}]}"};
    static const char *const op[] = {"op", "nothing"};
    static const rs_compat modes[] = {RS_COMPAT_NONE, RS_COMPAT_HTA, RS_COMPAT_HTA_EXACT};
    for (size_t i = 0; i < 2; i++)
        for (size_t m = 0; m < 3; m++) {
            rs_result r;
            assert_int_equal(ask("sequences", empty[i], op, 2, modes[m], &r, NULL), RS_OK);
            assert_int_equal(rs_table_n_rows(r.tables[0]), 0);
            assert_int_equal(r.n_notes, 1);
            rs_result_clear(&r);
            assert_int_equal(ask("counters", empty[i], NULL, 0, modes[m], &r, NULL), RS_OK);
            assert_int_equal(rs_table_n_rows(r.tables[0]), 0);
            rs_result_clear(&r);
            assert_int_equal(ask("annotate", empty[i], NULL, 0, modes[m], &r, NULL), RS_OK);
            assert_int_equal(rs_table_n_rows(r.tables[0]), 0);
            rs_result_clear(&r);
        }
}

/* Whatever allocation fails, the answer is that memory ran out, or it is whole. */
TEST(test_every_allocation_may_fail)
{
    NEEDS_PEERS();
    static const char *const path[] = {"annotation", "",           "breakdown", NULL,      "edges",
                                       NULL,         "sync-edges", NULL,        "overlay", "x"};
    static const char *const sequences[] = {"op", "cuda", "min-length", "1", "overlay", "x"};
    static const struct {
        const char *name;
        const char *const *settings;
        size_t n;
    } runs[] = {{"critical-path", path, 10},
                {"sequences", sequences, 6},
                {"counters", NULL, 0},
                {"annotate", NULL, 0}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        for (int m = 0; m < 2; m++) {
            rs_compat compat = m ? RS_COMPAT_HTA : RS_COMPAT_NONE;
            rs_status status = RS_ERR_NOMEM;
            uint64_t k = 1;
            for (; status != RS_OK && k < 100000; k++) {
                rs_result r;
                rs_error err = RS_ERROR_INIT;
                char line[400];
                rs_test_fail_allocation(k);
                status = ask(runs[i].name, cuda, runs[i].settings, runs[i].n, compat, &r, &err);
                rs_test_fail_allocation(0);
                if (status != RS_OK && status != RS_ERR_NOMEM)
                    fail_msg("%s, allocation %d: %s", runs[i].name, (int)k,
                             rs_error_text(&err, line, sizeof line));
                rs_result_clear(&r);
            }
            assert_int_equal(status, RS_OK);
            assert_true(k > 10);
        }
}
