/* Statistics of samples: moments that can be merged, and quantiles. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/layout.h"

/* Count, sum, extremes and spread of whole numbers, one at a time or merged from parts. Start from {0}. */
typedef struct rs_moments {
    uint64_t n;
    int64_t sum; /* held at the ends of the range instead of overflowing */
    int64_t min, max;
    double mean, m2; /* m2: sum of squared distances from the mean */
} rs_moments;

void rs_moments_add(rs_moments *into, int64_t value);
void rs_moments_merge(rs_moments *into, const rs_moments *from);
double rs_moments_mean(const rs_moments *m); /* NaN without values */
double rs_moments_std(const rs_moments *m);  /* of a sample (n - 1); NaN with fewer than two values */
extern const rs_layout rs_moments_layout;

/* The same over doubles, all at once. sorted ascending where a quantile is asked. NaN where undefined. */
double rs_sum(const double *values, size_t n);
double rs_mean(const double *values, size_t n);
double rs_std(const double *values, size_t n);
/* Linear interpolation between the two nearest ranks, as numpy and pandas do by default. */
double rs_quantile(const double *sorted, size_t n, double q);
void rs_sort_doubles(double *values, size_t n);
/* Moves the values that rs_quantile needs for these shares (at most 8) to where sorting would put them; the
 * others are anywhere. O(n), where sorting is many times that. */
void rs_place_quantiles(double *values, size_t n, const double *shares, size_t n_shares);
/* The number at that place (below n) of the sorted order; the others are anywhere. O(n). */
int64_t rs_select_number(int64_t *values, size_t n, size_t place);
/* The median of n values, which are reordered; between two middle ones, rounded towards the lower. 0 for
 * none. */
int64_t rs_median(int64_t *values, size_t n);

/* The summary of a sample that several analyses print. NaN where undefined. */
typedef struct rs_description {
    size_t n;
    double sum, mean, std, min, p25, p50, p75, p95, max;
} rs_description;

/* Reorders the values. */
rs_description rs_describe(double *values, size_t n);
/* With every number but the count rounded. */
rs_description rs_description_rounded(const rs_description *d, int decimals);
extern const rs_layout rs_description_layout;

/* some / whole * 100; NaN when whole is 0. */
double rs_percent(int64_t some, int64_t whole);

/* Rounds half to even at that many decimals, as numpy does. */
double rs_round(double value, int decimals);

/* Upper bound of the chance that an event of probability p (above 0) happens k times of n or more: Chernoff's,
 * exp(-n KL(k/n || p)); 1 where k is no more than expected. */
double rs_binomial_tail(size_t k, size_t n, double p);
