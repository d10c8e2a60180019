/* What work of a CUDA graph waits for, as PyTorch's profiler records it (enable_graph_dependencies): flows whose numbers lie
 * beyond all correlations, from the end of the work that is waited for to the start of the work that waits. */
#pragma once

#include "trace/trace.h"

typedef struct rs_graph_wait {
    uint32_t source, target; /* rows of GPU work */
} rs_graph_wait;

/* The waits of a rank, by the flow's end in the file. FLOW_ID must be loaded. The caller frees *out (rs_free). A flow of which either
 * end is at no work, or at several, is left out. */
rs_status rs_graph_waits_find(rs_trace *trace, rs_graph_wait **out, size_t *n, rs_error *err);
