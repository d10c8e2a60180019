/* TraceLens' performance models, its formulas as they are: what is wrong in them is in docs/differences.md,
 * what is right in perf/. */
#pragma once

#include "base/memory.h"
#include "rankscope/status.h"

#define RS_TL_MAX_PARAMS 24

typedef enum rs_tl_kind { RS_TL_NONE, RS_TL_WHOLE, RS_TL_FLOAT, RS_TL_WORD, RS_TL_PYTHON } rs_tl_kind;

/* What a model read from the arguments. */
typedef struct rs_tl_param {
    const char *name; /* static: "M" */
    rs_tl_kind kind;  /* NONE: None */
    double number;    /* WHOLE, FLOAT */
    const char *text; /* WORD: as it stands; PYTHON: tuples and truth values, as Python prints them */
} rs_tl_param;

typedef struct rs_tl_answer {
    double flops;          /* of one call */
    double bytes;          /* NaN: unknown */
    const char *unit;      /* "matrix", "vector"; NULL: neither */
    const char *precision; /* "bf16", ...; NULL: unknown */
    rs_tl_param params[RS_TL_MAX_PARAMS];
    size_t n_params;
} rs_tl_answer;

/* The operator as its event has it: JSON texts, NULL where there are none; lengths behind them. */
typedef struct rs_tl_call {
    const char *name;
    const char *dims, *types, *strides, *concrete;
    size_t dims_length, types_length, strides_length, concrete_length;
    const char *const *kernels; /* names of the GPU work below it */
    size_t n_kernels;
} rs_tl_call;

/* A row of the table of models. */
typedef struct rs_tl_model rs_tl_model;

/* NULL: TraceLens has no model for operators of that name. */
const rs_tl_model *rs_tl_model_find(const char *name);
/* The family: the name of its sheet, without _fwd and _bwd. Static text. */
const char *rs_tl_model_sheet(const rs_tl_model *model);
/* The families in the order of TraceLens' report; NULL after the last. */
extern const char *const rs_tl_sheet_names[];
/* Whether fwd and bwd have sheets of their own. */
bool rs_tl_sheet_is_split(const char *sheet);

typedef enum rs_tl_outcome {
    RS_TL_ANSWERED,
    RS_TL_FAILED,   /* TraceLens raises: the arguments do not fit */
    RS_TL_UNDEFINED /* NotImplementedError: there is no formula for that pass */
} rs_tl_outcome;

/* Asks the model about a call, or about the backward pass that belongs to the call. Texts of the answer live
 * in the arena. Out of memory: RS_TL_FAILED with *ok false. */
rs_tl_outcome rs_tl_model_ask(const rs_tl_model *model, bool backward, const rs_tl_call *call,
                              rs_arena *arena, rs_tl_answer *out, bool *ok);
