/* memory --trace: snapshots and traces of the same run on one clock. An allocation of the snapshot is the trace's [memory]
 * event of the same address, device and time; the place of that event in the trace says which step, pass, module and operator
 * allocated. */
#ifndef RS_ANALYSIS_MEMORY_CLOCK_H
#define RS_ANALYSIS_MEMORY_CLOCK_H

#include "analysis/memory_snapshot.h"
#include "analysis/module_nodes.h"

/* What is read of a trace in addition to the columns of its own memory. */
uint64_t rs_memory_clock_columns(const rs_options *options);

/* An allocation as the trace has it. */
typedef struct rs_clocked_event {
    int64_t device, time, bytes, step; /* time: ns of the Unix clock; step: -1 is none */
    uint64_t address;
    uint32_t op, module; /* texts; RS_NO_STRING: none */
    unsigned pass;       /* rs_pass */
} rs_clocked_event;

/* GPU time of a module's own work of the forward pass in one step. */
typedef struct rs_clocked_forward {
    uint32_t module; /* text */
    int64_t step, time;
} rs_clocked_forward;

/* What a rank's trace contributes. */
typedef struct rs_memory_clock {
    rs_strings texts;
    rs_clocked_event *events; /* by device, address, time */
    size_t n_events, events_capacity;
    rs_clocked_forward *forwards; /* by module, step */
    size_t n_forwards, forwards_capacity;
    bool has_modules, has_clock; /* has_clock: the file holds its baseTimeNanoseconds */
} rs_memory_clock;

extern const rs_layout rs_memory_clock_layout;
void rs_memory_clock_free(rs_memory_clock *clock);
rs_status rs_memory_clock_rank(rs_trace *trace, rs_memory_clock **out, rs_error *err);

/* Fills the tables moments and modules, and findings. A partial's value is an rs_memory_rank, or an rs_memory_clock.
 * Fails where less than half of the allocations that both may have recorded are found in the other. */
rs_status rs_memory_clock_join(const rs_partial *snapshots, size_t n, const rs_partial *traces,
                               size_t n_traces, rs_table **tables, rs_result *result, rs_error *err);

#endif
