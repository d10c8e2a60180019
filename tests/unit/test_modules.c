/* modules over a trace made by hand: a forward pass, its backward pass, a checkpoint that is computed again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/registry.h"
#include "base/memory.h"
#include "builder.h"
#include "unit.h"

static void python(builder *b, const char *name, int64_t pid, int64_t start, int64_t duration)
{
    add_row(b, 'X', "python_function", name, pid, pid, start, duration);
}

static void op(builder *b, const char *name, int64_t pid, int64_t start, int64_t duration, int64_t sequence)
{
    add_op(b, name, pid, start, duration, start);
    if (sequence >= 0) add_arg(b, RS_COL_SEQUENCE_NUMBER, sequence);
}

/* A call at `at` of thread pid, and its kernel. */
static void work(builder *b, int64_t pid, int64_t at, int64_t duration)
{
    add_call(b, "cudaLaunchKernel", pid, at, at);
    add_kernel(b, "k", 0, 7, 100000 + at, duration, at);
}

/* Thread 1 runs Net_0 > Block_0 > Block_7 > Linear_1; thread 2 the backward pass. Block_1 is a checkpoint: its forward pass
 * leaves no sequence numbers, and thread 2 runs it again before its backward pass. */
static builder make_trace(void)
{
    builder b = builder_create();
    python(&b, "nn.Module: Net_0", 1, 1000, 900);
    python(&b, "nn.Module: Block_0", 1, 1010, 200);
    python(&b, "nn.Module: Block_7", 1, 1015, 110); /* a module in one of its own class */
    python(&b, "nn.Module: Linear_1", 1, 1020, 100);
    op(&b, "aten::mm", 1, 1030, 50, 5);
    work(&b, 1, 1040, 100);
    op(&b, "aten::add", 1, 1130, 50, -1); /* in Block_0 alone */
    work(&b, 1, 1140, 20);
    python(&b, "nn.Module: Block_1", 1, 1300, 200);
    op(&b, "aten::mm", 1, 1310, 50, -1);
    work(&b, 1, 1320, 1000);
    op(&b, "aten::sum", 1, 2000, 50, -1); /* no module */
    work(&b, 1, 2010, 3);
    op(&b, "aten::loss", 1, 2100, 50, 6); /* no module either, but autograd knows it */
    work(&b, 1, 2110, 5);
    add_row(&b, 'X', "user_annotation", "Optimizer.step#AdamW.step", 1, 1, 9000, 100);
    op(&b, "aten::addcdiv_", 1, 9010, 50, -1);
    work(&b, 1, 9020, 11);

    op(&b, "autograd::engine::evaluate_function: CheckpointHook", 2, 3000, 500, -1);
    python(&b, "torch/utils/checkpoint.py(1): recompute_fn", 2, 3010, 200);
    python(&b, "nn.Module: Block_1", 2, 3020, 100);
    op(&b, "aten::mm", 2, 3030, 50, 9);
    work(&b, 2, 3040, 30);
    op(&b, "autograd::engine::evaluate_function: MmBackward0", 2, 4000, 100, 9);
    work(&b, 2, 4010, 40);
    op(&b, "autograd::engine::evaluate_function: MmBackward0", 2, 5000, 100, 5);
    work(&b, 2, 5010, 200);
    add_kernel(&b, "left", 0, 7, 200000, 7, -1);
    return b;
}

typedef struct outcome {
    rs_result result;
    rs_options *options;
    builder b;
} outcome;

static rs_status run(outcome *out, const char *by, rs_error *err)
{
    const rs_analysis *a = rs_analysis_find("modules");
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_partial partial = {.rank = 3, .source = "x.json"};
    rs_trace trace;
    size_t n_tables;
    rs_status status = rs_options_create(a->options, a->n_options, &out->options, err);
    if (status == RS_OK) status = rs_options_set(out->options, "by", by, err);
    if (status != RS_OK) return status;
    const rs_method how = rs_analysis_method(a, RS_COMPAT_NONE);
    rs_run run = {.options = out->options, .plan = how.plan, .policy = &policy};
    rs_trace_init(&trace, out->b.e, NULL, out->b.e->n);
    status = how.rank(&run, &trace, &partial.value, err);
    rs_trace_clear(&trace);
    if (status != RS_OK) return status;
    const rs_table_spec *const *specs = rs_analysis_tables(a, RS_COMPAT_NONE, &n_tables);
    out->result.tables = rs_calloc(n_tables, sizeof *out->result.tables);
    if (!out->result.tables) status = RS_ERR_NOMEM;
    for (size_t i = 0; status == RS_OK && i < n_tables; i++) {
        out->result.tables[i] = rs_table_create(specs[i]);
        out->result.n_tables = i + 1;
        if (!out->result.tables[i]) status = RS_ERR_NOMEM;
    }
    if (status == RS_OK) status = how.merge(&run, &partial, 1, &out->result, err);
    how.free_partial(partial.value);
    return status;
}

