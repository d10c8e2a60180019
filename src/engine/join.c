/* The graph over all ranks: who meets whom, and an order in which everything can be replayed. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/infer.h"

#define MANY_NODES 1000000
/* ns: where the partner of a send or receive was done so long before, its thread came late and had not waited */
#define CAME_LATE 100000

static void clear_copies(rs_engine *e)
{
    for (size_t r = 0; e->copies && r < e->n_ranks; r++) {
        const rs_skeleton *s = &e->copies[r];
        rs_free_all(s->label.spread, s->step.spread, s->first.spread, s->source.spread, s->base.spread);
    }
    rs_free_all(e->copies, e->of_copies);
}

void rs_engine_clear(rs_engine *e)
{
    rs_coll_job_clear(&e->coll);
    rs_clock_trust_clear(&e->trust);
    rs_free_all(e->comm, e->node_base, e->edge_base, e->step_base, e->ahead, e->ahead_base, e->kind,
                e->meetings, e->members, e->by_node, e->meeting_of, e->added, e->inferred, e->leads, e->order,
                e->runs);
    clear_copies(e);
    *e = (rs_engine){0};
}

size_t rs_engine_rank_of(const rs_engine *e, uint32_t node)
{
    size_t at; /* the first that begins behind the node */
    RS_SEARCH(at, e->n_ranks, e->node_base[at] <= node);
    return at ? at - 1 : 0;
}

size_t rs_engine_member(const rs_engine *e, uint32_t node)
{
    size_t low;
    RS_SEARCH(low, e->n_members, e->members[e->by_node[low]] < node);
    return low < e->n_members && e->members[e->by_node[low]] == node ? e->by_node[low] : SIZE_MAX;
}

void rs_engine_added_to(const rs_engine *e, uint32_t node, size_t *from, size_t *to)
{
    size_t low;
    RS_SEARCH(low, e->n_added, e->added[low].target < node);
    *from = *to = low;
    while (*to < e->n_added && e->added[*to].target == node) ++*to;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static rs_status number(rs_engine *e, rs_error *err)
{
    uint64_t nodes = 0, edges = 0, steps = 0;
    e->node_base = rs_malloc((e->n_ranks + 1) * sizeof *e->node_base);
    e->edge_base = rs_malloc((e->n_ranks + 1) * sizeof *e->edge_base);
    e->step_base = rs_malloc((e->n_ranks + 1) * sizeof *e->step_base);
    if (!e->node_base || !e->edge_base || !e->step_base) return rs_fail_nomem(err, "engine");
    for (size_t r = 0; r <= e->n_ranks; r++) {
        if (nodes >= INT32_MAX || edges >= INT32_MAX)
            return rs_fail(err, RS_ERR_LIMIT, "too much GPU work for one graph: analyse fewer ranks at once");
        e->node_base[r] = (uint32_t)nodes;
        e->edge_base[r] = (uint32_t)edges;
        e->step_base[r] = (uint32_t)steps;
        if (r == e->n_ranks) break;
        nodes += e->ranks[r]->n;
        edges += e->ranks[r]->n_edges;
        steps += e->ranks[r]->n_steps;
    }
    e->n_nodes = (size_t)nodes;
    e->n_edges = (size_t)edges;
    e->kind = rs_calloc(e->n_nodes + 1, 1);
    return e->kind ? RS_OK : rs_fail_nomem(err, "engine");
}

/* The packed columns of a skeleton that questions read often, spread out; the rest stays the skeleton's. */
static bool spread(const rs_skeleton *s, rs_skeleton *out)
{
    memcpy(out, s, offsetof(rs_skeleton, shared));
    return rs_packed_spread(&s->label, s->n, &out->label) && rs_packed_spread(&s->step, s->n, &out->step) &&
           rs_packed_spread(&s->first, s->n + 1, &out->first) &&
           rs_packed_spread(&s->source, s->n_edges, &out->source) &&
           rs_packed_spread(&s->base, s->n_edges, &out->base);
}

static rs_status copy_ranks(rs_engine *e, rs_error *err)
{
    e->copies = rs_calloc(e->n_ranks + 1, sizeof *e->copies);
    e->of_copies = rs_malloc((e->n_ranks + 1) * sizeof *e->of_copies);
    bool ok = e->copies && e->of_copies;
    for (size_t r = 0; ok && r < e->n_ranks; r++) {
        ok = spread(e->ranks[r], &e->copies[r]);
        e->of_copies[r] = &e->copies[r];
    }
    if (!ok) return rs_fail_nomem(err, "engine");
    e->ranks = e->of_copies;
    return RS_OK;
}

/* Marks work, and counts what of it is pinned. */
static void mark_work(rs_engine *e)
{
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        rs_packed_reader labels = {.of = &s->label};
        for (size_t i = 0; i < s->n; i++) {
            const uint8_t flags = s->labels[rs_packed_read(&labels, i)].flags;
            if (!(flags & RS_NODE_WORK)) continue;
            e->kind[e->node_base[r] + i] |= RS_ENGINE_WORK;
            e->n_pinned += (flags & RS_NODE_PINNED) != 0;
        }
    }
}

