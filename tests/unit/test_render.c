/* Every output format: exact numbers, hostile names, narrow terminals, failing sinks and allocations. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/numbers.h"
#include "text/utf8.h"
#include "sink.h"
#include "unit.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},         {"idle_us", RS_TIME, RS_UNIT_US, "idle", NULL},
    {"share", RS_REAL, RS_UNIT_PERCENT, "share", NULL}, {"count", RS_INT, RS_UNIT_COUNT, "count", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name", NULL},
};
static const rs_table_spec spec = {"t", "one row is a test", columns, 5};

static void add_row(rs_table *table, int64_t rank, int64_t ns, double share, int64_t count, const char *name,
                    size_t n)
{
    rs_table_add_int(table, rank);
    rs_table_add_time(table, ns);
    rs_table_add_real(table, share);
    rs_table_add_int(table, count);
    rs_table_add_text_n(table, name, n);
    assert_int_equal(rs_table_end_row(table, NULL), RS_OK);
}

static void render(const rs_table *table, const char *form, unsigned width, bool utf8, collected *out)
{
    *out = (collected){0};
    rs_render_settings settings = {
        .size = sizeof settings, .form = rs_output_form_find(form), .width = width, .utf8 = utf8};
    rs_sink sink = {collect, out};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_render_table(table, &settings, &sink, &err), RS_OK);
}

static void expect(const rs_table *table, const char *form, unsigned width, bool utf8, const char *wanted)
{
    collected out;
    render(table, form, width, utf8, &out);
    assert_string_equal(out.text ? out.text : "", wanted);
    collected_clear(&out);
}

static rs_table *small_table(void)
{
    rs_table *t = rs_table_create(&spec);
    add_row(t, 0, 1234567, 12.5, 1234567, "gemm", 4);
    add_row(t, 1, 2000000, (double)NAN, 5, "a,\"b\"\nc|d", 9);
    for (int i = 0; i < 5; i++) rs_table_add_null(t);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    return t;
}

TEST(test_csv)
{
    rs_table *t = small_table();
    expect(t, "csv", 0, true,
           "rank,idle_us,share,count,name\n"
           "0,1234.567,12.5,1234567,gemm\n"
           "1,2000,,5,\"a,\"\"b\"\"\nc|d\"\n"
           ",,,,\n");
    rs_table_free(t);
}

TEST(test_json)
{
    rs_table *t = small_table();
    expect(
        t, "jsonl", 0, true,
        "{\"rank\": 0, \"idle_us\": 1234.567, \"share\": 12.5, \"count\": 1234567, \"name\": \"gemm\"}\n"
        "{\"rank\": 1, \"idle_us\": 2000, \"share\": null, \"count\": 5, \"name\": \"a,\\\"b\\\"\\nc|d\"}\n"
        "{\"rank\": null, \"idle_us\": null, \"share\": null, \"count\": null, \"name\": null}\n");
    rs_table_free(t);
    t = rs_table_create(&spec);
    expect(t, "json", 0, true, "[]\n");
    expect(t, "jsonl", 0, true, "");
    expect(t, "csv", 0, true, "rank,idle_us,share,count,name\n");
    rs_table_free(t);
}

TEST(test_text)
{
    rs_table *t = small_table();
    expect(t, "text", 0, false,
           "rank  idle (ms)  share (%)      count  name\n"
           "   0      1.235       12.5  1 234 567  gemm\n"
           "   1      2.000          -          5  a,\"b\" c|d\n"
           "   -          -          -          -  -\n");
    expect(t, "md", 0, false,
           "| rank | idle (ms) | share (%) | count | name |\n"
           "| ---: | ---: | ---: | ---: | --- |\n"
           "| 0 | 1.235 | 12.5 | 1 234 567 | gemm |\n"
           "| 1 | 2.000 | - | 5 | a,\"b\" c\\|d |\n"
           "| - | - | - | - | - |\n");
    rs_table_free(t);
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t n = end ? (size_t)(end - text) : strlen(text);
        size_t width = rs_text_width(text, n);
        if (width > widest) widest = width;
        text += n + (end != NULL);
    }
    return widest;
}

/* Without a width nothing is cut, but one very long name does not widen the rows of the others. */
TEST(test_one_long_name)
{
    static char name[5000];
    memset(name, 'x', sizeof name);
    rs_table *t = rs_table_create(&spec);
    add_row(t, 0, 1000, 1, 1, name, sizeof name);
    add_row(t, 1, 1000, 1, 1, "short", 5);
    collected out;
    render(t, "text", 0, true, &out);
    assert_true(widest_line(out.text) >= sizeof name);
    const char *last = strrchr(out.text, '\n') ? strstr(out.text, "short") : NULL;
    assert_non_null(last);
    while (last > out.text && last[-1] != '\n') last--;
    assert_true(strcspn(last, "\n") < 700);
    collected_clear(&out);
    rs_table_free(t);
}

