/* Decoding, UTF-8 and numbers, by table and against jansson and strtod. */
#include "support.h"

#include <jansson.h>
#include <math.h>

#include "input/json.h"

#define BYTES(s) ((const uint8_t *)(s))

/* ---- decoding --------------------------------------------------------------------------------------- */

TEST(test_decode)
{
    static const struct {
        const char *in, *out;
        bool repaired;
    } cases[] = {
        {"plain", "plain", false},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", false},
        {"\\u0041\\u00e9\\u20ac\\uD83D\\uDE00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", false},
        {"\\ud83d", "\xef\xbf\xbd", true},
        {"\\ud83dx", "\xef\xbf\xbdx", true},
        {"\\ud83d\\u0041",
         "\xef\xbf\xbd"
         "A",
         true},
        {"\\ude00", "\xef\xbf\xbd", true},
        {"\\x\\", "\\x\\", true},
        {"\\u12g4", "\\u12g4", true},
        {"\\u123", "\\u123", true},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b",
         true},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", true},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", true},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", true},
        {"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80",
         "\xf4\x8f\xbf\xbf\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].in);
        guarded in = guarded_copy(cases[i].in, n);
        char *room = calloc(3, n + 1);
        assert_non_null(room);
        bool repaired;
        size_t made = rs_json_decode(in.bytes, n, room, &repaired);
        assert_int_equal(made, strlen(cases[i].out));
        assert_memory_equal(room, cases[i].out, made);
        assert_int_equal(repaired, cases[i].repaired);
        free(room);
        guarded_free(&in);
    }
    char nul[8];
    assert_int_equal(rs_json_decode(BYTES("\\u0000"), 6, nul, NULL), 1);
    assert_int_equal(nul[0], 0);
}

/* Every valid JSON string that jansson decodes comes out the same; every output is valid UTF-8 and fits. */
TEST(test_decode_mutations)
{
    rng r = {7};
    for (size_t i = 0; i < ROUNDS(40000); i++) {
        text t = {0};
        text_puts(&t, "x\\u00e9\\ud83d\\ude00\xc3\xa9\xf0\x9f\x98\x80\\n\\\\y\\u0041z");
        text_mutate(&t, &r);
        char *room = malloc(3 * t.n + 1);
        assert_non_null(room);
        bool repaired;
        size_t n = rs_json_decode(BYTES(t.s), t.n, room, &repaired);
        assert_true(n <= 3 * t.n && rs_utf8_valid(BYTES(room), n));
        text quoted = {0};
        text_printf(&quoted, "\"%s\"", t.s ? t.s : "");
        json_t *j = json_loadb(quoted.s, quoted.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (j && strlen(t.s) == t.n) {
            assert_int_equal(json_string_length(j), n);
            assert_memory_equal(json_string_value(j), room, n);
            assert_false(repaired);
        }
        json_decref(j);
        n = rs_utf8_repair(BYTES(t.s), t.n, room);
        assert_true(n <= 3 * t.n && rs_utf8_valid(BYTES(room), n));
        if (rs_utf8_valid(BYTES(t.s), t.n)) {
            assert_int_equal(n, t.n);
            assert_memory_equal(room, t.s, n);
        }
        free(room);
        text_clear(&quoted);
        text_clear(&t);
    }
}

/* Each sequence of up to three bytes and each four-byte one with sampled tails, by the table of RFC 3629. */
TEST(test_utf8)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        uint8_t s[4];
        size_t n;
        if (c < 0x80) {
            s[0] = (uint8_t)c, n = 1;
        } else if (c < 0x800) {
            s[0] = (uint8_t)(0xc0 | c >> 6), s[1] = (uint8_t)(0x80 | (c & 63)), n = 2;
        } else if (c < 0x10000) {
            s[0] = (uint8_t)(0xe0 | c >> 12), s[1] = (uint8_t)(0x80 | (c >> 6 & 63)),
            s[2] = (uint8_t)(0x80 | (c & 63)), n = 3;
        } else {
            s[0] = (uint8_t)(0xf0 | c >> 18), s[1] = (uint8_t)(0x80 | (c >> 12 & 63)),
            s[2] = (uint8_t)(0x80 | (c >> 6 & 63)), s[3] = (uint8_t)(0x80 | (c & 63)), n = 4;
        }
        bool surrogate = c >= 0xd800 && c < 0xe000;
        assert_int_equal(rs_utf8_valid(s, n), !surrogate);
        if (n > 1) assert_false(rs_utf8_valid(s, n - 1));
    }
    size_t valid2 = 0, valid3 = 0;
    for (unsigned a = 0x80; a < 256; a++) {
        assert_false(rs_utf8_valid(&(uint8_t){(uint8_t)a}, 1));
        for (unsigned b = 0; b < 256; b++) {
            valid2 += rs_utf8_valid((uint8_t[]){(uint8_t)a, (uint8_t)b}, 2);
            for (unsigned c = 0x80; c < 0xc0; c++)
                valid3 += rs_utf8_valid((uint8_t[]){(uint8_t)a, (uint8_t)b, (uint8_t)c}, 3);
        }
    }
    assert_int_equal(valid2, 0x800 - 0x80);
    assert_int_equal(valid3, 0x10000 - 0x800 - 0x800);
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

