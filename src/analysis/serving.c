/* serving: what an engine's steps are, where a token's time goes, and what differs in the slow ones. */
#include "analysis/serving.h"

#include <math.h>
#include <string.h>

#include "analysis/steps.h"
#include "base/ascii.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/nest.h"
#include "trace/selection.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "token|step|host|difference", "token",
     "token: percentiles of latencies; step: each step; host: what the host did while the GPU waited for it; difference: "
     "what is longer in the slowest steps"},
    {"top", RS_OPTION_INT, "N", NULL, "30",
     "only the first N rows of a rank in the tables host and differences; 0: all"},
    {"benchmark", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "JSON of vLLM's `bench serve --save-detailed` or SGLang's `bench_serving --output-details`: when requests were sent"},
    {"benchmark-clock", RS_OPTION_REAL, "SECONDS", NULL, NULL,
     "what is added to the benchmark's times to count from 1970; not needed where they do"},
    {"log", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "log of a vLLM or SGLang server: requests that run and wait, KV cache"},
    {"log-zone", RS_OPTION_TEXT, "+HH:MM", NULL, NULL,
     "time zone of the log; not needed where its lines are at the time of the trace in one zone only"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'percentile = 99, time_us > 50000'"},
};

static const char *const phase_words[] = {"idle", "prefill", "decode", "mixed", "diffusion", "unknown"};
enum { FROM_ANNOTATION, FROM_KERNELS, FROM_NOTHING };
static const char *const from_words[] = {"annotation", "kernels", "nothing"};

#define PARTS(CELL, row)                                                                                     \
    CELL(OF(row, part[RS_SERVING_HOST]), "host_us", TIME, US,                                                \
         "nothing runs on the GPU, and its next work was not even launched: scheduler, sampling, Python",    \
         "host")                                                                                             \
    CELL(OF(row, part[RS_SERVING_LAUNCH]), "launch_us", TIME, US,                                            \
         "nothing runs, and the next work is launched already: latency, or a dependency", "launch")          \
    CELL(OF(row, part[RS_SERVING_COMPUTE]), "compute_us", TIME, US, "computation runs", "compute")           \
    CELL(OF(row, part[RS_SERVING_COMM]), "exposed_comm_us", TIME, US,                                        \
         "communication runs and no computation", "exposed comm")                                            \
    CELL(OF(row, part[RS_SERVING_COPIES]), "exposed_copy_us", TIME, US,                                      \
         "copies or memsets run, and neither of them", "exposed copies")                                     \
    CELL(OF(row, part[RS_SERVING_OTHER]), "other_us", TIME, US,                                              \
         "other work, idle before work whose launch is not in the file, time between recordings", "other")

#define LATENCY_ROW(CELL)                                                                                        \
    CELL(ID(rs_serving_latency, rank), "rank", INT, ID, "rank", NULL)                                            \
    CELL(                                                                                                        \
        WORD(rs_serving_latency, metric, rs_serving_metrics), "metric", TEXT, NONE,                              \
        "time_to_first_token: from when a request was sent to its first token (--benchmark); first_token_step: " \
        "its step alone; between_tokens: of a request in decode; step: of one phase",                            \
        NULL)                                                                                                    \
    CELL(SET, "phase", TEXT, NONE, "of the metric step: phase of the steps", NULL)                               \
    CELL(OF(rs_serving_latency, percentile), "percentile", INT, NONE,                                            \
         "of the sample by nearest rank; 100: the longest. One needs 2, 10 or 100 steps", "p")                   \
    CELL(OF(rs_serving_latency, time), "time_us", TIME, US,                                                      \
         "that long or less; queue to delivery make it up", "time")                                              \
    CELL(OF(rs_serving_latency, part[RS_SERVING_QUEUE]), "queue_us", TIME, US,                                   \
         "from when the request was sent until its step begins", "queue")                                        \
    PARTS(CELL, rs_serving_latency)                                                                              \
    CELL(OF(rs_serving_latency, part[RS_SERVING_DELIVERY]), "delivery_us", TIME, US,                             \
         "from the end of its step until the client has the token", "delivery")                                  \
    CELL(OF(rs_serving_latency, in_prefill), "in_prefill_us", TIME, US,                                          \
         "of between_tokens: in steps that prefill other requests and decode nothing", "in prefill")             \
    CELL(OF(rs_serving_latency, low), "low_us", TIME, US, "95 % interval of the percentile over the steps",      \
         "from")                                                                                                 \
    CELL(OF(rs_serving_latency, high), "high_us", TIME, US, "its upper end", "to")                               \
    CELL(OF(rs_serving_latency, n), "samples", INT, COUNT, "tokens, requests or steps of the sample", NULL)      \
    CELL(OF(rs_serving_latency, step), "step", INT, ID, "step in which the shown one ends", NULL)
RS_RECORD(latency, LATENCY_ROW);

