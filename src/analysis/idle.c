/* idle: what each stream waits for between two pieces of work. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/describe.h"
#include "analysis/layouts.h"
#include "base/memory.h"
#include "base/stats.h"
#include "peer/hta_window.h"

enum { HOST_WAIT, KERNEL_WAIT, OTHER, N_CATEGORIES };
static const char *const category_names[N_CATEGORIES] = {"host_wait", "kernel_wait", "other"};

static const rs_option_spec options[] = {
    {"intervals", RS_OPTION_FLAG, NULL, NULL, NULL, "print the statistics of the intervals"},
    {"kernel-delay", RS_OPTION_REAL, "US", NULL, "30", "shorter gaps between queued kernels are kernel_wait"},
    {"streams", RS_OPTION_RANGES, "STREAMS", NULL, NULL, "only these streams: 7,20"},
};

/* One kind of waiting of one stream; times in ns. */
typedef struct idle_row {
    int64_t device, stream;
    const char *category;
    size_t count;
    int64_t sum, all; /* all: of the stream's three kinds */
    rs_description intervals;
} idle_row;

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(idle_row, device), "device", INT, ID, "device", NULL)                                            \
    CELL(OF(idle_row, stream), "stream", INT, ID, "stream", NULL)                                            \
    CELL(OF(idle_row, category), "idle_category", TEXT, NONE,                                                \
         "host_wait: the next work was launched after the stream ran dry; kernel_wait: it was queued and "   \
         "came within --kernel-delay; other: it was queued and came later",                                  \
         NULL)                                                                                               \
    CELL(OF(idle_row, count), "count", INT, COUNT, "gaps between neighbours on the stream", NULL)            \
    CELL(OF(idle_row, sum), "idle_us", TIME, US, "total of the gaps", "idle")                                \
    CELL(SHARE(idle_row, sum, all), "share_pct", REAL, PERCENT, "of the stream's idle time", "share %")
RS_RECORD(own, OWN_ROW);

#define OWN_INTERVAL_ROW(CELL)                                                                               \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(idle_row, device), "device", INT, ID, "device", NULL)                                            \
    CELL(OF(idle_row, stream), "stream", INT, ID, "stream", NULL)                                            \
    CELL(OF(idle_row, category), "idle_category", TEXT, NONE, "as in the table idle", NULL)                  \
    RS_DESCRIPTION_CELLS(CELL, idle_row, intervals, US, "gaps")
RS_RECORD(own_interval, OWN_INTERVAL_ROW);

#define HTA_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(idle_row, stream), "stream", INT, ID, "stream", NULL)                                            \
    CELL(OF(idle_row, category), "idle_category", TEXT, NONE, "host_wait, kernel_wait or other", NULL)       \
    CELL(SET, "idle_time", REAL, US, "sum of the intervals, two decimals", NULL)                             \
    CELL(SET, "idle_time_ratio", REAL, RATIO, "of the stream's sum, two decimals", NULL)
RS_RECORD(hta, HTA_ROW);

#define HTA_INTERVAL_ROW(CELL)                                                                               \
    CELL(OF(idle_row, category), "idle_category", TEXT, NONE, "host_wait, kernel_wait or other", NULL)       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(idle_row, stream), "stream", INT, ID, "stream", NULL)                                            \
    RS_DESCRIPTION_CELLS(CELL, idle_row, intervals, US, "intervals")
RS_RECORD(hta_interval, HTA_INTERVAL_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec own_table = {"idle", "one row is one kind of waiting of one stream", own_columns,
                                        COUNT(own_columns)};
static const rs_table_spec own_intervals = {"intervals", "one row is one kind of waiting of one stream",
                                            own_interval_columns, COUNT(own_interval_columns)};
static const rs_table_spec hta_table = {"idle",
                                        "one row is one kind of waiting, as HTA's get_idle_time_breakdown",
                                        hta_columns, COUNT(hta_columns)};
static const rs_table_spec hta_intervals = {"intervals",
                                            "one row is one kind of waiting, as HTA describes it",
                                            hta_interval_columns, COUNT(hta_interval_columns)};
static const rs_table_spec *const own_tables[] = {&own_table, &own_intervals};
static const rs_table_spec *const hta_tables[] = {&hta_table, &hta_intervals};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, own_tables, 2}, {RS_COMPAT_HTA, hta_tables, 2}, {RS_COMPAT_HTA_EXACT, hta_tables, 2}};

/* ---- one rank --------------------------------------------------------------------------------------- */

