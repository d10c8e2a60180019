/* Many runs, one behind the other: where their level changed, and what the change is made of. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/changes.h"
#include "base/interval.h"
#include "base/try.h"
#include "regress/parts.h"
#include "table/record.h"

typedef struct history_row {
    int64_t place, steps, level;
    const char *label;
    double mean, level_mean; /* us */
} history_row;

#define HISTORY_ROW(CELL)                                                                                    \
    CELL(OF(history_row, place), "place", INT, ID, "place in the history, from 0", NULL)                     \
    CELL(OF(history_row, label), "run", TEXT, NONE, "its path", NULL)                                        \
    CELL(OF(history_row, steps), "steps", INT, COUNT, "settled steps", NULL)                                 \
    CELL(OF(history_row, mean), "mean_us", REAL, US, "mean settled step; unknown of a run without", "mean")  \
    CELL(ID(history_row, level), "level", INT, ID, "changes before it", NULL)                                \
    CELL(OF(history_row, level_mean), "level_us", REAL, US, "geometric mean of the runs of its level",       \
         "level")
RS_RECORD(history, HISTORY_ROW);

typedef struct change_row {
    int64_t place;
    const char *label, *before;
    int64_t runs_before, runs_after;
    double base, now; /* us */
    double change, low, high, p;
} change_row;

#define CHANGE_ROW(CELL)                                                                                     \
    CELL(OF(change_row, place), "place", INT, ID, "place of the first run of the new level", NULL)           \
    CELL(OF(change_row, label), "run", TEXT, NONE, "that run", NULL)                                         \
    CELL(OF(change_row, before), "before", TEXT, NONE, "the last run of the old level", NULL)                \
    CELL(OF(change_row, runs_before), "runs_before", INT, COUNT, "runs of the old level", NULL)              \
    CELL(OF(change_row, runs_after), "runs_after", INT, COUNT, "runs of the new level", NULL)                \
    CELL(OF(change_row, base), "base_us", REAL, US, "geometric mean of the old level's runs", "base")        \
    CELL(OF(change_row, now), "new_us", REAL, US, "of the new level's", "new")                               \
    CELL(OF(change_row, change), "change_pct", REAL, PERCENT, "ratio of both, less 1", "change %")           \
    CELL(OF(change_row, low), "low_pct", REAL, PERCENT, "its interval of 1 - alpha, by itself", "low %")     \
    CELL(OF(change_row, high), "high_pct", REAL, PERCENT, "its interval of 1 - alpha, by itself", "high %")  \
    CELL(OF(change_row, p), "p", REAL, NONE,                                                                 \
         "of no difference, by Student's test of the log means, for the number of places it could be at",    \
         NULL)
RS_RECORD(change, CHANGE_ROW);

typedef struct cause_row {
    int64_t place;
    const char *label, *part, *kernel, *operator_name, *phase, *group;
    double base, now;       /* us */
    int64_t change, of_all; /* ns a step */
} cause_row;

#define CAUSE_ROW(CELL)                                                                                      \
    CELL(OF(cause_row, place), "place", INT, ID, "of the change", NULL)                                      \
    CELL(OF(cause_row, label), "run", TEXT, NONE, "first run of the new level", NULL)                        \
    CELL(OF(cause_row, part), "part", TEXT, NONE, "kind of time", NULL)                                      \
    CELL(MAYBE(cause_row, kernel), "kernel", TEXT, NONE, "the work, operator or call that has the time",     \
         NULL)                                                                                               \
    CELL(MAYBE(cause_row, operator_name), "operator", TEXT, NONE, "with --by operator", NULL)                \
    CELL(MAYBE(cause_row, phase), "phase", TEXT, NONE, "with --by phase", NULL)                              \
    CELL(MAYBE(cause_row, group), "group", TEXT, NONE, "with --by group", NULL)                              \
    CELL(OF(cause_row, base), "base_us", REAL, US, "of a step of the old level", "base")                     \
    CELL(OF(cause_row, now), "new_us", REAL, US, "of a step of the new level", "new")                        \
    CELL(OF(cause_row, change), "part_us", TIME, US, "its part of the change", "part")                       \
    CELL(SHARE(cause_row, change, of_all), "share_pct", REAL, PERCENT, "of the whole change", "share %")
