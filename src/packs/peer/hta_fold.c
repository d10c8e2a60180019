#include "peer/hta_fold.h"

#include <math.h>

#include "base/memory.h"

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static bool add_row(rs_hta_rows *out, rs_hta_row row)
{
    if (!RS_GROW_ONE(out->items, out->n, out->capacity)) return false;
    out->items[out->n++] = row;
    return true;
}

static rs_hta_row whole(const rs_hta_named *k, int64_t rank)
{
    return (rs_hta_row){.name = k->name,
                        .sum = (double)k->time.sum / 1000,
                        .max = (double)k->time.max / 1000,
                        .min = (double)k->time.min / 1000,
                        .std = or_zero(rs_moments_std(&k->time) / 1000),
                        .mean = rs_moments_mean(&k->time) / 1000,
                        .class = k->class,
                        .rank = rank};
}

/* HTA folds by the quantile of the running sums, and from then on takes every statistic over the names'
 * totals.
 */
bool rs_hta_fold(const rs_hta_named *items, size_t n, int64_t rank, double ratio, size_t top,
                 rs_hta_rows *out)
{
    bool ok = true;
    if (n <= top) {
        for (size_t i = 0; ok && i < n; i++) ok = add_row(out, whole(&items[i], rank));
        return ok;
    }
    double *running = rs_malloc(n * sizeof *running), *folded = rs_malloc(n * sizeof *folded), sum = 0;
    ok = running && folded;
    for (size_t i = 0; ok && i < n; i++) running[i] = sum += (double)items[i].time.sum / 1000;
    double limit = ok ? rs_quantile(running, n, ratio) : 0;
    size_t n_folded = 0;
    for (size_t i = 0; ok && i < n; i++) {
        double total = (double)items[i].time.sum / 1000;
        /* a total below zero (rounding makes such) is what HTA takes for "never", and so never folds */
        if (!items[i].keep && total >= 0 && (running[i] > limit || i >= top)) {
            folded[n_folded++] = total;
            continue;
        }
        ok = add_row(out, (rs_hta_row){items[i].name, total, total, total, 0, total, items[i].class, rank});
    }
    if (ok && n_folded) {
        double std = or_zero(rs_std(folded, n_folded)), mean = rs_mean(folded, n_folded);
        double total = rs_sum(folded, n_folded);
        rs_sort_doubles(folded, n_folded);
        ok = add_row(out, (rs_hta_row){"others", total, folded[n_folded - 1], folded[0], std, mean,
                                       items[0].class, rank});
    }
    rs_free(running);
    rs_free(folded);
    return ok;
}
