/* TraceLens' performance report (generate_perf_report_pytorch): the sheets of one rank, with TraceLens' names,
 * order, numbers and faults. docs/differences.md says what differs from rankscope's own answers, and by how
 * much. */
#pragma once

#include "perf/devices.h"
#include "rankscope/table.h"
#include "trace/launcher_rows.h"

/* Tables in the order in which they were made; a table's name is the sheet's. */
typedef struct rs_sheets {
    rs_table **items; /* owned */
    size_t n, capacity;
} rs_sheets;

void rs_sheets_clear(rs_sheets *sheets);

typedef struct rs_tracelens_options {
    const rs_rates *rates; /* for the roofline columns; NULL: there are none */
    int64_t short_ns;      /* kernels below this make the sheets of short kernels; 0: no such sheets */
    int64_t micro_ns; /* gpu_timeline parts idle time into pauses below this and others; 0: it does not */
    bool unlinked;    /* work without a launch counts in gpu_timeline */
    bool recompute;   /* operators that are computed again are rows of their own, in a column is_recompute */
} rs_tracelens_options;

/* What the sheets read of a trace. */
#define RS_TRACELENS_COLUMNS                                                                                 \
    (RS_LINK_COLUMNS | RS_ARGS_COLUMNS | RS_COLUMN_BIT(EXTERNAL_ID) | RS_COLUMN_BIT(SEQUENCE_NUMBER) |       \
     RS_COLUMN_BIT(META_NAME) | RS_COLUMN_BIT(META_LABELS) | RS_COLUMN_BIT(COLLECTIVE) |                     \
     RS_COLUMN_BIT(IN_NELEMS) | RS_COLUMN_BIT(OUT_NELEMS) | RS_COLUMN_BIT(DTYPE) |                           \
     RS_COLUMN_BIT(GROUP_SIZE) | RS_COLUMN_BIT(GROUP_NAME) | RS_COLUMN_BIT(GROUP_RANKS) |                    \
     RS_COLUMN_BIT(IN_SPLIT) | RS_COLUMN_BIT(OUT_SPLIT))

/* All sheets of a rank; cleared by the caller, also on failure. O(n log n) in the events, and of operators
 * that hold others repeatedly, in the sum of the work below each. */
rs_status rs_tracelens_sheets(rs_trace *trace, const rs_tracelens_options *options, rs_sheets *out,
                              rs_error *err);
