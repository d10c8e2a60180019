#include "store/narrow.h"

#include <string.h>

/* Of a block's first byte. */
#define WIDTH 0x0f
#define HAS_NONE 0x80 /* distance 0 is the number that means "none", whatever the base is */

/* The numbers that mean "none": RS_NO_TIME and RS_NO_VALUE, RS_NO_ROW and RS_NO_STRING. Shorter ones have none. */
#define NONE_8 INT64_MIN
#define NONE_4 UINT32_MAX

/* The same code for machines with wider vectors, and with a length that the compiler knows for whole blocks. */
#define BODY static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_AVX2 1
#define AVX2 __attribute__((target("avx2")))
#else
#define HAS_AVX2 0
#define AVX2
#endif

size_t rs_narrow_least(uint64_t n, unsigned size)
{
    return (size_t)((n + RS_NARROW_BLOCK - 1) / RS_NARROW_BLOCK * (1 + size));
}

/* ---- writing -------------------------------------------------------------------------------------------- */

static unsigned width_of(uint64_t greatest)
{
    return greatest == 0            ? 0
           : greatest <= UINT8_MAX  ? 1
           : greatest <= UINT16_MAX ? 2
           : greatest <= 0xffffff   ? 3
           : greatest <= UINT32_MAX ? 4
                                    : 8;
}

#define PUT(type, shift)                                                                                     \
    do {                                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type part = (type)(d[i] >> (shift));                                                             \
            memcpy(out + i * sizeof part, &part, sizeof part);                                               \
        }                                                                                                    \
        out += n * sizeof(type);                                                                             \
    } while (0)

/* The widths that numbers of so many bytes can need. Distances of three bytes are the lower two of all, then the upper one
 * of all. */
#define PUT_WIDTHS_1                                                                                         \
    if (width) PUT(uint8_t, 0);
#define PUT_WIDTHS_2                                                                                         \
    if (width == 1) PUT(uint8_t, 0);                                                                         \
    if (width == 2) PUT(uint16_t, 0);
#define PUT_WIDTHS_4                                                                                         \
    PUT_WIDTHS_2                                                                                             \
    if (width == 3) {                                                                                        \
        PUT(uint16_t, 0);                                                                                    \
        PUT(uint8_t, 16);                                                                                    \
    }                                                                                                        \
    if (width == 4) PUT(uint32_t, 0);
#define PUT_WIDTHS_8                                                                                         \
    PUT_WIDTHS_4                                                                                             \
    if (width == 8) PUT(uint64_t, 0);

/* Numbers are looked at with a bias that makes "none" the least of all; one less, and it is the greatest: so neither the
 * least nor the greatest of the others needs a condition. */
#define DEFINE_PUT(name, type, unsigned_type, smallest, biggest, bias, can_none, widths)                     \
    BODY size_t name(const void *numbers, size_t n, uint8_t *out)                                            \
    {                                                                                                        \
        type v[RS_NARROW_BLOCK], least = (biggest), greatest = (smallest), first = (biggest);                \
        unsigned_type d[RS_NARROW_BLOCK], base;                                                              \
        memcpy(v, numbers, n * sizeof *v);                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type x = (type)((unsigned_type)v[i] + (bias)), y = (type)((unsigned_type)x - (can_none));        \
            v[i] = x;                                                                                        \
            first = x < first ? x : first;                                                                   \
            least = y < least ? y : least;                                                                   \
            greatest = x > greatest ? x : greatest;                                                          \
        }                                                                                                    \
        bool none = (can_none) && first == (smallest);                                                       \
        base = (unsigned_type)((unsigned_type)least + (can_none)-none);                                      \
        for (size_t i = 0; i < n; i++) d[i] = (unsigned_type)((unsigned_type)v[i] - base);                   \
        for (size_t i = 0; none && i < n; i++) d[i] = v[i] == (smallest) ? 0 : d[i];                         \
        bool only_none = none && greatest == (smallest);                                                     \
        unsigned width = only_none ? 0 : width_of((unsigned_type)((unsigned_type)greatest - base));          \
        *out++ = (uint8_t)(width | (none ? HAS_NONE : 0));                                                   \
        base = (unsigned_type)(base - (bias));                                                               \
        memcpy(out, &base, sizeof base);                                                                     \
        out += sizeof base;                                                                                  \
        widths return 1 + sizeof base + n * width;                                                           \
    }

