/* The host events of a rank as trees: who is in whom, thread by thread. */
#pragma once

#include "trace/events.h"

/* Columns in preorder, one thread after another: what is in node i, directly or not, are the nodes from i +
 * 1 to end[i] - 1. */
typedef struct rs_nest {
    size_t n;
    uint32_t *row;
    uint32_t *parent; /* RS_NO_ROW at the top */
    uint32_t *depth;  /* 0 at the top */
    uint32_t *end;
    uint32_t *node_of; /* by row: the node or RS_NO_ROW */
} rs_nest;

/* rows ascending, at most 2^31 - 1, with their times. Events that overlap without nesting come out nested
 * somehow. The nest is the caller's; release with rs_nest_free. */
rs_status rs_nest_create(const rs_events *events, const uint32_t *rows, const int64_t *starts,
                         const int64_t *ends, size_t n, rs_nest **out, rs_error *err);
void rs_nest_free(rs_nest *nest); /* NULL is allowed */
