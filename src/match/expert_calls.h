/* Dispatch and combine of mixtures of experts: what sends tokens to their experts and back, of any library whose kernels say so
 * by name (trace/comm_kernels.h), without metadata of a process group.
 *
 * Calls of two ranks belong together where there are as many of both and they end together: match/teams.h. */
#pragma once

#include "match/collective_ops.h"
#include "trace/structure.h"

typedef enum rs_expert_role {
    RS_EXPERT_DISPATCH,
    RS_EXPERT_COMBINE,
    RS_EXPERT_NOTIFY, /* ranks tell each other how many tokens come: mostly a wait */
    RS_N_EXPERT_ROLES
} rs_expert_role;

extern const char *const rs_expert_role_names[RS_N_EXPERT_ROLES];

/* One kernel of a rank. */
typedef struct rs_expert_call {
    int64_t start, end; /* ns, the rank's own clock */
    int64_t exposed;    /* ns of it in which no computation ran */
    int64_t experts; /* of a dispatch: computation of its phase that was launched after it and before the next
                           dispatch or combine, ns, summed; RS_NO_VALUE: it is another, or no combine follows */
    int64_t step;    /* -1: none */
    int64_t layer;   /* -1: unknown */
    uint32_t row;
    uint8_t role, phase; /* rs_expert_role, rs_phase */
} rs_expert_call;

/* The calls of a rank, in order of start; *out is freed by the caller. `ops` are its communication. O(n log n) in its work. */
rs_status rs_expert_calls_of(rs_trace *trace, const rs_policy *policy, const rs_coll_rank *ops,
                             rs_expert_call **out, size_t *n, rs_error *err);

/* The calls of one role and phase of one rank. */
typedef struct rs_expert_line {
    const rs_expert_call *const *calls; /* borrowed */
    size_t n;
    int64_t
        *least; /* room for n, borrowed: where the line leads its team, the least duration of each call, ns */
    size_t
        team; /* index of the first line that it ends together with: its own where that is none before it */
    size_t size; /* lines of the team */
    int64_t
        spread; /* ns by which the distances of ends differ in the team, 9 of 10 at most; RS_NO_VALUE: alone */
} rs_expert_line;

/* Sets team, size and spread of each line. false when out of memory. The cost is that of rs_teams_find. */
bool rs_expert_teams(rs_expert_line *lines, size_t n);

static inline int64_t rs_expert_duration(const rs_expert_call *call)
{
    return rs_sub_sat(call->end, call->start);
}

/* The transfer of call k of a line, ns: the least duration in its team, since who came last did not wait. */
static inline int64_t rs_expert_transfer(const rs_expert_line *lines, const rs_expert_line *line, size_t k)
{
    return lines[line->team].least[k];
}
