/* overlap: communication that starts as early as its data can be there.
 *
 * A gradient is there when the backward pass has made it, so a reduction may start when as large a share of the pass is done
 * as it and those before it are of all bytes that are reduced. It is needed by the optimizer. What a group reduces in the
 * forward pass, too (tensor parallel layers), is needed where it is reduced, and stays. What is gathered (parameters) may be
 * gathered one gather ahead. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "engine/edits_terms.h"
#include "engine/reference.h"

/* Work of a step in order of time: where its backward pass is. */
typedef struct pass {
    uint32_t optimizer;    /* its first work; RS_NO_NODE: none */
    size_t first, n;       /* in order: the last stretch of backward work */
    int64_t begin;         /* of the first backward work */
    int64_t ns;            /* of all work of that stretch */
    int64_t bytes, so_far; /* of reductions; of those before the one at hand */
    int64_t reduced;       /* when the first reduction starts */
} pass;

enum { REDUCTION = 1, MOVED = 2 }; /* it can move; it is issued earlier */

typedef struct mover {
    const rs_edit *edit;
    rs_editor *x;
    const uint32_t *place;
    const rs_skeleton *s;
    size_t rank;
    pass *passes;    /* by step */
    rs_keyed *order; /* computation in steps, by step, then time */
    uint8_t *role;   /* by node */
    size_t n;
} mover;

static bool is_computation(const rs_skeleton *s, uint32_t i)
{
    return rs_skeleton_is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_COMPUTE;
}

/* By name of the rank: it is one of an optimizer. NULL when out of memory. */
static uint8_t *optimizer_names(const rs_skeleton *s)
{
    static const char *const words[] = {"ptimizer", "::_fused_", "::_foreach_", "multi_tensor_apply"};
    uint8_t *out = rs_calloc(s->pool.strings.n + 1, 1);
    for (uint32_t i = 0; out && i < s->pool.strings.n; i++) {
        const char *name = rs_pool_text(&s->pool, i);
        for (size_t k = 0; name && k < sizeof words / sizeof *words; k++)
            if (strstr(name, words[k])) out[i] = 1;
    }
    return out;
}

static bool is_optimizer(const rs_skeleton *s, const uint8_t *names, uint32_t i)
{
    uint32_t name = rs_skeleton_at(s, i)->name, op = rs_skeleton_at(s, i)->operator_name;
    return (name < s->pool.strings.n && names[name]) || (op < s->pool.strings.n && names[op]);
}

static bool order_work(mover *m)
{
    const rs_skeleton *s = m->s;
    m->n = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (is_computation(s, i) && rs_skeleton_step_of(s, i) >= 0)
            m->order[m->n++] = (rs_keyed){rs_skeleton_time(s, i), i};
    if (!rs_keyed_sort(m->order, m->n)) return false;
    for (size_t k = 0; k < m->n; k++) m->order[k].key = rs_skeleton_step_of(s, m->order[k].value);
    return rs_keyed_sort(m->order, m->n);
}

/* One step's work is order[from, to). */
static void find_pass(const mover *m, const uint8_t *names, size_t from, size_t to, pass *p)
{
    const rs_skeleton *s = m->s;
    const uint32_t *at = m->place + m->x->e->node_base[m->rank];
    for (size_t k = from; k < to; k++) {
        uint32_t i = m->order[k].value;
        if (is_optimizer(s, names, i)) {
            if (p->optimizer == RS_NO_NODE || at[i] < at[p->optimizer]) p->optimizer = i;
        } else if (rs_work_is_backward(s, i)) {
            if (!p->n && p->begin == INT64_MAX) p->begin = rs_skeleton_time(s, i);
            if (!p->n) p->first = k;
            p->n = k + 1 - p->first;
        } else if (p->optimizer == RS_NO_NODE) {
            p->n = 0; /* of another micro batch */
        }
    }
    for (size_t k = p->first; k < p->first + p->n; k++)
        p->ns = rs_add_sat(p->ns, rs_skeleton_duration(s, m->order[k].value));
}

