/* Apache Arrow: the IPC stream (`arrows`), and the file (`arrow`), which is the stream between two marks with an index
 * at its end, so that a reader maps it and takes any batch.
 *
 * Messages are FlatBuffers; the numbers of their members and of the types are those of Arrow's Message.fbs, Schema.fbs
 * and File.fbs. First comes the schema, then the list of each text column, then the rows in batches. What a batch
 * takes in memory does not grow with the table. */
#include "base/memory.h"
#include "base/try.h"
#include "output/columns.h"
#include "output/flat.h"
#include "output/form.h"

enum {
    BATCH_ROWS = 65536,
    VERSION = 4, /* the fifth, of Arrow 1.0 and after */
    HEADER_SCHEMA = 1,
    HEADER_DICTIONARY = 2,
    HEADER_BATCH = 3,
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_UTF8 = 5,
    TYPE_LARGE_UTF8 = 20,
    FLOAT_DOUBLE = 2,
};

static const char file_mark[] = "ARROW1";

/* Where a message lies in a file: its place, the length of its head, the length of its body. */
typedef struct blocks {
    int64_t (*items)[3];
    size_t n, capacity;
} blocks;

typedef struct arrow_writer {
    rs_writer *writer;
    const rs_render_settings *settings; /* of pages */
    rs_out_columns columns;
    rs_flat flat;
    int64_t written;
    blocks lists, batches;
    int64_t (*buffers)[2], (*nodes)[2]; /* of the message being written */
    size_t n_buffers, n_nodes;
    int64_t body; /* its length so far */
    void *values; /* of one column of one batch */
    uint8_t *known;
} arrow_writer;

static void put(arrow_writer *w, const void *bytes, size_t n)
{
    rs_writer_bytes(w->writer, bytes, n);
    w->written += (int64_t)n;
}

/* Zeros up to the next multiple of 8. */
static void pad(arrow_writer *w)
{
    static const char zeros[8];
    put(w, zeros, (size_t)(-w->written & 7));
}

/* ---- schema --------------------------------------------------------------------------------------------- */

static rs_flat_place make_pairs(rs_flat *flat, const char *const pairs[][2], size_t n)
{
    rs_flat_place places[4];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!pairs[i][1]) continue;
        rs_flat_place key = rs_flat_text(flat, pairs[i][0]), value = rs_flat_text(flat, pairs[i][1]);
        rs_flat_begin(flat);
        rs_flat_at(flat, 0, key);
        rs_flat_at(flat, 1, value);
        places[used++] = rs_flat_end(flat);
    }
    return rs_flat_tables(flat, places, used);
}

static rs_flat_place make_int(rs_flat *flat, int32_t bits)
{
    rs_flat_begin(flat);
    rs_flat_int(flat, 0, bits);
    rs_flat_byte(flat, 1, true); /* signed */
    return rs_flat_end(flat);
}

static bool is_large(const rs_out_column *column)
{
    return column->text_bytes > INT32_MAX;
}

static bool is_real(const rs_out_column *column)
{
    return column->spec->type == RS_REAL || rs_type_is_time(column->spec->type);
}

static uint8_t make_type(rs_flat *flat, const rs_out_column *column, rs_flat_place *type)
{
    if (is_real(column)) {
        rs_flat_begin(flat);
        rs_flat_short(flat, 0, FLOAT_DOUBLE);
        *type = rs_flat_end(flat);
        return TYPE_FLOAT;
    }
    if (column->spec->type == RS_TEXT) {
        rs_flat_begin(flat);
        *type = rs_flat_end(flat);
        return is_large(column) ? TYPE_LARGE_UTF8 : TYPE_UTF8;
    }
    *type = make_int(flat, 64);
    return TYPE_INT;
}

