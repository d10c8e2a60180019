/* fragments: what short kernels and short gaps between them take: what fusing or a graph could win. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/stats.h"
#include "analysis/gate.h"
#include "base/interval.h"
#include "base/try.h"
#include "table/record.h"
#include "trace/launchers.h"
#include "trace/pool.h"

static const rs_option_spec options[] = {
    {"shorter-than", RS_OPTION_REAL, "US", NULL, "10", "kernels shorter than this are short"},
    {"micro-idle", RS_OPTION_REAL, "US", NULL, "10",
     "gaps in which nothing runs and that are shorter than this are micro idle, the others macro idle"},
    {"top", RS_OPTION_INT, "N", NULL, "20", "of the table kernels only the first N rows of a rank; 0: all"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'micro_idle_pct > 10'"},
};

typedef struct summary_row {
    int64_t kernels, kernel_time, n_short, short_time, span, idle;
    int64_t micro, micro_idle, macro, macro_idle;
} summary_row;

typedef struct kernel_row {
    uint32_t name, op; /* of the pool */
    int64_t count, sum, gap, least, most;
    uint32_t place;
} kernel_row;

/* Borders of lengths, in ns; the last class has no end. */
static const int64_t borders[] = {0,     1000,   2000,   5000,   10000,   20000,
                                  50000, 100000, 200000, 500000, 1000000, 10000000};
#define N_CLASSES (sizeof borders / sizeof *borders)

typedef struct length_row {
    const char *what;
    int64_t from, to; /* ns; to: RS_NO_TIME for the last */
    int64_t count, sum, all;
} length_row;

typedef struct fragments_rank {
    rs_pool pool;
    summary_row summary;
    kernel_row *rows; /* by the time and gaps, falling, then in the order in which they were met */
    size_t n;
    length_row lengths[2 * N_CLASSES];
} fragments_rank;

#define SUMMARY_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(summary_row, span), "span_us", TIME, US,                                                         \
         "from the first GPU event's start to the last one's "                                               \
         "end",                                                                                              \
         "span")                                                                                             \
    CELL(OF(summary_row, kernels), "kernels", INT, COUNT, "kernels", NULL)                                   \
    CELL(OF(summary_row, n_short), "short", INT, COUNT, "of these, shorter than --shorter-than", NULL)       \
    CELL(SHARE(summary_row, n_short, kernels), "short_pct", REAL, PERCENT, "short of kernels", "short %")    \
    CELL(OF(summary_row, short_time), "short_us", TIME, US, "durations of the short ones, added up",         \
         "in short")                                                                                         \
    CELL(SHARE(summary_row, short_time, kernel_time), "short_time_pct", REAL, PERCENT,                       \
         "short_us of the durations of all kernels", "in short %")                                           \
    CELL(OF(summary_row, idle), "idle_us", TIME, US, "nothing runs on the GPU", "idle")                      \
    CELL(OF(summary_row, micro), "micro_gaps", INT, COUNT, "gaps shorter than --micro-idle", "micro gaps")   \
    CELL(OF(summary_row, micro_idle), "micro_idle_us", TIME, US, "these gaps added up", "micro idle")        \
    CELL(SHARE(summary_row, micro_idle, span), "micro_idle_pct", REAL, PERCENT, "micro_idle_us of the span", \
         "micro %")                                                                                          \
    CELL(OF(summary_row, macro), "macro_gaps", INT, COUNT, "the other gaps", "macro gaps")                   \
    CELL(OF(summary_row, macro_idle), "macro_idle_us", TIME, US, "the other gaps added up", "macro idle")    \
    CELL(SHARE(summary_row, macro_idle, span), "macro_idle_pct", REAL, PERCENT, "macro_idle_us of the span", \
         "macro %")
RS_RECORD(summary, SUMMARY_ROW);

