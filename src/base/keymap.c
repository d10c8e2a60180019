#include "base/keymap.h"

#include <string.h>

bool rs_keymap_init(rs_keymap *map, int64_t min, int64_t max, size_t n)
{
    *map = (rs_keymap){.min = min, .max = max};
    if (min > max) return true;
    uint64_t range = (uint64_t)max - (uint64_t)min;
    if (range / 8 > n || range >= SIZE_MAX / sizeof *map->table) return true;
    size_t bytes = ((size_t)range + 1) * sizeof *map->table;
    map->table = rs_malloc(bytes);
    if (!map->table) return false;
    memset(map->table, 0xff, bytes);
    return true;
}

void rs_keymap_clear(rs_keymap *map)
{
    rs_free(map->table);
    rs_map64_clear(&map->map);
    *map = (rs_keymap){.min = 0, .max = -1};
}

bool rs_keymap_put(rs_keymap *map, int64_t key, uint32_t value)
{
    if (map->table) {
        map->table[(uint64_t)key - (uint64_t)map->min] = value;
        return true;
    }
    bool is_new;
    uint32_t *slot = rs_map64_put(&map->map, (uint64_t)key, &is_new);
    if (!slot) return false;
    *slot = value;
    return true;
}
