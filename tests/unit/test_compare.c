/* compare over traces made by hand: parts add up, work belongs to the lowest pair above it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/memory.h"
#include "builder.h"
#include "unit.h"

/* ---- traces -------------------------------------------------------------------------------------------- */

/* Work of one operator: a call inside it, and a kernel. */
static void work(builder *b, const char *kernel, int64_t at, int64_t duration, int64_t correlation)
{
    add_call(b, "cudaLaunchKernel", 1, at, correlation);
    add_kernel(b, kernel, 0, 7, at + 100, duration, correlation);
}

static void leaf(builder *b, const char *op, const char *kernel, int64_t at, int64_t duration,
                 int64_t correlation)
{
    add_op(b, op, 1, at, 20, correlation);
    work(b, kernel, at + 1, duration, correlation);
}

/* A layer of three operators: an unfused attention, and two that both sides have. */
static builder first_trace(void)
{
    builder b = builder_create();
    add_op(&b, "layer", 1, 1000, 900, 100);
    leaf(&b, "aten::mm", "gemm_nvidia", 1010, 500, 1);
    add_op(&b, "attention", 1, 1100, 300, 101);
    leaf(&b, "aten::bmm", "bmm", 1110, 70, 2);
    leaf(&b, "aten::_softmax", "softmax", 1150, 30, 3);
    leaf(&b, "aten::bmm", "bmm", 1200, 80, 4);
    leaf(&b, "aten::add", "add", 1500, 11, 5);
    leaf(&b, "only_here", "gone", 3000, 5, 6);
    work(&b, "bare", 4000, 3, 7);              /* a call without an operator */
    add_kernel(&b, "left", 0, 7, 5000, 9, -1); /* no launch */
    return b;
}

/* The same on another vendor's device, with a fused attention, and an address in a name. */
static builder second_trace(void)
{
    builder b = builder_create();
    add_op(&b, "layer", 1, 1000, 900, 100);
    leaf(&b, "aten::mm", "Cijk_gemm", 1010, 600, 1);
    add_op(&b, "attention", 1, 1100, 300, 101);
    leaf(&b, "fused", "fmha", 1110, 90, 2);
    leaf(&b, "aten::add", "add_hip", 1500, 11, 5);
    leaf(&b, "aten::copy_", "copy", 1600, 2, 8);
    add_kernel(&b, "left_hip", 0, 7, 5000, 9, -1);
    return b;
}

/* ---- running ------------------------------------------------------------------------------------------- */

typedef struct outcome {
    rs_result result;
    rs_options *options;
} outcome;

static const rs_analysis *compare(void)
{
    return rs_analysis_find("compare");
}

static rs_status run_over(builder *builders, size_t n, const char *by, const char *top, outcome *out,
                          rs_error *err)
{
    static const char *const names[] = {"x/2thread/a.json", "x/16thread/b.json", "x/2thread/c.json"};
    const rs_analysis *a = compare();
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_partial partials[3];
    rs_trace traces[3];
    size_t n_tables, done = 0;
    *out = (outcome){0};
    rs_status status = rs_options_create(a->options, a->n_options, &out->options, err);
    if (status == RS_OK) status = rs_options_set(out->options, "by", by, err);
    if (status == RS_OK && top) status = rs_options_set(out->options, "top", top, err);
    if (status == RS_OK) status = rs_options_set(out->options, "axis", "threads={}thread", err);
    rs_run run = {.options = out->options, .policy = &policy};
    for (; status == RS_OK && done < n; done++) {
        rs_trace_init(&traces[done], builders[done].e, NULL, builders[done].e->n);
        partials[done] = (rs_partial){.rank = 0, .source = names[done], .side = (unsigned)done};
        status = a->rank(&run, &traces[done], &partials[done].value, err);
    }
    const rs_table_spec *const *specs = rs_analysis_tables(a, RS_COMPAT_NONE, &n_tables);
    out->result.tables = rs_calloc(n_tables, sizeof *out->result.tables);
    if (!out->result.tables) status = RS_ERR_NOMEM;
    for (size_t i = 0; status == RS_OK && i < n_tables; i++) {
        out->result.tables[i] = rs_table_create(specs[i]);
        out->result.n_tables = i + 1;
        if (!out->result.tables[i]) status = RS_ERR_NOMEM;
    }
    if (status == RS_OK) status = a->merge(&run, partials, n, &out->result, err);
    for (size_t i = 0; i < done; i++) {
        if (i + 1 < done || status == RS_OK || partials[i].value) a->free_partial(partials[i].value);
        rs_trace_clear(&traces[i]);
    }
    return status;
}

