/* What the models of all families share. */
#pragma once

#include "perf/models.h"

typedef struct rs_model_row rs_model_row;

/* A question under way. After the first contradiction `bad` stays set, and there is no answer. */
typedef struct rs_ask {
    const rs_model_row *row;
    const rs_op_arguments *a;
    rs_model *out;
    bool in_place; /* the name ends in _ */
    bool bad;
} rs_ask;

typedef enum rs_model_flags {
    RS_MODEL_FALLBACK = 1, /* only for the operator nearest to the launch */
    RS_MODEL_IN_PLACE = 2, /* the same name with _ behind it is the same model */
    RS_MODEL_TO_BOOL = 4,  /* the result is of truth values */
    RS_MODEL_TO_FLOAT = 8, /* integers give float */
    RS_MODEL_PREFIX = 16,  /* the name is the beginning of the operator's */
    RS_MODEL_BATCH = 32    /* asks what the engine's annotation says of the batch */
} rs_model_flags;

struct rs_model_row {
    const char *name;
    const char *family;
    void (*answer)(rs_ask *ask);
    unsigned flags;
    int8_t p[9];          /* what the answering function makes of them: mostly places of arguments */
    const char *backward; /* a row that answers for the backward pass with these arguments */
};

/* Rows of a family; the end has no name. */
extern const rs_model_row rs_models_matrix[], rs_models_attention[], rs_models_elements[], rs_models_layers[],
    rs_models_serving[];

/* ---- numbers that may be too large --------------------------------------------------------------------- */

int64_t rs_times(rs_ask *ask, int64_t a, int64_t b); /* sets bad on overflow */
void rs_add_bytes(rs_ask *ask, int64_t bytes);
void rs_add_matrix(rs_ask *ask, int64_t flops);
void rs_add_vector(rs_ask *ask, int64_t flops);

/* ---- arguments ----------------------------------------------------------------------------------------- */

bool rs_is_tensor(const rs_ask *ask, int i);  /* its type is that of a tensor */
bool rs_is_present(const rs_ask *ask, int i); /* ... and it has a dimension */
/* The argument, which must be present with that many dimensions (0: any); else bad, and one of size 0. */
const rs_argument *rs_need(rs_ask *ask, int i, unsigned n_dims);
int64_t rs_elements(rs_ask *ask, const rs_argument *x);
/* Distinct elements times their size: a dimension of stride 0 counts once. */
int64_t rs_bytes_of(rs_ask *ask, const rs_argument *x);
void rs_add_operand(rs_ask *ask, int i); /* its bytes, if it is a tensor */
void rs_add_all_operands(rs_ask *ask);   /* every tensor argument once */
void rs_set_type(rs_ask *ask, rs_dtype type);
void rs_require(rs_ask *ask, bool holds); /* else bad */

/* ---- concrete values ----------------------------------------------------------------------------------- */

bool rs_value_is_empty(const rs_ask *ask, int i);
bool rs_value_is(const rs_ask *ask, int i, const char *word);
bool rs_value_int(const rs_ask *ask, int i, int64_t *out);
/* Whole numbers of "[1, 2]" or "1"; how many, -1 when it is neither, or more than max. */
int rs_value_list(const rs_ask *ask, int i, int64_t *out, int max);
/* Truth values of "[True, False]"; how many, -1 when it is no such list. */
int rs_value_mask(const rs_ask *ask, int i, bool *out, int max);
/* The type whose code is the value; otherwise if it has none. */
rs_dtype rs_value_type_code(const rs_ask *ask, int i, rs_dtype otherwise);
