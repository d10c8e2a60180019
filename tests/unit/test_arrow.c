/* Arrow export: types, values, bitmaps, metadata, who frees what and when, and running out of memory. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "rankscope/arrow.h"
#include "unit.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "the rank", NULL},
    {"busy_ms", RS_TIME, RS_UNIT_MS, "busy", NULL},
    {"share", RS_REAL, RS_UNIT_PERCENT, NULL, NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name", NULL},
};
static const rs_table_spec spec = {"t", "one row is a test", columns, 4};

enum { ROWS = 130 }; /* two words of bitmap and a bit */

static bool known(size_t row, size_t column)
{
    return row % (3 + column) != 0;
}

static rs_table *make_table(size_t rows)
{
    rs_table *t = rs_table_create(&spec);
    if (!t) return NULL;
    for (size_t i = 0; i < rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%zu", i % 7 * 111);
        rs_table_add_int(t, (int64_t)i - 5);
        if (known(i, 1))
            rs_table_add_time(t, (int64_t)i * 1001);
        else
            rs_table_add_null(t);
        rs_table_add_real(t, known(i, 2) ? (double)i / 8 : (double)NAN);
        rs_table_add_text(t, known(i, 3) ? name : NULL);
        if (rs_table_end_row(t, NULL) != RS_OK) {
            rs_table_free(t);
            return NULL;
        }
    }
    return t;
}

/* Counts what points into the table. */
typedef struct owner_state {
    int held, total;
} owner_state;

static void hold(void *context)
{
    owner_state *s = context;
    s->held++;
    s->total++;
}

static void release(void *context)
{
    ((owner_state *)context)->held--;
}

static bool is_known(const struct ArrowArray *a, size_t row)
{
    const uint8_t *bitmap = a->buffers[0];
    return !bitmap || (bitmap[row / 8] >> row % 8 & 1);
}

static void check_values(const struct ArrowArray *a, size_t rows)
{
    assert_int_equal(a->length, rows);
    assert_int_equal(a->null_count, 0);
    assert_int_equal(a->n_buffers, 1);
    assert_null(a->buffers[0]);
    assert_int_equal(a->n_children, 4);
    for (int64_t c = 0; c < 4; c++) {
        int64_t unknown = 0;
        for (size_t i = 0; i < rows; i++) unknown += c > 0 && !known(i, (size_t)c);
        assert_int_equal(a->children[c]->length, rows);
        assert_int_equal(a->children[c]->offset, 0);
        assert_int_equal(a->children[c]->null_count, unknown);
        assert_int_equal(a->children[c]->n_buffers, 2);
    }
    assert_null(a->children[0]->buffers[0]); /* all known */
    const int64_t *ranks = a->children[0]->buffers[1];
    const double *busy = a->children[1]->buffers[1], *share = a->children[2]->buffers[1];
    const int32_t *numbers = a->children[3]->buffers[1];
    const struct ArrowArray *words = a->children[3]->dictionary;
    const int32_t *offsets = words->buffers[1];
    const char *text = words->buffers[2];
    assert_int_equal(words->n_buffers, 3);
    assert_int_equal(words->null_count, 0);
    assert_true(words->length <= 7); /* each text once */
    for (size_t i = 0; i < rows; i++) {
        assert_int_equal(ranks[i], (int64_t)i - 5);
        assert_int_equal(is_known(a->children[1], i), known(i, 1));
        if (known(i, 1)) assert_true(busy[i] == (double)(i * 1001) / 1e6);
        assert_int_equal(is_known(a->children[2], i), known(i, 2));
        if (known(i, 2)) assert_true(share[i] == (double)i / 8);
        assert_int_equal(is_known(a->children[3], i), known(i, 3));
        if (!known(i, 3)) continue;
        char name[32];
        snprintf(name, sizeof name, "n%zu", i % 7 * 111);
        assert_in_range(numbers[i], 0, words->length - 1);
        const int32_t *at = &offsets[numbers[i]];
        assert_int_equal(at[1] - at[0], strlen(name));
        assert_memory_equal(text + at[0], name, strlen(name));
    }
}

TEST(test_values)
{
    size_t sizes[] = {0, 1, 63, 64, 65, ROWS};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        rs_table *t = make_table(sizes[k]);
        struct ArrowArray a;
        assert_int_equal(rs_table_arrow_array(t, NULL, &a, NULL), RS_OK);
        check_values(&a, sizes[k]);
        a.release(&a);
        assert_null(a.release);
        rs_table_free(t);
    }
}

/* The value of a key in packed metadata. */
static const char *metadata(const char *packed, const char *key, char *out)
{
    int32_t pairs, n;
    memcpy(&pairs, packed, sizeof pairs);
    packed += sizeof pairs;
    for (int32_t i = 0; i < pairs; i++) {
        bool same;
        memcpy(&n, packed, sizeof n);
        packed += sizeof n;
        same = strlen(key) == (size_t)n && memcmp(packed, key, (size_t)n) == 0;
        packed += n;
        memcpy(&n, packed, sizeof n);
        packed += sizeof n;
        memcpy(out, packed, (size_t)n);
        out[n] = '\0';
        packed += n;
        if (same) return out;
    }
    return NULL;
}

