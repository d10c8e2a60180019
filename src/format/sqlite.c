/* Profiler databases: rocprofv3's rocpd and Nsight Systems' SQLite exports.
 *
 * Tables and columns differ between releases, so each query is put together from the columns that are there;
 * a column that is missing reads as unknown. The file is not trusted: it is opened read-only, its schema may
 * not call anything with effects, and a query that does not come to an end is stopped. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/try.h"
#include "format/sqlite_internal.h"
#include "format/sqlite_spool.h"

#define MAX_TEXT (16 << 20) /* longest text or blob that is read */
#define STEPS_A_CALL 100000 /* of SQLite's machine between two looks at the clock and the user */
#define CALLS_AT_LEAST 2000 /* steps allowed: these, and some for each byte of the file */
#define STEPS_A_BYTE 200

static int on_progress(void *context)
{
    rs_database *d = context;
    d->endless = ++d->calls > d->max_calls;
    d->cancelled = d->settings->progress && !d->settings->progress(d->settings->progress_context);
    return d->endless || d->cancelled;
}

rs_status rs_database_failed(rs_database *d, const char *what)
{
    if (d->cancelled) return rs_fail(d->err, RS_ERR_CANCELLED, "stopped");
    if (d->endless)
        return rs_fail_at(d->err, RS_ERR_LIMIT, d->file, RS_NO_OFFSET,
                          "%s needs more work than a file of its size may", what);
    int code = sqlite3_errcode(d->db);
    return rs_fail_at(d->err, code == SQLITE_NOMEM ? RS_ERR_NOMEM : RS_ERR_FORMAT, d->file, RS_NO_OFFSET,
                      "%s: %s", what, sqlite3_errmsg(d->db));
}

/* ---- what there is ------------------------------------------------------------------------------------- */

rs_status rs_database_has(rs_database *d, const char *name, bool *has)
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
    return code == SQLITE_ROW || code == SQLITE_DONE ? RS_OK : rs_database_failed(d, "the list of tables");
}

rs_status rs_database_has_column(rs_database *d, const char *table, const char *column, size_t n, bool *has)
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
    return code == SQLITE_ROW || code == SQLITE_DONE ? RS_OK : rs_database_failed(d, table);
}

rs_status rs_database_count(rs_database *d, const char *table, int64_t *n)
{
    char sql[256];
    sqlite3_stmt *s = NULL;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", table);
    int code = sqlite3_prepare_v2(d->db, sql, -1, &s, NULL);
    if (code == SQLITE_OK) code = sqlite3_step(s);
    *n = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? RS_OK : rs_database_failed(d, table);
}

/* ---- queries from the columns that are there ----------------------------------------------------------- */

void rs_sql_add(rs_sql *sql, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(sql->text + sql->n, sizeof sql->text - sql->n, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof sql->text - sql->n)
        sql->too_long = true;
    else
        sql->n += (size_t)n;
}

/* Appends the first of the names ("a|b") that is a column of the table, read from alias t; else NULL. */
static rs_status sql_column(rs_sql *sql, rs_database *d, const char *table, const char *names)
{
    for (const char *p = names; *p;) {
        size_t n = strcspn(p, "|");
        bool has;
        RS_TRY(rs_database_has_column(d, table, p, n, &has));
        if (has) {
            rs_sql_add(sql, "t.\"%.*s\"", (int)n, p);
            return RS_OK;
        }
        p += n + (p[n] == '|');
    }
    rs_sql_add(sql, "NULL");
    return RS_OK;
}

int64_t rs_row_int(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_INTEGER ? sqlite3_column_int64(s, column) : RS_NO_VALUE;
}

const char *rs_row_text(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, column)
                                                         : NULL;
}

void rs_row_name(sqlite3_stmt *s, int column, rs_native *r, const char *otherwise)
{
    const char *text = rs_row_text(s, column);
    r->name = text ? text : otherwise;
    r->name_length = text ? (size_t)sqlite3_column_bytes(s, column) : strlen(otherwise);
}

rs_status rs_database_query(rs_database *d, const rs_sql *sql, rs_row_fn row, void *context, const char *what,
                            int64_t *n_rows)
{
    sqlite3_stmt *s = NULL;
    if (n_rows) *n_rows = 0;
    if (sql->too_long)
        return rs_fail_at(d->err, RS_ERR_LIMIT, d->file, RS_NO_OFFSET, "%s: the query is too long", what);
    int code = sqlite3_prepare_v2(d->db, sql->text, -1, &s, NULL);
    if (code != SQLITE_OK) {
        sqlite3_finalize(s);
        return rs_database_failed(d, what);
    }
    rs_status status = RS_OK;
    while (status == RS_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
        rs_native r = RS_NATIVE_NONE;
        status = row(context, s, &r);
        if (status == RS_OK && r.category)
            status = rs_native_add(d->events, d->file, &r, RS_NO_OFFSET, d->err);
        if (n_rows) ++*n_rows;
    }
    if (status == RS_OK && code != SQLITE_DONE) status = rs_database_failed(d, what);
    sqlite3_finalize(s);
    return status;
}

/* The text in StringIds whose id is in the first of the columns that is there. */
static rs_status add_string(rs_sql *sql, rs_database *d, const char *table, const char *names)
{
    bool id, value;
    RS_TRY(rs_database_has_column(d, "StringIds", "id", 2, &id));
    RS_TRY(rs_database_has_column(d, "StringIds", "value", 5, &value));
    if (!id || !value) {
        rs_sql_add(sql, "NULL");
        return RS_OK;
    }
    rs_sql_add(sql, "(SELECT value FROM StringIds WHERE id = ");
    RS_TRY(sql_column(sql, d, table, names));
    rs_sql_add(sql, ")");
    return RS_OK;
}

