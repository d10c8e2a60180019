/* Options, ranges, suggestions, and that every registry row is sound. */
#include <string.h>

#include "analysis/analysis.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/suggest.h"
#include "unit.h"

static const rs_option_spec specs[] = {
    {"memory", RS_OPTION_FLAG, NULL, NULL, NULL, "a flag"},
    {"top", RS_OPTION_INT, "N", NULL, "10", "a number"},
    {"ratio", RS_OPTION_REAL, "X", NULL, "0.8", "a real"},
    {"name", RS_OPTION_TEXT, "NAME", NULL, NULL, "a text"},
    {"by", RS_OPTION_CHOICE, NULL, "type|name", "type", "a choice"},
    {"streams", RS_OPTION_RANGES, "LIST", NULL, NULL, "ranges"},
};
#define N_SPECS (sizeof specs / sizeof *specs)

TEST(test_defaults)
{
    rs_options *o;
    assert_int_equal(rs_options_create(specs, N_SPECS, &o, NULL), RS_OK);
    assert_false(rs_options_flag(o, "memory"));
    assert_int_equal(rs_options_int(o, "top"), 10);
    assert_true(rs_options_real(o, "ratio") == 0.8);
    assert_null(rs_options_text(o, "name"));
    assert_string_equal(rs_options_text(o, "by"), "type");
    assert_true(rs_options_in_ranges(o, "streams", 12345));
    for (size_t i = 0; i < N_SPECS; i++) assert_false(rs_options_is_set(o, specs[i].name));
    rs_options_free(o);
}

TEST(test_setting)
{
    rs_options *o;
    assert_int_equal(rs_options_create(specs, N_SPECS, &o, NULL), RS_OK);
    assert_int_equal(rs_options_set(o, "memory", NULL, NULL), RS_OK);
    assert_true(rs_options_flag(o, "memory"));
    assert_int_equal(rs_options_set(o, "top", "3", NULL), RS_OK);
    assert_int_equal(rs_options_set(o, "top", "9223372036854775807", NULL), RS_OK); /* the last one wins */
    assert_int_equal(rs_options_int(o, "top"), INT64_MAX);
    assert_true(rs_options_is_set(o, "top"));
    assert_int_equal(rs_options_set(o, "ratio", "-1.5e2", NULL), RS_OK);
    assert_true(rs_options_real(o, "ratio") == -150);
    assert_int_equal(rs_options_set(o, "streams", "20, 7,8-9", NULL), RS_OK);
    assert_true(rs_options_in_ranges(o, "streams", 7));
    assert_true(rs_options_in_ranges(o, "streams", 9));
    assert_false(rs_options_in_ranges(o, "streams", 10));
    assert_string_equal(rs_options_text(o, "streams"), "20, 7,8-9");
    rs_options_free(o);
}

static void refuse(const char *name, const char *value, const char *message)
{
    rs_options *o;
    assert_int_equal(rs_options_create(specs, N_SPECS, &o, NULL), RS_OK);
    rs_error err = RS_ERROR_INIT;
    char text[512];
    assert_int_equal(rs_options_set(o, name, value, &err), RS_ERR_USAGE);
    assert_string_equal(rs_error_text(&err, text, sizeof text), message);
    assert_int_equal(rs_options_int(o, "top"), 10); /* a refused value changes nothing */
    assert_string_equal(rs_options_text(o, "by"), "type");
    rs_options_free(o);
}

TEST(test_refusals)
{
    refuse("topp", "1", "there is no option --topp; did you mean --top?");
    refuse("zebra", "1", "there is no option --zebra");
    refuse("memory", "yes", "--memory takes no value");
    refuse("top", NULL, "--top needs a value: --top N");
    refuse("top", "-1", "--top takes a whole number, not \"-1\"");
    refuse("top", "", "--top takes a whole number, not \"\"");
    refuse("top", "9223372036854775808", "--top takes a whole number, not \"9223372036854775808\"");
    refuse("top", "3x", "--top takes a whole number, not \"3x\"");
    refuse("ratio", "nan", "--ratio takes a number, not \"nan\"");
    refuse("ratio", "1e999", "--ratio takes a number, not \"1e999\"");
    refuse("ratio", "0x10", "--ratio takes a number, not \"0x10\"");
    refuse("by", "nmae", "--by takes one of type, name, not \"nmae\"; did you mean name?");
    refuse("by", "type|name", "--by takes one of type, name, not \"type|name\"");
    refuse("by", "", "--by takes one of type, name, not \"\"");
    refuse("streams", "1,,2", "--streams: \"1,,2\" is no list of whole numbers like 0,3,8-15");
    refuse("streams", "5-3", "--streams: \"5-3\": the range 5-3 runs backwards");
}

