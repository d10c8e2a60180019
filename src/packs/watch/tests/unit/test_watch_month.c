/* A month of 512 ranks at speed: the rule of changes, on noise that a Gaussian would flatter: Student's t with 5 degrees of freedom,
 * correlated from window to window (AR 1), and a part that all ranks share. */
#include <math.h>

#include "support.h"
#include "watch/series.h"

#define RANKS (RS_TEST_SLOW ? 128 : 512)
#define WINDOWS 4320 /* every 10 minutes for 30 days */
#define MINUTES INT64_C(600)
#define SIGMA 0.01 /* of a rank's own work, relative */

static double uniform(rng *r)
{
    return ((double)(rng_next(r) >> 11) + 0.5) * 0x1p-53;
}

static double normal(rng *r)
{
    return sqrt(-2 * log(uniform(r))) * cos(6.283185307179586 * uniform(r));
}

/* Of variance 1. df 0: Gaussian. */
static double noise(rng *r, int df)
{
    double square = 0, z = normal(r);
    for (int i = 0; i < df; i++) {
        double x = normal(r);
        square += x * x;
    }
    return df ? z / sqrt(square / df) * sqrt((df - 2.0) / df) : z;
}

typedef struct planted {
    int64_t rank;        /* RS_JOB: the step of all */
    int64_t from, to;    /* windows */
    double shift;        /* relative */
    int64_t found, over; /* windows in which it was said */
} planted;

typedef struct month {
    size_t ranks;
    int64_t windows;
    int df;
    double rho, sigma;
    planted *plants;
    size_t n_plants;
    int64_t false_alarms;
    int64_t jump_at; /* window in which the clock is set back a day; 0: never */
} month;

static double shift_of(const month *m, int64_t rank, int64_t window)
{
    double shift = 0;
    for (size_t i = 0; i < m->n_plants; i++)
        if (m->plants[i].rank == rank && window >= m->plants[i].from && window < m->plants[i].to)
            shift += m->plants[i].shift;
    return shift;
}

/* An event belongs to the plant whose rank it names, while that lasts. */
static void count(month *m, const rs_series_event *e, int64_t window)
{
    for (size_t i = 0; i < m->n_plants; i++) {
        planted *p = &m->plants[i];
        bool is_it = p->rank == e->rank && window >= p->from && window < p->to + 6;
        if (is_it && e->what == RS_SERIES_BEGUN && !p->found) {
            p->found = window;
            assert_true(e->low <= p->shift + 3 * m->sigma && e->high >= p->shift - 3 * m->sigma);
            return;
        }
        if (is_it && e->what == RS_SERIES_OVER && p->found && !p->over) {
            p->over = window;
            return;
        }
    }
    if (e->what == RS_SERIES_BEGUN) {
        m->false_alarms++;
        if (getenv("RS_TEST_SHOW"))
            printf("false alarm: %s of %lld in %lld: %f\n", rs_metric_specs[e->metric].name,
                   (long long)e->rank, (long long)window, e->change);
    }
}

static void run(month *m, uint64_t seed)
{
    rng r = {seed};
    rs_error err = RS_ERROR_INIT;
    rs_window_series *s = rs_series_create(0.02);
    double *state = calloc(m->ranks, sizeof *state), job = 0;
    int64_t *ranks = calloc(m->ranks, sizeof *ranks);
    float *own = calloc(m->ranks, sizeof *own), *step = calloc(m->ranks, sizeof *step),
          *idle = calloc(m->ranks, sizeof *idle);
    double fresh = sqrt(1 - m->rho * m->rho);
    for (size_t i = 0; i < m->ranks; i++) ranks[i] = (int64_t)i;
    for (int64_t w = 1; w <= m->windows; w++) {
        job = m->rho * job + fresh * noise(&r, m->df);
        double of_job = m->sigma * job + log1p(shift_of(m, RS_JOB, w));
        for (size_t i = 0; i < m->ranks; i++) {
            state[i] = m->rho * state[i] + fresh * noise(&r, m->df);
            own[i] = (float)(8000 * exp(0.5 * m->sigma * job + m->sigma * state[i] +
                                        log1p(shift_of(m, (int64_t)i, w)) + 0.3 * (double)(i % 4)));
            step[i] = (float)(30000 * exp(of_job));
            idle[i] = (float)(step[i] * (0.1 + 0.2 * m->sigma * state[i]));
        }
        rs_window_values v = {.id = w, .start_ns = w * MINUTES * 1000000000, .ranks = ranks, .n = m->ranks};
        if (m->jump_at && w >= m->jump_at) v.start_ns -= INT64_C(86400) * 1000000000;
        v.values[RS_WATCH_OWN] = own;
        v.values[RS_WATCH_STEP] = step;
        v.values[RS_WATCH_IDLE] = idle;
        const rs_series_event *events;
        size_t n;
        assert_int_equal(rs_series_push(s, &v, &events, &n, &err), RS_OK);
        for (size_t i = 0; i < n; i++) count(m, &events[i], w);
    }
    if (getenv("RS_TEST_SHOW")) {
        double limit;
        rs_series_refusal(s, RS_WATCH_OWN, true, &limit);
        printf("t%d rho %.1f: limit of ranks %.2f", m->df, m->rho, limit);
        rs_series_refusal(s, RS_WATCH_STEP, false, &limit);
        printf(", of the step %.2f; false alarms %lld\n", limit, (long long)m->false_alarms);
    }
    free(state);
    free(ranks);
    free(own);
    free(step);
    free(idle);
    rs_series_free(s);
}

