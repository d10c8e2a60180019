/* The verdict over runs, and the parts of the change, which add up to it to the nanosecond. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/sampling.h"
#include "base/stats.h"
#include "base/try.h"
#include "regress/run.h"
#include "table/record.h"

typedef __int128 wide;

/* ---- tables -------------------------------------------------------------------------------------------- */

typedef struct verdict_row {
    const char *verdict, *reason;
    double base, now; /* us */
    double change, low, high, p, visible;
    int64_t runs_a, runs_b, steps_a, steps_b;
    double all, settled, outliers, warm_up; /* us */
} verdict_row;

#define VERDICT_ROW(CELL)                                                                                    \
    CELL(OF(verdict_row, verdict), "verdict", TEXT, NONE, "slower, faster, same, or undecided", NULL)        \
    CELL(OF(verdict_row, base), "base_us", REAL, US, "mean step of the base: settled steps of all runs",     \
         "base")                                                                                             \
    CELL(OF(verdict_row, now), "new_us", REAL, US, "the same of the new side", "new")                        \
    CELL(OF(verdict_row, change), "change_pct", REAL, PERCENT, "ratio of the runs' geometric means, less 1", \
         "change %")                                                                                         \
    CELL(OF(verdict_row, low), "low_pct", REAL, PERCENT, "its interval of 1 - alpha, over runs", "low %")    \
    CELL(OF(verdict_row, high), "high_pct", REAL, PERCENT, "its interval of 1 - alpha, over runs", "high %") \
    CELL(OF(verdict_row, p), "p", REAL, NONE, "of no difference, by Welch's test of the runs' log means",    \
         NULL)                                                                                               \
    CELL(OF(verdict_row, runs_a), "runs_a", INT, COUNT, "runs of the base with steps", NULL)                 \
    CELL(OF(verdict_row, runs_b), "runs_b", INT, COUNT, "runs of the new side with steps", NULL)             \
    CELL(OF(verdict_row, steps_a), "steps_a", INT, COUNT, "settled steps of the base", NULL)                 \
    CELL(OF(verdict_row, steps_b), "steps_b", INT, COUNT, "settled steps of the new side", NULL)             \
    CELL(OF(verdict_row, visible), "smallest_visible_pct", REAL, PERCENT,                                    \
         "the least change that these runs show with a power of 80 %", "smallest visible %")                 \
    CELL(OF(verdict_row, all), "all_us", REAL, US,                                                           \
         "change of the mean over all steps: the next three make it up", "all steps")                        \
    CELL(OF(verdict_row, settled), "settled_us", REAL, US, "new_us - base_us", "settled")                    \
    CELL(OF(verdict_row, outliers), "outliers_us", REAL, US, "change of what outlier steps add to the mean", \
         "outliers")                                                                                         \
    CELL(OF(verdict_row, warm_up), "warm_up_us", REAL, US, "change of what warm-up adds to the mean",        \
         "warm-up")                                                                                          \
    CELL(MAYBE(verdict_row, reason), "reason", TEXT, NONE, "why it is undecided", NULL)
RS_RECORD(verdict, VERDICT_ROW);

typedef struct part_row {
    const char *part, *kernel;
    double base, now;                   /* us a step */
    int64_t change, by_count, duration; /* ns a step */
    double p;
} part_row;

#define PART_ROW(CELL)                                                                                       \
    CELL(OF(part_row, part), "part", TEXT, NONE, "kind of time", NULL)                                       \
    CELL(MAYBE(part_row, kernel), "kernel", TEXT, NONE,                                                      \
         "the work that has the time; unknown of time without work", NULL)                                   \
    CELL(OF(part_row, base), "base_us", REAL, US, "of a step of the base", "base")                           \
    CELL(OF(part_row, now), "new_us", REAL, US, "of a step of the new side", "new")                          \
    CELL(OF(part_row, change), "part_us", TIME, US, "its part of the change; all parts add up to it",        \
         "part")                                                                                             \
    CELL(OF(part_row, by_count), "by_count_us", TIME, US,                                                    \
         "of it: more or fewer pieces, each as long as before", "by count")                                  \
    CELL(OF(part_row, duration), "by_duration_us", TIME, US, "of it: longer or shorter ones", "by duration") \
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
            t->samples[phase] = rs_add_sat(t->samples[phase], run->n_ranks);
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

typedef struct row {
    const char *part, *name;
    int64_t sum[2], count[2];
    double p;
    wide rest; /* of the division, for the largest remainders */
    int64_t change;
} row;

