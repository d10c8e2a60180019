/* steps: how long each training step took, what its time went to, and which steps stand out. */
#include "analysis/steps.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"
#include "trace/serving.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "step|rank", "step",
     "step: every step of every rank; rank: the spread over each rank's steps"},
    {"outlier", RS_OPTION_REAL, "PCT", NULL, "10",
     "a step that is longer than its rank's median step by more than PCT percent may be an outlier"},
};

#define STEP_ROW(CELL)                                                                                           \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                    \
    CELL(OF(rs_step_times, number), "step", INT, ID, "number of the step", NULL)                                 \
    CELL(OF(rs_step_times, start), "start_us", MOMENT, US,                                                       \
         "its start on the host; unknown when only the GPU shows it", "start")                                   \
    CELL(OF(rs_step_times, length), "length_us", TIME, US, "its length on the host", "length")                   \
    CELL(SET, "vs_median_pct", REAL, PERCENT, "length above the median of the rank's steps", "vs median %")      \
    CELL(                                                                                                        \
        OF(rs_step_times, period), "period_us", TIME, US,                                                        \
        "from the end of the step before to its own, of its annotation or of the last GPU work launched in it: " \
        "what replay, diagnose and whatif call a step",                                                          \
        "period")                                                                                                \
    CELL(OF(rs_step_times, gpu.span), "gpu_span_us", TIME, US,                                                   \
         "first start to last end of the GPU work launched in it; the next four make it up", "GPU span")         \
    CELL(OF(rs_step_times, gpu.compute), "compute_us", TIME, US, "computation runs", "compute")                  \
    CELL(OF(rs_step_times, gpu.exposed_comm), "exposed_comm_us", TIME, US,                                       \
         "communication runs and no computation", "exposed comm")                                                \
    CELL(OF(rs_step_times, gpu.exposed_memory), "exposed_copy_us", TIME, US,                                     \
         "copies or memsets run and neither of them", "exposed copies")                                          \
    CELL(OF(rs_step_times, gpu.idle), "idle_us", TIME, US, "none of the step's work runs", "idle")               \
    CELL(SHARE(rs_step_times, gpu.busy, gpu.span), "busy_pct", REAL, PERCENT,                                    \
         "share of the GPU span in which its work runs", "busy %")                                               \
    CELL(OF(rs_step_times, host_wait), "host_wait_us", TIME, US,                                                 \
         "idle while its next work had not even been launched: launch-bound", "host wait")                       \
    CELL(SHARE(rs_step_times, host_wait, gpu.span), "launch_bound_pct", REAL, PERCENT,                           \
         "host_wait_us of the GPU span", "launch-bound %")                                                       \
    CELL(OF(rs_step_times, data_loading), "data_loading_us", TIME, US, "host time in data loader calls",         \
         "data loading")                                                                                         \
    CELL(OF(rs_step_times, gpu.comm), "comm_us", TIME, US, "communication runs, hidden or not", "comm, all")     \
    CELL(OF(rs_step_times, gpu.memory), "copy_us", TIME, US, "copies or memsets run, hidden or not",             \
         "copies, all")                                                                                          \
    CELL(OF(rs_step_times, gpu.n), "gpu_events", INT, COUNT, "pieces of GPU work launched in it",                \
         "GPU events")                                                                                           \
    CELL(SET, "outlier", TEXT, NONE,                                                                             \
         "why it is an outlier: the kind of time that grew most against the rank's median; unknown for "         \
         "ordinary steps",                                                                                       \
         NULL)
RS_RECORD(step, STEP_ROW);

typedef struct rank_row {
    int64_t median, slowest;
    size_t n_out, n_outside;
    rs_moments lengths;
} rank_row;

