/* Handing out the nodes of an execution trace in the order of their dependencies. */
#include "engine/feeder.h"

#include <string.h>

#include "base/heap.h"

typedef struct rs_feeder_edge {
    uint64_t id; /* what is waited for */
    uint32_t to; /* its node after the start; RS_FEEDER_NONE: no such node */
    uint32_t from;
} rs_feeder_edge;

static rs_status add_edges(rs_feeder *f, const uint64_t *ids, size_t n, bool parents, rs_error *err)
{
    uint32_t node = (uint32_t)(f->n_nodes - 1);
    if (!rs_grow((void **)&f->edges, &f->edges_capacity, f->n_edges + n + 1, sizeof *f->edges))
        return rs_fail_nomem(err, "dependencies");
    for (size_t i = 0; i < n; i++) {
        if (parents && ids[i] == f->nodes[node].id) continue;
        f->edges[f->n_edges++] = (rs_feeder_edge){ids[i], RS_FEEDER_NONE, node};
        f->nodes[node].waits++;
    }
    return RS_OK;
}

rs_status rs_feeder_add(rs_feeder *f, uint64_t id, const uint64_t *data, size_t n_data, const uint64_t *ctrl,
                        size_t n_ctrl, rs_error *err)
{
    bool fresh;
    if (f->n_nodes >= RS_FEEDER_NONE - 1 || n_data + n_ctrl >= RS_FEEDER_NONE)
        return rs_fail(err, RS_ERR_LIMIT, "too many nodes or dependencies");
    uint32_t *at = rs_map64_put(&f->by_id, id, &fresh);
    if (!at || !RS_GROW_ONE(f->nodes, f->n_nodes, f->nodes_capacity)) return rs_fail_nomem(err, "nodes");
    if (fresh) *at = (uint32_t)f->n_nodes;
    f->nodes[f->n_nodes++] = (rs_feeder_node){.id = id};
    rs_status status = add_edges(f, data, n_data, false, err);
    return status == RS_OK ? add_edges(f, ctrl, n_ctrl, true, err) : status;
}

/* ---- what is ready ---------------------------------------------------------------------------------- */

static bool goes_before(const rs_feeder *f, uint32_t a, uint32_t b)
{
    return f->nodes[a].id != f->nodes[b].id ? f->nodes[a].id < f->nodes[b].id : a < b;
}

#define GOES_BEFORE(a, b) goes_before(f, a, b)

static void push(rs_feeder *f, uint32_t node)
{
    RS_HEAP_UP(f->ready, f->n_ready++, node, GOES_BEFORE, RS_HEAP_UNMARKED);
}

static uint32_t pop(rs_feeder *f)
{
    uint32_t top = f->ready[0], last = f->ready[--f->n_ready];
    RS_HEAP_DOWN(f->ready, f->n_ready, last, GOES_BEFORE, RS_HEAP_UNMARKED);
    return top;
}

/* Edges by what is waited for, counted into place. */
static rs_status sort_edges(rs_feeder *f, rs_error *err)
{
    size_t n = f->n_nodes;
    rs_feeder_edge *sorted = rs_malloc((f->n_edges + 1) * sizeof *sorted);
    f->first = rs_calloc(n + 2, sizeof *f->first);
    if (!sorted || !f->first) {
        rs_free(sorted);
        return rs_fail_nomem(err, "dependencies");
    }
    for (size_t i = 0; i < f->n_edges; i++) {
        const uint32_t *at = rs_map64_get(&f->by_id, f->edges[i].id);
        f->edges[i].to = at ? *at : RS_FEEDER_NONE;
        if (at) f->first[*at + 2]++;
    }
    /* Two ahead, so that filling leaves each node's beginning in its place. */
    for (size_t i = 2; i < n + 2; i++) f->first[i] += f->first[i - 1];
    for (size_t i = 0; i < f->n_edges; i++)
        if (f->edges[i].to != RS_FEEDER_NONE) sorted[f->first[f->edges[i].to + 1]++] = f->edges[i];
    rs_free(f->edges);
    f->edges = sorted;
    f->n_edges = f->first[n + 1];
    return RS_OK;
}

rs_status rs_feeder_start(rs_feeder *f, rs_error *err)
{
    rs_status status = sort_edges(f, err);
    if (status != RS_OK) return status;
    f->ready = rs_malloc((f->n_nodes + 1) * sizeof *f->ready);
    if (!f->ready) return rs_fail_nomem(err, "ready nodes");
    for (size_t i = 0; i < f->n_nodes; i++)
        if (!f->nodes[i].waits) push(f, (uint32_t)i);
    return RS_OK;
}

uint32_t rs_feeder_next(rs_feeder *f)
{
    if (!f->n_ready) return RS_FEEDER_NONE;
    uint32_t node = pop(f);
    f->nodes[node].issued = true;
    f->n_issued++;
    return node;
}

void rs_feeder_complete(rs_feeder *f, uint32_t node)
{
    if (f->nodes[node].complete) return;
    f->nodes[node].complete = true;
    for (size_t i = f->first[node]; i < f->first[node + 1]; i++)
        if (--f->nodes[f->edges[i].from].waits == 0) push(f, f->edges[i].from);
}

size_t rs_feeder_left(const rs_feeder *f)
{
    return f->n_nodes - f->n_issued;
}

void rs_feeder_clear(rs_feeder *f)
{
    rs_free_all(f->nodes, f->edges, f->first, f->ready);
    rs_map64_clear(&f->by_id);
    memset(f, 0, sizeof *f);
}
