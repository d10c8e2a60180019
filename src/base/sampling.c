#include "base/sampling.h"

#include <math.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"

/* ---- Student's distribution ---------------------------------------------------------------------------- */

/* The continued fraction of the regularised incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double sum = d;
    for (int m = 1; m <= 1000; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            if (fabs(c) < tiny) c = tiny;
            sum *= d * c;
        }
        if (fabs(d * c - 1) < 1e-15) break;
    }
    return sum;
}

/* I_x(a, b); y is 1 - x, given so that nothing of it is lost near 1. The fraction converges fast on one side of
 * the mean; the other is its mirror. */
static double incomplete_beta(double a, double b, double x, double y)
{
    if (x <= 0) return 0;
    if (y <= 0) return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, y) / b;
}

double rs_student_cdf(double t, double df)
{
    if (isnan(t) || isnan(df) || df <= 0) return (double)NAN;
    if (isinf(df)) return 0.5 * erfc(-t / sqrt(2.0));
    double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t));
    return t > 0 ? 1 - tail : tail;
}

double rs_student_quantile(double p, double df)
{
    if (!(p > 0) || !(p < 1) || isnan(df) || df <= 0) return (double)NAN;
    double low = -1, high = 1;
    while (rs_student_cdf(low, df) > p && low > -1e300) low *= 2;
    while (rs_student_cdf(high, df) < p && high < 1e300) high *= 2;
    for (int i = 0; i < 2000; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        if (rs_student_cdf(middle, df) < p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

/* ---- two means ----------------------------------------------------------------------------------------- */

static void judge(rs_welch *w, double alpha)
{
    double quantile = rs_student_quantile(1 - alpha / 2, w->df);
    w->low = w->difference - quantile * w->error;
    w->high = w->difference + quantile * w->error;
    w->visible = (quantile + rs_student_quantile(0.8, w->df)) * w->error;
    w->p = w->error > 0 ? 2 * rs_student_cdf(-fabs(w->difference / w->error), w->df) : w->difference == 0;
}

rs_welch rs_welch_compare(const double *a, size_t n_a, const double *b, size_t n_b, double alpha,
                          double known_sd)
{
    const double unknown = (double)NAN;
    rs_welch w = {.difference = rs_mean(b, n_b) - rs_mean(a, n_a),
                  .error = unknown,
                  .df = unknown,
                  .p = unknown,
                  .low = unknown,
                  .high = unknown,
                  .visible = unknown};
    if (known_sd >= 0 && n_a && n_b) {
        w.df = (double)INFINITY;
        w.error = known_sd * sqrt(1 / (double)n_a + 1 / (double)n_b);
    } else if (n_a >= 2 && n_b >= 2) {
        double sd_a = rs_std(a, n_a), sd_b = rs_std(b, n_b);
        double x = sd_a * sd_a / (double)n_a, y = sd_b * sd_b / (double)n_b;
        w.error = sqrt(x + y);
        w.df = x + y > 0 ? (x + y) * (x + y) / (x * x / (double)(n_a - 1) + y * y / (double)(n_b - 1))
                         : (double)(n_a + n_b - 2);
    } else {
        return w;
    }
    judge(&w, alpha);
    return w;
}

/* ---- series -------------------------------------------------------------------------------------------- */

size_t rs_mser(const double *values, size_t n, bool *settled)
{
    *settled = true;
    if (n < 4) return 0;
    size_t best = 0;
    double least = (double)INFINITY, mean = 0, squares = 0;
    /* from the end on, so that each truncation costs one value more (Welford) */
    for (size_t i = n; i-- > 0;) {
        double count = (double)(n - i), distance = values[i] - mean;
        mean += distance / count;
        squares += distance * (values[i] - mean);
        double error = squares / (count * count);
        if (i <= n / 2 && error <= least) {
            least = error;
            best = i;
        }
    }
    *settled = best < n / 2;
    return best;
}

typedef struct ranked {
    double p;
    size_t at;
} ranked;

static const rs_order by_p[] = {RS_RISING(ranked, p), RS_RISING(ranked, at)};

bool rs_holm(double *p, size_t n)
{
    RS_LOCAL ranked *order = rs_malloc((n + 1) * sizeof *order);
    size_t tests = 0;
    if (!order) return false;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) order[tests++] = (ranked){p[i], i};
    RS_SORT(order, tests, by_p);
    double reached = 0;
    for (size_t i = 0; i < tests; i++) {
        double adjusted = order[i].p * (double)(tests - i);
        if (adjusted > reached) reached = adjusted;
        p[order[i].at] = reached < 1 ? reached : 1;
    }
    return true;
}

double rs_autocorrelation(const double *values, size_t n)
{
    if (n < 3) return (double)NAN;
    double mean = rs_mean(values, n), all = 0, next = 0;
    for (size_t i = 0; i < n; i++) all += (values[i] - mean) * (values[i] - mean);
    for (size_t i = 0; i + 1 < n; i++) next += (values[i] - mean) * (values[i + 1] - mean);
    return all > 0 ? next / all : (double)NAN;
}
