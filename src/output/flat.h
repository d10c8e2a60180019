/* Writes FlatBuffers: the encoding of Arrow's messages. Only what those need: tables, texts, vectors of tables
 * and vectors of structs.
 *
 * A buffer is built from its end to its start, so what is pointed to is written before what points to it: first
 * texts and inner tables, each of which gives its place, then the table that holds these places. A place is a
 * distance from the end and never 0. Running out of memory is remembered: everything afterwards does nothing, and
 * rs_flat_finish says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_FLAT_MAX_FIELDS 8

typedef uint32_t rs_flat_place; /* 0: nothing; as a member of a table: left out */

typedef struct rs_flat {
    uint8_t *bytes; /* owned; the built part is the last `used` of `capacity` bytes */
    size_t capacity, used;
    bool failed;
    rs_flat_place fields[RS_FLAT_MAX_FIELDS]; /* of the table being built */
    size_t n_fields, table_end;
} rs_flat;

/* Starts anew; the memory is kept. A zeroed rs_flat is an empty one. */
void rs_flat_reset(rs_flat *flat);
void rs_flat_clear(rs_flat *flat);

rs_flat_place rs_flat_text(rs_flat *flat, const char *text);
rs_flat_place rs_flat_tables(rs_flat *flat, const rs_flat_place *tables, size_t n);
/* n structs of `words` members of 8 bytes each. */
rs_flat_place rs_flat_structs(rs_flat *flat, const int64_t *members, size_t n, size_t words);

/* A table: its members by number, each at most once, then its end. Members of value 0 may be left out. */
void rs_flat_begin(rs_flat *flat);
void rs_flat_byte(rs_flat *flat, unsigned member, uint8_t value);
void rs_flat_short(rs_flat *flat, unsigned member, int16_t value);
void rs_flat_int(rs_flat *flat, unsigned member, int32_t value);
void rs_flat_long(rs_flat *flat, unsigned member, int64_t value);
void rs_flat_at(rs_flat *flat, unsigned member, rs_flat_place value);
rs_flat_place rs_flat_end(rs_flat *flat);

/* The whole buffer, a multiple of 8 bytes long and borrowed until the next call; NULL when out of memory. */
const uint8_t *rs_flat_finish(rs_flat *flat, rs_flat_place root, size_t *n);
