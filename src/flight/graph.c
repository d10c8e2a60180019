/* Who waits for whom. Nodes are ranks and the operations they stand in; a rank points to its earliest
 * operation that is not completed, an operation to the ranks that keep it from going on. What points nowhere
 * is a cause; what points in a circle is a deadlock; everything else only waits. */
#include "flight/analyse.h"

#include <string.h>

typedef struct op_node {
    uint32_t group;
    int64_t seq;
    bool p2p;
    uint32_t rank, entry;    /* who stands in it first (for point-to-point the only one), with what */
    uint32_t edges, n_edges; /* rank nodes */
    int64_t first_created;   /* by anybody, clock offsets removed; INT64_MAX unknown */
    bool obscure;            /* its edges go to ranks of which nothing is known here */
} op_node;

typedef struct graph {
    rs_fl_analysis *a;
    rs_flight *flight;
    rs_map64 strangers; /* global rank -> node - n_ranks */
    int64_t *stranger_ranks;
    size_t n_strangers, strangers_capacity;
    op_node *ops;
    size_t n_ops, ops_capacity;
    rs_strings op_keys;
    uint32_t *edges;
    size_t n_edges, edges_capacity;
    uint32_t *op_of; /* by rank: the op it stands in, RS_FL_NONE */
    /* strongly connected parts */
    uint32_t *part, *index, *low, *stack;
    size_t n_parts;
    uint8_t *leaves; /* by part: some edge leaves it */
    uint32_t *part_size;
    /* reverse edges, for counting who reaches a part */
    uint32_t *back_at, *back;
    uint8_t *seen;
    uint32_t *queue;
} graph;

/* Node numbers: ranks with dumps, then strangers, then operations. */
static size_t n_nodes(const graph *g)
{
    return g->flight->n_ranks + g->n_strangers + g->n_ops;
}

static uint32_t op_base(const graph *g)
{
    return (uint32_t)(g->flight->n_ranks + g->n_strangers);
}

/* ---- where each rank stands -----------------------------------------------------------------------------
 */

static void find_open(graph *g)
{
    for (uint32_t r = 0; r < g->flight->n_ranks; r++) {
        const rs_fl_rank *rank = &g->flight->ranks[r];
        g->a->open[r] = RS_FL_NONE;
        for (size_t i = 0; i < rank->n; i++) {
            if (rank->entries[i].state == RS_FL_COMPLETED) continue;
            g->a->open[r] = (uint32_t)i;
            break;
        }
    }
}

/* ---- edges ----------------------------------------------------------------------------------------------
 */

static bool add_edge(graph *g, op_node *op, uint32_t node)
{
    if (!RS_GROW_ONE(g->edges, g->n_edges, g->edges_capacity)) return false;
    g->edges[g->n_edges++] = node;
    op->n_edges++;
    return true;
}

/* The node of a rank without a dump. Its number is fixed up when all strangers are known. */
#define STRANGER UINT32_C(0x80000000)

static bool stranger(graph *g, int64_t rank, uint32_t *node)
{
    bool is_new;
    uint32_t *known = rs_map64_put(&g->strangers, (uint64_t)rank, &is_new);
    if (!known) return false;
    if (is_new) {
        if (!RS_GROW_ONE(g->stranger_ranks, g->n_strangers, g->strangers_capacity)) return false;
        *known = (uint32_t)g->n_strangers;
        g->stranger_ranks[g->n_strangers++] = rank;
    }
    *node = STRANGER | *known;
    return true;
}

static bool stands_in(const graph *g, uint32_t rank, const op_node *op)
{
    uint32_t open = g->a->open[rank];
    if (open == RS_FL_NONE) return false;
    const rs_fl_entry *e = &g->flight->ranks[rank].entries[open];
    return e->group == op->group && e->is_p2p == op->p2p && (op->p2p ? e->p2p_seq : e->seq) == op->seq;
}

