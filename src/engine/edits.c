/* Questions applied to weights: scaling, network, loader. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "engine/edits_terms.h"
#include "match/collective_wait.h"

/* ---- selection ----------------------------------------------------------------------------------------- */

/* A text of a pool. An absent one meets nothing but "is not" and "has not". */
static bool holds_text(const rs_expr_term *t, const rs_pool *pool, uint32_t id)
{
    if (id >= pool->strings.n) return t->op == RS_OP_NE || t->op == RS_OP_HAS_NOT;
    const rs_string *s = &pool->strings.items[id];
    return rs_term_holds_text(t, s->text, s->length);
}

/* Makes room for what is found out about a rank's names and labels. Without memory they are looked at each time. */
static void forget_names(rs_editor *x, const rs_edit *edit, size_t rank)
{
    const rs_skeleton *s = x->e->ranks[rank];
    const size_t names = rs_edit_n_terms(edit) * s->pool.strings.n, room = names + s->n_labels;
    if (x->seen_edit == edit && x->seen_rank == rank) return;
    if (room > x->seen_room) {
        rs_free(x->seen);
        x->seen = rs_malloc(room);
        x->seen_room = x->seen ? room : 0;
    }
    if (x->seen) memset(x->seen, 0, room);
    x->of_label = x->seen ? x->seen + names : NULL;
    x->seen_edit = edit;
    x->seen_rank = rank;
}

static bool holds_name(const rs_expr_term *t, rs_editor *x, size_t rank, uint32_t name)
{
    const rs_skeleton *s = x->e->ranks[rank];
    size_t n = s->pool.strings.n;
    if (!x->seen_room || name >= n) return holds_text(t, &s->pool, name);
    uint8_t *seen = &x->seen[(size_t)(t - x->seen_edit->selector->terms) * n + name];
    if (!*seen) *seen = holds_text(t, &s->pool, name) ? 2 : 1;
    return *seen == 2;
}

static int64_t bytes_of(const rs_coll_rank *r, const rs_coll_shape *op)
{
    const char *dtype = rs_pool_text(&r->pool, op->dtype);
    int64_t size = dtype ? rs_dtype_size(dtype) : 0;
    int64_t elements = op->in_elements > op->out_elements ? op->in_elements : op->out_elements;
    return size <= 0 || elements < 0 || elements > INT64_MAX / 16 ? -1 : elements * size;
}

/* A group goes by its name and by its description. */
static bool holds_group(const rs_expr_term *t, const rs_pool *pool, const rs_coll_shape *comm)
{
    bool name = holds_text(t, pool, comm->group), description = holds_text(t, pool, comm->description);
    return t->op == RS_OP_NE || t->op == RS_OP_HAS_NOT ? name && description : name || description;
}

/* Whether the ranks that meet in a node are those of the list, all of them: groups that no trace names go by that. */
static bool holds_members(const rs_expr_term *t, const rs_editor *x, uint32_t node)
{
    const rs_engine *e = x->e;
    bool same = e->kind[node] & RS_ENGINE_MEETS;
    if (same) {
        const rs_coll_instance *in =
            &e->coll.instances[e->meetings[e->meeting_of[rs_engine_member(e, node)]].instance];
        int64_t listed = 0;
        for (size_t i = 0; i < t->n; i++)
            listed = rs_add_sat(listed,
                                rs_add_sat(rs_sub_sat(t->values[i].span.last, t->values[i].span.first), 1));
        same = listed == in->n;
        for (uint32_t i = in->first; same && i < in->first + in->n; i++) {
            const int64_t rank = x->rank_of[e->coll.arrivals[i].rank];
            bool found = false;
            for (size_t k = 0; k < t->n; k++)
                found |= rank >= t->values[k].span.first && rank <= t->values[k].span.last;
            same = found;
        }
    }
    return same == (t->op == RS_OP_EQ || t->op == RS_OP_IN);
}

static rs_truth truth_of(bool holds)
{
    return holds ? RS_YES : RS_NO;
}

/* Whether nodes of one label may differ in it. */
static bool is_of_node(const rs_expr_term *t)
{
    return t->field == RS_SELECT_STEP || t->field == RS_SELECT_COLLECTIVE || t->field == RS_SELECT_GROUP ||
           t->field == RS_SELECT_MEMBERS || t->field == RS_SELECT_BYTES || t->field == RS_SELECT_BEHIND;
}

