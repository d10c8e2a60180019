/* breakdown: where each rank's GPU time goes. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "trace/busy.h"

static const rs_column_spec own_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"span_us", RS_TIME, RS_UNIT_US, "from the first GPU event's start to the last one's end", "span"},
    {"busy_us", RS_TIME, RS_UNIT_US, "something runs on the GPU", "busy"},
    {"compute_us", RS_TIME, RS_UNIT_US, "computation runs", "compute"},
    {"exposed_comm_us", RS_TIME, RS_UNIT_US, "communication runs and no computation hides it",
     "exposed comm"},
    {"exposed_copy_us", RS_TIME, RS_UNIT_US,
     "copies or memsets run and neither computation nor communication hides them", "exposed copies"},
    {"idle_us", RS_TIME, RS_UNIT_US, "nothing runs; the four add up to the span", "idle"},
    {"busy_pct", RS_REAL, RS_UNIT_PERCENT, "busy_us of the span", "busy %"},
    {"compute_pct", RS_REAL, RS_UNIT_PERCENT, "compute_us of the span", "compute %"},
    {"exposed_comm_pct", RS_REAL, RS_UNIT_PERCENT, "exposed_comm_us of the span", "exposed comm %"},
    {"exposed_copy_pct", RS_REAL, RS_UNIT_PERCENT, "exposed_copy_us of the span", "exposed copies %"},
    {"idle_pct", RS_REAL, RS_UNIT_PERCENT, "idle_us of the span", "idle %"},
    {"comm_us", RS_TIME, RS_UNIT_US, "communication runs, hidden or not", "comm, all"},
    {"copy_us", RS_TIME, RS_UNIT_US, "copies or memsets run, hidden or not", "copies, all"},
    {"gpu_events", RS_INT, RS_UNIT_COUNT, "pieces of GPU work", "GPU events"},
    {"unlinked_events", RS_INT, RS_UNIT_COUNT, "GPU work whose launch is not in the file; it is counted",
     "unlinked"},
};

static const rs_table_spec own_table = {"breakdown", "one row is one rank", own_columns,
                                        sizeof own_columns / sizeof *own_columns};
static const rs_table_spec *const own_tables[] = {&own_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 1}};

static void add_own(rs_table *t, int64_t rank, const rs_busy *b)
{
    const int64_t times[] = {b->span, b->busy, b->compute, b->exposed_comm, b->exposed_memory, b->idle};
    rs_table_add_int(t, rank);
    for (size_t i = 0; i < 6; i++) rs_table_add_time(t, times[i]);
    for (size_t i = 1; i < 6; i++) rs_table_add_real(t, rs_percent(times[i], b->span));
    rs_table_add_time(t, b->comm);
    rs_table_add_time(t, b->memory);
    rs_table_add_int(t, (int64_t)b->n);
    rs_table_add_int(t, (int64_t)b->n_unlinked);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        add_own(result->tables[0], partials[i].rank, b);
        status = rs_table_end_row(result->tables[0], err);
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
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_busy_rank_at_work,
    .merge = merge,
    .free_partial = rs_busy_free,
    .absent = "no GPU work",
    .partial_layout = &rs_busy_layout,
};
