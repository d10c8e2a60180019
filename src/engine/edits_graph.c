/* Questions that change what waits for what: graphs, no-sync, fuse, coalesce. Added edges lead from
 * what comes earlier in the order of the replay to what comes later, so that one pass is still enough. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "engine/edits_terms.h"

uint32_t *rs_edit_places(const rs_engine *e)
{
    uint32_t *place = rs_malloc((e->n_nodes + 1) * sizeof *place), at = 0;
    RS_LOCAL uint32_t *done = rs_calloc(e->n_ranks + 1, sizeof *done); /* by rank */
    for (uint32_t i = 0; place && done && i < e->n_runs; i++) {
        const uint32_t rank = e->runs[i].rank, base = e->node_base[rank];
        for (uint32_t k = 0; k < e->runs[i].n; k++, done[rank]++, at++)
            place[base + (e->order ? e->order[at] : done[rank])] = at;
    }
    if (done) return place;
    rs_free(place);
    return NULL;
}

/* Whether the name is what an edit names. Names are few and asked for often: seen, zeros at first, keeps what was found. */
static bool is_named(const rs_skeleton *s, const rs_edit_name *what, uint8_t *seen, uint32_t name)
{
    if (name >= s->pool.strings.n) return false;
    const rs_string *text = &s->pool.strings.items[name];
    if (!seen[name]) seen[name] = rs_edit_names(what, text->text, text->length) ? 2 : 1;
    return seen[name] == 2;
}

static bool is_work(const rs_skeleton *s, uint32_t local)
{
    return rs_skeleton_is_work(s, local);
}

