/* Difference constraints: numbers x of which only differences are bounded, x[to] - x[from] <= weight.
 *
 * They can all be met iff the graph of the constraints has no cycle of negative weight; then the length of
 * the shortest path from a to b is the greatest value of x[b] - x[a], exactly (Cormen et al., Introduction to
 * Algorithms, chapter on single-source shortest paths). */
#pragma once

#include "rankscope/status.h"

typedef struct rs_difference_edge {
    uint32_t from, to;
    int64_t weight;
} rs_difference_edge;

/* Constraints as the caller keeps them: edge i of n_edges, made when it is asked for, so that many need no list. */
typedef struct rs_difference_system {
    rs_difference_edge (*edge)(const void *of, size_t i);
    const void *of;
    size_t n_edges, n_nodes;
} rs_difference_system;

/* An edge of this weight binds nothing, and a bound of this value is none. */
#define RS_DIFFERENCE_NONE INT64_MAX

/* Values that meet all constraints, by Bellman and Ford. potential: n_nodes values to start from, for
 * instance zeros or what an earlier call left; on success they meet every constraint. When they cannot be
 * met, cycle (room for n_nodes) lists the edges of one negative cycle and *n_cycle > 0 says how many; the
 * caller takes an edge out and calls again. O(n_edges) a round, as many rounds as the longest of the shortest
 * paths has edges. */
rs_status rs_difference_solve(const rs_difference_system *s, int64_t *potential, uint32_t *cycle,
                              size_t *n_cycle, rs_error *err);

/* The least and the greatest x[k] - x[source] for each node k, RS_DIFFERENCE_NONE where there is no bound. By
 * Dijkstra's algorithm, whose lengths the potential of rs_difference_solve makes positive.
 * O((n_edges + n_nodes) log n_nodes) and 4 bytes an edge. */
rs_status rs_difference_bounds(const rs_difference_system *s, const int64_t *potential, uint32_t source,
                               int64_t *least, int64_t *greatest, rs_error *err);
