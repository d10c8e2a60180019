/* queue as HTA's get_queue_length_summary and its kin. */
#include "peer/hta_queue.h"

#include <string.h>

#include "analysis/queue.h"
#include "base/interval.h"
#include "base/keymap.h"
#include "base/try.h"
#include "peer/hta_steps.h"
#include "peer/numpy_order.h"

/* ---- the samples -------------------------------------------------------------------------------------- */

bool rs_hta_is_launch(const char *name)
{
    static const char *const names[] = {
        "cudaLaunchKernel", "cudaLaunchKernelExC",      "cuLaunchKernel",
        "cuLaunchKernelEx", "cudaMemcpyAsync",          "cudaMemsetAsync",
        "hipLaunchKernel",  "hipExtModuleLaunchKernel", "hipMemcpyAsync",
        "hipMemsetAsync",   "hipMemcpyWithStream",      "runFunction - job_prep_and_submit_for_execution"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* first: the first row with a stream of each correlation, in frame order; next: the one after it. */
static bool chain_work(const rs_frame_rows *f, rs_keymap *first, uint32_t *next)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (size_t i = 0; i < f->n; i++) {
        if (f->correlation[i] == -1) continue;
        if (f->correlation[i] < min) min = f->correlation[i];
        if (f->correlation[i] > max) max = f->correlation[i];
    }
    bool ok = rs_keymap_init(first, min, max, f->n);
    for (size_t i = f->n; ok && i-- > 0;) {
        if (f->correlation[i] == -1 || f->stream[i] == -1) continue;
        next[i] = rs_keymap_get(first, f->correlation[i]);
        ok = rs_keymap_put(first, f->correlation[i], (uint32_t)i);
    }
    return ok;
}

/* A launch that HTA counts: a partner in the file's first event is "none" to it. */
static bool counts(const rs_trace *trace, const rs_frame_rows *f, size_t i)
{
    return f->correlation[i] != -1 && f->partner[i] != RS_NO_ROW && f->partner[i] != 0 &&
           rs_hta_is_launch(rs_event_name(trace->events, f->row[i]));
}

/* All launches, each once for every piece of its work, then all work that was launched so. */
static bool collect(const rs_trace *trace, const rs_frame_rows *f, const rs_keymap *first,
                    const uint32_t *next, uint8_t *launched, rs_queue_series *out, bool *too_many)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < f->n; i++) {
        if (!counts(trace, f, i)) continue;
        for (uint32_t g = rs_keymap_get(first, f->correlation[i]); g != RS_KEYMAP_NONE; g = next[g]) {
            const rs_thread *t = &e->threads[e->thread[f->row[g]]];
            launched[g] = 1;
            if (!rs_queue_add(
                    out, (rs_queue_sample){f->start[i], -1, f->stream[g], t->pid, t->tid, 0, f->row[i], 1}))
                return false;
            *too_many = out->n / 64 > f->n;
            if (*too_many) return true;
        }
    }
    for (size_t g = 0; g < f->n; g++) {
        const rs_thread *t = &e->threads[e->thread[f->row[g]]];
        if (launched[g] && !rs_queue_add(out, (rs_queue_sample){f->start[g], -1, f->stream[g], t->pid, t->tid,
                                                                0, f->row[g], -1}))
            return false;
    }
    return true;
}

/* By stream and time; equal times stand as pandas leaves them. */
static bool put_in_order(rs_queue_series *s)
{
    RS_LOCAL rs_keyed *order = rs_malloc(s->n * sizeof *order);
    RS_LOCAL int64_t *keys = rs_malloc(s->n * sizeof *keys);
    RS_LOCAL uint32_t *places = rs_malloc(s->n * sizeof *places);
    bool ok = order && keys && places;
    for (size_t i = 0; ok && i < s->n; i++) keys[i] = s->items[i].ns;
    if (ok) rs_numpy_argsort(keys, s->n, places);
    for (size_t i = 0; ok && i < s->n; i++) order[i] = (rs_keyed){keys[places[i]], places[i]};
    return ok && rs_queue_put_by_stream(s, order);
}

rs_status rs_hta_queue_of(const rs_trace *trace, const rs_frame_rows *f, rs_queue_series *out, rs_error *err)
{
    RS_SCOPED(rs_keymap_clear) rs_keymap first = {.min = 0, .max = -1};
    RS_LOCAL uint32_t *next = rs_malloc(f->n * sizeof *next);
    RS_LOCAL uint8_t *launched = rs_calloc(f->n, 1);
    bool too_many = false;
    bool ok = next && launched && chain_work(f, &first, next) &&
              collect(trace, f, &first, next, launched, out, &too_many);
    if (too_many)
        return rs_fail_at(
            err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
            "correlation ids repeat so often that HTA's table would have over 64 rows an event");
    if (!ok || !put_in_order(out)) return rs_fail_nomem(err, "queue lengths");
    return RS_OK;
}

