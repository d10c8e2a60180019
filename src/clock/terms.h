/* What collectives say of clocks: a term is one member of one collective. Times are on the clocks as the
 * first alignment left them, from the job's first arrival. */
#pragma once

#include "clock/clocks.h"

enum { RS_TERM_START = 1, RS_TERM_END = 2 }; /* what of a term bounds the others */

#define RS_TERM_RANK_BITS 29

typedef struct rs_term {
    int64_t start, end;
    uint32_t hub;
    uint32_t rank : RS_TERM_RANK_BITS;
    uint32_t says : 2;
    uint32_t aside : 1;
} rs_term;

/* A collective of at least two terms: every START of it is before every END. */
typedef struct rs_hub {
    uint32_t first, n, instance;
    uint32_t class; /* of equal class: kind, group and size to a power of two */
    bool together;  /* ends are about one moment */
    bool paired;    /* a send and its receive */
} rs_hub;

typedef struct rs_terms {
    rs_term *items;
    size_t n;
    rs_hub *hubs;
    size_t n_hubs, n_classes;
    uint32_t
        *points; /* terms, each of which makes a pair with the first of its hub: by the ranks, then time */
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

/* The hub of a point, and its terms: the lower rank's and the other. */
static inline const rs_hub *rs_point_hub(const rs_terms *t, size_t point)
{
    return &t->hubs[t->items[t->points[point]].hub];
}
static inline rs_term *rs_point_a(const rs_terms *t, size_t point)
{
    return &t->items[rs_point_hub(t, point)->first];
}
static inline rs_term *rs_point_b(const rs_terms *t, size_t point)
{
    return &t->items[t->points[point]];
}
/* How many points the pair with most of them has. */
size_t rs_terms_most_points(const rs_terms *t);

rs_status rs_terms_make(const rs_coll_job *job, rs_terms *out, rs_error *err);
void rs_terms_clear(rs_terms *terms);

/* Finds terms that do not fit the others (wrongly matched) and clocks that were set while the trace was
 * taken, and sets them aside. */
rs_status rs_terms_judge(rs_terms *terms, rs_clocks *clocks, rs_error *err);
