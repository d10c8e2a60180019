/* What a trace's kernels say of each training step. */
#pragma once

#include "job/job.h"
#include "match/collective_ops.h"

enum { RS_TRACE_TOTAL, RS_TRACE_COMPUTE, RS_TRACE_COMM, RS_TRACE_OVERLAP, RS_TRACE_IDLE, RS_TRACE_N_TIMES };

typedef struct rs_traced_step {
    int64_t number, ns[RS_TRACE_N_TIMES];
} rs_traced_step;

/* The kernels of one collective in one process group. */
typedef struct rs_traced_kind {
    rs_coll_kind kind;
    uint32_t group, description; /* in the pool of ops */
    int64_t n, time, alone;
} rs_traced_kind;

/* The value of one rank. */
typedef struct rs_traced_rank {
    rs_traced_step all; /* number: how many steps */
    rs_traced_step *steps;
    size_t n_steps;
    rs_coll_rank *ops;
    rs_traced_kind *exposed;
    size_t n_exposed;
} rs_traced_rank;

extern const rs_each_rank rs_metrics_by_steps;
