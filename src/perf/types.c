#include "perf/types.h"

#include <string.h>

typedef struct type_row {
    const char *name;
    uint8_t size, precision, kind;
    uint8_t order; /* of two types of one kind the one with the higher order holds both, but see promote */
    int8_t code;   /* ScalarType, -1: none */
} type_row;

/* c10/core/ScalarType.h has the codes, torch/csrc/profiler/util the names. */
static const type_row types[] = {
    {"", 0, RS_PRECISION_NONE, 0, 0, -1},
    {"bool", 1, RS_PRECISION_NONE, RS_NUMBER_BOOL, 0, 11},
    {"unsigned char", 1, RS_INT8, RS_NUMBER_INTEGER, 1, 0},
    {"signed char", 1, RS_INT8, RS_NUMBER_INTEGER, 1, 1},
    {"short int", 2, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 2, 2},
    {"short", 2, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 2, -1},
    {"unsigned short", 2, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 2, -1},
    {"int", 4, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 3, 3},
    {"unsigned int", 4, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 3, -1},
    {"long int", 8, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 4, 4},
    {"long", 8, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 4, -1},
    {"unsigned long", 8, RS_PRECISION_NONE, RS_NUMBER_INTEGER, 4, -1},
    {"c10::Float4_e2m1fn_x2", 1, RS_FP4, RS_NUMBER_FLOATING, 0, 45},
    {"c10::Float8_e8m0fnu", 1, RS_PRECISION_NONE, RS_NUMBER_FLOATING, 1, 44},
    {"c10::Float8_e5m2", 1, RS_FP8, RS_NUMBER_FLOATING, 1, 23},
    {"c10::Float8_e4m3fn", 1, RS_FP8, RS_NUMBER_FLOATING, 1, 24},
    {"c10::Float8_e5m2fnuz", 1, RS_FP8, RS_NUMBER_FLOATING, 1, 25},
    {"c10::Float8_e4m3fnuz", 1, RS_FP8, RS_NUMBER_FLOATING, 1, 26},
    {"c10::Half", 2, RS_FP16, RS_NUMBER_FLOATING, 2, 5},
    {"c10::BFloat16", 2, RS_BF16, RS_NUMBER_FLOATING, 2, 15},
    {"float", 4, RS_FP32, RS_NUMBER_FLOATING, 3, 6},
    {"double", 8, RS_FP64, RS_NUMBER_FLOATING, 4, 7},
    {"c10::complex<c10::Half>", 4, RS_PRECISION_NONE, RS_NUMBER_COMPLEX, 1, 8},
    {"c10::complex<float>", 8, RS_PRECISION_NONE, RS_NUMBER_COMPLEX, 2, 9},
    {"c10::complex<double>", 16, RS_PRECISION_NONE, RS_NUMBER_COMPLEX, 3, 10},
};
#define N_TYPES (sizeof types / sizeof *types)

const char *rs_precision_name(rs_precision precision)
{
    static const char *const names[RS_N_PRECISIONS] = {"",     "fp64", "fp32", "tf32", "fp16",
                                                       "bf16", "fp8",  "fp4",  "int8"};
    return names[precision];
}

rs_dtype rs_dtype_of_name(const char *name, size_t length)
{
    for (size_t i = 1; i < N_TYPES; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0) return (rs_dtype)i;
    return RS_NO_DTYPE;
}

rs_dtype rs_dtype_of(const char *name)
{
    return rs_dtype_of_name(name, strlen(name));
}

rs_dtype rs_dtype_of_code(int64_t code)
{
    for (size_t i = 1; code >= 0 && i < N_TYPES; i++)
        if (types[i].code == code) return (rs_dtype)i;
    return RS_NO_DTYPE;
}

int64_t rs_dtype_bytes(rs_dtype type)
{
    return types[type].size;
}

rs_precision rs_dtype_precision(rs_dtype type)
{
    return types[type].precision;
}

rs_number_kind rs_dtype_kind(rs_dtype type)
{
    return types[type].kind;
}

rs_dtype rs_dtype_promote(rs_dtype a, rs_dtype b)
{
    if (a == RS_NO_DTYPE || a == b) return b;
    if (b == RS_NO_DTYPE) return a;
    if (types[a].kind != types[b].kind) return types[a].kind > types[b].kind ? a : b;
    if (types[a].order != types[b].order) return types[a].order > types[b].order ? a : b;
    if (types[a].precision == RS_INT8) return rs_dtype_of("short int"); /* signed with unsigned bytes */
    if (types[a].order == 2 && types[a].kind == RS_NUMBER_FLOATING) return rs_dtype_of("float");
    return a; /* spellings of one type */
}
