/* Links, steps and work on events built by hand. */

#include "base/memory.h"
#include "builder.h"
#include "trace/selection.h"
#include "peers.h"
#include "unit.h"

static rs_trace trace_of(builder *b)
{
    rs_trace t;
    rs_trace_init(&t, b->e, NULL, b->e->n);
    return t;
}

TEST(test_correlation_and_graphs)
{
    builder b = builder_create();
    uint32_t early = add_kernel(&b, "before its launch", 0, 7, 5, 10, 1);
    uint32_t launch = add_call(&b, "cudaLaunchKernel", 9, 100, 1);
    uint32_t graph = add_call(&b, "cudaGraphLaunch", 9, 200, 2);
    add_call(&b, "cudaLaunchKernel", 9, 250, 1); /* repeats: loses */
    uint32_t k2 = add_kernel(&b, "b", 0, 7, 400, 10, 2);
    uint32_t k1 = add_kernel(&b, "a", 0, 8, 300, 10, 2);
    add_kernel(&b, "launch not in the file", 0, 8, 500, 10, 77);
    add_kernel(&b, "no correlation", 0, 8, 600, 10, -1);
    rs_trace t = trace_of(&b);
    const rs_links *l;
    assert_int_equal(rs_trace_links(&t, &l, NULL), RS_OK);
    assert_int_equal(l->n_calls, 2);
    assert_int_equal(l->call[0], launch);
    assert_int_equal(l->call[1], graph);
    assert_int_equal(l->work_row[l->first[0]], early);
    assert_int_equal(l->first[2] - l->first[1], 2);
    assert_int_equal(l->work_row[l->first[1]], k1); /* by start, not by row */
    assert_int_equal(l->work_row[l->first[1] + 1], k2);
    assert_int_equal(l->n_unlinked, 2);
    assert_int_equal(l->n_duplicate, 1);
    assert_int_equal(l->n_early, 1);
    assert_int_equal(l->n_by_flow, 0);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_flow_tells_where_correlation_fails)
{
    builder b = builder_create();
    uint32_t call = add_row(&b, 'X', "cuda_runtime", "cudaLaunchKernel", 9, 9, 100, 10);
    add_row(&b, 's', "ac2g", "ac2g", 9, 9, 100, RS_NO_TIME);
    add_arg(&b, RS_COL_FLOW_ID, 5);
    add_kernel(&b, "k", 0, 7, 300, 10, -1);
    add_row(&b, 'f', "ac2g", "ac2g", 0, 7, 300, RS_NO_TIME);
    add_arg(&b, RS_COL_FLOW_ID, 5);
    add_kernel(&b, "its flow ends elsewhere", 0, 7, 400, 10, -1);
    add_row(&b, 'f', "ac2g", "ac2g", 0, 7, 401, RS_NO_TIME);
    add_arg(&b, RS_COL_FLOW_ID, 5);
    rs_trace t = trace_of(&b);
    const rs_links *l;
    assert_int_equal(rs_trace_links(&t, &l, NULL), RS_OK);
    assert_int_equal(l->n_by_flow, 1);
    assert_int_equal(l->launch_of[0], call);
    assert_int_equal(l->launch_of[1], RS_NO_ROW);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_steps)
{
    builder b = builder_create();
    add_step(&b, "user_annotation", "ProfilerStep#8", 9, 100, 100);
    add_step(&b, "user_annotation", "ProfilerStep#7", 9, 0, 100);
    add_step(&b, "user_annotation", "ProfilerStep#9", 9, 120, 20); /* inside 8 */
    add_step(&b, "user_annotation", "ProfilerStep#x", 9, 0, 900);  /* no step */
    add_step(&b, "gpu_user_annotation", "ProfilerStep#8", 0, 300, 100);
    add_call(&b, "cudaLaunchKernel", 9, 50, 1);
    add_kernel(&b, "of 7", 0, 7, 310, 10, 1);
    add_kernel(&b, "of 8, by the GPU's annotation", 0, 7, 330, 10, -1);
    add_kernel(&b, "of none", 0, 7, 900, 10, -1);
    rs_trace t = trace_of(&b);
    const rs_step *s;
    size_t n;
    assert_int_equal(rs_trace_steps(&t, &s, &n, NULL), RS_OK);
    assert_int_equal(n, 3);
    assert_int_equal(s[0].number, 7);
    assert_int_equal(rs_trace_step_at(s, n, 9, 0), 7);
    assert_int_equal(rs_trace_step_at(s, n, 9, 100), 8);
    assert_int_equal(rs_trace_step_at(s, n, 9, 130), 9);
    assert_int_equal(rs_trace_step_at(s, n, 9, 150), 8);
    assert_int_equal(rs_trace_step_at(s, n, 9, 200), -1);
    assert_int_equal(rs_trace_step_at(s, n, 3, 50), -1); /* another process */
    rs_policy own = rs_policy_of(RS_COMPAT_NONE);
    const rs_work *w;
    assert_int_equal(rs_trace_work_details(&t, &own, &w, NULL), RS_OK);
    assert_int_equal(w->n, 3);
    assert_int_equal(w->n_unlinked, 2);
    assert_int_equal(w->step[0], 7);
    assert_int_equal(w->step[1], 8);
    assert_int_equal(w->step[2], -1);
    rs_trace_clear(&t);
    t = trace_of(&b);
    rs_selection eight;
    assert_int_equal(rs_selection_parse(NULL, "8", NULL, &eight, NULL), RS_OK);
    t.selection = &eight;
    assert_int_equal(rs_trace_work_details(&t, &own, &w, NULL), RS_OK);
    assert_int_equal(w->n, 1);
    rs_trace_clear(&t);
    rs_selection_clear(&eight);
    rs_events_free(b.e);
}

