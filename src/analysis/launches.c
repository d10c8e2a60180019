/* launches: how long launching takes and how long the GPU lets launched work wait. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"

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

typedef struct pair {
    uint32_t call, work;           /* rows */
    uint32_t call_name, work_name; /* into names; only for pairs to be listed */
    int64_t correlation;
    int64_t cpu, gpu, delay; /* ns */
    uint8_t outlier;
} pair;

typedef struct call_sum {
    const char *name;
    uint32_t last_call; /* calls own neighbouring pairs */
    int64_t launches, outliers[3];
    int64_t cpu, delay, delay_max;
    rs_description delays; /* us */
    double p95;
} call_sum;

#define CALL_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(call_sum, name), "call", TEXT, NONE, "launching call", NULL)                                     \
    CELL(OF(call_sum, launches), "launches", INT, COUNT, "calls that own GPU work", NULL)                    \
    CELL(OF(call_sum, delays.n), "gpu_events", INT, COUNT, "GPU work they own; a graph launch owns many",    \
         "GPU events")                                                                                       \
    CELL(OF(call_sum, cpu), "call_us", TIME, US, "total duration of the calls", "calls")                     \
    CELL(SET, "call_mean_us", REAL, US, "mean duration of a call", "mean call")                              \
    CELL(OF(call_sum, delay), "delay_us", TIME, US, "total time from a call's end to its work's start",      \
         "delay")                                                                                            \
    CELL(OF(call_sum, delays.mean), "delay_mean_us", REAL, US, "mean delay of a piece of work",              \
         "mean delay")                                                                                       \
    CELL(OF(call_sum, delays.p50), "delay_median_us", REAL, US, "median delay", "median delay")              \
    CELL(OF(call_sum, p95), "delay_p95_us", REAL, US, "delay that 95 % do not exceed", "95 % delay")         \
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
    CELL(SET, "call", TEXT, NONE, "launching call", NULL)                                                    \
    CELL(SET, "name", TEXT, NONE, "kernel, copy or memset", NULL)                                            \
    CELL(OF(pair, cpu), "cpu_duration_us", TIME, US, "duration of the call", "call")                         \
    CELL(OF(pair, gpu), "gpu_duration_us", TIME, US, "duration of the work", "work")                         \
    CELL(OF(pair, delay), "launch_delay_us", TIME, US,                                                       \
         "from the call's end to the work's start, 0 when it starts before that", "delay")                   \
    CELL(WORD(pair, outlier, outlier_kinds), "outlier", TEXT, NONE,                                          \
         "short, runtime, delay, joined by +; unknown when none", NULL)
RS_RECORD(pair, PAIR_ROW);

#define COUNT(x) (sizeof(x) / sizeof *(x))
static const rs_table_spec summary_table = {"launches", "one row is one launching call's name of one rank",
                                            call_columns, COUNT(call_columns)};
static const rs_table_spec list_table = {"list", "one row is one launch and one piece of its work",
                                         pair_columns, COUNT(pair_columns)};
static const rs_table_spec *const own_tables[] = {&summary_table, &list_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, 2}};

/* ---- one rank --------------------------------------------------------------------------------------- */

typedef struct launch_partial {
    rs_arena arena;
    pair *pairs; /* those to be listed */
    size_t n_pairs, pairs_capacity;
    call_sum *calls;
    size_t n_calls, calls_capacity;
    const char **names;
    size_t n_names, names_capacity;
} launch_partial;

static void free_partial(void *partial)
{
    launch_partial *p = partial;
    if (!p) return;
    rs_arena_clear(&p->arena);
    rs_free(p->pairs);
    rs_free(p->calls);
    rs_free(p->names);
    rs_free(p);
}

