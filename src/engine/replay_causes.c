/* A lean engine's causes take a byte: a place among the node's own edges, or behind ADDED_EDGES among those added to
 * it. Nodes with more edges than that have their cause in a list. */
#include "engine/replay_causes.h"

#include "base/memory.h"
#include "base/search.h"

enum { ADDED_EDGES = RS_NEAR_CAUSES, FAR_CAUSE = RS_FAR_CAUSE, NO_CAUSE = 255 };

static size_t find_far(const rs_times *t, uint32_t node)
{
    size_t low;
    RS_SEARCH(low, t->n_far, t->far[low].node < node);
    return low;
}

uint32_t rs_times_cause(const rs_times *t, size_t rank, uint32_t local)
{
    const uint32_t node = t->engine->node_base[rank] + local;
    if (t->cause) return t->cause[node];
    const bool near = t->choice[node] < RS_NEAR_CAUSES;
    return rs_times_cause_among(t, rank, local, near ? rs_skeleton_first(t->engine->ranks[rank], local) : 0);
}

uint32_t rs_times_cause_among(const rs_times *t, size_t rank, uint32_t local, uint32_t first)
{
    const rs_engine *e = t->engine;
    uint32_t node = e->node_base[rank] + local;
    size_t from, to;
    if (t->cause) return t->cause[node];
    uint8_t choice = t->choice[node];
    if (choice == NO_CAUSE) return RS_NO_CAUSE;
    if (choice == FAR_CAUSE) return t->far[find_far(t, node)].cause;
    if (choice < ADDED_EDGES) return e->edge_base[rank] + first + choice;
    rs_engine_added_to(e, node, &from, &to);
    return e->edge_base[e->n_ranks] + (uint32_t)from + (choice - ADDED_EDGES);
}

/* Whether places do not tell the edges into a node, of which n are its rank's. */
static bool has_many_edges(const rs_engine *e, uint32_t node, uint32_t n)
{
    size_t from, to;
    if (n > ADDED_EDGES) return true;
    if (!(e->kind[node] & RS_ENGINE_ADDED)) return false;
    rs_engine_added_to(e, node, &from, &to);
    return to - from > FAR_CAUSE - ADDED_EDGES;
}

void rs_times_put_far(rs_times *t, size_t rank, uint32_t local, uint32_t first, uint32_t cause)
{
    const rs_engine *e = t->engine;
    uint32_t node = e->node_base[rank] + local;
    if (t->choice[node] == FAR_CAUSE) {
        t->far[find_far(t, node)].cause = cause;
    } else if (cause == RS_NO_CAUSE) {
        t->choice[node] = NO_CAUSE;
    } else if (cause < e->edge_base[e->n_ranks]) {
        t->choice[node] = (uint8_t)(cause - e->edge_base[rank] - first);
    } else {
        size_t from, to;
        rs_engine_added_to(e, node, &from, &to);
        t->choice[node] = (uint8_t)(ADDED_EDGES + cause - e->edge_base[e->n_ranks] - from);
    }
}

bool rs_times_make_choices(const rs_engine *e, rs_times *t)
{
    size_t n = 0;
    t->choice = rs_malloc(e->n_nodes + 1);
    for (size_t r = 0; t->choice && r < e->n_ranks; r++) {
        rs_packed_reader firsts = {.of = &e->ranks[r]->first};
        for (uint32_t i = 0, first = 0; i < e->ranks[r]->n; i++) {
            const uint32_t end = rs_packed_read(&firsts, i + 1), node = e->node_base[r] + i;
            const bool far = has_many_edges(e, node, end - first);
            t->choice[node] = far ? FAR_CAUSE : NO_CAUSE;
            n += far;
            first = end;
        }
    }
    t->far = t->choice ? rs_malloc((n + 1) * sizeof *t->far) : NULL;
    for (uint32_t node = 0; t->far && n && node < e->n_nodes; node++)
        if (t->choice[node] == FAR_CAUSE) t->far[t->n_far++] = (rs_far_cause){node, RS_NO_CAUSE};
    return t->far != NULL;
}
