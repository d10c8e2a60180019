#include "text/numbers.h"
#include "rankscope/text.h"
#include "text/locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

static const char digit_pairs[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

size_t rs_format_uint(uint64_t value, char *out)
{
    char digits[20];
    size_t at = sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(digits + at, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(digits + at, digit_pairs + value * 2, 2);
    } else {
        digits[--at] = (char)('0' + value);
    }
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

size_t rs_format_int(int64_t value, char *out)
{
    if (value >= 0) return rs_format_uint((uint64_t)value, out);
    out[0] = '-';
    return 1 + rs_format_uint(magnitude(value), out + 1);
}

size_t rs_format_time(int64_t ns, rs_unit unit, char *out)
{
    unsigned places = unit == RS_UNIT_US ? 3 : unit == RS_UNIT_MS ? 6 : 0;
    uint64_t scale = places == 3 ? 1000 : places == 6 ? 1000000 : 1;
    uint64_t value = magnitude(ns), whole = value / scale, rest = value % scale;
    size_t n = 0;
    if (ns < 0) out[n++] = '-';
    n += rs_format_uint(whole, out + n);
    if (!rest) return n;
    out[n++] = '.';
    for (unsigned i = places; i-- > 0;) {
        out[n + i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    n += places;
    while (out[n - 1] == '0') n--;
    return n;
}

/* ---- shortest round-trip doubles -------------------------------------------------------------------- */

#define MAX_POWER 27

static uint64_t power_of_5(unsigned k)
{
    uint64_t p = 1;
    while (k-- > 0) p *= 5; /* 5^27 < 2^63 */
    return p;
}

/* value = f * 2^e as integers; the doubles that read back as value lie strictly between (2f-1) and (2f+1), in
 * halves of the last place. With k decimal places moved in front of the point, so that 17 digits are whole,
 * both bounds are exact 128-bit integers over 2^shift and every candidate is tested exactly. Returns false
 * outside the range where that holds. */
static bool shortest_digits(double value, uint64_t *digits, int *exponent)
{
    if (!(value >= 1e-10 && value < 1e16)) return false;
    int e2;
    double fraction = frexp(value, &e2);
    uint64_t f = (uint64_t)ldexp(fraction, 53);
    e2 -= 53;
    if (f == UINT64_C(1) << 52) return false; /* a power of two: its lower bound is nearer */
    int k = 16 - (int)floor(log10(value));
    for (int attempt = 0; attempt < 3; attempt++) {
        if (k < 0 || k > MAX_POWER) return false;
        uint64_t five = power_of_5((unsigned)k);
        /* value * 10^k = 2f * 5^k / 2^shift */
        int shift = 1 - e2 - k;
        if (shift < 1 || shift > 120) return false;
        u128 x = (u128)(2 * f) * five;
        u128 quotient = x >> shift;
        if (quotient >= UINT64_C(100000000000000000)) {
            k--; /* log10 was off by one place */
            continue;
        }
        if (quotient < UINT64_C(10000000000000000)) {
            k++;
            continue;
        }
        uint64_t q = (uint64_t)quotient;
        u128 low = x - five, high = x + five;
        for (uint64_t step = 100; step >= 1; step /= 10) {
            /* the multiple of step nearest to x / 2^shift; ties and the cut-off fraction cannot both matter
             * because the result is tested, and the neighbour is tried too */
            uint64_t down = q / step * step;
            u128 below = (u128)down << shift, above = (u128)(down + step) << shift;
            uint64_t best = x - below <= above - x ? down : down + step;
            u128 chosen = (u128)best << shift;
            if (chosen <= low || chosen >= high) continue;
            int exp10 = -k;
            while (best % 10 == 0) {
                best /= 10;
                exp10++;
            }
            *digits = best;
            *exponent = exp10;
            return true;
        }
        return false;
    }
    return false;
}

/* For doubles outside that range: printf with more and more digits, until the text reads back. */
static void printed_digits(double value, uint64_t *digits, int *exponent)
{
    char text[40];
    rs_locale plain;
    rs_locale_enter(&plain, "C");
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value) break;
    }
    rs_locale_leave(&plain);
    uint64_t d = 0;
    int places = 0;
    bool after = false;
    const char *c = text;
    for (; *c && *c != 'e'; c++) {
        if (*c < '0' || *c > '9') {
            after = true;
            continue;
        }
        d = d * 10 + (uint64_t)(*c - '0');
        places += after;
    }
    int exp10 = (*c ? (int)strtol(c + 1, NULL, 10) : 0) - places;
    while (d && d % 10 == 0) {
        d /= 10;
        exp10++;
    }
    *digits = d;
    *exponent = exp10;
}

/* digits * 10^exponent in plain notation or with an exponent. */
static size_t write_decimal(uint64_t digits, int exponent, char *out)
{
    char text[20];
    size_t n_digits = rs_format_uint(digits, text), n = 0;
    int point = (int)n_digits + exponent; /* digits in front of the point */
    if (point > -5 && point <= 16) {
        if (point <= 0) {
            out[n++] = '0';
            out[n++] = '.';
            for (int i = point; i < 0; i++) out[n++] = '0';
            memcpy(out + n, text, n_digits);
            return n + n_digits;
        }
        for (int i = 0; i < point || i < (int)n_digits; i++) {
            if (i == point) out[n++] = '.';
            out[n++] = i < (int)n_digits ? text[i] : '0';
        }
        return n;
    }
    out[n++] = text[0];
    if (n_digits > 1) {
        out[n++] = '.';
        memcpy(out + n, text + 1, n_digits - 1);
        n += n_digits - 1;
    }
    out[n++] = 'e';
    return n + rs_format_int(point - 1, out + n);
}

size_t rs_format_real(double value, char *out)
{
    if (isnan(value)) return memcpy(out, "nan", 3), (size_t)3;
    if (value == 0) return out[0] = '0', (size_t)1;
    size_t n = 0;
    if (value < 0) {
        out[n++] = '-';
        value = -value;
    }
    if (isinf(value)) return memcpy(out + n, "inf", 3), n + 3;
    if (value < 9007199254740992.0 && value == floor(value))
        return n + rs_format_uint((uint64_t)value, out + n);
    uint64_t digits;
    int exponent;
    if (!shortest_digits(value, &digits, &exponent)) printed_digits(value, &digits, &exponent);
    return n + write_decimal(digits, exponent, out + n);
}

/* ---- as printf would ---------------------------------------------------------------------------------- */

size_t rs_format_exponent(double value, unsigned places, char out[RS_NUMBER_SIZE])
{
    rs_locale plain;
    rs_locale_enter(&plain, "C");
    int n = snprintf(out, RS_NUMBER_SIZE, "%.*e", places > 16 ? 16 : (int)places, value);
    rs_locale_leave(&plain);
    return n < 0 ? 0 : (size_t)n;
}

/* 0 <= value < 2^63 times 10^decimals, rounded to whole, ties to even: exact, because a double is a whole
 * number times a power of two. */
static u128 scaled_whole(double value, unsigned decimals)
{
    int e2;
    u128 f = (u128)ldexp(frexp(value, &e2), 53);
    for (unsigned i = 0; i < decimals; i++) f *= 10; /* < 2^53 * 10^9 < 2^83 */
    e2 -= 53;
    if (e2 >= 0) return f << e2; /* e2 <= 10 */
    if (e2 < -100) return 0;     /* less than a half */
    u128 whole = f >> -e2, rest = f - (whole << -e2), half = (u128)1 << (-e2 - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

const char *rs_format_fixed(double value, unsigned decimals, char out[RS_FIXED_SIZE])
{
    double positive = fabs(value);
    if (!(positive < 0x1p63)) {
        out[rs_format_real(value, out)] = '\0';
        return out;
    }
    if (decimals > 9) decimals = 9;
    u128 scaled = scaled_whole(positive, decimals);
    uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; i++) scale *= 10;
    uint64_t rest = (uint64_t)(scaled % scale);
    size_t n = 0;
    if (signbit(value)) out[n++] = '-';
    n += rs_format_uint((uint64_t)(scaled / scale), out + n);
    if (decimals) out[n++] = '.';
    for (unsigned i = decimals; i-- > 0; rest /= 10) out[n + i] = (char)('0' + rest % 10);
    out[n + decimals] = '\0';
    return out;
}

/* ---- for people --------------------------------------------------------------------------------------- */

static size_t group_digits(const char *digits, size_t n, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) out[used++] = ' ';
        out[used++] = digits[i];
    }
    return used;
}

size_t rs_format_grouped(double value, unsigned decimals, char out[48])
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    if (decimals > 9) decimals = 9;
    double positive = fabs(value);
    if (!(positive < 1e15)) return rs_format_exponent(value, 3, out);
    while (decimals > 0 && positive * powers[decimals] >= 9e15) decimals--;
    uint64_t scaled = (uint64_t)llrint(positive * powers[decimals]);
    uint64_t scale = (uint64_t)powers[decimals], whole = scaled / scale, rest = scaled % scale;
    char digits[20];
    size_t n = 0;
    if (value < 0 && scaled) out[n++] = '-';
    n += group_digits(digits, rs_format_uint(whole, digits), out + n);
    if (decimals) {
        out[n++] = '.';
        for (unsigned i = decimals; i-- > 0;) {
            out[n + i] = (char)('0' + rest % 10);
            rest /= 10;
        }
        n += decimals;
    }
    out[n] = '\0';
    return n;
}

