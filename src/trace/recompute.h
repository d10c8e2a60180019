/* What activation checkpointing computes again: forward operators that the backward pass runs again. */
#pragma once

#include "trace/tree.h"

typedef enum rs_again {
    RS_AGAIN = 1,
    RS_AGAIN_BY_FUNCTION = 2 /* the Python function below tells, too */
} rs_again;

/* By node of a tree: whether it is computed again. Two things tell:
 *  - it begins in a Python function of torch/utils/checkpoint.py named recompute_fn, on the same thread;
 *  - it is in an operator CheckpointFunctionBackward (torch, Megatron, Transformer Engine) and not in a
 *    backward pass that this one starts.
 * Without Python functions in the trace the first, which newer jobs need, cannot be seen. */
typedef struct rs_recompute {
    uint8_t *again;  /* of rs_again; 0: it is not */
    size_t n;        /* nodes of the tree */
    size_t n_again;  /* of these */
    bool has_python; /* the trace holds Python functions that are no modules */
} rs_recompute;

extern const rs_facet rs_facet_recompute;

/* The trace's, by tree. O(nodes + rows). */
rs_status rs_tree_recompute(rs_trace *trace, rs_tree *tree, const rs_recompute **out, rs_error *err);

/* Whether an operator's name is that of the autograd engine's call of one backward function. */
bool rs_is_backward_wrapper(const rs_string *name);
