/* breakdown: where each rank's GPU time goes. */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/memory.h"
#include "base/stats.h"

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

static const rs_column_spec hta_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"idle_time(us)", RS_REAL, RS_UNIT_US, "span less the union of all rows with a stream", NULL},
    {"compute_time(us)", RS_REAL, RS_UNIT_US, "union of HTA's computation rows", NULL},
    {"non_compute_time(us)", RS_REAL, RS_UNIT_US, "the rest of the span", NULL},
    {"kernel_time(us)", RS_REAL, RS_UNIT_US, "from the first start to the last end", NULL},
    {"idle_time_pctg", RS_REAL, RS_UNIT_PERCENT, "idle of the span, two decimals", NULL},
    {"compute_time_pctg", RS_REAL, RS_UNIT_PERCENT, "computation of the span, two decimals", NULL},
    {"non_compute_time_pctg", RS_REAL, RS_UNIT_PERCENT, "the rest of the span, two decimals", NULL},
};

static const rs_table_spec own_table = {"breakdown", "one row is one rank", own_columns,
                                        sizeof own_columns / sizeof *own_columns};
static const rs_table_spec hta_table = {"breakdown", "one row is one rank, as HTA's get_temporal_breakdown",
                                        hta_columns, sizeof hta_columns / sizeof *hta_columns};
static const rs_table_spec *const own_tables[] = {&own_table};
static const rs_table_spec *const hta_tables[] = {&hta_table};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, own_tables, 1}, {RS_COMPAT_HTA, hta_tables, 1}, {RS_COMPAT_HTA_EXACT, hta_tables, 1}};

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

static void add_hta(rs_table *t, int64_t rank, const rs_busy *b)
{
    double span = (double)b->span / 1000, idle = (double)b->idle / 1000, compute = (double)b->compute / 1000;
    const double times[] = {idle, compute, span - compute - idle};
    rs_table_add_int(t, rank);
    for (size_t i = 0; i < 3; i++) rs_table_add_real(t, times[i]);
    rs_table_add_real(t, span);
    for (size_t i = 0; i < 3; i++)
        rs_table_add_real(t, b->span ? rs_round(100 * times[i] / span, 2) : (double)NAN);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        if (!b || b->n == 0) {
            rs_result_note(result, "rank %lld: no GPU work", (long long)partials[i].rank);
            continue;
        }
        if (run->policy->rows_by_stream)
            add_hta(result->tables[0], partials[i].rank, b);
        else
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
    .columns = RS_LINK_COLUMNS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_busy_rank,
    .merge = merge,
    .free_partial = rs_busy_free,
    .partial_layout = &rs_busy_layout,
    .steps_seen = rs_busy_steps_seen,
};
