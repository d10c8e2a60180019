/* diff: kernels, operators and calls of two jobs, by count and time. */
#include "analysis/diff.h"

#include <math.h>
#include <string.h>

#include "analysis/gate.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/real.h"
#include "base/sampling.h"
#include "base/strings.h"
#include "base/try.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "name|total", "name",
     "name: every kernel, operator and call; total: each job in one row. --fail-on looks at these rows"},
    {"per", RS_OPTION_CHOICE, "UNIT", "total|rank|step", "total",
     "total: sums over all ranks; rank: the mean rank; step: the mean step of a rank, of what is in steps"},
    {"kind", RS_OPTION_CHOICE, "KIND", "all|gpu|host|operator|call", "all",
     "only GPU work; operators and runtime calls; operators; or calls"},
    {"top", RS_OPTION_INT, "N", NULL, NULL, "only the N rows of a kind whose time changed most; 0: all"},
    {"short-names", RS_OPTION_FLAG, NULL, NULL, NULL,
     "kernels without their template and call arguments, so that builds can be compared"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 if a row meets it: 'time_diff_us > 100 and not kind in (call, operator)'"},
};

enum { GROUP_GPU, GROUP_OPERATOR, GROUP_CALL, N_GROUPS };
typedef struct side {
    size_t n_ranks;
    rs_step_length *steps; /* of all ranks */
    size_t n_steps, steps_capacity;
    size_t n_gpu;
    int64_t span, busy, compute, exposed_comm, exposed_copies, idle, comm;
    int64_t time[N_GROUPS], count[N_GROUPS];
    double unit; /* what sums are divided by; 0: nothing to divide by */
} side;

typedef struct comparison {
    side sides[2];
    rs_diff_rows rows;
} comparison;

/* A row of the table of names. */
typedef struct name_row {
    const char *kind, *change;
    uint32_t name; /* id in the comparison's names */
    double a, b, more;
    int64_t time_a, time_b, diff, whole; /* whole: A's time of that kind */
} name_row;

#define NAME_ROW(CELL)                                                                                       \
    CELL(OF(name_row, kind), "kind", TEXT, NONE,                                                             \
         "computation, communication, memory, operator (host time, nested ones included) or call", NULL)     \
    CELL(TEXT(name_row, name, rs_diff_rows, names.n), "name", TEXT, NONE, "kernel, copy, operator or call",  \
         NULL)                                                                                               \
    CELL(OF(name_row, change), "change", TEXT, NONE, "added, removed, more, fewer or same, by count", NULL)  \
    CELL(OF(name_row, a), "count_a", REAL, COUNT, "how often in A", "count A")                               \
    CELL(OF(name_row, b), "count_b", REAL, COUNT, "how often in B", "count B")                               \
    CELL(OF(name_row, more), "count_diff", REAL, COUNT, "B less A", "diff")                                  \
    CELL(OF(name_row, time_a), "time_a_us", TIME, US, "sum of durations in A", "time A")                     \
    CELL(OF(name_row, time_b), "time_b_us", TIME, US, "sum of durations in B", "time B")                     \
    CELL(OF(name_row, diff), "time_diff_us", TIME, US, "B less A", "diff")                                   \
    CELL(SHARE(name_row, diff, time_a), "time_change_pct", REAL, PERCENT,                                    \
         "time_diff_us of time_a_us; unknown where A has none", "change %")                                  \
    CELL(SHARE(name_row, diff, whole), "impact_pct", REAL, PERCENT,                                          \
         "time_diff_us of A's whole GPU time (operator time, call time)", "impact %")
RS_RECORD(name, NAME_ROW);

typedef struct total_row {
    const char *name;
    double a, b, low, high;
} total_row;

#define TOTAL_ROW(CELL)                                                                                      \
    CELL(OF(total_row, name), "metric", TEXT, NONE,                                                          \
         "what is compared; names that end in _us are times in microseconds", NULL)                          \
    CELL(OF(total_row, a), "a", REAL, NONE, "in A", "A")                                                     \
    CELL(OF(total_row, b), "b", REAL, NONE, "in B", "B")                                                     \
    CELL(SET, "diff", REAL, NONE, "B less A", NULL)                                                          \
    CELL(SET, "change_pct", REAL, PERCENT, "diff of A; unknown where A has none", "change %")                \
    CELL(OF(total_row, low), "diff_low", REAL, NONE,                                                         \
         "least diff by how the steps of either job differ among themselves (95 %, Welch); equal runs may "  \
         "differ by more; unknown but for mean_step_us",                                                     \
         "diff from")                                                                                        \
    CELL(OF(total_row, high), "diff_high", REAL, NONE, "greatest diff by that", "diff to")
