/* What an operator computes and moves, told by its name and arguments. */
#pragma once

#include "perf/arguments.h"

/* An answer is about one call. FLOPs count a multiplication and an addition as two; a division counts as an
 * addition does. Bytes are what must cross the memory bus when caches hold nothing between operators and
 * everything within one: each operand once. */
typedef struct rs_model {
    const char *family; /* "gemm", ...: static text; NULL: no model, or none that holds for these arguments */
    bool lower;         /* the work depends on more than the trace holds: these are lower bounds */
    bool has_flops, has_bytes;
    int64_t matrix;   /* FLOPs of contractions: what matrix units do */
    int64_t vector;   /* all other FLOPs */
    int64_t bytes;    /* crossing the memory bus */
    int64_t repeated; /* of matrix: scores that a backward pass computes again */
    rs_dtype type;    /* of the first matrix operand, else of the first operand */
} rs_model;

/* The rows of the table of models; RS_NO_MODEL: the name has none. */
#define RS_NO_MODEL UINT16_MAX
uint16_t rs_model_find(const char *name);
/* Whether it applies only to the operator nearest to the launch. */
bool rs_model_is_fallback(uint16_t model);
/* Whether it asks for rs_op_arguments.batch. */
bool rs_model_asks_batch(uint16_t model);
/* The model of the backward pass that takes a forward operator's arguments; RS_NO_MODEL: there is none. */
uint16_t rs_model_backward(uint16_t forward);
/* The forward operator's name length when the name ends as those of autograd functions do ("...Backward",
 * "...Backward0"); 0: it does not. */
size_t rs_forward_name(const char *name, size_t length);

/* in_place: the operator's name ends in _, so that its result has the first operand's type. */
rs_model rs_model_answer(uint16_t model, bool in_place, const rs_op_arguments *arguments);
