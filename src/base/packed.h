/* A column of numbers below 2^32 that takes as many bits a number as each 64 of them need, counted from the least of
 * those. Any of them is read at once. It is made from the first to the last, and does not change after that. */
#pragma once

#include "base/layout.h"
#include "base/little.h"

#define RS_PACKED_BLOCK 6 /* log2 of the numbers in a block */
#define RS_PACKED_IN_BLOCK (1u << RS_PACKED_BLOCK)

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
    return p->n_blocks == ((n + RS_PACKED_IN_BLOCK - 1) >> RS_PACKED_BLOCK) + 1;
}

/* The number at a bit of a block whose numbers have `bits` bits. */
static inline uint32_t rs_packed_bits(const rs_packed *p, const rs_packed_block *block, uint32_t bit,
                                      uint32_t bits)
{
    const uint64_t word = rs_little_read(p->bytes + ((size_t)block->at << 3) + (bit >> 3));
    return block->least + (uint32_t)(word >> (bit & 7) & (((uint64_t)1 << bits) - 1));
}

static inline uint32_t rs_packed_at(const rs_packed *p, size_t i)
{
    if (p->spread) return p->spread[i];
    const rs_packed_block *block = &p->blocks[i >> RS_PACKED_BLOCK];
    const uint32_t bits = block[1].at - block[0].at;
    return rs_packed_bits(p, block, (uint32_t)(i & (RS_PACKED_IN_BLOCK - 1)) * bits, bits);
}

/* The same, and the number after it. */
uint32_t rs_packed_unpack_two(const rs_packed *packed, size_t i, uint32_t *next);
static inline uint32_t rs_packed_two(const rs_packed *p, size_t i, uint32_t *next)
{
    if (!p->spread) return rs_packed_unpack_two(p, i, next);
    *next = p->spread[i + 1];
    return p->spread[i];
}

/* Reads numbers that mostly follow each other: a block is unpacked once. All-zero but for `of`, to begin with; it stays where it is. */
typedef struct rs_packed_reader {
    const rs_packed *of;
    size_t block;            /* the one in numbers, + 1; 0: none yet */
    const uint32_t *numbers; /* own, or spread ones */
    uint32_t own[RS_PACKED_IN_BLOCK];
} rs_packed_reader;

void rs_packed_turn(rs_packed_reader *reader, size_t block);
static inline uint32_t rs_packed_read(rs_packed_reader *r, size_t i)
{
    if (r->block != (i >> RS_PACKED_BLOCK) + 1) rs_packed_turn(r, i >> RS_PACKED_BLOCK);
    return r->numbers[i & (RS_PACKED_IN_BLOCK - 1)];
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
    uint32_t waiting[RS_PACKED_IN_BLOCK];
} rs_bit_packer;

void rs_bit_packer_flush(rs_bit_packer *packer);
static inline void rs_bit_packer_add(rs_bit_packer *p, uint32_t value)
{
    p->waiting[p->n_waiting++] = value;
    if (p->n_waiting == RS_PACKED_IN_BLOCK) rs_bit_packer_flush(p);
}
/* After the last number. False where it failed. */
bool rs_bit_packer_end(rs_bit_packer *packer);
