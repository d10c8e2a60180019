/* Statistics: known values, merging, and what is undefined. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "unit.h"

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want) + 1e-12)) fail_msg("got %.17g, want %.17g", got, want);
}

TEST(test_known_values)
{
    double v[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_near(rs_mean(v, 8), 5);
    assert_near(rs_std(v, 8), sqrt(32.0 / 7));
    assert_near(rs_quantile(v, 8, 0.25), 4);
    assert_near(rs_quantile(v, 8, 0.8), 6.2); /* numpy.quantile */
    assert_near(rs_quantile(v, 8, 0), 2);
    assert_near(rs_quantile(v, 8, 1), 9);
    assert_near(rs_round(0.125, 2), 0.12);
    assert_near(rs_round(0.375, 2), 0.38);
}

TEST(test_moments_merge_like_one_pass)
{
    rs_moments all = {0}, parts[3] = {{0}}, merged = {0};
    for (int64_t i = 0; i < 1000; i++) {
        int64_t v = (i * 7919) % 1009 - 300;
        rs_moments_add(&all, v);
        rs_moments_add(&parts[i % 7 == 0 ? 0 : i % 2 + 1], v);
    }
    for (int i = 0; i < 3; i++) rs_moments_merge(&merged, &parts[i]);
    assert_int_equal(merged.n, all.n);
    assert_int_equal(merged.sum, all.sum);
    assert_int_equal(merged.min, all.min);
    assert_int_equal(merged.max, all.max);
    assert_true(fabs(rs_moments_std(&merged) - rs_moments_std(&all)) < 1e-9);
}

/* Selected places hold what sorting puts there, whatever the order, with ties, zeros of both signs and NaN.
 */
TEST(test_places_as_sorted)
{
    const double shares[] = {0, 0.25, 0.5, 0.75, 0.95, 1};
    static double a[5000], b[5000];
    static int64_t c[5000];
    for (int round = 0; round < 40; round++) {
        size_t n = round < 8 ? (size_t)round + 1 : 250 + (size_t)round * 118;
        for (size_t i = 0; i < n; i++) {
            uint64_t x = ((uint64_t)i * 2862933555777941757u + (uint64_t)round * 3037000493u) >> 20;
            int kind = round % 5;
            a[i] = kind == 0   ? (double)i
                   : kind == 1 ? (double)(n - i)
                   : kind == 2 ? (double)(x % 7)
                   : kind == 3 ? (double)(x % 100000) / 1000 - 40
                               : (double)(i < n / 2 ? i : n - i);
            if (round >= 35 && i % 9 == 0) a[i] = i % 2 ? -0.0 : (double)(round == 39 ? NAN : 0);
            c[i] = a[i] == a[i] ? (int64_t)a[i] : 0;
        }
        memcpy(b, a, n * sizeof *a);
        rs_place_quantiles(a, n, shares, 6);
        rs_sort_doubles(b, n);
        for (size_t k = 0; k < 6; k++) {
            double got = rs_quantile(a, n, shares[k]), want = rs_quantile(b, n, shares[k]);
            assert_memory_equal(&got, &want, sizeof got);
        }
        for (size_t k = 0; round < 35 && k < n; k += n / 3 + 1)
            assert_int_equal(rs_select_number(c, n, k), (int64_t)b[k]);
    }
}

TEST(test_undefined_is_nan)
{
    rs_moments m = {0};
    double one = 3;
    assert_true(isnan(rs_mean(NULL, 0)) && isnan(rs_quantile(NULL, 0, 0.5)) && isnan(rs_std(&one, 1)));
    assert_true(isnan(rs_moments_mean(&m)) && isnan(rs_moments_std(&m)));
    rs_moments_add(&m, INT64_MAX);
    rs_moments_add(&m, INT64_MAX);
    assert_int_equal(m.sum, INT64_MAX);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Few and many values, of all magnitudes and signs, with equal ones: as comparing sorts them. */
TEST(test_sorting)
{
    static double values[5000], wanted[5000];
    uint64_t random = 12345;
    for (size_t n = 0; n <= 5000; n = n < 20 ? n + 1 : n * 3 / 2)
        for (int kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < n; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                int64_t x = (int64_t)random >> 20;
                values[i] = kind == 0   ? (double)(x % 1000)
                            : kind == 1 ? (double)x * 1e-3
                            : kind == 2 ? ldexp((double)x, (int)(random % 1800) - 900)
                            : x % 3     ? (double)(x % 3) * 0.0
                                        : 1.5;
                if (kind == 2 && i % 97 == 0) values[i] = i % 2 ? INFINITY : -INFINITY;
            }
            memcpy(wanted, values, n * sizeof *values);
            qsort(wanted, n, sizeof *wanted, by_value);
            rs_sort_doubles(values, n);
            for (size_t i = 0; i < n; i++) assert_true(values[i] == wanted[i]);
        }
    double odd[300];
    for (int i = 0; i < 300; i++) odd[i] = i % 7 ? (double)(300 - i) : (double)NAN;
    rs_sort_doubles(odd, 300); /* no order, but no harm */
    int n_nan = 0;
    for (int i = 0; i < 300; i++) n_nan += isnan(odd[i]) != 0;
    assert_int_equal(n_nan, 43);
}

TEST(test_binomial_tail)
{
    assert_true(fabs(rs_binomial_tail(10, 10, 0.5) - 1.0 / 1024) < 1e-12);
    assert_true(rs_binomial_tail(5, 10, 0.5) == 1 && rs_binomial_tail(0, 0, 0.5) == 1);
    for (size_t n = 1; n < 40; n++) {                  /* never below the exact tail, nor 40 times above it */
        double exact = 0, term = pow(0.75, (double)n); /* of exactly 0 */
        double terms[41];
        for (size_t k = 0; k <= n; k++) {
            terms[k] = term;
            term *= (double)(n - k) / (double)(k + 1) / 3;
        }
        for (size_t k = n + 1; k-- > 0;) {
            exact += terms[k];
            double bound = rs_binomial_tail(k, n, 0.25);
            assert_true(bound >= exact * (1 - 1e-9) && bound <= 40 * exact);
        }
    }
}
