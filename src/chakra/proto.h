/* Chakra execution traces (.et): length-delimited protobuf messages, one at a time.
 *
 * A reader holds one message; how long a file is does not matter. Lengths in a file are believed only as far
 * as bytes follow them. */
#ifndef RS_CHAKRA_PROTO_H
#define RS_CHAKRA_PROTO_H

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

/* The last attribute of a name, NULL if there is none. */
const Rs__Et__Attribute *rs_et_attribute(const Rs__Et__Node *node, const char *name);
/* Its value when it is a whole number of any kind (bool counts) within int64. */
bool rs_et_attribute_int(const Rs__Et__Node *node, const char *name, int64_t *out);
/* Its value when it is a string, else NULL. */
const char *rs_et_attribute_text(const Rs__Et__Node *node, const char *name);
/* "COMP_NODE" and so on; NULL for what is no node type. */
const char *rs_et_type_name(Rs__Et__NodeType type);

/* ---- writing ---------------------------------------------------------------------------------------- */

/* A message under construction in memory that is used again for the next. */
typedef struct rs_et_writer {
    rs_writer out;
    uint8_t *bytes; /* the message with its length */
    size_t capacity;
    uint8_t *attr; /* its attributes, encoded */
    size_t n_attr, attr_capacity;
    bool nomem, too_long; /* an attribute could not be added */
    bool json;            /* nodes are written as a workload graph; there is no metadata then */
    uint64_t n_nodes;
} rs_et_writer;

void rs_et_writer_init(rs_et_writer *writer, const rs_sink *sink);
/* Hands everything on to the sink; RS_ERR_IO when it failed at any time. */
rs_status rs_et_writer_finish(rs_et_writer *writer, rs_error *err);
void rs_et_writer_clear(rs_et_writer *writer);

/* Attributes of the next message, in order. Texts must be UTF-8. */
void rs_et_add_int(rs_et_writer *writer, const char *name, int64_t value);
void rs_et_add_uint(rs_et_writer *writer, const char *name, uint64_t value);
void rs_et_add_int32(rs_et_writer *writer, const char *name, int32_t value);
void rs_et_add_real(rs_et_writer *writer, const char *name, double value);
void rs_et_add_bool(rs_et_writer *writer, const char *name, bool value);
void rs_et_add_text(rs_et_writer *writer, const char *name, const char *value);

/* Write the message with the attributes added so far (those of node itself are not looked at), and start
 * anew. */
rs_status rs_et_write_metadata(rs_et_writer *writer, const char *version, rs_error *err);
rs_status rs_et_write_node(rs_et_writer *writer, const Rs__Et__Node *node, rs_error *err);

#endif
