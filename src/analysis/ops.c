/* ops: the launchers added up by operator, by kind of operator, or by operator and arguments. */
#include <string.h>

#include "analysis/ops_host.h"
#include "analysis/ops_perf.h"
#include "base/try.h"
#include "trace/launcher_rows.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "op|category|args", "op",
     "op: the operator's name; category: its kind; args: name, shapes, types, strides and values of the "
     "inputs"},
    {"host", RS_OPTION_FLAG, NULL, NULL, NULL,
     "where the host's own time goes instead: all operators and annotations, whether they launch work or "
     "not"},
    {"perf", RS_OPTION_FLAG, NULL, NULL, NULL,
     "what operators compute and move instead, by operator and arguments, against what the device could do"},
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "with --perf, what the device can do: a name of the built-in table, or a JSON file; default: as the trace "
     "says"},
    {"top", RS_OPTION_INT, "N", NULL, "0", "only the first N rows of a rank; 0: all"},
};

#define DIRECT "union of the work each launcher launched itself, communication left out, added up"
#define SUBTREE "union of all work below each launcher, communication included, added up"

/* Launchers added up: by name, kind or arguments, what they are not added up by is unknown. */
typedef struct group {
    uint32_t name, category, dims, types, strides, concrete;
    uint32_t categories; /* all kinds, joined by | */
    uint32_t uid;
    rs_moments direct;
    int64_t subtree, n_kernels;
} group;

typedef struct across {
    uint32_t name;
    int64_t n_ranks, count, sum, min, max, min_rank, max_rank, of; /* of: ranks in all */
    double mean;                                                   /* us */
} across;

#define SHARE_CELLS(CELL)                                                                                    \
    CELL(SHARE_OF_ALL(group, direct.sum), "share_pct", REAL, PERCENT, "of the rank's direct time",           \
         "share %")                                                                                          \
    CELL(CUMULATIVE(group, direct.sum), "cumulative_pct", REAL, PERCENT,                                     \
         "share of this and all rows above it", "cumulative %")

#define OP_ROW(CELL)                                                                                         \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(group, name), "name", TEXT, NONE,                                                           \
         "operator, or the runtime call where no operator is around it", NULL)                               \
    CELL(OF(group, direct.n), "count", INT, COUNT, "how often it launched", NULL)                            \
    CELL(OF(group, direct.sum), "total_direct_kernel_time_us", TIME, US, DIRECT, "direct")                   \
    CELL(OF(group, subtree), "total_subtree_kernel_time_us", TIME, US, SUBTREE, "subtree")                   \
    CELL(OF(group, n_kernels), "kernels", INT, COUNT, "pieces of work", NULL)                                \
    SHARE_CELLS(CELL)                                                                                        \
    CELL(TEXT_ID(group, categories), "categories", TEXT, NONE, "its kinds, joined by |", NULL)
RS_RECORD(op, OP_ROW);

#define CATEGORY_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(group, category), "op_category", TEXT, NONE, "kind of operator", "category")                \
    CELL(OF(group, direct.n), "count", INT, COUNT, "launchers of that kind", NULL)                           \
    CELL(OF(group, direct.sum), "total_direct_kernel_time_ms", TIME, MS, DIRECT, "direct")                   \
    CELL(OF(group, n_kernels), "kernels", INT, COUNT, "pieces of work", NULL)                                \
    SHARE_CELLS(CELL)
RS_RECORD(category, CATEGORY_ROW);

