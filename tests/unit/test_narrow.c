/* Narrow numbers: every size, width, length and "none", there and back, on this machine and without its vectors; and
 * blocks that are none. */
#include "store/narrow.h"
#include "support.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const unsigned sizes[] = {1, 2, 4, 8};

static void put_number(uint8_t *at, unsigned size, uint64_t value)
{
    memcpy(at, &value, size); /* the low bytes come first on every machine that the store's files are for */
}

/* What that many bytes keep of the number that means "none". */
static uint64_t none_of(unsigned size)
{
    return size == 8 ? (uint64_t)INT64_MIN : UINT32_MAX;
}

/* n numbers from `base` on that need `width` bytes for their distances. */
static void fill(uint8_t *numbers, size_t n, unsigned size, unsigned width, uint64_t base, bool none, rng *r)
{
    uint64_t most = width == 8 ? UINT64_MAX >> 1 : (UINT64_C(1) << (8 * width)) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t d = width ? rng_next(r) % most : 0;
        if (i + 1 == n && width) d = most - none - 1; /* at least one needs all of them */
        if (i == 0) d = 0;
        put_number(numbers + i * size, size, none && i % 3 == 1 ? none_of(size) : base + d);
    }
}

static void expect_round(const uint8_t *numbers, size_t n, unsigned size, size_t length)
{
    uint8_t packed[RS_NARROW_MOST], plain[RS_NARROW_MOST], back[8 * RS_NARROW_BLOCK];
    size_t used = rs_narrow_put(numbers, n, size, packed);
    assert_int_equal(used, length);
    assert_int_equal(rs_narrow_put_plain(numbers, n, size, plain), used);
    assert_memory_equal(packed, plain, used);
    assert_true(used >= rs_narrow_least(n, size) && used <= RS_NARROW_MOST);
    guarded g = guarded_copy(packed, used);
    for (int way = 0; way < 2; way++) {
        memset(back, 0x55, sizeof back);
        assert_int_equal((way ? rs_narrow_take : rs_narrow_take_plain)(g.bytes, used, n, size, back), used);
        assert_memory_equal(back, numbers, n * size);
        for (size_t i = n * size; i < sizeof back; i++) assert_int_equal(back[i], 0x55);
        /* cut anywhere it is none */
        for (size_t cut = 0; cut < used; cut += 1 + cut / 4)
            assert_int_equal((way ? rs_narrow_take : rs_narrow_take_plain)(g.bytes, cut, n, size, back), 0);
    }
    guarded_free(&g);
}

TEST(test_rounds)
{
    static const unsigned widths[] = {0, 1, 2, 3, 4, 8};
    static const size_t lengths[] = {1, 2, 3, 31, 255, RS_NARROW_BLOCK};
    uint8_t numbers[8 * RS_NARROW_BLOCK];
    rng r = {7};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t w = 0; w < COUNT(widths) && widths[w] <= sizes[s]; w++)
            for (size_t l = 0; l < COUNT(lengths); l++)
                for (int none = 0; none < (sizes[s] < 4 ? 1 : 2); none++) {
                    size_t n = lengths[l];
                    /* far from 0, and across it where numbers have a sign */
                    uint64_t bases[] = {0, 3, sizes[s] == 8 ? (uint64_t)-5 : 1};
                    /* two numbers are needed to differ, three for one of them to be none; 16 bits do not fit behind a base */
                    if ((widths[w] && n < 3) || (none && n < 2)) continue;
                    for (size_t b = 0; b < COUNT(bases); b++) {
                        if (widths[w] == sizes[s] && bases[b]) continue;
                        /* distances of all eight bytes */
                        uint64_t base = widths[w] == 8 ? (uint64_t)INT64_MIN + 2 : bases[b];
                        fill(numbers, n, sizes[s], widths[w], base, none, &r);
                        if (widths[w] == 8) put_number(numbers + (n - 1) * 8, 8, INT64_MAX);
                        /* where some are none, distance 0 is theirs */
                        expect_round(numbers, n, sizes[s],
                                     1 + sizes[s] + n * (widths[w] ? widths[w] : (unsigned)none));
                    }
                }
}

/* Nothing but "none", the ends of each range, and one number alone. */
TEST(test_ends)
{
    uint8_t numbers[8 * RS_NARROW_BLOCK];
    for (size_t n = 1; n <= RS_NARROW_BLOCK; n = n == 1 ? RS_NARROW_BLOCK : n + 1) {
        for (size_t i = 0; i < n; i++) put_number(numbers + 4 * i, 4, UINT32_MAX);
        expect_round(numbers, n, 4, 5);
        for (size_t i = 0; i < n; i++) put_number(numbers + 8 * i, 8, (uint64_t)INT64_MIN);
        expect_round(numbers, n, 8, 9);
        put_number(numbers + 8 * (n - 1), 8, INT64_MAX);
        expect_round(numbers, n, 8, n == 1 ? 9 : 9 + n);
        put_number(numbers, 8, (uint64_t)INT64_MIN + 1);
        expect_round(numbers, n, 8, n == 1 ? 9 : 9 + 8 * n);
        memset(numbers, 0xff, n);
        expect_round(numbers, n, 1, 2);
        numbers[0] = 0;
        expect_round(numbers, n, 1, n == 1 ? 2 : 2 + n);
    }
}

/* First bytes that nobody writes: unknown bits, widths that there are not, wider than the numbers, "none" of numbers that
 * have none. */
TEST(test_none_of_ours)
{
    uint8_t bytes[RS_NARROW_MOST] = {0}, back[8 * RS_NARROW_BLOCK];
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (unsigned first = 0; first < 256; first++) {
            unsigned width = first & 15;
            bool good = !(first & 0x70) && (width <= 4 || width == 8) && width <= sizes[s] &&
                        (first < 128 || sizes[s] >= 4);
            bytes[0] = (uint8_t)first;
            for (size_t n = 5; n <= RS_NARROW_BLOCK; n += RS_NARROW_BLOCK - 5) {
                size_t want = good ? 1 + sizes[s] + n * width : 0;
                assert_int_equal(rs_narrow_take(bytes, sizeof bytes, n, sizes[s], back), want);
                assert_int_equal(rs_narrow_take_plain(bytes, sizeof bytes, n, sizes[s], back), want);
            }
        }
}
