/* Bytes that travel: numbers and texts written the same on every machine, and read back with every length
 * checked. Whole numbers take a byte for each seven bits, doubles their eight bytes, least significant first.
 */
#pragma once

#include "base/memory.h"
#include "rankscope/status.h"

/* An all-zero writer is an empty one. The writer remembers when memory ran out; the caller asks once, at the
 * end. */
typedef struct rs_wire_writer {
    uint8_t *bytes;
    size_t n, capacity;
    bool out_of_memory;
} rs_wire_writer;

void rs_wire_clear(rs_wire_writer *w);
void rs_wire_put(rs_wire_writer *w, const void *bytes, size_t n);
void rs_wire_put_unsigned(rs_wire_writer *w, uint64_t value);
void rs_wire_put_signed(rs_wire_writer *w, int64_t value);
void rs_wire_put_real(rs_wire_writer *w, double value);
void rs_wire_put_fixed(rs_wire_writer *w, uint64_t value); /* eight bytes */
/* A text with its length; NULL is distinguished from "". */
void rs_wire_put_text(rs_wire_writer *w, const char *text);
void rs_wire_put_text_n(rs_wire_writer *w, const char *text, size_t length);

/* After the first error `bad` stays set and every read returns 0. */
typedef struct rs_wire_reader {
    const uint8_t *p, *end;
    bool bad, out_of_memory;
    rs_arena *arena; /* what is read lives there */
} rs_wire_reader;

static inline size_t rs_wire_left(const rs_wire_reader *r)
{
    return r->bad ? 0 : (size_t)(r->end - r->p);
}
uint64_t rs_wire_unsigned(rs_wire_reader *r);
/* ... that must be below a limit. */
uint64_t rs_wire_below(rs_wire_reader *r, uint64_t limit);
int64_t rs_wire_signed(rs_wire_reader *r);
double rs_wire_real(rs_wire_reader *r);
uint64_t rs_wire_fixed(rs_wire_reader *r);
bool rs_wire_bool(rs_wire_reader *r);
/* In the arena, terminated; NULL where NULL was written or the reader is bad. */
char *rs_wire_text(rs_wire_reader *r);
char *rs_wire_text_n(rs_wire_reader *r, size_t *length);
/* A reader of the next n bytes, which this one skips. */
rs_wire_reader rs_wire_part(rs_wire_reader *r, uint64_t n);
/* n elements of size bytes in the arena, all zero; each takes at least min_packed bytes of what is left. */
void *rs_wire_room(rs_wire_reader *r, uint64_t n, size_t size, size_t min_packed);

/* A defect without the columns that show it, which matter only where events are kept. Its texts live in the arena. */
void rs_wire_put_problem(rs_wire_writer *w, const rs_problem *problem);
rs_problem rs_wire_problem(rs_wire_reader *r);
