/* micro-batches*F: each micro-batch of a pipeline as F smaller ones, which pass from stage to stage sooner. An interleaved schedule of F parts of
 * the model a stage idles as little.
 *
 * A pass is the work of a stream between two messages: from what waits for one that is received, or from the end of the pass before, to what one
 * that is sent waits for. The message of its first part is sent when 1/F of the pass is done: the edge to it is that much shorter. The
 * receiver's pass ends no earlier than the sender's last part, its message, and the receiver's own last part take. */
#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "engine/edits_terms.h"
#include "match/collective_wait.h"
#include "match/stages.h"

/* By node of the job. */
typedef struct cutter {
    rs_editor *x;
    double parts;
    uint8_t *sent;   /* a message waits for its end */
    uint32_t *first; /* of its pass; RS_NO_NODE: it is in none */
    uint32_t *last;  /* of a pass's first work: the last */
    uint32_t
        *feeds; /* of a message's receiving end: the first work of the pass that waits for it; RS_NO_NODE */
} cutter;

static bool is_message(const rs_engine *e, const rs_meeting *m)
{
    const rs_coll_instance *c = &e->coll.instances[m->instance];
    return m->n == 2 && rs_coll_shape_at(&e->coll, &e->coll.arrivals[c->first])->kind == RS_COLL_SEND_RECV;
}

/* The nodes that meet; false: it is no message, or does not say who sends. */
static bool sender_of(const rs_engine *e, const rs_meeting *m, uint32_t *sender, uint32_t *receiver)
{
    const rs_coll_arrival *from, *to;
    if (!is_message(e, m) || !rs_coll_message_ends(&e->coll, &e->coll.instances[m->instance], &from, &to))
        return false;
    const bool is_first = rs_engine_rank_of(e, e->members[m->first]) == from->rank;
    *sender = e->members[m->first + !is_first];
    *receiver = e->members[m->first + is_first];
    return true;
}

static bool computes(const rs_skeleton *s, uint32_t local)
{
    return rs_skeleton_is_work(s, local) && rs_skeleton_at(s, local)->part == RS_PART_COMPUTE;
}

/* The edge from computation that a message waits for; RS_NO_NODE: none is recorded. The latest source is taken. */
static uint32_t edge_to_message(const rs_skeleton *s, const int64_t *weight, uint32_t local)
{
    uint32_t best = RS_NO_NODE;
    RS_EDGES_INTO(s, local, k) {
        if (!(rs_edge_source(s, k) & 1) || !computes(s, rs_edge_source(s, k) >> 1) || weight[k] == RS_NO_EDGE)
            continue;
        if (best == RS_NO_NODE || rs_edge_source(s, k) > rs_edge_source(s, best)) best = k;
    }
    return best;
}

static bool waits_for_message(const cutter *c, size_t r, uint32_t local)
{
    const rs_engine *e = c->x->e;
    const rs_skeleton *s = e->ranks[r];
    bool found = false;
    RS_EDGES_INTO(s, local, k) {
        const uint32_t from = e->node_base[r] + (rs_edge_source(s, k) >> 1);
        if (!(rs_edge_source(s, k) & 1) || !(e->kind[from] & RS_ENGINE_MEETS)) continue;
        if (!is_message(e, &e->meetings[e->meeting_of[rs_engine_member(e, from)]])) continue;
        if (c->feeds[from] == RS_NO_NODE) c->feeds[from] = e->node_base[r] + local;
        found = true;
    }
    return found;
}

/* Passes of one rank, stream by stream. */
static bool find_passes(cutter *c, size_t r)
{
    const rs_engine *e = c->x->e;
    const rs_skeleton *s = e->ranks[r];
    const uint32_t base = e->node_base[r];
    RS_LOCAL uint32_t *open = rs_malloc((s->n_lanes + 1) * sizeof *open), /* by lane: the first of the pass */
        *before = rs_malloc((s->n_lanes + 1) * sizeof *before);           /* the work before */
    if (!open || !before) return false;
    for (size_t i = 0; i <= s->n_lanes; i++) open[i] = before[i] = RS_NO_NODE;
    for (uint32_t i = 1; i < s->n; i++) {
        if (!computes(s, i)) continue;
        const uint16_t lane = rs_skeleton_at(s, i)->lane;
        const uint32_t last = before[lane];
        const bool begins = waits_for_message(c, r, i) || last == RS_NO_NODE || c->sent[base + last] ||
                            rs_skeleton_step_of(s, last) != rs_skeleton_step_of(s, i);
        if (begins) open[lane] = i;
        /* where the message is of the same stream, nothing else says that what follows it waits for the pass before it */
        if (last != RS_NO_NODE && c->sent[base + last] &&
            !rs_weights_add(e, c->x->w, (rs_extra_edge){(base + last) << 1 | 1, base + i, 0}))
            return false;
        c->first[base + i] = base + open[lane];
        c->last[base + open[lane]] = base + i;
        before[lane] = i;
    }
    return true;
}

static int64_t length_of(const cutter *c, size_t r, uint32_t first, uint32_t last)
{
    const rs_engine *e = c->x->e;
    return rs_sub_sat(rs_skeleton_end(e->ranks[r], last - e->node_base[r]),
                      rs_skeleton_time(e->ranks[r], first - e->node_base[r]));
}

