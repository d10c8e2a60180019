/* The mesh of a job's ranks, told by the process groups that they communicate in.
 *
 * An axis is a set of groups of one size, disjoint, with the same stride between neighbours. Axes meet in one
 * rank at most, and their sizes multiply to the number of ranks. Names of groups need not say anything: an
 * axis is called by its description where that has a known word, else by what is done in its groups. */
#pragma once

#include <stdint.h>

#include "rankscope/status.h"

/* A process group as one rank or all see it. */
typedef struct rs_mesh_group {
    int64_t *members; /* ascending, no two alike */
    size_t n;
    const char *description; /* may be NULL */
    size_t ops;              /* operations in it */
    size_t transfers;        /* ... sends and receives */
    size_t all_to_alls;
    size_t forward_sums; /* ... all-reduces and reduce-scatters in forward */
    size_t behind;       /* ... in backward or behind it */
} rs_mesh_group;

typedef struct rs_mesh_axis {
    char name[24];  /* "tp", "dp", "pp", "ep", "cp", "sp"; "axis" where nothing tells */
    bool described; /* by its description, not by what is done */
    int64_t size;
    int64_t stride; /* between neighbours of a group; 0: not the same between all */
    size_t groups;  /* that were seen */
    size_t ranks;   /* in them */
    size_t ops;
} rs_mesh_axis;

#define RS_MESH_AXES 16

typedef struct rs_mesh {
    rs_mesh_axis axes[RS_MESH_AXES]; /* by stride, then size */
    size_t n;
    int64_t world;   /* ranks of the job, as far as is known */
    int64_t covered; /* product of the sizes */
} rs_mesh;

/* world: what the traces say, or 0; members beyond it make it larger. Groups may repeat (every rank brings its
 * own); they are put into another order. O(groups * size * log). */
rs_status rs_mesh_find(rs_mesh_group *groups, size_t n, int64_t world, rs_mesh *out, rs_error *err);

/* The members of "[0, 4, 8]"; a list that is cut off with "..." is continued where its numbers have one
 * stride and `size` (0: unknown) says how many there are. Sorted; *members is the caller's. *n is 0 where there is no
 * list. Errors: RS_ERR_NOMEM. */
rs_status rs_mesh_parse(const char *text, int64_t size, int64_t **members, size_t *n, rs_error *err);