/* ---- meetings ------------------------------------------------------------------------------------------ */

static uint32_t node_of(const rs_engine *e, const rs_coll_arrival *a)
{
    uint32_t local = e->ranks[a->rank]->comm_node[a->op];
    return local == RS_NO_NODE ? RS_NO_NODE : e->node_base[a->rank] + local;
}

/* Whether ranks meet in it as far as the traces show. */
static bool is_meeting(const rs_engine *e, const rs_coll_instance *c)
{
    if (c->n < 2 || c->mixed) return false;
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (node_of(e, &e->coll.arrivals[i]) == RS_NO_NODE) return false;
    return true;
}

/* Marks communication whose partners are not in the traces. */
static void mark_alone(rs_engine *e, const rs_coll_instance *c)
{
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &e->coll.arrivals[i];
        const rs_coll_shape *op = rs_coll_shape_at(&e->coll, a);
        uint32_t node = node_of(e, a);
        if (node == RS_NO_NODE || op->group_size == 1 || !rs_coll_can_match(op->kind)) continue;
        bool pair = op->kind == RS_COLL_SEND_RECV;
        if (pair ? c->n >= 2 : c->n > 1 && op->group_size <= c->n) continue;
        e->kind[node] |= RS_ENGINE_ALONE;
        e->n_alone++;
    }
}

/* When the last member starts. What the host runs starts when its worker takes it up, after its rank's arrival. */
static int64_t last_start(const rs_engine *e, const rs_coll_instance *c)
{
    int64_t last = INT64_MIN;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &e->coll.arrivals[i];
        int64_t start = rs_engine_recorded(e, a->rank, node_of(e, a) - e->node_base[a->rank]);
        if (start > last) last = start;
    }
    return last;
}

static void add_meeting(rs_engine *e, uint32_t instance)
{
    const rs_coll_instance *c = &e->coll.instances[instance];
    int64_t last = last_start(e, c);
    rs_meeting *m = &e->meetings[e->n_meetings++];
    *m = (rs_meeting){.instance = instance, .first = (uint32_t)e->n_members, .transfer = INT64_MAX};
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &e->coll.arrivals[i];
        uint32_t node = node_of(e, a);
        if (e->kind[node] & RS_ENGINE_COMES) continue; /* one op in two instances: a damaged trace */
        int64_t after = rs_sub_sat(rs_coll_end(&e->coll, a), last);
        e->kind[node] |= RS_ENGINE_COMES;
        e->members[e->n_members++] = node;
        m->n++;
        if (after < 0) continue;
        e->kind[node] |= RS_ENGINE_MEETS;
        if (after < m->transfer) m->transfer = after;
    }
    if (m->transfer == INT64_MAX) m->transfer = 0;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &e->coll.arrivals[i];
        uint32_t node = node_of(e, a);
        int64_t beyond = rs_sub_sat(rs_sub_sat(rs_coll_end(&e->coll, a), last), m->transfer);
        bool async = rs_skeleton_at(e->ranks[a->rank], node - e->node_base[a->rank])->flags & RS_NODE_ASYNC;
        if (async && beyond > CAME_LATE) e->kind[node] |= RS_ENGINE_LOOSE;
    }
}

