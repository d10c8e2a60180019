/* launches: how long launching takes and how long the GPU lets launched work wait. */
#include <string.h>

#include "analysis/plan.h"
#include "base/real.h"
#include "base/try.h"

enum { SHORT = 1, RUNTIME = 2, DELAY = 4 };
static const char *const outlier_names[3] = {"short", "runtime", "delay"};

static const rs_option_spec options[] = {
    {"no-memory", RS_OPTION_FLAG, NULL, NULL, NULL, "leave copies and memsets out"},
    {"runtime-cutoff", RS_OPTION_REAL, "US", NULL, "50", "a call that takes longer is a runtime outlier"},
    {"delay-cutoff", RS_OPTION_REAL, "US", NULL, "100", "work that waits longer is a delay outlier"},
    {"outliers", RS_OPTION_TEXT, "KINDS", NULL, NULL,
     "list the launches of these kinds: short (shorter on the GPU than its call), runtime, delay"},
    {"list", RS_OPTION_FLAG, NULL, NULL, NULL, "list every launch"},
};

/* A call and a piece of its work. */
typedef struct pair {
    uint32_t call, work;           /* rows */
    uint32_t call_name, work_name; /* texts */
    int64_t correlation;
    int64_t cpu, gpu, delay; /* ns */
    int64_t own_cpu;         /* cpu with the first of its pieces, else unknown */
    int64_t is[3];           /* 1: it is such an outlier */
    uint8_t outlier;
} pair;

typedef struct call_sum {
    uint32_t name;
    int64_t launches, outliers[3];
    int64_t cpu, delay, delay_max;
    double mean;           /* of the calls, us */
    rs_description delays; /* us */
} call_sum;

#define CALL_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(call_sum, name), "call", TEXT, NONE, "launching call", NULL)                                \
    CELL(OF(call_sum, launches), "launches", INT, COUNT, "calls that own GPU work", NULL)                    \
    CELL(OF(call_sum, delays.n), "gpu_events", INT, COUNT, "GPU work they own; a graph launch owns many",    \
         "GPU events")                                                                                       \
    CELL(OF(call_sum, cpu), "call_us", TIME, US, "total duration of the calls", "calls")                     \
    CELL(OF(call_sum, mean), "call_mean_us", REAL, US, "mean duration of a call", "mean call")               \
    CELL(OF(call_sum, delay), "delay_us", TIME, US, "total time from a call's end to its work's start",      \
         "delay")                                                                                            \
    CELL(OF(call_sum, delays.mean), "delay_mean_us", REAL, US, "mean delay of a piece of work",              \
         "mean delay")                                                                                       \
    CELL(OF(call_sum, delays.p50), "delay_median_us", REAL, US, "median delay", "median delay")              \
    CELL(OF(call_sum, delays.p95), "delay_p95_us", REAL, US, "delay that 95 % do not exceed", "95 % delay")  \
    CELL(OF(call_sum, delay_max), "delay_max_us", TIME, US, "longest delay", "max delay")                    \
    CELL(OF(call_sum, outliers[0]), "short", INT, COUNT, "work shorter than its call", NULL)                 \
    CELL(OF(call_sum, outliers[1]), "runtime", INT, COUNT,                                                   \
         "work whose call took longer than --runtime-cutoff", NULL)                                          \
    CELL(OF(call_sum, outliers[2]), "delay", INT, COUNT, "work that waited longer than --delay-cutoff", NULL)
RS_RECORD(call, CALL_ROW);

/* By the bits SHORT, RUNTIME and DELAY. */
static const char *const outlier_kinds[8] = {NULL,    "short",       "runtime",       "short+runtime",
                                             "delay", "short+delay", "runtime+delay", "short+runtime+delay"};

#define PAIR_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(pair, call), "launch", INT, ID, "the call's position in traceEvents", NULL)                      \
    CELL(OF(pair, work), "work", INT, ID, "the work's position in traceEvents", NULL)                        \
    CELL(ID(pair, correlation), "correlation", INT, ID, "correlation id", NULL)                              \
    CELL(TEXT_ID(pair, call_name), "call", TEXT, NONE, "launching call", NULL)                               \
    CELL(TEXT_ID(pair, work_name), "name", TEXT, NONE, "kernel, copy or memset", NULL)                       \
    CELL(OF(pair, cpu), "cpu_duration_us", TIME, US, "duration of the call", "call")                         \
    CELL(OF(pair, gpu), "gpu_duration_us", TIME, US, "duration of the work", "work")                         \
    CELL(OF(pair, delay), "launch_delay_us", TIME, US,                                                       \
         "from the call's end to the work's start, 0 when it starts before that", "delay")                   \
    CELL(WORD(pair, outlier, outlier_kinds), "outlier", TEXT, NONE,                                          \
         "short, runtime, delay, joined by +; unknown when none", NULL)
RS_RECORD(pair, PAIR_ROW);

enum { CALLS, PAIRS };

