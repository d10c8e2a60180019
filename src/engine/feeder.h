/* A feeder as simulators have it: hands out the nodes of an execution trace as what they depend on gets done.
 *
 * Add all nodes, start, then: take the next node, simulate it, complete it. A node is ready when every node
 * that it names, in data_deps or ctrl_deps, is complete. What names a node that never comes, or waits in a
 * ring, is never handed out; rs_feeder_left counts it. */
#pragma once

#include "base/strings.h"
#include "rankscope/status.h"

typedef struct rs_feeder_node {
    uint64_t id;
    uint32_t waits; /* dependencies that are not complete */
    bool issued, complete;
} rs_feeder_node;

typedef struct rs_feeder {
    rs_feeder_node *nodes; /* in the order in which they were added */
    size_t n_nodes, nodes_capacity;
    struct rs_feeder_edge *edges; /* after the start sorted by what is waited for */
    size_t n_edges, edges_capacity;
    size_t *first;   /* by node: its first edge */
    uint32_t *ready; /* a heap of nodes, the lowest id on top */
    size_t n_ready, n_issued;
    rs_map64 by_id; /* the first node of an id */
} rs_feeder;

#define RS_FEEDER_NONE UINT32_MAX

/* An all-zero feeder is empty. A node that names itself as its parent does not wait for itself: roots do so.
 * Indices count up from 0. RS_ERR_NOMEM, RS_ERR_LIMIT. */
rs_status rs_feeder_add(rs_feeder *feeder, uint64_t id, const uint64_t *data, size_t n_data,
                        const uint64_t *ctrl, size_t n_ctrl, rs_error *err);
rs_status rs_feeder_start(rs_feeder *feeder, rs_error *err);
/* The ready node with the lowest id; RS_FEEDER_NONE when none is. */
uint32_t rs_feeder_next(rs_feeder *feeder);
void rs_feeder_complete(rs_feeder *feeder, uint32_t node);
/* Nodes that were not handed out. */
size_t rs_feeder_left(const rs_feeder *feeder);
void rs_feeder_clear(rs_feeder *feeder);
