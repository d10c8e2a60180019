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

static bool unite(spans *s)
{
    if (s->n && !rs_intervals_sort(s->items, s->n)) return false;
    s->n = rs_intervals_unite(s->items, s->n);
    return true;
}

rs_status rs_trace_host_job(rs_trace *trace, rs_host_job *out, rs_error *err)
{
    const rs_events *e = trace->events;
    spans talk = {0}, ops = {0};
    bool device = e->info.n_devices > 0, ok = true;
    bool on_host =
        e->info.backend != RS_NO_STRING && rs_coll_is_host_backend(e->strings.items[e->info.backend].text);
    rs_selector selector;
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK) return status;
    for (size_t i = 0; ok && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        device |= rs_kind_is_gpu_work(kind) || rs_kind_is_call(kind);
        if (kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) continue;
        if (!rs_event_is_span(e, row) || e->duration[row] <= 0) continue;
        const char *name = rs_event_name(e, row);
        bool is_talk = kind == RS_KIND_USER_ANNOTATION && rs_coll_is_host_span(name);
        if (!is_talk && (kind != RS_KIND_CPU_OP || rs_coll_is_operator(name))) continue;
        if (rs_selects_row(&selector, row)) ok = add(is_talk ? &talk : &ops, e, row);
    }
    ok = ok && unite(&talk) && unite(&ops);
    if (ok) {
        *out = (rs_host_job){.on_host = !device && (on_host || talk.n > 0),
                             .communication = rs_intervals_length(talk.items, talk.n)};
        out->waiting = out->communication - rs_intervals_intersection(talk.items, talk.n, ops.items, ops.n);
    }
    rs_free(talk.items);
    rs_free(ops.items);
    return ok ? RS_OK : rs_fail_nomem(err, "communication of the host");
}
