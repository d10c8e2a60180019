/* What the wait-for graph ends in: ranks that never came, operations that hang, circles. */
#include "flight/graph.h"

#include <string.h>

/* The first thing others have that a rank never issued, over all its groups. */
typedef struct missed {
    uint32_t group, rank, entry; /* an entry of one who did */
    int64_t seq, when;
    bool p2p;
} missed;

static void consider(missed *m, uint32_t group, bool p2p, int64_t seq, int64_t when, uint32_t rank,
                     uint32_t entry)
{
    if (m->rank != RS_FL_NONE && when >= m->when) return;
    *m = (missed){.group = group, .rank = rank, .entry = entry, .seq = seq, .when = when, .p2p = p2p};
}

/* The lowest sequence number above `after` that a member has, over all members; and who issued it first. */
static bool next_seq(const rs_flight *flight, uint32_t g, int64_t after, int64_t *seq, uint32_t *rank,
                     uint32_t *entry, int64_t *when)
{
    const rs_fl_group *group = &flight->groups[g];
    bool found = false;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = flight->by_group[group->first_member + m];
        const rs_fl_rank *r = &flight->ranks[member->rank];
        const uint32_t *order = r->order + member->begin;
        uint32_t low = 0, high = member->n;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (r->entries[order[middle]].seq <= after)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == member->n) continue;
        const rs_fl_entry *e = &r->entries[order[low]];
        int64_t ns = e->created ? rs_fl_common(r, e->created) : INT64_MAX;
        if (found && (e->seq > *seq || (e->seq == *seq && ns >= *when))) continue;
        found = true;
        *seq = e->seq;
        *rank = member->rank;
        *entry = order[low];
        *when = ns;
    }
    return found;
}

static void first_missed(rs_fl_graph *g, uint32_t node, missed *m)
{
    rs_flight *flight = g->flight;
    *m = (missed){.group = RS_FL_NONE, .rank = RS_FL_NONE, .when = INT64_MAX};
    for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++) {
        const rs_fl_op_node *op = &g->ops[g->back[b] - rs_fl_op_base(g)];
        consider(m, op->group, op->p2p, op->seq, op->first_created, op->rank, op->entry);
    }
    if (node >= flight->n_ranks) return;
    const rs_fl_rank *rank = &flight->ranks[node];
    for (size_t i = 0; i < rank->n_members; i++) {
        const rs_fl_member *member = &rank->members[i];
        int64_t seq = 0, when = 0;
        uint32_t by = 0, entry = 0;
        rs_fl_state state;
        if (member->last_seq == RS_FL_UNKNOWN ||
            !next_seq(flight, member->group, member->last_seq, &seq, &by, &entry, &when))
            continue;
        if (rs_fl_presence_of(flight, node, member->group, seq, when == INT64_MAX ? 0 : when, &state) ==
            RS_FL_ABSENT)
            consider(m, member->group, false, seq, when, by, entry);
    }
}

/* Adds culprits to a finding of the same kind and operation, or makes a new one. */
static rs_status add_or_join(rs_fl_graph *g, const rs_fl_found *f, int64_t culprit, rs_error *err)
{
    for (size_t i = 0; i < g->a->n_found; i++) {
        rs_fl_found *known = &g->a->found[i];
        if (known->finding.verdict != f->finding.verdict || known->group != f->group ||
            known->stage != f->stage || known->finding.seq != f->finding.seq ||
            known->finding.p2p != f->finding.p2p)
            continue;
        size_t n = known->finding.n_culprits, at = 0;
        int64_t *more = rs_arena_alloc(&g->flight->arena, (n + 1) * sizeof *more);
        if (!more) return rs_fail_nomem(err, "a finding");
        while (at < n && known->finding.culprits[at] < culprit) at++;
        if (at < n && known->finding.culprits[at] == culprit) return RS_OK;
        memcpy(more, known->finding.culprits, at * sizeof *more);
        more[at] = culprit;
        if (n > at) memcpy(more + at + 1, known->finding.culprits + at, (n - at) * sizeof *more);
        known->finding.culprits = more;
        known->finding.n_culprits = n + 1;
        if (f->finding.n_waiters > known->finding.n_waiters) known->finding.n_waiters = f->finding.n_waiters;
        return RS_OK;
    }
    return rs_fl_add_found(g->a, f, &culprit, 1, err);
}

