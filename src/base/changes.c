#include "base/changes.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampling.h"

#define LEAST_LEVEL 2 /* values */

/* ---- proposals ----------------------------------------------------------------------------------------- */

/* The split of [from, to) with the greatest energy distance between its sides; to: there is none. The sums of
 * distances within both sides and between them are kept as values cross over, one by one. */
static size_t best_split(const double *x, size_t from, size_t to)
{
    double left = 0, right = 0, between = 0, most = -1;
    size_t best = to;
    for (size_t i = from; i < to; i++)
        for (size_t k = i + 1; k < to; k++) right += fabs(x[i] - x[k]);
    for (size_t at = from + 1; at < to; at++) {
        double to_left = 0, to_right = 0; /* distances of the value that crosses */
        for (size_t i = from; i < at - 1; i++) to_left += fabs(x[i] - x[at - 1]);
        for (size_t i = at; i < to; i++) to_right += fabs(x[i] - x[at - 1]);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if (at - from < LEAST_LEVEL || to - at < LEAST_LEVEL) continue;
        double m = (double)(at - from), n = (double)(to - at);
        double energy = 2 * between / (m * n) - 2 * left / (m * (m - 1)) - 2 * right / (n * (n - 1));
        double q = energy * m * n / (m + n);
        if (q > most) {
            most = q;
            best = at;
        }
    }
    return best;
}

/* Splits until nothing can be split: the test decides later, so that a change that is hidden by its neighbours in the
 * whole series is found in its part. Depth is counted by the list, not by recursion. */
static bool propose(const double *x, size_t n, uint8_t *is_split)
{
    size_t *open = rs_malloc((2 * n + 2) * sizeof *open), n_open = 0;
    if (!open) return false;
    open[n_open++] = 0;
    open[n_open++] = n;
    while (n_open) {
        size_t to = open[--n_open], from = open[--n_open];
        size_t at = to - from < 2 * LEAST_LEVEL ? to : best_split(x, from, to);
        if (at == to) continue;
        is_split[at] = 1;
        open[n_open++] = from;
        open[n_open++] = at;
        open[n_open++] = at;
        open[n_open++] = to;
    }
    rs_free(open);
    return true;
}

/* ---- the test ------------------------------------------------------------------------------------------ */

static void moments(const double *x, size_t n, double *mean, double *squares)
{
    *mean = *squares = 0;
    for (size_t i = 0; i < n; i++) *mean += x[i];
    *mean /= (double)n;
    for (size_t i = 0; i < n; i++) *squares += (x[i] - *mean) * (x[i] - *mean);
}

/* Student's test of [from, at) and [at, to), whose values are assumed to have equal variance: runs of one machine. */
static rs_change judge(const double *x, size_t from, size_t at, size_t to, size_t splits, double *error,
                       double *df)
{
    double means[2], squares[2], a = (double)(at - from), b = (double)(to - at);
    moments(x + from, at - from, &means[0], &squares[0]);
    moments(x + at, to - at, &means[1], &squares[1]);
    rs_change c = {.at = at, .difference = means[1] - means[0]};
    *df = a + b - 2;
    *error = sqrt((squares[0] + squares[1]) / *df * (1 / a + 1 / b));
    c.p = *error > 0 ? 2 * rs_student_cdf(-fabs(c.difference / *error), *df) : c.difference == 0 ? 1 : 0;
    c.p = fmin(1, c.p * (double)splits);
    return c;
}

/* Takes the weakest points back, one by one, each time with the levels as they are then. */
static size_t prune(const double *x, size_t n, double alpha, double least, size_t *at, size_t n_at,
                    rs_change *out)
{
    size_t splits = n - 2 * LEAST_LEVEL + 1;
    double error, df;
    for (;;) {
        size_t weakest = n_at;
        for (size_t i = 0; i < n_at; i++) {
            size_t from = i ? at[i - 1] : 0, to = i + 1 < n_at ? at[i + 1] : n;
            out[i] = judge(x, from, at[i], to, splits, &error, &df);
            bool stands = out[i].p <= alpha && fabs(out[i].difference) >= least;
            if (stands) continue;
            bool weaker =
                weakest == n_at || out[i].p > out[weakest].p ||
                (out[i].p == out[weakest].p && fabs(out[i].difference) < fabs(out[weakest].difference));
            if (weaker) weakest = i;
        }
        if (weakest == n_at) break;
        memmove(at + weakest, at + weakest + 1, (--n_at - weakest) * sizeof *at);
    }
    for (size_t i = 0; i < n_at; i++) {
        out[i] = judge(x, i ? at[i - 1] : 0, at[i], i + 1 < n_at ? at[i + 1] : n, splits, &error, &df);
        double half = rs_student_quantile(1 - alpha / 2, df) * error;
        out[i].low = out[i].difference - half;
        out[i].high = out[i].difference + half;
    }
    return n_at;
}

bool rs_changes_find(const double *x, size_t n, double alpha, double least, rs_change *out, size_t *n_out)
{
    *n_out = 0;
    if (n < 2 * LEAST_LEVEL) return true;
    RS_LOCAL uint8_t *is_split = rs_calloc(n + 1, 1);
    size_t *at = rs_malloc((n + 1) * sizeof *at), n_at = 0;
    bool ok = is_split && at && propose(x, n, is_split);
    for (size_t i = 0; ok && i < n; i++)
        if (is_split[i]) at[n_at++] = i;
    if (ok) *n_out = prune(x, n, alpha, least, at, n_at, out);
    rs_free(at);
    return ok;
}
