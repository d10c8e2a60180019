/* How a table is in memory. Private to src/table. */
#pragma once

#include "table/record.h"

typedef struct rs_table_column {
    union {
        int64_t *ints;
        double *reals;
        uint32_t *texts; /* ids in the table's strings */
        void *any;
    } values;
    uint64_t *nulls; /* one bit a row; NULL while there was no row */
} rs_table_column;

struct rs_table {
    const rs_table_spec *spec;
    rs_table_column *columns;
    size_t n_rows, capacity;
    size_t next; /* cells of the row being filled */
    bool no_memory, misfit;
    size_t n_due;          /* cells of the row being filled that are still to be set by name */
    size_t set_next;       /* where the search for the next of them begins */
    const rs_cell *cells;  /* of the record that the row being filled comes from */
    int64_t origin;        /* what moments count from */
    bool has_origin;       /* whether rs_table_count_from was called */
    const rs_strings *ids; /* the texts whose ids rs_table_put finds in its rows */
    uint32_t
        *texts_of; /* by such an id: the table's own id of the text, RS_NO_STRING until it is looked up */
    size_t n_texts_of;
    rs_strings strings; /* names repeat in most tables: each is kept once */
    rs_arena arena;     /* the copied spec of a dynamic table */
    rs_table_spec own_spec;
    const rs_column_spec *widened; /* a record's columns, with which a dynamic table begins; or NULL */
};

/* Room for `need` rows in every column. After a failure some columns may have more room than capacity says;
 * nothing relies on it. */
bool rs_table_reserve(rs_table *table, size_t need);

static inline void rs_table_mark(rs_table_column *column, size_t row, bool null)
{
    uint64_t bit = UINT64_C(1) << (row & 63);
    if (null)
        column->nulls[row / 64] |= bit;
    else
        column->nulls[row / 64] &= ~bit;
}
