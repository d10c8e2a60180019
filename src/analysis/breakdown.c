/* breakdown: where each rank's GPU time goes. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "trace/busy.h"

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_busy, span), "span_us", TIME, US, "from the first GPU event's start to the last one's end",   \
         "span")                                                                                             \
    CELL(OF(rs_busy, busy), "busy_us", TIME, US, "something runs on the GPU", "busy")                        \
    CELL(OF(rs_busy, compute), "compute_us", TIME, US, "computation runs", "compute")                        \
    CELL(OF(rs_busy, exposed_comm), "exposed_comm_us", TIME, US,                                             \
         "communication runs and no computation hides it", "exposed comm")                                   \
    CELL(OF(rs_busy, exposed_memory), "exposed_copy_us", TIME, US,                                           \
         "copies or memsets run and neither computation nor communication hides them", "exposed copies")     \
    CELL(OF(rs_busy, idle), "idle_us", TIME, US, "nothing runs; the four add up to the span", "idle")        \
    CELL(SHARE(rs_busy, busy, span), "busy_pct", REAL, PERCENT, "busy_us of the span", "busy %")             \
    CELL(SHARE(rs_busy, compute, span), "compute_pct", REAL, PERCENT, "compute_us of the span", "compute %") \
    CELL(SHARE(rs_busy, exposed_comm, span), "exposed_comm_pct", REAL, PERCENT,                              \
         "exposed_comm_us of the span", "exposed comm %")                                                    \
    CELL(SHARE(rs_busy, exposed_memory, span), "exposed_copy_pct", REAL, PERCENT,                            \
         "exposed_copy_us of the span", "exposed copies %")                                                  \
    CELL(SHARE(rs_busy, idle, span), "idle_pct", REAL, PERCENT, "idle_us of the span", "idle %")             \
    CELL(OF(rs_busy, comm), "comm_us", TIME, US, "communication runs, hidden or not", "comm, all")           \
    CELL(OF(rs_busy, memory), "copy_us", TIME, US, "copies or memsets run, hidden or not", "copies, all")    \
    CELL(OF(rs_busy, n), "gpu_events", INT, COUNT, "pieces of GPU work", "GPU events")                       \
    CELL(OF(rs_busy, n_unlinked), "unlinked_events", INT, COUNT,                                             \
         "GPU work whose launch is not in the file; it is counted", "unlinked")
RS_RECORD(own, OWN_ROW);

static const rs_table_spec own_table = {"breakdown", "one row is one rank", own_columns,
                                        sizeof own_columns / sizeof *own_columns};
static const rs_table_spec *const own_tables[] = {&own_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 1}};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        status = rs_table_put_row(result->tables[0], &own_record, partials[i].rank, b, err);
    }
    return status;
}

const rs_analysis rs_analysis_breakdown = {
    .name = "breakdown",
    .help = "Where each rank's GPU time goes: compute, exposed communication and copies, idle",
    .about = "The span from the first GPU event to the last is divided into four parts that add up: "
             "computation runs;\n"
             "communication runs and no computation (exposed); copies run and neither of them (exposed); "
             "nothing runs.\n"
             "Work that runs at the same time counts once. All GPU work of the trace counts, also without a "
             "launch.",
    .examples = "rankscope breakdown trace.json.gz\nrankscope breakdown --steps 3-5 traces/\n"
                "rankscope breakdown --compat hta --format csv traces/",
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_busy_rank_at_work,
    .merge = merge,
    .free_partial = rs_busy_free,
    .absent = "no GPU work",
    .partial_layout = &rs_busy_layout,
};
