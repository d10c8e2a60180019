/* fragments: what short kernels and short gaps between them take: what fusing or a graph could win. */

#include "analysis/plan.h"
#include "base/real.h"
#include "base/try.h"
#include "trace/launchers.h"

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

/* A short run of a kernel, and all that one operator launched. */
typedef struct short_run {
    uint32_t name, op;
    int64_t ns, gap;
} short_run;

typedef struct kernel_row {
    uint32_t name, op;
    int64_t count, sum, gap, least, most;
    int64_t size, span; /* sum and gap; of the rank */
    double mean;        /* us */
} kernel_row;

/* Borders of lengths, in ns; the last class has no end. */
static const int64_t borders[] = {0,     1000,   2000,   5000,   10000,   20000,
                                  50000, 100000, 200000, 500000, 1000000, 10000000};
#define N_CLASSES (sizeof borders / sizeof *borders)

static const char *const kinds[] = {"kernel", "gap"};

typedef struct length_row {
    bool gap;
    int64_t from, to; /* ns; to: RS_NO_TIME for the last */
    int64_t count, sum, all;
} length_row;

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
    CELL(OF(kernel_row, mean), "mean_us", REAL, US, "sum_us of one run", "mean")                             \
    CELL(OF(kernel_row, least), "min_us", TIME, US, "shortest", "min")                                       \
    CELL(OF(kernel_row, most), "max_us", TIME, US, "longest of the short ones", "max")                       \
    CELL(OF(kernel_row, gap), "gap_us", TIME, US, "micro idle right before them, added up", "gaps before")   \
    CELL(SHARE(kernel_row, size, span), "share_pct", REAL, PERCENT, "sum_us and gap_us of the rank's span",  \
         "share %")                                                                                          \
    CELL(TEXT_ID(kernel_row, op), "operator", TEXT, NONE,                                                    \
         "operator that launched it, or the call; unknown: the launch is not in the file", NULL)             \
    CELL(TEXT_ID(kernel_row, name), "name", TEXT, NONE, "short kernel", NULL)
RS_RECORD(kernel, KERNEL_ROW);

#define LENGTH_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(WORD(length_row, gap, kinds), "what", TEXT, NONE, "kernel, or gap: nothing runs on the GPU", NULL)  \
    CELL(OF(length_row, from), "from_us", TIME, US, "as long as this or longer", "from")                     \
    CELL(OF(length_row, to), "to_us", TIME, US, "and shorter than this; unknown: however long", "to")        \
    CELL(OF(length_row, count), "count", INT, COUNT, "kernels or gaps of that length", NULL)                 \
    CELL(OF(length_row, sum), "sum_us", TIME, US, "their lengths added up", "sum")                           \
    CELL(SHARE(length_row, sum, all), "share_pct", REAL, PERCENT, "of all kernels' or all gaps'", "share %")
RS_RECORD(length, LENGTH_ROW);

enum { SUMMARY, KERNELS, LENGTHS };

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct gatherer {
    const rs_events *e;
    int64_t shorter, micro; /* ns */
    uint32_t *op;           /* by place in the work: string id of its launcher's name; RS_NO_STRING */
    summary_row summary;
    length_row lengths[2][N_CLASSES];
    rs_relations *out;
} gatherer;

/* The launchers of work, whose rows ascend. */
static rs_status find_launchers(gatherer *g, rs_trace *trace, const rs_work *work, rs_error *err)
{
    rs_tree *t;
    RS_TRY(rs_trace_working_tree(trace, &t, err));
    rs_keyed *items = RS_ROOM(g->out, rs_keyed, t->n_gpu);
    g->op = RS_ROOM(g->out, uint32_t, work->n);
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
    return ok ? RS_OK : rs_fail_nomem(err, "short kernels");
}

static void add_length(gatherer *g, bool gap, int64_t ns)
{
    size_t class = 0;
    while (class + 1 < N_CLASSES && ns >= borders[class + 1]) class ++;
    length_row *r = &g->lengths[gap][class];
    r->count++;
    r->sum = rs_add_sat(r->sum, ns);
}

/* Work by start: a gap lies before what starts after all that started earlier has ended. */
static void sweep(gatherer *g, const rs_work *work, const rs_keyed *order)
{
    summary_row *s = &g->summary;
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
        rs_put(g->out, KERNELS,
               &(short_run){rs_put_text(g->out, g->e->name[work->row[i]]), rs_put_text(g->out, g->op[i]),
                            length, micro});
    }
    s->span = work->n ? rs_sub_sat(reach, order[0].key) : 0;
}

static rs_status take_ns(const rs_run *run, const char *option, int64_t *ns, rs_error *err)
{
    double us = rs_options_real(run->options, option);
    if (!(us >= 0 && us < 1e15)) return rs_fail(err, RS_ERR_USAGE, "--%s must be 0 or more", option);
    *ns = rs_int_near(us * 1000);
    return RS_OK;
}

