/* Arguments of operators as TraceLens' models read them, and what these models share. */
#pragma once

#include "peer/python_text.h"
#include "peer/tracelens_models.h"

/* One argument. Shapes and strides that are lists of lists count as `nested` and have no numbers. */
typedef struct rs_tl_list {
    const int64_t *items;
    size_t n;
    bool nested;
} rs_tl_list;

typedef struct rs_tl_text {
    const char *text; /* terminated */
    size_t length;
} rs_tl_text;

typedef struct rs_tl_arguments {
    rs_tl_list *dims, *strides;
    rs_tl_text *types, *concrete;
    size_t n_dims, n_strides, n_types, n_concrete;
    bool has_dims, has_strides, has_types, has_concrete;
} rs_tl_arguments;

/* A question to a model. After the first thing that Python would raise on `bad` stays set. */
typedef struct rs_tl_ask {
    const rs_tl_model *model;
    const rs_tl_call *call;
    const rs_tl_arguments *a;
    rs_arena *arena;
    rs_tl_answer *out;
    bool backward;  /* the pass that is asked about */
    bool bad;       /* Python raises */
    bool undefined; /* ... NotImplementedError */
    bool no_memory;
} rs_tl_ask;

bool rs_tl_arguments_read(const rs_tl_call *call, rs_arena *arena, rs_tl_arguments *out);

/* A shape, stride or type that the model insists on; otherwise bad, and an empty one. */
rs_tl_list rs_tl_shape(rs_tl_ask *ask, size_t i);
const char *rs_tl_type(rs_tl_ask *ask, size_t i);
/* A concrete input, which must exist. */
rs_tl_text rs_tl_concrete(rs_tl_ask *ask, size_t i);
bool rs_tl_is(rs_tl_text text, const char *word);
/* Numbers of "[1, 2]". -1: none, bad. */
size_t rs_tl_numbers(rs_tl_ask *ask, rs_tl_text text, int64_t *out, size_t max);
int64_t rs_tl_whole(rs_tl_ask *ask, rs_tl_text text);
double rs_tl_real(rs_tl_ask *ask, rs_tl_text text, double otherwise);
double rs_tl_product(const int64_t *items, size_t n);

/* Bytes of an element as TraceLens knows them; NaN: unknown. */
double rs_tl_size(const char *type);
/* "bf16", ...; NULL: unknown. */
const char *rs_tl_precision(const char *type);

void rs_tl_put_whole(rs_tl_ask *ask, const char *name, int64_t value);
void rs_tl_put_real(rs_tl_ask *ask, const char *name, double value);
void rs_tl_put_word(rs_tl_ask *ask, const char *name, const char *word);
void rs_tl_put_truth(rs_tl_ask *ask, const char *name, bool value);
void rs_tl_put_none(rs_tl_ask *ask, const char *name);
void rs_tl_put_tuple(rs_tl_ask *ask, const char *name, rs_tl_list list);
/* Types from one argument on: ('float', 'float'); a NULL one is None. */
void rs_tl_put_types(rs_tl_ask *ask, const char *name, const char *const *types, size_t n);
/* The strides of an argument; None where none were recorded. */
void rs_tl_put_stride(rs_tl_ask *ask, const char *name, size_t i);
/* Text that is Python already. */
void rs_tl_put_python(rs_tl_ask *ask, const char *name, rs_text *text);

/* ---- models -------------------------------------------------------------------------------------------- */

struct rs_tl_model {
    const char *name;  /* of the operator */
    const char *sheet; /* its family */
    void (*answer)(rs_tl_ask *ask);
    int8_t p[4]; /* what the answering function makes of them: mostly places of arguments */
};

extern const rs_tl_model rs_tl_models_matrix[], rs_tl_models_elements[]; /* the end has no name */

extern const rs_tl_model rs_tl_model_triton; /* of every name that begins as Inductor's do */
