/* Profiler databases: rocprofv3's rocpd and Nsight Systems' SQLite exports.
 *
 * Tables and columns differ between releases, so each query is put together from the columns that are there;
 * a column that is missing reads as unknown. The file is not trusted: it is opened read-only, its schema may
 * not call anything with effects, and a query that does not come to an end is stopped. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/interval.h"
#include "base/memory.h"
#include "trace/native.h"

#define MAX_TEXT (16 << 20)  /* longest text or blob that is read */
#define STEPS_A_CALL 100000  /* of SQLite's machine between two looks at the clock and the user */
#define CALLS_AT_LEAST 20000 /* steps allowed: these, and some for each byte of the file */
#define STEPS_A_BYTE 200

typedef struct database {
    sqlite3 *db;
    rs_events *events;
    const char *file;
    const rs_load_settings *settings;
    uint64_t calls, max_calls;
    bool cancelled, endless;
    rs_error *err;
} database;

static int on_progress(void *context)
{
    database *d = context;
    d->endless = ++d->calls > d->max_calls;
    d->cancelled = d->settings->progress && !d->settings->progress(d->settings->progress_context);
    return d->endless || d->cancelled;
}

static rs_status failed(database *d, const char *what)
{
    if (d->cancelled) return rs_fail(d->err, RS_ERR_CANCELLED, "stopped");
    if (d->endless)
        return rs_fail_at(d->err, RS_ERR_LIMIT, d->file, RS_NO_OFFSET,
                          "%s needs more work than a file of its size may", what);
    int code = sqlite3_errcode(d->db);
    return rs_fail_at(d->err, code == SQLITE_NOMEM ? RS_ERR_NOMEM : RS_ERR_FORMAT, d->file, RS_NO_OFFSET,
                      "%s: %s", what, sqlite3_errmsg(d->db));
}

/* ---- queries from the columns that are there ---------------------------------------------------------- */

static rs_status has_table(database *d, const char *name, bool *has)
{
    sqlite3_stmt *s = NULL;
    *has = false;
    int code = sqlite3_prepare_v2(
        d->db, "SELECT 1 FROM sqlite_master WHERE name = ?1 AND type IN ('table', 'view') LIMIT 1", -1, &s,
        NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    *has = code == SQLITE_ROW;
    sqlite3_finalize(s);
    return code == SQLITE_ROW || code == SQLITE_DONE ? RS_OK : failed(d, "the list of tables");
}

static rs_status has_column(database *d, const char *table, const char *column, size_t n, bool *has)
{
    sqlite3_stmt *s = NULL;
    *has = false;
    int code = sqlite3_prepare_v2(d->db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 LIMIT 1", -1,
                                  &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_bind_text(s, 2, column, (int)n, SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    *has = code == SQLITE_ROW;
    sqlite3_finalize(s);
    return code == SQLITE_ROW || code == SQLITE_DONE ? RS_OK : failed(d, table);
}

#define MAX_SQL 4096

/* Appends the first of the names ("a|b") that is a column of the table, else NULL. */
static rs_status add_column(database *d, const char *table, const char *names, char *sql, size_t *used)
{
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, "|");
        bool has;
        rs_status status = has_column(d, table, p, n, &has);
        if (status != RS_OK) return status;
        if (has) {
            *used += (size_t)snprintf(sql + *used, MAX_SQL - *used, "t.\"%.*s\"", (int)n, p);
            return RS_OK;
        }
        p += n + (p[n] == '|');
    }
    *used += (size_t)snprintf(sql + *used, MAX_SQL - *used, "NULL");
    return RS_OK;
}

static int64_t whole(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_INTEGER ? sqlite3_column_int64(s, column) : RS_NO_VALUE;
}

static void set_name(sqlite3_stmt *s, int column, rs_native *r, const char *otherwise)
{
    const char *text =
        sqlite3_column_type(s, column) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, column) : NULL;
    r->name = text ? text : otherwise;
    r->name_length = text ? (size_t)sqlite3_column_bytes(s, column) : strlen(otherwise);
}

typedef void (*row_fn)(sqlite3_stmt *s, rs_native *r);

/* One table: its columns ("a|b" each), what its rows become. names: columns that hold ids of StringIds. */
typedef struct source_table {
    const char *table;
    const char *const *columns; /* ended by NULL */
    const char *strings; /* the columns whose text stands in StringIds, "a|b": the first that is there */
    row_fn row;
} source_table;

static rs_status run_query(database *d, const char *sql, row_fn row, const char *what)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(d->db, sql, -1, &s, NULL);
    if (code != SQLITE_OK) {
        sqlite3_finalize(s);
        return failed(d, what);
    }
    rs_status status = RS_OK;
    while (status == RS_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
        rs_native r = RS_NATIVE_NONE;
        row(s, &r);
        if (r.category) status = rs_native_add(d->events, d->file, &r, RS_NO_OFFSET, d->err);
    }
    if (status == RS_OK && code != SQLITE_DONE) status = failed(d, what);
    sqlite3_finalize(s);
    return status;
}