typedef struct part_list {
    row *items;
    size_t n, capacity;
} part_list;

static int by_key(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int part = strcmp(x->part, y->part);
    return part ? part : strcmp(x->name, y->name);
}

static bool collect(const rs_regress_side *side, int which, bool by_part, part_list *list)
{
    for (size_t r = 0; r < side->n; r++)
        for (size_t i = 0; i < side->runs[r].n_parts; i++) {
            const rs_run_part *p = &side->runs[r].parts[i];
            if (!RS_GROW_ONE(list->items, list->n, list->capacity)) return false;
            row *new = &list->items[list->n++];
            *new = (row){.part = side->texts.items[p->part].text,
                         .name = by_part ? "" : side->texts.items[p->name].text};
            new->sum[which] = p->sum;
            new->count[which] = p->count;
        }
    return true;
}

static void unite(part_list *list)
{
    size_t kept = 0;
    if (list->n) qsort(list->items, list->n, sizeof *list->items, by_key);
    for (size_t i = 0; i < list->n; i++) {
        row *last = kept ? &list->items[kept - 1] : NULL, *next = &list->items[i];
        if (!last || by_key(last, next) != 0) {
            list->items[kept++] = *next;
            continue;
        }
        for (int k = 0; k < 2; k++) {
            last->sum[k] = rs_add_sat(last->sum[k], next->sum[k]);
            last->count[k] = rs_add_sat(last->count[k], next->count[k]);
        }
    }
    list->n = kept;
}

/* Rounds down; *rest is at least 0. */
static int64_t divide(wide n, wide by, wide *rest)
{
    wide q = n / by, r = n % by;
    if (r < 0) {
        q--;
        r += by;
    }
    *rest = r;
    return (int64_t)q;
}

static int by_rest(const void *a, const void *b)
{
    const row *x = *(row *const *)a, *y = *(row *const *)b;
    if (x->rest != y->rest) return x->rest > y->rest ? -1 : 1;
    return by_key(x, y);
}

/* part_k = S_B,k / n_B - S_A,k / n_A over one denominator; whole ns go to the largest remainders, so that the
 * parts add up to the rounded change. */
static bool share_out(part_list *list, const int64_t n[2], wide whole)
{
    wide by = (wide)n[0] * n[1], rest;
    row **order = rs_malloc((list->n + 1) * sizeof *order);
    if (!order) return false;
    int64_t left = divide(whole + by / 2, by, &rest);
    for (size_t i = 0; i < list->n; i++) {
        row *x = &list->items[i];
        x->change = divide((wide)x->sum[1] * n[0] - (wide)x->sum[0] * n[1], by, &x->rest);
        left -= x->change;
        order[i] = x;
    }
    qsort(order, list->n, sizeof *order, by_rest);
    for (size_t i = 0; i < list->n && left > 0; i++, left--) order[i]->change++;
    rs_free(order);
    return true;
}

/* A part's time in a step of each run of a side; runs without it have 0. */
static size_t values_of(const rs_regress_side *side, const row *x, bool by_part, double *out)
{
    size_t n = 0;
    for (size_t r = 0; r < side->n; r++) {
        const rs_one_run *run = &side->runs[r];
        int64_t samples, sum, own = 0;
        rs_run_total(run, &samples, &sum);
        if (!samples) continue;
        for (size_t i = 0; i < run->n_parts; i++) {
            if (strcmp(side->texts.items[run->parts[i].part].text, x->part) != 0) continue;
            if (by_part || strcmp(side->texts.items[run->parts[i].name].text, x->name) == 0)
                own = rs_add_sat(own, run->parts[i].sum);
        }
        out[n++] = (double)own / (double)samples;
    }
    return n;
}

#define MOST_TESTED 200 /* rows by the size of their change: the rest has no p */

static int by_change(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int64_t m = x->change < 0 ? -x->change : x->change, n = y->change < 0 ? -y->change : y->change;
    if (m != n) return m > n ? -1 : 1;
    return by_key(a, b);
}

static bool test_parts(const rs_regress_side *const sides[2], part_list *list, double alpha, bool by_part)
{
    double *a = rs_malloc((sides[0]->n + 1) * sizeof *a), *b = rs_malloc((sides[1]->n + 1) * sizeof *b);
    double *p = rs_malloc((list->n + 1) * sizeof *p);
    bool ok = a && b && p;
    for (size_t i = 0; ok && i < list->n; i++) {
        p[i] = (double)NAN;
        if (i >= MOST_TESTED) continue;
        size_t n_a = values_of(sides[0], &list->items[i], by_part, a);
        size_t n_b = values_of(sides[1], &list->items[i], by_part, b);
        p[i] = rs_welch_compare(a, n_a, b, n_b, alpha, -1).p;
    }
    ok = ok && rs_holm(p, list->n);
    for (size_t i = 0; ok && i < list->n; i++) list->items[i].p = p[i];
    rs_free(a);
    rs_free(b);
    rs_free(p);
    return ok;
}