static rs_status sink_rank(rs_fl_graph *g, uint32_t node, rs_error *err)
{
    missed m;
    first_missed(g, node, &m);
    if (m.rank == RS_FL_NONE) return RS_OK; /* nobody waits for it and it missed nothing */
    bool surely = false, waited_for = g->back_at[node] < g->back_at[node + 1];
    for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++)
        surely = surely || !g->ops[g->back[b] - rs_fl_op_base(g)].obscure;
    if (!waited_for) surely = true;
    rs_fl_found f = {.finding = {.verdict = surely ? RS_FLIGHT_RANK_MISSING : RS_FLIGHT_DUMP_MISSING,
                                 .seq = m.seq,
                                 .p2p = m.p2p},
                     .group = m.group,
                     .rank = m.rank,
                     .entry = m.entry,
                     .partner_rank = RS_FL_NONE,
                     .when = m.when,
                     .stage = !surely      ? RS_FL_STAGE_DUMP
                              : waited_for ? RS_FL_STAGE_ABSENT
                                           : RS_FL_STAGE_QUIET_ABSENT};
    f.finding.n_waiters = waited_for ? rs_fl_waiters_of_part(g, g->part[node]) : 0;
    return add_or_join(g, &f, rs_fl_rank_of_node(g, node), err);
}

/* Where every rank of an all-to-all gives as much as it takes, the splits are even, and all should have the
 * same size. By itself that is no proof; that the operation hangs makes it one. False when out of memory. */
static bool uneven_exchange(rs_fl_graph *g, const rs_fl_op_node *op, rs_fl_found *f, int64_t *culprits,
                            size_t *n)
{
    rs_flight *flight = g->flight;
    const rs_fl_group *group = &flight->groups[op->group];
    uint32_t *slots = rs_malloc(group->n * sizeof *slots), *entries = rs_malloc(group->n * sizeof *entries);
    size_t known = 0, best = 0;
    int64_t usual = -1;
    bool even = slots && entries, tie = false;
    for (uint32_t s = 0; even && s < group->n; s++) {
        const rs_fl_member *m =
            group->index[s] == RS_FL_NONE ? NULL : rs_fl_member_of(flight, group->index[s], op->group);
        rs_fl_unit unit;
        if (!m || !rs_fl_find_unit(flight, m, op->seq, &unit)) continue;
        const rs_fl_call *c = rs_fl_call_of(flight, rs_fl_unit_main(flight, &unit));
        even = c->kind == RS_FL_ALL_TO_ALL && unit.n == 1 && c->in_numel == c->out_numel && c->n_in;
        slots[known] = s;
        entries[known++] = flight->ranks[unit.rank].order[unit.first];
    }
    for (size_t i = 0; even && i < known; i++) {
        int64_t size =
            rs_fl_call_of(flight, &flight->ranks[group->index[slots[i]]].entries[entries[i]])->in_numel;
        size_t count = 0;
        for (size_t k = 0; k < known; k++)
            count +=
                rs_fl_call_of(flight, &flight->ranks[group->index[slots[k]]].entries[entries[k]])->in_numel ==
                size;
        if (count > best) {
            best = count;
            usual = size;
            tie = false;
        } else if (count == best && size != usual) {
            tie = true;
        }
    }
    for (size_t i = 0; even && best < known && i < known; i++) {
        uint32_t r = group->index[slots[i]];
        bool differs = rs_fl_call_of(flight, &flight->ranks[r].entries[entries[i]])->in_numel != usual;
        if (!differs && f->partner_rank == RS_FL_NONE) {
            f->partner_rank = r;
            f->partner_entry = entries[i];
        }
        if (!differs && !tie) continue;
        if (*n == 0 || (differs && f->finding.verdict != RS_FLIGHT_SIZE_MISMATCH)) {
            f->rank = r;
            f->entry = entries[i];
        }
        if (differs) f->finding.verdict = RS_FLIGHT_SIZE_MISMATCH;
        culprits[(*n)++] = group->ranks[slots[i]];
    }
    if (f->finding.verdict == RS_FLIGHT_SIZE_MISMATCH) {
        f->stage = RS_FL_STAGE_MISMATCH;
        f->about = "the number of elements";
    }
    bool good = slots && entries;
    rs_free(slots);
    rs_free(entries);
    return good;
}

