/* regress: Student's t against tables, Welch, Holm, MSER, false alarms on equal code, power, exact parts, stored
 * summaries that are cut or changed. */
#include "support.h"

#include <math.h>

#include "base/changes.h"
#include "base/sampling.h"
#include "builder.h"
#include "regress/rank.h"
#include "regress/run.h"

static void near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within)) fail_msg("%.15g instead of %.15g", value, wanted);
}

/* Values of printed tables (Abramowitz and Stegun 26.10, NIST handbook 1.3.6.7.2). */
static void test_student(void **state)
{
    (void)state;
    near(rs_student_quantile(0.975, 1), 12.706204736, 1e-8);
    near(rs_student_quantile(0.975, 10), 2.228138852, 1e-9);
    near(rs_student_quantile(0.95, 4), 2.131846786, 1e-9);
    near(rs_student_quantile(0.995, 120), 2.617421145, 1e-8);
    near(rs_student_quantile(0.975, (double)INFINITY), 1.959963985, 1e-9);
    near(rs_student_cdf(0, 3), 0.5, 1e-15);
    near(rs_student_cdf(1, 1), 0.75, 1e-14);
    near(rs_student_cdf(-1, 1), 0.25, 1e-14);
    assert_true(isnan(rs_student_quantile(1, 5)));
    static const double dfs[] = {0.7, 1.2, 2, 3.4, 5.8, 17, 83, 240};
    for (size_t i = 0; i < sizeof dfs / sizeof *dfs; i++)
        for (int k = 1; k < 100; k += 7)
            near(rs_student_cdf(rs_student_quantile(k / 100.0, dfs[i]), dfs[i]), k / 100.0, 1e-12);
}

static void test_welch(void **state)
{
    (void)state;
    /* means 2 and 5, variances 1 and 4, 3 and 4 values: t = 3 / sqrt(1/3 + 4/4), by hand */
    const double a[] = {1, 2, 3}, b[] = {3, 4, 5, 8};
    rs_welch w = rs_welch_compare(a, 3, b, 4, 0.05, -1);
    double va = 1.0 / 3, vb = (4 + 1 + 0 + 9) / 3.0 / 4;
    near(w.difference, 3, 1e-12);
    near(w.error, sqrt(va + vb), 1e-12);
    near(w.df, (va + vb) * (va + vb) / (va * va / 2 + vb * vb / 3), 1e-12);
    near(w.high - w.difference, rs_student_quantile(0.975, w.df) * w.error, 1e-12);
    near(w.p, 2 * rs_student_cdf(-3 / w.error, w.df), 1e-14);
    assert_true(isnan(rs_welch_compare(a, 1, b, 4, 0.05, -1).low));
    w = rs_welch_compare(a, 1, b, 1, 0.05, 0.5);
    near(w.error, 0.5 * sqrt(2), 1e-14);
    assert_true(isinf(w.df) && w.p < 0.01);
    const double same[] = {7, 7};
    assert_true(rs_welch_compare(same, 2, same, 2, 0.05, -1).p == 1);
}

static void test_holm(void **state)
{
    (void)state;
    double p[] = {0.04, (double)NAN, 0.01, 0.03, 0.5};
    assert_true(rs_holm(p, 5));
    near(p[2], 0.04, 1e-15);
    near(p[3], 0.09, 1e-15);
    near(p[0], 0.09, 1e-15); /* never below a smaller one's */
    near(p[4], 0.5, 1e-15);
    assert_true(isnan(p[1]));
}

static void test_series(void **state)
{
    (void)state;
    const double falling[] = {90, 50, 20, 10, 11, 10, 11, 10, 11, 10, 11, 10};
    const double flat[] = {10, 11, 10, 11, 10, 11};
    const double slope[] = {8, 7, 6, 5, 4, 3, 2, 1};
    bool settled;
    assert_int_equal(rs_mser(falling, 12, &settled), 3);
    assert_true(settled);
    assert_int_equal(rs_mser(flat, 6, &settled), 0);
    rs_mser(slope, 8, &settled);
    assert_false(settled);
    near(rs_autocorrelation(flat, 6), -5.0 / 6, 1e-12);
    assert_true(isnan(rs_autocorrelation(flat, 2)));
}

