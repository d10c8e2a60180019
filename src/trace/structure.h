/* Where in the model's program each piece of GPU work stands: its step, its phase (forward, backward,
 * optimizer), its micro batch and its layer. Told by threads, autograd's sequence numbers and repetition, not
 * by annotations. docs/structure.md. */
#pragma once

#include "trace/launch_order.h"

typedef enum rs_phase {
    RS_PHASE_UNKNOWN,
    RS_PHASE_FORWARD,   /* in a step, before its last backward: the batch's copies among it */
    RS_PHASE_BACKWARD,  /* launched by autograd's thread */
    RS_PHASE_OPTIMIZER, /* after the last backward: the optimizer, and the clearing of gradients */
    RS_N_PHASES
} rs_phase;

extern const char *const rs_phase_names[RS_N_PHASES];

#define RS_NO_LAYER UINT32_MAX

/* What one step is made of. */
typedef struct rs_step_shape {
    int64_t number;         /* -1: work of no step, or of a trace without steps */
    size_t n;               /* pieces of work */
    uint32_t micro_batches; /* 0: forward and backward are not distinguished, 1: there is one, ... */
    uint32_t layers;        /* of a micro batch; 0: none repeats */
    size_t layer_works;     /* pieces of work of a layer's forward, or of a layer where phases are unknown */
    double likeness;        /* share of the work of forward that agrees between its micro batches; 1: one */
} rs_step_shape;

typedef struct rs_structure {
    const rs_launch_order *order;
    size_t n;              /* GPU work, in order of launch, as `order` has it */
    int64_t *step;         /* its number, -1: none */
    uint8_t *phase;        /* rs_phase */
    uint32_t *micro_batch; /* from 0; RS_NO_LAYER: unknown */
    uint32_t *layer;       /* from 0, as forward has them; RS_NO_LAYER: none, or unknown */
    uint32_t *by_row;      /* indices of the work, by row */
    rs_step_shape *steps;  /* by number */
    size_t n_steps;
    rs_step_source source; /* what tells the steps */
} rs_structure;

extern const rs_facet rs_facet_structure;

/* What tells the steps. */
typedef enum rs_structure_from {
    RS_FROM_AUTO, /* as rs_trace_steps */
    RS_FROM_ANNOTATIONS,
    RS_FROM_REPETITION
} rs_structure_from;

/* Of all the rank's work, whatever is selected. The trace's. O(n log n) in the work of a step. */
rs_status rs_trace_structure(rs_trace *trace, rs_structure_from from, const rs_structure **out,
                             rs_error *err);

/* The index of a row of GPU work, or SIZE_MAX. O(log n). */
size_t rs_structure_at(const rs_structure *structure, uint32_t row);
