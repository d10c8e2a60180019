/* Cells that may be unknown, for rows that are filled by hand; records do the same by their rules. */
#ifndef RS_TABLE_CELLS_H
#define RS_TABLE_CELLS_H

#include "rankscope/table.h"

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