static rs_flat_place make_field(rs_flat *flat, const rs_out_column *column, size_t at)
{
    const char *const pairs[][2] = {{"unit", rs_unit_name(column->spec->unit)}, {"help", column->spec->help}};
    rs_flat_place notes = make_pairs(flat, pairs, 2), children = rs_flat_tables(flat, NULL, 0), type;
    rs_flat_place name = rs_flat_text(flat, column->spec->name), list = 0;
    uint8_t type_of = make_type(flat, column, &type);
    if (column->spec->type == RS_TEXT) {
        rs_flat_place numbers = make_int(flat, 32);
        rs_flat_begin(flat);
        rs_flat_long(flat, 0, (int64_t)at);
        rs_flat_at(flat, 1, numbers);
        list = rs_flat_end(flat);
    }
    rs_flat_begin(flat);
    rs_flat_at(flat, 0, name);
    rs_flat_at(flat, 3, type);
    rs_flat_at(flat, 4, list);
    rs_flat_at(flat, 5, children);
    rs_flat_at(flat, 6, notes);
    rs_flat_byte(flat, 1, true); /* may be unknown */
    rs_flat_byte(flat, 2, type_of);
    return rs_flat_end(flat);
}

static rs_status make_schema(arrow_writer *w, rs_flat_place *out, rs_error *err)
{
    rs_flat *flat = &w->flat;
    const rs_table_spec *spec = rs_table_get_spec(w->columns.table);
    const char *const pairs[][2] = {{"table", spec->name}, {"help", spec->help}};
    RS_LOCAL rs_flat_place *fields = rs_malloc((w->columns.n ? w->columns.n : 1) * sizeof *fields);
    if (!fields) return rs_fail_nomem(err, "a schema");
    for (size_t at = 0; at < w->columns.n; at++) fields[at] = make_field(flat, &w->columns.items[at], at);
    rs_flat_place all = rs_flat_tables(flat, fields, w->columns.n), notes = make_pairs(flat, pairs, 2);
    rs_flat_begin(flat);
    rs_flat_at(flat, 1, all);
    rs_flat_at(flat, 2, notes);
    rs_flat_short(flat, 0, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__); /* of the rows, which lie as in memory */
    *out = rs_flat_end(flat);
    return RS_OK;
}

/* ---- messages ------------------------------------------------------------------------------------------- */

/* Writes the head of a message around what is in flat; its body of w->body bytes follows. block may be NULL. */
static rs_status put_message(arrow_writer *w, uint8_t kind, rs_flat_place header, int64_t *block,
                             rs_error *err)
{
    rs_flat *flat = &w->flat;
    size_t n;
    rs_flat_begin(flat);
    rs_flat_long(flat, 3, w->body);
    rs_flat_at(flat, 2, header);
    rs_flat_short(flat, 0, VERSION);
    rs_flat_byte(flat, 1, kind);
    const uint8_t *bytes = rs_flat_finish(flat, rs_flat_end(flat), &n);
    if (!bytes) return rs_fail_nomem(err, "a message");
    const uint8_t length[8] = {
        0xff, 0xff, 0xff, 0xff, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};
    if (block) {
        block[0] = w->written;
        block[1] = (int64_t)(n + sizeof length);
        block[2] = w->body;
    }
    put(w, length, sizeof length);
    put(w, bytes, n);
    return RS_OK;
}

static int64_t *add_block(blocks *list)
{
    return RS_GROW_ONE(list->items, list->n, list->capacity) ? list->items[list->n++] : NULL;
}

static void begin_body(arrow_writer *w)
{
    rs_flat_reset(&w->flat);
    w->n_buffers = w->n_nodes = 0;
    w->body = 0;
}

static void plan_buffer(arrow_writer *w, size_t bytes)
{
    int64_t *buffer = w->buffers[w->n_buffers++];
    buffer[0] = w->body;
    buffer[1] = (int64_t)bytes;
    w->body += (int64_t)((bytes + 7) & ~(size_t)7);
}

static void plan_node(arrow_writer *w, size_t rows, size_t unknown)
{
    int64_t *node = w->nodes[w->n_nodes++];
    node[0] = (int64_t)rows;
    node[1] = (int64_t)unknown;
}