/* Column 0 of the query is the name, then the columns in order. *found: the table is there. */
static rs_status read_table(database *d, const source_table *t, bool strings, bool *found)
{
    char sql[MAX_SQL];
    size_t used = 0;
    rs_status status = has_table(d, t->table, found);
    if (status != RS_OK || !*found) return status;
    used += (size_t)snprintf(sql, sizeof sql, "SELECT ");
    if (t->strings && strings) {
        used += (size_t)snprintf(sql + used, sizeof sql - used, "(SELECT value FROM StringIds WHERE id = ");
        status = add_column(d, t->table, t->strings, sql, &used);
        used += (size_t)snprintf(sql + used, sizeof sql - used, ")");
    } else {
        status = add_column(d, t->table, "name", sql, &used);
    }
    for (size_t i = 0; t->columns[i] && status == RS_OK; i++) {
        used += (size_t)snprintf(sql + used, sizeof sql - used, ", ");
        status = add_column(d, t->table, t->columns[i], sql, &used);
    }
    if (status != RS_OK) return status;
    snprintf(sql + used, sizeof sql - used, " FROM \"%s\" t", t->table);
    return run_query(d, sql, t->row, t->table);
}

/* ---- rocpd -------------------------------------------------------------------------------------------- */

static void rocpd_kernel(sqlite3_stmt *s, rs_native *r)
{
    r->category = "kernel";
    set_name(s, 0, r, "kernel");
    r->start = whole(s, 1);
    r->end = whole(s, 2);
    r->pid = whole(s, 3);
    r->tid = whole(s, 4);
    r->device = whole(s, 5);
    r->stream = whole(s, 6);
    if (r->stream == RS_NO_VALUE) r->stream = whole(s, 7);
    r->correlation = whole(s, 8);
    for (int i = 0; i < 3; i++) {
        r->grid[i] = whole(s, 9 + i);
        r->block[i] = whole(s, 12 + i);
    }
    rs_native_grid_of_items(r);
    r->shared_memory = whole(s, 15);
    r->registers = whole(s, 16);
}

static void rocpd_copy(sqlite3_stmt *s, rs_native *r)
{
    r->category = "gpu_memcpy";
    set_name(s, 0, r, "copy");
    r->start = whole(s, 1);
    r->end = whole(s, 2);
    r->pid = whole(s, 3);
    r->tid = whole(s, 4);
    const char *type = (const char *)sqlite3_column_text(s, 5);
    r->device = whole(s, type && strcmp(type, "GPU") == 0 ? 6 : 7);
    r->stream = whole(s, 8);
    if (r->stream == RS_NO_VALUE) r->stream = whole(s, 9);
    r->correlation = whole(s, 10);
    r->bytes = whole(s, 11);
}

static void rocpd_region(sqlite3_stmt *s, rs_native *r)
{
    const char *category = (const char *)sqlite3_column_text(s, 5);
    bool hip = category && strncmp(category, "HIP", 3) == 0;
    bool marker = category && strncmp(category, "MARKER", 6) == 0;
    r->category = hip ? "hip_runtime" : marker ? "user_annotation" : "other_api";
    set_name(s, 0, r, "call");
    r->start = whole(s, 1);
    r->end = whole(s, 2);
    r->pid = whole(s, 3);
    r->tid = whole(s, 4);
    if (hip) r->correlation = whole(s, 6);
}

static const char *const rocpd_kernel_columns[] = {
    "start",           "end",         "pid",         "tid",         "agent_type_index",
    "stream_id",       "queue_id",    "stack_id",    "grid_x",      "grid_y",
    "grid_z",          "workgroup_x", "workgroup_y", "workgroup_z", "lds_size",
    "arch_vgpr_count", NULL};
static const char *const rocpd_copy_columns[] = {"start",
                                                 "end",
                                                 "pid",
                                                 "tid",
                                                 "dst_agent_type",
                                                 "dst_agent_type_index",
                                                 "src_agent_type_index",
                                                 "stream_id",
                                                 "queue_id",
                                                 "stack_id",
                                                 "size",
                                                 NULL};
static const char *const rocpd_region_columns[] = {"start",    "end",      "pid", "tid",
                                                   "category", "stack_id", NULL};

static const source_table rocpd_tables[] = {
    {"kernels", rocpd_kernel_columns, NULL, rocpd_kernel},
    {"memory_copies", rocpd_copy_columns, NULL, rocpd_copy},
    {"regions", rocpd_region_columns, NULL, rocpd_region},
};

