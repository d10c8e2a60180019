/* breakdown: where each rank's GPU time goes, or its host's. */
#include "analysis/plan.h"
#include "base/try.h"
#include "match/host_job.h"
#include "trace/busy.h"
#include "trace/selection.h"

#define OWN_ROW(CELL)                                                                                        \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_busy, span), "span_us", TIME, US, "from the first GPU event's start to the last one's end",   \
         "span")                                                                                             \
    CELL(OF(rs_busy, busy), "busy_us", TIME, US, "something runs on the GPU", "busy")                        \
    CELL(OF(rs_busy, compute), "compute_us", TIME, US, "computation runs", "compute")                        \
    CELL(OF(rs_busy, exposed_comm), "exposed_comm_us", TIME, US,                                             \
         "communication runs and no computation hides it", "exposed comm")                                   \
    CELL(OF(rs_busy, exposed_memory), "exposed_copy_us", TIME, US,                                           \
         "copies or memsets run and neither computation nor communication hides them", "exposed copies")     \
    CELL(OF(rs_busy, idle), "idle_us", TIME, US, "nothing runs; the four add up to the span", "idle")        \
    CELL(SHARE(rs_busy, busy, span), "busy_pct", REAL, PERCENT, "busy_us of the span", "busy %")             \
    CELL(SHARE(rs_busy, compute, span), "compute_pct", REAL, PERCENT, "compute_us of the span", "compute %") \
    CELL(SHARE(rs_busy, exposed_comm, span), "exposed_comm_pct", REAL, PERCENT,                              \
         "exposed_comm_us of the span", "exposed comm %")                                                    \
    CELL(SHARE(rs_busy, exposed_memory, span), "exposed_copy_pct", REAL, PERCENT,                            \
         "exposed_copy_us of the span", "exposed copies %")                                                  \
    CELL(SHARE(rs_busy, idle, span), "idle_pct", REAL, PERCENT, "idle_us of the span", "idle %")             \
    CELL(OF(rs_busy, comm), "comm_us", TIME, US, "communication runs, hidden or not", "comm, all")           \
    CELL(OF(rs_busy, memory), "copy_us", TIME, US, "copies or memsets run, hidden or not", "copies, all")    \
    CELL(OF(rs_busy, n), "gpu_events", INT, COUNT, "pieces of GPU work", "GPU events")                       \
    CELL(OF(rs_busy, n_unlinked), "unlinked_events", INT, COUNT,                                             \
         "GPU work whose launch is not in the file; it is counted", "unlinked")
RS_RECORD(own, OWN_ROW);

#define HOST_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_host_view, span), "span_us", TIME, US,                                                        \
         "from the first event to the last, without the time between recordings", "span")                    \
    CELL(OF(rs_host_view, operators), "operators_us", TIME, US,                                              \
         "an operator runs on some thread, and neither communicates nor waits for the device", "operators")  \
    CELL(OF(rs_host_view, exposed_comm), "exposed_comm_us", TIME, US,                                        \
         "the host communicates (gloo:*, mpi:*, ucc:*) and no operator hides it", "exposed comm")            \
    CELL(OF(rs_host_view, exposed_sync), "exposed_sync_us", TIME, US,                                        \
         "a call waits for the device and neither operators nor communication hide it", "exposed waits")     \
    CELL(OF(rs_host_view, exposed_loading), "exposed_loading_us", TIME, US,                                  \
         "a data loader is waited for and none of these hides it", "exposed loading")                        \
    CELL(OF(rs_host_view, other), "other_us", TIME, US,                                                      \
         "none of these: Python outside operators, or nothing; the five add up to the span", "other")        \
    CELL(SHARE(rs_host_view, operators, span), "operators_pct", REAL, PERCENT, "operators_us of the span",   \
         "operators %")                                                                                      \
    CELL(SHARE(rs_host_view, exposed_comm, span), "exposed_comm_pct", REAL, PERCENT,                         \
         "exposed_comm_us of the span", "exposed comm %")                                                    \
    CELL(SHARE(rs_host_view, exposed_sync, span), "exposed_sync_pct", REAL, PERCENT,                         \
         "exposed_sync_us of the span", "exposed waits %")                                                   \
    CELL(SHARE(rs_host_view, exposed_loading, span), "exposed_loading_pct", REAL, PERCENT,                   \
         "exposed_loading_us of the span", "exposed loading %")                                              \
    CELL(SHARE(rs_host_view, other, span), "other_pct", REAL, PERCENT, "other_us of the span", "other %")    \
    CELL(OF(rs_host_view, comm), "comm_us", TIME, US, "the host communicates, hidden or not", "comm, all")   \
    CELL(OF(rs_host_view, sync), "sync_us", TIME, US, "a call waits for the device, hidden or not",          \
         "waits, all")                                                                                       \
    CELL(OF(rs_host_view, loading), "loading_us", TIME, US, "a data loader is waited for, hidden or not",    \
         "loading, all")                                                                                     \
    CELL(OF(rs_host_view, n_operators), "operators", INT, COUNT, "operators that count, inner ones too", NULL)
RS_RECORD(host, HOST_ROW);

typedef struct thread_row {
    uint32_t label;
    int64_t operators, comm, sync, n;
} thread_row;

#define THREAD_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(thread_row, label), "thread", TEXT, NONE,                                                   \
         "process and thread, with its name where the file has one", NULL)                                   \
    CELL(OF(thread_row, operators), "operators_us", TIME, US,                                                \
         "an operator runs on it, and neither communicates nor waits for the device", "operators")           \
    CELL(OF(thread_row, comm), "comm_us", TIME, US, "it communicates", "comm")                               \
    CELL(OF(thread_row, sync), "sync_us", TIME, US, "it waits for the device", "waits")                      \
    CELL(OF(thread_row, n), "count", INT, COUNT, "operators, spans of communication and waits", NULL)
