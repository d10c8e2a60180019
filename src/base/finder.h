/* Finds things of an array by a 64-bit key that can be read off them: a hash table of four-byte places, a
 * third of what a map with its own keys takes. Things whose keys follow each other, as correlation ids do, are
 * neighbours in the table too.
 *
 *   for (size_t at = rs_finder_first(&f, key); (place = f.slots[at]) != RS_FINDER_NONE; at = rs_finder_next(&f, at))
 *       if (keys[place] == key) break;
 *
 * ends on the thing or on the free slot where it belongs. */
#pragma once

#include "base/strings.h"

#define RS_FINDER_NONE UINT32_MAX
#define RS_FINDER_GROUP 64 /* keys that differ only below this many are neighbours */

typedef struct rs_finder {
    uint32_t *slots;
    size_t mask;
} rs_finder;

/* For at most n things; false when out of memory. Release with rs_finder_clear, also after a failure. */
bool rs_finder_init(rs_finder *finder, size_t n);
void rs_finder_clear(rs_finder *finder);

/* Where the search for a key begins. */
static inline size_t rs_finder_first(const rs_finder *finder, uint64_t key)
{
    uint64_t group = rs_hash_u64(key / RS_FINDER_GROUP) * RS_FINDER_GROUP;
    return (size_t)(group + key % RS_FINDER_GROUP) & finder->mask;
}
/* The next place: in another group, as one of which a slot is taken is mostly full. The step is odd and comes to every slot. */
static inline size_t rs_finder_next(const rs_finder *finder, size_t at)
{
    return (at + RS_FINDER_GROUP + 1) & finder->mask;
}

/* Asks for the place of a key that is going to be looked for: in a table that is larger than the processor's cache each
 * search waits for memory, and so many of them wait together. */
#define RS_FINDER_AHEAD 16 /* keys */
static inline void rs_finder_fetch(const rs_finder *finder, uint64_t key)
{
    __builtin_prefetch(&finder->slots[rs_finder_first(finder, key)]);
}
