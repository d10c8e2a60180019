/* variance over a trace made by hand: numbers counted by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "analysis/variance_rank.h"
#include "base/memory.h"
#include "builder.h"
#include "unit.h"

#define ROWS(p) RS_ROWS(rs_variance_row, p, RS_VARIANCE_ROWS)

/* Four runs of one kernel: alone twice (100 and 120 ns), half and wholly beside communication (200, 300 ns);
 * and one of another. */
static builder make_trace(void)
{
    builder b = builder_create();
    static const int64_t starts[] = {1000, 2000, 3000, 4000}, lengths[] = {100, 120, 200, 300};
    for (int i = 0; i < 4; i++) {
        add_op(&b, "aten::mm", 1, starts[i] - 60, 30, i + 1);
        add_call(&b, "cudaLaunchKernel", 1, starts[i] - 50, i + 1);
        add_kernel(&b, "gemm", 0, 7, starts[i], lengths[i], i + 1);
    }
    add_kernel(&b, "ncclDevKernel_AllReduce", 0, 8, 3100, 50, -1);  /* a quarter of the third */
    add_kernel(&b, "ncclDevKernel_AllReduce", 0, 8, 3900, 250, -1); /* half of the fourth, and ... */
    add_kernel(&b, "ncclDevKernel_AllGather", 0, 9, 4100, 500, -1); /* ... the rest */
    add_row(&b, 'X', "gpu_memcpy", "Memcpy HtoD", 0, 7, 4050, 30);
    add_kernel(&b, "once", 0, 7, 9000, 10, -1);
    return b;
}

static rs_status run_rank(builder *b, const char *by, const char *class, const char *least,
                          rs_relations **out)
{
    const rs_analysis *a = rs_analysis_find("variance");
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_options *options = NULL;
    rs_trace trace;
    void *partial = NULL;
    rs_status status = rs_options_create(a->options, a->n_options, &options, NULL);
    if (status == RS_OK) status = rs_options_set(options, "by", by, NULL);
    if (status == RS_OK) status = rs_options_set(options, "class", class, NULL);
    if (status == RS_OK && least) status = rs_options_set(options, "min-count", least, NULL);
    rs_run run = {.options = options, .policy = &policy, .plan = a->plan};
    rs_trace_init(&trace, b->e, NULL, b->e->n);
    if (status == RS_OK) status = rs_plan_rank(&run, &trace, &partial, NULL);
    rs_trace_clear(&trace);
    rs_options_free(options);
    *out = partial;
    return status;
}

static void check_gemm(const rs_relations *p, const rs_variance_row *v)
{
    assert_int_equal(v->time.n, 4);
    assert_int_equal(v->time.sum, 720);
    assert_float_equal(v->p50, 160, 1e-9); /* between 120 and 200 */
    assert_float_equal(v->p90, 270, 1e-9); /* 200 + 0.7 * 100 */
    assert_int_equal(v->above, 180);       /* 40 + 140 */
    assert_int_equal(v->slowest_at, 4000);
    assert_int_equal(v->fastest_at, 1000);
    assert_int_equal(v->slowest_beside_comm, 300);
    assert_int_equal(v->n_beside, 1);
    assert_int_equal(v->n_alone, 2);
    assert_float_equal((float)(v->mean_beside / v->mean_alone), 300.0f / 110, 1e-6f);
    assert_string_equal(rs_pool_text(&p->pool, v->collectives), "all_reduce:1 all_gather:1");
    /* times 100, 120, 200, 300; shares 0, 0, 0.25, 1: by numpy.corrcoef */
    assert_float_equal(v->correlation, 0.968367, 1e-5);
}

TEST(test_kernels)
{
    builder b = make_trace();
    rs_relations *p;
    assert_int_equal(run_rank(&b, "kernel", "computation", NULL, &p), RS_OK);
    assert_int_equal(p->items[RS_VARIANCE_ROWS].n, 1); /* what ran once varies in nothing */
    check_gemm(p, &ROWS(p)[0]);
    assert_int_equal(ROWS(p)[0].slowest_beside_copies, 30);
    assert_int_equal(ROWS(p)[0].slowest_row, 11);
    rs_plan_free(p);
    assert_int_equal(run_rank(&b, "kernel", "all", "1", &p), RS_OK);
    assert_int_equal(p->items[RS_VARIANCE_ROWS].n, 5);
    rs_plan_free(p);
    assert_int_equal(run_rank(&b, "kernel", "communication", NULL, &p), RS_OK);
    assert_int_equal(p->items[RS_VARIANCE_ROWS].n, 1);
    assert_true(isnan(ROWS(p)[0].correlation)); /* it is always beside itself */
    rs_plan_free(p);
    rs_events_free(b.e);
}

TEST(test_ops)
{
    builder b = make_trace();
    rs_relations *p;
    assert_int_equal(run_rank(&b, "op", "gemm", NULL, &p), RS_OK);
    assert_int_equal(p->items[RS_VARIANCE_ROWS].n, 1);
    assert_string_equal(rs_pool_text(&p->pool, ROWS(p)[0].name), "aten::mm");
    check_gemm(p, &ROWS(p)[0]);
    assert_int_equal(ROWS(p)[0].slowest_row, 9);
    rs_plan_free(p);
    assert_int_equal(run_rank(&b, "op", "attention", NULL, &p), RS_OK);
    assert_int_equal(p->items[RS_VARIANCE_ROWS].n, 0);
    rs_plan_free(p);
    rs_events_free(b.e);
}

TEST(test_memory)
{
    builder b = make_trace();
    for (int op = 0; op < 2; op++)
        for (uint64_t n = 1;; n++) {
            rs_relations *p;
            rs_test_fail_allocation(n);
            rs_status status = run_rank(&b, op ? "op" : "kernel", "all", NULL, &p);
            rs_test_fail_allocation(0);
            if (status == RS_OK) {
                rs_plan_free(p);
                break;
            }
            assert_int_equal(status, RS_ERR_NOMEM);
            assert_true(n < 2000);
        }
    rs_events_free(b.e);
}
