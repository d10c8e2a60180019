#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/interval.h"

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
    double sum = 0, lost = 0; /* Kahan: long series of small times after large ones */
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

void rs_sort_doubles(double *values, size_t n)
{
    if (n > 1) qsort(values, n, sizeof *values, by_value);
}

double rs_round(double value, int decimals)
{
    double scale = 1;
    for (int i = 0; i < decimals; i++) scale *= 10;
    return rint(value * scale) / scale;
}
