/* Writing .et files message by message. Messages are encoded here, field by field in ascending order, as
 * protobuf-c would: traces have millions of nodes, and most of a node is its attributes, which are bytes as
 * soon as they are added. */
#include "chakra/proto.h"

#include <string.h>

#include "chakra/graph_json.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
#define TAG(field, wire) ((uint64_t)(field) << 3 | (wire))
#define NODE_ATTRIBUTE TAG(10, BYTES)    /* one byte each: */
#define METADATA_ATTRIBUTE TAG(2, BYTES) /* the one can take the place of the other */

void rs_et_writer_init(rs_et_writer *w, const rs_sink *sink)
{
    memset(w, 0, sizeof *w);
    rs_writer_init(&w->out, sink);
}

/* Whole messages go to the sink, many at once. */
#define ENOUGH ((size_t)64 << 10)

static void hand_on(rs_et_writer *w)
{
    rs_writer *out = &w->out;
    rs_writer_flush(out);
    if (w->n && !out->failed && !out->sink->write(out->sink->context, (const char *)w->bytes, w->n))
        out->failed = true;
    w->n = 0;
}

rs_status rs_et_writer_finish(rs_et_writer *w, rs_error *err)
{
    hand_on(w);
    if (w->json) rs_writer_text(&w->out, "\n]}\n");
    return rs_writer_finish(&w->out, err);
}