static void clear(outcome *out)
{
    rs_options_free(out->options);
    rs_result_clear(&out->result);
}

static double cell(const rs_table *t, size_t row, const char *column)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, column) == 0)
            return rs_table_is_null(t, row, i) ? -1 : rs_table_real(t, row, i);
    fail_msg("no column %s", column);
    return 0;
}

static const char *text(const rs_table *t, size_t row, const char *column)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, column) == 0)
            return rs_table_is_null(t, row, i) ? "" : rs_table_text(t, row, i, &(size_t){0});
    fail_msg("no column %s", column);
    return NULL;
}

static double sum(const rs_table *t, const char *column, int64_t variant)
{
    double all = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        if ((int64_t)cell(t, i, "variant") == variant) all += cell(t, i, column);
    return all;
}

static void check_row(const rs_table *t, const char *name, const char *ops_a, const char *ops_b,
                      double time_a, double time_b, const char *verdict)
{
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        if ((int64_t)cell(t, i, "variant") != 1 || strcmp(text(t, i, "name"), name) != 0) continue;
        assert_string_equal(text(t, i, "ops_a"), ops_a);
        assert_string_equal(text(t, i, "ops_b"), ops_b);
        assert_float_equal(cell(t, i, "time_a_us"), time_a, 1e-9);
        assert_float_equal(cell(t, i, "time_b_us"), time_b, 1e-9);
        assert_string_equal(text(t, i, "verdict"), verdict);
        return;
    }
    fail_msg("no row %s", name);
}

