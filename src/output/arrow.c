/* Arrow export. Every part (a schema, an array, a child of one) is one block of memory that its release
 * frees, because consumers may keep a child and release its parent. */
#include "rankscope/arrow.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "input/json.h"
#include "table/table_internal.h"

/* ---- schema ----------------------------------------------------------------------------------------- */

typedef struct schema_part {
    struct ArrowSchema *children; /* one block for all */
    struct ArrowSchema **pointers;
    char *name, *metadata;
} schema_part;

static void release_schema(struct ArrowSchema *schema)
{
    schema_part *part = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    if (schema->dictionary && schema->dictionary->release) schema->dictionary->release(schema->dictionary);
    rs_free_all(schema->dictionary, part->children, part->pointers, part->name, part->metadata, part);
    schema->release = NULL;
    schema->private_data = NULL;
}

static char *put(char *at, const char *text)
{
    int32_t n = (int32_t)strlen(text);
    memcpy(at, &n, sizeof n);
    memcpy(at + sizeof n, text, (size_t)n);
    return at + sizeof n + n;
}

/* Two keys with their values (NULL: empty), as the interface packs them. NULL when out of memory. */
static char *make_metadata(const char *key, const char *value, const char *help)
{
    const int32_t pairs = 2;
    if (!value) value = "";
    if (!help) help = "";
    size_t bytes = 5 * sizeof pairs + strlen(key) + strlen(value) + strlen("help") + strlen(help);
    char *metadata = rs_malloc(bytes);
    if (!metadata) return NULL;
    memcpy(metadata, &pairs, sizeof pairs);
    put(put(put(put(metadata + sizeof pairs, key), value), "help"), help);
    return metadata;
}

/* Fills one part without children; false when out of memory, nothing is held then. */
static bool make_schema(struct ArrowSchema *out, const char *format, const char *name, const char *key,
                        const char *value, const char *help)
{
    schema_part *part = rs_calloc(1, sizeof *part);
    if (part) {
        part->name = rs_strdup(name);
        part->metadata = make_metadata(key, value, help);
    }
    if (!part || !part->name || !part->metadata) {
        if (part) {
            rs_free_all(part->name, part->metadata);
        }
        rs_free(part);
        return false;
    }
    *out = (struct ArrowSchema){.format = format,
                                .name = part->name,
                                .metadata = part->metadata,
                                .flags = ARROW_FLAG_NULLABLE,
                                .release = release_schema,
                                .private_data = part};
    return true;
}

static bool is_valid(const rs_string *s)
{
    return rs_utf8_valid((const uint8_t *)s->text, s->length);
}

/* The different texts of a column, in the order in which they come. */
typedef struct text_words {
    uint32_t *code;  /* of a string of the table: its place among the words, or NO_WORD */
    uint32_t *items; /* strings of the table */
    size_t n;
    uint64_t
        room; /* bytes that they may take: of one that is no UTF-8, each byte becomes the three of U+FFFD */
} text_words;

#define NO_WORD UINT32_MAX

static void free_words(text_words *w)
{
    rs_free_all(w->code, w->items);
}

/* false when out of memory, nothing is held then. */
static bool find_words(const rs_table *table, size_t at, text_words *out)
{
    size_t n = table->strings.n;
    *out = (text_words){.code = rs_malloc((n + 1) * sizeof *out->code),
                        .items = rs_malloc((n + 1) * sizeof *out->items)};
    if (!out->code || !out->items) {
        free_words(out);
        return false;
    }
    memset(out->code, 0xff, n * sizeof *out->code);
    for (size_t row = 0; row < table->n_rows; row++) {
        uint32_t id = table->columns[at].values.texts[row];
        if (rs_table_is_null(table, row, at) || out->code[id] != NO_WORD) continue;
        const rs_string *s = &table->strings.items[id];
        out->code[id] = (uint32_t)out->n;
        out->items[out->n++] = id;
        out->room += (is_valid(s) ? 1 : 3) * (uint64_t)s->length;
    }
    return true;
}

static const char *format_of(rs_type type)
{
    switch (type) {
    case RS_INT: return "l";
    case RS_REAL:
    case RS_TIME:
    case RS_MOMENT: return "g";
    case RS_TEXT: break;
    }
    return "i"; /* of a dictionary */
}

static const char *format_of_words(const text_words *w)
{
    return w->room > INT32_MAX ? "U" : "u";
}

/* The words of a column of texts, whose own values are their numbers. */
static bool add_dictionary(const rs_table *table, size_t at, struct ArrowSchema *column)
{
    text_words w;
    column->dictionary = rs_calloc(1, sizeof *column->dictionary);
    if (!column->dictionary || !find_words(table, at, &w)) return false;
    bool ok = make_schema(column->dictionary, format_of_words(&w), "", "unit", NULL, NULL);
    free_words(&w);
    return ok;
}

