/* Dips: steps that took much longer than the others, and what the GPUs' sensors told meanwhile. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "metrics/dataset.h"

#define DEVIATIONS 6     /* of the median absolute deviation, scaled to a normal spread */
#define LEAST_EXCESS 0.1 /* and at least this share above the median */
#define MIN_STEPS 8      /* fewer tell nothing about what is usual */

typedef struct step_time {
    int64_t step;
    double ms; /* median over the ranks that have the step */
} step_time;

typedef struct steps {
    step_time *items;
    size_t n, capacity;
} steps;

/* Walks all ranks in step: each one's steps rise. */
static bool step_times(const rs_dataset *d, steps *out)
{
    static const double half = 0.5;
    RS_LOCAL size_t *next = rs_calloc(d->n_series, sizeof *next),
                    *hint = rs_calloc(d->n_series, sizeof *hint);
    RS_LOCAL double *ms = rs_malloc(d->n_series * sizeof *ms);
    bool ok = next && hint && ms;
    for (size_t i = 0; ok && i < d->n_series; i++) next[i] = d->series[i].first;
    while (ok) {
        int64_t step = INT64_MAX;
        bool any = false;
        for (size_t i = 0; i < d->n_series; i++) {
            const rs_series *s = &d->series[i];
            if (next[i] >= s->n) continue;
            int64_t own = rs_series_step(s, next[i], &hint[i]);
            if (own < step || !any) step = own;
            any = true;
        }
        if (!any) break;
        size_t n = 0;
        for (size_t i = 0; i < d->n_series; i++) {
            const rs_series *s = &d->series[i];
            if (next[i] < s->n && rs_series_step(s, next[i], &hint[i]) == step)
                ms[n++] = s->of[RS_OF_TOTAL][next[i]++];
        }
        step_time t = {.step = step};
        rs_select_quantiles(ms, n, &half, 1, &t.ms);
        ok = out->n < out->capacity ||
             rs_grow((void **)&out->items, &out->capacity, out->n + 1, sizeof *out->items);
        if (ok) out->items[out->n++] = t;
    }
    return ok;
}

/* The median of the steps and of their distances from it. */
static bool usual(const steps *s, double *median, double *spread)
{
    static const double half = 0.5;
    RS_LOCAL double *room = rs_malloc(s->n * sizeof *room);
    if (!room) return false;
    for (size_t i = 0; i < s->n; i++) room[i] = s->items[i].ms;
    rs_select_quantiles(room, s->n, &half, 1, median);
    for (size_t i = 0; i < s->n; i++) room[i] = fabs(s->items[i].ms - *median);
    rs_select_quantiles(room, s->n, &half, 1, spread);
    *spread *= 1.4826; /* of a normal distribution: its standard deviation */
    return true;
}

static bool add_dip(rs_dataset *d, const steps *s, size_t from, size_t to)
{
    static const double half = 0.5;
    double *room = rs_malloc((to - from) * sizeof *room), middle;
    if (!room || !RS_GROW_ONE(d->dips, d->n_dips, d->dips_capacity)) {
        rs_free(room);
        return false;
    }
    for (size_t i = from; i < to; i++) room[i - from] = s->items[i].ms;
    rs_select_quantiles(room, to - from, &half, 1, &middle);
    rs_free(room);
    rs_dip dip = {.first_step = s->items[from].step,
                  .last_step = s->items[to - 1].step,
                  .n_steps = to - from,
                  .median_ms = middle,
                  .ratio = d->median_step > 0 ? middle / d->median_step : NAN};
    for (int k = 0; k < RS_N_SMI; k++) dip.smi[k] = NAN;
    d->dips[d->n_dips++] = dip;
    return true;
}

/* ---- the sensors -------------------------------------------------------------------------------------- */

typedef struct readings {
    double sum[RS_N_SMI];
    uint64_t n[RS_N_SMI];
} readings;

static void means(const readings *r, double *out)
{
    for (int k = 0; k < RS_N_SMI; k++) out[k] = r->n[k] ? r->sum[k] / (double)r->n[k] : NAN;
}

/* The dip that holds the step; dips rise and do not overlap. n_dips: none. */
static size_t dip_at(const rs_dataset *d, int64_t step)
{
    size_t low;
    RS_SEARCH(low, d->n_dips, d->dips[low].last_step < step);
    return low < d->n_dips && d->dips[low].first_step <= step ? low : d->n_dips;
}

static bool join_sensors(rs_dataset *d)
{
    RS_LOCAL readings *all = rs_calloc(d->n_dips + 1, sizeof *all); /* the last: outside of all */
    if (!all) return false;
    for (size_t i = 0; i < d->n_series; i++) {
        const rs_series *s = &d->series[i];
        size_t hint = 0;
        for (size_t j = 0; j < s->n_smi; j++) {
            if (s->smi[j].index < s->first) continue;
            readings *r = &all[dip_at(d, rs_series_step(s, s->smi[j].index, &hint))];
            for (int k = 0; k < RS_N_SMI; k++) {
                float v = s->smi[j].sample.value[k];
                if (isnan(v)) continue;
                r->sum[k] += (double)v;
                r->n[k]++;
                d->has_smi = true;
            }
        }
    }
    for (size_t i = 0; i < d->n_dips; i++) means(&all[i], d->dips[i].smi);
    means(&all[d->n_dips], d->smi_outside);
    return true;
}

rs_status rs_dataset_dips(rs_dataset *d, rs_error *err)
{
    steps s = {0};
    double spread = 0;
    bool ok = step_times(d, &s) && usual(&s, &d->median_step, &spread);
    double limit = d->median_step + fmax(DEVIATIONS * spread, LEAST_EXCESS * d->median_step);
    for (size_t i = 0, end; ok && s.n >= MIN_STEPS && i < s.n; i = end) {
        for (end = i; end < s.n && s.items[end].ms > limit; end++) {
        }
        if (end > i)
            ok = add_dip(d, &s, i, end);
        else
            end++;
    }
    rs_free(s.items);
    ok = ok && join_sensors(d);
    return ok ? RS_OK : rs_fail_nomem(err, "dips");
}
