/* overlap: how much of the communication computation hides. */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/stats.h"

static const rs_column_spec own_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"comm_us", RS_TIME, RS_UNIT_US, "communication runs", "communication"},
    {"overlapped_us", RS_TIME, RS_UNIT_US, "communication and computation run", "overlapped"},
    {"exposed_us", RS_TIME, RS_UNIT_US, "communication runs and no computation", "exposed"},
    {"overlap_pct", RS_REAL, RS_UNIT_PERCENT, "overlapped_us of comm_us; unknown without communication",
     "overlap %"},
    {"exposed_pct_of_span", RS_REAL, RS_UNIT_PERCENT,
     "exposed_us of the time from the first GPU event to the last", "exposed % of span"},
    {"comm_events", RS_INT, RS_UNIT_COUNT, "communication kernels", "comm. kernels"},
};

static const rs_column_spec hta_columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"comp_comm_overlap_pctg", RS_REAL, RS_UNIT_PERCENT,
     "communication overlapped by computation, of all communication, two decimals", NULL},
};

static const rs_table_spec own_table = {"overlap", "one row is one rank", own_columns,
                                        sizeof own_columns / sizeof *own_columns};
static const rs_table_spec hta_table = {"overlap", "one row is one rank, as HTA's get_comm_comp_overlap",
                                        hta_columns, sizeof hta_columns / sizeof *hta_columns};
static const rs_table_spec *const own_tables[] = {&own_table};
static const rs_table_spec *const hta_tables[] = {&hta_table};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, own_tables, 1}, {RS_COMPAT_HTA, hta_tables, 1}, {RS_COMPAT_HTA_EXACT, hta_tables, 1}};

static void add_own(rs_table *t, int64_t rank, const rs_busy *b)
{
    rs_table_add_int(t, rank);
    rs_table_add_time(t, b->comm);
    rs_table_add_time(t, b->overlapped_comm);
    rs_table_add_time(t, b->exposed_comm);
    rs_table_add_real(t, rs_percent(b->overlapped_comm, b->comm));
    rs_table_add_real(t, rs_percent(b->exposed_comm, b->span));
    rs_table_add_int(t, (int64_t)b->n_class[RS_CLASS_COMM]);
}

static void add_hta(rs_table *t, int64_t rank, const rs_busy *b)
{
    rs_table_add_int(t, rank);
    rs_table_add_real(t, b->comm ? rs_round(100 * ((double)b->overlapped_comm / (double)b->comm), 2)
                                 : (double)NAN);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        if (!b) continue;
        if (b->n_class[RS_CLASS_COMM] == 0)
            rs_result_note(result, "rank %lld: no communication", (long long)partials[i].rank);
        if (run->policy->rows_by_stream)
            add_hta(result->tables[0], partials[i].rank, b);
        else
            add_own(result->tables[0], partials[i].rank, b);
        status = rs_table_end_row(result->tables[0], err);
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