#define RANK_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rank_row, lengths.n), "steps", INT, COUNT, "steps with a length", NULL)                          \
    CELL(MEAN(rank_row, lengths), "mean_us", REAL, US, "mean length", "mean")                                \
    CELL(IF(rank_row, median, lengths.n), "median_us", TIME, US, "median length", "median")                  \
    CELL(IF(rank_row, lengths.min, lengths.n), "min_us", TIME, US, "shortest", "min")                        \
    CELL(IF(rank_row, lengths.max, lengths.n), "max_us", TIME, US, "longest", "max")                         \
    CELL(IF(rank_row, slowest, lengths.n), "slowest_step", INT, ID, "the longest step", "slowest")           \
    CELL(STD(rank_row, lengths), "std_us", REAL, US, "standard deviation of a sample; unknown for one step", \
         "std")                                                                                              \
    CELL(OF(rank_row, n_out), "outliers", INT, COUNT, "steps that are outliers", NULL)                       \
    CELL(OF(rank_row, n_outside), "gpu_events_outside", INT, COUNT, "GPU work that belongs to no step",      \
         "GPU events outside")
RS_RECORD(rank, RANK_ROW);

#define SERVING_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_step_serving, number), "step", INT, ID, "number of the step", NULL)                           \
    CELL(SET, "phase", TEXT, NONE, "prefill, decode, mixed, diffusion; idle: no requests", NULL)             \
    CELL(SET, "requests", INT, COUNT, "requests in the batch", NULL)                                         \
    CELL(SET, "tokens", INT, COUNT, "tokens computed for them", NULL)                                        \
    CELL(OF(rs_step_serving, context_requests), "context_requests", INT, COUNT, "requests in prefill", NULL) \
    CELL(OF(rs_step_serving, context_q), "context_q", INT, COUNT, "tokens computed in prefill", NULL)        \
    CELL(IF(rs_step_serving, context_k, detailed), "context_k", INT, COUNT,                                  \
         "tokens that they attend to, summed over the requests", NULL)                                       \
    CELL(IF(rs_step_serving, context_qq, detailed), "context_qq", INT, COUNT,                                \
         "square of a request's tokens, summed", NULL)                                                       \
    CELL(IF(rs_step_serving, context_qk, detailed), "context_qk", INT, COUNT,                                \
         "product of a request's tokens and those attended to, summed", NULL)                                \
    CELL(OF(rs_step_serving, generation_requests), "generation_requests", INT, COUNT, "requests in decode",  \
         NULL)                                                                                               \
    CELL(OF(rs_step_serving, generation_q), "generation_q", INT, COUNT, "tokens computed in decode", NULL)   \
    CELL(IF(rs_step_serving, generation_k, detailed), "generation_k", INT, COUNT,                            \
         "tokens that they attend to, summed", NULL)                                                         \
    CELL(IF(rs_step_serving, generation_qq, detailed), "generation_qq", INT, COUNT,                          \
         "square of a request's tokens, summed", NULL)                                                       \
    CELL(IF(rs_step_serving, generation_qk, detailed), "generation_qk", INT, COUNT,                          \
         "product of a request's tokens and those attended to, summed", NULL)
RS_RECORD(serving, SERVING_ROW);

#define HOST_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_step_times, number), "step", INT, ID, "number of the step", NULL)                             \
    CELL(OF(rs_step_times, start), "start_us", MOMENT, US, "its start", "start")                             \
    CELL(OF(rs_step_times, length), "length_us", TIME, US, "its length", "length")                           \
    CELL(SET, "vs_median_pct", REAL, PERCENT, "length above the median of the rank's steps", "vs median %")  \
    CELL(OF(rs_step_times, host.span), "recorded_us", TIME, US,                                              \
         "its length without what is between two recordings; the next five make it up", NULL)                \
    CELL(OF(rs_step_times, host.operators), "operators_us", TIME, US,                                        \
         "an operator runs that computes, on any thread", "operators")                                       \
    CELL(OF(rs_step_times, host.exposed_comm), "exposed_comm_us", TIME, US,                                  \
         "the host communicates (gloo:*, mpi:*, ucc:*) and no operator hides it", "exposed comm")            \
    CELL(OF(rs_step_times, host.exposed_sync), "exposed_sync_us", TIME, US,                                  \
         "a call waits for a device, and none of these runs", "waits")                                       \
    CELL(OF(rs_step_times, host.exposed_loading), "exposed_loading_us", TIME, US,                            \
         "a data loader is waited for, and none of these runs", "data loading")                              \
    CELL(OF(rs_step_times, host.other), "other_us", TIME, US,                                                \
         "none of them: Python and libraries outside operators, or nothing", "other")                        \
    CELL(SHARE(rs_step_times, host.operators, host.span), "operators_pct", REAL, PERCENT,                    \
         "operators_us of recorded_us", "operators %")                                                       \
    CELL(OF(rs_step_times, host.comm), "comm_us", TIME, US, "the host communicates, hidden or not",          \
         "comm, all")                                                                                        \
    CELL(OF(rs_step_times, host.loading), "loading_us", TIME, US,                                            \
         "a data loader is waited for, hidden or not", "loading, all")                                       \
    CELL(SET, "outlier", TEXT, NONE, "why it is an outlier, as in the table steps", NULL)