static void with_traces(void (*check)(builder *builders))
{
    builder builders[3] = {first_trace(), second_trace(), first_trace()};
    check(builders);
    for (int i = 0; i < 3; i++) rs_events_free(builders[i].e);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* 500 + 70 + 30 + 80 + 11 + 5 + 3 + 9 against 600 + 90 + 11 + 2 + 9 ns, whatever the key. */
static void check_sums(builder *builders)
{
    static const char *const ways[] = {"args", "op", "kernel", "category", "module", "tree"};
    for (size_t i = 0; i < 6; i++) {
        outcome out;
        assert_int_equal(run_over(builders, 3, ways[i], NULL, &out, NULL), RS_OK);
        const rs_table *t = out.result.tables[out.result.main_table];
        assert_float_equal(sum(t, "time_a_us", 1), 0.708, 1e-9);
        assert_float_equal(sum(t, "time_b_us", 1), 0.712, 1e-9);
        assert_float_equal(sum(t, "time_diff_us", 1), 0.004, 1e-9);
        assert_float_equal(sum(t, "time_a_us", 2), 0.708, 1e-9);
        assert_float_equal(sum(t, "time_diff_us", 2), 0, 1e-9);
        const rs_table *inputs = rs_result_table(&out.result, "inputs");
        assert_int_equal(rs_table_n_rows(inputs), 3);
        assert_float_equal(cell(inputs, 1, "gpu_us"), 0.712, 1e-9);
        clear(&out);
    }
}

TEST(test_sums)
{
    with_traces(check_sums);
}

static void check_tree(builder *builders)
{
    outcome out;
    assert_int_equal(run_over(builders, 2, "tree", NULL, &out, NULL), RS_OK);
    const rs_table *t = rs_result_table(&out.result, "tree"), *pairs = rs_result_table(&out.result, "pairs");
    assert_int_equal(rs_table_n_rows(t), 5);
    check_row(t, "aten::mm", "aten::mm", "aten::mm", 0.5, 0.6, "slower");
    check_row(t, "attention", "aten::_softmax|aten::bmm", "fused", 0.18, 0.09, "replaced");
    check_row(t, "aten::add", "aten::add", "aten::add", 0.011, 0.011, "same");
    check_row(t, "layer", "", "aten::copy_", 0, 0.002, "only in B");
    check_row(t, "", "(unlinked)|cudaLaunchKernel|only_here", "(unlinked)", 0.017, 0.009, "replaced");
    assert_string_equal(text(t, 0, "name"), "aten::mm"); /* what differs most stands first */
    assert_int_equal(rs_table_n_rows(pairs), 5);
    for (size_t i = 0; i < rs_table_n_rows(pairs); i++) {
        if (strcmp(text(pairs, i, "name"), "attention") == 0) {
            assert_float_equal(cell(pairs, i, "depth"), 2, 0);
            assert_float_equal(cell(pairs, i, "work_a"), 3, 0);
            assert_float_equal(cell(pairs, i, "uid_a"), 4, 0);
        }
        if (strcmp(text(pairs, i, "name"), "") == 0) assert_float_equal(cell(pairs, i, "depth"), 0, 0);
    }
    clear(&out);
}

TEST(test_tree)
{
    with_traces(check_tree);
}

static void check_flat(builder *builders)
{
    outcome out;
    assert_int_equal(run_over(builders, 2, "op", NULL, &out, NULL), RS_OK);
    const rs_table *t = rs_result_table(&out.result, "names");
    size_t found = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        const char *name = text(t, i, "name");
        if (i) assert_true(cell(t, i, "count_a") >= 0);
        if (strcmp(name, "aten::bmm") == 0) {
            assert_float_equal(cell(t, i, "count_a"), 2, 0);
            assert_float_equal(cell(t, i, "mean_a_us"), 0.075, 1e-9);
            assert_float_equal(cell(t, i, "mean_b_us"), -1, 0); /* unknown */
            assert_string_equal(text(t, i, "change"), "removed");
            found++;
        }
        if (strcmp(name, "(unlinked) left_hip") == 0) {
            assert_string_equal(text(t, i, "change"), "added");
            found++;
        }
        if (strcmp(name, "cudaLaunchKernel") == 0) found++;
    }
    assert_int_equal(found, 3);
    clear(&out);
    assert_int_equal(run_over(builders, 2, "op", "2", &out, NULL), RS_OK);
    t = rs_result_table(&out.result, "names");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_string_equal(text(t, 0, "name"), "aten::bmm");
    assert_int_equal(out.result.n_notes, 1);
    clear(&out);
}

TEST(test_flat)
{
    with_traces(check_flat);
}

/* Values by number, not by text; equal ones are one row, their mean. */
static void check_axis(builder *builders)
{
    outcome out;
    assert_int_equal(run_over(builders, 3, "op", NULL, &out, NULL), RS_OK);
    const rs_table *t = rs_result_table(&out.result, "pivot");
    assert_int_equal(rs_table_n_rows(t), 2);
    assert_string_equal(text(t, 0, "threads"), "2");
    assert_string_equal(text(t, 1, "threads"), "16");
    assert_float_equal(cell(t, 0, "gpu_us"), 0.708, 1e-9);
    assert_float_equal(cell(t, 1, "aten::mm"), 0.6, 1e-9);
    clear(&out);
}

TEST(test_axis)
{
    with_traces(check_axis);
}

/* An address in a name does not keep operators apart. */
TEST(test_addresses)
{
    builder builders[2];
    static const char *const names[] = {"f at 0x7f12ab model.py(12): x", "f at 0x55 model.py(340): x"};
    for (int i = 0; i < 2; i++) {
        builders[i] = builder_create();
        leaf(&builders[i], names[i], "k", 1000, 10, 1);
    }
    outcome out;
    assert_int_equal(run_over(builders, 2, "tree", NULL, &out, NULL), RS_OK);
    const rs_table *t = rs_result_table(&out.result, "tree");
    assert_int_equal(rs_table_n_rows(t), 1);
    assert_string_equal(text(t, 0, "name"), "f at  model: x");
    clear(&out);
    for (int i = 0; i < 2; i++) rs_events_free(builders[i].e);
}

enum { N_RELU = 50 };

