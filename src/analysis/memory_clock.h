/* memory --trace: snapshots and traces of the same run on one clock. An allocation of the snapshot is the trace's [memory]
 * event of the same address, device and time; the place of that event in the trace says which step, pass, module and operator
 * allocated. */
#pragma once

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
    int64_t call,
        cost; /* the outermost operator of its module around it, a number, and its GPU time; -1: none */
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

/* A rank's snapshot and its trace. */
typedef struct rs_memory_joint {
    const rs_partial *snapshot_of, *trace_of;
    const rs_memory_rank *snapshot;
    const rs_memory_clock *clock;
    int64_t from, until;            /* from the first to the last allocation of the trace, ns */
    const rs_clocked_event **found; /* by allocation of the snapshot; NULL: none */
    int64_t shift, error;   /* the trace's clock without the snapshot's, ns; 95 % are so close to it */
    size_t n_both, n_found; /* of those at times that both cover */
} rs_memory_joint;

typedef struct rs_memory_joints {
    rs_memory_joint *items;
    size_t n;
} rs_memory_joints;

/* Joins the ranks that have both. A partial's value is an rs_memory_rank, or an rs_memory_clock. Fails where less than half of
 * the allocations that both may have recorded are found in the other. Release with rs_memory_joints_clear, also after a
 * failure. */
rs_status rs_memory_joints_make(const rs_partial *snapshots, size_t n, const rs_partial *traces,
                                size_t n_traces, rs_memory_joints *out, rs_result *result, rs_error *err);
void rs_memory_joints_clear(rs_memory_joints *joints);
/* Fills the tables moments, modules and costs, and findings. */
rs_status rs_memory_joint_put(const rs_memory_joint *j, const rs_memory_question *q, rs_table **tables,
                              rs_result *result, rs_error *err);

/* The time of a module's own forward work in a step; RS_NO_TIME: not known. */
int64_t rs_memory_forward_time(const rs_memory_clock *clock, uint32_t module, int64_t step);
/* The rows of one device in the table costs, and what --recompute costs. step: of the peak. */
rs_status rs_memory_put_costs(const rs_memory_joint *j, const rs_memory_question *q,
                              const rs_memory_device *device, rs_table **tables, rs_error *err);
/* --by op: the rank's contribution with sites by the operators of the trace. All but texts and sites are borrowed; release
 * with rs_memory_by_op_clear, also after a failure. */
rs_status rs_memory_by_op(const rs_memory_joint *j, rs_memory_rank *out, rs_error *err);
void rs_memory_by_op_clear(rs_memory_rank *rank);
