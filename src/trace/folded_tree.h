/* The call tree with equal paths folded into one, as it is shown. */
#pragma once

#include "trace/pool.h"
#include "trace/tree.h"

typedef struct rs_folded_node {
    uint32_t parent;  /* is before the node; RS_NO_NODE for threads */
    uint32_t depth;   /* 0: thread */
    uint32_t name;    /* in the pool */
    const char *kind; /* "thread", or the kind of event: static text */
    uint32_t uid;     /* position in traceEvents of the first event */
    int64_t start;    /* of that event, ns; RS_NO_TIME for threads */
    size_t count;
    int64_t host;     /* summed duration; 0 for GPU work */
    int64_t gpu;      /* union of the work below, summed over the events; of GPU work its summed duration */
    int64_t self;     /* host time outside the nodes below */
    size_t n_kernels; /* pieces of GPU work below, or of the node itself */
    bool is_gpu;
    bool no_host; /* of operators of a replayed graph: nothing tells their time on the host */
} rs_folded_node;

typedef struct rs_folded_settings {
    const char *root; /* a shell pattern: only what is in events of such a name; NULL: everything */
    int64_t depth;    /* levels below the thread; 0: all */
    int64_t min_time; /* ns a node must reach */
    bool by_host;     /* time is host time, not GPU time */
    bool each;        /* events with equal paths are not folded */
    bool python;
} rs_folded_settings;

typedef struct rs_folded_tree {
    rs_pool pool;
    rs_folded_node *nodes; /* depth first; siblings by time, then position (with each: in order of time) */
    size_t n;
    int64_t busy;   /* union of all linked GPU work of the rank */
    size_t n_host;  /* operators and calls of the rank */
    size_t n_found; /* events that settings.root names */
} rs_folded_tree;

rs_status rs_fold_tree(rs_trace *trace, const rs_folded_settings *settings, rs_folded_tree **out,
                       rs_error *err);
void rs_folded_tree_free(void *tree); /* NULL is allowed */
