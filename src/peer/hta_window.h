/* HTA's view of a rank: the rows its data frame holds after loading, in its order, with its times.
 *
 * Rules (HolisticTraceAnalysis 0.6): complete events with a category other than "Trace"; where any start in
 * the file has a fraction of a microsecond, starts are rounded up and ends down, in doubles; as soon as two
 * training steps are seen, the last step is cut off and GPU rows stay only while their launch does. GPU rows
 * come first. */
#ifndef RS_PEER_HTA_WINDOW_H
#define RS_PEER_HTA_WINDOW_H

#include "trace/trace.h"

typedef struct rs_hta_frame {
    size_t n;
    uint32_t *row;        /* a row can stand here more than once */
    int64_t *start, *end; /* ns, rounded as the policy says; end may lie before start */
    int64_t *stream;      /* -1 when none */
    int64_t *correlation; /* -1 when none */
    uint32_t *partner;    /* the row at the other end of the correlation, RS_NO_ROW if none */
    int64_t min_start;    /* of all rows before the cut; RS_NO_TIME if there are none */
    bool rounded;         /* times are whole microseconds */
} rs_hta_frame;

/* A facet: the trace's, by policy. */
extern const rs_facet rs_facet_hta_frame;
rs_status rs_trace_hta_frame(rs_trace *trace, const rs_policy *policy, const rs_hta_frame **out,
                             rs_error *err);

/* The start of any row as the frame has it, also of one that was cut off. */
int64_t rs_hta_start_of(const rs_trace *trace, const rs_hta_frame *frame, uint32_t row);

/* Whether a row stands in the frame before the cut. */
bool rs_hta_has_row(const rs_events *events, uint32_t row);

/* By string: N where it is named ProfilerStep#N, else -1. The caller's; NULL when out of memory. */
int64_t *rs_hta_step_numbers(const rs_strings *strings);

/* A time in the doubles of microseconds that HTA reads from the file. */
double rs_hta_us(int64_t ns);

#endif
