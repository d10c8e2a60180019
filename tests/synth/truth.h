/* The record of what happened in the simulation, from which the answers are computed.
 * Times are on the job's clock; positions are indexes into the file's traceEvents. */
#pragma once

#include "synth.h"

/* What kept a GPU event from starting earlier. */
enum { BOUND_NONE, BOUND_LAUNCH, BOUND_STREAM, BOUND_EVENT };

typedef struct {
    int64_t start, end;
    int64_t launch_start, launch_end; /* -1: no launch in the file */
    int64_t position, launch_position;
    int32_t step, template;
    int32_t before; /* GPU event that bound the start, for BOUND_STREAM and BOUND_EVENT */
    uint32_t correlation;
    uint8_t stream, class, bound;
    bool graph;
    int32_t at; /* instruction, -1: none */
} gpu_truth;

typedef struct {
    int64_t start, end, position;
    int32_t bound; /* GPU event whose end the call waited for, -1: it did not wait */
    bool for_room; /* a launch: it waited for that event's start, which made room in the queue */
} call_truth;

typedef struct {
    uint8_t kind;
    int32_t source; /* GPU event */
    int32_t target; /* GPU event for SYNC_STREAM_WAIT, else a call */
    int32_t sync;   /* cuda_sync event, -1: none in the file */
} edge_truth;

typedef struct {
    int64_t start, end, position;
} step_truth;

/* An operator that could only begin when a GPU event had ended: the first one of its thread after a call that
 * waited for the event. */
typedef struct {
    uint32_t operator; /* its record function id */
    int32_t source;    /* GPU event */
} wait_truth;

/* By host template: what was launched while such an event was open on the launching thread. */
typedef struct {
    int64_t count, host, gpu_count, gpu;
    int64_t exclusive;            /* host time outside the operators within */
    int64_t direct_count, direct; /* launched with no other operator between */
} op_truth;

struct truth_rank {
    op_truth *operators;
    gpu_truth *gpu;
    size_t gpu_count, gpu_capacity;
    call_truth *calls;
    size_t call_count, call_capacity;
    edge_truth *edges;
    size_t edge_count, edge_capacity;
    wait_truth *waits;
    size_t wait_count, wait_capacity;
    int64_t *syncs; /* positions of cuda_sync events */
    size_t sync_count, sync_capacity;
    step_truth *steps;
    size_t step_count, step_capacity;
};

typedef struct {
    int32_t group, step, template;
    int64_t sequence, elements, end;
    size_t first; /* into starts, events and sequences: one entry a member */
} collective_truth;

struct truth {
    collective_truth *items;
    size_t count, capacity;
    int64_t *starts;
    int32_t *events; /* GPU event of each member */
    int64_t *shown;  /* "Seq" each member prints */
    size_t start_count, start_capacity, event_capacity, shown_capacity;
};

/* record.c */
void truth_gpu(job *j, rank_state *r, const record *e, const record *call, int bound, int32_t before);
void truth_edge(rank_state *r, int kind, int32_t source, int32_t target, int32_t sync);
/* The launch returned when that GPU event had started. */
void truth_room(rank_state *r, const record *call, int32_t source);
/* The call returned when that GPU event, which it launched, had ended. */
void truth_blocked(rank_state *r, const record *call, int32_t source);
void truth_wait(rank_state *r, uint32_t operator, int32_t source);
void truth_operators(job *j, rank_state *r, const record *e);
void truth_collective(job *j, const group *g, const instruction *i, int64_t end);

void truth_create(job *j);
void truth_free(job *j);
void truth_write(job *j, const char *path);

/* answers.c: plain sweeps over arrays of intervals */
typedef struct {
    int64_t start, end;
    int class;
} interval;

typedef struct {
    int64_t computation, communication, memory, busy; /* unions */
    int64_t exposed_communication, exposed_memory, overlap;
    int64_t combination[8]; /* time in which exactly these classes are active */
    int64_t span, idle;
} busy_times;

busy_times busy_of(interval *items, size_t count);

typedef struct {
    int64_t host_wait, kernel_wait, other, count[3], max_queue;
} stream_answer;

stream_answer stream_of(const truth_rank *t, int stream);

typedef struct {
    int64_t host, launch, gap, computation, communication, memory, total;
    int64_t *path; /* positions of the GPU events on the path, last first */
    size_t path_count, path_capacity;
} critical_answer;

critical_answer critical_of(const truth_rank *t, size_t step);
