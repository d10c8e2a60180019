/* memory of a trace: the profiler's [memory] events (profile_memory=True). */
#ifndef RS_ANALYSIS_MEMORY_TRACE_H
#define RS_ANALYSIS_MEMORY_TRACE_H

#include "analysis/analysis.h"

#define RS_MEMORY_TRACE_COLUMNS                                                                              \
    (RS_COLUMN_BIT(ALLOC_BYTES) | RS_COLUMN_BIT(TOTAL_ALLOCATED) | RS_COLUMN_BIT(TOTAL_RESERVED) |           \
     RS_COLUMN_BIT(DEVICE_ID) | RS_COLUMN_BIT(DEVICE_TYPE))

/* What a rank's trace contributes. */
typedef struct rs_traced_memory {
    struct rs_traced_device *devices;
    size_t n_devices;
    struct rs_traced_operator *operators; /* by allocated bytes, then by name */
    size_t n_operators;
    struct rs_traced_held *held;
    size_t n_held;
} rs_traced_memory;

extern const rs_layout rs_memory_rank_layout;
extern const rs_table_spec rs_memory_devices_table, rs_memory_operators_table, rs_memory_held_table;

/* Where those tables stand in the analysis' set. */
typedef struct rs_memory_tables {
    size_t devices, operators, held;
} rs_memory_tables;

/* The rank, merge and free_partial of `memory` for traces; options: series, top. */
rs_status rs_memory_trace_rank(const rs_run *run, rs_trace *trace, rs_traced_memory **partial, rs_error *err);
rs_status rs_memory_trace_merge(const rs_run *run, const rs_partial *partials, size_t n,
                                const rs_memory_tables *at, rs_result *result, rs_error *err);
void rs_memory_trace_free(void *partial);

#endif
