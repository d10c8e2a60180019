/* The map of correlation ids in each of its forms, and the order of calls on a stack, against plain searches.
 */
#include "base/keymap.h"

#include "base/finder.h"
#include "base/memory.h"
#include "support.h"
#include "trace/call_stacks.h"

#define N 3000

/* Keys as close together as asked for; every key is put twice, and others are asked for. */
static void check_keys(int64_t base, uint64_t spread, size_t cluster, const char *form)
{
    static int64_t keys[N];
    rng r = {spread + cluster};
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (size_t i = 0; i < N; i++) {
        uint64_t off =
            i % cluster ? (uint64_t)(keys[i - 1] - base) + 1 + rng_below(&r, 3) : rng_next(&r) % spread;
        keys[i] = base + (int64_t)(off % spread);
        if (keys[i] < min) min = keys[i];
        if (keys[i] > max) max = keys[i];
    }
    rs_keymap map;
    assert_true(rs_keymap_init(&map, min, max, N));
    for (size_t i = 0; i < N; i++) assert_true(rs_keymap_put(&map, keys[i], 7));
    for (size_t i = 0; i < N; i++) assert_true(rs_keymap_put(&map, keys[i], (uint32_t)i));
    assert_string_equal(map.table ? "table" : map.directory ? "pages" : "hash", form);
    for (size_t i = 0; i < N; i++) {
        size_t last = i;
        for (size_t k = i + 1; k < N; k++)
            if (keys[k] == keys[i]) last = k;
        assert_int_equal(rs_keymap_get(&map, keys[i]), last);
    }
    for (size_t i = 0; i < N; i++) {
        int64_t key = base + (int64_t)(rng_next(&r) % spread);
        bool known = false;
        for (size_t k = 0; !known && k < N; k++) known = keys[k] == key;
        assert_int_equal(rs_keymap_get(&map, key) != RS_KEYMAP_NONE, known);
    }
    assert_int_equal(rs_keymap_get(&map, INT64_MIN), RS_KEYMAP_NONE);
    assert_int_equal(rs_keymap_get(&map, INT64_MAX), RS_KEYMAP_NONE);
    rs_keymap_clear(&map);
    assert_int_equal(rs_keymap_get(&map, keys[0]), RS_KEYMAP_NONE);
}

TEST(test_keys)
{
    check_keys(5, 8 * N, 1, "table");
    check_keys(-4000, 2000, 10, "table");
    check_keys(INT64_MIN + 5, 1000 * N, 300, "pages");
    check_keys(1, 4000 * N, 1000, "pages");
    check_keys(1, 4000 * N, 1, "hash");                /* pages at first: too few keys a page */
    check_keys(-(1LL << 60), 1ULL << 61, 500, "hash"); /* too wide for a directory */
}

/* The places of keys, each found at its first; as full as a finder gets, and emptier. */
static void check_places(uint64_t spread, size_t n)
{
    static uint64_t keys[N];
    rng r = {spread};
    rs_finder f;
    assert_true(rs_finder_init(&f, n));
    assert_true(f.mask + 1 > n);
    for (size_t i = 0; i < n; i++) {
        keys[i] = rng_next(&r) % spread;
        size_t at = rs_finder_first(&f, keys[i]);
        while (f.slots[at] != RS_FINDER_NONE && keys[f.slots[at]] != keys[i]) at = rs_finder_next(&f, at);
        if (f.slots[at] == RS_FINDER_NONE) f.slots[at] = (uint32_t)i;
    }
    for (size_t k = 0; k < 2 * n + 10; k++) {
        uint64_t key = k < n ? keys[k] : rng_next(&r) % spread;
        uint32_t expected = RS_FINDER_NONE, found;
        for (size_t i = n; i-- > 0;)
            if (keys[i] == key) expected = (uint32_t)i;
        size_t at = rs_finder_first(&f, key);
        while ((found = f.slots[at]) != RS_FINDER_NONE && keys[found] != key) at = rs_finder_next(&f, at);
        assert_int_equal(found, expected);
    }
    rs_finder_clear(&f);
}

/* How many slots a finder looks at to place n keys, the i-th of them key(i). */
static size_t steps_to_place(size_t n, uint64_t (*key)(size_t i))
{
    rs_finder f;
    size_t steps = 0;
    assert_true(rs_finder_init(&f, n));
    for (size_t i = 0; i < n; i++) {
        size_t at = rs_finder_first(&f, key(i));
        for (steps++; f.slots[at] != RS_FINDER_NONE; steps++) at = rs_finder_next(&f, at);
        f.slots[at] = (uint32_t)i;
    }
    rs_finder_clear(&f);
    return steps;
}

static uint64_t one_after_another(size_t i)
{
    return 1000000 + i;
}