bool rs_edit_names_group(const rs_edit *edit, const rs_pool *pool, const rs_coll_shape *op)
{
    const rs_edit_name name = {edit->name.text, edit->name.n, true};
    const char *group = rs_pool_text(pool, op->group), *description = rs_pool_text(pool, op->description);
    return !name.n || (group && rs_edit_names(&name, group, strlen(group))) ||
           (description && rs_edit_names(&edit->name, description, strlen(description)));
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

#define GRAPH_LAUNCH 10000 /* ns, where the trace has no graph */
/* ns that a graph's launch takes longer with each node. NVIDIA names 200 for CUDA 11.8 and 1 for 12.6 ("Constant Time Launch for
 * Straight-Line CUDA Graphs", 2024). */
#define GRAPH_NODE 100
/* Of a gap in a stream. Between nodes of a graph it is 0.55 of it (3.4 instead of 3.8 us a kernel of 2.9: "Getting Started with CUDA
 * Graphs", NVIDIA, 2019) to 1. */
#define GRAPH_GAP 0.8

static bool waits(const rs_skeleton *s, uint32_t point)
{
    RS_EDGES_INTO(s, point, k)
        if (rs_edge_cost(s, k) == RS_COST_ANSWER || rs_edge_cost(s, k) == RS_COST_CALL) return true;
    return false;
}

bool rs_edit_graph_takes(const rs_skeleton *s, uint32_t edge, int64_t ns)
{
    const uint8_t cost = rs_edge_cost(s, edge);
    if (cost >= RS_COST_EVENT || cost % RS_N_WORK_KINDS == RS_WORK_GRAPH) return false;
    return cost >= RS_COST_STREAM || rs_sub_sat(ns, rs_edge_base(s, edge)) < RS_HOST_GAP;
}

/* Where a thread goes on with what another one did, it is in the region of that one, or in none: the thread of the backward pass after a wait for
 * the forward pass, and the main thread after the backward pass. */
static void take_over(const rs_skeleton *s, uint32_t point, uint8_t *open, int64_t **first)
{
    const uint16_t lane = rs_skeleton_at(s, point)->lane;
    RS_EDGES_INTO(s, point, k) {
        const uint32_t from = rs_edge_source(s, k) >> 1;
        const uint16_t other = rs_skeleton_at(s, from)->lane;
        if (!from || is_work(s, from) || other == lane) continue;
        open[lane] = open[other];
        first[lane] = first[other];
    }
}

#define ACCIDENTS                                                                                            \
    0.25 /* of a rank's steps: what happens more often is what the program does (find_hosts.c has the same for pauses) */

/* Whether an edge is host time of a thread. */
static bool is_host(const rs_skeleton *s, uint32_t edge, int64_t ns)
{
    return ns != RS_NO_EDGE && rs_edge_cost(s, edge) >= RS_COST_CALL && rs_edge_part(s, edge) == RS_PART_HOST;
}

static size_t name_of(const rs_skeleton *s, uint32_t point)
{
    const size_t name = rs_skeleton_at(s, point)->name;
    return name < s->pool.strings.n ? name : s->pool.strings.n;
}

/* By name of points, how often a thread took too long before one for launching. NULL: out of memory. */
static uint32_t *count_long(const rs_skeleton *s, const int64_t *weight)
{
    uint32_t *out = rs_calloc(s->pool.strings.n + 1, sizeof *out);
    for (uint32_t i = 1; out && i < s->n; i++)
        if (!is_work(s, i))
            RS_EDGES_INTO(s, i, k) out[name_of(s, i)] += is_host(s, k, weight[k]) && weight[k] >= RS_HOST_GAP;
    return out;
}

/* Points between two waits are a region. What the host does in one costs nothing but a graph's
 * launch at its first. Loaders are left as they are, and so is what takes so long between two calls that it is no launching:
 * an input pipeline, Python, a lock. But what happens in few steps is an accident of the system, which strikes threads that launch for long. */
static bool graph_rank(rs_editor *x, size_t r)
{
    const rs_skeleton *s = x->e->ranks[r];
    int64_t *weight = x->w->edge + x->e->edge_base[r];
    RS_LOCAL uint8_t *launches = rs_calloc(s->n + 1, 1), *open = rs_calloc(s->n_lanes + 1, 1);
    RS_LOCAL int64_t **first =
        rs_calloc(s->n_lanes + 1, sizeof *first); /* by lane: what its graph's launch waits for */
    RS_LOCAL uint32_t *n_long = count_long(s, weight);
    if (!launches || !open || !first || !n_long) return false;
    const int64_t shown = s->all.typical[RS_COST_INSIDE + RS_WORK_GRAPH],
                  launch = shown > 0 ? shown : GRAPH_LAUNCH;
    rs_skeleton_mark_launches(s, launches);
    for (uint32_t i = 1; i < s->n; i++) {
        if (is_work(s, i)) {
            RS_EDGES_INTO(s, i, k) {
                if (weight[k] == RS_NO_EDGE || !rs_edit_graph_takes(s, k, weight[k])) continue;
                int64_t least = s->all.least[rs_edge_cost(s, k)] > 0 ? s->all.least[rs_edge_cost(s, k)] : 0;
                if (rs_edge_cost(s, k) >= RS_COST_STREAM) least = rs_int_of(GRAPH_GAP * (double)least);
                if (least < weight[k]) rs_edit_change(x, &weight[k], least);
            }
            continue;
        }
        uint8_t *in_region = &open[rs_skeleton_at(s, i)->lane];
        if (waits(s, i)) {
            *in_region = 0;
            continue;
        }
        take_over(s, i, open, first);
        bool begins = !*in_region && launches[i];
        RS_EDGES_INTO(s, i, k) {
            if (!is_host(s, k, weight[k])) continue;
            if (*in_region &&
                (weight[k] < RS_HOST_GAP || n_long[name_of(s, i)] <= ACCIDENTS * (double)s->n_steps))
                rs_edit_change(x, &weight[k], 0);
            if (!begins) continue;
            rs_edit_change(x, &weight[k], rs_add_sat(weight[k], launch));
            first[rs_skeleton_at(s, i)->lane] = &weight[k];
        }
        if (!launches[i]) continue;
        int64_t *node = first[rs_skeleton_at(s, i)->lane];
        if (node && shown <= 0) rs_weights_set(x->w, node, rs_add_sat(*node, GRAPH_NODE));
        *in_region = 1;
    }
    return true;
}

rs_status rs_edit_graphs(rs_editor *x, rs_error *err)
{
    for (size_t r = 0; r < x->e->n_ranks; r++)
        if (!graph_rank(x, r)) return rs_fail_nomem(err, "a question");
    return RS_OK;
}

/* ---- behind a wait ------------------------------------------------------------------------------------- */

static bool waited(const rs_skeleton *s, uint32_t point)
{
    RS_EDGES_INTO(s, point, k)
        if (rs_edge_cost(s, k) == RS_COST_ANSWER) return true;
    return false;
}

/* What a thread does between a wait's return and its next launch, that call not included. */
static bool find_behind(rs_editor *x, size_t r)
{
    const rs_skeleton *s = x->e->ranks[r];
    uint32_t *behind = x->behind + x->e->node_base[r];
    RS_LOCAL uint8_t *launches = rs_calloc(s->n + 1, 1);
    uint32_t *last = rs_malloc((s->n_lanes + 1) * sizeof *last); /* by thread: the call that it waited in */
    bool ok = launches && last;
    for (size_t i = 0; ok && i <= s->n_lanes; i++) last[i] = RS_NO_STRING;
    if (ok) rs_skeleton_mark_launches(s, launches);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        behind[i] = RS_NO_STRING;
        if (is_work(s, i) || !i) continue;
        uint32_t *call = &last[rs_skeleton_at(s, i)->lane];
        if (waited(s, i)) {
            *call = rs_skeleton_at(s, i)->name;
            continue;
        }
        behind[i] = *call;
        if (launches[i]) *call = RS_NO_STRING;
    }
    rs_free(last);
    return ok;
}