TEST(test_narrow)
{
    static const char name[] =
        "void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x256_64x3>(Params)";
    rs_table *t = rs_table_create(&spec);
    for (int64_t i = 0; i < 3000; i++) add_row(t, i, i * 1000, 1, i, name, sizeof name - 1 - (size_t)(i % 3));
    for (unsigned width = 60; width <= 200; width += 7) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            collected out;
            render(t, "text", width, utf8, &out);
            assert_true(widest_line(out.text) <= width);
            size_t lines = 0;
            for (const char *c = out.text; *c; c++) lines += *c == '\n';
            assert_true(lines >= 3001 && lines <= 3004); /* a row is a line */
            if (width < 100) assert_non_null(strstr(out.text, utf8 ? "\xE2\x80\xA6" : ".."));
            assert_non_null(strstr(out.text, "void cut"));
            collected_clear(&out);
        }
    }
    /* narrower than its numbers: they are left out, never cut, and the line below names them */
    collected out;
    render(t, "text", 21, true, &out);
    assert_non_null(strstr(out.text, "\n2999  void"));
    assert_non_null(strstr(out.text, "No room for count"));
    assert_null(strstr(out.text, "2 999"));
    assert_true(widest_line(out.text) <= 21);
    collected_clear(&out);
    rs_table_free(t);
}

/* What a column has to say goes first: one without values silently, one of zeros before one at the end. */
TEST(test_columns_that_find_no_room)
{
    static const rs_column_spec wide[] = {
        {"rank", RS_INT, RS_UNIT_ID, "", NULL},      {"empty_us", RS_TIME, RS_UNIT_US, "", NULL},
        {"zeroes", RS_INT, RS_UNIT_COUNT, "", NULL}, {"elephants", RS_INT, RS_UNIT_COUNT, "", NULL},
        {"what", RS_TEXT, RS_UNIT_NONE, "", NULL},   {"giraffes", RS_INT, RS_UNIT_COUNT, "", NULL},
    };
    static const rs_table_spec wide_spec = {"wide", NULL, wide, 6};
    rs_table *t = rs_table_create(&wide_spec);
    for (int64_t i = 0; i < 2; i++) {
        rs_table_add_int(t, i);
        rs_table_add_null(t);
        rs_table_add_int(t, 0);
        rs_table_add_int(t, 7 + i);
        rs_table_add_text(t, "savanna");
        rs_table_add_int(t, 3 * i);
        assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    }
    expect(t, "text", 0, true,
           "rank  empty (\xC2\xB5s)  zeroes  elephants  what     giraffes\n"
           "   0           -       0          7  savanna         0\n"
           "   1           -       0          8  savanna         3\n");
    expect(t, "text", 50, true,
           "rank  zeroes  elephants  what     giraffes\n"
           "   0       0          7  savanna         0\n"
           "   1       0          8  savanna         3\n");
    expect(t, "text", 35, true,
           "rank  elephants  what     giraffes\n"
           "   0          7  savanna         0\n"
           "   1          8  savanna         3\n"
           "No room for zeroes (--format csv\n            has all)\n");
    expect(t, "text", 26, true,
           "rank  elephants  what\n"
           "   0          7  savanna\n"
           "   1          8  savanna\n"
           "No room for zeroes,\n            giraffes\n            (--format csv\n            has all)\n");
    rs_table_free(t);
}

