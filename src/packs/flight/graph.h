/* The wait-for graph, shared by the files that build it and that judge what it ends in. Nodes are ranks and
 * the operations they are in; a rank points to its earliest operation that is not completed, an operation
 * to the ranks that keep it from going on. */
#pragma once

#include "flight/analyse.h"

typedef struct rs_fl_op_node {
    uint32_t group;
    int64_t seq;
    bool p2p;
    uint32_t rank, entry;    /* who is in it first (for point-to-point the only one), with what */
    uint32_t edges, n_edges; /* rank nodes */
    int64_t first_created;   /* by anybody, clock offsets removed; INT64_MAX unknown */
    bool obscure;            /* its edges go to ranks of which nothing is known here */
    bool moved;              /* some member has completed it */
} rs_fl_op_node;

typedef struct rs_fl_graph {
    rs_fl_analysis *a;
    rs_flight *flight;
    rs_map64 strangers; /* global rank -> node - n_ranks */
    int64_t *stranger_ranks;
    size_t n_strangers, strangers_capacity;
    rs_fl_op_node *ops;
    size_t n_ops, ops_capacity;
    rs_strings op_keys;
    uint32_t *edges;
    size_t n_edges, edges_capacity;
    rs_fl_answer *answers; /* of one operation's members; room for the largest group */
    uint32_t *op_of;       /* by rank: the op it is in, RS_FL_NONE */
    /* strongly connected parts */
    uint32_t *part, *index, *low, *stack;
    size_t n_parts;
    int64_t *frontier; /* by group: the newest collective that any member has completed; RS_FL_UNKNOWN */
    uint8_t *leaves;   /* by part: some edge leaves it */
    uint32_t *part_size;
    /* reverse edges, for counting who reaches a part */
    uint32_t *back_at, *back;
    uint8_t *seen;
    uint32_t *queue;
} rs_fl_graph;

/* Node numbers: ranks with dumps, then strangers, then operations. */
static inline size_t rs_fl_n_nodes(const rs_fl_graph *g)
{
    return g->flight->n_ranks + g->n_strangers + g->n_ops;
}

static inline uint32_t rs_fl_op_base(const rs_fl_graph *g)
{
    return (uint32_t)(g->flight->n_ranks + g->n_strangers);
}

/* The global rank of a rank node. */
int64_t rs_fl_rank_of_node(const rs_fl_graph *g, uint32_t node);

/* ... a strongly connected part. */
size_t rs_fl_waiters_of_part(rs_fl_graph *g, uint32_t part);

/* Whether a rank waits in an operation: its head is that one. */
bool rs_fl_stands_in(const rs_fl_graph *g, uint32_t rank, const rs_fl_op_node *op);

/* missed.c: the operation that a rank should have issued first, of those that others have and it has not. */
typedef struct rs_fl_missed {
    uint32_t group, rank, entry; /* an entry of one who did; rank RS_FL_NONE: it missed nothing */
    int64_t seq, when;
    bool p2p;
    bool proven; /* a collective that it surely has not issued is open on somebody */
} rs_fl_missed;
rs_status rs_fl_first_missed(rs_fl_graph *g, uint32_t node, rs_fl_missed *out, rs_error *err);

/* unissued.c: where no dump tells of completions, the rank that stopped issuing first. */
rs_status rs_fl_find_unissued(rs_fl_graph *g, rs_error *err);

/* causes.c: a finding for every part that no edge leaves. */
rs_status rs_fl_judge_sinks(rs_fl_graph *g, rs_error *err);
