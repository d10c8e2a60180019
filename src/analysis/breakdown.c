/* breakdown: where each rank's GPU time goes, or its host's. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/memory.h"
#include "base/try.h"
#include "match/host_job.h"
#include "trace/busy.h"
#include "trace/data_loader.h"

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

#define THREAD_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_host_thread_view, label), "thread", TEXT, NONE,                                               \
         "process and thread, with its name where the file has one", NULL)                                   \
    CELL(OF(rs_host_thread_view, operators), "operators_us", TIME, US,                                       \
         "an operator runs on it, and neither communicates nor waits for the device", "operators")           \
    CELL(OF(rs_host_thread_view, comm), "comm_us", TIME, US, "it communicates", "comm")                      \
    CELL(OF(rs_host_thread_view, sync), "sync_us", TIME, US, "it waits for the device", "waits")             \
    CELL(OF(rs_host_thread_view, n), "count", INT, COUNT, "operators, spans of communication and waits", NULL)
RS_RECORD(thread, THREAD_ROW);

enum { TABLE_GPU, TABLE_HOST, TABLE_THREADS, N_TABLES };
static const rs_table_spec own_table = RS_TABLE("breakdown", "one row is one rank", own_columns);
static const rs_table_spec host_table = RS_TABLE(
    "host", "one row is the host of one rank; with --host, and for jobs without a GPU", host_columns);
static const rs_table_spec thread_table = RS_TABLE(
    "threads", "one row is one thread of a host, the busiest first; with --host, and for jobs without a GPU",
    thread_columns);
static const rs_table_spec *const own_tables[N_TABLES] = {&own_table, &host_table, &thread_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, own_tables, N_TABLES}};

static const rs_option_spec options[] = {
    {"host", RS_OPTION_FLAG, NULL, NULL, NULL,
     "where the host's time goes instead: operators, communication, waits for the device, data loading, and what is "
     "none of these; also by thread"},
};

/* One of the two. */
typedef struct rank_times {
    rs_busy gpu;
    rs_host_view host;
    bool of_host;
} rank_times;

static void free_rank(void *partial)
{
    rs_host_view_clear(&((rank_times *)partial)->host);
    rs_free(partial);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const bool asked = rs_options_flag(run->options, "host");
    const rs_busy *gpu = NULL;
    if (!asked) RS_TRY(rs_trace_busy(trace, run->policy, &gpu, err));
    rank_times *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "a rank's times");
    if (gpu && gpu->n) {
        p->gpu = *gpu;
        *partial = p;
        return RS_OK;
    }
    p->of_host = true;
    rs_status status = rs_host_view_of(trace, &p->host, err);
    if (status == RS_OK && (asked || rs_host_job_is(trace, &p->host)))
        *partial = p;
    else
        free_rank(p);
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = RS_OK;
    size_t n_gpu = 0;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rank_times *p = partials[i].value;
        if (!p->of_host) {
            n_gpu++;
            status = rs_table_put_row(result->tables[TABLE_GPU], &own_record, partials[i].rank, &p->gpu, err);
            continue;
        }
        status = rs_table_put_row(result->tables[TABLE_HOST], &host_record, partials[i].rank, &p->host, err);
        for (size_t k = 0; status == RS_OK && k < p->host.n_threads; k++)
            status = rs_table_put_row(result->tables[TABLE_THREADS], &thread_record, partials[i].rank,
                                      &p->host.threads[k], err);
    }
    if (n && !n_gpu) result->main_table = TABLE_HOST;
    if (n && !n_gpu && !rs_options_flag(run->options, "host"))
        rs_result_note(result, "the job has no GPU: this is where the host's time goes (--host)");
    return status;
}

static const rs_field thread_fields[] = {
    RS_FIELD(rs_host_thread_view, label), RS_FIELD(rs_host_thread_view, operators),
    RS_FIELD(rs_host_thread_view, comm), RS_FIELD(rs_host_thread_view, sync),
    RS_FIELD(rs_host_thread_view, n)};
static const rs_layout thread_layout = RS_LAYOUT(rs_host_thread_view, thread_fields);
static const rs_field host_fields[] = {
    RS_FIELD(rs_host_view, span),
    RS_FIELD(rs_host_view, operators),
    RS_FIELD(rs_host_view, comm),
    RS_FIELD(rs_host_view, exposed_comm),
    RS_FIELD(rs_host_view, sync),
    RS_FIELD(rs_host_view, exposed_sync),
    RS_FIELD(rs_host_view, loading),
    RS_FIELD(rs_host_view, exposed_loading),
    RS_FIELD(rs_host_view, other),
    RS_FIELD(rs_host_view, n_operators),
    RS_FIELD(rs_host_view, n_comm),
    RS_FIELD(rs_host_view, n_sync),
    RS_FIELD_LIST(rs_host_view, threads, n_threads, &thread_layout),
};
static const rs_layout host_layout = RS_LAYOUT(rs_host_view, host_fields);
static const rs_field rank_fields[] = {RS_FIELD_STRUCT(rank_times, gpu, &rs_busy_layout),
                                       RS_FIELD_STRUCT(rank_times, host, &host_layout),
                                       RS_FIELD(rank_times, of_host)};
static const rs_layout rank_layout = RS_LAYOUT(rank_times, rank_fields);

const rs_analysis rs_analysis_breakdown = {
    .name = "breakdown",
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
        "device; a data loader is waited for; none of these. A job without a GPU is shown that way.",
    .examples = "rankscope breakdown trace.json.gz\nrankscope breakdown --steps 3-5 traces/\n"
                "rankscope breakdown --host cpu-job/\n"
                "rankscope breakdown --compat hta --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = free_rank,
    .absent = "no GPU work",
    .partial_layout = &rank_layout,
};
