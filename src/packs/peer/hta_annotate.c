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

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    return rs_annotate_put(run, trace, measure, &rs_hta_copy_rules, out, err);
}

static const rs_plan_relation relations[] = {{RS_ANNOTATE_EVENTS, .make = put}};
static const rs_plan plan = {RS_PLAN(relations, rs_annotate_tables), .note = rs_annotate_note};

const rs_peer_row rs_peer_hta_annotate = {RS_HTA_ROW("annotate"), .plan = &plan};
