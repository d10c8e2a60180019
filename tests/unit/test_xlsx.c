/* Workbooks: the same bytes each time, hostile texts and names, what no sheet holds, failing sinks. */
#include <string.h>
#include <time.h>

#include "output/xlsx.h"
#include "sink.h"
#include "unit.h"

static const rs_column_spec columns[] = {
    {"name", RS_TEXT, RS_UNIT_NONE, "name", NULL},
    {"time_us", RS_TIME, RS_UNIT_US, "time", NULL},
    {"ratio", RS_REAL, RS_UNIT_RATIO, "ratio", NULL},
};
static const rs_table_spec spec = {"t", "one row is a test", columns, 3};

static void add_row(rs_table *t, const char *name, size_t n, int64_t ns, double ratio)
{
    rs_table_add_text_n(t, name, n);
    rs_table_add_time(t, ns);
    rs_table_add_real(t, ratio);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
}

static rs_table *hostile_table(void)
{
    static char long_text[40000];
    rs_table *t = rs_table_create(&spec);
    memset(long_text, 'x', sizeof long_text);
    add_row(t, "=1+1", 4, 1500, 0.5);
    add_row(t, "a\x01\xff<b>&\"", 9, INT64_MAX, 1.0 / 0.0);
    add_row(t, "", 0, 0, 0.0 / 0.0);
    add_row(t, long_text, sizeof long_text, -1, -1.0 / 0.0);
    return t;
}

static rs_status write_to(const rs_sheet *sheets, size_t n, collected *out, rs_error *err)
{
    rs_sink sink = {collect, out};
    *out = (collected){0};
    return rs_xlsx_write(sheets, n, &sink, err);
}

TEST(test_same_bytes)
{
    if (!rs_xlsx_available()) skip();
    rs_table *t = hostile_table();
    const rs_sheet_chart chart = {.title = "times", .over = 0, .first = 1, .n = 2};
    const rs_sheet sheets[] = {{.name = "a/b: [1]", .table = t, .chart = &chart},
                               {.name = "A name that is longer than thirty-one characters", .table = t},
                               {.name = "A name that is longer than thirty-one of them", .table = t},
                               {.name = "", .table = t},
                               {.name = "'history'", .table = t}};
    collected one, two;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(write_to(sheets, 5, &one, &err), RS_OK);
    nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 100000000},
              NULL); /* zip archives count in steps of two seconds */
    assert_int_equal(write_to(sheets, 5, &two, &err), RS_OK);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.text, two.text, one.n);
    assert_memory_equal(one.text, "PK\x03\x04", 4);
    collected_clear(&one);
    collected_clear(&two);
    rs_table_free(t);
}

TEST(test_too_large)
{
    if (!rs_xlsx_available()) skip();
    static const rs_column_spec one[] = {{"n", RS_INT, RS_UNIT_COUNT, "n", NULL}};
    static const rs_table_spec narrow = {"t", "one row is a test", one, 1};
    rs_table *t = rs_table_create(&narrow);
    collected out;
    rs_error err = RS_ERROR_INIT;
    for (size_t i = 0; i < RS_SHEET_ROWS; i++) {
        rs_table_add_int(t, 1);
        assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    }
    assert_int_equal(write_to(&(rs_sheet){.name = "n", .table = t}, 1, &out, &err), RS_ERR_LIMIT);
    assert_non_null(strstr(err.causes[0].message, "1048576 rows"));
    collected_clear(&out);
    rs_table_free(t);
}

static bool refuse(void *context, const char *bytes, size_t n)
{
    (void)context;
    (void)bytes;
    (void)n;
    return false;
}

TEST(test_failing_sink)
{
    rs_table *t = hostile_table();
    rs_error err = RS_ERROR_INIT;
    rs_sink sink = {refuse, NULL};
    rs_status status = rs_xlsx_write(&(rs_sheet){.name = "a", .table = t}, 1, &sink, &err);
    assert_int_equal(status, rs_xlsx_available() ? RS_ERR_IO : RS_ERR_USAGE);
    assert_int_equal(rs_xlsx_check(&err), rs_xlsx_available() ? RS_OK : RS_ERR_USAGE);
    rs_table_free(t);
}
