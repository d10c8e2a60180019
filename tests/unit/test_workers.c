/* The pool of threads: every item once, in order of beginning, the same error for any number of threads. */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/workers.h"

#define N 1000

typedef struct tally {
    atomic_uint done[N], busy[RS_MAX_WORKERS];
    atomic_uint begun, overlaps;
    size_t fails_from; /* items from here on whose number is a multiple of 7 fail */
} tally;

static rs_status count(void *context, size_t item, unsigned worker, rs_error *err)
{
    tally *t = context;
    if (atomic_fetch_add(&t->busy[worker], 1)) atomic_fetch_add(&t->overlaps, 1);
    atomic_fetch_add(&t->done[item], 1);
    atomic_fetch_add(&t->begun, 1);
    volatile unsigned spin = 0;
    while (spin < item % 5 * 200) spin++;
    atomic_fetch_sub(&t->busy[worker], 1);
    if (item >= t->fails_from && item % 7 == 0) return rs_fail(err, RS_ERR_FORMAT, "item %zu", item);
    return RS_OK;
}

TEST(test_every_item)
{
    static const size_t jobs[] = {0, 1, 2, 3, 16, 1000};
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
        tally *t = calloc(1, sizeof *t);
        t->fails_from = N;
        assert_int_equal(rs_workers_run(N, jobs[k], count, t, NULL), RS_OK);
        for (size_t i = 0; i < N; i++) assert_int_equal(t->done[i], 1);
        assert_int_equal(t->overlaps, 0);
        free(t);
    }
    assert_int_equal(rs_workers_run(0, 4, count, NULL, NULL), RS_OK);
}

TEST(test_least_error)
{
    for (size_t jobs = 1; jobs <= 16; jobs++) {
        for (size_t from = 1; from < 60; from += 9) {
            tally *t = calloc(1, sizeof *t);
            t->fails_from = from;
            rs_error err = RS_ERROR_INIT;
            char said[256], wanted[32];
            assert_int_equal(rs_workers_run(N, jobs, count, t, &err), RS_ERR_FORMAT);
            snprintf(wanted, sizeof wanted, "item %zu", (from + 6) / 7 * 7);
            assert_string_equal(rs_error_text(&err, said, sizeof said), wanted);
            bool after = false; /* what was done is a beginning of all items */
            for (size_t i = 0; i < N; i++) {
                if (!t->done[i]) after = true;
                assert_false(after && t->done[i]);
            }
            assert_true(t->begun < N);
            free(t);
        }
    }
}

TEST(test_counts)
{
    assert_int_equal(rs_workers_count(0, 4), 1);
    assert_int_equal(rs_workers_count(5, 0), 1);
    assert_int_equal(rs_workers_count(5, 3), 3);
    assert_int_equal(rs_workers_count(3, 5), 3);
    assert_int_equal(rs_workers_count(100000, 100000), RS_MAX_WORKERS);
}
