/* What a communication kernel of a linked trace does: its kind, size, group and peer. */
#pragma once

#include "chakra/convert_linked.h"
#include "chakra/groups.h"

typedef struct rs_comm {
    int node_type; /* 5 send, 6 receive, 7 collective; 0: no communication */
    int comm_type; /* of a collective, as in the schema; -1: unknown */
    int recorded;  /* comm_type of the recording where the target has another; -1 */
    bool has_size;
    int64_t size;      /* bytes that this rank sends in */
    const char *group; /* in the arena; NULL: none is named */
    bool has_peers;    /* of a send or receive */
    int32_t src, dst;  /* ranks of the job */
    int32_t tag;       /* how manieth from src to dst, from 0 */
} rs_comm;

/* Kind, size and group, as recorded. false when out of memory. */
bool rs_comm_of(const rs_linked *linked, const rs_linked_node *gpu, rs_arena *arena, rs_comm *out);
/* The same of communication that the host runs: gloo:all_reduce, mpi:..., ucc:... in a trace without GPU nodes.
 * node_type 0: it is none, or nothing tells its group, as there are several. groups NULL: any group will do. */
bool rs_comm_of_host(const rs_linked *linked, const rs_linked_node *node, const rs_groups *groups,
                     rs_arena *arena, rs_comm *out);
/* Whether a host node's name is that of such communication. */
bool rs_comm_is_of_host(const rs_linked *linked, const rs_linked_node *node);
/* The operator that sends or receives for such a node: c10d::send, c10d::recv_; NULL: there is none. */
const rs_linked_node *rs_comm_host_operator(const rs_linked *linked, const rs_linked_node *node);
/* The nearest record_param_comms at or above the node that launched it; NULL: there is none. */
const rs_linked_node *rs_comm_record(const rs_linked *linked, const rs_linked_node *gpu);

/* The kind and size that a simulator is given for what was recorded; node_type 0: it can only replay the time.
 * (target.c) */
void rs_comm_for_target(rs_chakra_target target, rs_comm *comm);

/* All communication of a trace, in the order of its nodes. */
typedef struct rs_comms {
    rs_comm *items;
    uint32_t *node; /* by item: its index */
    size_t n, capacity, node_capacity;
    rs_strings groups; /* the names that the items point to */
} rs_comms;

/* Finds it, with peers, tags and the target's kinds. What a node lacks is told in problems. */
rs_status rs_comms_find(const rs_linked *linked, const rs_groups *groups, rs_chakra_target target,
                        rs_comms *comms, rs_problems *problems, rs_error *err);
void rs_comms_clear(rs_comms *comms);

/* Gives sends and receives their peers and tags. (peers.c) */
rs_status rs_comms_find_peers(const rs_linked *linked, const rs_groups *groups, rs_comms *comms,
                              rs_problems *problems, rs_error *err);