#define STEP_ROW(CELL)                                                                                         \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                  \
    CELL(OF(rs_serving_row, number), "step", INT, ID, "number of the step", NULL)                              \
    CELL(WORD(rs_serving_row, phase, phase_words), "phase", TEXT, NONE,                                        \
         "prefill, decode, mixed, diffusion; idle: no requests", NULL)                                         \
    CELL(WORD(rs_serving_row, from, from_words), "phase_from", TEXT, NONE,                                     \
         "annotation of the engine; kernels: of attention, by their names; nothing", NULL)                     \
    CELL(OF(rs_serving_row, begin), "start_us", MOMENT, US, "when the step before ended", "start")             \
    CELL(                                                                                                      \
        OF(rs_serving_row, time), "time_us", TIME, US,                                                         \
        "from the end of the step before to its own, which is period_us of `steps`; host to other make it up", \
        "time")                                                                                                \
    PARTS(CELL, rs_serving_row)                                                                                \
    CELL(OF(rs_serving_row, requests), "requests", INT, COUNT, "in the batch", NULL)                           \
    CELL(OF(rs_serving_row, tokens), "tokens", INT, COUNT, "computed for them", NULL)                          \
    CELL(OF(rs_serving_row, context_requests), "prefill_requests", INT, COUNT, "of them in prefill",           \
         "in prefill")                                                                                         \
    CELL(OF(rs_serving_row, context_tokens), "prefill_tokens", INT, COUNT, "computed in prefill", NULL)        \
    CELL(OF(rs_serving_row, generation_requests), "decode_requests", INT, COUNT, "of them in decode",          \
         "in decode")
RS_RECORD(step, STEP_ROW);

/* What the host was in, in the time that is its own. */
typedef enum host_class {
    HOST_NOTHING, /* nothing was recorded */
    HOST_OTHER,
    HOST_REQUESTS,
    HOST_SCHEDULER,
    HOST_INPUT,
    HOST_MODEL,
    HOST_SAMPLING,
    HOST_OUTPUT,
    HOST_TOKENIZER,
    N_HOST_CLASSES
} host_class;
static const char *const host_words[N_HOST_CLASSES] = {
    "not recorded", "other", "requests", "scheduler", "input", "model", "sampling", "output", "tokenizer"};

typedef struct host_row {
    int64_t time, all;
    uint32_t name;
    uint8_t what;
} host_row;

#define HOST_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(WORD(host_row, what, host_words), "class", TEXT, NONE,                                              \
         "scheduler, input (of the model), model, sampling, output, tokenizer, requests, other; by names",   \
         NULL)                                                                                               \
    CELL(TEXT_ID(host_row, name), "name", TEXT, NONE, "the annotation or Python function that shows it",     \
         NULL)                                                                                               \
    CELL(OF(host_row, time), "time_us", TIME, US,                                                            \
         "host_us of all steps in which the launching thread is in it", "time")                              \
    CELL(SHARE(host_row, time, all), "share_pct", REAL, PERCENT, "of host_us of all steps", "share %")
RS_RECORD(host, HOST_ROW);

/* Typical steps: from the 40th to the 60th percentile of those of a phase; slow ones: from the 99th. */
enum { LEAST_STEPS = 20 };
enum { DIFFERS_TIME, DIFFERS_BATCH, DIFFERS_PART, DIFFERS_KERNEL, N_DIFFERS };
static const char *const differs_words[N_DIFFERS] = {"time", "batch", "part", "kernel"};

/* typical, slow: ns, or what the batch has, summed over these steps; n_...: executions; steps_...: how many. */
typedef struct difference {
    uint8_t what, phase;
    uint32_t name;
    int64_t typical, slow, n_typical, n_slow, steps_typical, steps_slow;
    double mean, mean_slow, more, by_count, by_time, weight; /* a step; times in us; weight: of the order */
} difference;

#define DIFFERENCE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                  \
    CELL(WORD(difference, phase, phase_words), "phase", TEXT, NONE, "phase of the steps", NULL)                \
    CELL(                                                                                                      \
        WORD(difference, what, differs_words), "kind", TEXT, NONE,                                             \
        "time: of a step; batch: requests or tokens; part: of its time, which add up to it; kernel: GPU work", \
        NULL)                                                                                                  \
    CELL(TEXT_ID(difference, name), "name", TEXT, NONE, "part, or kernel", NULL)                               \
    CELL(OF(difference, mean), "typical_us", REAL, US,                                                         \
         "mean of the typical steps (40th to 60th percentile of the phase); of a batch a count", "typical")    \
    CELL(OF(difference, mean_slow), "slow_us", REAL, US,                                                       \
         "mean of the slow steps (99th percentile and beyond)", "slow")                                        \
    CELL(OF(difference, more), "more_us", REAL, US, "slow_us less typical_us", "more")                         \
    CELL(OF(difference, by_count), "by_count_us", REAL, US,                                                    \
         "of more_us, by more executions of a typical length", "by count")                                     \
    CELL(OF(difference, by_time), "by_time_us", REAL, US, "of more_us, by longer executions", "by time")       \
    CELL(OF(difference, steps_typical), "typical_steps", INT, COUNT, "typical steps", NULL)                    \
    CELL(OF(difference, steps_slow), "slow_steps", INT, COUNT, "slow steps", NULL)
RS_RECORD(difference, DIFFERENCE_ROW);

