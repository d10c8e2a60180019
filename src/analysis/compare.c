/* compare: any number of traces or jobs against the first, by operator, arguments, kernel, category, module or
 * call tree. */
#include "analysis/compare.h"

#include <math.h>
#include <string.h>

#include "analysis/gate.h"
#include "base/memory.h"
#include "base/try.h"
#include "text/numbers.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "args|op|kernel|category|module|tree", "args",
     "args: operator and arguments; op: operator; kernel; category: kind of operator; module: nn.Module; tree: "
     "lowest common ancestors in the call tree"},
    {"per", RS_OPTION_CHOICE, "UNIT", "total|step", "total",
     "total: sums over all ranks; step: divided by each input's number of steps"},
    {"top", RS_OPTION_INT, "N", NULL, "0", "only the N rows of each variant that differ most; 0: all"},
    {"axis", RS_OPTION_TEXT, "PATTERN", NULL, NULL,
     "what differs along a number in the paths: 'threads={}thread', or two of them with a comma between"},
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "what the device can do, of every input: a name of the built-in table, or a JSON file; default: as each "
     "trace says"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'impact_pct > 1, ratio > 1.1'"},
};

static const rs_column_spec input_columns[] = {
    RS_COLUMN("variant", INT, ID, "0 is the first input, what the others are compared with", NULL),
    RS_COLUMN("input", TEXT, NONE, "the trace, or the folder of all ranks' traces", NULL),
    RS_COLUMN("ranks", INT, COUNT, "ranks", NULL),
    RS_COLUMN("steps", INT, COUNT, "steps, of all ranks together", NULL),
    RS_COLUMN("device", TEXT, NONE, "what it ran on, of the first rank", NULL),
    RS_COLUMN("work", REAL, COUNT, "pieces of GPU work", NULL),
    RS_COLUMN("gpu_us", REAL, US, "their durations added up", "GPU time"),
    RS_COLUMN("unlinked_us", REAL, US, "... of those without a launch in the file", "unlinked"),
    RS_COLUMN("time_diff_us", REAL, US, "gpu_us less that of variant 0", "diff"),
    RS_COLUMN("change_pct", REAL, PERCENT, "time_diff_us of variant 0's gpu_us", "change %"),
    RS_COLUMN("mean_step_us", REAL, US, "mean length of a step on the host", "step"),
};

#define TIMES                                                                                                \
    RS_COLUMN("time_a_us", REAL, US, "GPU time in the first input: durations added up", "time A"),           \
        RS_COLUMN("time_b_us", REAL, US, "GPU time in the variant", "time B")
#define CALLS                                                                                                \
    RS_COLUMN("change", TEXT, NONE, "added, removed, more, fewer or same, by count", NULL),                  \
        RS_COLUMN("count_a", REAL, COUNT, "calls in the first input; pieces of work by kernel", "count A"),  \
        RS_COLUMN("count_b", REAL, COUNT, "calls in the variant", "count B"), TIMES,                         \
        RS_COLUMN("mean_a_us", REAL, US, "time_a_us of one call", "mean A"),                                 \
        RS_COLUMN("mean_b_us", REAL, US, "time_b_us of one call", "mean B"),                                 \
        RS_COLUMN("time_diff_us", REAL, US, "time_b_us less time_a_us", "diff"),                             \
        RS_COLUMN("ratio", REAL, RATIO, "time_b_us over time_a_us; unknown where a side has none", NULL),    \
        RS_COLUMN("impact_pct", REAL, PERCENT, "time_diff_us of all GPU time of the first input",            \
                  "impact %"),                                                                               \
        RS_COLUMN("tflops_a", REAL, NONE, "TFLOP/s in the first input, where FLOPs are known", "TFLOP/s A"), \
        RS_COLUMN("tflops_b", REAL, NONE, "TFLOP/s in the variant", "TFLOP/s B"),                            \
        RS_COLUMN("efficiency_a_pct", REAL, PERCENT, "least time of the first input's device, of its time",  \
                  "of bound A %"),                                                                           \
        RS_COLUMN("efficiency_b_pct", REAL, PERCENT, "least time of the variant's device, of its time",      \
                  "of bound B %")
