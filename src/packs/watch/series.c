#include "watch/series.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sampling.h"
#include "base/search.h"
#include "base/stats.h"
#include "base/try.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
#define REFRESH 16       /* windows after which baselines and limits are measured again */
#define SPACINGS 64      /* windows of which the usual distance is taken */
#define POOL (200 << 10) /* values that a limit is measured on, about */
#define LEAST_LIMIT 2.5  /* deviations */
#define WORST_CLUSTER 0.8
#define WORST_CORRELATION 0.6 /* of a window with the next */
#define MOST_LIMIT 40.0

const rs_metric_spec rs_metric_specs[RS_WATCH_METRICS] = {
    [RS_WATCH_STEP] = {"step", "the step", false, false, true, false},
    [RS_WATCH_OWN] = {"own_work", "own work", false, false, false, true},
    [RS_WATCH_COMPUTE] = {"compute", "computation", false, false, false, false},
    [RS_WATCH_EXPOSED] = {"exposed_comm", "exposed communication", true, false, true, false},
    [RS_WATCH_IDLE] = {"idle", "idle time", true, false, true, false},
    [RS_WATCH_MFU] = {"mfu", "model FLOPs utilization", false, true, true, false},
    [RS_WATCH_MEMORY] = {"memory", "reserved memory", false, false, true, true},
    [RS_WATCH_PRESENT] = {"missing", "presence", false, false, false, true},
};

/* One series. A value above the limit is held until the window after the next says whether it is a change: then it is none of
 * the baseline, else it joins it like any other. */
typedef struct track {
    float ring[RS_SERIES_RING];
    uint32_t n, next;
    float held[RS_SERIES_IN_A_ROW];
    uint32_t n_held;
    bool open;
    uint32_t back, age; /* windows of the old level in a row, windows since it began; while open */
    float center, scale, sd, correlation, anchor;
    uint32_t measured; /* values when center and scale were measured */
    int64_t since, back_since;
} track;

enum { OWN, MEMORY, RANK_TRACKS };
static const rs_watch_metric rank_metrics[RANK_TRACKS] = {RS_WATCH_OWN, RS_WATCH_MEMORY};

typedef struct member {
    int64_t rank;
    track *tracks;               /* RANK_TRACKS of them */
    double origins[RANK_TRACKS]; /* its first value, from which its values are counted; NaN: none yet */
    uint32_t seen, absent, present;
    bool missing;
    int64_t since;
} member;

typedef struct bound {
    double value; /* deviations */
    const char *refusal;
} bound;

struct rs_window_series {
    double min_effect;
    track job[RS_WATCH_STORED];
    bound job_limits[RS_WATCH_STORED], rank_limits[RANK_TRACKS];
    member *members; /* by rank */
    size_t n_members, capacity;
    double *scratch; /* of the ranks of a window, twice */
    size_t scratch_capacity;
    int64_t starts[SPACINGS];
    size_t n_pushed, n_calibrated;
    rs_series_event *events;
    size_t n_events, events_capacity;
};

static const char short_baseline[] = "the baseline has fewer than 12 windows";
static const char correlated[] =
    "windows next to each other are too similar (correlated) for three in a row to be evidence";

static void clear_track(track *t)
{
    *t = (track){.anchor = INFINITY, .center = NAN, .scale = NAN};
}

rs_window_series *rs_series_create(double min_effect)
{
    rs_window_series *s = rs_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->min_effect = min_effect;
    for (int m = 0; m < RS_WATCH_STORED; m++) {
        clear_track(&s->job[m]);
        s->job_limits[m].refusal = short_baseline;
    }
    for (int m = 0; m < RANK_TRACKS; m++) s->rank_limits[m].refusal = short_baseline;
    return s;
}

void rs_series_free(rs_window_series *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n_members; i++) rs_free(s->members[i].tracks);
    rs_free_all(s->members, s->scratch, s->events, s);
}

