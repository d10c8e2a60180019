/* Nsight Systems' SQLite exports (nsys export --type sqlite): what CUPTI recorded.
 *
 * Tables are made only for what was recorded, so any of them may be missing. */
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "format/sqlite_nsys.h"

/* cudaEventRecord: an event on a stream. */
typedef struct recorded {
    int64_t pid, event, correlation, stream;
} recorded;

typedef struct nsys {
    rs_database *d;
    rs_nsys_ranges ranges;
    rs_map64 last_of;  /* thread -> the greatest correlation id of its calls, where that is below 2^32 */
    rs_map64 calls_of; /* process and correlation id -> row, once one came again */
    bool calls_repeat;
    recorded *records;
    size_t n_records, records_capacity;
    int64_t n_graphs;
} nsys;

static uint32_t intern(nsys *n, const char *text, size_t length)
{
    return rs_strings_add(&n->d->events->strings, text, length);
}

/* ---- calls and GPU work -------------------------------------------------------------------------------- */

static bool name_has(const rs_native *r, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= r->name_length; i++)
        if (memcmp(r->name + i, word, n) == 0) return true;
    return false;
}

/* Whether a call has a correlation id that its thread has been past, as one within another has with
 * the same id does: with CPU backtraces, "cudaMemcpy" is around "cudaMemcpy_v3020". */
static rs_status may_repeat(nsys *n, int64_t thread, int64_t correlation, bool *repeats)
{
    bool is_new;
    *repeats = correlation >= UINT32_MAX;
    if (*repeats) return RS_OK;
    uint32_t *last = rs_map64_put(&n->last_of, (uint64_t)thread, &is_new);
    if (!last) return rs_fail_nomem(n->d->err, "threads");
    *repeats = !is_new && correlation <= *last;
    if (!*repeats) *last = (uint32_t)correlation;
    return RS_OK;
}

static rs_status note_call(nsys *n, uint64_t key, uint32_t row)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&n->calls_of, key, &is_new);
    if (!slot) return rs_fail_nomem(n->d->err, "calls");
    if (is_new) *slot = row;
    return RS_OK;
}

/* All calls so far, by their correlation ids. */
static rs_status note_calls(nsys *n)
{
    const rs_events *e = n->d->events;
    rs_cursor correlation = rs_cursor_of(e, RS_COL_CORRELATION);
    for (uint32_t row = 0; row < e->n; row++) {
        uint64_t key;
        if (rs_nsys_key(e->threads[e->thread[row]].pid, rs_cursor_int(&correlation, row, -1), &key))
            RS_TRY(note_call(n, key, row));
    }
    n->calls_repeat = true;
    return RS_OK;
}

/* Of two calls of one thread and one correlation id, one within the other, the outer one is kept. */
static rs_status take_nested(nsys *n, int64_t thread, rs_native *r)
{
    rs_events *e = n->d->events;
    uint64_t key;
    bool repeats = n->calls_repeat;
    bool kept = r->start != RS_NO_TIME && r->end != RS_NO_TIME && (r->start != 0 || r->end != 0);
    if (r->correlation == RS_NO_VALUE || !kept) return RS_OK;
    if (!repeats) RS_TRY(may_repeat(n, thread, r->correlation, &repeats));
    if (!repeats || !rs_nsys_key(r->pid, r->correlation, &key)) return RS_OK;
    if (!n->calls_repeat) RS_TRY(note_calls(n));
    const uint32_t *slot = rs_map64_get(&n->calls_of, key);
    if (!slot) return note_call(n, key, (uint32_t)e->n);
    uint32_t row = *slot;
    int64_t start = e->start[row], end = rs_add_sat(start, e->duration[row]);
    bool within = r->start >= start && r->end <= end, around = r->start <= start && r->end >= end;
    if (e->threads[e->thread[row]].tid != r->tid || (!within && !around)) return RS_OK;
    r->category = NULL;
    if (within) return RS_OK;
    e->start[row] = r->start;
    e->duration[row] = rs_sub_sat(r->end, r->start);
    e->name[row] = rs_strings_add(&e->strings, r->name, r->name_length);
    return e->name[row] == RS_NO_STRING ? rs_fail_nomem(n->d->err, "strings") : RS_OK;
}

/* "cudaLaunchKernel_v7000": the version is no part of the call's name. */
static rs_status call_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    int64_t thread = rs_row_int(s, 3);
    rs_nsys_times(s, r);
    rs_row_name(s, 0, r, "call");
    size_t end = r->name_length;
    while (end > 0 && rs_is_digit(r->name[end - 1])) end--;
    if (end > 2 && end < r->name_length && r->name[end - 1] == 'v' && r->name[end - 2] == '_')
        r->name_length = end - 2;
    bool driver = r->name_length > 2 && r->name[0] == 'c' && r->name[1] == 'u' && r->name[2] != 'd';
    r->category = driver ? "cuda_driver" : "cuda_runtime";
    r->correlation = rs_row_int(s, 4);
    if (name_has(r, "Launch") && r->start != RS_NO_TIME) RS_TRY(rs_nsys_take_launch(&n->ranges, thread, r));
    return take_nested(n, thread, r);
}

