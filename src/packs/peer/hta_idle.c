/* idle as HTA's get_idle_time_breakdown. */
#include <math.h>

#include "analysis/idle.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_idle_row, stream), "stream", INT, ID, "stream", NULL)                                         \
    CELL(OF(rs_idle_row, kind), "idle_category", TEXT, NONE, "host_wait, kernel_wait or other", NULL)        \
    CELL(SET, "idle_time", REAL, US, "sum of the intervals, two decimals", NULL)                             \
    CELL(SET, "idle_time_ratio", REAL, RATIO, "of the stream's sum, two decimals", NULL)
RS_RECORD(hta, ROW);

#define INTERVAL_ROW(CELL)                                                                                   \
    CELL(OF(rs_idle_row, kind), "idle_category", TEXT, NONE, "host_wait, kernel_wait or other", NULL)        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_idle_row, stream), "stream", INT, ID, "stream", NULL)                                         \
    RS_DESCRIPTION_CELLS(CELL, rs_idle_row, intervals, US, "intervals")
RS_RECORD(hta_interval, INTERVAL_ROW);

static const rs_table_spec idle_table =
    RS_TABLE("idle", "one row is one kind of waiting, as HTA's get_idle_time_breakdown", hta_columns);
static const rs_table_spec interval_table =
    RS_TABLE("intervals", "one row is one kind of waiting, as HTA describes it", hta_interval_columns);
static const rs_table_spec *const tables[] = {&idle_table, &interval_table};

/* HTA looks the launch up by position, where 0 stands for "none" and for the file's first event alike. */
static rs_status pieces_of(const rs_run *run, rs_trace *trace, rs_idle_pieces *out, rs_error *err)
{
    const rs_frame_rows *f;
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    if (status != RS_OK) return status;
    bool has_first = false;
    for (size_t i = 0; i < f->n && !has_first; i++) has_first = f->row[i] == 0;
    out->items = rs_malloc(f->n * sizeof *out->items);
    for (size_t i = 0; out->items && i < f->n; i++) {
        if (f->stream[i] == -1 || !rs_kind_is_gpu_work(rs_event_kind(trace->events, f->row[i]))) continue;
        if (!rs_options_in_ranges(run->options, "streams", f->stream[i])) continue;
        uint32_t partner = f->partner[i];
        if (partner == RS_NO_ROW && f->correlation[i] >= 0 && has_first) partner = 0;
        int64_t launch = partner == RS_NO_ROW ? INT64_MIN : rs_hta_start_of(trace, f, partner);
        out->items[out->n++] = (rs_idle_piece){-1, f->stream[i], f->start[i], f->end[i], launch};
    }
    return out->items ? RS_OK : rs_fail_nomem(err, "GPU work");
}

/* HTA takes the end of the row before, wherever others end, and counts the first row as other, without a gap.
 */
static void judge_stream(const rs_idle_piece *items, const rs_keyed *order, size_t n, int64_t delay_ns,
                         rs_idle_stream *s, double *values)
{
    if (n) s->present[RS_IDLE_OTHER] = true;
    for (size_t i = 1; i < n; i++) {
        const rs_idle_piece *p = &items[order[i].value];
        int64_t before = items[order[i - 1].value].end;
        rs_idle_add(s, p, before, rs_sub_sat(p->start, before), delay_ns, values, n);
    }
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_idle_rank(run, trace, pieces_of, judge_stream, partial, err);
}

static rs_status add_row(rs_table *idle, rs_table *intervals, int64_t rank_number, const rs_idle_row *row,
                         rs_error *err)
{
    rs_idle_row rounded = *row;
    rounded.intervals = rs_description_rounded(&row->intervals, 2);
    rs_table_put(idle, &hta_record, rank_number, row);
    rs_table_set_real(idle, "idle_time", rs_round((double)row->sum / 1000, 2));
    rs_table_set_real(idle, "idle_time_ratio",
                      row->all ? rs_round((double)row->sum / (double)row->all, 2) : (double)NAN);
    rs_status status = rs_table_end_row(idle, err);
    return status == RS_OK ? rs_table_put_row(intervals, &hta_interval_record, rank_number, &rounded, err)
                           : status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_idle_merge(run, partials, n, add_row, result, err);
}

const rs_peer_row rs_peer_hta_idle = {
    RS_HTA_ROW("idle"),      .tables = tables,
    .n_tables = 2,           .rank = rank,
    .merge = merge,          .free_partial = rs_idle_free,
    .absent = "no GPU work", .partial_layout = &rs_idle_layout,
};
