/* queue: how much launched work waits on each stream. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/describe.h"
#include "analysis/layouts.h"
#include "trace/queue_depth.h"
#include "base/keymap.h"
#include "base/memory.h"
#include "peer/hta_window.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL, "print every change"},
    {"blocked", RS_OPTION_FLAG, NULL, NULL, NULL, "print how long the queue was full"},
    {"max-length", RS_OPTION_INT, "N", NULL, "1024", "a queue this long is full"},
};

typedef struct stream_sum {
    int64_t device, stream, launched, max, blocked, first, last;
    double weighted, empty; /* ns */
    bool full;
    rs_description lengths;
} stream_sum;

typedef struct queue_partial {
    stream_sum *streams;
    size_t n_streams, capacity;
    rs_queue_series series; /* kept with --series only */
    int64_t zero;           /* HTA: the rank's first event, INT64_MAX if none */
    int64_t first, last;    /* HTA: first and last start of the rank's rows */
} queue_partial;

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(stream_sum, device), "device", INT, ID, "device", NULL)                                          \
    CELL(OF(stream_sum, stream), "stream", INT, ID, "stream", NULL)                                          \
    CELL(OF(stream_sum, launched), "launched", INT, COUNT, "pieces of work that were launched", NULL)        \
    CELL(SET, "mean", REAL, COUNT, "waiting work, weighted by time from the first launch to the last start", \
         "mean waiting")                                                                                     \
    CELL(OF(stream_sum, max), "max", INT, COUNT, "most that waited at once", "max waiting")                  \
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
    CELL(ID(stream_sum, device), "device", INT, ID, "device", NULL)                                          \
    CELL(OF(stream_sum, stream), "stream", INT, ID, "stream", NULL)                                          \
    CELL(OF(stream_sum, blocked), "blocked_us", TIME, US, "the queue held --max-length or more", "blocked")  \
    CELL(SET, "blocked_pct", REAL, PERCENT, "of the time from the first launch to the last start",           \
         "blocked %")
RS_RECORD(own_blocked, OWN_BLOCKED_ROW);

#define HTA_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(stream_sum, stream), "stream", INT, ID, "stream", NULL)                                          \
    RS_DESCRIPTION_CELLS(CELL, stream_sum, lengths, COUNT, "samples")
RS_RECORD(hta, HTA_ROW);

#define HTA_SERIES_ROW(CELL)                                                                                 \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_queue_sample, row), "index", INT, ID, "position in traceEvents", NULL)                        \
    CELL(SET, "ts", REAL, US, "from the job's first event", NULL)                                            \
    CELL(OF(rs_queue_sample, pid), "pid", INT, ID, "of the work", NULL)                                      \
    CELL(OF(rs_queue_sample, tid), "tid", INT, ID, "of the work", NULL)                                      \
    CELL(OF(rs_queue_sample, stream), "stream", INT, ID, "stream", NULL)                                     \
    CELL(OF(rs_queue_sample, length), "queue_length", INT, COUNT, "launches whose work has not started", NULL)
RS_RECORD(hta_series, HTA_SERIES_ROW);

#define HTA_BLOCKED_ROW(CELL)                                                                                \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(stream_sum, stream), "stream", INT, ID, "the last stream that was full", NULL)                   \
    CELL(OF(stream_sum, blocked), "duration_at_max_queue_length", REAL, US,                                  \
         "time to the next sample, summed", NULL)                                                            \
    CELL(SET, "relative_duration_at_max_queue_length", REAL, RATIO,                                          \
         "of the time between first and last start", NULL)
RS_RECORD(hta_blocked, HTA_BLOCKED_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec own_summary = {"queue", "one row is one stream", own_columns, COUNT(own_columns)};
static const rs_table_spec own_series_table = {"series", "one row is one change; filled with --series",
                                               own_series_columns, COUNT(own_series_columns)};
static const rs_table_spec own_blocked_table = {"blocked", "one row is one stream whose queue was full",
                                                own_blocked_columns, COUNT(own_blocked_columns)};
static const rs_table_spec hta_summary = {"queue", "one row is one stream, as HTA's get_queue_length_summary",
                                          hta_columns, COUNT(hta_columns)};
static const rs_table_spec hta_series_table = {"series", "one row is one change; filled with --series",
                                               hta_series_columns, COUNT(hta_series_columns)};
static const rs_table_spec hta_blocked_table = {"blocked",
                                                "one row is one rank, as HTA keeps only one stream of it",
                                                hta_blocked_columns, COUNT(hta_blocked_columns)};
static const rs_table_spec *const own_tables[] = {&own_summary, &own_series_table, &own_blocked_table};
static const rs_table_spec *const hta_tables[] = {&hta_summary, &hta_series_table, &hta_blocked_table};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, own_tables, 3}, {RS_COMPAT_HTA, hta_tables, 3}, {RS_COMPAT_HTA_EXACT, hta_tables, 3}};
enum { SUMMARY, SERIES, BLOCKED };

