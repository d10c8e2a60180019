#include "base/packed.h"

enum { MOST_BITS = 32, SPARE = 8 };

static bool check(const void *value)
{
    const rs_packed *p = value;
    if (p->n_blocks < 1 || p->blocks[0].at != 0) return false;
    for (size_t i = 1; i < p->n_blocks; i++)
        if (p->blocks[i].at < p->blocks[i - 1].at || p->blocks[i].at - p->blocks[i - 1].at > MOST_BITS)
            return false;
    return p->n_bytes == ((size_t)p->blocks[p->n_blocks - 1].at << 3) + SPARE;
}

static const rs_field block_fields[] = {RS_FIELDS(rs_packed_block, least, at)};
static const rs_layout block_layout = RS_LAYOUT(rs_packed_block, block_fields);

static const rs_field fields[] = {RS_FIELD_LIST(rs_packed, blocks, n_blocks, &block_layout),
                                  RS_FIELD_TEXT_N(rs_packed, bytes, n_bytes)};
const rs_layout rs_packed_layout = RS_LAYOUT_CHECKED(rs_packed, fields, check);

void rs_packed_clear(rs_packed *p)
{
    rs_free_all(p->blocks, p->bytes, p->spread);
    *p = (rs_packed){0};
}

/* How many numbers a word holds, wherever in its first byte the first of them begins. */
static uint32_t n_in_word(uint32_t bits)
{
    return bits <= 7 ? 8 : bits <= 14 ? 4 : bits <= 28 ? 2 : 1;
}

#define INLINE static inline __attribute__((always_inline)) /* `in_word` is a constant then */

INLINE void unpack(const char *bytes, uint32_t least, uint32_t bits, uint32_t in_word, uint32_t *out)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (uint32_t i = 0, bit = 0; i < RS_PACKED_IN_BLOCK; i += in_word, bit += in_word * bits) {
        uint64_t word = rs_little_read(bytes + (bit >> 3)) >> (bit & 7);
#pragma GCC unroll 8
        for (uint32_t k = 0; k < in_word; k++, word >>= bits) out[i + k] = least + (uint32_t)(word & mask);
    }
}

/* The other way. A word's bytes that are not yet full begin the next one. */
INLINE void pack(const uint32_t *numbers, uint32_t least, uint32_t bits, uint32_t in_word, char *bytes)
{
    uint64_t begun = 0;
    for (uint32_t i = 0, bit = 0; i < RS_PACKED_IN_BLOCK; i += in_word, bit += in_word * bits) {
        uint64_t word = 0;
#pragma GCC unroll 8
        for (uint32_t k = in_word; k-- > 0;) word = word << bits | (numbers[i + k] - least);
        word = word << (bit & 7) | begun;
        rs_little_write(bytes + (bit >> 3), word);
        begun = word >> (((bit + in_word * bits) >> 3) - (bit >> 3)) * 8;
    }
}

/* All numbers of a block, also those that the last one has beyond the end: they mean nothing. */
static void packed_unpack(const rs_packed *p, size_t block, uint32_t *out)
{
    const uint32_t at = p->blocks[block].at, least = p->blocks[block].least,
                   bits = p->blocks[block + 1].at - at;
    const char *bytes = p->bytes + ((size_t)at << 3);
    switch (bits ? n_in_word(bits) : 0) {
    case 0:
        for (size_t i = 0; i < RS_PACKED_IN_BLOCK; i++) out[i] = least;
        break;
    case 8: unpack(bytes, least, bits, 8, out); break;
    case 4: unpack(bytes, least, bits, 4, out); break;
    case 2: unpack(bytes, least, bits, 2, out); break;
    default: unpack(bytes, least, bits, 1, out);
    }
}

uint32_t rs_packed_unpack_two(const rs_packed *p, size_t i, uint32_t *next)
{
    const uint32_t place = (uint32_t)(i & (RS_PACKED_IN_BLOCK - 1));
    if (place == RS_PACKED_IN_BLOCK - 1) {
        *next = rs_packed_at(p, i + 1);
        return rs_packed_at(p, i);
    }
    const rs_packed_block *block = &p->blocks[i >> RS_PACKED_BLOCK];
    const uint32_t bits = block[1].at - block[0].at;
    *next = rs_packed_bits(p, block, (place + 1) * bits, bits);
    return rs_packed_bits(p, block, place * bits, bits);
}

