/* What ran on the GPU while the host was in a training step, by kernels: per rank, per step, and which
 * collective stands exposed for how long. */
#include "metrics/trace_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/search.h"
#include "trace/busy.h"
#include "match/collective_ops.h"
#include "base/memory.h"

typedef struct set {
    rs_interval *items;
    size_t n;
} set;

static void part_free(void *partial)
{
    rs_traced_rank *p = partial;
    if (!p) return;
    rs_free_all(p->steps, p->exposed);
    rs_coll_rank_free(p->ops);
    rs_free(p);
}

/* ---- times --------------------------------------------------------------------------------------------- */

/* The unions of a rank's work. */
typedef struct unions {
    set compute, comm, all, alone; /* alone: communication without computation */
} unions;

static void unions_clear(unions *u)
{
    rs_free_all(u->compute.items, u->comm.items, u->all.items, u->alone.items);
}

static bool unite(const rs_work *work, unions *u)
{
    bool ok = rs_work_union(work, RS_CLASS_COMPUTE, &u->compute.items, &u->compute.n) &&
              rs_work_union(work, RS_CLASS_COMM, &u->comm.items, &u->comm.n) &&
              rs_work_union(work, RS_N_CLASSES, &u->all.items, &u->all.n);
    u->alone.items = ok ? rs_malloc((u->comm.n + u->compute.n + 1) * sizeof *u->alone.items) : NULL;
    if (!u->alone.items) return false;
    u->alone.n =
        rs_intervals_subtract(u->comm.items, u->comm.n, u->compute.items, u->compute.n, u->alone.items);
    return true;
}

/* How much of the set is in [start, end). */
static int64_t within(const set *s, int64_t start, int64_t end)
{
    size_t low;
    int64_t length = 0;
    RS_SEARCH(low, s->n, s->items[low].end <= start);
    for (; low < s->n && s->items[low].start < end; low++) {
        int64_t from = s->items[low].start > start ? s->items[low].start : start;
        int64_t to = s->items[low].end < end ? s->items[low].end : end;
        length += to - from;
    }
    return length;
}

static void measure(const unions *u, int64_t start, int64_t end, int64_t ns[RS_TRACE_N_TIMES])
{
    int64_t total = rs_sub_sat(end, start), comm = within(&u->comm, start, end);
    ns[RS_TRACE_TOTAL] += total;
    ns[RS_TRACE_COMPUTE] += within(&u->compute, start, end);
    ns[RS_TRACE_COMM] += comm;
    ns[RS_TRACE_OVERLAP] += comm - within(&u->alone, start, end);
    ns[RS_TRACE_IDLE] += total - within(&u->all, start, end);
}

static bool measure_steps(const unions *u, const rs_step *steps, const set *spans, rs_traced_rank *p)
{
    p->steps = rs_calloc(p->n_steps + 1, sizeof *p->steps);
    if (!p->steps) return false;
    for (size_t i = 0; i < p->n_steps; i++) {
        p->steps[i].number = steps[i].number;
        measure(u, steps[i].start, steps[i].end, p->steps[i].ns);
    }
    p->all.number = (int64_t)p->n_steps;
    for (size_t i = 0; i < spans->n; i++) measure(u, spans->items[i].start, spans->items[i].end, p->all.ns);
    return true;
}

/* ---- exposed collectives ------------------------------------------------------------------------------- */

typedef struct shaped_op {
    const rs_coll_op *op;
    const rs_coll_shape *shape;
} shaped_op;

static int compare_ops(const void *a, const void *b)
{
    const shaped_op *p = a, *q = b;
    const rs_coll_shape *x = p->shape, *y = q->shape;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->description != y->description) return x->description < y->description ? -1 : 1;
    if (p->op->start != q->op->start) return p->op->start < q->op->start ? -1 : 1;
    return p->op->row < q->op->row ? -1 : p->op->row > q->op->row;
}

static bool same_collective(const rs_coll_shape *a, const rs_coll_shape *b)
{
    return a->kind == b->kind && a->group == b->group && a->description == b->description;
}

/* spans: the steps' time, or everything where there are none. */
static bool measure_collectives(const unions *u, const set *spans, rs_traced_rank *p)
{
    size_t n = p->ops->n;
    RS_LOCAL shaped_op *order = rs_malloc((n + 1) * sizeof *order);
    rs_interval *mine = rs_malloc((n + 1) * sizeof *mine);
    p->exposed = rs_calloc(n + 1, sizeof *p->exposed);
    bool ok = order && mine && p->exposed;
    for (size_t i = 0; ok && i < n; i++)
        order[i] = (shaped_op){&p->ops->ops[i], rs_coll_shape_of(p->ops, &p->ops->ops[i])};
    if (ok && n) qsort(order, n, sizeof *order, compare_ops);
    for (size_t i = 0, end; ok && i < n; i = end) {
        rs_traced_kind *e = &p->exposed[p->n_exposed];
        set own = {mine, 0};
        for (end = i; end < n && same_collective(order[i].shape, order[end].shape); end++)
            mine[own.n++] = (rs_interval){order[end].op->start, order[end].op->end};
        *e = (rs_traced_kind){order[i].shape->kind,
                              order[i].shape->group,
                              order[i].shape->description,
                              (int64_t)(end - i),
                              0,
                              0};
        own.n = rs_intervals_unite(mine, own.n);
        rs_interval *lone = rs_malloc((own.n + u->compute.n + 1) * sizeof *lone);
        ok = lone != NULL;
        if (!ok) break;
        size_t n_lone = rs_intervals_subtract(own.items, own.n, u->compute.items, u->compute.n, lone);
        e->time = spans->n ? rs_intervals_intersection(own.items, own.n, spans->items, spans->n)
                           : rs_intervals_length(own.items, own.n);
        e->alone = spans->n ? rs_intervals_intersection(lone, n_lone, spans->items, spans->n)
                            : rs_intervals_length(lone, n_lone);
        rs_free(lone);
        p->n_exposed += e->time > 0;
    }
    rs_free(mine);
    return ok;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static bool union_of_steps(const rs_step *steps, size_t n, set *out)
{
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    if (!out->items) return false;
    for (size_t i = 0; i < n; i++) out->items[i] = (rs_interval){steps[i].start, steps[i].end};
    if (!rs_intervals_sort(out->items, n)) return false;
    out->n = rs_intervals_unite(out->items, n);
    return true;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_step *steps;
    const rs_work *work;
    size_t n;
    rs_status status = rs_trace_steps(trace, &steps, &n, err);
    if (status == RS_OK) status = rs_trace_work(trace, run->policy, &work, err);
    if (status != RS_OK) return status;
    rs_traced_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "the steps of a trace");
    RS_SCOPED(unions_clear) unions u = {.compute = {0}};
    set spans = {0};
    p->n_steps = n;
    status = rs_coll_rank_of(trace, run->policy, &p->ops, err);
    if (status == RS_OK && !(unite(work, &u) && union_of_steps(steps, n, &spans) &&
                             measure_steps(&u, steps, &spans, p) && measure_collectives(&u, &spans, p)))
        status = rs_fail_nomem(err, "the steps of a trace");
    rs_free(spans.items);
    if (status != RS_OK)
        part_free(p);
    else
        *partial = p;
    return status;
}

const rs_each_rank rs_metrics_by_steps = {
    .name = "metrics", .columns = RS_COLL_COLUMNS, .rank = rank, .free_value = part_free};
