/* The passes of a stage of a pipeline: the forward, backward or weight gradient of one micro-batch on one rank.
 *
 * A pass is computation of one phase that nothing parts in the order of the program: no send or receive, no work of another phase.
 * What takes less than a tenth of a usual pass, or has less than a quarter of its work, is none (a buffer is cleared). Where the
 * program annotates passes (torch.distributed.pipelining: "PP:0F3", "Forward 3") these are they. A rank without a GPU passes on its host: its
 * operators count, from the first to the last of a pass; annotations "forward" and "backward" say which they are of. */
#pragma once

#include "match/collective_ops.h"
#include "trace/structure.h"

typedef enum rs_pass_kind {
    RS_PASS_FORWARD,
    RS_PASS_BACKWARD, /* of the inputs, or of all */
    RS_PASS_WEIGHT, /* of the weights by itself; without annotations rs_pipelines_find finds it among the former */
    RS_N_PASS_KINDS
} rs_pass_kind;

extern const char *const rs_pass_kind_names[RS_N_PASS_KINDS];

typedef struct rs_pipe_pass {
    int64_t start, end; /* ns, the rank's own clock: of its first work to the end of the last */
    int64_t step;       /* -1: none */
    uint8_t kind;
} rs_pipe_pass;

/* What one rank brings. Holds nothing of the trace. */
typedef struct rs_passes {
    rs_coll_rank *comm;
    rs_pipe_pass *items; /* in the order of the program */
    size_t n;
    uint32_t *before; /* by operation of comm: how many passes are before it in that order */
    size_t n_before;
    int64_t *busy; /* starts and ends, ascending: when something else than communication runs; ns */
    size_t n_busy; /* of both */
} rs_passes;

extern const rs_layout rs_passes_layout;

#define RS_PASSES_COLUMNS RS_COLL_HOST_COLUMNS

/* *out is the caller's. O(n log n) in the rank's work. */
rs_status rs_passes_of(rs_trace *trace, const rs_policy *policy, rs_passes **out, rs_error *err);
void rs_passes_free(void *passes); /* NULL is allowed */
