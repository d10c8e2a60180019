/* rocprofv3's rocpd databases.
 *
 * The views kernels, memory_copies and regions are the same in every release, but they leave out whatever
 * refers to a thread, a queue or an event that is not in the file. Where rows are missing in them, or the
 * views themselves, the tables behind are read: their names end in the id of the process that wrote them, and
 * their times stand in the row or in a table of timestamps. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "format/range_names.h"
#include "format/sqlite_internal.h"

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Dispatches are numbered in each recording (guid). RS_NO_VALUE: not numbered. */
static uint64_t dispatch_key(sqlite3_stmt *s, int dispatch, int guid)
{
    const char *text = rs_row_text(s, guid);
    uint64_t of = text ? rs_hash_bytes(text, strlen(text)) : 0;
    return of ^ rs_hash_u64((uint64_t)rs_row_int(s, dispatch));
}

static rs_status kernel_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_database *d = context;
    bool is_new;
    r->category = "kernel";
    rs_row_name(s, 0, r, "kernel");
    r->start = rs_row_int(s, 1);
    r->end = rs_row_int(s, 2);
    r->pid = rs_row_int(s, 3);
    r->tid = rs_row_int(s, 4);
    r->device = rs_row_int(s, 5);
    r->stream = rs_row_int(s, 6);
    if (r->stream == RS_NO_VALUE) r->stream = rs_row_int(s, 7);
    r->correlation = rs_row_int(s, 8);
    for (int i = 0; i < 3; i++) {
        r->grid[i] = rs_row_int(s, 9 + i);
        r->block[i] = rs_row_int(s, 12 + i);
    }
    rs_native_grid_of_items(r);
    r->shared_memory = rs_row_int(s, 15);
    r->registers = rs_row_int(s, 16);
    if (rs_row_int(s, 17) == RS_NO_VALUE || r->start == RS_NO_TIME || r->end == RS_NO_TIME || !r->end)
        return RS_OK;
    uint32_t *row = rs_map64_put(&d->dispatches, dispatch_key(s, 17, 18), &is_new);
    if (!row) return rs_fail_nomem(d->err, "dispatches");
    *row = (uint32_t)d->events->n; /* it is added next */
    return RS_OK;
}

static rs_status counter_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_database *d = context;
    const char *counter = rs_row_text(s, 1);
    const uint32_t *row = rs_map64_get(&d->dispatches, dispatch_key(s, 3, 4));
    (void)r;
    if (row && counter && sqlite3_column_type(s, 2) != SQLITE_NULL)
        return rs_native_count(d->events, *row, counter, strlen(counter), sqlite3_column_double(s, 2),
                               d->err);
    rs_problems_add(&d->events->problems, d->file, -1, RS_WARNING, "unmatched_counters",
                    "counters of kernels that are not in the database, or have no number, are not read",
                    RS_NO_OFFSET);
    return RS_OK;
}

static rs_status copy_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    (void)context;
    r->category = "gpu_memcpy";
    rs_row_name(s, 0, r, "copy");
    r->start = rs_row_int(s, 1);
    r->end = rs_row_int(s, 2);
    r->pid = rs_row_int(s, 3);
    r->tid = rs_row_int(s, 4);
    const char *type = rs_row_text(s, 5);
    r->device = rs_row_int(s, type && strcmp(type, "GPU") == 0 ? 6 : 7);
    r->stream = rs_row_int(s, 8);
    if (r->stream == RS_NO_VALUE) r->stream = rs_row_int(s, 9);
    r->correlation = rs_row_int(s, 10);
    r->bytes = rs_row_int(s, 11);
    return RS_OK;
}

static rs_status region_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_database *d = context;
    const char *category = rs_row_text(s, 5);
    bool hip = category && strncmp(category, "HIP", 3) == 0;
    bool marker = category && strncmp(category, "MARKER", 6) == 0;
    r->category = hip ? "hip_runtime" : marker ? "user_annotation" : "other_api";
    rs_row_name(s, 0, r, "call");
    r->start = rs_row_int(s, 1);
    r->end = rs_row_int(s, 2);
    r->pid = rs_row_int(s, 3);
    r->tid = rs_row_int(s, 4);
    if (hip) r->correlation = rs_row_int(s, 6);
    return marker ? rs_native_name_range(d->events, r, true, d->err) : RS_OK;
}

