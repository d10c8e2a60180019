#include "base/strings.h"

#include <string.h>

/* Reads eight bytes as a number, the first byte the lowest. On little-endian machines compilers make one load
 * of it. */
static uint64_t read64(const unsigned char *p)
{
    uint64_t v = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&v, p, 8);
#else
    for (unsigned i = 0; i < 8; i++) v |= (uint64_t)p[i] << 8 * i;
#endif
    return v;
}

static uint64_t read_tail(const unsigned char *p, size_t n)
{
    if (n >= 8) return read64(p);
    unsigned char padded[8] = {0};
    memcpy(padded, p, n);
    return read64(padded);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t rs_hash_u64(uint64_t x)
{
    return fold(x ^ UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93));
}

/* Multiply-and-fold over 16 bytes a step, as several modern string hashes do. */
uint64_t rs_hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = UINT64_C(0x2d358dccaa6c78a5) ^ n;
    size_t left = n;
    while (left > 16) {
        h = fold(read64(p) ^ h, read64(p + 8) ^ UINT64_C(0x8bb84b93962eacc9));
        p += 16;
        left -= 16;
    }
    uint64_t a, b;
    if (left > 8) {
        a = read64(p);
        b = read64(p + left - 8);
    } else {
        a = read_tail(p, left);
        b = 0;
    }
    return fold(a ^ h, b ^ UINT64_C(0x4b33a62ed433d4a3));
}

/* Four chains side by side: one multiplication waits for the one before it. */
uint64_t rs_hash_block(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    const uint64_t odd = UINT64_C(0x8bb84b93962eacc9);
    uint64_t a = n, b = ~a, c = odd, d = ~c;
    size_t left = n;
    for (; left >= 64; left -= 64, p += 64) {
        a = fold(read64(p) ^ a, read64(p + 8) ^ odd);
        b = fold(read64(p + 16) ^ b, read64(p + 24) ^ odd);
        c = fold(read64(p + 32) ^ c, read64(p + 40) ^ odd);
        d = fold(read64(p + 48) ^ d, read64(p + 56) ^ odd);
    }
    return fold(fold(a ^ odd, b ^ n), fold(c ^ odd, d)) ^ rs_hash_bytes(p, left);
}

bool rs_strings_init(rs_strings *strings)
{
    *strings = (rs_strings){0};
    if (rs_strings_add(strings, "", 0) == 0) return true;
    rs_strings_clear(strings);
    return false;
}

void rs_strings_clear(rs_strings *strings)
{
    rs_free_all(strings->items, strings->slots);
    rs_arena_clear(&strings->arena);
    *strings = (rs_strings){0};
}

static bool grow_slots(rs_strings *strings)
{
    size_t n_slots = strings->n_slots ? strings->n_slots * 2 : 256;
    uint32_t *slots = rs_calloc(n_slots, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < strings->n; i++) {
        size_t at = strings->items[i].hash & (n_slots - 1);
        while (slots[at]) at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    rs_free(strings->slots);
    strings->slots = slots;
    strings->n_slots = n_slots;
    return true;
}

uint32_t rs_strings_add_hashed(rs_strings *strings, const char *text, size_t length, uint64_t hash)
{
    uint32_t h = (uint32_t)(hash >> 32);
    if (strings->n_slots) {
        size_t mask = strings->n_slots - 1;
        for (size_t at = h & mask; strings->slots[at]; at = (at + 1) & mask) {
            const rs_string *s = &strings->items[strings->slots[at] - 1];
            if (s->hash == h && s->length == length && memcmp(s->text, text, length) == 0)
                return strings->slots[at] - 1;
        }
    }
    if (length > UINT32_MAX - 1 || strings->n >= UINT32_MAX - 1) return RS_NO_STRING;
    if ((strings->n + 1) * 4 > strings->n_slots * 3 && !grow_slots(strings)) return RS_NO_STRING;
    if (!RS_GROW_ONE(strings->items, strings->n, strings->capacity)) return RS_NO_STRING;
    char *copy = rs_arena_strndup(&strings->arena, text, length);
    if (!copy) return RS_NO_STRING;
    size_t at = h & (strings->n_slots - 1);
    while (strings->slots[at]) at = (at + 1) & (strings->n_slots - 1);
    strings->items[strings->n] = (rs_string){.text = copy, .length = (uint32_t)length, .hash = h};
    strings->slots[at] = (uint32_t)strings->n + 1;
    return (uint32_t)strings->n++;
}

uint32_t rs_strings_add(rs_strings *strings, const char *text, size_t length)
{
    if (!length) text = ""; /* what is empty may come without a place */
    return rs_strings_add_hashed(strings, text, length, rs_hash_bytes(text, length));
}

uint32_t rs_strings_find(const rs_strings *strings, const char *text, size_t length)
{
    if (!strings->n_slots) return RS_NO_STRING;
    uint32_t h = (uint32_t)(rs_hash_bytes(text, length) >> 32);
    size_t mask = strings->n_slots - 1;
    for (size_t at = h & mask; strings->slots[at]; at = (at + 1) & mask) {
        const rs_string *s = &strings->items[strings->slots[at] - 1];
        if (s->hash == h && s->length == length && memcmp(s->text, text, length) == 0)
            return strings->slots[at] - 1;
    }
    return RS_NO_STRING;
}

static rs_map64_slot *map_place(const rs_map64 *map, uint64_t key)
{
    size_t mask = map->n_slots - 1, at = (size_t)rs_hash_u64(key) & mask;
    while (map->slots[at].used && map->slots[at].key != key) at = (at + 1) & mask;
    return &map->slots[at];
}

static bool map_grow(rs_map64 *map)
{
    rs_map64 old = *map, fresh = {.n = old.n, .n_slots = old.n_slots ? old.n_slots * 2 : 64};
    fresh.slots = rs_calloc(fresh.n_slots, sizeof *fresh.slots);
    if (!fresh.slots) return false;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].used) *map_place(&fresh, old.slots[i].key) = old.slots[i];
    rs_map64_clear(&old);
    *map = fresh;
    return true;
}

uint32_t *rs_map64_put(rs_map64 *map, uint64_t key, bool *is_new)
{
    if ((map->n + 1) * 3 > map->n_slots * 2 && !map_grow(map)) return NULL;
    rs_map64_slot *slot = map_place(map, key);
    if (is_new) *is_new = !slot->used;
    if (!slot->used) {
        *slot = (rs_map64_slot){.key = key, .used = 1};
        map->n++;
    }
    return &slot->value;
}

const uint32_t *rs_map64_get(const rs_map64 *map, uint64_t key)
{
    if (!map->n_slots) return NULL;
    const rs_map64_slot *slot = map_place(map, key);
    return slot->used ? &slot->value : NULL;
}

void rs_map64_clear(rs_map64 *map)
{
    rs_free(map->slots);
    *map = (rs_map64){0};
}
