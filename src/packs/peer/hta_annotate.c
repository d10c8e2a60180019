/* annotate with HTA's queue lengths, as its generate_trace_with_counters. */
#include "analysis/annotate.h"
#include "peer/hta_bandwidth.h"
#include "peer/hta_queue.h"
#include "peer/hta_steps.h"

static rs_status measure(const rs_run *run, rs_trace *trace, rs_queue_series *out, rs_error *err)
{
    const rs_frame_rows *f;
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    return status == RS_OK ? rs_hta_queue_of(trace, f, out, err) : status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_annotate_rank(run, trace, measure, &rs_hta_copy_rules, partial, err);
}

const rs_peer_row rs_peer_hta_annotate = {
    RS_HTA_ROW("annotate"),
    .rank = rank,
    .free_partial = rs_annotate_free,
    .partial_layout = &rs_annotate_layout,
};
