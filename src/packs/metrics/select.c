/* Quantiles without sorting everything. */
#include <math.h>

#include "base/stats.h"
#include "metrics/dataset.h"

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

/* Puts the k-th smallest of values[from..to) in its place, smaller ones before it, larger ones behind. */
static void select_kth(double *values, size_t from, size_t to, size_t k)
{
    for (unsigned rounds = 0; to - from > 32; rounds++) {
        if (rounds > 100) break; /* hostile order: sort what is left */
        size_t mid = from + (to - from) / 2, last = to - 1;
        if (values[mid] < values[from]) swap(&values[mid], &values[from]);
        if (values[last] < values[from]) swap(&values[last], &values[from]);
        if (values[last] < values[mid]) swap(&values[last], &values[mid]);
        double pivot = values[mid];
        size_t i = from, j = last;
        for (;;) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i >= j) break;
            swap(&values[i++], &values[j--]);
        }
        if (k <= j)
            to = j + 1;
        else
            from = j + 1;
    }
    rs_sort_doubles(values + from, to - from);
}

void rs_select_quantiles(double *values, size_t n, const double *qs, size_t n_qs, double *out)
{
    size_t from = 0;
    for (size_t i = 0; i < n_qs; i++) {
        if (n == 0) {
            out[i] = NAN;
            continue;
        }
        double place = qs[i] * (double)(n - 1);
        size_t low = (size_t)place;
        if (low > n - 1) low = n - 1;
        if (low >= from) select_kth(values, from, n, low);
        out[i] = values[low];
        double part = place - (double)low;
        if (part > 0 && low + 1 < n) {
            if (low + 1 >= from) select_kth(values, low + 1, n, low + 1);
            out[i] += (values[low + 1] - values[low]) * part;
        }
        from = low;
    }
}
