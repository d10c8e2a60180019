/* The types of tensors as traces name them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a device has a rate for. */
typedef enum rs_precision {
    RS_PRECISION_NONE, /* integers, truth values, complex numbers, scales */
    RS_FP64,
    RS_FP32,
    RS_TF32,
    RS_FP16,
    RS_BF16,
    RS_FP8,
    RS_FP4,
    RS_INT8,
    RS_N_PRECISIONS
} rs_precision;

const char *rs_precision_name(rs_precision precision); /* "fp64", ...; "" for none */

/* What a number can be: results take the highest kind of their operands. */
typedef enum rs_number_kind {
    RS_NUMBER_BOOL,
    RS_NUMBER_INTEGER,
    RS_NUMBER_FLOATING,
    RS_NUMBER_COMPLEX
} rs_number_kind;

/* A type by its place in a table. */
typedef uint8_t rs_dtype;
#define RS_NO_DTYPE 0

rs_dtype rs_dtype_of_name(const char *name, size_t length); /* RS_NO_DTYPE: no type of a tensor */
rs_dtype rs_dtype_of_code(int64_t code);                    /* a ScalarType, as in `dtype=` */
rs_dtype rs_dtype_of(const char *name);                     /* of a name that is known to exist */
int64_t rs_dtype_bytes(rs_dtype type);                      /* bytes; of packed fp4: of the pair */
rs_precision rs_dtype_precision(rs_dtype type);
rs_number_kind rs_dtype_kind(rs_dtype type);
/* The type that holds values of both; RS_NO_DTYPE represents "nothing yet". */
rs_dtype rs_dtype_promote(rs_dtype a, rs_dtype b);