static bool find_passes(mover *m)
{
    RS_LOCAL uint8_t *names = optimizer_names(m->s);
    if (!names || !order_work(m)) return false;
    for (size_t k = 0; k < m->s->n_steps; k++)
        m->passes[k] = (pass){.optimizer = RS_NO_NODE, .begin = INT64_MAX, .reduced = INT64_MAX};
    for (size_t from = 0, to; from < m->n; from = to) {
        for (to = from; to < m->n && m->order[to].key == m->order[from].key;) to++;
        find_pass(m, names, from, to, &m->passes[m->order[from].key]);
    }
    return true;
}

/* The shape of the i-th communication where the edit names it and its step has a backward pass; else NULL. */
static const rs_coll_shape *shape_of(const mover *m, size_t i)
{
    const rs_skeleton *s = m->s;
    const rs_coll_shape *op = rs_coll_shape_of(s->comm, &s->comm->ops[i]);
    uint32_t node = s->comm_node[i];
    bool named = node != RS_NO_NODE && rs_skeleton_step_of(s, node) >= 0 &&
                 m->passes[rs_skeleton_step_of(s, node)].begin < INT64_MAX;
    return named && rs_edit_names_group(m->edit, &s->comm->pool, op) ? op : NULL;
}

static bool reduces(const rs_coll_shape *op)
{
    return op && (op->kind == RS_COLL_ALL_REDUCE || op->kind == RS_COLL_REDUCE_SCATTER);
}

static int64_t elements(const rs_coll_shape *op)
{
    int64_t n = op->in_elements > op->out_elements ? op->in_elements : op->out_elements;
    return n > 0 ? n : 1;
}

/* Marks reductions of groups that reduce nothing in the forward pass. By group's name: forward. */
static bool mark_reductions(mover *m)
{
    const rs_skeleton *s = m->s;
    size_t n_names = s->comm ? s->comm->pool.strings.n : 0;
    RS_LOCAL uint8_t *forward = rs_calloc(n_names + 1, 1);
    if (!forward) return false;
    for (int mark = 0; mark < 2; mark++)
        for (size_t i = 0; i < s->n_comm; i++) {
            const rs_coll_shape *op = shape_of(m, i);
            uint32_t node = s->comm_node[i],
                     group = op && op->group < n_names ? op->group : (uint32_t)n_names;
            if (!reduces(op)) continue;
            pass *p = &m->passes[rs_skeleton_step_of(s, node)];
            if (!mark) {
                forward[group] |= rs_skeleton_time(s, node) < p->begin;
            } else if (!forward[group]) {
                m->role[node] = REDUCTION;
                p->bytes = rs_add_sat(p->bytes, elements(op));
                if (rs_skeleton_time(s, node) < p->reduced) p->reduced = rs_skeleton_time(s, node);
            }
        }
    return true;
}

/* ---- moving -------------------------------------------------------------------------------------------- */

static void drop(const mover *m, int64_t *weight)
{
    if (*weight != RS_NO_EDGE) rs_edit_change(m->x, weight, RS_NO_EDGE);
}

/* Whether an edge says that communication is issued (a launch), or what it waits for on its own rank (computation). */
static bool issues(const rs_skeleton *s, uint32_t k)
{
    return rs_edge_cost(s, k) < RS_COST_STREAM ||
           ((rs_edge_source(s, k) & 1) && is_computation(s, rs_edge_source(s, k) >> 1));
}

/* The place in the order of the replay from which on a moment is known: what meets others ends when the last of them has come. */
static uint32_t known_at(const mover *m, uint32_t moment)
{
    const rs_engine *e = m->x->e;
    uint32_t node = moment >> 1, at = m->place[node];
    if (!(moment & 1) || !(e->kind[node] & RS_ENGINE_MEETS)) return at;
    const rs_meeting *k = &e->meetings[e->meeting_of[rs_engine_member(e, node)]];
    for (uint32_t i = k->first; i < k->first + k->n; i++)
        if (m->place[e->members[i]] > at) at = m->place[e->members[i]];
    return at;
}