/* ---- ranks -------------------------------------------------------------------------------------------------- */

static size_t place_of(const rs_window_series *s, int64_t rank)
{
    size_t at;
    RS_SEARCH(at, s->n_members, s->members[at].rank < rank);
    return at;
}

static member *member_of(rs_window_series *s, int64_t rank)
{
    size_t at = place_of(s, rank);
    if (at < s->n_members && s->members[at].rank == rank) return &s->members[at];
    if (!RS_GROW_ONE(s->members, s->n_members, s->capacity)) return NULL;
    track *tracks = rs_malloc(RANK_TRACKS * sizeof *tracks);
    if (!tracks) return NULL;
    for (int m = 0; m < RANK_TRACKS; m++) clear_track(&tracks[m]);
    memmove(s->members + at + 1, s->members + at, (s->n_members++ - at) * sizeof *s->members);
    s->members[at] = (member){.rank = rank, .tracks = tracks, .origins = {NAN, NAN}};
    return &s->members[at];
}

/* ---- baselines ---------------------------------------------------------------------------------------------- */

/* The values of a baseline, oldest first. */
static size_t unroll(const track *t, double *out)
{
    uint32_t first = t->n < RS_SERIES_RING ? 0 : t->next;
    for (uint32_t i = 0; i < t->n; i++) out[i] = (double)t->ring[(first + i) % RS_SERIES_RING];
    return t->n;
}

static double median_of(double *values, size_t n)
{
    static const double half = 0.5;
    rs_place_quantiles(values, n, &half, 1);
    return rs_quantile(values, n, 0.5);
}

/* Level and spread of the baseline: its median and median deviation. */
static void measure(track *t, bool is_anchored)
{
    double values[RS_SERIES_RING];
    size_t n = unroll(t, values);
    if (n < 2) return;
    t->sd = (float)rs_std(values, n);
    t->correlation = (float)rs_autocorrelation(values, n);
    double center = median_of(values, n);
    for (size_t i = 0; i < n; i++) values[i] = fabs(values[i] - center);
    t->scale = (float)(1.4826 * median_of(values, n));
    t->center = (float)center;
    if (t->center < t->anchor) t->anchor = t->center;
    if (is_anchored) t->center = t->anchor;
    t->measured = t->n;
}

static void keep(track *t, float x)
{
    t->ring[t->next] = x;
    t->next = (t->next + 1) % RS_SERIES_RING;
    if (t->n < RS_SERIES_RING) t->n++;
}

/* A deviation measured on n values is itself uncertain: what is judged by it is judged by a larger one. */
static double widened(double scale, uint32_t n)
{
    return n ? scale * (1 + 6 / (double)n) : scale;
}

/* ---- limits ------------------------------------------------------------------------------------------------- */

typedef struct pool {
    double *values, *pairs; /* standardised, and the smaller of two that follow each other */
    size_t n, n_pairs;
} pool;

static size_t standardise(const track *t, double scale, double sign, double *values)
{
    size_t n = unroll(t, values);
    for (size_t i = 0; i < n; i++) values[i] = sign * (values[i] - (double)t->center) / scale;
    return n;
}

static void pour(pool *p, const track *t, double scale, double sign)
{
    double values[RS_SERIES_RING];
    size_t n = standardise(t, scale, sign, values);
    for (size_t i = 0; i < n; i++) {
        p->values[p->n++] = values[i];
        if (i) p->pairs[p->n_pairs++] = fmin(values[i], values[i - 1]);
    }
}