/* Who holds the work of a policy keeps it, however many others are asked for. */
TEST(test_many_policies)
{
    NEEDS_PEERS();
    enum { N = 64 };
    builder b = builder_create();
    add_call(&b, "cudaLaunchKernel", 9, 10, 1);
    add_kernel(&b, "k", 0, 7, 100, 10, 1);
    add_kernel(&b, "no launch", 0, 7, 200, 10, -1);
    rs_trace t = trace_of(&b);
    const rs_work *held[N];
    rs_policy policies[N];
    for (unsigned i = 0; i < N; i++) {
        policies[i] = (rs_policy){.compat = RS_COMPAT_HTA,
                                  .work = i & 1 ? rs_policy_of(RS_COMPAT_HTA).work : NULL,
                                  .trim_steps = i & 2,
                                  .keep_last_step = i & 4,
                                  .whole = i & 8,
                                  .round_to_us = i & 16,
                                  .linked_only = i & 32};
        assert_int_equal(rs_trace_work(&t, &policies[i], &held[i], NULL), RS_OK);
    }
    for (unsigned i = 0; i < N; i++) {
        const rs_work *again;
        assert_int_equal(rs_trace_work(&t, &policies[i], &again, NULL), RS_OK);
        assert_ptr_equal(again, held[i]);
        for (unsigned k = 0; k < i; k++) assert_ptr_not_equal(held[k], held[i]);
        if (!(i & 1)) assert_int_equal(held[i]->n, i & 32 ? 1 : 2);
    }
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

/* A window takes host events by their start and work by its launch's; steps and window both have to hold. */
TEST(test_window)
{
    builder b = builder_create();
    add_row(&b, 'X', "user_annotation", "ProfilerStep#7", 9, 9, 0, 2000000);
    uint32_t early = add_call(&b, "cudaLaunchKernel", 9, 100, 1),
             late = add_call(&b, "cudaLaunchKernel", 9, 3000000, 2);
    add_kernel(&b, "late work of an early launch", 0, 7, 3500000, 10, 1);
    add_kernel(&b, "k", 0, 7, 3600000, 10, 2);
    add_kernel(&b, "no launch", 0, 7, 900000, 10, -1);
    rs_trace t = trace_of(&b);
    rs_selection s;
    rs_selector selector;
    rs_selected seen;
    const rs_work *w;
    rs_policy own = rs_policy_of(RS_COMPAT_NONE), whole = own;
    whole.whole = true;
    assert_int_equal(rs_selection_parse(NULL, NULL, "0-1.0", &s, NULL), RS_OK);
    assert_int_equal(s.to, 1000000);
    s.origin = 0;
    t.selection = &s;
    assert_int_equal(rs_trace_work(&t, &own, &w, NULL), RS_OK);
    assert_int_equal(w->n, 2);
    assert_int_equal(w->launch[0], early);
    assert_int_equal(rs_trace_work(&t, &whole, &w, NULL), RS_OK);
    assert_int_equal(w->n, 3);
    assert_int_equal(rs_trace_selector(&t, &selector, NULL), RS_OK);
    assert_true(rs_selects_row(&selector, early));
    assert_false(rs_selects_row(&selector, late));
    rs_selection_clear(&s);
    /* another selection has its own values; the end is outside */
    rs_selection other;
    assert_int_equal(rs_selection_parse(NULL, "7-8", "0.0001-3", &other, NULL), RS_OK);
    other.origin = 0;
    t.selection = &other;
    assert_int_equal(rs_trace_work(&t, &own, &w, NULL), RS_OK);
    assert_int_equal(w->n, 1);
    assert_int_equal(rs_trace_look(&t, &seen, NULL), RS_OK);
    assert_true(seen.any && seen.any_step && seen.any_time);
    assert_int_equal(seen.steps.n, 1);
    assert_int_equal(seen.steps.items[0].first, 7);
    rs_selected_clear(&seen);
    rs_selection_clear(&other);
    rs_error err = RS_ERROR_INIT;
    static const char *const bad[] = {"",    "5",    "5-",  "-5",      "5-5",
                                      "6-5", "1-2x", "a-b", "1e3-2e3", "9999999999999999-1e99"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rs_selection_parse(NULL, NULL, bad[i], &s, &err), RS_ERR_USAGE);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

TEST(test_negative_duration_counts_as_none)
{
    builder b = builder_create();
    add_kernel(&b, "k", 0, 7, 100, -50, 1);
    rs_trace t = trace_of(&b);
    rs_policy own = rs_policy_of(RS_COMPAT_NONE);
    const rs_work *w;
    assert_int_equal(rs_trace_work_details(&t, &own, &w, NULL), RS_OK);
    assert_int_equal(w->end[0], 100);
    rs_trace_clear(&t);
    rs_events_free(b.e);
}

static void build_sample(builder *b)
{
    *b = builder_create();
    add_step(b, "user_annotation", "ProfilerStep#1", 9, 0, 1000);
    add_step(b, "user_annotation", "ProfilerStep#2", 9, 1000, 1000);
    for (int64_t i = 0; i < 40; i++) {
        add_call(b, "cudaLaunchKernel", 9, i * 50, i * 1000003); /* ids far apart: the hash map */
        add_kernel(b, i % 3 ? "gemm" : "ncclDevKernel_AllReduce", 0, 7 + i % 2, 2100 - i * 50, 60,
                   i * 1000003);
    }
    add_kernel(b, "lost", 0, 7, 5000, 60, -1);
}

TEST(test_every_allocation_may_fail)
{
    static const rs_compat modes[] = {RS_COMPAT_NONE, RS_COMPAT_HTA, RS_COMPAT_TRACELENS};
    builder b;
    build_sample(&b);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        rs_policy policy = rs_policy_of(modes[m]);
        rs_status status = RS_ERR_NOMEM;
        uint64_t k = 0;
        while (status != RS_OK) {
            rs_trace t = trace_of(&b);
            const rs_work *w;
            rs_error err = RS_ERROR_INIT;
            rs_test_fail_allocation(++k);
            status = rs_trace_work_details(&t, &policy, &w, &err);
            rs_test_fail_allocation(0);
            assert_true(status == RS_OK || (status == RS_ERR_NOMEM && err.n_causes == 1));
            rs_trace_clear(&t);
        }
        assert_true(k > 10);
    }
    rs_events_free(b.e);
}
