/* Which operation a silent rank missed. Others may wait for it in several; it should have issued first the
 * one that nobody who issued several of them issued after another. */
#include "base/search.h"
#include "flight/graph.h"

#include <string.h>

#define MAX_LOOKS 4096 /* sequence numbers looked at in a group for the first that is missing */

typedef struct candidates {
    rs_fl_missed *items;
    size_t n, capacity;
    bool nomem;
} candidates;

static void add(candidates *c, rs_fl_missed m)
{
    for (size_t i = 0; i < c->n; i++) {
        rs_fl_missed *known = &c->items[i];
        if (known->group != m.group || known->seq != m.seq || known->p2p != m.p2p ||
            (m.p2p && known->rank != m.rank))
            continue;
        bool proven = known->proven || m.proven;
        if (m.when < known->when) *known = m;
        known->proven = proven;
        return;
    }
    if (!RS_GROW_ONE(c->items, c->n, c->capacity))
        c->nomem = true;
    else
        c->items[c->n++] = m;
}

/* The lowest sequence number above `after` that a member has, over all members; and who issued it first. */
static bool next_seq(const rs_flight *flight, uint32_t g, int64_t after, rs_fl_missed *out)
{
    const rs_fl_group *group = &flight->groups[g];
    bool found = false;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *r = &flight->ranks[member->rank];
        const uint32_t *order = r->order + member->begin;
        size_t low;
        RS_SEARCH(low, member->n, r->entries[order[low]].seq <= after);
        if (low == member->n) continue;
        const rs_fl_entry *e = &r->entries[order[low]];
        int64_t ns = e->created ? rs_fl_common(r, e->created) : INT64_MAX;
        if (found && (e->seq > out->seq || (e->seq == out->seq && ns >= out->when))) continue;
        found = true;
        *out =
            (rs_fl_missed){.group = g, .rank = member->rank, .entry = order[low], .seq = e->seq, .when = ns};
    }
    return found;
}

/* The first collective of a group that a rank with a dump has not issued. */
static void missed_collective(rs_fl_graph *g, uint32_t r, const rs_fl_member *member, candidates *c)
{
    rs_flight *flight = g->flight;
    int64_t after = member->issued_seq != RS_FL_UNKNOWN ? member->issued_seq
                    : member->last_seq != RS_FL_UNKNOWN ? member->last_seq
                                                        : INT64_MIN;
    rs_fl_missed m;
    for (int looks = 0; looks < MAX_LOOKS && next_seq(flight, member->group, after, &m); looks++) {
        uint8_t kind = rs_fl_call_of(flight, &flight->ranks[m.rank].entries[m.entry])->kind;
        rs_fl_presence_of_all(flight, member->group, m.seq, m.when == INT64_MAX ? 0 : m.when,
                              rs_fl_one_sided(kind), g->answers);
        uint32_t slot = rs_fl_slot_of(&flight->groups[member->group], flight->ranks[r].rank);
        if (slot != RS_FL_NONE && g->answers[slot].presence == RS_FL_ABSENT) {
            m.proven = flight->ranks[m.rank].entries[m.entry].state != RS_FL_COMPLETED;
            add(c, m);
            return;
        }
        if (slot == RS_FL_NONE || flight->ranks[r].shape == RS_FL_FULL) return;
        after = m.seq;
    }
}