static bool index_members(rs_engine *e)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((e->n_members + 1) * sizeof *keys);
    e->by_node = rs_malloc((e->n_members + 1) * sizeof *e->by_node);
    e->meeting_of = rs_malloc((e->n_members + 1) * sizeof *e->meeting_of);
    bool ok = keys && e->by_node && e->meeting_of;
    for (uint32_t i = 0; ok && i < e->n_members; i++) keys[i] = (rs_keyed){e->members[i], i};
    ok = ok && rs_keyed_sort(keys, e->n_members);
    for (size_t i = 0; ok && i < e->n_members; i++) e->by_node[i] = keys[i].value;
    for (uint32_t k = 0; ok && k < e->n_meetings; k++)
        for (uint32_t i = e->meetings[k].first; i < e->meetings[k].first + e->meetings[k].n; i++)
            e->meeting_of[i] = k;
    return ok;
}

static rs_status meet(rs_engine *e, rs_clock_how how, rs_error *err)
{
    e->comm = rs_malloc((e->n_ranks + 1) * sizeof *e->comm);
    if (!e->comm) return rs_fail_nomem(err, "engine");
    for (size_t r = 0; r < e->n_ranks; r++) e->comm[r] = e->ranks[r]->comm;
    RS_TRY(rs_clock_match_by(e->comm, e->n_ranks, how, &e->coll, &e->trust, err));
    e->meetings = rs_malloc((e->coll.n + 1) * sizeof *e->meetings);
    e->members = rs_malloc((e->coll.n_arrivals + 1) * sizeof *e->members);
    bool ok = e->meetings && e->members;
    for (uint32_t i = 0; ok && i < e->coll.n; i++) {
        mark_alone(e, &e->coll.instances[i]);
        if (is_meeting(e, &e->coll.instances[i])) add_meeting(e, i);
    }
    ok = ok && index_members(e);
    return ok ? RS_OK : rs_fail_nomem(err, "engine");
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* A walk in the order of cause. Each rank has a queue of nodes of which everything before is done; a rank is
 * walked as long as it has such nodes, then the next. */
typedef struct walk {
    rs_engine *e;
    uint32_t *out_first, *out;      /* by node: targets of its edges, local << 1 | from its end */
    uint32_t *waiting;              /* by node: edges that are not done */
    uint32_t *queue, *head, *tail;  /* queue: of each rank from node_base on */
    uint32_t *active, n_active, at; /* ranks with nodes in their queue; a ring of n_ranks */
    uint8_t *is_active;
    uint32_t *missing; /* by meeting: members that have not come */
    size_t n_order, runs_capacity;
} walk;

static void push(walk *w, size_t rank, uint32_t local)
{
    w->queue[w->e->node_base[rank] + w->tail[rank]++] = local;
    if (w->is_active[rank]) return;
    w->is_active[rank] = 1;
    w->active[(w->at + w->n_active++) % w->e->n_ranks] = (uint32_t)rank;
}

/* The edges from the start, or from the end, of a node are done. */
static void release(walk *w, size_t rank, uint32_t local, uint32_t end)
{
    uint32_t base = w->e->node_base[rank], node = base + local;
    for (uint32_t k = w->out_first[node]; k < w->out_first[node + 1]; k++)
        if ((w->out[k] & 1) == end && --w->waiting[base + (w->out[k] >> 1)] == 0)
            push(w, rank, w->out[k] >> 1);
}

static void end_meeting(walk *w, const rs_meeting *m)
{
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        uint32_t node = w->e->members[i];
        size_t rank = rs_engine_rank_of(w->e, node);
        if (w->e->kind[node] & RS_ENGINE_MEETS) release(w, rank, node - w->e->node_base[rank], 1);
    }
}

static bool visit(walk *w, size_t rank, uint32_t local)
{
    rs_engine *e = w->e;
    uint32_t node = e->node_base[rank] + local;
    e->order[w->n_order++] = local;
    if (!e->n_runs || e->runs[e->n_runs - 1].rank != rank) {
        if (!RS_PUSH(e->runs, e->n_runs, w->runs_capacity, (rs_order_run){.rank = (uint32_t)rank}))
            return false;
    }
    e->runs[e->n_runs - 1].n++;
    release(w, rank, local, 0);
    if (!(e->kind[node] & RS_ENGINE_MEETS)) release(w, rank, local, 1);
    if (e->kind[node] & RS_ENGINE_COMES) {
        uint32_t k = e->meeting_of[rs_engine_member(e, node)];
        if (--w->missing[k] == 0) end_meeting(w, &e->meetings[k]);
    }
    return true;
}

