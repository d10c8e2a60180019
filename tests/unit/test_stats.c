/* Statistics: known values, merging, and what is undefined. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/stats.h"

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want) + 1e-12)) fail_msg("got %.17g, want %.17g", got, want);
}

static void test_known_values(void **state)
{
    (void)state;
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

static void test_moments_merge_like_one_pass(void **state)
{
    (void)state;
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

static void test_undefined_is_nan(void **state)
{
    (void)state;
    rs_moments m = {0};
    double one = 3;
    assert_true(isnan(rs_mean(NULL, 0)) && isnan(rs_quantile(NULL, 0, 0.5)) && isnan(rs_std(&one, 1)));
    assert_true(isnan(rs_moments_mean(&m)) && isnan(rs_moments_std(&m)));
    rs_moments_add(&m, INT64_MAX);
    rs_moments_add(&m, INT64_MAX);
    assert_int_equal(m.sum, INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_moments_merge_like_one_pass),
        cmocka_unit_test(test_undefined_is_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
