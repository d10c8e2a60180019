/* bandwidth as HTA's get_memory_bw_summary and get_memory_bw_time_series. */
#include "peer/hta_bandwidth.h"

#include <string.h>

#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"
#include "peer/numpy_order.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_copy_kind, name), "name", TEXT, NONE, "kind of copy", NULL)                                   \
    RS_DESCRIPTION_CELLS(CELL, rs_copy_kind, samples, GBPS, "samples above zero")
RS_RECORD(kind, ROW);

#define POINT_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "ts", REAL, US, "from the job's first event", NULL)                                            \
    CELL(OF(rs_copy_point, pid), "pid", INT, ID, "of the copy", NULL)                                        \
    CELL(SET, "name", TEXT, NONE, "kind of copy", NULL)                                                      \
    CELL(OF(rs_copy_point, in_use), "memory_bw_gbps", REAL, GBPS, "in use from now on", NULL)
RS_RECORD(point, POINT_ROW);

static const rs_table_spec summary_table = {"bandwidth",
                                            "one row is one kind of copy, as HTA's get_memory_bw_summary",
                                            kind_columns, sizeof kind_columns / sizeof *kind_columns};
static const rs_table_spec series_table = {"series", "one row is one change; filled with --series",
                                           point_columns, sizeof point_columns / sizeof *point_columns};
static const rs_table_spec *const tables[] = {&summary_table, &series_table};

typedef struct hta_bandwidth {
    rs_bandwidth *copies;
    int64_t zero; /* the rank's first event, INT64_MAX if none */
} hta_bandwidth;

static void free_partial(void *partial)
{
    hta_bandwidth *h = partial;
    if (h) rs_bandwidth_free(h->copies);
    rs_free(h);
}

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
    int64_t *keys = rs_malloc(n * sizeof *keys);
    uint32_t *order = rs_malloc(n * sizeof *order);
    bool ok = keys && order;
    for (size_t i = 0; ok && i < n; i++) keys[i] = points[i].ns;
    if (ok) rs_numpy_argsort(keys, n, order);
    for (size_t i = 0; ok && i < n; i++) points[order[i]].order = (uint32_t)i;
    rs_free(keys);
    rs_free(order);
    return ok;
}

const rs_copy_rules rs_hta_copy_rules = {.cut_name = cut_name, .measure = measure, .order = order_as_pandas};

/* ---- the tables --------------------------------------------------------------------------------------- */

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_frame_rows *f;
    hta_bandwidth *h = rs_calloc(1, sizeof *h);
    if (!h) return rs_fail_nomem(err, "copies");
    *partial = h;
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    if (status == RS_OK) status = rs_bandwidth_make(run, trace, &rs_hta_copy_rules, &h->copies, err);
    if (status != RS_OK) return status;
    h->zero = f->min_start == RS_NO_TIME ? INT64_MAX : f->min_start;
    rs_bandwidth_drop_series(run, h->copies);
    return RS_OK;
}

static rs_status add_rank(const rs_bandwidth *p, int64_t number, int64_t zero, rs_result *result,
                          rs_error *err)
{
    rs_table *t = result->tables[RS_BANDWIDTH_SERIES];
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_kinds; i++)
        if (p->kinds[i].samples.n)
            status = rs_table_put_row(result->tables[RS_BANDWIDTH_SUMMARY], &kind_record, number,
                                      &p->kinds[i], err);
    for (size_t i = 0; status == RS_OK && i < p->n_points; i++) {
        const rs_copy_point *x = &p->points[i];
        rs_table_put(t, &point_record, number, x);
        rs_table_set_real(t, "ts", (double)rs_sub_sat(x->ns, zero) / 1000);
        rs_table_set_text(t, "name", p->kinds[x->kind].name);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    int64_t zero = INT64_MAX;
    rs_status status = RS_OK;
    result->main_table = rs_options_flag(run->options, "series") ? RS_BANDWIDTH_SERIES : RS_BANDWIDTH_SUMMARY;
    for (size_t i = 0; i < n; i++) {
        const hta_bandwidth *h = partials[i].value;
        if (h->zero < zero) zero = h->zero;
    }
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const hta_bandwidth *h = partials[i].value;
        if (h->copies->n_kinds == 0)
            rs_result_note(result, "rank %lld: no copies", (long long)partials[i].rank);
        status = add_rank(h->copies, partials[i].rank, zero, result, err);
    }
    return status;
}

static const rs_field bandwidth_fields[] = {
    RS_FIELD_ONE(hta_bandwidth, copies, &rs_bandwidth_layout),
    RS_FIELD(hta_bandwidth, zero),
};
static const rs_layout bandwidth_layout = RS_LAYOUT(hta_bandwidth, bandwidth_fields);

const rs_peer_row rs_peer_hta_bandwidth = {
    RS_HTA_ROW("bandwidth"),
    .tables = tables,
    .n_tables = RS_BANDWIDTH_TABLES,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &bandwidth_layout,
};
