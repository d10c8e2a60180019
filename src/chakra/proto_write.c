/* Writing .et files message by message. Messages are encoded here, field by field in ascending order, as
 * protobuf-c would: traces have millions of nodes, and most of a node is its attributes, which are bytes as
 * soon as they are added. */
#include "chakra/proto.h"

#include <string.h>

#include "chakra/graph_json.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
#define TAG(field, wire) ((uint64_t)(field) << 3 | (wire))
#define NODE_ATTRIBUTE TAG(10, BYTES)    /* one byte each: */
#define METADATA_ATTRIBUTE TAG(2, BYTES) /* the one can stand in the other's place */

void rs_et_writer_init(rs_et_writer *w, const rs_sink *sink)
{
    memset(w, 0, sizeof *w);
    rs_writer_init(&w->out, sink);
}

rs_status rs_et_writer_finish(rs_et_writer *w, rs_error *err)
{
    if (w->json) rs_writer_text(&w->out, "\n]}\n");
    return rs_writer_finish(&w->out, err);
}

void rs_et_writer_clear(rs_et_writer *w)
{
    rs_free(w->bytes);
    rs_free(w->attr);
    w->bytes = w->attr = NULL;
    w->capacity = w->attr_capacity = w->n_attr = 0;
}

/* ---- encoding --------------------------------------------------------------------------------------- */

static size_t varint_size(uint64_t v)
{
    return v ? (63 - (size_t)__builtin_clzll(v)) / 7 + 1 : 1;
}

static uint8_t *put_varint(uint8_t *to, uint64_t v)
{
    for (; v > 127; v >>= 7) *to++ = (uint8_t)(v | 128);
    *to++ = (uint8_t)v;
    return to;
}

static uint8_t *put_bytes(uint8_t *to, uint64_t tag, const void *bytes, size_t n)
{
    to = put_varint(put_varint(to, tag), n);
    if (n) memcpy(to, bytes, n);
    return to + n;
}

static size_t bytes_size(size_t n)
{
    return 1 + varint_size(n) + n; /* tags of nodes are one byte */
}

/* ---- attributes ------------------------------------------------------------------------------------- */

/* The beginning of an attribute whose value takes n bytes, its tag included; NULL when out of memory. */
static uint8_t *begin_attribute(rs_et_writer *w, const char *name, size_t n)
{
    size_t length = strlen(name), body = (length ? bytes_size(length) : 0) + n;
    if (n > RS_ET_MAX_MESSAGE || length > RS_ET_MAX_MESSAGE) {
        w->too_long = true;
        return NULL;
    }
    if (w->too_long || !rs_grow((void **)&w->attr, &w->attr_capacity, w->n_attr + body + 12, 1)) {
        w->nomem |= !w->too_long;
        return NULL;
    }
    uint8_t *to = put_varint(put_varint(w->attr + w->n_attr, NODE_ATTRIBUTE), body);
    if (length) to = put_bytes(to, TAG(1, BYTES), name, length);
    w->n_attr = (size_t)(to - w->attr) + n;
    return to;
}

static void add_varint(rs_et_writer *w, const char *name, uint64_t tag, uint64_t value)
{
    uint8_t *to = begin_attribute(w, name, varint_size(tag) + varint_size(value));
    if (to) put_varint(put_varint(to, tag), value);
}

void rs_et_add_int(rs_et_writer *w, const char *name, int64_t value)
{
    add_varint(w, name, TAG(9, VARINT), (uint64_t)value);
}

void rs_et_add_uint(rs_et_writer *w, const char *name, uint64_t value)
{
    add_varint(w, name, TAG(13, VARINT), value);
}

void rs_et_add_int32(rs_et_writer *w, const char *name, int32_t value)
{
    add_varint(w, name, TAG(7, VARINT), (uint64_t)(int64_t)value);
}

void rs_et_add_real(rs_et_writer *w, const char *name, double value)
{
    uint8_t *to = begin_attribute(w, name, 9);
    uint64_t bits;
    if (!to) return;
    memcpy(&bits, &value, sizeof bits);
    to = put_varint(to, TAG(3, FIXED64));
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(bits >> 8 * i);
}

void rs_et_add_bool(rs_et_writer *w, const char *name, bool value)
{
    add_varint(w, name, TAG(27, VARINT), value);
}

void rs_et_add_text(rs_et_writer *w, const char *name, const char *value)
{
    size_t n = strlen(value);
    uint8_t *to = begin_attribute(w, name, varint_size(TAG(29, BYTES)) + varint_size(n) + n);
    if (to) put_bytes(to, TAG(29, BYTES), value, n);
}

/* ---- messages --------------------------------------------------------------------------------------- */

/* Room for a message of n bytes behind its length; where the message begins, or NULL with the reason in err.
 */
static uint8_t *begin_message(rs_et_writer *w, size_t n, rs_error *err)
{
    if (w->too_long || n > RS_ET_MAX_MESSAGE)
        rs_fail(err, RS_ERR_LIMIT, "a node of more than the %llu bytes that readers take",
                (unsigned long long)RS_ET_MAX_MESSAGE);
    else if (w->nomem || !rs_grow((void **)&w->bytes, &w->capacity, n + 10, 1))
        rs_fail_nomem(err, "a message of an execution trace");
    else
        return put_varint(w->bytes, n);
    return NULL;
}

