/* A Chakra execution trace in the JSON form that protobuf gives its messages. */
#include <string.h>

#include "chakra/proto.h"
#include "chakra/print_internal.h"
#include "rankscope/chakra_trace.h"

/* Messages of the trace nest four levels: node, attribute, list, value. */
#define MOST_LEVELS 8

static void indent(rs_writer *w, unsigned level)
{
    rs_writer_char(w, '\n');
    rs_writer_repeat(w, ' ', 2 * (size_t)level);
}

/* data_deps is "dataDeps". */
static void put_key(rs_writer *w, const char *name)
{
    rs_writer_char(w, '"');
    for (; *name; name++) {
        if (*name == '_' && name[1] >= 'a' && name[1] <= 'z')
            rs_writer_char(w, (char)(*++name - 'a' + 'A'));
        else if (*name != '_')
            rs_writer_char(w, *name);
    }
    rs_writer_text(w, "\": ");
}

static void put_whole(rs_writer *w, bool wide, bool is_signed, const void *at)
{
    if (wide) rs_writer_char(w, '"');
    if (wide && is_signed)
        rs_writer_int(w, *(const int64_t *)at);
    else if (wide)
        rs_writer_uint(w, *(const uint64_t *)at);
    else if (is_signed)
        rs_writer_int(w, *(const int32_t *)at);
    else
        rs_writer_uint(w, *(const uint32_t *)at);
    if (wide) rs_writer_char(w, '"');
}

static void put_message(rs_writer *w, const ProtobufCMessage *message, unsigned level);

static void put_value(rs_writer *w, const ProtobufCFieldDescriptor *f, const void *at, unsigned level)
{
    const char *text;
    const ProtobufCEnumValue *value;
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32: put_whole(w, false, true, at); return;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32: put_whole(w, false, false, at); return;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64: put_whole(w, true, true, at); return;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64: put_whole(w, true, false, at); return;
    case PROTOBUF_C_TYPE_FLOAT: rs_chakra_put_real(w, (double)*(const float *)at); return;
    case PROTOBUF_C_TYPE_DOUBLE: rs_chakra_put_real(w, *(const double *)at); return;
    case PROTOBUF_C_TYPE_BOOL: rs_writer_text(w, *(const protobuf_c_boolean *)at ? "true" : "false"); return;
    case PROTOBUF_C_TYPE_ENUM:
        value = protobuf_c_enum_descriptor_get_value(f->descriptor, *(const int *)at);
        if (value)
            rs_writer_json_string(w, value->name, strlen(value->name));
        else
            rs_writer_int(w, *(const int *)at);
        return;
    case PROTOBUF_C_TYPE_STRING:
        text = *(char *const *)at;
        rs_writer_json_string(w, text ? text : "", text ? strlen(text) : 0);
        return;
    case PROTOBUF_C_TYPE_BYTES: rs_chakra_put_bytes(w, at); return;
    case PROTOBUF_C_TYPE_MESSAGE: put_message(w, *(ProtobufCMessage *const *)at, level); return;
    }
}

static size_t size_of(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return 8;
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    default: return 4;
    }
}

/* Whether the field says nothing: its default, or not the chosen one of its alternatives. */
static bool is_default(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    const uint8_t *at = (const uint8_t *)m + f->offset,
                  *quantifier = (const uint8_t *)m + f->quantifier_offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) return *(const size_t *)quantifier == 0;
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) return *(const uint32_t *)quantifier != f->id;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) return *(void *const *)at == NULL;
    if (f->type == PROTOBUF_C_TYPE_STRING) return !*(char *const *)at || !**(char *const *)at;
    if (f->type == PROTOBUF_C_TYPE_BYTES) return ((const ProtobufCBinaryData *)at)->len == 0;
    for (size_t i = 0; i < size_of(f); i++)
        if (at[i]) return false;
    return true;
}

static void put_list(rs_writer *w, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                     unsigned level)
{
    size_t n = *(const size_t *)((const uint8_t *)m + f->quantifier_offset);
    const uint8_t *items = *(uint8_t *const *)((const uint8_t *)m + f->offset);
    rs_writer_char(w, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) rs_writer_char(w, ',');
        indent(w, level + 1);
        put_value(w, f, items + i * size_of(f), level + 1);
    }
    indent(w, level);
    rs_writer_char(w, ']');
}

static void put_message(rs_writer *w, const ProtobufCMessage *m, unsigned level)
{
    bool any = false;
    rs_writer_char(w, '{');
    for (unsigned i = 0; level < MOST_LEVELS && i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (is_default(m, f)) continue;
        if (any) rs_writer_char(w, ',');
        indent(w, level + 1);
        put_key(w, f->name);
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            put_list(w, m, f, level + 1);
        else
            put_value(w, f, (const uint8_t *)m + f->offset, level + 1);
        any = true;
    }
    if (any) indent(w, level);
    rs_writer_char(w, '}');
}

rs_status rs_chakra_jsonize(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err)
{
    rs_et_reader *reader;
    const Rs__Et__Node *n;
    rs_status status = rs_et_open(path, max_ratio, &reader, err);
    if (status != RS_OK) return status;
    rs_writer w;
    rs_writer_init(&w, sink);
    put_message(&w, &rs_et_metadata(reader)->base, 0);
    rs_writer_char(&w, '\n');
    while (!w.failed && (status = rs_et_next(reader, &n, err)) == RS_OK && n) {
        put_message(&w, &n->base, 0);
        rs_writer_char(&w, '\n');
    }
    rs_et_close(reader);
    if (status != RS_OK) return status;
    return rs_writer_finish(&w, err);
}