TEST(test_int)
{
    static const struct {
        const char *s;
        bool ok;
        int64_t v;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"12", true, 12},
        {"-3", true, -3},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"5.0", true, 5},
        {"5.5", false, 0},
        {"1e3", true, 1000},
        {"1.5e1", true, 15},
        {"1.25e1", false, 0},
        {"9223372036854775807.0", true, INT64_MAX},
        {"9.223372036854775807e18", true, INT64_MAX},
        {"1e18", true, 1000000000000000000},
        {"1e19", false, 0},
        {"100e-2", true, 1},
        {"1e-1", false, 0},
        {"0e999999999999999999999", true, 0},
        {"1e999999999999999999999", false, 0},
        {"4503599627370497.25", false, 0},
        {"9007199254740993.0", true, 9007199254740993},
        {"1.0000000000000000000000001", false, 0},
        {"1.00000000000000000000000000", true, 1},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {"1.", false, 0},
        {".5", false, 0},
        {"1e", false, 0},
        {"1e+", false, 0},
        {"1x", false, 0},
        {"x", false, 0},
        {"0x10", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.2.3", false, 0},
        {"--1", false, 0},
        {"NaN", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = -77;
        size_t n = strlen(cases[i].s);
        guarded g = guarded_copy(cases[i].s, n);
        bool ok = rs_json_int(g.bytes, n, &v);
        if (ok != cases[i].ok || (ok && v != cases[i].v))
            fail_msg("%s: %d %lld", cases[i].s, ok, (long long)v);
        guarded_free(&g);
    }
}

static bool same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

TEST(test_real)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "-0.0",
                                       "0.1",
                                       "1e308",
                                       "4.9e-324",
                                       "1e-400",
                                       "123456789.123456789",
                                       "2.2250738585072011e-308",
                                       "9007199254740993",
                                       "1.7976931348623157e308",
                                       "000012.50",
                                       "1E+5",
                                       "0.000000000001"};
    static const char *const poor[] = {"",    "-",     "+1",     "1.", ".5", "1e",    "1e+",   "e5",  "NaN",
                                       "inf", "1e400", "-1e999", "1 ", " 1", "0x1p3", "1.2.3", "1,5", "--1"};
    double d;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(rs_json_real(BYTES(good[i]), strlen(good[i]), &d));
        if (!same_double(d, strtod(good[i], NULL))) fail_msg("%s became %.17g", good[i], d);
    }
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++)
        if (rs_json_real(BYTES(poor[i]), strlen(poor[i]), &d)) fail_msg("%s became %.17g", poor[i], d);
    /* any length, and the last of a thousand digits may decide a tie */
    text t = {0};
    text_puts(&t, "9007199254740993");
    assert_true(rs_json_real(BYTES(t.s), t.n, &d) && d == 9007199254740992.0);
    text_puts(&t, ".");
    for (int i = 0; i < 1000; i++) text_puts(&t, "0");
    assert_true(rs_json_real(BYTES(t.s), t.n, &d) && d == 9007199254740992.0);
    text_puts(&t, "1");
    assert_true(rs_json_real(BYTES(t.s), t.n, &d) && d == 9007199254740994.0);
    text_clear(&t);
    for (int i = 0; i < 2000; i++) text_puts(&t, "7");
    text_puts(&t, "e-1990");
    assert_true(rs_json_real(BYTES(t.s), t.n, &d) && same_double(d, 7777777777.7777777777777777777));
    text_clear(&t);
    text_puts(&t, "0.");
    for (int i = 0; i < 2000; i++) text_puts(&t, "0");
    text_puts(&t, "125e2001");
    assert_true(rs_json_real(BYTES(t.s), t.n, &d) && d == 1.25);
    text_clear(&t);
}

TEST(test_real_at_random)
{
    rng r = {3};
    char s[64];
    for (size_t i = 0; i < ROUNDS(40000); i++) {
        uint64_t bits = rng_next(&r);
        double x, d;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        snprintf(s, sizeof s, "%.*e", (int)rng_below(&r, 20), x);
        bool ok = rs_json_real(BYTES(s), strlen(s), &d);
        x = strtod(s, NULL);
        if (ok != (isfinite(x) != 0) || (ok && !same_double(d, x))) fail_msg("%s became %.17g", s, d);
    }
}
