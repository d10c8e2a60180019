/* The history as tables. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/stats.h"
#include "base/try.h"
#include "table/record.h"
#include "watch/watch.h"

#define LISTED 288 /* windows of the table */

typedef struct change_line {
    int64_t id, rank, begun, ended;
    const char *kind, *subject, *cause;
    double usual, now, change, low, high;
} change_line;

#define CHANGE_LINE(CELL)                                                                                    \
    CELL(OF(change_line, id), "change", INT, ID, "its number in the history", NULL)                          \
    CELL(OF(change_line, kind), "kind", TEXT, NONE,                                                          \
         "what changed: step, own_work, exposed_comm, idle, mfu, memory, missing, hang, finding:ID", NULL)   \
    CELL(ID(change_line, rank), "rank", INT, ID, "whose; unknown: the job's", NULL)                          \
    CELL(OF(change_line, subject), "subject", TEXT, NONE, "of a finding its culprits, of a hang the folder", \
         NULL)                                                                                               \
    CELL(OF(change_line, begun), "begun", INT, ID, "first window of it", NULL)                               \
    CELL(ID(change_line, ended), "ended", INT, ID, "first window without it; unknown: it goes on", NULL)     \
    CELL(OF(change_line, usual), "usual", REAL, NONE,                                                        \
         "level before: us of a step, share of the step, percent (mfu) or bytes", NULL)                      \
    CELL(OF(change_line, now), "now", REAL, NONE, "level in its first three windows", NULL)                  \
    CELL(OF(change_line, change), "change_pct", REAL, PERCENT,                                               \
         "relative change; of shares in percentage points of the step", "change %")                          \
    CELL(OF(change_line, low), "low_pct", REAL, PERCENT, "its 95 % interval", "low %")                       \
    CELL(OF(change_line, high), "high_pct", REAL, PERCENT, "its 95 % interval", "high %")                    \
    CELL(MAYBE(change_line, cause), "cause", TEXT, NONE,                                                     \
         "what the judge said of the window in which it was found", NULL)
RS_RECORD(change_line, CHANGE_LINE);

#define WINDOW_LINE(CELL)                                                                                    \
    CELL(OF(rs_window_medians, id), "window", INT, ID, "its number in the history", NULL)                    \
    CELL(OF(rs_window_medians, start), "start_unix_ns", INT, ID, "first event on the epoch clock, ns",       \
         "start (ns)")                                                                                       \
    CELL(OF(rs_window_medians, ranks), "ranks", INT, COUNT, "ranks recorded", NULL)                          \
    CELL(OF(rs_window_medians, step), "step_us", REAL, US, "median over ranks of the mean step", "step")     \
    CELL(OF(rs_window_medians, own), "own_us", REAL, US, "median of a rank's own work a step", "own work")   \
    CELL(OF(rs_window_medians, exposed), "exposed_comm_us", REAL, US,                                        \
         "median of exposed communication a step", "exposed comm")                                           \
    CELL(OF(rs_window_medians, idle), "idle_us", REAL, US, "median of idle time a step", "idle")             \
    CELL(OF(rs_window_medians, mfu), "mfu_pct", REAL, PERCENT, "median model FLOPs utilization", "MFU %")    \
    CELL(OF(rs_window_medians, memory), "memory_bytes", REAL, BYTES, "median of the memory reserved",        \
         "memory")
RS_RECORD(window_line, WINDOW_LINE);

typedef struct limit_line {
    const char *kind, *of, *refusal;
    double limit;
} limit_line;

#define LIMIT_LINE(CELL)                                                                                     \
    CELL(OF(limit_line, kind), "kind", TEXT, NONE, "what is judged", NULL)                                   \
    CELL(OF(limit_line, of), "of", TEXT, NONE, "job, or ranks against each other", NULL)                     \
    CELL(OF(limit_line, limit), "limit", REAL, NONE,                                                         \
         "deviations above the usual level that three windows in a row must reach", NULL)                    \
    CELL(MAYBE(limit_line, refusal), "not_judged", TEXT, NONE, "why it is not judged yet", "not judged")
RS_RECORD(limit_line, LIMIT_LINE);

