/* --budget: never more bytes than asked for, always whole JSON, first rows, and true counts of what was left out. */
#include <stdio.h>
#include <jansson.h>

#include "analysis/analysis.h"
#include "base/memory.h"
#include "sink.h"
#include "unit.h"

static const rs_column_spec columns[] = {
    {"depth", RS_INT, RS_UNIT_COUNT, "depth", NULL},
    {"time_us", RS_TIME, RS_UNIT_US, "time", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name", NULL},
};
static const rs_table_spec specs[] = {{"verdict", "one row", columns, 3},
                                      {"rows", "many rows", columns, 3},
                                      {"empty", "no row", columns, 3},
                                      {"more", "rows of many lengths", columns, 3}};
enum { N_TABLES = 4 };
static const size_t n_rows[N_TABLES] = {1, 40, 0, 12};

/* Depths 0, 1, 2, 0, 1, ...: a tree. */
static rs_table *make_table(size_t t)
{
    rs_table *table = rs_table_create(&specs[t]);
    for (size_t i = 0; i < n_rows[t]; i++) {
        char name[80];
        snprintf(name, sizeof name, "\"%zu|\\%*s", i, t == 3 ? (int)(i * 5) : (int)t * 3, "_");
        rs_table_add_int(table, (int64_t)(i % 3));
        rs_table_add_time(table, (int64_t)(i * 12345));
        rs_table_add_text(table, name);
        assert_int_equal(rs_table_end_row(table, NULL), RS_OK);
    }
    return table;
}

static void make_result(rs_result *result)
{
    *result = (rs_result){.tables = rs_calloc(N_TABLES, sizeof *result->tables), .n_tables = N_TABLES};
    for (size_t t = 0; t < N_TABLES; t++) result->tables[t] = make_table(t);
    result->main_table = 1;
    for (int i = 0; i < 5; i++) {
        rs_result_note(result, "note %d has something to say", i);
        static const char *const kinds[] = {"a", "b", "c", "d", "e"};
        rs_problems_add(&result->problems, "file", i, RS_WARNING, kinds[i], "a defect", 7);
    }
}

static rs_status write_within(const rs_result *result, const char *form, const char *nest_by, size_t budget,
                              collected *out, rs_error *err)
{
    rs_render_settings settings = {
        .size = sizeof settings, .form = rs_output_form_find(form), .nest_by = nest_by, .budget = budget};
    rs_sink sink = {collect, out};
    *out = (collected){0};
    return rs_render_result(result, result->main_table, &settings, &sink, err);
}

static size_t count_nested(const json_t *rows)
{
    size_t n = json_array_size(rows), all = n;
    for (size_t i = 0; i < n; i++) all += count_nested(json_object_get(json_array_get(rows, i), "children"));
    return all;
}

static size_t left_out(const json_t *answer, const char *key, const char *name, size_t n, size_t shown)
{
    const json_t *list = json_object_get(answer, "left_out");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *text = json_string_value(json_object_get(entry, key));
        if (!text || strcmp(text, name) != 0) continue;
        assert_int_equal(
            json_integer_value(json_object_get(entry, strcmp(key, "table") ? "entries" : "rows")), n);
        assert_int_equal(json_integer_value(json_object_get(entry, "shown")), shown);
        assert_non_null(json_object_get(answer, "rest"));
        assert_true(shown < n);
        return 1;
    }
    assert_int_equal(shown, n);
    return 0;
}

/* Checks one answer; returns how many rows it shows. */
static size_t check_answer(const char *text, bool nested)
{
    json_error_t error;
    json_t *answer = json_loads(text, 0, &error);
    assert_non_null(answer);
    size_t cut = 0, all = 0;
    for (size_t t = 0; t < N_TABLES; t++) {
        const json_t *rows = json_object_get(json_object_get(answer, "tables"), specs[t].name);
        assert_true(json_is_array(rows));
        size_t shown = nested ? count_nested(rows) : json_array_size(rows);
        cut += left_out(answer, "table", specs[t].name, n_rows[t], shown);
        for (size_t i = 0; !nested && i < shown; i++)
            assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, i), "depth")), i % 3);
        all += shown;
    }
    cut += left_out(answer, "list", "problems", 5, json_array_size(json_object_get(answer, "problems")));
    cut += left_out(answer, "list", "notes", 5, json_array_size(json_object_get(answer, "notes")));
    assert_int_equal(json_array_size(json_object_get(answer, "left_out")), cut);
    json_decref(answer);
    return all;
}