DEFINE_PUT(put_1, uint8_t, uint8_t, 0, UINT8_MAX, 0, 0, PUT_WIDTHS_1)
DEFINE_PUT(put_2, uint16_t, uint16_t, 0, UINT16_MAX, 0, 0, PUT_WIDTHS_2)
DEFINE_PUT(put_4, uint32_t, uint32_t, 0, UINT32_MAX, 1, 1, PUT_WIDTHS_4)
DEFINE_PUT(put_8, int64_t, uint64_t, INT64_MIN, INT64_MAX, 0, 1, PUT_WIDTHS_8)

BODY size_t put(const void *numbers, size_t n, unsigned size, uint8_t *out)
{
    switch (size) {
    case 1: return put_1(numbers, n, out);
    case 2: return put_2(numbers, n, out);
    case 4: return put_4(numbers, n, out);
    default: return put_8(numbers, n, out);
    }
}

/* ---- reading -------------------------------------------------------------------------------------------- */

/* The numbers of one width. at: the distance of number i; value: what distance d represents. */
#define TAKE(at, value)                                                                                      \
    for (size_t i = 0; i < n; i++) {                                                                         \
        unsigned_number d = (unsigned_number)(at);                                                           \
        out[i] = (unsigned_number)(value);                                                                   \
    }
#define TAKE_WIDTHS_1(value)                                                                                 \
    switch (width) {                                                                                         \
    case 0: TAKE(0, value) break;                                                                            \
    default: TAKE(p[i], value) break;                                                                        \
    }
#define TAKE_WIDTHS_2(value)                                                                                 \
    switch (width) {                                                                                         \
    case 0: TAKE(0, value) break;                                                                            \
    case 1: TAKE(p[i], value) break;                                                                         \
    default: TAKE(load_2(p + 2 * i), value) break;                                                           \
    }
#define TAKE_WIDTHS_4(value)                                                                                 \
    switch (width) {                                                                                         \
    case 0: TAKE(0, value) break;                                                                            \
    case 1: TAKE(p[i], value) break;                                                                         \
    case 2: TAKE(load_2(p + 2 * i), value) break;                                                            \
    case 3: TAKE(load_2(p + 2 * i) | (uint32_t)p[2 * n + i] << 16, value) break;                             \
    default: TAKE(load_4(p + 4 * i), value) break;                                                           \
    }
#define TAKE_WIDTHS_8(value)                                                                                 \
    switch (width) {                                                                                         \
    case 0: TAKE(0, value) break;                                                                            \
    case 1: TAKE(p[i], value) break;                                                                         \
    case 2: TAKE(load_2(p + 2 * i), value) break;                                                            \
    case 3: TAKE(load_2(p + 2 * i) | (uint32_t)p[2 * n + i] << 16, value) break;                             \
    case 4: TAKE(load_4(p + 4 * i), value) break;                                                            \
    default: TAKE(load_8(p + 8 * i), value) break;                                                           \
    }
#define TAKE_BEGIN(type)                                                                                     \
    typedef type unsigned_number;                                                                            \
    type base, *restrict out = numbers;                                                                      \
    memcpy(&base, p, sizeof base);                                                                           \
    p += sizeof base;