static int64_t first_created(const graph *g, uint32_t group_index, int64_t seq)
{
    const rs_fl_group *group = &g->flight->groups[group_index];
    int64_t first = INT64_MAX;
    for (uint32_t m = 0; m < group->n_members; m++) {
        const rs_fl_member *member = g->flight->by_group[group->first_member + m];
        rs_fl_unit unit;
        if (!rs_fl_find_unit(g->flight, member, seq, &unit)) continue;
        int64_t ns =
            rs_fl_common(&g->flight->ranks[member->rank], rs_fl_unit_entry(g->flight, &unit, 0)->created);
        if (ns && ns < first) first = ns;
    }
    return first;
}

static bool collective_edges(graph *g, op_node *op)
{
    const rs_flight *flight = g->flight;
    const rs_fl_group *group = &flight->groups[op->group];
    op->edges = (uint32_t)g->n_edges;
    op->first_created = first_created(g, op->group, op->seq);
    int64_t since = op->first_created == INT64_MAX ? 0 : op->first_created;
    for (int pass = 0; pass < 2 && op->n_edges == 0; pass++)
        for (uint32_t s = 0; s < group->n; s++) {
            uint32_t r = group->index[s], node = r;
            rs_fl_state state;
            rs_fl_presence p = rs_fl_presence_of(flight, r, op->group, op->seq, since, &state);
            bool late = p == RS_FL_JOINED && state == RS_FL_SCHEDULED && g->a->open[r] != RS_FL_NONE &&
                        !stands_in(g, r, op);
            if (pass == 0 ? p != RS_FL_ABSENT && !late : p != RS_FL_OBSCURE) continue;
            if (r == RS_FL_NONE && !stranger(g, group->ranks[s], &node)) return false;
            if (!add_edge(g, op, node)) return false;
            op->obscure = pass == 1;
        }
    return true;
}

/* A batch waits for every partner that has not come; its own order inside does not matter. */
static rs_status p2p_edges(graph *g, op_node *op, rs_error *err)
{
    rs_flight *flight = g->flight;
    const rs_fl_rank *rank = &flight->ranks[op->rank];
    const rs_fl_group *group = &flight->groups[op->group];
    const rs_fl_p2p *p2p;
    rs_status status = rs_fl_p2p_of(flight, op->group, &p2p, err);
    if (status != RS_OK) return status;
    op->edges = (uint32_t)g->n_edges;
    op->first_created = INT64_MAX;
    int64_t created = rs_fl_common(rank, rank->entries[op->entry].created);
    if (created) op->first_created = created;
    for (int pass = 0; pass < 2 && op->n_edges == 0; pass++)
        for (size_t i = op->entry; i < rank->n; i++) {
            const rs_fl_entry *e = &rank->entries[i];
            if (e->group != op->group || !e->is_p2p) continue;
            if (e->p2p_seq != op->seq) break;
            uint32_t slot;
            bool known;
            const rs_fl_entry *mate = rs_fl_mate(flight, p2p, op->rank, (uint32_t)i, &slot, &known);
            if (slot == RS_FL_NONE) continue;
            uint32_t peer = group->index[slot], node = peer;
            bool waits;
            if (pass == 1)
                waits = !mate && !known;
            else if (!mate)
                /* A rank that never spoke in this group and has all its record surely never issued it. */
                waits = known ||
                        (peer != RS_FL_NONE && !flight->ranks[peer].wrapped && !flight->ranks[peer].cut &&
                         !flight->ranks[peer].filtered && flight->ranks[peer].n);
            else
                waits =
                    mate->state == RS_FL_SCHEDULED && g->a->open[peer] != RS_FL_NONE &&
                    !stands_in(g, peer, &(op_node){.group = op->group, .p2p = true, .seq = mate->p2p_seq});
            if (!waits) continue;
            if (peer == RS_FL_NONE && !stranger(g, group->ranks[slot], &node))
                return rs_fail_nomem(err, "waits");
            if (!add_edge(g, op, node)) return rs_fail_nomem(err, "waits");
            op->obscure = pass == 1;
        }
    return RS_OK;
}