/* Names that differ in one place differ when they are cut, wherever that is and however many there are. */
TEST(test_cut_names_stay_different)
{
    rs_table *t = rs_table_create(&spec);
    char name[400];
    for (int i = 0; i < 200; i++) {
        int kind = i % 4, n;
        n = snprintf(name, sizeof name,
                     "sm90_xmma_gemm_%s_tilesize128x%d_warp%*s%d_execute_kernel__5x_cublas",
                     kind & 1 ? "bf16bf16_bf16f32_f32_nt" : "bf16bf16_bf16f32_f32_tn", kind & 2 ? 64 : 128,
                     i % 90, "", i / 4);
        add_row(t, i, 1000, 1, i, name, (size_t)n);
    }
    for (unsigned width = 34; width <= 110; width += 19) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            collected out;
            render(t, "text", width, utf8, &out);
            assert_true(widest_line(out.text) <= width);
            char *names[200], *line = out.text;
            size_t n = 0;
            for (; n < 200; n++) {
                char *found = strstr(line, "sm"); /* one a line */
                assert_non_null(found);
                line = found + strcspn(found, "\n");
                names[n] = strndup(found, strcspn(found, "\n"));
                for (size_t k = 0; k < n; k++) assert_string_not_equal(names[k], names[n]);
            }
            for (size_t k = 0; k < n; k++) free(names[k]);
            collected_clear(&out);
        }
    }
    rs_table_free(t);
}

/* Times that add up to another have its unit, also where one of them is small; others have their own. */
TEST(test_parts_have_one_unit)
{
    static const rs_column_spec parts[] = {{"span_us", RS_TIME, RS_UNIT_US, "", NULL},
                                           {"busy_us", RS_TIME, RS_UNIT_US, "", NULL},
                                           {"idle_us", RS_TIME, RS_UNIT_US, "", NULL},
                                           {"mean_us", RS_TIME, RS_UNIT_US, "", NULL}};
    static const rs_table_spec parts_spec = {"parts", NULL, parts, 4};
    rs_table *t = rs_table_create(&parts_spec);
    const int64_t rows[][4] = {{20000000, 19950000, 50000, 3000}, {30000000, 29960000, 40000, 4000}};
    for (size_t i = 0; i < 2; i++) {
        for (size_t c = 0; c < 4; c++) rs_table_add_time(t, rows[i][c]);
        assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    }
    expect(t, "text", 0, false,
           "span (ms)  busy (ms)  idle (ms)  mean (us)\n"
           "    20.00      19.95      0.050      3.000\n"
           "    30.00      29.96      0.040      4.000\n");
    rs_table_add_time(t, 30000000); /* one row in which they do not add up */
    for (size_t c = 1; c < 4; c++) rs_table_add_time(t, rows[1][c] + (int64_t)c);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    collected out;
    render(t, "text", 0, false, &out);
    assert_non_null(strstr(out.text, "idle (us)"));
    collected_clear(&out);
    rs_table_free(t);
}

TEST(test_ascii_signs)
{
    char clean[64];
    static const char text[] = "1.50\xC3\x97 75 \xE2\x86\x92 59\xE2\x80\x93"
                               "60 \xC2\xB1"
                               "3 \xC2\xB5s \xE4\xB8\xAD";
    rs_text_clean(text, sizeof text - 1, false, clean);
    assert_string_equal(clean, "1.50x 75 -> 59-60 +-3 us ?");
}

/* Tables of one narrow column, and headings on several lines. */
TEST(test_small_shapes)
{
    static const rs_column_spec one[] = {{"n", RS_INT, RS_UNIT_COUNT, "", NULL}};
    static const rs_table_spec one_spec = {"one", NULL, one, 1};
    rs_table *t = rs_table_create(&one_spec);
    rs_table_add_int(t, 7);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    rs_table_add_null(t);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    expect(t, "text", 80, true, "n\n7\n-\n");
    expect(t, "csv", 80, true, "n\n7\n\"\"\n"); /* no blank line: readers skip those */
    rs_table_free(t);

    static const rs_column_spec two[] = {{"exposed_communication_time", RS_TIME, RS_UNIT_US, "", NULL},
                                         {"what", RS_TEXT, RS_UNIT_NONE, "", "what it was all about"}};
    static const rs_table_spec two_spec = {"two", NULL, two, 2};
    t = rs_table_create(&two_spec);
    rs_table_add_time(t, 12345678);
    rs_table_add_text(t, "word");
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    expect(t, "text", 24, true,
           "      exposed_  what it\n"
           "communication_  was all\n"
           "     time (ms)  about\n"
           "         12.35  word\n");
    rs_table_free(t);
}