#define ARGS_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(group, name), "name", TEXT, NONE,                                                           \
         "operator, or the runtime call where no operator is around it", NULL)                               \
    CELL(TEXT_ID(group, category), "op_category", TEXT, NONE, "kind of operator", "category")                \
    CELL(OF(group, direct.n), "count", INT, COUNT, "how often it launched with these arguments", NULL)       \
    CELL(OF(group, direct.sum), "total_direct_kernel_time_us", TIME, US, DIRECT, "direct")                   \
    CELL(OF(group, subtree), "total_subtree_kernel_time_us", TIME, US, SUBTREE, "subtree")                   \
    CELL(MEAN(group, direct), "mean_us", REAL, US, "mean direct time", "mean")                               \
    CELL(OF(group, direct.min), "min_us", TIME, US, "least direct time", "min")                              \
    CELL(OF(group, direct.max), "max_us", TIME, US, "greatest direct time", "max")                           \
    CELL(OF(group, n_kernels), "kernels", INT, COUNT, "pieces of work", NULL)                                \
    SHARE_CELLS(CELL)                                                                                        \
    CELL(OF(group, uid), "ex_uid", INT, ID, "position in traceEvents of the first of them", "first")         \
    CELL(TEXT_ID(group, dims), "input_dims", TEXT, NONE, "shapes of the inputs", "dims")                     \
    CELL(TEXT_ID(group, types), "input_types", TEXT, NONE, "types of the inputs", "types")                   \
    CELL(TEXT_ID(group, strides), "input_strides", TEXT, NONE, "strides of the inputs", "strides")           \
    CELL(TEXT_ID(group, concrete), "concrete_inputs", TEXT, NONE, "values of scalar inputs", "values")
RS_RECORD(args, ARGS_ROW);

#define ACROSS_ROW(CELL)                                                                                     \
    CELL(TEXT_ID(across, name), "name", TEXT, NONE, "operator or kind of operator", NULL)                    \
    CELL(OF(across, n_ranks), "ranks", INT, COUNT, "ranks it launched on", NULL)                             \
    CELL(OF(across, count), "count", INT, COUNT, "how often, on all of them", NULL)                          \
    CELL(OF(across, mean), "mean_us", REAL, US, "direct time, mean over all ranks", "mean")                  \
    CELL(OF(across, min), "min_us", TIME, US, "least direct time of a rank", "min")                          \
    CELL(OF(across, min_rank), "min_rank", INT, ID, "the rank that has it", NULL)                            \
    CELL(OF(across, max), "max_us", TIME, US, "greatest direct time of a rank", "max")                       \
    CELL(OF(across, max_rank), "max_rank", INT, ID, "the rank that has it", NULL)
RS_RECORD(across, ACROSS_ROW);

/* ---- launchers ----------------------------------------------------------------------------------------- */

static unsigned grouping(const rs_run *run)
{
    const char *by = rs_options_text(run->options, "by");
    return strcmp(by, "category") == 0 ? RS_OPS_BY_CATEGORY
           : strcmp(by, "args") == 0   ? RS_OPS_BY_ARGS
                                       : RS_OPS_BY_OP;
}

static bool is_perf(const rs_run *run)
{
    return rs_options_flag(run->options, "perf");
}

static bool is_host(const rs_run *run)
{
    return rs_options_flag(run->options, "host");
}

static rs_status check_options(const rs_run *run, const rs_trace *trace, rs_error *err)
{
    if (!is_perf(run) && rs_options_is_set(run->options, "device"))
        return rs_fail(err, RS_ERR_USAGE, "--device says what --perf compares with; without it nothing does");
    if (is_perf(run) && is_host(run))
        return rs_fail(err, RS_ERR_USAGE,
                       "--perf is about the GPU's work, --host about the host's time: one of them");
    if (is_perf(run) && rs_options_is_set(run->options, "by") && grouping(run) != RS_OPS_BY_ARGS)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--perf shows operators by their arguments; rankscope roofline --by op|model adds them up");
    if (is_host(run) && grouping(run) != RS_OPS_BY_OP)
        return rs_fail(err, RS_ERR_USAGE, "--host shows the host's time by name only, without --by");
    if (is_host(run) && trace->events->n_grafted)
        return rs_fail(err, RS_ERR_USAGE,
                       "--host: operators of replayed graphs (--captures) have no time on the host");
    return RS_OK;
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    rs_relation rows = {.size = sizeof(rs_launcher_row)};
    rs_launcher_counts counts = {0};
    unsigned by = grouping(run);
    RS_TRY(check_options(run, trace, err));
    if (is_perf(run)) return rs_roof_rank_of(run, trace, &out->extra, err);
    if (is_host(run)) return rs_host_ops_put(trace, out, RS_OPS_HOST, err);
    rs_status status = rs_launcher_rows_of(trace, &out->pool, &rows, &counts, err);
    for (size_t i = 0; status == RS_OK && i < rows.n; i++) {
        const rs_launcher_row *l = &((const rs_launcher_row *)rows.rows)[i];
        rs_put(out, by, l);
        if (by == RS_OPS_BY_OP) rs_put(out, RS_OPS_KINDS, l);
    }
    rs_put(out, RS_OPS_COUNTS, &counts);
    rs_relation_clear(&rows);
    return status;
}