#define REQUEST_ROW(CELL)                                                                                    \
    CELL(ID(rs_serving_request_row, rank), "rank", INT, ID, "rank", NULL)                                    \
    CELL(OF(rs_serving_request_row, request), "request", INT, ID,                                            \
         "its place among the benchmark's answered ones", NULL)                                              \
    CELL(OF(rs_serving_request_row, sent), "sent_us", MOMENT, US, "when the client sent it", "sent")         \
    CELL(OF(rs_serving_request_row, time), "first_token_us", TIME, US,                                       \
         "from then to its first token; queue to delivery make it up", "to first token")                     \
    CELL(OF(rs_serving_request_row, part[RS_SERVING_QUEUE]), "queue_us", TIME, US,                           \
         "until the step begins that gives its first token; earlier parts of its prompt are in it", "queue") \
    PARTS(CELL, rs_serving_request_row)                                                                      \
    CELL(OF(rs_serving_request_row, part[RS_SERVING_DELIVERY]), "delivery_us", TIME, US,                     \
         "from the end of that step until the client has the token", "delivery")                             \
    CELL(OF(rs_serving_request_row, step), "step", INT, ID, "the last step with prefill that ends by then",  \
         NULL)
RS_RECORD(request, REQUEST_ROW);

#define LOAD_ROW(CELL)                                                                                       \
    CELL(ID(rs_serving_load, rank), "rank", INT, ID, "rank whose steps are shown next to it", NULL)          \
    CELL(OF(rs_serving_load, at), "at_us", MOMENT, US, "time of the line; logs have whole seconds", "at")    \
    CELL(OF(rs_serving_load, running), "running", INT, COUNT, "requests that run", NULL)                     \
    CELL(OF(rs_serving_load, waiting), "waiting", INT, COUNT, "requests that wait", NULL)                    \
    CELL(OF(rs_serving_load, kv_pct), "kv_cache_pct", REAL, PERCENT, "of the KV cache in use", "KV cache %") \
    CELL(OF(rs_serving_load, preempted), "preempted", INT, COUNT,                                            \
         "requests that lost their KV cache and are computed again", NULL)                                   \
    CELL(OF(rs_serving_load, steps), "steps", INT, COUNT, "steps that end from then to the next line", NULL) \
    CELL(OF(rs_serving_load, step_time), "mean_step_us", TIME, US, "their mean time", "mean step")           \
    CELL(OF(rs_serving_load, tokens), "tokens", INT, COUNT, "computed in them", NULL)
RS_RECORD(load, LOAD_ROW);

/* ---- where a rank's time goes ---------------------------------------------------------------------------- */

typedef struct intervals {
    rs_interval *items;
    size_t n, capacity;
} intervals;

enum { COMPUTE, COMM, COPIES, OTHER, LAUNCH, N_SETS };

/* Idle time before pieces of work from `reach` on, as `summary` has it: before the next launch it is the host's, which is the rest. */
static bool add_idle(const rs_trace *t, const rs_work *w, const uint32_t *order, int64_t reach,
                     intervals *sets)
{
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        const uint32_t k = order[i];
        const int64_t start = w->start[k];
        if (start > reach && w->launch[k] == RS_NO_ROW) {
            ok = RS_APPEND(&sets[OTHER], (rs_interval){reach, start});
        } else if (start > reach) {
            const int64_t launch = t->events->start[w->launch[k]], from = launch > reach ? launch : reach;
            ok = from >= start || RS_APPEND(&sets[LAUNCH], (rs_interval){from, start});
        }
        if (w->end[k] > reach) reach = w->end[k];
    }
    return ok;
}

static bool fill_sets(const rs_trace *t, const rs_work *w, const uint32_t *order, int64_t begin,
                      intervals *sets)
{
    static const rs_class classes[] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY, RS_CLASS_OTHER};
    bool ok = true;
    for (int k = 0; ok && k < OTHER; k++) ok = rs_work_union(w, classes[k], &sets[k].items, &sets[k].n);
    for (size_t i = 0; ok && i < w->n; i++)
        if (w->class[i] == RS_CLASS_OTHER && w->end[i] > w->start[i])
            ok = RS_APPEND(&sets[OTHER], (rs_interval){w->start[i], w->end[i]});
    RS_LOCAL rs_interval *between = rs_malloc((t->n_recordings + 1) * sizeof *between);
    const size_t n = ok && between ? rs_work_gaps(t, w, between) : 0;
    for (size_t i = 0; ok && i < n; i++) ok = RS_APPEND(&sets[OTHER], between[i]);
    ok = ok && between && add_idle(t, w, order, begin, sets);
    ok = ok && (!sets[OTHER].n || rs_intervals_sort(sets[OTHER].items, sets[OTHER].n));
    if (ok && sets[OTHER].n) sets[OTHER].n = rs_intervals_unite(sets[OTHER].items, sets[OTHER].n);
    return ok;
}