static rs_status build_ops(graph *g, rs_error *err)
{
    rs_flight *flight = g->flight;
    for (uint32_t r = 0; r < flight->n_ranks; r++) {
        g->op_of[r] = RS_FL_NONE;
        if (g->a->open[r] == RS_FL_NONE) continue;
        const rs_fl_entry *e = &flight->ranks[r].entries[g->a->open[r]];
        uint64_t key[3] = {e->group, e->is_p2p ? (uint64_t)e->p2p_seq : (uint64_t)e->seq,
                           e->is_p2p ? r + 1 : 0};
        size_t known = g->op_keys.n;
        uint32_t id = rs_strings_add(&g->op_keys, (const char *)key, sizeof key);
        if (id == RS_NO_STRING || !RS_GROW_ONE(g->ops, g->n_ops, g->ops_capacity))
            return rs_fail_nomem(err, "waits");
        g->op_of[r] = id - 1;
        if (id < known) continue;
        op_node *op = &g->ops[g->n_ops++];
        *op = (op_node){
            .group = e->group, .seq = (int64_t)key[1], .p2p = e->is_p2p, .rank = r, .entry = g->a->open[r]};
        rs_status status = RS_OK;
        if (op->p2p)
            status = p2p_edges(g, op, err);
        else if (!collective_edges(g, op))
            status = rs_fail_nomem(err, "waits");
        if (status != RS_OK) return status;
    }
    for (size_t i = 0; i < g->n_edges; i++)
        if (g->edges[i] & STRANGER) g->edges[i] = (uint32_t)flight->n_ranks + (g->edges[i] & ~STRANGER);
    return RS_OK;
}

/* ---- strongly connected parts (Tarjan, with its own stack) ----------------------------------------------
 */

static size_t n_out(const graph *g, uint32_t node)
{
    if (node < g->flight->n_ranks) return g->op_of[node] != RS_FL_NONE;
    if (node < op_base(g)) return 0;
    return g->ops[node - op_base(g)].n_edges;
}

static uint32_t out(const graph *g, uint32_t node, size_t i)
{
    if (node < g->flight->n_ranks) return op_base(g) + g->op_of[node];
    return g->edges[g->ops[node - op_base(g)].edges + i];
}

static bool find_parts(graph *g)
{
    size_t n = n_nodes(g), depth = 0, n_stack = 0;
    uint32_t counter = 0;
    struct visit {
        uint32_t node, next;
    } *path = rs_malloc(n * sizeof *path);
    g->part = rs_malloc(n * sizeof *g->part);
    g->index = rs_calloc(n, sizeof *g->index);
    g->low = rs_malloc(n * sizeof *g->low);
    g->stack = rs_malloc(n * sizeof *g->stack);
    if (!path || !g->part || !g->index || !g->low || !g->stack) {
        rs_free(path);
        return false;
    }
    memset(g->part, 0xff, n * sizeof *g->part);
    for (uint32_t root = 0; root < n; root++) {
        if (g->index[root]) continue;
        path[depth++] = (struct visit){root, 0};
        while (depth) {
            struct visit *v = &path[depth - 1];
            uint32_t node = v->node;
            if (v->next == 0) {
                g->index[node] = g->low[node] = ++counter;
                g->stack[n_stack++] = node;
            }
            if (v->next < n_out(g, node)) {
                uint32_t to = out(g, node, v->next++);
                if (!g->index[to])
                    path[depth++] = (struct visit){to, 0};
                else if (g->part[to] == RS_FL_NONE && g->index[to] < g->low[node])
                    g->low[node] = g->index[to];
                continue;
            }
            if (g->low[node] == g->index[node]) {
                uint32_t member;
                do {
                    member = g->stack[--n_stack];
                    g->part[member] = (uint32_t)g->n_parts;
                } while (member != node);
                g->n_parts++;
            }
            depth--;
            if (depth && g->low[node] < g->low[path[depth - 1].node])
                g->low[path[depth - 1].node] = g->low[node];
        }
    }
    rs_free(path);
    g->leaves = rs_calloc(g->n_parts, 1);
    g->part_size = rs_calloc(g->n_parts, sizeof *g->part_size);
    if (!g->leaves || !g->part_size) return false;
    for (uint32_t node = 0; node < n; node++) {
        g->part_size[g->part[node]]++;
        for (size_t i = 0; i < n_out(g, node); i++)
            if (g->part[out(g, node, i)] != g->part[node]) g->leaves[g->part[node]] = 1;
    }
    return true;
}