static rs_status count_rows(database *d, const char *table, int64_t *n)
{
    char sql[128];
    sqlite3_stmt *s = NULL;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", table);
    int code = sqlite3_prepare_v2(d->db, sql, -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    *n = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? RS_OK : failed(d, table);
}

/* The view leaves out dispatches whose thread, queue or region is not in the file. */
static rs_status check_view(database *d, size_t n_kernels)
{
    bool has;
    int64_t n;
    rs_status status = has_table(d, "rocpd_kernel_dispatch", &has);
    if (status != RS_OK || !has) return status;
    status = count_rows(d, "rocpd_kernel_dispatch", &n);
    if (status != RS_OK || n <= (int64_t)n_kernels) return status;
    d->events->n_lost += (uint64_t)n - n_kernels;
    rs_problems_add_many(
        &d->events->problems, d->file, -1, RS_LOSS, "hidden_dispatches",
        "the database's view of kernels leaves out dispatches whose queue, thread or event is "
        "not in it",
        RS_NO_OFFSET, (uint64_t)n - n_kernels, NULL);
    return RS_OK;
}

static rs_status read_rocpd(database *d)
{
    rs_status status = RS_OK;
    d->events->recorder = RS_RECORDER_ROCPROF;
    d->events->form = "rocpd database";
    for (size_t i = 0; i < 3 && status == RS_OK; i++) {
        bool found;
        size_t before = d->events->n;
        status = read_table(d, &rocpd_tables[i], false, &found);
        if (i == 0 && status == RS_OK) status = check_view(d, d->events->n - before);
    }
    return status;
}

/* ---- Nsight Systems ----------------------------------------------------------------------------------- */

static void split_id(int64_t global, rs_native *r)
{
    if (global == RS_NO_VALUE) return;
    r->pid = (int64_t)((uint64_t)global >> 24 & 0xffffff);
    r->tid = (int64_t)((uint64_t)global & 0xffffff);
}

static void nsys_times(sqlite3_stmt *s, rs_native *r)
{
    r->start = whole(s, 1);
    r->end = whole(s, 2);
    split_id(whole(s, 3), r);
}

static void nsys_device(sqlite3_stmt *s, rs_native *r)
{
    nsys_times(s, r);
    r->correlation = whole(s, 4);
    r->device = whole(s, 5);
    r->stream = whole(s, 6);
}

static void nsys_kernel(sqlite3_stmt *s, rs_native *r)
{
    nsys_device(s, r);
    r->category = "kernel";
    set_name(s, 0, r, "kernel");
    for (int i = 0; i < 3; i++) {
        r->grid[i] = whole(s, 7 + i);
        r->block[i] = whole(s, 10 + i);
    }
    r->registers = whole(s, 13);
    int64_t fixed = whole(s, 14), dynamic = whole(s, 15);
    if (fixed != RS_NO_VALUE && dynamic != RS_NO_VALUE) r->shared_memory = rs_add_sat(fixed, dynamic);
}

static void nsys_copy(sqlite3_stmt *s, rs_native *r)
{
    static const struct {
        int64_t kind;
        const char *name;
    } kinds[] = {{1, "Memcpy HtoD"}, {2, "Memcpy DtoH"}, {8, "Memcpy DtoD"}, {10, "Memcpy PtoP"}};
    nsys_device(s, r);
    r->category = "gpu_memcpy";
    r->name = "Memcpy";
    int64_t kind = whole(s, 8);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind) r->name = kinds[i].name;
    r->name_length = strlen(r->name);
    r->bytes = whole(s, 7);
}

static void nsys_memset(sqlite3_stmt *s, rs_native *r)
{
    nsys_device(s, r);
    r->category = "gpu_memset";
    r->name = "Memset";
    r->name_length = 6;
    r->bytes = whole(s, 7);
}

static void nsys_graph(sqlite3_stmt *s, rs_native *r)
{
    nsys_device(s, r);
    r->category = "kernel";
    r->name = "CUDA graph";
    r->name_length = 10;
}

/* "cudaLaunchKernel_v7000": the version is no part of the call's name. */
static void nsys_call(sqlite3_stmt *s, rs_native *r)
{
    nsys_times(s, r);
    set_name(s, 0, r, "call");
    size_t n = r->name_length;
    while (n > 0 && r->name[n - 1] >= '0' && r->name[n - 1] <= '9') n--;
    if (n > 2 && n < r->name_length && r->name[n - 1] == 'v' && r->name[n - 2] == '_') r->name_length = n - 2;
    bool driver = r->name_length > 2 && r->name[0] == 'c' && r->name[1] == 'u' && r->name[2] != 'd';
    r->category = driver ? "cuda_driver" : "cuda_runtime";
    r->correlation = whole(s, 4);
}

