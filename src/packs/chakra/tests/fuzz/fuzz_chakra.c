/* The reader of Chakra execution traces: any bytes are read to an end; what it holds is bounded by what was
 * there; offsets lie inside the input; a cut inside a message is noticed. */
#include "chakra/proto.h"
#include "fuzz.h"

/* Reads to the end or the first error; how many nodes came. */
static rs_status read_all(const uint8_t *data, size_t n, size_t *nodes, uint64_t *last)
{
    rs_error err = RS_ERROR_INIT;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    *nodes = 0;
    *last = 0;
    rs_status status = rs_et_open_bytes(data, n, "input", &reader, &err);
    if (status != RS_OK) return status;
    while ((status = rs_et_next(reader, &node, &err)) == RS_OK && node) {
        int64_t value;
        rs_et_attribute_int(node, "is_cpu_op", &value);
        PROMISE(node->name != NULL);
        *last = rs_et_offset(reader);
        ++*nodes;
    }
    rs_et_close(reader);
    return status;
}

int fuzz_one(const uint8_t *data, size_t n)
{
    size_t nodes, fewer;
    uint64_t last, other;
    bool packed = n >= 4 && ((data[0] == 0x1f && data[1] == 0x8b) || (data[0] == 0x28 && data[1] == 0xb5));
    rs_status status = read_all(data, n, &nodes, &last);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT || status == RS_ERR_IO);
    if (packed) return 0;
    PROMISE(nodes <= n && last <= n);
    if (status == RS_OK && nodes && n > last + 1) {
        status = read_all(data, n - 1, &fewer, &other);
        PROMISE(status == RS_ERR_FORMAT && fewer == nodes - 1);
    }
    return 0;
}
