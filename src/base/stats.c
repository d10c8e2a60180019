#include "base/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"

void rs_moments_add(rs_moments *m, int64_t value)
{
    if (m->n == 0 || value < m->min) m->min = value;
    if (m->n == 0 || value > m->max) m->max = value;
    m->n++;
    m->sum = rs_add_sat(m->sum, value);
    double off = (double)value - m->mean;
    m->mean += off / (double)m->n;
    m->m2 += off * ((double)value - m->mean);
}

void rs_moments_merge(rs_moments *into, const rs_moments *from)
{
    if (from->n == 0) return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    double a = (double)into->n, b = (double)from->n, off = from->mean - into->mean;
    into->mean += off * b / (a + b);
    into->m2 += from->m2 + off * off * a * b / (a + b);
    into->n += from->n;
    into->sum = rs_add_sat(into->sum, from->sum);
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
}

double rs_moments_mean(const rs_moments *m)
{
    return m->n ? (double)m->sum / (double)m->n : NAN;
}

double rs_moments_std(const rs_moments *m)
{
    return m->n > 1 ? sqrt(m->m2 / (double)(m->n - 1)) : NAN;
}

double rs_sum(const double *values, size_t n)
{
    double sum = 0, lost = 0; /* Kahan's summation keeps small times that follow large ones */
    for (size_t i = 0; i < n; i++) {
        double y = values[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

double rs_mean(const double *values, size_t n)
{
    return n ? rs_sum(values, n) / (double)n : NAN;
}

double rs_std(const double *values, size_t n)
{
    if (n < 2) return NAN;
    double mean = rs_mean(values, n), m2 = 0;
    for (size_t i = 0; i < n; i++) m2 += (values[i] - mean) * (values[i] - mean);
    return sqrt(m2 / (double)(n - 1));
}

double rs_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0 || isnan(q)) return NAN;
    double at = q * (double)(n - 1);
    if (at <= 0) return sorted[0];
    if (at >= (double)(n - 1)) return sorted[n - 1];
    size_t low = (size_t)at;
    double part = at - (double)low, step = sorted[low + 1] - sorted[low];
    return part < 0.5 ? sorted[low] + step * part : sorted[low + 1] - step * (1 - part);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define FEW 256 /* up to so many values, sorting by comparison is as fast */

/* The bits of a value as a number that orders as the values do; both zeros are equal. */
static uint64_t bits_in_order(double value)
{
    uint64_t bits;
    if (value == 0) value = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* A radix sort from the lowest byte up. A byte that all values share is skipped. Stable, as sorting by
 * comparison is. */
static void sort_by_bytes(double *values, double *scratch, size_t n)
{
    static const unsigned bytes = 8;
    size_t counts[8][256];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = bits_in_order(values[i]);
        for (unsigned b = 0; b < bytes; b++) counts[b][bits >> (8 * b) & 255]++;
    }
    double *from = values, *to = scratch;
    for (unsigned b = 0; b < bytes; b++) {
        if (counts[b][bits_in_order(values[0]) >> (8 * b) & 255] == n) continue;
        size_t at = 0;
        for (unsigned c = 0; c < 256; c++) {
            size_t here = counts[b][c];
            counts[b][c] = at;
            at += here;
        }
        for (size_t i = 0; i < n; i++) to[counts[b][bits_in_order(from[i]) >> (8 * b) & 255]++] = from[i];
        double *other = from;
        from = to;
        to = other;
    }
    if (from != values) memcpy(values, from, n * sizeof *values);
}

void rs_sort_doubles(double *values, size_t n)
{
    bool ordered = true, unordered = false;
    for (size_t i = 0; i < n; i++) {
        unordered = unordered || values[i] != values[i];
        ordered = ordered && (i == 0 || values[i - 1] <= values[i]);
    }
    if (n < 2 || (ordered && !unordered)) return;
    RS_LOCAL double *scratch = n > FEW && !unordered ? rs_malloc(n * sizeof *scratch) : NULL;
    if (scratch)
        sort_by_bytes(values, scratch, n);
    else
        qsort(values, n, sizeof *values, by_value);
}

/* ---- single places of the sorted order -------------------------------------------------------------- */

#define MAX_PLACES 16
#define FEW_LEFT 32
#define SELECT_PASSES                                                                                        \
    16 /* after so many passes through the values, bad pivots are given up and the rest is sorted */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sort_numbers(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_number);
}

/* A part of the values in which wanted places lie: those from first to last. */
typedef struct part {
    size_t low, high, first, last;
} part;

/* It has no branch on the values, because no processor could predict it. */
#define DEFINE_SELECT(name, type, sort)                                                                      \
    static size_t name##_below(type *values, size_t n, type pivot)                                           \
    {                                                                                                        \
        size_t at = 0;                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type x = values[i];                                                                              \
            values[i] = values[at];                                                                          \
            values[at] = x;                                                                                  \
            at += x < pivot;                                                                                 \
        }                                                                                                    \
        return at;                                                                                           \
    }                                                                                                        \
    static size_t name##_up_to(type *values, size_t n, type pivot)                                           \
    {                                                                                                        \
        size_t at = 0;                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                     \
            type x = values[i];                                                                              \
            values[i] = values[at];                                                                          \
            values[at] = x;                                                                                  \
            at += x <= pivot;                                                                                \
        }                                                                                                    \
        return at;                                                                                           \
    }                                                                                                        \
    static type name##_middle(type a, type b, type c)                                                        \
    {                                                                                                        \
        if (a < b) return b < c ? b : a < c ? c : a;                                                         \
        return a < c ? a : b < c ? c : b;                                                                    \
    }                                                                                                        \
    static void name(type *values, size_t n, const size_t *places, size_t n_places)                          \
    {                                                                                                        \
        part parts[MAX_PLACES + 1] = {{0, n, 0, n_places}};                                                  \
        size_t n_parts = 1, left = SELECT_PASSES * n;                                                        \
        while (n_parts) {                                                                                    \
            part p = parts[--n_parts];                                                                       \
            size_t size = p.high - p.low;                                                                    \
            if (size <= FEW_LEFT || left < size) {                                                           \
                sort(values + p.low, size);                                                                  \
                continue;                                                                                    \
            }                                                                                                \
            left -= size;                                                                                    \
            type pivot = name##_middle(values[p.low], values[p.low + size / 2], values[p.high - 1]);         \
            size_t border = p.low + name##_below(values + p.low, size, pivot), split = p.first;              \
            bool least =                                                                                     \
                border ==                                                                                    \
                p.low; /* the pivot is the least value: all that equal it are in place after this pass */    \
            if (least) border += name##_up_to(values + p.low, size, pivot);                                  \
            while (split < p.last && places[split] < border) split++;                                        \
            if (!least && split > p.first) parts[n_parts++] = (part){p.low, border, p.first, split};         \
            if (split < p.last) parts[n_parts++] = (part){border, p.high, split, p.last};                    \
        }                                                                                                    \
    }

