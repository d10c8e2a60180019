/* breakdown as HTA's get_temporal_breakdown. */
#include <math.h>

#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/stats.h"
#include "peer/hta_steps.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"idle_time(us)", RS_REAL, RS_UNIT_US, "span less the union of all rows with a stream", NULL},
    {"compute_time(us)", RS_REAL, RS_UNIT_US, "union of HTA's computation rows", NULL},
    {"non_compute_time(us)", RS_REAL, RS_UNIT_US, "the rest of the span", NULL},
    {"kernel_time(us)", RS_REAL, RS_UNIT_US, "from the first start to the last end", NULL},
    {"idle_time_pctg", RS_REAL, RS_UNIT_PERCENT, "idle of the span, two decimals", NULL},
    {"compute_time_pctg", RS_REAL, RS_UNIT_PERCENT, "computation of the span, two decimals", NULL},
    {"non_compute_time_pctg", RS_REAL, RS_UNIT_PERCENT, "the rest of the span, two decimals", NULL},
};

static const rs_table_spec table = {"breakdown", "one row is one rank, as HTA's get_temporal_breakdown",
                                    columns, sizeof columns / sizeof *columns};
static const rs_table_spec *const tables[] = {&table};

static void add_row(rs_table *t, int64_t rank, const rs_busy *b)
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
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        add_row(result->tables[0], partials[i].rank, partials[i].value);
        status = rs_table_end_row(result->tables[0], err);
    }
    return status;
}

const rs_peer_row rs_peer_hta_breakdown = {
    RS_HTA_ROW("breakdown"), .tables = tables,
    .n_tables = 1,           .rank = rs_busy_rank_at_work,
    .merge = merge,          .free_partial = rs_busy_free,
    .absent = "no GPU work", .partial_layout = &rs_busy_layout,
};
