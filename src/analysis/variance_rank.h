/* How much equal work varies on one rank, when the slowest ran and beside what. */
#pragma once

#include "analysis/plan.h"

/* All runs of one kernel, or of one operator with one set of shapes. Texts are of the pool. */
typedef struct rs_variance_row {
    uint32_t name, dims; /* dims: RS_NO_STRING for kernels, and where none were recorded */
    bool has_dims;
    rs_moments time;      /* ns, of the runs */
    double p50, p90, p99; /* ns */
    int64_t above;        /* ns that runs took beyond the median, added up */
    int64_t slowest_at;   /* its start */
    int64_t slowest_step; /* -1: none */
    uint32_t slowest_row; /* position in traceEvents */
    int64_t fastest_at;
    int64_t
        slowest_beside_comm; /* ns of the slowest during which communication ran; RS_NO_VALUE: the rank has none */
    int64_t slowest_beside_copies; /* ... copies or memsets */
    uint32_t collectives;          /* what communication that was: "all_reduce:2"; RS_NO_STRING: none */
    uint64_t n_beside,
        n_alone; /* runs beside communication for more than half of their time; for none of it */
    double mean_beside, mean_alone; /* ns of these */
    double correlation; /* of a run's time and the share of it beside communication; NaN: nothing varies */
} rs_variance_row;

typedef struct rs_variance_work {
    uint64_t n; /* pieces of GPU work of the rank */
} rs_variance_work;

enum { RS_VARIANCE_ROWS, RS_VARIANCE_WORK, RS_VARIANCE_ACROSS, RS_VARIANCE_RANKS };
rs_status rs_variance_put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);