/* ---- views --------------------------------------------------------------------------------------------- */

static const char *const kernel_columns[] = {
    "start",           "end",         "pid",         "tid",         "agent_type_index",
    "stream_id",       "queue_id",    "stack_id",    "grid_x",      "grid_y",
    "grid_z",          "workgroup_x", "workgroup_y", "workgroup_z", "lds_size",
    "arch_vgpr_count", "dispatch_id", "guid",        NULL};
static const char *const counter_columns[] = {"counter_name", "value", "dispatch_id", "guid", NULL};
static const char *const copy_columns[] = {"start",
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
static const char *const region_columns[] = {"start", "end", "pid", "tid", "category", "stack_id", NULL};

static const rs_source_table views[] = {
    {"kernels", kernel_columns, NULL, kernel_row, NULL},
    {"memory_copies", copy_columns, NULL, copy_row, NULL},
    {"regions", region_columns, NULL, region_row, NULL},
};
enum { N_KINDS = 3 };
static const rs_source_table counters = {"counters_collection", counter_columns, NULL, counter_row, NULL};

/* ---- the tables behind --------------------------------------------------------------------------------- */

static const char *const base_names[N_KINDS] = {"rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_region"};

/* A table that the rows refer to: joined on its id, where both it and what names it are there. */
typedef struct side {
    const char *alias, *table;
    const char *on; /* what names it: "alias.column|alias.column", the first that is not NULL */
} side;

#define MAX_SIDES 12

static const side kernel_sides[] = {
    {"r", "rocpd_track", "t.track_id"},
    {"a", "rocpd_timestamp", "t.start_id"},
    {"b", "rocpd_timestamp", "t.end_id"},
    {"s", "rocpd_info_kernel_symbol", "t.kernel_id"},
    {"e", "rocpd_event", "t.event_id"},
    {"p", "rocpd_info_process", "t.pid|r.pid"},
    {"h", "rocpd_info_thread", "t.tid|r.tid"},
    {"g", "rocpd_info_agent", "t.agent_id|r.agent_id"},
    {NULL, NULL, NULL},
};
static const side copy_sides[] = {
    {"r", "rocpd_track", "t.track_id"},          {"a", "rocpd_timestamp", "t.start_id"},
    {"b", "rocpd_timestamp", "t.end_id"},        {"x", "rocpd_string", "t.name_id"},
    {"e", "rocpd_event", "t.event_id"},          {"p", "rocpd_info_process", "t.pid|r.pid"},
    {"h", "rocpd_info_thread", "t.tid|r.tid"},   {"d", "rocpd_info_agent", "t.dst_agent_id"},
    {"g", "rocpd_info_agent", "t.src_agent_id"}, {NULL, NULL, NULL},
};
static const side region_sides[] = {
    {"r", "rocpd_track", "t.track_id"},
    {"a", "rocpd_timestamp", "t.start_id"},
    {"b", "rocpd_timestamp", "t.end_id"},
    {"x", "rocpd_string", "t.name_id"},
    {"e", "rocpd_event", "t.event_id"},
    {"c", "rocpd_string", "e.category_id"},
    {"p", "rocpd_info_process", "t.pid|r.pid"},
    {"h", "rocpd_info_thread", "t.tid|r.tid"},
    {NULL, NULL, NULL},
};

/* In the order of the views' columns, the name first. The row ids of processes and threads stand for their
 * numbers where no table tells those. */
#define TIMES "t.start|a.value", "t.end|b.value"
#define THREAD "p.pid|t.pid|r.pid", "h.tid|t.tid|r.tid"
static const char *const kernel_values[] = {"s.display_name|s.formatted_kernel_name|s.kernel_name",
                                            TIMES,
                                            THREAD,
                                            "g.type_index",
                                            "t.stream_id|r.stream_id",
                                            "t.queue_id|r.queue_id",
                                            "e.stack_id",
                                            "t.grid_size_x",
                                            "t.grid_size_y",
                                            "t.grid_size_z",
                                            "t.workgroup_size_x",
                                            "t.workgroup_size_y",
                                            "t.workgroup_size_z",
                                            "t.group_segment_size",
                                            "s.arch_vgpr_count",
                                            "t.dispatch_id",
                                            "t.guid",
                                            NULL};
static const char *const copy_values[] = {"x.string",
                                          TIMES,
                                          THREAD,
                                          "d.type",
                                          "d.type_index",
                                          "g.type_index",
                                          "t.stream_id|r.stream_id",
                                          "t.queue_id|r.queue_id",
                                          "e.stack_id",
                                          "t.size",
                                          NULL};
static const char *const region_values[] = {"x.string", TIMES, THREAD, "c.string", "e.stack_id", NULL};

static const struct {
    const side *sides;
    const char *const *values;
} bases[N_KINDS] = {{kernel_sides, kernel_values}, {copy_sides, copy_values}, {region_sides, region_values}};

/* The tables of one process; the suffix is made of letters, digits, '-' and '_' only. */
typedef struct suffix {
    char text[100];
} suffix;

typedef struct suffix_list {
    suffix *items;
    size_t n, capacity;
} suffix_list;

static rs_status add_suffix(rs_database *d, suffix_list *list, const char *text)
{
    size_t n = text ? strlen(text) : SIZE_MAX;
    if (n >= sizeof list->items->text) return RS_OK;
    if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != n) return RS_OK;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].text, text) == 0) return RS_OK;
    if (!RS_GROW_ONE(list->items, list->n, list->capacity)) return rs_fail_nomem(d->err, "tables");
    memcpy(list->items[list->n++].text, text, n + 1);
    return RS_OK;
}

