/* What waits for what in a pipelined step: the rules of the OSDI'25 straggler study, read off the recorded
 * starts and ends of one (step, data rank). docs/whatif.md lists them. */
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "engine/ops.h"

#define NEVER_LAUNCHED 50e-6 /* s: so far from every computation, a transfer was recorded but never ran */

typedef struct edge {
    uint32_t node, pred;
} edge;

/* A name in the order of its stage. */
typedef struct placed {
    double start;
    int32_t seq;
    uint32_t name;
    uint8_t kind;
} placed;

typedef struct finder {
    const rs_ops *ops;
    const double *start, *end;
    const int32_t *mc;
    rs_ops_order *out;
    edge *edges;
    size_t n, capacity;
    placed *list; /* scratch: the names of one stage, twice */
    placed *other;
    uint32_t *queue; /* by kind of transfer (4) and stage: n_names room; the real ones in order */
    uint32_t *n_queued;
    bool parallel, overlapped;
} finder;

static size_t range_at(const rs_ops *ops, size_t stage, unsigned kind)
{
    return ops->range[stage * RS_N_OP_KINDS + kind];
}

static size_t range_n(const rs_ops *ops, size_t stage, unsigned kind)
{
    return ops->range[stage * RS_N_OP_KINDS + kind + 1] - range_at(ops, stage, kind);
}

static rs_status waits(finder *f, uint32_t node, uint32_t pred, rs_error *err)
{
    return RS_PUSH(f->edges, f->n, f->capacity, (edge){node, pred})
               ? RS_OK
               : rs_fail_nomem(err, "order of operations");
}

static const rs_order compare_placed[] = {RS_RISING(placed, start), RS_RISING(placed, seq),
                                          RS_RISING(placed, kind)};

/* The names of one or two kinds of a stage, by start, number, kind. */
static size_t in_order(const finder *f, size_t stage, unsigned kind, unsigned other, placed *list)
{
    size_t n = 0;
    for (unsigned pass = 0; pass < (other == kind ? 1u : 2u); pass++) {
        unsigned k = pass ? other : kind;
        size_t from = range_at(f->ops, stage, k), until = from + range_n(f->ops, stage, k);
        for (size_t v = from; v < until; v++)
            list[n++] = (placed){f->start[v], f->ops->names[v].seq, (uint32_t)v, (uint8_t)k};
    }
    RS_SORT(list, n, compare_placed);
    return n;
}

static rs_status chain(finder *f, const placed *list, size_t n, rs_error *err)
{
    for (size_t i = 1; i < n; i++) RS_TRY(waits(f, list[i].name, list[i - 1].name, err));
    return RS_OK;
}

/* ---- sends and receives --------------------------------------------------------------------------------- */

static size_t chunk_of(const finder *f, uint32_t name)
{
    return f->mc[name] < 0 ? 0 : (size_t)f->mc[name];
}

static bool is_send(unsigned kind)
{
    return kind == RS_OP_FORWARD_SEND || kind == RS_OP_BACKWARD_SEND;
}

/* Whether a transfer of that computation has its partner before the model's beginning or behind its end. */
static bool is_void(const finder *f, size_t stage, unsigned kind, uint32_t computation)
{
    size_t place = chunk_of(f, computation) * f->ops->n_stages + stage;
    bool up = kind == RS_OP_FORWARD_SEND || kind == RS_OP_BACKWARD_RECV;
    return up ? place + 1 >= f->ops->n_stages * f->ops->n_chunks : place == 0;
}

static unsigned queue_of(unsigned kind)
{
    switch (kind) {
    case RS_OP_FORWARD_SEND: return 0;
    case RS_OP_FORWARD_RECV: return 1;
    case RS_OP_BACKWARD_SEND: return 2;
    default: return 3;
    }
}

/* Marks those that were never launched and gives back how many others there are, in order in list. */
static size_t drop_unused(finder *f, unsigned kind, const placed *computations, size_t n_computations,
                          placed *list, size_t n)
{
    size_t kept = 0;
    double away = NEVER_LAUNCHED * f->ops->rules.unit;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = list[i].name;
        bool unused = n_computations == 0 ||
                      (is_send(kind) ? f->end[v] < f->end[computations[0].name] - away
                                     : f->start[v] > computations[n_computations - 1].start + away);
        if (unused)
            f->out->use[v] = RS_OPS_UNUSED;
        else
            list[kept++] = list[i];
    }
    return kept;
}

