/* A job as one packed trace in memory that a viewer opens quickly. What serves it to a browser is the
 * program's alone.
 *
 *     rs_view_trace trace;
 *     rs_result told;
 *     rs_status status = rs_view_reduce(job, RS_VIEW_EVENTS, false, &trace, &told, &err);
 *     ... trace.bytes, trace.n ...
 *     rs_view_trace_clear(&trace);
 *     rs_result_clear(&told);
 *
 * Stability: experimental. */
#ifndef RANKSCOPE_VIEW_H
#define RANKSCOPE_VIEW_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What Perfetto's UI imports in a few seconds. */
#define RS_VIEW_EVENTS 200000

typedef struct rs_view_trace {
    char *bytes; /* gzip; free with rs_view_trace_clear */
    size_t n, capacity;
    uint64_t n_ranks, n_kept, n_left_out; /* events */
    const char *name; /* what the file is called: trace.json.gz, trace.pftrace.gz. Static */
} rs_view_trace;

/* As rs_fuse with max_events (0: all) and perfetto, which see: ranks kept apart, clocks aligned, what tells most is kept.
 * result gets its table and the notes that say what was left out; clear both either
 * way. Errors, time and memory are those of rs_fuse; the packed trace is held whole. */
RS_API rs_status rs_view_reduce(rs_job *job, uint64_t max_events, bool perfetto, rs_view_trace *trace,
                                rs_result *result, rs_error *err);
RS_API void rs_view_trace_clear(rs_view_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
