/* idle: what each stream waits for between two pieces of work. */
#include "analysis/idle.h"

#include <math.h>

#include "base/real.h"
#include "base/try.h"

const char *const rs_idle_names[RS_N_IDLE] = {"host_wait", "kernel_wait", "other"};

static const rs_option_spec options[] = {
    {"intervals", RS_OPTION_FLAG, NULL, NULL, NULL, "print the statistics of the intervals"},
    {"kernel-delay", RS_OPTION_REAL, "US", NULL, "30", "shorter gaps between queued kernels are kernel_wait"},
    {"streams", RS_OPTION_RANGES, "STREAMS", NULL, NULL, "only these streams: 7,20"},
};

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_idle_row, device), "device", INT, ID, "device", NULL)                                         \
    CELL(OF(rs_idle_row, stream), "stream", INT, ID, "stream", NULL)                                         \
    CELL(WORD(rs_idle_row, kind, rs_idle_names), "idle_category", TEXT, NONE,                                \
         "host_wait: the next work was launched after the stream ran dry; kernel_wait: it was queued and "   \
         "came within --kernel-delay; other: it was queued and came later",                                  \
         NULL)                                                                                               \
    CELL(OF(rs_idle_row, count), "count", INT, COUNT, "gaps between neighbours on the stream", NULL)         \
    CELL(OF(rs_idle_row, sum), "idle_us", TIME, US, "total of the gaps", "idle")                             \
    CELL(SHARE(rs_idle_row, sum, all), "share_pct", REAL, PERCENT, "of the stream's idle time", "share %")
RS_RECORD(own, OWN_ROW);

#define OWN_INTERVAL_ROW(CELL)                                                                               \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(rs_idle_row, device), "device", INT, ID, "device", NULL)                                         \
    CELL(OF(rs_idle_row, stream), "stream", INT, ID, "stream", NULL)                                         \
    CELL(WORD(rs_idle_row, kind, rs_idle_names), "idle_category", TEXT, NONE, "as in the table idle", NULL)  \
    RS_DESCRIPTION_CELLS(CELL, rs_idle_row, intervals, US, "gaps")
RS_RECORD(own_interval, OWN_INTERVAL_ROW);

/* ---- one rank --------------------------------------------------------------------------------------- */

const rs_aggregate rs_idle_by_kind[8] = {
    RS_KEY(rs_idle_row, place, rs_idle_gap, place),
    RS_KEY_BELOW(rs_idle_row, kind, RS_N_IDLE, rs_idle_gap, kind),
    RS_FIRST(rs_idle_row, device, rs_idle_gap, device),
    RS_FIRST(rs_idle_row, stream, rs_idle_gap, stream),
    RS_KNOWN(rs_idle_row, count, rs_idle_gap, gap),
    RS_SUMMED(rs_idle_row, sum, rs_idle_gap, gap),
    RS_DESCRIBED(rs_idle_row, intervals, rs_idle_gap, gap, 1000),
    RS_TOTAL(rs_idle_row, all, sum, place),
};
const rs_order rs_idle_order[2] = {RS_RISING(rs_idle_row, place), RS_RISING(rs_idle_row, kind)};

/* Where the pieces of each stream begin, one more than there are streams, and order filled with them by stream, then
 * start, then the order they came in: most streams come by start already. NULL when out of memory. */
static size_t *order_pieces(const rs_idle_piece *items, size_t n, rs_keyed *order, size_t *n_streams,
                            rs_relations *out)
{
    static const rs_aggregate by_stream[] = {RS_KEY(rs_idle_piece, device, rs_idle_piece, device),
                                             RS_KEY(rs_idle_piece, stream, rs_idle_piece, stream)};
    RS_SCOPED(rs_relation_clear) rs_relation streams = {.size = sizeof(rs_idle_piece)};
    rs_grouper g;
    uint32_t *place = RS_ROOM(out, uint32_t, n);
    rs_grouper_open(&g, by_stream, 2, &streams);
    for (size_t i = 0; place && i < n; i++) {
        bool same = i && items[i].stream == items[i - 1].stream && items[i].device == items[i - 1].device;
        const rs_idle_piece *at = same ? NULL : rs_grouper_add(&g, &items[i]);
        place[i] = same ? place[i - 1] : at ? (uint32_t)(at - (const rs_idle_piece *)streams.rows) : 0;
    }
    bool ok = rs_grouper_close(&g) && place;
    size_t *first = ok ? RS_ROOM(out, size_t, streams.n + 2) : NULL;
    *n_streams = streams.n;
    for (size_t i = 0; first && i < n; i++) first[place[i] + 2]++;
    for (size_t i = 1; first && i <= *n_streams; i++) first[i + 1] += first[i];
    for (size_t i = 0; first && i < n; i++)
        order[first[place[i] + 1]++] = (rs_keyed){items[i].start, (uint32_t)i};
    for (size_t i = 0; first && i < *n_streams; i++)
        if (!rs_keyed_sort(order + first[i], first[i + 1] - first[i])) return NULL;
    return first;
}