/* An operator of a kind. */
typedef struct kind {
    uint32_t name, category;
} kind;

/* Operators are told their kinds, joined by |. */
static rs_status put_categories(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    (void)run;
    (void)trace;
    const kind *kinds = RS_ROWS(kind, out, RS_OPS_KINDS);
    group *groups = out->items[RS_OPS_BY_OP].rows;
    size_t n = out->items[RS_OPS_KINDS].n;
    uint32_t *of_name = RS_ROOM(out, uint32_t, out->pool.strings.n);
    if (!of_name) return rs_fail_nomem(err, "operators");
    for (size_t i = 0, end; i < n; i = end) {
        size_t length = 0, used = 0;
        for (end = i; end < n && kinds[end].name == kinds[i].name; end++)
            length += out->pool.strings.items[kinds[end].category].length + 1;
        char *text = RS_ROOM(out, char, length + 1);
        for (size_t k = i; text && k < end; k++) {
            const rs_string *s = &out->pool.strings.items[kinds[k].category];
            if (used) text[used++] = '|';
            memcpy(text + used, s->text, s->length);
            used += s->length;
        }
        if (text) of_name[kinds[i].name] = rs_put_string_n(out, text, used);
    }
    for (size_t i = 0; i < out->items[RS_OPS_BY_OP].n; i++) groups[i].categories = of_name[groups[i].name];
    return RS_OK;
}

/* ---- over ranks ---------------------------------------------------------------------------------------- */

typedef struct part {
    uint32_t name;
    int64_t count, time, rank, of;
} part;

static rs_status put_across(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                            rs_error *err)
{
    unsigned by = grouping(run);
    (void)err;
    for (size_t i = 0; n > 1 && i < n; i++) {
        const rs_relations *p = partials[i].value;
        const group *groups = RS_ROWS(group, p, by);
        for (size_t k = 0; k < p->items[by].n; k++) {
            uint32_t id = by == RS_OPS_BY_CATEGORY ? groups[k].category : groups[k].name;
            const char *name = rs_relations_text(p, id);
            int64_t time = groups[k].direct.sum, rank = partials[i].rank;
            across *a = rs_put(out, RS_OPS_ACROSS,
                               &(part){rs_put_string(out, name ? name : ""), (int64_t)groups[k].direct.n,
                                       time, rank, (int64_t)n});
            if (a && (a->n_ranks == 1 || time < a->min)) a->min = time, a->min_rank = rank;
            if (a && (a->n_ranks == 1 || time > a->max)) a->max = time, a->max_rank = rank;
        }
    }
    return RS_OK;
}

