/* queue: how much launched work waits on each stream. */
#include <math.h>
#include <string.h>

#include "analysis/queue.h"

#include "analysis/analysis.h"
#include "base/stats.h"
#include "analysis/layouts.h"
#include "base/memory.h"

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
    CELL(SET, "mean", REAL, COUNT, "waiting work, weighted by time from the first launch to the last start", \
         "mean waiting")                                                                                     \
    CELL(OF(rs_queue_stream, max), "max", INT, COUNT, "most that waited at once", "max waiting")             \
    CELL(SET, "empty_pct", REAL, PERCENT, "of that time nothing waited", "empty %")
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
    CELL(SET, "blocked_pct", REAL, PERCENT, "of the time from the first launch to the last start",           \
         "blocked %")
RS_RECORD(own_blocked, OWN_BLOCKED_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec own_summary = {"queue", "one row is one stream", own_columns, COUNT(own_columns)};
static const rs_table_spec own_series_table = {"series", "one row is one change; filled with --series",
                                               own_series_columns, COUNT(own_series_columns)};
static const rs_table_spec own_blocked_table = {"blocked", "one row is one stream whose queue was full",
                                                own_blocked_columns, COUNT(own_blocked_columns)};
static const rs_table_spec *const own_tables[] = {&own_summary, &own_series_table, &own_blocked_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, RS_QUEUE_TABLES}};

/* ---- one rank --------------------------------------------------------------------------------------- */

void rs_queue_free(void *partial)
{
    rs_queue *p = partial;
    if (!p) return;
    rs_free(p->streams);
    rs_queue_series_clear(&p->series);
    rs_free(p);
}

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
static bool add_stream(rs_queue *p, const rs_queue_sample *s, size_t n, int64_t full, double *scratch)
{
    if (!RS_GROW_ONE(p->streams, p->n_streams, p->capacity)) return false;
    rs_queue_stream sum = {
        .device = s[0].device, .stream = s[0].stream, .first = s[0].ns, .last = s[n - 1].ns, .limit = full};
    for (size_t i = 0; i < n; i++) {
        if (scratch) scratch[i] = (double)s[i].length;
        sum.launched += s[i].change > 0;
        if (i == 0 || s[i].length > sum.max) sum.max = s[i].length;
        if (full && s[i].length >= full) sum.full = true;
        if (i + 1 == n) break;
        int64_t time = rs_sub_sat(s[i + 1].ns, s[i].ns);
        sum.weighted += (double)time * (double)s[i].length;
        if (s[i].length <= 0) sum.empty += (double)time;
        if (full && s[i].length >= full) sum.blocked = rs_add_sat(sum.blocked, time);
    }
    if (scratch) sum.lengths = rs_describe(scratch, n);
    p->streams[p->n_streams++] = sum;
    return true;
}

