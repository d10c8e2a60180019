/* What one rank's steps went to. */
#pragma once

#include "base/strings.h"
#include "job/job.h"
#include "trace/selection.h"

/* The kinds of time that make up the length of a step. The last one may be negative: work that goes on behind the
 * step's end on the host. */
typedef enum rs_step_slice {
    RS_SLICE_COMPUTATION,   /* by kernel: of those that run at once the first to start has the time */
    RS_SLICE_COMMUNICATION, /* ... of what runs while no computation does */
    RS_SLICE_COPY,          /* ... while neither does */
    RS_SLICE_HOST_WAIT,     /* nothing runs, and the next work had not been launched */
    RS_SLICE_IDLE,          /* nothing runs, though work was launched */
    RS_SLICE_OUTSIDE,       /* before the step's first work and behind its last one */
    RS_N_SLICES
} rs_step_slice;
const char *rs_step_slice_name(rs_step_slice part); /* static text */

typedef struct rs_piece {
    uint32_t step; /* index into steps */
    uint32_t name; /* of texts */
    uint8_t part;  /* rs_step_slice */
    int64_t ns, count;
} rs_piece;

typedef struct rs_rank_pieces {
    rs_strings texts;
    rs_step_length *steps; /* by number */
    size_t n_steps;
    rs_piece *pieces; /* those of a step add up to its length */
    size_t n_pieces, capacity;
} rs_rank_pieces;

/* For rs_job_each_rank. The value is an rs_rank_pieces; NULL for a rank without steps on the host. */
rs_status rs_pieces_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err);
void rs_pieces_free(void *value);
