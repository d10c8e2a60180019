/* What ASTRA-sim stops at, or waits for without end. */
#include <string.h>

#include "chakra/check_internal.h"

enum { METADATA = 1, SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };

/* ---- communication ---------------------------------------------------------------------------------- */

static bool is_known_collective(const rs_check_comm *k)
{
    return k->has_type && (k->type == 0 || k->type == 2 || (k->type >= 5 && k->type <= 7));
}

/* The default group is all ranks; others are known by their number. */
static bool is_known_group(const rs_check *c, const char *name)
{
    if (!name || !*name || strcmp(name, "0") == 0) return true;
    return rs_group_is_number(name) && rs_groups_find(&c->groups, name);
}

static rs_status check_pair(rs_check *c, const rs_check_node *n, const rs_check_comm *k, rs_error *err)
{
    bool sends = n->type == SEND;
    if (!k->has_src || !k->has_dst || !k->has_tag) return rs_check_fault(c, RS_FAULT_PEER, n->id, 0, err);
    int64_t own = sends ? k->src : k->dst;
    if (c->has_rank && own != c->rank) return rs_check_fault(c, RS_FAULT_RANK, n->id, (uint64_t)own, err);
    return RS_OK;
}

static rs_status check_comm(rs_check *c, const rs_check_comm *k, rs_error *err)
{
    const rs_check_node *n = &c->nodes[k->node];
    rs_status status = RS_OK;
    if (n->type > COLLECTIVE) return RS_OK; /* told with the other nodes */
    if (!n->placed)
        status = rs_check_fault(c, RS_FAULT_NO_PLACE, n->id, 0, err);
    else if (!n->gpu)
        status = rs_check_fault(c, RS_FAULT_ON_CPU, n->id, 0, err);
    if (status == RS_OK && (!n->has_size || n->size < 1))
        status = rs_check_fault(c, RS_FAULT_SIZE, n->id, 0, err);
    if (status != RS_OK) return status;
    if (n->type != COLLECTIVE) return check_pair(c, n, k, err);
    if (!is_known_collective(k)) status = rs_check_fault(c, RS_FAULT_COLLECTIVE, n->id, 0, err);
    if (status == RS_OK && !is_known_group(c, k->group))
        status = rs_check_fault(c, RS_FAULT_GROUP, n->id, 0, err);
    return status;
}

/* ---- parents ---------------------------------------------------------------------------------------- */

/* Its feeder takes a node when both kinds of dependencies are free, but hands out by data dependencies: a
 * parent has to be an ancestor over them. Most parents are found in a tree that has one data dependency of
 * each node, the one before it on its thread; others are searched for. */
typedef struct ancestors {
    const rs_check *c;
    uint32_t *rank;         /* by node: its place in an order that data dependencies keep */
    uint32_t *tree;         /* by node: the one dependency; RS_LINKED_NONE */
    uint32_t *child, *next; /* the tree downwards */
    uint32_t *in, *out;     /* by node: where a walk over the tree enters and leaves it */
    uint32_t *stamp;        /* by node: the last search that saw it */
    uint32_t *stack;
    uint64_t steps; /* that searches may still make */
} ancestors;

#define MOST_STEPS (UINT64_C(1) << 26)

/* The nodes so that each is after what it depends on; there is no cycle. */
static bool make_order(ancestors *a)
{
    const rs_check *c = a->c;
    size_t n = c->n_nodes, done = 0;
    RS_LOCAL uint32_t *left = rs_calloc(n + 1, sizeof *left),
                      *after = rs_malloc((c->n_deps + 1) * sizeof *after);
    RS_LOCAL uint64_t *first = rs_calloc(n + 3, sizeof *first);
    bool ok = left && after && first;
    for (int pass = 0; ok && pass < 2; pass++) {
        for (size_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < c->nodes[i].n_data; k++) {
                uint32_t at = rs_check_find(c, c->deps[c->nodes[i].data + k]);
                if (at == RS_LINKED_NONE) continue;
                left[i] += !pass;
                if (pass)
                    after[first[at + 1]++] = (uint32_t)i;
                else
                    first[at + 2]++;
            }
        for (size_t i = 2; !pass && i < n + 2; i++) first[i] += first[i - 1];
    }
    for (size_t i = 0; ok && i < n; i++)
        if (!left[i]) a->stack[done++] = (uint32_t)i;
    for (size_t at = 0; ok && at < done; at++) {
        uint32_t i = a->stack[at];
        a->rank[i] = (uint32_t)at;
        for (uint64_t k = first[i]; k < first[i + 1]; k++)
            if (--left[after[k]] == 0) a->stack[done++] = after[k];
    }
    return ok;
}

/* Of a kernel what launched it, of a thread's node the one before it that is no gap. */
static uint32_t tree_parent(const rs_check *c, const rs_check_node *n)
{
    uint32_t best = RS_LINKED_NONE;
    for (uint32_t k = 0; k < n->n_data; k++) {
        uint32_t at = rs_check_find(c, c->deps[n->data + k]);
        if (at == RS_LINKED_NONE) continue;
        const rs_check_node *p = &c->nodes[at];
        bool mine = n->gpu ? n->n_ctrl && c->deps[n->ctrl] == p->id
                           : !p->gpu && !p->gap && n->has_tid && p->has_tid && n->tid == p->tid;
        if (mine) return at;
        if (best == RS_LINKED_NONE || (!p->gpu && c->nodes[best].gpu)) best = at;
    }
    return best;
}

