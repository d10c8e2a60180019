/* diff as HTA's compare_traces: names of all rows with times, nothing cut off. */
#include <string.h>

#include "analysis/diff.h"
#include "analysis/frame_columns.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/try.h"
#include "peer/hta_window.h"

#define ROW(CELL)                                                                                            \
    CELL(TEXT(rs_diff_row, name, rs_diff_rows, names.n), "name", TEXT, NONE, "name of any row", NULL)        \
    CELL(OF(rs_diff_row, count[0]), "control_counts", REAL, COUNT, "how often in A", NULL)                   \
    CELL(OF(rs_diff_row, time[0]), "control_total_duration", REAL, US, "sum of durations in A", NULL)        \
    CELL(OF(rs_diff_row, count[1]), "test_counts", REAL, COUNT, "how often in B", NULL)                      \
    CELL(OF(rs_diff_row, time[1]), "test_total_duration", REAL, US, "sum of durations in B", NULL)           \
    CELL(SET, "diff_counts", REAL, COUNT, "B less A", NULL)                                                  \
    CELL(SET, "diff_duration", REAL, US, "B less A", NULL)                                                   \
    CELL(SET, "counts_change_categories", TEXT, NONE, "+, - or =, by count", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table =
    RS_TABLE("diff", "one row is one name, as HTA's compare_traces: all rows with times, nothing cut off",
             hta_columns);
static const rs_table_spec *const tables[] = {&table};

/* ---- one rank ----------------------------------------------------------------------------------------- */

/* HTA leaves copies as they are, and names without brackets. */
static bool shortens(const rs_string *s)
{
    if (strncmp(s->text, "Memcpy", 6) == 0 || strncmp(s->text, "Memset", 6) == 0) return false;
    return memchr(s->text, '<', s->length) || memchr(s->text, '(', s->length);
}

/* HTA compares its rows as they are read: nothing is cut off, and a row of the GPU is one with a stream. */
static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_diff_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "names");
    *partial = p;
    rs_policy policy = *run->policy;
    const rs_events *e = trace->events;
    const rs_frame_rows *f;
    rs_frame_columns made = {0};
    const char *kind = rs_options_text(run->options, "kind");
    bool gpu = strcmp(kind, "gpu") == 0, host = strcmp(kind, "host") == 0;
    bool shorten = rs_options_flag(run->options, "short-names");
    policy.trim_steps = false;
    policy.whole = true; /* HTA's own iterations say what is selected */
    RS_TRY(rs_trace_hta_frame(trace, &policy, &f, err));
    rs_status status = rs_frame_columns_make(trace, &policy, f, &rs_hta_frame_columns, &made, err);
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        bool has_stream = f->stream[i] != -1;
        if ((gpu && !has_stream) || (host && has_stream)) continue;
        if (!rs_frame_row_is_selected(trace, f, &made, i)) continue;
        uint32_t id = e->name[f->row[i]];
        if (!rs_diff_add(p, e, 0, id, shorten && shortens(&e->strings.items[id]),
                         rs_sub_sat(f->end[i], f->start[i])))
            status = rs_fail_nomem(err, "names");
    }
    rs_frame_columns_clear(&made);
    rs_map64_clear(&p->places);
    return status;
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

static const rs_order by_name[] = {RS_RISING_TEXT(rs_diff_row, name)};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    RS_SCOPED(rs_diff_rows_clear) rs_diff_rows rows = {.n = 0};
    rs_table *t = result->tables[0];
    (void)run;
    RS_TRY(rs_diff_rows_make(partials, n, &rows, err));
    rs_sort(rows.items, rows.n, sizeof *rows.items, by_name, 1, &rows.names);
    rs_table_use_texts(t, &rows.names);
    for (size_t i = 0; i < rows.n; i++) {
        const rs_diff_row *r = &rows.items[i];
        rs_table_put(t, &hta_record, 0, r);
        rs_table_set_real(t, "diff_counts", (double)(r->count[1] - r->count[0]));
        rs_table_set_real(t, "diff_duration", (double)rs_sub_sat(r->time[1], r->time[0]) / 1000);
        rs_table_set_text(t, "counts_change_categories",
                          r->count[1] > r->count[0]   ? "+"
                          : r->count[1] < r->count[0] ? "-"
                                                      : "=");
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

const rs_peer_row rs_peer_hta_diff = {
    .analysis = "diff",
    .modes = RS_MODE(HTA) | RS_MODE(HTA_EXACT), /* no step is cut off: nothing to agree on */
    .tables = tables,
    .n_tables = 1,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_diff_free,
};
