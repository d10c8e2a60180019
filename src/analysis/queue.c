/* queue: how much launched work waits on each stream. */
#include <math.h>

#include "analysis/queue.h"

#include "analysis/analysis.h"
#include "base/try.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL, "print every change"},
    {"blocked", RS_OPTION_FLAG, NULL, NULL, NULL, "print how long the queue was full"},
    {"max-length", RS_OPTION_INT, "N", NULL, NULL,
     "a queue this long is full (default: the greatest length at which launches had to wait; 1024 with --compat "
     "hta)"},
};

/* A greatest length is where the queue is full when it is at least so long and launches waited at it so often. */
enum { MIN_LIMIT = 256, MIN_WAITS = 3 };

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_queue_stream, device), "device", INT, ID, "device", NULL)                                     \
    CELL(OF(rs_queue_stream, stream), "stream", INT, ID, "stream", NULL)                                     \
    CELL(OF(rs_queue_stream, launched), "launched", INT, COUNT, "pieces of work that were launched", NULL)   \
    CELL(OF(rs_queue_stream, mean), "mean", REAL, COUNT,                                                     \
         "waiting work, weighted by time from the first launch to the last start", "mean waiting")           \
    CELL(OF(rs_queue_stream, max), "max", INT, COUNT, "most that waited at once", "max waiting")             \
    CELL(OF(rs_queue_stream, empty_pct), "empty_pct", REAL, PERCENT, "of that time nothing waited", "empty %")
RS_RECORD(own, OWN_ROW);

#define OWN_SERIES_ROW(CELL)                                                                                 \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_queue_sample, row), "index", INT, ID, "position in traceEvents of the launch or of the work", \
         NULL)                                                                                               \
    CELL(OF(rs_queue_sample, ns), "ts_us", MOMENT, US, "when it changes", "time")                            \
    CELL(ID(rs_queue_sample, device), "device", INT, ID, "device", NULL)                                     \
    CELL(OF(rs_queue_sample, stream), "stream", INT, ID, "stream", NULL)                                     \
    CELL(OF(rs_queue_sample, length), "queue_length", INT, COUNT, "work that waits from now on", NULL)
RS_RECORD(own_series, OWN_SERIES_ROW);

#define OWN_BLOCKED_ROW(CELL)                                                                                \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_queue_stream, device), "device", INT, ID, "device", NULL)                                     \
    CELL(OF(rs_queue_stream, stream), "stream", INT, ID, "stream", NULL)                                     \
    CELL(OF(rs_queue_stream, limit), "limit", INT, COUNT, "the length at which it is full", "full at")       \
    CELL(OF(rs_queue_stream, blocked), "blocked_us", TIME, US, "the queue held that or more", "blocked")     \
    CELL(SHARE(rs_queue_stream, blocked, span), "blocked_pct", REAL, PERCENT,                                \
         "of the time from the first launch to the last start", "blocked %")
RS_RECORD(own_blocked, OWN_BLOCKED_ROW);

/* ---- one rank --------------------------------------------------------------------------------------- */

/* The length at which launches of a stream had to wait: its greatest, if calls that reached it went on only once
 * work had started. 0 where it never was full. */
static int64_t find_limit(const rs_events *e, const rs_queue_sample *s, size_t n)
{
    int64_t limit = 0;
    size_t reached = 0, waited = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].change < 0 || s[i].length < limit) continue;
        if (s[i].length > limit) reached = waited = 0;
        limit = s[i].length;
        reached++;
        waited += i + 1 < n && s[i + 1].change < 0 && s[i + 1].ns <= rs_event_end(e, s[i].row);
    }
    return limit >= MIN_LIMIT && waited >= MIN_WAITS && waited >= reached / 2 ? limit : 0;
}

/* Adds up the samples of one stream, which stand by time. full: 0 if it never was. scratch: room to describe
 * their lengths, or NULL. */
static void put_stream(const rs_queue_sample *s, size_t n, int64_t full, double *scratch, rs_relations *out)
{
    rs_queue_stream sum = {.device = s[0].device,
                           .stream = s[0].stream,
                           .span = rs_sub_sat(s[n - 1].ns, s[0].ns),
                           .limit = full};
    double weighted = 0, empty = 0;
    for (size_t i = 0; i < n; i++) {
        if (scratch) scratch[i] = (double)s[i].length;
        sum.launched += s[i].change > 0;
        if (i == 0 || s[i].length > sum.max) sum.max = s[i].length;
        if (full && s[i].length >= full) sum.full = true;
        if (i + 1 == n) break;
        int64_t time = rs_sub_sat(s[i + 1].ns, s[i].ns);
        weighted += (double)time * (double)s[i].length;
        if (s[i].length <= 0) empty += (double)time;
        if (full && s[i].length >= full) sum.blocked = rs_add_sat(sum.blocked, time);
    }
    sum.mean = sum.span ? weighted / (double)sum.span : (double)NAN;
    sum.empty_pct = sum.span ? 100 * empty / (double)sum.span : (double)NAN;
    if (scratch) sum.lengths = rs_describe(scratch, n);
    rs_put(out, RS_QUEUE_STREAMS, &sum);
}

