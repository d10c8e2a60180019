/* Which launches are of a forward and which of a backward, as far as the host shows it: by annotations that end in (F), (B) or (W), as
 * pipeline schedules write them, and by autograd, which runs autograd::engine::evaluate_function. */
#pragma once

#include "trace/launch_order.h"

enum { RS_LAUNCH_UNKNOWN, RS_LAUNCH_FORWARD, RS_LAUNCH_BACKWARD };

/* `phases`: room for one of each work of the order. `autograd`: zeros, for each thread of the events; set where most of what the thread
 * launches is launched by autograd. A launch is of the innermost annotation that holds its start on its thread, else of backward where
 * autograd runs. false: out of memory. O(n log n) in the rows named so. */
bool rs_launch_phases(const rs_trace *trace, const rs_launch_order *order, uint8_t *phases,
                      uint8_t *autograd);
