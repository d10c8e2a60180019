/* The history as a map: what its columns and rows are, and that a cell says what the windows under it do. */
#include <math.h>

#include "support.h"
#include "watch/watch.h"

#define MOST 300
#define SECOND INT64_C(1000000000)

/* A history of so many windows, `apart` seconds each from the next. own(rank, window) NaN: the rank is not there. */
static rs_result map_of(size_t ranks, int64_t windows, int64_t apart,
                        double (*own)(int64_t rank, int64_t window))
{
    const rs_watch_settings settings = {.size = sizeof settings};
    rs_error err = RS_ERROR_INIT;
    rs_result result = {0};
    rs_watch *w = NULL;
    assert_int_equal(rs_watch_open(&settings, &w, &err), RS_OK);
    assert_int_equal(rs_history_begin(w->history, &err), RS_OK);
    for (int64_t k = 0; k < windows; k++) {
        int64_t numbers[MOST], id;
        float owns[MOST], steps[MOST];
        rs_history_window one = {.start_ns = (INT64_C(1750032000) + k * apart) * SECOND, .first_step = k};
        one.end_ns = one.start_ns + 1;
        size_t n = 0;
        for (size_t r = 0; r < ranks; r++) {
            double x = own((int64_t)r, k);
            if (isnan(x)) continue;
            numbers[n] = (int64_t)r;
            owns[n] = (float)x;
            steps[n++] = (float)(1000 + (double)r);
        }
        one.values = (rs_window_values){.start_ns = one.start_ns, .ranks = numbers, .n = n};
        one.values.values[RS_WATCH_OWN] = owns;
        one.values.values[RS_WATCH_STEP] = steps;
        assert_int_equal(rs_history_add_window(w->history, &one, &id, &err), RS_OK);
    }
    assert_int_equal(rs_history_commit(w->history, &err), RS_OK);
    assert_int_equal(rs_watch_map(w, NULL, 0, &result, &err), RS_OK);
    rs_watch_close(w);
    return result;
}

static double even(int64_t rank, int64_t window)
{
    (void)rank, (void)window;
    return 100;
}

static double cell(const rs_result *r, const char *table, size_t row, const char *column)
{
    const rs_table *t = rs_result_table(r, table);
    size_t at = 0;
    while (strcmp(rs_table_get_spec(t)->columns[at].name, column) != 0) at++;
    if (rs_table_is_null(t, row, at)) return NAN;
    return rs_table_get_spec(t)->columns[at].type == RS_INT ? (double)rs_table_int(t, row, at)
                                                            : rs_table_real(t, row, at);
}

static size_t rows(const rs_result *r, const char *table)
{
    return rs_table_n_rows(rs_result_table(r, table));
}

