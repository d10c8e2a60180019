/* A safe reader of pickled data: it builds values and does nothing else.
 *
 * It knows a closed list of opcodes, those that make plain data: numbers, texts, lists, tuples, sets and
 * dicts, in protocols 0 to 5. Every opcode that would import, call or build an object (GLOBAL, REDUCE, BUILD,
 * persistent ids, extensions, buffers) is refused by name and offset. Lengths are checked against the bytes
 * left, memo ids against what was stored, and nodes, nesting and memory against limits. */
#ifndef RS_INPUT_PICKLE_H
#define RS_INPUT_PICKLE_H

#include "input/values.h"

typedef struct rs_pickle_info {
    uint32_t root;   /* the value; after a cut or a bad opcode what of it was read, or RS_NO_NODE */
    size_t consumed; /* bytes up to and including STOP; on failure the offset of the opcode at fault */
    bool truncated;  /* the bytes end before STOP */
} rs_pickle_info;

/* Reads one pickle from memory. Texts are borrowed from bytes, which must outlive values. values is emptied
 * first and keeps its memory from call to call. On RS_ERR_FORMAT and RS_ERR_LIMIT info->root still gives what
 * was read before the fault, so that a file that was cut short is of use; err names the byte offset and the
 * opcode. */
rs_status rs_pickle_read(rs_values *values, const void *bytes, size_t n, const char *file,
                         const rs_value_limits *limits, rs_pickle_info *info, rs_error *err);

/* Whether bytes look like a pickle: a protocol header, or an opcode that plain data may start with. */
bool rs_pickle_looks(const void *bytes, size_t n);

#endif