/* What a label says about a term. */
static rs_truth holds_of_label(const rs_expr_term *t, rs_editor *x, size_t rank, const rs_skeleton_label *l)
{
    const rs_skeleton_lane *lane = &x->e->ranks[rank]->lanes[l->lane];
    if (is_of_node(t)) return RS_UNKNOWN;
    switch (t->field) {
    case RS_SELECT_NAME: return truth_of(holds_name(t, x, rank, l->name));
    case RS_SELECT_OPERATOR: return truth_of(holds_name(t, x, rank, l->operator_name));
    case RS_SELECT_RANK: return truth_of(rs_term_holds_whole(t, x->rank_of[rank]));
    case RS_SELECT_STREAM: return truth_of(rs_term_holds_whole(t, lane->is_thread ? -1 : lane->stream));
    default: return RS_YES; /* class and part choose what is changed; the time is looked at then */
    }
}

static bool holds(const rs_expr_term *t, rs_editor *x, size_t rank, uint32_t local, const rs_coll_shape *comm)
{
    const rs_skeleton *s = x->e->ranks[rank];
    const char *kind;
    switch (t->field) {
    case RS_SELECT_STEP:
        return rs_term_holds_whole(
            t, rs_skeleton_step_of(s, local) < 0 ? -1 : s->steps[rs_skeleton_step_of(s, local)].number);
    case RS_SELECT_COLLECTIVE:
        kind = comm ? rs_coll_kind_name(comm->kind) : NULL;
        return kind && rs_term_holds_text(t, kind, strlen(kind));
    case RS_SELECT_GROUP: return comm && holds_group(t, &s->comm->pool, comm);
    case RS_SELECT_MEMBERS: return comm && holds_members(t, x, x->e->node_base[rank] + local);
    case RS_SELECT_BYTES: return comm && rs_term_holds_whole(t, bytes_of(s->comm, comm));
    case RS_SELECT_BEHIND: {
        uint32_t name = x->behind ? x->behind[x->e->node_base[rank] + local] : RS_NO_STRING;
        return name != RS_NO_STRING && holds_name(t, x, rank, name);
    }
    default: return holds_of_label(t, x, rank, rs_skeleton_at(s, local)) == RS_YES;
    }
}

/* Before a rank's operations are asked for. False: the edit selects none of them. */
static bool begin_rank(const rs_edit *edit, rs_editor *x, size_t rank)
{
    const uint64_t required = rs_expr_required(edit->selector);
    for (size_t i = 0; i < rs_edit_n_terms(edit); i++) {
        const rs_expr_term *t = rs_edit_term(edit, i);
        if (required >> i & 1 && t->field == RS_SELECT_RANK && !rs_term_holds_whole(t, x->rank_of[rank]))
            return false;
    }
    x->all_required = required + 1 == UINT64_C(1) << rs_edit_n_terms(edit) % 64;
    forget_names(x, edit, rank);
    return true;
}

/* What the selector says of all nodes of a label. Labels are few: most nodes need no closer look. */
static rs_truth of_label(const rs_expr *e, rs_editor *x, size_t rank, uint32_t label)
{
    rs_truths known = {.n = 0};
    for (size_t i = 0; i < e->n_steps; i++)
        if (e->steps[i] >= RS_EXPR_AND)
            rs_truths_join(&known, e->steps[i]);
        else
            rs_truths_push(
                &known, holds_of_label(&e->terms[e->steps[i]], x, rank, &x->e->ranks[rank]->labels[label]));
    return rs_truths_end(&known);
}

/* Whether all terms hold of a piece of work or a point; comm: its communication, or NULL. */
static bool selects(const rs_edit *edit, rs_editor *x, size_t rank, uint32_t local, const rs_coll_shape *comm)
{
    const rs_expr *e = edit->selector;
    if (x->of_label) {
        const uint32_t label = rs_packed_at(&x->e->ranks[rank]->label, local);
        uint8_t *seen = &x->of_label[label];
        if (!*seen) *seen = (uint8_t)(1 + of_label(e, x, rank, label));
        if (*seen != 1 + RS_UNKNOWN) return *seen == 1 + RS_YES;
        if (x->all_required) { /* and those of the label hold */
            for (size_t i = 0; i < e->n_terms; i++)
                if (is_of_node(&e->terms[i]) && !holds(&e->terms[i], x, rank, local, comm)) return false;
            return true;
        }
    }
    rs_truths known = {.n = 0};
    for (size_t i = 0; i < e->n_steps; i++)
        if (e->steps[i] >= RS_EXPR_AND)
            rs_truths_join(&known, e->steps[i]);
        else
            rs_truths_push(&known, truth_of(holds(&e->terms[e->steps[i]], x, rank, local, comm)));
    return rs_truths_end(&known) == RS_YES;
}

