/* breakdown as HTA's get_temporal_breakdown. */
#include <math.h>

#include "analysis/plan.h"
#include "peer/hta_steps.h"
#include "trace/busy.h"

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

static double percent_of(double part, double span)
{
    return span != 0 ? rs_round(100 * part / span, 2) : (double)NAN;
}

static void set_parts(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_busy *b = row;
    double span = (double)b->span / 1000, idle = (double)b->idle / 1000, compute = (double)b->compute / 1000;
    double rest = span - compute - idle;
    (void)run;
    (void)of;
    rs_table_set_real(t, "non_compute_time(us)", rest);
    rs_table_set_real(t, "idle_time_pctg", percent_of(idle, span));
    rs_table_set_real(t, "compute_time_pctg", percent_of(compute, span));
    rs_table_set_real(t, "non_compute_time_pctg", percent_of(rest, span));
}

static rs_status refuse_host(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    (void)trace;
    (void)out;
    return rs_options_flag(run->options, "host")
               ? rs_fail(err, RS_ERR_USAGE,
                         "HTA does not divide the host's time: leave out --host or --compat")
               : RS_OK;
}

static const rs_plan_drop without_work[] = {RS_DROP(rs_busy, n, 0, NULL)};
static const rs_plan_relation relations[] = {{RS_LISTED(0, rs_busy, &rs_busy_layout), .from = &rs_facet_busy,
                                              RS_DROPPED(without_work), .make = refuse_host}};
static const rs_plan_table table = {
    RS_PLAN_TABLE("breakdown", "one row is one rank, as HTA's get_temporal_breakdown", hta),
    .set = set_parts};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .absent_without = 1};

const rs_peer_row rs_peer_hta_breakdown = {RS_HTA_ROW("breakdown"), .plan = &plan};
