/* overlap: how much of the communication computation hides. */
#include "analysis/plan.h"
#include "base/try.h"
#include "match/host_job.h"
#include "trace/selection.h"
#include "trace/busy.h"
#include "trace/recordings.h"

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_busy, comm), "comm_us", TIME, US, "communication runs", "communication")                      \
    CELL(OF(rs_busy, overlapped_comm), "overlapped_us", TIME, US, "communication and computation run",       \
         "overlapped")                                                                                       \
    CELL(OF(rs_busy, exposed_comm), "exposed_us", TIME, US, "communication runs and no computation",         \
         "exposed")                                                                                          \
    CELL(SHARE(rs_busy, overlapped_comm, comm), "overlap_pct", REAL, PERCENT,                                \
         "overlapped_us of comm_us; unknown without communication", "overlap %")                             \
    CELL(SHARE(rs_busy, exposed_comm, span), "exposed_pct_of_span", REAL, PERCENT,                           \
                                                                                                             \
         "exposed_us of the time from the first GPU event to the last; without a GPU of all events",         \
         "exposed % of span")                                                                                \
    CELL(OF(rs_busy, n_class[RS_CLASS_COMM]), "comm_events", INT, COUNT,                                     \
         "communication kernels; without a GPU spans of the host (gloo:*)", "comm. events")
RS_RECORD(own, OWN_ROW);

/* Of a job without a GPU: communication that the host runs, and what operators hide of it. */
static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_busy *gpu;
    rs_host_job host = {0};
    int64_t first, last;
    RS_TRY(rs_trace_busy(trace, run->policy, &gpu, err));
    rs_busy b = *gpu;
    if (!b.n) RS_TRY(rs_trace_host_job(trace, &host, err));
    if (host.n_spans) {
        RS_TRY(rs_trace_selected_span(trace, &first, &last, err));
        b.n_class[RS_CLASS_COMM] = host.n_spans;
        b.comm = host.communication;
        b.exposed_comm = host.waiting;
        b.overlapped_comm = rs_sub_sat(host.communication, host.waiting);
        b.span = first == RS_NO_TIME
                     ? 0
                     : rs_sub_sat(rs_sub_sat(last, first), rs_trace_unrecorded(trace, first, last));
    }
    rs_put(out, 0, &b);
    return RS_OK;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (RS_ROWS(rs_busy, of, 0)->n_class[RS_CLASS_COMM] == 0)
        rs_result_note(result, "rank %lld: no communication", (long long)partial->rank);
}

static const rs_plan_relation relations[] = {{RS_LISTED(0, rs_busy, &rs_busy_layout), .make = put}};
static const rs_plan_table table = {RS_PLAN_TABLE("overlap", "one row is one rank", own)};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_analysis rs_analysis_overlap = {
    .name = "overlap",
    .group = "GPU time",
    .help = "How much of each rank's communication is hidden behind computation",
    .about =
        "Communication is told by the kernel's name (NCCL, RCCL and the others of the kernel-class "
        "table), time\n"
        "is that of unions: two collectives at once count once. A rank without communication has no "
        "percentage.\n\n"
        "A job without a GPU communicates on the host: spans gloo:*, mpi:*, ucc:*, which operators that compute "
        "on any\nthread hide.",
    .examples = "rankscope overlap traces/\nrankscope overlap --compat hta --format csv traces/",
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
};
