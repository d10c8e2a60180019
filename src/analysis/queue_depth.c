#include "analysis/queue_depth.h"

#include <stdlib.h>
#include <string.h>

#include "base/keymap.h"
#include "base/memory.h"

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

static void run_up(rs_queue_series *s)
{
    int64_t length = 0;
    if (s->n) qsort(s->items, s->n, sizeof *s->items, by_place);
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

/* next[i]: the launch before it with the same correlation. */
static bool chain_launches(const rs_trace *trace, const rs_hta_frame *f, rs_keymap *last, uint32_t *next)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (size_t i = 0; i < f->n; i++) {
        if (f->correlation[i] == -1) continue;
        if (f->correlation[i] < min) min = f->correlation[i];
        if (f->correlation[i] > max) max = f->correlation[i];
    }
    bool ok = rs_keymap_init(last, min, max, f->n);
    for (size_t i = f->n; ok && i-- > 0;) {
        /* a partner in the file's first event is "none" to HTA */
        if (f->correlation[i] == -1 || f->partner[i] == RS_NO_ROW || f->partner[i] == 0) continue;
        if (!is_hta_launch(rs_event_name(trace->events, f->row[i]))) continue;
        next[i] = rs_keymap_get(last, f->correlation[i]);
        ok = rs_keymap_put(last, f->correlation[i], (uint32_t)i);
    }
    return ok;
}

rs_status rs_queue_of_hta(const rs_trace *trace, const rs_hta_frame *f, rs_queue_series *out, rs_error *err)
{
    const rs_events *e = trace->events;
    rs_keymap last = {.min = 0, .max = -1};
    uint32_t *next = rs_malloc(f->n * sizeof *next);
    bool ok = next && chain_launches(trace, f, &last, next), too_many = false;
    for (size_t i = 0; ok && !too_many && i < f->n; i++) {
        if (f->stream[i] == -1 || f->correlation[i] == -1) continue;
        uint32_t launch = rs_keymap_get(&last, f->correlation[i]);
        if (launch == RS_KEYMAP_NONE) continue;
        const rs_thread *t = &e->threads[e->thread[f->row[i]]];
        rs_queue_sample s = {f->start[i], -1, f->stream[i], t->pid, t->tid, 0, f->row[i], -1};
        ok = add(out, s);
        s.change = 1;
        for (; ok && launch != RS_KEYMAP_NONE; launch = next[launch]) {
            s.ns = f->start[launch];
            s.row = f->row[launch];
            ok = add(out, s);
            too_many = out->n / 64 > f->n;
            if (too_many) break;
        }
    }
    rs_keymap_clear(&last);
    rs_free(next);
    if (too_many)
        return rs_fail_at(
            err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
            "correlation ids repeat so often that HTA's table would have over 64 rows an event");
    if (!ok) return rs_fail_nomem(err, "queue lengths");
    run_up(out);
    return RS_OK;
}
