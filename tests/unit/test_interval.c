/* Intervals against a second answer: every nanosecond of a small axis counted one by one. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "unit.h"

#define AXIS 64

static uint64_t seed;

static uint32_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

static size_t random_intervals(rs_interval *out, size_t most)
{
    size_t n = next_random() % (most + 1);
    for (size_t i = 0; i < n; i++) {
        int64_t start = next_random() % AXIS;
        out[i] = (rs_interval){start, start + next_random() % (uint32_t)(AXIS - start + 1)};
    }
    return n;
}

static void paint(const rs_interval *items, size_t n, bool *axis)
{
    memset(axis, 0, AXIS * sizeof *axis);
    for (size_t i = 0; i < n; i++)
        for (int64_t t = items[i].start; t < items[i].end; t++) axis[t] = true;
}

TEST(test_sets_equal_counting)
{
    for (seed = 1; seed < 3000; seed++) {
        uint64_t before = seed;
        rs_interval a[12], b[12], c[12], left[24];
        bool pa[AXIS], pb[AXIS], pc[AXIS], pl[AXIS];
        size_t na = random_intervals(a, 12), nb = random_intervals(b, 12), nc = random_intervals(c, 12);
        paint(a, na, pa);
        paint(b, nb, pb);
        paint(c, nc, pc);
        assert_true(rs_intervals_sort(a, na) && rs_intervals_sort(b, nb) && rs_intervals_sort(c, nc));
        na = rs_intervals_unite(a, na);
        nb = rs_intervals_unite(b, nb);
        nc = rs_intervals_unite(c, nc);
        for (size_t i = 1; i < na; i++) assert_true(a[i].start > a[i - 1].end);
        int64_t length = 0, both = 0, want[8] = {0}, time[8];
        for (int t = 0; t < AXIS; t++) {
            length += pa[t];
            both += pa[t] && pb[t];
            want[pa[t] + 2 * pb[t] + 4 * pc[t]]++;
        }
        assert_int_equal(rs_intervals_length(a, na), length);
        assert_int_equal(rs_intervals_intersection(a, na, b, nb), both);
        size_t nl = rs_intervals_subtract(a, na, b, nb, left);
        paint(left, nl, pl);
        for (int t = 0; t < AXIS; t++) assert_int_equal(pl[t], pa[t] && !pb[t]);
        rs_intervals_sweep((rs_interval_set[]){{a, na}, {b, nb}, {c, nc}}, 3, 1, time);
        for (int m = 1; m < 8; m++) assert_int_equal(time[m], want[m]);
        seed = before;
    }
}

TEST(test_sort_is_stable)
{
    enum { N = 5000 };
    rs_keyed *items = rs_malloc(N * sizeof *items);
    for (int shape = 0; shape < 4; shape++) {
        for (uint32_t i = 0; i < N; i++)
            items[i] = (rs_keyed){shape == 0   ? i
                                  : shape == 1 ? N - i
                                  : shape == 2 ? next_random() % 50
                                               : (i % 700),
                                  i};
        assert_true(rs_keyed_sort(items, N));
        for (size_t i = 1; i < N; i++) {
            assert_true(items[i - 1].key <= items[i].key);
            if (items[i - 1].key == items[i].key) assert_true(items[i - 1].value < items[i].value);
        }
        for (int64_t key = -1; key < 52; key++) {
            size_t below = 0, same = 0;
            for (size_t i = 0; i < N; i++) below += items[i].key < key;
            for (size_t i = 0; i < N; i++) same += items[i].key == key;
            assert_int_equal(rs_keyed_before(items, N, key), below);
            assert_int_equal(rs_keyed_until(items, N, key), below + same);
        }
    }
    rs_free(items);
}

TEST(test_negative_interval_shortens_the_union)
{
    /* what a peer's rounding makes of a kernel shorter than a microsecond */
    rs_interval items[] = {{0, 10}, {12, 11}, {12, 15}};
    size_t n = rs_intervals_unite(items, 3);
    assert_int_equal(n, 3);
    assert_int_equal(rs_intervals_length(items, n), 10 - 1 + 3);
}

TEST(test_sweep_cuts_pieces)
{
    int64_t time[4];
    rs_interval a[] = {{0, 2500}}, b[] = {{1200, 4999}};
    rs_intervals_sweep((rs_interval_set[]){{a, 1}, {b, 1}}, 2, 1000, time);
    assert_int_equal(time[1], 1000);
    assert_int_equal(time[3], 1000);
    assert_int_equal(time[2], 2000);
}

TEST(test_no_overflow)
{
    rs_interval items[] = {{INT64_MIN, -1}, {5, INT64_MAX}};
    assert_int_equal(rs_intervals_length(items, 2), INT64_MAX);
    assert_int_equal(rs_sub_sat(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(rs_sub_sat(INT64_MAX, -1), INT64_MAX);
    assert_int_equal(rs_add_sat(INT64_MIN, -1), INT64_MIN);
}

TEST(test_sort_reports_lack_of_memory)
{
    rs_interval items[64];
    for (int i = 0; i < 64; i++) items[i] = (rs_interval){64 - i, 64};
    for (uint64_t k = 1; k <= 2; k++) {
        rs_test_fail_allocation(k);
        bool ok = rs_intervals_sort(items, 64);
        rs_test_fail_allocation(0);
        assert_false(ok);
        int64_t sum = 0; /* nothing is lost */
        for (int i = 0; i < 64; i++) sum += items[i].start;
        assert_int_equal(sum, 64 * 65 / 2);
    }
}

/* Each moment is of the first set that holds it, found by looking at every moment. */
TEST(test_divide)
{
    for (int round = 0; round < 300; round++) {
        rs_interval items[3][12];
        rs_interval_set sets[3];
        bool axis[3][AXIS] = {{false}};
        for (int k = 0; k < 3; k++) {
            size_t n = random_intervals(items[k], 12);
            assert_true(rs_intervals_sort(items[k], n));
            sets[k] = (rs_interval_set){items[k], rs_intervals_unite(items[k], n)};
            paint(items[k], sets[k].n, axis[k]);
        }
        const rs_interval whole = {(int64_t)(next_random() % 10), AXIS - (int64_t)(next_random() % 10)};
        rs_divisions out = {0};
        assert_true(rs_intervals_divide(sets, 3, whole, round % 2 ? 1 : 4, &out));
        unsigned of[AXIS];
        for (int at = 0; at < AXIS; at++) of[at] = 9;
        for (size_t i = 0; i < out.n; i++) {
            assert_true(out.items[i].time > 0);
            if (i) assert_true(out.items[i].from >= out.items[i - 1].from + out.items[i - 1].time);
            if (i && out.items[i].from == out.items[i - 1].from + out.items[i - 1].time)
                assert_true(out.items[i].of != out.items[i - 1].of);
            for (int64_t at = out.items[i].from; at < out.items[i].from + out.items[i].time; at++)
                of[at] = out.items[i].of;
        }
        for (int at = 0; at < AXIS; at++) {
            unsigned wanted = axis[0][at] ? 0 : axis[1][at] ? 1 : axis[2][at] ? 2 : 3;
            if (at < whole.start || at >= whole.end || (round % 2 && wanted == 1)) wanted = 9;
            assert_int_equal(of[at], wanted);
        }
        rs_free(out.items);
    }
}
