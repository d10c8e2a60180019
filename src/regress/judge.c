/* The verdict over runs, and the parts of the change, which add up to it to the nanosecond. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/sampling.h"
#include "base/try.h"
#include "regress/parts.h"
#include "table/record.h"

/* ---- tables -------------------------------------------------------------------------------------------- */

typedef struct verdict_row {
    const char *verdict, *parts, *reason;
    double base, now; /* us */
    double change, low, high, p, visible;
    int64_t runs_a, runs_b, steps_a, steps_b;
    double all, settled, outliers, warm_up; /* us */
} verdict_row;

#define VERDICT_ROW(CELL)                                                                                        \
    CELL(OF(verdict_row, verdict), "verdict", TEXT, NONE, "slower, faster, same, or undecided", NULL)            \
    CELL(                                                                                                        \
        OF(verdict_row, base), "base_us", REAL, US,                                                              \
        "mean length of a step of the base on the host (of steps: length_us), or with --step job from the last " \
        "rank's end to the last rank's end: settled steps of all runs",                                          \
        "base")                                                                                                  \
    CELL(OF(verdict_row, now), "new_us", REAL, US, "the same of the new side", "new")                            \
    CELL(OF(verdict_row, change), "change_pct", REAL, PERCENT, "ratio of the runs' geometric means, less 1",     \
         "change %")                                                                                             \
    CELL(OF(verdict_row, low), "low_pct", REAL, PERCENT, "its interval of 1 - alpha, over runs", "low %")        \
    CELL(OF(verdict_row, high), "high_pct", REAL, PERCENT, "its interval of 1 - alpha, over runs", "high %")     \
    CELL(OF(verdict_row, p), "p", REAL, NONE, "of no difference, by Welch's test of the runs' log means",        \
         NULL)                                                                                                   \
    CELL(OF(verdict_row, runs_a), "runs_a", INT, COUNT, "runs of the base with steps", NULL)                     \
    CELL(OF(verdict_row, runs_b), "runs_b", INT, COUNT, "runs of the new side with steps", NULL)                 \
    CELL(OF(verdict_row, steps_a), "steps_a", INT, COUNT, "settled steps of the base", NULL)                     \
    CELL(OF(verdict_row, steps_b), "steps_b", INT, COUNT, "settled steps of the new side", NULL)                 \
    CELL(OF(verdict_row, visible), "smallest_visible_pct", REAL, PERCENT,                                        \
         "the least change that these runs show with a power of 80 %", "smallest visible %")                     \
    CELL(OF(verdict_row, all), "all_us", REAL, US,                                                               \
         "change of the mean over all steps: the next three make it up", "all steps")                            \
    CELL(OF(verdict_row, settled), "settled_us", REAL, US, "new_us - base_us", "settled")                        \
    CELL(OF(verdict_row, outliers), "outliers_us", REAL, US, "change of what outlier steps add to the mean",     \
         "outliers")                                                                                             \
    CELL(OF(verdict_row, warm_up), "warm_up_us", REAL, US, "change of what warm-up adds to the mean",            \
         "warm-up")                                                                                              \
    CELL(MAYBE(verdict_row, parts), "parts", TEXT, NONE,                                                         \
         "what the table parts divides: path or exposed (the time line); unknown: nothing", NULL)                \
    CELL(MAYBE(verdict_row, reason), "reason", TEXT, NONE, "why it is undecided", NULL)
RS_RECORD(verdict, VERDICT_ROW);

typedef struct part_row {
    const char *part, *kernel, *operator_name, *phase, *group, *was, *status;
    double base, now;                         /* us a step */
    int64_t change, by_count, duration, swap; /* ns a step */
    int64_t moved;
    double p;
} part_row;

