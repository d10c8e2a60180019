/* What nsys saw of the host's threads, and of the GPU between its kernels: calls of the operating system's
 * libraries (-t osrt), when threads ran (--cpuctxsw), what they were in (--sample), and counters
 * (--gpu-metrics-devices). Of threads of processes that have calls, ranges or work of their own. */
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "format/sqlite_nsys.h"

/* A thread is scheduled, or no longer. */
typedef struct turn {
    int64_t thread, time;
    bool in;
} turn;

/* A counter of nsys's list. */
typedef struct metric {
    int64_t type, id;
    uint32_t name; /* string id */
} metric;

typedef struct host {
    rs_database *d;
    rs_map64 processes;
    rs_map64 symbols; /* sample -> string id */
    turn *turns;
    size_t n_turns, turns_capacity;
    metric *metrics;
    size_t n_metrics, metrics_capacity;
    rs_map64 gpus; /* GPU -> its number in CUDA + 1 */
    rs_map64 gpu_processes;
    int64_t process; /* the only one, RS_NO_VALUE: several */
} host;

static bool is_ours(const host *h, int64_t thread)
{
    return thread != RS_NO_VALUE && rs_map64_get(&h->processes, (uint64_t)rs_nsys_pid(thread));
}

static rs_status note_processes(host *h)
{
    const rs_events *e = h->d->events;
    h->process = RS_NO_VALUE;
    for (size_t i = 0; i < e->n_threads; i++) {
        bool is_new;
        if (!rs_map64_put(&h->processes, (uint64_t)e->threads[i].pid, &is_new))
            return rs_fail_nomem(h->d->err, "processes");
        if (is_new) h->process = h->processes.n == 1 ? e->threads[i].pid : RS_NO_VALUE;
    }
    return RS_OK;
}

static const char *const name_columns[] = {"globalTid", NULL};

static rs_status name_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    const host *h = context;
    int64_t thread = rs_row_int(s, 1);
    const char *name = rs_row_text(s, 0);
    (void)r;
    if (!name || !is_ours(h, thread)) return RS_OK;
    return rs_native_name_thread(h->d->events, rs_nsys_pid(thread), rs_nsys_tid(thread), name, h->d->err);
}

/* ---- calls of the operating system ---------------------------------------------------------------------- */

static const char *const call_columns[] = {"start", "end", "globalTid", NULL};

static rs_status call_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    const host *h = context;
    if (!is_ours(h, rs_row_int(s, 3))) return RS_OK;
    rs_nsys_times(s, r);
    rs_row_name(s, 0, r, "call");
    r->category = "os_call";
    return RS_OK;
}

/* ---- when threads ran ----------------------------------------------------------------------------------- */

static const char *const turn_columns[] = {"start", "isSchedIn", "globalTid", NULL};

static rs_status turn_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    host *h = context;
    (void)r;
    turn one = {.time = rs_row_int(s, 1), .in = rs_row_int(s, 2) != 0, .thread = rs_row_int(s, 3)};
    if (!is_ours(h, one.thread) || one.time == RS_NO_VALUE) return RS_OK;
    if (!RS_GROW_ONE(h->turns, h->n_turns, h->turns_capacity))
        return rs_fail_nomem(h->d->err, "threads' turns");
    h->turns[h->n_turns++] = one;
    return RS_OK;
}

static const rs_order by_thread[] = {RS_RISING(turn, thread), RS_RISING(turn, time), RS_RISING(turn, in)};

/* From where a thread was taken off to where it ran again. */
static rs_status add_off_cpu(host *h)
{
    RS_SORT(h->turns, h->n_turns, by_thread);
    for (size_t i = 0; i + 1 < h->n_turns; i++) {
        const turn *out = &h->turns[i], *in = out + 1;
        if (out->in || !in->in || out->thread != in->thread) continue;
        rs_native r = RS_NATIVE_NONE;
        r.category = "off_cpu";
        r.name = "off CPU";
        r.name_length = 7;
        r.start = out->time;
        r.end = in->time;
        r.pid = rs_nsys_pid(out->thread);
        r.tid = rs_nsys_tid(out->thread);
        RS_TRY(rs_native_add(h->d->events, h->d->file, &r, RS_NO_OFFSET, h->d->err));
    }
    return RS_OK;
}

/* ---- what they were in ---------------------------------------------------------------------------------- */

static const char *const symbol_columns[] = {"id", "@module", "unresolved", NULL};

/* The innermost function of a sample: "PyObject_GetAttr (python3.8)"; an address by itself is its module's. */
static rs_status symbol_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    host *h = context;
    char text[512];
    (void)r;
    int64_t id = rs_row_int(s, 1);
    const char *symbol = rs_row_text(s, 0), *module = rs_row_text(s, 2);
    const char *slash = module ? strrchr(module, '/') : NULL;
    if (slash) module = slash + 1;
    if (id < 0 || (!symbol && !module)) return RS_OK;
    bool address = !symbol || strncmp(symbol, "0x", 2) == 0;
    int n = !module   ? snprintf(text, sizeof text, "%s", symbol)
            : address ? snprintf(text, sizeof text, "(%s)", module)
                      : snprintf(text, sizeof text, "%.400s (%s)", symbol, module);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    bool is_new;
    uint32_t *slot = rs_map64_put(&h->symbols, (uint64_t)id, &is_new);
    uint32_t name = rs_strings_add(&h->d->events->strings, text, length);
    if (!slot || name == RS_NO_STRING) return rs_fail_nomem(h->d->err, "samples");
    *slot = name;
    return RS_OK;
}

static const char *const sample_columns[] = {"start", "id", "globalTid", NULL};