/* The longest run of values above two deviations. */
static size_t longest_run(const track *t, double scale, double sign)
{
    double values[RS_SERIES_RING];
    size_t n = standardise(t, scale, sign, values), run = 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        run = values[i] > 2 ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

static size_t count_above(const double *sorted, size_t n, double h)
{
    size_t at;
    RS_SEARCH(at, n, sorted[at] <= h);
    return n - at;
}

/* How often one of the k largest values follows another one of them. */
static double cluster_of(const pool *p, size_t k, size_t *pairs)
{
    *pairs = count_above(p->pairs, p->n_pairs, p->values[p->n - k - 1]);
    return fmin(((double)*pairs + 1) / ((double)k + 1), 1);
}

/* Hill's estimate of the tail's index from the k largest values, held where it is of use. */
static double tail_index(const pool *p, size_t k)
{
    double base = p->values[p->n - k - 1], sum = 0;
    if (base <= 0) return 3;
    for (size_t i = p->n - k; i < p->n; i++) sum += log(p->values[i] / base);
    return fmin(fmax(sum > 0 ? (double)k / sum : 10, 3), 10);
}

/* The least limit at which three in a row have at most that chance a window. The limit rises from where a fifth of the values
 * is above it; values cluster less, not more, the higher it is, so that the least cluster that was measured on five pairs or
 * more holds for all limits above. */
static bound limit_of(pool *p, double chance)
{
    double cluster = 1, at = 1;
    size_t first = p->n / RS_SERIES_LEAST < 8 ? p->n / RS_SERIES_LEAST : 8, k = p->n / 5, pairs;
    if (!first) return (bound){.refusal = short_baseline};
    rs_sort_doubles(p->values, p->n);
    rs_sort_doubles(p->pairs, p->n_pairs);
    for (;; k -= k / 5 + 1) {
        double here = cluster_of(p, k, &pairs);
        if ((pairs >= 5 || at == 1) && here < cluster) cluster = here;
        at = (double)k / (double)p->n * cluster * cluster;
        if (at <= chance || k <= first + k / 5 + 1) break;
    }
    if (cluster > WORST_CLUSTER) return (bound){.refusal = correlated};
    double best = p->values[p->n - k - 1];
    size_t tail = p->n / 10 > k ? p->n / 10 : k; /* values that show how the tail falls: three at least */
    if (tail < 3) tail = 3;
    if (at > chance) /* beyond what was seen */
        best *= pow(at / chance, 1 / (tail_index(p, tail) * (3 - 2 * cluster)));
    return best > MOST_LIMIT ? (bound){.refusal = correlated} : (bound){.value = fmax(best, LEAST_LIMIT)};
}

/* Windows in 30 days, by the usual distance of the last ones. */
static double windows_a_month(const rs_window_series *s)
{
    double gaps[SPACINGS];
    size_t n = s->n_pushed < SPACINGS ? s->n_pushed : SPACINGS, n_gaps = 0;
    for (size_t i = 1; i < n; i++) {
        size_t at = s->n_pushed - i;
        double gap = (double)(s->starts[at % SPACINGS] - s->starts[(at - 1) % SPACINGS]);
        if (gap > 0) gaps[n_gaps++] = gap; /* a clock that was set back gives none */
    }
    double gap = n_gaps ? median_of(gaps, n_gaps) : 60e9;
    return fmin(fmax(30 * (double)DAY_NS / gap, 30), 30 * 86400);
}

/* The smallest scale that is believed: noise far below the least effect does not matter. */
static double floor_of(const rs_window_series *s)
{
    return s->min_effect / 8;
}

static double sign_of(rs_watch_metric metric)
{
    return rs_metric_specs[metric].falls ? -1 : 1;
}

static bool is_pooled(const track *t)
{
    return !t->open && t->measured >= RS_SERIES_LEAST;
}

static void measure_tracks(rs_window_series *s)
{
    for (int m = 0; m < RS_WATCH_STORED; m++)
        if (!s->job[m].open) measure(&s->job[m], m == RS_WATCH_MEMORY);
    for (size_t i = 0; i < s->n_members; i++)
        for (int m = 0; m < RANK_TRACKS; m++)
            if (!s->members[i].tracks[m].open) measure(&s->members[i].tracks[m], m == MEMORY);
}

static void calibrate_job(rs_window_series *s, double month)
{
    double values[RS_SERIES_RING], pairs[RS_SERIES_RING];
    for (int m = 0; m < RS_WATCH_STORED; m++) {
        const track *t = &s->job[m];
        if (!rs_metric_specs[m].of_job || t->open) continue;
        pool p = {values, pairs, 0, 0};
        if (is_pooled(t)) pour(&p, t, fmax((double)t->scale, floor_of(s)), sign_of((rs_watch_metric)m));
        s->job_limits[m] = !p.n                                         ? (bound){.refusal = short_baseline}
                           : (double)t->correlation > WORST_CORRELATION ? (bound){.refusal = correlated}
                                                                        : limit_of(&p, 0.1 / month);
    }
}

static double typical_correlation(const rs_window_series *s, int m, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_members; i++) {
        const track *t = &s->members[i].tracks[m];
        if (is_pooled(t) && !isnan(t->correlation)) scratch[n++] = (double)t->correlation;
    }
    return n ? median_of(scratch, n) : 0;
}

