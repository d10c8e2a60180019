/* Reading .et files message by message. */
#include "chakra/proto.h"

#include <string.h>

#include "base/try.h"
#include "chakra/graph_json.h"
#include "input/source.h"

#define BUFFER ((size_t)64 << 10)

struct rs_et_reader {
    rs_source *source;
    uint8_t *buffer; /* of the source */
    size_t at, held;
    uint8_t *message;
    size_t capacity;
    uint64_t offset; /* of the next byte */
    uint64_t start;  /* of the present message */
    bool nomem;      /* unpacking ran out of memory */
    ProtobufCAllocator allocator;
    Rs__Et__GlobalMetadata *metadata;
    Rs__Et__Node *node;
    bool is_json;
    uint8_t *text; /* of the workload graph */
    rs_graph_json graph;
};

static void *take(void *data, size_t n)
{
    rs_et_reader *r = data;
    void *p = rs_malloc(n ? n : 1);
    if (!p) r->nomem = true;
    return p;
}

static void release(void *data, void *p)
{
    (void)data;
    rs_free(p);
}

static rs_status fill(rs_et_reader *r, rs_error *err)
{
    if (r->at < r->held) return RS_OK;
    r->at = r->held = 0;
    return rs_source_read(r->source, r->buffer, BUFFER, &r->held, err);
}

static rs_status cut_off(const rs_et_reader *r, uint64_t wanted, rs_error *err)
{
    rs_source_end end = rs_source_get_end(r->source);
    const char *name = rs_source_name(r->source);
    if (end.truncated || end.corrupt)
        return rs_fail_at(err, RS_ERR_FORMAT, name, r->offset,
                          "the packed file is %s at its byte %llu, inside a message",
                          end.corrupt ? "damaged" : "cut off", (unsigned long long)end.offset);
    return rs_fail_at(err, RS_ERR_FORMAT, name, r->start,
                      "the file ends inside this message, at byte %llu: %llu more bytes are missing",
                      (unsigned long long)r->offset, (unsigned long long)wanted);
}

/* The length before a message; *any false at the end of the file. */
static rs_status read_length(rs_et_reader *r, uint64_t *length, bool *any, rs_error *err)
{
    uint64_t value = 0;
    *any = false;
    r->start = r->offset;
    for (unsigned shift = 0;; shift += 7) {
        RS_TRY(fill(r, err));
        if (r->held == 0 && !*any) {
            rs_source_end end = rs_source_get_end(r->source);
            return end.truncated || end.corrupt ? cut_off(r, 1, err) : RS_OK;
        }
        if (r->held == 0) return cut_off(r, 1, err);
        uint8_t byte = r->buffer[r->at++];
        r->offset++;
        *any = true;
        if (shift == 63 && byte > 1)
            return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source), r->start,
                              "no message starts here: its length is no number");
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    if (value > RS_ET_MAX_MESSAGE)
        return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source), r->start,
                          "a message of %llu bytes; no more than %llu are read", (unsigned long long)value,
                          (unsigned long long)RS_ET_MAX_MESSAGE);
    *length = value;
    return RS_OK;
}

/* Memory grows with the bytes that really come, not with the length that the file claims. */
static rs_status read_message(rs_et_reader *r, size_t *n, bool *any, rs_error *err)
{
    uint64_t length = 0;
    rs_status status = read_length(r, &length, any, err);
    if (status != RS_OK || !*any) return status;
    size_t have = 0;
    while (have < length) {
        if ((status = fill(r, err)) != RS_OK) return status;
        if (r->held == 0) return cut_off(r, length - have, err);
        size_t some = r->held - r->at;
        if (some > length - have) some = (size_t)(length - have);
        if (!rs_grow((void **)&r->message, &r->capacity, have + some, 1))
            return rs_fail_nomem(err, "a message of an execution trace");
        memcpy(r->message + have, r->buffer + r->at, some);
        r->at += some;
        r->offset += some;
        have += some;
    }
    *n = have;
    return RS_OK;
}

static rs_status bad_message(const rs_et_reader *r, const char *what, rs_error *err)
{
    if (r->nomem) return rs_fail_nomem(err, "a message of an execution trace");
    return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source), r->start, "this message is no %s", what);
}

/* The whole text, of which the beginning is in the buffer. */
static rs_status read_graph(rs_et_reader *r, rs_error *err)
{
    size_t n = 0, capacity = 0, held = r->held;
    r->is_json = true;
    if (!(r->metadata = take(r, sizeof *r->metadata))) return rs_fail_nomem(err, "a workload graph");
    rs__et__global_metadata__init(r->metadata);
    do {
        if (!rs_grow((void **)&r->text, &capacity, n + held + 1, 1))
            return rs_fail_nomem(err, "a workload graph");
        memcpy(r->text + n, r->buffer, held);
        n += held;
        RS_TRY(rs_source_read(r->source, r->buffer, BUFFER, &held, err));
    } while (held);
    r->offset = n;
    rs_source_end end = rs_source_get_end(r->source);
    if (end.truncated || end.corrupt) return cut_off(r, 1, err);
    return rs_graph_json_open(r->text, n, rs_source_name(r->source), &r->graph, err);
}