/* ---- equal code ---------------------------------------------------------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979323846 * uniform());
}

#define N_STEPS 40

/* Runs of 100 ms steps: the run's own speed, then steps that resemble the one before. */
static rs_regress_side *simulate(size_t runs, double factor, double run_sd, double rho)
{
    rs_regress_side *side;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_regress_side_create(NULL, &side, &err), RS_OK);
    for (size_t r = 0; r < runs; r++) {
        rs_one_run *run = rs_side_add(side, "run");
        double speed = factor * (1 + run_sd * normal()), noise = normal();
        run->n_ranks = run->per_step = 1;
        run->steps = calloc(N_STEPS, sizeof *run->steps);
        run->n_steps = run->steps_capacity = N_STEPS;
        for (int i = 0; i < N_STEPS; i++) {
            noise = rho * noise + sqrt(1 - rho * rho) * normal();
            run->steps[i] = (rs_run_step){.number = i, .sum = llround(1e8 * speed * (1 + 0.01 * noise))};
        }
        assert_int_equal(rs_run_settle(run, &err), RS_OK);
    }
    return side;
}

static rs_regress_verdict verdict_on(size_t runs, double factor, double run_sd, double rho, double least)
{
    rs_regress_side *a = simulate(runs, 1, run_sd, rho), *b = simulate(runs, factor, run_sd, rho);
    rs_regress_settings settings = {.size = sizeof settings, .min_effect = least, .between_run_sd = -1};
    rs_result result = {0};
    rs_error err = RS_ERROR_INIT;
    rs_regress_verdict verdict;
    assert_int_equal(rs_regress(a, b, &settings, &result, &verdict, &err), RS_OK);
    rs_result_clear(&result);
    rs_regress_side_free(a);
    rs_regress_side_free(b);
    return verdict;
}

