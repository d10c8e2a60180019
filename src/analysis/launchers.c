/* launchers: every operator that launches GPU work, one by one. */
#include "analysis/analysis.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "trace/launcher_rows.h"
#include "trace/launchers.h"
#include "trace/tree.h"

static const rs_option_spec options[] = {
    {"top", RS_OPTION_INT, "N", NULL, "0",
     "only the N of a rank with the most time of their own, longest first; 0: all"},
};

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_launcher_row, uid), "uid", INT, ID, "position of the operator in traceEvents, from 0", NULL)  \
    CELL(TEXT(rs_launcher_row, name, rs_launcher_rows, pool.strings.n), "name", TEXT, NONE,                  \
         "operator; the runtime call itself where no operator is around it", NULL)                           \
    CELL(MAYBE(rs_launcher_row, category), "op_category", TEXT, NONE, "kind of operator", "category")        \
    CELL(OF(rs_launcher_row, start), "start_us", MOMENT, US,                                                 \
         "start, from the job's first event (with --absolute: as in the file)", "start")                     \
    CELL(OF(rs_launcher_row, duration), "host_us", TIME, US, "duration on the host", "host")                 \
    CELL(OF(rs_launcher_row, direct), "direct_kernel_time_us", TIME, US,                                     \
         "union of the work it launched itself, communication left out", "direct")                           \
    CELL(OF(rs_launcher_row, subtree), "subtree_kernel_time_us", TIME, US,                                   \
         "union of all work below it, communication included", "subtree")                                    \
    CELL(OF(rs_launcher_row, n_kernels), "kernel_count", INT, COUNT, "pieces of work it launched itself",    \
         "kernels")                                                                                          \
    CELL(ID(rs_launcher_row, step), "step", INT, ID, "training step it starts in", NULL)                     \
    CELL(TEXT(rs_launcher_row, module, rs_launcher_rows, pool.strings.n), "module", TEXT, NONE,              \
         "innermost nn.Module around it, where Python functions were recorded", NULL)                        \
    CELL(OF(rs_launcher_row, forward), "forward_uid", INT, ID,                                               \
         "of an operator of the backward pass: the forward operator it belongs to", "forward")               \
    CELL(TEXT(rs_launcher_row, dims, rs_launcher_rows, pool.strings.n), "input_dims", TEXT, NONE,            \
         "shapes of the inputs", "dims")                                                                     \
    CELL(TEXT(rs_launcher_row, types, rs_launcher_rows, pool.strings.n), "input_types", TEXT, NONE,          \
         "types of the inputs", "types")                                                                     \
    CELL(TEXT(rs_launcher_row, strides, rs_launcher_rows, pool.strings.n), "input_strides", TEXT, NONE,      \
         "strides of the inputs", "strides")                                                                 \
    CELL(TEXT(rs_launcher_row, concrete, rs_launcher_rows, pool.strings.n), "concrete_inputs", TEXT, NONE,   \
         "values of scalar inputs", "values")
RS_RECORD(launcher, ROW);

static const rs_table_spec table = {"launchers", "one row is one operator that launched GPU work",
                                    launcher_columns, sizeof launcher_columns / sizeof *launcher_columns};
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

static rs_status add_rank(const rs_run *run, const rs_partial *partial, rs_table *t, rs_error *err)
{
    const rs_launcher_rows *rows = partial->value;
    size_t top = (size_t)rs_options_int(run->options, "top");
    rs_status status = RS_OK;
    rs_table_use_texts(t, &rows->pool.strings);
    if (top == 0) {
        for (size_t i = 0; status == RS_OK && i < rows->n; i++)
            status = rs_table_put_row(t, &launcher_record, partial->rank, &rows->items[i], err);
        return status;
    }
    rs_keyed *keys = rs_malloc((rows->n + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < rows->n; i++) keys[i] = (rs_keyed){-rows->items[i].direct, (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, rows->n);
    if (!ok) status = rs_fail_nomem(err, "launchers");
    for (size_t i = 0; status == RS_OK && i < rows->n && i < top; i++)
        status = rs_table_put_row(t, &launcher_record, partial->rank, &rows->items[keys[i].value], err);
    rs_free(keys);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_launcher_rows *rows = partials[i].value;
        if (!rows) continue;
        if (rows->n == 0)
            rs_result_note(result, "rank %lld: %s", (long long)partials[i].rank,
                           rows->n_gpu        ? "no operator launched anything but communication"
                           : rows->n_unlinked ? "the launches of its GPU work are not in the file"
                                              : "no GPU work");
        status = add_rank(run, &partials[i], result->tables[0], err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_layout row_layout = RS_RECORD_LAYOUT(rs_launcher_row, launcher);

static const rs_field rows_fields[] = {
    RS_FIELD_STRINGS(rs_launcher_rows, pool.strings),
    RS_FIELD_LIST(rs_launcher_rows, items, n, &row_layout),
    RS_FIELD(rs_launcher_rows, n_gpu),
    RS_FIELD(rs_launcher_rows, n_unlinked),
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
    .facets = {&rs_facet_launchers, &rs_facet_fwdbwd, &rs_facet_steps, &rs_facet_span},
    .columns = RS_ARGS_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_launcher_rows_free,
    .partial_layout = &rows_layout,
};