#define KERNEL_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(kernel_row, count), "count", INT, COUNT, "runs shorter than --shorter-than", NULL)               \
    CELL(OF(kernel_row, sum), "sum_us", TIME, US, "their durations added up", "sum")                         \
    CELL(SET, "mean_us", REAL, US, "sum_us of one run", "mean")                                              \
    CELL(OF(kernel_row, least), "min_us", TIME, US, "shortest", "min")                                       \
    CELL(OF(kernel_row, most), "max_us", TIME, US, "longest of the short ones", "max")                       \
    CELL(OF(kernel_row, gap), "gap_us", TIME, US, "micro idle right before them, added up", "gaps before")   \
    CELL(SET, "share_pct", REAL, PERCENT, "sum_us and gap_us of the rank's span", "share %")                 \
    CELL(TEXT(kernel_row, op, fragments_rank, pool.strings.n), "operator", TEXT, NONE,                       \
         "operator that launched it, or the call; unknown: the launch is not in the file", NULL)             \
    CELL(TEXT(kernel_row, name, fragments_rank, pool.strings.n), "name", TEXT, NONE, "short kernel", NULL)
RS_RECORD(kernel, KERNEL_ROW);

#define LENGTH_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(length_row, what), "what", TEXT, NONE, "kernel, or gap: nothing runs on the GPU", NULL)          \
    CELL(OF(length_row, from), "from_us", TIME, US, "as long as this or longer", "from")                     \
    CELL(OF(length_row, to), "to_us", TIME, US, "and shorter than this; unknown: however long", "to")        \
    CELL(OF(length_row, count), "count", INT, COUNT, "kernels or gaps of that length", NULL)                 \
    CELL(OF(length_row, sum), "sum_us", TIME, US, "their lengths added up", "sum")                           \
    CELL(SHARE(length_row, sum, all), "share_pct", REAL, PERCENT, "of all kernels' or all gaps'", "share %")
RS_RECORD(length, LENGTH_ROW);

static const rs_table_spec summary_table = RS_TABLE("fragments", "one row is one rank", summary_columns);
static const rs_table_spec kernel_table =
    RS_TABLE("kernels", "one row is one short kernel of one operator of one rank", kernel_columns);
static const rs_table_spec length_table =
    RS_TABLE("lengths", "one row is the kernels or the gaps of some length of one rank", length_columns);
