/* HTA's view of a rank: the rows its data frame holds after loading, in its order, with its times.
 *
 * Rules (HolisticTraceAnalysis 0.6): complete events with a category other than "Trace"; where any start in
 * the file has a fraction of a microsecond, starts are rounded up and ends down, in doubles; as soon as two
 * training steps are seen, the last step is cut off and GPU rows stay only while their launch does. GPU rows
 * come first. */
#pragma once

#include "analysis/frame_columns.h"
#include "analysis/plan.h"

/* A facet: the trace's, by policy. */
extern const rs_facet rs_facet_hta_frame;
rs_status rs_trace_hta_frame(rs_trace *trace, const rs_policy *policy, const rs_frame_rows **out,
                             rs_error *err);

/* HTA's side and iteration of the rows (hta_frame.c). */
extern const rs_frame_column_rules rs_hta_frame_columns;

/* The start of any row as the frame has it, also of one that was cut off. */
int64_t rs_hta_start_of(const rs_trace *trace, const rs_frame_rows *frame, uint32_t row);

/* By string: N where it is named ProfilerStep#N, else -1. The caller's; NULL when out of memory. */
int64_t *rs_hta_step_numbers(const rs_strings *strings);

/* The rank's first event, INT64_MAX if none, and the starts of its first and last row: a relation of one row, with which the
 * times of a job count from the first event of all ranks. */
typedef struct rs_hta_origin {
    int64_t zero, first, last;
} rs_hta_origin;
extern const rs_layout rs_hta_origin_layout;
#define RS_HTA_ORIGIN(at) RS_LISTED(at, rs_hta_origin, &rs_hta_origin_layout)
rs_status rs_hta_put_origin(const rs_run *run, rs_trace *trace, rs_relations *out, unsigned at,
                            rs_error *err);
/* The plan's merge, in which rs_hta_from_zero counts from there. */
rs_status rs_hta_merge_from_zero(const rs_run *run, rs_partial *partials, size_t n, unsigned at,
                                 rs_result *result, rs_error *err);
double rs_hta_from_zero(const rs_run *run, int64_t ns); /* us */

/* A time in the doubles of microseconds that HTA reads from the file. */
double rs_hta_us(int64_t ns);
