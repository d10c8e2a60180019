/* How long things take, and when they happen then: one pass of max and plus. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/replay_causes.h"

/* ns: gaps that exceed what their kind usually takes by no more are noise */
#define UNEXPLAINED 20000

/* ---- weights ------------------------------------------------------------------------------------------- */

void rs_weights_clear(rs_weights *w)
{
    if (w->borrows) w->edge = w->transfer = NULL;
    rs_free_all(w->work, w->edge, w->transfer, w->beyond, w->extra, w->has_extra, w->changes);
    rs_near_clear(&w->own_work);
    *w = (rs_weights){0};
}

static rs_status make_weights(const rs_engine *e, rs_edges_used edges, bool constant, int fold,
                              rs_weights *out, rs_error *err)
{
    *out = (rs_weights){.edges = edges, .constant = constant, .fold = fold};
    out->transfer = rs_malloc((e->n_meetings + 1) * sizeof *out->transfer);
    if (e->lean) {
        out->beyond = rs_malloc((e->n_members + 1) * sizeof *out->beyond);
        if (out->transfer && out->beyond) return RS_OK;
    } else {
        out->work = rs_malloc((e->n_nodes + 1) * sizeof *out->work);
        out->edge = rs_malloc((e->n_edges + 1) * sizeof *out->edge);
        if (out->work && out->edge && out->transfer) return RS_OK;
    }
    rs_weights_clear(out);
    rs_fail_nomem(err, "weights");
    return RS_ERR_NOMEM; /* said here, so that a checker sees that nothing follows */
}

static void drop_extra(rs_weights *w)
{
    rs_free_all(w->extra, w->has_extra);
    w->extra = NULL;
    w->has_extra = NULL;
    w->n_extra = w->extra_capacity = 0;
}

void rs_weights_undo(rs_weights *w, size_t n)
{
    while (w->n_changes > n) {
        const rs_weight_change *last = &w->changes[--w->n_changes];
        *last->cell = last->was;
    }
}

void rs_weights_reset(rs_weights *w)
{
    rs_weights_undo(w, 0);
    drop_extra(w);
}

/* Before all of them become others. */
static void forget_changes(rs_weights *w)
{
    drop_extra(w);
    w->n_changes = 0;
    w->lost = false;
}

void rs_weights_recopy(const rs_engine *e, const rs_weights *from, rs_weights *out)
{
    forget_changes(out);
    memcpy(out->work, from->work, e->n_nodes * sizeof *out->work);
    memcpy(out->edge, from->edge, e->n_edges * sizeof *out->edge);
    memcpy(out->transfer, from->transfer, e->n_meetings * sizeof *out->transfer);
}

rs_status rs_weights_copy(const rs_engine *e, const rs_weights *from, rs_weights *out, rs_error *err)
{
    RS_TRY(make_weights(e, from->edges, from->constant, from->fold, out, err));
    rs_weights_recopy(e, from, out);
    return RS_OK;
}

rs_status rs_weights_copy_work(const rs_engine *e, const rs_weights *from, rs_weights *out, rs_error *err)
{
    *out = (rs_weights){.edges = from->edges,
                        .constant = from->constant,
                        .fold = from->fold,
                        .borrows = true,
                        .work = rs_malloc((e->n_nodes + 1) * sizeof *out->work),
                        .edge = from->edge,
                        .transfer = from->transfer};
    if (!out->work) return rs_fail_nomem(err, "weights");
    memcpy(out->work, from->work, e->n_nodes * sizeof *out->work);
    return RS_OK;
}

bool rs_weights_add(const rs_engine *e, rs_weights *w, rs_extra_edge edge)
{
    if (!w->has_extra && !(w->has_extra = rs_calloc(e->n_nodes + 1, 1))) return false;
    if (!RS_PUSH(w->extra, w->n_extra, w->extra_capacity, edge)) return false;
    w->has_extra[edge.to] = 1;
    return true;
}

