/* Decimal microseconds to nanoseconds: by table, against 128-bit arithmetic, and through both readers. */
#include "support.h"

#include "format/kineto_core.h"

__extension__ typedef __int128 wide;

#define NO RS_NO_TIME

static bool convert(const char *ts, const char *dur, int64_t *start, int64_t *duration, unsigned *rounded)
{
    rs_exact_time a, b;
    bool ok;
    size_t n = strlen(ts);
    guarded g = guarded_copy(ts, n);
    bool parsed = rs_exact_time_parse(g.bytes, n, &a);
    guarded_free(&g);
    if (!parsed || (dur && !rs_exact_time_parse((const uint8_t *)dur, strlen(dur), &b))) return false;
    *duration = NO;
    *rounded = rs_exact_time_round(&a, dur ? &b : NULL, start, duration, &ok);
    return ok;
}

TEST(test_table)
{
    static const struct {
        const char *ts, *dur;
        int64_t start, duration;
        unsigned rounded;
    } cases[] = {
        {"0", "0", 0, 0, 0},
        {"12", "3", 12000, 3000, 0},
        {"1.5", "0.25", 1500, 250, 0},
        {"1.234", "0.001", 1234, 1, 0},
        {"1.2340000000000000000000", "1.000", 1234, 1000, 0},
        {"1700000000000000.123", "5", 1700000000000000123, 5000, 0},
        {"9007199254740993", "1", 9007199254740993000, 1000, 0},
        {"9223372036854775.806", NULL, INT64_MAX - 1, NO, 0},
        {"-9223372036854775.806", NULL, -INT64_MAX + 1, NO, 0},
        {"-3.25", "1", -3250, 1000, 0},
        {"-0", "1", 0, 1000, 0},
        {"1.5e3", "2E-3", 1500000, 2, 0},
        {"15e+2", "2e0", 1500000, 2000, 0},
        {"0.0000001e10", "1", 1000000, 1000, 0},
        {"0e99999999", "0e-99999999", 0, 0, 0},
        /* half to even, start and end each */
        {"1.0005", "0", 1000, 0, 1},
        {"1.0015", "0", 1002, 0, 1},
        {"1.0005000000000000000000000000001", "0", 1001, 0, 1},
        {"-1.0005", "0", -1000, 0, 1},
        {"-1.0015", "0", -1002, 0, 1},
        {"-1.0005000000000000000000000000001", "0", -1001, 0, 1},
        {"-1.0004999999999999999999999999999", "0", -1000, 0, 1},
        {"-0.0005", "0", 0, 0, 1},
        {"-0.0000000000000000000000001", "0", 0, 0, 1},
        {"0.0004", "0.0004", 0, 1, 2},
        {"0.0005", "0.0005", 0, 1, 2},
        {"0.0006", "0.0006", 1, 0, 2},
        {"0.0005", "0.001", 0, 2, 1}, /* the end is 1.5 ns, its even neighbour 2 */
        {"0.0015", "0.001", 2, 0, 1}, /* 1.5 to 2, 2.5 to 2 */
        {"10.1234567", "0.9876543", 10123, 988, 2},
        {"9223372036854775.8062", NULL, INT64_MAX - 1, NO, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t start = -1, duration = -1;
        unsigned rounded = 9;
        bool ok = convert(cases[i].ts, cases[i].dur, &start, &duration, &rounded);
        if (!ok || start != cases[i].start || duration != cases[i].duration || rounded != cases[i].rounded)
            fail_msg("%s + %s: %d %lld %lld, %u rounded", cases[i].ts, cases[i].dur, ok, (long long)start,
                     (long long)duration, rounded);
    }
}

TEST(test_refused)
{
    static const char *const poor[] = {"",
                                       "-",
                                       ".",
                                       "-.",
                                       "e5",
                                       "1e",
                                       "1e+",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1..2",
                                       "1.2.3",
                                       "0x10",
                                       "NaN",
                                       "Infinity",
                                       "1,5",
                                       "12a",
                                       "9223372036854775.807",
                                       "9223372036854775808",
                                       "1e17",
                                       "-9223372036854775.808",
                                       "123456789012345678901234567890",
                                       "1e999999999999999999"};
    rs_exact_time t;
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++)
        if (rs_exact_time_parse((const uint8_t *)poor[i], strlen(poor[i]), &t)) fail_msg("%s", poor[i]);
    int64_t start, duration;
    unsigned rounded;
    assert_false(convert("9223372036854775", "1", &start, &duration, &rounded));
    assert_false(convert("-9223372036854775", "-1", &start, &duration, &rounded));
    assert_false(convert("-9223372036854775", "9223372036854775.5e1", &start, &duration, &rounded));
}

