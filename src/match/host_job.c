#include "match/host_job.h"

#include <stdlib.h>

#include "base/interval.h"
#include "base/memory.h"
#include "match/collective_names.h"
#include "trace/selection.h"

typedef struct spans {
    rs_interval *items;
    size_t n, capacity;
} spans;

/* Communication and the thread that runs it. */
typedef struct talk_at {
    int64_t start, end;
    uint32_t thread;
} talk_at;

typedef struct talks {
    talk_at *items; /* by thread and start once they are all there */
    size_t n, capacity;
} talks;

static int by_thread(const void *a, const void *b)
{
    const talk_at *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Whether communication runs inside the row on its own thread: that thread then does not compute, whatever the
 * operator around it is called. */
static bool holds_talk(const talks *t, const rs_events *e, uint32_t row)
{
    size_t low = 0, high = t->n;
    talk_at sought = {.start = e->start[row], .thread = e->thread[row]};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_thread(&t->items[middle], &sought) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->n && t->items[low].thread == sought.thread && t->items[low].end <= rs_event_end(e, row);
}

static bool add(spans *s, const rs_events *e, uint32_t row)
{
    if (!RS_GROW_ONE(s->items, s->n, s->capacity)) return false;
    s->items[s->n++] = (rs_interval){e->start[row], rs_event_end(e, row)};
    return true;
}

static bool on_host_backend(const rs_events *e)
{
    return e->info.backend != RS_NO_STRING && rs_coll_is_host_backend(e->strings.items[e->info.backend].text);
}

static bool unite(spans *s)
{
    if (s->n && !rs_intervals_sort(s->items, s->n)) return false;
    s->n = rs_intervals_unite(s->items, s->n);
    return true;
}

/* The spans of communication (talk), else those of operators that compute. */
static rs_status collect(const rs_trace *trace, const rs_selector *selector, bool talk, talks *threads,
                         spans *out, size_t *n_spans, rs_error *err)
{
    const rs_events *e = trace->events;
    rs_kind wanted = talk ? RS_KIND_USER_ANNOTATION : RS_KIND_CPU_OP;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_event_kind(e, row) != wanted || !rs_event_is_span(e, row) || e->duration[row] <= 0) continue;
        const char *name = rs_event_name(e, row);
        if (talk != (talk ? rs_coll_is_host_span(name) : rs_coll_is_operator(name))) continue;
        if (!talk && holds_talk(threads, e, row)) continue;
        bool ok = !talk || RS_GROW_ONE(threads->items, threads->n, threads->capacity);
        if (ok && talk)
            threads->items[threads->n++] = (talk_at){e->start[row], rs_event_end(e, row), e->thread[row]};
        if (!ok || (rs_selects_row(selector, row) && !add(out, e, row)))
            return rs_fail_nomem(err, "communication of the host");
    }
    if (talk && threads->n) qsort(threads->items, threads->n, sizeof *threads->items, by_thread);
    *n_spans = out->n;
    return unite(out) ? RS_OK : rs_fail_nomem(err, "communication of the host");
}

static bool has_device(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    if (e->info.n_devices > 0) return true;
    for (size_t i = 0; i < trace->n_rows; i++) {
        rs_kind kind = rs_event_kind(e, rs_trace_row(trace, i));
        if (rs_kind_is_gpu_work(kind) || rs_kind_is_call(kind)) return true;
    }
    return false;
}

rs_status rs_trace_host_job(rs_trace *trace, rs_host_job *out, rs_error *err)
{
    spans talk = {0}, ops = {0};
    talks threads = {0};
    size_t n_spans = 0;
    rs_selector selector;
    *out = (rs_host_job){0};
    if (has_device(trace)) return RS_OK;
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status == RS_OK) status = collect(trace, &selector, true, &threads, &talk, &n_spans, err);
    /* without communication nothing waits for it, whatever the operators do */
    size_t n_ops;
    if (status == RS_OK && talk.n) status = collect(trace, &selector, false, &threads, &ops, &n_ops, err);
    if (status == RS_OK) {
        out->on_host = talk.n > 0 || on_host_backend(trace->events) || trace->events->info.n_devices < 0;
        out->n_spans = n_spans;
        out->communication = rs_intervals_length(talk.items, talk.n);
        out->waiting = out->communication - rs_intervals_intersection(talk.items, talk.n, ops.items, ops.n);
    }
    rs_free(threads.items);
    rs_free(talk.items);
    rs_free(ops.items);
    return status;
}