/* All joined, nobody is behind: the states tell. */
static rs_status sink_collective(rs_fl_graph *g, uint32_t node, rs_error *err)
{
    rs_flight *flight = g->flight;
    const rs_fl_op_node *op = &g->ops[node - rs_fl_op_base(g)];
    for (size_t i = 0; i < g->a->n_found; i++) {
        const rs_fl_found *known = &g->a->found[i]; /* a mismatch explains the hang */
        if (known->stage == RS_FL_STAGE_MISMATCH && known->group == op->group &&
            known->finding.seq == op->seq && !known->finding.p2p)
            return RS_OK;
    }
    const rs_fl_group *group = &flight->groups[op->group];
    size_t counts[4] = {0}, n = 0;
    int64_t *culprits = rs_malloc(group->n * sizeof *culprits);
    if (!culprits) return rs_fail_nomem(err, "a finding");
    rs_fl_state state;
    for (uint32_t s = 0; s < group->n; s++)
        if (rs_fl_presence_of(flight, group->index[s], op->group, op->seq, 0, &state) == RS_FL_JOINED)
            counts[state]++;
    rs_flight_verdict verdict = counts[RS_FL_COMPLETED] ? RS_FLIGHT_STATE_MISMATCH
                                : counts[RS_FL_SCHEDULED] && counts[RS_FL_STARTED]
                                    ? RS_FLIGHT_BLOCKED_BEFORE_START
                                    : RS_FLIGHT_STUCK;
    rs_fl_found f = {.finding = {.verdict = verdict, .seq = op->seq},
                     .group = op->group,
                     .rank = op->rank,
                     .entry = op->entry,
                     .partner_rank = RS_FL_NONE,
                     .when = op->first_created,
                     .stage = RS_FL_STAGE_STATE};
    for (uint32_t s = 0; s < group->n && verdict != RS_FLIGHT_STUCK; s++) {
        if (rs_fl_presence_of(flight, group->index[s], op->group, op->seq, 0, &state) != RS_FL_JOINED)
            continue;
        bool guilty =
            verdict == RS_FLIGHT_STATE_MISMATCH ? state != RS_FL_COMPLETED : state == RS_FL_SCHEDULED;
        if (guilty) culprits[n++] = group->ranks[s];
    }
    if (verdict == RS_FLIGHT_STUCK && !uneven_exchange(g, op, &f, culprits, &n)) {
        rs_free(culprits);
        return rs_fail_nomem(err, "a finding");
    }
    f.finding.n_waiters = rs_fl_waiters_of_part(g, g->part[node]);
    rs_status status = rs_fl_add_found(g->a, &f, culprits, n, err);
    rs_free(culprits);
    return status;
}

/* Both ends have come, and yet the transfer does not end. */
static rs_status sink_p2p(rs_fl_graph *g, uint32_t node, rs_error *err)
{
    rs_flight *flight = g->flight;
    const rs_fl_op_node *op = &g->ops[node - rs_fl_op_base(g)];
    const rs_fl_rank *rank = &flight->ranks[op->rank];
    const rs_fl_p2p *p2p;
    for (size_t i = 0; i < g->a->n_found; i++) {
        const rs_fl_found *known = &g->a->found[i];
        if (known->stage == RS_FL_STAGE_MISMATCH && known->group == op->group && known->finding.p2p &&
            (known->rank == op->rank || known->partner_rank == op->rank))
            return RS_OK;
    }
    rs_status status = rs_fl_p2p_of(flight, op->group, &p2p, err);
    if (status != RS_OK) return status;
    uint32_t slot = RS_FL_NONE, at = op->entry;
    bool known;
    const rs_fl_entry *mate = NULL;
    for (size_t i = op->entry; !mate && i < rank->n; i++) {
        const rs_fl_entry *e = &rank->entries[i];
        if (e->group != op->group || !e->is_p2p) continue;
        if (e->p2p_seq != op->seq) break;
        mate = rs_fl_mate(flight, p2p, op->rank, (uint32_t)i, &slot, &known);
        at = (uint32_t)i;
    }
    rs_fl_state mine = (rs_fl_state)rank->entries[op->entry].state;
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_STUCK, .seq = op->seq, .p2p = true},
                     .group = op->group,
                     .rank = op->rank,
                     .entry = at,
                     .partner_rank = RS_FL_NONE,
                     .when = op->first_created,
                     .stage = RS_FL_STAGE_STATE};
    int64_t culprit = rank->rank;
    size_t n = 0;
    if (mate) {
        uint32_t peer = flight->groups[op->group].index[slot];
        f.partner_rank = peer;
        f.partner_entry = (uint32_t)(mate - flight->ranks[peer].entries);
        if (mate->state == RS_FL_COMPLETED) {
            f.finding.verdict = RS_FLIGHT_STATE_MISMATCH;
            n = 1;
        } else if (mine == RS_FL_SCHEDULED && mate->state == RS_FL_STARTED) {
            f.finding.verdict = RS_FLIGHT_BLOCKED_BEFORE_START;
            n = 1;
        } else if (peer < op->rank || (mine == RS_FL_STARTED && mate->state == RS_FL_SCHEDULED)) {
            return RS_OK; /* told from the other end */
        }
    }
    f.finding.n_waiters = rs_fl_waiters_of_part(g, g->part[node]);
    return rs_fl_add_found(g->a, &f, &culprit, n, err);
}

