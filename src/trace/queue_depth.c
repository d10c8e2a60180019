#include "trace/queue_depth.h"

#include <string.h>

#include "base/interval.h"
#include "base/keymap.h"
#include "base/memory.h"
#include "peer/numpy_order.h"

void rs_queue_series_clear(rs_queue_series *series)
{
    rs_free(series->items);
    *series = (rs_queue_series){0};
}

/* Lengths, for samples that stand by stream and time. */
static void run_up(rs_queue_series *s)
{
    int64_t length = 0;
    for (size_t i = 0; i < s->n; i++) {
        const rs_queue_sample *before = i ? &s->items[i - 1] : NULL;
        if (!before || before->stream != s->items[i].stream || before->device != s->items[i].device)
            length = 0;
        s->items[i].length = length += s->items[i].change;
    }
}

/* A stream of a device, and where in the samples its next one goes. */
typedef struct lane {
    int64_t device, stream;
    size_t at;
} lane;

static bool comes_first(const lane *a, const lane *b)
{
    return a->device < b->device || (a->device == b->device && a->stream < b->stream);
}

/* The place of a sample's lane in lanes[0..n), which are in order; where it would go if it is not there. */
static size_t find_lane(const lane *lanes, size_t n, const rs_queue_sample *s, size_t guess, bool *found)
{
    lane wanted = {s->device, s->stream, 0};
    size_t low = 0, high = n;
    *found = guess < n && lanes[guess].device == s->device && lanes[guess].stream == s->stream;
    if (*found) return guess;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (comes_first(&lanes[middle], &wanted))
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < n && !comes_first(&wanted, &lanes[low]);
    return low;
}

/* The lanes in order, each with where its samples begin. */
static bool list_lanes(const rs_queue_series *s, lane **out, size_t *n_out)
{
    lane *lanes = NULL;
    size_t n = 0, capacity = 0, at = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool found;
        at = find_lane(lanes, n, &s->items[i], at, &found);
        if (!found) {
            if (!RS_GROW_ONE(lanes, n, capacity)) {
                rs_free(lanes);
                return false;
            }
            memmove(lanes + at + 1, lanes + at, (n - at) * sizeof *lanes);
            lanes[at] = (lane){s->items[i].device, s->items[i].stream, 0};
            n++;
        }
        lanes[at].at++;
    }
    size_t begin = 0;
    for (size_t i = 0; i < n; i++) {
        size_t here = lanes[i].at;
        lanes[i].at = begin;
        begin += here;
    }
    *out = lanes;
    *n_out = n;
    return true;
}

/* Puts the samples, already ordered by time in order[], by stream and device without touching that order. */
static bool put_by_stream(rs_queue_series *s, const rs_keyed *order)
{
    lane *lanes;
    size_t n_lanes, at = 0;
    if (!list_lanes(s, &lanes, &n_lanes)) return false;
    rs_queue_sample *sorted = rs_malloc(s->n * sizeof *sorted);
    for (size_t i = 0; sorted && i < s->n; i++) {
        const rs_queue_sample *x = &s->items[order[i].value];
        bool found;
        at = find_lane(lanes, n_lanes, x, at, &found);
        sorted[lanes[at].at++] = *x;
    }
    rs_free(lanes);
    if (!sorted) return false;
    rs_free(s->items);
    s->items = sorted;
    s->capacity = s->n;
    run_up(s);
    return true;
}

/* By stream and time; equal times stand as they came in, or as pandas leaves them. */
static bool put_in_order(rs_queue_series *s, bool as_pandas)
{
    rs_keyed *order = rs_malloc(s->n * sizeof *order);
    int64_t *keys = as_pandas ? rs_malloc(s->n * sizeof *keys) : NULL;
    uint32_t *places = as_pandas ? rs_malloc(s->n * sizeof *places) : NULL;
    bool ok = order && (!as_pandas || (keys && places));
    for (size_t i = 0; ok && i < s->n; i++) {
        order[i] = (rs_keyed){s->items[i].ns, (uint32_t)i};
        if (as_pandas) keys[i] = s->items[i].ns;
    }
    if (ok && as_pandas) {
        rs_numpy_argsort(keys, s->n, places);
        for (size_t i = 0; i < s->n; i++) order[i].value = places[i];
    } else if (ok) {
        ok = rs_keyed_sort(order, s->n);
    }
    ok = ok && put_by_stream(s, order);
    rs_free(order);
    rs_free(keys);
    rs_free(places);
    return ok;
}

