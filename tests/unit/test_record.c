/* Records and moments: every source of a cell, what is unknown, misuse, packing by the same list, and what
 * moments count from. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "table/record.h"
#include "unit.h"

typedef struct root root;

typedef struct row {
    int64_t device, time, at, whole;
    size_t n;
    uint32_t position, text;
    uint8_t kind;
    bool flag;
    double real;
    const char *name;
    char short_name[8];
    rs_moments spread;
    int64_t unseen; /* in no cell */
} row;

struct root {
    rs_strings strings;
    row *rows;
    size_t n;
};

static const char *const kinds[] = {"zero", NULL, "two"};

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(row, device), "device", INT, ID, "device", NULL)                                                 \
    CELL(OF(row, n), "n", INT, COUNT, "count", NULL)                                                         \
    CELL(SET, "twice", INT, COUNT, "computed", NULL)                                                         \
    CELL(OF(row, time), "time_us", TIME, US, "a time", NULL)                                                 \
    CELL(OF(row, at), "at_us", MOMENT, US, "a moment", NULL)                                                 \
    CELL(OF(row, time), "time_real", REAL, US, "a time as a real number", NULL)                              \
    CELL(OF(row, position), "position", INT, ID, "32 bits", NULL)                                            \
    CELL(OF(row, flag), "flag", INT, NONE, "truth value", NULL)                                              \
    CELL(IF(row, whole, flag), "whole", TIME, US, "known with the flag", NULL)                               \
    CELL(OF(row, real), "real", REAL, NONE, "a real number", NULL)                                           \
    CELL(MAYBE(row, name), "name", TEXT, NONE, "a text", NULL)                                               \
    CELL(CHARS(row, short_name), "chars", TEXT, NONE, "chars", NULL)                                         \
    CELL(SOME_CHARS(row, short_name), "some", TEXT, NONE, "chars, unless empty", NULL)                       \
    CELL(WORD(row, kind, kinds), "kind", TEXT, NONE, "a word", NULL)                                         \
    CELL(TEXT(row, text, root, strings.n), "text", TEXT, NONE, "by id", NULL)                                \
    CELL(MEAN(row, spread), "mean", REAL, US, "mean", NULL)                                                  \
    CELL(STD(row, spread), "std", REAL, NONE, "deviation, ns", NULL)                                         \
    CELL(SHARE(row, time, whole), "share", REAL, PERCENT, "share", NULL)                                     \
    CELL(SET, "words", TEXT, NONE, "computed", NULL)
RS_RECORD(row, ROW);

static const rs_table_spec spec = {"rows", "one row is a test", row_columns,
                                   sizeof row_columns / sizeof *row_columns};

static size_t column(const char *name)
{
    for (size_t i = 0; i < spec.n_columns; i++)
        if (strcmp(row_columns[i].name, name) == 0) return i;
    fail_msg("no column %s", name);
    return 0;
}

static bool is_null(const rs_table *t, size_t at, const char *name)
{
    return rs_table_is_null(t, at, column(name));
}

static int64_t number(const rs_table *t, size_t at, const char *name)
{
    return rs_table_int(t, at, column(name));
}

static double real(const rs_table *t, size_t at, const char *name)
{
    return rs_table_real(t, at, column(name));
}

static const char *text(const rs_table *t, size_t at, const char *name)
{
    return rs_table_text(t, at, column(name), NULL);
}

static row full_row(void)
{
    row r = {.device = 3,
             .time = 1500,
             .at = 5000,
             .whole = 6000,
             .n = 7,
             .position = 12,
             .text = 2,
             .kind = 2,
             .flag = true,
             .real = 2.5,
             .name = "gemm",
             .short_name = "abc"};
    rs_moments_add(&r.spread, 1000);
    rs_moments_add(&r.spread, 4000);
    return r;
}

static row empty_row(void)
{
    return (row){.device = -1,
                 .time = INT64_MIN,
                 .at = INT64_MIN,
                 .position = UINT32_MAX,
                 .text = RS_NO_STRING,
                 .kind = 1,
                 .real = (double)NAN};
}

static rs_status add(rs_table *t, int64_t rank, const row *r)
{
    rs_table_put(t, &row_record, rank, r);
    char twice[] = "twice"; /* a name is compared by its letters */
    rs_table_set_int(t, twice, r->n ? 2 * (int64_t)r->n : INT64_MIN);
    rs_table_set_text(t, "words", r->n ? "seven" : NULL);
    return rs_table_end_row(t, NULL);
}

static rs_strings two_texts(void)
{
    rs_strings s;
    assert_true(rs_strings_init(&s));
    rs_strings_add(&s, "first", 5);
    rs_strings_add(&s, "second", 6);
    return s;
}

