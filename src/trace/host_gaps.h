/* What the host did between its calls of the GPU's runtime.
 *
 * A gap is a millisecond or more in which no thread that launches GPU work is in such a call. Launching faster, as CUDA graphs
 * do, does not make it shorter. It belongs to the thread whose call ends it: what that thread was in is known from operators,
 * Python functions and annotations, and from what nsys records of the host (calls of the operating system's libraries, turns of
 * the scheduler, samples). */
#pragma once

#include "base/interval.h"
#include "trace/facet.h"

#define RS_HOST_GAP 1000000 /* ns */

typedef enum rs_host_doing {
    RS_DOING_UNKNOWN, /* nothing was recorded */
    RS_DOING_OPERATOR,
    RS_DOING_PYTHON,
    RS_DOING_ANNOTATION,
    RS_DOING_OS_CALL,
    RS_DOING_OFF_CPU, /* at the same time as one of the above */
    RS_DOING_SAMPLE,  /* the same; counted, of no length */
    RS_N_DOING
} rs_host_doing;

/* Times of the innermost event add up to the gaps' time without data loading; time off the CPU and samples come on top. */
typedef struct rs_host_gap_row {
    uint32_t name; /* of the events' texts; RS_NO_STRING: nothing was recorded */
    uint8_t what;  /* rs_host_doing */
    int64_t ns;
    uint64_t n; /* of samples: how many; else pieces of time */
} rs_host_gap_row;

typedef struct rs_host_gaps {
    int64_t
        span; /* from the first to the last launch, ns; a step that begins before that counts from its begin */
    int64_t elsewhere; /* in gaps, without data loading */
    int64_t loading;   /* in gaps, in a data loader */
    rs_interval *gaps; /* by time, disjoint */
    size_t n_gaps;
    uint64_t n_samples;    /* of threads in their gaps */
    rs_host_gap_row *rows; /* the longest first */
    size_t n;
} rs_host_gaps;

/* Its key is a policy. Of a selection: the gaps that end with a selected call. */
extern const rs_facet rs_facet_host_gaps;
rs_status rs_trace_host_gaps(rs_trace *trace, const rs_policy *policy, const rs_host_gaps **out,
                             rs_error *err);
