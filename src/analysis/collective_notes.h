/* What `collectives` and `stragglers` share: their ranks, and what they have to say of them. */
#pragma once

#include "analysis/analysis.h"
#include "clock/collective_clocks.h"
#include "match/collective_ops.h"

/* The option of both. */
#define RS_COLL_FLIGHT_OPTION                                                                                \
    {                                                                                                        \
        "flight", RS_OPTION_TEXT, "DIR", NULL, NULL,                                                         \
            "flight-recorder dumps of the same run: they name the process groups of what the host ran"       \
    }

/* The ranks of a merge, as rs_clock_match takes them. */
typedef struct rs_coll_ranks {
    const rs_partial **of; /* by place */
    const rs_coll_rank **ranks;
    size_t n;
    rs_coll_rank **named; /* those that --flight has named; NULL without */
} rs_coll_ranks;

/* Clear it after a failure, too. */
rs_status rs_coll_ranks_of(const rs_run *run, const rs_partial *partials, size_t n, rs_coll_ranks *out,
                           rs_result *result, rs_error *err);
void rs_coll_ranks_clear(rs_coll_ranks *ranks);

void rs_coll_note_host(const rs_coll_job *job, rs_result *result);
/* The interval of the clocks that was relied on. */
void rs_coll_note_trust(const rs_clock_trust *trust, rs_result *result);
/* Where most of the waiting is shorter than the clocks are sure. strict: ranks are not compared then. */
void rs_coll_note_uncertain(int64_t uncertain, int64_t waited, bool strict, rs_result *result);
