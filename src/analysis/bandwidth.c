/* bandwidth: how fast copies and memsets move their bytes. */
#include <math.h>
#include <string.h>

#include "analysis/copy_rates.h"
#include "base/real.h"
#include "base/try.h"

static const rs_option_spec options[] = {
    {"series", RS_OPTION_FLAG, NULL, NULL, NULL, "print every change of the bandwidth in use"},
};

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(rs_copy_kind, name), "name", TEXT, NONE, "kind of copy", NULL)                              \
    CELL(OF(rs_copy_kind, count), "count", INT, COUNT, "copies", NULL)                                       \
    CELL(OF(rs_copy_kind, bytes), "bytes", INT, BYTES, "moved by those that say how much", NULL)             \
    CELL(OF(rs_copy_kind, active), "active_us", TIME, US, "at least one of them runs", "active")             \
    CELL(SET, "mean_gbps", REAL, GBPS, "bytes by active time, of the copies that say how much", "mean")      \
    CELL(OF(rs_copy_kind, peak), "peak_gbps", REAL, GBPS, "most at any time, simultaneous copies added up",  \
         "peak")                                                                                             \
    CELL(OF(rs_copy_kind, single.p50), "median_gbps", REAL, GBPS, "median of the single copies",             \
         "median copy")                                                                                      \
    CELL(OF(rs_copy_kind, single.min), "min_gbps", REAL, GBPS, "slowest single copy", "slowest copy")        \
    CELL(OF(rs_copy_kind, single.max), "max_gbps", REAL, GBPS, "fastest single copy", "fastest copy")        \
    CELL(OF(rs_copy_kind, unknown), "unknown", INT, COUNT, "copies that do not say how much they moved", NULL)
RS_RECORD(own, OWN_ROW);

#define OWN_POINT_ROW(CELL)                                                                                  \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_copy_change, ns), "ts_us", MOMENT, US, "when it changes", "time")                             \
    CELL(TEXT_ID(rs_copy_change, name), "name", TEXT, NONE, "kind of copy", NULL)                            \
    CELL(OF(rs_copy_change, in_use), "memory_bw_gbps", REAL, GBPS, "in use from now on", "in use")
RS_RECORD(own_point, OWN_POINT_ROW);

/* ---- copies -------------------------------------------------------------------------------------------- */

/* A copy's bytes by its rate and length, or the other way round. */
static void own_measure(const rs_events *e, uint32_t row, bool has_rate, rs_copy *c)
{
    double ns = (double)rs_sub_sat(c->end, c->start);
    if (rs_events_int(e, RS_COL_BYTES, row, &c->bytes) && c->bytes >= 0)
        c->gbps = ns > 0 ? (double)c->bytes / ns : 0;
    else
        c->bytes = has_rate && isfinite(c->gbps) && c->gbps >= 0 && c->gbps * ns < 9e18
                       ? rs_int_near(c->gbps * ns)
                       : -1;
}

static const rs_copy_rules own_rules = {.measure = own_measure, .empty_is_zero = true};

static rs_copy measure(const rs_work *w, size_t i, const rs_events *e, const rs_copy_rules *rules,
                       rs_relations *out)
{
    uint32_t row = w->row[i];
    const char *name = rs_event_name(e, row);
    rs_copy c = {.start = w->start[i], .end = w->end[i], .pid = e->threads[e->thread[row]].pid, .bytes = -1};
    bool has_rate = rs_events_real(e, RS_COL_BANDWIDTH, row, &c.gbps);
    if (!has_rate) c.gbps = 0;
    rules->measure(e, row, has_rate, &c);
    if (!isfinite(c.gbps)) c.gbps = 0;
    if (rules->cut_name) {
        size_t length = rules->cut_name(name, &name);
        c.name = rs_put_string_n(out, name, length);
    } else {
        c.name = rs_put_text(out, e->name[row]);
    }
    return c;
}

/* Where copies begin and end, in order. false when out of memory. */
static bool list_points(const rs_copy_rules *rules, rs_relations *out, rs_copies *copies)
{
    static const rs_order by_time[] = {RS_RISING_TEXT(rs_copy_point, name), RS_RISING(rs_copy_point, ns),
                                       RS_RISING(rs_copy_point, order)};
    size_t n = copies->n;
    rs_copy_point *points = copies->points = RS_ROOM(out, rs_copy_point, 2 * n);
    for (size_t i = 0; points && i < n; i++) {
        const rs_copy *c = &copies->items[i];
        points[i] = (rs_copy_point){c->start, c->pid, c->gbps, 0, 1, c->name, (uint32_t)i, false};
        points[n + i] = (rs_copy_point){c->end, c->pid, -c->gbps, 0, -1, c->name, (uint32_t)(n + i), false};
    }
    if (!points || (rules->order && !rules->order(points, 2 * n))) return false;
    rs_sort(points, 2 * n, sizeof *points, by_time, 3, &out->pool.strings);
    return true;
}

/* The bandwidth in use over time, by kind. Where nothing is in use that is exactly zero, whatever adding
 * left over, unless the rules keep the rest. */
static void run_up(rs_copies *copies, const rs_copy_rules *rules)
{
    double in_use = 0;
    int64_t running = 0;
    for (size_t i = 0; i < 2 * copies->n; i++) {
        rs_copy_point *x = &copies->points[i];
        if (i == 0 || x[-1].name != x->name) in_use = 0, running = 0;
        in_use += x->change;
        running += x->running;
        if (rules->empty_is_zero && running == 0) in_use = 0;
        x->in_use = in_use;
        x->settled = i + 1 == 2 * copies->n || x[1].ns != x->ns || x[1].name != x->name;
    }
}