static bool reverse_edges(graph *g)
{
    size_t n = n_nodes(g), total = 0;
    g->back_at = rs_calloc(n + 1, sizeof *g->back_at);
    if (!g->back_at) return false;
    for (uint32_t node = 0; node < n; node++)
        for (size_t i = 0; i < n_out(g, node); i++) {
            g->back_at[out(g, node, i) + 1]++;
            total++;
        }
    for (size_t i = 0; i < n; i++) g->back_at[i + 1] += g->back_at[i];
    g->back = rs_malloc(total * sizeof *g->back);
    g->seen = rs_malloc(n);
    g->queue = rs_malloc(n * sizeof *g->queue);
    uint32_t *at = rs_malloc((n + 1) * sizeof *at);
    if (!g->back || !g->seen || !g->queue || !at) {
        rs_free(at);
        return false;
    }
    memcpy(at, g->back_at, (n + 1) * sizeof *at);
    for (uint32_t node = 0; node < n; node++)
        for (size_t i = 0; i < n_out(g, node); i++) g->back[at[out(g, node, i)]++] = node;
    rs_free(at);
    return true;
}

/* How many ranks reach any of the nodes for which seen is set on entry, themselves not counted. */
static size_t count_waiters(graph *g, size_t n_queue)
{
    size_t waiters = 0;
    for (size_t i = 0; i < n_queue; i++) {
        uint32_t node = g->queue[i];
        for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++) {
            uint32_t from = g->back[b];
            if (g->seen[from]) continue;
            g->seen[from] = 1;
            waiters += from < g->flight->n_ranks;
            g->queue[n_queue++] = from;
        }
    }
    return waiters;
}

static size_t waiters_of_part(graph *g, uint32_t part)
{
    size_t n = 0;
    memset(g->seen, 0, n_nodes(g));
    for (uint32_t node = 0; node < n_nodes(g); node++)
        if (g->part[node] == part) {
            g->seen[node] = 1;
            g->queue[n++] = node;
        }
    return count_waiters(g, n);
}

/* ---- what the sinks are ---------------------------------------------------------------------------------
 */

static int64_t rank_of_node(const graph *g, uint32_t node)
{
    return node < g->flight->n_ranks ? g->flight->ranks[node].rank
                                     : g->stranger_ranks[node - g->flight->n_ranks];
}

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