RS_RECORD(total, TOTAL_ROW);

static const rs_table_spec name_table = RS_TABLE(
    "diff", "one row is one name: GPU work first, then operators, then calls, by how much its time changed",
    name_columns);
static const rs_table_spec total_table =
    RS_TABLE("totals", "one row is one number of both jobs", total_columns);
static const rs_table_spec *const tables[] = {&name_table, &total_table, &rs_diff_ranks_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { NAMES, TOTALS, RANKS };

static unsigned group_of(unsigned kind)
{
    return kind == RS_DIFF_OPERATOR ? GROUP_OPERATOR : kind == RS_DIFF_CALL ? GROUP_CALL : GROUP_GPU;
}

static bool add_side(comparison *c, const rs_partial *partial)
{
    const rs_diff_rank *p = partial->value;
    side *s = &c->sides[partial->side];
    s->n_ranks++;
    for (size_t i = 0; i < p->n_steps; i++)
        if (!RS_PUSH(s->steps, s->n_steps, s->steps_capacity, p->steps[i])) return false;
    s->n_gpu += p->gpu.n;
    s->span = rs_add_sat(s->span, p->gpu.span);
    s->busy = rs_add_sat(s->busy, p->gpu.busy);
    s->compute = rs_add_sat(s->compute, p->gpu.compute);
    s->exposed_comm = rs_add_sat(s->exposed_comm, p->gpu.exposed_comm);
    s->exposed_copies = rs_add_sat(s->exposed_copies, p->gpu.exposed_memory);
    s->idle = rs_add_sat(s->idle, p->gpu.idle);
    s->comm = rs_add_sat(s->comm, p->gpu.comm);
    return true;
}

static void add_groups(comparison *c)
{
    for (size_t i = 0; i < c->rows.n; i++) {
        rs_diff_row *r = &c->rows.items[i];
        r->group = (uint8_t)group_of(r->kind);
        for (int k = 0; k < 2; k++) {
            c->sides[k].count[r->group] += r->count[k];
            c->sides[k].time[r->group] = rs_add_sat(c->sides[k].time[r->group], r->time[k]);
        }
    }
}

static double in_unit(const side *s, double value)
{
    return s->unit > 0 ? value / s->unit : (double)NAN;
}

static int64_t time_in_unit(const side *s, int64_t ns)
{
    if (s->unit == 1) return ns;
    double value = in_unit(s, (double)ns);
    return rs_int_near(value);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* By how much the time changed. */
static const rs_order by_change[] = {RS_RISING(rs_diff_row, group), RS_FALLING(rs_diff_row, size),
                                     RS_FALLING(rs_diff_row, whole), RS_RISING_TEXT(rs_diff_row, name),
                                     RS_RISING(rs_diff_row, kind)};

static const char *change_of(const rs_diff_row *r, double a, double b)
{
    if (r->count[0] == 0) return "added";
    if (r->count[1] == 0) return "removed";
    return b > a ? "more" : b < a ? "fewer" : "same";
}

static rs_status add_name(const comparison *c, const rs_diff_row *r, rs_table *t, rs_error *err)
{
    const side *sa = &c->sides[0], *sb = &c->sides[1];
    double a = in_unit(sa, (double)r->count[0]), b = in_unit(sb, (double)r->count[1]);
    if (isnan(a)) a = 0; /* a job without steps has none of it in steps */
    if (isnan(b)) b = 0;
    name_row line = {.kind = rs_diff_kind_name(r->kind),
                     .name = r->name,
                     .change = change_of(r, a, b),
                     .a = a,
                     .b = b,
                     .more = b - a,
                     .time_a = time_in_unit(sa, r->time[0]),
                     .time_b = time_in_unit(sb, r->time[1]),
                     .diff = r->diff,
                     .whole = time_in_unit(sa, sa->time[r->group])};
    return rs_table_put_row(t, &name_record, 0, &line, err);
}

static bool is_wanted(const char *kind, unsigned group)
{
    static const char *const names[N_GROUPS] = {"gpu", "operator", "call"};
    if (strcmp(kind, "host") == 0) return group != GROUP_GPU;
    return strcmp(kind, "all") == 0 || strcmp(kind, names[group]) == 0;
}

static rs_status add_names(const rs_run *run, comparison *c, rs_table *t, rs_error *err)
{
    const char *kind = rs_options_text(run->options, "kind");
    int64_t top = rs_options_int(run->options, "top"), shown[N_GROUPS] = {0};
    rs_diff_rows *rows = &c->rows;
    for (size_t i = 0; i < rows->n; i++) {
        rs_diff_row *r = &rows->items[i];
        r->diff = rs_sub_sat(time_in_unit(&c->sides[1], r->time[1]), time_in_unit(&c->sides[0], r->time[0]));
        r->size = r->diff < 0 ? rs_sub_sat(0, r->diff) : r->diff;
        r->whole = rs_add_sat(r->time[0], r->time[1]);
    }
    rs_sort(rows->items, rows->n, sizeof *rows->items, by_change, sizeof by_change / sizeof *by_change,
            &rows->names);
    rs_table_use_texts(t, &rows->names);
    for (size_t i = 0; i < rows->n; i++) {
        unsigned group = rows->items[i].group;
        if (!is_wanted(kind, group) || (top > 0 && shown[group]++ >= top)) continue;
        RS_TRY(add_name(c, &rows->items[i], t, err));
    }
    return RS_OK;
}

/* ---- totals -------------------------------------------------------------------------------------------- */

static rs_status add_metric(rs_table *t, const total_row *m, rs_error *err)
{
    rs_table_put(t, &total_record, 0, m);
    rs_table_set_real(t, "diff", m->b - m->a);
    rs_table_set_real(t, "change_pct", m->a != 0 ? 100 * (m->b - m->a) / m->a : (double)NAN);
    return rs_table_end_row(t, err);
}

static rs_status add_number(rs_table *t, const char *name, double a, double b, rs_error *err)
{
    return add_metric(t, &(total_row){name, a, b, (double)NAN, (double)NAN}, err);
}

static double mean_step(const side *s)
{
    int64_t length = 0;
    for (size_t i = 0; i < s->n_steps; i++) length = rs_add_sat(length, s->steps[i].length);
    return s->n_steps ? (double)length / (double)s->n_steps / 1000 : (double)NAN;
}

/* The steps of a job by number, each the mean over its ranks, us: ranks that wait for each other are one observation. */
static size_t list_steps(const side *s, double *out)
{
    static const rs_order by_number[] = {RS_RISING(rs_step_length, number)};
    size_t n = 0;
    RS_SORT(s->steps, s->n_steps, by_number);
    for (size_t i = 0, next; i < s->n_steps; i = next) {
        double sum = 0;
        for (next = i; next < s->n_steps && s->steps[next].number == s->steps[i].number; next++)
            sum += (double)s->steps[next].length / 1000;
        out[n++] = sum / (double)(next - i);
    }
    return n;
}

static rs_status add_step_metric(const comparison *c, rs_table *t, rs_error *err)
{
    const side *a = &c->sides[0], *b = &c->sides[1];
    total_row m = {"mean_step_us", mean_step(a), mean_step(b), (double)NAN, (double)NAN};
    RS_LOCAL double *of_a = rs_malloc((a->n_steps + 1) * sizeof *of_a);
    RS_LOCAL double *of_b = rs_malloc((b->n_steps + 1) * sizeof *of_b);
    if (!of_a || !of_b) return rs_fail_nomem(err, "steps");
    size_t n_a = list_steps(a, of_a), n_b = list_steps(b, of_b);
    if (n_a > 1 && n_b > 1) {
        rs_welch w = rs_welch_compare(of_a, n_a, of_b, n_b, 0.05, -1);
        m.low = m.b - m.a + (w.low - w.difference);
        m.high = m.b - m.a + (w.high - w.difference);
    }
    return add_metric(t, &m, err);
}

static rs_status add_totals(const comparison *c, rs_table *t, rs_error *err)
{
    const side *a = &c->sides[0], *b = &c->sides[1];
    RS_TRY(add_number(t, "ranks", (double)a->n_ranks, (double)b->n_ranks, err));
    RS_TRY(add_number(t, "steps", (double)a->n_steps, (double)b->n_steps, err));
    RS_TRY(add_step_metric(c, t, err));
#define TIME_OF(field) in_unit(a, (double)a->field / 1000), in_unit(b, (double)b->field / 1000)
#define COUNT_OF(field) in_unit(a, (double)a->field), in_unit(b, (double)b->field)
    const struct {
        const char *name;
        double a, b;
    } metrics[] = {
        {"gpu_span_us", TIME_OF(span)},
        {"busy_us", TIME_OF(busy)},
        {"compute_us", TIME_OF(compute)},
        {"exposed_comm_us", TIME_OF(exposed_comm)},
        {"exposed_copy_us", TIME_OF(exposed_copies)},
        {"idle_us", TIME_OF(idle)},
        {"comm_us", TIME_OF(comm)},
        {"gpu_time_us", TIME_OF(time[GROUP_GPU])},
        {"gpu_events", COUNT_OF(count[GROUP_GPU])},
        {"operators", COUNT_OF(count[GROUP_OPERATOR])},
        {"calls", COUNT_OF(count[GROUP_CALL])},
        {"call_time_us", TIME_OF(time[GROUP_CALL])},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        RS_TRY(add_number(t, metrics[i].name, metrics[i].a, metrics[i].b, err));
    return RS_OK;
}

/* ---- both ---------------------------------------------------------------------------------------------- */

static void settle_units(const rs_run *run, comparison *c, rs_result *result)
{
    const char *per = rs_options_text(run->options, "per");
    for (int i = 0; i < 2; i++) {
        side *s = &c->sides[i];
        s->unit = strcmp(per, "step") == 0   ? (double)s->n_steps
                  : strcmp(per, "rank") == 0 ? (double)s->n_ranks
                                             : 1;
        if (s->n_gpu == 0)
            rs_result_note(result, "%c: no GPU work%s", 'A' + i, s->unit > 0 ? "" : " in steps");
        if (s->unit <= 0)
            rs_result_note(result,
                           "%c has no steps: --per step finds nothing there; --per rank counts everything",
                           'A' + i);
    }
    const side *a = &c->sides[0], *b = &c->sides[1];
    bool total = strcmp(per, "total") == 0;
    if (total && a->n_ranks != b->n_ranks)
        rs_result_note(
            result,
            "A and B have %zu and %zu ranks: sums differ for that alone; --per rank compares the mean rank",
            a->n_ranks, b->n_ranks);
    if (strcmp(per, "step") != 0 && a->n_steps * b->n_ranks != b->n_steps * a->n_ranks && a->n_steps &&
        b->n_steps)
        rs_result_note(result,
                       "A and B have %zu and %zu steps, all ranks together: sums differ for that alone; "
                       "--per step compares the mean step",
                       a->n_steps, b->n_steps);
}

static void clear(comparison *c)
{
    for (int i = 0; i < 2; i++) rs_free(c->sides[i].steps);
    rs_diff_rows_clear(&c->rows);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    RS_SCOPED(clear) comparison c = {.rows = {.n = 0}};
    RS_TRY(rs_diff_rows_make(partials, n, &c.rows, err));
    for (size_t i = 0; i < n; i++)
        if (!add_side(&c, &partials[i])) return rs_fail_nomem(err, "steps");
    add_groups(&c);
    settle_units(run, &c, result);
    result->main_table = strcmp(rs_options_text(run->options, "by"), "total") == 0 ? TOTALS : NAMES;
    RS_TRY(add_names(run, &c, result->tables[NAMES], err));
    RS_TRY(add_totals(&c, result->tables[TOTALS], err));
    RS_TRY(rs_diff_add_ranks(partials, n, result->tables[RANKS], err));
    RS_TRY(rs_gate_apply(run->options, result->tables[result->main_table], result, err));
    if (result->found)
        rs_result_note(result, "two runs do not say how much equal runs differ: this may be noise. rankscope "
                               "regress tests several runs a side");
    return RS_OK;
}

const rs_analysis rs_analysis_diff = {
    .name = "diff",
    .group = "compare",
    .help = "Kernels, operators and calls of two traces or jobs, by count and time",
    .about =
        "A is what is compared with, B what is judged; each is a trace or a directory with one trace a "
        "rank. Names "
        "are compared over all ranks together. GPU work counts with its duration, operators and calls "
        "with their host time, operators nested in it included. --ranks and --steps apply to both.\n\n"
        "Under --compat hta the rows are those of HTA's TraceDiff; of its options --kind all, gpu or "
        "host and --short-names apply.\n\n"
        "With --fail-on the exit code is 1 when a row meets the expression: of the names, or with --by "
        "total of the "
        "totals. The change in percent of a name that A does not have is unknown and meets nothing. Two runs do "
        "not say how much equal runs differ, so such a gate fires on noise, too; rankscope regress tests several "
        "runs a side.",
    .examples = "rankscope diff before.json.gz after.json.gz\n"
                "rankscope diff --per step --short-names --kind gpu --top 20 before/ after/\n"
                "rankscope diff --per step --by total --fail-on 'change_pct > 5%' before/ after/\n"
                "rankscope diff --per step --kind gpu --fail-on 'time_change_pct > 10, impact_pct > 1' "
                "before/ after/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .two_sided = true,
    .rank = rs_diff_rank_of,
    .merge = merge,
    .free_partial = rs_diff_free,
};