TEST(test_every_source)
{
    rs_table *t = rs_table_create(&spec);
    rs_strings texts = two_texts();
    row r = full_row();
    rs_table_use_texts(t, &texts);
    assert_int_equal(add(t, 4, &r), RS_OK);
    assert_int_equal(number(t, 0, "rank"), 4);
    assert_int_equal(number(t, 0, "device"), 3);
    assert_int_equal(number(t, 0, "n"), 7);
    assert_int_equal(number(t, 0, "twice"), 14);
    assert_int_equal(number(t, 0, "time_us"), 1500);
    assert_true(real(t, 0, "time_us") == 1.5);
    assert_true(real(t, 0, "time_real") == 1.5);
    assert_int_equal(number(t, 0, "at_us"), 5000);
    assert_int_equal(number(t, 0, "position"), 12);
    assert_int_equal(number(t, 0, "flag"), 1);
    assert_int_equal(number(t, 0, "whole"), 6000);
    assert_true(real(t, 0, "real") == 2.5);
    assert_string_equal(text(t, 0, "name"), "gemm");
    assert_string_equal(text(t, 0, "chars"), "abc");
    assert_string_equal(text(t, 0, "some"), "abc");
    assert_string_equal(text(t, 0, "kind"), "two");
    assert_string_equal(text(t, 0, "text"), "second");
    assert_true(real(t, 0, "mean") == 2.5);
    assert_true(fabs(real(t, 0, "std") - sqrt(4.5e6)) < 1e-9);
    assert_true(real(t, 0, "share") == 25);
    assert_string_equal(text(t, 0, "words"), "seven");
    rs_table_free(t);
    rs_strings_clear(&texts);
}

TEST(test_unknown)
{
    static const char *const unknown[] = {"device", "twice", "time_us", "at_us", "time_real", "position",
                                          "whole",  "real",  "name",    "some",  "kind",      "text",
                                          "mean",   "std",   "share",   "words"};
    rs_table *t = rs_table_create(&spec);
    row r = full_row(), none = empty_row();
    /* a row before it, so that nothing of it shines through */
    assert_int_equal(add(t, 0, &r), RS_OK);
    assert_true(is_null(t, 0, "text")); /* no texts in use */
    assert_int_equal(add(t, 1, &none), RS_OK);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (!is_null(t, 1, unknown[i])) fail_msg("%s is known", unknown[i]);
    assert_int_equal(number(t, 1, "n"), 0);
    assert_int_equal(number(t, 1, "flag"), 0);
    assert_string_equal(text(t, 1, "chars"), "");
    none.kind = 200; /* no such word */
    assert_int_equal(add(t, 2, &none), RS_OK);
    assert_true(is_null(t, 2, "kind"));
    rs_table_free(t);
}

TEST(test_texts_are_those_in_use)
{
    rs_table *t = rs_table_create(&spec);
    rs_strings texts = two_texts(), others;
    row r = full_row();
    assert_true(rs_strings_init(&others));
    for (int i = 0; i < 100; i++) {
        char digits[2] = {(char)('0' + i / 10), (char)('0' + i % 10)};
        rs_strings_add(&others, digits, 2);
    }
    rs_table_use_texts(t, &texts);
    assert_int_equal(add(t, 0, &r), RS_OK);
    assert_int_equal(add(t, 0, &r), RS_OK);
    rs_table_use_texts(t, &others);
    assert_int_equal(add(t, 1, &r), RS_OK);
    r.text = 100;
    assert_int_equal(add(t, 1, &r), RS_OK);
    r.text = 101; /* there is none */
    assert_int_equal(add(t, 1, &r), RS_OK);
    assert_string_equal(text(t, 0, "text"), "second");
    assert_string_equal(text(t, 1, "text"), "second");
    assert_string_equal(text(t, 2, "text"), "01");
    assert_string_equal(text(t, 3, "text"), "99");
    assert_true(is_null(t, 4, "text"));
    rs_table_free(t);
    rs_strings_clear(&texts);
    rs_strings_clear(&others);
}

