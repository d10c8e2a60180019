/* bandwidth as HTA's get_memory_bw_summary and get_memory_bw_time_series. */
#include "peer/hta_bandwidth.h"

#include <string.h>

#include "base/try.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"
#include "peer/numpy_order.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(rs_copy_kind, name), "name", TEXT, NONE, "kind of copy", NULL)                              \
    RS_DESCRIPTION_CELLS(CELL, rs_copy_kind, samples, GBPS, "samples above zero")
RS_RECORD(kind, ROW);

#define POINT_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "ts", REAL, US, "from the job's first event", NULL)                                            \
    CELL(OF(rs_copy_change, pid), "pid", INT, ID, "of the copy", NULL)                                       \
    CELL(TEXT_ID(rs_copy_change, name), "name", TEXT, NONE, "kind of copy", NULL)                            \
    CELL(OF(rs_copy_change, in_use), "memory_bw_gbps", REAL, GBPS, "in use from now on", NULL)
RS_RECORD(point, POINT_ROW);

/* ---- rules --------------------------------------------------------------------------------------------- */

/* HTA cuts names to their first eleven characters. */
static size_t cut_name(const char *name, const char **out)
{
    *out = name;
    if (strncmp(name, "Memset", 6) == 0) return 6;
    if (strncmp(name, "Memcpy", 6) == 0) return strlen(name) < 11 ? strlen(name) : 11;
    *out = "Memcpy Unknown";
    return strlen(*out);
}

/* HTA takes the rate that the row says, and a microsecond for a copy that takes no time. */
static void measure(const rs_events *e, uint32_t row, bool has_rate, rs_copy *c)
{
    (void)e;
    (void)row;
    (void)has_rate;
    if (c->end == c->start) c->end = rs_add_sat(c->start, 1000);
}

/* Equal times stand as pandas leaves them, over all kinds at once. */
static bool order_as_pandas(rs_copy_point *points, size_t n)
{
    RS_LOCAL int64_t *keys = rs_malloc(n * sizeof *keys);
    RS_LOCAL uint32_t *order = rs_malloc(n * sizeof *order);
    bool ok = keys && order;
    for (size_t i = 0; ok && i < n; i++) keys[i] = points[i].ns;
    if (ok) rs_numpy_argsort(keys, n, order);
    for (size_t i = 0; ok && i < n; i++) points[order[i]].order = (uint32_t)i;
    return ok;
}

const rs_copy_rules rs_hta_copy_rules = {.cut_name = cut_name, .measure = measure, .order = order_as_pandas};

/* ---- the plan ----------------------------------------------------------------------------------------- */

enum { ORIGIN = RS_BANDWIDTH_TABLES };

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    RS_TRY(rs_hta_put_origin(run, trace, out, ORIGIN, err));
    return rs_bandwidth_put(run, trace, &rs_hta_copy_rules, out, err);
}

static bool has_samples(const rs_run *run, const rs_relations *of, const void *row)
{
    (void)run;
    (void)of;
    return ((const rs_copy_kind *)row)->samples.n > 0;
}

static void set_time(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    (void)of;
    rs_table_set_real(t, "ts", rs_hta_from_zero(run, ((const rs_copy_change *)row)->ns));
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (of->items[RS_BANDWIDTH_SUMMARY].n == 0)
        rs_result_note(result, "rank %lld: no copies", (long long)partial->rank);
}

static const rs_plan_relation relations[] = {
    {RS_BANDWIDTH_KINDS, .make = put},
    {RS_BANDWIDTH_CHANGES},
    {RS_HTA_ORIGIN(ORIGIN)},
};
static const rs_plan_table
    summary_table = {RS_PLAN_TABLE("bandwidth", "one row is one kind of copy, as HTA's get_memory_bw_summary",
                                   kind),
                     .shows = has_samples},
    series_table = {RS_PLAN_TABLE("series", "one row is one change; filled with --series", point),
                    .relation = RS_BANDWIDTH_SERIES, .choice = RS_WITH(RS_IS_SET("series")), .set = set_time};
static const rs_table_spec *const tables[] = {&summary_table.spec, &series_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_hta_merge_from_zero(run, partials, n, ORIGIN, result, err);
}

const rs_peer_row rs_peer_hta_bandwidth = {RS_HTA_ROW("bandwidth"), .plan = &plan, .merge = merge};
