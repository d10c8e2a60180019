/* Texts of a trace that a partial result takes along when the trace is released, each once. */
#ifndef RS_TRACE_POOL_H
#define RS_TRACE_POOL_H

#include "trace/events.h"

typedef struct rs_pool {
    rs_strings strings;    /* their ids are the pool's */
    rs_map64 plain, tuple; /* string id of the trace -> id in the pool */
} rs_pool;

bool rs_pool_init(rs_pool *pool); /* false when out of memory; rs_pool_clear is due either way */
void rs_pool_clear(rs_pool *pool);

/* The pool's id of a string of the events, as it stands or as Python text; RS_NO_STRING stays what it is.
 * *ok becomes false when out of memory and is otherwise left alone. */
uint32_t rs_pool_add(rs_pool *pool, const rs_events *e, uint32_t id, bool *ok);
uint32_t rs_pool_add_tuple(rs_pool *pool, const rs_events *e, uint32_t id, bool *ok);

/* The text, NULL for RS_NO_STRING. */
const char *rs_pool_text(const rs_pool *pool, uint32_t id);
/* By id the hash of its text: equal in all pools. The caller's, NULL when out of memory. */
uint64_t *rs_pool_hashes(const rs_pool *pool);

/* Writes the JSON array as the text of nested Python tuples: [[512], [], "a", null] is ((512,), (), 'a',
 * None). Anything that is no array stays as it is. *out is the caller's (rs_free), *n its length. false when
 * out of memory. */
bool rs_python_tuple(const char *json, size_t length, char **out, size_t *n);

#endif
