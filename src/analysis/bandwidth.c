/* bandwidth: how fast copies and memsets move their bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/copy_rates.h"
#include "analysis/describe.h"
#include "analysis/layouts.h"
#include "base/memory.h"
#include "peer/numpy_order.h"
#include "peer/hta_window.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL, "print every change of the bandwidth in use"},
};

/* A copy begins or ends. */
typedef struct point {
    int64_t ns, pid;
    double change, in_use; /* GB/s */
    int running;           /* +1 begins, -1 ends */
    uint32_t kind;         /* into kinds */
    uint32_t order;        /* all begins in row order, then all ends; as HTA sorts them under its rules */
} point;

typedef struct kind {
    char *name; /* in the arena */
    int64_t count, bytes, active, active_known, unknown;
    double peak;
    rs_description single; /* GB/s of each copy */
    rs_description samples;
} kind;

typedef struct bandwidth_partial {
    rs_arena arena;
    kind *kinds; /* by name */
    size_t n_kinds, kinds_capacity;
    point *points; /* by kind, then time; kept with --series only */
    size_t n_points, points_capacity;
    int64_t zero; /* HTA: the rank's first event, INT64_MAX if none */
} bandwidth_partial;

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(kind, name), "name", TEXT, NONE, "kind of copy", NULL)                                           \
    CELL(OF(kind, count), "count", INT, COUNT, "copies", NULL)                                               \
    CELL(OF(kind, bytes), "bytes", INT, BYTES, "moved by those that say how much", NULL)                     \
    CELL(OF(kind, active), "active_us", TIME, US, "at least one of them runs", "active")                     \
    CELL(SET, "mean_gbps", REAL, GBPS, "bytes by active time, of the copies that say how much", "mean")      \
    CELL(SET, "peak_gbps", REAL, GBPS, "most at any time, simultaneous copies added up", "peak")             \
    CELL(OF(kind, single.p50), "median_gbps", REAL, GBPS, "median of the single copies", "median copy")      \
    CELL(OF(kind, single.min), "min_gbps", REAL, GBPS, "slowest single copy", "slowest copy")                \
    CELL(OF(kind, single.max), "max_gbps", REAL, GBPS, "fastest single copy", "fastest copy")                \
    CELL(OF(kind, unknown), "unknown", INT, COUNT, "copies that do not say how much they moved", NULL)
RS_RECORD(own, OWN_ROW);

#define OWN_POINT_ROW(CELL)                                                                                  \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(point, ns), "ts_us", MOMENT, US, "when it changes", "time")                                      \
    CELL(SET, "name", TEXT, NONE, "kind of copy", NULL)                                                      \
    CELL(OF(point, in_use), "memory_bw_gbps", REAL, GBPS, "in use from now on", "in use")
RS_RECORD(own_point, OWN_POINT_ROW);

#define HTA_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(kind, name), "name", TEXT, NONE, "kind of copy", NULL)                                           \
    RS_DESCRIPTION_CELLS(CELL, kind, samples, GBPS, "samples above zero")
RS_RECORD(hta, HTA_ROW);

#define HTA_POINT_ROW(CELL)                                                                                  \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "ts", REAL, US, "from the job's first event", NULL)                                            \
    CELL(OF(point, pid), "pid", INT, ID, "of the copy", NULL)                                                \
    CELL(SET, "name", TEXT, NONE, "kind of copy", NULL)                                                      \
    CELL(OF(point, in_use), "memory_bw_gbps", REAL, GBPS, "in use from now on", NULL)