static void take_device(sqlite3_stmt *s, rs_native *r)
{
    rs_nsys_times(s, r);
    r->correlation = rs_row_int(s, 4);
    r->device = rs_row_int(s, 5);
    r->stream = rs_row_int(s, 6);
}

static rs_status kernel_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    take_device(s, r);
    r->category = "kernel";
    rs_row_name(s, 0, r, "kernel");
    for (int i = 0; i < 3; i++) {
        r->grid[i] = rs_row_int(s, 7 + i);
        r->block[i] = rs_row_int(s, 10 + i);
    }
    r->registers = rs_row_int(s, 13);
    int64_t fixed = rs_row_int(s, 14), dynamic = rs_row_int(s, 15);
    if (fixed != RS_NO_VALUE && dynamic != RS_NO_VALUE) r->shared_memory = rs_add_sat(fixed, dynamic);
    nsys *n = context;
    return name_has(r, "nccl") ? rs_nsys_describe(&n->ranges, r) : RS_OK;
}

/* What nsys's numbers of memory mean. */
static const char *memory_of(int64_t kind)
{
    static const char *const names[] = {"Pageable", "Pinned",        "Device",        "Array",
                                        "Managed",  "Device Static", "Managed Static"};
    return kind >= 0 && kind < (int64_t)(sizeof names / sizeof *names) ? names[kind] : NULL;
}

static rs_status name_work(nsys *n, rs_native *r, const char *text)
{
    r->name_id = intern(n, text, strlen(text));
    return r->name_id == RS_NO_STRING ? rs_fail_nomem(n->d->err, "strings") : RS_OK;
}

/* "Memcpy HtoD (Pageable -> Device)", as Kineto calls it. */
static rs_status copy_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    static const char *const kinds[] = {[1] = " HtoD", [2] = " DtoH", [8] = " DtoD", [10] = " PtoP"};
    char name[80];
    take_device(s, r);
    r->category = "gpu_memcpy";
    r->bytes = rs_row_int(s, 7);
    int64_t kind = rs_row_int(s, 8);
    const char *way = kind >= 0 && kind <= 10 && kinds[kind] ? kinds[kind] : "";
    const char *from = memory_of(rs_row_int(s, 9)), *to = memory_of(rs_row_int(s, 10));
    if (*way && from && to)
        snprintf(name, sizeof name, "Memcpy%s (%s -> %s)", way, from, to);
    else
        snprintf(name, sizeof name, "Memcpy%s", way);
    return name_work(context, r, name);
}

static rs_status memset_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    char name[40];
    take_device(s, r);
    r->category = "gpu_memset";
    r->bytes = rs_row_int(s, 7);
    const char *memory = memory_of(rs_row_int(s, 8));
    snprintf(name, sizeof name, memory ? "Memset (%s)" : "Memset", memory);
    return name_work(context, r, name);
}

/* A graph that was recorded as a whole. */
static rs_status graph_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    char name[48];
    take_device(s, r);
    r->category = "kernel";
    int64_t id = rs_row_int(s, 7);
    int length = id == RS_NO_VALUE ? snprintf(name, sizeof name, "CUDA graph")
                                   : snprintf(name, sizeof name, "CUDA graph %lld", (long long)id);
    r->name_id = intern(n, name, (size_t)length);
    n->n_graphs++;
    return r->name_id == RS_NO_STRING ? rs_fail_nomem(n->d->err, "strings") : RS_OK;
}

/* ---- synchronization ----------------------------------------------------------------------------------- */

static const char *const record_columns[] = {"globalPid", "eventId", "correlationId", "streamId", NULL};

static rs_status record_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    (void)r;
    int64_t global = rs_row_int(s, 1);
    recorded one = {.pid = global == RS_NO_VALUE ? 0 : rs_nsys_pid(global),
                    .event = rs_row_int(s, 2),
                    .correlation = rs_row_int(s, 3),
                    .stream = rs_row_int(s, 4)};
    if (one.event == RS_NO_VALUE || one.correlation == RS_NO_VALUE) return RS_OK;
    return RS_PUSH(n->records, n->n_records, n->records_capacity, one)
               ? RS_OK
               : rs_fail_nomem(n->d->err, "recorded events");
}

static const rs_order by_event[] = {RS_RISING(recorded, pid), RS_RISING(recorded, event),
                                    RS_RISING(recorded, correlation)};