const char *rs_human_count(int64_t value, char out[32])
{
    char digits[20];
    size_t n = 0;
    if (value < 0) out[n++] = '-';
    n += group_digits(digits, rs_format_uint(magnitude(value), digits), out + n);
    out[n] = '\0';
    return out;
}

/* Four significant digits of value / scale, where value / scale < 1000 after rounding or the unit is the
 * last. */
static bool four_digits(uint64_t value, uint64_t scale, bool last, bool negative, const char *unit,
                        char out[32])
{
    double x = (double)value / (double)scale;
    unsigned decimals = scale == 1 ? 0 : x < 9.9995 ? 3 : x < 99.995 ? 2 : x < 999.95 ? 1 : 0;
    if (!last && x >= (scale == 1 ? 1000.0 : 999.95)) return false;
    char number[48];
    rs_format_grouped(x, decimals, number);
    snprintf(out, 32, "%s%.26s %s", negative && value ? "-" : "", number, unit);
    return true;
}

const char *rs_human_time(int64_t ns, char out[32])
{
    static const struct {
        uint64_t scale;
        const char *name;
    } units[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};
    uint64_t value = magnitude(ns);
    for (unsigned i = 0; i < 4; i++)
        if (four_digits(value, units[i].scale, i == 3, ns < 0, units[i].name, out)) break;
    return out;
}

const char *rs_human_bytes(int64_t bytes, char out[32])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t value = magnitude(bytes), scale = 1;
    for (unsigned i = 0; i < 7; i++, scale *= 1024) {
        double x = (double)value / (double)scale;
        if (i < 6 && x >= (i ? 1023.5 : 1024)) continue;
        char number[48];
        rs_format_grouped(x, i == 0 ? 0 : x < 9.995 ? 2 : x < 99.95 ? 1 : 0, number);
        snprintf(out, 32, "%s%.24s %s", bytes < 0 ? "-" : "", number, names[i]);
        break;
    }
    return out;
}