static rs_status join_transfers(finder *f, size_t stage, unsigned kind, const placed *computations,
                                size_t n_computations, rs_error *err)
{
    const rs_ops *ops = f->ops;
    placed *list = f->other;
    size_t n = in_order(f, stage, kind, kind, list), skip = 0;
    bool outer = stage == 0 || stage + 1 == ops->n_stages;
    RS_TRY(chain(f, list, n, err));
    n = drop_unused(f, kind, computations, n_computations, list, n);
    if (outer && n == 0) return RS_OK;
    if (outer && n + 1 == n_computations)
        skip = is_send(kind) ? 0 : 1;
    else if (n != n_computations)
        return rs_fail(err, RS_ERR_FORMAT, "stage %zu: %zu %s for %zu computations", stage, n,
                       rs_op_kind_names[kind], n_computations);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = list[i].name, c = computations[i + skip].name;
        if (is_send(kind)) {
            RS_TRY(waits(f, v, c, err));
        } else {
            RS_TRY(waits(f, c, v, err));
            if (i + skip > 0) RS_TRY(waits(f, v, computations[i + skip - 1].name, err));
        }
        if (is_void(f, stage, kind, c)) {
            f->out->use[v] = RS_OPS_VOID;
            continue;
        }
        /* a queue of a kind has room for all names; each stage's part begins where its names do */
        size_t q = queue_of(kind) * ops->n_stages + stage;
        f->queue[range_at(ops, stage, kind) + f->n_queued[q]++] = v;
    }
    return RS_OK;
}

static rs_status pair_off(finder *f, size_t stage, unsigned send, size_t other, unsigned receive,
                          rs_error *err)
{
    const rs_ops *ops = f->ops;
    size_t n = f->n_queued[queue_of(send) * ops->n_stages + stage];
    size_t m = f->n_queued[queue_of(receive) * ops->n_stages + other];
    if (n != m)
        return rs_fail(err, RS_ERR_FORMAT, "%zu %s of stage %zu meet %zu %s of stage %zu", n,
                       rs_op_kind_names[send], stage, m, rs_op_kind_names[receive], other);
    for (size_t i = 0; i < n; i++) {
        uint32_t a = f->queue[range_at(ops, stage, send) + i],
                 b = f->queue[range_at(ops, other, receive) + i];
        f->out->pair[a] = b;
        f->out->pair[b] = a;
    }
    return RS_OK;
}

/* ---- computation ---------------------------------------------------------------------------------------- */

static rs_status join_direction(finder *f, size_t stage, unsigned compute, unsigned send, unsigned receive,
                                rs_error *err)
{
    size_t n = in_order(f, stage, compute, compute, f->list);
    RS_TRY(join_transfers(f, stage, send, f->list, n, err));
    return join_transfers(f, stage, receive, f->list, n, err);
}

/* The first backward transfers wait for the second computation before the first backward one. */
static rs_status join_turn(finder *f, size_t stage, const placed *list, size_t n, rs_error *err)
{
    static const unsigned kinds[] = {RS_OP_BACKWARD_RECV, RS_OP_BACKWARD_SEND};
    size_t i = 0;
    while (i < n && list[i].kind != RS_OP_BACKWARD_COMPUTE) i++;
    if (i == n || i < 2) return RS_OK;
    for (size_t k = 0; k < 2; k++) {
        size_t v = range_at(f->ops, stage, kinds[k]);
        if (range_n(f->ops, stage, kinds[k]) && f->ops->names[v].seq == 0)
            RS_TRY(waits(f, (uint32_t)v, list[i - 2].name, err));
    }
    return RS_OK;
}

/* ---- the data-parallel part ----------------------------------------------------------------------------- */

/* Of a stage's names of a kind and chunk the first or last by number; -1: none. */
static int64_t end_of_chunk(const finder *f, size_t stage, unsigned kind, size_t chunk, bool last)
{
    int64_t found = -1;
    size_t from = range_at(f->ops, stage, kind), until = from + range_n(f->ops, stage, kind);
    for (size_t v = from; v < until; v++) {
        if (chunk_of(f, (uint32_t)v) != chunk) continue;
        found = (int64_t)v;
        if (!last) break;
    }
    return found;
}

