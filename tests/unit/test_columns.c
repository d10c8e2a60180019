/* Arrow: what the forms write, read back by a second implementation and held against the table. */
#include <math.h>
#include <stdio.h>

#include "sink.h"
#include "unit.h"

/* ---- a reader of FlatBuffers ---------------------------------------------------------------------------- */

/* The bytes that a message must lie in. */
typedef struct span {
    const uint8_t *bytes;
    size_t n;
} span;

static uint64_t number(span s, size_t at, size_t width)
{
    uint64_t value = 0;
    assert_true(at + width <= s.n);
    assert_int_equal(at % width, 0); /* numbers are aligned */
    for (size_t i = width; i-- > 0;) value = value << 8 | s.bytes[at + i];
    return value;
}

static size_t follow(span s, size_t at)
{
    return at + number(s, at, 4);
}

/* Where a member of the table lies; 0: it is left out. */
static size_t member(span s, size_t table, unsigned m)
{
    size_t index = table - (size_t)(int32_t)number(s, table, 4), n = number(s, index, 2);
    if (4 + 2 * m >= n) return 0;
    size_t at = number(s, index + 4 + 2 * m, 2);
    assert_true(at < number(s, index + 2, 2));
    return at ? table + at : 0;
}

static int64_t whole(span s, size_t table, unsigned m, size_t width)
{
    size_t at = member(s, table, m);
    return at ? (int64_t)number(s, at, width) : 0;
}

static size_t inner(span s, size_t table, unsigned m)
{
    size_t at = member(s, table, m);
    assert_true(at);
    return follow(s, at);
}

static const char *text(span s, size_t table, unsigned m)
{
    size_t at = inner(s, table, m);
    assert_int_equal(s.bytes[at + 4 + number(s, at, 4)], 0);
    return (const char *)s.bytes + at + 4;
}

/* The value of a key in a vector of pairs; NULL: there is none. */
static const char *pair(span s, size_t vector, const char *key)
{
    for (size_t i = 0; i < number(s, vector, 4); i++) {
        size_t table = follow(s, vector + 4 + 4 * i);
        if (strcmp(text(s, table, 0), key) == 0) return text(s, table, 1);
    }
    return NULL;
}

/* ---- a reader of the stream ------------------------------------------------------------------------------- */

enum { SCHEMA = 1, LIST = 2, BATCH = 3 };

typedef struct message {
    span head; /* empty at the end of the stream */
    const uint8_t *body;
    size_t body_length, next; /* where the next message begins */
    int kind;
    size_t header;
} message;

static message read_message(const collected *out, size_t at)
{
    const span all = {(const uint8_t *)out->text, out->n};
    message m = {0};
    assert_int_equal(at % 8, 0);
    assert_int_equal(number(all, at, 4), UINT32_MAX);
    size_t n = number(all, at + 4, 4);
    m.next = at + 8;
    if (n == 0) return m;
    assert_true(at + 8 + n <= all.n);
    m.head = (span){all.bytes + at + 8, n};
    size_t root = follow(m.head, 0);
    assert_int_equal(whole(m.head, root, 0, 2), 4);
    m.kind = (int)whole(m.head, root, 1, 1);
    m.header = inner(m.head, root, 2);
    m.body_length = (size_t)whole(m.head, root, 3, 8);
    m.body = m.head.bytes + n;
    m.next = at + 8 + n + m.body_length;
    assert_true(m.next <= all.n);
    return m;
}

typedef struct reader {
    const rs_table *table;
    message lists[8]; /* by the column's number */
    size_t rows, n_batches, n_lists;
} reader;

/* One buffer of a record batch. */
static const uint8_t *buffer(message m, size_t batch, size_t which, size_t *n)
{
    size_t vector = inner(m.head, batch, 2);
    assert_true(which < number(m.head, vector, 4));
    size_t at = number(m.head, vector + 4 + 16 * which, 8);
    *n = number(m.head, vector + 12 + 16 * which, 8);
    assert_int_equal(at % 8, 0);
    assert_true(at + *n <= m.body_length);
    return m.body + at;
}

