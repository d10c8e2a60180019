/* Which work a tensor-parallel group shares out: layers made by hand, from the shapes of their operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "builder.h"
#include "engine/skeleton.h"
#include "perf/owner.h"

#define US 1000
enum { MAIN = 100, BACKWARD = 2, TOKENS = 64, MOST = 64 };

/* A rank's trace while it is made: one operator and its kernel after the other. */
typedef struct made {
    builder b;
    int64_t at, correlation;
    const char *names[MOST]; /* of kernels, in order */
    size_t n;
} made;

static void begin(made *m)
{
    *m = (made){.b = builder_create(), .correlation = 1};
    add_row(&m->b, 'X', "user_annotation", "ProfilerStep#1", MAIN, MAIN, 0, 100000 * US);
}

static void run_on(made *m, int64_t thread, const char *op, const char *dims, const char *kernel)
{
    const int64_t at = m->at += 50 * US;
    char types[128] = "[";
    for (const char *p = dims; (p = strstr(p, "[[") ? strstr(p, "[[") + 1 : strstr(p, ",[")) != NULL;) {
        snprintf(types + strlen(types), sizeof types - strlen(types), "%s\"c10::BFloat16\"",
                 types[1] ? "," : "");
        p = strchr(p, ']');
        if (!p) break;
    }
    snprintf(types + strlen(types), sizeof types - strlen(types), "]");
    add_row(&m->b, 'X', "cpu_op", op, MAIN, thread, at, 20 * US);
    add_text(&m->b, RS_COL_INPUT_DIMS, dims);
    add_text(&m->b, RS_COL_INPUT_TYPE, types);
    add_row(&m->b, 'X', "cuda_runtime", "cudaLaunchKernel", MAIN, thread, at + 2 * US, 5 * US);
    add_arg(&m->b, RS_COL_CORRELATION, m->correlation);
    add_kernel(&m->b, kernel, 0, 7, at + 10 * US, 30 * US, m->correlation++);
    m->names[m->n++] = kernel;
}

static void run(made *m, const char *op, const char *dims, const char *kernel)
{
    run_on(m, MAIN, op, dims, kernel);
}

static void reduce(made *m, const char *description, int64_t elements)
{
    const int64_t at = m->at += 50 * US;
    add_row(&m->b, 'X', "cpu_op", "c10d::allreduce_", MAIN, MAIN, at, 20 * US);
    add_row(&m->b, 'X', "cuda_runtime", "cudaLaunchKernel", MAIN, MAIN, at + 2 * US, 5 * US);
    add_arg(&m->b, RS_COL_CORRELATION, m->correlation);
    add_kernel(&m->b, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 0, 20, at + 10 * US, 30 * US,
               m->correlation++);
    add_text(&m->b, RS_COL_COLLECTIVE, "allreduce");
    add_text(&m->b, RS_COL_DTYPE, "BFloat16");
    add_text(&m->b, RS_COL_GROUP_NAME, "1");
    add_text(&m->b, RS_COL_GROUP_DESC, description);
    add_text(&m->b, RS_COL_GROUP_RANKS, "[0, 1]");
    add_arg(&m->b, RS_COL_GROUP_SIZE, 2);
    add_arg(&m->b, RS_COL_IN_NELEMS, elements);
    add_arg(&m->b, RS_COL_OUT_NELEMS, elements);
}

/* A layer that reads H columns, has PART of an inner size on this rank, and writes H; and gradients of its two weights. */
#define H 8
#define PART 12 /* of the inner size: not H, so that an activation is known by its size */

static rs_skeleton *finish(made *m, bool placed)
{
    rs_trace trace;
    rs_skeleton *s = NULL;
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_trace_init(&trace, m->b.e, NULL, m->b.e->n);
    assert_int_equal(rs_skeleton_of(&trace, &policy, &s, NULL), RS_OK);
    assert_non_null(s);
    if (placed) assert_int_equal(rs_skeleton_place(s, &trace, NULL), RS_OK);
    assert_int_equal(rs_skeleton_share_out(s, &trace, NULL), RS_OK);
    assert_int_equal(s->n_shared, s->n);
    rs_trace_clear(&trace);
    rs_events_free(m->b.e);
    return s;
}

/* The share of the kernel of that name; the test fails where there is none. */
static const rs_skeleton_share *share_of(const rs_skeleton *s, const char *kernel)
{
    for (uint32_t i = 1; i < s->n; i++) {
        const char *name = rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name);
        if (rs_skeleton_is_work(s, i) && name && strcmp(name, kernel) == 0) return &s->shares[s->share[i]];
    }
    fail_msg("no kernel %s", kernel);
    return NULL;
}

static void is_product(const rs_skeleton *s, const char *kernel, int64_t rows, int64_t n, int64_t k,
                       uint8_t over)
{
    const rs_skeleton_share *x = share_of(s, kernel);
    assert_int_equal(x->m, rows);
    assert_int_equal(x->n, n);
    assert_int_equal(x->k, k);
    assert_int_equal(x->how, RS_SHARE_PART);
    assert_int_equal(x->over, over);
}

