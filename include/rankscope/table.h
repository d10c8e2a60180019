/* Tables: typed columns with units. Every answer of rankscope is one or more of these.
 *
 * A table is filled row by row, cell by cell in column order. Running out of memory on the way is remembered
 * and reported once, by rs_table_end_row, so that code which fills tables stays readable. */
#ifndef RANKSCOPE_TABLE_H
#define RANKSCOPE_TABLE_H

#include "rankscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rs_type {
    RS_INT,   /* int64 */
    RS_REAL,  /* double; NaN is an unknown value */
    RS_TIME,  /* int64 nanoseconds, written in the column's unit without loss */
    RS_TEXT,  /* UTF-8 */
    RS_MOMENT /* int64 nanoseconds, a point in time: see rs_table_count_from. Written as an RS_TIME is */
} rs_type;

/* Whether cells are nanoseconds: RS_TIME and RS_MOMENT. */
static inline bool rs_type_is_time(rs_type type)
{
    return type == RS_TIME || type == RS_MOMENT;
}

typedef enum rs_unit {
    RS_UNIT_NONE,
    RS_UNIT_COUNT,   /* a number of things */
    RS_UNIT_ID,      /* a number that names something (stream, rank): never scaled or grouped */
    RS_UNIT_NS,      /* RS_TIME written in ns; the column's name must end in _ns */
    RS_UNIT_US,      /* RS_TIME or RS_REAL in microseconds */
    RS_UNIT_MS,      /* RS_TIME or RS_REAL in milliseconds; the name must say so */
    RS_UNIT_PERCENT, /* 0..100 */
    RS_UNIT_RATIO,   /* 0..1 */
    RS_UNIT_BYTES,
    RS_UNIT_GBPS, /* 1e9 bytes a second */
    RS_UNIT_LAST = RS_UNIT_GBPS
} rs_unit;

/* As --schema calls them: "int", "real", "time" (RS_MOMENT too), "text"; "us", "GB/s", ..., NULL for none.
 * Static text. */
RS_API const char *rs_type_name(rs_type type);
RS_API const char *rs_unit_name(rs_unit unit);

typedef struct rs_column_spec {
    const char *name; /* the header in csv and the key in json */
    rs_type type;
    rs_unit unit;
    const char *help;  /* meaning, one sentence; shown by --schema */
    const char *title; /* heading of the text table; NULL: the name */
} rs_column_spec;

typedef struct rs_table_spec {
    const char *name; /* what --table and the json object call it */
    const char *help; /* one sentence: one row is ... */
    const rs_column_spec *columns;
    size_t n_columns;
} rs_table_spec;

typedef struct rs_table rs_table;

/* An empty table. The spec is borrowed and must outlive the table. NULL when out of memory. */
RS_API rs_table *rs_table_create(const rs_table_spec *spec);

/* An empty table with its own copy of the column names, for tables whose columns depend on the data. Every
 * string is copied. NULL when out of memory. */
RS_API rs_table *rs_table_create_dynamic(const rs_table_spec *spec);

RS_API void rs_table_free(rs_table *table); /* NULL is allowed */

/* Appends the next cell of the row being filled. The kind must fit the column: add_int for RS_INT, add_time
 * for RS_TIME, add_moment for RS_MOMENT (INT64_MIN means unknown), add_real for RS_REAL (NaN means unknown),
 * add_text for RS_TEXT (copied; NULL means unknown).
 * add_null fits every column. A misfit or a cell too many is a programming error and makes rs_table_end_row
 * fail. */
RS_API void rs_table_add_int(rs_table *table, int64_t value);
RS_API void rs_table_add_time(rs_table *table, int64_t ns);
RS_API void rs_table_add_moment(rs_table *table, int64_t ns);
RS_API void rs_table_add_real(rs_table *table, double value);
RS_API void rs_table_add_text(rs_table *table, const char *value);
RS_API void rs_table_add_text_n(rs_table *table, const char *value, size_t length);
RS_API void rs_table_add_null(rs_table *table);

/* Appends a copy of another table's cell, of the same type. Moments stay the same moments; a table without
 * rows counts from where the other one does. */
RS_API void rs_table_add_cell(rs_table *table, const rs_table *from, size_t row, size_t column);

/* Ends the row. On failure (out of memory, wrong cells) the row is dropped and the table keeps its earlier
 * rows. */
RS_API rs_status rs_table_end_row(rs_table *table, rs_error *err);

RS_API const rs_table_spec *rs_table_get_spec(const rs_table *table);
RS_API size_t rs_table_n_rows(const rs_table *table);
/* The index of the column of that name; SIZE_MAX: there is none. */
RS_API size_t rs_table_column_of(const rs_table *table, const char *name);

/* Moments. A point in time is put into a table as the clock of the input shows it. Once the table is full it
 * is told what its moments count from: origin is taken off every known moment, saturating at the ends of
 * int64. Of the tables of an analysis the origin is the first event of the job, 0 with --absolute; whoever
 * runs analyses has seen to it. Called again, the table counts from the new origin; rs_table_origin says from
 * which it counts (0 before the first call), so a cell plus the origin is the moment on the input's clock. A
 * table has one origin for all its rows: where ranks have clocks of their own, their offsets are taken off
 * before cells are filled. */
RS_API void rs_table_count_from(rs_table *table, int64_t origin);
RS_API int64_t rs_table_origin(const rs_table *table);

/* Cells. row and column must be in range. Text is borrowed and lives as long as the table. */
RS_API bool rs_table_is_null(const rs_table *table, size_t row, size_t column);
RS_API int64_t rs_table_int(const rs_table *table, size_t row, size_t column); /* any whole number or time */
RS_API double rs_table_real(const rs_table *table, size_t row,
                            size_t column); /* any number, in the column's unit */
RS_API const char *rs_table_text(const rs_table *table, size_t row, size_t column, size_t *length);

/* Appends the rows of from, which must have an equal spec. */
RS_API rs_status rs_table_append(rs_table *into, const rs_table *from, rs_error *err);

/* The schema of tables as a table: table, column, type, unit, meaning. Owned by the caller; NULL when out of
 * memory. */
RS_API rs_table *rs_schema_table(const rs_table_spec *const *specs, size_t n);

#ifdef __cplusplus
}
#endif
#endif