RS_RECORD(host, HOST_ROW);

static const rs_table_spec host_table =
    RS_TABLE("host", "one row is one step of a rank without a GPU: what its host did", host_columns);
static const rs_table_spec step_table = RS_TABLE("steps", "one row is one step of one rank", step_columns);
static const rs_table_spec rank_table = RS_TABLE("ranks", "one row is one rank", rank_columns);
static const rs_table_spec serving_table =
    RS_TABLE("serving", "one row is one step of a serving engine: what was computed in it", serving_columns);
static const rs_table_spec *const tables[] = {&step_table, &rank_table, &serving_table, &host_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 4}};
enum { STEPS, RANKS, SERVING, HOST };

/* ---- what is ordinary ---------------------------------------------------------------------------------- */

typedef struct ordinary {
    size_t n;                  /* steps with a length */
    int64_t length, deviation; /* median length, median distance from it */
    int64_t kinds[RS_N_STEP_KINDS];
} ordinary;

static const rs_order compare_times[] = {RS_RISING_VALUE(int64_t)};

static int64_t middle(int64_t *values, size_t n)
{
    if (n == 0) return 0;
    RS_SORT(values, n, compare_times);
    int64_t low = values[(n - 1) / 2], high = values[n / 2];
    return rs_add_sat(low, rs_sub_sat(high, low) / 2);
}

static bool find_ordinary(const rs_rank_steps *p, ordinary *out)
{
    RS_LOCAL int64_t *values = rs_malloc((p->n + 1) * sizeof *values);
    *out = (ordinary){0};
    if (!values) return false;
    for (size_t i = 0; i < p->n; i++)
        if (p->items[i].length != RS_NO_TIME) values[out->n++] = p->items[i].length;
    out->length = middle(values, out->n);
    for (size_t i = 0; i < out->n; i++) {
        int64_t d = rs_sub_sat(values[i], out->length);
        values[i] = d < 0 ? rs_sub_sat(0, d) : d;
    }
    out->deviation = middle(values, out->n);
    for (int k = 0; k < RS_N_STEP_KINDS; k++) {
        size_t n = 0;
        for (size_t i = 0; i < p->n; i++)
            if (p->items[i].length != RS_NO_TIME)
                values[n++] = rs_step_kind_time(&p->items[i], p->of_host, (rs_step_kind)k);
        out->kinds[k] = middle(values, n);
    }
    return true;
}

/* Longer than the median by the share asked for and by more than steps differ anyway (3 standard deviations
 * of a normal distribution, told by the median distance). Of fewer than three steps none is ordinary. */
static bool stands_out(const rs_step_times *s, const ordinary *o, double percent)
{
    if (o->n < 3 || s->length == RS_NO_TIME) return false;
    double above = (double)s->length - (double)o->length;
    return above > (double)o->length * percent / 100 && above > 3 * 1.4826 * (double)o->deviation;
}

