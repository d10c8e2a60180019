/* The operators that launch GPU work. */
#pragma once

#include "trace/tree.h"

/* An operator whose own calls launch computation, copies or memsets, or a call without an operator around it.
 * Communication neither counts nor makes a launcher; it does count in the subtree. */
typedef struct rs_launcher {
    uint32_t node;
    uint32_t first_kernel; /* row of the first of its own work to start */
    size_t n_kernels;      /* its own */
    int64_t direct;        /* union of its own work, ns */
    int64_t subtree;       /* union of all work below it, ns */
} rs_launcher;

extern const rs_facet rs_facet_launchers;
/* In order of start, then row; the trace's, by tree. Fills tree->busy. O(n log n). */
rs_status rs_tree_launchers(rs_trace *trace, rs_tree *tree, const rs_launcher **out, size_t *n,
                            rs_error *err);

/* The operator that a call's work is credited to; the call itself without one. O(1) but for operators named
 * "execute", which are passed through. */
uint32_t rs_tree_launcher_of(const rs_trace *trace, const rs_tree *tree, uint32_t call);