DEFINE_SELECT(select_doubles, double, rs_sort_doubles)
DEFINE_SELECT(select_numbers, int64_t, sort_numbers)

void rs_place_quantiles(double *values, size_t n, const double *shares, size_t n_shares)
{
    size_t places[MAX_PLACES], n_places = 0;
    bool plain = n > FEW && n_shares <= MAX_PLACES / 2;
    for (size_t i = 0; plain && i < n; i++) /* NaN and the two zeros have an order of their own */
        plain = values[i] == values[i] && (values[i] != 0 || !signbit(values[i]));
    if (!plain) {
        rs_sort_doubles(values, n);
        return;
    }
    for (size_t i = 0; i < n_shares; i++) {
        double at = shares[i] * (double)(n - 1);
        size_t low = at <= 0 ? 0 : at >= (double)(n - 1) ? n - 1 : (size_t)at;
        for (size_t place = low; place <= low + 1 && place < n; place++) {
            size_t k = n_places++;
            for (; k && places[k - 1] > place; k--) places[k] = places[k - 1];
            places[k] = place;
        }
    }
    if (n_places) select_doubles(values, n, places, n_places);
}

int64_t rs_select_number(int64_t *values, size_t n, size_t place)
{
    select_numbers(values, n, &place, 1);
    return values[place];
}

int64_t rs_median(int64_t *values, size_t n)
{
    if (n == 0) return 0;
    int64_t high = rs_select_number(values, n, n / 2);
    if (n % 2) return high;
    int64_t low = rs_select_number(values, n, n / 2 - 1);
    return low +
           (int64_t)(((uint64_t)high - (uint64_t)low) / 2); /* the distance of two int64 fits in uint64 */
}

double rs_round(double value, int decimals)
{
    double scale = 1;
    for (int i = 0; i < decimals; i++) scale *= 10;
    return rint(value * scale) / scale;
}

double rs_percent(int64_t some, int64_t whole)
{
    return whole ? 100.0 * (double)some / (double)whole : (double)NAN;
}

/* ---- summaries -------------------------------------------------------------------------------------- */

rs_description rs_describe(double *values, size_t n)
{
    static const double shares[] = {0, 0.25, 0.5, 0.75, 0.95, 1};
    rs_description d = {
        .n = n, .sum = rs_sum(values, n), .mean = rs_mean(values, n), .std = rs_std(values, n)};
    double *const numbers[] = {&d.min, &d.p25, &d.p50, &d.p75, &d.p95, &d.max};
    rs_place_quantiles(values, n, shares, sizeof shares / sizeof *shares);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        *numbers[i] = rs_quantile(values, n, shares[i]);
    return d;
}

rs_description rs_description_rounded(const rs_description *d, int decimals)
{
    rs_description r = *d;
    double *const numbers[] = {&r.sum, &r.mean, &r.std, &r.min, &r.p25, &r.p50, &r.p75, &r.p95, &r.max};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = rs_round(*numbers[i], decimals);
    return r;
}

static const rs_field moments_fields[] = {
    RS_FIELDS(rs_moments, n, sum, min, max, mean, m2),
};
const rs_layout rs_moments_layout = RS_LAYOUT(rs_moments, moments_fields);

static const rs_field description_fields[] = {
    RS_FIELDS(rs_description, n, sum, mean, std, min, p25, p50, p75, p95, max),
};
const rs_layout rs_description_layout = RS_LAYOUT(rs_description, description_fields);

double rs_binomial_tail(size_t k, size_t n, double p)
{
    double share = n ? (double)k / (double)n : 0;
    if (share <= p || p >= 1) return 1;
    double distance = share * log(share / p) + (share < 1 ? (1 - share) * log((1 - share) / (1 - p)) : 0);
    return exp(-(double)n * distance);
}