static bool wait_for(const mover *m, uint32_t source, uint32_t target, int64_t ns)
{
    uint32_t base = m->x->e->node_base[m->rank];
    if (known_at(m, (base << 1) + source) >= m->place[base + target]) return true;
    return rs_weights_add(m->x->e, m->x->w, (rs_extra_edge){(base << 1) + source, base + target, ns});
}

/* Nothing but the streams holds it up any more; a gather does not wait for reductions. */
static void drop_issue(const mover *m, uint32_t node)
{
    const rs_skeleton *s = m->s;
    int64_t *weight = m->x->w->edge + m->x->e->edge_base[m->rank];
    m->role[node] |= MOVED;
    RS_EDGES_INTO(s, node, k)
        if (issues(s, k) || (!(m->role[node] & REDUCTION) && m->role[rs_edge_source(s, k) >> 1] & REDUCTION))
            drop(m, &weight[k]);
}

/* Where all reductions come after the backward pass, each starts when its share of that pass is done. */
static bool issue_reduction(const mover *m, uint32_t node, const rs_coll_shape *op)
{
    const rs_skeleton *s = m->s;
    pass *p = &m->passes[rs_skeleton_step_of(s, node)];
    p->so_far = rs_add_sat(p->so_far, elements(op));
    double due = (double)p->ns * (double)p->so_far / (double)p->bytes, done = 0;
    size_t k = p->first, last = p->first + p->n - 1;
    if (!p->n || p->optimizer == RS_NO_NODE || p->reduced < rs_skeleton_end(s, m->order[last].value))
        return true;
    for (; k < last; k++)
        if ((done += (double)rs_skeleton_duration(s, m->order[k].value)) >= due) break;
    drop_issue(m, node);
    return wait_for(m, m->order[k].value << 1 | 1, node, 0);
}

/* Whether both are launched, and by one thread. */
static bool one_launches(const rs_skeleton *s, uint32_t a, uint32_t b)
{
    const uint32_t one = rs_skeleton_launch_edge(s, a), other = rs_skeleton_launch_edge(s, b);
    return one != UINT32_MAX && other != UINT32_MAX &&
           rs_skeleton_at(s, rs_edge_source(s, one) >> 1)->lane ==
               rs_skeleton_at(s, rs_edge_source(s, other) >> 1)->lane;
}

/* What a gather takes once all have come. */
static int64_t transfer_of(const mover *m, uint32_t node)
{
    const rs_engine *e = m->x->e;
    uint32_t global = e->node_base[m->rank] + node;
    return e->kind[global] & RS_ENGINE_MEETS ? m->x->w->transfer[e->meeting_of[rs_engine_member(e, global)]]
                                             : rs_skeleton_duration(m->s, node);
}

/* The gather waits for a source, and with it the reduction that it overtakes (RS_NO_NODE: none): they share the network, so
 * that it begins when the gather is over. */
static bool hold(const mover *m, uint32_t source, uint32_t gather, uint32_t overtaken, int64_t ns)
{
    return wait_for(m, source, gather, ns) &&
           (overtaken == RS_NO_NODE ||
            wait_for(m, source, overtaken, rs_add_sat(ns, transfer_of(m, gather))));
}

/* A gather is issued where the one before it in the pass was, and runs after that one. `last` and `reduction`: the last
 * reduction before it and the one before that; where the last came after the gather before, it is overtaken. */
static bool issue_gather(const mover *m, uint32_t before, uint32_t last, uint32_t reduction, uint32_t node)
{
    const rs_skeleton *s = m->s;
    bool overtakes = last != RS_NO_NODE && rs_skeleton_time(s, last) > rs_skeleton_time(s, before);
    uint32_t overtaken = overtakes ? last : RS_NO_NODE, behind = overtakes ? reduction : last;
    if (!one_launches(s, before, node)) return true;
    /* as recorded: the gather before it may have been moved itself */
    uint32_t k = rs_skeleton_first(s, before), source = rs_edge_source(s, k);
    int64_t ns = rs_sub_sat(rs_skeleton_time(s, before), rs_skeleton_source_time(s, source));
    bool ok = !issues(s, k) || hold(m, source, node, overtaken, ns < 0 ? 0 : ns);
    drop_issue(m, node);
    return ok && hold(m, before << 1 | 1, node, overtaken, 0) &&
           (behind == RS_NO_NODE || hold(m, behind << 1 | 1, node, overtaken, 0));
}

