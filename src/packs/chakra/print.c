/* A Chakra execution trace as JSON. */
#include <math.h>
#include <string.h>

#include "chakra/print_internal.h"
#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"

static void put_text(rs_writer *w, const char *text)
{
    rs_writer_json_string(w, text, strlen(text));
}

/* JSON has no numbers for these. */
void rs_chakra_put_real(rs_writer *w, double value)
{
    if (isfinite(value))
        rs_writer_real(w, value);
    else
        rs_writer_text(w, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

/* As base64, the way JSON forms of messages have it. */
void rs_chakra_put_bytes(rs_writer *w, const ProtobufCBinaryData *b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    rs_writer_char(w, '"');
    for (size_t i = 0; i < b->len; i += 3) {
        size_t left = b->len - i;
        uint32_t v = (uint32_t)b->data[i] << 16;
        if (left > 1) v |= (uint32_t)b->data[i + 1] << 8;
        if (left > 2) v |= b->data[i + 2];
        rs_writer_char(w, digits[v >> 18]);
        rs_writer_char(w, digits[v >> 12 & 63]);
        rs_writer_char(w, left > 1 ? digits[v >> 6 & 63] : '=');
        rs_writer_char(w, left > 2 ? digits[v & 63] : '=');
    }
    rs_writer_char(w, '"');
}

#define PUT_LIST(w, list, put)                                                                               \
    do {                                                                                                     \
        rs_writer_char(w, '[');                                                                              \
        for (size_t i_ = 0; i_ < (list)->n_values; i_++) {                                                   \
            if (i_) rs_writer_text(w, ", ");                                                                 \
            put;                                                                                             \
        }                                                                                                    \
        rs_writer_char(w, ']');                                                                              \
    } while (0)
#define PUT_INTS(w, list) PUT_LIST(w, list, rs_writer_int(w, (list)->values[i_]))
#define PUT_UINTS(w, list) PUT_LIST(w, list, rs_writer_uint(w, (list)->values[i_]))
#define PUT_REALS(w, list) PUT_LIST(w, list, rs_chakra_put_real(w, (double)(list)->values[i_]))

static void put_value(rs_writer *w, const Rs__Et__Attribute *a)
{
    switch (a->value_case) {
    case RS__ET__ATTRIBUTE__VALUE_DOUBLE_VAL: rs_chakra_put_real(w, a->double_val); return;
    case RS__ET__ATTRIBUTE__VALUE_FLOAT_VAL: rs_chakra_put_real(w, (double)a->float_val); return;
    case RS__ET__ATTRIBUTE__VALUE_INT32_VAL: rs_writer_int(w, a->int32_val); return;
    case RS__ET__ATTRIBUTE__VALUE_INT64_VAL: rs_writer_int(w, a->int64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_UINT32_VAL: rs_writer_uint(w, a->uint32_val); return;
    case RS__ET__ATTRIBUTE__VALUE_UINT64_VAL: rs_writer_uint(w, a->uint64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_SINT32_VAL: rs_writer_int(w, a->sint32_val); return;
    case RS__ET__ATTRIBUTE__VALUE_SINT64_VAL: rs_writer_int(w, a->sint64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_FIXED32_VAL: rs_writer_uint(w, a->fixed32_val); return;
    case RS__ET__ATTRIBUTE__VALUE_FIXED64_VAL: rs_writer_uint(w, a->fixed64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED32_VAL: rs_writer_int(w, a->sfixed32_val); return;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED64_VAL: rs_writer_int(w, a->sfixed64_val); return;
    case RS__ET__ATTRIBUTE__VALUE_BOOL_VAL: rs_writer_text(w, a->bool_val ? "true" : "false"); return;
    case RS__ET__ATTRIBUTE__VALUE_STRING_VAL: put_text(w, a->string_val); return;
    case RS__ET__ATTRIBUTE__VALUE_BYTES_VAL: rs_chakra_put_bytes(w, &a->bytes_val); return;
    case RS__ET__ATTRIBUTE__VALUE_DOUBLE_LIST: PUT_REALS(w, a->double_list); return;
    case RS__ET__ATTRIBUTE__VALUE_FLOAT_LIST: PUT_REALS(w, a->float_list); return;
    case RS__ET__ATTRIBUTE__VALUE_INT32_LIST: PUT_INTS(w, a->int32_list); return;
    case RS__ET__ATTRIBUTE__VALUE_INT64_LIST: PUT_INTS(w, a->int64_list); return;
    case RS__ET__ATTRIBUTE__VALUE_UINT32_LIST: PUT_UINTS(w, a->uint32_list); return;
    case RS__ET__ATTRIBUTE__VALUE_UINT64_LIST: PUT_UINTS(w, a->uint64_list); return;
    case RS__ET__ATTRIBUTE__VALUE_SINT32_LIST: PUT_INTS(w, a->sint32_list); return;
    case RS__ET__ATTRIBUTE__VALUE_SINT64_LIST: PUT_INTS(w, a->sint64_list); return;
    case RS__ET__ATTRIBUTE__VALUE_FIXED32_LIST: PUT_UINTS(w, a->fixed32_list); return;
    case RS__ET__ATTRIBUTE__VALUE_FIXED64_LIST: PUT_UINTS(w, a->fixed64_list); return;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED32_LIST: PUT_INTS(w, a->sfixed32_list); return;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED64_LIST: PUT_INTS(w, a->sfixed64_list); return;
    case RS__ET__ATTRIBUTE__VALUE_BOOL_LIST:
        PUT_LIST(w, a->bool_list, rs_writer_text(w, a->bool_list->values[i_] ? "true" : "false"));
        return;
    case RS__ET__ATTRIBUTE__VALUE_STRING_LIST:
        PUT_LIST(w, a->string_list, put_text(w, a->string_list->values[i_]));
        return;
    case RS__ET__ATTRIBUTE__VALUE_BYTES_LIST:
        PUT_LIST(w, a->bytes_list, rs_chakra_put_bytes(w, &a->bytes_list->values[i_]));
        return;
    default: rs_writer_text(w, "null");
    }
}

static const char *value_member(const Rs__Et__Attribute *a)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(a->base.descriptor, (unsigned)a->value_case);
    return field ? field->name : "value";
}

static void put_attributes(rs_writer *w, Rs__Et__Attribute *const *attr, size_t n)
{
    rs_writer_text(w, ", \"attr\": [");
    for (size_t i = 0; i < n; i++) {
        rs_writer_text(w, i ? ", {\"name\": " : "{\"name\": ");
        put_text(w, attr[i]->name);
        if (attr[i]->doc_string[0]) {
            rs_writer_text(w, ", \"doc_string\": ");
            put_text(w, attr[i]->doc_string);
        }
        RS_WRITE(w, ", \"", value_member(attr[i]), "\": ");
        put_value(w, attr[i]);
        rs_writer_char(w, '}');
    }
    rs_writer_char(w, ']');
}

static void put_ids(rs_writer *w, const char *name, const uint64_t *ids, size_t n)
{
    RS_WRITE(w, ", \"", name, "\": [");
    for (size_t i = 0; i < n; i++) {
        if (i) rs_writer_text(w, ", ");
        rs_writer_uint(w, ids[i]);
    }
    rs_writer_char(w, ']');
}

static void put_io(rs_writer *w, const char *name, const Rs__Et__InputsOutputs *io)
{
    if (!io) return;
    RS_WRITE(w, ", \"", name, "\": {\"values\": ");
    put_text(w, io->values);
    rs_writer_text(w, ", \"shapes\": ");
    put_text(w, io->shapes);
    rs_writer_text(w, ", \"types\": ");
    put_text(w, io->types);
    rs_writer_char(w, '}');
}

static void put_node(rs_writer *w, const Rs__Et__Node *n)
{
    const char *type = rs_et_type_name(n->type);
    RS_WRITE(w, "{\"id\": ", n->id, ", \"name\": ");
    put_text(w, n->name);
    rs_writer_text(w, ", \"type\": ");
    if (type)
        put_text(w, type);
    else
        rs_writer_int(w, (int64_t)n->type);
    put_ids(w, "ctrl_deps", n->ctrl_deps, n->n_ctrl_deps);
    put_ids(w, "data_deps", n->data_deps, n->n_data_deps);
    RS_WRITE(w, ", \"start_time_micros\": ", n->start_time_micros,
             ", \"duration_micros\": ", n->duration_micros);
    put_io(w, "inputs", n->inputs);
    put_io(w, "outputs", n->outputs);
    put_attributes(w, n->attr, n->n_attr);
    rs_writer_char(w, '}');
}

rs_status rs_chakra_print(const char *path, uint64_t max_ratio, bool lines, const rs_sink *sink,
                          uint64_t *nodes, rs_error *err)
{
    rs_et_reader *reader;
    uint64_t count = 0;
    if (nodes) *nodes = 0;
    rs_status status = rs_et_open(path, max_ratio, &reader, err);
    if (status != RS_OK) return status;
    rs_writer w;
    rs_writer_init(&w, sink);
    const Rs__Et__GlobalMetadata *metadata = rs_et_metadata(reader);
    rs_writer_text(&w, lines ? "{\"version\": " : "{\"metadata\": {\"version\": ");
    put_text(&w, metadata->version);
    put_attributes(&w, metadata->attr, metadata->n_attr);
    rs_writer_text(&w, lines ? "}\n" : "},\n\"nodes\": [");
    const Rs__Et__Node *node;
    while (!w.failed && (status = rs_et_next(reader, &node, err)) == RS_OK && node) {
        if (!lines) rs_writer_text(&w, count ? ",\n" : "\n");
        put_node(&w, node);
        if (lines) rs_writer_char(&w, '\n');
        count++;
    }
    if (!lines) rs_writer_text(&w, "\n]}\n");
    rs_et_close(reader);
    if (nodes) *nodes = count;
    if (status == RS_OK) return rs_writer_finish(&w, err);
    rs_writer_finish(&w, NULL);
    return status;
}