BODY uint16_t load_2(const uint8_t *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

BODY uint32_t load_4(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

BODY uint64_t load_8(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

#define DEFINE_TAKE(name, type, widths)                                                                      \
    BODY void name(const uint8_t *restrict p, size_t n, unsigned width, void *restrict numbers)              \
    {                                                                                                        \
        TAKE_BEGIN(type)                                                                                     \
        widths(d + base)                                                                                     \
    }
/* Of numbers that may mean "none". */
#define DEFINE_TAKE_OR_NONE(name, type, none_is, widths)                                                     \
    BODY void name(const uint8_t *restrict p, size_t n, unsigned width, bool none, void *restrict numbers)   \
    {                                                                                                        \
        TAKE_BEGIN(type)                                                                                     \
        if (none) widths(d == 0 ? (type)(none_is) : (type)(d + base)) else widths(d + base)                  \
    }

DEFINE_TAKE(take_1, uint8_t, TAKE_WIDTHS_1)
DEFINE_TAKE(take_2, uint16_t, TAKE_WIDTHS_2)
DEFINE_TAKE_OR_NONE(take_4, uint32_t, NONE_4, TAKE_WIDTHS_4)
DEFINE_TAKE_OR_NONE(take_8, uint64_t, NONE_8, TAKE_WIDTHS_8)

BODY void take(const uint8_t *p, size_t n, unsigned size, unsigned width, bool none, void *numbers)
{
    switch (size) {
    case 1: take_1(p, n, width, numbers); break;
    case 2: take_2(p, n, width, numbers); break;
    case 4: take_4(p, n, width, none, numbers); break;
    default: take_8(p, n, width, none, numbers); break;
    }
}

/* ---- for this machine ----------------------------------------------------------------------------------- */

size_t rs_narrow_put_plain(const void *numbers, size_t n, unsigned size, uint8_t *out)
{
    return n == RS_NARROW_BLOCK ? put(numbers, RS_NARROW_BLOCK, size, out) : put(numbers, n, size, out);
}

static void take_plain(const uint8_t *p, size_t n, unsigned size, unsigned width, bool none, void *numbers)
{
    if (n == RS_NARROW_BLOCK)
        take(p, RS_NARROW_BLOCK, size, width, none, numbers);
    else
        take(p, n, size, width, none, numbers);
}

#if HAS_AVX2
AVX2 static size_t put_avx2(const void *numbers, unsigned size, uint8_t *out)
{
    return put(numbers, RS_NARROW_BLOCK, size, out);
}

AVX2 static void take_avx2(const uint8_t *p, unsigned size, unsigned width, bool none, void *numbers)
{
    take(p, RS_NARROW_BLOCK, size, width, none, numbers);
}
#endif

size_t rs_narrow_put(const void *numbers, size_t n, unsigned size, uint8_t *out)
{
#if HAS_AVX2
    if (n == RS_NARROW_BLOCK && __builtin_cpu_supports("avx2")) return put_avx2(numbers, size, out);
#endif
    return rs_narrow_put_plain(numbers, n, size, out);
}

/* How long a block of n numbers is by its first byte; 0: it is none, or not all of it is given. */
static size_t length_of(const uint8_t *bytes, size_t given, size_t n, unsigned size)
{
    if (given < 1 + size || bytes[0] & ~(WIDTH | HAS_NONE)) return 0;
    unsigned width = bytes[0] & WIDTH;
    bool none = bytes[0] & HAS_NONE;
    if ((width > 4 && width != 8) || width > size || (none && size < 4)) return 0;
    size_t length = 1 + size + n * width;
    return length > given ? 0 : length;
}

size_t rs_narrow_take_plain(const uint8_t *bytes, size_t given, size_t n, unsigned size, void *numbers)
{
    size_t length = length_of(bytes, given, n, size);
    if (length) take_plain(bytes + 1, n, size, bytes[0] & WIDTH, bytes[0] & HAS_NONE, numbers);
    return length;
}

size_t rs_narrow_take(const uint8_t *bytes, size_t given, size_t n, unsigned size, void *numbers)
{
#if HAS_AVX2
    if (n == RS_NARROW_BLOCK && __builtin_cpu_supports("avx2")) {
        size_t length = length_of(bytes, given, n, size);
        if (length) take_avx2(bytes + 1, size, bytes[0] & WIDTH, bytes[0] & HAS_NONE, numbers);
        return length;
    }
#endif
    return rs_narrow_take_plain(bytes, given, n, size, numbers);
}