static bool walk_all(walk *w)
{
    while (w->n_active) {
        uint32_t rank = w->active[w->at];
        while (w->head[rank] < w->tail[rank])
            if (!visit(w, rank, w->queue[w->e->node_base[rank] + w->head[rank]++])) return false;
        w->is_active[rank] = 0;
        w->at = (w->at + 1) % (uint32_t)w->e->n_ranks;
        w->n_active--;
    }
    return true;
}

/* Nobody waits in this meeting any more: its members end by themselves. Those that have come go on. */
static void dissolve(walk *w, uint32_t k)
{
    rs_engine *e = w->e;
    rs_meeting *m = &e->meetings[k];
    e->n_dropped++;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        uint32_t node = e->members[i];
        size_t rank = rs_engine_rank_of(e, node);
        bool came = w->waiting[node] == 0, met = e->kind[node] & RS_ENGINE_MEETS;
        e->kind[node] = (uint8_t)((e->kind[node] & ~(RS_ENGINE_MEETS | RS_ENGINE_COMES | RS_ENGINE_LOOSE)) |
                                  RS_ENGINE_ALONE);
        if (came && met) release(w, rank, node - e->node_base[rank], 1);
    }
    w->missing[k] = 0;
    m->n = 0;
}

static bool index_out(walk *w)
{
    rs_engine *e = w->e;
    w->out_first = rs_calloc(e->n_nodes + 2, sizeof *w->out_first);
    w->out = rs_malloc((e->n_edges + e->n_added + 1) * sizeof *w->out);
    w->waiting = rs_calloc(e->n_nodes + 1, sizeof *w->waiting);
    if (!w->out_first || !w->out || !w->waiting) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < e->n_ranks; r++) {
            const rs_skeleton *s = e->ranks[r];
            uint32_t base = e->node_base[r];
            for (uint32_t i = 0; i < s->n; i++)
                RS_EDGES_INTO(s, i, k) {
                    uint32_t node = base + (rs_edge_source(s, k) >> 1);
                    if (!pass) {
                        w->out_first[node + 2]++;
                        w->waiting[base + i]++;
                    } else {
                        w->out[w->out_first[node + 1]++] = i << 1 | (rs_edge_source(s, k) & 1);
                    }
                }
        }
        for (size_t i = 0; i < e->n_added; i++) {
            const rs_added_edge *a = &e->added[i];
            if (!pass) {
                w->out_first[a->source + 2]++;
                w->waiting[a->target]++;
            } else {
                uint32_t base = e->node_base[rs_engine_rank_of(e, a->target)];
                w->out[w->out_first[a->source + 1]++] = (a->target - base) << 1 | 1;
            }
        }
        for (size_t i = 1; !pass && i <= e->n_nodes; i++) w->out_first[i + 1] += w->out_first[i];
    }
    return true;
}

static void clear_walk(walk *w)
{
    rs_free_all(w->out_first, w->out, w->waiting, w->queue, w->head, w->tail, w->active, w->is_active,
                w->missing);
}

/* ---- the order of each rank itself ---------------------------------------------------------------------- */

/* Ranks whose nodes are taken as they are numbered, each until it meets one that waits for others. Where questions may add edges, a rank that
 * has come to others gives way, so that when they met is known before what comes later. */
typedef struct cursors {
    rs_engine *e;
    uint32_t *at;                       /* by rank: its next node */
    rs_packed_reader *firsts, *sources; /* by rank */
    uint32_t *stuck;                    /* by rank: the meeting that it waits for; UINT32_MAX: none */
    uint32_t *ready, n_ready;           /* ranks that can go on */
    uint32_t *later, at_later, n_later; /* ranks that gave way; a ring of n_ranks */
    uint32_t *missing;                  /* by meeting: members that have not come */
    size_t runs_capacity;
} cursors;

enum { DONE = UINT32_MAX, NEVER = UINT32_MAX - 1 };

/* The meeting that has to be over before the end of a node is known; DONE: it is known. */
static uint32_t waits_for(const cursors *c, uint32_t node)
{
    if (!(c->e->kind[node] & RS_ENGINE_MEETS)) return DONE;
    uint32_t k = c->e->meeting_of[rs_engine_member(c->e, node)];
    return c->missing[k] ? k : DONE;
}