static rs_status start_reading(rs_source *source, rs_et_reader **out, rs_error *err)
{
    rs_et_reader *r = rs_calloc(1, sizeof *r);
    if (!r || !(r->buffer = rs_malloc(BUFFER))) {
        rs_free(r);
        rs_source_close(source);
        return rs_fail_nomem(err, "reading an execution trace");
    }
    r->source = source;
    r->allocator = (ProtobufCAllocator){.alloc = take, .free = release, .allocator_data = r};
    size_t n = 0;
    bool any;
    rs_status status = fill(r, err);
    if (status == RS_OK && rs_graph_json_is(r->buffer, r->held)) {
        status = read_graph(r, err);
        if (status == RS_OK)
            *out = r;
        else
            rs_et_close(r);
        return status;
    }
    if (status == RS_OK) status = read_message(r, &n, &any, err);
    if (status == RS_OK && !any)
        status = rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(source), 0,
                            "the file is empty: an execution trace starts with its metadata");
    if (status == RS_OK) {
        static const uint8_t nothing[1];
        r->metadata = rs__et__global_metadata__unpack(&r->allocator, n, n ? r->message : nothing);
        if (!r->metadata) status = bad_message(r, "metadata of a Chakra execution trace", err);
    }
    if (status != RS_OK) {
        rs_et_close(r);
        return status;
    }
    *out = r;
    return RS_OK;
}

rs_status rs_et_open(const char *path, uint64_t max_ratio, rs_et_reader **out, rs_error *err)
{
    rs_source *source;
    rs_status status = rs_source_open(path, max_ratio, &source, err);
    return status == RS_OK ? start_reading(source, out, err) : status;
}

rs_status rs_et_open_bytes(const void *bytes, size_t n, const char *name, rs_et_reader **out, rs_error *err)
{
    rs_source *source;
    rs_status status = rs_source_open_bytes(bytes, n, name, 0, &source, err);
    return status == RS_OK ? start_reading(source, out, err) : status;
}

void rs_et_close(rs_et_reader *r)
{
    if (!r) return;
    if (r->metadata) rs__et__global_metadata__free_unpacked(r->metadata, &r->allocator);
    if (r->node) rs__et__node__free_unpacked(r->node, &r->allocator);
    rs_source_close(r->source);
    rs_graph_json_clear(&r->graph);
    rs_free_all(r->text, r->buffer, r->message, r);
}

const Rs__Et__GlobalMetadata *rs_et_metadata(const rs_et_reader *r)
{
    return r->metadata;
}

rs_status rs_et_next(rs_et_reader *r, const Rs__Et__Node **node, rs_error *err)
{
    size_t n = 0;
    bool any;
    *node = NULL;
    if (r->is_json) return rs_graph_json_next(&r->graph, node, &r->start, err);
    if (r->node) rs__et__node__free_unpacked(r->node, &r->allocator);
    r->node = NULL;
    rs_status status = read_message(r, &n, &any, err);
    if (status != RS_OK || !any) return status;
    static const uint8_t nothing[1];
    r->node = rs__et__node__unpack(&r->allocator, n, n ? r->message : nothing);
    if (!r->node) return bad_message(r, "node of a Chakra execution trace", err);
    *node = r->node;
    return RS_OK;
}

uint64_t rs_et_offset(const rs_et_reader *r)
{
    return r->start;
}

/* ---- what a node says ------------------------------------------------------------------------------- */

/* The last attribute of a name, NULL if there is none. */
static const Rs__Et__Attribute *et_attribute(const Rs__Et__Node *node, const char *name)
{
    for (size_t i = node->n_attr; i-- > 0;)
        if (strcmp(node->attr[i]->name, name) == 0) return node->attr[i];
    return NULL;
}

bool rs_et_attribute_int(const Rs__Et__Node *node, const char *name, int64_t *out)
{
    const Rs__Et__Attribute *a = et_attribute(node, name);
    uint64_t u = 0;
    if (!a) return false;
    switch (a->value_case) {
    case RS__ET__ATTRIBUTE__VALUE_INT32_VAL: *out = a->int32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_INT64_VAL: *out = a->int64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SINT32_VAL: *out = a->sint32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SINT64_VAL: *out = a->sint64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED32_VAL: *out = a->sfixed32_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_SFIXED64_VAL: *out = a->sfixed64_val; return true;
    case RS__ET__ATTRIBUTE__VALUE_BOOL_VAL: *out = a->bool_val ? 1 : 0; return true;
    case RS__ET__ATTRIBUTE__VALUE_UINT32_VAL: u = a->uint32_val; break;
    case RS__ET__ATTRIBUTE__VALUE_UINT64_VAL: u = a->uint64_val; break;
    case RS__ET__ATTRIBUTE__VALUE_FIXED32_VAL: u = a->fixed32_val; break;
    case RS__ET__ATTRIBUTE__VALUE_FIXED64_VAL: u = a->fixed64_val; break;
    default: return false;
    }
    if (u > INT64_MAX) return false;
    *out = (int64_t)u;
    return true;
}

const char *rs_et_attribute_text(const Rs__Et__Node *node, const char *name)
{
    const Rs__Et__Attribute *a = et_attribute(node, name);
    return a && a->value_case == RS__ET__ATTRIBUTE__VALUE_STRING_VAL ? a->string_val : NULL;
}

const char *rs_et_type_name(Rs__Et__NodeType type)
{
    static const char *const names[] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                        "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
    return (size_t)type < sizeof names / sizeof *names ? names[type] : NULL;
}
