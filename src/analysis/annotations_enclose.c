/* Which annotations are open where something happens. */
#include "analysis/annotations.h"
#include "base/interval.h"

#define IS_POINT UINT32_C(0x80000000)
/* Deeper ones are not told apart from the one they are in: a bound on the work for each point. */
#define MAX_DEPTH 256

typedef struct open_span {
    int64_t end;
    uint32_t slot;
} open_span;

typedef struct lane_sweep {
    const rs_annotation_span *spans;
    const rs_point *points;
    rs_enclosed_fn told;
    void *context;
    size_t *n_too_deep;
    open_span open[MAX_DEPTH];
    uint32_t slots[MAX_DEPTH];
    size_t depth;
} lane_sweep;

/* Spans of one thread mostly nest; where they do not, one may end below others that are still open. */
static void close_ended(lane_sweep *s, int64_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->depth; i++)
        if (s->open[i].end > now) s->open[kept++] = s->open[i];
    s->depth = kept;
}

static void sweep_lane(lane_sweep *s, const rs_keyed *items, size_t n)
{
    s->depth = 0;
    for (size_t i = 0; i < n; i++) {
        close_ended(s, items[i].key);
        if (!(items[i].value & IS_POINT)) {
            const rs_annotation_span *x = &s->spans[items[i].value];
            if (x->end <= x->start) continue;
            if (s->depth < MAX_DEPTH)
                s->open[s->depth++] = (open_span){x->end, x->slot};
            else
                ++*s->n_too_deep;
            continue;
        }
        if (s->depth == 0) continue;
        for (size_t k = 0; k < s->depth; k++) s->slots[k] = s->open[k].slot;
        s->told(s->context, items[i].value & ~IS_POINT, s->slots, s->depth);
    }
}

/* By thread, then start; spans before points, longer spans first, else in the order of the list. */
static bool order_items(const rs_annotation_span *spans, size_t n_spans, const rs_point *points,
                        size_t n_points, rs_keyed *items)
{
    size_t n = n_spans + n_points;
    for (size_t i = 0; i < n_spans; i++) {
        int64_t length = rs_sub_sat(spans[i].end, spans[i].start);
        items[i] = (rs_keyed){length == INT64_MIN ? INT64_MAX - 1 : -length, (uint32_t)i};
    }
    for (size_t i = 0; i < n_points; i++) items[n_spans + i] = (rs_keyed){INT64_MAX, IS_POINT | (uint32_t)i};
    bool ok = rs_keyed_sort(items, n);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t v = items[i].value;
        items[i].key = v & IS_POINT ? points[v & ~IS_POINT].time : spans[v].start;
    }
    ok = ok && rs_keyed_sort(items, n);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t v = items[i].value;
        items[i].key = v & IS_POINT ? points[v & ~IS_POINT].thread : spans[v].thread;
    }
    return ok && rs_keyed_sort(items, n);
}

bool rs_annotations_enclose(const rs_annotation_span *spans, size_t n_spans, const rs_point *points,
                            size_t n_points, rs_enclosed_fn told, void *context, size_t *n_too_deep)
{
    size_t n = n_spans + n_points;
    if (n_spans >= IS_POINT || n_points >= IS_POINT) return false;
    RS_LOCAL rs_keyed *items = rs_malloc((n + 1) * sizeof *items);
    RS_LOCAL lane_sweep *s = rs_calloc(1, sizeof *s);
    bool ok = items && s && order_items(spans, n_spans, points, n_points, items);
    if (ok) {
        s->spans = spans;
        s->points = points;
        s->told = told;
        s->context = context;
        s->n_too_deep = n_too_deep;
    }
    for (size_t from = 0, to; ok && from < n; from = to) {
        for (to = from; to < n && items[to].key == items[from].key;) to++;
        for (size_t i = from; i < to; i++) {
            uint32_t v = items[i].value;
            items[i].key = v & IS_POINT ? points[v & ~IS_POINT].time : spans[v].start;
        }
        sweep_lane(s, items + from, to - from);
    }
    return ok;
}