static void first_missed(graph *g, uint32_t node, missed *m)
{
    rs_flight *flight = g->flight;
    *m = (missed){.group = RS_FL_NONE, .rank = RS_FL_NONE, .when = INT64_MAX};
    for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++) {
        const op_node *op = &g->ops[g->back[b] - op_base(g)];
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
static rs_status add_or_join(graph *g, const rs_fl_found *f, int64_t culprit, rs_error *err)
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

static rs_status sink_rank(graph *g, uint32_t node, rs_error *err)
{
    missed m;
    first_missed(g, node, &m);
    if (m.rank == RS_FL_NONE) return RS_OK; /* nobody waits for it and it missed nothing */
    bool surely = false, waited_for = g->back_at[node] < g->back_at[node + 1];
    for (uint32_t b = g->back_at[node]; b < g->back_at[node + 1]; b++)
        surely = surely || !g->ops[g->back[b] - op_base(g)].obscure;
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
    f.finding.n_waiters = waited_for ? waiters_of_part(g, g->part[node]) : 0;
    return add_or_join(g, &f, rank_of_node(g, node), err);
}

/* Where every rank of an all-to-all gives as much as it takes, the splits are even, and all should have the
 * same size. By itself that is no proof; that the operation hangs makes it one. False when out of memory. */
static bool uneven_exchange(graph *g, const op_node *op, rs_fl_found *f, int64_t *culprits, size_t *n)
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
static rs_status sink_collective(graph *g, uint32_t node, rs_error *err)
{
    rs_flight *flight = g->flight;
    const op_node *op = &g->ops[node - op_base(g)];
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
    f.finding.n_waiters = waiters_of_part(g, g->part[node]);
    rs_status status = rs_fl_add_found(g->a, &f, culprits, n, err);
    rs_free(culprits);
    return status;
}

/* Both ends have come, and yet the transfer does not end. */
static rs_status sink_p2p(graph *g, uint32_t node, rs_error *err)
{
    rs_flight *flight = g->flight;
    const op_node *op = &g->ops[node - op_base(g)];
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
    f.finding.n_waiters = waiters_of_part(g, g->part[node]);
    return rs_fl_add_found(g->a, &f, &culprit, n, err);
}

static rs_status cycle(graph *g, uint32_t part, rs_error *err)
{
    rs_flight *flight = g->flight;
    int64_t *culprits = rs_malloc(flight->n_ranks * sizeof *culprits);
    if (!culprits) return rs_fail_nomem(err, "a finding");
    uint32_t ops[2] = {RS_FL_NONE, RS_FL_NONE}, n_ops = 0;
    size_t stands[2] = {0}, n = 0;
    bool all_p2p = true;
    for (uint32_t o = 0; o < g->n_ops; o++) {
        if (g->part[op_base(g) + o] != part) continue;
        if (n_ops < 2) ops[n_ops] = o;
        n_ops++;
        all_p2p = all_p2p && g->ops[o].p2p;
    }
    const op_node *first = NULL;
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
        const op_node *op = &g->ops[g->op_of[r]];
        if (op != first && f.partner_rank == RS_FL_NONE) {
            f.partner_rank = r;
            f.partner_entry = g->a->open[r];
        }
        if (op->first_created < f.when) f.when = op->first_created;
    }
    f.finding.n_waiters = waiters_of_part(g, part);
    rs_status status = rs_fl_add_found(g->a, &f, culprits, n, err);
    rs_free(culprits);
    return status;
}

static rs_status judge_sinks(graph *g, rs_error *err)
{
    rs_status status = RS_OK;
    uint8_t *done = rs_calloc(g->n_parts, 1);
    if (!done) return rs_fail_nomem(err, "waits");
    for (uint32_t node = 0; status == RS_OK && node < n_nodes(g); node++) {
        uint32_t part = g->part[node];
        if (g->leaves[part] || done[part]) continue;
        done[part] = 1;
        if (g->part_size[part] > 1)
            status = cycle(g, part, err);
        else if (node < op_base(g))
            status = sink_rank(g, node, err);
        else if (g->ops[node - op_base(g)].p2p)
            status = sink_p2p(g, node, err);
        else
            status = sink_collective(g, node, err);
    }
    rs_free(done);
    return status;
}