static rs_status put_stretches(rs_trace *t, const rs_policy *policy, rs_interval whole, rs_relations *out,
                               rs_error *err)
{
    static const uint8_t parts[] = {RS_SERVING_COMPUTE, RS_SERVING_COMM,   RS_SERVING_COPIES,
                                    RS_SERVING_OTHER,   RS_SERVING_LAUNCH, RS_SERVING_HOST};
    const rs_work *w;
    const uint32_t *order;
    intervals sets[N_SETS] = {{0}};
    rs_interval_set views[N_SETS];
    rs_divisions all = {0};
    RS_TRY(rs_trace_work_details(t, policy, &w, err));
    RS_TRY(rs_trace_work_by_start(t, policy, &order, err));
    bool ok = fill_sets(t, w, order, whole.start, sets);
    for (int k = 0; k < N_SETS; k++) views[k] = (rs_interval_set){sets[k].items, sets[k].n};
    ok = ok && rs_intervals_divide(views, N_SETS, whole, N_SETS + 1, &all);
    for (size_t i = 0; ok && i < all.n; i++)
        rs_put(out, RS_SV_STRETCHES,
               &(rs_serving_stretch){all.items[i].from, all.items[i].time, parts[all.items[i].of]});
    for (int k = 0; k < N_SETS; k++) rs_free(sets[k].items);
    rs_free(all.items);
    return ok ? RS_OK : rs_fail_nomem(err, "serving");
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

static const rs_order by_number[] = {RS_RISING(rs_serving_row, number)};

static rs_serving_row *find_step(rs_serving_row *rows, size_t n, int64_t number)
{
    size_t at;
    RS_SEARCH(at, n, rows[at].number < number);
    return at < n && rows[at].number == number ? &rows[at] : NULL;
}

static void take_annotation(rs_serving_row *row, const rs_step_serving *s)
{
    row->phase = s->phase;
    row->from = FROM_ANNOTATION;
    row->requests = rs_add_sat(s->context_requests, s->generation_requests);
    row->tokens = rs_add_sat(s->context_q, s->generation_q);
    row->context_requests = s->context_requests;
    row->context_tokens = s->context_q;
    row->generation_requests = s->generation_requests;
}

/* The phase of steps that nothing describes, by what their attention is. */
static rs_status look_at_kernels(rs_trace *t, const rs_work *w, rs_serving_row *rows, size_t n, rs_error *err)
{
    const rs_events *e = t->events;
    RS_LOCAL uint8_t *of = rs_malloc(e->strings.n + 1);
    RS_LOCAL uint8_t *seen = rs_calloc(n + 1, 1);
    if (!of || !seen) return rs_fail_nomem(err, "serving");
    memset(of, 0xff, e->strings.n + 1);
    for (size_t i = 0; i < w->n; i++) {
        const uint32_t name = e->name[w->row[i]];
        rs_serving_row *row = w->step[i] < 0 ? NULL : find_step(rows, n, w->step[i]);
        if (!row || w->class[i] != RS_CLASS_COMPUTE) continue;
        if (of[name] == 0xff)
            of[name] = (uint8_t)rs_serving_phase_of_kernel(e->strings.items[name].text,
                                                           e->strings.items[name].length);
        seen[row - rows] |= (uint8_t)(1u << of[name]);
    }
    for (size_t i = 0; i < n; i++) {
        const bool prefill = seen[i] >> RS_SERVING_PREFILL & 1, decode = seen[i] >> RS_SERVING_DECODE & 1;
        if (!prefill && !decode) continue;
        rows[i].from = FROM_KERNELS;
        rows[i].phase = prefill && decode ? RS_SERVING_MIXED
                        : prefill         ? RS_SERVING_PREFILL
                                          : RS_SERVING_DECODE;
    }
    return RS_OK;
}

/* Rows of the steps whose period is known, by number; their parts are empty. */
static rs_status make_steps(rs_trace *t, const rs_work *w, const rs_rank_steps *p, rs_relations *out,
                            rs_serving_row **rows, size_t *n, rs_error *err)
{
    *n = 0;
    *rows = RS_ROOM(out, rs_serving_row, p->n + 1);
    if (!*rows) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < p->n; i++) {
        const rs_step_times *s = &p->items[i];
        if (s->period == RS_NO_TIME) continue;
        (*rows)[(*n)++] = (rs_serving_row){.number = s->number,
                                           .begin = rs_sub_sat(s->until, s->period),
                                           .until = s->until,
                                           .time = s->period,
                                           .phase = RS_SERVING_UNKNOWN,
                                           .from = FROM_NOTHING,
                                           .requests = RS_NO_VALUE,
                                           .tokens = RS_NO_VALUE,
                                           .context_requests = RS_NO_VALUE,
                                           .context_tokens = RS_NO_VALUE,
                                           .generation_requests = RS_NO_VALUE};
    }
    if (*n) RS_SORT(*rows, *n, by_number);
    for (size_t i = 0; i < p->n_serving; i++) {
        rs_serving_row *row = find_step(*rows, *n, p->serving[i].number);
        if (row) take_annotation(row, &p->serving[i]);
    }
    return p->n_serving ? RS_OK : look_at_kernels(t, w, *rows, *n, err);
}

/* ---- what the host does ------------------------------------------------------------------------------------ */

static bool has_word(const rs_string *name, const char *word)
{
    const size_t n = strlen(word);
    for (size_t at = 0; at + n <= name->length; at++) {
        size_t k = 0;
        while (k < n && rs_lower(name->text[at + k]) == word[k]) k++;
        if (k == n) return true;
    }
    return false;
}