TEST(test_long_texts)
{
    text t = {0};
    int64_t start, duration;
    unsigned rounded;
    for (int i = 0; i < 3000; i++) text_puts(&t, "0");
    text_puts(&t, "1.0005");
    for (int i = 0; i < 3000; i++) text_puts(&t, "0");
    assert_true(convert(t.s, NULL, &start, &duration, &rounded) && start == 1000 && rounded == 1);
    text_puts(&t, "1");
    assert_true(convert(t.s, NULL, &start, &duration, &rounded) && start == 1001 && rounded == 1);
    text_clear(&t);
    text_puts(&t, "0.");
    for (int i = 0; i < 2000000; i++) text_puts(&t, "0");
    text_puts(&t, "125e2000001");
    assert_true(convert(t.s, NULL, &start, &duration, &rounded) && start == 1250 && rounded == 0);
    text_clear(&t);
    text_puts(&t, "125");
    for (int i = 0; i < 3000; i++) text_puts(&t, "0");
    text_puts(&t, "e-3001");
    assert_true(convert(t.s, NULL, &start, &duration, &rounded) && start == 12500);
    text_clear(&t);
}

/* ---- against 128-bit arithmetic --------------------------------------------------------------------- */

/* A decimal with up to `places` <= 14 of them as a multiple of 10^-14 us. */
static wide units_of(uint64_t whole, uint64_t fraction, unsigned places, bool negative)
{
    wide u = whole;
    for (unsigned i = 0; i < 14; i++) u *= 10;
    wide f = fraction;
    for (unsigned i = places; i < 14; i++) f *= 10;
    return negative ? -(u + f) : u + f;
}

static int64_t half_even(wide units)
{
    const wide one = 100000000000; /* 1 ns */
    wide down = units / one, rest = units % one;
    if (rest < 0) {
        down--;
        rest += one;
    }
    if (rest * 2 > one || (rest * 2 == one && (down & 1))) down++;
    return (int64_t)down;
}

static uint64_t random_fraction(rng *r, unsigned places)
{
    uint64_t limit = 1;
    for (unsigned i = 0; i < places; i++) limit *= 10;
    uint64_t f = rng_next(r) % limit;
    /* often on or next to the half nanosecond */
    if (places >= 4 && rng_below(r, 3) == 0) {
        uint64_t unit = limit / 1000, half = unit / 2;
        f = f / unit * unit + half + rng_below(r, 3) - 1;
    }
    return f % limit;
}

static void spell(char out[64], bool negative, uint64_t whole, uint64_t fraction, unsigned places)
{
    int n = snprintf(out, 64, "%s%llu", negative ? "-" : "", (unsigned long long)whole);
    if (places) snprintf(out + n, 64 - (size_t)n, ".%0*llu", (int)places, (unsigned long long)fraction);
}

TEST(test_against_wide)
{
    rng r = {11};
    static const uint64_t sizes[] = {10, 1000000, 2000000000, 1800000000000000, 9223372036854774};
    for (size_t i = 0; i < ROUNDS(200000); i++) {
        unsigned p = (unsigned)rng_below(&r, 15), q = (unsigned)rng_below(&r, 15);
        uint64_t a = rng_next(&r) % sizes[rng_below(&r, 5)], b = rng_next(&r) % sizes[rng_below(&r, 4)];
        uint64_t fa = random_fraction(&r, p), fb = random_fraction(&r, q);
        bool negative = rng_below(&r, 4) == 0;
        char ts[64], dur[64];
        spell(ts, negative, a, fa, p);
        spell(dur, false, b, fb, q);
        wide x = units_of(a, p ? fa : 0, p, negative), y = units_of(b, q ? fb : 0, q, false);
        wide end = x + y;
        if (end / 100000000000 >= INT64_MAX - 1) continue;
        int64_t start, duration;
        unsigned rounded, expected = (x % 100000000000 != 0) + (y % 100000000000 != 0);
        if (!convert(ts, dur, &start, &duration, &rounded)) fail_msg("%s + %s refused", ts, dur);
        if (start != half_even(x) || start + duration != half_even(end) || rounded != expected)
            fail_msg("%s + %s: %lld %lld, %u rounded", ts, dur, (long long)start, (long long)duration,
                     rounded);
    }
}

/* ---- fast and reference reader ---------------------------------------------------------------------- */