static void add_argument_text(builder *b, rs_column_id column, const char *json)
{
    uint32_t id = rs_strings_add(&b->e->strings, json, strlen(json));
    rs_sparse *c = &b->e->args[column];
    assert_int_equal(rs_events_reserve_column(b->e, column, 1, NULL), RS_OK);
    c->rows[c->n] = (uint32_t)(b->e->n - 1);
    c->texts[c->n++] = id;
}

/* An attention, twice, and its backward pass, which has no arguments of its own: its model takes those of the
 * forward operator by their sequence number, its row does not. And operators of one shape, by turns on two threads. */
static builder attention_trace(void)
{
    static const char *const names[] = {"FlashAttnFunc", "FlashAttnFunc", "FlashAttnFuncBackward"};
    builder b = builder_create();
    for (int i = 0; i < 3; i++) {
        add_op(&b, names[i], 1, 1000 * (i + 1), 200, i + 1);
        add_arg(&b, RS_COL_SEQUENCE_NUMBER, i == 2 ? 2 : i + 1);
        if (i < 2) {
            add_argument_text(&b, RS_COL_INPUT_DIMS, "[[2,64,4,32],[2,64,4,32],[2,64,4,32],[],[],[]]");
            add_argument_text(&b, RS_COL_INPUT_TYPE,
                              "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"Scalar\",\"Scalar\"]");
            add_argument_text(&b, RS_COL_CONCRETE_INPUTS, "[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\"]");
        }
        work(&b, "fmha", 1000 * (i + 1) + 1, 100, i + 1);
    }
    for (int i = 0; i < N_RELU; i++) {
        int64_t thread = 1 + i % 2, at = 10000 + 1000 * i;
        add_op(&b, "aten::relu", thread, at, 200, 10 + i);
        add_argument_text(&b, RS_COL_INPUT_DIMS, "[[1024]]");
        add_argument_text(&b, RS_COL_INPUT_TYPE, "[\"float\"]");
        add_call(&b, "cudaLaunchKernel", thread, at + 1, 10 + i);
        add_kernel(&b, "relu", 0, 7, at + 100, 100, 10 + i);
    }
    return b;
}

TEST(test_arguments)
{
    builder builders[2] = {attention_trace(), attention_trace()};
    outcome out;
    assert_int_equal(run_over(builders, 2, "args", NULL, &out, NULL), RS_OK);
    const rs_table *t = out.result.tables[out.result.main_table];
    assert_int_equal(rs_table_n_rows(t), 3);
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text(t, i, "name"), "aten::relu") == 0) {
            assert_float_equal(cell(t, i, "count_a"), N_RELU, 0);
            assert_string_equal(text(t, i, "input_dims"), "((1024,),)");
            continue;
        }
        bool backward = strcmp(text(t, i, "name"), "FlashAttnFuncBackward") == 0;
        assert_string_equal(text(t, i, "name"), backward ? "FlashAttnFuncBackward" : "FlashAttnFunc");
        assert_float_equal(cell(t, i, "count_a"), (backward ? 1 : 2), 0);
        assert_string_equal(text(t, i, "input_dims"),
                            backward ? "" : "((2, 64, 4, 32), (2, 64, 4, 32), (2, 64, 4, 32), (), (), ())");
        /* 2 * batch * heads * pairs * width in 100 ns, backward with five products of 32 instead of two */
        double flops = 2.0 * 2 * 4 * 64 * 64 * (backward ? 160 : 64);
        assert_true(fabs(cell(t, i, "tflops_a") - flops / 100e-9 / 1e12) < 1e-6);
    }
    clear(&out);
    for (int i = 0; i < 2; i++) rs_events_free(builders[i].e);
}

static void check_memory(builder *builders)
{
    static const char *const ways[] = {"args", "kernel", "module", "tree"};
    for (size_t i = 0; i < 4; i++)
        for (uint64_t n = 1;; n++) {
            outcome out;
            rs_test_fail_allocation(n);
            rs_status status = run_over(builders, 3, ways[i], NULL, &out, NULL);
            rs_test_fail_allocation(0);
            clear(&out);
            if (status == RS_OK) break;
            assert_int_equal(status, RS_ERR_NOMEM);
            assert_true(n < 5000);
        }
}

TEST(test_memory)
{
    with_traces(check_memory);
}
