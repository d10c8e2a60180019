/* overlap: how much of the communication computation hides. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
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

static const rs_table_spec own_table = {"overlap", "one row is one rank", own_columns,
                                        sizeof own_columns / sizeof *own_columns};
static const rs_table_spec *const own_tables[] = {&own_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 1}};

/* Of a job without a GPU: communication that the host runs, and what operators hide of it. */
static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    RS_TRY(rs_busy_rank(run, trace, partial, err));
    rs_busy *b = *partial;
    rs_host_job host;
    int64_t first, last;
    if (b->n) return RS_OK;
    RS_TRY(rs_trace_host_job(trace, &host, err));
    if (!host.n_spans) return RS_OK;
    RS_TRY(rs_trace_selected_span(trace, &first, &last, err));
    b->n_class[RS_CLASS_COMM] = host.n_spans;
    b->comm = host.communication;
    b->exposed_comm = host.waiting;
    b->overlapped_comm = rs_sub_sat(host.communication, host.waiting);
    b->span = first == RS_NO_TIME
                  ? 0
                  : rs_sub_sat(rs_sub_sat(last, first), rs_trace_unrecorded(trace, first, last));
    return RS_OK;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        if (b->n_class[RS_CLASS_COMM] == 0)
            rs_result_note(result, "rank %lld: no communication", (long long)partials[i].rank);
        status = rs_table_put_row(result->tables[0], &own_record, partials[i].rank, b, err);
    }
    return status;
}

const rs_analysis rs_analysis_overlap = {
    .name = "overlap",
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
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_busy_free,
    .partial_layout = &rs_busy_layout,
};