/* Waits of computation for a reduction are the optimizer's. */
static bool move_wait(const mover *m, uint32_t source, uint32_t target, int64_t *weight)
{
    const rs_skeleton *s = m->s;
    if (!(m->role[source] & REDUCTION) || !rs_skeleton_is_work(s, target) ||
        rs_skeleton_at(s, target)->part == RS_PART_TRANSFER ||
        rs_skeleton_at(s, source)->lane == rs_skeleton_at(s, target)->lane)
        return true;
    uint32_t base = m->x->e->node_base[m->rank], to = m->passes[rs_skeleton_step_of(s, source)].optimizer;
    if (*weight == RS_NO_EDGE || to == RS_NO_NODE || m->place[base + to] <= m->place[base + target])
        return true;
    rs_edit_change(m->x, weight, RS_NO_EDGE);
    return rs_weights_add(m->x->e, m->x->w, (rs_extra_edge){(base + source) << 1 | 1, base + to, 0});
}

static bool move_waits(const mover *m)
{
    const rs_engine *e = m->x->e;
    const rs_skeleton *s = m->s;
    int64_t *weight = m->x->w->edge;
    uint32_t base = e->node_base[m->rank];
    bool ok = true;
    for (uint32_t i = 1; ok && i < s->n; i++)
        RS_EDGES_INTO(s, i, k)
            if (ok && rs_edge_source(s, k) & 1)
                ok = move_wait(m, rs_edge_source(s, k) >> 1, i, &weight[e->edge_base[m->rank] + k]);
    for (size_t i = 0; ok && i < e->n_added; i++) {
        const rs_added_edge *a = &e->added[i];
        if (rs_engine_rank_of(e, a->target) != m->rank || rs_engine_rank_of(e, a->source) != m->rank)
            continue;
        if (m->role[a->target - base] & MOVED && is_computation(s, a->source - base))
            drop(m, &weight[e->edge_base[e->n_ranks] + i]);
        else
            ok = move_wait(m, a->source - base, a->target - base, &weight[e->edge_base[e->n_ranks] + i]);
    }
    return ok;
}

static bool issue_early(const mover *m)
{
    const rs_skeleton *s = m->s;
    uint32_t before = RS_NO_NODE, reduction = RS_NO_NODE, last = RS_NO_NODE;
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_comm; i++) {
        const rs_coll_shape *op = shape_of(m, i);
        uint32_t node = s->comm_node[i];
        if (!op) continue;
        if (m->role[node] & REDUCTION) {
            ok = issue_reduction(m, node, op);
            reduction = last;
            last = node;
        }
        if (op->kind != RS_COLL_ALL_GATHER) continue;
        if (before != RS_NO_NODE && rs_skeleton_step_of(s, before) == rs_skeleton_step_of(s, node))
            ok = issue_gather(m, before, last, reduction, node);
        before = node;
    }
    return ok;
}

static bool overlap_rank(const rs_edit *edit, rs_editor *x, size_t r, const uint32_t *place)
{
    const rs_skeleton *s = x->e->ranks[r];
    RS_LOCAL pass *passes = rs_malloc((s->n_steps + 1) * sizeof *passes);
    RS_LOCAL rs_keyed *order = rs_malloc((s->n + 1) * sizeof *order);
    RS_LOCAL uint8_t *role = rs_calloc(s->n + 1, 1);
    mover m = {edit, x, place, s, r, passes, order, role, 0};
    return passes && order && role && find_passes(&m) && mark_reductions(&m) && issue_early(&m) &&
           move_waits(&m);
}

rs_status rs_edit_overlap(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    RS_LOCAL uint32_t *place = rs_edit_places(x->e);
    bool ok = place != NULL;
    for (size_t r = 0; ok && r < x->e->n_ranks; r++) ok = overlap_rank(edit, x, r, place);
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}
