/* The event graph of a rank: what had to wait for what, and the longest path through it.
 *
 * An item is an event of the trace; it has a node for its start and one for its end: node 2 * item and
 * 2 * item + 1. Edges run forward in cause, not always in time: clocks and rounding can make one end before
 * it begins. Everything is a column, so that a replay can walk millions of edges; a graph keeps no pointer
 * into the trace it was built from. */
#pragma once

#include "base/memory.h"
#include "rankscope/status.h"

#define RS_NO_ITEM UINT32_MAX

typedef enum rs_edge_type {
    RS_EDGE_OPERATOR,   /* within a host thread, or a GPU event's own duration */
    RS_EDGE_DEPENDENCY, /* from one host operation to the next: a gap */
    RS_EDGE_LAUNCH,     /* launching call to its work */
    RS_EDGE_KERNEL,     /* one GPU event to the next of its stream */
    RS_EDGE_SYNC,       /* work that a call, or work of another stream, waits for */
    RS_N_EDGE_TYPES
} rs_edge_type;

extern const char *const rs_edge_type_names[RS_N_EDGE_TYPES]; /* HTA's words: "critical_path_operator" */

typedef struct rs_path_graph {
    /* items */
    size_t n_items;
    uint32_t *row;        /* of the event columns */
    int64_t *start, *end; /* ns */
    uint8_t *in_graph;    /* whether the item has nodes at all */
    size_t n_nodes;

    /* edges, in the order they were added */
    size_t n_edges, capacity;
    uint32_t *from, *to; /* nodes */
    int64_t *weight;     /* ns; what the target waits behind the source at least */
    uint32_t *owner;     /* item the time is charged to, RS_NO_ITEM: nobody */
    uint8_t *type;
    uint8_t *dead; /* replaced by a later edge between the same nodes */

    /* the longest path, once rs_path_graph_solve has run */
    uint32_t *path; /* edges from the first to the last */
    size_t n_path;
    int64_t path_weight;
    uint8_t *critical; /* by edge */
} rs_path_graph;

static inline uint32_t rs_node_start(uint32_t item)
{
    return 2 * item;
}
static inline uint32_t rs_node_end(uint32_t item)
{
    return 2 * item + 1;
}
static inline int64_t rs_node_time(const rs_path_graph *g, uint32_t node)
{
    return node & 1 ? g->end[node >> 1] : g->start[node >> 1];
}

/* Room for n items; the caller fills their columns (in_graph is zeroed). NULL when out of memory. n is at
 * most RS_MAX_ITEMS. */
#define RS_MAX_ITEMS (UINT32_MAX / 4)
rs_path_graph *rs_path_graph_create(size_t n);
void rs_path_graph_free(rs_path_graph *graph);
/* Frees the edges and the path; the items stay. */
void rs_path_graph_drop_edges(rs_path_graph *graph);

/* Adds an edge; false when out of memory. */
bool rs_path_graph_add(rs_path_graph *graph, uint32_t from, uint32_t to, rs_edge_type type, int64_t weight,
                       uint32_t owner);

/* Finds the longest path: of several edges between two nodes the last added counts, of equally long ways the
 * one added first. The path ends in the node that is farthest from its source, or in sink if that is no
 * RS_NO_ITEM. RS_ERR_FORMAT when edges make a circle. O(nodes + edges). */
rs_status rs_path_graph_solve(rs_path_graph *graph, uint32_t sink, rs_error *err);

/* Only finds which edges count (dead), and no path: circles are not told. O(nodes + edges). */
rs_status rs_path_graph_settle(rs_path_graph *graph, rs_error *err);
