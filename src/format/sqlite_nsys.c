/* Nsight Systems' SQLite exports (nsys export --type sqlite): what CUPTI recorded, and NVTX ranges.
 *
 * Tables are made only for what was recorded, so any of them may be missing. NCCL describes its calls in NVTX
 * ranges on the host; they are followed through the launch that stands in them to the kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "format/rocprof_fields.h"
#include "format/sqlite_internal.h"

#define PUSH_POP 59 /* kinds of NVTX events */
#define START_END 60
#define DOMAIN_CREATE 75

#define MAX_GROUP 4096 /* calls of NCCL that are looked through for the beginning of a group */

/* A call of NCCL on the host. */
typedef struct nccl_call {
    int64_t thread, start, end; /* globalTid, ns */
    uint32_t name;              /* string id, without "nccl"; RS_NO_STRING: the end of a group */
    uint32_t comm;              /* string id of the communicator's hash; RS_NO_STRING: not told */
    int64_t bytes;
    bool group_start;
} nccl_call;

/* cudaEventRecord: an event on a stream. */
typedef struct recorded {
    int64_t pid, event, correlation, stream;
} recorded;

typedef struct nsys {
    rs_database *d;
    rs_map64 domains; /* process and NVTX domain, where that is NCCL's */
    nccl_call *nccl;
    size_t n_nccl, nccl_capacity;
    rs_map64 ranks_of; /* communicator (string id) -> its ranks */
    rs_map64 nccl_of;  /* process and correlation of a launch -> call of NCCL */
    recorded *records;
    size_t n_records, records_capacity;
    int64_t n_graphs;
} nsys;

static int64_t pid_of(int64_t global)
{
    return (int64_t)((uint64_t)global >> 24 & 0xffffff);
}

/* Two numbers as one key; false where they do not fit, as no honest ones do. */
static bool pair_key(int64_t pid, int64_t number, uint64_t *key)
{
    *key = (uint64_t)pid << 40 | (uint64_t)number;
    return pid >= 0 && pid < INT64_C(1) << 24 && number >= 0 && number < INT64_C(1) << 40;
}

static uint32_t intern(nsys *n, const char *text, size_t length)
{
    return rs_strings_add(&n->d->events->strings, text, length);
}

/* ---- NVTX ---------------------------------------------------------------------------------------------- */

static const char *const domain_columns[] = {"globalTid", "domainId", "eventType", "text", NULL};

static rs_status domain_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    (void)r;
    int64_t thread = rs_row_int(s, 1);
    const char *name = rs_row_text(s, 4);
    uint64_t key;
    bool is_new;
    if (!name) name = rs_row_text(s, 0);
    if (rs_row_int(s, 3) != DOMAIN_CREATE || !name || strcmp(name, "NCCL") != 0) return RS_OK;
    if (thread == RS_NO_VALUE || !pair_key(pid_of(thread), rs_row_int(s, 2), &key)) return RS_OK;
    return rs_map64_put(&n->domains, key, &is_new) ? RS_OK : rs_fail_nomem(n->d->err, "NVTX domains");
}

static uint32_t field_text(nsys *n, const rs_rocprof_field *f)
{
    return f->text.bytes ? intern(n, (const char *)f->text.bytes, f->text.length) : RS_NO_STRING;
}