static size_t column_of(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

/* The width of the change's interval, percent. */
static double width_at(double alpha)
{
    seed = 5;
    rs_regress_side *a = simulate(5, 1, 0.005, 0), *b = simulate(5, 1.01, 0.005, 0);
    rs_regress_settings settings = {.size = sizeof settings, .alpha = alpha, .between_run_sd = -1};
    rs_result result = {0};
    rs_regress_verdict verdict;
    assert_int_equal(rs_regress(a, b, &settings, &result, &verdict, NULL), RS_OK);
    const rs_table *t = result.tables[0];
    double low = rs_table_real(t, 0, column_of(t, "low_pct")),
           high = rs_table_real(t, 0, column_of(t, "high_pct"));
    rs_result_clear(&result);
    rs_regress_side_free(a);
    rs_regress_side_free(b);
    return high - low;
}

/* Widths go as the quantiles of 5 + 5 runs: about 8 degrees of freedom. */
static void test_alpha(void **state)
{
    (void)state;
    double usual = width_at(0.05);
    near(width_at(0), usual, 0);
    near(width_at(0.5) / usual, rs_student_quantile(0.75, 8) / rs_student_quantile(0.975, 8), 0.03);
    near(width_at(0.01) / usual, rs_student_quantile(0.995, 8) / rs_student_quantile(0.975, 8), 0.15);
}

static void test_false_alarms(void **state)
{
    (void)state;
    static const double rhos[] = {0, 0.5, 0.8}, sds[] = {0, 0.005, 0.01};
    static const size_t runs[] = {3, 5, 8};
    const int pairs = 2000;
    seed = 20261122;
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            for (size_t n = 0; n < 3; n++) {
                int alarms = 0;
                for (int p = 0; p < pairs; p++) {
                    rs_regress_verdict v = verdict_on(runs[n], 1, sds[k], rhos[i], 0);
                    alarms += v == RS_REGRESS_SLOWER || v == RS_REGRESS_FASTER;
                }
                if (alarms > 0.06 * pairs)
                    fail_msg("rho %d %%, run sd %d permille, %d runs: %d false alarms in %d",
                             (int)(100 * rhos[i]), (int)(1000 * sds[k]), (int)runs[n], alarms, pairs);
            }
}

static int found_of(int pairs, double rho)
{
    int found = 0;
    for (int p = 0; p < pairs; p++) {
        rs_regress_verdict v = verdict_on(5, 1.015, 0.005, rho, 0.005);
        found += v == RS_REGRESS_SLOWER;
        assert_int_not_equal(v, RS_REGRESS_FASTER);
        assert_int_not_equal(v, RS_REGRESS_SAME);
    }
    return found;
}

/* With a least effect of 0.5 %, as the command has it. Where steps resemble each other, their noise of 1 % adds to
 * that between runs, and some power goes. */
static void test_power(void **state)
{
    (void)state;
    seed = 7;
    int plain = found_of(1000, 0), resembling = found_of(1000, 0.5);
    print_message(
        "1.5 %% slower, run sd 0.5 %%, 5 + 5 runs: found %d of 1000; steps that resemble each other (0.5): "
        "%d\n",
        plain, resembling);
    assert_true(plain >= 950);
    assert_true(resembling >= 900);
}

/* ---- history ------------------------------------------------------------------------------------------- */

static void test_changes(void **state)
{
    (void)state;
    const double up[] = {10, 10.1, 9.9, 10, 10.1, 9.9, 11, 11.1, 10.9, 11, 11.1, 10.9};
    const double flat[] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    const double step[] = {5, 5, 5, 5, 5, 6, 6, 6, 6, 6};
    const double spike[] = {10, 10.1, 9.9, 10, 10.1, 14, 9.9, 10, 10.1, 9.9, 10};
    rs_change out[400];
    size_t n;
    assert_true(rs_changes_find(up, 12, 0.05, 0, out, &n));
    assert_int_equal(n, 1);
    assert_int_equal(out[0].at, 6);
    near(out[0].difference, 1, 1e-12);
    assert_true(out[0].low > 0.8 && out[0].high < 1.2 && out[0].p < 1e-6);
    assert_true(rs_changes_find(up, 12, 0.05, 1.5, out, &n));
    assert_int_equal(n, 0);
    assert_true(rs_changes_find(flat, 10, 0.05, 0, out, &n));
    assert_int_equal(n, 0);
    assert_true(rs_changes_find(step, 10, 0.05, 0, out, &n));
    assert_true(n == 1 && out[0].at == 5 && out[0].p == 0);
    assert_true(rs_changes_find(spike, 11, 0.05, 0, out, &n)); /* one bad run is no level */
    assert_int_equal(n, 0);
    assert_true(rs_changes_find(up, 3, 0.05, 0, out, &n));
    assert_int_equal(n, 0);
}

/* In another unit, from another zero, the other way up and from the last run to the first, the same changes are found, as certain. */
static void test_changes_in_other_units(void **state)
{
    (void)state;
    static const double units[] = {1, 1e-3, 1e3, -1};
    double x[31], other[31];
    rs_change out[31], turned[31];
    size_t n, n_turned, n_all = 0;
    seed = 7;
    for (int round = 0; round < 200; round++) {
        const size_t size = 5 + (size_t)(uniform() * 26), at = 2 + (size_t)(uniform() * (double)(size - 4));
        for (size_t i = 0; i < size; i++) x[i] = 10 + 0.1 * normal() + (i >= at) - 0.5 * (i >= size - 3);
        assert_true(rs_changes_find(x, size, 0.05, 0, out, &n));
        n_all += n;
        for (size_t k = 0; k < 8; k++) {
            const double unit = units[k % 4];
            for (size_t i = 0; i < size; i++) other[i] = unit * (x[k < 4 ? i : size - 1 - i] + 3);
            assert_true(rs_changes_find(other, size, 0.05, 0, turned, &n_turned));
            assert_int_equal(n, n_turned);
            for (size_t i = 0; i < n; i++) {
                const rs_change *a = &out[i], *b = &turned[k < 4 ? i : n - 1 - i];
                const double sign = (k < 4 ? 1 : -1) * unit, low = sign > 0 ? a->low : a->high,
                             high = sign > 0 ? a->high : a->low;
                assert_int_equal(b->at, k < 4 ? a->at : size - a->at);
                near(b->difference / sign, a->difference, 1e-9);
                near(b->low / sign, low, 1e-9);
                near(b->high / sign, high, 1e-9);
                near(b->p, a->p, 1e-9);
            }
        }
    }
    assert_true(n_all > 200);
}

/* Histories of equal code, and of a change of 2 % up and, later, down where runs differ by 0.5 %. */
static void test_history_alarms(void **state)
{
    (void)state;
    static const size_t sizes[] = {10, 20, 50};
    double x[50];
    rs_change out[50];
    size_t n;
    seed = 99;
    for (size_t k = 0; k < 3; k++) {
        int alarms = 0, found = 0, exact = 0;
        for (int round = 0; round < 1000; round++) {
            for (size_t i = 0; i < sizes[k]; i++) x[i] = 1 + 0.005 * normal();
            assert_true(rs_changes_find(x, sizes[k], 0.05, 0, out, &n));
            alarms += n > 0;
            size_t from = sizes[k] / 3, to = 2 * sizes[k] / 3;
            for (size_t i = from; i < to; i++) x[i] += 0.02;
            assert_true(rs_changes_find(x, sizes[k], 0.05, 0, out, &n));
            found += n == 2;
            exact += n == 2 && out[0].at == from && out[1].at == to;
        }
        print_message(
            "%d runs: %d of 1000 histories with a false alarm; both changes found in %d, at the very "
            "run in %d\n",
            (int)sizes[k], alarms, found, exact);
        assert_true(alarms <= 60);
        assert_true(found >= (sizes[k] < 20 ? 350 : 950));
    }
}

/* ---- parts and stored summaries ------------------------------------------------------------------------ */

/* early: a text that the side has before all others; NULL: none. */
static rs_regress_side *with_named_parts(int64_t extra, const char *kernel, const char *early)
{
    rs_regress_side *side;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_regress_side_create(NULL, &side, &err), RS_OK);
    if (early) rs_strings_add(&side->texts, early, strlen(early));
    uint32_t compute = rs_strings_add(&side->texts, "computation", 11),
             gemm = rs_strings_add(&side->texts, kernel, strlen(kernel));
    for (int r = 0; r < 3; r++) {
        rs_one_run *run = rs_side_add(side, "r");
        run->n_ranks = run->per_step = 3;
        int64_t sum = 0;
        for (int i = 0; i < 7; i++) {
            rs_run_step step = {.number = i, .sum = 3001 + extra + i % 2 + r};
            assert_true(RS_GROW_ONE(run->steps, run->n_steps, run->steps_capacity));
            run->steps[run->n_steps++] = step;
        }
        assert_int_equal(rs_run_settle(run, &err), RS_OK);
        int64_t samples;
        rs_run_total(run, &samples, &sum);
        rs_run_parts *parts = &run->parts[RS_REGRESS_EXPOSED];
        assert_true(rs_run_add_part(parts, &(rs_run_part){compute, gemm, .sum = sum / 3, .count = samples}));
        assert_true(rs_run_add_part(
            parts, &(rs_run_part){compute, .sum = sum - sum / 3 + 500, .count = 2 * samples}));
        assert_true(rs_run_add_part(parts, &(rs_run_part){gemm, .sum = -500, .count = 1}));
        assert_true(rs_run_sort_parts(side, parts));
        parts->known = true;
    }
    return side;
}

