/* idle: what each stream waits for between two pieces of work. */
#include "analysis/idle.h"

#include <math.h>

#include "analysis/busy.h"
#include "analysis/describe.h"
#include "analysis/layouts.h"
#include "base/memory.h"
#include "base/stats.h"

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
    CELL(OF(rs_idle_row, kind), "idle_category", TEXT, NONE,                                                 \
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
    CELL(OF(rs_idle_row, kind), "idle_category", TEXT, NONE, "as in the table idle", NULL)                   \
    RS_DESCRIPTION_CELLS(CELL, rs_idle_row, intervals, US, "gaps")
RS_RECORD(own_interval, OWN_INTERVAL_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec own_table = {"idle", "one row is one kind of waiting of one stream", own_columns,
                                        COUNT(own_columns)};
static const rs_table_spec own_intervals = {"intervals", "one row is one kind of waiting of one stream",
                                            own_interval_columns, COUNT(own_interval_columns)};
static const rs_table_spec *const own_tables[] = {&own_table, &own_intervals};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 2}};

/* ---- one rank --------------------------------------------------------------------------------------- */

void rs_idle_free(void *partial)
{
    rs_idle *p = partial;
    if (p) rs_free(p->items);
    rs_free(p);
}

static rs_status own_pieces(const rs_run *run, rs_trace *trace, rs_idle_pieces *out, rs_error *err)
{
    const rs_work *w;
    rs_status status = rs_trace_work_details(trace, run->policy, &w, err);
    if (status != RS_OK) return status;
    out->items = rs_malloc(w->n * sizeof *out->items);
    if (!out->items) return rs_fail_nomem(err, "GPU work");
    bool some = rs_options_is_set(run->options, "streams");
    for (size_t i = 0; i < w->n; i++) {
        int64_t launch = w->launch[i] == RS_NO_ROW ? INT64_MIN : trace->events->start[w->launch[i]];
        if (some && !rs_options_in_ranges(run->options, "streams", w->stream[i])) continue;
        out->items[out->n++] = (rs_idle_piece){w->device[i], w->stream[i], w->start[i], w->end[i], launch};
    }
    return RS_OK;
}

/* The place of a stream among those seen, SIZE_MAX when out of memory. */
static size_t stream_place(rs_idle *p, rs_map64 *places, int64_t device, int64_t stream)
{
    bool is_new;
    uint32_t *place = rs_map64_put(places, rs_hash_u64((uint64_t)device) ^ (uint64_t)stream, &is_new);
    if (!place || (is_new && !RS_GROW_ONE(p->items, p->n, p->capacity))) return SIZE_MAX;
    if (is_new) {
        *place = (uint32_t)p->n;
        p->items[p->n++] = (rs_idle_stream){.device = device, .stream = stream};
    }
    return *place;
}

/* Where the pieces of each stream begin, and order filled with them by stream, then start, then the order
 * they came in: most streams come by start already. NULL when out of memory. */
static size_t *order_pieces(const rs_idle_pieces *pieces, rs_idle *p, rs_keyed *order)
{
    const rs_idle_piece *items = pieces->items;
    rs_map64 places = {0};
    uint32_t *place = rs_malloc(pieces->n * sizeof *place);
    bool ok = place != NULL;
    for (size_t i = 0; ok && i < pieces->n; i++) {
        bool same = i && items[i].stream == items[i - 1].stream && items[i].device == items[i - 1].device;
        size_t at = same ? place[i - 1] : stream_place(p, &places, items[i].device, items[i].stream);
        ok = at != SIZE_MAX;
        place[i] = (uint32_t)at;
    }
    size_t *first = ok ? rs_calloc(p->n + 2, sizeof *first) : NULL;
    ok = first != NULL;
    for (size_t i = 0; ok && i < pieces->n; i++) first[place[i] + 2]++;
    for (size_t i = 1; ok && i <= p->n; i++) first[i + 1] += first[i];
    for (size_t i = 0; ok && i < pieces->n; i++)
        order[first[place[i] + 1]++] = (rs_keyed){items[i].start, (uint32_t)i};
    for (size_t i = 0; ok && i < p->n; i++) ok = rs_keyed_sort(order + first[i], first[i + 1] - first[i]);
    rs_map64_clear(&places);
    rs_free(place);
    if (ok) return first;
    rs_free(first);
    return NULL;
}

/* A gap lies behind all that ended before: one within other work counts nothing. */
static void judge_stream(const rs_idle_piece *items, const rs_keyed *order, size_t n, int64_t delay_ns,
                         rs_idle_stream *s, double *values)
{
    int64_t before = n ? items[order[0].value].end : 0;
    for (size_t i = 1; i < n; i++) {
        const rs_idle_piece *p = &items[order[i].value];
        int64_t gap = rs_sub_sat(p->start, before);
        rs_idle_add(s, p, before, gap > 0 ? gap : 0, delay_ns, values, n);
        if (p->end > before) before = p->end;
    }
}

