/* Writing .et files message by message. */
#include "chakra/proto.h"

#include <string.h>

void rs_et_writer_init(rs_et_writer *w, const rs_sink *sink)
{
    memset(w, 0, sizeof *w);
    rs_writer_init(&w->out, sink);
}

rs_status rs_et_writer_finish(rs_et_writer *w, rs_error *err)
{
    return rs_writer_finish(&w->out, err);
}

void rs_et_writer_clear(rs_et_writer *w)
{
    rs_arena_clear(&w->arena);
    rs_free(w->bytes);
    rs_free(w->attr);
    w->bytes = NULL;
    w->attr = NULL;
    w->capacity = w->attr_capacity = w->n_attr = 0;
}

static Rs__Et__Attribute *add(rs_et_writer *w, const char *name, Rs__Et__Attribute__ValueCase which)
{
    Rs__Et__Attribute *a = rs_arena_alloc(&w->arena, sizeof *a);
    if (!a || !RS_GROW_ONE(w->attr, w->n_attr, w->attr_capacity)) {
        w->nomem = true;
        return NULL;
    }
    rs__et__attribute__init(a);
    a->name = (char *)(uintptr_t)name;
    a->value_case = which;
    w->attr[w->n_attr++] = a;
    return a;
}

void rs_et_add_int(rs_et_writer *w, const char *name, int64_t value)
{
    Rs__Et__Attribute *a = add(w, name, RS__ET__ATTRIBUTE__VALUE_INT64_VAL);
    if (a) a->int64_val = value;
}

void rs_et_add_uint(rs_et_writer *w, const char *name, uint64_t value)
{
    Rs__Et__Attribute *a = add(w, name, RS__ET__ATTRIBUTE__VALUE_UINT64_VAL);
    if (a) a->uint64_val = value;
}

void rs_et_add_int32(rs_et_writer *w, const char *name, int32_t value)
{
    Rs__Et__Attribute *a = add(w, name, RS__ET__ATTRIBUTE__VALUE_INT32_VAL);
    if (a) a->int32_val = value;
}

void rs_et_add_real(rs_et_writer *w, const char *name, double value)
{
    Rs__Et__Attribute *a = add(w, name, RS__ET__ATTRIBUTE__VALUE_DOUBLE_VAL);
    if (a) a->double_val = value;
}

void rs_et_add_bool(rs_et_writer *w, const char *name, bool value)
{
    Rs__Et__Attribute *a = add(w, name, RS__ET__ATTRIBUTE__VALUE_BOOL_VAL);
    if (a) a->bool_val = value;
}

void rs_et_add_text(rs_et_writer *w, const char *name, const char *value)
{
    Rs__Et__Attribute *a = add(w, name, RS__ET__ATTRIBUTE__VALUE_STRING_VAL);
    if (a) a->string_val = (char *)(uintptr_t)value;
}

static rs_status put(rs_et_writer *w, const ProtobufCMessage *message, rs_error *err)
{
    size_t n = w->nomem ? 0 : protobuf_c_message_get_packed_size(message), head = 0;
    if (n > RS_ET_MAX_MESSAGE)
        return rs_fail(err, RS_ERR_LIMIT, "a node of %llu bytes; readers take no more than %llu",
                       (unsigned long long)n, (unsigned long long)RS_ET_MAX_MESSAGE);
    if (w->nomem || !rs_grow((void **)&w->bytes, &w->capacity, n + 10, 1))
        return rs_fail_nomem(err, "a message of an execution trace");
    size_t left = n;
    for (; left > 127; left >>= 7) w->bytes[head++] = (uint8_t)(left | 128);
    w->bytes[head++] = (uint8_t)left;
    protobuf_c_message_pack(message, w->bytes + head);
    w->n_attr = 0;
    rs_arena_clear(&w->arena);
    rs_writer_bytes(&w->out, (const char *)w->bytes, head + n);
    return RS_OK;
}

rs_status rs_et_write_metadata(rs_et_writer *w, const char *version, rs_error *err)
{
    Rs__Et__GlobalMetadata metadata = RS__ET__GLOBAL_METADATA__INIT;
    metadata.version = (char *)(uintptr_t)version;
    metadata.n_attr = w->n_attr;
    metadata.attr = w->attr;
    return put(w, &metadata.base, err);
}

rs_status rs_et_write_node(rs_et_writer *w, Rs__Et__Node *node, rs_error *err)
{
    node->n_attr = w->n_attr;
    node->attr = w->attr;
    return put(w, &node->base, err);
}