RS_RECORD(cause, CAUSE_ROW);

static const rs_table_spec history_table = RS_TABLE("history", "one row is one run", history_columns);
static const rs_table_spec change_table =
    RS_TABLE("changes", "one row is a change of the level of the runs", change_columns);
static const rs_table_spec cause_table = RS_TABLE(
    "causes", "one row is a part of a change: the ten that changed most, of each change", cause_columns);
const rs_table_spec *const rs_regress_history_tables[3] = {&history_table, &change_table, &cause_table};
enum { HISTORY, CHANGES, CAUSES, N_TABLES };

#define MOST_CAUSES 10

typedef struct series {
    const rs_regress_side *side;
    double *logs;   /* of the runs with settled steps */
    size_t *places; /* of them in the side */
    size_t n;
    rs_change *changes;
    size_t n_changes;
} series;

static void clear(series *s)
{
    rs_free_all(s->logs, s->places, s->changes);
}

static bool take(series *s)
{
    size_t n = s->side->n + 1;
    s->logs = rs_malloc(n * sizeof *s->logs);
    s->places = rs_malloc(n * sizeof *s->places);
    s->changes = rs_malloc(n * sizeof *s->changes);
    if (!s->logs || !s->places || !s->changes) return false;
    for (size_t i = 0; i < s->side->n; i++) {
        int64_t samples, sum;
        rs_run_total(&s->side->runs[i], &samples, &sum);
        if (!samples || sum <= 0) continue;
        s->places[s->n] = i;
        s->logs[s->n++] = log((double)sum / (double)samples);
    }
    return true;
}

/* The level around a place of the series: [*from, *to), and how many changes lie before it. */
static size_t level_of(const series *s, size_t at, size_t *from, size_t *to)
{
    size_t level = 0;
    while (level < s->n_changes && s->changes[level].at <= at) level++;
    *from = level ? s->changes[level - 1].at : 0;
    *to = level < s->n_changes ? s->changes[level].at : s->n;
    return level;
}

static double mean_us(const series *s, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++) sum += s->logs[i];
    return exp(sum / (double)(to - from)) / 1e3;
}

static rs_status put_history(const series *s, rs_table *table, rs_error *err)
{
    size_t next = 0;
    for (size_t i = 0; i < s->side->n; i++) {
        const rs_one_run *run = &s->side->runs[i];
        history_row row = {.place = (int64_t)i,
                           .label = run->label,
                           .level = -1,
                           .mean = (double)NAN,
                           .level_mean = (double)NAN};
        for (size_t k = 0; k < run->n_steps; k++) row.steps += run->steps[k].phase == RS_RUN_SETTLED;
        if (next < s->n && s->places[next] == i) {
            size_t from, to;
            row.level = (int64_t)level_of(s, next, &from, &to);
            row.mean = exp(s->logs[next++]) / 1e3;
            row.level_mean = mean_us(s, from, to);
        }
        RS_TRY(rs_table_put_row(table, &history_record, 0, &row, err));
    }
    return RS_OK;
}

static rs_status put_change(const series *s, const rs_change *c, rs_table *table, rs_error *err)
{
    size_t from, middle, to;
    level_of(s, c->at - 1, &from, &middle);
    level_of(s, c->at, &middle, &to);
    change_row row = {.place = (int64_t)s->places[c->at],
                      .label = s->side->runs[s->places[c->at]].label,
                      .before = s->side->runs[s->places[c->at - 1]].label,
                      .runs_before = (int64_t)(middle - from),
                      .runs_after = (int64_t)(to - middle),
                      .base = mean_us(s, from, middle),
                      .now = mean_us(s, middle, to),
                      .change = 100 * expm1(c->difference),
                      .low = 100 * expm1(c->low),
                      .high = 100 * expm1(c->high),
                      .p = c->p};
    return rs_table_put_row(table, &change_record, 0, &row, err);
}

static const char *text_at(const rs_parts *p, uint32_t id)
{
    return id ? p->texts.items[id].text : NULL;
}

