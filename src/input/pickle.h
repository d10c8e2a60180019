/* A safe reader of pickled data: it builds values and does nothing else.
 *
 * It knows a closed list of opcodes, those that make plain data: numbers, texts, lists, tuples, sets and
 * dicts, in protocols 0 to 5. Every opcode that would import, call or build an object (GLOBAL, REDUCE, BUILD,
 * persistent ids, extensions, buffers) is refused by name and offset. Lengths are checked against the bytes
 * left, memo ids against what was stored, and nodes, nesting and memory against limits. */
#pragma once

#include "base/strings.h"
#include "input/source.h"
#include "input/values.h"

typedef struct rs_pickle_info {
    uint32_t root;   /* the value; after a cut or a bad opcode what of it was read, or RS_NO_NODE */
    size_t consumed; /* bytes up to and including STOP; on failure the offset of the opcode at fault */
    bool truncated;  /* the bytes end before STOP */
    bool refused;    /* an opcode would have run code, or is one that settings->binary refuses */
} rs_pickle_info;

#define RS_PICKLE_BATCH 1000 /* items */

/* How a pickle is read that may be too large to be held as values. */
typedef struct rs_pickle_settings {
    const rs_value_limits *limits; /* NULL: the defaults */
    bool binary; /* the opcodes of protocol 0, whose values are lines of text, are refused, too */
    /* Texts become RS_VALUE_NAMEs, ids in here; one text is one node, however often it comes. */
    rs_strings *names;
    /* Called when a new map or list has got its items, which are on the stack from height `from` up; of a map,
     * keys and values alternate. RS_STEP_TAKEN: it was made a RS_VALUE_RECORD, and the items are no longer needed: what was made for them
     * alone is dropped. RS_STEP_OK: they become its children. A list may get more, which is an error once it was taken:
     * Python writes lists in pieces of RS_PICKLE_BATCH. */
    rs_values_step (*take)(void *context, rs_values *values, uint32_t container, size_t from);
    void *context;
    bool threaded;                   /* another thread reads and inflates ahead */
    bool (*progress)(void *context); /* about every megabyte; false cancels. NULL: none */
    void *progress_context;
} rs_pickle_settings;

/* Reads one pickle from memory. Texts are borrowed from bytes, which must outlive values. values is emptied
 * first and keeps its memory from call to call. On RS_ERR_FORMAT and RS_ERR_LIMIT info->root still gives what
 * was read before the fault, so that a file that was cut short is of use; err names the byte offset and the
 * opcode. */
rs_status rs_pickle_read(rs_values *values, const void *bytes, size_t n, const char *file,
                         const rs_value_limits *limits, rs_pickle_info *info, rs_error *err);

/* As rs_pickle_read, from a source, through a window of about a megabyte: memory is that of the values that are left.
 * After a fault the open containers are still on the stack (rs_values_close_all), and info->root is RS_NO_NODE. */
rs_status rs_pickle_read_source(rs_values *values, rs_source *source, const rs_pickle_settings *settings,
                                rs_pickle_info *info, rs_error *err);