RS_RECORD(hta_point, HTA_POINT_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec own_summary = {"bandwidth", "one row is one kind of copy of one rank", own_columns,
                                          COUNT(own_columns)};
static const rs_table_spec own_series = {"series", "one row is one change; filled with --series",
                                         own_point_columns, COUNT(own_point_columns)};
static const rs_table_spec hta_summary = {"bandwidth",
                                          "one row is one kind of copy, as HTA's get_memory_bw_summary",
                                          hta_columns, COUNT(hta_columns)};
static const rs_table_spec hta_series = {"series", "one row is one change; filled with --series",
                                         hta_point_columns, COUNT(hta_point_columns)};
static const rs_table_spec *const own_tables[] = {&own_summary, &own_series};
static const rs_table_spec *const hta_tables[] = {&hta_summary, &hta_series};
static const rs_table_set sets[] = {
    {RS_COMPAT_NONE, own_tables, 2}, {RS_COMPAT_HTA, hta_tables, 2}, {RS_COMPAT_HTA_EXACT, hta_tables, 2}};
enum { SUMMARY, SERIES };

/* ---- one rank --------------------------------------------------------------------------------------- */

static void free_partial(void *partial)
{
    bandwidth_partial *p = partial;
    if (!p) return;
    rs_arena_clear(&p->arena);
    rs_free(p->kinds);
    rs_free(p->points);
    rs_free(p);
}

/* One copy, from either set of rows. */
typedef struct copy {
    int64_t start, end, pid, bytes; /* bytes: -1 when unknown */
    double gbps;
    uint32_t kind;
} copy;

typedef struct copy_list {
    copy *items;
    size_t n, capacity;
} copy_list;

/* HTA cuts names to their first eleven characters. */
static size_t hta_kind(const char *name, const char **out)
{
    *out = name;
    if (strncmp(name, "Memset", 6) == 0) return 6;
    if (strncmp(name, "Memcpy", 6) == 0) return strlen(name) < 11 ? strlen(name) : 11;
    *out = "Memcpy Unknown";
    return strlen(*out);
}

static uint32_t kind_place(bandwidth_partial *p, const char *name, size_t length, bool hta)
{
    /* only HTA's cut names can meet again, and they are few */
    for (size_t i = 0; hta && i < p->n_kinds; i++)
        if (strlen(p->kinds[i].name) == length && memcmp(p->kinds[i].name, name, length) == 0)
            return (uint32_t)i;
    char *copied = rs_arena_strndup(&p->arena, name, length);
    if (!copied || !RS_GROW_ONE(p->kinds, p->n_kinds, p->kinds_capacity)) return RS_NO_ROW;
    p->kinds[p->n_kinds] = (kind){.name = copied};
    return (uint32_t)p->n_kinds++;
}

/* The place of a row's kind, remembered by name id. */
static uint32_t kind_of(bandwidth_partial *p, rs_map64 *known, const rs_events *e, uint32_t row, bool hta)
{
    bool is_new;
    uint32_t *place = rs_map64_put(known, e->name[row], &is_new);
    if (!place || !is_new) return place ? *place : RS_NO_ROW;
    const char *name = rs_event_name(e, row);
    size_t length = hta ? hta_kind(name, &name) : strlen(name);
    return *place = kind_place(p, name, length, hta);
}

static rs_status collect(const rs_run *run, rs_trace *trace, bandwidth_partial *p, copy_list *out,
                         rs_error *err)
{
    const rs_events *e = trace->events;
    bool hta = run->policy->rows_by_stream;
    const rs_work *w;
    rs_status status = rs_trace_work(trace, run->policy, &w, err);
    if (status != RS_OK) return status;
    rs_map64 known = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        if (w->class[i] != RS_CLASS_MEMORY) continue;
        uint32_t row = w->row[i];
        copy c = {.start = w->start[i], .end = w->end[i], .pid = e->threads[e->thread[row]].pid, .bytes = -1};
        c.kind = kind_of(p, &known, e, row, hta);
        bool has_rate = rs_events_real(e, RS_COL_BANDWIDTH, row, &c.gbps);
        if (!has_rate) c.gbps = 0;
        if (hta) {
            if (c.end == c.start) c.end = rs_add_sat(c.start, 1000);
        } else {
            double ns = (double)rs_sub_sat(c.end, c.start);
            if (rs_events_int(e, RS_COL_BYTES, row, &c.bytes) && c.bytes >= 0)
                c.gbps = ns > 0 ? (double)c.bytes / ns : 0;
            else
                c.bytes = has_rate && isfinite(c.gbps) && c.gbps >= 0 && c.gbps * ns < 9e18
                              ? (int64_t)llround(c.gbps * ns)
                              : -1;
        }
        if (!isfinite(c.gbps)) c.gbps = 0;
        ok = c.kind != RS_NO_ROW && RS_GROW_ONE(out->items, out->n, out->capacity);
        if (ok) out->items[out->n++] = c;
    }
    rs_map64_clear(&known);
    return ok ? RS_OK : rs_fail_nomem(err, "copies");
}