static void set_mean(const rs_relations *of, void *row)
{
    (void)of;
    across *a = row;
    a->mean = (double)a->sum / (double)a->of / 1000;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

#define ADDED_UP                                                                                             \
    RS_FIRST(group, uid, rs_launcher_row, uid), RS_MOMENTS(group, direct, rs_launcher_row, direct),          \
        RS_SUMMED(group, subtree, rs_launcher_row, subtree),                                                 \
        RS_SUMMED(group, n_kernels, rs_launcher_row, n_kernels)
static const rs_aggregate by_op[] = {RS_KEY_TEXT(group, name, rs_launcher_row, name), ADDED_UP,
                                     RS_TEXT_BY_OWN_HAND(group, categories)};
static const rs_aggregate by_category[] = {RS_KEY_TEXT(group, category, rs_launcher_row, category), ADDED_UP};
static const rs_aggregate by_args[] = {RS_KEY_TEXT(group, name, rs_launcher_row, name),
                                       RS_KEY_TEXT(group, category, rs_launcher_row, category),
                                       RS_KEY_TEXT(group, dims, rs_launcher_row, dims),
                                       RS_KEY_TEXT(group, types, rs_launcher_row, types),
                                       RS_KEY_TEXT(group, strides, rs_launcher_row, strides),
                                       RS_KEY_TEXT(group, concrete, rs_launcher_row, concrete),
                                       ADDED_UP};
static const rs_aggregate by_kind[] = {RS_KEY_TEXT(kind, name, rs_launcher_row, name),
                                       RS_KEY_TEXT(kind, category, rs_launcher_row, category)};
static const rs_aggregate over_ranks[] = {
    RS_KEY_TEXT(across, name, part, name), RS_COUNTED(across, n_ranks),
    RS_SUMMED(across, count, part, count), RS_SUMMED(across, sum, part, time),
    RS_BY_OWN_HAND(across, min),           RS_BY_OWN_HAND(across, max),
    RS_BY_OWN_HAND(across, min_rank),      RS_BY_OWN_HAND(across, max_rank),
    RS_FIRST(across, of, part, of),        RS_BY_OWN_HAND(across, mean)};
static const rs_order by_time[] = {RS_FALLING(group, direct.sum), RS_RISING(group, uid)};
static const rs_order by_name[] = {RS_RISING(kind, name), RS_RISING_TEXT(kind, category)};
static const rs_order by_sum[] = {RS_FALLING(across, sum), RS_RISING_TEXT(across, name)};

static const rs_field count_fields[] = {RS_FIELDS(rs_launcher_counts, n_gpu, n_unlinked)};
static const rs_layout count_layout = RS_LAYOUT(rs_launcher_counts, count_fields);

static const rs_plan_relation relations[] = {
    [RS_OPS_KINDS] = {RS_GROUPED(RS_OPS_KINDS, kind, rs_launcher_row, by_kind), .make = put,
                      RS_IN_ORDER(by_name)},
    [RS_OPS_BY_OP] = {RS_GROUPED(RS_OPS_BY_OP, group, rs_launcher_row, by_op), .make = put_categories,
                      RS_IN_ORDER(by_time)},
    [RS_OPS_BY_CATEGORY] = {RS_GROUPED(RS_OPS_BY_CATEGORY, group, rs_launcher_row, by_category),
                            RS_IN_ORDER(by_time)},
    [RS_OPS_BY_ARGS] = {RS_GROUPED(RS_OPS_BY_ARGS, group, rs_launcher_row, by_args), RS_IN_ORDER(by_time)},
    [RS_OPS_COUNTS] = {RS_LISTED(RS_OPS_COUNTS, rs_launcher_counts, &count_layout)},
    [RS_OPS_HOST] = {RS_LISTED(RS_OPS_HOST, rs_host_op, &rs_host_ops_layout), RS_IN_ORDER(rs_host_ops_order)},
    [RS_OPS_PERF] = {RS_PLAN_EXTRA(rs_roof_rank, &rs_roof_layout)},
    [RS_OPS_ACROSS] = {RS_GROUPED(RS_OPS_ACROSS, across, part, over_ranks), .across = put_across,
                       .amend = set_mean, RS_IN_ORDER(by_sum),
                       .choice = RS_WITH(RS_IS("by", "op"), RS_IS("by", "category"))},
};

static const rs_plan_table
    op_table = {RS_PLAN_TABLE("ops", "one row is one operator of one rank", op), .relation = RS_OPS_BY_OP,
                .top = "top"},
    category_table = {RS_PLAN_TABLE("categories", "one row is one kind of operator of one rank", category),
                      .relation = RS_OPS_BY_CATEGORY, .choice = RS_WITH(RS_IS("by", "category")),
                      .top = "top"},
    args_table = {RS_PLAN_TABLE("args", "one row is one operator with one set of arguments, of one rank",
                                args),
                  .relation = RS_OPS_BY_ARGS, .choice = RS_WITH(RS_IS_UNLESS("by", "args", "perf")),
                  .top = "top"},
    across_table = {RS_PLAN_TABLE("across",
                                  "one row is one operator, or kind with --by category, over all ranks",
                                  across),
                    .relation = RS_OPS_ACROSS};
static const rs_table_spec *const tables[] = {
    &op_table.spec,          &category_table.spec,    &args_table.spec,           &across_table.spec,
    &rs_host_ops_table.spec, &rs_ops_perf_table.spec, &rs_ops_coverage_table.spec};
enum { TABLE_PERF = 5, TABLE_COVERAGE };

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    long long rank = partial->rank;
    if (is_host(run) && of->items[RS_OPS_HOST].n == 0)
        rs_result_note(result, "rank %lld: no operators or annotations of the host", rank);
    if (of->items[RS_OPS_COUNTS].n && of->items[grouping(run)].n == 0)
        rs_result_note(result, "rank %lld: %s", rank,
                       rs_launcher_rows_lack(RS_ROWS(rs_launcher_counts, of, RS_OPS_COUNTS)));
}

