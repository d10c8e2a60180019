/* numpy's order of equal keys: a recorded example, and that every shape comes out sorted. */
#include <string.h>

#include "peer/numpy_order.h"
#include "unit.h"

enum { MOST = 5000 };

static void check(const int64_t *keys, size_t n)
{
    static uint32_t order[MOST];
    static uint8_t seen[MOST];
    memset(seen, 0, sizeof seen);
    rs_numpy_argsort(keys, n, order);
    for (size_t i = 0; i < n; i++) {
        assert_true(order[i] < n && !seen[order[i]]);
        seen[order[i]] = 1;
        if (i) assert_true(keys[order[i - 1]] <= keys[order[i]]);
    }
}

TEST(test_every_shape_is_sorted)
{
    static int64_t keys[MOST];
    static const size_t sizes[] = {0, 1, 2, 16, 17, 18, 100, 1000, MOST};
    for (int shape = 0; shape < 6; shape++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t n = sizes[s];
            uint64_t x = 7;
            for (size_t i = 0; i < n; i++) {
                x = x * UINT64_C(6364136223846793005) + 1;
                keys[i] = shape == 0   ? (int64_t)i
                          : shape == 1 ? -(int64_t)i
                          : shape == 2 ? 5
                          : shape == 3 ? (int64_t)(x >> 60)
                          : shape == 4
                              ? (int64_t)(i < n / 2 ? 2 * i : 2 * (i - n / 2) + 1) /* begins, then ends */
                              : (int64_t)x;
            }
            check(keys, n);
        }
    }
}

/* By a second program that follows numpy's source: argsort of [(i * 7) % 5 for i in range(40)]. */
TEST(test_recorded_example)
{
    static const uint32_t want[40] = {0,  20, 15, 30, 10, 25, 35, 5,  23, 8,  33, 28, 13, 3,
                                      38, 18, 6,  21, 1,  36, 16, 26, 11, 31, 34, 29, 19, 14,
                                      9,  4,  24, 39, 27, 22, 17, 12, 32, 7,  2,  37};
    int64_t keys[40];
    uint32_t order[40];
    for (int i = 0; i < 40; i++) keys[i] = (i * 7) % 5;
    rs_numpy_argsort(keys, 40, order);
    assert_memory_equal(order, want, sizeof want);
}