#define PART_ROW(CELL)                                                                                       \
    CELL(OF(part_row, part), "part", TEXT, NONE, "kind of time", NULL)                                       \
    CELL(MAYBE(part_row, kernel), "kernel", TEXT, NONE,                                                      \
         "the work that has the time, or the operator or call of the host; unknown of time without any",     \
         NULL)                                                                                               \
    CELL(MAYBE(part_row, operator_name), "operator", TEXT, NONE,                                             \
         "the operator that launched it, or that the host was in; with --by operator", NULL)                 \
    CELL(MAYBE(part_row, phase), "phase", TEXT, NONE, "of the model; with --by phase", NULL)                 \
    CELL(MAYBE(part_row, group), "group", TEXT, NONE, "process group of a transfer; with --by group", NULL)  \
    CELL(OF(part_row, base), "base_us", REAL, US, "of a step of the base", "base")                           \
    CELL(OF(part_row, now), "new_us", REAL, US, "of a step of the new side", "new")                          \
    CELL(OF(part_row, change), "part_us", TIME, US, "its part of the change; all parts add up to it",        \
         "part")                                                                                             \
    CELL(OF(part_row, by_count), "by_count_us", TIME, US,                                                    \
         "of it: more or fewer pieces, each as long as before", "by count")                                  \
    CELL(OF(part_row, duration), "by_duration_us", TIME, US, "of it: longer or shorter ones", "by duration") \
    CELL(OF(part_row, swap), "swap_us", TIME, US,                                                            \
         "along the path: what a step changes by if it gets the other side's time of this alone, by replay " \
         "of a run; of the rows that changed most",                                                          \
         "swap")                                                                                             \
    CELL(                                                                                                    \
        ID(part_row, moved), "moved", INT, NONE,                                                             \
        "1: part_us and swap_us differ by more than 10 %, and by 0.2 % of the step or 2 % of a change that " \
        "matters: the path runs elsewhere, and the cause may be another row",                                \
        NULL)                                                                                                \
    CELL(MAYBE(part_row, status), "change", TEXT, NONE, "added, removed or renamed; else unknown", NULL)     \
    CELL(MAYBE(part_row, was), "was", TEXT, NONE, "its name in the base, where it was renamed", NULL)        \
    CELL(OF(part_row, p), "p", REAL, NONE,                                                                   \
         "of no difference over runs, adjusted for the number of rows (Holm)", NULL)
RS_RECORD(part, PART_ROW);

typedef struct run_row {
    const char *side, *label, *settled;
    int64_t ranks, steps, warm_up, outliers, partial;
    double mean, autocorrelation;
} run_row;

#define RUN_ROW(CELL)                                                                                        \
    CELL(OF(run_row, side), "side", TEXT, NONE, "base or new", NULL)                                         \
    CELL(OF(run_row, label), "run", TEXT, NONE, "its path", NULL)                                            \
    CELL(OF(run_row, ranks), "ranks", INT, COUNT, "ranks with steps", NULL)                                  \
    CELL(OF(run_row, steps), "steps", INT, COUNT, "steps that all ranks have", NULL)                         \
    CELL(OF(run_row, partial), "partial", INT, COUNT, "steps that some ranks have not, which do not count",  \
         NULL)                                                                                               \
    CELL(OF(run_row, warm_up), "warm_up", INT, COUNT, "steps set apart at the beginning (MSER)", NULL)       \
    CELL(OF(run_row, outliers), "outliers", INT, COUNT, "steps set apart: median + 5 median deviations",     \
         NULL)                                                                                               \
    CELL(OF(run_row, mean), "mean_us", REAL, US, "mean settled step", "mean")                                \
    CELL(OF(run_row, autocorrelation), "autocorrelation", REAL, NONE, "of a settled step with the next one", \
         NULL)                                                                                               \
    CELL(OF(run_row, settled), "settled", TEXT, NONE, "no: warm-up may reach beyond the middle", NULL)
RS_RECORD(run, RUN_ROW);

static const rs_table_spec verdict_table =
    RS_TABLE("verdict", "one row: is the new side slower?", verdict_columns);
static const rs_table_spec part_table =
    RS_TABLE("parts", "one row is a kind of time, of one kernel, in the change of a step", part_columns);
