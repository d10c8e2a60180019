/* fragments over a trace made by hand: short kernels, gaps, and their lengths; all-to-alls of odd sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/registry.h"
#include "base/memory.h"
#include "builder.h"
#include "unit.h"

typedef struct outcome {
    rs_result result;
    rs_options *options;
} outcome;

static rs_status run(const char *analysis, builder *builders, size_t n, outcome *out, rs_error *err)
{
    const rs_analysis *a = rs_analysis_find(analysis);
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    rs_partial partials[4];
    size_t n_tables, done = 0;
    *out = (outcome){0};
    rs_status status = rs_options_create(a->options, a->n_options, &out->options, err);
    const rs_method how = rs_analysis_method(a, RS_COMPAT_NONE);
    rs_run run = {.options = out->options, .plan = how.plan, .policy = &policy};
    for (; status == RS_OK && done < n; done++) {
        rs_trace trace;
        partials[done] = (rs_partial){.rank = (int64_t)done, .source = "x.json"};
        rs_trace_init(&trace, builders[done].e, NULL, builders[done].e->n);
        status = how.rank(&run, &trace, &partials[done].value, err);
        rs_trace_clear(&trace);
    }
    const rs_table_spec *const *specs = rs_analysis_tables(a, RS_COMPAT_NONE, &n_tables);
    out->result.tables = rs_calloc(n_tables, sizeof *out->result.tables);
    if (!out->result.tables) status = RS_ERR_NOMEM;
    for (size_t i = 0; status == RS_OK && i < n_tables; i++) {
        out->result.tables[i] = rs_table_create(specs[i]);
        out->result.n_tables = i + 1;
        if (!out->result.tables[i]) status = RS_ERR_NOMEM;
    }
    if (status == RS_OK) status = how.merge(&run, partials, n, &out->result, err);
    for (size_t i = 0; i < done; i++) how.free_partial(partials[i].value);
    return status;
}

static void clear(outcome *out, builder *builders, size_t n)
{
    rs_options_free(out->options);
    rs_result_clear(&out->result);
    for (size_t i = 0; i < n; i++) rs_events_free(builders[i].e);
}

static size_t column(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

/* Times in ns. */
static int64_t cell(const rs_table *t, size_t row, const char *name)
{
    size_t at = column(t, name);
    assert_true(row < rs_table_n_rows(t));
    assert_false(rs_table_is_null(t, row, at));
    return rs_table_get_spec(t)->columns[at].type == RS_TIME
               ? (int64_t)(rs_table_real(t, row, at) * 1000 + 0.5)
               : rs_table_int(t, row, at);
}

static const char *text(const rs_table *t, size_t row, const char *name)
{
    size_t n;
    return rs_table_text(t, row, column(t, name), &n);
}

/* Two streams that overlap; gaps of 0.5, 10 and 15 us; kernels of 2, 2.5, 5, 9.999, 10 and 25 us. */
static builder make_trace(void)
{
    builder b = builder_create();
    add_op(&b, "aten::mm", 1, 0, 900, 1);
    for (int i = 1; i < 4; i++) add_call(&b, "cudaLaunchKernel", 1, 20 * i, i);
    add_kernel(&b, "k1", 0, 7, 1000000, 5000, 1);
    add_kernel(&b, "k2", 0, 7, 1005500, 2500, 2);
    add_row(&b, 'X', "gpu_memcpy", "copy", 0, 7, 1008000, 22000);
    add_kernel(&b, "k3", 0, 8, 1020000, 25000, 3);
    add_kernel(&b, "k6", 0, 9, 1022000, 2000, -1); /* while k3 runs */
    add_kernel(&b, "k4", 0, 7, 1060000, 9999, -1);
    add_kernel(&b, "k5", 0, 7, 1079999, 10000, -1);
    return b;
}