rs_status rs_edit_find_behind(rs_editor *x, rs_error *err)
{
    x->behind = rs_malloc((x->e->n_nodes + 1) * sizeof *x->behind);
    bool ok = x->behind != NULL;
    for (size_t r = 0; ok && r < x->e->n_ranks; r++) ok = find_behind(x, r);
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}

/* ---- no-sync ------------------------------------------------------------------------------------------- */

static bool no_sync_rank(const rs_edit *edit, rs_editor *x, size_t r)
{
    const rs_skeleton *s = x->e->ranks[r];
    RS_LOCAL uint8_t *seen = rs_calloc(s->pool.strings.n + 1, 1);
    if (!seen) return false;
    for (uint32_t i = 1; i < s->n; i++) {
        RS_EDGES_INTO(s, i, k) {
            uint32_t from = rs_edge_source(s, k) >> 1;
            if (rs_edge_cost(s, k) != RS_COST_ANSWER) continue;
            bool named = is_named(s, &edit->name, seen, rs_skeleton_at(s, i)->name) ||
                         is_named(s, &edit->name, seen, rs_skeleton_at(s, i)->operator_name);
            bool copy = is_work(s, from) && rs_skeleton_at(s, from)->part == RS_PART_COPY &&
                        is_named(s, &edit->name, seen, rs_skeleton_at(s, from)->name);
            if (named || copy) rs_edit_change(x, &x->w->edge[x->e->edge_base[r] + k], RS_NO_EDGE);
        }
    }
    return true;
}

rs_status rs_edit_no_sync(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    for (size_t r = 0; r < x->e->n_ranks; r++)
        if (!no_sync_rank(edit, x, r)) return rs_fail_nomem(err, "a question");
    return RS_OK;
}

/* ---- fuse ---------------------------------------------------------------------------------------------- */