static rs_flat_place make_batch(arrow_writer *w, size_t rows)
{
    rs_flat *flat = &w->flat;
    rs_flat_place buffers = rs_flat_structs(flat, w->n_buffers ? w->buffers[0] : NULL, w->n_buffers, 2);
    rs_flat_place nodes = rs_flat_structs(flat, w->n_nodes ? w->nodes[0] : NULL, w->n_nodes, 2);
    rs_flat_begin(flat);
    rs_flat_long(flat, 0, (int64_t)rows);
    rs_flat_at(flat, 1, nodes);
    rs_flat_at(flat, 2, buffers);
    return rs_flat_end(flat);
}

/* ---- lists of texts --------------------------------------------------------------------------------------- */

static void put_texts(arrow_writer *w, const rs_out_column *column)
{
    const rs_strings *texts = &column->texts;
    int64_t end = 0;
    for (size_t i = column->first_text; i <= texts->n && !w->writer->failed; i++) {
        int32_t small = (int32_t)end;
        put(w, is_large(column) ? (const void *)&end : &small, is_large(column) ? sizeof end : sizeof small);
        if (i < texts->n) end += texts->items[i].length;
    }
    pad(w);
    for (size_t i = column->first_text; i < texts->n && !w->writer->failed; i++)
        put(w, texts->items[i].text, texts->items[i].length);
    pad(w);
}