static void walk_tree(ancestors *a)
{
    size_t n = a->c->n_nodes, depth = 0;
    uint32_t clock = 0;
    for (size_t i = 0; i < n; i++) a->child[i] = a->next[i] = RS_LINKED_NONE;
    for (size_t i = 0; i < n; i++) {
        a->tree[i] = tree_parent(a->c, &a->c->nodes[i]);
        if (a->tree[i] == RS_LINKED_NONE) continue;
        a->next[i] = a->child[a->tree[i]];
        a->child[a->tree[i]] = (uint32_t)i;
    }
    for (size_t root = 0; root < n; root++) {
        if (a->tree[root] != RS_LINKED_NONE) continue;
        a->stack[depth++] = (uint32_t)root;
        a->in[root] = clock++;
        while (depth) {
            uint32_t at = a->stack[depth - 1], child = a->child[at];
            if (child == RS_LINKED_NONE) {
                a->out[at] = clock;
                depth--;
                continue;
            }
            a->child[at] = a->next[child];
            a->in[child] = clock++;
            a->stack[depth++] = child;
        }
    }
}

/* *known false: the search was given up. */
static bool search(ancestors *a, uint32_t from, uint32_t wanted, bool *known)
{
    const rs_check *c = a->c;
    size_t n = 0;
    *known = true;
    a->stack[n++] = from;
    a->stamp[from] = from;
    while (n) {
        const rs_check_node *node = &c->nodes[a->stack[--n]];
        for (uint32_t k = 0; k < node->n_data; k++) {
            uint32_t at = rs_check_find(c, c->deps[node->data + k]);
            if (at == RS_LINKED_NONE || a->stamp[at] == from || a->rank[at] < a->rank[wanted]) continue;
            if (at == wanted) return true;
            if (!a->steps) {
                *known = false;
                return false;
            }
            a->steps--;
            a->stamp[at] = from;
            a->stack[n++] = at;
        }
    }
    return false;
}

static bool is_above(ancestors *a, uint32_t wanted, uint32_t node, bool *known)
{
    *known = true;
    if (a->in[wanted] <= a->in[node] && a->out[node] <= a->out[wanted]) return true;
    for (uint32_t k = 0; k < a->c->nodes[node].n_data; k++) {
        uint32_t at = rs_check_find(a->c, a->c->deps[a->c->nodes[node].data + k]);
        if (at == wanted) return true;
        if (at != RS_LINKED_NONE && a->in[wanted] <= a->in[at] && a->out[at] <= a->out[wanted]) return true;
    }
    return a->rank[wanted] < a->rank[node] && search(a, node, wanted, known);
}

static rs_status check_parents(rs_check *c, ancestors *a, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++) {
        const rs_check_node *n = &c->nodes[i];
        for (uint32_t k = 0; k < n->n_ctrl && status == RS_OK; k++) {
            uint64_t id = c->deps[n->ctrl + k];
            uint32_t at = rs_check_find(c, id);
            bool known = true;
            if (at == RS_LINKED_NONE) continue; /* told already */
            if (at == i)
                status = rs_check_fault(c, RS_FAULT_OWN_PARENT, n->id, 0, err);
            else if (a && !is_above(a, at, (uint32_t)i, &known) && known)
                status = rs_check_fault(c, RS_FAULT_PARENT, n->id, id, err);
            c->unproved += !known;
        }
    }
    return status;
}

/* Where data dependencies run in a ring nothing is above anything. */
static rs_status prove_parents(rs_check *c, rs_error *err)
{
    size_t n = c->n_nodes + 1;
    if (c->counts[RS_FAULT_CYCLE] || c->counts[RS_FAULT_DUPLICATE]) return check_parents(c, NULL, err);
    uint32_t *room = rs_malloc(8 * n * sizeof *room);
    if (!room) return rs_fail_nomem(err, "parents");
    ancestors a = {.c = c,
                   .rank = room,
                   .tree = room + n,
                   .child = room + 2 * n,
                   .next = room + 3 * n,
                   .in = room + 4 * n,
                   .out = room + 5 * n,
                   .stamp = room + 6 * n,
                   .stack = room + 7 * n,
                   .steps = MOST_STEPS};
    for (size_t i = 0; i < n; i++) a.stamp[i] = RS_LINKED_NONE;
    rs_status status = RS_OK;
    if (!make_order(&a)) {
        status = rs_fail_nomem(err, "parents");
    } else {
        walk_tree(&a);
        status = check_parents(c, &a, err);
    }
    rs_free(room);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

rs_status rs_check_astra(rs_check *c, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++)
        if (c->nodes[i].type < METADATA || c->nodes[i].type > COLLECTIVE)
            status = rs_check_fault(c, RS_FAULT_NODE_TYPE, c->nodes[i].id, 0, err);
    for (size_t i = 0; i < c->n_comms && status == RS_OK; i++) status = check_comm(c, &c->comms[i], err);
    return status == RS_OK ? prove_parents(c, err) : status;
}
