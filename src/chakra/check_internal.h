/* What the files of the check share. */
#ifndef RS_CHAKRA_CHECK_INTERNAL_H
#define RS_CHAKRA_CHECK_INTERNAL_H

#include "chakra/convert_internal.h"
#include "engine/feeder.h"

typedef struct rs_check_node {
    uint64_t id;
    int64_t start, duration; /* ns; of whole microseconds where the trace has no more */
    int64_t end;             /* ns: when it ended in the recording, with all below it */
    int64_t stream, device, size, tid;
    uint64_t micros_start, micros_duration;
    uint32_t data, n_data; /* dependencies: dep[data .. data + n_data) */
    uint32_t ctrl, n_ctrl;
    int32_t type;
    bool gpu, timed, exact, gap, issued, has_end, has_stream, has_device, has_size, has_tid;
} rs_check_node;

typedef enum rs_fault {
    RS_FAULT_DUPLICATE,
    RS_FAULT_DANGLING_DATA,
    RS_FAULT_DANGLING_CTRL,
    RS_FAULT_REPEATED,
    RS_FAULT_CYCLE,
    RS_FAULT_NO_LAUNCHER,
    RS_FAULT_STREAM_ORDER,
    RS_FAULT_NEVER_ISSUED,
    RS_FAULT_TIME,
    RS_FAULT_LOST_NODE,
    RS_FAULT_NEW_NODE,
    RS_FAULT_DURATION,
    RS_FAULT_START,
    RS_FAULT_BYTES,
    RS_N_FAULTS
} rs_fault;

typedef struct rs_finding {
    rs_fault fault;
    uint64_t node, other;
} rs_finding;

#define RS_MAX_FINDINGS 10000 /* kept one by one; all are counted */

typedef struct rs_check {
    const char *path, *linked;
    rs_check_node *nodes; /* in the order of the file */
    size_t n_nodes, nodes_capacity;
    uint64_t *deps; /* ids */
    size_t n_deps, deps_capacity;
    rs_map64 by_id; /* the first of an id */
    rs_finding *findings;
    size_t n_findings, findings_capacity;
    uint64_t counts[RS_N_FAULTS];
    uint64_t *inversions; /* ids, in the order of the file */
    size_t n_inversions, inversions_capacity;
    uint64_t gpu_nodes, comm_nodes, gaps, streams;
    int64_t time, bytes;               /* sums over the trace */
    int64_t linked_time, linked_bytes; /* over the linked trace */
    uint64_t linked_nodes;
    uint64_t issued;  /* nodes that a feeder hands out */
    int64_t run_time; /* ns: from the first start of a node of the recording to the last end, replayed */
    bool has_recorded;
    int64_t recorded; /* ns: the same in the recording */
    bool as_recorded; /* durations are made so that both agree */
    double tolerance; /* percent by which they may differ */
    char cycle[400];  /* the first one; "" */
} rs_check;

/* The index of a node; RS_LINKED_NONE. */
uint32_t rs_check_find(const rs_check *check, uint64_t id);
rs_status rs_check_fault(rs_check *check, rs_fault fault, uint64_t node, uint64_t other, rs_error *err);
/* The name and the sentence of a fault. */
const char *rs_fault_name(rs_fault fault);
const char *rs_fault_text(rs_fault fault);

/* Runs the trace as a simulator does: whether every node is issued, and how long it takes. */
rs_status rs_check_replay(rs_check *check, rs_error *err);
/* How much longer the replay takes than the recording, in percent. */
double rs_check_difference(const rs_check *check);
/* check_machine.c: a run on a machine where each thread and each stream does one node at a time. *time: ns
 * from the first start of a node of the recording to the last end. */
rs_status rs_check_run(const rs_check *check, int64_t *time, rs_error *err);
/* Compares the trace with the linked trace it was made from. */
rs_status rs_check_conservation(rs_check *check, uint64_t max_ratio, rs_error *err);

rs_status rs_check_write_text(const rs_check *check, const rs_sink *sink, rs_error *err);
rs_status rs_check_write_json(const rs_check *check, const rs_sink *sink, rs_error *err);

#endif
