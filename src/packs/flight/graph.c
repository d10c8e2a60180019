/* Who waits for whom: building the graph, its strongly connected parts, and the list of those who wait. What
 * points nowhere is a cause; what points in a circle is a deadlock (causes.c); everything else only waits. */
#include "base/order.h"
#include "flight/graph.h"

#include <string.h>

/* ---- where each rank stands ---------------------------------------------------------------------------- */

/* The head of a rank: its earliest open collective or receive. A send does not keep its host from going on,
 * so it counts only where there is nothing else, or where starts are recorded and it runs while what follows
 * has not started. */
static uint32_t head_of(const rs_flight *flight, const rs_fl_rank *rank)
{
    uint32_t send = RS_FL_NONE;
    if (rank->shape == RS_FL_ISSUE_ONLY) return RS_FL_NONE; /* whether anything is open is not known */
    for (size_t i = 0; i < rank->n; i++) {
        const rs_fl_entry *e = &rank->entries[i];
        if (e->state == RS_FL_COMPLETED || (e->is_p2p && e->marker)) continue;
        if (rs_fl_call_of(flight, e)->kind != RS_FL_SEND) {
            bool behind_send = send != RS_FL_NONE && rank->entries[send].state == RS_FL_STARTED &&
                               e->state == RS_FL_SCHEDULED;
            return behind_send ? send : (uint32_t)i;
        }
        if (send == RS_FL_NONE) send = (uint32_t)i;
    }
    return send;
}

static bool find_open(rs_fl_graph *g)
{
    rs_flight *flight = g->flight;
    bool any = false;
    for (uint32_t r = 0; r < flight->n_ranks; r++) {
        g->a->open[r] = head_of(flight, &flight->ranks[r]);
        any = any || g->a->open[r] != RS_FL_NONE;
    }
    size_t largest = 1;
    for (size_t i = 0; i < flight->n_groups; i++)
        if (flight->groups[i].n > largest) largest = flight->groups[i].n;
    g->op_of = rs_malloc(flight->n_ranks * sizeof *g->op_of);
    g->answers = rs_malloc(largest * sizeof *g->answers);
    g->frontier = rs_malloc(flight->n_groups * sizeof *g->frontier);
    if (!g->op_of || !g->answers || !g->frontier) return false;
    for (size_t i = 0; i < flight->n_groups; i++) {
        const rs_fl_group *group = &flight->groups[i];
        g->frontier[i] = RS_FL_UNKNOWN;
        for (uint32_t m = 0; any && m < group->n_members; m++) {
            int64_t done = rs_fl_done_of(flight, flight->by_group[group->first_member + m]);
            if (done > g->frontier[i]) g->frontier[i] = done;
        }
    }
    return true;
}

/* ---- edges --------------------------------------------------------------------------------------------- */

static bool add_edge(rs_fl_graph *g, rs_fl_op_node *op, uint32_t node)
{
    if (!RS_PUSH(g->edges, g->n_edges, g->edges_capacity, node)) return false;
    op->n_edges++;
    return true;
}

/* The node of a rank without a dump. Its number is fixed up when all strangers are known. */
#define STRANGER UINT32_C(0x80000000)

static bool stranger(rs_fl_graph *g, int64_t rank, uint32_t *node)
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

bool rs_fl_stands_in(const rs_fl_graph *g, uint32_t rank, const rs_fl_op_node *op)
{
    uint32_t open = g->a->open[rank];
    if (open == RS_FL_NONE) return false;
    const rs_fl_entry *e = &g->flight->ranks[rank].entries[open];
    return e->group == op->group && e->is_p2p == op->p2p && (op->p2p ? e->p2p_seq : e->seq) == op->seq;
}

static int64_t first_created(const rs_fl_graph *g, uint32_t group_index, int64_t seq)
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

static bool collective_edges(rs_fl_graph *g, rs_fl_op_node *op)
{
    const rs_flight *flight = g->flight;
    const rs_fl_group *group = &flight->groups[op->group];
    uint8_t kind = rs_fl_call_of(flight, &flight->ranks[op->rank].entries[op->entry])->kind;
    bool one_sided = rs_fl_one_sided(kind);
    op->edges = (uint32_t)g->n_edges;
    op->first_created = first_created(g, op->group, op->seq);
    int64_t since = op->first_created == INT64_MAX ? 0 : op->first_created;
    op->moved = rs_fl_presence_of_all(flight, op->group, op->seq, since, one_sided, g->answers) > 0;
    for (int pass = 0; pass < 2 && op->n_edges == 0; pass++)
        for (uint32_t s = 0; s < group->n; s++) {
            uint32_t r = group->index[s], node = r;
            rs_fl_presence p = (rs_fl_presence)g->answers[s].presence;
            /* What some members have completed all members have reached: it is held up by nobody's other
             * work. */
            bool late = p == RS_FL_JOINED && g->answers[s].state == RS_FL_SCHEDULED &&
                        g->a->open[r] != RS_FL_NONE && !rs_fl_stands_in(g, r, op) &&
                        (one_sided || !op->moved);
            if (pass == 0 ? p != RS_FL_ABSENT && !late : p != RS_FL_OBSCURE || (op->moved && !one_sided))
                continue;
            if (r == RS_FL_NONE && !stranger(g, group->ranks[s], &node)) return false;
            if (!add_edge(g, op, node)) return false;
            op->obscure = pass == 1;
        }
    return true;
}