static const rs_column_spec args_columns[] = {
    RS_COLUMN("variant", INT, ID, "which input is compared with the first", NULL),
    RS_COLUMN("name", TEXT, NONE,
              "operator that owns the work, as in roofline; of communication the launcher", NULL),
    RS_COLUMN("input_dims", TEXT, NONE, "shapes of the inputs", "dims"),
    RS_COLUMN("input_types", TEXT, NONE, "types of the inputs", "types"),
    RS_COLUMN("input_strides", TEXT, NONE, "strides of the inputs", "strides"),
    RS_COLUMN("concrete_inputs", TEXT, NONE, "values of scalar inputs", "values"),
    CALLS,
};
static const rs_column_spec name_columns[] = {
    RS_COLUMN("variant", INT, ID, "which input is compared with the first", NULL),
    RS_COLUMN("name", TEXT, NONE, "operator, kernel, category or module, as --by says", NULL),
    CALLS,
};
#define PARTS                                                                                                \
    RS_COLUMN("work_a", REAL, COUNT, "pieces of work in the first input", "work A"),                         \
        RS_COLUMN("work_b", REAL, COUNT, "pieces of work in the variant", "work B"), TIMES,                  \
        RS_COLUMN("time_diff_us", REAL, US, "time_b_us less time_a_us", "diff"),                             \
        RS_COLUMN("impact_pct", REAL, PERCENT, "time_diff_us of all GPU time of the first input",            \
                  "impact %"),                                                                               \
        RS_COLUMN("verdict", TEXT, NONE,                                                                     \
                  "slower, faster or same, where the launchers are; replaced; only in A; only in B", NULL)
#define OPS                                                                                                  \
    RS_COLUMN("ops_a", TEXT, NONE, "what launched the work in the first input", NULL),                       \
        RS_COLUMN("ops_b", TEXT, NONE, "what launched it in the variant", NULL)
static const rs_column_spec tree_columns[] = {
    RS_COLUMN("variant", INT, ID, "which input is compared with the first", NULL),
    RS_COLUMN("name", TEXT, NONE, "lowest operator that both have above the work; unknown: there is none",
              NULL),
    OPS,
    RS_COLUMN("count", INT, COUNT, "pairs of such operators", NULL),
    PARTS,
};
static const rs_column_spec pair_columns[] = {
    RS_COLUMN("variant", INT, ID, "which input is compared with the first", NULL),
    RS_COLUMN("name", TEXT, NONE, "lowest operator that both have above the work; unknown: there is none",
              NULL),
    RS_COLUMN("uid_a", INT, ID, "its position in traceEvents of the first input", NULL),
    RS_COLUMN("uid_b", INT, ID, "its position in traceEvents of the variant", NULL),
    RS_COLUMN("depth", INT, COUNT, "operators above it, and 1; 0: the root", NULL),
    OPS,
    RS_COLUMN("rank_a", INT, ID, "rank of the first input", NULL),
    RS_COLUMN("rank_b", INT, ID, "rank of the variant", NULL),
    RS_COLUMN("module", TEXT, NONE, "nn.Module around it, where modules were recorded", NULL),
    PARTS,
};
static const rs_column_spec pivot_columns[] = {
    RS_COLUMN("axis", TEXT, NONE,
              "value of the axis, under its name; columns of GPU time in microseconds follow", NULL),
};
static const rs_table_spec input_table = RS_TABLE("inputs", "one row is one input", input_columns);
static const rs_table_spec args_table =
    RS_TABLE("args", "one row is one operator with one set of arguments, in one variant; with --by args",
             args_columns);
static const rs_table_spec name_table = RS_TABLE(
    "names", "one row is one name in one variant; with --by op, kernel, category or module", name_columns);
static const rs_table_spec tree_table =
    RS_TABLE("tree", "one row is one operator with the launchers below it, in one variant; with --by tree",
             tree_columns);
static const rs_table_spec pair_table = RS_TABLE(
    "pairs", "one row is one operator of the first input and its partner in a variant; with --by tree",
    pair_columns);
static const rs_table_spec pivot_table =
    RS_TABLE("pivot", "one row is one value of the axis; with --axis", pivot_columns);