rs_status rs_table_arrow_schema(const rs_table *table, struct ArrowSchema *out, rs_error *err)
{
    const rs_table_spec *spec = table->spec;
    *out = (struct ArrowSchema){0};
    if (!make_schema(out, "+s", "", "table", spec->name, spec->help)) return rs_fail_nomem(err, "a schema");
    out->flags = 0; /* a row itself is never unknown */
    schema_part *part = out->private_data;
    part->children = rs_calloc(spec->n_columns, sizeof *part->children);
    part->pointers = rs_calloc(spec->n_columns, sizeof *part->pointers);
    bool ok = part->children && part->pointers;
    out->children = part->pointers;
    for (size_t i = 0; ok && i < spec->n_columns; i++) {
        const rs_column_spec *column = &spec->columns[i];
        part->pointers[i] = &part->children[i];
        ok = make_schema(part->pointers[i], format_of(column->type), column->name, "unit",
                         rs_unit_name(column->unit), column->help);
        if (ok) out->n_children++;
        if (ok && column->type == RS_TEXT) ok = add_dictionary(table, i, part->pointers[i]);
    }
    if (ok) return RS_OK;
    release_schema(out);
    return rs_fail_nomem(err, "a schema");
}

/* ---- array ------------------------------------------------------------------------------------------ */

typedef struct array_part {
    const void *buffers[3];
    void *own[3];                /* those of the buffers that were laid out for Arrow */
    struct ArrowArray *children; /* one block for all */
    struct ArrowArray **pointers;
    rs_arrow_owner owner; /* hold was called when release is set */
} array_part;

static void release_array(struct ArrowArray *array)
{
    array_part *part = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release) array->children[i]->release(array->children[i]);
    if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
    rs_free_all(array->dictionary, part->children, part->pointers);
    for (size_t i = 0; i < 3; i++) rs_free(part->own[i]);
    if (part->owner.release) part->owner.release(part->owner.context);
    rs_free(part);
    array->release = NULL;
    array->private_data = NULL;
}

static array_part *make_array(struct ArrowArray *out, size_t length, int64_t n_buffers)
{
    array_part *part = rs_calloc(1, sizeof *part);
    if (!part) return NULL;
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .n_buffers = n_buffers,
                               .buffers = part->buffers,
                               .release = release_array,
                               .private_data = part};
    return part;
}

/* A block of at least one byte, so that NULL always means out of memory. */
static void *lay_out(array_part *part, size_t buffer, size_t n, size_t size)
{
    part->own[buffer] = rs_calloc(n ? n : 1, size);
    part->buffers[buffer] = part->own[buffer];
    return part->own[buffer];
}

/* Arrow marks what is known, the table what is not. No bitmap when all is known. */
static bool lay_out_bitmap(const rs_table *table, size_t at, struct ArrowArray *out, array_part *part)
{
    size_t n = table->n_rows, words = (n + 63) / 64;
    const uint64_t *nulls = table->columns[at].nulls;
    uint64_t unknown = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t used = i + 1 < words || n % 64 == 0 ? UINT64_MAX : (UINT64_C(1) << n % 64) - 1;
        unknown += (uint64_t)__builtin_popcountll(nulls[i] & used);
    }
    out->null_count = (int64_t)unknown;
    if (!unknown) return true;
    uint8_t *known = lay_out(part, 0, words, sizeof(uint64_t));
    if (!known) return false;
    for (size_t i = 0; i < words * 8; i++) known[i] = (uint8_t) ~(nulls[i / 8] >> i % 8 * 8);
    return true;
}

static bool lay_out_times(const rs_table *table, size_t at, array_part *part)
{
    double *values = lay_out(part, 1, table->n_rows, sizeof *values);
    if (!values) return false;
    for (size_t row = 0; row < table->n_rows; row++)
        if (!rs_table_is_null(table, row, at)) values[row] = rs_table_real(table, row, at);
    return true;
}

/* The words, one after the other, with where each begins. */
static bool lay_out_words(const rs_table *table, const text_words *w, array_part *part)
{
    bool large = w->room > INT32_MAX;
    if (w->room > SIZE_MAX / 2) return false;
    char *offsets = lay_out(part, 1, w->n + 1, large ? sizeof(int64_t) : sizeof(int32_t));
    char *text = offsets ? lay_out(part, 2, (size_t)w->room, 1) : NULL;
    if (!text) return false;
    size_t used = 0;
    for (size_t i = 0; i < w->n; i++) {
        const rs_string *s = &table->strings.items[w->items[i]];
        if (!is_valid(s)) {
            used += rs_utf8_repair((const uint8_t *)s->text, s->length, text + used);
        } else {
            memcpy(text + used, s->text, s->length);
            used += s->length;
        }
        if (large)
            ((int64_t *)(void *)offsets)[i + 1] = (int64_t)used;
        else
            ((int32_t *)(void *)offsets)[i + 1] = (int32_t)used;
    }
    return true;
}

