/* What collectives say of clocks: a term is one member of one collective. Times are on the clocks as the
 * first alignment left them, from the job's first arrival. */
#ifndef RS_CLOCK_TERMS_H
#define RS_CLOCK_TERMS_H

#include "clock/clocks.h"

enum { RS_TERM_START = 1, RS_TERM_END = 2 }; /* what of a term bounds the others */

typedef struct rs_term {
    int64_t start, end;
    uint32_t rank;
    uint8_t says;
    bool aside;
} rs_term;

/* A collective of at least two terms: every START of it is before every END. */
typedef struct rs_hub {
    uint32_t first, n, instance;
    uint32_t class; /* of equal class: kind, group and size to a power of two */
    bool together;  /* ends are about one moment */
    bool paired;    /* a send and its receive */
} rs_hub;

/* Two terms of a hub, the lower rank's first. Sorted by ranks, then time. */
typedef struct rs_term_pair {
    uint32_t hub, a, b; /* a, b: terms */
} rs_term_pair;

typedef struct rs_terms {
    rs_term *items;
    size_t n;
    rs_hub *hubs;
    size_t n_hubs, n_classes;
    rs_term_pair *points;
    size_t n_points;
    rs_clock_pair *pairs;
    size_t *first; /* by pair + 1: its points */
    size_t n_pairs;
    rs_clock_tie *ties; /* from elsewhere */
    size_t n_ties;
    int64_t origin, middle; /* origin: on the aligned clock. middle of the job, from the origin */
} rs_terms;

/* Times farther than this from the origin are not used: sums along a path of clocks stay far from the ends of
 * the range. 13 days. */
#define RS_CLOCK_FARTHEST ((int64_t)1 << 50)

rs_status rs_terms_make(const rs_coll_job *job, rs_terms *out, rs_error *err);
void rs_terms_clear(rs_terms *terms);

/* Finds terms that do not fit the others (wrongly matched) and clocks that were set while the trace was
 * taken, and sets them aside. */
rs_status rs_terms_judge(rs_terms *terms, rs_clocks *clocks, rs_error *err);

#endif
