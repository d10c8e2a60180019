/* Columns by name, and rows that are put as a list of values; records do the same by their rules. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/each.h"
#include "base/interval.h"
#include "rankscope/table.h"

/* The column of that name; SIZE_MAX: there is none. Linear in the columns. */
static inline size_t rs_table_spec_column_of(const rs_table_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    return SIZE_MAX;
}

/* A whole number as its column wants it: a number, or ns of a time or moment. RS_NO_VALUE is unknown, in a column of any type. */
void rs_table_add_whole(rs_table *table, int64_t value);

/* RS_PUT_CELLS(table, rank, name, ns, ...) fills the next cells, 32 at most, from whole numbers, reals (NaN is unknown) and texts (NULL is);
 * RS_PUT_ROW(table, err, ...) ends the row, too, and is a status. */
#define RS_PUT_CELLS(table, ...) RS_EACH(RS_PUT_CELL, table, __VA_ARGS__)
#define RS_PUT_ROW(table, err, ...) (RS_PUT_CELLS(table, __VA_ARGS__), rs_table_end_row(table, err))
/* clang-format off */
#define RS_PUT_CELL(table, x)                                                                                \
    _Generic((x), double: rs_table_add_real, float: rs_table_add_real, char *: rs_table_add_text,            \
             const char *: rs_table_add_text, default: rs_table_add_whole)(table, x)
/* clang-format on */
