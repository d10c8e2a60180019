#include "match/host_job.h"

#include "base/interval.h"
#include "base/memory.h"
#include "match/collective_names.h"
#include "trace/selection.h"

typedef struct spans {
    rs_interval *items;
    size_t n, capacity;
} spans;

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
static rs_status collect(const rs_trace *trace, const rs_selector *selector, bool talk, spans *out,
                         rs_error *err)
{
    const rs_events *e = trace->events;
    rs_kind wanted = talk ? RS_KIND_USER_ANNOTATION : RS_KIND_CPU_OP;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_event_kind(e, row) != wanted || !rs_event_is_span(e, row) || e->duration[row] <= 0) continue;
        const char *name = rs_event_name(e, row);
        if (talk != (talk ? rs_coll_is_host_span(name) : rs_coll_is_operator(name))) continue;
        if (rs_selects_row(selector, row) && !add(out, e, row))
            return rs_fail_nomem(err, "communication of the host");
    }
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
    rs_selector selector;
    *out = (rs_host_job){0};
    if (has_device(trace)) return RS_OK;
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status == RS_OK) status = collect(trace, &selector, true, &talk, err);
    /* without communication nothing waits for it, whatever the operators do */
    if (status == RS_OK && talk.n) status = collect(trace, &selector, false, &ops, err);
    if (status == RS_OK) {
        out->on_host = talk.n > 0 || on_host_backend(trace->events);
        out->communication = rs_intervals_length(talk.items, talk.n);
        out->waiting = out->communication - rs_intervals_intersection(talk.items, talk.n, ops.items, ops.n);
    }
    rs_free(talk.items);
    rs_free(ops.items);
    return status;
}
