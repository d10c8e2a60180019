/* Interned strings: equal texts get equal ids, ids count up from 0 in order of first appearance; id 0 is "".
 */
#pragma once

#include "base/memory.h"

#define RS_NO_STRING UINT32_MAX

typedef struct rs_string {
    const char *text; /* terminated; may contain NUL bytes before that */
    uint32_t length;
    uint32_t hash;
} rs_string;

typedef struct rs_strings {
    rs_string *items;
    size_t n, capacity;
    uint32_t *slots; /* open addressing, id + 1, 0 = free */
    size_t n_slots;  /* a power of two */
    rs_arena arena;
} rs_strings;

/* false when out of memory; it then holds nothing. */
bool rs_strings_init(rs_strings *strings);
void rs_strings_clear(rs_strings *strings);

/* The id of text, added if new (copied); RS_NO_STRING when out of memory. */
uint32_t rs_strings_add(rs_strings *strings, const char *text, size_t length);
/* As above with the hash of text known: rs_hash_bytes(text, length). */
uint32_t rs_strings_add_hashed(rs_strings *strings, const char *text, size_t length, uint64_t hash);
/* The id of text, or RS_NO_STRING. */
uint32_t rs_strings_find(const rs_strings *strings, const char *text, size_t length);

/* The same on every machine and in every version: packed partial results carry it as their checksum, and in
 * the fingerprints of options and layouts. tests/unit/test_partial.c holds its values. */
uint64_t rs_hash_bytes(const void *bytes, size_t n);
/* Another one, for long blocks: as fast as memory gives them. */
uint64_t rs_hash_block(const void *bytes, size_t n);
uint64_t rs_hash_u64(uint64_t x);

/* ---- a map from 64-bit keys to 32-bit values ------------------------------------------------------- */

/* All of a slot is in one cache line: large maps wait for memory, and once a look-up is enough. */
typedef struct rs_map64_slot {
    uint64_t key;
    uint32_t value, used;
} rs_map64_slot;

typedef struct rs_map64 {
    rs_map64_slot *slots;
    size_t n, n_slots;
} rs_map64;

/* An all-zero rs_map64 is a valid empty one. The value's address (valid until the next insertion), or NULL
 * when out of memory; *is_new says whether the key was added (with value 0). */
uint32_t *rs_map64_put(rs_map64 *map, uint64_t key, bool *is_new);
/* NULL when the key is absent. */
const uint32_t *rs_map64_get(const rs_map64 *map, uint64_t key);
void rs_map64_clear(rs_map64 *map);
