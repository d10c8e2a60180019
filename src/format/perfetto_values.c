/* Arguments of slices and of GPU work: scalars as they are, lists and objects as their JSON text, as Kineto writes it. */
#include <string.h>

#include "base/try.h"
#include "format/perfetto.h"
#include "input/json.h"
#include "text/numbers.h"
#include "text/writer.h"

#define DEEPEST 16 /* lists in lists; what lies deeper is left out */

/* Keys of columns that are not Kineto's. */
static const struct {
    const char *key;
    rs_column_id column;
} other_keys[] = {
    {"corr_id", RS_COL_CORRELATION},
    {"copy_bytes", RS_COL_BYTES},
    {"group_segment_size", RS_COL_SHARED_MEMORY},
    {"VGPR_Count", RS_COL_REGISTERS},
    {"stream_ID", RS_COL_STREAM},
    {"device id", RS_COL_DEVICE},
    {"stream id", RS_COL_STREAM},
    {"context id", RS_COL_CONTEXT},
    {"registers_per_thread", RS_COL_REGISTERS},
    {"shared_mem_dynamic", RS_COL_SHARED_MEMORY},
};

rs_column_id rs_perfetto_column_of(const rs_string *key)
{
    for (size_t i = 0; i < RS_COL_FLOW_ID; i++)
        if (rs_column_infos[i].key_length == key->length &&
            memcmp(rs_column_infos[i].key, key->text, key->length) == 0)
            return (rs_column_id)i;
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
        if (strcmp(other_keys[i].key, key->text) == 0) return other_keys[i].column;
    return RS_N_COLUMNS;
}

/* ---- lists and objects --------------------------------------------------------------------------------- */

typedef struct made_text {
    rs_perfetto *p;
    size_t n;
} made_text;

static bool append(void *context, const char *bytes, size_t n)
{
    made_text *t = context;
    if (!rs_grow((void **)&t->p->room, &t->p->room_size, t->n + n, 1)) return false;
    memcpy(t->p->room + t->n, bytes, n);
    t->n += n;
    return true;
}

static void write_text(rs_writer *w, rs_pb text)
{
    size_t n = rs_pb_length(text);
    if (rs_utf8_valid(text.at, n)) rs_writer_json_string(w, (const char *)text.at, n);
}

static void write_scalar(rs_writer *w, const rs_pb_field *f)
{
    if (f->type == RS_PB_VARINT && f->number == ANNOTATION_BOOL)
        rs_writer_text(w, f->value ? "true" : "false");
    if (f->type == RS_PB_VARINT && (f->number == ANNOTATION_INT)) rs_writer_int(w, (int64_t)f->value);
    if (f->type == RS_PB_VARINT && f->number == ANNOTATION_NATURAL) rs_writer_uint(w, f->value);
    if (f->type == RS_PB_FIXED64 && f->number == ANNOTATION_REAL) rs_writer_real(w, rs_pb_real(f->value));
    if (f->type == RS_PB_BYTES && f->number == ANNOTATION_TEXT) write_text(w, f->bytes);
}

/* A message without a value is an empty list: an encoder that has nothing to put into it leaves it so. */
static void write_value(rs_writer *w, rs_pb body, unsigned depth)
{
    char closing = '\0';
    bool any = false;
    rs_pb_field f, part;
    while (rs_pb_next(&body, &f) == RS_PB_FIELD) {
        bool item = f.number == ANNOTATION_ITEM, member = f.number == ANNOTATION_MEMBER;
        any = any || f.number <= ANNOTATION_JSON;
        if (!item && !member) {
            write_scalar(w, &f);
            continue;
        }
        if (f.type != RS_PB_BYTES || depth == DEEPEST) continue;
        rs_writer_text(w, closing ? ", " : item ? "[" : "{");
        closing = item ? ']' : '}';
        for (rs_pb m = f.bytes; member && rs_pb_next(&m, &part) == RS_PB_FIELD;)
            if (part.number == ANNOTATION_KEY && part.type == RS_PB_BYTES) {
                write_text(w, part.bytes);
                rs_writer_text(w, ": ");
            }
        write_value(w, f.bytes, depth + 1);
    }
    if (closing)
        rs_writer_char(w, closing);
    else if (!any)
        rs_writer_text(w, "[]");
}

