/* How a table lies in memory. Private to src/output. */
#ifndef RS_TABLE_TABLE_INTERNAL_H
#define RS_TABLE_TABLE_INTERNAL_H

#include "base/strings.h"
#include "rankscope/table.h"

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
    rs_strings strings; /* names repeat in most tables: each is kept once */
    rs_arena arena;     /* the copied spec of a dynamic table */
    rs_table_spec own_spec;
};

#endif