/* The receiver's pass waits for the sender's last part, too. */
static bool wait_for_last(cutter *c, uint32_t source, uint32_t receiver, int64_t transfer)
{
    const rs_engine *e = c->x->e;
    const uint32_t first = c->feeds[receiver];
    if (first == RS_NO_NODE) return true;
    const uint32_t last = c->last[first];
    const size_t r = rs_engine_rank_of(e, last);
    const int64_t part = rs_int_of((double)length_of(c, r, first, last) / c->parts);
    return rs_weights_add(
        e, c->x->w,
        (rs_extra_edge){source << 1 | 1, last,
                        rs_sub_sat(rs_add_sat(transfer, part),
                                   rs_skeleton_duration(e->ranks[r], last - e->node_base[r]))});
}

static bool send_sooner(cutter *c, const rs_meeting *m)
{
    const rs_engine *e = c->x->e;
    uint32_t sender, receiver;
    if (!sender_of(e, m, &sender, &receiver)) return true;
    const size_t r = rs_engine_rank_of(e, sender);
    const rs_skeleton *s = e->ranks[r];
    int64_t *weight = c->x->w->edge + e->edge_base[r];
    const uint32_t k = edge_to_message(s, weight, sender - e->node_base[r]);
    const uint32_t source = k == RS_NO_NODE ? RS_NO_NODE : e->node_base[r] + (rs_edge_source(s, k) >> 1);
    if (source == RS_NO_NODE || c->first[source] == RS_NO_NODE) return true;
    const double length = (double)length_of(c, r, c->first[source], source);
    if (length <= 0) return true;
    rs_edit_change(c->x, &weight[k], rs_sub_sat(weight[k], rs_int_of(length * (1 - 1 / c->parts))));
    return wait_for_last(c, source, receiver, c->x->w->transfer[m - e->meetings]);
}

static void mark_sent(cutter *c, const rs_meeting *m)
{
    const rs_engine *e = c->x->e;
    uint32_t sender, receiver;
    if (!sender_of(e, m, &sender, &receiver)) return;
    const size_t r = rs_engine_rank_of(e, sender);
    const uint32_t k =
        edge_to_message(e->ranks[r], c->x->w->edge + e->edge_base[r], sender - e->node_base[r]);
    if (k != RS_NO_NODE) c->sent[e->node_base[r] + (rs_edge_source(e->ranks[r], k) >> 1)] = 1;
}

#define LESS_EFFICIENT                                                                                       \
    0.1 /* twins of tests/pipeline take up to 9 % longer: gradients are accumulated for each micro-batch */

/* What smaller work costs at most: a share of it, every kernel's fixed part again for each part, and the host's calls. */
static void add_overhead(cutter *c)
{
    const rs_engine *e = c->x->e;
    int64_t least = INT64_MAX;
    for (size_t r = 0; r < e->n_ranks; r++)
        for (uint32_t i = 1; i < e->ranks[r]->n; i++) {
            const int64_t ns = c->x->w->work[e->node_base[r] + i];
            if (computes(e->ranks[r], i) && ns > 0 && ns < least) least = ns;
        }
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        int64_t *weight = c->x->w->edge + e->edge_base[r];
        for (uint32_t i = 1; i < s->n; i++) {
            int64_t *w = &c->x->w->work[e->node_base[r] + i];
            if (computes(s, i)) {
                if (*w > 0)
                    rs_edit_change(
                        c->x, w,
                        rs_int_of((double)*w * (1 + LESS_EFFICIENT) + (double)least * (c->parts - 1)));
                continue;
            }
            RS_EDGES_INTO(s, i, k)
                if (weight[k] > 0 && weight[k] < RS_HOST_GAP && rs_edge_part(s, k) == RS_PART_HOST &&
                    rs_edge_cost(s, k) >= RS_COST_CALL)
                    rs_edit_change(c->x, &weight[k], rs_int_of((double)weight[k] * c->parts));
        }
    }
}

rs_status rs_edit_micro_batches(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    const rs_engine *e = x->e;
    const size_t n = e->n_nodes + 1;
    RS_LOCAL uint8_t *sent = rs_calloc(n, 1);
    RS_LOCAL uint32_t *first = rs_malloc(n * sizeof *first), *last = rs_malloc(n * sizeof *last),
                      *feeds = rs_malloc(n * sizeof *feeds);
    if (!sent || !first || !last || !feeds) return rs_fail_nomem(err, "a question");
    cutter c = {x, (double)edit->number, sent, first, last, feeds};
    for (size_t i = 0; i < n; i++) first[i] = last[i] = feeds[i] = RS_NO_NODE;
    for (size_t k = 0; k < e->n_meetings; k++) mark_sent(&c, &e->meetings[k]);
    bool ok = true;
    for (size_t r = 0; ok && r < e->n_ranks; r++) ok = find_passes(&c, r);
    for (size_t k = 0; ok && k < e->n_meetings; k++) ok = send_sooner(&c, &e->meetings[k]);
    if (ok && x->n_changed && edit->end == RS_END_OTHER) add_overhead(&c);
    return ok ? RS_OK : rs_fail_nomem(err, "a question");
}