/* In the order of the names, which is that of the file for one process. */
static rs_status find_suffixes(rs_database *d, suffix_list *list)
{
    rs_status status = RS_OK;
    for (size_t k = 0; k < N_KINDS && status == RS_OK; k++) {
        char sql[200];
        sqlite3_stmt *s = NULL;
        size_t n = strlen(base_names[k]);
        snprintf(
            sql, sizeof sql,
            "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, %zu) = '%s' ORDER BY 1",
            n, base_names[k]);
        int code = sqlite3_prepare_v2(d->db, sql, -1, &s, NULL);
        while (code == SQLITE_OK && status == RS_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
            const char *name = rs_row_text(s, 0);
            if (name && (name[n] == '\0' || name[n] == '_')) status = add_suffix(d, list, name + n);
            code = SQLITE_OK;
        }
        if (status == RS_OK && code != SQLITE_DONE) status = rs_database_failed(d, "the list of tables");
        sqlite3_finalize(s);
    }
    return status;
}

/* Which of the sides of a query are there, and what each is called. */
typedef struct join {
    const side *sides;
    char tables[MAX_SIDES][160]; /* the base table is the last; empty: not there */
    size_t n;
} join;

static const char *table_of(const join *j, char alias)
{
    if (alias == 't') return j->tables[MAX_SIDES - 1];
    for (size_t i = 0; i < j->n; i++)
        if (j->sides[i].alias[0] == alias) return j->tables[i];
    return "";
}

/* Appends the first of "alias.column|alias.column" that is known in a row; *any: there is such a column. */
static rs_status add_value(rs_database *d, rs_sql *sql, const join *j, const char *names, bool *any)
{
    *any = false;
    rs_sql_add(sql, "coalesce(NULL");
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, "|");
        const char *table = table_of(j, p[0]);
        bool has = false;
        RS_TRY(table[0] ? rs_database_has_column(d, table, p + 2, n - 2, &has) : RS_OK);
        if (has) rs_sql_add(sql, ", %c.\"%.*s\"", p[0], (int)n - 2, p + 2);
        *any |= has;
        p += n + (p[n] == '|');
    }
    rs_sql_add(sql, ", NULL)");
    return RS_OK;
}

static rs_status add_sides(rs_database *d, rs_sql *sql, join *j, const char *text)
{
    for (size_t i = 0; j->sides[i].alias; i++) {
        bool has, any = false, guid = false, own = false;
        char *table = j->tables[i];
        rs_sql on = {.n = 0};
        j->n = i; /* what stands behind may not be named yet */
        snprintf(table, sizeof j->tables[i], "%s%s", j->sides[i].table, text);
        rs_status status = rs_database_has(d, table, &has);
        if (status == RS_OK && has) status = rs_database_has_column(d, table, "id", 2, &has);
        if (status == RS_OK && has) status = add_value(d, &on, j, j->sides[i].on, &any);
        /* tables of several processes in one: an id is unique with its guid only */
        if (status == RS_OK && has && !text[0]) status = rs_database_has_column(d, table, "guid", 4, &guid);
        if (status == RS_OK && guid) status = rs_database_has_column(d, table_of(j, 't'), "guid", 4, &own);
        if (status != RS_OK) return status;
        j->n = i + 1;
        if (!has || !any) {
            table[0] = '\0';
            continue;
        }
        rs_sql_add(sql, " LEFT JOIN \"%s\" %s ON %s.id = %s", table, j->sides[i].alias, j->sides[i].alias,
                   on.text);
        if (guid && own) rs_sql_add(sql, " AND %s.guid = t.guid", j->sides[i].alias);
    }
    return RS_OK;
}