/* By names that vLLM, SGLang and TensorRT-LLM give to annotations, functions and files. */
static host_class class_of_host(const rs_string *name)
{
    static const struct {
        const char *word;
        host_class class;
    } words[] = {
        {"tokeniz", HOST_TOKENIZER}, /* of "detokenizer", too */
        {"sampl", HOST_SAMPLING},
        {"bookkeep", HOST_OUTPUT},
        {"update_from_output", HOST_OUTPUT},
        {"process_batch_result", HOST_OUTPUT},
        {"postprocess", HOST_OUTPUT},
        {"preprocess", HOST_INPUT},
        {"prepare", HOST_INPUT},
        {"update_states", HOST_INPUT},
        {"recv_requests", HOST_REQUESTS},
        {"process_input_requests", HOST_REQUESTS},
        {"fetch_new_requests", HOST_REQUESTS},
        {"forward", HOST_MODEL},
        {"nn.module", HOST_MODEL},
        {"schedul", HOST_SCHEDULER},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(name, words[i].word)) return words[i].class;
    return HOST_OTHER;
}

/* The thread that launches most; UINT32_MAX: none. */
static uint32_t launching_thread(const rs_trace *t, const rs_work *w, rs_relations *out)
{
    size_t *n = RS_ROOM(out, size_t, t->events->n_threads + 1);
    uint32_t best = UINT32_MAX;
    for (size_t i = 0; n && i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW) continue;
        const uint32_t thread = t->events->thread[w->launch[i]];
        n[thread]++;
        if (best == UINT32_MAX || n[thread] > n[best]) best = thread;
    }
    return best;
}

static int64_t host_in(const rs_serving_ruler *ruler, const rs_events *e, uint32_t row)
{
    int64_t part[RS_N_SERVING_PARTS] = {0};
    rs_serving_measure(ruler, e->start[row], rs_event_end(e, row), part);
    return part[RS_SERVING_HOST];
}

/* Time of an event without what is in it belongs to the innermost event around that has a class, else to itself. */
static rs_status put_nest(const rs_events *e, const rs_nest *nest, const rs_serving_ruler *ruler,
                          int64_t *left, rs_relations *out, rs_error *err)
{
    RS_LOCAL uint8_t *classes = rs_calloc(e->strings.n + 1, 1);
    RS_LOCAL uint32_t *shows = rs_malloc((nest->n + 1) * sizeof *shows); /* by node: which shows the class */
    RS_LOCAL int64_t *own = rs_malloc((nest->n + 1) * sizeof *own);
    if (!classes || !shows || !own) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < nest->n; i++) {
        const uint32_t name = e->name[nest->row[i]], above = nest->parent[i];
        if (!classes[name]) classes[name] = (uint8_t)class_of_host(&e->strings.items[name]);
        const bool plain = classes[name] == HOST_OTHER && above != RS_NO_ROW &&
                           classes[e->name[nest->row[shows[above]]]] != HOST_OTHER;
        shows[i] = plain ? shows[above] : (uint32_t)i;
        own[i] = host_in(ruler, e, nest->row[i]);
        if (above != RS_NO_ROW) own[above] = rs_sub_sat(own[above], own[i]);
    }
    for (size_t i = 0; i < nest->n; i++) {
        const uint32_t name = e->name[nest->row[shows[i]]];
        if (own[i] <= 0) continue;
        *left = rs_sub_sat(*left, own[i]);
        rs_put(out, RS_SV_HOST,
               &(host_row){.time = own[i], .name = rs_put_text(out, name), .what = classes[name]});
    }
    return RS_OK;
}

static rs_status put_host(rs_trace *t, const rs_work *w, const rs_serving_ruler *ruler, int64_t all,
                          rs_relations *out, rs_error *err)
{
    const rs_events *e = t->events;
    const uint32_t thread = launching_thread(t, w, out);
    RS_LOCAL uint32_t *rows = rs_malloc((t->n_rows + 1) * sizeof *rows);
    RS_LOCAL int64_t *starts = rs_malloc((t->n_rows + 1) * sizeof *starts);
    RS_LOCAL int64_t *ends = rs_malloc((t->n_rows + 1) * sizeof *ends);
    rs_nest *nest = NULL;
    size_t n = 0;
    if (!rows || !starts || !ends) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < t->n_rows; i++) {
        const uint32_t row = rs_trace_row(t, i);
        const rs_kind kind = rs_event_kind(e, row);
        rs_serving_step step;
        if (e->thread[row] != thread || !rs_event_is_span(e, row) ||
            (kind != RS_KIND_USER_ANNOTATION && kind != RS_KIND_PYTHON_FUNCTION))
            continue;
        const rs_string *name = &e->strings.items[e->name[row]];
        if (kind == RS_KIND_USER_ANNOTATION && rs_serving_parse(name->text, name->length, &step)) continue;
        rows[n] = row;
        starts[n] = e->start[row];
        ends[n++] = rs_event_end(e, row);
    }
    RS_TRY(rs_nest_create(e, rows, starts, ends, n, &nest, err));
    int64_t left = all;
    rs_status status = put_nest(e, nest, ruler, &left, out, err);
    rs_nest_free(nest);
    if (left > 0)
        rs_put(out, RS_SV_HOST, &(host_row){.time = left, .name = RS_NO_STRING, .what = HOST_NOTHING});
    return status;
}

