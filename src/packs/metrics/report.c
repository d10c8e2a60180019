/* What the records of a label come to: metrics, percentiles, stragglers, noise, and the comparison of two. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "metrics/dataset.h"

const rs_metric_info rs_metric_infos[RS_N_METRICS] = {
    [RS_M_STEP] = {"mean_step_ms", "ms", -1},
    [RS_M_COMPUTE] = {"mean_compute_ms", "ms", -1},
    [RS_M_COMM] = {"mean_comm_ms", "ms", -1},
    [RS_M_EXPOSED] = {"mean_exposed_comm_ms", "ms", -1},
    [RS_M_OVERLAP] = {"mean_overlap_ms", "ms", 0},
    [RS_M_IDLE] = {"mean_idle_ms", "ms", -1},
    [RS_M_OVERLAP_RATIO] = {"overlap_ratio", "ratio", 0},
    [RS_M_HIDDEN_SHARE] = {"hidden_share", "share", 1},
    [RS_M_COMPUTE_SHARE] = {"compute_share", "share", 1},
    [RS_M_IDLE_SHARE] = {"idle_share", "share", -1},
    [RS_M_LOSS] = {"mean_loss", "", -1},
    [RS_M_STRAGGLER] = {"straggler_index", "ratio", -1},
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

double rs_metric_of(const rs_sums *s, rs_metric metric)
{
    double total = rs_exact_value(&s->total), compute = rs_exact_value(&s->compute),
           comm = rs_exact_value(&s->comm), overlap = rs_exact_value(&s->overlap),
           idle = rs_exact_value(&s->idle), n = (double)s->n;
    switch (metric) {
    case RS_M_STEP: return ratio(total, n);
    case RS_M_COMPUTE: return ratio(compute, n);
    case RS_M_COMM: return ratio(comm, n);
    case RS_M_EXPOSED: return ratio(comm - overlap, n);
    case RS_M_OVERLAP: return ratio(overlap, n);
    case RS_M_IDLE: return ratio(idle, n);
    case RS_M_OVERLAP_RATIO: return ratio(overlap, compute);
    case RS_M_HIDDEN_SHARE: return ratio(overlap, comm);
    case RS_M_COMPUTE_SHARE: return ratio(compute, total);
    case RS_M_IDLE_SHARE: return ratio(idle, total);
    case RS_M_LOSS: return ratio(rs_exact_value(&s->loss) + s->odd_loss, (double)s->n_loss);
    case RS_M_STRAGGLER:
    case RS_N_METRICS: break;
    }
    return NAN;
}

double rs_dataset_metric(const rs_dataset *d, rs_metric metric)
{
    return metric == RS_M_STRAGGLER ? d->straggler_index : rs_metric_of(&d->sums, metric);
}

int rs_dataset_dominant(const rs_dataset *d)
{
    int best = -1;
    double most = 0;
    for (int k = 0; k < RS_N_COLLECTIVES; k++) {
        double exposed =
            rs_exact_value(&d->sums.in_collective[k]) - rs_exact_value(&d->sums.hidden_collective[k]);
        if (exposed <= most) continue;
        most = exposed;
        best = k;
    }
    return best;
}

/* ---- percentiles -------------------------------------------------------------------------------------- */

static double quantity(const rs_series *s, size_t i, int what)
{
    switch (what) {
    case RS_Q_STEP: return s->of[RS_OF_TOTAL][i];
    case RS_Q_COMPUTE: return s->of[RS_OF_COMPUTE][i];
    case RS_Q_COMM: return s->of[RS_OF_COMM][i];
    case RS_Q_EXPOSED: return s->of[RS_OF_COMM][i] - s->of[RS_OF_OVERLAP][i];
    case RS_Q_OVERLAP: return s->of[RS_OF_OVERLAP][i];
    default: return s->of[RS_OF_IDLE][i];
    }
}

static void percentiles_of(const rs_dataset *d, int what, double *room, rs_percentiles *out)
{
    static const double qs[] = {0.5, 0.9, 0.99, 1};
    double quantiles[4];
    size_t n = 0;
    rs_exact_sum sum = {0};
    for (size_t i = 0; i < d->n_series; i++)
        for (size_t k = d->series[i].first; k < d->series[i].n; k++) {
            room[n] = quantity(&d->series[i], k, what);
            rs_exact_add(&sum, room[n++]);
        }
    rs_select_quantiles(room, n, qs, 4, quantiles);
    *out = (rs_percentiles){.mean = n ? rs_exact_value(&sum) / (double)n : NAN,
                            .p50 = quantiles[0],
                            .p90 = quantiles[1],
                            .p99 = quantiles[2],
                            .max = quantiles[3]};
}

/* ---- stragglers --------------------------------------------------------------------------------------- */

static double median_of(const rs_series *s, int column, double *room)
{
    static const double half = 0.5;
    double median;
    size_t n = s->n > s->first ? s->n - s->first : 0;
    if (n) memcpy(room, s->of[column] + s->first, n * sizeof *room);
    rs_select_quantiles(room, n, &half, 1, &median);
    return median;
}