/* One base table; nothing where it is not there or holds no times that are understood. */
static rs_status read_base(rs_database *d, size_t kind, const char *text, int64_t *n_rows)
{
    static const rs_row_fn rows[N_KINDS] = {kernel_row, copy_row, region_row};
    RS_LOCAL join *j = rs_calloc(1, sizeof *j);
    RS_LOCAL rs_sql *sql = rs_calloc(1, sizeof *sql), *sides = rs_calloc(1, sizeof *sides);
    rs_status status = j && sql && sides ? RS_OK : rs_fail_nomem(d->err, "a query");
    bool has = false, times = true;
    *n_rows = 0;
    if (status == RS_OK) {
        char *table = j->tables[MAX_SIDES - 1];
        j->sides = bases[kind].sides;
        snprintf(table, sizeof j->tables[0], "%s%s", base_names[kind], text);
        status = rs_database_has(d, table, &has);
    }
    if (status == RS_OK && has) status = add_sides(d, sides, j, text);
    for (size_t i = 0; status == RS_OK && has && bases[kind].values[i]; i++) {
        bool any;
        rs_sql_add(sql, i ? ", " : "SELECT ");
        status = add_value(d, sql, j, bases[kind].values[i], &any);
        if (i == 1 || i == 2) times &= any;
    }
    if (status == RS_OK && has && times) {
        rs_sql_add(sql, " FROM \"%s\" t%s", j->tables[MAX_SIDES - 1], sides->text);
        sql->too_long |= sides->too_long;
        status = rs_database_query(d, sql, rows[kind], d, base_names[kind], n_rows);
    }
    return status;
}

