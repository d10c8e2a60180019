#include "base/keymap.h"

#include <string.h>

#include "base/memory.h"

#define PAGE_CELLS ((size_t)1 << RS_KEYMAP_PAGE)

/* A directory of pages for a range that is too wide for a table. */
static bool init_pages(rs_keymap *map, uint64_t range, size_t n)
{
    uint64_t pages = (range >> RS_KEYMAP_PAGE) + 1;
    if (pages / 8 > n || pages >= SIZE_MAX / sizeof *map->directory) return true;
    map->n_directory = (size_t)pages;
    map->max_pages = n / 32 + 64;
    map->directory = rs_malloc(map->n_directory * sizeof *map->directory);
    if (!map->directory) return false;
    memset(map->directory, 0xff, map->n_directory * sizeof *map->directory);
    return true;
}

bool rs_keymap_init(rs_keymap *map, int64_t min, int64_t max, size_t n)
{
    *map = (rs_keymap){.min = min, .max = max};
    if (min > max) return true;
    uint64_t range = (uint64_t)max - (uint64_t)min;
    if (range / 8 > n || range >= SIZE_MAX / sizeof *map->table) return init_pages(map, range, n);
    size_t bytes = ((size_t)range + 1) * sizeof *map->table;
    map->table = rs_malloc(bytes);
    if (!map->table) return false;
    memset(map->table, 0xff, bytes);
    return true;
}

static void drop_pages(rs_keymap *map)
{
    rs_free_all(map->directory, map->cells);
    map->directory = map->cells = NULL;
    map->n_directory = map->n_pages = map->cells_capacity = 0;
}

void rs_keymap_clear(rs_keymap *map)
{
    rs_free(map->table);
    drop_pages(map);
    rs_map64_clear(&map->map);
    *map = (rs_keymap){.min = 0, .max = -1};
}

static bool put_hashed(rs_keymap *map, int64_t key, uint32_t value)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&map->map, (uint64_t)key, &is_new);
    if (!slot) return false;
    *slot = value;
    return true;
}

/* Changes over to the hash map: keys that lie so far apart would leave the pages nearly empty. */
static bool leave_pages(rs_keymap *map)
{
    for (size_t d = 0; d < map->n_directory; d++) {
        if (map->directory[d] == RS_KEYMAP_NONE) continue;
        const uint32_t *page = map->cells + ((size_t)map->directory[d] << RS_KEYMAP_PAGE);
        for (size_t i = 0; i < PAGE_CELLS; i++) {
            uint64_t key = (uint64_t)map->min + ((uint64_t)d << RS_KEYMAP_PAGE) + i;
            if (page[i] != RS_KEYMAP_NONE && !put_hashed(map, (int64_t)key, page[i])) return false;
        }
    }
    drop_pages(map);
    return true;
}

static bool add_page(rs_keymap *map, uint32_t *entry)
{
    size_t at = map->n_pages << RS_KEYMAP_PAGE;
    if (!rs_grow((void **)&map->cells, &map->cells_capacity, at + PAGE_CELLS, sizeof *map->cells))
        return false;
    memset(map->cells + at, 0xff, PAGE_CELLS * sizeof *map->cells);
    *entry = (uint32_t)map->n_pages++;
    return true;
}

bool rs_keymap_put(rs_keymap *map, int64_t key, uint32_t value)
{
    uint64_t place = (uint64_t)key - (uint64_t)map->min;
    if (map->table) {
        map->table[place] = value;
        return true;
    }
    if (map->directory && map->directory[place >> RS_KEYMAP_PAGE] == RS_KEYMAP_NONE) {
        bool ok = map->n_pages < map->max_pages ? add_page(map, &map->directory[place >> RS_KEYMAP_PAGE])
                                                : leave_pages(map);
        if (!ok) return false;
    }
    if (!map->directory) return put_hashed(map, key, value);
    uint32_t page = map->directory[place >> RS_KEYMAP_PAGE];
    map->cells[(size_t)page << RS_KEYMAP_PAGE | (place & (PAGE_CELLS - 1))] = value;
    return true;
}