/* A rank's own work is what it computes: the time of its step includes waiting for the others. */
static void stragglers(rs_dataset *d, double *room)
{
    static const double half = 0.5;
    double middle;
    size_t n = 0;
    for (size_t i = 0; i < d->n_series; i++) {
        d->ranks[i].median_step = median_of(&d->series[i], RS_OF_TOTAL, room);
        d->ranks[i].median_compute = median_of(&d->series[i], RS_OF_COMPUTE, room);
    }
    for (size_t i = 0; i < d->n_series; i++)
        if (!d->series[i].skipped) room[n++] = d->ranks[i].median_compute;
    rs_select_quantiles(room, n, &half, 1, &middle);
    d->straggler_index = NAN;
    for (size_t i = 0; i < d->n_series; i++) {
        double index = d->series[i].skipped ? NAN : ratio(d->ranks[i].median_compute, middle);
        d->ranks[i].straggler_index = index;
        if (n < 2 || !(index > d->straggler_index || (index > 0 && isnan(d->straggler_index)))) continue;
        d->straggler_index = index;
        d->straggler_rank = index > 1 ? d->series[i].rank : -1;
    }
}

/* ---- noise -------------------------------------------------------------------------------------------- */

#define BATCHES 20
#define MIN_BATCHES 4

/* Steps near each other resemble each other, so the spread of single steps would promise too much: the run is
 * cut into batches and the spread of their values gives the standard error. */
static void noise(rs_dataset *d)
{
    for (int m = 0; m < RS_N_METRICS; m++) d->noise[m] = NAN;
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < d->n_series; i++) {
        const rs_series *s = &d->series[i];
        if (!s->skipped && s->n - s->first < shortest) shortest = s->n - s->first;
    }
    size_t n = shortest == SIZE_MAX ? 0 : shortest / 2;
    if (n > BATCHES) n = BATCHES;
    if (n < MIN_BATCHES) return;
    double values[RS_N_METRICS][BATCHES];
    for (size_t b = 0; b < n; b++) {
        rs_sums sums = {0};
        for (size_t i = 0; i < d->n_series; i++) {
            const rs_series *s = &d->series[i];
            size_t length = s->n - s->first;
            size_t from = s->first + length * b / n, to = s->first + length * (b + 1) / n;
            for (size_t k = from; k < to; k++) {
                sums.n++;
                rs_exact_add(&sums.total, s->of[RS_OF_TOTAL][k]);
                rs_exact_add(&sums.compute, s->of[RS_OF_COMPUTE][k]);
                rs_exact_add(&sums.comm, s->of[RS_OF_COMM][k]);
                rs_exact_add(&sums.overlap, s->of[RS_OF_OVERLAP][k]);
                rs_exact_add(&sums.idle, s->of[RS_OF_IDLE][k]);
            }
        }
        for (int m = 0; m < RS_N_METRICS; m++) values[m][b] = rs_metric_of(&sums, (rs_metric)m);
    }
    for (int m = 0; m < RS_N_METRICS; m++) d->noise[m] = rs_std(values[m], n) / sqrt((double)n);
}

rs_status rs_dataset_report(rs_dataset *d, rs_error *err)
{
    size_t room_size = d->used > d->n_series ? (size_t)d->used : d->n_series;
    double *room = rs_malloc(room_size * sizeof *room);
    d->ranks = rs_calloc(d->n_series, sizeof *d->ranks);
    if (!room || !d->ranks) {
        rs_free(room);
        return rs_fail_nomem(err, "percentiles");
    }
    for (int q = 0; q < RS_N_Q; q++) percentiles_of(d, q, room, &d->percentiles[q]);
    stragglers(d, room);
    rs_free(room);
    noise(d);
    return rs_dataset_dips(d, err);
}

/* ---- comparison --------------------------------------------------------------------------------------- */

#define NOISE_LIMIT 3 /* standard errors */

static double known(double value)
{
    return isfinite(value) ? value : NAN;
}

/* The root of the sum of squares, in a type that it does not overflow in. The C library's hypot is a function of
 * 2022 (glibc 2.35), which programs for older machines must do without. */
static double together(double a, double b)
{
    return (double)sqrtl((long double)a * a + (long double)b * b);
}

rs_comparison rs_metrics_compared(const rs_metrics *m, rs_metric metric)
{
    const rs_dataset *a = &m->datasets[m->reference], *b = &m->datasets[m->candidate];
    rs_comparison c = {.reference = known(rs_dataset_metric(a, metric)),
                       .candidate = known(rs_dataset_metric(b, metric))};
    int better = rs_metric_infos[metric].better;
    c.difference = c.candidate - c.reference;
    c.ratio = ratio(c.candidate, c.reference);
    c.worse_percent = better ? -better * 100 * (c.ratio - 1) : NAN;
    double sd = m->settings.between_run_sd;
    /* AORTA's sums have no stretches to be compared */
    double within = m->settings.aorta ? NAN : known(together(a->noise[metric], b->noise[metric]));
    c.noise = sd > 0 ? known(together(within, sd * together(c.reference, c.candidate))) : within;
    bool measured = !isnan(c.noise) && !isnan(c.difference);
    bool beyond = measured && fabs(c.difference) > NOISE_LIMIT * c.noise;
    c.beyond_noise = !measured || (beyond && !(sd > 0)) ? -1 : beyond;
    bool worse = better * c.difference < 0;
    c.verdict = isnan(c.difference)    ? "unknown"
                : c.difference == 0    ? "equal"
                : !measured            ? "noise unknown"
                : c.beyond_noise == -1 ? "undecided"
                : !beyond              ? "within noise"
                : better == 0          ? "differs"
                : worse                ? "worse"
                                       : "better";
    return c;
}
