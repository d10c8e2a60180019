/* idle as HTA's get_idle_time_breakdown. */
#include <math.h>

#include "analysis/idle.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"stream", RS_INT, RS_UNIT_ID, "stream", NULL},
    {"idle_category", RS_TEXT, RS_UNIT_NONE, "host_wait, kernel_wait or other", NULL},
    {"idle_time", RS_REAL, RS_UNIT_US, "sum of the intervals, two decimals", NULL},
    {"idle_time_ratio", RS_REAL, RS_UNIT_RATIO, "of the stream's sum, two decimals", NULL},
};
static const rs_column_spec interval_columns[] = {
    {"idle_category", RS_TEXT, RS_UNIT_NONE, "host_wait, kernel_wait or other", NULL},
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"stream", RS_INT, RS_UNIT_ID, "stream", NULL},
    RS_DESCRIPTION_COLUMNS(RS_UNIT_US, "intervals"),
};

static const rs_table_spec idle_table =
    RS_TABLE("idle", "one row is one kind of waiting, as HTA's get_idle_time_breakdown", columns);
static const rs_table_spec interval_table =
    RS_TABLE("intervals", "one row is one kind of waiting, as HTA describes it", interval_columns);
static const rs_table_spec *const tables[] = {&idle_table, &interval_table};

/* HTA looks the launch up by position, where 0 stands for "none" and for the file's first event alike. */
static rs_status pieces_of(const rs_run *run, rs_trace *trace, rs_idle_pieces *out, rs_error *err)
{
    const rs_hta_frame *f;
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

static void add_category(rs_table *idle, rs_table *intervals, int64_t rank_number, const rs_idle_stream *s,
                         int c, int64_t all)
{
    rs_table_add_int(idle, rank_number);
    rs_table_add_int(idle, s->stream);
    rs_table_add_text(idle, rs_idle_names[c]);
    rs_table_add_real(idle, rs_round((double)s->sum[c] / 1000, 2));
    rs_table_add_real(idle, all ? rs_round((double)s->sum[c] / (double)all, 2) : (double)NAN);
    rs_table_add_text(intervals, rs_idle_names[c]);
    rs_table_add_int(intervals, rank_number);
    rs_table_add_int(intervals, s->stream);
    rs_add_description(intervals, &s->intervals[c], 2);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_idle_merge(run, partials, n, add_category, result, err);
}

const rs_peer_row rs_peer_hta_idle = {
    RS_HTA_ROW("idle"),      .tables = tables,
    .n_tables = 2,           .rank = rank,
    .merge = merge,          .free_partial = rs_idle_free,
    .absent = "no GPU work", .partial_layout = &rs_idle_layout,
};