static void fuse_rank(const rs_edit *edit, rs_editor *x, size_t r, uint8_t *before, uint8_t *behind,
                      uint32_t *saved)
{
    const rs_skeleton *s = x->e->ranks[r];
    int64_t *weight = x->w->edge + x->e->edge_base[r];
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t stream = RS_NO_CAUSE;
        if (!is_work(s, i) || !is_named(s, &edit->other, behind, rs_skeleton_at(s, i)->name)) continue;
        RS_EDGES_INTO(s, i, k) {
            bool follows = rs_edge_cost(s, k) >= RS_COST_STREAM && rs_edge_cost(s, k) < RS_COST_EVENT;
            if (follows &&
                is_named(s, &edit->name, before, rs_skeleton_at(s, rs_edge_source(s, k) >> 1)->name))
                stream = k;
        }
        if (stream == RS_NO_CAUSE) continue;
        RS_EDGES_INTO(s, i, k) {
            if (rs_edge_cost(s, k) < RS_COST_INSIDE) saved[rs_edge_source(s, k) >> 1] = rs_edge_base(s, k);
            rs_edit_change(x, &weight[k],
                           k == stream                           ? 0
                           : rs_edge_cost(s, k) < RS_COST_STREAM ? RS_NO_EDGE
                                                                 : weight[k]);
        }
    }
    for (uint32_t i = 1; i < s->n; i++)
        if (!is_work(s, i))
            RS_EDGES_INTO(s, i, k) {
                int64_t less = saved[rs_edge_source(s, k) >> 1];
                if (!less || weight[k] == RS_NO_EDGE || rs_edge_cost(s, k) != RS_COST_NONE) continue;
                rs_weights_set(x->w, &weight[k], weight[k] > less ? weight[k] - less : 0);
            }
}

rs_status rs_edit_fuse(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    bool ok = true;
    for (size_t r = 0; ok && r < x->e->n_ranks; r++) {
        const rs_skeleton *s = x->e->ranks[r];
        uint32_t *saved = rs_calloc(s->n + 1, sizeof *saved); /* by point: ns of a call that is not made */
        const size_t n_names = s->pool.strings.n + 1;
        uint8_t *before = rs_calloc(n_names, 1), *behind = rs_calloc(n_names, 1);
        ok = saved && before && behind;
        if (ok) fuse_rank(edit, x, r, before, behind, saved);
        rs_free_all(saved, before, behind);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}

/* ---- coalesce ------------------------------------------------------------------------------------------ */

typedef struct merger {
    rs_editor *x;
    uint32_t *place;
    uint32_t *needed; /* by meeting: place of the first that waits for its end and is no communication */
    uint32_t *last;   /* by meeting: place of the last member's start */
    uint32_t *into;   /* by meeting: that it is part of; itself: of none */
    int64_t *alpha;
    uint8_t *closed; /* by meeting: it has taken others in */
} merger;

#define LOOK_AHEAD 1024 /* meetings after the first of those that become one */

static uint32_t meeting_of_node(const rs_engine *e, uint32_t node)
{
    return e->kind[node] & RS_ENGINE_MEETS ? e->meeting_of[rs_engine_member(e, node)] : RS_NO_CAUSE;
}

static void find_needs(merger *m)
{
    const rs_engine *e = m->x->e;
    for (size_t k = 0; k < e->n_meetings; k++) {
        m->needed[k] = UINT32_MAX;
        m->last[k] = 0;
        m->into[k] = (uint32_t)k;
        for (uint32_t i = e->meetings[k].first; i < e->meetings[k].first + e->meetings[k].n; i++)
            if (m->place[e->members[i]] > m->last[k]) m->last[k] = m->place[e->members[i]];
    }
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        uint32_t base = e->node_base[r];
        for (uint32_t i = 1; i < s->n; i++)
            RS_EDGES_INTO(s, i, k) {
                if (!(rs_edge_source(s, k) & 1) ||
                    (is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_TRANSFER))
                    continue;
                uint32_t of = meeting_of_node(e, base + (rs_edge_source(s, k) >> 1));
                if (of != RS_NO_CAUSE && m->place[base + i] < m->needed[of])
                    m->needed[of] = m->place[base + i];
            }
    }
}

