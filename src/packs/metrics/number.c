/* Numbers of metrics lines: nearly all are plain decimals of at most 19 digits, which need no general reader.
 */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "metrics/record.h"

__extension__ typedef unsigned __int128 wide;

static const uint64_t powers[20] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

typedef struct decimal {
    bool negative;
    uint64_t digits;
    unsigned places; /* behind the point */
} decimal;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Eight digits at once, by pairs, fours and eights; false when some byte is none. */
static bool eight_digits(const uint8_t *p, uint64_t *out)
{
    uint64_t w;
    memcpy(&w, p, 8);
    const uint64_t threes = UINT64_C(0x3030303030303030), tops = UINT64_C(0xf0f0f0f0f0f0f0f0);
    if ((w & tops) != threes || ((w + UINT64_C(0x0606060606060606)) & tops) != threes) return false;
    w -= threes;
    w = (w * 10) + (w >> 8);
    *out = (((w & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((w >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
    return true;
}
#else
static bool eight_digits(const uint8_t *p, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < 8; i++) {
        if ((uint8_t)(p[i] - '0') >= 10) return false;
        *out = *out * 10 + (uint64_t)(p[i] - '0');
    }
    return true;
}
#endif

/* false when it is anything but a plain decimal of up to 19 digits. */
static bool plain_decimal(const uint8_t *text, size_t n, decimal *out)
{
    const uint8_t *p = text, *end = text + n;
    *out = (decimal){0};
    if (p < end && *p == '-') {
        out->negative = true;
        p++;
    }
    if (end - p > 20 || p == end) return false;
    uint64_t v = 0;
    unsigned n_digits = 0;
    for (; p < end && (uint8_t)(*p - '0') < 10; p++, n_digits++) v = v * 10 + (uint64_t)(*p - '0');
    if (p < end) {
        if (*p++ != '.') return false;
        const uint8_t *point = p;
        for (uint64_t eight; end - p >= 8 && eight_digits(p, &eight); p += 8) v = v * 100000000 + eight;
        for (; p < end && (uint8_t)(*p - '0') < 10; p++) v = v * 10 + (uint64_t)(*p - '0');
        if (p != end) return false;
        out->places = (unsigned)(p - point);
        n_digits += out->places;
    }
    out->digits = v;
    return n_digits > 0 && n_digits <= 19;
}

/* What no finite number is written as. */
static double special(const uint8_t *text, size_t n)
{
    bool negative = n && text[0] == '-';
    size_t at = negative;
    if (at < n && (text[at] == 'N' || text[at] == 'n')) return NAN;
    return negative ? -INFINITY : INFINITY; /* Infinity, or beyond any double */
}

double rs_metrics_real(const uint8_t *text, size_t n)
{
    decimal d;
    if (plain_decimal(text, n, &d)) {
        double v = (double)d.digits / (double)powers[d.places];
        return d.negative ? -v : v;
    }
    double v;
    return rs_json_real(text, n, &v) ? v : special(text, n);
}

bool rs_metrics_units(const uint8_t *text, size_t n, int shift, int64_t *out)
{
    decimal d;
    if (shift == RS_METRICS_SHIFT && plain_decimal(text, n, &d)) {
        uint64_t unit = powers[d.places];
        wide scaled = ((wide)d.digits << RS_METRICS_SHIFT) + unit / 2;
        int64_t v = RS_METRICS_FAR;
        if ((uint64_t)(scaled >> 64) < unit) {
            uint64_t quotient = (uint64_t)(scaled / unit);
            if (quotient < (uint64_t)RS_METRICS_FAR) v = (int64_t)quotient;
        }
        *out = d.negative ? -v : v;
        return true;
    }
    double v = rs_metrics_real(text, n);
    if (isnan(v)) return false;
    v = ldexp(v, shift);
    *out = v >= (double)RS_METRICS_FAR    ? RS_METRICS_FAR
           : v <= -(double)RS_METRICS_FAR ? -RS_METRICS_FAR
                                          : rs_int_of(rint(v));
    return true;
}
