/* Columns by name, and cells that may be unknown, for rows that are filled by hand; records do the same by their rules. */
#ifndef RS_TABLE_CELLS_H
#define RS_TABLE_CELLS_H

#include <stdint.h>
#include <string.h>

#include "rankscope/table.h"

/* The column of that name; SIZE_MAX: there is none. Linear in the columns. */
static inline size_t rs_table_spec_column_of(const rs_table_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    return SIZE_MAX;
}

static inline size_t rs_table_column_of(const rs_table *table, const char *name)
{
    return rs_table_spec_column_of(rs_table_get_spec(table), name);
}

static inline void rs_table_add_int_if(rs_table *table, bool known, int64_t value)
{
    if (known)
        rs_table_add_int(table, value);
    else
        rs_table_add_null(table);
}

static inline void rs_table_add_time_if(rs_table *table, bool known, int64_t ns)
{
    if (known)
        rs_table_add_time(table, ns);
    else
        rs_table_add_null(table);
}

/* NULL is unknown. */
static inline void rs_table_add_text_or_null(rs_table *table, const char *text)
{
    if (text)
        rs_table_add_text(table, text);
    else
        rs_table_add_null(table);
}

#endif
