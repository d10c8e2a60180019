/* launchers: every operator that launches GPU work, one by one. */
#include "analysis/analysis.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "trace/launcher_rows.h"

static const rs_option_spec options[] = {
    {"top", RS_OPTION_INT, "N", NULL, "0",
     "only the N of a rank with the most time of their own, longest first; 0: all"},
};

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"uid", RS_INT, RS_UNIT_ID, "position of the operator in traceEvents, from 0", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "operator; the runtime call itself where no operator is around it", NULL},
    {"op_category", RS_TEXT, RS_UNIT_NONE, "kind of operator", "category"},
    {"start_us", RS_TIME, RS_UNIT_US, "start, from the job's first event (with --absolute: as in the file)",
     "start"},
    {"host_us", RS_TIME, RS_UNIT_US, "duration on the host", "host"},
    {"direct_kernel_time_us", RS_TIME, RS_UNIT_US,
     "union of the work it launched itself, communication left out", "direct"},
    {"subtree_kernel_time_us", RS_TIME, RS_UNIT_US, "union of all work below it, communication included",
     "subtree"},
    {"kernel_count", RS_INT, RS_UNIT_COUNT, "pieces of work it launched itself", "kernels"},
    {"step", RS_INT, RS_UNIT_ID, "training step it starts in", NULL},
    {"module", RS_TEXT, RS_UNIT_NONE, "innermost nn.Module around it, where Python functions were recorded",
     NULL},
    {"forward_uid", RS_INT, RS_UNIT_ID,
     "of an operator of the backward pass: the forward operator it belongs to", "forward"},
    {"input_dims", RS_TEXT, RS_UNIT_NONE, "shapes of the inputs", "dims"},
    {"input_types", RS_TEXT, RS_UNIT_NONE, "types of the inputs", "types"},
    {"input_strides", RS_TEXT, RS_UNIT_NONE, "strides of the inputs", "strides"},
    {"concrete_inputs", RS_TEXT, RS_UNIT_NONE, "values of scalar inputs", "values"},
};
static const rs_table_spec table = {"launchers", "one row is one operator that launched GPU work", columns,
                                    sizeof columns / sizeof *columns};
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    (void)run;
    rs_launcher_rows *rows;
    rs_status status = rs_launcher_rows_of(trace, &rows, err);
    if (status == RS_OK) *partial = rows;
    return status;
}

static void add_id(rs_table *t, uint32_t value)
{
    if (value == RS_NO_ROW)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, value);
}

static rs_status add_row(rs_table *t, int64_t number, const rs_launcher_rows *rows, const rs_launcher_row *l,
                         int64_t base, rs_error *err)
{
    const rs_pool *p = &rows->pool;
    rs_table_add_int(t, number);
    rs_table_add_int(t, l->uid);
    rs_table_add_text(t, rs_pool_text(p, l->name));
    rs_table_add_text(t, l->category);
    rs_table_add_time(t, rs_sub_sat(l->start, base));
    rs_table_add_time(t, l->duration);
    rs_table_add_time(t, l->direct);
    rs_table_add_time(t, l->subtree);
    rs_table_add_int(t, (int64_t)l->n_kernels);
    if (l->step < 0)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, l->step);
    rs_table_add_text(t, rs_pool_text(p, l->module));
    add_id(t, l->forward);
    rs_table_add_text(t, rs_pool_text(p, l->dims));
    rs_table_add_text(t, rs_pool_text(p, l->types));
    rs_table_add_text(t, rs_pool_text(p, l->strides));
    rs_table_add_text(t, rs_pool_text(p, l->concrete));
    return rs_table_end_row(t, err);
}

static rs_status add_rank(const rs_run *run, const rs_partial *partial, int64_t base, rs_table *t,
                          rs_error *err)
{
    const rs_launcher_rows *rows = partial->value;
    size_t top = (size_t)rs_options_int(run->options, "top");
    rs_status status = RS_OK;
    if (top == 0) {
        for (size_t i = 0; status == RS_OK && i < rows->n; i++)
            status = add_row(t, partial->rank, rows, &rows->items[i], base, err);
        return status;
    }
    rs_keyed *keys = rs_malloc((rows->n + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < rows->n; i++) keys[i] = (rs_keyed){-rows->items[i].direct, (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, rows->n);
    if (!ok) status = rs_fail_nomem(err, "launchers");
    for (size_t i = 0; status == RS_OK && i < rows->n && i < top; i++)
        status = add_row(t, partial->rank, rows, &rows->items[keys[i].value], base, err);
    rs_free(keys);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    int64_t base = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const rs_launcher_rows *rows = partials[i].value;
        if (rows && rows->first_ns != RS_NO_TIME && rows->first_ns < base) base = rows->first_ns;
    }
    if (run->absolute || base == INT64_MAX) base = 0;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_launcher_rows *rows = partials[i].value;
        if (!rows) continue;
        if (rows->n == 0)
            rs_result_note(result, "rank %lld: %s", (long long)partials[i].rank,
                           rows->n_gpu        ? "no operator launched anything but communication"
                           : rows->n_unlinked ? "the launches of its GPU work are not in the file"
                                              : "no GPU work");
        status = add_rank(run, &partials[i], base, result->tables[0], err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field row_fields[] = {
    RS_FIELD(rs_launcher_row, uid),
    RS_FIELD_INDEX_OR_NONE(rs_launcher_row, name, rs_launcher_rows, pool.strings.n),
    RS_FIELD_OR_NULL(rs_launcher_row, category),
    RS_FIELD(rs_launcher_row, start),
    RS_FIELD(rs_launcher_row, duration),
    RS_FIELD(rs_launcher_row, direct),
    RS_FIELD(rs_launcher_row, subtree),
    RS_FIELD(rs_launcher_row, n_kernels),
    RS_FIELD_INDEX_OR_NONE(rs_launcher_row, dims, rs_launcher_rows, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_launcher_row, types, rs_launcher_rows, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_launcher_row, strides, rs_launcher_rows, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_launcher_row, concrete, rs_launcher_rows, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_launcher_row, module, rs_launcher_rows, pool.strings.n),
    RS_FIELD(rs_launcher_row, step),
    RS_FIELD(rs_launcher_row, forward),
};
static const rs_layout row_layout = RS_LAYOUT(rs_launcher_row, row_fields);

static const rs_field rows_fields[] = {
    RS_FIELD_STRINGS(rs_launcher_rows, pool.strings),
    RS_FIELD_LIST(rs_launcher_rows, items, n, &row_layout),
    RS_FIELD(rs_launcher_rows, n_gpu),
    RS_FIELD(rs_launcher_rows, n_unlinked),
    RS_FIELD(rs_launcher_rows, first_ns),
};
static const rs_layout rows_layout = RS_LAYOUT(rs_launcher_rows, rows_fields);

const rs_analysis rs_analysis_launchers = {
    .name = "launchers",
    .help =
        "Every operator that launches GPU work: time of its own and of all below it, shapes, module, step",
    .about = "A launcher is the innermost operator around a launching call. Its direct time is the union of "
             "the work "
             "it\nlaunched itself; its subtree time also has the operators inside it. Communication makes no "
             "launcher "
             "and\ncounts in subtree time only. Work whose launch is not in the file belongs to no operator "
             "and is "
             "left out.",
    .examples =
        "rankscope launchers --format csv trace.json.gz\nrankscope launchers --top 20 --steps 3 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_LINK_COLUMNS | RS_ARGS_COLUMNS | RS_COLUMN_BIT(SEQUENCE_NUMBER),
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_launcher_rows_free,
    .partial_layout = &rows_layout,
};
