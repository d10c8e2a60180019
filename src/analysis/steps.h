/* What a rank did in each training step. */
#pragma once

#include "analysis/analysis.h"
#include "base/stats.h"
#include "match/host_view.h"
#include "trace/busy.h"

/* The kinds of time a step is compared with its rank's other steps by. */
typedef enum rs_step_kind {
    RS_STEP_COMPUTATION,
    RS_STEP_EXPOSED_COMM,
    RS_STEP_EXPOSED_COPIES,
    RS_STEP_HOST_WAIT,
    RS_STEP_OTHER_IDLE,
    RS_STEP_DATA_LOADING,
    RS_N_STEP_KINDS
} rs_step_kind;

/* One step of one rank; times in ns. */
typedef struct rs_step_times {
    int64_t number;
    int64_t start, length; /* on the host; RS_NO_TIME when only the GPU shows the step */
    int64_t period;        /* steps_period.c; RS_NO_TIME: unknown */
    int64_t until;         /* its end, where it is known; does not travel */
    rs_busy gpu;           /* of the work launched in the step */
    int64_t host_wait;     /* idle time in which the next work of the step had not even been launched */
    int64_t data_loading;  /* host time in data loader calls that start in the step */
    rs_host_view host; /* what the host did in it; only of a rank without a GPU, without threads and counts */
} rs_step_times;

/* What a serving engine says of a step. */
typedef struct rs_step_serving {
    int64_t number;
    uint8_t phase; /* rs_serving_phase */
    bool detailed;
    int64_t context_requests, context_q, context_k, context_qq, context_qk;
    int64_t generation_requests, generation_q, generation_k, generation_qq, generation_qk;
} rs_step_serving;

typedef struct rs_rank_steps {
    rs_step_serving *serving; /* by start */
    size_t n_serving;
    rs_step_times *items; /* by number */
    size_t n;
    size_t n_gpu;     /* GPU work in all */
    size_t n_outside; /* ... that belongs to no step */
    bool of_host;     /* a rank of a job without a GPU: its steps are the host's */
} rs_rank_steps;

rs_status rs_steps_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_steps_free(void *partial);
/* Fills the periods of the steps listed in `out`, whatever is selected. A part of rs_steps_rank. */
rs_status rs_steps_periods(rs_trace *trace, const rs_policy *policy, rs_rank_steps *out, rs_error *err);

/* of_host: of a rank without a GPU, where operators compute and what is left is the host's other time. */
int64_t rs_step_kind_time(const rs_step_times *step, bool of_host, rs_step_kind kind);