/* No rank's noise is taken for less than that of the typical rank: the median of their scales. */
static double typical_scale(rs_window_series *s, int m, double *scales)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_members; i++)
        if (is_pooled(&s->members[i].tracks[m])) scales[n++] = (double)s->members[i].tracks[m].scale;
    return n ? median_of(scales, n) : 0;
}

static void raise_scales(rs_window_series *s, int m, double least)
{
    for (size_t i = 0; i < s->n_members; i++) {
        track *t = &s->members[i].tracks[m];
        if (!t->open) t->scale = (float)fmax(fmax((double)t->scale, least), floor_of(s));
    }
}

/* A rank whose baseline has a run far longer than the typical rank's had a change that was not found: it must not raise the limit
 * for all, or one miss would lead to the next. */
static double most_run(const rs_window_series *s, int m, size_t stride, double *scratch)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_members; i += stride) {
        const track *t = &s->members[i].tracks[m];
        if (is_pooled(t)) scratch[n++] = (double)longest_run(t, (double)t->scale, sign_of(rank_metrics[m]));
    }
    return n < 8 ? INFINITY : 2 * median_of(scratch, n) + 3;
}

static bool calibrate_ranks(rs_window_series *s, double month)
{
    size_t stride = s->n_members * RS_SERIES_RING / POOL + 1, room = 0;
    for (size_t i = 0; i < s->n_members; i += stride) room += RS_SERIES_RING;
    RS_LOCAL double *values = rs_malloc((room + s->n_members + 1) * sizeof *values);
    RS_LOCAL double *pairs = rs_malloc((room + 1) * sizeof *pairs);
    if (!values || !pairs) return false;
    for (int m = 0; m < RANK_TRACKS; m++) {
        raise_scales(s, m, 0.8 * typical_scale(s, m, values));
        double correlation = typical_correlation(s, m, values);
        pool p = {values, pairs, 0, 0};
        double most = most_run(s, m, stride, values);
        for (size_t i = 0; i < s->n_members; i += stride) {
            const track *t = &s->members[i].tracks[m];
            double sign = sign_of(rank_metrics[m]);
            if (is_pooled(t) && (double)longest_run(t, (double)t->scale, sign) <= most)
                pour(&p, t, (double)t->scale, sign);
        }
        if (p.n && correlation > WORST_CORRELATION)
            s->rank_limits[m] = (bound){.refusal = correlated};
        else
            s->rank_limits[m] = p.n ? limit_of(&p, 0.25 / (month * (double)s->n_members))
                                    : (bound){.refusal = short_baseline};
    }
    return true;
}

/* Young baselines are measured more often. */
static bool is_due(const rs_window_series *s)
{
    size_t since = s->n_pushed - s->n_calibrated;
    return since >= REFRESH || (s->n_pushed <= 4 * REFRESH && since >= 2);
}