typedef struct idle_stream {
    int64_t device, stream;
    size_t n[N_CATEGORIES];    /* intervals; HTA's first row of a stream is in OTHER without an interval */
    int64_t sum[N_CATEGORIES]; /* ns */
    bool present[N_CATEGORIES];
    rs_description intervals[N_CATEGORIES]; /* us */
} idle_stream;

typedef struct idle_partial {
    idle_stream *items;
    size_t n, capacity;
    rs_steps_seen seen;
} idle_partial;

static void free_partial(void *partial)
{
    idle_partial *p = partial;
    if (p) rs_free(p->items);
    rs_free(p);
}

static rs_steps_seen steps_seen(const void *partial)
{
    return ((const idle_partial *)partial)->seen;
}

/* Work of one stream, to be put in order. */
typedef struct piece {
    int64_t device, stream;
    int64_t start, end, launch; /* launch: start of the call, INT64_MIN when unknown */
} piece;

typedef struct piece_list {
    piece *items;
    size_t n;
} piece_list;

static rs_status own_pieces(const rs_run *run, rs_trace *trace, piece_list *out, rs_steps_seen *seen,
                            rs_error *err)
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
        out->items[out->n++] = (piece){w->device[i], w->stream[i], w->start[i], w->end[i], launch};
    }
    *seen = (rs_steps_seen){0};
    return RS_OK;
}

/* HTA looks the launch up by position, where 0 stands for "none" and for the file's first event alike. */
static rs_status hta_pieces(const rs_run *run, rs_trace *trace, piece_list *out, rs_steps_seen *seen,
                            rs_error *err)
{
    rs_hta_frame *f;
    rs_status status = rs_hta_frame_create(trace, run->policy, &f, err);
    if (status != RS_OK) return status;
    *seen = (rs_steps_seen){.n = f->n_steps_seen, .first = f->first_step};
    bool has_first = false;
    for (size_t i = 0; i < f->n && !has_first; i++) has_first = f->row[i] == 0;
    out->items = rs_malloc(f->n * sizeof *out->items);
    for (size_t i = 0; out->items && i < f->n; i++) {
        if (f->stream[i] == -1 || !rs_kind_is_gpu_work(rs_event_kind(trace->events, f->row[i]))) continue;
        if (!rs_options_in_ranges(run->options, "streams", f->stream[i])) continue;
        uint32_t partner = f->partner[i];
        if (partner == RS_NO_ROW && f->correlation[i] >= 0 && has_first) partner = 0;
        int64_t launch = partner == RS_NO_ROW ? INT64_MIN : rs_hta_start_of(trace, f, partner);
        out->items[out->n++] = (piece){-1, f->stream[i], f->start[i], f->end[i], launch};
    }
    rs_hta_frame_free(f);
    return out->items ? RS_OK : rs_fail_nomem(err, "GPU work");
}

/* The place of a stream among those seen, SIZE_MAX when out of memory. */
static size_t stream_place(idle_partial *p, rs_map64 *places, int64_t device, int64_t stream)
{
    bool is_new;
    uint32_t *place = rs_map64_put(places, rs_hash_u64((uint64_t)device) ^ (uint64_t)stream, &is_new);
    if (!place || (is_new && !RS_GROW_ONE(p->items, p->n, p->capacity))) return SIZE_MAX;
    if (is_new) {
        *place = (uint32_t)p->n;
        p->items[p->n++] = (idle_stream){.device = device, .stream = stream};
    }
    return *place;
}

/* One stream's pieces in order; values: room for their intervals in three rows of n. */
static void judge_stream(const piece *items, const rs_keyed *order, size_t n, bool hta, int64_t delay_ns,
                         idle_stream *s, double *values)
{
    int64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const piece *p = &items[order[i].value];
        if (i == 0) {
            s->present[OTHER] = hta;
            before = p->end;
            continue;
        }
        int64_t gap = rs_sub_sat(p->start, before);
        if (!hta && gap < 0) gap = 0;
        int what = p->launch > before ? HOST_WAIT : gap < delay_ns ? KERNEL_WAIT : OTHER;
        values[(size_t)what * n + s->n[what]++] = (double)gap / 1000;
        s->sum[what] = rs_add_sat(s->sum[what], gap);
        s->present[what] = true;
        before = hta || p->end > before ? p->end : before;
    }
    for (size_t c = 0; c < N_CATEGORIES; c++) s->intervals[c] = rs_describe(values + c * n, s->n[c]);
}

