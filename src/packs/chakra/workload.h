/* Text workloads: a model as layers with the times of their computation and the sizes of their communication.
 * Private to src/packs/chakra/workload.c and text.c. */
#pragma once

#include "base/memory.h"
#include "rankscope/chakra_trace.h"

typedef enum rs_workload_kind {
    RS_WORKLOAD_MICRO,
    RS_WORKLOAD_DATA,
    RS_WORKLOAD_MODEL,
    RS_WORKLOAD_HYBRID, /* HYBRID_DATA_MODEL and HYBRID_MODEL_DATA: their nodes are the same */
    RS_WORKLOAD_DLRM    /* HYBRID_DLRM and HYBRID_DLRM_ENHANCED */
} rs_workload_kind;

/* One of forward, input gradient, weight gradient. */
typedef struct rs_workload_phase {
    uint64_t time;     /* us of computation */
    const char *comm;  /* the word in the file; NULL for NONE */
    int comm_type;     /* Rs__Et__CollectiveType */
    int64_t comm_size; /* bytes */
} rs_workload_phase;

enum { RS_PHASE_FORWARD, RS_PHASE_INPUT, RS_PHASE_WEIGHT, RS_N_PHASES };

typedef struct rs_workload_layer {
    const char *name;
    rs_workload_phase phases[RS_N_PHASES];
} rs_workload_layer;

typedef struct rs_workload {
    rs_workload_kind kind;
    size_t last_bottom; /* DLRM: the last layer that does not wait for the first one's exchange */
    rs_workload_layer *layers;
    size_t n_layers, capacity;
    char *text; /* the file, terminated */
    size_t n_text;
    rs_arena arena; /* of the names */
} rs_workload;

/* RS_ERR_FORMAT names the file, the line and what is wrong there. An all-zero workload may be cleared. */
rs_status rs_workload_open(const rs_chakra_text_settings *settings, rs_workload *out, rs_error *err);
void rs_workload_clear(rs_workload *workload);
