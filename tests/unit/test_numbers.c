/* Numbers as text and back against the C library, and that none of it follows the locale. */
#include "support.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "rankscope/analysis.h"
#include "analysis/gate.h"
#include "base/ascii.h"
#include "input/json.h"
#include "text/numbers.h"

static bool same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool parse(const char *from, double *out)
{
    return rs_parse_real(from, strlen(from), out);
}

TEST(test_parse)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "+5",
                                       "5.",
                                       ".5",
                                       "-.5e1",
                                       "12.50",
                                       "1E+5",
                                       "1e22",
                                       "1e23",
                                       "1e-22",
                                       "1e-23",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "123456789012345678901234567890",
                                       "0.000000000000000000000000000000000001",
                                       "5e-324",
                                       "2.4703282292062327208e-324",
                                       "2.2250738585072011e-308",
                                       "1.7976931348623157e308"};
    static const char *const poor[] = {"",    "-",     "+",   "+-1",   ".",     "e5",     "1e",
                                       "1e+", "1e5x",  "1 ",  " 1",    "0x1",   "1,5",    "inf",
                                       "nan", "1.2.3", "--1", "1e400", "1_000", "-1e999", "1e5.0"};
    double d;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(parse(good[i], &d));
        if (!same_double(d, strtod(good[i], NULL))) fail_msg("%s became %.17g", good[i], d);
    }
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++)
        if (parse(poor[i], &d)) fail_msg("%s became %.17g", poor[i], d);
    assert_true(rs_parse_real("1.5xyz", 3, &d) && d == 1.5); /* the length says where it ends */
}

TEST(test_parse_at_random)
{
    rng r = {11};
    char s[64];
    for (size_t i = 0; i < ROUNDS(100000); i++) {
        double x, d;
        if (i % 2) { /* few digits, small exponents: the quick way and its edges */
            snprintf(s, sizeof s, "%llu.%llue%d", (unsigned long long)rng_below(&r, 1u << rng_below(&r, 28)),
                     (unsigned long long)rng_below(&r, 1u << rng_below(&r, 28)), (int)rng_below(&r, 60) - 30);
        } else {
            uint64_t bits = rng_next(&r);
            memcpy(&x, &bits, sizeof x);
            if (!isfinite(x)) continue;
            snprintf(s, sizeof s, "%.*e", (int)rng_below(&r, 20), x);
        }
        x = strtod(s, NULL);
        bool ok = parse(s, &d);
        if (ok != (isfinite(x) != 0) || (ok && !same_double(d, x))) fail_msg("%s became %.17g", s, d);
    }
}

static void same_fixed(double value, unsigned decimals)
{
    char ours[RS_FIXED_SIZE], theirs[400];
    snprintf(theirs, sizeof theirs, "%.*f", (int)decimals, value);
    assert_string_equal(rs_format_fixed(value, decimals, ours), theirs);
}

TEST(test_fixed)
{
    static const double values[] = {0,     -0.0,   0.05,  0.15,    0.25,    0.35, 2.5,    3.5,  -2.5, 0.5,
                                    1.005, 99.95,  1e-9,  5e-324,  1e-30,   1e15, -1e15,  1e18, 0.1,  -0.04,
                                    1e17,  123.45, 1.375, 0x1p-40, 0x1p-10, 9e18, 1234.5, 64.75};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (unsigned d = 0; d < 10; d++) same_fixed(values[i], d);
    rng r = {5};
    for (size_t i = 0; i < ROUNDS(100000); i++) {
        /* sixteenths and the like lie in the middle between two texts */
        double value = (double)(int64_t)rng_next(&r) / (double)(UINT64_C(1) << rng_below(&r, 63));
        if (fabs(value) < 9e18) same_fixed(value, (unsigned)rng_below(&r, 10));
    }
    assert_string_equal(RS_FIXED(NAN, 1), "nan");
    assert_string_equal(RS_FIXED(-INFINITY, 1), "-inf");
    assert_string_equal(RS_FIXED(0x1p63, 1), "9.223372036854776e18");
    assert_string_equal(RS_FIXED(1e300, 1), "1e300");
    assert_string_equal(RS_FIXED(-DBL_MAX, 9), "-1.7976931348623157e308");
}