/* More pieces at the old length, and the rest: old pieces that take longer. A part that one side has not is all
 * by count. */
static int64_t by_count(const row *x, const int64_t n[2])
{
    if (!x->count[0] || !x->count[1]) return x->change;
    double pieces = (double)x->count[1] / (double)n[1] - (double)x->count[0] / (double)n[0];
    double ns = pieces * ((double)x->sum[0] / (double)x->count[0]);
    return fabs(ns) < 9e18 ? (int64_t)llround(ns) : 0;
}

static rs_status put_parts(const part_list *list, const int64_t n[2], rs_table *table, rs_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        const row *x = &list->items[i];
        part_row cells = {.part = x->part,
                          .kernel = x->name[0] ? x->name : NULL,
                          .base = (double)x->sum[0] / (double)n[0] / 1e3,
                          .now = (double)x->sum[1] / (double)n[1] / 1e3,
                          .change = x->change,
                          .by_count = by_count(x, n),
                          .p = x->p};
        cells.duration = rs_sub_sat(cells.change, cells.by_count);
        RS_TRY(rs_table_put_row(table, &part_record, 0, &cells, err));
    }
    return RS_OK;
}

/* Ranks of all runs of both sides; 0 where they differ. */
static int64_t common_ranks(const rs_regress_side *const sides[2])
{
    int64_t ranks = -1;
    for (int k = 0; k < 2; k++)
        for (size_t r = 0; r < sides[k]->n; r++) {
            if (!sides[k]->runs[r].n_steps) continue;
            if (ranks >= 0 && sides[k]->runs[r].n_ranks != ranks) return 0;
            ranks = sides[k]->runs[r].n_ranks;
        }
    return ranks;
}

static rs_status find_parts(const rs_regress_side *const sides[2], const totals t[2], double alpha,
                            bool by_part, rs_result *result, rs_error *err)
{
    const int64_t n[2] = {t[0].samples[0], t[1].samples[0]};
    part_list list = {0};
    if (!n[0] || !n[1]) return RS_OK;
    if (!common_ranks(sides)) {
        rs_result_note(result, "parts: incomparable, the runs have different numbers of ranks");
        return RS_OK;
    }
    wide whole = (wide)t[1].sum[0] * n[0] - (wide)t[0].sum[0] * n[1];
    bool ok = collect(sides[0], 0, by_part, &list) && collect(sides[1], 1, by_part, &list);
    if (ok) unite(&list);
    ok = ok && share_out(&list, n, whole);
    if (ok && list.n) qsort(list.items, list.n, sizeof *list.items, by_change);
    ok = ok && test_parts(sides, &list, alpha, by_part);
    rs_status status = ok ? put_parts(&list, n, result->tables[PARTS], err) : rs_fail_nomem(err, "the parts");
    rs_free(list.items);
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
                             rs_table *table, rs_error *err)
{
    const totals *a = &t[0], *b = &t[1];
    verdict_row v = {.verdict = rs_regress_verdict_name(verdict),
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
    const rs_regress_side *const sides[2] = {base, now};
    totals t[2] = {{.n = 0}, {.n = 0}};
    double alpha = settings->alpha > 0 ? settings->alpha : 0.05,
           least = settings->min_effect > 0 ? settings->min_effect : 0;
    rs_status status = make_tables(result, err);
    for (int k = 0; status == RS_OK && k < 2; k++) status = add_up(sides[k], &t[k], err);
    if (status == RS_OK) {
        rs_welch w = rs_welch_compare(t[0].logs, t[0].n, t[1].logs, t[1].n, alpha, settings->between_run_sd);
        *verdict = judge(&w, least);
        status = put_verdict(t, &w, *verdict, result->tables[VERDICT], err);
    }
    if (status == RS_OK) status = find_parts(sides, t, alpha, settings->by_part, result, err);
    for (int k = 0; status == RS_OK && k < 2; k++)
        status = put_runs(sides[k], k ? "new" : "base", result->tables[RUNS], err);
    rs_free(t[0].logs);
    rs_free(t[1].logs);
    return status;
}
