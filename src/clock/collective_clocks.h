/* The ranks' clocks, set right by the communication that they share. */
#ifndef RS_CLOCK_COLLECTIVE_CLOCKS_H
#define RS_CLOCK_COLLECTIVE_CLOCKS_H

#include "match/collective_ops.h"

/* Matches the ranks' communication (rs_coll_match). align: clocks are corrected by its ends, else they are as
 * the files have them: by baseTimeNanoseconds where all tell it. Ends of what the host ran (gloo) tell
 * nothing: its ranks leave at different times. */
rs_status rs_clock_match(const rs_coll_rank *const *ranks, size_t n_ranks, bool align, rs_coll_job *out,
                         rs_error *err);

#endif
