/* Which event is in which, thread by thread: on the host operators in annotations in Python functions, on a
 * stream the work in the annotations that the profiler shows there. */
#pragma once

#include "trace/trace.h"

/* Complete events and the ends of arrows (which have no length), by thread, start, longest first. GPU work
 * encloses nothing but ends of arrows, and the profiler's own span is not among them. What is selected does not
 * matter. */
typedef struct rs_enclosing {
    size_t n;
    uint32_t *row;
    uint32_t *parent; /* by the same index: the index of the innermost event around it, RS_NO_ROW; always a
                         lower one */
} rs_enclosing;

extern const rs_facet rs_facet_enclosing;
/* O(n log n); the trace's. */
rs_status rs_trace_enclosing(rs_trace *trace, const rs_enclosing **out, rs_error *err);