bool rs_weights_sort_extra(rs_weights *w)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((w->n_extra + 1) * sizeof *keys);
    rs_extra_edge *sorted = rs_malloc((w->n_extra + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (uint32_t i = 0; ok && i < w->n_extra; i++) keys[i] = (rs_keyed){w->extra[i].to, i};
    ok = ok && rs_keyed_sort(keys, w->n_extra);
    for (size_t i = 0; ok && i < w->n_extra; i++) sorted[i] = w->extra[keys[i].value];
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(w->extra);
    w->extra = sorted;
    w->extra_capacity = w->n_extra;
    return true;
}

/* False: memory ran out. */
static bool set_transfers(const rs_engine *e, rs_weights *out)
{
    bool ok = true;
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_meeting *m = &e->meetings[k];
        int64_t last = INT64_MIN;
        out->transfer[k] = m->transfer;
        for (uint32_t i = m->first; i < m->first + m->n; i++) {
            size_t r = rs_engine_rank_of(e, e->members[i]);
            int64_t start = rs_engine_recorded(e, r, e->members[i] - e->node_base[r]);
            if (start > last) last = start;
        }
        for (uint32_t i = m->first; i < m->first + m->n; i++) {
            uint32_t node = e->members[i];
            size_t r = rs_engine_rank_of(e, node);
            if (!(e->kind[node] & RS_ENGINE_MEETS)) continue;
            uint32_t local = node - e->node_base[r];
            int64_t end =
                rs_add_sat(rs_engine_recorded(e, r, local), rs_skeleton_duration(e->ranks[r], local));
            int64_t beyond =
                e->kind[node] & RS_ENGINE_LOOSE ? 0 : rs_sub_sat(rs_sub_sat(end, last), m->transfer);
            if (out->beyond) out->beyond[i] = beyond;
            if (out->work) out->work[node] = beyond;
            if (out->own_work.since) ok &= rs_near_put(&out->own_work, node, beyond);
        }
    }
    return ok;
}

static void set_work(const rs_engine *e, rs_weights *out)
{
    for (size_t r = 0; out->work && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        int64_t *work = out->work + e->node_base[r];
        for (uint32_t i = 0; i < s->n; i++) work[i] = rs_skeleton_duration(s, i);
    }
    set_transfers(e, out);
}

/* Of the packed columns of a rank. */
typedef struct rank_readers {
    rs_packed_reader first, source, base;
} rank_readers;

typedef struct choice {
    const rs_engine *e;
    rs_edges_used edges;
    bool constant;
    int fold;
    const rs_skeleton_costs *costs; /* of the rank at hand */
    rank_readers *readers; /* where all nodes of a rank are walked; NULL: columns are read one by one */
} choice;

static inline uint32_t source_of(const choice *c, const rs_skeleton *s, uint32_t k)
{
    return c->readers ? rs_packed_read(&c->readers->source, k) : rs_edge_source(s, k);
}

static inline int64_t base_of(const choice *c, const rs_skeleton *s, uint32_t k)
{
    return c->readers ? rs_packed_read(&c->readers->base, k) : rs_edge_base(s, k);
}

static const rs_skeleton_costs *costs_of(const choice *c, const rs_skeleton *s)
{
    return c->fold < 0 ? &s->all : &s->without[c->fold % RS_SKELETON_FOLDS];
}

static bool takes_part(const choice *c, const rs_added_edge *a)
{
    return c->edges == RS_EDGES_ALL && (c->fold < 0 || (a->folds >> (c->fold % RS_SKELETON_FOLDS) & 1));
}

/* Whether an added edge took the place of what the skeleton has as the cause. */
static bool is_rebound(const choice *c, uint32_t node)
{
    size_t from, to;
    if (!(c->e->kind[node] & RS_ENGINE_ADDED)) return false;
    rs_engine_added_to(c->e, node, &from, &to);
    for (size_t i = from; i < to; i++)
        if (c->e->added[i].binds && takes_part(c, &c->e->added[i])) return true;
    return false;
}

