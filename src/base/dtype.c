#include "base/dtype.h"

#include <string.h>

#include "base/ascii.h"

/* PyTorch's names (c10/core/ScalarType.h) and those of NumPy, folded. */
static const struct {
    const char *name;
    uint8_t size;
} types[] = {
    {"bool", 1},
    {"byte", 1},
    {"char", 1},
    {"short", 2},
    {"int", 4},
    {"long", 8},
    {"half", 2},
    {"bfloat16", 2},
    {"float", 4},
    {"double", 8},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"float32", 4},
    {"float64", 8},
    {"float4e2m1fnx2", 1},
    {"complexhalf", 4},
    {"complexfloat", 8},
    {"complexdouble", 16},
    {"qint8", 1},
    {"quint8", 1},
    {"qint32", 4},
    {"float8e5m2", 1},
    {"float8e4m3fn", 1},
    {"float8e5m2fnuz", 1},
    {"float8e4m3fnuz", 1},
    {"float8e8m0fnu", 1},
};

int64_t rs_dtype_size(const char *name)
{
    char folded[32];
    size_t n = 0;
    if (strncmp(name, "c10::", 5) == 0) name += 5;
    for (; *name && n + 1 < sizeof folded; name++)
        if (!strchr("_- \t", *name)) folded[n++] = rs_lower(*name);
    folded[n] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!*name && strcmp(types[i].name, folded) == 0) return types[i].size;
    return 0;
}