static int by_kind_and_time(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Equal times stand as pandas leaves them, over all kinds at once. */
static bool order_as_pandas(point *points, size_t n)
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

/* The bandwidth in use over time, by kind. Nothing in use is exactly zero, whatever adding left over; HTA
 * keeps the rest. */
static bool run_up(bandwidth_partial *p, const copy_list *copies, bool hta)
{
    p->points = rs_malloc(2 * copies->n * sizeof *p->points);
    double *samples = rs_malloc(2 * copies->n * sizeof *samples);
    bool ok = p->points && samples;
    for (size_t i = 0; ok && i < copies->n; i++) {
        const copy *c = &copies->items[i];
        p->points[i] = (point){c->start, c->pid, c->gbps, 0, 1, c->kind, (uint32_t)i};
        p->points[copies->n + i] =
            (point){c->end, c->pid, -c->gbps, 0, -1, c->kind, (uint32_t)(copies->n + i)};
    }
    if (ok) p->n_points = 2 * copies->n;
    if (hta) ok = ok && order_as_pandas(p->points, p->n_points);
    if (ok && p->n_points) qsort(p->points, p->n_points, sizeof *p->points, by_kind_and_time);
    for (size_t i = 0, end; ok && i < p->n_points; i = end) {
        double in_use = 0;
        size_t n = 0;
        int64_t running = 0;
        kind *k = &p->kinds[p->points[i].kind];
        for (end = i; end < p->n_points && p->points[end].kind == p->points[i].kind; end++) {
            point *x = &p->points[end];
            in_use += x->change;
            running += x->running;
            if (!hta && running == 0) in_use = 0;
            x->in_use = in_use;
            if (in_use > 0) samples[n++] = in_use;
            bool settled = end + 1 == p->n_points || p->points[end + 1].ns != x->ns ||
                           p->points[end + 1].kind != x->kind;
            if (settled && in_use > k->peak) k->peak = in_use;
        }
        k->samples = rs_describe(samples, n);
    }
    rs_free(samples);
    return ok;
}

/* Sums and the statistics of single copies. */
static bool sum_up(bandwidth_partial *p, const copy_list *copies)
{
    double *rates = rs_malloc(copies->n * sizeof *rates);
    rs_interval *all = rs_malloc(copies->n * sizeof *all), *known = rs_malloc(copies->n * sizeof *known);
    rs_keyed *order = rs_malloc(copies->n * sizeof *order);
    bool ok = rates && all && known && order;
    for (size_t i = 0; ok && i < copies->n; i++) order[i] = (rs_keyed){copies->items[i].kind, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, copies->n);
    for (size_t i = 0, end; ok && i < copies->n; i = end) {
        size_t n = 0, n_known = 0;
        kind *k = &p->kinds[order[i].key];
        for (end = i; end < copies->n && order[end].key == order[i].key; end++) {
            const copy *c = &copies->items[order[end].value];
            all[n++] = (rs_interval){c->start, c->end};
            if (c->bytes < 0) {
                k->unknown++;
                continue;
            }
            k->bytes = rs_add_sat(k->bytes, c->bytes);
            known[n_known] = (rs_interval){c->start, c->end};
            rates[n_known++] = c->gbps;
        }
        k->count = (int64_t)n;
        ok = rs_intervals_sort(all, n) && rs_intervals_sort(known, n_known);
        k->active = rs_intervals_length(all, rs_intervals_unite(all, n));
        k->active_known = rs_intervals_length(known, rs_intervals_unite(known, n_known));
        k->single = rs_describe(rates, n_known);
    }
    rs_free(rates);
    rs_free(all);
    rs_free(known);
    rs_free(order);
    return ok;
}

static int by_kind_name(const void *a, const void *b)
{
    return strcmp(((const kind *)a)->name, ((const kind *)b)->name);
}

/* Puts the kinds in order of their names and tells the copies their new places. */
static bool order_kinds(bandwidth_partial *p, copy_list *copies)
{
    if (p->n_kinds == 0) return true;
    const char **before = rs_malloc(p->n_kinds * sizeof *before);
    uint32_t *place = rs_malloc(p->n_kinds * sizeof *place);
    bool ok = before && place;
    for (size_t i = 0; ok && i < p->n_kinds; i++) before[i] = p->kinds[i].name;
    if (ok) qsort(p->kinds, p->n_kinds, sizeof *p->kinds, by_kind_name);
    for (size_t i = 0; ok && i < p->n_kinds; i++) {
        kind wanted = {.name = (char *)(uintptr_t)before[i]};
        const kind *at = bsearch(&wanted, p->kinds, p->n_kinds, sizeof *p->kinds, by_kind_name);
        place[i] = (uint32_t)(at - p->kinds);
    }
    for (size_t i = 0; ok && i < copies->n; i++) copies->items[i].kind = place[copies->items[i].kind];
    rs_free(before);
    rs_free(place);
    return ok;
}

static rs_status make_partial(const rs_run *run, rs_trace *trace, bandwidth_partial **out, rs_error *err)
{
    copy_list copies = {0};
    bandwidth_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "copies");
    rs_status status = collect(run, trace, p, &copies, err);
    bool hta = run->policy->rows_by_stream;
    if (status == RS_OK && hta) {
        const rs_hta_frame *f;
        status = rs_trace_hta_frame(trace, run->policy, &f, err);
        if (status == RS_OK) {
            p->zero = f->min_start == RS_NO_TIME ? INT64_MAX : f->min_start;
        }
    }
    if (status == RS_OK && !(order_kinds(p, &copies) && run_up(p, &copies, hta) && sum_up(p, &copies)))
        status = rs_fail_nomem(err, "copies");
    rs_free(copies.items);
    if (status != RS_OK) {
        free_partial(p);
        return status;
    }
    *out = p;
    return RS_OK;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    bandwidth_partial *p;
    rs_status status = make_partial(run, trace, &p, err);
    if (status != RS_OK) return status;
    if (!rs_options_flag(run->options, "series")) {
        rs_free(p->points);
        p->points = NULL;
        p->n_points = 0;
    }
    *partial = p;
    return RS_OK;
}

