/* Where ranks stand: the stage of the pipeline, and the data rank.
 *
 * Stages are identified by who sends to whom. Ranks that sends and receives tie together are one pipeline. Its first stage is the rank that sends in
 * a step before it receives, and each stage's first message of the step goes to the next one. Where that orders no line (both ends send first, messages
 * do not say who sends) stages are the ranks in ascending order, as frameworks number them. Pipelines of a job are equally long, or there are none. */
#pragma once

#include "match/collective_ops.h"
#include "match/mesh.h"

typedef struct rs_stages {
    uint32_t *stage; /* by rank */
    uint32_t *line;  /* by rank: its pipeline, counted in order of their first ranks */
    size_t n_stages; /* 0: the job has no pipeline */
    size_t n_lines;
} rs_stages;

/* Release with rs_stages_clear, also after a failure. */
rs_status rs_stages_find(const rs_coll_job *job, rs_stages *out, rs_error *err);
void rs_stages_clear(rs_stages *stages);

/* The two ends of a message; false: it is none, or does not say who sends. */
bool rs_coll_message_ends(const rs_coll_job *job, const rs_coll_instance *instance,
                          const rs_coll_arrival **from, const rs_coll_arrival **to);

/* The mesh that the process groups of these ranks make, as far as they say who is in them. world: ranks of the job, 0: unknown, then as many as
 * groups name. O(operations). */
rs_status rs_coll_mesh(const rs_coll_rank *const *ranks, size_t n, int64_t world, rs_mesh *out,
                       rs_error *err);
/* Whether a group is of an axis: so many members, so far apart. false where the trace does not list them. */
bool rs_coll_is_of_axis(const rs_coll_rank *rank, const rs_coll_shape *shape, const rs_mesh_axis *axis);

/* By rank its place on the data axis of the mesh, into out, -1 where the process groups do not tell. numbers:
 * the ranks' own, ascending. *n_data: how many places the axis has, 0: unknown. Cost: O(operations). */
rs_status rs_data_ranks(const rs_coll_job *job, const int64_t *numbers, int64_t *out, int64_t *n_data,
                        rs_error *err);