TEST(test_hostile_names)
{
    static const char evil[] = "\033]0;pwned\a\033[2J\x9b"
                               "31m\xC2\x9B"
                               "x\xE2\x80\xAE"
                               "gnp\r\n\b\x7F\xED\xA0\x80\xFF\0end";
    rs_table *t = rs_table_create(&spec);
    add_row(t, 0, 1, 1, 1, evil, sizeof evil - 1);
    const char *formats[] = {"text", "md"};
    for (size_t i = 0; i < 2; i++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            collected out;
            render(t, formats[i], 0, utf8, &out);
            size_t lines = 0;
            for (size_t at = 0; at < out.n;) {
                uint32_t code = 0;
                size_t n = rs_utf8_next(out.text + at, out.n - at, &code);
                assert_true(n > 0);
                assert_true(code == '\n' || (code >= 0x20 && code != 0x7F && !(code >= 0x80 && code < 0xA0)));
                assert_true(code != 0x202E);
                lines += code == '\n';
                at += n;
            }
            assert_int_equal(lines, i ? 3 : 2);
            assert_non_null(strstr(out.text, "end"));
            collected_clear(&out);
        }
    }
    expect(t, "jsonl", 0, true,
           "{\"rank\": 0, \"idle_us\": 0.001, \"share\": 1, \"count\": 1, \"name\": "
           "\"\\u001b]0;pwned\\u0007\\u001b[2J"
           "\xEF\xBF\xBD"
           "31m\\u009b"
           "x\\u202e"
           "gnp\\r\\n\\u0008\\u007f\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\\u0000end\"}\n");
    rs_table_free(t);
}

/* A terminal shows CSV without what would steer it; a file gets the cells as they are, formulas too. */
TEST(test_csv_on_a_terminal)
{
    rs_table *t = rs_table_create(&spec);
    add_row(t, 0, 1000, 1, 1, "=a\x1b[2J\x07\xC2\x9B\xE2\x80\xAE,b", 14);
    expect(t, "csv", 0, true,
           "rank,idle_us,share,count,name\n0,1,1,1,\"=a\x1b[2J\x07\xC2\x9B\xE2\x80\xAE,b\"\n");
    collected out = {0};
    rs_render_settings settings = {
        .size = sizeof settings, .form = rs_output_form_find("csv"), .utf8 = true, .terminal = true};
    rs_sink sink = {collect, &out};
    assert_int_equal(rs_render_table(t, &settings, &sink, NULL), RS_OK);
    assert_string_equal(out.text, "rank,idle_us,share,count,name\n0,1,1,1,\"=a\xEF\xBF\xBD[2J\xEF\xBF\xBD"
                                  "\xEF\xBF\xBD\xEF\xBF\xBD,b\"\n");
    collected_clear(&out);
    rs_table_free(t);
}

/* JSON that is shown steers nothing, and reads as the same text; beyond 16 bits two escapes. */
TEST(test_json_steers_nothing)
{
    rs_table *t = rs_table_create(&spec);
    add_row(t, 0, 1000, 1, 1, "\xF3\xA0\x81\x81\xE2\x81\xA6\xF0\x9F\x99\x82\xC3\xA9", 13);
    expect(t, "jsonl", 0, true,
           "{\"rank\": 0, \"idle_us\": 1, \"share\": 1, \"count\": 1, \"name\": "
           "\"\\udb40\\udc41\\u2066\xF0\x9F\x99\x82\xC3\xA9\"}\n");
    rs_table_free(t);
}

TEST(test_extremes)
{
    rs_table *t = rs_table_create(&spec);
    add_row(t, INT64_MIN, INT64_MIN, -INFINITY, INT64_MIN, "", 0);
    add_row(t, INT64_MAX, INT64_MAX, INFINITY, INT64_MAX, "", 0);
    add_row(t, 0, -1, 1e300, 0, "", 0);
    expect(t, "csv", 0, true,
           "rank,idle_us,share,count,name\n"
           "-9223372036854775808,-9223372036854775.808,-inf,-9223372036854775808,\n"
           "9223372036854775807,9223372036854775.807,inf,9223372036854775807,\n"
           "0,-0.001,1e300,0,\n");
    collected out;
    render(t, "jsonl", 0, true, &out);
    assert_non_null(strstr(out.text, "\"share\": null, \"count\": -9223372036854775808"));
    assert_null(strstr(out.text, "inf"));
    collected_clear(&out);
    render(t, "text", 0, true, &out);
    assert_non_null(strstr(out.text, "9.223")); /* of 10^18 */
    assert_non_null(strstr(out.text, "count (E)"));
    assert_non_null(strstr(out.text, "-inf"));
    assert_non_null(strstr(out.text, "idle (s)"));
    collected_clear(&out);
    rs_table_free(t);
}