/* The text of a name, copied once. RS_NO_ROW when out of memory. */
static uint32_t keep_name(launch_partial *p, rs_map64 *known, const rs_events *e, uint32_t row)
{
    bool is_new;
    uint32_t *place = rs_map64_put(known, e->name[row], &is_new);
    if (!place || !is_new) return place ? *place : RS_NO_ROW;
    const rs_string *s = &e->strings.items[e->name[row]];
    char *copy = rs_arena_strndup(&p->arena, s->text, s->length);
    if (!copy || !RS_GROW_ONE(p->names, p->n_names, p->names_capacity)) return RS_NO_ROW;
    *place = (uint32_t)p->n_names;
    p->names[p->n_names] = copy;
    return (uint32_t)p->n_names++;
}

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
    return ns >= 9e18 ? INT64_MAX : ns <= -9e18 ? INT64_MIN : (int64_t)ns;
}

/* Adds one pair to its call's sum. */
static bool add_to_call(launch_partial *p, rs_map64 *known, const rs_events *e, const pair *x)
{
    bool is_new;
    uint32_t *place = rs_map64_put(known, e->name[x->call], &is_new);
    if (!place || (is_new && !RS_GROW_ONE(p->calls, p->n_calls, p->calls_capacity))) return false;
    if (is_new) {
        const rs_string *s = &e->strings.items[e->name[x->call]];
        *place = (uint32_t)p->n_calls;
        p->calls[p->n_calls++] =
            (call_sum){.name = rs_arena_strndup(&p->arena, s->text, s->length), .last_call = RS_NO_ROW};
        if (!p->calls[*place].name) return false;
    }
    call_sum *c = &p->calls[*place];
    if (c->last_call != x->call) {
        c->launches++;
        c->cpu = rs_add_sat(c->cpu, x->cpu);
        c->last_call = x->call;
    }
    c->delay = rs_add_sat(c->delay, x->delay);
    if (x->delay > c->delay_max) c->delay_max = x->delay;
    for (int k = 0; k < 3; k++) c->outliers[k] += (x->outlier >> k) & 1;
    return true;
}

/* Median and tail of the delays of each call name. places: name -> call sum. */
static bool describe_delays(launch_partial *p, const rs_map64 *places, const rs_events *e, const pair *pairs,
                            size_t n)
{
    const double tail = 0.95;
    double *values = rs_malloc(n * sizeof *values);
    rs_keyed *order = rs_malloc(n * sizeof *order);
    bool ok = values && order;
    for (size_t i = 0; ok && i < n; i++)
        order[i] = (rs_keyed){*rs_map64_get(places, e->name[pairs[i].call]), (uint32_t)i};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0, end; ok && i < n; i = end) {
        size_t m = 0;
        for (end = i; end < n && order[end].key == order[i].key; end++)
            values[m++] = (double)pairs[order[end].value].delay / 1000;
        call_sum *c = &p->calls[order[i].key];
        c->delays = rs_describe(values, m);
        rs_place_quantiles(values, m, &tail, 1);
        c->p95 = rs_quantile(values, m, tail);
    }
    rs_free(values);
    rs_free(order);
    return ok;
}

