#include "peer/hta_fold.h"

#include <math.h>

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static rs_hta_row whole(const rs_hta_named *k, int64_t rank)
{
    return (rs_hta_row){.name = k->name,
                        .sum = (double)k->time.sum / 1000,
                        .max = (double)k->time.max / 1000,
                        .min = (double)k->time.min / 1000,
                        .std = or_zero(rs_moments_std(&k->time) / 1000),
                        .mean = rs_moments_mean(&k->time) / 1000,
                        .class = (uint8_t)k->class,
                        .rank = rank};
}

/* HTA folds by the quantile of the running sums, and from then on takes every statistic over the names'
 * totals.
 */
void rs_hta_fold(const rs_hta_named *items, size_t n, int64_t rank, double ratio, size_t top,
                 rs_relations *out, unsigned at)
{
    for (size_t i = 0; n <= top && i < n; i++) {
        rs_hta_row row = whole(&items[i], rank);
        rs_put(out, at, &row);
    }
    if (n <= top) return;
    double *running = RS_ROOM(out, double, n), *folded = RS_ROOM(out, double, n), sum = 0;
    if (!running || !folded) return;
    for (size_t i = 0; i < n; i++) running[i] = sum += (double)items[i].time.sum / 1000;
    double limit = rs_quantile(running, n, ratio);
    size_t n_folded = 0;
    for (size_t i = 0; i < n; i++) {
        double total = (double)items[i].time.sum / 1000;
        uint8_t class = (uint8_t)items[i].class;
        /* a total below zero (rounding makes such) is what HTA takes for "never", and so never folds */
        if (!items[i].keep && total >= 0 && (running[i] > limit || i >= top))
            folded[n_folded++] = total;
        else
            rs_put(out, at, &(rs_hta_row){items[i].name, total, total, total, 0, total, class, rank});
    }
    if (!n_folded) return;
    double std = or_zero(rs_std(folded, n_folded)), mean = rs_mean(folded, n_folded);
    double total = rs_sum(folded, n_folded);
    rs_sort_doubles(folded, n_folded);
    rs_put(out, at,
           &(rs_hta_row){rs_put_string(out, "others"), total, folded[n_folded - 1], folded[0], std, mean,
                         (uint8_t)items[0].class, rank});
}
