/* The synchronization of a rank as a facet, and as arrays of the store. */
#include <string.h>

#include "base/try.h"
#include "engine/sync.h"
#include "trace/facet.h"

/* What else is told beside the edges. */
enum { TOLD_UNTOLD, TOLD_AHEAD, TOLD_CONTRADICTED, N_TOLD };

typedef struct sync_value {
    rs_sync_edges edges;
    uint32_t *source, *target, *sync; /* of the edges, where they may be stored */
    uint8_t *kind;
    int64_t told[N_TOLD];
    bool has_stored, lent; /* lent: these are the keeper's */
} sync_value;

static void free_sync(void *value)
{
    sync_value *v = value;
    if (!v) return;
    rs_sync_clear(&v->edges);
    if (!v->lent) {
        rs_free_all(v->source, v->target, v->sync, v->kind);
    }
    rs_free(v);
}

static bool store(sync_value *v)
{
    const rs_sync_edges *s = &v->edges;
    v->source = rs_malloc((s->n + 1) * sizeof *v->source);
    v->target = rs_malloc((s->n + 1) * sizeof *v->target);
    v->sync = rs_malloc((s->n + 1) * sizeof *v->sync);
    v->kind = rs_malloc(s->n + 1);
    if (!v->source || !v->target || !v->sync || !v->kind) return false;
    for (size_t i = 0; i < s->n; i++) {
        v->source[i] = s->items[i].source;
        v->target[i] = s->items[i].target;
        v->sync[i] = s->items[i].sync;
        v->kind[i] = (uint8_t)s->items[i].kind;
    }
    v->told[TOLD_UNTOLD] = (int64_t)s->n_untold;
    v->told[TOLD_AHEAD] = s->ahead;
    v->told[TOLD_CONTRADICTED] = (int64_t)s->n_contradicted;
    return v->has_stored = true;
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    sync_value *v = rs_calloc(1, sizeof *v);
    (void)key;
    rs_status status =
        v ? rs_sync_find(trace, &policy, &v->edges, err) : rs_fail_nomem(err, "synchronization");
    if (status == RS_OK && trace->keeper && !store(v)) status = rs_fail_nomem(err, "synchronization");
    if (status == RS_OK)
        *out = v;
    else
        free_sync(v);
    return status;
}

/* ---- stored ---------------------------------------------------------------------------------------------- */

enum { SOURCE, TARGET, SYNC, KIND, TOLD, N_PARTS };
_Static_assert(N_PARTS <= RS_FACET_PARTS, "parts of synchronization");

static void give(const void *value, rs_facet_part *parts)
{
    const sync_value *v = value;
    size_t n = v->edges.n;
    if (!v->has_stored) return;
    parts[SOURCE] = RS_FACET_NUMBERS(v->source, n);
    parts[TARGET] = RS_FACET_NUMBERS(v->target, n);
    parts[SYNC] = RS_FACET_NUMBERS(v->sync, n);
    parts[KIND] = RS_FACET_NUMBERS(v->kind, n);
    parts[TOLD] = RS_FACET_NUMBERS(v->told, N_TOLD);
}

static bool is_work(const rs_trace *trace, uint32_t row)
{
    return rs_kind_is_gpu_work(rs_event_kind(trace->events, row)) && rs_event_is_span(trace->events, row);
}

/* Edges lead from work to calls, and of a stream's wait to work; a cuda_sync event says so or nothing does. */
static bool is_sound(const rs_trace *trace, const rs_sync_edge *s)
{
    const rs_events *e = trace->events;
    if (s->source >= e->n || s->target >= e->n || s->kind >= RS_N_SYNC_KINDS || !is_work(trace, s->source))
        return false;
    if (s->sync != RS_NO_ROW && (s->sync >= e->n || rs_event_kind(e, s->sync) != RS_KIND_SYNC)) return false;
    if (s->kind == RS_SYNC_STREAM_WAIT) return is_work(trace, s->target);
    return rs_kind_is_call(rs_event_kind(e, s->target)) && rs_event_is_span(e, s->target);
}

static bool fill(const rs_trace *trace, sync_value *v, size_t n)
{
    rs_sync_edges *s = &v->edges;
    s->items = rs_malloc((n + 1) * sizeof *s->items);
    if (!s->items) return false;
    s->capacity = n + 1;
    for (size_t i = 0; i < n; i++) {
        rs_sync_edge *edge = &s->items[i];
        if (v->kind[i] >= RS_N_SYNC_KINDS) return false;
        *edge = (rs_sync_edge){v->source[i], v->target[i], v->sync[i], (rs_sync_kind)v->kind[i]};
        const rs_sync_edge *last = i ? edge - 1 : NULL;
        bool behind = !last || edge->target > last->target ||
                      (edge->target == last->target && edge->source > last->source);
        if (!behind || !is_sound(trace, edge)) return false;
    }
    s->n = n;
    s->n_untold = (uint64_t)v->told[TOLD_UNTOLD];
    s->ahead = v->told[TOLD_AHEAD];
    s->n_contradicted = (uint64_t)v->told[TOLD_CONTRADICTED];
    return v->told[TOLD_UNTOLD] >= 0 && v->told[TOLD_CONTRADICTED] >= 0 && s->ahead >= 0 && rs_sync_index(s);
}

static void *take(rs_trace *trace, const void *key, const rs_facet_part *parts)
{
    size_t n = parts[KIND].n;
    (void)key;
    if (n > UINT32_MAX || parts[SOURCE].n != n * sizeof(uint32_t) || parts[TARGET].n != parts[SOURCE].n ||
        parts[SYNC].n != parts[SOURCE].n || parts[TOLD].n != N_TOLD * sizeof(int64_t))
        return NULL;
    sync_value *v = rs_calloc(1, sizeof *v);
    if (!v) return NULL;
    v->source = rs_facet_lend(&parts[SOURCE]);
    v->target = rs_facet_lend(&parts[TARGET]);
    v->sync = rs_facet_lend(&parts[SYNC]);
    v->kind = rs_facet_lend(&parts[KIND]);
    v->has_stored = v->lent = true;
    memcpy(v->told, parts[TOLD].bytes, sizeof v->told);
    if (fill(trace, v, n)) return v;
    free_sync(v);
    return NULL;
}

static const rs_facet_form sync_form = {N_PARTS, give, take, false};
const rs_facet rs_facet_sync = {.name = "synchronization",
                                .columns = RS_LINK_COLUMNS | RS_SYNC_COLUMNS,
                                .needs = {&rs_facet_work_details, &rs_facet_work_by_start},
                                .make = make,
                                .release = free_sync,
                                .form = &sync_form};

rs_status rs_trace_sync(rs_trace *trace, const rs_sync_edges **out, rs_error *err)
{
    void *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_sync, NULL, &value, err));
    *out = &((const sync_value *)value)->edges;
    return RS_OK;
}