/* Learned costs of the GPU and of calls that wait; the host's own time is what it is. */
static bool is_latency(uint8_t cost)
{
    return cost <= RS_COST_ANSWER || cost == RS_COST_ROOM;
}

/* time: of the node that the edge leads to, as recorded. */
static inline int64_t weight_of(const choice *c, const rs_skeleton *s, int64_t time, uint32_t k,
                                uint32_t source, bool binds)
{
    const uint8_t cost = rs_edge_cost(s, k);
    const bool constant = c->constant && is_latency(cost);
    if (constant && c->costs->typical[cost] != RS_NO_COST)
        return rs_add_sat(base_of(c, s, k), c->costs->typical[cost]);
    const int64_t gap = rs_sub_sat(time, rs_skeleton_source_time(s, source));
    if (binds) return gap;
    int64_t least = base_of(c, s, k);
    if (!constant && cost != RS_COST_NONE && c->costs->least[cost] != RS_NO_COST)
        least = rs_add_sat(least, c->costs->least[cost]);
    return least < gap ? least : gap;
}

/* The edge that held a node up: the first, but for those from communication that turned out to be over before. */
static inline uint32_t binding_edge(const choice *c, const rs_skeleton *s, uint32_t base, uint32_t k,
                                    uint32_t end)
{
    for (; k + 1 < end; k++) {
        const uint32_t source = source_of(c, s, k);
        if (!(source & 1) || !(c->e->kind[base + (source >> 1)] & RS_ENGINE_LOOSE)) break;
    }
    return k;
}

/* What the edges into a node have in common. */
typedef struct target {
    int64_t time;
    uint32_t binding; /* edge */
    bool rebound;
} target;

/* Its edges are those from first to end. A call of it in each loop over nodes would take as long as it does. */
static inline __attribute__((always_inline)) target
target_of(const choice *c, const rs_skeleton *s, uint32_t base, uint32_t local, uint32_t first, uint32_t end)
{
    return (target){rs_skeleton_time(s, local), binding_edge(c, s, base, first, end),
                    is_rebound(c, base + local)};
}

/* The weight of edge k into it, which comes from source, by the rule. */
static inline int64_t by_rule(const choice *c, const rs_skeleton *s, const target *to, uint32_t k,
                              uint32_t source)
{
    bool first = k == to->binding;
    if (first && to->rebound && rs_edge_part(s, k) == RS_PART_PINNED) return RS_NO_EDGE;
    return weight_of(c, s, to->time, k, source, first && !to->rebound);
}

/* How long after the end of work that fills the device, less than 0, what waits for room there starts. */
static int64_t occupied_by_rule(const choice *c, const rs_added_edge *a, int64_t gap)
{
    const rs_lead *l = &c->e->leads[c->e->inferred[a->place].lead];
    int64_t typical = c->fold < 0 ? l->typical : l->without[c->fold % RS_SKELETON_FOLDS];
    if (c->constant && typical != RS_NO_COST) return -typical;
    return a->binds || gap < -l->longest ? gap : -l->longest;
}

/* The same of an added edge. */
static int64_t added_by_rule(const choice *c, size_t i)
{
    const rs_engine *e = c->e;
    const rs_added_edge *a = &e->added[i];
    if (!takes_part(c, a)) return RS_NO_EDGE;
    size_t r = rs_engine_rank_of(e, a->target);
    const rs_skeleton *s = e->ranks[r];
    const rs_skeleton_costs *costs = costs_of(c, s);
    uint32_t base = e->node_base[r];
    int64_t gap = rs_sub_sat(rs_skeleton_time(s, a->target - base), rs_skeleton_end(s, a->source - base));
    if (a->occupied) return occupied_by_rule(c, a, gap);
    if (c->constant && costs->typical[a->cost] != RS_NO_COST) return costs->typical[a->cost];
    int64_t least = costs->least[a->cost] < 0 ? 0 : costs->least[a->cost];
    return a->binds ? gap : least < gap ? least : gap;
}

