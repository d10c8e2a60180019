/* What everything would take without stragglers: the same thing compared over ranks and steps.
 *
 * Ranks whose steps run the same kernels on the same streams in the same order have one *role*. Within a role
 * the n-th piece of work on a stream in a step, and the n-th stretch of host time on a thread, do the same on
 * every rank and in every step: they share a key. Transfers share one by kind, group size, bytes, type,
 * whether they cross hosts and how far apart the ranks are (an axis of a mesh), over all groups. A stream is known by what it runs in the step, a thread by what it does. */
#ifndef RS_ENGINE_REFERENCE_H
#define RS_ENGINE_REFERENCE_H

#include "engine/engine.h"

typedef struct rs_reference {
    rs_weights
        balance;       /* the mean over ranks and steps; transfers repaired. Only where `all` was asked for */
    rs_weights repair; /* the lower median over ranks of each rank's median over steps */
    rs_weights peers;  /* the median over all other ranks and their steps */
    rs_weights next;   /* what the next step of the same rank took. The same */
    uint8_t
        *shared; /* by node: work, or host time before a point, that most ranks of its role have there, too */
    uint32_t *role; /* by rank, counted from 0 in order of ranks */
    size_t n_roles;
    uint32_t *group; /* by meeting: the ranks that meet, counted from 0 */
    size_t n_groups;
    int64_t *group_transfer; /* by meeting: the lower median of the transfers of its kind and its ranks */
    int64_t keyed, unkeyed;  /* ns of GPU work and host time that could be compared, and that could not */
} rs_reference;

/* recorded: weights of rs_weights_recorded; what has no key keeps them. all: `balance` and `next`, too, for which each has 8 bytes a
 * node and an edge. O(n log n) of nodes and meetings.
 * Release with rs_reference_clear, also after a failure. */
rs_status rs_reference_find(const rs_engine *engine, const rs_weights *recorded, bool all, rs_reference *out,
                            rs_error *err);
/* Whether another thread than the one that runs the steps launched the work: the backward pass. */
bool rs_work_is_backward(const rs_skeleton *skeleton, uint32_t node);
/* Stages do equal work, forward and backward apart: each role's computation in `balance` is scaled to the mean of roles. O(nodes). */
rs_status rs_reference_balance_roles(const rs_engine *engine, rs_reference *reference, rs_error *err);
void rs_reference_clear(rs_reference *reference);

#endif
