/* overlap: how much of the communication computation hides. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "trace/busy.h"

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
         "exposed_us of the time from the first GPU event to the last", "exposed % of span")                 \
    CELL(OF(rs_busy, n_class[RS_CLASS_COMM]), "comm_events", INT, COUNT, "communication kernels",            \
         "comm. kernels")
RS_RECORD(own, OWN_ROW);

static const rs_table_spec own_table = {"overlap", "one row is one rank", own_columns,
                                        sizeof own_columns / sizeof *own_columns};
static const rs_table_spec *const own_tables[] = {&own_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 1}};

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
    .about = "Communication is told by the kernel's name (NCCL, RCCL and the others of the kernel-class "
             "table), time\n"
             "is that of unions: two collectives at once count once. A rank without communication has no "
             "percentage.",
    .examples = "rankscope overlap traces/\nrankscope overlap --compat hta --format csv traces/",
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_busy_rank,
    .merge = merge,
    .free_partial = rs_busy_free,
    .partial_layout = &rs_busy_layout,
};
