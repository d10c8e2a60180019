#include "analysis/describe.h"

#include "base/stats.h"

rs_description rs_describe(double *values, size_t n)
{
    static const double shares[] = {0, 0.25, 0.5, 0.75, 1};
    rs_description d = {
        .n = n, .sum = rs_sum(values, n), .mean = rs_mean(values, n), .std = rs_std(values, n)};
    rs_place_quantiles(values, n, shares, sizeof shares / sizeof *shares);
    d.min = rs_quantile(values, n, 0);
    d.p25 = rs_quantile(values, n, 0.25);
    d.p50 = rs_quantile(values, n, 0.5);
    d.p75 = rs_quantile(values, n, 0.75);
    d.max = rs_quantile(values, n, 1);
    return d;
}

rs_description rs_description_rounded(const rs_description *d, int decimals)
{
    rs_description r = *d;
    double *const numbers[] = {&r.sum, &r.mean, &r.std, &r.min, &r.p25, &r.p50, &r.p75, &r.max};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = rs_round(*numbers[i], decimals);
    return r;
}
