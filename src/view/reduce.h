/* A job as one packed trace in memory that a viewer opens quickly. */
#ifndef RS_VIEW_REDUCE_H
#define RS_VIEW_REDUCE_H

#include "rankscope/job.h"

/* What Perfetto's UI imports in a few seconds. */
#define RS_VIEW_EVENTS 200000

typedef struct rs_view_trace {
    char *bytes; /* gzip; the caller's, rs_free */
    size_t n, capacity;
    uint64_t n_ranks, n_kept, n_left_out; /* events */
} rs_view_trace;

/* As rs_fuse with max_events (0: all), which see: ranks kept apart, clocks aligned, what tells most is kept.
 * result gets its table and the notes that say what was left out; clear it, and trace->bytes, either way. */
rs_status rs_view_reduce(rs_job *job, uint64_t max_events, rs_view_trace *trace, rs_result *result,
                         rs_error *err);

#endif
