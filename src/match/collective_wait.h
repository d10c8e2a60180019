/* Waiting and transfer of a matched collective: the one definition, for every command that speaks of them.
 *
 * All times are on the aligned clock. The collective is ready when its last member arrives.
 *
 *   wait of a member   ready - its start: from its arrival until the last member arrived
 *   late               its start - the first start
 *   transfer           the least end - ready over the members that end after ready: once all have come,
 *                      nobody waits any more. The member that came last is always among them. A broadcast's
 *                      root and an eager send may be gone before the last member comes: they are not counted.
 *   cost               ready - the last start but one: what would be saved if the last had come with it
 *
 * Where ends are one moment on all members this is also what needs no clock: a member waits by what its
 * duration is longer than the least. */
#pragma once

#include "match/collective_ops.h"

typedef struct rs_coll_wait {
    int64_t first, last;         /* arrivals; last: the collective is ready */
    int64_t first_end, last_end; /* ends */
    int64_t transfer, cost;
    int64_t sum_wait, sum_duration; /* over members */
    uint32_t first_at, last_at;     /* arrivals, of equal ones the lowest rank's */
    rs_coll_kind kind;
} rs_coll_wait;

rs_coll_wait rs_coll_measure(const rs_coll_job *job, const rs_coll_instance *instance);

/* Whether ranks can be late at it: at least two members are here, they agree on what it is, and it is no send
 * and receive, which wait by design. */
bool rs_coll_compares(const rs_coll_job *job, const rs_coll_instance *instance);

/* The first event of all ranks on the aligned clock; 0 where no rank has one. */
int64_t rs_coll_origin(const rs_coll_job *job);

/* Whether some rank's communication is what its host ran. */
bool rs_coll_on_host(const rs_coll_job *job);