static rs_status count_base(rs_database *d, const suffix_list *list, size_t kind, int64_t *n)
{
    *n = 0;
    for (size_t i = 0; i < list->n; i++) {
        char table[160];
        bool has;
        int64_t one = 0;
        snprintf(table, sizeof table, "%s%s", base_names[kind], list->items[i].text);
        rs_status status = rs_database_has(d, table, &has);
        if (status == RS_OK && has) status = rs_database_count(d, table, &one);
        if (status != RS_OK) return status;
        *n += one;
    }
    return RS_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status is_rocpd(rs_database *d, bool *is)
{
    suffix_list list = {0};
    rs_status status = rs_database_has(d, "kernels", is);
    if (status == RS_OK && !*is) {
        status = find_suffixes(d, &list);
        *is = list.n > 0;
    }
    rs_free(list.items);
    return status;
}

static rs_status start_events(rs_database *d)
{
    uint64_t n_bytes = d->events->n_bytes;
    rs_map64_clear(&d->dispatches);
    rs_events_free(d->events);
    RS_TRY(rs_events_create(d->settings->columns, d->settings->max_memory, &d->events, d->err));
    d->events->packing = "plain";
    d->events->n_bytes = n_bytes;
    return RS_OK;
}

/* The machine's GPUs, as the first process lists them. */
static rs_status gpu_row(void *context, sqlite3_stmt *s, rs_native *r)
{
    rs_database *d = context;
    rs_file_info *info = &d->events->info;
    const char *type = rs_row_text(s, 1), *name = rs_row_text(s, 2);
    (void)r;
    if (!type || strcmp(type, "GPU") != 0) return RS_OK;
    if (!name || !*name) name = rs_row_text(s, 0);
    info->n_devices++;
    if (info->device_name != RS_NO_STRING || !name) return RS_OK;
    info->device_name = rs_strings_add(&d->events->strings, name, strlen(name));
    return info->device_name == RS_NO_STRING ? rs_fail_nomem(d->err, "strings") : RS_OK;
}

static rs_status read_gpus(rs_database *d, const suffix_list *list)
{
    static const char *const columns[] = {"type", "product_name", NULL};
    char table[160];
    int64_t n;
    snprintf(table, sizeof table, "rocpd_info_agent%s", list->n ? list->items[0].text : "");
    const rs_source_table agents = {table, columns, NULL, gpu_row, NULL};
    return rs_database_read(d, &agents, d, &n);
}

/* What was counted in the kernels. A view that cannot be read costs itself. */
static rs_status read_counters(rs_database *d)
{
    rs_error *err = d->err, broken = RS_ERROR_INIT;
    int64_t n;
    d->err = &broken;
    rs_status status = rs_database_read(d, &counters, d, &n);
    d->err = err;
    if (status == RS_ERR_FORMAT) { /* in its middle, perhaps: what was read is kept */
        rs_problems_add(&d->events->problems, d->file, -1, RS_LOSS, "unread_counters",
                        "the view counters_collection cannot be read", RS_NO_OFFSET);
        status = RS_OK;
    }
    if (status != RS_OK && err) *err = broken;
    return status == RS_OK ? rs_events_sort_counters(d->events, err) : status;
}

static rs_status read_rocpd(rs_database *d)
{
    suffix_list list = {0};
    int64_t in_views[N_KINDS], in_tables[N_KINDS], read[N_KINDS] = {0};
    int64_t hidden = 0;
    rs_status status = start_events(d);
    if (status == RS_OK) status = find_suffixes(d, &list);
    for (size_t k = 0; k < N_KINDS && status == RS_OK; k++) {
        rs_error *err = d->err, broken = RS_ERROR_INIT;
        d->err = &broken;
        status = rs_database_read(d, &views[k], d, &in_views[k]);
        d->err = err;
        /* a view that cannot be read is none, where there is something behind it */
        if (status == RS_ERR_FORMAT && list.n) {
            status = RS_OK;
            in_views[k] = 0;
        } else if (status != RS_OK && err) {
            *err = broken;
        }
        if (status == RS_OK) status = count_base(d, &list, k, &in_tables[k]);
        if (in_views[k] < 0) in_views[k] = 0;
        if (status == RS_OK && in_tables[k] > in_views[k]) hidden += in_tables[k] - in_views[k];
    }
    if (status == RS_OK && hidden) status = start_events(d);
    if (status == RS_OK) status = read_gpus(d, &list);
    for (size_t k = 0; k < N_KINDS && status == RS_OK && hidden; k++) {
        for (size_t i = 0; i < list.n && status == RS_OK; i++) {
            int64_t n;
            status = read_base(d, k, list.items[i].text, &n);
            read[k] += n;
        }
        /* a layout that is not known: what the view has is better than nothing */
        if (status == RS_OK && read[k] < in_views[k]) status = rs_database_read(d, &views[k], d, &read[k]);
    }
    rs_free(list.items);
    if (status == RS_OK) status = read_counters(d);
    rs_map64_clear(&d->dispatches);
    if (status != RS_OK || !hidden) return status;
    int64_t lost = 0;
    for (size_t k = 0; k < N_KINDS; k++)
        if (in_tables[k] > read[k]) lost += in_tables[k] - read[k];
    if (lost) {
        d->events->n_lost += (uint64_t)lost;
        rs_problems_add_many(
            &d->events->problems, d->file, -1, RS_LOSS, "hidden_records",
            "the database's views leave out records, and its tables have a layout that is not known",
            RS_NO_OFFSET, (uint64_t)lost, NULL);
    } else {
        rs_problems_add_many(
            &d->events->problems, d->file, -1, RS_WARNING, "hidden_records",
            "records that the database's views do not show (their thread, queue or event is "
            "not in it, or there is no view) were read from the tables that the view is made of",
            RS_NO_OFFSET, (uint64_t)hidden, NULL);
    }
    return RS_OK;
}

const rs_format rs_format_rocpd = {.name = "rocpd",
                                   .title = "rocpd database",
                                   .sniff = rs_database_sniff,
                                   .database_is = is_rocpd,
                                   .database_read = read_rocpd,
                                   .database_mark = "rocprofv3 (kernels, rocpd_kernel_dispatch)",
                                   .run_name = rs_rocpd_name,
                                   .remedies = rs_rocprof_remedies};
