/* Tables: filling, reading back, misuse, appending, and running out of memory at every allocation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "rankscope/table.h"
#include "unit.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"busy", RS_TIME, RS_UNIT_US, "busy", NULL},
    {"share", RS_REAL, RS_UNIT_PERCENT, "share", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name", NULL},
};
static const rs_table_spec spec = {"t", "one row is a test", columns, 4};

static rs_status add_row(rs_table *table, int64_t rank, int64_t ns, double share, const char *name)
{
    rs_table_add_int(table, rank);
    rs_table_add_time(table, ns);
    rs_table_add_real(table, share);
    rs_table_add_text(table, name);
    return rs_table_end_row(table, NULL);
}

TEST(test_cells_come_back)
{
    rs_table *t = rs_table_create(&spec);
    assert_non_null(t);
    for (int64_t i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d", (int)(i % 7));
        assert_int_equal(add_row(t, i, i * 1001, i % 3 ? (double)i / 8 : (double)NAN, i % 5 ? name : NULL),
                         RS_OK);
    }
    assert_int_equal(rs_table_n_rows(t), 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(rs_table_int(t, i, 0), i);
        assert_int_equal(rs_table_int(t, i, 1), i * 1001);
        assert_true(rs_table_real(t, i, 1) == (double)(i * 1001) / 1e3); /* in the column's unit */
        assert_int_equal(rs_table_is_null(t, i, 2), i % 3 == 0);
        if (i % 3) assert_true(rs_table_real(t, i, 2) == (double)i / 8);
        assert_int_equal(rs_table_is_null(t, i, 3), i % 5 == 0);
        size_t length = 99;
        const char *text = rs_table_text(t, i, 3, &length);
        if (i % 5 == 0) {
            assert_null(text);
            assert_int_equal(length, 0);
        } else {
            assert_int_equal(text[1] - '0', i % 7);
            assert_int_equal(length, 2);
        }
    }
    rs_table_free(t);
}

TEST(test_text_with_nul_and_empty)
{
    rs_table *t = rs_table_create(&spec);
    rs_table_add_null(t);
    rs_table_add_null(t);
    rs_table_add_null(t);
    rs_table_add_text_n(t, "a\0b", 3);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    assert_int_equal(add_row(t, 1, 1, 1, ""), RS_OK);
    size_t length;
    assert_memory_equal(rs_table_text(t, 0, 3, &length), "a\0b", 4);
    assert_int_equal(length, 3);
    assert_false(rs_table_is_null(t, 1, 3)); /* empty is known */
    assert_string_equal(rs_table_text(t, 1, 3, &length), "");
    assert_true(isnan(rs_table_real(t, 0, 0)));
    rs_table_free(t);
}

TEST(test_misuse_drops_the_row)
{
    rs_table *t = rs_table_create(&spec);
    assert_int_equal(add_row(t, 7, 1, 2, "x"), RS_OK);
    rs_error err = RS_ERROR_INIT;
    rs_table_add_int(t, 1); /* too few */
    assert_int_equal(rs_table_end_row(t, &err), RS_ERR_USAGE);
    for (int i = 0; i < 5; i++) rs_table_add_null(t); /* too many */
    assert_int_equal(rs_table_end_row(t, &err), RS_ERR_USAGE);
    rs_table_add_text(t, "wrong");
    rs_table_add_time(t, 1);
    rs_table_add_real(t, 1);
    rs_table_add_text(t, "x");
    assert_int_equal(rs_table_end_row(t, &err), RS_ERR_USAGE);
    rs_table_add_int(t, 1);
    rs_table_add_int(t, 1); /* not the same as a time */
    rs_table_add_real(t, 1);
    rs_table_add_text(t, "x");
    assert_int_equal(rs_table_end_row(t, &err), RS_ERR_USAGE);
    assert_int_equal(rs_table_n_rows(t), 1);
    assert_int_equal(add_row(t, 8, 1, 2, "y"), RS_OK);
    assert_int_equal(rs_table_int(t, 1, 0), 8);
    rs_table_free(t);
}

TEST(test_null_bits_do_not_linger)
{
    rs_table *t = rs_table_create(&spec);
    for (int i = 0; i < 4; i++) rs_table_add_null(t);
    rs_table_add_null(t); /* the row is dropped, its bits were set */
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    assert_int_equal(add_row(t, 1, 2, 3, "x"), RS_OK);
    for (size_t at = 0; at < 4; at++) assert_false(rs_table_is_null(t, 0, at));
    rs_table_free(t);
}

TEST(test_dynamic_spec_is_copied)
{
    char name[] = "counter", help[] = "h", table_name[] = "counters";
    rs_column_spec one = {name, RS_REAL, RS_UNIT_NONE, help, NULL};
    rs_table_spec own = {table_name, help, &one, 1};
    rs_table *t = rs_table_create_dynamic(&own);
    memset(name, 'z', sizeof name - 1);
    memset(table_name, 'z', sizeof table_name - 1);
    one.type = RS_TEXT;
    own.n_columns = 0;
    assert_string_equal(rs_table_get_spec(t)->name, "counters");
    assert_string_equal(rs_table_get_spec(t)->columns[0].name, "counter");
    assert_int_equal(rs_table_get_spec(t)->columns[0].type, RS_REAL);
    rs_table_add_real(t, 0.5);
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    rs_table_free(t);
}

TEST(test_append)
{
    rs_table *a = rs_table_create(&spec), *b = rs_table_create(&spec);
    assert_int_equal(add_row(a, 0, 5, 1.5, "a"), RS_OK);
    for (int64_t i = 0; i < 100; i++)
        assert_int_equal(add_row(b, i, i, (double)NAN, i % 2 ? "odd" : NULL), RS_OK);
    assert_int_equal(rs_table_append(a, b, NULL), RS_OK);
    assert_int_equal(rs_table_n_rows(a), 101);
    assert_true(rs_table_is_null(a, 100, 2));
    assert_string_equal(rs_table_text(a, 100, 3, NULL), "odd");
    assert_true(rs_table_is_null(a, 99, 3));
    const rs_table_spec other = {"other", "", columns, 3};
    rs_table *c = rs_table_create(&other);
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_table_append(a, c, &err), RS_ERR_USAGE);
    rs_table_free(a);
    rs_table_free(b);
    rs_table_free(c);
}

/* Builds two tables and appends them, with the n-th allocation failing. */
static rs_status work(void)
{
    rs_table *a = rs_table_create(&spec), *b = rs_table_create_dynamic(&spec);
    rs_status status = a && b ? RS_OK : RS_ERR_NOMEM;
    size_t added = 0;
    for (int64_t i = 0; i < 200 && status == RS_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", (int)i);
        status = add_row(b, i, i, 1, name);
        added += status == RS_OK;
    }
    if (b) assert_int_equal(rs_table_n_rows(b), added); /* earlier rows stay */
    if (status == RS_OK) {
        status = rs_table_append(a, b, NULL);
        assert_int_equal(rs_table_n_rows(a), status == RS_OK ? 200 : 0);
    }
    rs_table_free(a);
    rs_table_free(b);
    return status;
}

TEST(test_every_allocation_may_fail)
{
    rs_test_fail_allocation(0);
    assert_int_equal(work(), RS_OK);
    uint64_t made = rs_test_fail_allocation(0);
    assert_true(made > 10);
    for (uint64_t n = 1; n <= made; n++) {
        rs_test_fail_allocation(n);
        assert_int_equal(work(), RS_ERR_NOMEM);
    }
    rs_test_fail_allocation(0);
}
