/* Tests of samples: Student's t, Welch's comparison of two means, warm-up by MSER, Holm's adjustment. All are
 * deterministic; what cannot be said is NaN.
 *
 * Sources: B. L. Welch, Biometrika 34 (1947); K. P. White, "An effective truncation heuristic for bias reduction in
 * simulation output" (MSER), Simulation 69 (1997); S. Holm, Scand. J. Statist. 6 (1979). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The share of Student's distribution below t. df may be fractional; INFINITY is the normal distribution. */
double rs_student_cdf(double t, double df);
/* Its inverse, 0 < p < 1. By bisection, to the last digits of a double. */
double rs_student_quantile(double p, double df);

typedef struct rs_welch {
    double difference; /* mean of b - mean of a */
    double error;      /* standard error of the difference */
    double df;         /* Welch-Satterthwaite; INFINITY where the spread was given */
    double p;          /* two-sided, of no difference */
    double low, high;  /* the interval of 1 - alpha */
    double visible;    /* the least difference that such samples show with a power of 80 % */
} rs_welch;

/* Compares two samples. With fewer than two values on a side the spread must be given: the standard deviation
 * of one value, as known from elsewhere; negative: not known, and then all but the difference is NaN. */
rs_welch rs_welch_compare(const double *a, size_t n_a, const double *b, size_t n_b, double alpha,
                          double known_sd);

/* How many values at the beginning are warm-up: the truncation with the least standard error of the rest, at most
 * half of them. *settled is false when that is the half: the series may still be falling. Fewer than four values
 * have none. O(n). */
size_t rs_mser(const double *values, size_t n, bool *settled);

/* Adjusts p-values in place for their number; NaN are no tests. O(n log n); false when out of memory. */
bool rs_holm(double *p, size_t n);

/* Correlation of each value with the one after it; NaN below three values or without spread. */
double rs_autocorrelation(const double *values, size_t n);