static rs_status end_message(rs_et_writer *w, const uint8_t *end)
{
    w->n_attr = 0;
    rs_writer_bytes(&w->out, (const char *)w->bytes, (size_t)(end - w->bytes));
    return RS_OK;
}

rs_status rs_et_write_metadata(rs_et_writer *w, const char *version, rs_error *err)
{
    if (w->json) {
        w->n_attr = 0;
        rs_writer_text(&w->out, "{\"workload_graph\": [");
        return RS_OK;
    }
    size_t n = strlen(version);
    uint8_t *to = begin_message(w, (n ? bytes_size(n) : 0) + w->n_attr, err);
    if (!to) return err->status;
    if (n) to = put_bytes(to, TAG(1, BYTES), version, n);
    if (w->n_attr) memcpy(to, w->attr, w->n_attr);
    /* from one attribute's tag to the next */
    for (size_t at = 0; at < w->n_attr;) {
        uint64_t length = 0;
        unsigned shift = 0;
        to[at++] = METADATA_ATTRIBUTE;
        for (; to[at] & 128; at++, shift += 7) length |= (uint64_t)(to[at] & 127) << shift;
        at += (size_t)(length | (uint64_t)to[at] << shift) + 1;
    }
    return end_message(w, to + w->n_attr);
}

static size_t text_size(const char *text)
{
    size_t n = text ? strlen(text) : 0;
    return n ? bytes_size(n) : 0;
}

static uint8_t *put_text(uint8_t *to, unsigned field, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    return n ? put_bytes(to, TAG(field, BYTES), text, n) : to;
}

static size_t list_size(const uint64_t *ids, size_t n)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++) size += varint_size(ids[i]);
    return size;
}

static uint8_t *put_list(uint8_t *to, unsigned field, const uint64_t *ids, size_t n, size_t size)
{
    if (!n) return to;
    to = put_varint(put_varint(to, TAG(field, BYTES)), size);
    for (size_t i = 0; i < n; i++) to = put_varint(to, ids[i]);
    return to;
}

static uint8_t *put_number(uint8_t *to, unsigned field, uint64_t value)
{
    return value ? put_varint(put_varint(to, TAG(field, VARINT)), value) : to;
}

static size_t number_size(uint64_t value)
{
    return value ? 1 + varint_size(value) : 0;
}

static size_t io_size(const Rs__Et__InputsOutputs *io)
{
    return io ? text_size(io->values) + text_size(io->shapes) + text_size(io->types) : 0;
}

static uint8_t *put_io(uint8_t *to, unsigned field, const Rs__Et__InputsOutputs *io, size_t size)
{
    if (!io) return to;
    to = put_varint(put_varint(to, TAG(field, BYTES)), size);
    to = put_text(to, 1, io->values);
    to = put_text(to, 2, io->shapes);
    return put_text(to, 3, io->types);
}

/* The message as a node of a workload graph. */
static rs_status put_graph_node(rs_et_writer *w, size_t n, const uint8_t *end, rs_error *err)
{
    Rs__Et__Node *node = rs__et__node__unpack(NULL, n, end - n);
    if (!node) return rs_fail_nomem(err, "a node");
    w->n_attr = 0;
    rs_writer_text(&w->out, w->n_nodes++ ? ",\n" : "\n");
    rs_graph_json_put(&w->out, node);
    rs__et__node__free_unpacked(node, NULL);
    return RS_OK;
}

rs_status rs_et_write_node(rs_et_writer *w, const Rs__Et__Node *n, rs_error *err)
{
    size_t ctrl = list_size(n->ctrl_deps, n->n_ctrl_deps), data = list_size(n->data_deps, n->n_data_deps),
           inputs = io_size(n->inputs), outputs = io_size(n->outputs);
    size_t size = number_size(n->id) + text_size(n->name) + number_size((uint64_t)n->type) +
                  (n->n_ctrl_deps ? bytes_size(ctrl) : 0) + (n->n_data_deps ? bytes_size(data) : 0) +
                  number_size(n->start_time_micros) + number_size(n->duration_micros) +
                  (n->inputs ? bytes_size(inputs) : 0) + (n->outputs ? bytes_size(outputs) : 0) + w->n_attr;
    uint8_t *to = begin_message(w, size, err);
    if (!to) return err->status;
    to = put_number(to, 1, n->id);
    to = put_text(to, 2, n->name);
    to = put_number(to, 3, (uint64_t)n->type);
    to = put_list(to, 4, n->ctrl_deps, n->n_ctrl_deps, ctrl);
    to = put_list(to, 5, n->data_deps, n->n_data_deps, data);
    to = put_number(to, 6, n->start_time_micros);
    to = put_number(to, 7, n->duration_micros);
    to = put_io(to, 8, n->inputs, inputs);
    to = put_io(to, 9, n->outputs, outputs);
    if (w->n_attr) memcpy(to, w->attr, w->n_attr);
    return w->json ? put_graph_node(w, size, to + w->n_attr, err) : end_message(w, to + w->n_attr);
}
