/* The ranks' clocks, set right by the communication that they share. */
#ifndef RS_CLOCK_COLLECTIVE_CLOCKS_H
#define RS_CLOCK_COLLECTIVE_CLOCKS_H

#include "match/collective_ops.h"

/* Matches the ranks' communication (rs_coll_match). align: clocks are corrected by its ends, else they are as
 * the files have them: by baseTimeNanoseconds where all tell it. Ends of what the host ran (gloo) tell
 * nothing: its ranks leave at different times. */
rs_status rs_clock_match(const rs_coll_rank *const *ranks, size_t n_ranks, bool align, rs_coll_job *out,
                         rs_error *err);

/* How a command that compares ranks sets their clocks: the words of its option --clocks, in this order. */
typedef enum rs_clock_how {
    RS_CLOCKS_ENDS,
    RS_CLOCKS_LIKELY,
    RS_CLOCKS_CERTAIN,
    RS_CLOCKS_FILE
} rs_clock_how;
#define RS_CLOCKS_CHOICES "ends|likely|certain|file"
rs_clock_how rs_clock_how_of(const char *word);

/* What was relied on. */
typedef struct rs_clock_trust {
    size_t n;       /* clocks that are bounded */
    size_t n_loose; /* clocks without an interval: they are as their ends put them */
    int64_t width;  /* the widest interval, ns */
} rs_clock_trust;

/* rs_clock_match by any of the ways. likely: clocks are what rs_clocks_find estimates; certain: the middles
 * of the certain intervals; of a clock without one, as ends put it. Drift is not taken off: shift is
 * constant. trust is filled for these two. */
rs_status rs_clock_match_by(const rs_coll_rank *const *ranks, size_t n_ranks, rs_clock_how how,
                            rs_coll_job *out, rs_clock_trust *trust, rs_error *err);

#endif