static bool add(rs_queue_series *s, rs_queue_sample sample)
{
    if (!RS_GROW_ONE(s->items, s->n, s->capacity)) return false;
    s->items[s->n++] = sample;
    return true;
}

rs_status rs_queue_of(const rs_trace *trace, const rs_work *w, rs_queue_series *out, rs_error *err)
{
    const rs_events *e = trace->events;
    if (!rs_grow((void **)&out->items, &out->capacity, out->n + 2 * w->n, sizeof *out->items))
        return rs_fail_nomem(err, "queue lengths");
    /* all launches before all starts: where one time has both, work waits for no time but is seen to */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < w->n; i++) {
            if (w->launch[i] == RS_NO_ROW) continue;
            const rs_thread *t = &e->threads[e->thread[w->row[i]]];
            uint32_t row = pass ? w->row[i] : w->launch[i];
            int64_t ns = pass ? w->start[i] : e->start[row];
            if (!add(out, (rs_queue_sample){ns, w->device[i], w->stream[i], t->pid, t->tid, 0, row,
                                            (int8_t)(pass ? -1 : 1)}))
                return rs_fail_nomem(err, "queue lengths");
        }
    }
    return put_in_order(out, false) ? RS_OK : rs_fail_nomem(err, "queue lengths");
}

bool rs_queue_is_hta_launch(const char *name)
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
static bool chain_work(const rs_hta_frame *f, rs_keymap *first, uint32_t *next)
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
static bool counts(const rs_trace *trace, const rs_hta_frame *f, size_t i)
{
    return f->correlation[i] != -1 && f->partner[i] != RS_NO_ROW && f->partner[i] != 0 &&
           rs_queue_is_hta_launch(rs_event_name(trace->events, f->row[i]));
}

/* All launches, each once for every piece of its work, then all work that was launched so. */
static bool collect_hta(const rs_trace *trace, const rs_hta_frame *f, const rs_keymap *first,
                        const uint32_t *next, uint8_t *launched, rs_queue_series *out, bool *too_many)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < f->n; i++) {
        if (!counts(trace, f, i)) continue;
        for (uint32_t g = rs_keymap_get(first, f->correlation[i]); g != RS_KEYMAP_NONE; g = next[g]) {
            const rs_thread *t = &e->threads[e->thread[f->row[g]]];
            launched[g] = 1;
            if (!add(out, (rs_queue_sample){f->start[i], -1, f->stream[g], t->pid, t->tid, 0, f->row[i], 1}))
                return false;
            *too_many = out->n / 64 > f->n;
            if (*too_many) return true;
        }
    }
    for (size_t g = 0; g < f->n; g++) {
        const rs_thread *t = &e->threads[e->thread[f->row[g]]];
        if (launched[g] &&
            !add(out, (rs_queue_sample){f->start[g], -1, f->stream[g], t->pid, t->tid, 0, f->row[g], -1}))
            return false;
    }
    return true;
}

rs_status rs_queue_of_hta(const rs_trace *trace, const rs_hta_frame *f, rs_queue_series *out, rs_error *err)
{
    rs_keymap first = {.min = 0, .max = -1};
    uint32_t *next = rs_malloc(f->n * sizeof *next);
    uint8_t *launched = rs_calloc(f->n, 1);
    bool too_many = false;
    bool ok = next && launched && chain_work(f, &first, next) &&
              collect_hta(trace, f, &first, next, launched, out, &too_many);
    rs_keymap_clear(&first);
    rs_free(next);
    rs_free(launched);
    if (too_many)
        return rs_fail_at(
            err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
            "correlation ids repeat so often that HTA's table would have over 64 rows an event");
    if (!ok || !put_in_order(out, true)) return rs_fail_nomem(err, "queue lengths");
    return RS_OK;
}