/* Whether the ranks that meet are as many as the edit says, and as far apart. */
static bool is_on_axis(const rs_edit *edit, const rs_editor *x, const rs_coll_instance *c)
{
    bool is = c->n == (uint32_t)edit->axis_size;
    for (uint32_t i = c->first; is && i + 1 < c->first + c->n; i++)
        is = x->rank_of[x->e->coll.arrivals[i + 1].rank] - x->rank_of[x->e->coll.arrivals[i].rank] ==
             edit->axis_stride;
    return is;
}

bool rs_edit_is_of_group(const rs_edit *edit, const rs_editor *x, const rs_meeting *m)
{
    const rs_engine *e = x->e;
    const rs_coll_instance *c = &e->coll.instances[m->instance];
    const rs_coll_arrival *a = &e->coll.arrivals[c->first];
    const rs_coll_rank *r = e->comm[a->rank];
    const rs_coll_shape *op = rs_coll_shape_of(r, &r->ops[a->op]);
    const bool exchanges = op->kind == RS_COLL_ALL_TO_ALL;
    return op->kind != RS_COLL_SEND_RECV && m->n >= 2 &&
           (edit->axis_of == RS_AXIS_ALL || exchanges == (edit->axis_of == RS_AXIS_EXCHANGES)) &&
           (edit->axis_size ? is_on_axis(edit, x, c) : rs_edit_names_group(edit, &r->pool, op));
}

/* Whether two meetings are of one kind and have the same ranks. */
static bool same_members(const rs_engine *e, const rs_meeting *a, const rs_meeting *b)
{
    const rs_coll_instance *x = &e->coll.instances[a->instance], *y = &e->coll.instances[b->instance];
    if (x->n != y->n) return false;
    for (uint32_t i = 0; i < x->n; i++) {
        const rs_coll_arrival *p = &e->coll.arrivals[x->first + i], *q = &e->coll.arrivals[y->first + i];
        if (p->rank != q->rank || rs_coll_shape_at(&e->coll, p)->kind != rs_coll_shape_at(&e->coll, q)->kind)
            return false;
    }
    return true;
}

/* What waited for a merged collective waits for the one that it became a part of. */
static bool wait_for_all(merger *m)
{
    const rs_engine *e = m->x->e;
    bool ok = true;
    for (size_t r = 0; ok && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        uint32_t base = e->node_base[r];
        for (uint32_t i = 1; ok && i < s->n; i++)
            RS_EDGES_INTO(s, i, k) {
                if (!(rs_edge_source(s, k) & 1) ||
                    (is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_TRANSFER))
                    continue;
                uint32_t of = meeting_of_node(e, base + (rs_edge_source(s, k) >> 1));
                if (of == RS_NO_CAUSE || m->into[of] == of) continue;
                const rs_meeting *last = &e->meetings[m->into[of]];
                for (uint32_t j = last->first; ok && j < last->first + last->n; j++)
                    if (rs_engine_rank_of(e, e->members[j]) == r)
                        ok = rs_weights_add(e, m->x->w, (rs_extra_edge){e->members[j] << 1 | 1, base + i, 0});
            }
    }
    return ok;
}

void rs_edit_save_launch(rs_editor *x, size_t r, uint32_t local)
{
    const rs_engine *e = x->e;
    const rs_skeleton *s = e->ranks[r];
    RS_EDGES_INTO(s, local, j) {
        const uint32_t call = rs_edge_source(s, j) >> 1;
        if (rs_edge_cost(s, j) >= RS_COST_STREAM || !call || is_work(s, call) ||
            rs_skeleton_first(s, call) == rs_skeleton_first(s, call + 1) ||
            rs_edge_part(s, rs_skeleton_first(s, call)) != RS_PART_HOST)
            continue;
        int64_t *own = &x->w->edge[e->edge_base[r] + rs_skeleton_first(s, call)];
        if (*own != RS_NO_EDGE && *own > 0 && *own < RS_HOST_GAP) rs_edit_change(x, own, 0);
    }
}

