/* Sentences about changes. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/real.h"
#include "text/numbers.h"
#include "watch/watch.h"

#define FIRST_DATE (INT64_C(946684800) * 1000000000) /* 2000: earlier times are those of another clock */
#define NAMED 8                                      /* ranks of a message */

void rs_watch_put_window(rs_text *text, int64_t id, int64_t start_ns)
{
    time_t seconds = (time_t)(start_ns / 1000000000);
    struct tm t;
    rs_text_printf(text, "window %lld", (long long)id);
    if (start_ns < FIRST_DATE || !gmtime_r(&seconds, &t)) return;
    rs_text_printf(text, ", %04d-%02d-%02d %02d:%02d:%02d UTC", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                   t.tm_hour, t.tm_min, t.tm_sec);
}

static void put_value(rs_text *text, rs_watch_metric metric, double x)
{
    char human[32];
    if (rs_metric_specs[metric].is_share)
        rs_text_printf(text, "%s %% of the step", RS_FIXED(100 * x, 1));
    else if (metric == RS_WATCH_MFU)
        rs_text_printf(text, "%s %%", RS_FIXED(x, 1));
    else if (metric == RS_WATCH_MEMORY)
        rs_text_put(text, rs_human_bytes(rs_int_of(x), human));
    else
        rs_text_put(text, rs_human_time(rs_int_of(x * 1e3), human));
}

/* "48.1 % more (95 % CI 44.0 to 52.3 %)"; of shares in points of the step. */
static void put_change(rs_text *text, const rs_series_event *e)
{
    bool is_share = rs_metric_specs[e->metric].is_share;
    double low = e->low, high = e->high, change = e->change;
    if (change < 0) low = -e->high, high = -e->low, change = -change;
    rs_text_printf(text, "%s %s %s (95 %% CI %s to %s %%)", RS_FIXED(100 * change, 1),
                   is_share ? "percentage points" : "%", e->change < 0 ? "less" : "more",
                   RS_FIXED(100 * low, 1), RS_FIXED(100 * high, 1));
}

/* "6.1 ms a step instead of 3.2 ms, 90.1 % more (...)" */
static void put_levels(rs_text *text, const rs_series_event *e)
{
    put_value(text, e->metric, e->now);
    rs_text_put(text, e->metric == RS_WATCH_OWN ? " a step instead of " : " instead of ");
    put_value(text, e->metric, e->usual);
    rs_text_put(text, ", ");
    put_change(text, e);
}

/* "rank 5", "ranks 5, 7 and 12 more": as many as are named. */
static void put_ranks(rs_text *text, const rs_series_event *events, size_t n, const char *r)
{
    rs_text_printf(text, "%sank%s ", r, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < NAMED; i++)
        rs_text_printf(text, "%s%lld", !i ? "" : i + 1 == n ? " and " : ", ", (long long)events[i].rank);
    if (n > NAMED) rs_text_printf(text, " and %zu more", n - NAMED);
}

/* Of several ranks the one whose change is the largest. */
static const rs_series_event *largest(const rs_series_event *events, size_t n)
{
    const rs_series_event *most = events;
    for (size_t i = 1; i < n; i++)
        if (fabs(events[i].change) > fabs(most->change)) most = &events[i];
    return most;
}

static void put_begun_ranks(rs_text *text, const rs_series_event *events, size_t n)
{
    const rs_series_event *e = largest(events, n);
    put_ranks(text, events, n, "R");
    if (e->metric == RS_WATCH_PRESENT) {
        rs_text_printf(text, " left no recording in %d windows in a row", RS_SERIES_IN_A_ROW);
        return;
    }
    rs_text_printf(text, ": %s changed against the other ranks. ", rs_metric_specs[e->metric].noun);
    if (n > 1) rs_text_printf(text, "The largest change is that of rank %lld: ", (long long)e->rank);
    rs_text_put(text, n > 1 ? "it is " : "It is ");
    put_levels(text, e);
}

