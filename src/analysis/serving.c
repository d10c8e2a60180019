/* serving: what an engine's steps are, where a token's time goes, and what differs in the slow ones. */
#include "analysis/serving.h"

#include <math.h>
#include <string.h>

#include "base/order.h"

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

static const char *const host_words[RS_N_SV_HOST] = {
    "not recorded", "other", "requests", "scheduler", "input", "model", "sampling", "output", "tokenizer"};

#define HOST_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(WORD(rs_serving_host_row, what, host_words), "class", TEXT, NONE,                                   \
         "scheduler, input (of the model), model, sampling, output, tokenizer, requests, other; by names",   \
         NULL)                                                                                               \
    CELL(TEXT_ID(rs_serving_host_row, name), "name", TEXT, NONE,                                             \
         "the annotation or Python function that shows it", NULL)                                            \
    CELL(OF(rs_serving_host_row, time), "time_us", TIME, US,                                                 \
         "host_us of all steps in which the launching thread is in it", "time")                              \
    CELL(SHARE(rs_serving_host_row, time, all), "share_pct", REAL, PERCENT, "of host_us of all steps",       \
         "share %")
RS_RECORD(host, HOST_ROW);

static const char *const differs_words[RS_N_SV_DIFFERS] = {"time", "batch", "part", "kernel"};

#define DIFFERENCE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                  \
    CELL(WORD(rs_serving_difference, phase, phase_words), "phase", TEXT, NONE, "phase of the steps", NULL)     \
    CELL(                                                                                                      \
        WORD(rs_serving_difference, what, differs_words), "kind", TEXT, NONE,                                  \
        "time: of a step; batch: requests or tokens; part: of its time, which add up to it; kernel: GPU work", \
        NULL)                                                                                                  \
    CELL(TEXT_ID(rs_serving_difference, name), "name", TEXT, NONE, "part, or kernel", NULL)                    \
    CELL(OF(rs_serving_difference, mean), "typical_us", REAL, US,                                              \
         "mean of the typical steps (40th to 60th percentile of the phase); of a batch a count", "typical")    \
    CELL(OF(rs_serving_difference, mean_slow), "slow_us", REAL, US,                                            \
         "mean of the slow steps (99th percentile and beyond)", "slow")                                        \
    CELL(OF(rs_serving_difference, more), "more_us", REAL, US, "slow_us less typical_us", "more")              \
    CELL(OF(rs_serving_difference, by_count), "by_count_us", REAL, US,                                         \
         "of more_us, by more executions of a typical length", "by count")                                     \
    CELL(OF(rs_serving_difference, by_time), "by_time_us", REAL, US, "of more_us, by longer executions",       \
         "by time")                                                                                            \
    CELL(OF(rs_serving_difference, steps_typical), "typical_steps", INT, COUNT, "typical steps", NULL)         \
    CELL(OF(rs_serving_difference, steps_slow), "slow_steps", INT, COUNT, "slow steps", NULL)
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

#define FIT_ROW(CELL)                                                                                                                  \
    CELL(ID(rs_serving_fit, rank), "rank", INT, ID, "rank whose steps the requests are put next to", NULL)                             \
    CELL(OF(rs_serving_fit, requests), "requests", INT, COUNT, "sent and answered within the trace", NULL)                             \
    CELL(OF(rs_serving_fit, placed), "placed", INT, COUNT,                                                                             \
         "of them, with a step that gives their first token", NULL)                                                                    \
    CELL(                                                                                                                              \
        OF(rs_serving_fit, agreement_pct), "agreement_pct", REAL, PERCENT,                                                             \
        "of tokens that come when the batches of the steps say: 100 where the clocks agree to within a step and all requests are the " \
        "benchmark's; refused below 50",                                                                                               \
        "agreement %")
RS_RECORD(fit, FIT_ROW);

/* ---- the plan ----------------------------------------------------------------------------------------------- */

static void amend_difference(const rs_relations *of, void *row)
{
    rs_serving_difference *d = row;
    const double per = d->what == RS_SV_DIFFERS_BATCH ? 1 : 1e3;
    (void)of;
    d->mean = d->steps_typical ? (double)d->typical / (double)d->steps_typical / per : (double)NAN;
    d->mean_slow = d->steps_slow ? (double)d->slow / (double)d->steps_slow / per : (double)NAN;
    d->more = d->mean_slow - d->mean;
    d->weight = fabs(d->more);
    d->by_count = d->by_time = (double)NAN;
    if (d->what != RS_SV_DIFFERS_KERNEL || isnan(d->more)) return;
    const double each = d->n_typical ? (double)d->typical / (double)d->n_typical / per : 0;
    d->by_count = d->n_typical ? each * ((double)d->n_slow / (double)d->steps_slow -
                                         (double)d->n_typical / (double)d->steps_typical)
                               : d->more;
    d->by_time = d->more - d->by_count;
}

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
            annotated += from == RS_SV_ANNOTATED;
            shown += from == RS_SV_BY_KERNELS;
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

static const rs_field stretch_fields[] = {RS_FIELDS(rs_serving_stretch, from, time),
                                          RS_FIELD_BELOW(rs_serving_stretch, of, RS_N_SERVING_PARTS)};