static choice rule_of(const rs_engine *e, const rs_weights *w)
{
    return (choice){.e = e, .edges = w->edges, .constant = w->constant, .fold = w->fold};
}

/* The same for the edges of a rank. readers: NULL is allowed. */
static choice rule_within(const choice *rule, const rs_skeleton *s, rank_readers *readers)
{
    choice out = *rule;
    out.costs = costs_of(rule, s);
    out.readers = readers;
    return out;
}

static void set_edges(const choice *rule, rs_weights *out)
{
    const rs_engine *e = rule->e;
    if (!out->edge) return;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        const choice c = rule_within(rule, s, NULL);
        int64_t *weight = out->edge + e->edge_base[r];
        for (uint32_t i = 0; i < s->n; i++) {
            uint32_t end;
            const uint32_t first = rs_skeleton_edges(s, i, &end);
            const target to = target_of(&c, s, e->node_base[r], i, first, end);
            for (uint32_t k = first; k < end; k++) weight[k] = by_rule(&c, s, &to, k, rs_edge_source(s, k));
        }
    }
    for (size_t i = 0; i < e->n_added; i++) out->edge[e->edge_base[e->n_ranks] + i] = added_by_rule(rule, i);
}

static void fill(const rs_engine *e, rs_weights *out)
{
    const choice c = rule_of(e, out);
    set_work(e, out);
    set_edges(&c, out);
}

rs_status rs_weights_recorded(const rs_engine *e, rs_edges_used edges, rs_weights *out, rs_error *err)
{
    rs_status status = make_weights(e, edges, false, -1, out, err);
    if (status == RS_OK) fill(e, out);
    return status;
}

rs_status rs_weights_constant(const rs_engine *e, rs_edges_used edges, int fold, rs_weights *out,
                              rs_error *err)
{
    rs_status status = make_weights(e, edges, true, fold, out, err);
    if (status == RS_OK) fill(e, out);
    return status;
}

void rs_weights_refill(const rs_engine *e, rs_edges_used edges, bool constant, rs_weights *out)
{
    out->edges = edges;
    out->constant = constant;
    out->fold = -1;
    if (out->lost) {
        forget_changes(out);
        fill(e, out);
        return;
    }
    rs_weights_reset(out); /* work and transfers are the same by every rule */
    const choice c = rule_of(e, out);
    set_edges(&c, out);
}

rs_status rs_weights_spread_work(const rs_engine *e, rs_weights *w, rs_error *err)
{
    bool ok = rs_near_make(&w->own_work, e->n_nodes);
    for (size_t r = 0; ok && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 0; ok && i < s->n; i++)
            ok = rs_near_put(&w->own_work, e->node_base[r] + i, rs_skeleton_duration(s, i));
    }
    return ok && set_transfers(e, w) ? RS_OK : rs_fail_nomem(err, "weights");
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

void rs_times_clear(rs_times *t)
{
    rs_free_all(t->start, t->end, t->met, t->cause, t->choice, t->far, t->last);
    rs_near_clear(&t->own_start);
    *t = (rs_times){0};
}

static inline int64_t end_within(const rs_times *t, const rs_skeleton *s, uint32_t base, uint32_t local)
{
    const rs_engine *e = t->engine;
    uint32_t node = base + local;
    if (e->kind[node] & RS_ENGINE_MEETS) return t->met[rs_engine_member(e, node)];
    return rs_add_sat(rs_near_at(&t->own_start, node),
                      t->own_work ? rs_near_at(t->own_work, node) : rs_skeleton_duration(s, local));
}

int64_t rs_times_lean_end(const rs_engine *e, const rs_times *t, size_t rank, uint32_t local)
{
    return end_within(t, e->ranks[rank], e->node_base[rank], local);
}