static void put_lengths(gatherer *g)
{
    for (size_t gap = 0; gap < 2; gap++) {
        length_row *rows = g->lengths[gap];
        int64_t all = 0;
        for (size_t i = 0; i < N_CLASSES; i++) all = rs_add_sat(all, rows[i].sum);
        for (size_t i = 0; i < N_CLASSES; i++) {
            rows[i].gap = gap;
            rows[i].from = borders[i];
            rows[i].to = i + 1 < N_CLASSES ? borders[i + 1] : RS_NO_TIME;
            rows[i].all = all;
            if (rows[i].count) rs_put(g->out, LENGTHS, &rows[i]);
        }
    }
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    gatherer g = {.e = trace->events, .out = out};
    const uint32_t *rows;
    const rs_work *work;
    size_t n;
    RS_TRY(take_ns(run, "shorter-than", &g.shorter, err));
    RS_TRY(take_ns(run, "micro-idle", &g.micro, err));
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    out->absent = n == 0;
    if (!n) return RS_OK;
    RS_TRY(rs_trace_work(trace, run->policy, &work, err));
    RS_TRY(find_launchers(&g, trace, work, err));
    rs_keyed *order = RS_ROOM(out, rs_keyed, work->n);
    for (size_t i = 0; order && i < work->n; i++) order[i] = (rs_keyed){work->start[i], (uint32_t)i};
    if (!order || !rs_keyed_sort(order, work->n)) return rs_fail_nomem(err, "short kernels");
    sweep(&g, work, order);
    rs_put(out, SUMMARY, &g.summary);
    put_lengths(&g);
    return RS_OK;
}

static void set_size(const rs_relations *of, void *row)
{
    kernel_row *k = row;
    k->size = rs_add_sat(k->sum, k->gap);
    k->span = of->items[SUMMARY].n ? RS_ROWS(summary_row, of, SUMMARY)->span : 0;
    k->mean = (double)k->sum / (double)k->count / 1000;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static const rs_aggregate by_kernel[] = {RS_KEY_TEXT(kernel_row, name, short_run, name),
                                         RS_KEY_TEXT(kernel_row, op, short_run, op),
                                         RS_COUNTED(kernel_row, count),
                                         RS_SUMMED(kernel_row, sum, short_run, ns),
                                         RS_SUMMED(kernel_row, gap, short_run, gap),
                                         RS_LEAST(kernel_row, least, short_run, ns),
                                         RS_GREATEST(kernel_row, most, short_run, ns),
                                         RS_BY_OWN_HAND(kernel_row, size),
                                         RS_BY_OWN_HAND(kernel_row, span),
                                         RS_BY_OWN_HAND(kernel_row, mean)};
static const rs_order by_size[] = {RS_FALLING(kernel_row, size)};
static const rs_field summary_more[] = {RS_FIELD(summary_row, kernel_time)};
static const rs_layout summary_layout = RS_RECORD_LAYOUT_AND(summary_row, summary, summary_more);
static const rs_field length_more[] = {RS_FIELD(length_row, all)};
static const rs_layout length_layout = RS_RECORD_LAYOUT_AND(length_row, length, length_more);

static const rs_plan_relation relations[] = {
    [SUMMARY] = {RS_LISTED(SUMMARY, summary_row, &summary_layout), .make = put},
    [KERNELS] = {RS_GROUPED(KERNELS, kernel_row, short_run, by_kernel), .amend = set_size,
                 RS_IN_ORDER(by_size)},
    [LENGTHS] = {RS_LISTED(LENGTHS, length_row, &length_layout)},
};
static const rs_plan_table
    summary_table = {RS_PLAN_TABLE("fragments", "one row is one rank", summary), .relation = SUMMARY},
    kernel_table = {RS_PLAN_TABLE("kernels", "one row is one short kernel of one operator of one rank",
                                  kernel),
                    .relation = KERNELS, .top = "top"},
    length_table = {
        RS_PLAN_TABLE("lengths", "one row is the kernels or the gaps of some length of one rank", length),
        .relation = LENGTHS};
static const rs_table_spec *const tables[] = {&summary_table.spec, &kernel_table.spec, &length_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .gate = true};

const rs_analysis rs_analysis_fragments = {
    .name = "fragments",
    .group = "GPU time",
    .help = "Short kernels and short gaps between them: what fusing or a CUDA graph could win",
    .about =
        "A gap is a time in which nothing at all runs on the GPU, between its first and its last event. Gaps shorter\n"
        "than --micro-idle come from launching one kernel after another; longer ones have other causes (idle).\n"
        "The table kernels adds up the short runs of a kernel that one operator launched, and the micro idle right\n"
        "before them; lengths shows how kernels and gaps divide by their length.",
    .examples =
        "rankscope fragments traces/\nrankscope fragments --shorter-than 5 --table kernels trace.json.gz\n"
        "rankscope fragments --micro-idle 20 --fail-on 'micro_idle_pct > 10' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_working_tree, &rs_facet_gpu_rows},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
    .absent = "no GPU work",
};