static const rs_layout stretch_layout = RS_LAYOUT(rs_serving_stretch, stretch_fields);
static const rs_field own_fields[] = {RS_FIELD(rs_serving_own, base)};
static const rs_layout own_layout = RS_LAYOUT(rs_serving_own, own_fields);
static const rs_field step_fields[] = {RS_FIELD(rs_serving_row, until)};
static const rs_layout step_layout = RS_RECORD_LAYOUT_AND(rs_serving_row, step, step_fields);
static const rs_field latency_fields[] = {RS_FIELD_BELOW(rs_serving_latency, phase, RS_SERVING_UNKNOWN + 1)};
static const rs_layout latency_layout = RS_RECORD_LAYOUT_AND(rs_serving_latency, latency, latency_fields);

static const rs_aggregate by_host[] = {
    RS_KEY_BELOW(rs_serving_host_row, what, RS_N_SV_HOST, rs_serving_host_row, what),
    RS_KEY_TEXT(rs_serving_host_row, name, rs_serving_host_row, name),
    RS_SUMMED(rs_serving_host_row, time, rs_serving_host_row, time),
    RS_TOTAL_OF_ALL(rs_serving_host_row, all, time),
};
static const rs_aggregate by_difference[] = {
    RS_KEY_BELOW(rs_serving_difference, phase, RS_SERVING_UNKNOWN + 1, rs_serving_difference, phase),
    RS_KEY_BELOW(rs_serving_difference, what, RS_N_SV_DIFFERS, rs_serving_difference, what),
    RS_KEY_TEXT(rs_serving_difference, name, rs_serving_difference, name),
    RS_SUMMED(rs_serving_difference, typical, rs_serving_difference, typical),
    RS_SUMMED(rs_serving_difference, slow, rs_serving_difference, slow),
    RS_SUMMED(rs_serving_difference, n_typical, rs_serving_difference, n_typical),
    RS_SUMMED(rs_serving_difference, n_slow, rs_serving_difference, n_slow),
    RS_FIRST(rs_serving_difference, steps_typical, rs_serving_difference, steps_typical),
    RS_FIRST(rs_serving_difference, steps_slow, rs_serving_difference, steps_slow),
    RS_BY_OWN_HAND(rs_serving_difference, mean),
    RS_BY_OWN_HAND(rs_serving_difference, mean_slow),
    RS_BY_OWN_HAND(rs_serving_difference, more),
    RS_BY_OWN_HAND(rs_serving_difference, by_count),
    RS_BY_OWN_HAND(rs_serving_difference, by_time),
    RS_BY_OWN_HAND(rs_serving_difference, weight),
};
static const rs_order by_latency[] = {
    RS_RISING(rs_serving_latency, rank), RS_RISING(rs_serving_latency, metric),
    RS_RISING(rs_serving_latency, phase), RS_RISING(rs_serving_latency, percentile)};
static const rs_order by_host_time[] = {RS_FALLING(rs_serving_host_row, time),
                                        RS_RISING_TEXT(rs_serving_host_row, name)};
static const rs_order by_more[] = {
    RS_RISING(rs_serving_difference, phase), RS_RISING(rs_serving_difference, what),
    RS_FALLING(rs_serving_difference, weight), RS_RISING_TEXT(rs_serving_difference, name)};

static const rs_plan_relation relations[] = {
    [RS_SV_LATENCY] = {RS_LISTED(RS_SV_LATENCY, rs_serving_latency, &latency_layout),
                       .across = rs_serving_put_across, RS_IN_ORDER(by_latency)},
    [RS_SV_STEPS] = {RS_LISTED(RS_SV_STEPS, rs_serving_row, &step_layout), .make = rs_serving_put_rank},
    [RS_SV_HOST] = {RS_GROUPED(RS_SV_HOST, rs_serving_host_row, rs_serving_host_row, by_host),
                    RS_IN_ORDER(by_host_time)},
    [RS_SV_DIFFERENCES] = {RS_GROUPED(RS_SV_DIFFERENCES, rs_serving_difference, rs_serving_difference,
                                      by_difference),
                           .amend = amend_difference, RS_IN_ORDER(by_more)},
    [RS_SV_REQUESTS] = {RS_LISTED_AS(RS_SV_REQUESTS, rs_serving_request_row, request),
                        .across = rs_plan_put_before},
    [RS_SV_LOAD] = {RS_LISTED_AS(RS_SV_LOAD, rs_serving_load, load), .across = rs_plan_put_before},
    [RS_SV_FIT] = {RS_LISTED_AS(RS_SV_FIT, rs_serving_fit, fit), .across = rs_plan_put_before},
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
    load_table = {RS_PLAN_TABLE("load", "one row is one line of --log", load), .relation = RS_SV_LOAD},
    fit_table = {RS_PLAN_TABLE("fit", "one row is how well --benchmark fits the trace", fit),
                 .relation = RS_SV_FIT};
static const rs_table_spec *const tables[] = {&latency_table.spec,    &step_table.spec,    &host_table.spec,
                                              &difference_table.spec, &request_table.spec, &load_table.spec,
                                              &fit_table.spec};
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
