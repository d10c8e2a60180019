/* What a program, or a part of it, does in reinforcement learning, by names of processes, Ray actors and annotations. */
#pragma once

#include "trace/trace.h"

typedef enum rs_job_role {
    RS_ROLE_NONE,
    RS_ROLE_SYNC, /* weights go from who updates them to who uses them */
    RS_ROLE_REFERENCE,
    RS_ROLE_REWARD,
    RS_ROLE_CRITIC,
    RS_ROLE_ROLLOUT,
    RS_ROLE_UPDATE,
    RS_N_ROLES
} rs_job_role;

extern const char *const rs_role_names[RS_N_ROLES];

/* By the words of a name ("generate_sequences", "ray::RewardWorker.compute"): the first of the order above that one of its words
 * is of; a name with "ref" and "log_prob" computes the reference. *several (NULL: not wanted): words of another role are in it, too. */
rs_job_role rs_role_of_name(const char *name, size_t length, int *several);

/* By string the role that its words name (rs_job_role); the caller frees it. NULL when out of memory. */
uint8_t *rs_roles_of_strings(const rs_events *events);

/* As ROLE=PATH says (NULL: it does not), else the rank's own; NULL: none. */
static inline const char *rs_role_shown(const char *given, rs_job_role own)
{
    return given ? given : own ? rs_role_names[own] : NULL;
}

/* What a rank is without ROLE=PATH: as its process or Ray actor is called, else what most of its selected annotated time is
 * (*annotated). Reads RS_COL_META_NAME. */
rs_status rs_trace_job_role(rs_trace *trace, rs_job_role *out, bool *annotated, rs_error *err);
