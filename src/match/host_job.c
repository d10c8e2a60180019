#include "match/host_job.h"

#include "match/collective_names.h"

static bool on_host_backend(const rs_events *e)
{
    return e->info.backend != RS_NO_STRING && rs_coll_is_host_backend(e->strings.items[e->info.backend].text);
}

static bool has_device(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    if (e->info.n_devices > 0) return true;
    for (size_t i = 0; i < trace->n_rows; i++) {
        rs_kind kind = rs_event_kind(e, rs_trace_row(trace, i));
        if (rs_kind_is_gpu_work(kind) || rs_kind_is_call(kind)) return true;
    }
    return false;
}

bool rs_host_job_is(const rs_trace *trace, const rs_host_view *view)
{
    return !has_device(trace) &&
           (view->n_comm || on_host_backend(trace->events) || trace->events->info.n_devices < 0);
}

rs_status rs_trace_host_job(rs_trace *trace, rs_host_job *out, rs_error *err)
{
    rs_host_view view;
    *out = (rs_host_job){0};
    if (has_device(trace)) return RS_OK;
    rs_status status = rs_host_view_of(trace, &view, err);
    if (status == RS_OK)
        *out = (rs_host_job){.on_host = rs_host_job_is(trace, &view),
                             .communication = view.comm,
                             .n_spans = view.n_comm,
                             .waiting = view.exposed_comm};
    rs_host_view_clear(&view);
    return status;
}