static bool calibrate(rs_window_series *s)
{
    double month = windows_a_month(s);
    s->n_calibrated = s->n_pushed;
    measure_tracks(s);
    calibrate_job(s, month);
    return calibrate_ranks(s, month);
}

/* ---- judging ------------------------------------------------------------------------------------------------ */

typedef struct pushed {
    rs_window_series *series;
    const rs_window_values *window;
    rs_watch_metric metric;
    int64_t rank;
    double level; /* of the values that the series is an excess over: 0 of the job's */
} pushed;

static rs_status put_event(rs_window_series *s, rs_series_event event, rs_error *err)
{
    return RS_PUSH(s->events, s->n_events, s->events_capacity, event) ? RS_OK
                                                                      : rs_fail_nomem(err, "the changes");
}

/* The size of a change and its interval: the mean of the windows above the limit against the baseline, whose values are worth
 * fewer where they are correlated. */
static rs_series_event describe(const pushed *p, const track *t, double now)
{
    const rs_metric_spec *spec = &rs_metric_specs[p->metric];
    double rho = t->correlation > 0 ? fmin((double)t->correlation, 0.9) : 0, n = fmax(t->n, 2);
    double error = fmax((double)t->sd, (double)t->scale) * sqrt((1 + rho) / (1 - rho)) *
                   sqrt(1 / (double)RS_SERIES_IN_A_ROW + 1 / n) * rs_student_quantile(0.975, n - 1);
    double change = now - (double)t->center;
    rs_series_event e = {.metric = p->metric, .rank = p->rank, .since = t->since};
    e.change = spec->is_share ? change : expm1(change);
    e.low = spec->is_share ? change - error : expm1(change - error);
    e.high = spec->is_share ? change + error : expm1(change + error);
    e.usual = spec->is_share ? (double)t->center : exp((double)t->center + p->level);
    e.now = spec->is_share ? now : exp(now + p->level);
    return e;
}

static rs_status begin(const pushed *p, track *t, rs_error *err)
{
    double sum = 0;
    for (uint32_t i = 0; i < t->n_held; i++) sum += (double)t->held[i];
    rs_series_event e = describe(p, t, sum / t->n_held);
    t->open = true;
    t->n_held = t->back = 0;
    t->age = RS_SERIES_IN_A_ROW;
    e.what = RS_SERIES_BEGUN;
    return put_event(p->series, e, err);
}

static rs_status finish(const pushed *p, track *t, double x, rs_series_what what, rs_error *err)
{
    rs_series_event e = describe(p, t, x);
    e.what = what;
    e.since = what == RS_SERIES_OVER ? t->back_since : t->since;
    t->open = false;
    t->n_held = t->back = t->age = 0;
    if (what == RS_SERIES_SETTLED) clear_track(t);
    return put_event(p->series, e, err);
}

static rs_status push_open(const pushed *p, track *t, double x, double limit, rs_error *err)
{
    double off = fmax(0.6 * limit * widened((double)t->scale, t->n), p->series->min_effect / 2);
    bool is_back = sign_of(p->metric) * (x - (double)t->center) < off;
    if (is_back && !t->back) t->back_since = p->window->id;
    t->back = is_back ? t->back + 1 : 0;
    if (t->back == RS_SERIES_IN_A_ROW) return finish(p, t, x, RS_SERIES_OVER, err);
    return ++t->age >= RS_SERIES_RING ? finish(p, t, x, RS_SERIES_SETTLED, err) : RS_OK;
}

static bool is_above(const pushed *p, const track *t, double x, const bound *l)
{
    double excess = sign_of(p->metric) * (x - (double)t->center);
    return !l->refusal && t->measured >= RS_SERIES_LEAST &&
           excess > l->value * fmax(widened((double)t->scale, t->n), floor_of(p->series)) &&
           excess > p->series->min_effect;
}