void rs_copy_rates_clear(rs_copy_rates *rates)
{
    rs_free(rates->items);
    rs_arena_clear(&rates->names);
    *rates = (rs_copy_rates){0};
}

rs_status rs_copy_rates_of(const rs_run *run, rs_trace *trace, rs_copy_rates *out, rs_error *err)
{
    bandwidth_partial *p;
    *out = (rs_copy_rates){0};
    rs_status status = make_partial(run, trace, &p, err);
    if (status != RS_OK) return status;
    out->items = rs_malloc(p->n_points * sizeof *out->items);
    if (!out->items) {
        free_partial(p);
        return rs_fail_nomem(err, "copies");
    }
    for (size_t i = 0; i < p->n_points; i++) {
        const point *x = &p->points[i];
        out->items[out->n++] = (rs_copy_rate){x->ns, x->pid, x->in_use, p->kinds[x->kind].name};
    }
    out->names = p->arena; /* the names live on */
    p->arena = (rs_arena){0};
    free_partial(p);
    return RS_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status add_kind(rs_table *t, int64_t rank_number, const kind *k, bool hta, rs_error *err)
{
    if (hta) return k->samples.n ? rs_table_put_row(t, &hta_record, rank_number, k, err) : RS_OK;
    rs_table_put(t, &own_record, rank_number, k);
    rs_table_set_real(t, "mean_gbps",
                      k->active_known ? (double)k->bytes / (double)k->active_known : (double)NAN);
    rs_table_set_real(t, "peak_gbps", k->count > k->unknown ? k->peak : (double)NAN);
    return rs_table_end_row(t, err);
}

static rs_status add_point(rs_table *t, int64_t rank_number, const bandwidth_partial *p, const point *x,
                           int64_t zero, bool hta, rs_error *err)
{
    rs_table_put(t, hta ? &hta_point_record : &own_point_record, rank_number, x);
    if (hta) rs_table_set_real(t, "ts", (double)rs_sub_sat(x->ns, zero) / 1000);
    rs_table_set_text(t, "name", p->kinds[x->kind].name);
    return rs_table_end_row(t, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    bool hta = run->policy->rows_by_stream;
    int64_t zero = INT64_MAX;
    rs_status status = RS_OK;
    result->main_table = rs_options_flag(run->options, "series") ? SERIES : SUMMARY;
    for (size_t i = 0; i < n; i++) {
        const bandwidth_partial *p = partials[i].value;
        if (p && p->zero < zero) zero = p->zero;
    }
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const bandwidth_partial *p = partials[i].value;
        if (!p || p->n_kinds == 0) {
            rs_result_note(result, "rank %lld: no copies", (long long)partials[i].rank);
            continue;
        }
        for (size_t k = 0; status == RS_OK && k < p->n_kinds; k++)
            status = add_kind(result->tables[SUMMARY], partials[i].rank, &p->kinds[k], hta, err);
        for (size_t k = 0; status == RS_OK && k < p->n_points; k++)
            status = add_point(result->tables[SERIES], partials[i].rank, p, &p->points[k], zero, hta, err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field kind_fields[] = {
    RS_FIELD(kind, name),
    RS_FIELD(kind, count),
    RS_FIELD(kind, bytes),
    RS_FIELD(kind, active),
    RS_FIELD(kind, active_known),
    RS_FIELD(kind, unknown),
    RS_FIELD(kind, peak),
    RS_FIELD_STRUCT(kind, single, &rs_description_layout),
    RS_FIELD_STRUCT(kind, samples, &rs_description_layout),
};
static const rs_layout kind_layout = RS_LAYOUT(kind, kind_fields);

static const rs_field point_fields[] = {
    RS_FIELD(point, ns),
    RS_FIELD(point, pid),
    RS_FIELD(point, in_use),
    RS_FIELD_INDEX(point, kind, bandwidth_partial, n_kinds),
};
static const rs_layout point_layout = RS_LAYOUT(point, point_fields);

static const rs_field bandwidth_fields[] = {
    RS_FIELD_LIST(bandwidth_partial, kinds, n_kinds, &kind_layout),
    RS_FIELD_LIST(bandwidth_partial, points, n_points, &point_layout),
    RS_FIELD(bandwidth_partial, zero),
};
static const rs_layout bandwidth_layout = RS_LAYOUT(bandwidth_partial, bandwidth_fields);

const rs_analysis rs_analysis_bandwidth = {
    .name = "bandwidth",
    .help = "How fast copies and memsets move their bytes",
    .about =
        "By kind of copy: bytes, the time at least one of them runs, their mean rate over that time, the "
        "most that\n"
        "is in use at once, and the rates of single copies. --series prints the bandwidth in use over time.",
    .examples = "rankscope bandwidth trace.json.gz\nrankscope bandwidth --series --format csv trace.json.gz",
    .options = options,
    .n_options = COUNT(options),
    .facets = {&rs_facet_work, &rs_facet_span, &rs_facet_hta_frame},
    .columns = RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH),
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &bandwidth_layout,
};
