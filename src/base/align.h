/* Aligns two sequences in order, as siblings of two trees are compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_NO_MATCH UINT32_MAX

typedef struct rs_align_item {
    uint32_t name;   /* only items of equal names may match */
    uint32_t detail; /* those of equal details had better */
} rs_align_item;

/* Of all alignments that keep order: most matches, then most matches with equal details. Of several best ones
 * that which a walk from the front finds: match the two first items if a best alignment does, else drop a's
 * first one if that loses nothing, else b's. match[i] becomes the place in b of a's i-th item, or RS_NO_MATCH.
 *
 * Sequences that differ in d items take O((n + m) d) time: only a band around the diagonal is looked at, which
 * grows until no better path can leave it (Ukkonen 1985). Memory is O(n + m) and a fixed block (Hirschberg
 * 1975). Where that would take more than about 1e8 steps, which is ten thousand items or more that differ
 * widely, the sequences are aligned piece by piece and *pieces is set: order and names are kept, but other
 * alignments may be better. false when out of memory. */
bool rs_align(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match,
              bool *pieces);

typedef struct rs_align_limits {
    size_t cells; /* of the block */
    size_t steps; /* beyond which sequences are aligned piece by piece */
    size_t piece; /* items of one piece */
} rs_align_limits;

/* The same under limits: for tests. */
bool rs_align_within(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match,
                     const rs_align_limits *limits, bool *pieces);