static rs_status push_value(const pushed *p, track *t, double x, const bound *l, rs_error *err)
{
    if (isnan(x) || isinf(x)) return RS_OK;
    if (t->open) return push_open(p, t, x, l->refusal ? LEAST_LIMIT : l->value, err);
    bool above = is_above(p, t, x, l);
    if (above && !t->n_held) t->since = p->window->id;
    if (above) t->held[t->n_held++] = (float)x;
    if (t->n_held == RS_SERIES_IN_A_ROW) return begin(p, t, err);
    if (above) return RS_OK;
    for (uint32_t i = 0; i < t->n_held; i++) keep(t, t->held[i]);
    t->n_held = 0;
    keep(t, (float)x);
    return RS_OK;
}

/* A metric's value as it is judged. */
static double judged_value(const rs_window_values *w, int metric, size_t i)
{
    const float *values = w->values[metric], *steps = w->values[RS_WATCH_STEP];
    double x = values ? (double)values[i] : (double)NAN;
    if (rs_metric_specs[metric].is_share) return steps && steps[i] > 0 ? x / (double)steps[i] : (double)NAN;
    return x > 0 ? log(x) : (double)NAN;
}

/* The known values of a metric, in order; how many. */
static size_t gather(const rs_window_values *w, int metric, double *sorted)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        double x = judged_value(w, metric, i);
        if (!isnan(x)) sorted[n++] = x;
    }
    rs_sort_doubles(sorted, n);
    return n;
}

/* The median of the others: the sorted values without one of them. */
static double median_without(const double *sorted, size_t n, double x)
{
    size_t at;
    RS_SEARCH(at, n, sorted[at] < x);
    size_t m = n - 1, low = (m - 1) / 2, high = m / 2;
    return (sorted[low + (low >= at)] + sorted[high + (high >= at)]) / 2;
}

static rs_status push_job(rs_window_series *s, const rs_window_values *w, int metric, const double *sorted,
                          size_t n, rs_error *err)
{
    pushed p = {s, w, (rs_watch_metric)metric, RS_JOB, 0};
    if (!n || !rs_metric_specs[metric].of_job) return RS_OK;
    return push_value(&p, &s->job[metric], rs_quantile(sorted, n, 0.5), &s->job_limits[metric], err);
}

/* What each rank's value is above its first one, and the same in order. Stages of a pipeline differ by much, always; so the others'
 * median is that of these distances. How many are known. */
static size_t gather_distances(rs_window_series *s, const rs_window_values *w, int m, double *sorted,
                               double *distances)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        double x = judged_value(w, rank_metrics[m], i);
        member *of = &s->members[place_of(s, w->ranks[i])];
        if (isnan(of->origins[m])) of->origins[m] = x;
        distances[i] = x - of->origins[m];
        if (!isnan(distances[i])) sorted[n++] = distances[i];
    }
    rs_sort_doubles(sorted, n);
    return n;
}

/* With fewer than three ranks there is no telling which one differs: a rank's own level is judged. */
static rs_status push_ranks(rs_window_series *s, const rs_window_values *w, int m, rs_error *err)
{
    double *sorted = s->scratch, *distances = s->scratch + w->n;
    size_t n = gather_distances(s, w, m, sorted, distances);
    for (size_t i = 0; i < w->n; i++) {
        if (isnan(distances[i])) continue;
        member *of = &s->members[place_of(s, w->ranks[i])];
        double level = of->origins[m] + (n < 3 ? 0 : median_without(sorted, n, distances[i]));
        pushed p = {s, w, rank_metrics[m], w->ranks[i], level};
        RS_TRY(
            push_value(&p, &of->tracks[m], of->origins[m] + distances[i] - level, &s->rank_limits[m], err));
    }
    return RS_OK;
}

/* ---- presence ----------------------------------------------------------------------------------------------- */

