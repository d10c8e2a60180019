/* How long ranks take for what other ranks do, too: computation, and host time. Steps and kernels are looked at apart, so
 * that a rank that is slower (always, in all of it) differs from one that has more to do in some steps or kernels. */
#ifndef RS_VERDICT_LEVELS_H
#define RS_VERDICT_LEVELS_H

#include "verdict/candidate.h"

typedef struct rs_level {
    double own, usual; /* ns of what can be compared; what it takes on the lower middle rank of its role */
    double times;      /* how many times as long as ranks of its role that are not slow; 0: it has no peers */
    double low,
        even; /* the same of a low quartile of its steps, and of its kernels; of a host of its middle step */
    double doubt; /* share by which ranks of its role that are not slow differ: two standard deviations */
    double error; /* of a host: share by which its steps leave times uncertain, a standard error; else 0 */
    double vary;  /* by how much its kernels differ from all of their step, as a share of it; of a host 0 */
    bool slow;    /* it takes longer than they do, beyond what they differ by */
    bool off;     /* ... always, and in all that it does */
} rs_level;

typedef struct rs_levels {
    rs_level *items; /* by rank */
    double *
        step; /* by step_base: own over usual of a step, of a host of half of its time; 0: nothing is compared */
    rs_keyed *by_role; /* ranks that have peers, by role; key: the role */
    size_t n;          /* of them */
} rs_levels;

/* host: of host time, not of computation. Release with rs_levels_clear, also after a failure. */
rs_status rs_levels_find(const rs_judged *job, bool host, rs_levels *out, rs_error *err);
void rs_levels_clear(rs_levels *levels);
/* The end of the role that begins at by_role[from]. */
size_t rs_levels_role_end(const rs_levels *levels, size_t from);

#endif
