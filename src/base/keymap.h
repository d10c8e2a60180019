/* A map from 64-bit numbers to 32-bit values for keys that mostly lie close together, as correlation ids do:
 * a plain table where the range of the keys allows, else pages of one where they form clusters, else a hash
 * map. */
#pragma once

#include "base/strings.h"

#define RS_KEYMAP_NONE UINT32_MAX

#define RS_KEYMAP_PAGE 9 /* bits */

typedef struct rs_keymap {
    int64_t min, max;
    uint32_t *table;     /* of max - min + 1 values, or NULL */
    uint32_t *directory; /* by the upper bits of key - min: a page or RS_KEYMAP_NONE; or NULL */
    uint32_t *cells;     /* the pages' values */
    size_t n_directory, n_pages, max_pages, cells_capacity;
    rs_map64 map; /* where there is neither table nor directory */
} rs_keymap;

/* For keys in [min, max], about n of them. An empty range (min > max) is fine. false when out of memory. */
bool rs_keymap_init(rs_keymap *map, int64_t min, int64_t max, size_t n);
void rs_keymap_clear(rs_keymap *map);
/* Stores a value (not RS_KEYMAP_NONE); the key must be in the range. false when out of memory. */
bool rs_keymap_put(rs_keymap *map, int64_t key, uint32_t value);
/* The value, or RS_KEYMAP_NONE; any key may be asked for. */
static inline uint32_t rs_keymap_get(const rs_keymap *map, int64_t key)
{
    if (key < map->min || key > map->max) return RS_KEYMAP_NONE;
    uint64_t place = (uint64_t)key - (uint64_t)map->min;
    if (map->table) return map->table[place];
    if (map->directory) {
        uint32_t page = map->directory[place >> RS_KEYMAP_PAGE];
        if (page == RS_KEYMAP_NONE) return RS_KEYMAP_NONE;
        return map->cells[(size_t)page << RS_KEYMAP_PAGE | (place & ((1u << RS_KEYMAP_PAGE) - 1))];
    }
    const uint32_t *value = rs_map64_get(&map->map, (uint64_t)key);
    return value ? *value : RS_KEYMAP_NONE;
}
