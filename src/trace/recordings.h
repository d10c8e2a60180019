/* What is between the recordings of a rank: the profiler was off, so nothing is known of that time. It is neither
 * busy nor idle. */
#pragma once

#include "base/interval.h"
#include "trace/trace.h"

/* The recording that holds the row, 0 where the rank has one. */
size_t rs_trace_recording_of(const rs_trace *trace, uint32_t row);
/* The gaps between recordings, in time: at most n_recordings - 1. Returns how many there are. */
size_t rs_trace_gaps(const rs_trace *trace, rs_interval *out);
/* ns between from and to in which nothing was recorded; 0 where the rank has one recording. */
int64_t rs_trace_unrecorded(const rs_trace *trace, int64_t from, int64_t to);
