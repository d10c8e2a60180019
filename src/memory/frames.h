/* What the frames of call stacks say, each looked at once: files and functions of Python, parts of PyTorch in C++. */
#pragma once

#include "format/snapshot.h"

enum rs_frame_trait {
    RS_FRAME_PYTHON = 1 << 0,
    RS_FRAME_LIBRARY = 1 << 1,  /* ... of PyTorch or of Python itself */
    RS_FRAME_NOISE = 1 << 2,    /* of the interpreter, of the dispatcher, or of taking the stack */
    RS_FRAME_NODE = 1 << 3,     /* the body of a node of the backward pass */
    RS_FRAME_OPERATOR = 1 << 4, /* the call of an operator, at::_ops::NAME::call */
    /* what blocks are for: memory/purpose.h */
    RS_FRAME_AUTOGRAD = 1 << 5, /* on a thread of the backward pass */
    RS_FRAME_ACCUMULATE = 1 << 6,
    RS_FRAME_WORKSPACE = 1 << 7,
    RS_FRAME_KERNEL_LIBRARY = 1 << 8, /* cublas, cudnn */
    RS_FRAME_TENSOR = 1 << 9,         /* makes a tensor, and no workspace */
    RS_FRAME_COMM = 1 << 10,
    RS_FRAME_OPTIMIZER = 1 << 11,
    RS_FRAME_INIT_GROUP = 1 << 12, /* of an optimizer */
    RS_FRAME_LOADER = 1 << 13,
    RS_FRAME_FORWARD = 1 << 14, /* of a module or a loss */
    RS_FRAME_INIT = 1 << 15,    /* makes or moves a module */
    RS_FRAME_ZERO_GRAD = 1 << 16,
    RS_FRAME_NATIVE = 1 << 17
};

/* What says something of the allocation only where it is close to it: launchers, wrappers of modules and training loops
 * are around everything. */
#define RS_FRAME_INNER (RS_FRAME_COMM | RS_FRAME_OPTIMIZER | RS_FRAME_LOADER)

typedef struct rs_frame_traits {
    const rs_snapshot *snapshot;
    uint32_t *of_frame; /* RS_FRAME_... */
    uint32_t
        *of_stack; /* of all frames; RS_FRAME_INNER ones up to the innermost frame of the user's own Python */
} rs_frame_traits;

/* Release with rs_frame_traits_clear, also after a failure. */
rs_status rs_frame_traits_make(const rs_snapshot *snapshot, rs_frame_traits *out, rs_error *err);
void rs_frame_traits_clear(rs_frame_traits *traits);

static inline uint32_t rs_stack_traits(const rs_frame_traits *t, uint32_t stack)
{
    return stack == RS_NO_STACK ? 0 : t->of_stack[stack];
}

/* What follows the last site-packages/ or dist-packages/ of a path; the whole path without one. */
const char *rs_short_path(const char *path);
/* The autograd node that a C++ function is the body of ("MmBackward0"), and the operator that one is the call of
 * ("mm"), with their lengths; NULL: none. */
const char *rs_autograd_node(const char *name, size_t *length);
const char *rs_called_operator(const char *name, size_t *length);