/* Numbers of words; an unknown value has the number 0 behind the bitmap. */
static bool lay_out_texts(const rs_table *table, size_t at, struct ArrowArray *out, array_part *part)
{
    text_words w;
    int32_t *numbers = lay_out(part, 1, table->n_rows, sizeof *numbers);
    out->dictionary = rs_calloc(1, sizeof *out->dictionary);
    if (!numbers || !out->dictionary || !find_words(table, at, &w)) return false;
    for (size_t row = 0; row < table->n_rows; row++)
        if (!rs_table_is_null(table, row, at))
            numbers[row] = (int32_t)w.code[table->columns[at].values.texts[row]];
    array_part *texts = make_array(out->dictionary, w.n, 3);
    bool ok = texts && lay_out_words(table, &w, texts);
    free_words(&w);
    return ok;
}

static bool make_column(const rs_table *table, size_t at, const rs_arrow_owner *owner, struct ArrowArray *out)
{
    rs_type type = table->spec->columns[at].type;
    array_part *part = make_array(out, table->n_rows, 2);
    if (!part) return false;
    bool ok = lay_out_bitmap(table, at, out, part);
    if (ok && rs_type_is_time(type)) {
        ok = lay_out_times(table, at, part);
    } else if (ok && type == RS_TEXT) {
        ok = lay_out_texts(table, at, out, part);
    } else if (ok) {
        part->buffers[1] = table->columns[at].values.any;
        if (owner && owner->hold) {
            owner->hold(owner->context);
            part->owner = *owner;
        }
    }
    if (!ok) release_array(out);
    return ok;
}

rs_status rs_table_arrow_array(const rs_table *table, const rs_arrow_owner *owner, struct ArrowArray *out,
                               rs_error *err)
{
    size_t n = table->spec->n_columns;
    *out = (struct ArrowArray){0};
    array_part *part = make_array(out, table->n_rows, 1);
    if (!part) return rs_fail_nomem(err, "an Arrow array");
    part->children = rs_calloc(n, sizeof *part->children);
    part->pointers = rs_calloc(n, sizeof *part->pointers);
    bool ok = part->children && part->pointers;
    out->children = part->pointers;
    for (size_t i = 0; ok && i < n; i++) {
        part->pointers[i] = &part->children[i];
        ok = make_column(table, i, owner, part->pointers[i]);
        if (ok) out->n_children++;
    }
    if (ok) return RS_OK;
    release_array(out);
    return rs_fail_nomem(err, "an Arrow array");
}

/* ---- stream ----------------------------------------------------------------------------------------- */

typedef struct stream_part {
    const rs_table *table;
    rs_arrow_owner owner;
    bool done;
    rs_error error;
    char text[RS_ERROR_TEXT];
} stream_part;

static int answer(stream_part *part, rs_status status)
{
    if (status == RS_OK) return 0;
    rs_error_text(&part->error, part->text, sizeof part->text);
    return ENOMEM;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    stream_part *part = stream->private_data;
    return answer(part, rs_table_arrow_schema(part->table, out, &part->error));
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_part *part = stream->private_data;
    *out = (struct ArrowArray){0};
    if (part->done) return 0;
    rs_status status = rs_table_arrow_array(part->table, &part->owner, out, &part->error);
    if (status == RS_OK) part->done = true;
    return answer(part, status);
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    const stream_part *part = stream->private_data;
    return part->text[0] ? part->text : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    stream_part *part = stream->private_data;
    if (part->owner.release) part->owner.release(part->owner.context);
    rs_free(part);
    stream->release = NULL;
    stream->private_data = NULL;
}

rs_status rs_table_arrow_stream(const rs_table *table, const rs_arrow_owner *owner,
                                struct ArrowArrayStream *out, rs_error *err)
{
    *out = (struct ArrowArrayStream){0};
    stream_part *part = rs_calloc(1, sizeof *part);
    if (!part) return rs_fail_nomem(err, "an Arrow stream");
    part->table = table;
    if (owner && owner->hold) {
        owner->hold(owner->context);
        part->owner = *owner;
    }
    *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                     .get_next = stream_next,
                                     .get_last_error = stream_error,
                                     .release = release_stream,
                                     .private_data = part};
    return RS_OK;
}