static rs_status read_list(rs_perfetto *p, rs_pb body, rs_perfetto_value *out)
{
    made_text text = {p, 0};
    const rs_sink sink = {append, &text};
    rs_writer w;
    rs_writer_init(&w, &sink);
    write_value(&w, body, 0);
    if (rs_writer_finish(&w, NULL) != RS_OK) return rs_fail_nomem(p->err, "arguments");
    if (text.n > RS_JSON_DEFAULT_STRING) return RS_OK;
    out->kind = RS_OTHER_TEXT;
    out->text = rs_strings_add(&p->events->strings, p->room, text.n);
    return out->text == RS_NO_STRING ? rs_fail_nomem(p->err, "arguments") : RS_OK;
}

/* ---- one argument -------------------------------------------------------------------------------------- */

static rs_status read_text(rs_perfetto *p, rs_pb text, rs_perfetto_value *out)
{
    out->kind = RS_OTHER_TEXT;
    out->text = rs_perfetto_text(p, text);
    return out->text == RS_NO_STRING ? rs_fail_nomem(p->err, "arguments") : RS_OK;
}

static rs_status read_number(rs_perfetto *p, const rs_perfetto_sequence *q, const rs_pb_field *f,
                             rs_perfetto_value *out)
{
    if (f->number == ANNOTATION_KEY_IID)
        return rs_perfetto_intern(p, q, RS_PERFETTO_KEY, f->value, f->from, &out->key);
    if (f->number == ANNOTATION_TEXT_IID) {
        out->kind = RS_OTHER_TEXT;
        return rs_perfetto_intern(p, q, RS_PERFETTO_VALUE, f->value, f->from, &out->text);
    }
    if (f->number == ANNOTATION_INT || f->number == ANNOTATION_BOOL ||
        (f->number == ANNOTATION_NATURAL && f->value <= INT64_MAX)) {
        out->kind = RS_OTHER_INT;
        out->number = (int64_t)f->value;
    }
    return RS_OK;
}

rs_status rs_perfetto_read_value(rs_perfetto *p, const rs_perfetto_sequence *q, rs_pb body,
                                 rs_perfetto_value *out)
{
    rs_pb m = body;
    rs_pb_field f;
    bool list = false, any = false;
    *out = (rs_perfetto_value){.key = RS_NO_STRING, .text = RS_NO_STRING};
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        bool key = f.number == ANNOTATION_KEY_IID || f.number == ANNOTATION_KEY;
        any = any || !key;
        list =
            list || (f.type == RS_PB_BYTES && (f.number == ANNOTATION_ITEM || f.number == ANNOTATION_MEMBER));
        if (f.type == RS_PB_VARINT) RS_TRY(read_number(p, q, &f, out));
        if (f.type == RS_PB_FIXED64 && f.number == ANNOTATION_REAL) {
            double real = rs_pb_real(f.value);
            out->kind = real - real == 0 ? RS_OTHER_REAL : RS_OTHER_NONE;
            memcpy(&out->number, &f.value, sizeof out->number);
        }
        if (f.type != RS_PB_BYTES) continue;
        if (f.number == ANNOTATION_KEY) {
            out->key = rs_perfetto_text(p, f.bytes);
            if (out->key == RS_NO_STRING) return rs_fail_nomem(p->err, "arguments");
        }
        if (f.number == ANNOTATION_TEXT || f.number == ANNOTATION_JSON) RS_TRY(read_text(p, f.bytes, out));
    }
    return list || !any ? read_list(p, body, out) : RS_OK;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static bool has_row(const rs_events *e, rs_column_id column, uint32_t row)
{
    const rs_sparse *s = &e->args[column];
    return s->n && s->rows[s->n - 1] == row;
}

