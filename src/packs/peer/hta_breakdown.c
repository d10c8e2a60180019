/* breakdown as HTA's get_temporal_breakdown. */
#include <math.h>

#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/stats.h"
#include "peer/hta_steps.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_busy, idle), "idle_time(us)", REAL, US, "span less the union of all rows with a stream",      \
         NULL)                                                                                               \
    CELL(OF(rs_busy, compute), "compute_time(us)", REAL, US, "union of HTA's computation rows", NULL)        \
    CELL(SET, "non_compute_time(us)", REAL, US, "the rest of the span", NULL)                                \
    CELL(OF(rs_busy, span), "kernel_time(us)", REAL, US, "from the first start to the last end", NULL)       \
    CELL(SET, "idle_time_pctg", REAL, PERCENT, "idle of the span, two decimals", NULL)                       \
    CELL(SET, "compute_time_pctg", REAL, PERCENT, "computation of the span, two decimals", NULL)             \
    CELL(SET, "non_compute_time_pctg", REAL, PERCENT, "the rest of the span, two decimals", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table = {"breakdown", "one row is one rank, as HTA's get_temporal_breakdown",
                                    hta_columns, sizeof hta_columns / sizeof *hta_columns};
static const rs_table_spec *const tables[] = {&table};

static double percent_of(double part, double span)
{
    return span != 0 ? rs_round(100 * part / span, 2) : (double)NAN;
}

static rs_status add_row(rs_table *t, int64_t rank, const rs_busy *b, rs_error *err)
{
    double span = (double)b->span / 1000, idle = (double)b->idle / 1000, compute = (double)b->compute / 1000;
    double rest = span - compute - idle;
    rs_table_put(t, &hta_record, rank, b);
    rs_table_set_real(t, "non_compute_time(us)", rest);
    rs_table_set_real(t, "idle_time_pctg", percent_of(idle, span));
    rs_table_set_real(t, "compute_time_pctg", percent_of(compute, span));
    rs_table_set_real(t, "non_compute_time_pctg", percent_of(rest, span));
    return rs_table_end_row(t, err);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    if (rs_options_flag(run->options, "host"))
        return rs_fail(err, RS_ERR_USAGE,
                       "HTA does not divide the host's time: leave out --host or --compat");
    return rs_busy_rank_at_work(run, trace, partial, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++)
        status = add_row(result->tables[0], partials[i].rank, partials[i].value, err);
    return status;
}

const rs_peer_row rs_peer_hta_breakdown = {
    RS_HTA_ROW("breakdown"), .tables = tables,
    .n_tables = 1,           .rank = rank,
    .merge = merge,          .free_partial = rs_busy_free,
    .absent = "no GPU work", .partial_layout = &rs_busy_layout,
};