static rs_regress_side *with_parts(int64_t extra)
{
    return with_named_parts(extra, "g<\"&", NULL);
}

/* The program of a step: the kernel between two others. */
static void add_program(rs_regress_side *side, const char *kernel)
{
    const char *const names[] = {"before", kernel, "behind"};
    for (size_t r = 0; r < side->n; r++)
        for (size_t i = 0; i < 3; i++) {
            rs_one_run *run = &side->runs[r];
            rs_run_token token = {rs_strings_add(&side->texts, names[i], strlen(names[i])),
                                  rs_strings_add(&side->texts, "aten::mm", 8)};
            assert_true(RS_GROW_ONE(run->tokens, run->n_tokens, run->tokens_capacity));
            run->tokens[run->n_tokens++] = token;
        }
}

static bool says(const rs_table *t, size_t row, size_t column, const char *wanted)
{
    size_t n = 0;
    if (rs_table_is_null(t, row, column)) return false;
    const char *own = rs_table_text(t, row, column, &n);
    return n == strlen(wanted) && memcmp(own, wanted, n) == 0;
}

/* What stands in one place of both programs is one kernel, whatever texts the sides have before. */
static void test_renamed(void **state)
{
    (void)state;
    rs_regress_side *a = with_named_parts(0, "old_gemm", NULL),
                    *b = with_named_parts(1000, "new_gemm", "behind");
    rs_regress_settings settings = {.size = sizeof settings, .between_run_sd = -1};
    rs_result result = {0};
    rs_regress_verdict verdict;
    add_program(a, "old_gemm");
    add_program(b, "new_gemm");
    assert_int_equal(rs_regress(a, b, &settings, &result, &verdict, NULL), RS_OK);
    const rs_table *t = result.tables[1];
    size_t found = 0, kernel = column_of(t, "kernel");
    for (size_t i = 0; i < rs_table_n_rows(t); i++) {
        if (!says(t, i, kernel, "new_gemm")) continue;
        assert_true(says(t, i, column_of(t, "change"), "renamed"));
        assert_true(says(t, i, column_of(t, "was"), "old_gemm"));
        found++;
    }
    assert_int_equal(found, 1);
    rs_result_clear(&result);
    rs_regress_side_free(a);
    rs_regress_side_free(b);
}