static void check_field(span s, size_t field, const rs_column_spec *spec, size_t at)
{
    size_t type = inner(s, field, 3);
    assert_string_equal(text(s, field, 0), spec->name);
    assert_int_equal(whole(s, field, 1, 1), 1);
    assert_int_equal(number(s, inner(s, field, 5), 4), 0);
    switch (spec->type) {
    case RS_REAL:
    case RS_TIME:
    case RS_MOMENT:
        assert_int_equal(whole(s, field, 2, 1), 3);
        assert_int_equal(whole(s, type, 0, 2), 2);
        break;
    case RS_TEXT:
        assert_int_equal(whole(s, field, 2, 1), 5);
        assert_int_equal(whole(s, inner(s, field, 4), 0, 8), at);
        assert_int_equal(whole(s, inner(s, inner(s, field, 4), 0 + 1), 0, 4), 32);
        break;
    default:
        assert_int_equal(whole(s, field, 2, 1), 2);
        assert_int_equal(whole(s, type, 0, 4), 64);
        assert_int_equal(whole(s, type, 1, 1), 1);
        assert_int_equal(member(s, field, 4), 0);
    }
    size_t pairs = inner(s, field, 6);
    const char *unit = rs_unit_name(spec->unit);
    assert_string_equal(pair(s, pairs, "help"), spec->help);
    assert_true(unit ? strcmp(pair(s, pairs, "unit"), unit) == 0 : !pair(s, pairs, "unit"));
}

static void check_schema(span s, size_t schema, const rs_table *table)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t fields = inner(s, schema, 1);
    assert_int_equal(number(s, fields, 4), spec->n_columns);
    for (size_t i = 0; i < spec->n_columns; i++)
        check_field(s, follow(s, fields + 4 + 4 * i), &spec->columns[i], i);
    assert_string_equal(pair(s, inner(s, schema, 2), "table"), spec->name);
    assert_string_equal(pair(s, inner(s, schema, 2), "help"), spec->help);
}

static void check_text(const reader *r, size_t at, int32_t index, const char *expected, size_t length)
{
    message list = r->lists[at];
    size_t n, batch = inner(list.head, list.header, 1), n_texts = (size_t)whole(list.head, batch, 0, 8);
    const uint8_t *offsets = buffer(list, batch, 1, &n);
    assert_int_equal(n, 4 * (n_texts + 1));
    assert_in_range(index, 0, n_texts - 1);
    int32_t from, to;
    memcpy(&from, offsets + 4 * (size_t)index, 4);
    memcpy(&to, offsets + 4 * (size_t)index + 4, 4);
    const uint8_t *texts = buffer(list, batch, 2, &n);
    assert_true(from <= to && (size_t)to <= n);
    assert_int_equal((size_t)(to - from), length);
    assert_memory_equal(texts + from, expected, length);
}

static void check_cell(const reader *r, size_t row, size_t at, const uint8_t *value)
{
    const rs_column_spec *spec = &rs_table_get_spec(r->table)->columns[at];
    int64_t whole_number;
    double real;
    int32_t index;
    size_t length;
    switch (spec->type) {
    case RS_REAL:
    case RS_TIME:
    case RS_MOMENT:
        memcpy(&real, value, sizeof real);
        assert_true(real == rs_table_real(r->table, row, at));
        break;
    case RS_TEXT: {
        memcpy(&index, value, sizeof index);
        const char *given = rs_table_text(r->table, row, at, &length);
        bool bad = length == 2 && (uint8_t)given[1] >= 0xfe; /* "x\xff" and "x\xfe" */
        check_text(r, at, index, bad ? "x\xef\xbf\xbd" : given, bad ? 4 : length);
        break;
    }
    default:
        memcpy(&whole_number, value, sizeof whole_number);
        assert_int_equal(whole_number, rs_table_int(r->table, row, at));
    }
}

static void check_batch(reader *r, message m)
{
    size_t n = (size_t)whole(m.head, m.header, 0, 8), nodes = inner(m.head, m.header, 1);
    size_t n_columns = rs_table_get_spec(r->table)->n_columns;
    assert_int_equal(number(m.head, nodes, 4), n_columns);
    for (size_t at = 0; at < n_columns; at++) {
        size_t unknown = number(m.head, nodes + 12 + 16 * at, 8), seen = 0, n_known, n_values;
        const uint8_t *known = buffer(m, m.header, 2 * at, &n_known);
        const uint8_t *values = buffer(m, m.header, 2 * at + 1, &n_values);
        size_t size = rs_table_get_spec(r->table)->columns[at].type == RS_TEXT ? 4 : 8;
        assert_int_equal(number(m.head, nodes + 4 + 16 * at, 8), n);
        assert_int_equal(n_known, unknown ? (n + 7) / 8 : 0);
        assert_int_equal(n_values, n * size);
        for (size_t i = 0; i < n; i++) {
            bool null = n_known && !(known[i / 8] >> i % 8 & 1);
            assert_int_equal(null, rs_table_is_null(r->table, r->rows + i, at));
            seen += null;
            if (!null) check_cell(r, r->rows + i, at, values + i * size);
        }
        assert_int_equal(seen, unknown);
    }
    r->rows += n;
    r->n_batches++;
}