/* What NCCL says of a call: a flat object, keys as NCCL's NVTX schemas name them. */
static rs_status take_payload(nsys *n, const char *json, size_t length, nccl_call *call)
{
    static const char *const keys[] = {"NCCL communicator ID", "Message size [bytes]", "No. of ranks"};
    rs_rocprof_field f[3];
    if (!json || !rs_fields_read((const uint8_t *)json, length, keys, 3, f)) return RS_OK;
    call->comm = field_text(n, &f[0]);
    call->bytes = rs_field_int(&f[1], RS_NO_VALUE);
    int64_t ranks = rs_field_int(&f[2], 0);
    if (f[0].text.bytes && call->comm == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    if (call->comm == RS_NO_STRING || ranks < 1 || ranks > INT32_MAX) return RS_OK;
    bool is_new;
    uint32_t *slot = rs_map64_put(&n->ranks_of, call->comm, &is_new);
    if (!slot) return rs_fail_nomem(n->d->err, "communicators");
    *slot = (uint32_t)ranks;
    return RS_OK;
}

/* "ncclAllReduce" and its like are kept; what only administrates is not. */
static rs_status take_nccl(nsys *n, sqlite3_stmt *s, const rs_native *r, int64_t thread)
{
    nccl_call call = {.thread = thread,
                      .start = r->start,
                      .end = r->end,
                      .name = RS_NO_STRING,
                      .comm = RS_NO_STRING,
                      .bytes = RS_NO_VALUE};
    const char *json = rs_row_text(s, 7);
    int column = json ? 7 : 8;
    if (!json) json = rs_row_text(s, 8);
    rs_status status = take_payload(n, json, json ? (size_t)sqlite3_column_bytes(s, column) : 0, &call);
    if (status != RS_OK) return status;
    const char *name = r->name + 4;
    size_t length = r->name_length - 4;
    call.group_start = length == 10 && memcmp(name, "GroupStart", 10) == 0;
    bool group_end = length == 8 && memcmp(name, "GroupEnd", 8) == 0;
    if ((length >= 4 && memcmp(name, "Comm", 4) == 0) || thread == RS_NO_VALUE) return RS_OK;
    if (!call.group_start && !group_end) {
        char lower[64];
        if (length > sizeof lower) return RS_OK;
        for (size_t i = 0; i < length; i++)
            lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
        call.name = intern(n, lower, length);
        if (call.name == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    }
    return RS_PUSH(n->nccl, n->n_nccl, n->nccl_capacity, call) ? RS_OK
                                                               : rs_fail_nomem(n->d->err, "NCCL's calls");
}

static const char *const range_columns[] = {"start",    "end",      "globalTid",   "text", "eventType",
                                            "domainId", "jsonText", "@jsonTextId", NULL};

static void take_times(sqlite3_stmt *s, rs_native *r)
{
    int64_t global = rs_row_int(s, 3);
    r->start = rs_row_int(s, 1);
    r->end = rs_row_int(s, 2);
    if (global == RS_NO_VALUE) return;
    r->pid = pid_of(global);
    r->tid = (int64_t)((uint64_t)global & 0xffffff);
}

/* Ranges that threads push and pop, and those that start and end; marks and open ones have no length. */
static rs_status range_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    int64_t type = rs_row_int(s, 5), thread = rs_row_int(s, 3);
    uint64_t key;
    if (type != PUSH_POP && type != START_END) return RS_OK;
    take_times(s, r);
    if (r->end == RS_NO_TIME) r->end = r->start;
    rs_row_name(s, rs_row_text(s, 4) ? 4 : 0, r, "range");
    r->category = "user_annotation";
    if (type != PUSH_POP || r->name_length < 5 || memcmp(r->name, "nccl", 4) != 0) return RS_OK;
    bool known = thread != RS_NO_VALUE && pair_key(pid_of(thread), rs_row_int(s, 6), &key) &&
                 rs_map64_get(&n->domains, key);
    return known ? take_nccl(n, s, r, thread) : RS_OK;
}

static const rs_order by_thread[] = {RS_RISING(nccl_call, thread), RS_RISING(nccl_call, start),
                                     RS_FALLING(nccl_call, end)};

/* The call of NCCL that a thread was in at a time; SIZE_MAX: none. */
static size_t call_at(const nsys *n, int64_t thread, int64_t time)
{
    size_t low;
    RS_SEARCH(low, n->n_nccl,
              n->nccl[low].thread < thread || (n->nccl[low].thread == thread && n->nccl[low].start <= time));
    /* ranges of a thread nest: the last that began is the innermost, unless it is over */
    for (size_t back = 0; low > 0 && back < 16; low--, back++) {
        const nccl_call *c = &n->nccl[low - 1];
        if (c->thread != thread) return SIZE_MAX;
        if (c->end >= time) return low - 1;
    }
    return SIZE_MAX;
}

/* The calls that a launch at the end of a group stands for: back to where the group began. They are told as
 * one where they are of one kind and one communicator. */
static bool calls_of_group(const nsys *n, size_t end, nccl_call *out)
{
    size_t found = 0;
    int depth = 1;
    for (size_t i = end; i > 0 && end - i < MAX_GROUP && n->nccl[i - 1].thread == n->nccl[end].thread; i--) {
        const nccl_call *c = &n->nccl[i - 1];
        depth += c->name == RS_NO_STRING ? (c->group_start ? -1 : 1) : 0;
        if (depth == 0) break;
        if (c->name == RS_NO_STRING) continue;
        if (!found++) {
            *out = *c;
            continue;
        }
        if (out->comm != c->comm) out->comm = RS_NO_STRING;
        if (out->name != c->name) out->name = RS_NO_STRING;
        out->bytes = out->bytes == RS_NO_VALUE || c->bytes == RS_NO_VALUE || out->name == RS_NO_STRING
                         ? RS_NO_VALUE
                         : rs_add_sat(out->bytes, c->bytes);
    }
    return found > 0;
}

/* Says on a kernel what NCCL said of its call. Sizes are bytes: the type is not told. */
static rs_status describe(nsys *n, rs_native *r)
{
    uint64_t key;
    const uint32_t *at = pair_key(r->pid, r->correlation, &key) ? rs_map64_get(&n->nccl_of, key) : NULL;
    if (!at) return RS_OK;
    nccl_call call = n->nccl[*at];
    if (call.name == RS_NO_STRING && !calls_of_group(n, *at, &call)) return RS_OK;
    r->collective = call.name;
    r->group = call.comm;
    const uint32_t *ranks = call.comm == RS_NO_STRING ? NULL : rs_map64_get(&n->ranks_of, call.comm);
    if (ranks) r->group_size = *ranks;
    if (call.bytes < 0 || call.name == RS_NO_STRING) return RS_OK;
    const char *name = n->d->events->strings.items[call.name].text;
    bool gather = strcmp(name, "allgather") == 0, scatter = strcmp(name, "reducescatter") == 0;
    r->dtype = intern(n, "Byte", 4);
    if (r->dtype == RS_NO_STRING) return rs_fail_nomem(n->d->err, "strings");
    /* NCCL tells the smaller side of what grows or shrinks by the number of ranks */
    int64_t large = RS_NO_VALUE;
    if (!gather && !scatter)
        large = call.bytes;
    else if (ranks && __builtin_mul_overflow(call.bytes, (int64_t)*ranks, &large))
        large = RS_NO_VALUE;
    r->in_elements = scatter ? large : call.bytes;
    r->out_elements = gather ? large : call.bytes;
    return RS_OK;
}

/* ---- calls and GPU work -------------------------------------------------------------------------------- */

static bool name_has(const rs_native *r, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= r->name_length; i++)
        if (memcmp(r->name + i, word, n) == 0) return true;
    return false;
}

