/* The call tree of one rank: modules and Python functions, annotations, operators, calls into the runtime,
 * and the GPU work they launch.
 *
 * Nodes are in depth-first order, thread after thread, so that a subtree is a run of nodes and its GPU work
 * a run of gpu_row: time and counts of any subtree are a difference of two numbers. */
#pragma once

#include "trace/facet.h"

#define RS_NO_NODE UINT32_MAX

typedef struct rs_tree {
    size_t n;
    uint32_t *row;    /* event of each node */
    uint32_t *parent; /* RS_NO_NODE for the outermost of a thread */
    uint32_t *end;    /* first node behind the subtree; node + 1 is its first child if that is < end */
    uint32_t *depth;  /* 0 for the outermost */
    uint32_t *op;     /* nearest operator, the node itself included; RS_NO_NODE if there is none */
    uint32_t
        *gpu_first;    /* n + 1: where the subtree's GPU work begins in gpu_row; it ends at gpu_first[end] */
    uint32_t *gpu_row; /* linked GPU work in depth-first order of its calls, by start within a call */
    int64_t *gpu_sum;  /* n_gpu + 1: summed duration of the GPU work before this one */
    size_t n_gpu;
    size_t n_unlinked;    /* GPU work whose launch is not in the file */
    size_t n_host;        /* operators and calls */
    size_t n_roots;       /* operators with no operator around them */
    size_t n_misnested;   /* annotations and Python functions that end outside what they begin in */
    int64_t *busy;        /* by rs_tree_busy: union of the subtree's GPU work, ns; NULL before */
    bool lent, busy_lent; /* row, end, gpu_first and gpu_row, or busy, are the keeper's */
} rs_tree;

/* Builds once and keeps with the trace, which owns it. Modules (nn.Module) are always nodes, other Python
 * functions only with python. Needs RS_LINK_COLUMNS. --steps restricts host events to those that begin in the
 * steps and GPU work to what they launch. O(n log n), O(n) where events come in order. */
extern const rs_facet rs_facet_tree, rs_facet_working_tree, rs_facet_fwdbwd;
extern const rs_facet_form rs_tree_form;
void rs_tree_free(void *tree);
rs_status rs_trace_tree(rs_trace *trace, bool python, rs_tree **out, rs_error *err);
/* The tree without Python functions, without calls that own no work, and without the nodes that have no GPU work
 * below them: what relates to work is as in the whole tree, for a fraction of its time and memory. Its counts of operators are not those of
 * the rank, and operators of a forward pass that launched nothing are missing. */
rs_status rs_trace_working_tree(rs_trace *trace, rs_tree **out, rs_error *err);

/* Fills tree->busy. O((nodes + work) log work). */
rs_status rs_tree_busy(const rs_trace *trace, rs_tree *tree, rs_error *err);

/* Union of the GPU work of the whole tree, ns. */
rs_status rs_tree_total_busy(const rs_trace *trace, const rs_tree *tree, int64_t *ns, rs_error *err);

static inline size_t rs_tree_kernels(const rs_tree *tree, uint32_t node)
{
    return tree->gpu_first[tree->end[node]] - tree->gpu_first[node];
}
static inline int64_t rs_tree_gpu_sum(const rs_tree *tree, uint32_t node)
{
    return tree->gpu_sum[tree->gpu_first[tree->end[node]]] - tree->gpu_sum[tree->gpu_first[node]];
}

/* By node: the nearest node above (not the node itself) that is a module; RS_NO_NODE if none. The caller's, to release
 * with rs_free; NULL when out of memory. O(nodes), whatever the depth. */
uint32_t *rs_tree_modules(const rs_trace *trace, const rs_tree *tree);
bool rs_is_module_name(const rs_string *name);

/* ---- forward and backward ---------------------------------------------------------------------------- */

/* A backward wrapper (autograd::engine::evaluate_function: ...) and the forward operator with its sequence
 * number: the last one before it on another thread. By node. */
typedef struct rs_fwdbwd {
    uint32_t backward, forward;
} rs_fwdbwd;

/* Links by ascending backward node; the trace's, by tree. */
rs_status rs_tree_fwdbwd(rs_trace *trace, rs_tree *tree, const rs_fwdbwd **out, size_t *n, rs_error *err);