/* What grew most; where nothing on the GPU or in the loader explains half of it, the host did. */
static const char *explain(const rs_step_times *s, bool of_host, const ordinary *o)
{
    static const char *const names[RS_N_STEP_KINDS] = {"computation",    "exposed communication",
                                                       "exposed copies", "host launches late",
                                                       "idle",           "data loading"};
    int64_t most = rs_sub_sat(s->length, o->length) / 2;
    const char *name = "host";
    for (int k = 0; k < RS_N_STEP_KINDS; k++) {
        int64_t more = rs_sub_sat(rs_step_kind_time(s, of_host, (rs_step_kind)k), o->kinds[k]);
        /* the loader is the reason where the GPU then waits just as long */
        bool loader = k == RS_STEP_DATA_LOADING && more > 0 && more >= most / 2;
        if (more <= most && !loader) continue;
        most = more;
        name = names[k];
    }
    return name;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static rs_status add_to(rs_table *t, const rs_row_spec *record, int64_t rank, const rs_step_times *s,
                        const ordinary *o, const char *outlier, rs_error *err)
{
    rs_table_put(t, record, rank, s);
    rs_table_set_real(t, "vs_median_pct",
                      s->length == RS_NO_TIME ? (double)NAN
                                              : rs_percent(rs_sub_sat(s->length, o->length), o->length));
    rs_table_set_text(t, "outlier", outlier);
    return rs_table_end_row(t, err);
}

/* Without a GPU there is nothing to say of one: unknown, not none. */
static void forget_gpu(rs_step_times *s)
{
    s->gpu.span = s->gpu.compute = s->gpu.exposed_comm = s->gpu.exposed_memory = s->gpu.idle = RS_NO_TIME;
    s->gpu.busy = s->gpu.comm = s->gpu.memory = s->host_wait = RS_NO_TIME;
}

static rs_status add_step(rs_result *result, int64_t rank, const rs_rank_steps *p, const rs_step_times *s,
                          const ordinary *o, bool out, rs_error *err)
{
    const char *outlier = out ? explain(s, p->of_host, o) : NULL;
    rs_step_times shown = *s;
    if (p->of_host) {
        forget_gpu(&shown);
        RS_TRY(add_to(result->tables[HOST], &host_record, rank, s, o, outlier, err));
    }
    return add_to(result->tables[STEPS], &step_record, rank, &shown, o, outlier, err);
}

static rs_status add_serving(rs_table *t, int64_t rank, const rs_step_serving *s, rs_error *err)
{
    rs_table_put(t, &serving_record, rank, s);
    rs_table_set_text(t, "phase", rs_serving_phase_names[s->phase]);
    rs_table_set_int(t, "requests", rs_add_sat(s->context_requests, s->generation_requests));
    rs_table_set_int(t, "tokens", rs_add_sat(s->context_q, s->generation_q));
    return rs_table_end_row(t, err);
}

static rs_status add_partial(const rs_run *run, const rs_partial *partial, rs_result *result, rs_error *err)
{
    const rs_rank_steps *p = partial->value;
    double percent = rs_options_real(run->options, "outlier");
    ordinary o;
    rank_row row = {.n_outside = p->n_outside};
    if (p->n == 0) {
        rs_result_note(result, "rank %lld: no steps: the recording has no ProfilerStep#N annotations%s",
                       (long long)partial->rank,
                       p->n_gpu ? ", and its GPU work does not repeat itself from a border that steps have"
                                : ", nor GPU work");
        return RS_OK;
    }
    if (!find_ordinary(p, &o)) return rs_fail_nomem(err, "steps");
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n; i++) {
        const rs_step_times *s = &p->items[i];
        bool out = stands_out(s, &o, percent);
        row.n_out += out;
        if (s->length != RS_NO_TIME) {
            if (row.lengths.n == 0 || s->length > row.lengths.max) row.slowest = s->number;
            rs_moments_add(&row.lengths, s->length);
        }
        status = add_step(result, partial->rank, p, s, &o, out, err);
    }
    for (size_t i = 0; status == RS_OK && i < p->n_serving; i++)
        status = add_serving(result->tables[SERVING], partial->rank, &p->serving[i], err);
    if (p->n_gpu == 0 && !p->of_host)
        rs_result_note(result, "rank %lld: no GPU work: only the host's times are known",
                       (long long)partial->rank);
    if (p->n_outside)
        rs_result_note(result, "rank %lld: %zu of %zu pieces of GPU work belong to no step",
                       (long long)partial->rank, p->n_outside, p->n_gpu);
    if (status != RS_OK) return status;
    row.median = o.length;
    return rs_table_put_row(result->tables[RANKS], &rank_record, partial->rank, &row, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    bool all_hosts = n > 0;
    for (size_t i = 0; i < n; i++)
        all_hosts = all_hosts && ((const rs_rank_steps *)partials[i].value)->of_host;
    result->main_table = strcmp(rs_options_text(run->options, "by"), "rank") == 0 ? RANKS
                         : all_hosts                                              ? HOST
                                                                                  : STEPS;
    if (all_hosts)
        rs_result_note(result, "the job has no GPU: this is what the host did in each step (--table host)");
    for (size_t i = 0; status == RS_OK && i < n; i++) status = add_partial(run, &partials[i], result, err);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field host_fields[] = {
    RS_FIELDS(rs_host_view, span, operators, comm, exposed_comm, sync, exposed_sync, loading, exposed_loading,
              other),
};
static const rs_layout host_layout = RS_LAYOUT(rs_host_view, host_fields);

static const rs_field step_fields[] = {
    RS_FIELDS(rs_step_times, number, start, length, period),
    RS_FIELD_STRUCT(rs_step_times, gpu, &rs_busy_layout),
    RS_FIELDS(rs_step_times, host_wait, data_loading),
    RS_FIELD_STRUCT(rs_step_times, host, &host_layout),
};
static const rs_layout step_layout = RS_LAYOUT(rs_step_times, step_fields);

static const rs_field serving_fields[] = {
    RS_FIELD(rs_step_serving, number),
    RS_FIELD_BELOW(rs_step_serving, phase, RS_N_SERVING_PHASES),
    RS_FIELDS(rs_step_serving, detailed, context_requests, context_q, context_k, context_qq, context_qk,
              generation_requests, generation_q, generation_k, generation_qq, generation_qk),
};
static const rs_layout serving_layout = RS_LAYOUT(rs_step_serving, serving_fields);

static const rs_field steps_fields[] = {
    RS_FIELD_LIST(rs_rank_steps, serving, n_serving, &serving_layout),
    RS_FIELD_LIST(rs_rank_steps, items, n, &step_layout),
    RS_FIELDS(rs_rank_steps, n_gpu, n_outside, of_host),
};
static const rs_layout steps_layout = RS_LAYOUT(rs_rank_steps, steps_fields);

const rs_analysis rs_analysis_steps = {
    .name = "steps",
    .group = "GPU time",
    .help = "Each training step: its length, what its GPU time went to, and which steps are outliers",
    .about =
        "A step is a ProfilerStep#N annotation of the host. Where a rank has none, its GPU work in the order of "
        "launches is searched for what repeats and begins at a border that steps have: a data "
        "loader's call, the end of the optimizer, a copy to the device, a read-back, a pause of the host; "
        "such steps count from 0 and a note says so. The annotations of vLLM, SGLang and ATOM are steps, too; the table serving "
        "says what they show. GPU work belongs to the step it was launched in, "
        "wherever it runs; its span, from the first start to the last end, is divided into computation, "
        "exposed "
        "communication, exposed copies and idle. Idle time is host wait as long as the next work had not "
        "been launched.\n\n"
        "Two times of a step differ where the host runs ahead of the GPU: length_us is that of the annotation on "
        "the host, period_us runs from the end of the step before to its own with the GPU's work. The first step's "
        "period begins with its annotation, or when the work is over that was launched and queued before it "
        "of its own.\n\n"
        "A step is an outlier when it is longer than the median of the rank's steps by more than --outlier "
        "percent "
        "and by more than three standard deviations (estimated by the median distance from the median); the "
        "column "
        "outlier then names the kind of time that grew most. Of fewer than three steps none is an outlier.\n\n"
        "Of a job without a GPU the table shows what its host did (table host): every moment of a step counts as the first of "
        "operators, communication, waits for a device and data loading that runs then on any thread.",
    .examples = "rankscope steps traces/\nrankscope steps --by rank traces/\n"
                "rankscope steps --steps 3-5 --outlier 5 --format csv trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_steps, &rs_facet_span},
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_steps_rank,
    .merge = merge,
    .free_partial = rs_steps_free,
    .partial_layout = &steps_layout,
};
