/* What the wait-for graph ends in: ranks that never came, operations that hang, circles. */
#include "flight/graph.h"
#include "base/try.h"

#include <string.h>

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
    rs_fl_missed m;
    bool has_dump = node < g->flight->n_ranks, waited_for = g->back_at[node] < g->back_at[node + 1],
         surely = !waited_for;
    if (has_dump && g->flight->ranks[node].shape == RS_FL_ISSUE_ONLY && !waited_for) return RS_OK;
    rs_status status = rs_fl_first_missed(g, node, &m, err);
    if (status != RS_OK || m.rank == RS_FL_NONE)
        return status; /* nobody waits for it and it missed nothing */
    for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++)
        surely = surely || !g->ops[g->back[b] - rs_fl_op_base(g)].obscure;
    /* Nothing open of its own, and somebody has open what it never issued: whoever is in the way of the
     * others, this rank stopped by itself. */
    bool stopped = has_dump && m.proven && g->a->open[node] == RS_FL_NONE;
    surely = surely || stopped;
    rs_fl_found f = {.finding = {.verdict = surely ? RS_FLIGHT_RANK_MISSING : RS_FLIGHT_DUMP_MISSING,
                                 .seq = m.seq,
                                 .p2p = m.p2p},
                     .kind = surely     ? RS_FLIGHT_ROOT_SILENT
                             : has_dump ? RS_FLIGHT_ROOT_UNKNOWN
                                        : RS_FLIGHT_ROOT_NO_DUMP,
                     .group = m.group,
                     .rank = m.rank,
                     .entry = m.entry,
                     .partner_rank = RS_FL_NONE,
                     .when = m.when,
                     .stage = !surely                 ? RS_FL_STAGE_DUMP
                              : waited_for || stopped ? RS_FL_STAGE_HANG
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
    RS_LOCAL uint32_t *slots = rs_malloc(group->n * sizeof *slots),
                      *entries = rs_malloc(group->n * sizeof *entries);
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
        f->kind = RS_FLIGHT_ROOT_MISMATCH;
        f->about = "the number of elements";
    }
    return slots && entries;
}

/* A GPU that stands still has open what others have completed, if not in the operation that its host waits in
 * then in another. Adds one finding a member that is so; *found counts them. */
static rs_status stalled_elsewhere(rs_fl_graph *g, const rs_fl_op_node *op, size_t waiters, size_t *found,
                                   rs_error *err)
{
    rs_flight *flight = g->flight;
    const rs_fl_group *group = &flight->groups[op->group];
    for (uint32_t s = 0; s < group->n; s++) {
        uint32_t r = group->index[s], looked = 0;
        if (r == RS_FL_NONE || g->a->open[r] == RS_FL_NONE || !rs_fl_stands_in(g, r, op)) continue;
        const rs_fl_rank *rank = &flight->ranks[r];
        for (size_t i = g->a->open[r]; i < rank->n && looked < 64; i++) {
            const rs_fl_entry *e = &rank->entries[i];
            if (e->state == RS_FL_COMPLETED || e->is_p2p || e->seq > g->frontier[e->group] ||
                rs_fl_one_sided(rs_fl_call_of(flight, e)->kind))
                continue;
            looked++;
            rs_fl_found f = {
                .finding = {.verdict = RS_FLIGHT_STATE_MISMATCH, .seq = e->seq, .n_waiters = waiters},
                .kind = RS_FLIGHT_ROOT_STALLED,
                .group = e->group,
                .rank = r,
                .entry = (uint32_t)i,
                .partner_rank = RS_FL_NONE,
                .when = op->first_created,
                .stage = RS_FL_STAGE_HANG};
            ++*found;
            RS_TRY(add_or_join(g, &f, rank->rank, err));
            break;
        }
    }
    return RS_OK;
}

static bool explained_by_mismatch(const rs_fl_graph *g, const rs_fl_op_node *op)
{
    for (size_t i = 0; i < g->a->n_found; i++) {
        const rs_fl_found *known = &g->a->found[i];
        if (known->stage == RS_FL_STAGE_MISMATCH && known->group == op->group &&
            known->finding.seq == op->seq && !known->finding.p2p)
            return true;
    }
    return false;
}

