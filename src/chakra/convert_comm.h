/* What a communication kernel of a linked trace does: its kind, size and group. */
#ifndef RS_CHAKRA_CONVERT_COMM_H
#define RS_CHAKRA_CONVERT_COMM_H

#include "chakra/convert_linked.h"

typedef struct rs_comm {
    int node_type; /* 5 send, 6 receive, 7 collective; 0: no communication */
    int comm_type; /* of a collective, as in the schema; -1: unknown */
    bool has_size;
    int64_t size;      /* bytes that this rank sends in */
    const char *group; /* in the arena; NULL: none is named */
} rs_comm;

/* false when out of memory. */
bool rs_comm_of(const rs_linked *linked, const rs_linked_node *gpu, rs_arena *arena, rs_comm *out);

/* The bytes of the tensors among a node's inputs; false when there are none or they make no sense. */
bool rs_tensor_bytes(const rs_linked_io *io, int64_t *bytes);

#endif