static const rs_table_spec change_table =
    RS_TABLE("changes", "one row is a change of the job, now over or not", change_line_columns);
static const rs_table_spec window_table =
    RS_TABLE("windows", "one row is one of the last 288 windows", window_line_columns);
static const rs_table_spec limit_table =
    RS_TABLE("limits", "one row is a measurement that is judged, and from when on", limit_line_columns);
static const rs_table_spec *const tables[] = {&change_table, &window_table, &limit_table};
enum { CHANGES, WINDOWS, LIMITS, N_TABLES };

const rs_table_spec *const *rs_watch_tables(size_t *n)
{
    *n = N_TABLES;
    return tables;
}

static rs_status put_change_line(void *context, const rs_history_change *c, rs_error *err)
{
    const change_line line = {.id = c->id,
                              .kind = c->kind,
                              .rank = c->rank,
                              .subject = c->subject,
                              .begun = c->begun,
                              .ended = c->ended ? c->ended : -1,
                              .usual = c->usual,
                              .now = c->now,
                              .change = 100 * c->change,
                              .low = 100 * c->low,
                              .high = 100 * c->high,
                              .cause = c->cause};
    return rs_table_put_row(context, &change_line_record, 0, &line, err);
}

/* The median of the known values; NaN without any. */
static double median_of(const rs_window_values *w, int metric, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; w->values[metric] && i < w->n; i++)
        if (!isnan(w->values[metric][i])) scratch[n++] = (double)w->values[metric][i];
    rs_sort_doubles(scratch, n);
    return rs_quantile(scratch, n, 0.5);
}

rs_status rs_watch_describe(const rs_window_values *w, rs_window_medians *out, rs_error *err)
{
    RS_LOCAL double *scratch = rs_malloc((w->n + 1) * sizeof *scratch);
    if (!scratch) return rs_fail_nomem(err, "a window");
    *out = (rs_window_medians){.id = w->id, .start = w->start_ns, .ranks = (int64_t)w->n};
    out->step = median_of(w, RS_WATCH_STEP, scratch);
    out->own = median_of(w, RS_WATCH_OWN, scratch);
    out->exposed = median_of(w, RS_WATCH_EXPOSED, scratch);
    out->idle = median_of(w, RS_WATCH_IDLE, scratch);
    out->mfu = median_of(w, RS_WATCH_MFU, scratch);
    out->memory = median_of(w, RS_WATCH_MEMORY, scratch);
    return RS_OK;
}

static rs_status put_window_line(void *context, const rs_window_values *w, rs_error *err)
{
    rs_window_medians line;
    RS_TRY(rs_watch_describe(w, &line, err));
    return rs_table_put_row(context, &window_line_record, 0, &line, err);
}

static rs_status put_limits(const rs_watch *w, rs_table *table, rs_error *err)
{
    for (int of_rank = 0; of_rank < 2; of_rank++)
        for (int m = 0; m < RS_WATCH_STORED; m++) {
            const rs_metric_spec *spec = &rs_metric_specs[m];
            limit_line line = {.kind = spec->name, .of = of_rank ? "ranks" : "job"};
            if (!(of_rank ? spec->of_rank : spec->of_job)) continue;
            line.refusal = rs_series_refusal(w->series, (rs_watch_metric)m, of_rank, &line.limit);
            RS_TRY(rs_table_put_row(table, &limit_line_record, 0, &line, err));
        }
    return RS_OK;
}

rs_status rs_watch_result(rs_watch *w, rs_result *result, rs_error *err)
{
    result->tables = rs_calloc(N_TABLES, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "the tables");
    for (; result->n_tables < N_TABLES; result->n_tables++) {
        result->tables[result->n_tables] = rs_table_create(tables[result->n_tables]);
        if (!result->tables[result->n_tables]) return rs_fail_nomem(err, "the tables");
    }
    RS_TRY(rs_history_each_change(w->history, true, put_change_line, result->tables[CHANGES], err));
    RS_TRY(rs_history_each_window(w->history, w->newest > LISTED ? w->newest - LISTED : 0, put_window_line,
                                  result->tables[WINDOWS], err));
    return put_limits(w, result->tables[LIMITS], err);
}