/* ---- those who wait -------------------------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static rs_status list_waiting(graph *g, rs_error *err)
{
    rs_flight *flight = g->flight;
    const int64_t **shared =
        rs_calloc(g->n_ops, sizeof *shared); /* a collective's blockers are listed once */
    if (!shared) return rs_fail_nomem(err, "waits");
    rs_status status = RS_OK;
    for (uint32_t r = 0; status == RS_OK && r < flight->n_ranks; r++) {
        if (g->op_of[r] == RS_FL_NONE) continue;
        const op_node *op = &g->ops[g->op_of[r]];
        const rs_fl_entry *e = &flight->ranks[r].entries[g->a->open[r]];
        int64_t *ranks = NULL;
        if (op->n_edges && !shared[g->op_of[r]]) {
            ranks = rs_arena_alloc(&flight->arena, op->n_edges * sizeof *ranks);
            if (!ranks) {
                status = rs_fail_nomem(err, "waits");
                break;
            }
            for (uint32_t i = 0; i < op->n_edges; i++) ranks[i] = rank_of_node(g, g->edges[op->edges + i]);
            qsort(ranks, op->n_edges, sizeof *ranks, by_number);
            shared[g->op_of[r]] = ranks;
        }
        if (!RS_GROW_ONE(g->a->waiting, g->a->n_waiting, g->a->waiting_capacity)) {
            status = rs_fail_nomem(err, "waits");
            break;
        }
        g->a->waiting[g->a->n_waiting++] =
            (rs_flight_waiting){.rank = flight->ranks[r].rank,
                                .group = rs_fl_text(flight, flight->groups[op->group].uid),
                                .group_desc = rs_fl_text(flight, flight->groups[op->group].desc),
                                .seq = op->seq,
                                .p2p = op->p2p,
                                .op = rs_fl_text(flight, rs_fl_call_of(flight, e)->op),
                                .state = rs_fl_state_name((rs_fl_state)e->state),
                                .waits_for = shared[g->op_of[r]],
                                .n_waits_for = op->n_edges};
    }
    rs_free(shared);
    return status;
}

/* Ranks that wait for what a mismatch is about, once the graph is known. */
static void count_mismatch_waiters(graph *g)
{
    for (size_t i = 0; i < g->a->n_found; i++) {
        rs_fl_found *f = &g->a->found[i];
        if (f->stage != RS_FL_STAGE_MISMATCH) continue;
        size_t n = 0, inside = 0;
        memset(g->seen, 0, n_nodes(g));
        for (uint32_t o = 0; o < g->n_ops; o++) {
            const op_node *op = &g->ops[o];
            if (op->group != f->group || op->p2p != f->finding.p2p || (!op->p2p && op->seq != f->finding.seq))
                continue;
            if (op->p2p && op->rank != f->rank && op->rank != f->partner_rank) continue;
            g->seen[op_base(g) + o] = 1;
            g->queue[n++] = op_base(g) + o;
        }
        for (uint32_t r = 0; n && r < g->flight->n_ranks; r++)
            for (size_t c = 0; c < f->finding.n_culprits; c++)
                if (f->finding.culprits[c] == g->flight->ranks[r].rank && !g->seen[r]) {
                    g->seen[r] = 1;
                    g->queue[n++] = r;
                    inside++;
                }
        f->finding.n_waiters = n ? count_waiters(g, n) : 0;
        (void)inside;
    }
}

rs_status rs_fl_follow_waits(rs_fl_analysis *a, rs_error *err)
{
    graph g = {.a = a, .flight = a->flight};
    rs_status status = RS_OK;
    find_open(&g);
    g.op_of = rs_malloc(a->flight->n_ranks * sizeof *g.op_of);
    if (!g.op_of || !rs_strings_init(&g.op_keys)) status = rs_fail_nomem(err, "waits");
    if (status == RS_OK) status = build_ops(&g, err);
    if (status == RS_OK && (!find_parts(&g) || !reverse_edges(&g))) status = rs_fail_nomem(err, "waits");
    if (status == RS_OK) count_mismatch_waiters(&g);
    if (status == RS_OK) status = judge_sinks(&g, err);
    if (status == RS_OK) status = list_waiting(&g, err);
    rs_map64_clear(&g.strangers);
    rs_free(g.stranger_ranks);
    rs_free(g.ops);
    rs_strings_clear(&g.op_keys);
    rs_free(g.edges);
    rs_free(g.op_of);
    rs_free(g.part);
    rs_free(g.index);
    rs_free(g.low);
    rs_free(g.stack);
    rs_free(g.leaves);
    rs_free(g.part_size);
    rs_free(g.back_at);
    rs_free(g.back);
    rs_free(g.seen);
    rs_free(g.queue);
    return status;
}
