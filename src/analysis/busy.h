/* The rank of an analysis that tells how GPU time divides: breakdown, overlap, timeline. */
#ifndef RS_ANALYSIS_BUSY_H
#define RS_ANALYSIS_BUSY_H

#include "analysis/analysis.h"
#include "trace/busy.h"

/* The rank and free_partial of an analysis whose partial is one rs_busy. */
rs_status rs_busy_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
/* The same for one whose row says `absent`: no partial where there is no GPU work. */
rs_status rs_busy_rank_at_work(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_busy_free(void *partial);

/* part / whole * 100; NaN when whole is 0. */
double rs_percent(int64_t part, int64_t whole);

#endif