rs_status rs_queue_put(const rs_run *run, rs_queue_series *series, const rs_queue_rules *rules,
                       rs_relations *out, rs_error *err)
{
    double *scratch = rules->describe ? RS_ROOM(out, double, series->n) : NULL;
    bool told = rs_options_text(run->options, "max-length");
    int64_t full = told ? rs_options_int(run->options, "max-length") : rules->full;
    const rs_queue_sample *s = series->items;
    for (size_t i = 0, end; (scratch || !rules->describe) && i < series->n; i = end) {
        for (end = i + 1; end < series->n && s[end].stream == s[i].stream && s[end].device == s[i].device;
             end++) {
        }
        int64_t limit = told || full ? full : find_limit(rules->events, s + i, end - i);
        put_stream(s + i, end - i, limit, scratch, out);
    }
    if (rs_options_flag(run->options, "series"))
        out->items[RS_QUEUE_SAMPLES] =
            (rs_relation){series->items, series->n, series->capacity, sizeof(rs_queue_sample)};
    else
        rs_queue_series_clear(series);
    *series = (rs_queue_series){0};
    return out->no_memory ? rs_fail_nomem(err, "queue lengths") : RS_OK;
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_work *w;
    rs_queue_series series = {0};
    RS_TRY(rs_trace_work_details(trace, run->policy, &w, err));
    rs_status status = rs_queue_of(trace, w, &series, err);
    if (status == RS_OK)
        status = rs_queue_put(run, &series, &(rs_queue_rules){.events = trace->events}, out, err);
    rs_queue_series_clear(&series);
    return status;
}

/* ---- the plan ----------------------------------------------------------------------------------------- */

static bool was_full(const rs_run *run, const rs_relations *of, const void *row)
{
    (void)run;
    (void)of;
    return ((const rs_queue_stream *)row)->full;
}

static const rs_field stream_fields[] = {
    RS_FIELDS(rs_queue_stream, device, stream, launched, max, blocked, span, limit, mean, empty_pct, full),
    RS_FIELD_STRUCT(rs_queue_stream, lengths, &rs_description_layout),
};
const rs_layout rs_queue_stream_layout = RS_LAYOUT(rs_queue_stream, stream_fields);
static const rs_field sample_fields[] = {
    RS_FIELDS(rs_queue_sample, ns, device, stream, pid, tid, length, row),
};
const rs_layout rs_queue_sample_layout = RS_LAYOUT(rs_queue_sample, sample_fields);

static const rs_plan_relation relations[] = {{RS_QUEUE_STREAM_ROWS, .make = put}, {RS_QUEUE_SAMPLE_ROWS}};
static const rs_plan_table
    stream_table = {RS_PLAN_TABLE("queue", "one row is one stream", own)},
    sample_table = {RS_PLAN_TABLE("series", "one row is one change; filled with --series", own_series),
                    .relation = RS_QUEUE_SAMPLES, .choice = RS_QUEUE_SERIES_CHOICE},
    blocked_table = {RS_PLAN_TABLE("blocked", "one row is one stream whose queue was full", own_blocked),
                     .choice = RS_QUEUE_BLOCKED_CHOICE, .shows = was_full};
static const rs_table_spec *const tables[] = {&stream_table.spec, &sample_table.spec, &blocked_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .absent_without = RS_QUEUE_STREAMS + 1};

const rs_analysis rs_analysis_queue = {
    .name = "queue",
    .group = "GPU time",
    .help = "How much launched work waits on each stream, and how long the queue is full",
    .about =
        "Work waits from the start of its launch to its own start; a graph launch adds all it owns at "
        "once. The\n"
        "mean is weighted by time. A launch into a full queue blocks the host: --blocked shows for how "
        "long that\n"
        "was: the driver's limit is the greatest length that three launches at least had to wait at, or\n"
        "--max-length.",
    .examples = "rankscope queue trace.json.gz\nrankscope queue --blocked traces/\n"
                "rankscope queue --series --format csv trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
    .absent = "no launched GPU work",
};
