#include "analysis/queue_depth.h"

#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/keymap.h"
#include "base/memory.h"
#include "base/numpy_order.h"

void rs_queue_series_clear(rs_queue_series *series)
{
    rs_free(series->items);
    *series = (rs_queue_series){0};
}

static int by_place(const void *a, const void *b)
{
    const rs_queue_sample *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->change != y->change) return x->change > y->change ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
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

static bool add(rs_queue_series *s, rs_queue_sample sample)
{
    if (!RS_GROW_ONE(s->items, s->n, s->capacity)) return false;
    s->items[s->n++] = sample;
    return true;
}

rs_status rs_queue_of(const rs_trace *trace, const rs_work *w, rs_queue_series *out, rs_error *err)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW) continue;
        const rs_thread *t = &e->threads[e->thread[w->row[i]]];
        rs_queue_sample s = {
            e->start[w->launch[i]], w->device[i], w->stream[i], t->pid, t->tid, 0, w->launch[i], 1};
        bool ok = add(out, s);
        s.ns = w->start[i];
        s.row = w->row[i];
        s.change = -1;
        if (!ok || !add(out, s)) return rs_fail_nomem(err, "queue lengths");
    }
    if (out->n) qsort(out->items, out->n, sizeof *out->items, by_place);
    run_up(out);
    return RS_OK;
}

static bool is_hta_launch(const char *name)
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
           is_hta_launch(rs_event_name(trace->events, f->row[i]));
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

/* By time as pandas sorts, then by stream without touching that order; lengths run up in it. */
static bool run_up_hta(rs_queue_series *s)
{
    int64_t *keys = rs_malloc(s->n * sizeof *keys);
    uint32_t *order = rs_malloc(s->n * sizeof *order);
    rs_keyed *by_stream = rs_malloc(s->n * sizeof *by_stream);
    rs_queue_sample *sorted = rs_malloc(s->n * sizeof *sorted);
    bool ok = keys && order && by_stream && sorted;
    for (size_t i = 0; ok && i < s->n; i++) keys[i] = s->items[i].ns;
    if (ok) rs_numpy_argsort(keys, s->n, order);
    for (size_t i = 0; ok && i < s->n; i++) by_stream[i] = (rs_keyed){s->items[order[i]].stream, order[i]};
    ok = ok && rs_keyed_sort(by_stream, s->n);
    for (size_t i = 0; ok && i < s->n; i++) sorted[i] = s->items[by_stream[i].value];
    rs_free(keys);
    rs_free(order);
    rs_free(by_stream);
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(s->items);
    s->items = sorted;
    s->capacity = s->n;
    run_up(s);
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
    if (!ok || !run_up_hta(out)) return rs_fail_nomem(err, "queue lengths");
    return RS_OK;
}