rs_status rs_queue_sum_up(const rs_run *run, rs_queue *p, const rs_queue_rules *rules, rs_error *err)
{
    double *scratch = rules->describe ? rs_malloc(p->series.n * sizeof *scratch) : NULL;
    bool ok = scratch || !rules->describe, told = rs_options_text(run->options, "max-length");
    int64_t full = told ? rs_options_int(run->options, "max-length") : rules->full;
    const rs_queue_sample *s = p->series.items;
    for (size_t i = 0, end; ok && i < p->series.n; i = end) {
        for (end = i + 1; end < p->series.n && s[end].stream == s[i].stream && s[end].device == s[i].device;
             end++) {
        }
        int64_t limit = told || full ? full : find_limit(rules->events, s + i, end - i);
        ok = add_stream(p, s + i, end - i, limit, scratch);
    }
    rs_free(scratch);
    if (!ok) return rs_fail_nomem(err, "queue lengths");
    if (!rs_options_flag(run->options, "series")) rs_queue_series_clear(&p->series);
    return RS_OK;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_work *w;
    rs_queue *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "queue lengths");
    rs_status status = rs_trace_work_details(trace, run->policy, &w, err);
    if (status == RS_OK) status = rs_queue_of(trace, w, &p->series, err);
    if (status == RS_OK) status = rs_queue_sum_up(run, p, &(rs_queue_rules){.events = trace->events}, err);
    if (status != RS_OK || p->n_streams == 0)
        rs_queue_free(p);
    else
        *partial = p;
    return status;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status add_own(const rs_queue *p, int64_t rank_number, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_streams; i++) {
        const rs_queue_stream *s = &p->streams[i];
        int64_t span = rs_sub_sat(s->last, s->first);
        rs_table *t = result->tables[RS_QUEUE_SUMMARY];
        rs_table_put(t, &own_record, rank_number, s);
        rs_table_set_real(t, "mean", span ? s->weighted / (double)span : (double)NAN);
        rs_table_set_real(t, "empty_pct", span ? 100 * s->empty / (double)span : (double)NAN);
        status = rs_table_end_row(t, err);
        if (status != RS_OK || !s->full) continue;
        t = result->tables[RS_QUEUE_BLOCKED];
        rs_table_put(t, &own_blocked_record, rank_number, s);
        rs_table_set_real(t, "blocked_pct", rs_percent(s->blocked, span));
        status = rs_table_end_row(t, err);
    }
    for (size_t i = 0; status == RS_OK && i < p->series.n; i++)
        status = rs_table_put_row(result->tables[RS_QUEUE_SERIES], &own_series_record, rank_number,
                                  &p->series.items[i], err);
    return status;
}

size_t rs_queue_main_table(const rs_options *o)
{
    return rs_options_flag(o, "series")    ? RS_QUEUE_SERIES
           : rs_options_flag(o, "blocked") ? RS_QUEUE_BLOCKED
                                           : RS_QUEUE_SUMMARY;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    result->main_table = rs_queue_main_table(run->options);
    for (size_t i = 0; status == RS_OK && i < n; i++)
        status = add_own(partials[i].value, partials[i].rank, result, err);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field stream_fields[] = {
    RS_FIELD(rs_queue_stream, device),   RS_FIELD(rs_queue_stream, stream),
    RS_FIELD(rs_queue_stream, launched), RS_FIELD(rs_queue_stream, max),
    RS_FIELD(rs_queue_stream, blocked),  RS_FIELD(rs_queue_stream, limit),
    RS_FIELD(rs_queue_stream, first),    RS_FIELD(rs_queue_stream, last),
    RS_FIELD(rs_queue_stream, weighted), RS_FIELD(rs_queue_stream, empty),
    RS_FIELD(rs_queue_stream, full),     RS_FIELD_STRUCT(rs_queue_stream, lengths, &rs_description_layout),
};
static const rs_layout stream_layout = RS_LAYOUT(rs_queue_stream, stream_fields);

static const rs_field queue_fields[] = {
    RS_FIELD_LIST(rs_queue, streams, n_streams, &stream_layout),
    RS_FIELD_STRUCT(rs_queue, series, &rs_queue_series_layout),
};
const rs_layout rs_queue_layout = RS_LAYOUT(rs_queue, queue_fields);

const rs_analysis rs_analysis_queue = {
    .name = "queue",
    .help = "How much launched work waits on each stream, and how long the queue is full",
    .about =
        "Work waits from the start of its launch to its own start; a graph launch adds all it owns at "
        "once. The\n"
        "mean is weighted by time. A launch into a full queue blocks the host: --blocked tells for how "
        "long that\n"
        "was: the driver's limit is the greatest length that three launches at least had to wait at, or\n"
        "--max-length.",
    .examples = "rankscope queue trace.json.gz\nrankscope queue --blocked traces/\n"
                "rankscope queue --series --format csv trace.json.gz",
    .options = options,
    .n_options = COUNT(options),
    .facets = {&rs_facet_work_details},
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_queue_free,
    .absent = "no launched GPU work",
    .partial_layout = &rs_queue_layout,
};