/* Ranges that threads push and pop, and those that start and end; marks and open ones have no length. */
static void nsys_range(sqlite3_stmt *s, rs_native *r)
{
    int64_t type = whole(s, 5);
    if (type != 59 && type != 60) return;
    nsys_times(s, r);
    if (r->end == RS_NO_TIME) r->end = r->start;
    set_name(s, sqlite3_column_type(s, 4) == SQLITE_TEXT ? 4 : 0, r, "range");
    r->category = "user_annotation";
}

static const char *const nsys_kernel_columns[] = {"start",
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
static const char *const nsys_copy_columns[] = {
    "start", "end", "globalPid", "correlationId", "deviceId", "streamId", "bytes", "copyKind", NULL};
static const char *const nsys_device_columns[] = {"start",    "end",      "globalPid", "correlationId",
                                                  "deviceId", "streamId", "bytes",     NULL};
static const char *const nsys_call_columns[] = {"start", "end", "globalTid", "correlationId", NULL};
static const char *const nsys_range_columns[] = {"start", "end", "globalTid", "text", "eventType", NULL};

static const source_table nsys_tables[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME", nsys_call_columns, "nameId", nsys_call},
    {"CUPTI_ACTIVITY_KIND_KERNEL", nsys_kernel_columns, "demangledName|shortName", nsys_kernel},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", nsys_device_columns, NULL, nsys_graph},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", nsys_copy_columns, NULL, nsys_copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", nsys_device_columns, NULL, nsys_memset},
    {"NVTX_EVENTS", nsys_range_columns, "textId", nsys_range},
};
#define N_NSYS (sizeof nsys_tables / sizeof *nsys_tables)

static rs_status read_nsys(database *d)
{
    rs_status status = RS_OK;
    d->events->recorder = RS_RECORDER_NSYS;
    d->events->form = "Nsight Systems export";
    for (size_t i = 0; i < N_NSYS && status == RS_OK; i++) {
        bool found;
        status = read_table(d, &nsys_tables[i], true, &found);
    }
    return status;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

/* "file:" names take % for escapes; with immutable=1 nothing is locked or recovered. */
static char *uri_of(const char *path)
{
    size_t n = strlen(path), used = 0;
    char *uri = rs_malloc(3 * n + 32);
    if (!uri) return NULL;
    used += (size_t)sprintf(uri, "file:");
    for (const char *c = path; *c; c++)
        used += (size_t)sprintf(uri + used, strchr("%?#", *c) ? "%%%02X" : "%c", (unsigned char)*c);
    sprintf(uri + used, "?immutable=1");
    return uri;
}

static rs_status open_database(database *d, const char *path, const void *bytes, size_t n_bytes)
{
    int code;
    uint64_t size = n_bytes;
    if (bytes) {
        code = sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE, NULL);
        /* SQLite does not write to what it is told to read only */
        if (code == SQLITE_OK)
            code =
                sqlite3_deserialize(d->db, "main", (unsigned char *)(uintptr_t)bytes, (sqlite3_int64)n_bytes,
                                    (sqlite3_int64)n_bytes, SQLITE_DESERIALIZE_READONLY);
    } else {
        struct stat info;
        char *uri = uri_of(path);
        if (!uri) return rs_fail_nomem(d->err, "a path");
        if (stat(path, &info) == 0 && info.st_size > 0) size = (uint64_t)info.st_size;
        code = sqlite3_open_v2(uri, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
        rs_free(uri);
    }
    if (code != SQLITE_OK) return failed(d, "cannot open the database");
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, MAX_TEXT);
    sqlite3_limit(d->db, SQLITE_LIMIT_ATTACHED, 0);
    d->max_calls = CALLS_AT_LEAST + size / STEPS_A_CALL * STEPS_A_BYTE;
    sqlite3_progress_handler(d->db, STEPS_A_CALL, on_progress, d);
    d->events->n_bytes = size;
    return RS_OK;
}

rs_status rs_sqlite_load(const char *path, const void *bytes, size_t n_bytes,
                         const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    *out = NULL;
    database d = {.file = path, .settings = settings, .err = err};
    bool rocpd = false, strings = false;
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &d.events, err);
    if (status != RS_OK) return status;
    d.events->packing = "plain";
    status = open_database(&d, path, bytes, n_bytes);
    if (status == RS_OK) status = has_table(&d, "kernels", &rocpd);
    if (status == RS_OK) status = has_table(&d, "StringIds", &strings);
    if (status == RS_OK && strings)
        status = read_nsys(&d);
    else if (status == RS_OK && rocpd)
        status = read_rocpd(&d);
    else if (status == RS_OK)
        status = rs_fail_at(
            err, RS_ERR_FORMAT, path, RS_NO_OFFSET,
            "is a database of neither rocprofv3 (view kernels) nor Nsight Systems (table StringIds)");
    sqlite3_close(d.db);
    if (status != RS_OK) {
        rs_events_free(d.events);
        return status;
    }
    *out = d.events;
    return RS_OK;
}