static rs_status own_pairs(const rs_run *run, rs_trace *trace, launch_partial *p, unsigned mask,
                           rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_work *w;
    rs_status status = rs_trace_work_details(trace, run->policy, &w, err);
    if (status != RS_OK) return status;
    bool memory = !rs_options_flag(run->options, "no-memory"), all = rs_options_flag(run->options, "list");
    int64_t runtime = cutoff(run->options, "runtime-cutoff"), late = cutoff(run->options, "delay-cutoff");
    pair *pairs = rs_malloc(w->n * sizeof *pairs);
    rs_keyed *order = rs_malloc(w->n * sizeof *order);
    rs_map64 call_places = {0}, name_places = {0};
    size_t n = 0;
    bool ok = pairs && order;
    for (size_t i = 0; ok && i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW || (!memory && w->class[i] == RS_CLASS_MEMORY)) continue;
        order[n++] = (rs_keyed){w->launch[i], (uint32_t)i};
    }
    ok = ok && rs_keyed_sort(order, n);
    for (size_t k = 0; ok && k < n; k++) {
        size_t i = order[k].value;
        uint32_t call = w->launch[i];
        int64_t delay = rs_sub_sat(w->start[i], rs_event_end(e, call));
        pair x = {.call = call,
                  .work = w->row[i],
                  .correlation = w->correlation[i],
                  .cpu = e->duration[call] > 0 ? e->duration[call] : 0,
                  .gpu = rs_sub_sat(w->end[i], w->start[i]),
                  .delay = delay > 0 ? delay : 0};
        x.outlier = (uint8_t)((x.gpu < x.cpu ? SHORT : 0) | (x.cpu > runtime ? RUNTIME : 0) |
                              (x.delay > late ? DELAY : 0));
        pairs[k] = x;
        ok = add_to_call(p, &call_places, e, &x);
        if (!ok || !(all || (x.outlier & mask))) continue;
        x.call_name = keep_name(p, &name_places, e, x.call);
        x.work_name = keep_name(p, &name_places, e, x.work);
        ok = x.call_name != RS_NO_ROW && x.work_name != RS_NO_ROW &&
             RS_GROW_ONE(p->pairs, p->n_pairs, p->pairs_capacity);
        if (ok) p->pairs[p->n_pairs++] = x;
    }
    ok = ok && describe_delays(p, &call_places, e, pairs, n);
    rs_map64_clear(&call_places);
    rs_map64_clear(&name_places);
    rs_free(pairs);
    rs_free(order);
    return ok ? RS_OK : rs_fail_nomem(err, "launches");
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    unsigned mask;
    rs_status status = wanted_outliers(run->options, &mask, err);
    if (status != RS_OK) return status;
    launch_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "launches");
    status = own_pairs(run, trace, p, mask, err);
    if (status != RS_OK) {
        free_partial(p);
        return status;
    }
    *partial = p;
    return RS_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------- */

static rs_status add_calls(rs_table *t, int64_t rank_number, const launch_partial *p, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_calls; i++) {
        const call_sum *c = &p->calls[i];
        rs_table_put(t, &call_record, rank_number, c);
        rs_table_set_real(t, "call_mean_us", (double)c->cpu / 1000 / (double)c->launches);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status add_list(rs_table *t, int64_t rank_number, const launch_partial *p, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n_pairs; i++) {
        rs_table_put(t, &pair_record, rank_number, &p->pairs[i]);
        rs_table_set_text(t, "call", p->names[p->pairs[i].call_name]);
        rs_table_set_text(t, "name", p->names[p->pairs[i].work_name]);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    result->main_table =
        rs_options_flag(run->options, "list") || rs_options_is_set(run->options, "outliers") ? 1 : 0;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const launch_partial *p = partials[i].value;
        if (p->n_calls == 0) {
            rs_result_note(result, "rank %lld: no launches with GPU work", (long long)partials[i].rank);
            continue;
        }
        status = add_calls(result->tables[0], partials[i].rank, p, err);
        if (status == RS_OK) status = add_list(result->tables[1], partials[i].rank, p, err);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field pair_fields[] = {RS_FIELD_INDEX(pair, call_name, launch_partial, n_names),
                                       RS_FIELD_INDEX(pair, work_name, launch_partial, n_names)};
static const rs_layout pair_layout = RS_RECORD_LAYOUT_AND(pair, pair, pair_fields);

static const rs_field call_fields[] = {
    RS_FIELD(call_sum, name),
    RS_FIELD(call_sum, launches),
    RS_FIELD_ARRAY(call_sum, outliers),
    RS_FIELD(call_sum, cpu),
    RS_FIELD(call_sum, delay),
    RS_FIELD(call_sum, delay_max),
    RS_FIELD_STRUCT(call_sum, delays, &rs_description_layout),
    RS_FIELD(call_sum, p95),
};
static const rs_layout call_layout = RS_LAYOUT(call_sum, call_fields);

static const rs_field launch_fields[] = {
    RS_FIELD_VALUES(launch_partial, names, n_names),
    RS_FIELD_LIST(launch_partial, pairs, n_pairs, &pair_layout),
    RS_FIELD_LIST(launch_partial, calls, n_calls, &call_layout),
};
static const rs_layout launch_layout = RS_LAYOUT(launch_partial, launch_fields);

const rs_analysis rs_analysis_launches = {
    .name = "launches",
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
    .n_options = COUNT(options),
    .facets = {&rs_facet_work_details},
    .table_sets = sets,
    .n_table_sets = COUNT(sets),
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &launch_layout,
};