TEST(test_misuse)
{
    rs_table *t = rs_table_create(&spec);
    row r = full_row();
    rs_table_put(t, &row_record, 0, &r); /* computed cells forgotten */
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_put(t, &row_record, 0, &r);
    rs_table_set_int(t, "twice", 2);
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_put(t, &row_record, 0, &r); /* not in order */
    rs_table_set_text(t, "words", "x");
    rs_table_set_int(t, "twice", 2);
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_put(t, &row_record, 0, &r); /* of another type */
    rs_table_set_real(t, "twice", 2);
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_put(t, &row_record, 0, &r); /* no computed cell, and one too many */
    rs_table_set_int(t, "n", 2);
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_put(t, &row_record, 0, &r);
    rs_table_set_null(t, "twice");
    rs_table_set_null(t, "words");
    rs_table_set_null(t, "words");
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_add_int(t, 1); /* into a row that was begun by hand */
    rs_table_put(t, &row_record, 0, &r);
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    assert_int_equal(rs_table_n_rows(t), 0);
    assert_int_equal(add(t, 0, &r), RS_OK);
    assert_int_equal(rs_table_n_rows(t), 1);
    rs_table_free(t);
    static const rs_column_spec other_columns[] = {{"rank", RS_INT, RS_UNIT_ID, "rank", NULL}};
    static const rs_table_spec other = {"other", "another table", other_columns, 1};
    t = rs_table_create(&other);
    rs_table_put(t, &row_record, 0, &r);
    assert_int_equal(rs_table_end_row(t, NULL), RS_ERR_USAGE);
    rs_table_free(t);
}

TEST(test_moments)
{
    rs_table *t = rs_table_create(&spec), *copy = rs_table_create(&spec);
    row r = full_row(), none = empty_row(), late = full_row();
    late.at = INT64_MAX;
    assert_int_equal(add(t, 0, &r), RS_OK);
    assert_int_equal(add(t, 0, &none), RS_OK);
    assert_int_equal(add(t, 0, &late), RS_OK);
    assert_int_equal(rs_table_origin(t), 0);
    assert_false(rs_table_has_origin(t));
    rs_table_count_from(t, 3000);
    assert_true(rs_table_has_origin(t));
    assert_int_equal(number(t, 0, "at_us"), 2000);
    assert_true(real(t, 0, "at_us") == 2);
    assert_int_equal(number(t, 0, "time_us"), 1500); /* a duration stays */
    assert_true(is_null(t, 1, "at_us"));
    rs_table_count_from(t, 1000);
    assert_int_equal(number(t, 0, "at_us"), 4000);
    assert_int_equal(number(t, 0, "at_us") + rs_table_origin(t), 5000);
    assert_int_equal(rs_table_append(copy, t, NULL), RS_OK);
    assert_int_equal(rs_table_origin(copy), 1000);
    assert_int_equal(number(copy, 0, "at_us"), 4000);
    rs_table_count_from(t, 2000);
    assert_int_equal(rs_table_append(copy, t, NULL), RS_OK); /* the same moments */
    assert_int_equal(number(copy, 3, "at_us"), 4000);
    rs_table_count_from(t, INT64_MIN + 1);
    assert_int_equal(number(t, 2, "at_us"), INT64_MAX); /* held at the end of the range */
    rs_table_free(t);
    rs_table_free(copy);
    assert_string_equal(rs_type_name(RS_MOMENT), "time");
}

static const rs_field more[] = {RS_FIELD(row, unseen), RS_FIELD(row, whole)};
static const rs_layout row_layout = RS_RECORD_LAYOUT_AND(row, row, more);
static const rs_field root_fields[] = {RS_FIELD_STRINGS(root, strings),
                                       RS_FIELD_LIST(root, rows, n, &row_layout)};
static const rs_layout root_layout = RS_LAYOUT(root, root_fields);

static void *there_and_back(const root *from, rs_arena *arena, rs_wire_writer *w)
{
    w->n = 0;
    rs_layout_pack(&root_layout, from, w);
    rs_wire_reader r = {.p = w->bytes, .end = w->bytes + w->n, .arena = arena};
    void *value = rs_layout_unpack(&root_layout, &r);
    return r.p == r.end ? value : NULL;
}

TEST(test_layout)
{
    rs_arena arena = {0};
    rs_wire_writer w = {0};
    row rows[] = {full_row(), empty_row()};
    root from = {.strings = two_texts(), .rows = rows, .n = 2};
    rows[0].unseen = 99;
    const root *to = there_and_back(&from, &arena, &w);
    assert_non_null(to);
    const row *a = &to->rows[0], *b = &to->rows[1];
    assert_int_equal(a->device, 3);
    assert_int_equal(a->unseen, 99);
    assert_int_equal(a->whole, 6000);
    assert_int_equal(a->kind, 2);
    assert_int_equal(a->text, 2);
    assert_true(a->flag && a->real == 2.5);
    assert_string_equal(a->name, "gemm");
    assert_string_equal(a->short_name, "abc");
    assert_int_equal(b->at, INT64_MIN);
    assert_int_equal(b->text, RS_NO_STRING);
    assert_null(b->name);
    rows[1].text = 3; /* beyond the texts */
    assert_null(there_and_back(&from, &arena, &w));
    rows[1].text = 0;
    rows[1].kind = 3; /* beyond the words */
    assert_null(there_and_back(&from, &arena, &w));
    rs_strings_clear(&from.strings);
    rs_arena_clear(&arena);
    rs_wire_clear(&w);
}
