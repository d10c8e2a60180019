/* How a rank's GPU time divides: what breakdown, overlap, kernels, timeline and the overview share. */
#pragma once

#include "base/interval.h"
#include "base/layout.h"
#include "trace/trace.h"

/* Times in ns. All are of unions: work that runs at the same time counts once. Mergeable by rank, holds no
 * pointer.
 */
typedef struct rs_busy {
    size_t n;          /* pieces of GPU work */
    size_t n_unlinked; /* ... without a launch in the file */
    size_t n_class[RS_N_CLASSES];
    int64_t first, last;     /* start of the first, end of the last */
    int64_t span;            /* last - first, without what is between two recordings */
    int64_t busy;            /* something runs */
    int64_t compute;         /* computation runs */
    int64_t comm, memory;    /* communication runs, copies or memsets run */
    int64_t exposed_comm;    /* communication runs and no computation */
    int64_t exposed_memory;  /* copies run and neither computation nor communication */
    int64_t overlapped_comm; /* communication and computation run */
    int64_t idle;            /* span - busy */
    int64_t sweep[8];        /* time of each exact combination: 1 compute, 2 communication, 4 memory */
} rs_busy;

/* The intervals of one class, or of all with RS_N_CLASSES, sorted and united; freed by the caller. false when
 * out of memory. parts, part: only work whose place in `parts` (one number for each piece of work) has this number; NULL: all. */
bool rs_work_union_in(const rs_work *work, rs_class class, const uint8_t *parts, uint8_t part,
                      rs_interval **out, size_t *n);
static inline bool rs_work_union(const rs_work *work, rs_class class, rs_interval **out, size_t *n)
{
    return rs_work_union_in(work, class, NULL, 0, out, n);
}

/* Between the last work of a recording and the first of the next it is unknown what ran: these gaps, in time, at most
 * trace->n_recordings - 1. Returns how many there are. */
size_t rs_work_gaps(const rs_trace *trace, const rs_work *work, rs_interval *out);

rs_status rs_busy_of(const rs_work *work, rs_busy *out, rs_error *err);
/* The same of a rank's work, computed once and kept with it; the trace's. */
extern const rs_facet rs_facet_busy;
extern const rs_layout rs_busy_layout;
rs_status rs_trace_busy(rs_trace *trace, const rs_policy *policy, const rs_busy **out, rs_error *err);

/* The same of a stretch of time, whatever is selected: work is cut at its ends, and the span is what of the rank's span is
 * in it. */
rs_status rs_busy_within(rs_trace *trace, const rs_policy *policy, rs_interval within, rs_busy *out,
                         rs_error *err);