/* "cudaLaunchKernel_v7000": the version is no part of the call's name. */
static rs_status call_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    nsys *n = context;
    take_times(s, r);
    rs_row_name(s, 0, r, "call");
    size_t end = r->name_length;
    while (end > 0 && r->name[end - 1] >= '0' && r->name[end - 1] <= '9') end--;
    if (end > 2 && end < r->name_length && r->name[end - 1] == 'v' && r->name[end - 2] == '_')
        r->name_length = end - 2;
    bool driver = r->name_length > 2 && r->name[0] == 'c' && r->name[1] == 'u' && r->name[2] != 'd';
    r->category = driver ? "cuda_driver" : "cuda_runtime";
    r->correlation = rs_row_int(s, 4);
    if (!n->n_nccl || r->start == RS_NO_TIME || !name_has(r, "Launch")) return RS_OK;
    uint64_t key;
    bool is_new;
    size_t at = call_at(n, rs_row_int(s, 3), r->start);
    if (at == SIZE_MAX || at > UINT32_MAX || !pair_key(r->pid, r->correlation, &key)) return RS_OK;
    uint32_t *slot = rs_map64_put(&n->nccl_of, key, &is_new);
    if (!slot) return rs_fail_nomem(n->d->err, "NCCL's launches");
    *slot = (uint32_t)at;
    return RS_OK;
}

static void take_device(sqlite3_stmt *s, rs_native *r)
{
    take_times(s, r);
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
    return name_has(r, "nccl") ? describe(context, r) : RS_OK;
}

static rs_status copy_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    static const struct {
        int64_t kind;
        const char *name;
    } kinds[] = {{1, "Memcpy HtoD"}, {2, "Memcpy DtoH"}, {8, "Memcpy DtoD"}, {10, "Memcpy PtoP"}};
    (void)context;
    take_device(s, r);
    r->category = "gpu_memcpy";
    r->name = "Memcpy";
    int64_t kind = rs_row_int(s, 8);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind) r->name = kinds[i].name;
    r->name_length = strlen(r->name);
    r->bytes = rs_row_int(s, 7);
    return RS_OK;
}