static const char *real_text(double value)
{
    static char text[RS_NUMBER_SIZE + 1];
    text[rs_format_real(value, text)] = '\0';
    return text;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The digits without point, exponent and trailing zeros. */
static size_t n_digits(const char *text)
{
    size_t n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (n == 0 && *text == '0')) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        n++;
    }
    return n - zeros;
}

TEST(test_reals_round_trip_and_are_shortest)
{
    assert_string_equal(real_text(0.1), "0.1");
    assert_string_equal(real_text(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(real_text(100.0 / 3), "33.333333333333336");
    assert_string_equal(real_text(5e-324), "5e-324");
    assert_string_equal(real_text(1.7976931348623157e308), "1.7976931348623157e308");
    assert_string_equal(real_text(0.5), "0.5");
    assert_string_equal(real_text(-1.25), "-1.25");
    assert_string_equal(real_text(-0.0), "0");
    assert_string_equal(real_text(1e15), "1000000000000000");
    assert_string_equal(real_text(1e22), "1e22");
    assert_string_equal(real_text(0.00001), "0.00001");
    assert_string_equal(real_text(0.000001), "1e-6");
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = next_random(&seed);
        double value;
        if (i % 4 == 0) {
            memcpy(&value, &bits, sizeof value); /* any double */
            if (!isfinite(value)) continue;
        } else if (i % 4 == 1) {
            value = (double)(bits >> 11) / (double)(UINT64_C(1) << (next_random(&seed) % 60));
        } else if (i % 4 == 2) {
            value = (double)(bits % 1000000) / 1000;
        } else {
            value = (double)(bits % 997) / (double)(1 + next_random(&seed) % 997) * 100;
        }
        const char *text = real_text(value);
        assert_true(strtod(text, NULL) == value);
        if (i % 8 > 3) continue;
        size_t shortest = 0;
        char printed[40];
        for (int p = 0; p < 17; p++) {
            snprintf(printed, sizeof printed, "%.*e", p, value);
            if (strtod(printed, NULL) == value) {
                shortest = n_digits(printed[0] == '-' ? printed + 1 : printed);
                break;
            }
        }
        assert_int_equal(n_digits(text[0] == '-' ? text + 1 : text), shortest);
    }
}

TEST(test_human)
{
    char out[32];
    assert_string_equal(rs_human_time(0, out), "0 ns");
    assert_string_equal(rs_human_time(999, out), "999 ns");
    assert_string_equal(rs_human_time(1000, out), "1.000 us");
    assert_string_equal(rs_human_time(1234567, out), "1.235 ms");
    assert_string_equal(rs_human_time(999960, out), "1.000 ms");
    assert_string_equal(rs_human_time(-12340000000, out), "-12.34 s");
    assert_string_equal(rs_human_time(INT64_MIN, out), "-9 223 372 037 s");
    assert_string_equal(rs_human_count(0, out), "0");
    assert_string_equal(rs_human_count(-999, out), "-999");
    assert_string_equal(rs_human_count(1234567, out), "1 234 567");
    assert_string_equal(rs_human_count(INT64_MIN, out), "-9 223 372 036 854 775 808");
    assert_string_equal(rs_human_bytes(0, out), "0 B");
    assert_string_equal(rs_human_bytes(1023, out), "1 023 B");
    assert_string_equal(rs_human_bytes(1536, out), "1.50 KiB");
    assert_string_equal(rs_human_bytes((int64_t)1 << 30, out), "1.00 GiB");
    assert_string_equal(rs_human_bytes(1048575, out), "1.00 MiB");
    assert_string_equal(rs_human_bytes(INT64_MAX, out), "8.00 EiB");
}

TEST(test_shorten)
{
    static const char text[] =
        "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E kernel e\xCC\x81nd \xFF tail \xF0\x9F\x9A\x80";
    size_t full = rs_text_width(text, sizeof text - 1);
    for (size_t columns_wanted = 0; columns_wanted < full + 4; columns_wanted++) {
        char out[256];
        rs_shorten_middle(text, sizeof text - 1, columns_wanted, out, 4 * columns_wanted + 8);
        assert_true(rs_text_width(out, strlen(out)) <= columns_wanted);
        if (columns_wanted >= full)
            assert_string_equal(out, text);
        else if (columns_wanted + 2 < full && columns_wanted > 2)
            assert_true(rs_text_width(out, strlen(out)) + 2 >= columns_wanted); /* uses the room it has */
    }
    char out[64];
    assert_string_equal(rs_shorten_middle("abcdefghij", 10, 6, out, 32), "abc\xE2\x80\xA6ij");
    char many[400] = "a";
    for (int i = 0; i < 150; i++) memcpy(many + 1 + 2 * i, "\xCC\x81", 3);
    rs_shorten_middle(many, strlen(many), 2, out, 16); /* more bytes than columns promise */
    assert_true(strlen(out) < 16);
}

TEST(test_json_result)
{
    rs_table *tables[] = {small_table(), rs_table_create(&spec)};
    char note[] = "rank 0: \"no\" GPU events";
    char *notes[] = {note};
    rs_result result = {.tables = tables, .n_tables = 2, .notes = notes, .n_notes = 1};
    rs_problems_add(&result.problems, "a\n\xFF.json", 3, RS_LOSS, "bad_event", "an event was skipped", 17);
    rs_problems_add_many(&result.problems, NULL, -1, RS_NOTE, "n", "m", RS_NO_OFFSET, 4, "d");
    collected out = {0};
    rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("json")};
    rs_sink sink = {collect, &out};
    assert_int_equal(rs_render_result(&result, 0, &settings, &sink, NULL), RS_OK);
    assert_non_null(strstr(out.text,
                           "{\"kind\": \"bad_event\", \"severity\": \"loss\", \"message\": \"an event was "
                           "skipped\", \"file\": \"a\\n\xEF\xBF\xBD.json\", \"rank\": 3, \"count\": 1, "
                           "\"offsets\": [17], \"detail\": null}"));
    assert_non_null(strstr(
        out.text, "\"file\": null, \"rank\": null, \"count\": 4, \"offsets\": [], \"detail\": \"d\"}"));
    assert_non_null(strstr(out.text, "\"notes\": [\n    \"rank 0: \\\"no\\\" GPU events\"\n  ]\n}\n"));
    collected_clear(&out);
    rs_problems_clear(&result.problems);
    rs_table_free(tables[0]);
    rs_table_free(tables[1]);
}