TEST(test_fragments)
{
    outcome o;
    builder b = make_trace();
    assert_int_equal(run("fragments", &b, 1, &o, NULL), RS_OK);
    const rs_table *t = o.result.tables[0], *kernels = o.result.tables[1], *lengths = o.result.tables[2];
    assert_int_equal(rs_table_n_rows(t), 1);
    assert_int_equal(cell(t, 0, "span_us"), 89999);
    assert_int_equal(cell(t, 0, "kernels"), 6);
    assert_int_equal(cell(t, 0, "short"), 4);
    assert_int_equal(cell(t, 0, "short_us"), 19499);
    assert_int_equal(cell(t, 0, "idle_us"), 25500);
    assert_int_equal(cell(t, 0, "micro_gaps"), 1);
    assert_int_equal(cell(t, 0, "micro_idle_us"), 500);
    assert_int_equal(cell(t, 0, "macro_gaps"), 2);
    assert_int_equal(cell(t, 0, "macro_idle_us"), 25000);
    assert_int_equal(rs_table_n_rows(kernels), 4);
    assert_string_equal(text(kernels, 0, "name"), "k4"); /* the gap before it is none of the short ones */
    assert_int_equal(cell(kernels, 0, "gap_us"), 0);
    assert_null(text(kernels, 0, "operator"));
    assert_string_equal(text(kernels, 1, "name"), "k1");
    assert_string_equal(text(kernels, 1, "operator"), "aten::mm");
    assert_string_equal(text(kernels, 2, "name"), "k2");
    assert_int_equal(cell(kernels, 2, "gap_us"), 500);
    assert_int_equal(cell(kernels, 2, "sum_us"), 2500);
    int64_t n[2] = {0}, sum[2] = {0};
    for (size_t i = 0; i < rs_table_n_rows(lengths); i++) {
        bool gap = strcmp(text(lengths, i, "what"), "gap") == 0;
        n[gap] += cell(lengths, i, "count");
        sum[gap] += cell(lengths, i, "sum_us");
    }
    assert_int_equal(n[0], 6);
    assert_int_equal(n[1], 3);
    assert_int_equal(sum[0], 54499);
    assert_int_equal(sum[1], 25500);
    assert_int_equal(cell(lengths, 0, "from_us"), 2000); /* a border belongs to what is longer */
    assert_int_equal(cell(lengths, 1, "from_us"), 5000);
    assert_int_equal(cell(lengths, 1, "count"), 2);
    assert_int_equal(cell(lengths, 2, "from_us"), 10000);
    assert_int_equal(cell(lengths, 2, "count"), 1);
    clear(&o, &b, 1);
}

/* ---- exchange ------------------------------------------------------------------------------------------ */

static void all_to_all(builder *b, int64_t start, const char *splits, int64_t elements, const char *members,
                       int64_t seq)
{
    add_kernel(b, "ncclDevKernel_SendRecv", 0, 20, start, 100, start);
    add_text(b, RS_COL_COLLECTIVE, "all_to_allv");
    add_text(b, RS_COL_DTYPE, "Float");
    add_arg(b, RS_COL_IN_NELEMS, elements);
    add_arg(b, RS_COL_GROUP_SIZE, 2);
    add_text(b, RS_COL_GROUP_NAME, "g");
    add_arg(b, RS_COL_SEQ, seq);
    if (members) add_text(b, RS_COL_GROUP_RANKS, members);
    if (splits) add_text(b, RS_COL_IN_SPLIT, splits);
}

TEST(test_exchange)
{
    outcome o;
    builder b[2] = {builder_create(), builder_create()};
    /* places of the group are not ranks in order: place 0 is rank 1 */
    all_to_all(&b[0], 1000, "[3, 1]", 400, "[1, 0]", 1); /* rows of 100 floats */
    all_to_all(&b[0], 2000, "[0, 0]", 0, "[1, 0]", 2);
    all_to_all(&b[0], 3000, "[3, 3]", 7, "[1, 0]", 3);    /* no whole number of elements a row */
    all_to_all(&b[0], 4000, "[1, 2, 3]", 6, "[1, 0]", 4); /* another number of places */
    all_to_all(&b[0], 5000, "[1, -1]", 0, "[1, 0]", 5);
    all_to_all(&b[0], 6000, "[1, x", 2, "[1, 0]", 6); /* no list: equal parts */
    all_to_all(&b[0], 7000, "[5, 5]", 10, "[1, 0]", 7);
    all_to_all(&b[0], 7200, "[5, 5]", 10, "[1, 0]", 7); /* a second kernel of the same */
    all_to_all(&b[1], 1000, "[2, 2]", 4, NULL, 1); /* members not recorded: a group as large as the job */
    assert_int_equal(run("exchange", b, 2, &o, NULL), RS_OK);
    const rs_table *t = o.result.tables[0], *ranks = o.result.tables[1];
    assert_int_equal(rs_table_n_rows(t), 4);
    assert_int_equal(cell(t, 0, "to_rank"), 1);
    assert_int_equal(cell(t, 0, "bytes"), 4 * (300 + 0 + 1 + 5));
    assert_int_equal(cell(t, 0, "count"), 4);
    assert_int_equal(cell(t, 1, "to_rank"), 0);
    assert_int_equal(cell(t, 1, "bytes"), 4 * (100 + 0 + 1 + 5));
    assert_int_equal(cell(t, 2, "to_rank"), 0);
    assert_int_equal(cell(t, 3, "to_rank"), 1);
    assert_int_equal(cell(t, 3, "bytes"), 8);
    assert_int_equal(cell(ranks, 0, "all_to_alls"), 7);
    assert_int_equal(cell(ranks, 0, "unknown"), 3);
    assert_int_equal(cell(ranks, 0, "time_us"), 800);
    assert_int_equal(cell(ranks, 0, "received_bytes"), 4 * 106 + 8);
    assert_int_equal(cell(ranks, 1, "received_bytes"), 4 * 306 + 8);
    clear(&o, b, 2);
}