static void put_begun_job(rs_text *text, const rs_series_event *e)
{
    static const char *const subjects[RS_WATCH_METRICS] = {[RS_WATCH_STEP] = "The step takes ",
                                                           [RS_WATCH_EXPOSED] = "Exposed communication is ",
                                                           [RS_WATCH_IDLE] = "Idle time is ",
                                                           [RS_WATCH_MFU] = "Model FLOPs utilization is ",
                                                           [RS_WATCH_MEMORY] = "Reserved memory is "};
    rs_text_put(text, subjects[e->metric] ? subjects[e->metric] : rs_metric_specs[e->metric].noun);
    put_levels(text, e);
}

/* "rank 5 is there again", "the step is back at 5.2 ms" */
static void put_back(rs_text *text, const rs_series_event *events, size_t n)
{
    const rs_series_event *e = events;
    bool settled = e->what == RS_SERIES_SETTLED;
    if (e->rank != RS_JOB) put_ranks(text, events, n, "r");
    if (e->metric == RS_WATCH_PRESENT) {
        rs_text_put(text, n == 1 ? " is there again" : " are there again");
        return;
    }
    rs_text_printf(text, "%s%s%s ", e->rank == RS_JOB ? "" : ", ", rs_metric_specs[e->metric].noun,
                   settled ? " has stayed at" : " is back at");
    put_value(text, e->metric, e->now);
}

static void put_ended(rs_text *text, const rs_series_event *events, size_t n)
{
    bool settled = events[0].what == RS_SERIES_SETTLED;
    rs_text_put(text, settled ? "The new level: " : "Over: ");
    put_back(text, events, n);
    if (settled) rs_text_put(text, ", with which later windows are compared");
}

/* How many events from the first on are of the same metric, of ranks or of the job. */
static size_t run_of(const rs_series_event *events, size_t n)
{
    size_t k = 1;
    while (k < n && events[k].metric == events[0].metric &&
           (events[k].rank == RS_JOB) == (events[0].rank == RS_JOB))
        k++;
    return k;
}

/* "own work of rank 5 is 6.1 ms a step instead of 3.2 ms, 90.1 % more (...)" */
static void put_effect(rs_text *text, const rs_series_event *events, size_t n)
{
    const rs_series_event *e = largest(events, n);
    rs_text_put(text, rs_metric_specs[e->metric].noun);
    if (e->rank != RS_JOB) rs_text_printf(text, " of rank %lld", (long long)e->rank);
    if (n > 1) rs_text_printf(text, " (and %zu more rank%s)", n - 1, n > 2 ? "s" : "");
    rs_text_put(text, " is ");
    put_levels(text, e);
}

static void put_effects(rs_text *text, const rs_series_event *events, size_t n)
{
    const char *before = " Effects: ";
    for (size_t i = 0, k; i < n; i += k, before = "; ") {
        k = run_of(events + i, n - i);
        rs_text_put(text, before);
        put_effect(text, events + i, k);
    }
    if (n) rs_text_put(text, ".");
}

void rs_watch_put_events(rs_text *text, const rs_series_event *events, size_t n, int64_t at_ns,
                         const char *cause)
{
    bool begun = events[0].what == RS_SERIES_BEGUN;
    size_t k = run_of(events, n);
    if (!begun)
        put_ended(text, events, k);
    else if (events[0].rank == RS_JOB)
        put_begun_job(text, events);
    else
        put_begun_ranks(text, events, k);
    for (size_t i = k, next; !begun && i < n; i += next) {
        next = run_of(events + i, n - i);
        rs_text_put(text, "; ");
        put_back(text, events + i, next);
    }
    rs_text_put(text, ", since ");
    rs_watch_put_window(text, events[0].since, at_ns);
    rs_text_put(text, ".");
    if (cause) rs_text_printf(text, " %s", cause);
    if (begun) put_effects(text, events + k, n - k);
}

void rs_watch_put_subject(rs_text *text, const rs_series_event *events, size_t n)
{
    size_t k = run_of(events, n);
    if (events[0].rank == RS_JOB) rs_text_put(text, "job");
    for (size_t i = 0; events[0].rank != RS_JOB && i < k && i < NAMED; i++)
        rs_text_printf(text, "%srank %lld", i ? ", " : "", (long long)events[i].rank);
    if (events[0].rank != RS_JOB && k > NAMED) rs_text_printf(text, " and %zu more", k - NAMED);
}