/* The first transfer with each peer of a group that the peer has open and the rank has not issued. */
static rs_status missed_transfers(rs_fl_graph *g, uint32_t r, const rs_fl_member *member, candidates *c,
                                  rs_error *err)
{
    rs_flight *flight = g->flight;
    const rs_fl_p2p *p2p;
    rs_status status = rs_fl_p2p_of(flight, member->group, &p2p, err);
    for (size_t i = 0; status == RS_OK && i < p2p->n_pairs; i++) {
        const rs_fl_pair *pair = &p2p->pairs[i];
        bool sends = pair->src_rank == r, takes = pair->dst_rank == r;
        uint32_t peer = sends ? pair->dst_rank : pair->src_rank;
        if (sends == takes || peer == RS_FL_NONE) continue;
        int64_t at = sends ? (int64_t)pair->n_sends + pair->shift : (int64_t)pair->n_recvs - pair->shift;
        uint32_t n = sends ? pair->n_recvs : pair->n_sends, begin = sends ? pair->recvs : pair->sends;
        if (at < 0 || at >= n) continue;
        uint32_t entry = p2p->entries[begin + (uint32_t)at];
        const rs_fl_entry *e = &flight->ranks[peer].entries[entry];
        int64_t ns = rs_fl_common(&flight->ranks[peer], e->created);
        /* In a dump of active entries what is not there may be completed; of a transfer that is no part of a
         * batch nobody completes one end alone. */
        bool active = flight->ranks[r].shape == RS_FL_ACTIVE;
        bool proven = active ? !rs_fl_in_batch(&flight->ranks[peer], entry) : pair->exact;
        if (e->state != RS_FL_COMPLETED)
            add(c, (rs_fl_missed){.group = member->group,
                                  .rank = peer,
                                  .entry = entry,
                                  .seq = e->p2p_seq,
                                  .when = ns ? ns : INT64_MAX,
                                  .p2p = true,
                                  .proven = proven});
    }
    return status;
}

/* Where in a rank's record a candidate stands; RS_FL_NONE when it has not issued it. */
static uint32_t place_of(const rs_flight *flight, const rs_fl_missed *m, const rs_fl_member *member)
{
    rs_fl_unit unit;
    if (m->p2p) return m->rank == member->rank ? m->entry : RS_FL_NONE;
    if (!rs_fl_find_unit(flight, member, m->seq, &unit)) return RS_FL_NONE;
    return flight->ranks[member->rank].order[unit.first];
}

/* Whether some rank issued a before b. */
static bool comes_before(const rs_flight *flight, const rs_fl_missed *a, const rs_fl_missed *b)
{
    const rs_fl_group *group = &flight->groups[b->group];
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *own = flight->by_group[group->first_member + m];
        uint32_t later = place_of(flight, b, own);
        if (later == RS_FL_NONE) continue;
        const rs_fl_member *other = rs_fl_member_of(flight, own->rank, a->group);
        uint32_t earlier = other ? place_of(flight, a, other) : RS_FL_NONE;
        if (earlier != RS_FL_NONE && earlier < later) return true;
    }
    return false;
}

static void choose(const rs_flight *flight, const candidates *c, rs_fl_missed *out)
{
    for (int pass = 0; pass < 2 && out->rank == RS_FL_NONE; pass++)
        for (size_t i = 0; i < c->n; i++) {
            bool after = false;
            for (size_t k = 0; pass == 0 && !after && k < c->n; k++)
                after = k != i && comes_before(flight, &c->items[k], &c->items[i]);
            if (after) continue;
            if (out->rank == RS_FL_NONE || c->items[i].when < out->when) *out = c->items[i];
        }
}

rs_status rs_fl_first_missed(rs_fl_graph *g, uint32_t node, rs_fl_missed *out, rs_error *err)
{
    rs_flight *flight = g->flight;
    candidates c = {0};
    rs_status status = RS_OK;
    *out = (rs_fl_missed){.group = RS_FL_NONE, .rank = RS_FL_NONE, .when = INT64_MAX};
    for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++) {
        const rs_fl_op_node *op = &g->ops[g->back[b] - rs_fl_op_base(g)];
        add(&c, (rs_fl_missed){.group = op->group,
                               .rank = op->rank,
                               .entry = op->entry,
                               .seq = op->seq,
                               .when = op->first_created,
                               .p2p = op->p2p});
    }
    for (size_t i = 0; node < flight->n_ranks && status == RS_OK && i < flight->ranks[node].n_members; i++) {
        const rs_fl_member *member = &flight->ranks[node].members[i];
        missed_collective(g, node, member, &c);
        status = missed_transfers(g, node, member, &c, err);
    }
    bool proven = false;
    for (size_t i = 0; i < c.n; i++) proven = proven || c.items[i].proven;
    if (status == RS_OK && c.nomem) status = rs_fail_nomem(err, "waits");
    if (status == RS_OK) choose(flight, &c, out);
    out->proven = proven;
    rs_free(c.items);
    return status;
}