/* A receive from any source waits for all members that have not sent; which of them it needs cannot be told.
 */
static bool any_source_edges(rs_fl_graph *g, rs_fl_op_node *op)
{
    const rs_fl_group *group = &g->flight->groups[op->group];
    for (uint32_t s = 0; s < group->n; s++) {
        uint32_t node = group->index[s];
        if (node == op->rank) continue;
        if (node == RS_FL_NONE && !stranger(g, group->ranks[s], &node)) return false;
        if (!add_edge(g, op, node)) return false;
    }
    op->obscure = op->n_edges > 1;
    return true;
}

/* Whether the partner of an entry of op's rank keeps it waiting; pass 1 asks for partners of which nothing is
 * known. `alone`: no other entry of its batch lacks its partner. */
static bool waits_for_mate(const rs_fl_graph *g, const rs_fl_op_node *op, uint32_t peer,
                           const rs_fl_entry *mate, bool known, bool alone, int pass)
{
    const rs_fl_rank *p = peer == RS_FL_NONE ? NULL : &g->flight->ranks[peer];
    /* A dump of active entries would hold the partner, as nobody finishes a transfer alone; but inside a
     * batch each finishes by itself, so that of several without a partner some may be done. */
    bool by_active = p && p->shape == RS_FL_ACTIVE;
    if (pass == 1) return !mate && (!known || (by_active && !alone));
    /* A rank that never spoke in this group and has all its record surely never issued it. */
    if (!mate && by_active) return alone;
    if (!mate) return known || (p && p->shape == RS_FL_FULL && !p->cut && !p->filtered && p->n);
    uint32_t head = g->a->open[peer];
    rs_fl_op_node own = {.group = op->group, .p2p = true, .seq = mate->p2p_seq};
    return mate->state == RS_FL_SCHEDULED && head != RS_FL_NONE && mate > p->entries + head &&
           !rs_fl_stands_in(g, peer, &own);
}

/* How many entries of a batch have no partner in the dumps. */
static size_t count_mateless(rs_fl_graph *g, const rs_fl_op_node *op, const rs_fl_p2p *p2p, size_t begin)
{
    const rs_fl_rank *rank = &g->flight->ranks[op->rank];
    size_t n = 0;
    for (size_t i = begin; i < rank->n; i++) {
        const rs_fl_entry *e = &rank->entries[i];
        if (e->group != op->group || !e->is_p2p) continue;
        if (e->p2p_seq != op->seq) break;
        uint32_t slot;
        bool known;
        n += !rs_fl_mate(g->flight, p2p, op->rank, (uint32_t)i, &slot, &known) && slot != RS_FL_NONE;
    }
    return n;
}

/* A batch waits for every partner that has not come; its own order inside does not matter. */
static rs_status p2p_edges(rs_fl_graph *g, rs_fl_op_node *op, rs_error *err)
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
    size_t begin = rs_fl_batch_begin(rank, op->entry);
    bool alone = count_mateless(g, op, p2p, begin) <= 1;
    for (int pass = 0; pass < 2 && op->n_edges == 0; pass++)
        for (size_t i = begin; i < rank->n; i++) {
            const rs_fl_entry *e = &rank->entries[i];
            if (e->group != op->group || !e->is_p2p) continue;
            if (e->p2p_seq != op->seq) break;
            uint32_t slot;
            bool known;
            const rs_fl_entry *mate = rs_fl_mate(flight, p2p, op->rank, (uint32_t)i, &slot, &known);
            if (slot == RS_FL_NONE) {
                bool any = rs_fl_call_of(flight, e)->kind == RS_FL_RECV && rs_fl_call_of(flight, e)->src < 0;
                if (any && pass == 1 && !any_source_edges(g, op)) return rs_fail_nomem(err, "waits");
                continue;
            }
            uint32_t peer = group->index[slot], node = peer;
            if (!waits_for_mate(g, op, peer, mate, known, alone, pass)) continue;
            if (peer == RS_FL_NONE && !stranger(g, group->ranks[slot], &node))
                return rs_fail_nomem(err, "waits");
            if (!add_edge(g, op, node)) return rs_fail_nomem(err, "waits");
            op->obscure = pass == 1;
        }
    return RS_OK;
}