/* Whether its terms hold of a time, ns. */
static bool edit_selects_time(const rs_edit *edit, int64_t ns)
{
    for (size_t i = 0; i < rs_edit_n_terms(edit); i++) {
        const rs_expr_term *t = rs_edit_term(edit, i);
        if (t->field == RS_SELECT_US && !rs_term_holds_whole(t, ns)) return false;
    }
    return true;
}

static rs_edit_target edit_target_of(const rs_edit *edit, rs_part *part)
{
    static const rs_part parts[] = {RS_PART_HOST, RS_PART_LOADER, RS_PART_LAUNCH, RS_PART_GAP};
    rs_edit_target target = RS_TARGET_WORK;
    *part = RS_N_PARTS;
    for (size_t i = 0; i < rs_edit_n_terms(edit); i++) {
        const rs_expr_term *t = rs_edit_term(edit, i);
        const int64_t word = t->values->span.first;
        switch (t->field) {
        case RS_SELECT_CLASS:
            if (word == RS_CLASS_OF_COMMUNICATION) target = RS_TARGET_COMM;
            if (word == RS_CLASS_OF_COMPUTATION) *part = RS_PART_COMPUTE;
            if (word == RS_CLASS_OF_MEMORY) *part = RS_PART_COPY;
            break;
        case RS_SELECT_COLLECTIVE:
        case RS_SELECT_GROUP:
        case RS_SELECT_MEMBERS:
        case RS_SELECT_BYTES: target = RS_TARGET_COMM; break;
        case RS_SELECT_PART:
            *part = parts[word];
            target = word <= RS_PART_OF_LOADER ? RS_TARGET_HOST : RS_TARGET_LATENCY;
            break;
        default: break;
        }
    }
    return target;
}

/* ---- scale --------------------------------------------------------------------------------------------- */

static int64_t scaled(const rs_edit *edit, int64_t ns, int64_t median)
{
    if (ns == RS_NO_EDGE) return ns;
    switch (edit->scaling) {
    case RS_SCALE_MEDIAN: return median;
    case RS_SCALE_TO: return edit->ns;
    default: return rs_edit_ns((double)ns * edit->factor);
    }
}

bool rs_edit_is_plain_work(const rs_editor *x, size_t rank, uint32_t i)
{
    const uint8_t kind = x->e->kind[x->e->node_base[rank] + i];
    return kind & RS_ENGINE_WORK && !(kind & RS_ENGINE_MEETS) &&
           rs_skeleton_at(x->e->ranks[rank], i)->part != RS_PART_TRANSFER;
}

/* pass 0 collects values for the median, pass 1 changes them. */
static void scale_work(const rs_edit *edit, rs_editor *x, rs_part part, int64_t *values, size_t *n,
                       int64_t median)
{
    for (size_t r = 0; r < x->e->n_ranks; r++) {
        const rs_skeleton *s = x->e->ranks[r];
        if (!begin_rank(edit, x, r)) continue;
        for (uint32_t i = 0; i < s->n; i++) {
            if (!rs_edit_is_plain_work(x, r, i) || (part != RS_N_PARTS && rs_skeleton_at(s, i)->part != part))
                continue;
            if (!selects(edit, x, r, i, NULL)) continue;
            int64_t *w = &x->w->work[x->e->node_base[r] + i];
            if (!edit_selects_time(edit, *w)) continue;
            if (values)
                values[(*n)++] = *w;
            else
                rs_edit_change(x, w, scaled(edit, *w, median));
        }
    }
}