int64_t rs_times_find_end(const rs_times *t, uint32_t node)
{
    const size_t rank = rs_engine_rank_of(t->engine, node);
    return rs_times_end_of(t->engine, t, rank, node - t->engine->node_base[rank]);
}

typedef struct pass {
    const rs_engine *e;
    const rs_weights *w;
    choice rule; /* of w, where it has no columns */
    rs_times *t;
    uint32_t *missing; /* by meeting */
} pass;

/* What a member of a meeting stays beyond the transfer. */
static int64_t beyond_of(const rs_weights *w, uint32_t node, uint32_t member)
{
    if (w->work) return w->work[node];
    return w->own_work.since ? rs_near_at(&w->own_work, node) : w->beyond[member];
}

static void come(const pass *p, uint32_t node, int64_t start)
{
    const rs_engine *e = p->e;
    rs_times *t = p->t;
    uint32_t member = (uint32_t)rs_engine_member(e, node), k = e->meeting_of[member];
    const rs_meeting *m = &e->meetings[k];
    const uint32_t last = t->last[k];
    const int64_t latest = last == RS_NO_CAUSE ? INT64_MIN : rs_times_start(t, e->members[last]);
    const bool later = last == RS_NO_CAUSE || start > latest || (start == latest && member < last);
    if (later) t->last[k] = member;
    if (--p->missing[k]) return;
    int64_t over = rs_add_sat(later ? start : latest, p->w->transfer[k]);
    for (uint32_t i = m->first; i < m->first + m->n; i++)
        if (e->kind[e->members[i]] & RS_ENGINE_MEETS)
            *(t->end ? &t->end[e->members[i]] : &t->met[i]) =
                rs_add_sat(over, beyond_of(p->w, e->members[i], i));
}

/* When a node starts, and which edge says so; RS_NO_CAUSE: none yet. */
typedef struct reached {
    int64_t start;
    uint32_t cause;
} reached;

static reached follow_added(const pass *p, uint32_t node, reached r)
{
    const rs_engine *e = p->e;
    size_t from, to;
    rs_engine_added_to(e, node, &from, &to);
    for (size_t i = from; i < to; i++) {
        uint32_t edge = e->edge_base[e->n_ranks] + (uint32_t)i;
        int64_t ns = p->w->edge ? p->w->edge[edge] : added_by_rule(&p->rule, i);
        if (ns == RS_NO_EDGE) continue;
        int64_t at = rs_add_sat(rs_times_end(p->t, e->added[i].source), ns);
        if (e->added[i].occupied && at < rs_times_start(p->t, e->added[i].source))
            at = rs_times_start(p->t, e->added[i].source);
        if (r.cause != RS_NO_CAUSE && (e->added[i].binds ? at < r.start : at <= r.start)) continue;
        r = (reached){at, edge};
    }
    return r;
}

static reached follow_extra(const pass *p, uint32_t node, reached r)
{
    size_t low;
    RS_SEARCH(low, p->w->n_extra, p->w->extra[low].to < node);
    for (; low < p->w->n_extra && p->w->extra[low].to == node; low++) {
        const rs_extra_edge *x = &p->w->extra[low];
        int64_t at = rs_add_sat(rs_moment_time(p->t, x->from), x->ns);
        if (r.cause != RS_NO_CAUSE && at <= r.start) continue;
        r = (reached){at, RS_CAUSE_EXTRA | (uint32_t)low};
    }
    return r;
}

/* Over the edges that few nodes have. */
static reached follow_others(const pass *p, size_t rank, uint32_t local, reached r)
{
    const rs_engine *e = p->e;
    const uint32_t node = e->node_base[rank] + local;
    if (e->kind[node] & RS_ENGINE_ADDED) r = follow_added(p, node, r);
    if (p->w->has_extra && p->w->has_extra[node]) r = follow_extra(p, node, r);
    if (r.cause == RS_NO_CAUSE) r.start = rs_engine_recorded(e, rank, local);
    return r;
}