static void clear(outcome *out)
{
    rs_options_free(out->options);
    rs_result_clear(&out->result);
    rs_events_free(out->b.e);
}

static size_t column(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

/* Nanoseconds of the row whose first text is `name`. */
static int64_t cell(const rs_table *t, const char *name, const char *what)
{
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        size_t n;
        const char *text = rs_table_text(t, i, 1, &n);
        if (strcmp(text, name) != 0) continue;
        size_t at = column(t, what);
        const rs_column_spec *spec = &rs_table_get_spec(t)->columns[at];
        return spec->type == RS_TIME ? (int64_t)(rs_table_real(t, i, at) * 1000 + 0.5)
                                     : rs_table_int(t, i, at);
    }
    fail_msg("no row %s", name);
    return 0;
}

static void assert_row(const rs_table *t, const char *name, int64_t total, int64_t own, int64_t forward,
                       int64_t backward, int64_t recompute, int64_t kernels)
{
    assert_int_equal(cell(t, name, "total_us"), total);
    assert_int_equal(cell(t, name, "own_us"), own);
    assert_int_equal(cell(t, name, "forward_us"), forward);
    assert_int_equal(cell(t, name, "backward_us"), backward);
    assert_int_equal(cell(t, name, "recompute_us"), recompute);
    assert_int_equal(cell(t, name, "kernels"), kernels);
}

TEST(test_instances)
{
    outcome o = {.b = make_trace()};
    assert_int_equal(run(&o, "instance", NULL), RS_OK);
    const rs_table *t = o.result.tables[0], *phases = o.result.tables[1];
    assert_row(t, "Net_0", 1390, 0, 1120, 240, 30, 6);
    assert_row(t, "Block_0", 320, 20, 120, 200, 0, 3);
    assert_row(t, "Block_7", 300, 0, 100, 200, 0, 2);
    assert_row(t, "Linear_1", 300, 300, 100, 200, 0, 2);
    assert_row(t, "Block_1", 1070, 1070, 1000, 40, 30, 3);
    assert_row(t, "(no module)", 19, 19, 5, 0, 0, 3);
    assert_row(t, "(unlinked)", 7, 7, 0, 0, 0, 1);
    assert_int_equal(cell(t, "Block_1", "calls"), 2);
    assert_int_equal(cell(t, "Block_1", "host_us"), 300);
    int64_t own = 0;
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        own += (int64_t)(rs_table_real(t, i, column(t, "own_us")) * 1000 + 0.5);
    assert_int_equal(own, 1416); /* every kernel once */
    assert_int_equal(cell(phases, "forward", "gpu_us"), 1125);
    assert_int_equal(cell(phases, "backward", "gpu_us"), 240);
    assert_int_equal(cell(phases, "recompute", "gpu_us"), 30);
    assert_int_equal(cell(phases, "optimizer", "gpu_us"), 11);
    assert_int_equal(cell(phases, "other", "gpu_us"), 3);
    assert_int_equal(cell(phases, "unlinked", "kernels"), 1);
    clear(&o);
}

TEST(test_classes)
{
    outcome o = {.b = make_trace()};
    assert_int_equal(run(&o, "class", NULL), RS_OK);
    const rs_table *t = o.result.tables[0];
    assert_row(t, "Block", 1390, 1090, 1120, 240, 30, 6);
    assert_row(t, "Net", 1390, 0, 1120, 240, 30, 6);
    assert_int_equal(cell(t, "Block", "calls"), 4);
    clear(&o);
}

TEST(test_out_of_memory)
{
    for (uint64_t i = 1; i < 400; i++) {
        outcome o = {.b = make_trace()};
        rs_test_fail_allocation(i);
        rs_status status = run(&o, "instance", NULL);
        rs_test_fail_allocation(0);
        clear(&o);
        if (status == RS_OK) return;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    fail_msg("never enough memory");
}