static bool notes(const rs_result *result, const char *part)
{
    for (size_t i = 0; i < result->n_notes; i++)
        if (strstr(result->notes[i], part)) return true;
    return false;
}

static void test_parts_and_summaries(void **state)
{
    (void)state;
    rs_regress_side *a = with_parts(0), *b = with_parts(1000), *c;
    rs_error err = RS_ERROR_INIT;
    text saved = {0}, again = {0}, junit = {0};
    rs_sink to_saved = text_sink(&saved), to_again = text_sink(&again), to_junit = text_sink(&junit);
    rs_regress_settings settings = {.size = sizeof settings, .between_run_sd = -1};
    rs_result result = {0};
    rs_regress_verdict verdict;
    a->runs[0].clocks = (rs_run_clocks){7, 1, 118674};
    b->runs[0].clocks = (rs_run_clocks){7, 0, 90000};
    assert_int_equal(rs_regress(a, b, &settings, &result, &verdict, &err), RS_OK);
    assert_int_equal(verdict, RS_REGRESS_SLOWER);
    assert_false(notes(&result, "clocks")); /* the time line of each rank needs none */
    rs_result by_job = {0};
    a->step = b->step = RS_REGRESS_STEP_JOB;
    assert_int_equal(rs_regress(a, b, &settings, &by_job, &verdict, &err), RS_OK);
    assert_true(notes(&by_job, "clocks are known to within 60 us (the widest of 14 intervals)"));
    assert_true(notes(&by_job, "1 clocks have no interval"));
    rs_result_clear(&by_job);
    a->step = b->step = RS_REGRESS_STEP_RANK;
    int64_t sum = 0;
    for (size_t i = 0; i < rs_table_n_rows(result.tables[1]); i++) {
        sum += rs_table_int(result.tables[1], i, 7);
        assert_int_equal(rs_table_int(result.tables[1], i, 8) + rs_table_int(result.tables[1], i, 9),
                         rs_table_int(result.tables[1], i, 7));
    }
    assert_int_equal(sum, 333); /* 1000 ns more of all three ranks' steps */
    assert_int_equal(rs_regress_junit(&result, verdict, false, 0, &to_junit, &err), RS_OK);
    assert_non_null(strstr(junit.s, "failures=\"1\""));
    assert_non_null(strstr(junit.s, "g&lt;&quot;&amp;"));
    rs_result_clear(&result);

    assert_int_equal(rs_regress_save(a, &to_saved, &err), RS_OK);
    assert_true(rs_regress_is_saved(saved.s, saved.n));
    assert_int_equal(rs_regress_side_create(NULL, &c, &err), RS_OK);
    assert_int_equal(rs_regress_read(c, saved.s, saved.n, "s", &err), RS_OK);
    assert_int_equal(rs_regress_save(c, &to_again, &err), RS_OK);
    assert_string_equal(saved.s, again.s);
    /* cut anywhere, or changed anywhere: refused or read, never more runs than were whole */
    size_t runs = c->n;
    for (size_t n = 0; n + 3 < saved.n; n++) {
        err = (rs_error)RS_ERROR_INIT;
        assert_int_equal(rs_regress_read(c, saved.s, n, "s", &err), RS_ERR_FORMAT);
        assert_int_equal(c->n, runs);
    }
    for (size_t i = 0; i < saved.n; i++) {
        char held = saved.s[i];
        saved.s[i] = "9]{x-\""[i % 6];
        err = (rs_error)RS_ERROR_INIT;
        if (rs_regress_read(c, saved.s, saved.n, "s", &err) != RS_OK) assert_int_equal(c->n, runs);
        runs = c->n;
        saved.s[i] = held;
    }
    rs_regress_side_free(a);
    rs_regress_side_free(b);
    rs_regress_side_free(c);
    text_clear(&saved);
    text_clear(&again);
    text_clear(&junit);
}