RS_RECORD(thread, THREAD_ROW);

static const rs_option_spec options[] = {
    {"host", RS_OPTION_FLAG, NULL, NULL, NULL,
     "where the host's time goes instead: operators, communication, waits for the device, data loading, and what is "
     "none of these; also by thread"},
    {"cut", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --window: what runs in that time, cut at its ends, in place of what was launched in it"},
};

enum { GPU, HOST, THREADS };

/* The window as the rank's clock shows it; false: there is none to cut at. */
static bool window_of(const rs_run *run, const rs_trace *trace, rs_interval *window)
{
    const rs_selection *s = trace->selection;
    if (!rs_options_flag(run->options, "cut") || !s || !s->by_window) return false;
    *window = (rs_interval){rs_add_sat(s->origin, s->from), rs_add_sat(s->origin, s->to)};
    return true;
}

/* The host in a window: the time there, with threads and counts of the whole rank. */
static rs_status view_within(rs_trace *trace, rs_interval window, rs_host_view *out, rs_error *err)
{
    rs_host_view cut = {0};
    int64_t first, last;
    *out = (rs_host_view){0};
    RS_TRY(rs_trace_span(trace, &first, &last, err));
    if (window.start < first) window.start = first;
    if (window.end > last) window.end = last;
    if (window.end < window.start) window.end = window.start;
    RS_TRY(rs_host_view_of_windows(trace, &window, 1, out, &cut, err));
    cut.n_operators = out->n_operators;
    cut.n_comm = out->n_comm;
    cut.n_sync = out->n_sync;
    cut.threads = out->threads;
    cut.n_threads = out->n_threads;
    *out = cut;
    return RS_OK;
}

static rs_status put_host(const rs_run *run, rs_trace *trace, bool asked, rs_relations *out, rs_error *err)
{
    rs_host_view host;
    rs_interval window;
    rs_status status = window_of(run, trace, &window) ? view_within(trace, window, &host, err)
                                                      : rs_host_view_of(trace, &host, err);
    if (status == RS_OK && !asked && !rs_host_job_is(trace, &host)) {
        out->absent = true;
    } else if (status == RS_OK) {
        rs_put(out, HOST, &host);
        for (size_t i = 0; i < host.n_threads; i++) {
            const rs_host_thread_view *t = &host.threads[i];
            rs_put(
                out, THREADS,
                &(thread_row){rs_put_string(out, t->label), t->operators, t->comm, t->sync, (int64_t)t->n});
        }
    }
    rs_host_view_clear(&host);
    return status;
}

/* The GPU's time, or the host's. */
static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const bool asked = rs_options_flag(run->options, "host");
    const rs_busy *gpu = NULL;
    rs_busy cut;
    rs_interval window;
    if (!asked && window_of(run, trace, &window)) {
        RS_TRY(rs_busy_within(trace, run->policy, window, &cut, err));
        gpu = &cut;
    } else if (!asked) {
        RS_TRY(rs_trace_busy(trace, run->policy, &gpu, err));
    }
    if (!gpu || gpu->last == gpu->first) return put_host(run, trace, asked, out, err);
    rs_put(out, GPU, gpu);
    return RS_OK;
}

static rs_status choose(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                        rs_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++)
        if (((const rs_relations *)partials[i].value)->items[GPU].n) return RS_OK;
    if (n) result->main_table = HOST;
    if (n && !rs_options_flag(run->options, "host"))
        rs_result_note(result, "the job has no GPU: this is where the host's time goes (--host)");
    return RS_OK;
}

static const rs_plan_relation relations[] = {
    [GPU] = {RS_LISTED(GPU, rs_busy, &rs_busy_layout), .make = put},
    [HOST] = {RS_LISTED_AS(HOST, rs_host_view, host)},
    [THREADS] = {RS_LISTED_AS(THREADS, thread_row, thread)},
};
static const rs_plan_table
    gpu_table = {RS_PLAN_TABLE("breakdown", "one row is one rank", own), .relation = GPU},
    host_table = {RS_PLAN_TABLE("host",
                                "one row is the host of one rank; with --host, and for jobs without a GPU",
                                host),
                  .relation = HOST},
    thread_table = {
        RS_PLAN_TABLE(
            "threads",
            "one row is one thread of a host, the busiest first; with --host, and for jobs without a GPU",
            thread),
        .relation = THREADS};
static const rs_table_spec *const tables[] = {&gpu_table.spec, &host_table.spec, &thread_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .more = choose};

const rs_analysis rs_analysis_breakdown = {
    .name = "breakdown",
    .group = "GPU time",
    .help = "Where each rank's GPU time goes: compute, exposed communication and copies, idle",
    .about =
        "The span from the first GPU event to the last is divided into four parts that add up: "
        "computation runs;\n"
        "communication runs and no computation (exposed); copies run and neither of them (exposed); "
        "nothing runs.\n"
        "Work that runs at the same time counts once. All GPU work of the trace counts, also without a "
        "launch.\n\n"
        "--host divides the host's time: operators run; it communicates and no operator runs (exposed); a call "
        "waits for the\n"
        "device; a data loader is waited for; none of these. A job without a GPU is shown that way.\n\n"
        "--window selects what was launched in a time, and shows it entire. With --cut the time itself is divided: what "
        "runs\n"
        "in it, whatever launched that, cut at its ends, as `map` and the explorer draw it.",
    .examples = "rankscope breakdown trace.json.gz\nrankscope breakdown --steps 3-5 traces/\n"
                "rankscope breakdown --host cpu-job/\n"
                "rankscope breakdown --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .absent = "no GPU work",
};
