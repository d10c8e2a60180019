/* A column of 64-bit numbers of which neighbours are mostly within 2^31 of each other: then one takes 32 bits, its distance from the first
 * that was put into its block. A block of others keeps 64 bits a number. Any number is put and read at once, in any order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_NEAR_BLOCK 10 /* log2 of the numbers in a block */
#define RS_NEAR_IN_BLOCK (1u << RS_NEAR_BLOCK)

typedef struct rs_near_block {
    int64_t first;
    int64_t *wide; /* the numbers themselves; NULL: each is first + since */
    bool known;    /* whether there is a first */
} rs_near_block;

/* All-zero holds nothing. */
typedef struct rs_near {
    int32_t *since; /* by number */
    rs_near_block *blocks;
    size_t n_blocks;
} rs_near;

/* Room for n numbers. Clear it also after a failure, which is that memory ran out. */
bool rs_near_make(rs_near *column, size_t n);
void rs_near_clear(rs_near *column);
/* No number is in it any more. */
void rs_near_empty(rs_near *column);

/* False when out of memory: the number is not in it then. */
bool rs_near_put_far(rs_near *column, size_t i, int64_t value);
static inline bool rs_near_put(rs_near *c, size_t i, int64_t value)
{
    const rs_near_block *block = &c->blocks[i >> RS_NEAR_BLOCK];
    int64_t since;
    if (!block->known || block->wide || __builtin_sub_overflow(value, block->first, &since) ||
        since != (int32_t)since)
        return rs_near_put_far(c, i, value);
    c->since[i] = (int32_t)since;
    return true;
}

/* Of a number that was put there. */
static inline int64_t rs_near_at(const rs_near *c, size_t i)
{
    const rs_near_block *block = &c->blocks[i >> RS_NEAR_BLOCK];
    return block->wide ? block->wide[i & (RS_NEAR_IN_BLOCK - 1)] : block->first + c->since[i];
}
