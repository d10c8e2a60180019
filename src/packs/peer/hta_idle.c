/* idle as HTA's get_idle_time_breakdown. */
#include <math.h>

#include "analysis/idle.h"
#include "base/try.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_idle_row, stream), "stream", INT, ID, "stream", NULL)                                         \
    CELL(WORD(rs_idle_row, kind, rs_idle_names), "idle_category", TEXT, NONE,                                \
         "host_wait, kernel_wait or other", NULL)                                                            \
    CELL(SET, "idle_time", REAL, US, "sum of the intervals, two decimals", NULL)                             \
    CELL(SET, "idle_time_ratio", REAL, RATIO, "of the stream's sum, two decimals", NULL)
RS_RECORD(hta, ROW);

#define INTERVAL_ROW(CELL)                                                                                   \
    CELL(WORD(rs_idle_row, kind, rs_idle_names), "idle_category", TEXT, NONE,                                \
         "host_wait, kernel_wait or other", NULL)                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_idle_row, stream), "stream", INT, ID, "stream", NULL)                                         \
    RS_DESCRIPTION_CELLS(CELL, rs_idle_row, intervals, US, "intervals")
RS_RECORD(hta_interval, INTERVAL_ROW);

/* HTA takes the end of the row before, wherever others end, and counts the first row as other, without a gap.
 */
static void judge_stream(rs_relations *out, rs_idle_gap *gap, const rs_idle_piece *items,
                         const rs_keyed *order, size_t n, int64_t delay_ns)
{
    gap->kind = RS_IDLE_OTHER;
    gap->gap = INT64_MIN;
    rs_put(out, 0, gap);
    for (size_t i = 1; i < n; i++) {
        const rs_idle_piece *p = &items[order[i].value];
        int64_t before = items[order[i - 1].value].end;
        rs_idle_put(out, gap, p, before, rs_sub_sat(p->start, before), delay_ns);
    }
}

/* HTA looks the launch up by position, where 0 represents "none" and for the file's first event alike. */
static rs_status put_gaps(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_frame_rows *f;
    size_t n = 0;
    bool has_first = false;
    RS_TRY(rs_trace_hta_frame(trace, run->policy, &f, err));
    for (size_t i = 0; i < f->n && !has_first; i++) has_first = f->row[i] == 0;
    rs_idle_piece *items = RS_ROOM(out, rs_idle_piece, f->n);
    for (size_t i = 0; items && i < f->n; i++) {
        if (f->stream[i] == -1 || !rs_kind_is_gpu_work(rs_event_kind(trace->events, f->row[i]))) continue;
        if (!rs_options_in_ranges(run->options, "streams", f->stream[i])) continue;
        uint32_t partner = f->partner[i];
        if (partner == RS_NO_ROW && f->correlation[i] >= 0 && has_first) partner = 0;
        int64_t launch = partner == RS_NO_ROW ? INT64_MIN : rs_hta_start_of(trace, f, partner);
        items[n++] = (rs_idle_piece){-1, f->stream[i], f->start[i], f->end[i], launch};
    }
    return rs_idle_put_streams(run, items, n, judge_stream, out, err);
}

static void round_intervals(const rs_relations *of, void *row)
{
    (void)of;
    rs_idle_row *r = row;
    r->intervals = rs_description_rounded(&r->intervals, 2);
}

static void set_rounded(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_idle_row *r = row;
    (void)run;
    (void)of;
    rs_table_set_real(t, "idle_time", rs_round((double)r->sum / 1000, 2));
    rs_table_set_real(t, "idle_time_ratio",
                      r->all ? rs_round((double)r->sum / (double)r->all, 2) : (double)NAN);
}

static const rs_plan_relation relations[] = {{RS_IDLE_RELATION, .make = put_gaps, .amend = round_intervals}};
static const rs_plan_table
    idle_table = {RS_PLAN_TABLE("idle", "one row is one kind of waiting, as HTA's get_idle_time_breakdown",
                                hta),
                  .set = set_rounded},
    interval_table = {
        RS_PLAN_TABLE("intervals", "one row is one kind of waiting, as HTA describes it", hta_interval),
        .choice = RS_WITH(RS_IS_SET("intervals"))};
static const rs_table_spec *const tables[] = {&idle_table.spec, &interval_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables)};

const rs_peer_row rs_peer_hta_idle = {
    RS_HTA_ROW("idle"),
    .plan = &plan,
    .absent = "no GPU work",
};