static rs_status put_list(arrow_writer *w, size_t at, rs_error *err)
{
    const rs_out_column *column = &w->columns.items[at];
    rs_flat *flat = &w->flat;
    size_t n = rs_out_n_texts(column);
    int64_t *block = add_block(&w->lists);
    if (!block) return rs_fail_nomem(err, "the index of a file");
    begin_body(w);
    plan_node(w, n, 0);
    plan_buffer(w, 0); /* all are known */
    plan_buffer(w, (n + 1) * (is_large(column) ? sizeof(int64_t) : sizeof(int32_t)));
    plan_buffer(w, column->text_bytes);
    rs_flat_place batch = make_batch(w, n);
    rs_flat_begin(flat);
    rs_flat_long(flat, 0, (int64_t)at);
    rs_flat_at(flat, 1, batch);
    RS_TRY(put_message(w, HEADER_DICTIONARY, rs_flat_end(flat), block, err));
    put_texts(w, column);
    return RS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static size_t size_of(const rs_out_column *column)
{
    return column->spec->type == RS_TEXT ? sizeof(int32_t) : sizeof(int64_t);
}

static void put_cells(arrow_writer *w, size_t at, size_t row, size_t n)
{
    const rs_out_column *column = &w->columns.items[at];
    if (rs_out_known(&w->columns, at, row, n, w->known)) put(w, w->known, (n + 7) / 8);
    pad(w);
    if (column->spec->type == RS_TEXT)
        rs_out_numbers(&w->columns, at, row, n, w->values);
    else if (is_real(column))
        rs_out_reals(&w->columns, at, row, n, w->values);
    else
        rs_out_longs(&w->columns, at, row, n, w->values);
    put(w, w->values, n * size_of(column));
    pad(w);
}

static rs_status put_rows(arrow_writer *w, size_t row, size_t n, rs_error *err)
{
    int64_t *block = add_block(&w->batches);
    if (!block) return rs_fail_nomem(err, "the index of a file");
    begin_body(w);
    for (size_t at = 0; at < w->columns.n; at++) {
        size_t unknown = rs_out_known(&w->columns, at, row, n, w->known);
        plan_node(w, n, unknown);
        plan_buffer(w, unknown ? (n + 7) / 8 : 0);
        plan_buffer(w, n * size_of(&w->columns.items[at]));
    }
    RS_TRY(put_message(w, HEADER_BATCH, make_batch(w, n), block, err));
    for (size_t at = 0; at < w->columns.n; at++) put_cells(w, at, row, n);
    return RS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

static rs_status begin(arrow_writer *w, size_t rows, rs_error *err)
{
    size_t n = w->columns.n < 3 ? 3 : w->columns.n;
    if (rows > BATCH_ROWS) rows = BATCH_ROWS;
    w->buffers = rs_calloc(2 * n, sizeof *w->buffers);
    w->nodes = rs_calloc(n, sizeof *w->nodes);
    w->values = rs_malloc((rows + 1) * sizeof(int64_t));
    w->known = rs_malloc(rows / 8 + 1);
    return w->buffers && w->nodes && w->values && w->known ? RS_OK : rs_fail_nomem(err, "a batch of rows");
}

/* What stands before the rows. */
static rs_status put_head(arrow_writer *w, bool file, rs_error *err)
{
    rs_flat_place schema = 0;
    if (file) {
        put(w, file_mark, strlen(file_mark));
        pad(w);
    }
    begin_body(w);
    RS_TRY(make_schema(w, &schema, err));
    RS_TRY(put_message(w, HEADER_SCHEMA, schema, NULL, err));
    for (size_t at = 0; at < w->columns.n; at++)
        if (w->columns.items[at].spec->type == RS_TEXT) RS_TRY(put_list(w, at, err));
    return RS_OK;
}

static rs_status put_table(arrow_writer *w, rs_error *err)
{
    size_t n_rows = rs_table_n_rows(w->columns.table);
    for (size_t row = 0; row < n_rows && !w->writer->failed; row += BATCH_ROWS)
        RS_TRY(put_rows(w, row, n_rows - row < BATCH_ROWS ? n_rows - row : BATCH_ROWS, err));
    return RS_OK;
}

/* The schema once more, and where every list and batch lies. */
static rs_status put_index(arrow_writer *w, rs_error *err)
{
    rs_flat *flat = &w->flat;
    rs_flat_place schema = 0;
    size_t n;
    rs_flat_reset(flat);
    rs_flat_place batches = rs_flat_structs(flat, w->batches.n ? w->batches.items[0] : NULL, w->batches.n, 3);
    rs_flat_place lists = rs_flat_structs(flat, w->lists.n ? w->lists.items[0] : NULL, w->lists.n, 3);
    RS_TRY(make_schema(w, &schema, err));
    rs_flat_begin(flat);
    rs_flat_at(flat, 1, schema);
    rs_flat_at(flat, 2, lists);
    rs_flat_at(flat, 3, batches);
    rs_flat_short(flat, 0, VERSION);
    const uint8_t *bytes = rs_flat_finish(flat, rs_flat_end(flat), &n);
    if (!bytes) return rs_fail_nomem(err, "the index of a file");
    const uint8_t length[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};
    put(w, bytes, n);
    put(w, length, sizeof length);
    put(w, file_mark, strlen(file_mark));
    return RS_OK;
}

static rs_status put_end(arrow_writer *w, bool file, rs_error *err)
{
    static const uint8_t end[8] = {0xff, 0xff, 0xff, 0xff};
    put(w, end, sizeof end);
    return file ? put_index(w, err) : RS_OK;
}

static void clear(arrow_writer *w)
{
    rs_free_all(w->lists.items, w->batches.items, w->buffers, w->nodes, w->values, w->known);
    rs_flat_clear(&w->flat);
    rs_out_columns_clear(&w->columns);
}

static rs_status write_arrow(rs_writer *writer, const rs_table *table, bool file, rs_error *err)
{
    arrow_writer w = {.writer = writer};
    rs_status status = rs_out_columns_make(table, &w.columns, err);
    if (status == RS_OK) status = begin(&w, rs_table_n_rows(table), err);
    if (status == RS_OK) status = put_head(&w, file, err);
    if (status == RS_OK) status = put_table(&w, err);
    if (status == RS_OK) status = put_end(&w, file, err);
    clear(&w);
    return status;
}

/* ---- pages ------------------------------------------------------------------------------------------------ */

static bool same_types(const rs_table *model, const rs_table *page)
{
    const rs_table_spec *a = rs_table_get_spec(model), *b = rs_table_get_spec(page);
    for (size_t at = 0; at < a->n_columns; at++)
        if (a->columns[at].type != b->columns[at].type) return false;
    return a->n_columns == b->n_columns;
}

/* Goes through all pages for their texts. *model is made of the first, and of none again where a later page has other
 * types: it is NULL then, and pages have their final types from the next time on. */
static rs_status collect(arrow_writer *w, const rs_pages *pages, rs_table **model, rs_error *err)
{
    bool settled = true;
    rs_status status = RS_OK;
    for (;;) {
        rs_table *page = NULL;
        if (status == RS_OK) status = pages->next(pages->context, BATCH_ROWS, &page, err);
        if (!page) break;
        if (!*model) {
            *model = rs_table_create_dynamic(rs_table_get_spec(page));
            status = *model ? rs_out_columns_make(*model, &w->columns, err) : rs_fail_nomem(err, "columns");
        }
        settled = settled && *model && same_types(*model, page);
        if (status == RS_OK && settled) status = rs_out_columns_collect(&w->columns, page, err);
        rs_table_free(page);
        if (status == RS_OK) status = rs_pages_check(w->settings, rs_out_columns_bytes(&w->columns), err);
    }
    rs_out_columns_collected(&w->columns);
    if (status == RS_OK) status = pages->again(pages->context, err);
    if (settled || status != RS_OK) return status;
    rs_out_columns_clear(&w->columns);
    rs_table_free(*model);
    *model = NULL;
    return RS_OK;
}

static rs_status put_pages(arrow_writer *w, const rs_pages *pages, rs_error *err)
{
    while (!w->writer->failed) {
        rs_table *page;
        RS_TRY(pages->next(pages->context, BATCH_ROWS, &page, err));
        if (!page) break;
        rs_status status = rs_out_columns_turn_to(&w->columns, page, err);
        if (status == RS_OK) status = put_table(w, err);
        rs_table_free(page);
        if (status != RS_OK) return status;
    }
    return RS_OK;
}

static rs_status write_all(arrow_writer *w, const rs_pages *pages, bool file, rs_table **model, rs_error *err)
{
    RS_TRY(pages->again(pages->context, err));
    RS_TRY(collect(w, pages, model, err));
    if (!*model) RS_TRY(collect(w, pages, model, err));
    if (!*model) return rs_fail(err, RS_ERR_USAGE, "the rows have other types whenever they are read");
    RS_TRY(begin(w, BATCH_ROWS, err));
    RS_TRY(put_head(w, file, err));
    RS_TRY(put_pages(w, pages, err));
    w->columns.table = *model; /* the pages are gone */
    return put_end(w, file, err);
}

/* One page is a table. What is longer is gone through for its types and texts, and then written. */
static rs_status write_pages(rs_writer *writer, const rs_pages *pages, const rs_render_settings *settings,
                             bool file, rs_error *err)
{
    rs_table *first = NULL, *second = NULL, *model = NULL;
    rs_status status = pages->next(pages->context, BATCH_ROWS, &first, err);
    if (status == RS_OK) status = pages->next(pages->context, BATCH_ROWS, &second, err);
    if (status == RS_OK && !second) status = write_arrow(writer, first, file, err);
    bool more = second != NULL;
    rs_table_free(first);
    rs_table_free(second);
    if (status != RS_OK || !more) return status;
    arrow_writer w = {.writer = writer, .settings = settings};
    status = write_all(&w, pages, file, &model, err);
    clear(&w);
    rs_table_free(model);
    return status;
}

static rs_status write_file_pages(rs_writer *writer, const rs_pages *pages,
                                  const rs_render_settings *settings, rs_error *err)
{
    return write_pages(writer, pages, settings, true, err);
}

static rs_status write_stream_pages(rs_writer *writer, const rs_pages *pages,
                                    const rs_render_settings *settings, rs_error *err)
{
    return write_pages(writer, pages, settings, false, err);
}

static rs_status write_file(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                            rs_error *err)
{
    (void)settings;
    return write_arrow(writer, table, true, err);
}

static rs_status write_stream(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                              rs_error *err)
{
    (void)settings;
    return write_arrow(writer, table, false, err);
}

const rs_output_form rs_output_form_arrow = {.name = "arrow",
                                             .help =
                                                 "an Apache Arrow file (Feather): columns, times in exact ns",
                                             .extension = "arrow",
                                             .binary = true,
                                             .table = write_file,
                                             .pages = write_file_pages};
const rs_output_form rs_output_form_arrows = {.name = "arrows",
                                              .help = "an Apache Arrow stream, for pipes",
                                              .extension = "arrows",
                                              .binary = true,
                                              .table = write_stream,
                                              .pages = write_stream_pages};
