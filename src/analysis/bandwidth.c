/* bandwidth: how fast copies and memsets move their bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"
#include "analysis/copy_rates.h"
#include "analysis/layouts.h"
#include "base/memory.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL, "print every change of the bandwidth in use"},
};

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_copy_kind, name), "name", TEXT, NONE, "kind of copy", NULL)                                   \
    CELL(OF(rs_copy_kind, count), "count", INT, COUNT, "copies", NULL)                                       \
    CELL(OF(rs_copy_kind, bytes), "bytes", INT, BYTES, "moved by those that say how much", NULL)             \
    CELL(OF(rs_copy_kind, active), "active_us", TIME, US, "at least one of them runs", "active")             \
    CELL(SET, "mean_gbps", REAL, GBPS, "bytes by active time, of the copies that say how much", "mean")      \
    CELL(SET, "peak_gbps", REAL, GBPS, "most at any time, simultaneous copies added up", "peak")             \
    CELL(OF(rs_copy_kind, single.p50), "median_gbps", REAL, GBPS, "median of the single copies",             \
         "median copy")                                                                                      \
    CELL(OF(rs_copy_kind, single.min), "min_gbps", REAL, GBPS, "slowest single copy", "slowest copy")        \
    CELL(OF(rs_copy_kind, single.max), "max_gbps", REAL, GBPS, "fastest single copy", "fastest copy")        \
    CELL(OF(rs_copy_kind, unknown), "unknown", INT, COUNT, "copies that do not say how much they moved", NULL)
RS_RECORD(own, OWN_ROW);

#define OWN_POINT_ROW(CELL)                                                                                  \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_copy_point, ns), "ts_us", MOMENT, US, "when it changes", "time")                              \
    CELL(SET, "name", TEXT, NONE, "kind of copy", NULL)                                                      \
    CELL(OF(rs_copy_point, in_use), "memory_bw_gbps", REAL, GBPS, "in use from now on", "in use")
RS_RECORD(own_point, OWN_POINT_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec own_summary = {"bandwidth", "one row is one kind of copy of one rank", own_columns,
                                          COUNT(own_columns)};
static const rs_table_spec own_series = {"series", "one row is one change; filled with --series",
                                         own_point_columns, COUNT(own_point_columns)};
static const rs_table_spec *const own_tables[] = {&own_summary, &own_series};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, RS_BANDWIDTH_TABLES}};

/* ---- one rank --------------------------------------------------------------------------------------- */

void rs_bandwidth_free(void *partial)
{
    rs_bandwidth *p = partial;
    if (!p) return;
    rs_arena_clear(&p->arena);
    rs_free(p->kinds);
    rs_free(p->points);
    rs_free(p);
}

typedef struct copy_list {
    rs_copy *items;
    size_t n, capacity;
} copy_list;

static uint32_t kind_place(rs_bandwidth *p, const char *name, size_t length, bool may_meet)
{
    for (size_t i = 0; may_meet && i < p->n_kinds; i++)
        if (strlen(p->kinds[i].name) == length && memcmp(p->kinds[i].name, name, length) == 0)
            return (uint32_t)i;
    char *copied = rs_arena_strndup(&p->arena, name, length);
    if (!copied || !RS_GROW_ONE(p->kinds, p->n_kinds, p->kinds_capacity)) return RS_NO_ROW;
    p->kinds[p->n_kinds] = (rs_copy_kind){.name = copied};
    return (uint32_t)p->n_kinds++;
}

/* The place of a row's kind, remembered by name id. */
static uint32_t kind_of(rs_bandwidth *p, rs_map64 *known, const rs_events *e, uint32_t row,
                        const rs_copy_rules *rules)
{
    bool is_new;
    uint32_t *place = rs_map64_put(known, e->name[row], &is_new);
    if (!place || !is_new) return place ? *place : RS_NO_ROW;
    const char *name = rs_event_name(e, row);
    size_t length = rules->cut_name ? rules->cut_name(name, &name) : strlen(name);
    /* only cut names can meet again, and they are few */
    return *place = kind_place(p, name, length, rules->cut_name != NULL);
}

/* A copy's bytes by its rate and length, or the other way round. */
static void own_measure(const rs_events *e, uint32_t row, bool has_rate, rs_copy *c)
{
    double ns = (double)rs_sub_sat(c->end, c->start);
    if (rs_events_int(e, RS_COL_BYTES, row, &c->bytes) && c->bytes >= 0)
        c->gbps = ns > 0 ? (double)c->bytes / ns : 0;
    else
        c->bytes = has_rate && isfinite(c->gbps) && c->gbps >= 0 && c->gbps * ns < 9e18
                       ? (int64_t)llround(c->gbps * ns)
                       : -1;
}

static const rs_copy_rules own_rules = {.measure = own_measure, .empty_is_zero = true};

