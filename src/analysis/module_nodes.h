/* Whose a node of the call tree is: its module, and the pass of a training step that it runs in. */
#pragma once

#include "base/strings.h"
#include "trace/recompute.h"

typedef enum rs_pass {
    RS_PASS_FORWARD,
    RS_PASS_BACKWARD,
    RS_PASS_RECOMPUTE,
    RS_PASS_OPTIMIZER,
    RS_PASS_OTHER,
    RS_PASS_UNLINKED, /* of work without a launch in the file: of no node */
    RS_N_PASSES
} rs_pass;
extern const char *const rs_pass_names[RS_N_PASSES];

typedef struct rs_module_nodes {
    const rs_events *e; /* borrowed, like the next two */
    const rs_tree *t;
    const rs_recompute *recompute;
    uint32_t *module;  /* by node: the nearest module, itself included; RS_NO_NODE */
    uint32_t *forward; /* by node: the forward operator of the nearest backward wrapper; RS_NO_NODE */
    uint8_t *pass;     /* by node: rs_pass */
    bool any;          /* there are modules */
    rs_map64 again;    /* sequence number -> the last node that was computed again with it */
} rs_module_nodes;

/* O(nodes). Needs rs_facet_tree and rs_facet_fwdbwd. Release with rs_module_nodes_clear, also after a failure. */
rs_status rs_module_nodes_make(rs_trace *trace, rs_module_nodes *out, rs_error *err);
void rs_module_nodes_clear(rs_module_nodes *nodes);

/* The module that a node's work counts for, of the backward pass that of its forward operator; RS_NO_NODE. */
uint32_t rs_module_of_node(const rs_module_nodes *nodes, uint32_t node);
/* A module's name without "nn.Module: ", which is not terminated. */
const char *rs_module_text(const rs_module_nodes *nodes, uint32_t module, size_t *length);
/* Where the node's own GPU work ends in gpu_row; it begins at gpu_first[node]. */
static inline size_t rs_node_work_end(const rs_tree *t, uint32_t node)
{
    return node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
}
