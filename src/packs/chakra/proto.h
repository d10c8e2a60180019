/* Chakra execution traces (.et): length-delimited protobuf messages, one at a time.
 *
 * A reader holds one message; how long a file is does not matter. Lengths in a file are believed only as far
 * as bytes follow them. */
#pragma once

#include "base/memory.h"
#include "et_def.pb-c.h"
#include "text/writer.h"
#include "rankscope/status.h"

#define RS_ET_MAX_MESSAGE ((size_t)64 << 20)

/* ---- reading ---------------------------------------------------------------------------------------- */

typedef struct rs_et_reader rs_et_reader;

/* An .et file, or the workload graph that feeders read besides (graph_json.h; it is held whole). Plain, gzip or
 * zstd. max_ratio as for rs_source_open. Opens and reads the metadata, which is the reader's;
 * a file without any message is RS_ERR_FORMAT. */
rs_status rs_et_open(const char *path, uint64_t max_ratio, rs_et_reader **out, rs_error *err);
rs_status rs_et_open_bytes(const void *bytes, size_t n, const char *name, rs_et_reader **out, rs_error *err);
void rs_et_close(rs_et_reader *reader); /* NULL is allowed */

const Rs__Et__GlobalMetadata *rs_et_metadata(const rs_et_reader *reader);
/* The next node, valid until the next call; *node NULL at the end of the file. RS_ERR_FORMAT with the byte
 * offset (of the unpacked file) for a message that is cut off, too long or no node; RS_ERR_IO, RS_ERR_NOMEM.
 */
rs_status rs_et_next(rs_et_reader *reader, const Rs__Et__Node **node, rs_error *err);
/* Where the present message starts (its length), and the bytes read so far. */
uint64_t rs_et_offset(const rs_et_reader *reader);

/* Its value when it is a whole number of any kind (bool counts) within int64. */
bool rs_et_attribute_int(const Rs__Et__Node *node, const char *name, int64_t *out);
/* Its value when it is a string, else NULL. */
const char *rs_et_attribute_text(const Rs__Et__Node *node, const char *name);
/* "COMP_NODE" and so on; NULL for what is no node type. */
const char *rs_et_type_name(Rs__Et__NodeType type);

/* ---- writing ---------------------------------------------------------------------------------------- */

/* The inputs or outputs of a node, encoded. */
typedef struct rs_et_io {
    uint8_t *bytes;
    size_t n, capacity;
} rs_et_io;

/* A node without its attributes. What it points to is borrowed. */
typedef struct rs_et_message {
    uint64_t id;
    const char *name; /* UTF-8 without NUL, not terminated */
    size_t n_name;
    Rs__Et__NodeType type;
    const uint64_t *ctrl_deps, *data_deps;
    size_t n_ctrl_deps, n_data_deps;
    uint64_t start_time_micros, duration_micros;
    const rs_et_io *inputs, *outputs;
} rs_et_message;

/* Messages under construction in memory. */
typedef struct rs_et_writer {
    rs_writer out;
    uint8_t *bytes; /* messages with their lengths; handed on when there are many */
    size_t n, capacity;
    uint8_t *attr; /* the next one's attributes, encoded */
    size_t n_attr, attr_capacity;
    rs_et_io inputs, outputs; /* of rs_et_write_node */
    bool nomem, too_long;     /* an attribute could not be added */
    bool json;                /* nodes are written as a workload graph; there is no metadata then */
    uint64_t n_nodes;
} rs_et_writer;

void rs_et_writer_init(rs_et_writer *writer, const rs_sink *sink);
/* Hands everything on to the sink; RS_ERR_IO when it failed at any time. */
rs_status rs_et_writer_finish(rs_et_writer *writer, rs_error *err);
void rs_et_writer_clear(rs_et_writer *writer);

/* Attributes of the next message, in order. Texts must be UTF-8. field: the kind of number, as the schema has it.
 */
enum { RS_ET_INT32 = 7, RS_ET_INT = 9, RS_ET_UINT = 13, RS_ET_BOOL = 27 };
void rs_et_add_varint(rs_et_writer *writer, const char *name, size_t n_name, unsigned field, uint64_t value);
void rs_et_add_real(rs_et_writer *writer, const char *name, double value);
void rs_et_add_text(rs_et_writer *writer, const char *name, const char *value);
/* Attributes that were added to the message before become the first of the next one: those in the first n
 * bytes (writer->n_attr was n behind them). */
static inline void rs_et_keep_attributes(rs_et_writer *writer, size_t n)
{
    writer->n_attr = n;
}

/* The same with little work for most: a name of n bytes, of which `copied` may be read, less than a hundred. */
static inline void rs_et_put_int(rs_et_writer *writer, const char *name, size_t n, size_t copied,
                                 int64_t value)
{
    if (writer->too_long || writer->attr_capacity - writer->n_attr < copied + 32) {
        rs_et_add_varint(writer, name, n, RS_ET_INT, (uint64_t)value);
        return;
    }
    uint8_t *begin = writer->attr + writer->n_attr, *to = begin + 4 + n;
    uint64_t v = (uint64_t)value;
    memcpy(begin + 4, name, copied);
    *to++ = RS_ET_INT << 3;
    for (; v > 127; v >>= 7) *to++ = (uint8_t)(v | 128);
    *to++ = (uint8_t)v;
    begin[0] = 10 << 3 | 2; /* the attribute of a node, and its length */
    begin[1] = (uint8_t)(to - begin - 2);
    begin[2] = 1 << 3 | 2; /* its name */
    begin[3] = (uint8_t)n;
    writer->n_attr = (size_t)(to - writer->attr);
}

static inline void rs_et_add_int(rs_et_writer *writer, const char *name, int64_t value)
{
    size_t n = strlen(name);
    if (n && n < 100)
        rs_et_put_int(writer, name, n, n, value);
    else
        rs_et_add_varint(writer, name, n, RS_ET_INT, (uint64_t)value);
}

static inline void rs_et_add_uint(rs_et_writer *writer, const char *name, uint64_t value)
{
    rs_et_add_varint(writer, name, strlen(name), RS_ET_UINT, value);
}

static inline void rs_et_add_int32(rs_et_writer *writer, const char *name, int32_t value)
{
    rs_et_add_varint(writer, name, strlen(name), RS_ET_INT32, (uint64_t)(int64_t)value);
}

static inline void rs_et_add_bool(rs_et_writer *writer, const char *name, bool value)
{
    rs_et_add_varint(writer, name, strlen(name), RS_ET_BOOL, value);
}

/* Texts of inputs or outputs, in the order of their fields: room for one, NULL when out of memory; then how
 * much of it is used. */
enum { RS_ET_FIELD_VALUES = 1, RS_ET_FIELD_SHAPES, RS_ET_FIELD_TYPES };
char *rs_et_io_open(rs_et_io *io, size_t room);
void rs_et_io_close(rs_et_io *io, unsigned field, size_t n);

/* Write the message with the attributes added so far (those of node itself are not looked at), and start
 * again. */
rs_status rs_et_write_metadata(rs_et_writer *writer, const char *version, rs_error *err);
rs_status rs_et_write_message(rs_et_writer *writer, const rs_et_message *message, rs_error *err);
rs_status rs_et_write_node(rs_et_writer *writer, const Rs__Et__Node *node, rs_error *err);