static rs_status push_presence(rs_window_series *s, member *m, bool is_there, int64_t id, rs_error *err)
{
    rs_series_event e = {.metric = RS_WATCH_PRESENT,
                         .rank = m->rank,
                         .usual = (double)NAN,
                         .now = (double)NAN,
                         .change = (double)NAN,
                         .low = (double)NAN,
                         .high = (double)NAN};
    uint32_t *run = is_there ? &m->present : &m->absent;
    m->seen += is_there;
    if (m->missing != is_there) { /* as it was known: missing and not there, or there */
        m->present = m->absent = 0;
        return RS_OK;
    }
    if (!(*run)++) m->since = id;
    if (*run < RS_SERIES_IN_A_ROW || m->seen < RS_SERIES_IN_A_ROW) return RS_OK;
    m->missing = !is_there;
    m->present = m->absent = 0;
    e.since = m->since;
    e.what = is_there ? RS_SERIES_OVER : RS_SERIES_BEGUN;
    return put_event(s, e, err);
}

static rs_status push_members(rs_window_series *s, const rs_window_values *w, rs_error *err)
{
    for (size_t i = 0; i < w->n; i++)
        if (!member_of(s, w->ranks[i])) return rs_fail_nomem(err, "a rank");
    for (size_t i = 0, k = 0; i < s->n_members; i++) {
        while (k < w->n && w->ranks[k] < s->members[i].rank) k++;
        bool is_there = k < w->n && w->ranks[k] == s->members[i].rank;
        RS_TRY(push_presence(s, &s->members[i], is_there, w->id, err));
    }
    return RS_OK;
}

/* ---- windows ------------------------------------------------------------------------------------------------ */

rs_status rs_series_push(rs_window_series *s, const rs_window_values *w, const rs_series_event **events,
                         size_t *n_events, rs_error *err)
{
    s->n_events = 0;
    *n_events = 0;
    if (!rs_grow((void **)&s->scratch, &s->scratch_capacity, 2 * w->n + 1, sizeof *s->scratch))
        return rs_fail_nomem(err, "a window");
    RS_TRY(push_members(s, w, err));
    for (int metric = 0; metric < RS_WATCH_STORED; metric++) {
        size_t n = gather(w, metric, s->scratch);
        RS_TRY(push_job(s, w, metric, s->scratch, n, err));
    }
    for (int m = 0; m < RANK_TRACKS; m++) RS_TRY(push_ranks(s, w, m, err));
    s->starts[s->n_pushed++ % SPACINGS] = w->start_ns;
    if (is_due(s) && !calibrate(s)) return rs_fail_nomem(err, "the limits");
    *events = s->events;
    *n_events = s->n_events;
    return RS_OK;
}

rs_status rs_series_set_open(rs_window_series *s, rs_watch_metric metric, int64_t rank, bool is_open,
                             int64_t since, rs_error *err)
{
    member *m = rank == RS_JOB ? NULL : member_of(s, rank);
    if (rank != RS_JOB && !m) return rs_fail_nomem(err, "a rank");
    if (metric == RS_WATCH_PRESENT) {
        if (m) m->missing = is_open, m->seen = RS_SERIES_IN_A_ROW, m->since = since;
        return RS_OK;
    }
    track *t = !m ? &s->job[metric] : NULL;
    for (int i = 0; m && i < RANK_TRACKS; i++)
        if (rank_metrics[i] == metric) t = &m->tracks[i];
    if (!t || t->open == is_open) return RS_OK;
    t->open = is_open;
    t->n_held = t->back = t->age = 0;
    t->since = since;
    return RS_OK;
}

const char *rs_series_refusal(const rs_window_series *s, rs_watch_metric metric, bool of_rank, double *limit)
{
    const bound *l = &s->job_limits[metric];
    for (int m = 0; of_rank && m < RANK_TRACKS; m++)
        if (rank_metrics[m] == metric) l = &s->rank_limits[m];
    *limit = l->refusal ? (double)NAN : l->value;
    return l->refusal;
}