/* Reads the stream from a place on; returns where it ends. */
static size_t check_stream(const collected *out, size_t at, const rs_table *table, size_t n_batches)
{
    reader r = {.table = table};
    message m = read_message(out, at);
    assert_int_equal(m.kind, SCHEMA);
    check_schema(m.head, m.header, table);
    while ((m = read_message(out, m.next)).head.n) {
        if (m.kind == LIST) {
            assert_int_equal(r.n_batches, 0);
            r.lists[whole(m.head, m.header, 0, 8)] = m;
            r.n_lists++;
        } else {
            assert_int_equal(m.kind, BATCH);
            check_batch(&r, m);
        }
    }
    assert_int_equal(r.rows, rs_table_n_rows(table));
    assert_int_equal(r.n_batches, n_batches);
    return m.next;
}

/* The index at the end of a file names every list and batch. */
static void check_index(const collected *out, size_t begins, const rs_table *table)
{
    uint32_t n;
    const uint8_t *bytes = (const uint8_t *)out->text;
    assert_memory_equal(out->text + out->n - 6, "ARROW1", 6);
    memcpy(&n, out->text + out->n - 10, 4);
    assert_int_equal(begins + n + 10, out->n);
    span s = {bytes + begins, n};
    size_t root = follow(s, 0), place = read_message(out, 8).next;
    assert_int_equal(whole(s, root, 0, 2), 4);
    check_schema(s, inner(s, root, 1), table);
    for (unsigned m = 2; m <= 3; m++) {
        size_t blocks = inner(s, root, m);
        for (size_t i = 0; i < number(s, blocks, 4); i++) {
            message found = read_message(out, place);
            assert_int_equal(found.kind, m);
            assert_int_equal(number(s, blocks + 4 + 24 * i, 8), place);
            assert_int_equal(number(s, blocks + 12 + 24 * i, 4), 8 + found.head.n);
            assert_int_equal(number(s, blocks + 20 + 24 * i, 8), found.body_length);
            place = found.next;
        }
    }
    assert_int_equal(read_message(out, place).head.n, 0);
}

/* ---- tables ------------------------------------------------------------------------------------------------- */

static void write_as(const rs_table *table, const char *form, collected *out)
{
    *out = (collected){0};
    rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find(form)};
    rs_sink sink = {collect, out};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_render_table(table, &settings, &sink, &err), RS_OK);
}

static void check_both(const rs_table *table, size_t n_batches)
{
    collected out;
    write_as(table, "arrows", &out);
    assert_int_equal(check_stream(&out, 0, table, n_batches), out.n);
    collected_clear(&out);
    write_as(table, "arrow", &out);
    assert_memory_equal(out.text, "ARROW1\0\0", 8);
    check_index(&out, check_stream(&out, 8, table, n_batches), table);
    collected_clear(&out);
}

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},         {"idle_us", RS_TIME, RS_UNIT_US, "idle", NULL},
    {"share", RS_REAL, RS_UNIT_PERCENT, "share", NULL}, {"ts", RS_MOMENT, RS_UNIT_US, "start", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name", NULL},      {"other", RS_TEXT, RS_UNIT_NONE, "other", NULL},
};
static const rs_table_spec spec = {"t", "one row is a test", columns, 6};

static rs_table *make_table(size_t rows)
{
    rs_table *t = rs_table_create(&spec);
    for (size_t i = 0; i < rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel %zu", i % 1013);
        rs_table_add_int(t, (int64_t)i - 5);
        if (i % 3 == 1)
            rs_table_add_null(t);
        else
            rs_table_add_time(t, INT64_MAX - (int64_t)i);
        rs_table_add_real(t, i % 5 == 2 ? (double)NAN : i % 7 == 3 ? (double)INFINITY : (double)i / 8);
        rs_table_add_moment(t, (int64_t)i * 1001);
        rs_table_add_text(t, i % 11 == 4 ? NULL : i % 11 == 5 ? "x\xff" : i % 11 == 6 ? "x\xfe" : name);
        rs_table_add_text(t, i % 2 ? "" : "even");
        assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    }
    rs_table_count_from(t, 500);
    return t;
}

TEST(test_rows)
{
    /* no row, one, a bitmap's edges, a batch's edges */
    static const size_t sizes[][2] = {{0, 0}, {1, 1}, {8, 1}, {9, 1}, {65536, 1}, {65537, 2}, {140000, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rs_table *t = make_table(sizes[i][0]);
        check_both(t, sizes[i][1]);
        rs_table_free(t);
    }
}

/* Two texts that are no UTF-8 become the same one, which a list holds once. */
TEST(test_list_is_of_different_texts)
{
    collected out;
    rs_table *t = make_table(12);
    write_as(t, "arrows", &out);
    message m = read_message(&out, read_message(&out, 0).next);
    assert_int_equal(whole(m.head, m.header, 0, 8), 4);
    assert_int_equal(whole(m.head, inner(m.head, m.header, 1), 0, 8),
                     10); /* 12 rows, one unknown, two the same */
    collected_clear(&out);
    rs_table_free(t);
}
