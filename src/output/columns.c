/* A table as column formats want it. */
#include "output/columns.h"

#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "input/json.h"
#include "table/table_internal.h"

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* The id here of one of the table's texts: what is no UTF-8 becomes U+FFFD, so two of them may become one. add: a new text
 * is added, else *id is RS_NO_STRING. */
static rs_status place_text(rs_out_column *column, const rs_string *text, bool add, uint32_t *id,
                            rs_error *err)
{
    const char *bytes = text->text;
    size_t n = text->length;
    RS_LOCAL char *valid = NULL;
    if (!rs_utf8_valid((const uint8_t *)bytes, n)) {
        bytes = valid = rs_malloc(3 * n + 1);
        if (!valid) return rs_fail_nomem(err, "the texts of a column");
        n = rs_utf8_repair((const uint8_t *)text->text, n, valid);
    }
    bool fits = n < UINT32_MAX;
    if (fits)
        *id = add ? rs_strings_add(&column->texts, bytes, n) : rs_strings_find(&column->texts, bytes, n);
    bool added = fits && *id != RS_NO_STRING && column->texts.n <= INT32_MAX;
    return added || (fits && !add) ? RS_OK : rs_fail_nomem(err, "the texts of a column");
}

static rs_status fail_other(const rs_out_column *column, rs_error *err)
{
    return rs_fail(
        err, RS_ERR_USAGE,
        "column %.80s holds other texts the second time it is read: what is random fits csv and jsonl",
        column->spec->name);
}

/* Sets texts_of for a table. Without add a text that is not listed is an error. */
static rs_status place_texts(rs_out_column *column, const rs_table *table, size_t at, bool add, rs_error *err)
{
    size_t n = table->strings.n;
    uint32_t *texts_of = rs_realloc(column->texts_of, (n ? n : 1) * sizeof *texts_of);
    if (!texts_of) return rs_fail_nomem(err, "the texts of a column");
    column->texts_of = texts_of;
    memset(texts_of, 0xff, n * sizeof *texts_of);
    for (size_t row = 0; row < table->n_rows; row++) {
        if (rs_table_is_null(table, row, at)) continue;
        uint32_t id = table->columns[at].values.texts[row];
        if (texts_of[id] != RS_NO_STRING) continue;
        RS_TRY(place_text(column, &table->strings.items[id], add, &texts_of[id], err));
        if (add && texts_of[id] == 0) column->first_text = 0;
        if (texts_of[id] == RS_NO_STRING || texts_of[id] < column->first_text) return fail_other(column, err);
    }
    return RS_OK;
}

static void measure_texts(rs_out_column *column)
{
    column->text_bytes = 0;
    for (size_t i = 0; i < column->texts.n; i++) column->text_bytes += column->texts.items[i].length;
}

static rs_status list_texts(const rs_out_columns *columns, size_t at, rs_error *err)
{
    rs_out_column *column = &columns->items[at];
    column->first_text = 1;
    if (!rs_strings_init(&column->texts)) return rs_fail_nomem(err, "the texts of a column");
    RS_TRY(place_texts(column, columns->table, at, true, err));
    measure_texts(column);
    return RS_OK;
}

/* ---- all columns ---------------------------------------------------------------------------------------- */

static rs_status make_column(rs_out_columns *columns, size_t at, rs_error *err)
{
    columns->items[at].spec = &rs_table_get_spec(columns->table)->columns[at];
    return columns->items[at].spec->type == RS_TEXT ? list_texts(columns, at, err) : RS_OK;
}

rs_status rs_out_columns_make(const rs_table *table, rs_out_columns *out, rs_error *err)
{
    size_t n = rs_table_get_spec(table)->n_columns;
    *out = (rs_out_columns){.table = table, .items = rs_calloc(n ? n : 1, sizeof *out->items), .n = n};
    rs_status status = out->items ? RS_OK : rs_fail_nomem(err, "the columns of a table");
    for (size_t at = 0; status == RS_OK && at < n; at++) status = make_column(out, at, err);
    if (status != RS_OK) rs_out_columns_clear(out);
    return status;
}