void rs_edit_save_launches(rs_editor *x, uint32_t k)
{
    const rs_engine *e = x->e;
    for (uint32_t i = e->meetings[k].first; i < e->meetings[k].first + e->meetings[k].n; i++) {
        const size_t r = rs_engine_rank_of(e, e->members[i]);
        rs_edit_save_launch(x, r, e->members[i] - e->node_base[r]);
    }
}

/* It is no work of its own any more: no gap comes before it, and no member stays longer than others. */
static void drop_kernels(rs_editor *x, uint32_t k)
{
    const rs_engine *e = x->e;
    for (uint32_t i = e->meetings[k].first; i < e->meetings[k].first + e->meetings[k].n; i++) {
        const uint32_t node = e->members[i];
        const size_t r = rs_engine_rank_of(e, node);
        const rs_skeleton *s = e->ranks[r];
        const uint32_t local = node - e->node_base[r];
        if (x->w->work[node] > 0) rs_edit_change(x, &x->w->work[node], 0);
        RS_EDGES_INTO(s, local, j) {
            int64_t *gap = &x->w->edge[e->edge_base[r] + j];
            if (rs_edge_cost(s, j) >= RS_COST_STREAM && rs_edge_cost(s, j) < RS_COST_EVENT && *gap > 0 &&
                *gap != RS_NO_EDGE)
                rs_edit_change(x, gap, 0);
        }
    }
}

#define WITHIN_HOST 450  /* bytes a ns that a rank's links carry at most: NVLink 4 */
#define BETWEEN_HOSTS 50 /* 400 Gb/s a GPU */
#define SLOW_WITHIN 100  /* NVLink 3.0 at a third of its speed */
#define SLOW_BETWEEN 25  /* 200 Gb/s a GPU */
#define USUAL_HOST 8     /* GPUs, where hosts are not known */
#define APART 50000      /* ns: clocks of ranks differ by more on different hosts alone */

int64_t rs_edit_least_transfer(rs_coll_kind kind, uint32_t n, int64_t bytes, bool between)
{
    const double factor = rs_coll_bus_factor(kind, n);
    return factor > 0 ? rs_int_of((double)bytes * factor / (between ? BETWEEN_HOSTS : WITHIN_HOST)) : 0;
}

int64_t rs_edit_most_transfer(rs_coll_kind kind, uint32_t n, int64_t bytes, bool between)
{
    const double factor = rs_coll_bus_factor(kind, n);
    return factor > 0 ? rs_int_of((double)bytes * factor / (between ? SLOW_BETWEEN : SLOW_WITHIN))
                      : INT64_MAX;
}

/* Whether clocks of ranks show that they are on several hosts: processes of one read the same clock. */
static bool clocks_differ(const rs_engine *e, const rs_coll_instance *c)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = c->first; e->coll.clocks && i < c->first + c->n; i++) {
        const rs_coll_clock *clock = &e->coll.clocks[e->coll.arrivals[i].rank];
        if (clock->offset < low) low = clock->offset;
        if (clock->offset > high) high = clock->offset;
    }
    return low < high && rs_sub_sat(high, low) > APART;
}

bool rs_edit_is_between_hosts(const rs_engine *e, const rs_coll_instance *c)
{
    const char *first = NULL;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_rank *rank = e->comm[e->coll.arrivals[i].rank];
        const char *host = rs_pool_text(&rank->pool, rank->host);
        if (!host) return c->n > USUAL_HOST || clocks_differ(e, c);
        if (first && strcmp(first, host) != 0) return true;
        first = host;
    }
    return false;
}