/* An all-to-all of an older profiler: the kernel says nothing, the operator that launched it has its inputs. */
static void recorded_all_to_all(builder *b, int64_t start, const char *dims, const char *types,
                                const char *concrete)
{
    add_op(b, "c10d::alltoall_base_", 1, start, 90, 1);
    add_op(b, "record_param_comms", 1, start + 10, 60, 2);
    add_text(b, RS_COL_INPUT_DIMS, dims);
    add_text(b, RS_COL_INPUT_TYPE, types);
    if (concrete) add_text(b, RS_COL_CONCRETE_INPUTS, concrete);
    add_op(b, "nccl:all_to_all", 1, start + 20, 40, 3);
    add_call(b, "cudaLaunchKernelExC", 1, start + 30, start);
    add_kernel(b, "ncclDevKernel_SendRecv", 0, 20, start + 100, 100, start);
}

#define RECORDED(splits, world) "[\"\",\"4\",\"\",\"0\",\"\",\"" splits "\",\"[]\",\"0\",\"1\",\"" world "\"]"

TEST(test_exchange_of_operators)
{
    outcome o;
    builder b[2] = {builder_create(), builder_create()};
    const char *types = "[\"c10::Half\",\"Scalar\"]", *wide = "[[4,25],[]]";
    recorded_all_to_all(&b[0], 1000, wide, types, RECORDED("[3, 1]", "2")); /* 100 halves: 150 and 50 bytes */
    recorded_all_to_all(&b[0], 2000, wide, types, RECORDED("[]", "2"));     /* equal parts: 100 bytes each */
    recorded_all_to_all(&b[0], 3000, wide, types, NULL);                    /* of how many ranks? */
    recorded_all_to_all(&b[0], 4000, "[[[4,25]],[]]", "[\"TensorList\",\"Scalar\"]", RECORDED("[3, 1]", "2"));
    recorded_all_to_all(&b[0], 5000, wide, types, RECORDED("[3, 1]", "x"));
    /* arguments of the operator, where the kernel has none */
    add_op(&b[1], "record_param_comms", 1, 1000, 60, 1);
    add_text(&b[1], RS_COL_COLLECTIVE, "all_to_allv");
    add_text(&b[1], RS_COL_DTYPE, "Float");
    add_arg(&b[1], RS_COL_IN_NELEMS, 10);
    add_arg(&b[1], RS_COL_GROUP_SIZE, 2);
    add_text(&b[1], RS_COL_IN_SPLIT, "[1, 4]");
    add_call(&b[1], "cudaLaunchKernelExC", 1, 1010, 77);
    add_kernel(&b[1], "ncclDevKernel_SendRecv", 0, 20, 1100, 100, 77);
    assert_int_equal(run("exchange", b, 2, &o, NULL), RS_OK);
    const rs_table *t = o.result.tables[0], *ranks = o.result.tables[1];
    assert_int_equal(rs_table_n_rows(t), 4);
    assert_int_equal(cell(t, 0, "bytes"), 250);
    assert_int_equal(cell(t, 1, "bytes"), 150);
    assert_int_equal(cell(t, 1, "count"), 2);
    assert_int_equal(cell(t, 1, "to_rank"), 1); /* a group as large as the job */
    assert_int_equal(cell(t, 2, "bytes"), 8);
    assert_int_equal(cell(t, 3, "bytes"), 32);
    assert_int_equal(cell(ranks, 0, "all_to_alls"), 5);
    assert_int_equal(cell(ranks, 0, "unknown"), 3);
    assert_int_equal(cell(ranks, 1, "unknown"), 0);
    clear(&o, b, 2);
}

TEST(test_out_of_memory)
{
    for (uint64_t i = 1; i < 400; i++) {
        outcome o;
        builder b = make_trace();
        rs_test_fail_allocation(i);
        rs_status status = run("fragments", &b, 1, &o, NULL);
        rs_test_fail_allocation(0);
        clear(&o, &b, 1);
        if (status == RS_OK) return;
        assert_int_equal(status, RS_ERR_NOMEM);
    }
    fail_msg("never enough memory");
}
