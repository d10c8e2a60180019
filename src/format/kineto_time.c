#include "format/kineto_core.h"

/* Fraction digits kept: 3 make nanoseconds, 15 more the rest. */
#define REST_DIGITS 15
#define REST_ONE UINT64_C(1000000000000000)

typedef struct decimal {
    bool negative;
    uint8_t digits[512];
    int n;     /* digits held */
    int point; /* value = 0.d1d2d3... * 10^point */
    bool sticky;
} decimal;

static bool read_decimal(const uint8_t *text, size_t length, decimal *d)
{
    size_t i = 0;
    *d = (decimal){0};
    if (i < length && text[i] == '-') {
        d->negative = true;
        i++;
    }
    bool any = false, fraction = false;
    for (; i < length; i++) {
        uint8_t c = text[i];
        if (c == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        any = true;
        if (!fraction && (d->n || c != '0')) d->point++;
        if (fraction && d->n == 0 && c == '0') {
            d->point--;
            continue;
        }
        if (d->n == 0 && c == '0') continue;
        if (d->n < (int)sizeof d->digits)
            d->digits[d->n++] = (uint8_t)(c - '0');
        else if (c != '0')
            d->sticky = true;
    }
    if (!any) return false;
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        bool minus = false;
        if (i < length && (text[i] == '+' || text[i] == '-')) minus = text[i++] == '-';
        int exponent = 0;
        size_t first = i;
        for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            if (exponent < 100000000) exponent = exponent * 10 + (text[i] - '0');
        if (i == first) return false;
        d->point += minus ? -exponent : exponent;
    }
    return i == length;
}

bool rs_exact_time_parse(const uint8_t *text, size_t length, rs_exact_time *out)
{
    decimal d;
    if (!read_decimal(text, length, &d)) return false;
    /* microseconds to nanoseconds */
    int point = d.point + 3;
    if (d.n == 0) point = 0;
    if (point > 19) return false;
    uint64_t ns = 0, rest = 0;
    bool sticky = d.sticky;
    for (int i = 0; i < point; i++) {
        uint64_t digit = i < d.n ? d.digits[i] : 0;
        if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, digit, &ns)) return false;
    }
    int rest_digits = 0;
    for (int k = point; rest_digits < REST_DIGITS; k++, rest_digits++)
        rest = rest * 10 + (k >= 0 && k < d.n ? d.digits[k] : 0);
    int seen = point + REST_DIGITS;
    for (int k = seen < 0 ? 0 : seen; k < d.n; k++)
        if (d.digits[k]) sticky = true;
    if (ns > (uint64_t)INT64_MAX - 1) return false;
    *out = (rs_exact_time){.ns = (int64_t)ns, .rest = rest, .sticky = sticky};
    if (d.negative) {
        out->ns = -out->ns;
        if (rest || sticky) {
            /* below zero the rest counts upwards from the next lower nanosecond */
            out->ns -= 1;
            out->rest = REST_ONE - rest - (sticky ? 1 : 0);
            if (out->rest == REST_ONE) {
                out->rest = 0;
                out->ns += 1;
            }
        }
    }
    return true;
}

static int64_t round_half_even(const rs_exact_time *t)
{
    uint64_t half = REST_ONE / 2;
    bool up = t->rest > half || (t->rest == half && (t->sticky || (t->ns & 1)));
    return t->ns + (up ? 1 : 0);
}

unsigned rs_exact_time_round(const rs_exact_time *start, const rs_exact_time *duration, int64_t *start_ns,
                             int64_t *duration_ns, bool *ok)
{
    unsigned rounded = start->rest || start->sticky ? 1 : 0;
    *start_ns = round_half_even(start);
    *ok = true;
    if (!duration) return rounded;
    if (duration->rest || duration->sticky) rounded++;
    rs_exact_time end = {.rest = start->rest + duration->rest, .sticky = start->sticky || duration->sticky};
    bool overflow = __builtin_add_overflow(start->ns, duration->ns, &end.ns);
    if (end.rest >= REST_ONE) {
        end.rest -= REST_ONE;
        overflow |= __builtin_add_overflow(end.ns, 1, &end.ns);
    }
    *ok = !overflow && end.ns < INT64_MAX &&
          !__builtin_sub_overflow(round_half_even(&end), *start_ns, duration_ns);
    return rounded;
}
