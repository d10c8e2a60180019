/* Workbooks (Office Open XML, .xlsx): one sheet a table, and line charts over columns of a sheet.
 *
 *     rs_sheet sheets[] = {{.name = "summary", .table = a}, {.name = "kernels", .table = b}};
 *     rs_status status = rs_xlsx_write(sheets, 2, &sink, &err);
 *
 * Cells hold numbers as numbers (times in the column's unit) and texts as texts, never as formulas; unknown
 * cells are empty. The same tables give the same bytes with the same version of libxlsxwriter. */
#pragma once

#include "rankscope/table.h"
#include "rankscope/text.h"

/* What Excel allows: a sheet's rows with the header, its columns, and the characters of a cell. */
#define RS_SHEET_ROWS 1048576
#define RS_SHEET_COLUMNS 16384
#define RS_SHEET_TEXT 32767

/* A line chart beside a sheet's cells: one line for each column from `first` on, over the column `over`. */
typedef struct rs_sheet_chart {
    const char *title, *x_title, *y_title; /* y_title may be NULL */
    size_t over, first, n;                 /* columns of the table */
} rs_sheet_chart;

typedef struct rs_sheet {
    const char *name; /* what the tab says: shortened to 31 characters and told apart where needed */
    const rs_table *table;
    const rs_sheet_chart *chart; /* NULL: none */
    const bool *hidden;          /* by column: not shown until somebody asks for it; NULL: all are shown */
    bool truths;                 /* the texts True and False are truth values, as pandas writes them */
} rs_sheet;

/* Whether this build can write workbooks. */
bool rs_xlsx_available(void);

/* Before anything is computed: RS_ERR_USAGE with the remedy when this build cannot write workbooks. */
rs_status rs_xlsx_check(rs_error *err);

/* Writes a workbook to the sink. Fails as rs_xlsx_check does; RS_ERR_LIMIT when a table is larger than a sheet
 * (rows are never dropped), RS_ERR_IO. A text that is longer than a cell is cut, and says so at its end. The
 * workbook is kept in a temporary file while it is made. */
rs_status rs_xlsx_write(const rs_sheet *sheets, size_t n, const rs_sink *sink, rs_error *err);