rs_status rs_copies_of(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_relations *out,
                       rs_copies *copies, rs_error *err)
{
    const rs_work *w;
    RS_TRY(rs_trace_work(trace, run->policy, &w, err));
    if (!rules) rules = &own_rules;
    *copies = (rs_copies){.items = RS_ROOM(out, rs_copy, w->n_class[RS_CLASS_MEMORY])};
    for (size_t i = 0; copies->items && i < w->n; i++)
        if (w->class[i] == RS_CLASS_MEMORY)
            copies->items[copies->n++] = measure(w, i, trace->events, rules, out);
    if (!copies->items || out->no_memory || !list_points(rules, out, copies))
        return rs_fail_nomem(err, "copies");
    run_up(copies, rules);
    return RS_OK;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

rs_status rs_bandwidth_put(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_relations *out,
                           rs_error *err)
{
    static const double none = (double)NAN;
    const int64_t unknown = RS_NO_TIME;
    rs_copies copies;
    RS_TRY(rs_copies_of(run, trace, rules, out, &copies, err));
    for (size_t i = 0; i < copies.n; i++) {
        const rs_copy *c = &copies.items[i];
        bool known = c->bytes >= 0;
        rs_put(out, RS_BANDWIDTH_SUMMARY,
               &(rs_copy_part){c->name, c->start, c->end, known ? c->start : unknown,
                               known ? c->bytes : unknown, known ? c->gbps : none, none, none});
    }
    for (size_t i = 0; i < 2 * copies.n; i++) {
        const rs_copy_point *x = &copies.points[i];
        double in_use = x->in_use > 0 ? x->in_use : none;
        rs_put(out, RS_BANDWIDTH_SUMMARY,
               &(rs_copy_part){x->name, unknown, unknown, unknown, unknown, none, in_use,
                               x->settled ? in_use : none});
        if (rs_options_flag(run->options, "series"))
            rs_put(out, RS_BANDWIDTH_SERIES, &(rs_copy_change){x->name, x->ns, x->pid, x->in_use});
    }
    return RS_OK;
}

static rs_status put_own(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    return rs_bandwidth_put(run, trace, &own_rules, out, err);
}

static void count_unknown(const rs_relations *of, void *row)
{
    (void)of;
    rs_copy_kind *k = row;
    k->unknown = k->count - k->known;
    if (isnan(k->peak)) k->peak = 0; /* copies of which none is a rate */
    if (!k->known) k->peak = (double)NAN;
}

static void set_mean(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_copy_kind *k = row;
    (void)run;
    (void)of;
    rs_table_set_real(t, "mean_gbps",
                      k->active_known ? (double)k->bytes / (double)k->active_known : (double)NAN);
}

const rs_aggregate rs_bandwidth_by_kind[10] = {
    RS_KEY_TEXT(rs_copy_kind, name, rs_copy_part, name),
    RS_KNOWN(rs_copy_kind, count, rs_copy_part, start),
    RS_KNOWN(rs_copy_kind, known, rs_copy_part, bytes),
    RS_SUMMED(rs_copy_kind, bytes, rs_copy_part, bytes),
    RS_UNITED(rs_copy_kind, active, rs_copy_part, start, end),
    RS_UNITED(rs_copy_kind, active_known, rs_copy_part, known_start, end),
    RS_GREATEST(rs_copy_kind, peak, rs_copy_part, settled),
    RS_DESCRIBED(rs_copy_kind, single, rs_copy_part, rate, 0),
    RS_DESCRIBED(rs_copy_kind, samples, rs_copy_part, in_use, 0),
    RS_BY_OWN_HAND(rs_copy_kind, unknown),
};
const rs_order rs_bandwidth_by_name[1] = {RS_RISING_TEXT(rs_copy_kind, name)};
static const rs_field change_fields[] = {RS_FIELD_TEXT_ID(rs_copy_change, name),
                                         RS_FIELDS(rs_copy_change, ns, pid, in_use)};
const rs_layout rs_bandwidth_change_layout = RS_LAYOUT(rs_copy_change, change_fields);

static const rs_plan_relation relations[] = {
    {RS_BANDWIDTH_KINDS, .make = put_own, .amend = count_unknown},
    {RS_BANDWIDTH_CHANGES},
};
static const rs_plan_table summary_table = {RS_PLAN_TABLE("bandwidth",
                                                          "one row is one kind of copy of one rank", own),
                                            .set = set_mean},
                           series_table = {
                               RS_PLAN_TABLE("series", "one row is one change; filled with --series",
                                             own_point),
                               .relation = RS_BANDWIDTH_SERIES, .choice = RS_WITH(RS_IS_SET("series"))};
static const rs_table_spec *const tables[] = {&summary_table.spec, &series_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .absent_without = RS_BANDWIDTH_SUMMARY + 1};

const rs_analysis rs_analysis_bandwidth = {
    .name = "bandwidth",
    .group = "GPU time",
    .help = "How fast copies and memsets move their bytes",
    .about =
        "By kind of copy: bytes, the time at least one of them runs, their mean rate over that time, the "
        "most that\n"
        "is in use at once, and the rates of single copies. --series prints the bandwidth in use over time.",
    .examples = "rankscope bandwidth trace.json.gz\nrankscope bandwidth --series --format csv trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work},
    .columns = RS_COLUMN_BIT(BYTES) | RS_COLUMN_BIT(BANDWIDTH),
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .absent = "no copies",
};
