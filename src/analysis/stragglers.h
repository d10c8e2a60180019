/* Who arrives late at collectives: what a rank contributes, and how the ranks' collectives find each other.
 */
#ifndef RS_ANALYSIS_STRAGGLERS_H
#define RS_ANALYSIS_STRAGGLERS_H

#include "analysis/analysis.h"

#define RS_NO_SEQ INT64_MIN

/* One collective as one rank saw it. Texts are indexes into the partial's names. */
typedef struct rs_arrival {
    uint32_t group; /* what must be equal on all members: name and ranks, or stream where none is recorded */
    uint32_t label; /* the group's name */
    uint32_t desc;  /* its description, "" if none */
    uint32_t op;    /* "allreduce" */
    int32_t size;   /* ranks in the group, 0 if the trace does not say */
    bool symmetric; /* ends at the same moment on all members: not broadcast, reduce, gather, scatter */
    bool pair_only; /* a send and receive, or an all-to-all made of them: the trace does not say which */
    int64_t seq;    /* the number of it in the group, RS_NO_SEQ if the trace does not say */
    int64_t step;   /* -1: none */
    uint32_t
        index; /* without seq: its place among those of the group and step; else among those of the seq */
    uint32_t row;
    int64_t start, end; /* ns, the rank's own clock */
} rs_arrival;

/* Small, and independent of the trace. */
typedef struct rs_arrivals {
    rs_strings names;
    rs_arrival *items; /* by start */
    size_t n, capacity;
    size_t n_p2p;                /* sends and receives, left out */
    int64_t base_ns;             /* what the file adds to its times, RS_NO_VALUE if it does not say */
    int64_t first_ns;            /* of the rank's events, RS_NO_TIME if there are none */
    struct rs_hta_arrivals *hta; /* under HTA's rules, instead of the rest */
} rs_arrivals;

rs_status rs_arrivals_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_arrivals_free(void *partial);

/* A rank's part in a matched collective. */
typedef struct rs_member {
    uint32_t rank;      /* index into the partials */
    int64_t start, end; /* clocks aligned */
} rs_member;

typedef struct rs_collective {
    const rs_arrival *arrival; /* as its first member saw it */
    const rs_arrivals *from;   /* whose names apply */
    uint32_t first, n;         /* into members, by rank */
} rs_collective;

/* A rank's clock against that of another, told by collectives that ended together. */
typedef struct rs_clock {
    uint32_t reference; /* index of the rank it is compared with: the lowest it is connected to */
    int64_t offset;     /* ns this clock is ahead */
    int64_t spread; /* median distance of single collectives from it, added up over the links to reference */
    size_t n;       /* collectives of the weakest link; 0: nothing to compare with */
} rs_clock;

typedef struct rs_matches {
    rs_collective *items; /* by start of the first arrival, then rank, then row */
    size_t n;
    rs_member *members;
    size_t n_members;
    rs_clock *clocks;       /* one a partial */
    size_t n_incomplete;    /* collectives that some rank of the group here did not show */
    size_t n_contradicting; /* same place, but not the same operation */
    size_t n_alone;         /* of groups of which only one rank is here */
    size_t n_outside;       /* matched, but some members of the group are not here */
} rs_matches;

/* Matches collectives over ranks. align: take clock offsets out; else the files' base times are trusted. */
rs_status rs_matches_find(const rs_partial *partials, size_t n, bool align, rs_matches *out, rs_error *err);
void rs_matches_clear(rs_matches *matches);

#endif