/* The last time that the event was recorded before the call; NULL: never. */
static const recorded *recorded_before(const nsys *n, int64_t pid, int64_t event, int64_t correlation)
{
    recorded wanted = {.pid = pid, .event = event, .correlation = correlation};
    size_t low;
    RS_SEARCH(low, n->n_records, RS_COMPARE(by_event, &n->records[low], &wanted) < 0);
    if (!low) return NULL;
    const recorded *r = &n->records[low - 1];
    return r->pid == pid && r->event == event ? r : NULL;
}

/* As Kineto has them: named by kind, on the stream that waits, with what they wait for. */
static rs_status sync_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    static const char *const names[] = {NULL, "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};
    const nsys *n = context;
    take_device(s, r);
    int64_t type = rs_row_int(s, 7), event = rs_row_int(s, 8);
    r->category = "cuda_sync";
    r->name = type >= 1 && type <= 4 ? names[type] : "Sync";
    r->name_length = strlen(r->name);
    r->context = rs_row_int(s, 9);
    /* CUPTI's "does not apply" */
    if (r->stream >= UINT32_MAX || type == 1 || type == 4) r->stream = RS_NO_VALUE;
    const recorded *record =
        type == 1 || type == 2 ? recorded_before(n, r->pid, event, r->correlation) : NULL;
    if (record) {
        r->wait_record = record->correlation;
        r->wait_stream = record->stream;
    }
    return RS_OK;
}

/* ---- what the file says about the machine -------------------------------------------------------------- */

static const char *const gpu_columns[] = {NULL};
static rs_status gpu_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    rs_file_info *info = &n->d->events->info;
    (void)r;
    const char *name = rs_row_text(s, 0);
    info->n_devices++;
    if (info->device_name != RS_NO_STRING || !name) return RS_OK;
    info->device_name = intern(n, name, strlen(name));
    return info->device_name == RS_NO_STRING ? rs_fail_nomem(n->d->err, "strings") : RS_OK;
}

/* Times count from the session's start. */
static const char *const session_columns[] = {"utcEpochNs", NULL};
static rs_status session_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    rs_file_info *info = &n->d->events->info;
    (void)r;
    if (info->base_time_ns == RS_NO_VALUE) info->base_time_ns = rs_row_int(s, 1);
    return RS_OK;
}

/* What the profiler complained of: lost records and the like. */
#define MAX_LOG 1000
static const char *const log_columns[] = {"text", NULL};
static rs_status log_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    rs_events *e = n->d->events;
    (void)r;
    const char *text = rs_row_text(s, 1);
    if (!text || e->n_log >= MAX_LOG) return RS_OK;
    uint32_t id = intern(n, text, strlen(text));
    if (id == RS_NO_STRING ||
        !RS_PUSH(e->log, e->n_log, e->log_capacity, (rs_log_line){.level = 'W', .text = id}))
        return rs_fail_nomem(n->d->err, "the profiler's log");
    return RS_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static const char *const call_columns[] = {"start", "end", "globalTid", "correlationId", NULL};
static const char *const kernel_columns[] = {"start",
                                             "end",
                                             "globalPid",
                                             "correlationId",
                                             "deviceId",
                                             "streamId",
                                             "gridX",
                                             "gridY",
                                             "gridZ",
                                             "blockX",
                                             "blockY",
                                             "blockZ",
                                             "registersPerThread",
                                             "staticSharedMemory",
                                             "dynamicSharedMemory",
                                             NULL};
static const char *const copy_columns[] = {"start",    "end",      "globalPid", "correlationId",
                                           "deviceId", "streamId", "bytes",     "copyKind",
                                           "srcKind",  "dstKind",  NULL};
static const char *const memset_columns[] = {
    "start", "end", "globalPid", "correlationId", "deviceId", "streamId", "bytes", "memKind", NULL};
static const char *const graph_columns[] = {"start",    "end",      "globalPid",           "correlationId",
                                            "deviceId", "streamId", "graphId|graphExecId", NULL};
static const char *const sync_columns[] = {"start",    "end",      "globalPid", "correlationId", "deviceId",
                                           "streamId", "syncType", "eventId",   "contextId",     NULL};

/* What others refer to comes first: launches before kernels, recorded events before who waits for them. */
static const rs_source_table tables[] = {
    {"TARGET_INFO_GPU", gpu_columns, NULL, gpu_row, NULL},
    {"TARGET_INFO_SESSION_START_TIME", session_columns, NULL, session_row, NULL},
    {"DIAGNOSTIC_EVENT", log_columns, NULL, log_row, NULL},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, "nameId", call_row, NULL},
    {"CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, "demangledName|shortName", kernel_row, NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns, NULL, graph_row, NULL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, NULL, copy_row, NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET", memset_columns, NULL, memset_row, NULL},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", record_columns, NULL, record_row, NULL},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync_columns, NULL, sync_row, NULL},
};
#define N_TABLES (sizeof tables / sizeof *tables)

