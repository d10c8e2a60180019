/* Columns of numbers near each other: what goes in comes out, in any order, however far apart numbers are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/near.h"
#include "unit.h"

static uint64_t state_of_chance = 1;
static uint64_t by_chance(void)
{
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return state_of_chance >> 32;
}

/* Some blocks hold numbers near each other, some the ends of what 32 and 64 bits hold. */
static int64_t number(size_t i)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, (int64_t)INT32_MAX + 1, -1, 0};
    const size_t block = i >> RS_NEAR_BLOCK;
    const int64_t chance = (int64_t)by_chance();
    switch (block % 4) {
    case 0: return INT64_MAX - chance / 2;
    case 1: return (int64_t)(1000000 * i) + chance % 1000;
    case 2: return i % 100 == 7 ? ends[chance % 7] : chance % 1000;
    default: return i % RS_NEAR_IN_BLOCK ? (i % 2 ? INT32_MAX : INT32_MIN) : 0;
    }
}

static void test_numbers(void **state)
{
    enum { N = 9 * RS_NEAR_IN_BLOCK + 100 };
    int64_t *values = rs_malloc(N * sizeof *values);
    uint32_t *order = rs_malloc(N * sizeof *order);
    rs_near c = {0};
    (void)state;
    assert_true(rs_near_make(&c, N));
    for (int turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < N; i++) order[i] = i;
        for (size_t i = N - 1; turn && i > 0; i--) { /* the second and third time in any order */
            const size_t other = (size_t)by_chance() % (i + 1);
            const uint32_t was = order[i];
            order[i] = order[other];
            order[other] = was;
        }
        for (size_t i = 0; i < N; i++) {
            values[order[i]] = number(order[i]);
            assert_true(rs_near_put(&c, order[i], values[order[i]]));
            assert_true(rs_near_at(&c, order[i]) == values[order[i]]);
        }
        for (size_t i = 0; i < N; i++) assert_true(rs_near_at(&c, i) == values[i]);
        if (turn == 0) { /* what is near is not wide: else the column saves nothing */
            assert_null(c.blocks[1].wide);
            assert_non_null(c.blocks[2].wide);
            assert_null(c.blocks[3].wide);
        }
        if (turn == 1) rs_near_empty(&c);
    }
    rs_near_clear(&c);
    rs_free_all(values, order);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        rs_near c = {0};
        rs_test_fail_allocation(k);
        const bool made = rs_near_make(&c, 10), ok = made && rs_near_put(&c, 3, 5);
        const bool far = ok && rs_near_put(&c, 4, INT64_MAX);
        rs_test_fail_allocation(0);
        if (ok) assert_true(rs_near_at(&c, 3) == 5); /* also where the other found no room */
        rs_near_clear(&c);
        if (far) break;
        assert_true(k < 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