static const rs_table_spec *const tables[] = {&input_table, &args_table, &name_table,
                                              &tree_table,  &pair_table, &pivot_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 6}};
enum { INPUTS, ARGS, NAMES, TREE, PAIRS, PIVOT };

void rs_compare_note_rest(rs_result *result, size_t variant, size_t n, double us)
{
    rs_result_note(result, "variant %zu: %zu further rows are not shown; together they differ by %s us",
                   variant, n, RS_FIXED(us, 3));
}

/* ---- sides --------------------------------------------------------------------------------------------- */

/* The part of the paths that all ranks share, up to a whole name. */
static char *input_of(const rs_partial *ranks, size_t n)
{
    const char *first = ranks[0].source;
    size_t length = strlen(first);
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;
        while (k < length && ranks[i].source[k] == first[k]) k++;
        if (ranks[i].source[k] == '\0' && k == length) continue;
        length = k;
    }
    if (first[length] != '\0')
        while (length && first[length - 1] != '/') length--;
    return rs_strndup(first, length);
}

static rs_status fill_sides(rs_compare_run *c, const rs_partial *partials, size_t n, rs_error *err)
{
    c->n_sides = n ? partials[n - 1].side + 1 : 0;
    c->sides = rs_calloc(c->n_sides + 1, sizeof *c->sides);
    if (!c->sides) return rs_fail_nomem(err, "inputs");
    for (size_t i = 0, end; i < n; i = end) {
        rs_compare_side *s = &c->sides[partials[i].side];
        for (end = i; end < n && partials[end].side == partials[i].side; end++) {
            const rs_compare_rank *p = partials[end].value;
            s->n_steps += p->n_steps;
            s->pieces += p->pieces;
            s->step_length = rs_add_sat(s->step_length, p->step_length);
            s->time = rs_add_sat(s->time, p->time);
            s->unlinked = rs_add_sat(s->unlinked, p->unlinked);
        }
        s->ranks = &partials[i];
        s->n_ranks = end - i;
        s->unit = 1;
        s->input = input_of(s->ranks, s->n_ranks);
        if (!s->input) return rs_fail_nomem(err, "inputs");
    }
    return RS_OK;
}

static void clear_comparison(rs_compare_run *c)
{
    for (size_t i = 0; i < c->n_sides && c->sides; i++) {
        rs_free_all(c->sides[i].input, c->sides[i].values[0], c->sides[i].values[1]);
    }
    rs_free_all(c->sides, c->axes[0], c->axes[1]);
}

static rs_status settle_units(rs_compare_run *c, rs_result *result, rs_error *err)
{
    bool per_step = strcmp(rs_options_text(c->run->options, "per"), "step") == 0;
    for (size_t i = 0; i < c->n_sides; i++) {
        rs_compare_side *s = &c->sides[i];
        const rs_compare_side *a = &c->sides[0];
        if (per_step && !s->n_steps)
            return rs_fail(err, RS_ERR_USAGE, "--per step: %.300s has no steps (ProfilerStep#N)", s->input);
        if (per_step) s->unit = (double)s->n_steps;
        if (!s->pieces) rs_result_note(result, "%.300s: no GPU work", s->input);
        if (i && !per_step && s->n_ranks != a->n_ranks)
            rs_result_note(result,
                           "variant %zu has %zu ranks, the first input %zu: sums differ for that alone", i,
                           s->n_ranks, a->n_ranks);
        if (i && !per_step && s->n_steps != a->n_steps && s->n_steps && a->n_steps)
            rs_result_note(
                result,
                "variant %zu has %zu steps, the first input %zu, all ranks together: sums differ for "
                "that alone; --per step compares the mean step",
                i, s->n_steps, a->n_steps);
    }
    return RS_OK;
}