/* ---- one rank --------------------------------------------------------------------------------------- */

static void free_partial(void *partial)
{
    queue_partial *p = partial;
    if (!p) return;
    rs_free(p->streams);
    rs_queue_series_clear(&p->series);
    rs_free(p);
}

/* Adds up the samples of one stream, which stand by time; only HTA describes their lengths. */
static bool add_stream(queue_partial *p, const rs_queue_sample *s, size_t n, int64_t full, double *scratch,
                       bool describe)
{
    if (!RS_GROW_ONE(p->streams, p->n_streams, p->capacity)) return false;
    stream_sum sum = {.device = s[0].device, .stream = s[0].stream, .first = s[0].ns, .last = s[n - 1].ns};
    for (size_t i = 0; i < n; i++) {
        if (describe) scratch[i] = (double)s[i].length;
        sum.launched += s[i].change > 0;
        if (i == 0 || s[i].length > sum.max) sum.max = s[i].length;
        if (s[i].length >= full) sum.full = true;
        if (i + 1 == n) break;
        int64_t time = rs_sub_sat(s[i + 1].ns, s[i].ns);
        sum.weighted += (double)time * (double)s[i].length;
        if (s[i].length <= 0) sum.empty += (double)time;
        if (s[i].length >= full) sum.blocked = rs_add_sat(sum.blocked, time);
    }
    if (describe) sum.lengths = rs_describe(scratch, n);
    p->streams[p->n_streams++] = sum;
    return true;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    queue_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "queue lengths");
    rs_status status = RS_OK;
    if (run->policy->rows_by_stream) {
        const rs_hta_frame *f;
        status = rs_trace_hta_frame(trace, run->policy, &f, err);
        if (status == RS_OK) {
            p->zero = f->min_start == RS_NO_TIME ? INT64_MAX : f->min_start;
            for (size_t i = 0; i < f->n; i++) {
                if (i == 0 || f->start[i] < p->first) p->first = f->start[i];
                if (i == 0 || f->start[i] > p->last) p->last = f->start[i];
            }
            status = rs_queue_of_hta(trace, f, &p->series, err);
        }
    } else {
        const rs_work *w;
        status = rs_trace_work_details(trace, run->policy, &w, err);
        if (status == RS_OK) status = rs_queue_of(trace, w, &p->series, err);
    }
    double *scratch = status == RS_OK ? rs_malloc(p->series.n * sizeof *scratch) : NULL;
    bool ok = scratch != NULL;
    const rs_queue_sample *s = p->series.items;
    for (size_t i = 0, end; ok && i < p->series.n; i = end) {
        for (end = i + 1; end < p->series.n && s[end].stream == s[i].stream && s[end].device == s[i].device;
             end++) {
        }
        ok = add_stream(p, s + i, end - i, rs_options_int(run->options, "max-length"), scratch,
                        run->policy->rows_by_stream);
    }
    rs_free(scratch);
    if (status == RS_OK && !ok) status = rs_fail_nomem(err, "queue lengths");
    if (status != RS_OK) {
        free_partial(p);
        return status;
    }
    if (!rs_options_flag(run->options, "series")) rs_queue_series_clear(&p->series);
    *partial = p;
    return RS_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status add_own(const queue_partial *p, int64_t rank_number, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_streams; i++) {
        const stream_sum *s = &p->streams[i];
        int64_t span = rs_sub_sat(s->last, s->first);
        rs_table *t = result->tables[SUMMARY];
        rs_table_put(t, &own_record, rank_number, s);
        rs_table_set_real(t, "mean", span ? s->weighted / (double)span : (double)NAN);
        rs_table_set_real(t, "empty_pct", span ? 100 * s->empty / (double)span : (double)NAN);
        status = rs_table_end_row(t, err);
        if (status != RS_OK || !s->full) continue;
        t = result->tables[BLOCKED];
        rs_table_put(t, &own_blocked_record, rank_number, s);
        rs_table_set_real(t, "blocked_pct", rs_percent(s->blocked, span));
        status = rs_table_end_row(t, err);
    }
    for (size_t i = 0; status == RS_OK && i < p->series.n; i++)
        status = rs_table_put_row(result->tables[SERIES], &own_series_record, rank_number,
                                  &p->series.items[i], err);
    return status;
}

