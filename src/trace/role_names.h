/* What a program, or a part of it, does in reinforcement learning, by names of processes, Ray actors and annotations. */
#ifndef RS_TRACE_ROLE_NAMES_H
#define RS_TRACE_ROLE_NAMES_H

#include <stddef.h>

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

#endif