static rs_status build_ops(rs_fl_graph *g, rs_error *err)
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
        rs_fl_op_node *op = &g->ops[g->n_ops++];
        *op = (rs_fl_op_node){
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

/* ---- strongly connected parts (Tarjan, with its own stack) --------------------------------------------- */

static size_t n_out(const rs_fl_graph *g, uint32_t node)
{
    if (node < g->flight->n_ranks) return g->op_of[node] != RS_FL_NONE;
    if (node < rs_fl_op_base(g)) return 0;
    return g->ops[node - rs_fl_op_base(g)].n_edges;
}

static uint32_t out(const rs_fl_graph *g, uint32_t node, size_t i)
{
    if (node < g->flight->n_ranks) return rs_fl_op_base(g) + g->op_of[node];
    return g->edges[g->ops[node - rs_fl_op_base(g)].edges + i];
}

static bool find_parts(rs_fl_graph *g)
{
    size_t n = rs_fl_n_nodes(g), depth = 0, n_stack = 0;
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

static bool reverse_edges(rs_fl_graph *g)
{
    size_t n = rs_fl_n_nodes(g), total = 0;
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
    RS_LOCAL uint32_t *at = rs_malloc((n + 1) * sizeof *at);
    if (!g->back || !g->seen || !g->queue || !at) return false;
    memcpy(at, g->back_at, (n + 1) * sizeof *at);
    for (uint32_t node = 0; node < n; node++)
        for (size_t i = 0; i < n_out(g, node); i++) g->back[at[out(g, node, i)]++] = node;
    return true;
}

/* How many ranks reach any of the nodes for which seen is set on entry, themselves not counted. */
static size_t count_waiters(rs_fl_graph *g, size_t n_queue)
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

size_t rs_fl_waiters_of_part(rs_fl_graph *g, uint32_t part)
{
    size_t n = 0;
    memset(g->seen, 0, rs_fl_n_nodes(g));
    for (uint32_t node = 0; node < rs_fl_n_nodes(g); node++)
        if (g->part[node] == part) {
            g->seen[node] = 1;
            g->queue[n++] = node;
        }
    return count_waiters(g, n);
}

int64_t rs_fl_rank_of_node(const rs_fl_graph *g, uint32_t node)
{
    return node < g->flight->n_ranks ? g->flight->ranks[node].rank
                                     : g->stranger_ranks[node - g->flight->n_ranks];
}

/* ---- those who wait ------------------------------------------------------------------------------------ */

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

static rs_status list_waiting(rs_fl_graph *g, rs_error *err)
{
    rs_flight *flight = g->flight;
    RS_LOCAL const int64_t **shared =
        rs_calloc(g->n_ops, sizeof *shared); /* a collective's blockers are listed once */
    if (!shared) return rs_fail_nomem(err, "waits");
    rs_status status = RS_OK;
    for (uint32_t r = 0; status == RS_OK && r < flight->n_ranks; r++) {
        if (g->op_of[r] == RS_FL_NONE) continue;
        const rs_fl_op_node *op = &g->ops[g->op_of[r]];
        const rs_fl_entry *e = &flight->ranks[r].entries[g->a->open[r]];
        int64_t *ranks = NULL;
        if (op->n_edges && !shared[g->op_of[r]]) {
            ranks = rs_arena_alloc(&flight->arena, op->n_edges * sizeof *ranks);
            if (!ranks) {
                status = rs_fail_nomem(err, "waits");
                break;
            }
            for (uint32_t i = 0; i < op->n_edges; i++)
                ranks[i] = rs_fl_rank_of_node(g, g->edges[op->edges + i]);
            RS_SORT(ranks, op->n_edges, by_number);
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
    return status;
}

/* Ranks that wait for what a mismatch is about, once the graph is known. */
static void count_mismatch_waiters(rs_fl_graph *g)
{
    for (size_t i = 0; i < g->a->n_found; i++) {
        rs_fl_found *f = &g->a->found[i];
        if (f->stage != RS_FL_STAGE_MISMATCH) continue;
        size_t n = 0, inside = 0;
        memset(g->seen, 0, rs_fl_n_nodes(g));
        for (uint32_t o = 0; o < g->n_ops; o++) {
            const rs_fl_op_node *op = &g->ops[o];
            if (op->group != f->group || op->p2p != f->finding.p2p || (!op->p2p && op->seq != f->finding.seq))
                continue;
            if (op->p2p && op->rank != f->rank && op->rank != f->partner_rank) continue;
            g->seen[rs_fl_op_base(g) + o] = 1;
            g->queue[n++] = rs_fl_op_base(g) + o;
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
    rs_fl_graph g = {.a = a, .flight = a->flight};
    rs_status status = RS_OK;
    if (!find_open(&g) || !rs_strings_init(&g.op_keys)) status = rs_fail_nomem(err, "waits");
    if (status == RS_OK) status = build_ops(&g, err);
    if (status == RS_OK && (!find_parts(&g) || !reverse_edges(&g))) status = rs_fail_nomem(err, "waits");
    if (status == RS_OK) count_mismatch_waiters(&g);
    if (status == RS_OK) status = rs_fl_judge_sinks(&g, err);
    if (status == RS_OK) status = rs_fl_find_unissued(&g, err);
    if (status == RS_OK) status = list_waiting(&g, err);
    rs_map64_clear(&g.strangers);
    rs_free_all(g.stranger_ranks, g.ops);
    rs_strings_clear(&g.op_keys);
    rs_free(g.edges);
    rs_free(g.answers);
    rs_free(g.frontier);
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
