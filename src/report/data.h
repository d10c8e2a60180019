/* The page's data: tables as rows of cells, written by the JSON renderer's own rules. Texts are kept once,
 * in a list at the end; a text cell is its number there. */
#pragma once

#include "base/strings.h"
#include "text/writer.h"

/* Which rows and columns of a table the page gets. */
typedef struct rs_report_part {
    const char *table;
    const char *columns; /* names with commas between them; NULL: all */
    size_t cap;          /* at most so many rows */
    const char *order;   /* those with the largest values here, in the table's order; NULL: the first rows */
} rs_report_part;

/* A sink in front of another that makes JSON harmless inside a <script> element: what could end it, or is
 * a line end to older readers, is written as an escape. Only for JSON whose strings hold such characters. */
typedef struct rs_report_escape {
    const rs_sink *sink;
    unsigned matched; /* bytes of U+2028 or U+2029 held back */
} rs_report_escape;
rs_sink rs_report_escape_sink(rs_report_escape *escape);

typedef struct rs_report_data {
    rs_writer *writer;
    rs_strings strings;
    bool out_of_memory;
} rs_report_data;

/* {"columns": [[name, type, unit, title, help], ...], "rows": [[cell, ...], ...], "total": rows of the whole
 * table, "order": the column that chose the rows, or null}. */
rs_status rs_report_put_table(rs_report_data *data, const rs_table *table, const rs_report_part *part,
                              rs_error *err);
/* The list of texts, an array of strings. */
void rs_report_put_strings(rs_report_data *data);