/* Changes of that size are found in three windows and are over within six; nothing else is said but once at most. */
static void month_of(int df, double rho, double shift, uint64_t seed)
{
    enum { N = 60 };
    planted plants[N];
    for (size_t i = 0; i < N; i++)
        plants[i] = (planted){.rank = (int64_t)i * (RANKS / 64) + 3,
                              .from = 400 + (int64_t)i * 60,
                              .to = 430 + (int64_t)i * 60,
                              .shift = shift};
    plants[N - 1] = (planted){.rank = RS_JOB, .from = 2000, .to = 2100, .shift = 0.12};
    month m = {.ranks = RANKS,
               .windows = WINDOWS,
               .df = df,
               .rho = rho,
               .sigma = SIGMA,
               .plants = plants,
               .n_plants = N};
    size_t late = 0, missed = 0, open = 0;
    run(&m, seed);
    for (size_t i = 0; i < N; i++) {
        missed += !plants[i].found;
        late += plants[i].found && plants[i].found >= plants[i].from + RS_SERIES_IN_A_ROW;
        open += !plants[i].over;
    }
    if (getenv("RS_TEST_SHOW")) printf("missed %zu late %zu not over %zu\n", missed, late, open);
    assert_int_equal(missed, 0);
    assert_true(late <= N / 100); /* 99 % within three windows */
    assert_int_equal(open, 0);
    assert_true(m.false_alarms <= 1);
}

TEST(test_heavy_tails)
{
    month_of(5, 0.3, 0.12, 1);
}

TEST(test_gaussian)
{
    if (!RS_TEST_SLOW) month_of(0, 0.3, 0.07, 2);
}

/* A healthy job of few ranks and short baselines: the limits are extrapolated there. */
TEST(test_young_jobs)
{
    int64_t alarms = 0;
    for (uint64_t seed = 1; seed <= ROUNDS(60); seed++) {
        month m = {.ranks = 8, .windows = 100, .df = 5, .rho = 0.2, .sigma = SIGMA};
        run(&m, seed);
        alarms += m.false_alarms;
    }
    assert_true(alarms <= 1);
}

/* Noise that hardly changes from window to window is no evidence: it is refused, or survives. */
TEST(test_correlated)
{
    int64_t alarms = 0;
    for (uint64_t seed = 1; seed <= ROUNDS(8); seed++) {
        month m = {.ranks = 32, .windows = 600, .df = 5, .rho = 0.9, .sigma = SIGMA};
        run(&m, seed);
        alarms += m.false_alarms;
    }
    assert_true(alarms <= 1);
}

TEST(test_clock_jumps)
{
    planted p = {.rank = 5, .from = 210, .to = 240, .shift = 0.2};
    month m = {.ranks = 16,
               .windows = 300,
               .df = 5,
               .rho = 0.2,
               .sigma = SIGMA,
               .plants = &p,
               .n_plants = 1,
               .jump_at = 205};
    run(&m, 7);
    assert_int_equal(p.found, 212);
    assert_true(p.over > 0);
    assert_int_equal(m.false_alarms, 0);
}

/* A rank that leaves no recording is said after three windows, and again when it is back. */
TEST(test_vanished)
{
    rs_error err = RS_ERROR_INIT;
    rs_window_series *s = rs_series_create(0.03);
    static const int64_t all[] = {0, 1, 2, 3}, some[] = {0, 1, 3};
    int64_t begun = 0, over = 0;
    for (int64_t w = 1; w <= 40; w++) {
        bool gone = w >= 20 && w < 30;
        float values[4] = {1000, 1001, 1002, 1003};
        rs_window_values v = {
            .id = w, .start_ns = w * 1000000000, .ranks = gone ? some : all, .n = gone ? 3 : 4};
        v.values[RS_WATCH_OWN] = values;
        const rs_series_event *events;
        size_t n;
        assert_int_equal(rs_series_push(s, &v, &events, &n, &err), RS_OK);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(events[i].metric, RS_WATCH_PRESENT);
            assert_int_equal(events[i].rank, 2);
            *(events[i].what == RS_SERIES_BEGUN ? &begun : &over) = w;
            assert_int_equal(events[i].since, events[i].what == RS_SERIES_BEGUN ? 20 : 30);
        }
    }
    assert_int_equal(begun, 22);
    assert_int_equal(over, 32);
    rs_series_free(s);
}