/* All joined, nobody is behind: the states tell. */
static rs_status sink_collective(rs_fl_graph *g, uint32_t node, rs_error *err)
{
    rs_flight *flight = g->flight;
    const rs_fl_op_node *op = &g->ops[node - rs_fl_op_base(g)];
    if (explained_by_mismatch(g, op)) return RS_OK;
    const rs_fl_group *group = &flight->groups[op->group];
    size_t counts[4] = {0}, n = 0, waiters = rs_fl_waiters_of_part(g, g->part[node]), elsewhere = 0;
    RS_LOCAL int64_t *culprits = rs_malloc(group->n * sizeof *culprits);
    if (!culprits) return rs_fail_nomem(err, "a finding");
    uint8_t call = rs_fl_call_of(flight, &flight->ranks[op->rank].entries[op->entry])->kind;
    rs_fl_presence_of_all(flight, op->group, op->seq, 0, rs_fl_one_sided(call), g->answers);
    for (uint32_t s = 0; s < group->n; s++)
        if (g->answers[s].presence == RS_FL_JOINED) counts[g->answers[s].state]++;
    bool moved = counts[RS_FL_COMPLETED] > 0,
         blocked = !moved && counts[RS_FL_SCHEDULED] && counts[RS_FL_STARTED];
    rs_fl_found f = {.finding = {.verdict = moved     ? RS_FLIGHT_STATE_MISMATCH
                                            : blocked ? RS_FLIGHT_BLOCKED_BEFORE_START
                                                      : RS_FLIGHT_STUCK,
                                 .seq = op->seq,
                                 .n_waiters = waiters},
                     .kind = moved     ? RS_FLIGHT_ROOT_STALLED
                             : blocked ? RS_FLIGHT_ROOT_BLOCKED
                                       : RS_FLIGHT_ROOT_COLLECTIVE,
                     .group = op->group,
                     .rank = op->rank,
                     .entry = op->entry,
                     .partner_rank = RS_FL_NONE,
                     .when = op->first_created,
                     .stage = moved || blocked ? RS_FL_STAGE_HANG : RS_FL_STAGE_STUCK};
    for (uint32_t s = 0; s < group->n && (moved || blocked); s++) {
        if (g->answers[s].presence != RS_FL_JOINED) continue;
        rs_fl_state state = (rs_fl_state)g->answers[s].state;
        bool guilty = moved ? state == RS_FL_SCHEDULED || state == RS_FL_STARTED : state == RS_FL_SCHEDULED;
        if (guilty) culprits[n++] = group->ranks[s];
    }
    rs_status status = RS_OK;
    if (!moved && !blocked) {
        if (!uneven_exchange(g, op, &f, culprits, &n)) status = rs_fail_nomem(err, "a finding");
        if (status == RS_OK && f.finding.verdict == RS_FLIGHT_STUCK)
            status = stalled_elsewhere(g, op, waiters, &elsewhere, err);
    }
    if (status == RS_OK && !elsewhere) status = rs_fl_add_found(g->a, &f, culprits, n, err);
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
    RS_TRY(rs_fl_p2p_of(flight, op->group, &p2p, err));
    uint32_t slot = RS_FL_NONE, at = op->entry;
    bool known;
    const rs_fl_entry *mate = NULL;
    for (size_t i = rs_fl_batch_begin(rank, op->entry); !mate && i < rank->n; i++) {
        const rs_fl_entry *e = &rank->entries[i];
        if (e->group != op->group || !e->is_p2p) continue;
        if (e->p2p_seq != op->seq) break;
        mate = rs_fl_mate(flight, p2p, op->rank, (uint32_t)i, &slot, &known);
        at = (uint32_t)i;
    }
    rs_fl_state mine = (rs_fl_state)rank->entries[op->entry].state;
    rs_fl_found f = {.finding = {.verdict = RS_FLIGHT_STUCK, .seq = op->seq, .p2p = true},
                     .kind = RS_FLIGHT_ROOT_COLLECTIVE,
                     .group = op->group,
                     .rank = op->rank,
                     .entry = at,
                     .partner_rank = RS_FL_NONE,
                     .when = op->first_created,
                     .stage = RS_FL_STAGE_STUCK};
    int64_t culprit = rank->rank;
    size_t n = 0;
    if (mate) {
        uint32_t peer = flight->groups[op->group].index[slot];
        f.partner_rank = peer;
        f.partner_entry = (uint32_t)(mate - flight->ranks[peer].entries);
        if (mate->state == RS_FL_COMPLETED) {
            f.finding.verdict = RS_FLIGHT_STATE_MISMATCH;
            f.kind = RS_FLIGHT_ROOT_STALLED;
            f.stage = RS_FL_STAGE_HANG;
            n = 1;
        } else if (mine == RS_FL_SCHEDULED && mate->state == RS_FL_STARTED) {
            f.finding.verdict = RS_FLIGHT_BLOCKED_BEFORE_START;
            f.kind = RS_FLIGHT_ROOT_BLOCKED;
            f.stage = RS_FL_STAGE_HANG;
            n = 1;
        } else if (peer < op->rank || (mine == RS_FL_STARTED && mate->state == RS_FL_SCHEDULED)) {
            return RS_OK; /* distinguished from the other end */
        }
    }
    f.finding.n_waiters = rs_fl_waiters_of_part(g, g->part[node]);
    return rs_fl_add_found(g->a, &f, &culprit, n, err);
}

static rs_status cycle(rs_fl_graph *g, uint32_t part, rs_error *err)
{
    rs_flight *flight = g->flight;
    RS_LOCAL int64_t *culprits = rs_malloc(flight->n_ranks * sizeof *culprits);
    if (!culprits) return rs_fail_nomem(err, "a finding");
    uint32_t ops[2] = {RS_FL_NONE, RS_FL_NONE}, n_ops = 0;
    size_t stands[2] = {0}, n = 0;
    bool all_p2p = true;
    bool obscure = false;
    for (uint32_t o = 0; o < g->n_ops; o++) {
        if (g->part[rs_fl_op_base(g) + o] != part) continue;
        obscure = obscure || g->ops[o].obscure;
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
                     .kind = all_p2p ? RS_FLIGHT_ROOT_DEADLOCK : RS_FLIGHT_ROOT_ORDER,
                     .group = first->group,
                     .rank = first->rank,
                     .entry = first->entry,
                     .partner_rank = RS_FL_NONE,
                     .when = INT64_MAX,
                     .obscure = obscure,
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
    return rs_fl_add_found(g->a, &f, culprits, n, err);
}

rs_status rs_fl_judge_sinks(rs_fl_graph *g, rs_error *err)
{
    rs_status status = RS_OK;
    RS_LOCAL uint8_t *done = rs_calloc(g->n_parts, 1);
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
    return status;
}