/* Merges what follows into the k-th. What does not grow is needed once. Where few sizes leave open how much that is, each transfer
 * took at least what its bytes take on the fastest links. */
static void merge_from(const rs_edit *edit, merger *m, uint32_t k)
{
    const rs_engine *e = m->x->e;
    const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
    const rs_coll_kind kind = rs_coll_shape_at(&e->coll, &e->coll.arrivals[c->first])->kind;
    int64_t *transfer = m->x->w->transfer, growing = 0, fixed = 0, n = 0, before = 0, bytes = 0;
    const bool unknown = rs_meeting_bytes(e, &e->meetings[k]) < 0;
    uint32_t needed = UINT32_MAX, end = k;
    for (uint32_t i = k; i < e->n_meetings && i - k < LOOK_AHEAD; i++) {
        if (!same_members(e, &e->meetings[k], &e->meetings[i])) continue;
        int64_t own = rs_meeting_bytes(e, &e->meetings[i]);
        /* what has no size is small, or as large as it may be: then nothing can be merged */
        if (m->into[i] != i || m->closed[i] || (own < 0) != unknown ||
            (unknown && edit->end == RS_END_OTHER) || rs_add_sat(bytes, unknown ? 0 : own) > edit->number ||
            m->last[i] >= needed)
            break;
        bytes += unknown ? 0 : own;
        before = rs_add_sat(before, transfer[i]);
        if (m->needed[i] < needed) needed = m->needed[i];
        end = i;
    }
    if (end == k) return;
    bool between = rs_edit_is_between_hosts(e, c);
    if (rs_edit_least_transfer(kind, c->n, bytes, between) > before)
        between = false; /* faster than known links */
    for (uint32_t i = k; i <= end; i++) {
        if (!same_members(e, &e->meetings[k], &e->meetings[i])) continue;
        const int64_t own = rs_meeting_bytes(e, &e->meetings[i]),
                      least = c->on_host || unknown ? 0 : rs_edit_least_transfer(kind, c->n, own, between),
                      most = transfer[i] > least ? transfer[i] - least : 0,
                      alpha = m->alpha[i] < most ? m->alpha[i] : most;
        growing = rs_add_sat(growing, transfer[i] - alpha);
        fixed = rs_add_sat(fixed, alpha);
        n++;
        m->into[i] = end;
        if (i != end) rs_edit_change(m->x, &transfer[i], 0);
        if (i != end) drop_kernels(m->x, i);
        if (i != end && edit->end != RS_END_OTHER) rs_edit_save_launches(m->x, i);
    }
    m->closed[end] = 1;
    rs_edit_change(m->x, &transfer[end], rs_add_sat(growing, fixed / n));
}

rs_status rs_edit_coalesce(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    const rs_engine *e = x->e;
    size_t n = e->n_meetings + 1;
    merger m = {.x = x,
                .place = rs_edit_places(e),
                .needed = rs_malloc(n * sizeof *m.needed),
                .last = rs_malloc(n * sizeof *m.last),
                .into = rs_malloc(n * sizeof *m.into),
                .alpha = rs_edit_latencies(e, edit->end == RS_END_OTHER   ? RS_LATENCY_BOUND
                                              : edit->end == RS_END_SHORT ? RS_LATENCY_MOST
                                                                          : RS_LATENCY_USUAL),
                .closed = rs_calloc(n, 1)};
    bool ok = m.closed && m.place && m.needed && m.last && m.into && m.alpha;
    if (ok) find_needs(&m);
    for (uint32_t k = 0; ok && k < e->n_meetings; k++)
        if (m.into[k] == k && !m.closed[k] && rs_edit_is_of_group(edit, x, &e->meetings[k]))
            merge_from(edit, &m, k);
    ok = ok && wait_for_all(&m);
    rs_free_all(m.place, m.needed, m.last, m.into, m.alpha, m.closed);
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}