rs_status rs_idle_put_streams(const rs_run *run, const rs_idle_piece *items, size_t n, rs_idle_judge_fn judge,
                              rs_relations *out, rs_error *err)
{
    double delay = rs_options_real(run->options, "kernel-delay") * 1000;
    size_t n_streams = 0;
    if (!(delay > -9e18 && delay < 9e18)) return rs_fail(err, RS_ERR_USAGE, "--kernel-delay is out of range");
    out->absent = n == 0;
    rs_keyed *order = RS_ROOM(out, rs_keyed, n);
    size_t *first = items && order ? order_pieces(items, n, order, &n_streams, out) : NULL;
    if (!first) return rs_fail_nomem(err, "idle times");
    for (size_t i = 0; i < n_streams; i++) {
        const rs_idle_piece *p = &items[order[first[i]].value];
        rs_idle_gap gap = {.place = (uint32_t)i, .device = p->device, .stream = p->stream};
        judge(out, &gap, items, order + first[i], first[i + 1] - first[i], rs_int_of(ceil(delay)));
    }
    return RS_OK;
}

void rs_idle_put(rs_relations *out, rs_idle_gap *gap, const rs_idle_piece *p, int64_t before, int64_t length,
                 int64_t delay_ns)
{
    gap->kind = p->launch > before ? RS_IDLE_HOST : length < delay_ns ? RS_IDLE_KERNEL : RS_IDLE_OTHER;
    gap->gap = length;
    rs_put(out, 0, gap);
}

/* A gap lies behind all that ended before: one within other work counts nothing. */
static void judge_stream(rs_relations *out, rs_idle_gap *gap, const rs_idle_piece *items,
                         const rs_keyed *order, size_t n, int64_t delay_ns)
{
    int64_t before = items[order[0].value].end;
    for (size_t i = 1; i < n; i++) {
        const rs_idle_piece *p = &items[order[i].value];
        int64_t length = rs_sub_sat(p->start, before);
        rs_idle_put(out, gap, p, before, length > 0 ? length : 0, delay_ns);
        if (p->end > before) before = p->end;
    }
}

static rs_status put_gaps(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_work *w;
    size_t n = 0;
    bool some = rs_options_is_set(run->options, "streams");
    RS_TRY(rs_trace_work_details(trace, run->policy, &w, err));
    rs_idle_piece *items = RS_ROOM(out, rs_idle_piece, w->n);
    for (size_t i = 0; items && i < w->n; i++) {
        int64_t launch = w->launch[i] == RS_NO_ROW ? INT64_MIN : trace->events->start[w->launch[i]];
        if (some && !rs_options_in_ranges(run->options, "streams", w->stream[i])) continue;
        items[n++] = (rs_idle_piece){w->device[i], w->stream[i], w->start[i], w->end[i], launch};
    }
    return rs_idle_put_streams(run, items, n, judge_stream, out, err);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static const rs_plan_relation relations[] = {{RS_IDLE_RELATION, .make = put_gaps}};
static const rs_plan_table idle_table = {RS_PLAN_TABLE("idle", "one row is one kind of waiting of one stream",
                                                       own)},
                           interval_table = {RS_PLAN_TABLE("intervals",
                                                           "one row is one kind of waiting of one stream",
                                                           own_interval),
                                             .choice = RS_WITH(RS_IS_SET("intervals"))};
static const rs_table_spec *const tables[] = {&idle_table.spec, &interval_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables)};

const rs_analysis rs_analysis_idle = {
    .name = "idle",
    .group = "GPU time",
    .help = "What each stream waits for between two pieces of work: the host, the queue, or something else",
    .about =
        "A gap is host_wait when the next work was launched only after the stream had run dry, kernel_wait "
        "when\n"
        "it was queued already and the gap is shorter than --kernel-delay, else other. Work without a launch "
        "in\n"
        "the file counts as queued. Streams idle by themselves; when the whole GPU is idle, see breakdown.",
    .examples = "rankscope idle trace.json.gz\nrankscope idle --intervals --kernel-delay 5 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
    .absent = "no GPU work",
};
