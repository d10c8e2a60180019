/* What a trace's kernels say of each training step, as an analysis whose tables src/metrics reads. */
#ifndef RS_METRICS_TRACE_STEPS_H
#define RS_METRICS_TRACE_STEPS_H

#include "analysis/analysis.h"

/* Its tables and their columns. Times are nanoseconds (RS_TIME). */
enum { RS_TRACE_RANKS, RS_TRACE_STEPS, RS_TRACE_EXPOSED, RS_TRACE_N_TABLES };
enum { RS_TRACE_RANK, RS_TRACE_NUMBER, RS_TRACE_FIRST_TIME }; /* of the first two; then the times: */
enum { RS_TRACE_TOTAL, RS_TRACE_COMPUTE, RS_TRACE_COMM, RS_TRACE_OVERLAP, RS_TRACE_IDLE, RS_TRACE_N_TIMES };
enum {
    RS_EXPOSED_RANK,
    RS_EXPOSED_COLLECTIVE,
    RS_EXPOSED_GROUP,
    RS_EXPOSED_DESCRIPTION,
    RS_EXPOSED_COUNT,
    RS_EXPOSED_TIME,
    RS_EXPOSED_EXPOSED
};

extern const rs_analysis rs_metrics_by_steps;

#endif
