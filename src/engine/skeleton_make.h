/* What the files that make a skeleton share: skeleton_make.c chooses nodes and edges, skeleton_fill.c makes columns of
 * them, skeleton_costs.c learns what latencies take. Private to them. */
#pragma once

#include "engine/own_graph.h"
#include "engine/skeleton.h"

/* An edge between units, before these have their final numbers. */
typedef struct rs_unit_edge {
    uint32_t from, to; /* units */
    uint32_t base, name;
    bool at_end;
    uint8_t part, cost, origin;
} rs_unit_edge;

typedef struct rs_maker {
    rs_trace *trace;
    const rs_events *e;
    const rs_classes *classes;
    const rs_path_graph *g;
    rs_own own;
    rs_skeleton *s;
    uint32_t *first, *list; /* by node: its living edges, as numbers of the graph */
    uint32_t *n_out;        /* by node: living edges out of it */
    uint32_t *only_out;     /* ... one of them */
    uint32_t *unit;         /* by node: what it belongs to, RS_NO_ITEM: contracted or not there */
    uint32_t *node;         /* by unit: its start */
    size_t n_units;
    rs_unit_edge *edges; /* by target, the binding one first */
    size_t n_edges, capacity;
    uint32_t *order; /* units in their final order */
    uint32_t *place; /* by unit */
    bool circle;     /* the edges make one */
    rs_lanes lanes;
    rs_map64 step_of_number;
    rs_map64 pairs,
        labels; /* name and operator as the events number them; of a pair with lane, part and flags */
    size_t labels_capacity, longs_capacity, far_capacity, lanes_capacity;
    struct rs_maker_columns {
        rs_bit_packer label, row, step, first, source, base;
    } columns;
    uint8_t tie_of[RS_N_PARTS][RS_COST_NONE + 1][RS_N_ORIGINS]; /* the tie's place, + 1; 0: none yet */
    uint32_t last; /* node that the trace ends with: the window's end is bound to it */
} rs_maker;

static inline bool rs_maker_is_gpu_work(const rs_maker *m, uint32_t node)
{
    return m->own.work_of[node >> 1] != RS_NO_ITEM;
}
/* On a rank without a GPU what its host communicates is work, too: it meets other ranks. */
static inline bool rs_maker_is_span(const rs_maker *m, uint32_t node)
{
    return !m->own.w->n && rs_own_is_span(&m->own, node >> 1);
}
static inline bool rs_maker_is_work(const rs_maker *m, uint32_t node)
{
    return rs_maker_is_gpu_work(m, node) || rs_maker_is_span(m, node);
}

/* The index of the step that a node of the graph belongs to, -1: none. The step of work is its launch's. */
int32_t rs_maker_step_of(const rs_maker *m, const rs_step *steps, size_t n, uint32_t node);

/* The columns of the skeleton, its labels, lanes and steps. */
rs_status rs_maker_fill(rs_maker *m, const rs_step *steps, size_t n_steps, rs_error *err);
/* The learned constants. False when out of memory. */
bool rs_maker_learn(rs_maker *m, const rs_step *steps, size_t n_steps);