static const rs_table_spec run_table = RS_TABLE("runs", "one row is one run", run_columns);
const rs_table_spec *const rs_regress_tables[3] = {&verdict_table, &part_table, &run_table};
enum { VERDICT, PARTS, RUNS, N_TABLES };

const char *rs_regress_verdict_name(rs_regress_verdict verdict)
{
    static const char *const names[] = {"undecided", "same", "slower", "faster"};
    return names[verdict];
}

/* ---- sums of a side ------------------------------------------------------------------------------------ */

typedef struct totals {
    int64_t samples[3], sum[3]; /* steps times ranks, and ns, by rs_run_phase */
    int64_t steps;              /* settled */
    double *logs;               /* of the runs' means, runs with settled steps */
    size_t n;
} totals;

static double run_mean(const rs_one_run *run)
{
    int64_t samples, sum;
    rs_run_total(run, &samples, &sum);
    return samples ? (double)sum / (double)samples : (double)NAN;
}

static rs_status add_up(const rs_regress_side *side, totals *t, rs_error *err)
{
    t->logs = rs_malloc((side->n + 1) * sizeof *t->logs);
    if (!t->logs) return rs_fail_nomem(err, "runs");
    for (size_t r = 0; r < side->n; r++) {
        const rs_one_run *run = &side->runs[r];
        for (size_t i = 0; i < run->n_steps; i++) {
            int phase = run->steps[i].phase;
            t->samples[phase] = rs_add_sat(t->samples[phase], run->per_step);
            t->sum[phase] = rs_add_sat(t->sum[phase], run->steps[i].sum);
            t->steps += phase == RS_RUN_SETTLED;
        }
        double mean = run_mean(run);
        if (mean > 0) t->logs[t->n++] = log(mean);
    }
    return RS_OK;
}

static double mean_of(const totals *t)
{
    return t->samples[0] ? (double)t->sum[0] / (double)t->samples[0] : (double)NAN;
}