/* order: the run's nodes; NULL: those that follow each other from `from` on. */
static void run_rank(const pass *p, const rs_order_run *run, const uint32_t *order, uint32_t from)
{
    const rs_engine *e = p->e;
    const rs_skeleton *s = e->ranks[run->rank];
    const uint32_t base = e->node_base[run->rank], edge_base = e->edge_base[run->rank];
    const uint32_t *first = s->first.spread, *sources = s->source.spread;
    const uint8_t *kinds = e->kind + base, *has_extra = p->w->has_extra ? p->w->has_extra + base : NULL;
    const int64_t *weight = p->w->edge + edge_base, *work = p->w->work + base;
    int64_t *start_of = p->t->start + base, *end_of = p->t->end + base;
    uint32_t *cause_of = p->t->cause + base;
    for (uint32_t i = 0; i < run->n; i++) {
        const uint32_t local = order ? order[i] : from + i, last = first[local + 1];
        const uint8_t kind = kinds[local];
        reached r = {0, RS_NO_CAUSE};
        for (uint32_t k = first[local]; k < last; k++) {
            const int64_t ns = weight[k];
            if (ns == RS_NO_EDGE) continue;
            const uint32_t source = sources[k];
            const int64_t at = rs_add_sat((source & 1 ? end_of : start_of)[source >> 1], ns);
            if (at > r.start || r.cause == RS_NO_CAUSE) r = (reached){at, edge_base + k};
        }
        if (r.cause == RS_NO_CAUSE || kind & RS_ENGINE_ADDED || (has_extra && has_extra[local]))
            r = follow_others(p, run->rank, local, r);
        start_of[local] = r.start;
        cause_of[local] = r.cause;
        if (!(kind & RS_ENGINE_MEETS)) end_of[local] = rs_add_sat(r.start, work[local]);
        if (kind & RS_ENGINE_COMES) come(p, base + local, r.start);
    }
}

/* The same of a lean engine: nothing but starts is kept, and what is packed is unpacked block by block. False: memory
 * ran out. */
static bool run_lean_rank(const pass *p, const rs_order_run *run, const uint32_t *order, uint32_t from,
                          rank_readers *readers)
{
    const rs_engine *e = p->e;
    const rs_skeleton *s = e->ranks[run->rank];
    const uint32_t base = e->node_base[run->rank], edge_base = e->edge_base[run->rank];
    const uint8_t *kinds = e->kind + base, *has_extra = p->w->has_extra ? p->w->has_extra + base : NULL;
    rs_near *starts = &p->t->own_start;
    const choice rule = rule_within(&p->rule, s, readers);
    for (uint32_t i = 0; i < run->n; i++) {
        const uint32_t local = order ? order[i] : from + i;
        const uint32_t first = rs_packed_read(&readers->first, local),
                       end = rs_packed_read(&readers->first, local + 1);
        const target to = target_of(&rule, s, base, local, first, end);
        reached r = {0, RS_NO_CAUSE};
        for (uint32_t k = first; k < end; k++) {
            const uint32_t source = source_of(&rule, s, k);
            const int64_t ns = by_rule(&rule, s, &to, k, source);
            if (ns == RS_NO_EDGE) continue;
            const int64_t at = rs_add_sat(source & 1 ? end_within(p->t, s, base, source >> 1)
                                                     : rs_near_at(starts, base + (source >> 1)),
                                          ns);
            if (at > r.start || r.cause == RS_NO_CAUSE) r = (reached){at, edge_base + k};
        }
        if (r.cause == RS_NO_CAUSE || kinds[local] & RS_ENGINE_ADDED || (has_extra && has_extra[local]))
            r = follow_others(p, run->rank, local, r);
        if (!rs_near_put(starts, base + local, r.start)) return false;
        rs_times_put_cause(p->t, run->rank, local, first, r.cause);
        if (kinds[local] & RS_ENGINE_COMES) come(p, base + local, r.start);
    }
    return true;
}

