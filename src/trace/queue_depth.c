#include "trace/queue_depth.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"

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
    size_t low;
    *found = guess < n && lanes[guess].device == s->device && lanes[guess].stream == s->stream;
    if (*found) return guess;
    RS_SEARCH(low, n, comes_first(&lanes[low], &wanted));
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

bool rs_queue_put_by_stream(rs_queue_series *s, const rs_keyed *order)
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

bool rs_queue_add(rs_queue_series *s, rs_queue_sample sample)
{
    return RS_APPEND(s, sample);
}

/* By stream and time; equal times stand as they came in. */
static bool put_in_order(rs_queue_series *s)
{
    RS_LOCAL rs_keyed *order = rs_malloc(s->n * sizeof *order);
    bool ok = order != NULL;
    for (size_t i = 0; ok && i < s->n; i++) order[i] = (rs_keyed){s->items[i].ns, (uint32_t)i};
    return ok && rs_keyed_sort(order, s->n) && rs_queue_put_by_stream(s, order);
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
            if (!rs_queue_add(out, (rs_queue_sample){ns, w->device[i], w->stream[i], t->pid, t->tid, 0, row,
                                                     (int8_t)(pass ? -1 : 1)}))
                return rs_fail_nomem(err, "queue lengths");
        }
    }
    return put_in_order(out) ? RS_OK : rs_fail_nomem(err, "queue lengths");
}
