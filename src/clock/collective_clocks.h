/* The ranks' clocks, set right by the communication that they share. */
#ifndef RS_CLOCK_COLLECTIVE_CLOCKS_H
#define RS_CLOCK_COLLECTIVE_CLOCKS_H

#include "match/collective_ops.h"

/* Corrects job->shift and fills job->clocks by the instances matched so far; may be called again when more
 * are matched. Ends of what the host ran (gloo) tell nothing: its ranks leave at different times. */
rs_status rs_coll_align(rs_coll_job *job, rs_error *err);

/* The middle of the values, which are reordered; of an even number the mean of the two in the middle. n > 0.
 */
int64_t rs_median_time(int64_t *values, size_t n);

#endif
