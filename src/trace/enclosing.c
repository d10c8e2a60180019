#include "trace/enclosing.h"

#include <stdlib.h>

#include "base/interval.h"
#include "base/memory.h"
#include "trace/facet.h"

/* Times are rounded to a microsecond in many files: a child may stick out of its parent by less than that. */
#define TOLERANCE 1000

typedef struct entry {
    int64_t start, end;
    uint32_t thread, row;
    bool is_point, is_leaf; /* the end of an arrow; what encloses nothing */
} entry;

static int in_order(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->is_point != y->is_point) return x->is_point ? 1 : -1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The number of entries; they are counted only where entries is NULL. */
static size_t list(const rs_trace *t, entry *entries)
{
    const rs_events *e = t->events;
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        rs_kind kind = rs_event_kind(e, row);
        uint8_t phase = e->phase[row];
        bool is_point = phase == 's' || phase == 't' || phase == 'f';
        if (kind == RS_KIND_SPAN || !(rs_event_is_span(e, row) || (is_point && e->start[row] != RS_NO_TIME)))
            continue;
        if (entries) {
            int64_t end = is_point ? e->start[row] : rs_add_sat(e->start[row], e->duration[row]);
            entries[n] = (entry){e->start[row], end,      e->thread[row],
                                 row,           is_point, is_point || rs_kind_is_gpu_work(kind)};
        }
        n++;
    }
    return n;
}

/* Whether x, which starts no later, ends before y does. */
static bool is_over(const entry *x, const entry *y)
{
    if (y->is_point) return x->end < y->start;
    return (x->end <= y->start && y->end > y->start) || rs_add_sat(x->end, TOLERANCE) < y->end ||
           x->end < y->start;
}

static void sweep(const entry *entries, size_t n, uint32_t *stack, rs_enclosing *out)
{
    size_t depth = 0, work = n; /* the latest work of the thread; n: none */
    for (size_t i = 0; i < n; i++) {
        if (i && entries[i - 1].thread != entries[i].thread) {
            depth = 0;
            work = n;
        }
        while (depth && is_over(&entries[stack[depth - 1]], &entries[i])) depth--;
        out->row[i] = entries[i].row;
        out->parent[i] = depth ? stack[depth - 1] : RS_NO_ROW;
        if (entries[i].is_point && work < n && entries[work].end >= entries[i].start)
            out->parent[i] = (uint32_t)work;
        if (!entries[i].is_leaf)
            stack[depth++] = (uint32_t)i;
        else if (!entries[i].is_point)
            work = i;
    }
}

static void release(void *value)
{
    rs_enclosing *v = value;
    if (!v) return;
    rs_free_all(v->row, v->parent, v);
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    rs_enclosing *v = rs_calloc(1, sizeof *v);
    if (!v) return rs_fail_nomem(err, "enclosing events");
    v->n = list(trace, NULL);
    RS_LOCAL entry *entries = rs_malloc((v->n + 1) * sizeof *entries);
    RS_LOCAL uint32_t *stack = rs_malloc((v->n + 1) * sizeof *stack);
    v->row = rs_malloc((v->n + 1) * sizeof *v->row);
    v->parent = rs_malloc((v->n + 1) * sizeof *v->parent);
    bool ok = entries && stack && v->row && v->parent;
    if (ok) {
        list(trace, entries);
        bool sorted = true;
        for (size_t i = 1; sorted && i < v->n; i++) sorted = in_order(&entries[i - 1], &entries[i]) <= 0;
        if (!sorted) qsort(entries, v->n, sizeof *entries, in_order);
        sweep(entries, v->n, stack, v);
        *out = v;
    }
    if (ok) return RS_OK;
    release(v);
    return rs_fail_nomem(err, "enclosing events");
}

const rs_facet rs_facet_enclosing = {.name = "enclosing", .make = make, .release = release};

rs_status rs_trace_enclosing(rs_trace *trace, const rs_enclosing **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_enclosing, NULL, out, err);
}