static rs_status push_other(rs_perfetto *p, uint32_t row, const rs_perfetto_value *v)
{
    rs_events *e = p->events;
    uint32_t name;
    if (!(e->loaded & RS_OTHER_ARGUMENTS)) return RS_OK;
    RS_TRY(rs_other_name_add(e, v->key, row, &name, p->err));
    if (name != RS_NO_OTHER)
        return rs_other_add(e, name, row, v->kind, v->kind == RS_OTHER_TEXT ? v->text : v->number, p->err);
    rs_perfetto_problem(p, RS_LOSS, "too_many_arguments",
                        "more names of arguments than are kept; values under further names are unknown",
                        NULL);
    return RS_OK;
}

/* As a JSON reader has them: a text of digits is a number where one is meant, a number its text where a text is. */
static rs_status convert(rs_perfetto *p, rs_column_type type, rs_perfetto_value *v)
{
    rs_strings *strings = &p->events->strings;
    if (type == RS_COLUMN_INT && v->kind == RS_OTHER_TEXT) {
        const rs_string *s = &strings->items[v->text];
        v->kind = rs_json_int((const uint8_t *)s->text, s->length, &v->number) ? RS_OTHER_INT : RS_OTHER_NONE;
    }
    if (type == RS_COLUMN_TEXT && v->kind == RS_OTHER_INT) {
        char digits[RS_NUMBER_SIZE];
        size_t n = rs_format_int(v->number, digits);
        v->kind = RS_OTHER_TEXT;
        v->text = rs_strings_add(strings, digits, n);
        if (v->text == RS_NO_STRING) return rs_fail_nomem(p->err, "arguments");
    }
    return RS_OK;
}

rs_status rs_perfetto_push(rs_perfetto *p, rs_column_id column, uint32_t row, const rs_perfetto_value *value)
{
    rs_events *e = p->events;
    rs_perfetto_value v = *value;
    if (column == RS_N_COLUMNS) return push_other(p, row, value);
    rs_column_type type = rs_column_infos[column].type;
    if (!(e->loaded >> column & 1) || has_row(e, column, row)) return RS_OK;
    RS_TRY(convert(p, type, &v));
    if (type == RS_COLUMN_INT)
        return v.kind == RS_OTHER_INT ? rs_events_push_int(e, column, row, v.number, p->err) : RS_OK;
    if (type == RS_COLUMN_TEXT ? v.kind != RS_OTHER_TEXT : v.kind != RS_OTHER_INT && v.kind != RS_OTHER_REAL)
        return RS_OK;
    RS_TRY(rs_events_reserve_column(e, column, 1, p->err));
    rs_sparse *s = &e->args[column];
    s->rows[s->n] = row;
    if (type == RS_COLUMN_TEXT)
        s->texts[s->n++] = v.text;
    else if (v.kind == RS_OTHER_INT)
        s->reals[s->n++] = (double)v.number;
    else
        memcpy(&s->reals[s->n++], &v.number, sizeof v.number);
    return RS_OK;
}

rs_status rs_perfetto_push_int(rs_perfetto *p, rs_column_id column, uint32_t row, int64_t number)
{
    const rs_perfetto_value v = {.kind = RS_OTHER_INT, .number = number};
    return number == RS_NO_VALUE ? RS_OK : rs_perfetto_push(p, column, row, &v);
}

rs_status rs_perfetto_push_size(rs_perfetto *p, rs_column_id column, uint32_t row, const int64_t size[3])
{
    char text[3 * RS_NUMBER_SIZE + 8];
    size_t n = 0;
    for (unsigned i = 0; i < 3; i++) {
        text[n++] = i ? ',' : '[';
        if (i) text[n++] = ' ';
        n += rs_format_int(size[i], text + n);
    }
    text[n++] = ']';
    rs_perfetto_value v = {.kind = RS_OTHER_TEXT, .text = rs_strings_add(&p->events->strings, text, n)};
    return v.text == RS_NO_STRING ? rs_fail_nomem(p->err, "arguments") : rs_perfetto_push(p, column, row, &v);
}