/* Parts of the step between the level before a change and the one behind it. */
static rs_status put_causes(const series *s, const rs_change *c, const rs_regress_settings *settings,
                            rs_regress_method method, rs_result *result, rs_error *err)
{
    size_t from, middle, to;
    RS_SCOPED(rs_parts_clear) rs_parts parts = {.n = 0};
    char reason[RS_ERROR_TEXT];
    level_of(s, c->at - 1, &from, &middle);
    level_of(s, c->at, &middle, &to);
    const rs_run_range sides[2] = {{s->side, s->places[from], s->places[middle - 1] + 1},
                                   {s->side, s->places[middle], s->places[to - 1] + 1}};
    rs_status status =
        rs_parts_find(sides, method, settings->key, settings->alpha, &parts, reason, sizeof reason, err);
    const char *label = s->side->runs[s->places[middle]].label;
    if (status == RS_OK && *reason)
        rs_result_note(result, "parts of the change at %.200s: %s", label, reason);
    int64_t whole = 0;
    for (size_t i = 0; i < parts.n; i++) whole = rs_add_sat(whole, parts.rows[i].change);
    for (size_t i = 0; status == RS_OK && i < parts.n && i < MOST_CAUSES; i++) {
        const rs_part_row *x = &parts.rows[i];
        cause_row row = {.place = (int64_t)s->places[middle],
                         .label = label,
                         .part = text_at(&parts, x->part),
                         .kernel = text_at(&parts, x->name),
                         .operator_name = text_at(&parts, x->operator_name),
                         .phase = text_at(&parts, x->phase),
                         .group = text_at(&parts, x->group),
                         .base = (double)x->sum[0] / (double)parts.samples[0] / 1e3,
                         .now = (double)x->sum[1] / (double)parts.samples[1] / 1e3,
                         .change = x->change,
                         .of_all = whole};
        if (x->change) status = rs_table_put_row(result->tables[CAUSES], &cause_record, 0, &row, err);
    }
    return status;
}

static rs_status fill(series *s, const rs_regress_settings *settings, rs_result *result, rs_error *err)
{
    const rs_run_range all[2] = {{s->side, 0, s->side->n}, {s->side, 0, 0}};
    rs_regress_method method = settings->method;
    double alpha = settings->alpha > 0 ? settings->alpha : 0.05,
           least = settings->min_effect > 0 ? log1p(settings->min_effect) : 0;
    if (!take(s)) return rs_fail_nomem(err, "a history");
    if (s->n < RS_REGRESS_HISTORY)
        rs_result_note(result, "%zu runs with steps: changes are looked for in %d or more", s->n,
                       RS_REGRESS_HISTORY);
    else if (!rs_changes_find(s->logs, s->n, alpha, least, s->changes, &s->n_changes))
        return rs_fail_nomem(err, "a history");
    RS_TRY(put_history(s, result->tables[HISTORY], err));
    bool has_parts = s->n_changes && rs_parts_choose(all, &method, result);
    rs_parts_note_clocks(all, 1, has_parts ? method : RS_REGRESS_EXPOSED, result);
    for (size_t i = 0; i < s->n_changes; i++) {
        RS_TRY(put_change(s, &s->changes[i], result->tables[CHANGES], err));
        if (has_parts) RS_TRY(put_causes(s, &s->changes[i], settings, method, result, err));
    }
    return RS_OK;
}

rs_status rs_regress_history(const rs_regress_side *side, const rs_regress_settings *settings,
                             rs_result *result, rs_error *err)
{
    if (!settings || settings->size < sizeof *settings)
        return rs_fail(err, RS_ERR_USAGE, "the settings of the history have no size");
    series s = {.side = side};
    result->tables = rs_calloc(N_TABLES, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "the tables");
    for (int i = 0; i < N_TABLES; i++) {
        rs_table *table = rs_table_create(rs_regress_history_tables[i]);
        if (!table) return rs_fail_nomem(err, "the tables");
        result->tables[result->n_tables++] = table;
    }
    rs_status status = fill(&s, settings, result, err);
    clear(&s);
    return status;
}
