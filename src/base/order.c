#include "base/order.h"

static const char *text_at(const rs_order *key, const void *at, const rs_strings *texts)
{
    const char *text;
    uint32_t id;
    if (!key->is_id) {
        memcpy(&text, at, sizeof text);
        return text;
    }
    memcpy(&id, at, sizeof id);
    return id < texts->n ? texts->items[id].text : NULL;
}

/* 1 or -1 by which of two is there, 0 when both are or neither is. */
static int compare_known(const void *a, const void *b)
{
    return (a == NULL) - (b == NULL);
}

static int compare_by(const rs_order *key, const char *a, const char *b, const rs_strings *texts)
{
    int way = key->falling ? -1 : 1;
    if (key->is_id && memcmp(a, b, sizeof(uint32_t)) == 0) return 0;
    if (key->is_id || key->kind == RS_AS_TEXT) {
        const char *x = text_at(key, a, texts), *y = text_at(key, b, texts);
        int c = x && y ? strcmp(x, y) : 0;
        return x && y ? way * ((c > 0) - (c < 0)) : compare_known(x, y);
    }
    if (key->kind == RS_AS_REAL) {
        double x = rs_real_at(a), y = rs_real_at(b);
        if (x != x || y != y) return (y != y) - (x != x);
        return way * ((x > y) - (x < y));
    }
    if (key->kind == RS_AS_SIGNED) {
        int64_t x = rs_signed_at(a, key->size), y = rs_signed_at(b, key->size);
        return way * ((x > y) - (x < y));
    }
    uint64_t x = rs_unsigned_at(a, key->size), y = rs_unsigned_at(b, key->size);
    return way * ((x > y) - (x < y));
}

int rs_order_compare(const void *a, const void *b, const rs_order *keys, size_t n_keys,
                     const rs_strings *texts)
{
    for (size_t i = 0; i < n_keys; i++) {
        const rs_order *key = &keys[i];
        int c = compare_by(key, (const char *)a + key->offset, (const char *)b + key->offset, texts);
        if (c) return c;
    }
    return 0;
}

typedef struct sorter {
    char *rows, *spare;
    size_t size;
    const rs_order *keys;
    size_t n_keys;
    const rs_strings *texts;
} sorter;

static bool is_behind(const sorter *s, const char *a, const char *b)
{
    return rs_order_compare(a, b, s->keys, s->n_keys, s->texts) > 0;
}

/* Sorts rows [from, to): each half by itself, then the two as one, unless they are in order already. */
static void sort_part(const sorter *s, size_t from, size_t to)
{
    size_t middle = from + (to - from) / 2, size = s->size;
    if (to - from < 2) return;
    sort_part(s, from, middle);
    sort_part(s, middle, to);
    char *left = s->spare, *right = s->rows + middle * size, *out = s->rows + from * size;
    char *const end = s->rows + to * size, *const left_end = left + (middle - from) * size;
    if (!is_behind(s, right - size, right)) return;
    memcpy(left, out, (middle - from) * size);
    for (; left < left_end; out += size) {
        char **next = right < end && is_behind(s, left, right) ? &right : &left;
        memcpy(out, *next, size);
        *next += size;
    }
}

bool rs_order_rows(void *rows, size_t n, size_t size, const rs_order *keys, size_t n_keys,
                   const rs_strings *texts)
{
    if (n < 2) return true;
    sorter s = {rows, rs_malloc((n / 2) * size), size, keys, n_keys, texts};
    if (!s.spare) return false;
    sort_part(&s, 0, n);
    rs_free(s.spare);
    return true;
}