static const char *const spellings[] = {
    "0",
    "7",
    "12345678",
    "123456789",
    "1234567890123456",
    "12345678901234567",
    "123456789012345678",
    "1234567890123456789",
    "12345678901234567890",
    "9000000000000000",
    "9000000000000001",
    "9223372036854775.8",
    "1.5",
    "1.25",
    "1.125",
    "1.0625",
    "1.06250",
    "1.000",
    "1.0005",
    "0.9999999999",
    "007",
    "00.50",
    "-1",
    "-0",
    "-1.5",
    "1e3",
    "1E3",
    "1.5e-3",
    "12e0",
    "\"12\"",
    "\"1.5\"",
    "\"x\"",
    "\"\"",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "Infinity",
    "[1]",
    "{}",
    "1.",
    ".5",
    "+1",
    "--1",
    "1e",
    "1.2.3",
    "99999999999999999999",
    "1e400",
    "12345678.12345678",
    "90071991.1234567",
    "90071992.5",
    "0.30000000000000004",
    "123456.654321",
    "1 ",
    " 1",
    "9007199254740992",
    "9007199254740993",
    "-9223372036854775808",
    "9223372036854775807",
    "0.1234567",
    "5\t",
};
#define N_SPELLINGS (sizeof spellings / sizeof *spellings)

static void add_event(text *t, const char *ts, const char *dur, const char *pid, const char *tid,
                      const char *stream, const char *occupancy, const char *other)
{
    text_printf(t,
                "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": %s, \"tid\": %s, \"ts\": %s, "
                "\"dur\": "
                "%s, \"args\": {\"stream\": %s, \"est. achieved occupancy %%\": %s, \"else\": %s}},\n",
                pid, tid, ts, dur, stream, occupancy, other);
}

/* The template often enough to be learned, then odd spellings in each place, each between two plain events:
 * read at every level, and by the reference reader alone (each event as a document of its own). */
TEST(test_readers_agree)
{
    text array = {0}, lines = {0};
    text_puts(&array, "[");
    for (size_t place = 0; place < 7; place++) {
        for (size_t k = 0; k < N_SPELLINGS; k++) {
            const char *v[] = {"100.5", "2.25", "1", "7", "7", "12.5", "3"};
            text one = {0};
            add_event(&one, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
            v[place] = spellings[k];
            add_event(&one, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
            text_add(&array, one.s, one.n);
            text_add(&lines, one.s, one.n);
            text_clear(&one);
        }
    }
    text_puts(&array, "{\"ph\": \"X\"}]");
    text_puts(&lines, "{\"ph\": \"X\"}");
    /* newlines alone separate documents: every event goes through the reference reader */
    for (size_t i = 0; i + 1 < lines.n; i++)
        if (lines.s[i] == ',' && lines.s[i + 1] == '\n') lines.s[i] = ' ';
    rs_events *slow = load(lines.s, lines.n);
    for (int simd = 1; simd <= 4; simd++) {
        rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .simd = simd};
        rs_events *fast;
        assert_int_equal(load_with(array.s, array.n, &settings, &fast, NULL), RS_OK);
        assert_int_equal(fast->n, 7 * 2 * N_SPELLINGS + 1);
        assert_int_equal(slow->n, fast->n);
        assert_true(same_rows(fast, 0, slow, 0, fast->n));
        assert_int_equal(fast->n_rounded, slow->n_rounded);
        assert_int_equal(fast->n_lost, slow->n_lost);
        assert_int_equal(problem_count(fast, "bad_time"), problem_count(slow, "bad_time"));
        assert_int_equal(problem_count(fast, "number_range"), problem_count(slow, "number_range"));
        assert_int_equal(problem_count(fast, "bad_event"), problem_count(slow, "bad_event"));
        rs_events_free(fast);
    }
    rs_events_free(slow);
    text_clear(&array);
    text_clear(&lines);
}

TEST(test_duration_without_start)
{
    rs_events *e = load_text("[{\"ph\":\"X\",\"dur\":1.0015},{\"ph\":\"X\",\"ts\":null,\"dur\":\"2\"},{"
                             "\"ph\":\"X\",\"ts\":\"4.5\"}]");
    assert_int_equal(e->n, 3);
    assert_true(e->start[0] == RS_NO_TIME && e->duration[0] == 1002);
    assert_true(e->start[1] == RS_NO_TIME && e->duration[1] == 2000);
    assert_true(e->start[2] == 4500 && e->duration[2] == RS_NO_TIME);
    assert_int_equal(e->n_rounded, 1);
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
}