static rs_status collect(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_bandwidth *p,
                         copy_list *out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_work *w;
    rs_status status = rs_trace_work(trace, run->policy, &w, err);
    if (status != RS_OK) return status;
    rs_map64 known = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        if (w->class[i] != RS_CLASS_MEMORY) continue;
        uint32_t row = w->row[i];
        rs_copy c = {
            .start = w->start[i], .end = w->end[i], .pid = e->threads[e->thread[row]].pid, .bytes = -1};
        c.kind = kind_of(p, &known, e, row, rules);
        bool has_rate = rs_events_real(e, RS_COL_BANDWIDTH, row, &c.gbps);
        if (!has_rate) c.gbps = 0;
        rules->measure(e, row, has_rate, &c);
        if (!isfinite(c.gbps)) c.gbps = 0;
        ok = c.kind != RS_NO_ROW && RS_GROW_ONE(out->items, out->n, out->capacity);
        if (ok) out->items[out->n++] = c;
    }
    rs_map64_clear(&known);
    return ok ? RS_OK : rs_fail_nomem(err, "copies");
}

static int by_kind_and_time(const void *a, const void *b)
{
    const rs_copy_point *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* The bandwidth in use over time, by kind. Where nothing is in use that is exactly zero, whatever adding
 * left over, unless the rules keep the rest. */
static bool run_up(rs_bandwidth *p, const copy_list *copies, const rs_copy_rules *rules)
{
    p->points = rs_malloc(2 * copies->n * sizeof *p->points);
    double *samples = rs_malloc(2 * copies->n * sizeof *samples);
    bool ok = p->points && samples;
    for (size_t i = 0; ok && i < copies->n; i++) {
        const rs_copy *c = &copies->items[i];
        p->points[i] = (rs_copy_point){c->start, c->pid, c->gbps, 0, 1, c->kind, (uint32_t)i};
        p->points[copies->n + i] =
            (rs_copy_point){c->end, c->pid, -c->gbps, 0, -1, c->kind, (uint32_t)(copies->n + i)};
    }
    if (ok) p->n_points = 2 * copies->n;
    if (rules->order) ok = ok && rules->order(p->points, p->n_points);
    if (ok && p->n_points) qsort(p->points, p->n_points, sizeof *p->points, by_kind_and_time);
    for (size_t i = 0, end; ok && i < p->n_points; i = end) {
        double in_use = 0;
        size_t n = 0;
        int64_t running = 0;
        rs_copy_kind *k = &p->kinds[p->points[i].kind];
        for (end = i; end < p->n_points && p->points[end].kind == p->points[i].kind; end++) {
            rs_copy_point *x = &p->points[end];
            in_use += x->change;
            running += x->running;
            if (rules->empty_is_zero && running == 0) in_use = 0;
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
static bool sum_up(rs_bandwidth *p, const copy_list *copies)
{
    double *rates = rs_malloc(copies->n * sizeof *rates);
    rs_interval *all = rs_malloc(copies->n * sizeof *all), *known = rs_malloc(copies->n * sizeof *known);
    rs_keyed *order = rs_malloc(copies->n * sizeof *order);
    bool ok = rates && all && known && order;
    for (size_t i = 0; ok && i < copies->n; i++) order[i] = (rs_keyed){copies->items[i].kind, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, copies->n);
    for (size_t i = 0, end; ok && i < copies->n; i = end) {
        size_t n = 0, n_known = 0;
        rs_copy_kind *k = &p->kinds[order[i].key];
        for (end = i; end < copies->n && order[end].key == order[i].key; end++) {
            const rs_copy *c = &copies->items[order[end].value];
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
    return strcmp(((const rs_copy_kind *)a)->name, ((const rs_copy_kind *)b)->name);
}

/* Puts the kinds in order of their names and tells the copies their new places. */
static bool order_kinds(rs_bandwidth *p, copy_list *copies)
{
    if (p->n_kinds == 0) return true;
    const char **before = rs_malloc(p->n_kinds * sizeof *before);
    uint32_t *place = rs_malloc(p->n_kinds * sizeof *place);
    bool ok = before && place;
    for (size_t i = 0; ok && i < p->n_kinds; i++) before[i] = p->kinds[i].name;
    if (ok) qsort(p->kinds, p->n_kinds, sizeof *p->kinds, by_kind_name);
    for (size_t i = 0; ok && i < p->n_kinds; i++) {
        rs_copy_kind wanted = {.name = (char *)(uintptr_t)before[i]};
        const rs_copy_kind *at = bsearch(&wanted, p->kinds, p->n_kinds, sizeof *p->kinds, by_kind_name);
        place[i] = (uint32_t)(at - p->kinds);
    }
    for (size_t i = 0; ok && i < copies->n; i++) copies->items[i].kind = place[copies->items[i].kind];
    rs_free(before);
    rs_free(place);
    return ok;
}

rs_status rs_bandwidth_make(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules,
                            rs_bandwidth **out, rs_error *err)
{
    copy_list copies = {0};
    rs_bandwidth *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "copies");
    rs_status status = collect(run, trace, rules, p, &copies, err);
    if (status == RS_OK && !(order_kinds(p, &copies) && run_up(p, &copies, rules) && sum_up(p, &copies)))
        status = rs_fail_nomem(err, "copies");
    rs_free(copies.items);
    if (status != RS_OK) {
        rs_bandwidth_free(p);
        return status;
    }
    *out = p;
    return RS_OK;
}

void rs_bandwidth_drop_series(const rs_run *run, rs_bandwidth *p)
{
    if (rs_options_flag(run->options, "series")) return;
    rs_free(p->points);
    p->points = NULL;
    p->n_points = 0;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_bandwidth *p = NULL;
    rs_status status = rs_bandwidth_make(run, trace, &own_rules, &p, err);
    if (status != RS_OK) return status;
    rs_bandwidth_drop_series(run, p);
    if (p->n_kinds == 0)
        rs_bandwidth_free(p);
    else
        *partial = p;
    return RS_OK;
}

void rs_copy_rates_clear(rs_copy_rates *rates)
{
    rs_free(rates->items);
    rs_arena_clear(&rates->names);
    *rates = (rs_copy_rates){0};
}

rs_status rs_copy_rates_of(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_copy_rates *out,
                           rs_error *err)
{
    rs_bandwidth *p;
    *out = (rs_copy_rates){0};
    rs_status status = rs_bandwidth_make(run, trace, rules ? rules : &own_rules, &p, err);
    if (status != RS_OK) return status;
    out->items = rs_malloc(p->n_points * sizeof *out->items);
    if (!out->items) {
        rs_bandwidth_free(p);
        return rs_fail_nomem(err, "copies");
    }
    for (size_t i = 0; i < p->n_points; i++) {
        const rs_copy_point *x = &p->points[i];
        out->items[out->n++] = (rs_copy_rate){x->ns, x->pid, x->in_use, p->kinds[x->kind].name};
    }
    out->names = p->arena; /* the names live on */
    p->arena = (rs_arena){0};
    rs_bandwidth_free(p);
    return RS_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status add_kind(rs_table *t, int64_t rank_number, const rs_copy_kind *k, rs_error *err)
{
    rs_table_put(t, &own_record, rank_number, k);
    rs_table_set_real(t, "mean_gbps",
                      k->active_known ? (double)k->bytes / (double)k->active_known : (double)NAN);
    rs_table_set_real(t, "peak_gbps", k->count > k->unknown ? k->peak : (double)NAN);
    return rs_table_end_row(t, err);
}

static rs_status add_point(rs_table *t, int64_t rank_number, const rs_bandwidth *p, const rs_copy_point *x,
                           rs_error *err)
{
    rs_table_put(t, &own_point_record, rank_number, x);
    rs_table_set_text(t, "name", p->kinds[x->kind].name);
    return rs_table_end_row(t, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    result->main_table = rs_options_flag(run->options, "series") ? RS_BANDWIDTH_SERIES : RS_BANDWIDTH_SUMMARY;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_bandwidth *p = partials[i].value;
        for (size_t k = 0; status == RS_OK && k < p->n_kinds; k++)
            status = add_kind(result->tables[RS_BANDWIDTH_SUMMARY], partials[i].rank, &p->kinds[k], err);
        for (size_t k = 0; status == RS_OK && k < p->n_points; k++)
            status = add_point(result->tables[RS_BANDWIDTH_SERIES], partials[i].rank, p, &p->points[k], err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field kind_fields[] = {
    RS_FIELD(rs_copy_kind, name),
    RS_FIELD(rs_copy_kind, count),
    RS_FIELD(rs_copy_kind, bytes),
    RS_FIELD(rs_copy_kind, active),
    RS_FIELD(rs_copy_kind, active_known),
    RS_FIELD(rs_copy_kind, unknown),
    RS_FIELD(rs_copy_kind, peak),
    RS_FIELD_STRUCT(rs_copy_kind, single, &rs_description_layout),
    RS_FIELD_STRUCT(rs_copy_kind, samples, &rs_description_layout),
};
static const rs_layout kind_layout = RS_LAYOUT(rs_copy_kind, kind_fields);

static const rs_field point_fields[] = {
    RS_FIELD(rs_copy_point, ns),
    RS_FIELD(rs_copy_point, pid),
    RS_FIELD(rs_copy_point, in_use),
    RS_FIELD_INDEX(rs_copy_point, kind, rs_bandwidth, n_kinds),
};
static const rs_layout point_layout = RS_LAYOUT(rs_copy_point, point_fields);

static const rs_field bandwidth_fields[] = {
    RS_FIELD_LIST(rs_bandwidth, kinds, n_kinds, &kind_layout),
    RS_FIELD_LIST(rs_bandwidth, points, n_points, &point_layout),
};
const rs_layout rs_bandwidth_layout = RS_LAYOUT(rs_bandwidth, bandwidth_fields);

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
    .facets = {&rs_facet_work},
    .columns = RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH),
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_bandwidth_free,
    .absent = "no copies",
    .partial_layout = &rs_bandwidth_layout,
};