static uint64_t first_of_groups(size_t i)
{
    return i * RS_FINDER_GROUP;
}

/* Full groups meet each other as a whole: a key goes round the other group, not through it. Keys of one place in
 * their groups still find every slot. */
TEST(test_full_groups)
{
    size_t n = (size_t)1 << 19; /* half of its slots */
    assert_in_range(steps_to_place(n, one_after_another), n, 4 * n);
    assert_in_range(steps_to_place(n, first_of_groups), n, 40 * n);
}

TEST(test_places)
{
    check_places(10, 0);
    check_places(1, 40);
    check_places(2000, 42);
    check_places(3000, 1365);
    check_places(UINT64_MAX, N);
}

TEST(test_out_of_memory)
{
    rs_finder finder;
    rs_test_fail_allocation(1);
    assert_false(rs_finder_init(&finder, 10));
    rs_test_fail_allocation(0);
    assert_false(rs_finder_init(&finder, SIZE_MAX));
    rs_finder_clear(&finder);

    bool done = false;
    for (uint64_t fail = 1; !done; fail++) {
        rs_keymap map;
        rs_test_fail_allocation(fail);
        done = rs_keymap_init(&map, 0, 4000 * N, N);
        for (int64_t i = 0; done && i < N; i++) done = rs_keymap_put(&map, i * 3989, (uint32_t)i);
        rs_test_fail_allocation(0);
        if (done) assert_int_equal(rs_keymap_get(&map, 3989), 1);
        rs_keymap_clear(&map);
        assert_true(fail < 1000);
    }
}

/* ---- stacks
 * ------------------------------------------------------------------------------------------------ */

static bool starts_before(const rs_nested *items, uint32_t a, uint32_t b)
{
    if (items[a].start != items[b].start) return items[a].start < items[b].start;
    if (items[a].end != items[b].end) return items[a].end > items[b].end;
    return a < b;
}

static bool ends_before(const rs_nested *items, uint32_t a, uint32_t b)
{
    if (items[a].end != items[b].end) return items[a].end < items[b].end;
    if (items[a].start != items[b].start) return items[a].start > items[b].start;
    return a > b;
}

static void sort(uint32_t *list, size_t n, const rs_nested *items,
                 bool (*before)(const rs_nested *, uint32_t, uint32_t))
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && before(items, list[k], list[k - 1]); k--) {
            uint32_t x = list[k];
            list[k] = list[k - 1];
            list[k - 1] = x;
        }
}

/* Nested calls below [from, to), some sharing their start or end. */
static size_t nest(rng *r, rs_nested *items, size_t n, size_t room, int64_t from, int64_t to)
{
    if (n == room || to - from < 2) return n;
    items[n] = (rs_nested){from, to, (uint32_t)n};
    n++;
    int64_t middle = from + (int64_t)rng_below(r, (size_t)(to - from + 1));
    n = nest(r, items, n, room, from + (int64_t)rng_below(r, 2), middle);
    return nest(r, items, n, room, middle, to - (int64_t)rng_below(r, 2));
}

TEST(test_stack_order)
{
    rng r = {11};
    for (int round = 0; round < ROUNDS(400); round++) {
        rs_nested items[120];
        uint32_t order[240], starts[120] = {0}, ends[120] = {0};
        size_t n = nest(&r, items, 0, 1 + rng_below(&r, 119), 0, 400);
        bool shuffled = round % 2, crossing = round % 4 == 3;
        for (size_t i = 0; shuffled && i < n; i++) {
            size_t k = rng_below(&r, n);
            rs_nested x = items[i];
            items[i] = items[k];
            items[k] = x;
        }
        for (size_t i = 0; i < n; i++) {
            if (crossing && rng_below(&r, 5) == 0) items[i].end += (int64_t)rng_below(&r, 50);
            if (rng_below(&r, 9) == 0) items[i].end = items[i].start; /* takes no time */
            items[i].id = (uint32_t)i;
        }
        assert_true(rs_call_stack_order(items, n, order));
        size_t n_starts = 0, n_ends = 0;
        for (size_t i = 0; i < n; i++)
            if (items[i].end > items[i].start) starts[n_starts++] = ends[n_ends++] = (uint32_t)i;
        sort(starts, n_starts, items, starts_before);
        sort(ends, n_ends, items, ends_before);
        size_t s = 0, e = 0;
        for (size_t i = 0; i < 2 * n; i++) {
            uint32_t item = order[i] >> 1;
            if (items[item].end <= items[item].start) continue;
            if (order[i] & RS_STACK_END)
                assert_int_equal(item, ends[e++]);
            else
                assert_int_equal(item, starts[s++]);
        }
        assert_int_equal(s, n_starts);
        assert_int_equal(e, n_ends);
    }
}