/* What the steps of a phase add to the mean over all steps, beyond settled ones. */
static double excess(const totals *t, rs_run_phase phase)
{
    double all = (double)t->samples[0] + (double)t->samples[1] + (double)t->samples[2];
    return ((double)t->sum[phase] - (double)t->samples[phase] * mean_of(t)) / all;
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static rs_regress_verdict judge(const rs_welch *w, double least)
{
    double change = expm1(w->difference), low = expm1(w->low), high = expm1(w->high);
    if (isnan(w->low)) return RS_REGRESS_UNDECIDED;
    if (low > 0 && change >= least) return RS_REGRESS_SLOWER;
    if (high < 0 && change <= -least) return RS_REGRESS_FASTER;
    if (low >= -least && high <= least) return RS_REGRESS_SAME;
    return RS_REGRESS_UNDECIDED;
}

static const char *reason_of(const totals *a, const totals *b, const rs_welch *w)
{
    if (!a->n || !b->n) return "a side has no steps";
    if (isnan(w->low))
        return "one run a side: how much equal runs differ is not known; give more runs, or --between-run-sd";
    return "the interval holds changes that matter and none";
}

/* ---- parts --------------------------------------------------------------------------------------------- */

#define MOVED_OF_PART 0.1    /* a part and its swap that differ by more: the path has moved */
#define MOVED_OF_STEP 0.002  /* ... and by more than that of a step ... */
#define MOVED_OF_CHANGE 0.02 /* ... or of a change that matters, if that is less */

static const char *text_at(const rs_parts *p, uint32_t id)
{
    return id ? p->texts.items[id].text : NULL;
}

/* Of what has a name: whether only one side has it. */
static const char *change_of(const rs_part_row *x)
{
    if (x->was) return "renamed";
    if (!x->name) return NULL;
    bool in_base = x->count[0] || x->work[0], in_new = x->count[1] || x->work[1];
    return !in_base ? "added" : !in_new ? "removed" : NULL;
}

static rs_status put_parts(const rs_parts *p, double min_effect, rs_table *table, rs_error *err)
{
    const int64_t *n = p->samples;
    double step = (double)p->sums[0] / (double)n[0];
    double change = fabs((double)p->sums[1] / (double)n[1] - step), least = MOVED_OF_STEP * step;
    if (change >= min_effect * step) least = fmin(least, MOVED_OF_CHANGE * change);
    for (size_t i = 0; i < p->n; i++) {
        const rs_part_row *x = &p->rows[i];
        if (p->method == RS_REGRESS_PATH && !x->sum[0] && !x->sum[1]) continue; /* on no path */
        part_row cells = {.part = text_at(p, x->part),
                          .kernel = text_at(p, x->name),
                          .operator_name = text_at(p, x->operator_name),
                          .phase = text_at(p, x->phase),
                          .group = text_at(p, x->group),
                          .was = text_at(p, x->was),
                          .status = change_of(x),
                          .base = (double)x->sum[0] / (double)n[0] / 1e3,
                          .now = (double)x->sum[1] / (double)n[1] / 1e3,
                          .change = x->change,
                          .by_count = rs_parts_by_count(p, x),
                          .swap = x->swap,
                          .moved = RS_NO_VALUE,
                          .p = x->p};
        cells.duration = rs_sub_sat(cells.change, cells.by_count);
        if (x->swap != RS_NO_TIME) {
            double off = fabs((double)x->change - (double)x->swap);
            cells.moved = off > MOVED_OF_PART * fabs((double)x->change) && off > least;
        }
        RS_TRY(rs_table_put_row(table, &part_record, 0, &cells, err));
    }
    return RS_OK;
}

static rs_status find_parts(const rs_run_range sides[2], const rs_regress_settings *s, double alpha,
                            const char **method_name, rs_result *result, rs_error *err)
{
    const rs_regress_side *const both[2] = {sides[0].side, sides[1].side};
    rs_regress_method method = s->method;
    rs_parts parts = {.n = 0};
    char reason[RS_ERROR_TEXT];
    int of = -1;
    if (!rs_parts_choose(sides, &method, result)) return RS_OK;
    if (method == RS_REGRESS_EXPOSED && s->key != RS_REGRESS_KERNEL && s->key != RS_REGRESS_PART)
        rs_result_note(result, "operators, phases and groups are distinguished along the path only");
    rs_status status = rs_parts_find(sides, method, s->key, alpha, &parts, reason, sizeof reason, err);
    if (status == RS_OK && *reason) rs_result_note(result, "parts: %s", reason);
    if (status == RS_OK && method == RS_REGRESS_PATH) status = rs_parts_swap(&parts, both, &of, err);
    if (status == RS_OK && of == 1)
        rs_result_note(result, "swap_us: of a run of the new side that takes the base's durations, as the "
                               "base's traces are not here");
    if (status == RS_OK) status = put_parts(&parts, s->min_effect, result->tables[PARTS], err);
    if (status == RS_OK && parts.n) *method_name = method == RS_REGRESS_PATH ? "path" : "exposed";
    rs_parts_clear(&parts);
    return status;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static rs_status put_runs(const rs_regress_side *side, const char *name, rs_table *table, rs_error *err)
{
    for (size_t r = 0; r < side->n; r++) {
        const rs_one_run *run = &side->runs[r];
        run_row cells = {.side = name,
                         .label = run->label,
                         .ranks = run->n_ranks,
                         .steps = (int64_t)run->n_steps,
                         .partial = (int64_t)run->n_partial,
                         .settled = run->settled ? "yes" : "no",
                         .mean = run_mean(run) / 1e3};
        double *values = rs_malloc((run->n_steps + 1) * sizeof *values);
        size_t n = 0;
        if (!values) return rs_fail_nomem(err, "a run");
        for (size_t i = 0; i < run->n_steps; i++) {
            cells.warm_up += run->steps[i].phase == RS_RUN_WARM_UP;
            cells.outliers += run->steps[i].phase == RS_RUN_OUTLIER;
            if (run->steps[i].phase == RS_RUN_SETTLED) values[n++] = (double)run->steps[i].sum;
        }
        cells.autocorrelation = rs_autocorrelation(values, n);
        rs_free(values);
        RS_TRY(rs_table_put_row(table, &run_record, 0, &cells, err));
    }
    return RS_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status make_tables(rs_result *result, rs_error *err)
{
    result->tables = rs_calloc(N_TABLES, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "the tables");
    for (int i = 0; i < N_TABLES; i++) {
        rs_table *table = rs_table_create(rs_regress_tables[i]);
        if (!table) return rs_fail_nomem(err, "the tables");
        result->tables[result->n_tables++] = table;
    }
    return RS_OK;
}

static rs_status put_verdict(const totals t[2], const rs_welch *w, rs_regress_verdict verdict,
                             const char *method, rs_table *table, rs_error *err)
{
    const totals *a = &t[0], *b = &t[1];
    verdict_row v = {.verdict = rs_regress_verdict_name(verdict),
                     .parts = method,
                     .base = mean_of(a) / 1e3,
                     .now = mean_of(b) / 1e3,
                     .change = percent(w->difference),
                     .low = percent(w->low),
                     .high = percent(w->high),
                     .p = w->p,
                     .visible = percent(w->visible),
                     .runs_a = (int64_t)a->n,
                     .runs_b = (int64_t)b->n,
                     .steps_a = a->steps,
                     .steps_b = b->steps};
    if (verdict == RS_REGRESS_UNDECIDED) v.reason = reason_of(a, b, w);
    v.settled = v.now - v.base;
    v.outliers = (excess(b, RS_RUN_OUTLIER) - excess(a, RS_RUN_OUTLIER)) / 1e3;
    v.warm_up = (excess(b, RS_RUN_WARM_UP) - excess(a, RS_RUN_WARM_UP)) / 1e3;
    v.all = v.settled + v.outliers + v.warm_up;
    return rs_table_put_row(table, &verdict_record, 0, &v, err);
}

rs_status rs_regress(const rs_regress_side *base, const rs_regress_side *now,
                     const rs_regress_settings *settings, rs_result *result, rs_regress_verdict *verdict,
                     rs_error *err)
{
    if (!settings || settings->size < sizeof *settings)
        return rs_fail(err, RS_ERR_USAGE, "the settings of the comparison have no size");
    if (base->step != now->step)
        return rs_fail(err, RS_ERR_USAGE, "the two sides measure steps differently: by rank and by job");
    const rs_regress_side *const sides[2] = {base, now};
    const rs_run_range ranges[2] = {{base, 0, base->n}, {now, 0, now->n}};
    totals t[2] = {{.n = 0}, {.n = 0}};
    rs_welch w = {0};
    const char *method = NULL;
    double alpha = settings->alpha > 0 ? settings->alpha : 0.05,
           least = settings->min_effect > 0 ? settings->min_effect : 0;
    rs_status status = make_tables(result, err);
    for (int k = 0; status == RS_OK && k < 2; k++) status = add_up(sides[k], &t[k], err);
    if (status == RS_OK && t[0].n && t[1].n)
        status = find_parts(ranges, settings, alpha, &method, result, err);
    if (status == RS_OK) {
        w = rs_welch_compare(t[0].logs, t[0].n, t[1].logs, t[1].n, alpha, settings->between_run_sd);
        *verdict = judge(&w, least);
        status = put_verdict(t, &w, *verdict, method, result->tables[VERDICT], err);
    }
    if (status == RS_OK)
        rs_parts_note_clocks(
            ranges, 2, method && strcmp(method, "path") == 0 ? RS_REGRESS_PATH : RS_REGRESS_EXPOSED, result);
    for (int k = 0; status == RS_OK && k < 2; k++)
        status = put_runs(sides[k], k ? "new" : "base", result->tables[RUNS], err);
    rs_free_all(t[0].logs, t[1].logs);
    return status;
}