static rs_status add_perf(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                          rs_error *err)
{
    size_t top = (size_t)rs_options_int(run->options, "top");
    for (size_t i = 0; is_perf(run) && i < n; i++) {
        const rs_roof_rank *p = ((const rs_relations *)partials[i].value)->extra;
        if (!p) /* made elsewhere, and not by this question */
            return rs_fail(err, RS_ERR_FORMAT,
                           "%s: the packed part has no answer to ops --perf; map it again",
                           partials[i].source ? partials[i].source : "a rank");
        RS_TRY(rs_ops_perf_add(run, partials[i].rank, p, top, result->tables[TABLE_PERF],
                               result->tables[TABLE_COVERAGE], result, err));
    }
    return RS_OK;
}

static const rs_plan plan = {RS_PLAN(relations, tables), .note = note, .more = add_perf,
                             .free_extra = rs_roof_free};

static uint64_t more_columns(const rs_options *given)
{
    return rs_options_flag(given, "perf") ? rs_ops_perf_columns() : 0;
}

const rs_analysis rs_analysis_ops = {
    .name = "ops",
    .group = "Call tree",
    .help = "Operators by the GPU work they launch, by name, kind or arguments",
    .about =
        "Each operator that launches GPU work is a launcher (see launchers); here they are added up. Times "
        "are\n"
        "unions within a launcher and sums over launchers, so that rows can add up to more than the GPU was "
        "busy.\nA kind is recognised by the operator's name, else by its first kernel's. With several ranks a "
        "second\n"
        "table sets them against each other.\n"
        "--host adds up all operators and annotations of the host instead, by their own time: what "
        "PyTorch's\n"
        "key_averages() shows, for jobs without a GPU too. Communication that a worker runs (gloo:*) takes\n"
        "nothing from what it overlaps.\n"
        "--perf shows FLOPs, bytes and rates of each operator and its arguments against the device's "
        "bound: the\nrows, owners and numbers of roofline, whose help says how they are counted. Work there "
        "belongs to the\noutermost operator with a model, so its rows are not those of --by args. The table "
        "coverage says how\nmuch of a rank's GPU time has a model.",
    .examples = "rankscope ops trace.json.gz\nrankscope ops --by args --top 20 trace.json.gz\n"
                "rankscope ops --by category --format csv traces/\nrankscope ops --host --top 20 traces/\n"
                "rankscope ops --perf --top 20 trace.json.gz\nrankscope ops --perf --device MI300X traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_launchers},
    .columns = RS_ARGS_COLUMNS,
    .more_columns = more_columns,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
};