static rs_status add_hta(const queue_partial *p, int64_t rank_number, int64_t zero, rs_result *result,
                         rs_error *err)
{
    rs_status status = RS_OK;
    const stream_sum *full = NULL;
    for (size_t i = 0; status == RS_OK && i < p->n_streams; i++) {
        if (p->streams[i].full) full = &p->streams[i];
        status = rs_table_put_row(result->tables[SUMMARY], &hta_record, rank_number, &p->streams[i], err);
    }
    if (status == RS_OK && full) {
        rs_table *t = result->tables[BLOCKED];
        rs_table_put(t, &hta_blocked_record, rank_number, full);
        rs_table_set_real(t, "relative_duration_at_max_queue_length",
                          (double)full->blocked / (double)rs_sub_sat(p->last, p->first));
        status = rs_table_end_row(t, err);
    }
    rs_table *t = result->tables[SERIES];
    for (size_t i = 0; status == RS_OK && i < p->series.n; i++) {
        rs_table_put(t, &hta_series_record, rank_number, &p->series.items[i]);
        rs_table_set_real(t, "ts", (double)rs_sub_sat(p->series.items[i].ns, zero) / 1000);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    int64_t zero = INT64_MAX;
    rs_status status = RS_OK;
    result->main_table = rs_options_flag(run->options, "series")    ? SERIES
                         : rs_options_flag(run->options, "blocked") ? BLOCKED
                                                                    : SUMMARY;
    for (size_t i = 0; i < n; i++) {
        const queue_partial *p = partials[i].value;
        if (p && p->zero < zero) zero = p->zero;
    }
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const queue_partial *p = partials[i].value;
        if (!p || p->n_streams == 0) {
            rs_result_note(result, "rank %lld: no launched GPU work", (long long)partials[i].rank);
            continue;
        }
        status = run->policy->rows_by_stream ? add_hta(p, partials[i].rank, zero, result, err)
                                             : add_own(p, partials[i].rank, result, err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field stream_fields[] = {
    RS_FIELD(stream_sum, device),
    RS_FIELD(stream_sum, stream),
    RS_FIELD(stream_sum, launched),
    RS_FIELD(stream_sum, max),
    RS_FIELD(stream_sum, blocked),
    RS_FIELD(stream_sum, first),
    RS_FIELD(stream_sum, last),
    RS_FIELD(stream_sum, weighted),
    RS_FIELD(stream_sum, empty),
    RS_FIELD(stream_sum, full),
    RS_FIELD_STRUCT(stream_sum, lengths, &rs_description_layout),
};
static const rs_layout stream_layout = RS_LAYOUT(stream_sum, stream_fields);

static const rs_field queue_fields[] = {
    RS_FIELD_LIST(queue_partial, streams, n_streams, &stream_layout),
    RS_FIELD_STRUCT(queue_partial, series, &rs_queue_series_layout),
    RS_FIELD(queue_partial, zero),
    RS_FIELD(queue_partial, first),
    RS_FIELD(queue_partial, last),
};
static const rs_layout queue_layout = RS_LAYOUT(queue_partial, queue_fields);

const rs_analysis rs_analysis_queue = {
    .name = "queue",
    .help = "How much launched work waits on each stream, and how long the queue is full",
    .about = "Work waits from the start of its launch to its own start; a graph launch adds all it owns at "
             "once. The\n"
             "mean is weighted by time. A launch into a full queue blocks the host: --blocked tells for how "
             "long the\n"
             "queue held --max-length.",
    .examples = "rankscope queue trace.json.gz\nrankscope queue --blocked --max-length 1000 traces/\n"
                "rankscope queue --series --format csv trace.json.gz",
    .options = options,
    .n_options = COUNT(options),
    .facets = {&rs_facet_work_details, &rs_facet_span, &rs_facet_hta_frame},
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &queue_layout,
};
