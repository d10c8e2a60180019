/* The stream on which a rank's GPU works longest: an example of a facet, see docs/adding.md. */
#ifndef RS_TRACE_HOT_STREAM_H
#define RS_TRACE_HOT_STREAM_H

#include "trace/facet.h"

typedef struct rs_hot_stream {
    int64_t device, stream; /* -1: unknown */
    int64_t n;              /* pieces of work on it */
    int64_t time;           /* ns, their durations added up */
} rs_hot_stream;

extern const rs_facet rs_facet_hot_stream;

/* *out is the trace's; NULL: the rank has no GPU work. O(n log n) in the rank's GPU work, once. */
rs_status rs_trace_hot_stream(rs_trace *trace, const rs_policy *policy, const rs_hot_stream **out,
                              rs_error *err);

#endif
