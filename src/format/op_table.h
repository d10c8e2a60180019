/* Tables of operations: what each worker of a pipelined training job did in each step, and when.
 *
 * Two forms are read: the text table of rankscope (`# rankscope-ops 1 unit=s ...`, a header, one operation a
 * line) and the timeline of the OSDI'25 straggler study (a JSON array of Chrome events whose args are step,
 * model_chunk, mb_id and seq_id). docs/whatif.md describes both. */
#pragma once

#include "input/source.h"

/* Kinds of operation, in the order of their names. */
typedef enum rs_op_kind {
    RS_OP_BACKWARD_COMPUTE,
    RS_OP_BACKWARD_RECV,
    RS_OP_BACKWARD_SEND,
    RS_OP_EMBEDDING,
    RS_OP_FORWARD_COMPUTE,
    RS_OP_FORWARD_RECV,
    RS_OP_FORWARD_SEND,
    RS_OP_GC,
    RS_OP_SCATTER,
    RS_OP_LAYERNORM,
    RS_OP_OPTIMIZER,
    RS_OP_CLIP,
    RS_OP_GATHER,
    RS_OP_SEPARATE,
    RS_N_OP_KINDS
} rs_op_kind;

extern const char *const rs_op_kind_names[RS_N_OP_KINDS];

/* One operation of one worker in one step. */
typedef struct rs_op_span {
    int64_t step, rank;     /* rank: global rank of the worker */
    double start, duration; /* seconds, the start on the file's clock */
    int32_t dp, stage;      /* data rank and pipeline stage of the worker */
    int32_t seq;            /* number among those of its kind, worker and step */
    int32_t mb, mc;         /* micro batch and model chunk, -1: none */
    uint8_t kind;
} rs_op_span;

typedef struct rs_op_table {
    rs_op_span *ops;
    size_t n, capacity;
    int64_t dsp; /* further data-parallel ways that were not traced */
} rs_op_table;

/* Whether a text begins as one of the two forms does. */
bool rs_op_table_is(const uint8_t *head, size_t n);

/* Reads a whole table. A line or event that cannot be read is left out and counted in problems with its
 * place; a text that is neither form is RS_ERR_FORMAT. Release with rs_op_table_clear, also after a failure.
 */
rs_status rs_op_table_read(rs_source *source, rs_op_table *out, rs_problems *problems, rs_error *err);
void rs_op_table_clear(rs_op_table *table);

/* Adds an operation, or says in *why (static text) what is wrong with it. false: out of memory. */
bool rs_op_table_add(rs_op_table *table, const rs_op_span *op, const char **why);
/* The kind of that name, or -1. */
int rs_op_kind_find(const char *name, size_t n);
/* The study's timeline; what rs_op_table_read calls. */
rs_status rs_op_timeline_read(rs_source *source, rs_op_table *out, rs_problems *problems, rs_error *err);