rs_status rs_engine_replay_again(const rs_engine *e, const rs_weights *weights, rs_times *out, rs_error *err)
{
    pass p = {.e = e, .w = weights, .rule = rule_of(e, weights), .t = out};
    RS_LOCAL uint32_t *done = rs_calloc(e->n_ranks + 1, sizeof *done); /* by rank */
    const size_t n_readers = weights->edge ? 0 : e->n_ranks;
    RS_LOCAL rank_readers *readers = rs_calloc(n_readers + 1, sizeof *readers);
    p.missing = rs_malloc((e->n_meetings + 1) * sizeof *p.missing);
    if (!p.missing || !done || !readers) {
        rs_free(p.missing);
        return rs_fail_nomem(err, "replay");
    }
    out->engine = e;
    out->own_work = weights->own_work.since ? &weights->own_work : NULL;
    if (e->lean) rs_near_empty(&out->own_start);
    for (size_t k = 0; k < e->n_meetings; k++) {
        p.missing[k] = e->meetings[k].n;
        out->last[k] = RS_NO_CAUSE;
    }
    for (size_t r = 0; r < n_readers; r++) {
        readers[r].first.of = &e->ranks[r]->first;
        readers[r].source.of = &e->ranks[r]->source;
        readers[r].base.of = &e->ranks[r]->base;
    }
    size_t at = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < e->n_runs; at += e->runs[i++].n) {
        const rs_order_run *run = &e->runs[i];
        const uint32_t *order = e->order ? e->order + at : NULL;
        if (weights->edge)
            run_rank(&p, run, order, done[run->rank]);
        else
            ok = run_lean_rank(&p, run, order, done[run->rank], &readers[run->rank]);
        done[run->rank] += run->n;
    }
    rs_free(p.missing);
    return ok ? RS_OK : rs_fail_nomem(err, "replay");
}

rs_status rs_engine_replay(const rs_engine *e, const rs_weights *weights, rs_times *out, rs_error *err)
{
    *out = (rs_times){.last = rs_malloc((e->n_meetings + 1) * sizeof *out->last)};
    bool ok = out->last != NULL;
    if (e->lean) {
        out->met = rs_malloc((e->n_members + 1) * sizeof *out->met);
        ok = ok && out->met && rs_near_make(&out->own_start, e->n_nodes) && rs_times_make_choices(e, out);
    } else {
        out->start = rs_malloc((e->n_nodes + 1) * sizeof *out->start);
        out->end = rs_malloc((e->n_nodes + 1) * sizeof *out->end);
        out->cause = rs_malloc((e->n_nodes + 1) * sizeof *out->cause);
        ok = ok && out->start && out->end && out->cause;
    }
    rs_status status = ok ? rs_engine_replay_again(e, weights, out, err) : rs_fail_nomem(err, "replay");
    if (status != RS_OK) rs_times_clear(out);
    return status;
}

/* ---- what came of it ----------------------------------------------------------------------------------- */

size_t rs_engine_deviations(const rs_engine *e, const rs_times *t, int64_t *worst)
{
    size_t n = 0;
    *worst = 0;
    for (size_t r = 0; r < e->n_ranks; r++)
        for (uint32_t i = 0; i < e->ranks[r]->n; i++) {
            uint32_t node = e->node_base[r] + i;
            int64_t start = rs_sub_sat(rs_times_start(t, node), rs_engine_recorded(e, r, i));
            int64_t end = rs_sub_sat(rs_sub_sat(rs_times_end(t, node), rs_engine_recorded(e, r, i)),
                                     rs_skeleton_duration(e->ranks[r], i));
            if (e->kind[node] & RS_ENGINE_LOOSE) end = 0;
            if (start == 0 && end == 0) continue;
            n++;
            if (start < 0) start = rs_sub_sat(0, start);
            if (end < 0) end = rs_sub_sat(0, end);
            if (start > *worst) *worst = start;
            if (end > *worst) *worst = end;
        }
    return n;
}