static rs_status add_inputs(const rs_compare_run *c, rs_table *t, rs_error *err)
{
    const rs_compare_side *a = &c->sides[0];
    for (size_t i = 0; i < c->n_sides; i++) {
        const rs_compare_side *s = &c->sides[i];
        const rs_compare_rank *first = s->ranks[0].value;
        double diff = rs_compare_diff_us(a, a->time, s, s->time), whole = rs_compare_us(a, a->time);
        RS_TRY(RS_PUT_ROW(t, err, i, s->input, s->n_ranks, s->n_steps, first->device,
                          rs_compare_count(s, s->pieces), rs_compare_us(s, s->time),
                          rs_compare_us(s, s->unlinked), diff, whole > 0 ? 100 * diff / whole : (double)NAN,
                          s->n_steps ? (double)s->step_length / (double)s->n_steps / 1000 : (double)NAN));
    }
    return RS_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status answer(rs_compare_run *c, rs_result *result, rs_error *err)
{
    const rs_options *given = c->run->options;
    rs_compare_by by = rs_compare_by_of(given);
    const char *axis = rs_options_text(given, "axis");
    rs_table **t = result->tables;
    if (axis) RS_TRY(rs_compare_axes(c, axis, err));
    RS_TRY(settle_units(c, result, err));
    RS_TRY(add_inputs(c, t[INPUTS], err));
    result->main_table = by == RS_COMPARE_TREE ? TREE : by == RS_COMPARE_ARGS ? ARGS : NAMES;
    if (by == RS_COMPARE_TREE) {
        RS_TRY(rs_compare_trees(c, t[TREE], t[PAIRS], result, err));
        RS_TRY(rs_compare_pivot(c, NULL, 0, &t[PIVOT], err));
    } else {
        RS_TRY(rs_compare_flat(c, t[result->main_table], &t[PIVOT], result, err));
    }
    return rs_gate_apply(given, t[result->main_table], result, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    int64_t top = rs_options_int(run->options, "top");
    RS_SCOPED(clear_comparison) rs_compare_run c = {.run = run, .top = top > 0 ? (size_t)top : 0};
    rs_status status = fill_sides(&c, partials, n, err);
    if (status == RS_OK) status = answer(&c, result, err);
    return status;
}

const rs_analysis rs_analysis_compare = {
    .name = "compare",
    .group = "Performance models",
    .help = "Any number of traces or jobs against the first, in parts that add up to the change in GPU time",
    .about =
        "A is what the others are compared with; each of B, C, ... is a variant. An input is a trace or a "
        "directory\nof one job's ranks, then all ranks together. Time is the sum of durations of GPU work, "
        "communication, copies\nand memsets among it. Every piece of work is in exactly one row of its side, so "
        "the differences of all rows of\na variant add up to the change of its GPU time. Work without a launch in "
        "the file is (unlinked).\n\n"
        "By args and op the key is the operator that owns the work, as in roofline, so that traces of different "
        "vendors\nmeet although their kernels have other names. By category operators are recognised by their names, and "
        "work without an\noperator by the kernel's. By tree the operators of both sides are aligned from the "
        "outside in, and a piece of\nwork belongs to the lowest pair of operators above it: three small operators "
        "against a fused one are one row\nunder what both have in common. Ranks are paired in order, and the "
        "threads of a rank by their first operator.\n\n"
        "--axis NAME=TEXT{}TEXT takes a value out of the name of a file or folder on each input's path and makes "
        "the\ntable pivot: a row a value, columns for all GPU time and the names that differ most, or with a "
        "second axis a column\nfor each of its values. Inputs of equal values are repeated runs: their mean.\n\n"
        "Efficiency is the least time that the side's own device would need, of the time it took.",
    .examples =
        "rankscope compare h100.json.gz mi300.json.gz\n"
        "rankscope compare --by tree --top 20 before.json.gz after.json.gz\n"
        "rankscope compare --per step --by op --xlsx changes.xlsx --page changes.html before/ after/\n"
        "rankscope compare --by category --axis 'threads={}thread' sweep/*thread/\n"
        "rankscope compare --per step --fail-on 'impact_pct > 1' before/ after/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_gpu_rows, &rs_facet_work, &rs_facet_steps},
    .columns = RS_COLUMN_BIT(DEVICE),
    .more_columns = rs_compare_columns,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .many_sided = true,
    .rank = rs_compare_rank_of,
    .merge = merge,
    .free_partial = rs_compare_free,
};
