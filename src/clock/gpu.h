/* How far a rank's device clock is ahead of the clock of its host, in one trace. */
#pragma once

#include "base/layout.h"
#include "trace/trace.h"

/* At the middle of the rank's GPU work; RS_NO_TIME: not bounded on that side. */
typedef struct rs_clock_gpu {
    int64_t low, high;
} rs_clock_gpu;

/* Work begins after its launch does, and a call that waits for the device returns after the work launched
 * before it has ended. The two clocks of a rank drift against each other by no more than RS_CLOCK_DRIFT. */
rs_status rs_clock_gpu_of(rs_trace *trace, const rs_policy *policy, rs_clock_gpu *out, rs_error *err);