/* Everything that a gate does with two stored sides, from their bytes to JUnit. */
static rs_status gate(const text *saved, size_t *rows)
{
    rs_regress_side *a = NULL, *b = NULL;
    rs_error err = RS_ERROR_INIT;
    rs_regress_settings settings = {.size = sizeof settings, .between_run_sd = -1};
    rs_result result = {0}, history = {0};
    rs_regress_verdict verdict;
    text out = {0};
    rs_sink sink = text_sink(&out);
    rs_status status = rs_regress_side_create(NULL, &a, &err);
    if (status == RS_OK) status = rs_regress_side_create(NULL, &b, &err);
    if (status == RS_OK) status = rs_regress_read(a, saved->s, saved->n, "a", &err);
    for (int i = 0; i < 6 && status == RS_OK; i++) status = rs_regress_read(b, saved->s, saved->n, "b", &err);
    if (status == RS_OK) status = rs_regress(a, b, &settings, &result, &verdict, &err);
    if (status == RS_OK) status = rs_regress_junit(&result, verdict, true, 0, &sink, &err);
    if (status == RS_OK) status = rs_regress_history(b, &settings, &history, &err);
    if (status == RS_OK) status = rs_regress_save(b, &sink, &err);
    *rows = 0;
    for (size_t i = 0; status == RS_OK && i < 3; i++)
        *rows += rs_table_n_rows(result.tables[i]) + rs_table_n_rows(history.tables[i]);
    *rows += out.n;
    rs_result_clear(&result);
    rs_result_clear(&history);
    rs_regress_side_free(a);
    rs_regress_side_free(b);
    text_clear(&out);
    return status;
}