TEST(test_schema)
{
    rs_table *t = make_table(3);
    struct ArrowSchema s;
    char value[64];
    assert_int_equal(rs_table_arrow_schema(t, &s, NULL), RS_OK);
    rs_table_free(t); /* nothing of it is borrowed */
    static const char *const formats[] = {"l", "g", "g", "i"}, *const units[] = {"id", "ms", "percent", ""};
    static const char *const helps[] = {"the rank", "busy", "", "name"};
    assert_string_equal(s.format, "+s");
    assert_string_equal(metadata(s.metadata, "table", value), "t");
    assert_string_equal(metadata(s.metadata, "help", value), "one row is a test");
    assert_int_equal(s.n_children, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(s.children[i]->format, formats[i]);
        assert_string_equal(s.children[i]->name, columns[i].name);
        assert_int_equal(s.children[i]->flags, ARROW_FLAG_NULLABLE);
        assert_string_equal(metadata(s.children[i]->metadata, "unit", value), units[i]);
        assert_string_equal(metadata(s.children[i]->metadata, "help", value), helps[i]);
    }
    assert_string_equal(s.children[3]->dictionary->format, "u");
    struct ArrowSchema moved = *s.children[1]; /* a consumer keeps one field and drops the rest */
    s.children[1]->release = NULL;
    s.release(&s);
    assert_string_equal(moved.name, "busy_ms");
    moved.release(&moved);
    assert_null(moved.release);
}

/* A child that was moved out keeps its numbers, and the table's, when all else is gone. */
TEST(test_moved_child)
{
    rs_table *t = make_table(ROWS);
    owner_state s = {0};
    rs_arrow_owner owner = {hold, release, &s};
    struct ArrowArray a;
    assert_int_equal(rs_table_arrow_array(t, &owner, &a, NULL), RS_OK);
    assert_int_equal(s.held, 2); /* the columns that lie in the table: rank and share */
    struct ArrowArray ranks = *a.children[0], names = *a.children[3];
    a.children[0]->release = NULL;
    a.children[3]->release = NULL;
    a.release(&a);
    assert_int_equal(s.held, 1);
    assert_int_equal(((const int64_t *)ranks.buffers[1])[ROWS - 1], ROWS - 6);
    ranks.release(&ranks);
    assert_int_equal(s.held, 0);
    rs_table_free(t);
    assert_memory_equal(names.dictionary->buffers[2], "n111", 4); /* row 0 is unknown */
    names.release(&names);
}

TEST(test_stream)
{
    rs_table *t = make_table(ROWS);
    owner_state s = {0};
    rs_arrow_owner owner = {hold, release, &s};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch, end;
    assert_int_equal(rs_table_arrow_stream(t, &owner, &stream, NULL), RS_OK);
    assert_int_equal(s.held, 1);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(stream.get_next(&stream, &end), 0);
    assert_null(end.release);
    assert_null(stream.get_last_error(&stream));
    stream.release(&stream);
    assert_null(stream.release);
    assert_int_equal(s.held, 2); /* the batch outlives its stream */
    assert_int_equal(schema.n_children, batch.n_children);
    check_values(&batch, ROWS);
    batch.release(&batch);
    schema.release(&schema);
    assert_int_equal(s.held, 0);
    rs_table_free(t);
}

TEST(test_texts_become_utf8)
{
    rs_table *t = rs_table_create(&spec);
    rs_table_add_int(t, 0);
    rs_table_add_time(t, 0);
    rs_table_add_real(t, 0);
    rs_table_add_text(t, "caf\xE9 \xC3\xA9");
    assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    struct ArrowArray a;
    assert_int_equal(rs_table_arrow_array(t, NULL, &a, NULL), RS_OK);
    static const char wanted[] = "caf\xEF\xBF\xBD \xC3\xA9";
    const struct ArrowArray *words = a.children[3]->dictionary;
    assert_int_equal(((const int32_t *)words->buffers[1])[1], sizeof wanted - 1);
    assert_memory_equal(words->buffers[2], wanted, sizeof wanted - 1);
    a.release(&a);
    rs_table_free(t);
}

TEST(test_out_of_memory)
{
    rs_table *t = make_table(ROWS);
    owner_state s = {0};
    rs_arrow_owner owner = {hold, release, &s};
    int failures = 0;
    for (uint64_t n = 1;; n++) {
        struct ArrowArrayStream stream;
        struct ArrowSchema schema = {0};
        struct ArrowArray batch = {0};
        int codes[2] = {0, 0};
        rs_test_fail_allocation(n);
        rs_status status = rs_table_arrow_stream(t, &owner, &stream, NULL);
        if (status == RS_OK) codes[0] = stream.get_schema(&stream, &schema);
        if (status == RS_OK) codes[1] = stream.get_next(&stream, &batch);
        rs_test_fail_allocation(0);
        if (status == RS_OK && (codes[0] || codes[1]))
            assert_non_null(strstr(stream.get_last_error(&stream), "memory"));
        assert_true((status == RS_OK) == (stream.release != NULL));
        assert_true((codes[0] != 0 || status != RS_OK) == (schema.release == NULL));
        assert_true((codes[1] != 0 || status != RS_OK) == (batch.release == NULL));
        if (schema.release) schema.release(&schema);
        if (batch.release) batch.release(&batch);
        if (stream.release) stream.release(&stream);
        assert_int_equal(s.held, 0);
        if (status == RS_OK && !codes[0] && !codes[1]) break;
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
        assert_true(codes[0] == 0 || codes[0] == ENOMEM);
        failures++;
    }
    assert_true(failures > 20);
    rs_table_free(t);
}