static void add_layer(made *m, const char *description)
{
    run(m, "aten::mm", "[[64,8],[8,12]]", "column");
    run(m, "aten::gelu", "[[64,12]]", "between");
    run(m, "aten::mm", "[[64,12],[12,8]]", "row");
    reduce(m, description, TOKENS * H);
    run(m, "aten::native_layer_norm", "[[64,8]]", "norm");
    run(m, "aten::mm", "[[64,8],[8,8]]", "whole product");
    run(m, "aten::mul", "[[96]]", "of the weight"); /* as many elements as a part of it has */
    run(m, "aten::mul", "[[7]]", "of no size");
    run_on(m, BACKWARD, "aten::mm", "[[12,64],[64,8]]", "gradient of the row's weight");
    run_on(m, BACKWARD, "aten::mm", "[[8,64],[64,12]]", "gradient of the column's weight");
}

static void shares_a_layer(void **state)
{
    (void)state;
    made m;
    begin(&m);
    add_layer(&m, "TENSOR_MODEL_PARALLEL_GROUP");
    rs_skeleton *s = finish(&m, true);
    is_product(s, "row", TOKENS, H, PART, 2);
    is_product(s, "column", TOKENS, PART, H, 1);
    is_product(s, "gradient of the row's weight", PART, H, TOKENS, 0);
    is_product(s, "gradient of the column's weight", H, PART, TOKENS, 1);
    assert_int_equal(share_of(s, "between")->how, RS_SHARE_PART);
    assert_int_equal(share_of(s, "of the weight")->how, RS_SHARE_PART);
    assert_int_equal(share_of(s, "norm")->how, RS_SHARE_WHOLE);
    assert_int_equal(share_of(s, "of no size")->how, RS_SHARE_WHOLE);
    const rs_skeleton_share *whole = share_of(s, "whole product");
    assert_int_equal(whole->how,
                     RS_SHARE_WHOLE); /* a product of every rank's own, which the fit may learn from */
    assert_int_equal(whole->m, TOKENS);
    rs_skeleton_free(s);
}

static void only_of_a_tensor_group(void **state)
{
    (void)state;
    made m;
    begin(&m);
    add_layer(&m, "DATA_PARALLEL_GROUP");
    rs_skeleton *s = finish(&m, true);
    for (size_t i = 0; i < s->n_shares; i++) assert_int_equal(s->shares[i].how, RS_SHARE_WHOLE);
    assert_int_equal(share_of(s, "row")->k, PART); /* products are known all the same */
    rs_skeleton_free(s);
}

/* A part of the inner activation has as many elements as an outer one: then names say which, or it is not known. */
static void sizes_that_fit_both(void **state)
{
    (void)state;
    made m;
    begin(&m);
    run(&m, "aten::mm", "[[64,16],[16,16]]", "column");
    run(&m, "aten::gelu", "[[64,16]]", "gelu");
    run(&m, "aten::mul", "[[64,16]]", "either");
    run(&m, "aten::mm", "[[64,16],[16,16]]", "row");
    reduce(&m, "TENSOR_MODEL_PARALLEL_GROUP", TOKENS * 16);
    run(&m, "aten::native_layer_norm", "[[64,16]]", "norm");
    rs_skeleton *s = finish(&m, true);
    is_product(s, "row", TOKENS, 16, 16, 2);
    assert_int_equal(share_of(s, "gelu")->how, RS_SHARE_PART);
    assert_int_equal(share_of(s, "either")->how, RS_SHARE_UNKNOWN);
    assert_int_equal(share_of(s, "norm")->how, RS_SHARE_WHOLE);
    rs_skeleton_free(s);
}

/* A batch of rows in front, a weight as aten::linear has it, and a product whose result is not what is reduced next. */
static void other_forms(void **state)
{
    (void)state;
    made m;
    begin(&m);
    run(&m, "aten::linear", "[[2,32,12],[8,12]]", "row");
    reduce(&m, "TENSOR_MODEL_PARALLEL_GROUP", TOKENS * H);
    run(&m, "aten::mm", "[[64,12],[12,9]]", "another");
    reduce(&m, "TENSOR_MODEL_PARALLEL_GROUP", TOKENS * H);
    run(&m, "aten::mm", "[[64,12],[12]]", "a vector");
    run(&m, "aten::bmm", "[[4,16,8],[4,8,16]]", "attention");
    rs_skeleton *s = finish(&m, true);
    is_product(s, "row", TOKENS, H, PART, 2);
    assert_int_equal(share_of(s, "another")->how, RS_SHARE_WHOLE);
    assert_int_equal(share_of(s, "another")->n, 9);
    assert_int_equal(share_of(s, "a vector")->m, 0);
    assert_int_equal(share_of(s, "attention")->m, 0);
    assert_int_equal(share_of(s, "attention")->how, RS_SHARE_PART);
    rs_skeleton_free(s);
}

/* Nothing is shared out where the group reduces nothing that a product makes. */
static void without_products(void **state)
{
    (void)state;
    made m;
    begin(&m);
    run(&m, "aten::native_layer_norm", "[[64,8]]", "norm");
    reduce(&m, "TENSOR_MODEL_PARALLEL_GROUP", TOKENS * H);
    run(&m, "aten::mm", "[[64,8],[8,8]]", "own");
    rs_skeleton *s = finish(&m, false);
    for (size_t i = 0; i < s->n_shares; i++) assert_int_equal(s->shares[i].how, RS_SHARE_WHOLE);
    rs_skeleton_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_a_layer),
                                       cmocka_unit_test(only_of_a_tensor_group),
                                       cmocka_unit_test(sizes_that_fit_both), cmocka_unit_test(other_forms),
                                       cmocka_unit_test(without_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
