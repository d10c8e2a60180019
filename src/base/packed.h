/* A column of numbers below 2^32 that takes as many bits a number as each 64 of them need, counted from the least of
 * those. Any of them is read at once. It is made from the first to the last, and does not change after that. */
#pragma once

#include <string.h>

#include "base/layout.h"

#define RS_PACKED_BLOCK 6 /* log2 of the numbers in a block */

typedef struct rs_packed_block {
    uint32_t least;
    uint32_t at; /* where it begins in bytes, in eights: the next block's is larger by the bits of a number */
} rs_packed_block;

/* All-zero holds nothing, and nothing may be read from it. */
typedef struct rs_packed {
    rs_packed_block *blocks; /* and one that says where the last ends */
    size_t n_blocks;         /* with that one */
    char *bytes; /* numbers of a block bit by bit, the lowest first; eight bytes more than they take */
    size_t n_bytes;
    uint32_t *spread; /* the numbers themselves, where they are read often; else NULL */
} rs_packed;

extern const rs_layout rs_packed_layout;

/* Whether n numbers are in it. What was unpacked is asked this before anything is read from it. */
static inline bool rs_packed_holds(const rs_packed *p, size_t n)
{
    return p->n_blocks == ((n + (1u << RS_PACKED_BLOCK) - 1) >> RS_PACKED_BLOCK) + 1;
}

static inline uint32_t rs_packed_at(const rs_packed *p, size_t i)
{
    if (p->spread) return p->spread[i];
    const rs_packed_block *block = &p->blocks[i >> RS_PACKED_BLOCK];
    const uint32_t bits = block[1].at - block[0].at;
    const uint32_t bit = (uint32_t)(i & ((1u << RS_PACKED_BLOCK) - 1)) * bits;
    const unsigned char *at = (const unsigned char *)p->bytes + ((size_t)block->at << 3) + (bit >> 3);
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return block->least + (uint32_t)(word >> (bit & 7) & (((uint64_t)1 << bits) - 1));
}

static inline size_t rs_packed_size(const rs_packed *p)
{
    return p->n_blocks * sizeof *p->blocks + p->n_bytes;
}
void rs_packed_clear(rs_packed *packed);
/* The same n numbers, spread out; the rest is borrowed, and only out->spread has to be freed. */
bool rs_packed_spread(const rs_packed *packed, size_t n, rs_packed *out);

/* What makes one. All-zero but for `to`, which is empty. */
typedef struct rs_bit_packer {
    rs_packed *to;
    size_t blocks_capacity, bytes_capacity;
    bool failed; /* memory ran out, or there are too many numbers */
    size_t n_waiting;
    uint32_t waiting[1u << RS_PACKED_BLOCK];
} rs_bit_packer;

void rs_bit_packer_flush(rs_bit_packer *packer);
static inline void rs_bit_packer_add(rs_bit_packer *p, uint32_t value)
{
    p->waiting[p->n_waiting++] = value;
    if (p->n_waiting >> RS_PACKED_BLOCK) rs_bit_packer_flush(p);
}
/* After the last number. False where it failed. */
bool rs_bit_packer_end(rs_bit_packer *packer);
