/* The ranks' clocks, set right by the communication that they share. */
#pragma once

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
/* The option of analyses over ranks; what it chooses is read by rs_clock_how_of. */
#define RS_CLOCKS_OPTION                                                                                             \
    {                                                                                                                \
        "clocks", RS_OPTION_CHOICE, "HOW", RS_CLOCKS_CHOICES, "ends",                                                \
            "ends: clocks are corrected so that collectives end together; likely, certain: by the intervals of the " \
            "command clocks; file: as the traces have them"                                                          \
    }
rs_clock_how rs_clock_how_of(const char *word);

/* By how much a clock may be off as it was set, ns: it is ahead by low to high of what was taken off it. */
typedef struct rs_clock_doubt {
    int64_t low, high; /* RS_NO_TIME: nothing is known */
    int64_t drifted;   /* of either: what it surely drifts until the ends of the job */
} rs_clock_doubt;

/* What the distance of two clocks is off by at most, by the collectives of the two. */
typedef struct rs_clock_pair_doubt {
    uint64_t ranks; /* lower << 32 | higher */
    int64_t most;
} rs_clock_pair_doubt;

/* What was relied on. */
typedef struct rs_clock_trust {
    size_t n;       /* clocks that are bounded */
    size_t n_loose; /* clocks without an interval: they are as their ends put them */
    int64_t width;  /* the widest interval, ns */
    rs_clock_doubt
        *of; /* by rank; NULL: clocks were not looked at (--clocks file, one rank, the host's own) */
    size_t n_ranks;
    rs_clock_pair_doubt *pairs; /* ranks that share collectives, by their numbers */
    size_t n_pairs;
} rs_clock_trust;

void rs_clock_trust_clear(rs_clock_trust *trust);
/* What the distance of a moment on one rank from one on another may be wrong by, ns: less than that means
 * nothing. 0 on one rank, and where clocks were not looked at; INT64_MAX where one of them has no interval. */
int64_t rs_clock_trust_between(const rs_clock_trust *trust, size_t one, size_t other);

/* rs_clock_match by any of the ways. ends: as their ends put them, within the likely intervals that
 * rs_clocks_find tells; likely: clocks are what it estimates; certain: the middles of the certain intervals;
 * of a clock without one, as ends put it. Drift is not taken off: shift is constant, and what a clock surely
 * drifts over the job counts as doubt. Clear trust after a success. */
rs_status rs_clock_match_by(const rs_coll_rank *const *ranks, size_t n_ranks, rs_clock_how how,
                            rs_coll_job *out, rs_clock_trust *trust, rs_error *err);
