/* Gives the work of replayed graphs the operators of their capture: a copy of the capture's host events is put into the
 * call that replayed the graph, and each piece of work is launched by the call that became its node.
 *
 * A capture fits a replay when every piece of work has its node: one kernel, copy or setting of memory for another, in
 * order, and by the kernel's name where the capture names it (ROCm's profiler does). Where several streams run, or the
 * order differs, by name alone: the n-th of a name is the n-th of it. Of captures that fit, the one is taken that was
 * made for the step's batch; where captures of other shapes fit alike and nothing tells, none is.
 *
 * When the operators ran stands nowhere, as they did not. The times of the copies keep the order and the nesting of the
 * capture, inside the call; how long they are means nothing. */
#pragma once

#include "trace/captures.h"
#include "trace/trace.h"

/* One call that replays a graph, and what it replays. */
typedef struct rs_graft_item {
    uint32_t launch;
    size_t capture;
    uint32_t *work; /* by node of the capture */
} rs_graft_item;

typedef struct rs_graft {
    rs_graft_item *items;
    size_t n, capacity;
    size_t n_launches; /* calls that replay graphs and own work */
    size_t n_work;     /* ... and how much */
    size_t n_placed;   /* that got an operator */
    size_t n_by_order; /* of these, by order alone: the capture does not name the kernel */
    char reason[400];  /* why the first of those that got none did not; "" when all did */
} rs_graft;

/* What of a rank can be given operators. Nothing is changed yet but names that are added. CORRELATION and STREAM must
 * be loaded. */
rs_status rs_graft_plan(rs_trace *trace, const rs_captures *captures, int64_t rank, rs_graft *out,
                        rs_error *err);
/* Puts the rows of all ranks of a file behind those that are there. Facets of its ranks made before know nothing of
 * them. */
rs_status rs_graft_apply(rs_events *events, const rs_captures *captures, const rs_graft *grafts, size_t n,
                         rs_error *err);
void rs_graft_clear(rs_graft *graft);

/* One copy of a capture: where its rows begin, and the call that replayed it. */
typedef struct rs_grafted {
    uint32_t first_row, launch;
} rs_grafted;

/* Whether a row was put in from a capture. Then its times say nothing but its place among the others. */
static inline bool rs_is_grafted(const rs_events *e, size_t row)
{
    return e->n_grafted && row >= e->grafted[0].first_row;
}
/* The call that replayed such a row. */
uint32_t rs_graft_launch(const rs_events *events, uint32_t row);
