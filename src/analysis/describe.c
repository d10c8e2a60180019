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

void rs_add_description(rs_table *table, const rs_description *d, int decimals)
{
    const double cells[] = {(double)d->n, d->mean, d->std, d->min, d->p25, d->p50, d->p75, d->max};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        rs_table_add_real(table, decimals < 0 ? cells[i] : rs_round(cells[i], decimals));
}
