/* frame --args: further arguments as columns, by the names that the file gives them. */
#pragma once

#include "analysis/analysis.h"
#include "table/record.h"

/* An argument that has a column of its own in any case. */
typedef struct rs_shown_argument {
    rs_column_id id;
    size_t at; /* of the column */
} rs_shown_argument;

/* The frame's own columns. */
typedef struct rs_frame_fixed {
    const rs_table_spec *spec;
    const rs_row_spec *record;
    const rs_shown_argument *shown;
    size_t n_shown;
    const rs_column_spec *more; /* columns behind these, whose cells the caller adds; n_more 0: none */
    size_t n_more;
} rs_frame_fixed;

/* The value of one argument in one row. */
typedef struct rs_frame_cell {
    uint32_t row;  /* of the frame */
    uint32_t name; /* string id */
    uint8_t kind;  /* rs_other_kind */
    int64_t value; /* of that kind; a text is a string id */
} rs_frame_cell;

/* By row; the strings are those of the partial that holds the cells. */
typedef struct rs_frame_cells {
    rs_frame_cell *items;
    size_t n, capacity;
} rs_frame_cells;

extern const rs_layout rs_frame_cell_layout;
bool rs_frame_cells_exist(const rs_frame_cell *cells, size_t n, size_t n_rows, size_t n_strings);

/* The columns that have to be loaded for an option's text; NULL: none. */
uint64_t rs_frame_args_columns(const char *wanted);

/* Reads the arguments of one rank. */
typedef struct rs_frame_args rs_frame_args;
/* *out is NULL when nothing is wanted. The cells' texts are added to strings. */
rs_status rs_frame_args_begin(const char *wanted, const rs_frame_fixed *fixed, const rs_events *e,
                              rs_strings *strings, rs_frame_args **out, rs_error *err);
/* Adds the cells of one event. false when out of memory. args NULL: none. */
bool rs_frame_args_read(rs_frame_args *args, uint32_t event, uint32_t row, rs_frame_cells *out);
void rs_frame_args_free(rs_frame_args *args);

/* One rank's cells as a table takes them. */
typedef struct rs_frame_part {
    const rs_frame_cell *cells;
    size_t n, n_rows;
    const rs_strings *strings;
} rs_frame_part;

/* The further columns of a table: the sorted union of what the parts have. */
typedef struct rs_frame_wide rs_frame_wide;
/* Result's first table is replaced by one that has them and those of fixed->more. *out is NULL when there are
 * no further arguments. */
rs_status rs_frame_wide_begin(const char *wanted, const rs_frame_fixed *fixed, const rs_frame_part *parts,
                              size_t n, rs_result *result, rs_frame_wide **out, rs_error *err);
/* Adds the further cells of a row of that part; rows ascend. wide NULL: none. */
void rs_frame_wide_add(rs_frame_wide *wide, size_t part, uint32_t row, rs_table *table);
void rs_frame_wide_free(rs_frame_wide *wide);
