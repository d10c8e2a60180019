/* memory of a trace: the profiler's [memory] events (profile_memory=True). */
#pragma once

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

/* An event of an allocator. */
typedef struct rs_memory_event {
    int64_t time, bytes, held, reserved; /* RS_NO_VALUE: unknown */
    uint32_t row, device;                /* device: index into the devices */
    uint32_t operator;                   /* row of the innermost operator around it, RS_NO_ROW: none */
    bool failed;
} rs_memory_event;

typedef struct rs_memory_device_id {
    int64_t type, id; /* type: c10::DeviceType, 0 is the host */
} rs_memory_device_id;

/* The [memory] events of a trace, in order of time, then of the file. */
typedef struct rs_memory_events {
    const rs_trace *trace;
    rs_memory_event *changes;
    size_t n, capacity;
    rs_memory_device_id *devices;
    size_t n_devices, devices_capacity;
} rs_memory_events;

/* Those that are selected; NULL: all. Release with rs_memory_events_clear, also after a failure. */
struct rs_selector;
rs_status rs_memory_events_read(const rs_trace *trace, const struct rs_selector *selector,
                                rs_memory_events *out, rs_error *err);
void rs_memory_events_clear(rs_memory_events *events);