static rs_status join_gathers(finder *f, size_t stage, rs_error *err)
{
    RS_TRY(chain(f, f->list, in_order(f, stage, RS_OP_GATHER, RS_OP_SCATTER, f->list), err));
    size_t n = in_order(f, stage, RS_OP_FORWARD_COMPUTE, RS_OP_FORWARD_COMPUTE, f->list);
    for (size_t chunk = 0; chunk < f->ops->n_chunks; chunk++) {
        int64_t gather = end_of_chunk(f, stage, RS_OP_GATHER, chunk, true);
        if (gather < 0) continue;
        for (size_t i = 0; i < n; i++) {
            if (chunk_of(f, f->list[i].name) != chunk) continue;
            RS_TRY(waits(f, f->list[i].name, (uint32_t)gather, err));
            break;
        }
    }
    return RS_OK;
}

/* Scatters that run while the backward pass does: each chunk's first waits for the chunk's last backward. */
static rs_status join_overlapped(finder *f, size_t stage, rs_error *err)
{
    const rs_ops *ops = f->ops;
    size_t n = range_n(ops, stage, RS_OP_SCATTER), layernorm = range_at(ops, stage, RS_OP_LAYERNORM);
    if (n && range_n(ops, stage, RS_OP_LAYERNORM))
        RS_TRY(waits(f, (uint32_t)layernorm, (uint32_t)(range_at(ops, stage, RS_OP_SCATTER) + n - 1), err));
    for (size_t chunk = 0; chunk < ops->n_chunks; chunk++) {
        int64_t scatter = end_of_chunk(f, stage, RS_OP_SCATTER, chunk, false), last = -1;
        size_t from = range_at(ops, stage, RS_OP_BACKWARD_COMPUTE);
        size_t until = from + range_n(ops, stage, RS_OP_BACKWARD_COMPUTE);
        for (size_t v = from; v < until; v++)
            if (chunk_of(f, (uint32_t)v) == chunk && (last < 0 || f->end[v] > f->end[last]))
                last = (int64_t)v;
        if (scatter >= 0 && last >= 0) RS_TRY(waits(f, (uint32_t)scatter, (uint32_t)last, err));
    }
    return RS_OK;
}

static rs_status append(finder *f, size_t stage, unsigned kind, int64_t *tail, rs_error *err)
{
    size_t from = range_at(f->ops, stage, kind), until = from + range_n(f->ops, stage, kind);
    for (size_t v = from; v < until; v++) {
        if (*tail >= 0) RS_TRY(waits(f, (uint32_t)v, (uint32_t)*tail, err));
        *tail = (int64_t)v;
    }
    return RS_OK;
}

/* What follows the last computation: one chain behind gc. */
static rs_status join_tail(finder *f, size_t stage, const placed *computations, size_t n, rs_error *err)
{
    int64_t tail = -1;
    for (size_t i = 0; i < n; i++)
        if (tail < 0 || f->end[computations[i].name] > f->end[tail]) tail = computations[i].name;
    RS_TRY(append(f, stage, RS_OP_GC, &tail, err));
    RS_TRY(append(f, stage, RS_OP_LAYERNORM, &tail, err));
    RS_TRY(append(f, stage, RS_OP_EMBEDDING, &tail, err));
    if (f->parallel) RS_TRY(append(f, stage, f->overlapped ? RS_OP_SEPARATE : RS_OP_SCATTER, &tail, err));
    RS_TRY(append(f, stage, RS_OP_CLIP, &tail, err));
    return append(f, stage, RS_OP_OPTIMIZER, &tail, err);
}

static rs_status join_stage(finder *f, size_t stage, rs_error *err)
{
    RS_TRY(join_direction(f, stage, RS_OP_FORWARD_COMPUTE, RS_OP_FORWARD_SEND, RS_OP_FORWARD_RECV, err));
    RS_TRY(join_direction(f, stage, RS_OP_BACKWARD_COMPUTE, RS_OP_BACKWARD_SEND, RS_OP_BACKWARD_RECV, err));
    size_t n = in_order(f, stage, RS_OP_FORWARD_COMPUTE, RS_OP_BACKWARD_COMPUTE, f->list);
    RS_TRY(chain(f, f->list, n, err));
    RS_TRY(join_turn(f, stage, f->list, n, err));
    RS_TRY(join_tail(f, stage, f->list, n, err));
    if (f->parallel && f->overlapped) RS_TRY(join_overlapped(f, stage, err));
    return f->parallel ? join_gathers(f, stage, err) : RS_OK;
}