/* Of meetings the transfer, of communication without peers its whole duration. */
static void scale_comm(const rs_edit *edit, rs_editor *x, int64_t *values, size_t *n, int64_t median,
                       uint8_t *done)
{
    const rs_engine *e = x->e;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        if (!begin_rank(edit, x, r)) continue;
        for (size_t i = 0; i < s->n_comm; i++) {
            uint32_t local = s->comm_node[i], node = e->node_base[r] + local;
            if (local == RS_NO_NODE ||
                !selects(edit, x, r, local, rs_coll_shape_of(s->comm, &s->comm->ops[i])))
                continue;
            int64_t *w = &x->w->work[node];
            if (e->kind[node] & RS_ENGINE_MEETS) {
                uint32_t k = e->meeting_of[rs_engine_member(e, node)];
                if (done[k]) continue;
                done[k] = 1;
                w = &x->w->transfer[k];
            } else if (e->kind[node] & RS_ENGINE_COMES) {
                continue; /* it did not wait: its time is its peer's */
            }
            if (!edit_selects_time(edit, *w)) continue;
            if (values)
                values[(*n)++] = *w;
            else
                rs_edit_change(x, w, scaled(edit, *w, median));
        }
    }
}

/* What an edit of this kind changes of an edge: of host threads what lies between their points, of a launch its call's duration, too;
 * RS_NO_EDGE: nothing. */
static int64_t part_of_edge(const rs_skeleton *s, uint32_t k, int64_t weight, rs_edit_target target,
                            rs_part part)
{
    const uint8_t cost = rs_edge_cost(s, k);
    if (weight == RS_NO_EDGE) return RS_NO_EDGE;
    if (target == RS_TARGET_HOST && part == RS_PART_HOST && cost < RS_COST_INSIDE)
        return rs_edge_base(s, k) < weight ? rs_edge_base(s, k) : weight;
    if (rs_edge_part(s, k) != part || (target != RS_TARGET_LATENCY && cost < RS_COST_CALL)) return RS_NO_EDGE;
    return target == RS_TARGET_LATENCY && cost < RS_COST_INSIDE ? rs_sub_sat(weight, rs_edge_base(s, k))
                                                                : weight;
}

static void scale_edges(const rs_edit *edit, rs_editor *x, rs_edit_target target, rs_part part,
                        int64_t *values, size_t *n, int64_t median)
{
    for (size_t r = 0; r < x->e->n_ranks; r++) {
        const rs_skeleton *s = x->e->ranks[r];
        int64_t *weight = x->w->edge + x->e->edge_base[r];
        if (!begin_rank(edit, x, r)) continue;
        for (uint32_t i = 1; i < s->n; i++) {
            bool selected = false;
            RS_EDGES_INTO(s, i, k) {
                const int64_t own = part_of_edge(s, k, weight[k], target, part);
                if (own == RS_NO_EDGE) continue;
                if (!selected && !selects(edit, x, r, i, NULL)) break;
                selected = true;
                if (!edit_selects_time(edit, own)) continue;
                if (values)
                    values[(*n)++] = own;
                else
                    rs_edit_change(x, &weight[k],
                                   rs_add_sat(rs_sub_sat(weight[k], own), scaled(edit, own, median)));
            }
        }
    }
}

static bool asks_behind(const rs_edit *edit)
{
    for (size_t i = 0; i < rs_edit_n_terms(edit); i++)
        if (rs_edit_term(edit, i)->field == RS_SELECT_BEHIND) return true;
    return false;
}

static rs_status scale(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    const rs_engine *e = x->e;
    rs_part part;
    rs_edit_target target = edit_target_of(edit, &part);
    bool by_median = edit->scaling == RS_SCALE_MEDIAN;
    int64_t *values = by_median ? rs_malloc((e->n_nodes + e->n_edges + 1) * sizeof *values) : NULL;
    RS_LOCAL uint8_t *done = rs_malloc(e->n_meetings + 1);
    int64_t median = 0;
    if ((by_median && !values) || !done) {
        rs_free(values);
        return rs_fail_nomem(err, "a question");
    }
    rs_status status = asks_behind(edit) && !x->behind ? rs_edit_find_behind(x, err) : RS_OK;
    for (int pass = by_median ? 0 : 1; status == RS_OK && pass < 2; pass++) {
        size_t n = 0;
        int64_t *into = pass ? NULL : values;
        memset(done, 0, e->n_meetings + 1);
        if (target == RS_TARGET_WORK)
            scale_work(edit, x, part, into, &n, median);
        else if (target == RS_TARGET_COMM)
            scale_comm(edit, x, into, &n, median, done);
        else
            scale_edges(edit, x, target, part, into, &n, median);
        if (!pass) median = rs_median(values, n);
    }
    rs_free(values);
    return status;
}

