/* Tandem repeats against a search that tries every place and period. */
#include <string.h>

#include "base/memory.h"
#include "trace/tandem.h"
#include "unit.h"

static void tokens_of(const char *text, uint32_t *out)
{
    for (size_t i = 0; text[i]; i++) out[i] = (uint32_t)(unsigned char)text[i];
}

static void expect(const char *text, size_t least, const rs_tandem *want, size_t n_want)
{
    uint32_t token[256] = {0};
    rs_tandem *got = NULL;
    size_t n = 0;
    tokens_of(text, token);
    assert_int_equal(rs_tandem_find(token, strlen(text), least, &got, &n, NULL), RS_OK);
    assert_int_equal(n, n_want);
    for (size_t i = 0; i < n_want; i++) {
        assert_int_equal(got[i].first, want[i].first);
        assert_int_equal(got[i].period, want[i].period);
        assert_int_equal(got[i].times, want[i].times);
        assert_int_equal(got[i].level, want[i].level);
    }
    rs_free(got);
}

TEST(test_by_hand)
{
    expect("xabcdabcdabcdy", 4, (rs_tandem[]){{1, 4, 3, 0}}, 1);
    expect("abcdabcdabc", 4, NULL, 0); /* twice and a part */
    expect("abababab", 4, NULL, 0);    /* of two tokens */
    expect("abcdeabcdeabcdexfghijkfghijkfghijkfghijk", 4, (rs_tandem[]){{0, 5, 3, 0}, {16, 6, 4, 0}}, 2);
    /* layers within micro batches */
    expect("eabcdabcdabcdlfeabcdabcdabcdlfeabcdabcdabcdlf", 4,
           (rs_tandem[]){{0, 15, 3, 0}, {1, 4, 3, 1}, {16, 4, 3, 1}, {31, 4, 3, 1}}, 4);
    expect("abababaabaaba", 2, (rs_tandem[]){{4, 3, 3, 0}}, 1); /* overlaps a shorter one */
    expect("", 4, NULL, 0);
    expect("aaaaaaaaaaaaaaaa", 1, (rs_tandem[]){{0, 1, 16, 0}}, 1);
}

/* The longest repeat of random texts of few letters is the longest there is. */
TEST(test_against_all)
{
    uint64_t random = 1;
    for (int round = 0; round < 400; round++) {
        uint32_t token[80];
        size_t n = 10 + (size_t)round % 70, best = 0, mine = 0;
        for (size_t i = 0; i < n; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            token[i] = (uint32_t)(random >> 62) % (round % 3 ? 2 : 3);
        }
        for (size_t period = 2; period * 3 <= n; period++)
            for (size_t i = 0, run = 0; i + period < n; i++) {
                run = token[i] == token[i + period] ? run + 1 : 0;
                size_t times = (run + period) / period;
                bool primitive = true; /* of half, third, ... of the period? */
                for (size_t p = 1; primitive && p < period; p++) {
                    if (period % p) continue;
                    bool all = true;
                    for (size_t k = i + 1 - run; all && k + p <= i + period; k++)
                        all = token[k] == token[k + p];
                    primitive = !all;
                }
                if (run && times >= 3 && primitive && times * period > best) best = times * period;
            }
        rs_tandem *got;
        size_t n_got;
        assert_int_equal(rs_tandem_find(token, n, 2, &got, &n_got, NULL), RS_OK);
        for (size_t i = 0; i < n_got; i++) {
            size_t length = got[i].period * got[i].times;
            assert_true(got[i].first + length <= n);
            for (size_t k = got[i].first; k + got[i].period < got[i].first + length; k++)
                assert_int_equal(token[k], token[k + got[i].period]);
            if (length > mine) mine = length;
        }
        assert_int_equal(mine, best);
        rs_free(got);
    }
}

TEST(test_no_memory)
{
    uint32_t token[256];
    const char *text = "eabcdabcdabcdlfeabcdabcdabcdlfeabcdabcdabcdlf";
    tokens_of(text, token);
    for (uint64_t at = 1;; at++) {
        rs_tandem *got;
        size_t n;
        rs_test_fail_allocation(at);
        rs_status status = rs_tandem_find(token, strlen(text), 4, &got, &n, NULL);
        bool through = rs_test_fail_allocation(0) < at;
        assert_int_equal(status, through ? RS_OK : RS_ERR_NOMEM);
        if (status == RS_OK) rs_free(got);
        if (through) break;
    }
}