void rs_idle_add(rs_idle_stream *s, const rs_idle_piece *p, int64_t before, int64_t gap, int64_t delay_ns,
                 double *values, size_t n)
{
    int what = p->launch > before ? RS_IDLE_HOST : gap < delay_ns ? RS_IDLE_KERNEL : RS_IDLE_OTHER;
    values[(size_t)what * n + s->n[what]++] = (double)gap / 1000;
    s->sum[what] = rs_add_sat(s->sum[what], gap);
    s->present[what] = true;
}

static bool judge(const rs_idle_pieces *pieces, rs_idle_judge_fn one, int64_t delay_ns, rs_idle *p)
{
    size_t n = pieces->n;
    rs_keyed *order = rs_malloc(n * sizeof *order);
    double *values = rs_malloc(RS_N_IDLE * n * sizeof *values);
    size_t *first = order && values ? order_pieces(pieces, p, order) : NULL;
    for (size_t i = 0; first && i < p->n; i++) {
        size_t length = first[i + 1] - first[i];
        one(pieces->items, order + first[i], length, delay_ns, &p->items[i], values);
        for (size_t c = 0; c < RS_N_IDLE; c++)
            p->items[i].intervals[c] = rs_describe(values + c * length, p->items[i].n[c]);
    }
    bool ok = first != NULL;
    rs_free(first);
    rs_free(order);
    rs_free(values);
    return ok;
}

rs_status rs_idle_rank(const rs_run *run, rs_trace *trace, rs_idle_pieces_fn find, rs_idle_judge_fn one,
                       void **partial, rs_error *err)
{
    double delay = rs_options_real(run->options, "kernel-delay") * 1000;
    if (!(delay > -9e18 && delay < 9e18)) return rs_fail(err, RS_ERR_USAGE, "--kernel-delay is out of range");
    rs_idle_pieces pieces = {NULL, 0};
    rs_idle *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "idle times");
    rs_status status = find(run, trace, &pieces, err);
    if (status == RS_OK && !judge(&pieces, one, (int64_t)ceil(delay), p))
        status = rs_fail_nomem(err, "idle times");
    rs_free(pieces.items);
    if (status != RS_OK || p->n == 0)
        rs_idle_free(p);
    else
        *partial = p;
    return status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_idle_rank(run, trace, own_pieces, judge_stream, partial, err);
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

rs_status rs_idle_merge(const rs_run *run, const rs_partial *partials, size_t n, rs_idle_row_fn add,
                        rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    result->main_table = rs_options_flag(run->options, "intervals") ? 1 : 0;
    for (size_t i = 0; i < n; i++) {
        const rs_idle *p = partials[i].value;
        for (size_t k = 0; k < p->n; k++) {
            const rs_idle_stream *s = &p->items[k];
            rs_idle_row row = {.device = s->device, .stream = s->stream};
            for (int c = 0; c < RS_N_IDLE; c++) row.all = rs_add_sat(row.all, s->sum[c]);
            for (int c = 0; c < RS_N_IDLE; c++) {
                if (!s->present[c]) continue;
                row.kind = rs_idle_names[c];
                row.count = s->n[c];
                row.sum = s->sum[c];
                row.intervals = s->intervals[c];
                status = add(result->tables[0], result->tables[1], partials[i].rank, &row, err);
                if (status != RS_OK) return status;
            }
        }
    }
    return status;
}

static rs_status add_row(rs_table *idle, rs_table *intervals, int64_t rank_number, const rs_idle_row *row,
                         rs_error *err)
{
    rs_status status = rs_table_put_row(idle, &own_record, rank_number, row, err);
    return status == RS_OK ? rs_table_put_row(intervals, &own_interval_record, rank_number, row, err)
                           : status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    return rs_idle_merge(run, partials, n, add_row, result, err);
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field stream_fields[] = {
    RS_FIELD(rs_idle_stream, device),
    RS_FIELD(rs_idle_stream, stream),
    RS_FIELD_ARRAY(rs_idle_stream, n),
    RS_FIELD_ARRAY(rs_idle_stream, sum),
    RS_FIELD_ARRAY(rs_idle_stream, present),
    RS_FIELD_STRUCTS(rs_idle_stream, intervals, &rs_description_layout),
};
static const rs_layout stream_layout = RS_LAYOUT(rs_idle_stream, stream_fields);

static const rs_field idle_fields[] = {
    RS_FIELD_LIST(rs_idle, items, n, &stream_layout),
};
const rs_layout rs_idle_layout = RS_LAYOUT(rs_idle, idle_fields);

const rs_analysis rs_analysis_idle = {
    .name = "idle",
    .help = "What each stream waits for between two pieces of work: the host, the queue, or something else",
    .about =
        "A gap is host_wait when the next work was launched only after the stream had run dry, kernel_wait "
        "when\n"
        "it was queued already and the gap is shorter than --kernel-delay, else other. Work without a launch "
        "in\n"
        "the file counts as queued. Streams idle by themselves; when the whole GPU is idle, breakdown tells.",
    .examples = "rankscope idle trace.json.gz\nrankscope idle --intervals --kernel-delay 5 traces/",
    .options = options,
    .n_options = COUNT(options),
    .facets = {&rs_facet_work_details},
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_idle_free,
    .absent = "no GPU work",
    .partial_layout = &rs_idle_layout,
};
