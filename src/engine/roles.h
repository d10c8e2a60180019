/* The same place of the program, over steps and ranks.
 *
 * An instance is one step of one rank: its GPU work by stream, in order. Instances with the same kernels on the
 * same streams in the same order belong to one role, whatever rank or step. A position is a place in that
 * order, so the nodes of all instances at one position did the same. Streams are known by their number, never
 * by time over streams: that order is chance. */
#pragma once

#include "engine/engine.h"

typedef struct rs_instance {
    uint32_t rank, step; /* step: index into the rank's */
    uint32_t first, n;   /* in list */
    uint64_t hash;
} rs_instance;

typedef struct rs_role {
    uint32_t first, n; /* in order: its instances */
} rs_role;

typedef struct rs_roles {
    uint32_t *list;         /* nodes as their rank numbers them: by rank, step, stream, then time */
    rs_instance *instances; /* by rank, then step */
    size_t n_instances, capacity;
    uint32_t *order; /* indices into instances, by role */
    rs_role *roles;
    size_t n_roles;
} rs_roles;

/* O(work log work). Without steps there are none. */
rs_status rs_roles_find(const rs_skeleton *const *ranks, size_t n_ranks, rs_roles *out, rs_error *err);
void rs_roles_clear(rs_roles *roles);

static inline const rs_instance *rs_role_instance(const rs_roles *r, const rs_role *role, size_t i)
{
    return &r->instances[r->order[role->first + i]];
}
static inline uint32_t rs_instance_node(const rs_roles *r, const rs_instance *i, uint32_t position)
{
    return r->list[i->first + position];
}
