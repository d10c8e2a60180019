/* What the ranks' clocks may be: intervals in which each clock's distance from the reference lies.
 *
 * A clock shows L = t + offset + drift * (t - at); the lowest rank's clock is the reference and shows t.
 * Nobody leaves a collective before all have come: each member's end is after each member's start. That
 * bounds offsets from both sides whatever the network did; such an interval is certain, unless a match is
 * wrong. Ends of one collective also lie close together, which tells more, but only likely. */
#pragma once

#include "match/collective_ops.h"

typedef enum rs_clock_status {
    RS_CLOCK_CERTAIN,       /* the certain interval says as much as the likely one */
    RS_CLOCK_LIKELY,        /* ends of collectives say more */
    RS_CLOCK_UNBOUND,       /* nothing ties it to the reference */
    RS_CLOCK_CONTRADICTORY, /* its collectives contradict each other */
    RS_CLOCK_UNSTABLE,      /* it was set while the trace was taken */
    RS_N_CLOCK_STATUS
} rs_clock_status;

/* Times in ns, RS_NO_TIME where unknown; drifts in parts per million. */
typedef struct rs_clock {
    rs_clock_status status;
    int64_t offset;                    /* how far it is ahead at `at`; the estimate */
    int64_t low, high;                 /* likely */
    int64_t certain_low, certain_high; /* RS_NO_TIME: open on that side */
    double drift, drift_low, drift_high;
    bool drift_assumed;    /* the collectives do not tell: within RS_CLOCK_DRIFT */
    size_t n, n_set_aside; /* collectives that bound it; that fit the others too badly */
    size_t n_removed;      /* of them: by contradiction */
} rs_clock;

#define RS_CLOCK_DRIFT 100 /* ppm: clocks drift by no more than this */

/* Two ranks that share collectives. */
typedef struct rs_clock_pair {
    uint32_t a, b;                     /* ranks, a < b */
    int64_t low, high;                 /* likely distance: what b is ahead of a */
    int64_t certain_low, certain_high; /* by the collectives of the two alone, drift allowed for */
    size_t n;
    bool in_tree; /* the likely intervals go along it */
} rs_clock_pair;

/* A collective that contradicts others. */
typedef struct rs_clock_contradiction {
    uint32_t instance;
    int64_t by; /* ns */
} rs_clock_contradiction;

typedef struct rs_clocks {
    rs_clock *of; /* by the job's rank index */
    size_t n;
    int64_t at; /* offsets hold at this moment of the reference's file */
    rs_clock_pair *pairs;
    size_t n_pairs;
    rs_clock_contradiction *contradictions;
    size_t n_contradictions, contradictions_capacity;
} rs_clocks;

/* Told from elsewhere: what b's clock is ahead of a's, as the files have them, is in [low, high]; ns. */
typedef struct rs_clock_tie {
    uint32_t a, b; /* the job's rank indices */
    int64_t low, high;
} rs_clock_tie;

typedef struct rs_clocks_settings {
    int64_t end_skew; /* what the ends of one kind of collective may lie apart always, ns */
    const rs_clock_tie *ties;
    size_t n_ties;
} rs_clocks_settings;

/* From a job matched with rs_clock_match(align). settings NULL: RS_CLOCK_END_SKEW and no ties. O(arrivals log
 * arrivals). */
#define RS_CLOCK_END_SKEW 10000
rs_status rs_clocks_find(const rs_coll_job *job, const rs_clocks_settings *settings, rs_clocks *out,
                         rs_error *err);
void rs_clocks_clear(rs_clocks *clocks);
