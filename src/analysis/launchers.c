/* launchers: every operator that launches GPU work, one by one. */
#include "analysis/plan.h"
#include "base/try.h"
#include "trace/launcher_rows.h"

static const rs_option_spec options[] = {
    {"top", RS_OPTION_INT, "N", NULL, "0",
     "only the N of a rank with the most time of their own, longest first; 0: all"},
};

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_launcher_row, uid), "uid", INT, ID, "position of the operator in traceEvents, from 0", NULL)  \
    CELL(TEXT_ID(rs_launcher_row, name), "name", TEXT, NONE,                                                 \
         "operator; the runtime call itself where no operator is around it", NULL)                           \
    CELL(TEXT_ID(rs_launcher_row, category), "op_category", TEXT, NONE, "kind of operator", "category")      \
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
    CELL(TEXT_ID(rs_launcher_row, module), "module", TEXT, NONE,                                             \
         "innermost nn.Module around it, where Python functions were recorded", NULL)                        \
    CELL(OF(rs_launcher_row, forward), "forward_uid", INT, ID,                                               \
         "of an operator of the backward pass: the forward operator it belongs to", "forward")               \
    CELL(TEXT_ID(rs_launcher_row, dims), "input_dims", TEXT, NONE, "shapes of the inputs", "dims")           \
    CELL(TEXT_ID(rs_launcher_row, types), "input_types", TEXT, NONE, "types of the inputs", "types")         \
    CELL(TEXT_ID(rs_launcher_row, strides), "input_strides", TEXT, NONE, "strides of the inputs", "strides") \
    CELL(TEXT_ID(rs_launcher_row, concrete), "concrete_inputs", TEXT, NONE, "values of scalar inputs",       \
         "values")
RS_RECORD(launcher, ROW);

enum { LAUNCHERS, COUNTS };

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    static const rs_order by_direct[] = {RS_FALLING(rs_launcher_row, direct)};
    rs_relation *rows = &out->items[LAUNCHERS];
    rs_launcher_counts counts;
    RS_TRY(rs_launcher_rows_of(trace, &out->pool, rows, &counts, err));
    rs_put(out, COUNTS, &counts);
    if (rs_options_int(run->options, "top")) RS_SORT((rs_launcher_row *)rows->rows, rows->n, by_direct);
    return RS_OK;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (of->items[LAUNCHERS].n == 0 && of->items[COUNTS].n)
        rs_result_note(result, "rank %lld: %s", (long long)partial->rank,
                       rs_launcher_rows_lack(RS_ROWS(rs_launcher_counts, of, COUNTS)));
}

static const rs_field count_fields[] = {RS_FIELDS(rs_launcher_counts, n_gpu, n_unlinked)};
static const rs_layout count_layout = RS_LAYOUT(rs_launcher_counts, count_fields);
static const rs_plan_relation relations[] = {
    {RS_LISTED_AS(LAUNCHERS, rs_launcher_row, launcher), .make = put},
    {RS_LISTED(COUNTS, rs_launcher_counts, &count_layout)},
};
static const rs_plan_table table = {
    RS_PLAN_TABLE("launchers", "one row is one operator that launched GPU work", launcher), .top = "top"};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_analysis rs_analysis_launchers = {
    .name = "launchers",
    .group = "ops",
    .help =
        "Every operator that launches GPU work: time of its own and of all below it, shapes, module, step",
    .about = "A launcher is the innermost operator around a launching call. Its direct time is the union of "
             "the work "
             "it\nlaunched itself; its subtree time also has the operators inside it. Communication makes no "
             "launcher "
             "and\ncounts in subtree time only. Work whose launch is not in the file belongs to no operator "
             "and is left out.",
    .examples =
        "rankscope launchers --format csv trace.json.gz\nrankscope launchers --top 20 --steps 3 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_launchers, &rs_facet_fwdbwd, &rs_facet_steps, &rs_facet_span},
    .columns = RS_ARGS_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
};
