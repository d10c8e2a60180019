/* Sheets of cells: a workbook (.xlsx) or a folder of CSV files, one a sheet.
 *
 *     rs_strings texts;                       // of the cells of any number of books
 *     rs_book book = {0};
 *     if (rs_strings_init(&texts) && rs_book_read("report.xlsx", &texts, &book, &err) == RS_OK) ...
 *     rs_book_clear(&book);
 *
 * The first row of a sheet names its columns. A cell is empty, a number or a text; what reads as a number is one,
 * also where a file quotes it. Stability: internal. */
#pragma once

#include "base/strings.h"
#include "rankscope/status.h"

typedef enum rs_grid_kind { RS_GRID_EMPTY, RS_GRID_NUMBER, RS_GRID_TEXT } rs_grid_kind;

typedef struct rs_grid_cell {
    double number;
    uint32_t text; /* of a text */
    uint8_t kind;  /* rs_grid_kind */
} rs_grid_cell;

typedef struct rs_grid {
    uint32_t name;
    uint32_t *columns; /* their names */
    size_t n_columns, columns_capacity;
    rs_grid_cell *cells; /* row by row, each of n_columns */
    size_t n_rows, n_cells, cells_capacity;
} rs_grid;

typedef struct rs_book {
    rs_grid *grids;
    size_t n, capacity;
} rs_book;

/* Whether a path is a workbook: a file that begins as a zip archive does. */
bool rs_book_is_workbook(const char *path);

/* Whether a folder holds the sheet of that name as a CSV file. */
bool rs_book_has_csv(const char *folder, const char *name);

/* Reads all sheets of a workbook, or all CSV files of a folder in the order of their names, packed or not.
 * RS_ERR_FORMAT says what is wrong where; RS_ERR_LIMIT guards against sheets of more than RS_GRID_CELLS cells and
 * texts of more than 1 GiB; RS_ERR_USAGE for a workbook in a build that cannot read any. */
#define RS_GRID_CELLS ((size_t)1 << 24)
rs_status rs_book_read(const char *path, rs_strings *texts, rs_book *out, rs_error *err);
void rs_book_clear(rs_book *book);

/* The sheet of that name; NULL: there is none. */
const rs_grid *rs_book_find(const rs_book *book, const rs_strings *texts, const char *name);

/* ---- for readers ---------------------------------------------------------------------------------------- */

/* Adds an empty sheet; NULL when out of memory. Valid until the next one is added. */
rs_grid *rs_book_add(rs_book *book, rs_strings *texts, const char *name, size_t length);
/* Adds a column's name, before the first row. */
bool rs_grid_add_column(rs_grid *grid, rs_strings *texts, const char *text, size_t length);
/* Adds a row of empty cells. */
rs_status rs_grid_add_row(rs_grid *grid, const char *file, rs_error *err);
/* Fills a cell of the last row. Columns after the last name are skipped. */
bool rs_grid_set(rs_grid *grid, rs_strings *texts, size_t column, const char *text, size_t length);
bool rs_grid_set_text(rs_grid *grid, rs_strings *texts, size_t column, const char *text, size_t length);

/* The sheets of a workbook that is in memory: input/workbook.c. */
rs_status rs_workbook_read(const void *bytes, size_t n, const char *file, rs_strings *texts, rs_book *out,
                           rs_error *err);
/* One sheet of CSV text (RFC 4180; a mark of the byte order in front is skipped). */
rs_status rs_csv_read(const char *text, size_t n, const char *file, const char *name, size_t name_length,
                      rs_strings *texts, rs_book *out, rs_error *err);