static rs_link link_of_end(const rs_engine *e, const rs_times *t, uint32_t node, size_t rank)
{
    rs_link l = {.from = node << 1,
                 .node = node,
                 .part = rs_skeleton_at(e->ranks[rank], node - e->node_base[rank])->part,
                 .edge = RS_NO_CAUSE};
    if (e->kind[node] & RS_ENGINE_MEETS)
        l.from = e->members[t->last[e->meeting_of[rs_engine_member(e, node)]]] << 1;
    l.ns = rs_sub_sat(rs_times_end(t, node), rs_times_start(t, l.from >> 1));
    return l;
}

rs_link rs_engine_link(const rs_engine *e, const rs_weights *w, const rs_times *t, uint32_t moment)
{
    uint32_t node = moment >> 1;
    size_t rank = rs_engine_rank_of(e, node);
    const rs_skeleton *s = e->ranks[rank];
    const uint32_t base = e->node_base[rank], local = node - base;
    if ((moment & 1) && e->kind[node] & RS_ENGINE_WORK) return link_of_end(e, t, node, rank);
    const uint32_t first = e->lean ? rs_skeleton_first(s, local) : 0;
    const bool near = e->lean && t->choice[node] < RS_NEAR_CAUSES;
    const uint32_t edge =
        near ? e->edge_base[rank] + first + t->choice[node] : rs_times_cause_among(t, rank, local, first);
    rs_link l = {.from = RS_NO_CAUSE, .node = node, .part = RS_PART_WINDOW, .edge = edge};
    if (edge == RS_NO_CAUSE) return l;
    if (edge & RS_CAUSE_EXTRA) {
        const rs_extra_edge *x = &w->extra[edge & ~RS_CAUSE_EXTRA];
        l.from = x->from;
        l.ns = x->ns;
        l.part = RS_PART_GAP;
        return l;
    }
    int64_t typical = RS_NO_EDGE;
    if (edge >= e->edge_base[e->n_ranks]) {
        const rs_added_edge *a = &e->added[edge - e->edge_base[e->n_ranks]];
        if (a->occupied) {
            l.from = a->source << 1;
            l.node = a->source;
            l.part = rs_skeleton_at(s, a->source - base)->part;
            l.ns = rs_sub_sat(rs_times_start(t, node), rs_times_start(t, a->source));
            return l;
        }
        const choice rule = rule_of(e, w);
        l.ns = w->edge ? w->edge[edge] : added_by_rule(&rule, edge - e->edge_base[e->n_ranks]);
        l.from = a->source << 1 | 1;
        l.part = RS_PART_GAP;
        if (s->all.typical[a->cost] != RS_NO_COST) typical = s->all.typical[a->cost];
    } else {
        const uint32_t k = edge - e->edge_base[rank], source = rs_edge_source(s, k);
        if (w->edge) {
            l.ns = w->edge[edge];
        } else {
            const choice any = rule_of(e, w), rule = rule_within(&any, s, NULL);
            const bool loose = source & 1 && e->kind[base + (source >> 1)] & RS_ENGINE_LOOSE;
            const uint32_t end = k == first && !loose ? first + 1 : rs_skeleton_first(s, local + 1);
            const target to = target_of(&rule, s, base, local, first, end);
            l.ns = by_rule(&rule, s, &to, k, source);
        }
        l.from = (base + (source >> 1)) << 1 | (source & 1);
        l.part = rs_edge_part(s, k);
        const uint8_t cost = rs_edge_cost(s, k);
        if (is_latency(cost) && s->all.typical[cost] != RS_NO_COST)
            typical = rs_add_sat(rs_edge_base(s, k), s->all.typical[cost]);
        if (l.part == RS_PART_PINNED) l.unexplained = l.ns;
    }
    if (typical != RS_NO_EDGE && rs_sub_sat(l.ns, typical) > UNEXPLAINED)
        l.unexplained = rs_sub_sat(l.ns, typical);
    return l;
}
