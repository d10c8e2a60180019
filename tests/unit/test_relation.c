/* Sorting and grouping of rows against a second answer: every group looked for and added up one by one. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "table/relation.h"
#include "unit.h"

static uint64_t seed;

static uint32_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33);
}

/* ---- order -------------------------------------------------------------------------------------------- */

typedef struct item {
    const char *text;
    uint32_t id;
    int16_t small;
    uint8_t byte;
    double real;
    int64_t place;
} item;

#define N_KEYS(keys) (sizeof(keys) / sizeof *(keys))

TEST(test_every_kind_of_key)
{
    rs_strings texts;
    assert_true(rs_strings_init(&texts));
    uint32_t zebra = rs_strings_add(&texts, "zebra", 5), ape = rs_strings_add(&texts, "ape", 3);
    item items[] = {{"b", zebra, -3, 200, 2.5, 0},
                    {NULL, RS_NO_STRING, 7, 100, (double)NAN, 1},
                    {"a", ape, 7, 100, -1, 2},
                    {"b", zebra, -3, 3, 1e300, 3}};
    const struct {
        rs_order key;
        int64_t places[4];
    } cases[] = {
        {RS_RISING(item, text), {2, 0, 3, 1}},    {RS_FALLING(item, text), {0, 3, 2, 1}},
        {RS_RISING_TEXT(item, id), {2, 0, 3, 1}}, {RS_RISING(item, small), {0, 3, 1, 2}},
        {RS_FALLING(item, small), {1, 2, 0, 3}},  {RS_RISING(item, byte), {3, 1, 2, 0}},
        {RS_FALLING(item, byte), {0, 1, 2, 3}},   {RS_RISING(item, real), {2, 0, 3, 1}},
        {RS_FALLING(item, real), {3, 0, 2, 1}},   {RS_FALLING(item, place), {3, 2, 1, 0}},
    };
    for (size_t i = 0; i < N_KEYS(cases); i++) {
        item sorted[4];
        memcpy(sorted, items, sizeof items);
        rs_sort(sorted, 4, sizeof *sorted, &cases[i].key, 1, &texts);
        for (size_t k = 0; k < 4; k++) assert_int_equal(sorted[k].place, cases[i].places[k]);
    }
    rs_strings_clear(&texts);
}

TEST(test_sorting_is_stable)
{
    static const rs_order by_small[] = {RS_RISING(item, small)};
    static const rs_order by_two[] = {RS_FALLING(item, byte), RS_RISING(item, small)};
    for (seed = 1; seed < 600; seed++) {
        uint64_t before = seed;
        item items[70];
        size_t n = next_random() % 70;
        for (size_t i = 0; i < n; i++)
            items[i] = (item){.small = (int16_t)(next_random() % 9 - 4),
                              .byte = (uint8_t)(next_random() % 3),
                              .place = (int64_t)i};
        if (seed % 2) rs_test_fail_allocation(1); /* without memory it is slower, and nothing else */
        RS_SORT(items, n, by_small);
        for (size_t i = 1; i < n; i++) {
            const item *a = &items[i - 1], *b = &items[i];
            assert_true(a->small < b->small || (a->small == b->small && a->place < b->place));
        }
        RS_SORT(items, n, by_two);
        rs_test_fail_allocation(0);
        for (size_t i = 1; i < n; i++) {
            const item *a = &items[i - 1], *b = &items[i];
            assert_true(a->byte > b->byte ||
                        (a->byte == b->byte &&
                         (a->small < b->small || (a->small == b->small && a->place < b->place))));
        }
        seed = before;
    }
}

/* ---- groups ------------------------------------------------------------------------------------------- */

typedef struct event {
    uint32_t name;
    uint8_t class;
    int64_t device, start, end, length;
    double rate;
} event;

typedef struct sum {
    uint32_t name;
    uint8_t class;
    int64_t device, n, known, total, least, greatest, first, active, spare, of_name;
    rs_moments time;
    rs_description rates;
} sum;