static void check_json(const char *nest_by)
{
    rs_result result;
    collected out;
    rs_error err = RS_ERROR_INIT;
    make_result(&result);
    assert_int_equal(write_within(&result, "json", nest_by, SIZE_MAX, &out, &err), RS_OK);
    size_t whole = out.n, before = 0, refused = 0;
    assert_int_equal(check_answer(out.text, nest_by != NULL), 53);
    collected_clear(&out);
    for (size_t budget = 1; budget <= whole + 2; budget++) {
        rs_status status = write_within(&result, "json", nest_by, budget, &out, &err);
        if (status == RS_OK) {
            assert_true(out.n <= budget);
            size_t shown = check_answer(out.text, nest_by != NULL);
            assert_true(shown == 53 || budget < whole); /* what fits is not cut */
            assert_true(shown + 12 >= before); /* a longer row may take the room of some shorter ones */
            before = shown;
        } else {
            assert_int_equal(status, RS_ERR_USAGE);
            assert_int_equal(out.n, 0);
            assert_int_equal(refused, budget - 1); /* only the smallest are refused */
            refused = budget;
            err = (rs_error)RS_ERROR_INIT;
        }
        collected_clear(&out);
    }
    assert_true(refused < 700);
    rs_result_clear(&result);
}

TEST(test_json)
{
    check_json(NULL);
    check_json("depth");
}

/* A table of one row is an answer's heart: it is there before the first row of a ranking. */
TEST(test_order)
{
    rs_result result;
    collected out;
    make_result(&result);
    for (size_t budget = 1; budget < 3000; budget++) {
        if (write_within(&result, "json", NULL, budget, &out, NULL) == RS_OK) {
            json_t *answer = json_loads(out.text, 0, NULL);
            const json_t *tables = json_object_get(answer, "tables");
            size_t one = json_array_size(json_object_get(tables, "verdict"));
            size_t first = json_array_size(json_object_get(tables, "rows"));
            size_t second = json_array_size(json_object_get(tables, "more"));
            assert_true(one == 1 || (first == 0 && second == 0));
            assert_true(first <= second + 1 || second > 0); /* in turns */
            json_decref(answer);
        }
        collected_clear(&out);
    }
    rs_result_clear(&result);
}

TEST(test_md)
{
    rs_result result;
    collected all, out;
    make_result(&result);
    assert_int_equal(write_within(&result, "md", NULL, 0, &all, NULL), RS_OK);
    size_t refused = 0;
    for (size_t budget = 1; budget <= all.n + 2; budget++) {
        if (write_within(&result, "md", NULL, budget, &out, NULL) != RS_OK) {
            assert_int_equal(refused, budget - 1);
            refused = budget;
            continue;
        }
        assert_true(out.n <= budget);
        const char *rest = strstr(out.text, "\n\n");
        size_t shown = 0, said = 0, of = 0;
        for (const char *at = out.text; at < (rest ? rest + 1 : out.text + out.n); at++) shown += *at == '\n';
        if (rest) {
            assert_true(budget < all.n);
            char *behind;
            said = strtoul(rest + 2, &behind, 10);
            assert_memory_equal(behind, " of ", 4);
            of = strtoul(behind + 4, &behind, 10);
            assert_memory_equal(behind, " rows", 5);
            assert_int_equal(said, shown - 2);
            assert_int_equal(of, 40);
            assert_memory_equal(out.text, all.text, (size_t)(rest - out.text));
        } else {
            assert_string_equal(out.text, all.text);
        }
        collected_clear(&out);
    }
    assert_in_range(refused, 50, 300);
    collected_clear(&all);
    rs_result_clear(&result);
}

TEST(test_other_forms_refuse)
{
    rs_result result;
    collected out;
    make_result(&result);
    size_t n;
    const rs_output_form *const *forms = rs_output_forms(&n);
    for (size_t i = 0; i < n; i++) {
        rs_status status = write_within(&result, rs_output_form_name(forms[i]), NULL, 100000, &out, NULL);
        assert_int_equal(status, rs_output_form_has_budget(forms[i]) ? RS_OK : RS_ERR_USAGE);
        collected_clear(&out);
    }
    rs_result_clear(&result);
}

TEST(test_every_allocation_may_fail)
{
    static const char *const forms[] = {"json", "md"};
    rs_result result;
    make_result(&result);
    for (size_t f = 0; f < 2; f++) {
        for (uint64_t n = 1;; n++) {
            collected out;
            rs_test_fail_allocation(n);
            rs_status status = write_within(&result, forms[f], NULL, 1500, &out, NULL);
            uint64_t made = rs_test_fail_allocation(0);
            collected_clear(&out);
            assert_int_equal(status, made < n ? RS_OK : RS_ERR_NOMEM);
            if (made < n) break;
        }
    }
    rs_result_clear(&result);
}
