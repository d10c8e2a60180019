/* Packed columns: what goes in comes out, whole and by travelling; damaged ones are refused or read within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/packed.h"

static uint64_t state_of_chance = 1;
static uint32_t by_chance(void)
{
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_chance >> 32);
}

/* Numbers of every width: block by block another, with the least and the largest of 32 bits among them. */
static uint32_t number(size_t i)
{
    const unsigned bits = (unsigned)(i >> RS_PACKED_BLOCK) % 33;
    const uint32_t mask = bits ? UINT32_MAX >> (32 - bits) : 0;
    return i % 97 == 5 ? mask : (i % 89 == 7 ? 0 : by_chance() & mask) + (bits < 20 ? 1000000 : 0);
}

static rs_packed make(const uint32_t *values, size_t n)
{
    rs_packed p = {0};
    rs_bit_packer packer = {.to = &p};
    for (size_t i = 0; i < n; i++) rs_bit_packer_add(&packer, values[i]);
    assert_true(rs_bit_packer_end(&packer));
    return p;
}

/* In pairs, in order, and here and there. */
static void check_reads(const rs_packed *p, const uint32_t *values, size_t n)
{
    rs_packed_reader in_order = {.of = p}, anywhere = {.of = p};
    for (size_t i = 0; i < n; i++) {
        uint32_t next;
        const size_t other = by_chance() % n;
        assert_int_equal(rs_packed_read(&in_order, i), values[i]);
        assert_int_equal(rs_packed_read(&anywhere, other), values[other]);
        if (i + 1 == n) continue;
        assert_int_equal(rs_packed_two(p, i, &next), values[i]);
        assert_int_equal(next, values[i + 1]);
    }
}

static void test_numbers(void **state)
{
    static const size_t lengths[] = {0, 1, 2, 63, 64, 65, 128, 1000, 64 * 70, 64 * 70 + 33};
    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k];
        uint32_t *values = rs_malloc((n + 1) * sizeof *values);
        for (size_t i = 0; i < n; i++) values[i] = number(i);
        rs_packed p = make(values, n), wide;
        for (size_t i = 0; i < n; i++) assert_int_equal(rs_packed_at(&p, i), values[i]);
        check_reads(&p, values, n);
        assert_true(rs_packed_holds(&p, n));
        assert_false(rs_packed_holds(&p, n + 65));
        if (n) assert_false(rs_packed_holds(&p, n > 64 ? n - 64 : 0));
        assert_true(rs_packed_spread(&p, n, &wide));
        for (size_t i = 0; i < n; i++) assert_int_equal(rs_packed_at(&wide, i), values[i]);
        check_reads(&wide, values, n);
        rs_free(wide.spread);
        rs_packed_clear(&p);
        rs_free(values);
    }
}

/* What is the same everywhere takes no bits, and small differences few. */
static void test_size(void **state)
{
    static uint32_t values[6400];
    (void)state;
    for (size_t i = 0; i < 6400; i++) values[i] = UINT32_MAX;
    rs_packed p = make(values, 6400);
    assert_int_equal(rs_packed_size(&p), 101 * sizeof(rs_packed_block) + 8);
    rs_packed_clear(&p);
    for (size_t i = 0; i < 6400; i++) values[i] = 4000000000u + (i & 7);
    p = make(values, 6400);
    assert_int_equal(rs_packed_size(&p), 101 * sizeof(rs_packed_block) + 6400 * 3 / 8 + 8);
    rs_packed_clear(&p);
}

static void test_travels(void **state)
{
    static uint32_t values[700];
    size_t n_refused = 0;
    (void)state;
    for (size_t i = 0; i < 700; i++) values[i] = number(i * 20);
    rs_packed p = make(values, 700);
    rs_wire_writer w = {0};
    rs_layout_pack(&rs_packed_layout, &p, &w);
    for (int turn = 0; turn < 3000; turn++) {
        rs_arena arena = {0};
        uint8_t *bytes = rs_malloc(w.n);
        memcpy(bytes, w.bytes, w.n);
        if (turn) bytes[by_chance() % (turn % 2 ? w.n : 80)] = (uint8_t)by_chance();
        rs_wire_reader r = {.p = bytes, .end = bytes + w.n, .arena = &arena};
        const rs_packed *copy = rs_layout_unpack(&rs_packed_layout, &r);
        const bool good = copy && !r.bad && rs_packed_holds(copy, 700);
        uint32_t sum = 0;
        for (size_t i = 0; good && i < 700; i++) {
            if (!turn) assert_int_equal(rs_packed_at(copy, i), values[i]);
            sum += rs_packed_at(copy, i);
        }
        if (!turn) assert_true(good && sum);
        n_refused += !good;
        rs_arena_clear(&arena);
        rs_free(bytes);
    }
    assert_true(n_refused > 300);
    rs_wire_clear(&w);
    rs_packed_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_size),
                                       cmocka_unit_test(test_travels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