static rs_status find_edges(finder *f, rs_error *err)
{
    size_t n_stages = f->ops->n_stages;
    f->parallel = (int64_t)f->ops->n_dp > 1 || f->ops->dsp > 1;
    for (size_t s = 0; s < n_stages; s++) f->overlapped |= range_n(f->ops, s, RS_OP_SEPARATE) > 0;
    for (size_t s = 0; s < n_stages; s++) RS_TRY(join_stage(f, s, err));
    for (size_t s = 0; s < n_stages; s++) {
        RS_TRY(pair_off(f, s, RS_OP_FORWARD_SEND, (s + 1) % n_stages, RS_OP_FORWARD_RECV, err));
        RS_TRY(pair_off(f, s, RS_OP_BACKWARD_SEND, (s + n_stages - 1) % n_stages, RS_OP_BACKWARD_RECV, err));
    }
    return RS_OK;
}

/* ---- the result ----------------------------------------------------------------------------------------- */

static const rs_order compare_edges[] = {RS_RISING(edge, node), RS_RISING(edge, pred)};

static rs_status keep_edges(finder *f, rs_error *err)
{
    rs_ops_order *o = f->out;
    size_t n = 0;
    RS_SORT(f->edges, f->n, compare_edges);
    o->pred = rs_malloc((f->n + 1) * sizeof *o->pred);
    if (!o->pred) return rs_fail_nomem(err, "order of operations");
    for (size_t i = 0; i < f->n; i++) {
        if (i && RS_COMPARE(compare_edges, &f->edges[i], &f->edges[i - 1]) == 0) continue;
        o->pred[n++] = f->edges[i].pred;
        o->first[f->edges[i].node + 1]++;
    }
    for (size_t v = 0; v < f->ops->n_names; v++) o->first[v + 1] += o->first[v];
    return RS_OK;
}

rs_status rs_ops_find_order(const rs_ops *ops, const double *start, const double *end, const int32_t *mc,
                            rs_ops_order *out, rs_error *err)
{
    finder f = {.ops = ops, .start = start, .end = end, .mc = mc, .out = out};
    size_t n = ops->n_names;
    *out = (rs_ops_order){.first = rs_calloc(n + 1, sizeof *out->first),
                          .pair = rs_malloc((n + 1) * sizeof *out->pair),
                          .use = rs_calloc(n + 1, 1)};
    f.list = rs_malloc((n + 1) * sizeof *f.list);
    f.other = rs_malloc((n + 1) * sizeof *f.other);
    f.queue = rs_malloc((n + 1) * sizeof *f.queue);
    f.n_queued = rs_calloc(4 * ops->n_stages + 1, sizeof *f.n_queued);
    rs_status status = out->first && out->pair && out->use && f.list && f.other && f.queue && f.n_queued
                           ? RS_OK
                           : rs_fail_nomem(err, "order of operations");
    for (size_t v = 0; status == RS_OK && v < n; v++) out->pair[v] = (uint32_t)v;
    if (status == RS_OK) status = find_edges(&f, err);
    if (status == RS_OK) status = keep_edges(&f, err);
    rs_free_all(f.edges, f.list, f.other, f.queue, f.n_queued);
    if (status != RS_OK) rs_ops_order_clear(out);
    return status;
}

bool rs_ops_order_equal(const rs_ops *ops, const rs_ops_order *a, const rs_ops_order *b)
{
    size_t n = ops->n_names;
    return memcmp(a->first, b->first, (n + 1) * sizeof *a->first) == 0 &&
           memcmp(a->pred, b->pred, a->first[n] * sizeof *a->pred) == 0 &&
           memcmp(a->pair, b->pair, n * sizeof *a->pair) == 0 && memcmp(a->use, b->use, n) == 0;
}

void rs_ops_order_clear(rs_ops_order *order)
{
    rs_free_all(order->first, order->pred, order->pair, order->use);
    *order = (rs_ops_order){0};
}