/* ---- what differs ------------------------------------------------------------------------------------------ */

enum { ORDINARY, TYPICAL, SLOW };

static int64_t nearest(const int64_t *sorted, size_t n, unsigned percent)
{
    const size_t rank = (n * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

static const rs_order rising[] = {RS_RISING_VALUE(int64_t)};

/* By step what it is in its phase; counts: of each phase the typical and slow ones. */
static bool sort_out(const rs_serving_row *rows, size_t n, uint8_t *is, int64_t counts[][3],
                     rs_relations *out)
{
    int64_t *times = RS_ROOM(out, int64_t, n + 1);
    for (uint8_t phase = 0; times && phase <= RS_SERVING_UNKNOWN; phase++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (rows[i].phase == phase) times[m++] = rows[i].time;
        if (m < LEAST_STEPS) continue;
        RS_SORT(times, m, rising);
        const int64_t low = nearest(times, m, 40), high = nearest(times, m, 60), slow = nearest(times, m, 99);
        for (size_t i = 0; i < n; i++) {
            if (rows[i].phase != phase) continue;
            is[i] = rows[i].time >= slow && slow > high           ? SLOW
                    : rows[i].time >= low && rows[i].time <= high ? TYPICAL
                                                                  : ORDINARY;
            counts[phase][is[i]]++;
        }
    }
    return times != NULL;
}

static void put_difference(rs_relations *out, const rs_serving_row *row, uint8_t is, int64_t counts[][3],
                           uint8_t what, uint32_t name, int64_t value)
{
    const bool slow = is == SLOW;
    if (value == RS_NO_VALUE) return;
    rs_put(out, RS_SV_DIFFERENCES,
           &(difference){.what = what,
                         .phase = row->phase,
                         .name = name,
                         .typical = slow ? 0 : value,
                         .slow = slow ? value : 0,
                         .n_typical = !slow,
                         .n_slow = slow,
                         .steps_typical = counts[row->phase][TYPICAL],
                         .steps_slow = counts[row->phase][SLOW]});
}

static rs_status put_differences(const rs_trace *t, const rs_work *w, rs_serving_row *rows, size_t n,
                                 rs_relations *out, rs_error *err)
{
    static const char *const names[RS_N_SERVING_PARTS] = {
        "queue", "host", "launch", "compute", "exposed comm", "exposed copies", "other", "delivery"};
    int64_t counts[RS_SERVING_UNKNOWN + 1][3] = {{0}};
    RS_LOCAL uint8_t *is = rs_calloc(n + 1, 1);
    if (!is || !sort_out(rows, n, is, counts, out)) return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < n; i++) {
        if (!is[i] || !counts[rows[i].phase][SLOW]) {
            is[i] = ORDINARY;
            continue;
        }
        put_difference(out, &rows[i], is[i], counts, DIFFERS_TIME, rs_put_string(out, "step"), rows[i].time);
        put_difference(out, &rows[i], is[i], counts, DIFFERS_BATCH, rs_put_string(out, "requests"),
                       rows[i].requests);
        put_difference(out, &rows[i], is[i], counts, DIFFERS_BATCH, rs_put_string(out, "tokens"),
                       rows[i].tokens);
        for (int k = RS_SERVING_HOST; k <= RS_SERVING_OTHER; k++)
            put_difference(out, &rows[i], is[i], counts, DIFFERS_PART, rs_put_string(out, names[k]),
                           rows[i].part[k]);
    }
    for (size_t i = 0; i < w->n; i++) {
        const rs_serving_row *row = w->step[i] < 0 ? NULL : find_step(rows, n, w->step[i]);
        if (row && is[row - rows])
            put_difference(out, row, is[row - rows], counts, DIFFERS_KERNEL,
                           rs_put_text(out, t->events->name[w->row[i]]), rs_sub_sat(w->end[i], w->start[i]));
    }
    return RS_OK;
}

static void amend_difference(const rs_relations *of, void *row)
{
    difference *d = row;
    const double per = d->what == DIFFERS_BATCH ? 1 : 1e3;
    (void)of;
    d->mean = d->steps_typical ? (double)d->typical / (double)d->steps_typical / per : (double)NAN;
    d->mean_slow = d->steps_slow ? (double)d->slow / (double)d->steps_slow / per : (double)NAN;
    d->more = d->mean_slow - d->mean;
    d->weight = fabs(d->more);
    d->by_count = d->by_time = (double)NAN;
    if (d->what != DIFFERS_KERNEL || isnan(d->more)) return;
    const double each = d->n_typical ? (double)d->typical / (double)d->n_typical / per : 0;
    d->by_count = d->n_typical ? each * ((double)d->n_slow / (double)d->steps_slow -
                                         (double)d->n_typical / (double)d->steps_typical)
                               : d->more;
    d->by_time = d->more - d->by_count;
}

/* ---- a rank ------------------------------------------------------------------------------------------------- */

static rs_status put_all(rs_trace *t, const rs_policy *policy, const rs_rank_steps *p, rs_relations *out,
                         rs_error *err)
{
    const rs_work *w;
    rs_serving_row *rows;
    rs_serving_ruler ruler = {0};
    int64_t host = 0;
    size_t n;
    RS_TRY(rs_trace_work_details(t, policy, &w, err));
    RS_TRY(make_steps(t, w, p, out, &rows, &n, err));
    out->absent = n == 0 || w->n == 0;
    if (out->absent) return RS_OK;
    rs_put(out, RS_SV_OWN, &(rs_serving_own){t->events->info.base_time_ns});
    RS_TRY(put_stretches(t, policy, (rs_interval){rows[0].begin, rows[n - 1].until}, out, err));
    if (!rs_serving_ruler_open(&ruler, RS_ROWS(rs_serving_stretch, out, RS_SV_STRETCHES),
                               out->items[RS_SV_STRETCHES].n))
        return rs_fail_nomem(err, "serving");
    for (size_t i = 0; i < n; i++) {
        rs_serving_measure(&ruler, rows[i].begin, rows[i].until, rows[i].part);
        host = rs_add_sat(host, rows[i].part[RS_SERVING_HOST]);
        rs_put(out, RS_SV_STEPS, &rows[i]);
    }
    rs_status status = put_host(t, w, &ruler, host, out, err);
    if (status == RS_OK) status = put_differences(t, w, rows, n, out, err);
    rs_serving_ruler_clear(&ruler);
    return status;
}

static rs_status put_rank(const rs_run *run, rs_trace *t, rs_relations *out, rs_error *err)
{
    void *steps = NULL;
    rs_policy all = *run->policy;
    all.whole = t->selection && (t->selection->by_step || t->selection->by_window);
    rs_status status = rs_steps_rank(run, t, &steps, err);
    if (status == RS_OK) status = put_all(t, &all, steps, out, err);
    rs_steps_free(steps);
    return status;
}

/* ---- the plan ----------------------------------------------------------------------------------------------- */

static void set_phase(rs_table *table, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_serving_latency *l = row;
    (void)run;
    (void)of;
    rs_table_set_text(table, "phase",
                      strcmp(rs_serving_metrics[l->metric], "step") == 0 ? phase_words[l->phase] : NULL);
}

static rs_status explain(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                         rs_error *err)
{
    size_t annotated = 0, shown = 0;
    (void)err;
    for (size_t r = 0; r < n; r++) {
        const rs_relations *p = partials[r].value;
        for (size_t i = 0; i < p->items[RS_SV_STEPS].n; i++) {
            const uint8_t from = RS_ROWS(rs_serving_row, p, RS_SV_STEPS)[i].from;
            annotated += from == FROM_ANNOTATION;
            shown += from == FROM_KERNELS;
        }
    }
    if (!annotated)
        rs_result_note(
            result,
            "no annotations of a serving engine: steps are those of `rankscope structure`, %s; requests and tokens are "
            "unknown. Record with the engine's own profiler, which annotates its steps",
            shown ? "phases are by the names of attention kernels" : "and nothing shows their phases");
    else if (!rs_options_is_set(run->options, "benchmark"))
        rs_result_note(result, "when requests came is not in traces: --benchmark FILE shows their queue");
    return RS_OK;
}

static const rs_field stretch_fields[] = {RS_FIELD(rs_serving_stretch, from),
                                          RS_FIELD(rs_serving_stretch, time),
                                          RS_FIELD_BELOW(rs_serving_stretch, of, RS_N_SERVING_PARTS)};
static const rs_layout stretch_layout = RS_LAYOUT(rs_serving_stretch, stretch_fields);
static const rs_field own_fields[] = {RS_FIELD(rs_serving_own, base)};
static const rs_layout own_layout = RS_LAYOUT(rs_serving_own, own_fields);
static const rs_field step_fields[] = {RS_FIELD(rs_serving_row, until)};
static const rs_layout step_layout = RS_RECORD_LAYOUT_AND(rs_serving_row, step, step_fields);
static const rs_field latency_fields[] = {RS_FIELD_BELOW(rs_serving_latency, phase, RS_SERVING_UNKNOWN + 1)};
static const rs_layout latency_layout = RS_RECORD_LAYOUT_AND(rs_serving_latency, latency, latency_fields);

static const rs_aggregate by_host[] = {
    RS_KEY_BELOW(host_row, what, N_HOST_CLASSES, host_row, what),
    RS_KEY_TEXT(host_row, name, host_row, name),
    RS_SUMMED(host_row, time, host_row, time),
    RS_TOTAL_OF_ALL(host_row, all, time),
};
static const rs_aggregate by_difference[] = {
    RS_KEY_BELOW(difference, phase, RS_SERVING_UNKNOWN + 1, difference, phase),
    RS_KEY_BELOW(difference, what, N_DIFFERS, difference, what),
    RS_KEY_TEXT(difference, name, difference, name),
    RS_SUMMED(difference, typical, difference, typical),
    RS_SUMMED(difference, slow, difference, slow),
    RS_SUMMED(difference, n_typical, difference, n_typical),
    RS_SUMMED(difference, n_slow, difference, n_slow),
    RS_FIRST(difference, steps_typical, difference, steps_typical),
    RS_FIRST(difference, steps_slow, difference, steps_slow),
    RS_BY_OWN_HAND(difference, mean),
    RS_BY_OWN_HAND(difference, mean_slow),
    RS_BY_OWN_HAND(difference, more),
    RS_BY_OWN_HAND(difference, by_count),
    RS_BY_OWN_HAND(difference, by_time),
    RS_BY_OWN_HAND(difference, weight),
};
static const rs_order by_latency[] = {
    RS_RISING(rs_serving_latency, rank), RS_RISING(rs_serving_latency, metric),
    RS_RISING(rs_serving_latency, phase), RS_RISING(rs_serving_latency, percentile)};
static const rs_order by_host_time[] = {RS_FALLING(host_row, time), RS_RISING_TEXT(host_row, name)};
static const rs_order by_more[] = {RS_RISING(difference, phase), RS_RISING(difference, what),
                                   RS_FALLING(difference, weight), RS_RISING_TEXT(difference, name)};

static const rs_plan_relation relations[] = {
    [RS_SV_LATENCY] = {RS_LISTED(RS_SV_LATENCY, rs_serving_latency, &latency_layout),
                       .across = rs_serving_put_across, RS_IN_ORDER(by_latency)},
    [RS_SV_STEPS] = {RS_LISTED(RS_SV_STEPS, rs_serving_row, &step_layout), .make = put_rank},
    [RS_SV_HOST] = {RS_GROUPED(RS_SV_HOST, host_row, host_row, by_host), RS_IN_ORDER(by_host_time)},
    [RS_SV_DIFFERENCES] = {RS_GROUPED(RS_SV_DIFFERENCES, difference, difference, by_difference),
                           .amend = amend_difference, RS_IN_ORDER(by_more)},
    [RS_SV_REQUESTS] = {RS_LISTED_AS(RS_SV_REQUESTS, rs_serving_request_row, request),
                        .across = rs_plan_put_before},
    [RS_SV_LOAD] = {RS_LISTED_AS(RS_SV_LOAD, rs_serving_load, load), .across = rs_plan_put_before},
    [RS_SV_STRETCHES] = {RS_LISTED(RS_SV_STRETCHES, rs_serving_stretch, &stretch_layout)},
    [RS_SV_OWN] = {RS_LISTED(RS_SV_OWN, rs_serving_own, &own_layout)},
};
static const rs_plan_table
    latency_table = {RS_PLAN_TABLE("latency", "one row is one percentile of one latency", latency),
                     .relation = RS_SV_LATENCY, .set = set_phase},
    step_table = {RS_PLAN_TABLE("steps", "one row is one step", step), .relation = RS_SV_STEPS,
                  .choice = RS_WITH(RS_IS("by", "step"))},
    host_table = {RS_PLAN_TABLE("host", "one row is what the host did while the GPU waited for it", host),
                  .relation = RS_SV_HOST, .choice = RS_WITH(RS_IS("by", "host")), .top = "top"},
    difference_table = {RS_PLAN_TABLE(
                            "differences",
                            "one row is one thing that the slowest steps of a phase have more of, or less",
                            difference),
                        .relation = RS_SV_DIFFERENCES, .choice = RS_WITH(RS_IS("by", "difference")),
                        .top = "top"},
    request_table = {RS_PLAN_TABLE("requests", "one row is one request of --benchmark", request),
                     .relation = RS_SV_REQUESTS},
    load_table = {RS_PLAN_TABLE("load", "one row is one line of --log", load), .relation = RS_SV_LOAD};
static const rs_table_spec *const tables[] = {&latency_table.spec,    &step_table.spec,    &host_table.spec,
                                              &difference_table.spec, &request_table.spec, &load_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .absent_without = RS_SV_STEPS + 1, .more = explain,
                             .gate = true};

const rs_analysis rs_analysis_serving = {
    .name = "serving",
    .group = "GPU time",
    .help = "Serving: where the time to a first token and between tokens goes, what slow steps have more of",
    .about =
        "Steps are those that vLLM, SGLang, TensorRT-LLM, ATOM or xDiT annotate, with phase, requests and tokens; without\n"
        "annotations those of `rankscope structure`, with the phase that their attention kernels show. A step's time is from the\n"
        "end of the step before to its own. Each moment belongs to the first of these: computation, communication, a copy; else\n"
        "the GPU is idle: after its next work was launched (launch), or before (host).\n\n"
        "A request in decode gets a token at the end of each of its steps: between_tokens is from one to the next, by token,\n"
        "and in_prefill_us what of it other requests' prefill took. Requests have no names in traces: as many as were in prefill\n"
        "since the last step with decode are taken to be new, so parts of a long prompt count as requests of their own. The time\n"
        "to a first token needs when requests were sent (--benchmark). Percentiles are of the sample by nearest rank: each row is\n"
        "one that happened, and its parts add up to the nanosecond.\n\n"
        "Table differences compares the slowest steps of a phase (99th percentile) with typical ones (40th to 60th), of phases with\n"
        "20 steps and more: batch, parts of the time, and GPU work by name, by more executions or longer ones.",
    .examples = "rankscope serving trace.json.gz\nrankscope serving --by difference traces/\n"
                "rankscope serving --benchmark result.json --log server.log trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps},
    .plan = &plan,
    .follows = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS,
    .follows_not = "tokens are looked at over whole steps",
    .absent = "no steps with GPU work",
};
