/* Launchers as rows that outlive the trace. */
#ifndef RS_TRACE_LAUNCHER_ROWS_H
#define RS_TRACE_LAUNCHER_ROWS_H

#include "trace/launchers.h"
#include "trace/pool.h"

typedef struct rs_launcher_row {
    uint32_t uid;         /* position in traceEvents */
    uint32_t name;        /* in the pool, as all texts */
    const char *category; /* static text */
    int64_t start, duration;
    int64_t direct, subtree; /* ns */
    size_t n_kernels;
    uint32_t dims, types, strides, concrete; /* Python text; RS_NO_STRING when not recorded */
    uint32_t module;                         /* nn.Module around it */
    int64_t step;                            /* -1: none */
    uint32_t forward; /* of a backward operator: position of the forward one; RS_NO_ROW */
} rs_launcher_row;

typedef struct rs_launcher_rows {
    rs_pool pool;
    rs_launcher_row *items; /* in order of start, then position */
    size_t n;
    size_t n_gpu, n_unlinked; /* GPU work of the rank with and without a launch */
} rs_launcher_rows;

#define RS_ARGS_COLUMNS                                                                                      \
    (RS_COLUMN_BIT(INPUT_DIMS) | RS_COLUMN_BIT(INPUT_TYPE) | RS_COLUMN_BIT(INPUT_STRIDES) |                  \
     RS_COLUMN_BIT(CONCRETE_INPUTS))

/* Freed with rs_launcher_rows_free. Arguments, and forward operators, only where their columns were loaded.
 */
rs_status rs_launcher_rows_of(rs_trace *trace, rs_launcher_rows **out, rs_error *err);
void rs_launcher_rows_free(void *rows); /* NULL is allowed */

#endif