/* What delays the rank's next node: a meeting, DONE, or NEVER where an added edge comes from a later node. */
static uint32_t what_holds(const cursors *c, size_t rank)
{
    const rs_engine *e = c->e;
    uint32_t base = e->node_base[rank], local = c->at[rank], k = DONE;
    const uint32_t end = rs_packed_read(&c->firsts[rank], local + 1);
    for (uint32_t i = rs_packed_read(&c->firsts[rank], local); k == DONE && i < end; i++) {
        const uint32_t source = rs_packed_read(&c->sources[rank], i);
        if (source & 1) k = waits_for(c, base + (source >> 1));
    }
    if (!(e->kind[base + local] & RS_ENGINE_ADDED)) return k;
    size_t from, to;
    rs_engine_added_to(e, base + local, &from, &to);
    for (; k == DONE && from < to; from++)
        k = e->added[from].source >= base + local ? NEVER : waits_for(c, e->added[from].source);
    return k;
}

/* Whether others are missing. */
static bool come(cursors *c, uint32_t node)
{
    const rs_engine *e = c->e;
    uint32_t k = e->meeting_of[rs_engine_member(e, node)];
    const rs_meeting *m = &e->meetings[k];
    if (--c->missing[k]) return true;
    for (uint32_t i = m->first; i < m->first + m->n; i++) {
        size_t rank = rs_engine_rank_of(e, e->members[i]);
        if (c->stuck[rank] != k) continue;
        c->stuck[rank] = DONE;
        c->ready[c->n_ready++] = (uint32_t)rank;
    }
    return false;
}

/* Goes on with a rank until it waits, gives way or is at its end. false: no memory. */
static bool go_on(cursors *c, size_t rank)
{
    rs_engine *e = c->e;
    const rs_skeleton *s = e->ranks[rank];
    uint32_t from = c->at[rank];
    bool goes = true;
    while (goes && c->at[rank] < s->n && (c->stuck[rank] = what_holds(c, rank)) == DONE) {
        uint32_t node = e->node_base[rank] + c->at[rank]++;
        goes = !(e->kind[node] & RS_ENGINE_COMES) || !come(c, node) || e->lean;
    }
    if (!goes) c->later[(c->at_later + c->n_later++) % (uint32_t)e->n_ranks] = (uint32_t)rank;
    if (c->at[rank] == from) return true;
    return RS_PUSH(e->runs, e->n_runs, c->runs_capacity, (rs_order_run){(uint32_t)rank, c->at[rank] - from});
}

/* Nodes are numbered so that edges of a rank lead forward, about by time: in most jobs that order holds over ranks,
 * too, and needs no list. Where it does not, runs are as before. false: no memory. */
static bool order_as_numbered(rs_engine *e, bool *complete)
{
    cursors c = {.e = e};
    size_t n_done = 0;
    c.at = rs_calloc(e->n_ranks + 1, sizeof *c.at);
    c.firsts = rs_calloc(e->n_ranks + 1, sizeof *c.firsts);
    c.sources = rs_calloc(e->n_ranks + 1, sizeof *c.sources);
    c.stuck = rs_malloc((e->n_ranks + 1) * sizeof *c.stuck);
    c.ready = rs_malloc((e->n_ranks + 1) * sizeof *c.ready);
    c.later = rs_malloc((e->n_ranks + 1) * sizeof *c.later);
    c.missing = rs_malloc((e->n_meetings + 1) * sizeof *c.missing);
    bool ok = c.at && c.firsts && c.sources && c.stuck && c.ready && c.later && c.missing;
    for (size_t k = 0; ok && k < e->n_meetings; k++) c.missing[k] = e->meetings[k].n;
    for (size_t r = e->n_ranks; ok && r > 0; r--) {
        c.stuck[r - 1] = DONE;
        c.firsts[r - 1].of = &e->ranks[r - 1]->first;
        c.sources[r - 1].of = &e->ranks[r - 1]->source;
        c.ready[c.n_ready++] = (uint32_t)(r - 1);
    }
    while (ok && (c.n_ready || c.n_later)) {
        if (!c.n_ready) {
            c.ready[c.n_ready++] = c.later[c.at_later++ % (uint32_t)e->n_ranks];
            c.n_later--;
        }
        ok = go_on(&c, c.ready[--c.n_ready]);
    }
    for (size_t r = 0; ok && r < e->n_ranks; r++) n_done += c.at[r];
    *complete = ok && n_done == e->n_nodes;
    rs_free_all(c.at, c.firsts, c.sources, c.stuck, c.ready, c.later, c.missing);
    if (!*complete) {
        rs_free(e->runs);
        e->runs = NULL;
        e->n_runs = 0;
    }
    return ok;
}