TEST(test_schema)
{
    const rs_table_spec *specs[] = {&spec};
    rs_table *t = rs_schema_table(specs, 1);
    assert_int_equal(rs_table_n_rows(t), 5);
    expect(t, "csv", 0, true,
           "table,column,type,unit,meaning\nt,rank,int,id,rank\nt,idle_us,time,us,idle\nt,share,real,percent,"
           "share\n"
           "t,count,int,count,count\nt,name,text,,name\n");
    rs_table_free(t);
}

/* A few very long names among many short ones: shown whole, and without a wall of spaces in every row. */
TEST(test_few_long_names)
{
    enum { N = 3000, LONG = 5000 };
    static char name[LONG + 1];
    memset(name, 'k', LONG);
    rs_table *t = rs_table_create(&spec);
    for (int64_t i = 0; i < N; i++) {
        bool is_long = i == 0 || i == 1700 || i == N - 1;
        add_row(t, i, i, 1, 77, is_long ? name : "gemm", is_long ? LONG : 4);
    }
    collected out;
    render(t, "text", 0, true, &out);
    assert_true(strlen(out.text) < 3 * LONG + N * 60);
    size_t n_lines = 0, n_whole = 0, n_wide = 0;
    for (const char *line = out.text, *end; (end = strchr(line, '\n')); line = end + 1, n_lines++) {
        const char *first = memchr(line, 'k', (size_t)(end - line));
        if (first && first + LONG <= end && memcmp(first, name, LONG) == 0) n_whole++;
        if (end - line > 60) n_wide++;
    }
    assert_int_equal(n_lines, N + 1);
    assert_int_equal(n_whole, 3);
    assert_int_equal(n_wide, 3);
    collected_clear(&out);
    rs_table_free(t);
}