/* ---- the tables --------------------------------------------------------------------------------------- */

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_queue_stream, stream), "stream", INT, ID, "stream", NULL)                                     \
    RS_DESCRIPTION_CELLS(CELL, rs_queue_stream, lengths, COUNT, "samples")
RS_RECORD(hta, ROW);

#define SERIES_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_queue_sample, row), "index", INT, ID, "position in traceEvents", NULL)                        \
    CELL(SET, "ts", REAL, US, "from the job's first event", NULL)                                            \
    CELL(OF(rs_queue_sample, pid), "pid", INT, ID, "of the work", NULL)                                      \
    CELL(OF(rs_queue_sample, tid), "tid", INT, ID, "of the work", NULL)                                      \
    CELL(OF(rs_queue_sample, stream), "stream", INT, ID, "stream", NULL)                                     \
    CELL(OF(rs_queue_sample, length), "queue_length", INT, COUNT, "launches whose work has not started", NULL)
RS_RECORD(hta_series, SERIES_ROW);

#define BLOCKED_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_queue_stream, stream), "stream", INT, ID, "the last stream that was full", NULL)              \
    CELL(OF(rs_queue_stream, blocked), "duration_at_max_queue_length", REAL, US,                             \
         "time to the next sample, summed", NULL)                                                            \
    CELL(SET, "relative_duration_at_max_queue_length", REAL, RATIO,                                          \
         "of the time between first and last start", NULL)
RS_RECORD(hta_blocked, BLOCKED_ROW);

/* HTA's constant, whatever the device. */
enum { HTA_FULL = 1024 };
enum { ORIGIN = RS_QUEUE_RELATIONS };

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_frame_rows *f;
    rs_queue_series series = {0};
    RS_TRY(rs_hta_put_origin(run, trace, out, ORIGIN, err));
    RS_TRY(rs_trace_hta_frame(trace, run->policy, &f, err));
    rs_status status = rs_hta_queue_of(trace, f, &series, err);
    if (status == RS_OK)
        status = rs_queue_put(run, &series, &(rs_queue_rules){.full = HTA_FULL, .describe = true}, out, err);
    rs_queue_series_clear(&series);
    return status;
}

static void set_time(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    (void)of;
    rs_table_set_real(t, "ts", rs_hta_from_zero(run, ((const rs_queue_sample *)row)->ns));
}

static void set_share(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_hta_origin *origin = RS_ROWS(rs_hta_origin, of, ORIGIN);
    (void)run;
    rs_table_set_real(t, "relative_duration_at_max_queue_length",
                      (double)((const rs_queue_stream *)row)->blocked /
                          (double)rs_sub_sat(origin->last, origin->first));
}

static bool was_full_last(const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_queue_stream *s = row, *end = RS_ROWS(rs_queue_stream, of, RS_QUEUE_STREAMS);
    (void)run;
    end += of->items[RS_QUEUE_STREAMS].n;
    bool last = s->full;
    while (++s < end) last = last && !s->full;
    return last;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (of->items[RS_QUEUE_STREAMS].n == 0)
        rs_result_note(result, "rank %lld: no launched GPU work", (long long)partial->rank);
}

static const rs_plan_relation relations[] = {
    {RS_QUEUE_STREAM_ROWS, .make = put}, {RS_QUEUE_SAMPLE_ROWS}, {RS_HTA_ORIGIN(ORIGIN)}};
static const rs_plan_table
    stream_table = {RS_PLAN_TABLE("queue", "one row is one stream, as HTA's get_queue_length_summary", hta)},
    sample_table = {RS_PLAN_TABLE("series", "one row is one change; filled with --series", hta_series),
                    .relation = RS_QUEUE_SAMPLES, .choice = RS_QUEUE_SERIES_CHOICE, .set = set_time},
    blocked_table = {
        RS_PLAN_TABLE("blocked", "one row is one rank, as HTA keeps only one stream of it", hta_blocked),
        .choice = RS_QUEUE_BLOCKED_CHOICE, .set = set_share, .shows = was_full_last};
static const rs_table_spec *const tables[] = {&stream_table.spec, &sample_table.spec, &blocked_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_hta_merge_from_zero(run, partials, n, ORIGIN, result, err);
}

const rs_peer_row rs_peer_hta_queue = {RS_HTA_ROW("queue"), .plan = &plan, .merge = merge};
