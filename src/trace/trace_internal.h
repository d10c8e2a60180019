/* What the parts of a trace release for each other. Private to src/trace. */
#ifndef RS_TRACE_TRACE_INTERNAL_H
#define RS_TRACE_TRACE_INTERNAL_H

#include "base/memory.h"
#include "trace/trace.h"

#define RS_N_WORK (sizeof((rs_trace *)0)->work / sizeof((rs_trace *)0)->work[0])

void rs_links_free(rs_links *links);
void rs_work_free(rs_work *work);

/* An empty work list with room for n rows; NULL when out of memory. */
rs_work *rs_work_create(size_t n);

/* The work of a rank in a peer's window (hta_window.c). */
rs_status rs_work_from_hta(rs_trace *trace, const rs_policy *policy, rs_work **out, rs_error *err);

#endif
