/* Whole numbers in as few bytes as their neighbours allow: what an array of the store is written as.
 *
 * Blocks of 256 numbers, the last one shorter. A block is a byte (how wide each number is, and whether
 * some mean "none", a number far from all others), the least of its numbers, and then each number's distance from that. Every block says by
 * itself how long it is, so an array is read from its beginning through a small window. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_NARROW_BLOCK 256
/* No block is longer. */
#define RS_NARROW_MOST (1 + 8 + 8 * RS_NARROW_BLOCK)

/* Writes n numbers, at most a block of them, of 1, 2, 4 or 8 bytes each; returns how many bytes that took. */
size_t rs_narrow_put(const void *numbers, size_t n, unsigned size, uint8_t *out);
/* Reads such a block of n numbers from the given bytes; returns how many it took, 0: it is none. */
size_t rs_narrow_take(const uint8_t *bytes, size_t given, size_t n, unsigned size, void *numbers);
/* The same without this machine's wider vectors: other machines have none, and tests hold the two against each other. */
size_t rs_narrow_put_plain(const void *numbers, size_t n, unsigned size, uint8_t *out);
size_t rs_narrow_take_plain(const uint8_t *bytes, size_t given, size_t n, unsigned size, void *numbers);
/* n numbers never take less than that: what claims to hold more of them in fewer bytes is none of ours. */
size_t rs_narrow_least(uint64_t n, unsigned size);