static rs_status sample_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    const host *h = context;
    int64_t id = rs_row_int(s, 2);
    const uint32_t *name = id < 0 ? NULL : rs_map64_get(&h->symbols, (uint64_t)id);
    if (!is_ours(h, rs_row_int(s, 3))) return RS_OK;
    rs_nsys_times(s, r);
    r->end = r->start;
    r->category = "cpu_sample";
    r->name = name ? NULL : "sample";
    r->name_length = 6;
    if (name) r->name_id = *name;
    return RS_OK;
}

/* ---- counters ------------------------------------------------------------------------------------------- */

static const char *const gpu_columns[] = {"id|gpuId", "cuDevice|cudaId", "pid", NULL};

/* Which number CUDA gives a GPU, and whose it is. */
static rs_status gpu_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    host *h = context;
    bool is_new;
    (void)r;
    int64_t gpu = rs_row_int(s, 1), device = rs_row_int(s, 2), pid = rs_row_int(s, 3);
    if (gpu < 0 || device < 0 || device >= INT32_MAX) return RS_OK;
    uint32_t *slot = rs_map64_put(&h->gpus, (uint64_t)gpu, &is_new);
    if (!slot) return rs_fail_nomem(h->d->err, "devices");
    *slot = (uint32_t)device;
    if (pid < 0 || pid >= INT32_MAX || !rs_map64_get(&h->processes, (uint64_t)pid)) return RS_OK;
    slot = rs_map64_put(&h->gpu_processes, (uint64_t)gpu, &is_new);
    if (!slot) return rs_fail_nomem(h->d->err, "devices");
    *slot = (uint32_t)pid;
    return RS_OK;
}

static const char *const metric_columns[] = {"typeId", "metricId", "metricName", NULL};

static rs_status metric_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    host *h = context;
    (void)r;
    const char *name = rs_row_text(s, 3);
    metric one = {.type = rs_row_int(s, 1), .id = rs_row_int(s, 2)};
    if (!name || h->n_metrics >= RS_MAX_COUNTERS) return RS_OK;
    one.name = rs_strings_add(&h->d->events->strings, name, strlen(name));
    if (one.name == RS_NO_STRING || !RS_GROW_ONE(h->metrics, h->n_metrics, h->metrics_capacity))
        return rs_fail_nomem(h->d->err, "counters");
    h->metrics[h->n_metrics++] = one;
    return RS_OK;
}

static const rs_order by_metric[] = {RS_RISING(metric, type), RS_RISING(metric, id)};

static const char *const value_columns[] = {"timestamp", "typeId", "metricId", "value", NULL};

static rs_status value_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    host *h = context;
    metric wanted = {.type = rs_row_int(s, 2), .id = rs_row_int(s, 3)};
    size_t at;
    RS_SEARCH(at, h->n_metrics, RS_COMPARE(by_metric, &h->metrics[at], &wanted) < 0);
    const metric *m =
        at < h->n_metrics && RS_COMPARE(by_metric, &h->metrics[at], &wanted) == 0 ? &h->metrics[at] : NULL;
    int64_t value = rs_row_int(s, 4), time = rs_row_int(s, 1);
    if (!m || value == RS_NO_VALUE || time == RS_NO_VALUE || time == 0) return RS_OK;
    uint64_t gpu = (uint64_t)wanted.type & 0xff;
    const uint32_t *device = rs_map64_get(&h->gpus, gpu), *pid = rs_map64_get(&h->gpu_processes, gpu);
    r->pid = pid ? (int64_t)*pid : h->process;
    if (r->pid == RS_NO_VALUE) return RS_OK; /* the GPU of an unknown process */
    r->category = "gpu_metric";
    r->name_id = m->name;
    r->start = r->end = time;
    r->device = device ? (int64_t)*device : (int64_t)gpu;
    r->is_sample = true;
    r->value = (double)value;
    return RS_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

/* What others refer to comes first. */
static const rs_source_table tables[] = {
    {"ThreadNames", name_columns, "nameId", name_row, NULL},
    {"OSRT_API", call_columns, "nameId", call_row, NULL},
    {"SCHED_EVENTS", turn_columns, NULL, turn_row, NULL},
    {"SAMPLING_CALLCHAINS", symbol_columns, "symbol", symbol_row, "stackDepth = 0"},
    {"COMPOSITE_EVENTS", sample_columns, NULL, sample_row, NULL},
    {"TARGET_INFO_GPU", gpu_columns, NULL, gpu_row, NULL},
    {"TARGET_INFO_CUDA_DEVICE", gpu_columns, NULL, gpu_row, NULL},
    {"TARGET_INFO_GPU_METRICS", metric_columns, NULL, metric_row, NULL},
    {"GPU_METRICS", value_columns, NULL, value_row, NULL},
};
#define N_TABLES (sizeof tables / sizeof *tables)

rs_status rs_nsys_read_host(rs_database *d)
{
    host h = {.d = d};
    rs_status status = note_processes(&h);
    for (size_t i = 0; i < N_TABLES && status == RS_OK; i++) {
        int64_t rows;
        status = rs_database_read(d, &tables[i], &h, &rows);
        if (status == RS_OK && tables[i].row == turn_row) status = add_off_cpu(&h);
        if (tables[i].row == metric_row) RS_SORT(h.metrics, h.n_metrics, by_metric);
    }
    rs_map64_clear(&h.processes);
    rs_map64_clear(&h.symbols);
    rs_map64_clear(&h.gpus);
    rs_map64_clear(&h.gpu_processes);
    rs_free_all(h.turns, h.metrics);
    return status;
}
