/* Jobs without a GPU: whether a rank is of one, and how long its host was in communication. */
#pragma once

#include "match/host_view.h"

typedef struct rs_host_job {
    bool on_host; /* no device, no call to one, and the file says that there is none, or communication is by
                     gloo, MPI or UCC on the host */
    int64_t communication; /* a span gloo:*, mpi:*, ucc:* runs, ns; not looked for where there is a device */
    size_t n_spans;        /* how many of them are selected */
    int64_t waiting;       /* ... and no operator but those that communicate: what `exposed` is on a GPU */
} rs_host_job;

/* Whether the rank, whose view this is, is of a job without a GPU. */
bool rs_host_job_is(const rs_trace *trace, const rs_host_view *view);
/* Of the selected events. */
rs_status rs_trace_host_job(rs_trace *trace, rs_host_job *out, rs_error *err);
