/* Which operator launched what. */
#pragma once

#include "trace/trace.h"

/* For every call of links (same index) the row of the innermost cpu_op around it on its thread, RS_NO_ROW if
 * there is none. The array has links->n_calls entries and is the caller's (rs_free). O(n log n) in the rank's
 * operators. */
rs_status rs_launch_ops(const rs_trace *trace, const rs_links *links, uint32_t **op_of_call, rs_error *err);
