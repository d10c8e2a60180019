/* Decimal text to doubles, correctly rounded, under any locale.
 *
 * A number of few digits and a small exponent is one multiplication or division of two exact doubles, which
 * rounds once (Clinger, "How to Read Floating Point Numbers Accurately", 1990). Whatever else comes goes to
 * strtod, with the calling thread's locale set to "C" for that call. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/locale.h"
#include "base/ascii.h"
#include "text/numbers.h"

/* Of digits beyond this many it only matters whether all are 0: no double, nor the middle between two, has
 * more than 767 digits. */
#define MOST_DIGITS 780
/* An exponent that is larger than any text is long gives 0 or infinity, whatever it is. */
#define FAR_EXPONENT (INT64_C(1) << 40)

#define EXACT_POWER 22 /* the largest power of ten that is an exact double */
#define EXACT_MANTISSA (UINT64_C(1) << 53)

/* The parts of a number's text. */
typedef struct parts {
    bool negative;
    const char *digits; /* the first of the mantissa */
    size_t n_digits;    /* with the point, if there is one */
    int64_t exponent;
} parts;

static bool split_exponent(const char *text, size_t length, int64_t *out)
{
    size_t i = 0;
    bool minus = length && text[0] == '-';
    if (length && (text[0] == '+' || text[0] == '-')) i++;
    if (i == length) return false;
    for (; i < length; i++) {
        if (!rs_is_digit(text[i])) return false;
        if (*out < FAR_EXPONENT) *out = *out * 10 + (text[i] - '0');
    }
    if (minus) *out = -*out;
    return true;
}

static bool split(const char *text, size_t length, parts *out)
{
    size_t i = 0, n = 0;
    bool point = false;
    *out = (parts){.negative = length && text[0] == '-'};
    if (length && (text[0] == '-' || text[0] == '+')) i++;
    out->digits = text + i;
    for (; i < length && (rs_is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
        if (text[i] == '.')
            point = true;
        else
            n++;
    }
    out->n_digits = (size_t)(text + i - out->digits);
    if (n == 0) return false;
    if (i == length) return true;
    if (text[i] != 'e' && text[i] != 'E') return false;
    return split_exponent(text + i + 1, length - i - 1, &out->exponent);
}

/* False when the number is not one of the easy ones. */
static bool read_easy(const parts *d, double *out)
{
#if FLT_EVAL_METHOD == 0
    static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t mantissa = 0;
    int64_t exponent = d->exponent;
    bool fraction = false;
    for (size_t i = 0; i < d->n_digits; i++) {
        if (d->digits[i] == '.') {
            fraction = true;
            continue;
        }
        if (mantissa >= EXACT_MANTISSA / 10) return false;
        mantissa = mantissa * 10 + (uint64_t)(d->digits[i] - '0');
        exponent -= fraction;
    }
    if (exponent < -EXACT_POWER || exponent > EXACT_POWER) return false;
    double value = (double)mantissa;
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    *out = d->negative ? -value : value;
    return true;
#else
    (void)d, (void)out;
    return false; /* intermediate results are wider than a double: they would be rounded twice */
#endif
}

static bool read_hard(const parts *d, double *out)
{
    char copy[MOST_DIGITS + 48];
    size_t n = 0, kept = 0;
    int64_t dropped = 0; /* digits before the point that are not in copy */
    bool fraction = false, rest = false;
    if (d->negative) copy[n++] = '-';
    copy[n++] = '0';
    for (size_t i = 0; i < d->n_digits; i++) {
        char c = d->digits[i];
        if (c == '.') {
            fraction = true;
        } else if (kept == 0 && c == '0') {
            dropped -= fraction;
        } else if (kept < MOST_DIGITS) {
            copy[n++] = c;
            kept++;
            dropped -= fraction;
        } else {
            rest |= c != '0';
            dropped += !fraction;
        }
    }
    if (rest) {
        copy[n++] = '1';
        dropped--;
    }
    if (kept == 0) {
        *out = d->negative ? -0.0 : 0.0;
        return true;
    }
    snprintf(copy + n, sizeof copy - n, "e%lld", (long long)(d->exponent + dropped));
    rs_locale plain;
    if (!rs_locale_enter(&plain, "C")) return false; /* there is always a "C" */
    *out = strtod(copy, NULL);
    rs_locale_leave(&plain);
    return isfinite(*out);
}

bool rs_parse_real(const char *text, size_t length, double *out)
{
    parts d;
    return split(text, length, &d) && (read_easy(&d, out) || read_hard(&d, out));
}
