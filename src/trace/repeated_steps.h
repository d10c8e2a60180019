/* Steps of a rank that no annotation tells, by the repetition of its GPU work. */
#pragma once

#include "trace/launch_order.h"
#include "trace/repetition.h"

/* When a step is, ns. On the host: from the outermost operator, or the loader's call, that its first launch
 * belongs to, to where the next work begins; RS_NO_TIME where nothing was launched in the file. On the GPU:
 * from the start of its first work to that of the next one. */
typedef struct rs_step_time {
    int64_t begin, end, gpu_begin, gpu_end;
    uint32_t row;    /* its first work */
    uint32_t launch; /* the launch of its first work that has one, or RS_NO_ROW */
} rs_step_time;

typedef struct rs_repeated_steps {
    rs_repetition found; /* its steps are stretches of the launch order */
    rs_step_time *when;  /* of each step */
} rs_repeated_steps;

extern const rs_facet rs_facet_repeated_steps;

/* Whatever annotations the trace has. The trace's. O(n * candidates), see rs_repetition_find. */
rs_status rs_trace_repeated_steps(rs_trace *trace, const rs_repeated_steps **out, rs_error *err);