#define SUMS                                                                                                 \
    RS_COUNTED(sum, n), RS_KNOWN(sum, known, event, length), RS_SUMMED(sum, total, event, length),           \
        RS_LEAST(sum, least, event, length), RS_GREATEST(sum, greatest, event, length),                      \
        RS_FIRST(sum, first, event, start), RS_UNITED(sum, active, event, start, end),                       \
        RS_BY_OWN_HAND(sum, spare), RS_TOTAL(sum, of_name, total, name),                                     \
        RS_MOMENTS(sum, time, event, length), RS_DESCRIBED(sum, rates, event, rate, 2)
static const rs_aggregate by_name[] = {RS_KEY(sum, name, event, name), RS_KEY(sum, class, event, class),
                                       SUMS};
static const rs_aggregate by_three[] = {RS_KEY(sum, name, event, name), RS_KEY(sum, class, event, class),
                                        RS_KEY(sum, device, event, device), SUMS};

static size_t random_events(event *out, size_t most)
{
    size_t n = next_random() % (most + 1);
    for (size_t i = 0; i < n; i++) {
        int64_t start = next_random() % 1000,
                length = next_random() % 7 == 0 ? INT64_MIN : next_random() % 50;
        out[i] = (event){.name = next_random() % 4,
                         .class = (uint8_t)(next_random() % 2),
                         .device = (int64_t)(next_random() % 3) << 40,
                         .start = start,
                         .end = start + (length > 0 ? length : 0),
                         .length = length,
                         .rate = next_random() % 5 == 0 ? (double)NAN : next_random() % 100};
    }
    return n;
}

static bool is_of(const event *e, const sum *s, bool three)
{
    return e->name == s->name && e->class == s->class && (!three || e->device == s->device);
}

/* Compares one group with what its events add up to. */
static void check_group(const sum *s, const event *events, size_t n, bool three)
{
    double rates[200];
    bool axis[1100] = {false};
    rs_moments time = {0};
    int64_t count = 0, active = 0, first = -1;
    size_t n_rates = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_of(&events[i], s, three)) continue;
        if (!count++) first = events[i].start;
        if (events[i].length != INT64_MIN) rs_moments_add(&time, events[i].length);
        if (!isnan(events[i].rate)) rates[n_rates++] = events[i].rate / 2;
        for (int64_t t = events[i].start; t < events[i].end; t++) axis[t] = true;
    }
    for (size_t t = 0; t < N_KEYS(axis); t++) active += axis[t];
    rs_description d = rs_describe(rates, n_rates);
    assert_int_equal(s->n, count);
    assert_int_equal(s->known, time.n);
    assert_int_equal(s->total, time.sum);
    assert_int_equal(s->least, time.n ? time.min : INT64_MIN);
    assert_int_equal(s->greatest, time.n ? time.max : INT64_MIN);
    assert_int_equal(s->first, first);
    assert_int_equal(s->active, active);
    assert_int_equal(s->spare, 0);
    assert_memory_equal(&s->time, &time, sizeof time);
    assert_int_equal(s->rates.n, d.n);
    assert_true(d.n == 0 || (s->rates.p50 == d.p50 && s->rates.sum == d.sum && s->rates.max == d.max));
}

