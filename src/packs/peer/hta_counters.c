/* counters as HTA's CUPTI analysis: launches of the runtime alone, and no ranges without their launches. */
#include <string.h>

#include "analysis/counters.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

static bool is_launch(const char *name)
{
    return strncmp(name, "cudaLaunchKernel", 16) == 0;
}

static rs_status collect(const rs_run *run, rs_trace *trace, rs_counters_rows *out, rs_error *err)
{
    const rs_frame_rows *f;
    rs_policy all = *run->policy;
    all.whole = true; /* launches are counted from the first */
    out->is_launch = is_launch;
    out->runtime_only = true;
    rs_status status = rs_trace_hta_frame(trace, &all, &f, err);
    for (size_t i = 0; status == RS_OK && i < f->n; i++)
        if (!rs_counters_put_row(trace->events, f->row[i], f->start[i], out))
            status = rs_fail_nomem(err, "counters");
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_counters_rank(run, trace, collect, partial, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    return rs_counters_merge(partials, n, false, result, err);
}

const rs_peer_row rs_peer_hta_counters = {
    RS_HTA_ROW("counters"),
    .rank = rank,
    .merge = merge,
    .free_partial = rs_counters_free,
    .partial_layout = &rs_counters_layout,
};
