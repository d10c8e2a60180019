/* Launchers as rows that outlive the trace. */
#pragma once

#include "table/relation.h"
#include "trace/launchers.h"
#include "trace/pool.h"

/* Texts are ids of the pool; RS_NO_STRING where nothing was recorded. */
typedef struct rs_launcher_row {
    uint32_t uid; /* position in traceEvents */
    uint32_t name, category;
    int64_t start, duration;
    int64_t direct, subtree; /* ns */
    size_t n_kernels;
    uint32_t dims, types, strides, concrete; /* Python text */
    uint32_t module;                         /* nn.Module around it */
    int64_t step;                            /* -1: none */
    uint32_t forward; /* of a backward operator: position of the forward one; RS_NO_ROW */
} rs_launcher_row;

/* GPU work of the rank with and without a launch. */
typedef struct rs_launcher_counts {
    size_t n_gpu, n_unlinked;
} rs_launcher_counts;

#define RS_ARGS_COLUMNS                                                                                      \
    (RS_COLUMN_BIT(INPUT_DIMS) | RS_COLUMN_BIT(INPUT_TYPE) | RS_COLUMN_BIT(INPUT_STRIDES) |                  \
     RS_COLUMN_BIT(CONCRETE_INPUTS))

/* Appends the rank's launchers to rows, which is empty, in order of start, then position; release it with
 * rs_relation_clear. Arguments, and forward operators, only where their columns were loaded. */
rs_status rs_launcher_rows_of(rs_trace *trace, rs_pool *pool, rs_relation *rows, rs_launcher_counts *counts,
                              rs_error *err);
/* Why a rank has no launchers. */
const char *rs_launcher_rows_lack(const rs_launcher_counts *counts);