static const rs_table_spec *const tables[] = {&summary_table, &kernel_table, &length_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { SUMMARY, KERNELS, LENGTHS };

static void free_partial(void *partial)
{
    fragments_rank *p = partial;
    if (!p) return;
    rs_pool_clear(&p->pool);
    rs_free(p->rows);
    rs_free(p);
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct gatherer {
    const rs_events *e;
    int64_t shorter, micro; /* ns */
    uint32_t *op;           /* by place in the work: string id of its launcher's name; RS_NO_STRING */
    rs_map64 places;        /* kernel and launcher -> row */
    size_t capacity;
    fragments_rank *p;
} gatherer;

/* The launchers of work, whose rows ascend. */
static rs_status find_launchers(gatherer *g, rs_trace *trace, const rs_work *work, rs_error *err)
{
    rs_tree *t;
    RS_TRY(rs_trace_working_tree(trace, &t, err));
    rs_keyed *items = rs_malloc((t->n_gpu + 1) * sizeof *items);
    g->op = rs_malloc((work->n + 1) * sizeof *g->op);
    bool ok = items && g->op;
    size_t n = 0, at = 0;
    for (size_t node = 0; ok && node < t->n; node++) {
        size_t end = node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
        if (t->gpu_first[node] == end) continue;
        uint32_t launcher = rs_tree_launcher_of(trace, t, (uint32_t)node);
        for (size_t i = t->gpu_first[node]; i < end; i++)
            items[n++] = (rs_keyed){t->gpu_row[i], g->e->name[t->row[launcher]]};
    }
    ok = ok && rs_keyed_sort(items, n);
    for (size_t i = 0; ok && i < work->n; i++) {
        while (at < n && items[at].key < work->row[i]) at++;
        g->op[i] = at < n && items[at].key == work->row[i] ? items[at].value : RS_NO_STRING;
    }
    rs_free(items);
    return ok ? RS_OK : rs_fail_nomem(err, "short kernels");
}

static void add_length(gatherer *g, bool gap, int64_t ns)
{
    size_t class = 0;
    while (class + 1 < N_CLASSES && ns >= borders[class + 1]) class ++;
    length_row *r = &g->p->lengths[(gap ? N_CLASSES : 0) + class];
    r->count++;
    r->sum = rs_add_sat(r->sum, ns);
}

static bool add_short(gatherer *g, uint32_t name, uint32_t op, int64_t ns, int64_t gap)
{
    fragments_rank *p = g->p;
    bool is_new, ok = true;
    uint32_t *place = rs_map64_put(&g->places, (uint64_t)name << 32 | op, &is_new);
    if (!place) return false;
    if (is_new) {
        if (!RS_GROW_ONE(p->rows, p->n, g->capacity)) return false;
        *place = (uint32_t)p->n;
        p->rows[p->n] = (kernel_row){.name = rs_pool_add(&p->pool, g->e, name, &ok),
                                     .op = rs_pool_add(&p->pool, g->e, op, &ok),
                                     .least = ns,
                                     .most = ns,
                                     .place = (uint32_t)p->n};
        p->n++;
    }
    kernel_row *r = &p->rows[*place];
    r->count++;
    r->sum = rs_add_sat(r->sum, ns);
    r->gap = rs_add_sat(r->gap, gap);
    if (ns < r->least) r->least = ns;
    if (ns > r->most) r->most = ns;
    return ok;
}

/* Work by start: a gap lies before what starts after all that started earlier has ended. */
static bool sweep(gatherer *g, const rs_work *work, const rs_keyed *order)
{
    summary_row *s = &g->p->summary;
    int64_t reach = work->n ? order[0].key : 0;
    for (size_t k = 0; k < work->n; k++) {
        size_t i = order[k].value;
        int64_t start = work->start[i], length = rs_sub_sat(work->end[i], start), micro = 0;
        int64_t gap = rs_sub_sat(start, reach);
        if (length < 0) length = 0;
        if (gap > 0) {
            bool is_micro = gap < g->micro;
            add_length(g, true, gap);
            s->idle = rs_add_sat(s->idle, gap);
            *(is_micro ? &s->micro : &s->macro) += 1;
            int64_t *sum = is_micro ? &s->micro_idle : &s->macro_idle;
            *sum = rs_add_sat(*sum, gap);
            if (is_micro) micro = gap;
        }
        if (work->end[i] > reach) reach = work->end[i];
        if (rs_event_kind(g->e, work->row[i]) != RS_KIND_KERNEL) continue;
        add_length(g, false, length);
        s->kernels++;
        s->kernel_time = rs_add_sat(s->kernel_time, length);
        if (length >= g->shorter) continue;
        s->n_short++;
        s->short_time = rs_add_sat(s->short_time, length);
        if (!add_short(g, g->e->name[work->row[i]], g->op[i], length, micro)) return false;
    }
    s->span = work->n ? rs_sub_sat(reach, order[0].key) : 0;
    return true;
}

static int by_size(const void *a, const void *b)
{
    const kernel_row *x = a, *y = b;
    int64_t p = rs_add_sat(x->sum, x->gap), q = rs_add_sat(y->sum, y->gap);
    if (p != q) return p > q ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void settle(fragments_rank *p)
{
    for (size_t half = 0; half < 2; half++) {
        length_row *rows = &p->lengths[half * N_CLASSES];
        int64_t all = 0;
        for (size_t i = 0; i < N_CLASSES; i++) all = rs_add_sat(all, rows[i].sum);
        for (size_t i = 0; i < N_CLASSES; i++) {
            rows[i].what = half ? "gap" : "kernel";
            rows[i].from = borders[i];
            rows[i].to = i + 1 < N_CLASSES ? borders[i + 1] : RS_NO_TIME;
            rows[i].all = all;
        }
    }
    if (p->n) qsort(p->rows, p->n, sizeof *p->rows, by_size);
}

static rs_status gather(const rs_run *run, rs_trace *trace, gatherer *g, rs_error *err)
{
    const rs_work *work;
    RS_TRY(rs_trace_work(trace, run->policy, &work, err));
    RS_TRY(find_launchers(g, trace, work, err));
    rs_keyed *order = rs_malloc((work->n + 1) * sizeof *order);
    for (size_t i = 0; order && i < work->n; i++) order[i] = (rs_keyed){work->start[i], (uint32_t)i};
    bool ok = order && rs_keyed_sort(order, work->n) && sweep(g, work, order);
    rs_free(order);
    if (!ok) return rs_fail_nomem(err, "short kernels");
    settle(g->p);
    return RS_OK;
}

static rs_status take_ns(const rs_run *run, const char *option, int64_t *ns, rs_error *err)
{
    double us = rs_options_real(run->options, option);
    if (!(us >= 0 && us < 1e15)) return rs_fail(err, RS_ERR_USAGE, "--%s must be 0 or more", option);
    *ns = (int64_t)llround(us * 1000);
    return RS_OK;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    gatherer g = {.e = trace->events};
    const uint32_t *rows;
    size_t n;
    RS_TRY(take_ns(run, "shorter-than", &g.shorter, err));
    RS_TRY(take_ns(run, "micro-idle", &g.micro, err));
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    if (n == 0) return RS_OK;
    g.p = rs_calloc(1, sizeof *g.p);
    if (!g.p || !rs_pool_init(&g.p->pool)) {
        free_partial(g.p);
        return rs_fail_nomem(err, "short kernels");
    }
    rs_status status = gather(run, trace, &g, err);
    rs_free(g.op);
    rs_map64_clear(&g.places);
    if (status == RS_OK)
        *partial = g.p;
    else
        free_partial(g.p);
    return status;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

static rs_status add_kernels(rs_table *t, int64_t number, const fragments_rank *p, size_t top, rs_error *err)
{
    rs_table_use_texts(t, &p->pool.strings);
    for (size_t i = 0; i < p->n && (!top || i < top); i++) {
        const kernel_row *r = &p->rows[i];
        rs_table_put(t, &kernel_record, number, r);
        rs_table_set_real(t, "mean_us", r->count ? (double)r->sum / (double)r->count / 1000 : (double)NAN);
        rs_table_set_real(t, "share_pct", rs_percent(rs_add_sat(r->sum, r->gap), p->summary.span));
        RS_TRY(rs_table_end_row(t, err));
    }
    rs_table_use_texts(t, NULL);
    return RS_OK;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    size_t top = (size_t)rs_options_int(run->options, "top");
    for (size_t i = 0; i < n; i++) {
        const fragments_rank *p = partials[i].value;
        int64_t number = partials[i].rank;
        RS_TRY(rs_table_put_row(result->tables[SUMMARY], &summary_record, number, &p->summary, err));
        RS_TRY(add_kernels(result->tables[KERNELS], number, p, top, err));
        for (size_t k = 0; k < 2 * N_CLASSES; k++)
            if (p->lengths[k].count)
                RS_TRY(
                    rs_table_put_row(result->tables[LENGTHS], &length_record, number, &p->lengths[k], err));
    }
    return rs_gate_apply(run->options, result->tables[result->main_table], result, err);
}

static const rs_field summary_more[] = {RS_FIELD(summary_row, kernel_time)};
static const rs_layout summary_layout = RS_RECORD_LAYOUT_AND(summary_row, summary, summary_more);
static const rs_layout kernel_layout = RS_RECORD_LAYOUT(kernel_row, kernel);
static const rs_field length_more[] = {RS_FIELD(length_row, all)};
static const rs_layout length_layout = RS_RECORD_LAYOUT_AND(length_row, length, length_more);
static const rs_field rank_fields[] = {
    RS_FIELD_STRINGS(fragments_rank, pool.strings),
    RS_FIELD_STRUCT(fragments_rank, summary, &summary_layout),
    RS_FIELD_LIST(fragments_rank, rows, n, &kernel_layout),
    RS_FIELD_STRUCTS(fragments_rank, lengths, &length_layout),
};
static const rs_layout rank_layout = RS_LAYOUT(fragments_rank, rank_fields);

const rs_analysis rs_analysis_fragments = {
    .name = "fragments",
    .help = "Short kernels and short gaps between them: what fusing or a CUDA graph could win",
    .about =
        "A gap is a time in which nothing at all runs on the GPU, between its first and its last event. Gaps shorter\n"
        "than --micro-idle come from launching one kernel after another; longer ones have other causes (idle).\n"
        "The table kernels adds up the short runs of a kernel that one operator launched, and the micro idle right\n"
        "before them; lengths tells how kernels and gaps divide by their length.",
    .examples =
        "rankscope fragments traces/\nrankscope fragments --shorter-than 5 --table kernels trace.json.gz\n"
        "rankscope fragments --micro-idle 20 --fail-on 'micro_idle_pct > 10' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_working_tree, &rs_facet_gpu_rows},
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .absent = "no GPU work",
    .partial_layout = &rank_layout,
};