/* ---- network ------------------------------------------------------------------------------------------- */

int64_t rs_meeting_bytes(const rs_engine *e, const rs_meeting *m)
{
    const rs_coll_instance *c = &e->coll.instances[m->instance];
    int64_t most = -1;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *a = &e->coll.arrivals[i];
        int64_t bytes = bytes_of(e->comm[a->rank], rs_coll_shape_at(&e->coll, a));
        if (bytes > most) most = bytes;
    }
    return most;
}

typedef struct transfer {
    int64_t bytes, ns;
    uint32_t meeting, n; /* n: members of the group */
    int kind;
    bool on_host, between_hosts;
} transfer;

static int by_class(const void *a, const void *b)
{
    const transfer *x = a, *y = b;
    if (x->kind != y->kind) return x->kind - y->kind;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->meeting < y->meeting ? -1 : x->meeting > y->meeting;
}

/* Where the lower envelope of transfers over bytes meets 0 bytes; with fewer sizes than tell the least
 * transfer. points: one a size, the least of each, by bytes. */
static int64_t intercept(const transfer *const *points, size_t n)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (points[i]->ns < least) least = points[i]->ns;
    if (n < RS_SIZES_OF_FIT) return n ? least : 0;
    /* the envelope's first edge is the one with the least slope from its first point */
    double slope = INFINITY;
    for (size_t i = 1; i < n; i++) {
        double s = (double)(points[i]->ns - points[0]->ns) / (double)(points[i]->bytes - points[0]->bytes);
        if (s < slope) slope = s;
    }
    double at = (double)points[0]->ns - slope * (double)points[0]->bytes;
    if (at < 0) at = 0;
    return at > (double)least ? least : rs_int_of(at);
}

/* Whether the question is how much of one size's transfers is the same for any size. */
static bool merges(rs_latency_of of)
{
    return of == RS_LATENCY_USUAL || of == RS_LATENCY_MOST;
}

static int64_t on_slow_links(const transfer *t)
{
    return rs_edit_most_transfer((rs_coll_kind)t->kind, t->n, t->bytes, t->between_hosts);
}

/* Links are of any speed between the slowest and the fastest: the middle of both, as they differ by factors. */
static int64_t on_usual_links(const transfer *t)
{
    const rs_coll_kind kind = (rs_coll_kind)t->kind;
    const bool between =
        t->between_hosts && rs_edit_least_transfer(kind, t->n, t->bytes, true) <= t->ns; /* else faster */
    const int64_t least = rs_edit_least_transfer(kind, t->n, t->bytes, between),
                  most = rs_edit_most_transfer(kind, t->n, t->bytes, between);
    return most < INT64_MAX ? rs_int_of(sqrt((double)least * (double)most)) : 0;
}

int64_t *rs_edit_latencies(const rs_engine *e, rs_latency_of of)
{
    int64_t *out = rs_malloc((e->n_meetings + 1) * sizeof *out);
    transfer *all = rs_malloc((e->n_meetings + 1) * sizeof *all);
    RS_LOCAL const transfer **points = rs_malloc((e->n_meetings + 1) * sizeof *points);
    size_t n = e->n_meetings;
    bool ok = out && all && points;
    for (uint32_t k = 0; ok && k < n; k++) {
        const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
        const rs_coll_arrival *a = &e->coll.arrivals[c->first];
        all[k] = (transfer){.bytes = rs_meeting_bytes(e, &e->meetings[k]),
                            .ns = e->meetings[k].transfer,
                            .meeting = k,
                            .n = c->n,
                            .on_host = c->on_host,
                            .between_hosts = rs_edit_is_between_hosts(e, c),
                            .kind = (int)rs_coll_shape_at(&e->coll, a)->kind};
    }
    if (ok && n) qsort(all, n, sizeof *all, by_class);
    for (size_t i = 0, next; ok && i < n; i = next) {
        size_t n_points = 0;
        for (next = i; next < n && all[next].kind == all[i].kind && all[next].n == all[i].n; next++)
            if (all[next].bytes >= 0 && (!n_points || points[n_points - 1]->bytes != all[next].bytes))
                points[n_points++] = &all[next];
        int64_t alpha = n_points ? intercept(points, n_points) : 0;
        /* transfers of one size differ by chance, and not because some of them grow */
        if (n_points == 1 && merges(of)) alpha = points[0][(&all[next - 1] - points[0]) / 2].ns;
        if (!n_points && merges(of)) alpha = all[i + (next - i) / 2].ns;
        const int64_t middle = alpha;
        for (size_t k = i; k < next; k++) {
            const transfer *t = &all[k];
            if (n_points < RS_SIZES_OF_FIT && of == RS_LATENCY_BOUND)
                alpha = rs_sub_sat(t->ns, t->on_host ? INT64_MAX : on_slow_links(t));
            if (n_points && n_points < RS_SIZES_OF_FIT && of == RS_LATENCY_USUAL && !t->on_host && middle > 0)
                alpha =
                    rs_int_of((double)t->ns * (double)rs_sub_sat(middle, on_usual_links(t)) / (double)middle);
            const bool fixed = t->bytes < 0 && (n_points || !merges(of));
            out[t->meeting] = fixed || alpha > t->ns ? t->ns : alpha < 0 ? 0 : alpha;
        }
    }
    rs_free(all);
    if (ok) return out;
    rs_free(out);
    return NULL;
}

