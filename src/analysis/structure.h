/* What `structure` keeps of a rank. */
#pragma once

#include "analysis/plan.h"
#include "trace/repetition.h"
#include "trace/structure.h"

enum {
    RS_STRUCTURE_STEPS,
    RS_STRUCTURE_PHASES,
    RS_STRUCTURE_MICRO_BATCHES,
    RS_STRUCTURE_LAYERS,
    RS_STRUCTURE_RANK
};

/* One step. */
typedef struct rs_structure_step {
    int64_t number, start, end; /* of its launches, ns; RS_NO_TIME: none is in the file */
    size_t works, micro_batches, layers, layer_works;
    double likeness;
    uint8_t source; /* rs_step_source */
} rs_structure_step;

/* A piece of GPU work. */
typedef struct rs_structure_work {
    int64_t step, micro_batch, layer; /* -1: of none */
    int64_t gpu;                      /* ns */
    uint8_t phase;                    /* rs_phase */
    bool opens;                       /* its layer's first of a step */
} rs_structure_work;

/* GPU work of one phase of a step, or of one micro batch of it. */
typedef struct rs_structure_phase {
    int64_t step;
    uint8_t phase;       /* rs_phase */
    int64_t micro_batch; /* -1: of none */
    size_t works;
    int64_t gpu; /* ns, summed */
} rs_structure_phase;

/* GPU work of one phase of one layer, over all steps and micro batches. */
typedef struct rs_structure_layer {
    uint8_t phase;
    int64_t layer;
    size_t works, steps;
    int64_t gpu;
} rs_structure_layer;

/* A process group as a rank sees it. */
typedef struct rs_structure_group {
    const char *description; /* owned; NULL: none */
    int64_t *members;        /* owned */
    size_t n, ops, transfers, all_to_alls, forward_sums, behind;
} rs_structure_group;

typedef struct rs_structure_rank {
    uint8_t source;    /* rs_step_source */
    uint8_t border;    /* rs_border */
    bool weak, looked; /* looked: period, score and runner_up are known */
    size_t period;
    double score, runner_up;
    size_t works, outside; /* GPU work in all, of no step */
    size_t n_annotated;    /* steps that annotations name, where the rank has no GPU work */
    int64_t world;         /* ranks of the job by the file's own word; 0: not told */
    rs_structure_group *groups;
    size_t n_groups, n_unlisted; /* operations of groups that name no members */
} rs_structure_rank;

rs_status rs_structure_put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);
void rs_structure_free(void *rank);