/* What the library writes and reads of numbers, as one text. */
static void speak(char *out, size_t size)
{
    char number[RS_NUMBER_SIZE + 1], human[32], grouped[48], exponent[RS_NUMBER_SIZE];
    size_t used = 0;
    static const double values[] = {0.1, 1234.5678, 1e-300, 6.02214076e23, 5e-324, 1.7976931348623157e308};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        number[rs_format_real(values[i], number)] = '\0';
        rs_format_grouped(values[i], 2, grouped);
        rs_format_exponent(values[i], 3, exponent);
        used += (size_t)snprintf(out + used, size - used, "%s %s %s %s\n", number, grouped, exponent,
                                 RS_FIXED(values[i], 2));
    }
    double read = 0, hard = 0, json = 0;
    assert_true(parse("1000.5", &read) && parse("1.00000000000000000000001e-5", &hard));
    assert_true(rs_json_real((const uint8_t *)"3.14159265358979323846264338327950288", 37, &json));
    assert_false(parse("1000,5", &read));
    snprintf(out + used, size - used, "%lld %lld %lld %s %s\n", (long long)(read * 1e3),
             (long long)(hard * 1e12), (long long)(json * 1e12), rs_human_time(1234567, human),
             rs_human_bytes(1234567, (char[32]){0}));
}

/* Every default of every analysis is read, and a gate. */
static void read_options(void)
{
    size_t n, n_options;
    const rs_analysis *const *all = rs_analyses(&n);
    for (size_t i = 0; i < n; i++) {
        const rs_option_spec *specs = rs_analysis_options(all[i], &n_options);
        rs_options *options;
        rs_error err = RS_ERROR_INIT;
        char said[512];
        if (rs_options_create(specs, n_options, &options, &err) != RS_OK)
            fail_msg("%s: %s", rs_analysis_name(all[i]), rs_error_text(&err, said, sizeof said));
        rs_options_free(options);
    }
    rs_gate *gate;
    assert_int_equal(rs_gate_parse("x > 1000.5", &gate, NULL), RS_OK);
    rs_gate_free(gate);
}

TEST(test_locale)
{
    char plain[2048], comma[2048];
    speak(plain, sizeof plain);
    read_options();
    setenv("LOCPATH", RS_TEST_LOCALES, 1);
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) skip(); /* CMake said so: no localedef, or no sources of locales */
    char check[16];
    snprintf(check, sizeof check, "%.1f", 1.5);
    assert_string_equal(check, "1,5"); /* this locale is one of those meant */
    speak(comma, sizeof comma);
    read_options();
    snprintf(check, sizeof check, "%.1f", 1.5);
    assert_string_equal(check, "1,5"); /* and is what it was */
    setlocale(LC_ALL, "C");
    assert_string_equal(comma, plain);
}

/* A default that its own type refuses is a mistake of whoever wrote the row, and no lack of memory. */
TEST(test_wrong_default)
{
    static const rs_option_spec specs[] = {{"fine", RS_OPTION_REAL, "X", NULL, "0.5", "a number"},
                                           {"share", RS_OPTION_REAL, "X", NULL, "0,5", "a number"}};
    rs_options *options;
    rs_error err = RS_ERROR_INIT;
    char said[512];
    assert_int_equal(rs_options_create(specs, 1, &options, &err), RS_OK);
    rs_options_free(options);
    assert_int_equal(rs_options_create(specs, 2, &options, &err), RS_ERR_USAGE);
    assert_null(options);
    assert_string_equal(rs_error_text(&err, said, sizeof said),
                        "the default of --share: --share takes a number, not \"0,5\"");
}

TEST(test_ascii)
{
    for (int c = 0; c < 256; c++) {
        bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
        assert_true(rs_is_letter((char)c) == (upper || lower) && rs_is_digit((char)c) == digit);
        assert_true(rs_is_alnum((char)c) == (upper || lower || digit));
        assert_true(rs_lower((char)c) == (char)(upper ? c + 32 : c));
        assert_true(rs_upper((char)c) == (char)(lower ? c - 32 : c));
        assert_true(rs_is_space((char)c) == (c && strchr(" \t\n\v\f\r", c) != NULL));
    }
}
