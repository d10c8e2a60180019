/* How a worker's forward passes and the backward passes of the same micro-batches go together: whatif from a table of
 * operations. docs/whatif.md has the definitions. */
#include <math.h>
#include <stdlib.h>

#include "analysis/whatif.h"
#include "base/memory.h"
#include "base/stats.h"

typedef struct paired {
    int32_t mb, mc;
    bool backward;
    double duration;
} paired;

static int compare_paired(const void *x, const void *y)
{
    const paired *a = x, *b = y;
    if (a->mb != b->mb) return a->mb < b->mb ? -1 : 1;
    if (a->mc != b->mc) return a->mc < b->mc ? -1 : 1;
    return a->backward - b->backward;
}

typedef struct correlation {
    double n, x, y, xx, yy, xy; /* moments about the first pair */
    double x0, y0;
} correlation;

static void correlate(correlation *c, double x, double y)
{
    if (c->n == 0) {
        c->x0 = x;
        c->y0 = y;
    }
    x -= c->x0;
    y -= c->y0;
    c->n++;
    c->x += x;
    c->y += y;
    c->xx += x * x;
    c->yy += y * y;
    c->xy += x * y;
}

/* The forward and backward durations of one worker in one step. */
static void pair_step(const rs_ops *ops, size_t step, size_t dp, size_t stage, paired *list, correlation *c,
                      double *forward, size_t *n_forward)
{
    static const unsigned kinds[] = {RS_OP_FORWARD_COMPUTE, RS_OP_BACKWARD_COMPUTE};
    size_t n = 0;
    for (unsigned k = 0; k < 2; k++) {
        const uint32_t *range = &ops->range[stage * RS_N_OP_KINDS + kinds[k]];
        for (size_t v = range[0]; v < range[1]; v++) {
            size_t at = rs_ops_at(ops, step, dp, v);
            list[n++] = (paired){ops->mb[at], ops->mc[at], k == 1, ops->duration[at]};
            if (k == 0) forward[(*n_forward)++] = ops->duration[at];
        }
    }
    qsort(list, n, sizeof *list, compare_paired);
    for (size_t i = 1; i < n; i++)
        if (list[i].backward && !list[i - 1].backward && list[i].mb == list[i - 1].mb &&
            list[i].mc == list[i - 1].mc)
            correlate(c, list[i - 1].duration, list[i].duration);
}

static double pearson(const correlation *c)
{
    double xx = c->xx - c->x * c->x / c->n, yy = c->yy - c->y * c->y / c->n;
    return xx > 0 && yy > 0 ? (c->xy - c->x * c->y / c->n) / sqrt(xx * yy) : (double)NAN;
}

static double median_known(double *values, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) values[known++] = values[i];
    if (!known) return (double)NAN;
    rs_sort_doubles(values, known);
    return rs_quantile(values, known, 0.5);
}

rs_status rs_whatif_correlate(const rs_ops *ops, rs_whatif_row *job, rs_error *err)
{
    const size_t n_workers = ops->n_dp * ops->n_stages;
    size_t room = ops->n_names * (ops->n_steps + 1) + 1;
    RS_LOCAL paired *list = rs_malloc((ops->n_names + 1) * sizeof *list);
    RS_LOCAL double *forward = rs_malloc(room * sizeof *forward);
    RS_LOCAL double *r = rs_malloc((n_workers + 1) * sizeof *r),
                    *spread = rs_malloc((n_workers + 1) * sizeof *spread);
    rs_status status = list && forward && r && spread ? RS_OK : rs_fail_nomem(err, "correlation");
    for (size_t w = 0; status == RS_OK && w < n_workers; w++) {
        correlation c = {0};
        size_t n = 0;
        for (size_t s = 0; s < ops->n_steps; s++)
            pair_step(ops, s, w / ops->n_stages, w % ops->n_stages, list, &c, forward, &n);
        r[w] = c.n >= 2 ? pearson(&c) : (double)NAN;
        double mean = rs_mean(forward, n);
        /* of all there are, not of a sample */
        double shrink = n >= 2 ? sqrt((double)(n - 1) / (double)n) : (double)NAN;
        spread[w] = n >= 2 && mean > 0 ? shrink * rs_std(forward, n) / mean : (double)NAN;
    }
    if (status == RS_OK) {
        job->fb_correlation = median_known(r, n_workers);
        job->fb_variation = median_known(spread, n_workers);
    }
    return status;
}
