/* The helpers of text faces and help: wrapping, keys and values, bars. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "output/layout.h"
#include "text/utf8.h"
#include "sink.h"

typedef void (*draw_fn)(rs_page *layout);

static void expect(draw_fn draw, unsigned width, bool utf8, const char *wanted)
{
    collected out = {0};
    rs_sink sink = {collect, &out};
    rs_writer writer;
    rs_writer_init(&writer, &sink);
    rs_page layout = {.writer = &writer, .width = width, .utf8 = utf8};
    draw(&layout);
    assert_int_equal(rs_writer_finish(&writer, NULL), RS_OK);
    assert_string_equal(out.text, wanted);
    collected_clear(&out);
}

static void draw_wrap(rs_page *layout)
{
    rs_page_wrap(layout, "  1. ", "rank 3 is  late by\n12 ms at averyveryveryverylongword that");
    rs_page_wrap(layout, "  2. ", "");
}

static void test_wrap(void **state)
{
    (void)state;
    expect(draw_wrap, 20, false,
           "  1. rank 3 is late\n"
           "     by 12 ms at\n"
           "     averyveryveryverylongword\n"
           "     that\n"
           "  2. \n");
    expect(draw_wrap, 0, false, "  1. rank 3 is late by 12 ms at averyveryveryverylongword that\n  2. \n");
}

static void draw_values(rs_page *layout)
{
    rs_page_heading(layout, "Time", true);
    rs_page_value(layout, "span", 8, "12 ms of one two three");
    rs_page_value(layout, "a longer key", 8, "x");
    rs_page_heading(layout, "Next", false);
}

static void test_values(void **state)
{
    (void)state;
    expect(draw_values, 26, false,
           "Time\n"
           "  span      12 ms of one\n"
           "            two three\n"
           "  a longer key\n"
           "            x\n"
           "\n"
           "Next\n");
}

static void draw_bars(rs_page *layout)
{
    const double parts[] = {0.5, 0.24, 0.5};
    rs_page_bar(layout, "busy", 6, 0.5, 10, "50 %");
    rs_page_bar(layout, "abcdefghij", 6, 2, 10, "200 %");
    rs_page_bar(layout, "x", 6, (double)NAN, 10, "-");
    rs_page_shares(layout, "parts", 6, parts, 3, 10, "all");
    rs_page_shares(layout, "less", 6, parts, 2, 10, "most");
}

static void test_bars(void **state)
{
    (void)state;
    expect(draw_bars, 80, false,
           "  busy    #####.....  50 %\n"
           "  abc..j  ##########  200 %\n"
           "  x       ..........  -\n"
           "  parts   #####==+++  all\n"
           "  less    #####==     most\n");
    expect(draw_bars, 80, true,
           "  busy    \xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88       50 %\n"
           "  abc\xE2\x80\xA6ij  "
           "\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88"
           "\xE2\x96\x88"
           "\xE2\x96\x88  200 %\n"
           "  x                   -\n"
           "  parts   \xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x93\xE2\x96\x93"
           "\xE2\x96\x92\xE2\x96\x92\xE2\x96\x92  all\n"
           "  less    \xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x93\xE2\x96\x93   "
           "  most\n");
}

static void draw_hostile(rs_page *layout)
{
    rs_page_wrap(layout, "", "a\033[2Jb \xFF\xC2\x9B end");
    rs_page_value(layout, "k\n\007", 4, "v\033]0;x\007");
    rs_page_bar(layout, "\033[1m", 6, 1, 2, "\033[0m");
}

static void test_hostile(void **state)
{
    (void)state;
    expect(draw_hostile, 80, false, "a?[2Jb ?? end\n  k ?   v?]0;x?\n  ?[1m    ##  ?[0m\n");
}

/* Characters longer than a byte are never parted, wherever the pieces end. */
static void draw_long(rs_page *layout)
{
    char text[600] = "";
    for (size_t i = 0; i < 199; i++) memcpy(text + 3 * i + (i > 60), "\xE2\x82\xAC", 3);
    text[183] = 'x';
    rs_page_text(layout, text, strlen(text));
}

static void test_long_text(void **state)
{
    (void)state;
    collected out = {0};
    rs_sink sink = {collect, &out};
    rs_writer writer;
    rs_writer_init(&writer, &sink);
    rs_page layout = {.writer = &writer, .utf8 = true};
    draw_long(&layout);
    rs_writer_finish(&writer, NULL);
    assert_int_equal(out.n, 3 * 199 + 1);
    assert_null(strstr(out.text, RS_REPLACEMENT));
    collected_clear(&out);
}

static void draw_paragraphs(rs_page *layout)
{
    rs_page_paragraphs(layout, 2, "one two\nthree\n\n  as  it is\nfour five six seven");
}

static void test_paragraphs(void **state)
{
    (void)state;
    expect(draw_paragraphs, 16, false, "  one two three\n\n    as  it is\n  four five six\n  seven\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap),    cmocka_unit_test(test_values),    cmocka_unit_test(test_bars),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_long_text), cmocka_unit_test(test_paragraphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