static rs_status read_ranges(rs_nsys_ranges *n)
{
    int64_t rows;
    RS_TRY(rs_database_read(n->d, &rs_nsys_domains, n, &rows));
    RS_TRY(rs_database_read(n->d, &rs_nsys_payloads, n, &rows));
    RS_TRY(rs_database_read(n->d, &rs_nsys_events, n, &rows));
    rs_nsys_ranges_end(n);
    return RS_OK;
}

static rs_status read_nsys(rs_database *d)
{
    nsys n = {.d = d, .ranges = {.d = d}};
    rs_status status = read_ranges(&n.ranges);
    for (size_t i = 0; i < N_TABLES && status == RS_OK; i++) {
        int64_t rows;
        status = rs_database_read(d, &tables[i], &n, &rows);
        if (tables[i].row == record_row && n.n_records) RS_SORT(n.records, n.n_records, by_event);
    }
    if (status == RS_OK) status = rs_nsys_read_host(d);
    if (status == RS_OK && n.n_graphs)
        rs_problems_add_many(
            &d->events->problems, d->file, -1, RS_WARNING, "whole_graphs",
            "CUDA graphs were recorded as wholes: which of their kernels compute, communicate "
            "or copy is not known, and they count as computation; record with --cuda-graph-trace=node",
            RS_NO_OFFSET, (uint64_t)n.n_graphs, NULL);
    rs_nsys_ranges_clear(&n.ranges);
    rs_map64_clear(&n.last_of);
    rs_map64_clear(&n.calls_of);
    rs_free(n.records);
    return status;
}

static rs_status is_nsys(rs_database *d, bool *is)
{
    return rs_database_has(d, "StringIds", is);
}

/* A report and its exports, packed or not. */
static rs_run_name run_name(const char *path)
{
    static const char *const ends[] = {".sqlite", ".sqlite.gz", ".sqlite.zst", ".nsys-rep", ".qdrep"};
    size_t n = strlen(path);
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && strcmp(path + n - m, ends[i]) == 0)
            return (rs_run_name){.format = &rs_format_nsys, .prefix = n - m, .preference = i};
    }
    return (rs_run_name){0};
}

/* What doctor advises where nsys records, by check. */
static const rs_remedy remedies[] = {
    {"damaged text", "let nsys finish its report, then export it again"},
    {"GPU work", "nsys profile -t cuda, around the process that uses the GPU"},
    {"host operators", "nsys profile -t cuda,nvtx --pytorch=autograd-shapes-nvtx, or "
                       "torch.autograd.profiler.emit_nvtx around the steps"},
    {"shapes", "nsys profile --pytorch=autograd-shapes-nvtx, or emit_nvtx(record_shapes=True)"},
    {"Python stacks", "nsys profile --pytorch=functions-trace, or --python-backtrace=cuda"},
    {"launches without work", "export the whole report; update nsys if one call never shows work"},
    {"work without launch",
     "record with -t cuda from the start of the process, without --capture-range cutting a step"},
    {"graph launches", "nsys profile --cuda-graph-trace=node"},
    {"work before launch", "a clock skew of the driver: a newer nsys; restart the process"},
    {"repeated correlations", "one report a rank: -o rank%q{RANK}"},
    {"rank", "nsys profile -o 'rank%q{RANK}', or rankscope capture, puts the rank in the file name"},
    {"steps", "put each iteration in an NVTX range \"ProfilerStep#N\" (torch.cuda.nvtx.range_push) and add "
              "-t cuda,nvtx"},
    {"sync events", "nsys profile -t cuda --cuda-event-trace=true"},
    {"collective arguments",
     "export with nsys export --type sqlite --include-blobs true; there is nothing in it "
     "without -t cuda,nvtx and NCCL 2.20 or later"},
    {"dropped buffers", "a shorter recording (--duration, --capture-range); fewer kinds of traces"},
    {"clock units", "the export holds nanoseconds: do not rescale them"},
    {"clock resolution", "do not convert the export's times"},
    {NULL, NULL},
};

const rs_format rs_format_nsys = {.name = "nsys",
                                  .title = "Nsight Systems export",
                                  .sniff = rs_database_sniff,
                                  .database_is = is_nsys,
                                  .database_read = read_nsys,
                                  .database_mark = "Nsight Systems (table StringIds)",
                                  .is_report = rs_nsys_is_report,
                                  .load_report = rs_nsys_load_report,
                                  .run_name = run_name,
                                  .remedies = remedies};