TEST(test_ranges)
{
    rs_ranges r;
    assert_int_equal(rs_ranges_parse("8-15,0,3,14-20,21", &r, NULL), RS_OK);
    assert_int_equal(r.n, 3); /* 0, 3, 8-21 */
    assert_int_equal(r.items[2].first, 8);
    assert_int_equal(r.items[2].last, 21);
    for (int64_t i = 0; i < 30; i++)
        assert_int_equal(rs_ranges_has(&r, i), i == 0 || i == 3 || (i >= 8 && i <= 21));
    rs_ranges_clear(&r);
    assert_int_equal(rs_ranges_parse("0-9223372036854775807,5", &r, NULL), RS_OK);
    assert_int_equal(r.n, 1);
    rs_ranges_clear(&r);
    static const char *const bad[] = {"", ",", "1,", "a", "1-", "-1", "1-2-3", "99999999999999999999", "1;2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rs_ranges_parse(bad[i], &r, NULL), RS_ERR_USAGE);
}

TEST(test_suggestions)
{
    static const char *const words[] = {"breakdown", "overlap", "kernels", "idle", "info", "critical-path"};
    static const struct {
        const char *typed, *wanted;
    } cases[] = {{"brekdown", "breakdown"},
                 {"kernel", "kernels"},
                 {"idel", "idle"},
                 {"inof", "info"},
                 {"crit", "critical-path"},
                 {"critical_path", "critical-path"},
                 {"KERNELS", "kernels"},
                 {"zzz", NULL},
                 {"", NULL},
                 {"x", NULL},
                 {"overlapping", "overlap"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = rs_suggest(cases[i].typed, words, sizeof words / sizeof *words);
        if (cases[i].wanted)
            assert_string_equal(got ? got : "(none)", cases[i].wanted);
        else
            assert_null(got);
    }
    assert_int_equal(rs_word_distance("abcd", "acbd", 9), 1);
    assert_int_equal(rs_word_distance("", "abc", 9), 3);
    assert_int_equal(rs_word_distance("kitten", "sitting", 9), 3);
    char longer[100];
    memset(longer, 'a', 99);
    longer[99] = '\0';
    assert_int_equal(rs_word_distance(longer, "a", 4), 5);
}

static rs_status allocate(void)
{
    rs_options *o;
    rs_status status = rs_options_create(specs, N_SPECS, &o, NULL);
    if (status != RS_OK) return status;
    status = rs_options_set(o, "streams", "1,3,5", NULL);
    if (status == RS_OK) status = rs_options_set(o, "name", "x", NULL);
    rs_options_free(o);
    return status;
}

TEST(test_every_allocation_may_fail)
{
    rs_test_fail_allocation(0);
    assert_int_equal(allocate(), RS_OK);
    uint64_t made = rs_test_fail_allocation(0);
    for (uint64_t n = 1; n <= made; n++) {
        rs_test_fail_allocation(n);
        assert_int_equal(allocate(), RS_ERR_NOMEM);
    }
    rs_test_fail_allocation(0);
}

TEST(test_notes)
{
    rs_result result = {0};
    rs_result_note(&result, "rank %d: no GPU events", 3);
    rs_result_note(&result, "rank %d: no GPU events", 3); /* once is enough */
    rs_result_note(&result, "rank %d: no GPU events", 4);
    assert_int_equal(result.n_notes, 2);
    assert_string_equal(result.notes[1], "rank 4: no GPU events");
    rs_result_clear(&result);
    assert_int_equal(result.n_notes, 0);
}

static void check_columns(const rs_table_spec *table)
{
    assert_non_null(table->name);
    for (size_t i = 0; i < table->n_columns; i++) {
        const rs_column_spec *c = &table->columns[i];
        assert_non_null(c->help);
        if (c->type == RS_TIME)
            assert_true(c->unit == RS_UNIT_NS || c->unit == RS_UNIT_US || c->unit == RS_UNIT_MS);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(c->name, table->columns[k].name);
    }
}

TEST(test_registry_rows)
{
    size_t n;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++) {
        const rs_analysis *a = rows[i];
        if (i) assert_true(strcmp(rows[i - 1]->name, a->name) < 0); /* sorted by name */
        assert_ptr_equal(rs_analysis_find(a->name), a);
        assert_non_null(a->help);
        assert_non_null(a->about);
        /* it questions ranks, or it reads one file that is no trace; or either, and it says which */
        const rs_method how = rs_analysis_method(a, RS_COMPAT_NONE);
        assert_true(a->file && !a->file_is ? !how.rank && !how.merge : how.rank && how.merge);
        assert_true(a->file || !a->file_is);
        size_t n_options, n_tables;
        const rs_option_spec *own = rs_analysis_options(a, &n_options);
        rs_options *options;
        assert_int_equal(rs_options_create(own, n_options, &options, NULL), RS_OK); /* the defaults parse */
        assert_non_null(options);
        rs_options_free(options);
        for (size_t k = 0; k < n_options; k++) {
            assert_non_null(own[k].help);
            if (own[k].type == RS_OPTION_CHOICE) assert_non_null(own[k].choices);
        }
        const rs_table_spec *const *tables = rs_analysis_tables(a, RS_COMPAT_NONE, &n_tables);
        assert_non_null(tables);
        assert_true(n_tables > 0);
        for (size_t t = 0; t < n_tables; t++) check_columns(tables[t]);
    }
    assert_null(rs_analysis_find("no such analysis"));
}