void rs_et_writer_clear(rs_et_writer *w)
{
    rs_free_all(w->bytes, w->attr, w->inputs.bytes, w->outputs.bytes);
    w->bytes = w->attr = NULL;
    w->inputs = w->outputs = (rs_et_io){0};
    w->n = w->capacity = w->attr_capacity = w->n_attr = 0;
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

static bool has_room(rs_et_writer *w, size_t n)
{
    if (w->too_long) return false;
    if (w->attr_capacity - w->n_attr >= n || rs_grow((void **)&w->attr, &w->attr_capacity, w->n_attr + n, 1))
        return true;
    w->nomem = true;
    return false;
}

/* The beginning of an attribute whose value takes n bytes, its tag included; NULL when out of memory. */
static uint8_t *begin_attribute(rs_et_writer *w, const char *name, size_t length, size_t n)
{
    size_t body = (length ? bytes_size(length) : 0) + n;
    if (n > RS_ET_MAX_MESSAGE || length > RS_ET_MAX_MESSAGE) {
        w->too_long = true;
        return NULL;
    }
    if (!has_room(w, body + 12)) return NULL;
    uint8_t *to = put_varint(put_varint(w->attr + w->n_attr, NODE_ATTRIBUTE), body);
    if (length) to = put_bytes(to, TAG(1, BYTES), name, length);
    w->n_attr = (size_t)(to - w->attr) + n;
    return to;
}

void rs_et_add_varint(rs_et_writer *w, const char *name, size_t length, unsigned field, uint64_t value)
{
    uint64_t tag = TAG(field, VARINT);
    uint8_t *to = begin_attribute(w, name, length, varint_size(tag) + varint_size(value));
    if (to) put_varint(put_varint(to, tag), value);
}

void rs_et_add_real(rs_et_writer *w, const char *name, double value)
{
    uint8_t *to = begin_attribute(w, name, strlen(name), 9);
    uint64_t bits;
    if (!to) return;
    memcpy(&bits, &value, sizeof bits);
    to = put_varint(to, TAG(3, FIXED64));
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(bits >> 8 * i);
}

void rs_et_add_text(rs_et_writer *w, const char *name, const char *value)
{
    size_t n = strlen(value);
    uint8_t *to = begin_attribute(w, name, strlen(name), varint_size(TAG(29, BYTES)) + varint_size(n) + n);
    if (to) put_bytes(to, TAG(29, BYTES), value, n);
}

/* ---- inputs and outputs ----------------------------------------------------------------------------- */

/* A text is after its tag and as many bytes as its length mostly takes. */
#define TEXT_HEAD 3

char *rs_et_io_open(rs_et_io *io, size_t room)
{
    if (room > SIZE_MAX / 4 || !rs_grow((void **)&io->bytes, &io->capacity, io->n + room + 16, 1))
        return NULL;
    return (char *)io->bytes + io->n + TEXT_HEAD;
}

void rs_et_io_close(rs_et_io *io, unsigned field, size_t n)
{
    uint8_t *at = io->bytes + io->n;
    size_t head = 1 + varint_size(n);
    if (!n) return;
    if (head != TEXT_HEAD) memmove(at + head, at + TEXT_HEAD, n);
    put_varint(put_varint(at, TAG(field, BYTES)), n);
    io->n += head + n;
}

static bool put_io(rs_et_io *io, const Rs__Et__InputsOutputs *from)
{
    const char *const texts[] = {from->values, from->shapes, from->types};
    io->n = 0;
    for (unsigned i = 0; i < 3; i++) {
        size_t n = texts[i] ? strlen(texts[i]) : 0;
        char *to = rs_et_io_open(io, n);
        if (!to) return false;
        memcpy(to, texts[i] ? texts[i] : "", n);
        rs_et_io_close(io, RS_ET_FIELD_VALUES + i, n);
    }
    return true;
}

/* ---- messages --------------------------------------------------------------------------------------- */

/* Room for a message of n bytes behind its length; where the message begins, or NULL with the reason in err.
 */
static uint8_t *begin_message(rs_et_writer *w, size_t n, rs_error *err)
{
    if (w->too_long || n > RS_ET_MAX_MESSAGE) {
        rs_fail(err, RS_ERR_LIMIT, "a node of more than the %llu bytes that readers take",
                (unsigned long long)RS_ET_MAX_MESSAGE);
        return NULL;
    }
    if (w->n && w->n + n + 10 > w->capacity) hand_on(w);
    if (w->nomem || !rs_grow((void **)&w->bytes, &w->capacity, n + 10 > ENOUGH ? n + 10 : ENOUGH, 1)) {
        rs_fail_nomem(err, "a message of an execution trace");
        return NULL;
    }
    return put_varint(w->bytes + w->n, n);
}

static rs_status end_message(rs_et_writer *w, const uint8_t *end)
{
    w->n_attr = 0;
    w->n = (size_t)(end - w->bytes);
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

static uint8_t *put_texts(uint8_t *to, unsigned field, const rs_et_io *io)
{
    return io ? put_bytes(to, TAG(field, BYTES), io->bytes, io->n) : to;
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

rs_status rs_et_write_message(rs_et_writer *w, const rs_et_message *m, rs_error *err)
{
    size_t ctrl = list_size(m->ctrl_deps, m->n_ctrl_deps), data = list_size(m->data_deps, m->n_data_deps);
    size_t size = number_size(m->id) + (m->n_name ? bytes_size(m->n_name) : 0) +
                  number_size((uint64_t)m->type) + (m->n_ctrl_deps ? bytes_size(ctrl) : 0) +
                  (m->n_data_deps ? bytes_size(data) : 0) + number_size(m->start_time_micros) +
                  number_size(m->duration_micros) + (m->inputs ? bytes_size(m->inputs->n) : 0) +
                  (m->outputs ? bytes_size(m->outputs->n) : 0) + w->n_attr;
    uint8_t *to = begin_message(w, size, err);
    if (!to) return err->status;
    to = put_number(to, 1, m->id);
    if (m->n_name) to = put_bytes(to, TAG(2, BYTES), m->name, m->n_name);
    to = put_number(to, 3, (uint64_t)m->type);
    to = put_list(to, 4, m->ctrl_deps, m->n_ctrl_deps, ctrl);
    to = put_list(to, 5, m->data_deps, m->n_data_deps, data);
    to = put_number(to, 6, m->start_time_micros);
    to = put_number(to, 7, m->duration_micros);
    to = put_texts(to, 8, m->inputs);
    to = put_texts(to, 9, m->outputs);
    if (w->n_attr) memcpy(to, w->attr, w->n_attr);
    return w->json ? put_graph_node(w, size, to + w->n_attr, err) : end_message(w, to + w->n_attr);
}

rs_status rs_et_write_node(rs_et_writer *w, const Rs__Et__Node *n, rs_error *err)
{
    rs_et_message m = {.id = n->id,
                       .name = n->name,
                       .n_name = n->name ? strlen(n->name) : 0,
                       .type = n->type,
                       .ctrl_deps = n->ctrl_deps,
                       .n_ctrl_deps = n->n_ctrl_deps,
                       .data_deps = n->data_deps,
                       .n_data_deps = n->n_data_deps,
                       .start_time_micros = n->start_time_micros,
                       .duration_micros = n->duration_micros,
                       .inputs = n->inputs ? &w->inputs : NULL,
                       .outputs = n->outputs ? &w->outputs : NULL};
    if ((n->inputs && !put_io(&w->inputs, n->inputs)) || (n->outputs && !put_io(&w->outputs, n->outputs)))
        return rs_fail_nomem(err, "a node");
    return rs_et_write_message(w, &m, err);
}