static rs_status memset_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    (void)context;
    take_device(s, r);
    r->category = "gpu_memset";
    r->name = "Memset";
    r->name_length = 6;
    r->bytes = rs_row_int(s, 7);
    return RS_OK;
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
    recorded one = {.pid = global == RS_NO_VALUE ? 0 : pid_of(global),
                    .event = rs_row_int(s, 2),
                    .correlation = rs_row_int(s, 3),
                    .stream = rs_row_int(s, 4)};
    if (one.event == RS_NO_VALUE || one.correlation == RS_NO_VALUE) return RS_OK;
    return RS_PUSH(n->records, n->n_records, n->records_capacity, one)
               ? RS_OK
               : rs_fail_nomem(n->d->err, "recorded events");
}

static int by_event(const void *a, const void *b)
{
    const recorded *x = a, *y = b;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    if (x->event != y->event) return x->event < y->event ? -1 : 1;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

/* The last time that the event was recorded before the call; NULL: never. */
static const recorded *recorded_before(const nsys *n, int64_t pid, int64_t event, int64_t correlation)
{
    recorded wanted = {.pid = pid, .event = event, .correlation = correlation};
    size_t low;
    RS_SEARCH(low, n->n_records, by_event(&n->records[low], &wanted) < 0);
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
static const char *const copy_columns[] = {
    "start", "end", "globalPid", "correlationId", "deviceId", "streamId", "bytes", "copyKind", NULL};
static const char *const memset_columns[] = {"start",    "end",      "globalPid", "correlationId",
                                             "deviceId", "streamId", "bytes",     NULL};
static const char *const graph_columns[] = {"start",    "end",      "globalPid",           "correlationId",
                                            "deviceId", "streamId", "graphId|graphExecId", NULL};
static const char *const sync_columns[] = {"start",    "end",      "globalPid", "correlationId", "deviceId",
                                           "streamId", "syncType", "eventId",   "contextId",     NULL};

/* What others refer to comes first: domains before ranges, ranges before launches, those before kernels. */
static const rs_source_table tables[] = {
    {"TARGET_INFO_GPU", gpu_columns, NULL, gpu_row, NULL},
    {"TARGET_INFO_SESSION_START_TIME", session_columns, NULL, session_row, NULL},
    {"DIAGNOSTIC_EVENT", log_columns, NULL, log_row, NULL},
    {"NVTX_EVENTS", domain_columns, "textId", domain_row, "eventType = 75"},
    {"NVTX_EVENTS", range_columns, "textId", range_row, NULL},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, "nameId", call_row, NULL},
    {"CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, "demangledName|shortName", kernel_row, NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns, NULL, graph_row, NULL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, NULL, copy_row, NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET", memset_columns, NULL, memset_row, NULL},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", record_columns, NULL, record_row, NULL},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync_columns, NULL, sync_row, NULL},
};
#define N_TABLES (sizeof tables / sizeof *tables)

static rs_status read_nsys(rs_database *d)
{
    nsys n = {.d = d};
    rs_status status = RS_OK;
    for (size_t i = 0; i < N_TABLES && status == RS_OK; i++) {
        int64_t rows;
        status = rs_database_read(d, &tables[i], &n, &rows);
        if (tables[i].row == range_row && n.n_nccl) RS_SORT(n.nccl, n.n_nccl, by_thread);
        if (tables[i].row == record_row && n.n_records)
            qsort(n.records, n.n_records, sizeof *n.records, by_event);
    }
    if (status == RS_OK && n.n_graphs)
        rs_problems_add_many(
            &d->events->problems, d->file, -1, RS_WARNING, "whole_graphs",
            "CUDA graphs were recorded as wholes: which of their kernels compute, communicate "
            "or copy is not known, and they count as computation; record with "
            "--cuda-graph-trace=node",
            RS_NO_OFFSET, (uint64_t)n.n_graphs, NULL);
    rs_map64_clear(&n.domains);
    rs_map64_clear(&n.ranks_of);
    rs_map64_clear(&n.nccl_of);
    rs_free(n.nccl);
    rs_free(n.records);
    return status;
}

static rs_status is_nsys(rs_database *d, bool *is)
{
    return rs_database_has(d, "StringIds", is);
}

/* What doctor advises where nsys records, by check. */
static const rs_remedy remedies[] = {
    {"damaged text", "let nsys finish its report, then export it again"},
    {"GPU work", "nsys profile -t cuda, around the process that uses the GPU"},
    {"host operators", "nsys knows no operators: record with the PyTorch profiler where they are wanted"},
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
    {"collective arguments", "add -t cuda,nvtx with an NCCL that tells its arguments to NVTX (2.20 or "
                             "later), and export with a current nsys"},
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
                                  .remedies = remedies};
