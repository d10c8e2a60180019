/* A rank's GPU work in the order in which it was launched: the order of the program, which the GPU's own
 * order is not, since streams overlap. */
#pragma once

#include "trace/trace.h"

typedef struct rs_launch_order {
    size_t n;
    uint32_t *row;    /* GPU work */
    uint32_t *launch; /* row of its launch, RS_NO_ROW when that is not in the file */
    /* ns: start of the launch. Work without one goes by the work before it on its stream; where there is none
     * it was launched before the recording: INT64_MIN */
    int64_t *time;
    bool told; /* some work has a launch; otherwise all of it goes by its own start */
} rs_launch_order;

extern const rs_facet rs_facet_launch_order;

/* By launch, then (work of one graph) by device, stream, start, row. Of all the rank's work, whatever is
 * selected. The trace's. O(n log n). */
rs_status rs_trace_launch_order(rs_trace *trace, const rs_launch_order **out, rs_error *err);