TEST(test_rows_of_forms)
{
    size_t n;
    const rs_output_form *const *forms = rs_output_forms(&n);
    char names[200] = "";
    for (size_t i = 0; i < n; i++) {
        const char *name = rs_output_form_name(forms[i]);
        assert_ptr_equal(rs_output_form_find(name), forms[i]);
        assert_true(*rs_output_form_help(forms[i]) && *rs_output_form_extension(forms[i]));
        if (i > 1) assert_true(strcmp(rs_output_form_name(forms[i - 1]), name) < 0);
        strcat(names, i ? "|" : "");
        strcat(names, name);
    }
    assert_string_equal(names, rs_output_form_names);
    assert_string_equal(rs_output_form_name(forms[0]), "text");
    assert_null(rs_output_form_find("xlsx"));
}

/* A program built against another version of the header passes a struct of another size. */
TEST(test_settings_of_other_versions)
{
    struct {
        rs_render_settings known;
        uint64_t later;
    } newer = {.known = {.size = sizeof newer, .form = rs_output_form_find("csv")}};
    collected out = {0};
    rs_sink sink = {collect, &out};
    rs_error err = RS_ERROR_INIT;
    rs_table *t = small_table();
    assert_int_equal(rs_render_table(t, &newer.known, &sink, &err), RS_OK);
    newer.later = 1; /* asks for what this library does not know */
    assert_int_equal(rs_render_table(t, &newer.known, &sink, &err), RS_ERR_USAGE);
    rs_render_settings older = {.size = offsetof(rs_render_settings, nest_by),
                                .form = rs_output_form_find("csv")};
    assert_int_equal(rs_render_table(t, &older, &sink, &err), RS_OK);
    older.size = 0;
    assert_int_equal(rs_render_table(t, &older, &sink, &err), RS_ERR_USAGE);
    collected_clear(&out);
    rs_table_free(t);
}

TEST(test_failing_sink)
{
    rs_table *t = rs_table_create(&spec);
    for (int64_t i = 0; i < 20000; i++) add_row(t, i, i, 1, i, "name", 4);
    size_t n_forms;
    const rs_output_form *const *forms = rs_output_forms(&n_forms);
    for (size_t f = 0; f < n_forms; f++) {
        if (rs_output_form_elsewhere(forms[f])) continue;
        size_t limits[] = {1, 40000, 100000};
        for (size_t i = 0; i < 3; i++) {
            collected out = {.fail_after = limits[i]};
            rs_render_settings settings = {
                .size = sizeof settings, .form = forms[f], .width = 80, .utf8 = true};
            rs_sink sink = {collect, &out};
            rs_error err = RS_ERROR_INIT;
            assert_int_equal(rs_render_table(t, &settings, &sink, &err), RS_ERR_IO);
            collected_clear(&out);
        }
    }
    rs_table_free(t);
}

TEST(test_every_allocation_may_fail)
{
    rs_table *t = small_table();
    size_t n_forms;
    const rs_output_form *const *forms = rs_output_forms(&n_forms);
    for (size_t f = 0; f < n_forms; f++) {
        if (rs_output_form_elsewhere(forms[f])) continue;
        rs_render_settings settings = {
            .size = sizeof settings, .form = forms[f], .width = 50, .utf8 = true, .color = true};
        for (uint64_t n = 0;; n++) {
            collected out = {0};
            rs_sink sink = {collect, &out};
            rs_test_fail_allocation(n);
            rs_status status = rs_render_table(t, &settings, &sink, NULL);
            uint64_t made = rs_test_fail_allocation(0);
            collected_clear(&out);
            if (n == 0 || made < n)
                assert_int_equal(status, RS_OK);
            else
                assert_int_equal(status, RS_ERR_NOMEM);
            if (n && made < n) break;
        }
    }
    for (uint64_t n = 1;; n++) {
        const rs_table_spec *specs[] = {&spec};
        rs_test_fail_allocation(n);
        rs_table *schema = rs_schema_table(specs, 1);
        uint64_t made = rs_test_fail_allocation(0);
        bool done = schema != NULL;
        rs_table_free(schema);
        assert_int_equal(done, made < n);
        if (done) break;
    }
    rs_table_free(t);
}

TEST(test_locale_is_left_alone)
{
    locale_t before = uselocale((locale_t)0);
    rs_table *t = small_table();
    collected out;
    render(t, "text", 40, true, &out);
    collected_clear(&out);
    assert_true(uselocale((locale_t)0) == before);
    rs_table_free(t);
}
