/* What the files of the check share. */
#pragma once

#include "chakra/convert_internal.h"
#include "engine/feeder.h"
#include "text/json_put.h"

typedef struct rs_check_node {
    uint64_t id;
    int64_t start, duration; /* ns; of whole microseconds where the trace has no more */
    int64_t end;             /* ns: when it ended in the recording, with all below it */
    int64_t stream, device, size, tid;
    uint64_t micros_start, micros_duration;
    uint32_t data, n_data; /* dependencies: dep[data .. data + n_data) */
    uint32_t ctrl, n_ctrl;
    int32_t type;
    bool placed; /* it says whether it is the CPU's */
    bool gpu, timed, exact, gap, issued, has_end, has_stream, has_device, has_size, has_tid;
} rs_check_node;

/* What a communication node says besides. */
typedef struct rs_check_comm {
    uint32_t node;
    int64_t type, src, dst, tag;
    const char *group; /* in the check's names; NULL: none */
    int64_t recorded;  /* the type that was recorded, where the simulator's is another */
    bool has_type, has_src, has_dst, has_tag;
} rs_check_comm;

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
    RS_FAULT_PARENT, /* from here on: what ASTRA-sim stops at */
    RS_FAULT_OWN_PARENT,
    RS_FAULT_ON_CPU,
    RS_FAULT_NO_PLACE,
    RS_FAULT_COLLECTIVE,
    RS_FAULT_SIZE,
    RS_FAULT_GROUP,
    RS_FAULT_PEER,
    RS_FAULT_RANK,
    RS_FAULT_NODE_TYPE,
    RS_FAULT_METADATA,
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
    rs_check_comm *comms; /* communication, in the order of the file */
    size_t n_comms, comms_capacity;
    rs_strings names;
    rs_groups groups; /* of the metadata nodes and of the file that was given */
    uint64_t metadata_nodes;
    bool has_rank;
    int64_t rank; /* by the file's name */
    bool astra;   /* it is held against ASTRA-sim's rules */
    int64_t astra_time;
    uint64_t unproved; /* parents for which it was not found out whether they come before */
    uint64_t *deps;    /* ids */
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
    int64_t recorded_from, recorded_to;
    bool as_recorded; /* durations are made so that both agree */
    bool for_astra;   /* the communication is what ASTRA-sim takes */
    double tolerance; /* percent by which they may differ */
    char cycle[400];  /* the first one; "" */
} rs_check;

/* The index of a node; RS_LINKED_NONE. */
uint32_t rs_check_find(const rs_check *check, uint64_t id);
rs_status rs_check_fault(rs_check *check, rs_fault fault, uint64_t node, uint64_t other, rs_error *err);

/* Runs the trace as a simulator does: whether every node is issued, and how long it takes. */
rs_status rs_check_replay(rs_check *check, rs_error *err);
/* How much longer a replay takes than the recording, in percent. */
double rs_check_difference(int64_t replayed, int64_t recorded);
/* Whether that is more than the tolerance, percent. Whole microseconds add up to so much, ns, however short the
 * recording is. */
#define RS_CHECK_SLACK 5000
bool rs_check_is_off(int64_t replayed, int64_t recorded, double tolerance);

/* ---- runs ------------------------------------------------------------------------------------------- */

/* Communication that several ranks do together. Nodes of all files are numbered through. */
typedef struct rs_check_member {
    uint32_t node, meeting;
    int64_t delay; /* us: from when its stream is its own to when it has come */
    int64_t stay;  /* us: from when the last has come to its end */
    bool waits;    /* false: it had ended before the last one came */
} rs_check_member;

typedef struct rs_check_meeting {
    uint32_t first, n; /* of the members */
} rs_check_meeting;

typedef struct rs_check_plan {
    int64_t *begin; /* by file, us: when its first nodes may start */
    rs_check_meeting *meetings;
    size_t n_meetings;
    rs_check_member *members;
    size_t n_members;
    uint32_t *member_of; /* by node: RS_LINKED_NONE: it meets nobody */
} rs_check_plan;

typedef struct rs_check_outcome {
    int64_t time;               /* ns: from the first start of a node of the recording to the last end */
    size_t n_stuck;             /* meetings to which some came and others never did */
    uint32_t stuck;             /* the first of them */
    uint32_t came, stayed_away; /* members of it */
} rs_check_outcome;

/* check_machine.c: a run on a machine where each thread and each stream does one node at a time. plan: where
 * ranks meet; NULL: each rank runs alone. */
rs_status rs_check_run(const rs_check *files, size_t n_files, bool astra, const rs_check_plan *plan,
                       rs_check_outcome *out, rs_error *err);

/* ---- the ranks of a job ----------------------------------------------------------------------------- */

/* A collective of one rank: of which group, and when. */
typedef struct rs_check_call {
    uint32_t group; /* of the job */
    uint32_t file;
    int64_t start;
    uint32_t at; /* among the file's communication */
} rs_check_call;

typedef struct rs_check_job {
    bool has_recorded;
    bool as_recorded; /* every file's durations are made so that both agree */
    int64_t recorded; /* ns: from the first start to the last end of all ranks, on one clock */
    int64_t time;     /* ns: the same, replayed */
    size_t meetings;  /* collectives and messages of which more than one rank is given */
    size_t parts;     /* ranks that communication ties together; 1: all */
    bool clocks;      /* ranks' clocks were set by their communication */
    size_t n_stuck;
    char stuck[300]; /* the first of them; "" */
} rs_check_job;

/* check_job.c: replays all ranks together. groups of the calls are the job's, whatever a rank names them. */
rs_status rs_check_job_run(const rs_check *files, size_t n_files, const rs_check_call *calls, size_t n_calls,
                           rs_check_job *out, rs_error *err);
/* check_astra.c: what ASTRA-sim stops at. */
rs_status rs_check_astra(rs_check *check, rs_error *err);

/* check.c: reads a trace and makes all checks of one. clear is due in any case. */
rs_status rs_check_open(rs_check *check, const char *path, const rs_chakra_check_settings *settings,
                        rs_error *err);
void rs_check_clear(rs_check *check);
uint64_t rs_check_faults(const rs_check *check);
/* The number before ".et" in a file's name, RS_NO_RANK_IN_NAME for none. */
#define RS_NO_RANK_IN_NAME (-1)
/* Compares the trace with the linked trace it was made from. */
rs_status rs_check_conservation(rs_check *check, uint64_t max_ratio, rs_error *err);

void rs_check_put_text(const rs_check *check, rs_writer *w);
/* "recorded 9374374 ns, replayed 9374000 ns (-0.0 %)" */
void rs_check_put_span(rs_writer *w, bool has_recorded, int64_t recorded, int64_t replayed);
void rs_check_put_json(const rs_check *check, rs_json_put *j);