/* 1750032000 is midnight. */
TEST(test_columns)
{
    static const struct {
        int64_t windows, apart;
        size_t columns;
        double each; /* windows of the first one */
    } cases[] = {
        {96, 3600, 96, 1},   /* a window a column, as long as there is room */
        {96, 14400, 96, 1},  /* also where that is sixteen days */
        {240, 3600, 10, 24}, /* days */
        {120, 600, 20, 6},   /* hours, as there are too few days */
        {300, 10, 75, 4},    /* four windows each, as there are too few hours */
        {97, 86400, 49, 2},  /* two each: there are too many days */
        {1, 3600, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_result r = map_of(2, cases[i].windows, cases[i].apart, even);
        assert_int_equal(rows(&r, "columns"), cases[i].columns);
        double windows = 0;
        for (size_t k = 0; k < rows(&r, "columns"); k++) {
            assert_true(cell(&r, "columns", k, "place") == (double)k);
            assert_true(cell(&r, "columns", k, "window") == windows + 1);
            windows += cell(&r, "columns", k, "windows");
        }
        assert_true(windows == (double)cases[i].windows);
        assert_true(cell(&r, "columns", 0, "windows") == cases[i].each);
        assert_int_equal(rows(&r, "map"), 2 * cases[i].columns);
        rs_result_clear(&r);
    }
}

/* Rank 0 is late in all of eight days; rank 217 takes half as long again in the second, and is gone in the third. */
static double slow_then_gone(int64_t rank, int64_t window)
{
    if (rank == 217 && window >= 48) return NAN;
    return rank == 217 && window >= 24 ? 150 : rank == 216 ? 90 : rank == 0 ? 120 : 100;
}

TEST(test_cells)
{
    rs_result r = map_of(300, 192, 3600, slow_then_gone);
    assert_int_equal(rows(&r, "columns"), 8);
    assert_int_equal(rows(&r, "map"), 8 * 100); /* three ranks a row */
    for (size_t i = 0; i < rows(&r, "map"); i++) {
        double place = cell(&r, "map", i, "place"), rank = cell(&r, "map", i, "rank");
        bool slow = place == 1 && rank == 216;
        double late = slow        ? 50
                      : rank == 0 ? 20
                                  : 0,
               worst = slow || (rank == 216 && place == 0) ? 217
                       : rank == 216                       ? 218
                                                           : rank;
        assert_true(fabs(cell(&r, "map", i, "late_pct") - late) < 1e-3);
        assert_true(cell(&r, "map", i, "worst_rank") == worst);
        assert_true(cell(&r, "map", i, "step_us") == 1000 + rank + 2);
    }
    rs_result_clear(&r);
}

static double alone(int64_t rank, int64_t window)
{
    return rank == window % 2 ? 100 : NAN;
}

/* A rank that is not there has no cell. */
TEST(test_absent)
{
    rs_result r = map_of(2, 10, 3600, alone), none = map_of(0, 0, 1, even);
    assert_int_equal(rows(&r, "columns"), 10);
    assert_int_equal(rows(&r, "map"), 10);
    for (size_t i = 0; i < 10; i++) assert_true(cell(&r, "map", i, "rank") == (double)(i % 2));
    assert_int_equal(rows(&none, "columns"), 0);
    assert_int_equal(rows(&none, "map"), 0);
    rs_result_clear(&r);
    rs_result_clear(&none);
}

/* A message names eight ranks; that there are more it says from nine on. */
TEST(test_ranks_of_a_message)
{
    rs_series_event events[9];
    for (int64_t i = 0; i < 9; i++)
        events[i] = (rs_series_event){.metric = RS_WATCH_OWN,
                                      .rank = i,
                                      .what = RS_SERIES_BEGUN,
                                      .since = 1,
                                      .usual = 10,
                                      .now = 12,
                                      .change = 0.2,
                                      .low = 0.1,
                                      .high = 0.3};
    for (size_t n = 8; n <= 9; n++) {
        rs_text subject = {0}, message = {0};
        rs_watch_put_subject(&subject, events, n);
        rs_watch_put_events(&message, events, n, 0, NULL);
        assert_non_null(strstr(subject.s, n == 8 ? "rank 6, rank 7" : "rank 7 and 1 more"));
        assert_non_null(strstr(message.s, n == 8 ? "anks 0, 1, 2, 3, 4, 5, 6 and 7" : "6, 7 and 1 more"));
        assert_int_equal(strstr(subject.s, "more") != NULL, n > 8);
        assert_int_equal(strstr(message.s, " 0 more") != NULL, false);
        rs_text_clear(&subject);
        rs_text_clear(&message);
    }
}

/* Settings that are 0 are the usual ones. */
TEST(test_usual_settings)
{
    for (int k = 0; k < 2; k++) {
        const rs_watch_settings settings = {.size = sizeof settings, .min_effect = k ? 0.1 : 0};
        rs_watch *w = NULL;
        assert_int_equal(rs_watch_open(&settings, &w, NULL), RS_OK);
        assert_true(w->min_effect == (k ? 0.1 : 0.03));
        rs_watch_close(w);
    }
}
