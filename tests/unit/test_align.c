/* Alignment of siblings against a plain table of all cells that follows the rule word for word. */
#include <stdlib.h>
#include <string.h>

#include "base/align.h"
#include "base/memory.h"
#include "unit.h"

#define MOST 48

/* Matches, then matches of equal details, of what is left of a from i and of b from j on. */
typedef struct score {
    int matches, equal;
} score;

static int better(score x, score y)
{
    return x.matches != y.matches ? x.matches > y.matches : x.equal > y.equal;
}

static int same(score x, score y)
{
    return x.matches == y.matches && x.equal == y.equal;
}

static score with_match(const rs_align_item *a, const rs_align_item *b, score rest)
{
    return (score){rest.matches + 1, rest.equal + (a->detail == b->detail)};
}

static void by_the_rule(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match)
{
    static score best[MOST + 1][MOST + 1];
    for (size_t i = 0; i <= n; i++) best[i][m] = (score){0, 0};
    for (size_t j = 0; j <= m; j++) best[n][j] = (score){0, 0};
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            score s = best[i + 1][j];
            if (better(best[i][j + 1], s)) s = best[i][j + 1];
            if (a[i].name == b[j].name) {
                score with = with_match(&a[i], &b[j], best[i + 1][j + 1]);
                if (better(with, s)) s = with;
            }
            best[i][j] = s;
        }
    for (size_t i = 0; i < n; i++) match[i] = RS_NO_MATCH;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        if (a[i].name == b[j].name && same(with_match(&a[i], &b[j], best[i + 1][j + 1]), best[i][j]))
            match[i++] = (uint32_t)j++;
        else if (same(best[i + 1][j], best[i][j]))
            i++;
        else
            j++;
    }
}

static uint32_t random_state = 1;
static uint32_t any(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static void compare(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m)
{
    static const rs_align_limits limits[] = {
        {1, SIZE_MAX, 1}, {40, SIZE_MAX, 1}, {200, SIZE_MAX, 1}, {1 << 20, SIZE_MAX, 1}};
    uint32_t wanted[MOST], got[MOST];
    by_the_rule(a, n, b, m, wanted);
    bool pieces = false;
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        assert_true(rs_align_within(a, n, b, m, got, &limits[k], &pieces));
        assert_memory_equal(got, wanted, n * sizeof *got);
        assert_false(pieces);
    }
    /* piece by piece order and names are kept, and most of what matches is found */
    assert_true(rs_align_within(a, n, b, m, got, &(rs_align_limits){1, 1, 8}, &pieces));
    for (size_t i = 0, next = 0; i < n; i++) {
        if (got[i] == RS_NO_MATCH) continue;
        assert_true(got[i] >= next && got[i] < m);
        assert_int_equal(a[i].name, b[got[i]].name);
        next = got[i] + 1;
    }
}

TEST(test_random)
{
    rs_align_item a[MOST], b[MOST];
    for (int turn = 0; turn < ROUNDS(20000); turn++) {
        size_t n = any(MOST), m = any(MOST);
        uint32_t names = 1 + any(8), details = 1 + any(3);
        for (size_t i = 0; i < n; i++) a[i] = (rs_align_item){any(names), any(details)};
        for (size_t j = 0; j < m; j++) b[j] = (rs_align_item){any(names) + (turn & 1), any(details)};
        compare(a, n, b, m);
    }
}

/* Nearly equal ones, as traces of one model are. */
TEST(test_edited)
{
    rs_align_item a[MOST], b[MOST];
    for (int turn = 0; turn < ROUNDS(20000); turn++) {
        size_t n = MOST - 8, m = 0;
        for (size_t i = 0; i < n; i++) a[i] = (rs_align_item){any(6), any(2)};
        for (size_t i = 0; i < n && m < MOST; i++) {
            uint32_t what = any(12);
            if (what == 0) continue;
            if (what == 1 && m + 1 < MOST) b[m++] = (rs_align_item){any(7), any(2)};
            b[m++] = what == 2 ? (rs_align_item){a[i].name, any(2)} : a[i];
        }
        compare(a, n, b, m);
    }
}

/* The examples of the rule: an item of b without a counterpart decides which of a's is taken. */
TEST(test_ties)
{
    const rs_align_item a[] = {{1, 0}, {1, 0}}, b[] = {{9, 0}, {1, 0}};
    uint32_t match[2];
    bool pieces;
    assert_true(rs_align(a, 2, b, 2, match, &pieces));
    assert_int_equal(match[0], RS_NO_MATCH);
    assert_int_equal(match[1], 1);
    assert_true(rs_align(a, 2, b + 1, 1, match, &pieces));
    assert_int_equal(match[0], 0);
    assert_int_equal(match[1], RS_NO_MATCH);
    assert_true(rs_align(a, 0, b, 2, match, &pieces));
    assert_true(rs_align(a, 2, b, 0, match, &pieces));
    assert_int_equal(match[0], RS_NO_MATCH);
}

/* A hundred thousand siblings that differ here and there. */
TEST(test_long)
{
    enum { LONG = 100000 };
    rs_align_item *a = malloc(LONG * sizeof *a), *b = malloc(LONG * sizeof *b);
    uint32_t *match = malloc(LONG * sizeof *match);
    bool pieces = false;
    size_t m = 0, dropped = 0, matches = 0;
    for (size_t i = 0; i < LONG; i++) a[i] = (rs_align_item){any(50), any(4)};
    for (size_t i = 0; i < LONG; i++) {
        if (any(1000) == 0)
            dropped++;
        else
            b[m++] = a[i];
    }
    assert_true(rs_align(a, LONG, b, m, match, &pieces));
    for (size_t i = 0, last = 0; i < LONG; i++) {
        if (match[i] == RS_NO_MATCH) continue;
        assert_true(match[i] >= last);
        last = match[i] + 1;
        matches++;
    }
    assert_int_equal(matches, LONG - dropped);
    assert_false(pieces);
    rs_align_limits small = {1 << 20, 1 << 20, 512};
    assert_true(rs_align_within(a, LONG, b, m, match, &small, &pieces));
    assert_true(pieces);
    size_t found = 0;
    for (size_t i = 0; i < LONG; i++) found += match[i] != RS_NO_MATCH;
    assert_true(found > matches - matches / 100);
    free(a);
    free(b);
    free(match);
}

TEST(test_memory)
{
    const rs_align_item a[] = {{1, 0}, {2, 0}, {3, 0}, {1, 1}, {2, 2}, {3, 3}};
    const rs_align_item b[] = {{3, 0}, {1, 0}, {2, 1}, {3, 1}, {2, 2}, {4, 0}};
    uint32_t match[6];
    bool pieces = false;
    for (uint64_t n = 1;; n++) {
        rs_test_fail_allocation(n);
        bool ok = rs_align_within(a, 6, b, 6, match, &(rs_align_limits){1, n % 2 ? 1 : SIZE_MAX, 2}, &pieces);
        rs_test_fail_allocation(0);
        if (ok) break;
        assert_true(n < 100);
    }
}