void rs_out_columns_clear(rs_out_columns *columns)
{
    for (size_t at = 0; columns->items && at < columns->n; at++) {
        rs_free(columns->items[at].texts_of);
        rs_strings_clear(&columns->items[at].texts);
    }
    rs_free(columns->items);
    *columns = (rs_out_columns){0};
}

/* ---- pages ---------------------------------------------------------------------------------------------- */

static rs_status check_types(const rs_out_columns *columns, const rs_table *page, rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(page);
    bool same = spec->n_columns == columns->n;
    for (size_t at = 0; same && at < columns->n; at++)
        same = spec->columns[at].type == columns->items[at].spec->type;
    return same ? RS_OK
                : rs_fail(err, RS_ERR_USAGE, "the pages of table %s have columns of different types",
                          spec->name);
}

rs_status rs_out_columns_collect(rs_out_columns *columns, const rs_table *page, rs_error *err)
{
    RS_TRY(check_types(columns, page, err));
    for (size_t at = 0; at < columns->n; at++)
        if (columns->items[at].spec->type == RS_TEXT)
            RS_TRY(place_texts(&columns->items[at], page, at, true, err));
    return RS_OK;
}

uint64_t rs_out_columns_bytes(const rs_out_columns *columns)
{
    uint64_t n = 0;
    for (size_t at = 0; at < columns->n; at++) {
        const rs_strings *texts = &columns->items[at].texts;
        n += texts->arena.total + texts->capacity * sizeof *texts->items +
             texts->n_slots * sizeof *texts->slots;
    }
    return n;
}

void rs_out_columns_collected(rs_out_columns *columns)
{
    for (size_t at = 0; at < columns->n; at++)
        if (columns->items[at].spec->type == RS_TEXT) measure_texts(&columns->items[at]);
}

rs_status rs_out_columns_turn_to(rs_out_columns *columns, const rs_table *page, rs_error *err)
{
    RS_TRY(check_types(columns, page, err));
    columns->table = page;
    for (size_t at = 0; at < columns->n; at++)
        if (columns->items[at].spec->type == RS_TEXT)
            RS_TRY(place_texts(&columns->items[at], page, at, false, err));
    return RS_OK;
}

/* ---- cells ---------------------------------------------------------------------------------------------- */

size_t rs_out_known(const rs_out_columns *columns, size_t at, size_t row, size_t n, uint8_t *known)
{
    size_t unknown = 0;
    memset(known, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        bool null = rs_table_is_null(columns->table, row + i, at);
        unknown += null;
        known[i / 8] |= (uint8_t)(!null << i % 8);
    }
    return unknown;
}

void rs_out_longs(const rs_out_columns *columns, size_t at, size_t row, size_t n, int64_t *values)
{
    const rs_table *table = columns->table;
    for (size_t i = 0; i < n; i++)
        values[i] = rs_table_is_null(table, row + i, at) ? 0 : table->columns[at].values.ints[row + i];
}

void rs_out_reals(const rs_out_columns *columns, size_t at, size_t row, size_t n, double *values)
{
    const rs_table *table = columns->table;
    for (size_t i = 0; i < n; i++)
        values[i] = rs_table_is_null(table, row + i, at) ? 0 : rs_table_real(table, row + i, at);
}

void rs_out_numbers(const rs_out_columns *columns, size_t at, size_t row, size_t n, int32_t *values)
{
    const rs_table *table = columns->table;
    const rs_out_column *column = &columns->items[at];
    for (size_t i = 0; i < n; i++) {
        bool null = rs_table_is_null(table, row + i, at);
        uint32_t id =
            null ? 0 : column->texts_of[table->columns[at].values.texts[row + i]] - column->first_text;
        values[i] = (int32_t)id;
    }
}
