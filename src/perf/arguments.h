/* The arguments of an operator as its event records them, read once into numbers. */
#pragma once

#include "base/memory.h"
#include "perf/batch.h"
#include "perf/types.h"
#include "rankscope/status.h"

#define RS_MAX_DIMS 16

typedef struct rs_argument {
    rs_dtype type;         /* RS_NO_DTYPE: no tensor */
    bool wrong;            /* its shape cannot be used: negative, too many dimensions, too large */
    bool list;             /* a list of tensors: list_elements is what they have together */
    uint8_t n_dims;        /* 0: a 0-d tensor, or no shape recorded */
    const int64_t *dims;   /* n_dims of them */
    const int64_t *stride; /* n_dims of them; NULL: not recorded */
    int64_t list_elements;
    const char *value; /* the concrete input; "" when there is none. Not terminated */
    size_t value_length;
} rs_argument;

typedef struct rs_op_arguments {
    size_t n;
    rs_argument *items;
    bool has_values;       /* concrete inputs were recorded */
    const rs_batch *batch; /* what the engine's annotation says; NULL: there is none. Set by the asker */
} rs_op_arguments;

/* From the JSON texts of Input Dims, Input type, Input Strides and Concrete Inputs; NULL: not recorded. What
 * is no such text counts as not recorded. The result lives in the arena. Linear in the texts. */
typedef struct rs_argument_texts {
    const char *dims, *types, *strides, *concrete;
} rs_argument_texts;
rs_status rs_op_arguments_read(const rs_argument_texts *texts, rs_arena *arena, rs_op_arguments *out,
                               rs_error *err);