/* ---- any order ----------------------------------------------------------------------------------------- */

/* Puts all nodes in order; false: some were not reached, or no memory. */
static bool order_once(rs_engine *e, bool *complete)
{
    RS_SCOPED(clear_walk) walk w = {.e = e};
    bool ok = index_out(&w);
    w.queue = rs_malloc((e->n_nodes + 1) * sizeof *w.queue);
    w.head = rs_calloc(e->n_ranks + 1, sizeof *w.head);
    w.tail = rs_calloc(e->n_ranks + 1, sizeof *w.tail);
    w.active = rs_calloc(e->n_ranks + 1, sizeof *w.active);
    w.is_active = rs_calloc(e->n_ranks + 1, 1);
    w.missing = rs_malloc((e->n_meetings + 1) * sizeof *w.missing);
    e->order = rs_malloc((e->n_nodes + 1) * sizeof *e->order);
    ok = ok && w.queue && w.head && w.tail && w.active && w.is_active && w.missing && e->order;
    for (size_t k = 0; ok && k < e->n_meetings; k++) w.missing[k] = e->meetings[k].n;
    for (size_t r = 0; ok && r < e->n_ranks; r++)
        for (uint32_t i = 0; i < e->ranks[r]->n && i < 1; i++) push(&w, r, i);
    ok = ok && walk_all(&w);
    /* what is left waits in a circle over ranks: the earliest of its meetings is none */
    for (uint32_t k = 0; ok && w.n_order < e->n_nodes && k < e->n_meetings; k++) {
        bool begun = w.missing[k] && w.missing[k] < e->meetings[k].n;
        if (!begun) continue;
        dissolve(&w, k);
        ok = walk_all(&w);
    }
    *complete = w.n_order == e->n_nodes;
    return ok;
}

static rs_status set_order(rs_engine *e, rs_error *err)
{
    bool complete = false, ok = order_as_numbered(e, &complete);
    if (ok && !complete) ok = order_once(e, &complete);
    if (ok && !complete && e->n_added) { /* inferred edges close a circle: none of them is sure then */
        for (size_t i = 0; i < e->n_nodes; i++) e->kind[i] &= (uint8_t)~RS_ENGINE_ADDED;
        e->n_added = e->n_inferred = e->n_leads = 0;
        rs_free_all(e->order, e->runs);
        e->order = NULL;
        e->runs = NULL;
        e->n_runs = 0;
        ok = order_once(e, &complete);
    }
    if (ok && !complete) return rs_fail(err, RS_ERR_FORMAT, "the dependencies between ranks make a circle");
    return ok ? RS_OK : rs_fail_nomem(err, "engine");
}

rs_status rs_engine_join(const rs_skeleton *const *ranks, size_t n_ranks, const rs_engine_how *how,
                         rs_engine *out, rs_error *err)
{
    *out = (rs_engine){.ranks = ranks, .n_ranks = n_ranks, .lean = how->lean};
    rs_status status = number(out, err);
    if (out->n_nodes >= MANY_NODES) rs_memory_trim(); /* the traces have left holes as large as a rank */
    if (status == RS_OK) status = meet(out, how->clocks, err);
    if (status == RS_OK && !out->lean) status = copy_ranks(out, err);
    if (status == RS_OK) mark_work(out);
    if (status == RS_OK) status = rs_engine_find_ahead(out, err);
    if (status == RS_OK && how->infer) status = rs_engine_infer(out, err);
    if (status == RS_OK) status = set_order(out, err);
    if (status == RS_OK) out->n_edges += out->n_added;
    if (status != RS_OK) rs_engine_clear(out);
    return status;
}

const char *rs_engine_group_of(const rs_engine *e, uint32_t node)
{
    if (!(e->kind[node] & RS_ENGINE_MEETS)) return NULL;
    const rs_meeting *m = &e->meetings[e->meeting_of[rs_engine_member(e, node)]];
    const rs_coll_arrival *a = &e->coll.arrivals[e->coll.instances[m->instance].first];
    const rs_coll_rank *r = e->comm[a->rank];
    const rs_coll_shape *shape = rs_coll_shape_at(&e->coll, a);
    const char *description = rs_pool_text(&r->pool, shape->description);
    return description ? description : rs_pool_text(&r->pool, shape->group);
}