rs_status rs_database_read(rs_database *d, const rs_source_table *t, void *context, int64_t *n_rows)
{
    rs_sql sql = {.n = 0};
    bool found;
    *n_rows = -1;
    rs_status status = rs_database_has(d, t->table, &found);
    if (status != RS_OK || !found) return status;
    rs_sql_add(&sql, "SELECT ");
    RS_TRY(t->strings ? add_string(&sql, d, t->table, t->strings) : sql_column(&sql, d, t->table, "name"));
    for (size_t i = 0; t->columns[i]; i++) {
        bool string = t->columns[i][0] == '@';
        rs_sql_add(&sql, ", ");
        RS_TRY(string ? add_string(&sql, d, t->table, t->columns[i] + 1)
                      : sql_column(&sql, d, t->table, t->columns[i]));
    }
    rs_sql_add(&sql, " FROM \"%s\" t", t->table);
    if (t->only) {
        RS_TRY(rs_database_has_column(d, t->table, t->only, strcspn(t->only, " "), &found));
        if (found) rs_sql_add(&sql, " WHERE t.%s", t->only);
    }
    return rs_database_query(d, &sql, t->row, context, t->table, n_rows);
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

/* fd: what the bytes were unpacked to, if it is not -1. */
static rs_status open_database(rs_database *d, const char *path, const void *bytes, uint64_t size, int fd)
{
    int code;
    if (fd >= 0) {
        code = rs_spool_open_database(fd, &d->db);
    } else if (bytes) {
        code = sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE, NULL);
        /* SQLite does not write to what it is told to read only */
        /* nothing of the bytes is looked at: what fails here is memory, whatever SQLite calls it */
        if (code == SQLITE_OK &&
            sqlite3_deserialize(d->db, "main", (unsigned char *)(uintptr_t)bytes, (sqlite3_int64)size,
                                (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
            return rs_fail_nomem(d->err, "a database");
    } else {
        struct stat info;
        char *uri = uri_of(path);
        if (!uri) return rs_fail_nomem(d->err, "a path");
        if (stat(path, &info) == 0 && info.st_size > 0) size = (uint64_t)info.st_size;
        code = sqlite3_open_v2(uri, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
        rs_free(uri);
    }
    if (code != SQLITE_OK) return rs_database_failed(d, "cannot open the database");
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, MAX_TEXT);
    sqlite3_limit(d->db, SQLITE_LIMIT_ATTACHED, 0);
    d->max_calls = CALLS_AT_LEAST + size / STEPS_A_CALL * STEPS_A_BYTE;
    sqlite3_progress_handler(d->db, STEPS_A_CALL, on_progress, d);
    d->events->n_bytes = size;
    return RS_OK;
}

bool rs_database_sniff(const uint8_t *text, size_t n)
{
    return n >= 16 && memcmp(text, "SQLite format 3", 16) == 0;
}

static rs_status is_unknown(rs_database *d)
{
    char known[400] = "";
    for (const rs_format *const *row = rs_format_rows; *row; row++) {
        size_t used = strlen(known);
        if ((*row)->database_mark)
            snprintf(known + used, sizeof known - used, "%s%s", used ? " nor " : "", (*row)->database_mark);
    }
    return rs_fail_at(d->err, RS_ERR_FORMAT, d->file, RS_NO_OFFSET, "is a database of neither %s", known);
}

/* By the tables that it has. */
static rs_status find_format(rs_database *d, const rs_format **out)
{
    for (const rs_format *const *row = rs_format_rows; *row; row++) {
        bool is = false;
        if (!(*row)->database_is) continue;
        RS_TRY((*row)->database_is(d, &is));
        *out = *row;
        if (is) return RS_OK;
    }
    return is_unknown(d);
}

static rs_status load(const char *path, const void *bytes, uint64_t size, int fd,
                      const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    *out = NULL;
    rs_database d = {.file = path, .settings = settings, .err = err};
    const rs_format *format = NULL;
    RS_TRY(rs_events_create(settings->columns, settings->max_memory, &d.events, err));
    d.events->packing = "plain";
    rs_status status = open_database(&d, path, bytes, size, fd);
    if (status == RS_OK) status = find_format(&d, &format);
    if (status == RS_OK) status = format->database_read(&d);
    if (status == RS_OK) {
        d.events->format = format;
        d.events->form = format->title;
    }
    sqlite3_close(d.db);
    if (status != RS_OK) {
        rs_events_free(d.events);
        return status;
    }
    *out = d.events;
    return RS_OK;
}

rs_status rs_sqlite_load(const char *path, const void *bytes, size_t n_bytes,
                         const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    return load(path, bytes, n_bytes, -1, settings, out, err);
}

rs_status rs_sqlite_load_open(const char *path, int fd, uint64_t size, const rs_load_settings *settings,
                              rs_events **out, rs_error *err)
{
    return load(path, NULL, size, fd, settings, out, err);
}

rs_status rs_sqlite_unpack(rs_source *source, const rs_load_settings *settings, rs_events **out,
                           rs_error *err)
{
    int fd;
    uint64_t size;
    *out = NULL;
    RS_TRY(rs_spool(source, settings, &fd, &size, err));
    rs_status status = rs_sqlite_load_open(rs_source_name(source), fd, size, settings, out, err);
    close(fd);
    if (status != RS_OK) return status;
    rs_source_report_end(source, -1, &(*out)->problems);
    (*out)->packing = rs_packing_name(rs_source_packing(source));
    return RS_OK;
}