TEST(test_groups_equal_counting)
{
    for (seed = 1; seed < 400; seed++) {
        uint64_t before = seed;
        event events[200];
        size_t n = random_events(events, 200);
        for (int three = 0; three < 2; three++) {
            rs_relation sums = {.size = sizeof(sum)};
            rs_grouper g;
            size_t met = 0;
            if (three)
                rs_grouper_open(&g, by_three, N_KEYS(by_three), &sums);
            else
                rs_grouper_open(&g, by_name, N_KEYS(by_name), &sums);
            assert_int_equal(g.narrow, !three);
            for (size_t i = 0; i < n; i++) {
                const sum *s = rs_grouper_add(&g, &events[i]);
                assert_non_null(s);
                assert_true(is_of(&events[i], s, three));
            }
            assert_true(rs_grouper_close(&g));
            const sum *rows = sums.rows;
            for (size_t i = 0; i < sums.n; i++) {
                int64_t total = 0;
                for (size_t k = 0; k < sums.n; k++) total += rows[k].name == rows[i].name ? rows[k].total : 0;
                assert_int_equal(rows[i].of_name, total);
                check_group(&rows[i], events, n, three);
                met += (size_t)rows[i].n;
                for (size_t k = 0; k < i; k++) /* no group twice */
                    assert_false(rows[k].name == rows[i].name && rows[k].class == rows[i].class &&
                                 (!three || rows[k].device == rows[i].device));
            }
            assert_int_equal(met, n);
            rs_relation_clear(&sums);
        }
        seed = before;
    }
}

/* Two groups made one are the group of all their events, but for what needs all values. */
TEST(test_groups_merge)
{
    for (seed = 1; seed < 200; seed++) {
        uint64_t before = seed;
        event events[60];
        size_t n = random_events(events, 60), half = n / 2;
        for (size_t i = 0; i < n; i++) events[i].name = events[i].class = 0;
        rs_relation parts[3] = {{.size = sizeof(sum)}, {.size = sizeof(sum)}, {.size = sizeof(sum)}};
        for (int p = 0; p < 3; p++) {
            rs_grouper g;
            rs_grouper_open(&g, by_name, N_KEYS(by_name), &parts[p]);
            for (size_t i = p == 1 ? half : 0; i < (p == 0 ? half : n); i++) rs_grouper_add(&g, &events[i]);
            assert_true(rs_grouper_close(&g));
        }
        if (half && n > half) {
            sum *one = parts[0].rows;
            const sum *all = parts[2].rows;
            rs_aggregate_merge(by_name, N_KEYS(by_name), one, parts[1].rows);
            assert_int_equal(one->n, all->n);
            assert_int_equal(one->known, all->known);
            assert_int_equal(one->total, all->total);
            assert_int_equal(one->least, all->least);
            assert_int_equal(one->greatest, all->greatest);
            assert_int_equal(one->time.sum, all->time.sum);
            assert_int_equal(one->time.n, all->time.n);
            assert_int_equal(one->active, INT64_MIN);
            assert_true(isnan(one->rates.p50));
        }
        for (int p = 0; p < 3; p++) rs_relation_clear(&parts[p]);
        seed = before;
    }
}

TEST(test_sums_stay_at_the_ends)
{
    static const event events[] = {{.length = INT64_MAX, .rate = 1}, {.length = INT64_MAX, .rate = 1}};
    rs_relation sums = {.size = sizeof(sum)};
    rs_grouper g;
    rs_grouper_open(&g, by_name, N_KEYS(by_name), &sums);
    for (size_t i = 0; i < 2; i++) assert_non_null(rs_grouper_add(&g, &events[i]));
    assert_true(rs_grouper_close(&g));
    assert_int_equal(((const sum *)sums.rows)->total, INT64_MAX);
    rs_relation_clear(&sums);
}

/* Each allocation fails in turn: the grouper says so in the end, whatever was added in between. */
TEST(test_lack_of_memory_is_reported)
{
    event events[100];
    seed = 5;
    for (size_t i = 0; i < 100; i++) random_events(&events[i], 1);
    for (uint64_t k = 1;; k++) {
        rs_relation sums = {.size = sizeof(sum)};
        rs_grouper g;
        rs_test_fail_allocation(k);
        rs_grouper_open(&g, by_three, N_KEYS(by_three), &sums);
        for (size_t i = 0; i < 100; i++) rs_grouper_add(&g, &events[i]);
        bool ok = rs_grouper_close(&g);
        bool failed = rs_test_fail_allocation(0) >= k;
        assert_int_equal(ok, !failed);
        rs_relation_clear(&sums);
        if (!failed) break;
    }
}