/* Where the pieces of each stream begin, and order filled with them by stream, then start, then the order
 * they came in: most streams come by start already. NULL when out of memory. */
static size_t *order_pieces(const piece_list *pieces, idle_partial *p, rs_keyed *order)
{
    const piece *items = pieces->items;
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

static bool judge(const piece_list *pieces, bool hta, int64_t delay_ns, idle_partial *p)
{
    size_t n = pieces->n;
    rs_keyed *order = rs_malloc(n * sizeof *order);
    double *values = rs_malloc(N_CATEGORIES * n * sizeof *values);
    size_t *first = order && values ? order_pieces(pieces, p, order) : NULL;
    for (size_t i = 0; first && i < p->n; i++)
        judge_stream(pieces->items, order + first[i], first[i + 1] - first[i], hta, delay_ns, &p->items[i],
                     values);
    bool ok = first != NULL;
    rs_free(first);
    rs_free(order);
    rs_free(values);
    return ok;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    bool hta = run->policy->rows_by_stream;
    double delay = rs_options_real(run->options, "kernel-delay") * 1000;
    if (!(delay > -9e18 && delay < 9e18)) return rs_fail(err, RS_ERR_USAGE, "--kernel-delay is out of range");
    piece_list pieces = {NULL, 0};
    idle_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "idle times");
    rs_status status =
        hta ? hta_pieces(run, trace, &pieces, &p->seen, err) : own_pieces(run, trace, &pieces, &p->seen, err);
    if (status == RS_OK && !judge(&pieces, hta, (int64_t)ceil(delay), p))
        status = rs_fail_nomem(err, "idle times");
    rs_free(pieces.items);
    if (status != RS_OK) {
        free_partial(p);
        return status;
    }
    *partial = p;
    return RS_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status add_category(const rs_run *run, int64_t rank_number, const idle_stream *s, int c,
                              rs_result *result, rs_error *err)
{
    bool hta = run->policy->rows_by_stream;
    rs_table *idle = result->tables[0];
    idle_row row = {.device = s->device,
                    .stream = s->stream,
                    .category = category_names[c],
                    .count = s->n[c],
                    .sum = s->sum[c],
                    .intervals = hta ? rs_description_rounded(&s->intervals[c], 2) : s->intervals[c]};
    for (int i = 0; i < N_CATEGORIES; i++) row.all = rs_add_sat(row.all, s->sum[i]);
    rs_table_put(idle, hta ? &hta_record : &own_record, rank_number, &row);
    if (hta) {
        rs_table_set_real(idle, "idle_time", rs_round((double)row.sum / 1000, 2));
        rs_table_set_real(idle, "idle_time_ratio",
                          row.all ? rs_round((double)row.sum / (double)row.all, 2) : (double)NAN);
    }
    rs_status status = rs_table_end_row(idle, err);
    if (status != RS_OK) return status;
    return rs_table_put_row(result->tables[1], hta ? &hta_interval_record : &own_interval_record, rank_number,
                            &row, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    result->main_table = rs_options_flag(run->options, "intervals") ? 1 : 0;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const idle_partial *p = partials[i].value;
        if (!p || p->n == 0) rs_result_note(result, "rank %lld: no GPU work", (long long)partials[i].rank);
        for (size_t k = 0; p && status == RS_OK && k < p->n; k++)
            for (int c = 0; status == RS_OK && c < N_CATEGORIES; c++)
                if (p->items[k].present[c])
                    status = add_category(run, partials[i].rank, &p->items[k], c, result, err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field stream_fields[] = {
    RS_FIELD(idle_stream, device),        RS_FIELD(idle_stream, stream),
    RS_FIELD_ARRAY(idle_stream, n),       RS_FIELD_ARRAY(idle_stream, sum),
    RS_FIELD_ARRAY(idle_stream, present), RS_FIELD_STRUCTS(idle_stream, intervals, &rs_description_layout),
};
static const rs_layout stream_layout = RS_LAYOUT(idle_stream, stream_fields);

static const rs_field idle_fields[] = {
    RS_FIELD_LIST(idle_partial, items, n, &stream_layout),
    RS_FIELD_STRUCT(idle_partial, seen, &rs_steps_seen_layout),
};
static const rs_layout idle_layout = RS_LAYOUT(idle_partial, idle_fields);

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
    .columns = RS_LINK_COLUMNS,
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &idle_layout,
    .steps_seen = steps_seen,
};
