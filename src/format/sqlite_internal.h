/* What the readers of profiler databases share. Private to src/format/sqlite*.c. */
#pragma once

#include <sqlite3.h>

#include "format/native.h"

typedef struct rs_database {
    sqlite3 *db;
    rs_events *events;
    const char *file;
    const rs_load_settings *settings;
    rs_map64 dispatches; /* of rocpd: a kernel's number and recording -> its row */
    uint64_t calls, max_calls;
    bool cancelled, endless;
    rs_error *err;
} rs_database;

/* The error that SQLite is in; what: whose query it was. */
rs_status rs_database_failed(rs_database *d, const char *what);
/* A table or a view. */
rs_status rs_database_has(rs_database *d, const char *name, bool *has);
rs_status rs_database_has_column(rs_database *d, const char *table, const char *column, size_t n, bool *has);
rs_status rs_database_count(rs_database *d, const char *table, int64_t *n);

/* A query that is being put together. */
typedef struct rs_sql {
    char text[24000];
    size_t n;
    bool too_long;
} rs_sql;
void rs_sql_add(rs_sql *sql, const char *format, ...) RS_PRINTF(2, 3);

/* What a row becomes: an event where it gives r a category. */
typedef rs_status (*rs_row_fn)(void *context, sqlite3_stmt *s, rs_native *r);
/* Adds what the rows become to the events; n_rows: how many there were, may be NULL. */
rs_status rs_database_query(rs_database *d, const rs_sql *sql, rs_row_fn row, void *context, const char *what,
                            int64_t *n_rows);

/* A table or view and the columns that a row_fn finds, in their order ("a|b": the first that is there; "@a":
 * the text in StringIds whose id it holds). Column 0 is the name: the column "name", or the text of the id in
 * one of `strings`. */
typedef struct rs_source_table {
    const char *table;
    const char *const *columns; /* ended by NULL */
    const char *strings;        /* columns whose text stands in StringIds */
    rs_row_fn row;
    const char *only; /* a condition on its columns, of which the first word is one; NULL: all rows */
} rs_source_table;
/* *n_rows: -1 when there is no such table. */
rs_status rs_database_read(rs_database *d, const rs_source_table *table, void *context, int64_t *n_rows);

/* A column as a whole number; RS_NO_VALUE when it is something else. */
int64_t rs_row_int(sqlite3_stmt *s, int column);
/* A column as text, valid until the next row; NULL when it is something else. */
const char *rs_row_text(sqlite3_stmt *s, int column);
void rs_row_name(sqlite3_stmt *s, int column, rs_native *r, const char *otherwise);

/* Whether a text begins as SQLite's files do. */
bool rs_database_sniff(const uint8_t *text, size_t n);