static rs_status network(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    RS_LOCAL int64_t *alpha = rs_edit_latencies(x->e, RS_LATENCY_LEAST);
    if (!alpha) return rs_fail_nomem(err, "a question");
    for (size_t k = 0; k < x->e->n_meetings; k++) {
        int64_t *w = &x->w->transfer[k], fixed = edit->end == RS_END_OTHER ? 0
                                                 : alpha[k] < *w           ? alpha[k]
                                                                           : *w;
        rs_edit_change(x, w, rs_add_sat(fixed, rs_edit_ns((double)(*w - fixed) / edit->factor)));
    }
    return RS_OK;
}

/* ---- loader -------------------------------------------------------------------------------------------- */

static void no_loader(rs_editor *x)
{
    for (size_t r = 0; r < x->e->n_ranks; r++) {
        const rs_skeleton *s = x->e->ranks[r];
        for (uint32_t k = 0; k < s->n_edges; k++)
            if (rs_edge_part(s, k) == RS_PART_LOADER)
                rs_edit_change(x, &x->w->edge[x->e->edge_base[r] + k], 0);
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

rs_status rs_what_if_apply(const rs_what_if *q, const rs_engine *e, const rs_roles *roles,
                           const int64_t *rank_of, rs_weights *weights, size_t *n_changed, rs_error *err)
{
    rs_editor x = {.e = e, .roles = roles, .rank_of = rank_of, .w = weights};
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < q->n; i++) {
        const rs_edit *edit = &q->edits[i];
        switch (edit->kind) {
        case RS_EDIT_SCALE: status = scale(edit, &x, err); break;
        case RS_EDIT_NO_STRAGGLERS:
        case RS_EDIT_BALANCED: status = rs_edit_even_out(edit, &x, err); break;
        case RS_EDIT_NETWORK: status = network(edit, &x, err); break;
        case RS_EDIT_NO_LOADER: no_loader(&x); break;
        case RS_EDIT_OVERLAP: status = rs_edit_overlap(edit, &x, err); break;
        case RS_EDIT_GRAPHS: status = rs_edit_graphs(&x, err); break;
        case RS_EDIT_NO_SYNC: status = rs_edit_no_sync(edit, &x, err); break;
        case RS_EDIT_FUSE: status = rs_edit_fuse(edit, &x, err); break;
        case RS_EDIT_GROUP_SIZE: status = rs_edit_group_size(edit, &x, err); break;
        case RS_EDIT_PAYLOAD: status = rs_edit_payload(edit, &x, err); break;
        case RS_EDIT_MICRO_BATCHES: status = rs_edit_micro_batches(edit, &x, err); break;
        case RS_EDIT_SHARD: status = rs_edit_shard(edit, &x, err); break;
        case RS_EDIT_EXPERTS: status = rs_edit_experts(edit, &x, err); break;
        default: status = rs_edit_coalesce(edit, &x, err); break;
        }
    }
    if (status == RS_OK && (weights->lost || (weights->n_extra && !rs_weights_sort_extra(weights))))
        status = rs_fail_nomem(err, "a question");
    rs_free_all(x.behind, x.seen);
    *n_changed = x.n_changed;
    return status;
}