void rs_packed_turn(rs_packed_reader *r, size_t block)
{
    r->block = block + 1;
    r->numbers = r->of->spread ? r->of->spread + (block << RS_PACKED_BLOCK) : r->own;
    if (r->numbers == r->own) packed_unpack(r->of, block, r->own);
}

bool rs_packed_spread(const rs_packed *p, size_t n, rs_packed *out)
{
    uint32_t *spread = rs_malloc((n + RS_PACKED_IN_BLOCK) * sizeof *spread);
    for (size_t i = 0; spread && i < n; i += RS_PACKED_IN_BLOCK)
        packed_unpack(p, i >> RS_PACKED_BLOCK, spread + i);
    *out = *p;
    out->spread = spread;
    return spread != NULL;
}

static uint32_t bits_of(uint32_t most)
{
    return most ? 32 - (uint32_t)__builtin_clz(most) : 0;
}

/* Writes up to 8 bytes beyond what it takes. */
static void put_block(const uint32_t *numbers, uint32_t least, uint32_t bits, char *bytes)
{
    switch (bits ? n_in_word(bits) : 0) {
    case 0: break;
    case 8: pack(numbers, least, bits, 8, bytes); break;
    case 4: pack(numbers, least, bits, 4, bytes); break;
    case 2: pack(numbers, least, bits, 2, bytes); break;
    default: pack(numbers, least, bits, 1, bytes);
    }
}

void rs_bit_packer_flush(rs_bit_packer *p)
{
    rs_packed *to = p->to;
    uint32_t least = UINT32_MAX, most = 0;
    if (!p->n_waiting || p->failed) {
        p->n_waiting = 0;
        return;
    }
    for (size_t i = p->n_waiting; i < RS_PACKED_IN_BLOCK; i++) p->waiting[i] = p->waiting[0];
    for (size_t i = 0; i < RS_PACKED_IN_BLOCK; i++) {
        least = p->waiting[i] < least ? p->waiting[i] : least;
        most = p->waiting[i] > most ? p->waiting[i] : most;
    }
    const uint32_t bits = bits_of(most - least), at = to->n_blocks ? to->blocks[to->n_blocks - 1].at : 0;
    p->failed = at > UINT32_MAX - bits ||
                !rs_grow((void **)&to->blocks, &p->blocks_capacity, to->n_blocks + 2, sizeof *to->blocks) ||
                !rs_grow((void **)&to->bytes, &p->bytes_capacity, (((size_t)at + bits) << 3) + SPARE, 1);
    if (!p->failed) {
        put_block(p->waiting, least, bits, to->bytes + ((size_t)at << 3));
        if (!to->n_blocks) to->n_blocks = 1;
        to->blocks[to->n_blocks - 1] = (rs_packed_block){least, at};
        to->blocks[to->n_blocks++] = (rs_packed_block){0, at + bits};
    }
    p->n_waiting = 0;
}

bool rs_bit_packer_end(rs_bit_packer *p)
{
    rs_packed *to = p->to;
    rs_bit_packer_flush(p);
    if (!to->n_blocks && !p->failed) {
        p->failed = !rs_grow((void **)&to->blocks, &p->blocks_capacity, 1, sizeof *to->blocks) ||
                    !rs_grow((void **)&to->bytes, &p->bytes_capacity, SPARE, 1);
        if (!p->failed) to->blocks[to->n_blocks++] = (rs_packed_block){0};
    }
    if (p->failed) return false;
    to->n_bytes = ((size_t)to->blocks[to->n_blocks - 1].at << 3) + SPARE;
    memset(to->bytes + to->n_bytes - SPARE, 0, SPARE);
    rs_packed_block *blocks = rs_realloc(to->blocks, to->n_blocks * sizeof *blocks);
    if (blocks) to->blocks = blocks;
    char *bytes = rs_realloc(to->bytes, to->n_bytes);
    if (bytes) to->bytes = bytes;
    return true;
}