static rs_status wanted_outliers(const rs_options *o, unsigned *mask, rs_error *err)
{
    *mask = 0;
    const char *text = rs_options_text(o, "outliers");
    while (text && *text) {
        size_t n = strcspn(text, ","), k = 0;
        while (k < 3 && (strlen(outlier_names[k]) != n || memcmp(outlier_names[k], text, n) != 0)) k++;
        if (k == 3)
            return rs_fail(err, RS_ERR_USAGE, "--outliers knows short, runtime and delay, not '%.*s'",
                           (int)(n < 40 ? n : 40), text);
        *mask |= 1u << k;
        text += n + (text[n] == ',');
    }
    return RS_OK;
}

static int64_t cutoff(const rs_options *o, const char *name)
{
    double ns = rs_options_real(o, name) * 1000;
    return rs_int_of(ns);
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_work *w;
    unsigned mask;
    bool memory = !rs_options_flag(run->options, "no-memory"), all = rs_options_flag(run->options, "list");
    int64_t runtime = cutoff(run->options, "runtime-cutoff"), late = cutoff(run->options, "delay-cutoff");
    RS_TRY(wanted_outliers(run->options, &mask, err));
    RS_TRY(rs_trace_work_details(trace, run->policy, &w, err));
    rs_keyed *order = RS_ROOM(out, rs_keyed, w->n);
    size_t n = 0;
    for (size_t i = 0; order && i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW || (!memory && w->class[i] == RS_CLASS_MEMORY)) continue;
        order[n++] = (rs_keyed){w->launch[i], (uint32_t)i};
    }
    if (!order || !rs_keyed_sort(order, n)) return rs_fail_nomem(err, "launches");
    for (size_t k = 0; k < n; k++) {
        size_t i = order[k].value;
        uint32_t call = w->launch[i];
        int64_t delay = rs_sub_sat(w->start[i], rs_event_end(e, call));
        pair x = {.call = call,
                  .work = w->row[i],
                  .call_name = rs_put_text(out, e->name[call]),
                  .work_name = RS_NO_STRING,
                  .correlation = w->correlation[i],
                  .cpu = e->duration[call] > 0 ? e->duration[call] : 0,
                  .gpu = rs_sub_sat(w->end[i], w->start[i]),
                  .delay = delay > 0 ? delay : 0};
        x.own_cpu = k && order[k - 1].key == call ? RS_NO_TIME : x.cpu;
        x.is[0] = x.gpu < x.cpu;
        x.is[1] = x.cpu > runtime;
        x.is[2] = x.delay > late;
        x.outlier = (uint8_t)(x.is[0] * SHORT | x.is[1] * RUNTIME | x.is[2] * DELAY);
        rs_put(out, CALLS, &x);
        if (!all && !(x.outlier & mask)) continue;
        x.work_name = rs_put_text(out, e->name[x.work]);
        rs_put(out, PAIRS, &x);
    }
    return RS_OK;
}

static void set_mean(const rs_relations *of, void *row)
{
    (void)of;
    call_sum *c = row;
    c->mean = (double)c->cpu / 1000 / (double)c->launches;
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (of->items[CALLS].n == 0)
        rs_result_note(result, "rank %lld: no launches with GPU work", (long long)partial->rank);
}

/* ---- the plan ----------------------------------------------------------------------------------------- */

static const rs_aggregate by_call[] = {RS_KEY_TEXT(call_sum, name, pair, call_name),
                                       RS_KNOWN(call_sum, launches, pair, own_cpu),
                                       RS_SUMMED(call_sum, cpu, pair, own_cpu),
                                       RS_SUMMED(call_sum, delay, pair, delay),
                                       RS_GREATEST(call_sum, delay_max, pair, delay),
                                       RS_SUMMED(call_sum, outliers[0], pair, is[0]),
                                       RS_SUMMED(call_sum, outliers[1], pair, is[1]),
                                       RS_SUMMED(call_sum, outliers[2], pair, is[2]),
                                       RS_BY_OWN_HAND(call_sum, mean),
                                       RS_DESCRIBED(call_sum, delays, pair, delay, 1000)};
static const rs_plan_relation relations[] = {
    [CALLS] = {RS_GROUPED(CALLS, call_sum, pair, by_call), .make = put, .amend = set_mean},
    [PAIRS] = {RS_LISTED_AS(PAIRS, pair, pair)},
};
static const rs_plan_table
    call_table = {RS_PLAN_TABLE("launches", "one row is one launching call's name of one rank", call),
                  .relation = CALLS},
    pair_table = {RS_PLAN_TABLE("list", "one row is one launch and one piece of its work", pair),
                  .relation = PAIRS, .choice = RS_WITH(RS_IS_SET("list"), RS_IS_SET("outliers"))};
static const rs_table_spec *const tables[] = {&call_table.spec, &pair_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_analysis rs_analysis_launches = {
    .name = "launches",
    .group = "GPU time",
    .help = "How long launching takes and how long launched work waits",
    .about = "By launching call: its duration, the delay from its end to the start of its work, and three "
             "kinds of\n"
             "outliers: work that is shorter than its call, calls longer than --runtime-cutoff, delays "
             "longer than\n"
             "--delay-cutoff. --list shows every launch, --outliers only those kinds. All calls that own GPU "
             "work\n"
             "count, whatever their name: CUDA, HIP, driver and graph launches.",
    .examples =
        "rankscope launches trace.json.gz\nrankscope launches --outliers delay --delay-cutoff 1000 traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
};