/* Each allocation fails in turn: out of memory or the whole answer, never a crash or a leak. */
static void test_allocations(void **state)
{
    (void)state;
    rs_regress_side *side = with_parts(1000);
    rs_error err = RS_ERROR_INIT;
    text saved = {0};
    rs_sink sink = text_sink(&saved);
    size_t full, rows, failed = 0;
    assert_int_equal(rs_regress_save(side, &sink, &err), RS_OK);
    rs_regress_side_free(side);
    rs_test_fail_allocation(0);
    assert_int_equal(gate(&saved, &full), RS_OK);
    uint64_t n = rs_test_fail_allocation(0);
    for (uint64_t k = 1; k <= n; k++) {
        rs_test_fail_allocation(k);
        rs_status status = gate(&saved, &rows);
        rs_test_fail_allocation(0);
        if (status == RS_OK)
            assert_int_equal(rows, full);
        else
            assert_int_equal(status, RS_ERR_NOMEM);
        failed += status != RS_OK;
    }
    assert_true(failed > 100);
    text_clear(&saved);
}

#define US 1000

/* us of a step by what it went to: work that runs beside other work counts once, and all of it adds up to the step. Steps 7, 8 and 9; the last has
 * no work. */
static void test_pieces_of_steps(void **state)
{
    (void)state;
    static const int64_t wanted[RS_N_SLICES] = {150, 50, 60, 240, 10, 480};
    builder b = builder_create();
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    const rs_run run = {.policy = &policy};
    rs_trace trace;
    void *value = NULL;
    for (int64_t step = 7, t = 0; step < 10; step++, t += 1000 * US) {
        char name[24];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)step);
        add_row(&b, 'X', "user_annotation", name, 1, 1, t, 990 * US);
        if (step == 9) break;
        for (int k = 0; k < 4; k++)
            add_call(&b, "cudaLaunchKernel", 1, t + (k < 3 ? 5 + k : 500) * US, step * 10 + k);
        add_kernel(&b, "gemm", 0, 7, t + 50 * US, 100 * US, step * 10);
        add_kernel(&b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, t + 120 * US, 80 * US,
                   step * 10 + 1);
        add_row(&b, 'X', "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 21, t + 190 * US, 70 * US);
        add_arg(&b, RS_COL_STREAM, 21);
        add_arg(&b, RS_COL_CORRELATION, step * 10 + 2);
        add_kernel(&b, "gemm", 0, 7, t + 510 * US, 50 * US, step * 10 + 3); /* launched 10 us before */
    }
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_pieces_rank(&run, &trace, &value, NULL), RS_OK);
    const rs_rank_pieces *p = value;
    assert_int_equal(p->n_steps, 3);
    for (size_t i = 0; i < p->n_steps; i++) {
        int64_t got[RS_N_SLICES] = {0}, sum = 0;
        assert_int_equal(p->steps[i].number, 7 + i);
        for (size_t k = 0; k < p->n_pieces; k++)
            if (p->pieces[k].step == i) got[p->pieces[k].part] += p->pieces[k].ns;
        for (int k = 0; k < RS_N_SLICES; k++) sum += got[k];
        assert_int_equal(sum, p->steps[i].length);
        for (int k = 0; k < RS_N_SLICES; k++)
            assert_int_equal(got[k], i < 2 ? wanted[k] * US : k == RS_SLICE_OUTSIDE ? p->steps[i].length : 0);
    }
    rs_pieces_free(value);
    rs_trace_clear(&trace);
    rs_events_free(b.e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_welch),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_renamed),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_parts_and_summaries),
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_pieces_of_steps),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_changes_in_other_units),
        cmocka_unit_test(test_history_alarms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