static rs_status cycle(rs_fl_graph *g, uint32_t part, rs_error *err)
{
    rs_flight *flight = g->flight;
    int64_t *culprits = rs_malloc(flight->n_ranks * sizeof *culprits);
    if (!culprits) return rs_fail_nomem(err, "a finding");
    uint32_t ops[2] = {RS_FL_NONE, RS_FL_NONE}, n_ops = 0;
    size_t stands[2] = {0}, n = 0;
    bool all_p2p = true;
    for (uint32_t o = 0; o < g->n_ops; o++) {
        if (g->part[rs_fl_op_base(g) + o] != part) continue;
        if (n_ops < 2) ops[n_ops] = o;
        n_ops++;
        all_p2p = all_p2p && g->ops[o].p2p;
    }
    const rs_fl_op_node *first = NULL;
    for (uint32_t r = 0; r < flight->n_ranks; r++) {
        if (g->part[r] != part) continue;
        if (!first) first = &g->ops[g->op_of[r]];
        for (int k = 0; k < 2; k++) stands[k] += g->op_of[r] == ops[k];
    }
    /* Two collectives in two orders: those who are fewer differ from the rest. */
    int fewer = n_ops == 2 && !all_p2p && stands[0] != stands[1] ? stands[1] < stands[0] : -1;
    for (uint32_t r = 0; r < flight->n_ranks; r++)
        if (g->part[r] == part && (fewer < 0 || g->op_of[r] == ops[fewer]))
            culprits[n++] = flight->ranks[r].rank;
    rs_fl_found f = {.finding = {.verdict = all_p2p ? RS_FLIGHT_P2P_DEADLOCK : RS_FLIGHT_CROSS_GROUP_ORDER,
                                 .seq = first->seq,
                                 .p2p = first->p2p},
                     .group = first->group,
                     .rank = first->rank,
                     .entry = first->entry,
                     .partner_rank = RS_FL_NONE,
                     .when = INT64_MAX,
                     .stage = RS_FL_STAGE_CYCLE};
    for (uint32_t r = 0; r < flight->n_ranks; r++) {
        if (g->part[r] != part) continue;
        const rs_fl_op_node *op = &g->ops[g->op_of[r]];
        if (op != first && f.partner_rank == RS_FL_NONE) {
            f.partner_rank = r;
            f.partner_entry = g->a->open[r];
        }
        if (op->first_created < f.when) f.when = op->first_created;
    }
    f.finding.n_waiters = rs_fl_waiters_of_part(g, part);
    rs_status status = rs_fl_add_found(g->a, &f, culprits, n, err);
    rs_free(culprits);
    return status;
}

rs_status rs_fl_judge_sinks(rs_fl_graph *g, rs_error *err)
{
    rs_status status = RS_OK;
    uint8_t *done = rs_calloc(g->n_parts, 1);
    if (!done) return rs_fail_nomem(err, "waits");
    for (uint32_t node = 0; status == RS_OK && node < rs_fl_n_nodes(g); node++) {
        uint32_t part = g->part[node];
        if (g->leaves[part] || done[part]) continue;
        done[part] = 1;
        if (g->part_size[part] > 1)
            status = cycle(g, part, err);
        else if (node < rs_fl_op_base(g))
            status = sink_rank(g, node, err);
        else if (g->ops[node - rs_fl_op_base(g)].p2p)
            status = sink_p2p(g, node, err);
        else
            status = sink_collective(g, node, err);
    }
    rs_free(done);
    return status;
}
