#include "base/order.h"

#include "base/search.h"

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

static int compare_texts(const rs_order *key, const char *a, const char *b, const rs_strings *texts)
{
    if (key->is_id && memcmp(a, b, sizeof(uint32_t)) == 0) return 0;
    const char *x = text_at(key, a, texts), *y = text_at(key, b, texts);
    if (!x || !y) return (x == NULL) - (y == NULL);
    int c = strcmp(x, y);
    return key->falling ? (c < 0) - (c > 0) : (c > 0) - (c < 0);
}

/* A number as one that orders as the key does. */
static inline uint64_t in_order(const rs_order *key, const char *at)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t value = rs_unsigned_at(at, key->size);
    if (key->kind == RS_AS_SIGNED) {
        value = (uint64_t)rs_signed_at(at, key->size) ^ sign;
    } else if (key->kind == RS_AS_REAL) {
        double real = rs_real_at(at);
        if (real != real) return UINT64_MAX;
        if (real == 0) value = 0; /* both zeros are equal */
        value = value & sign ? ~value : value | sign;
    }
    return key->falling ? ~value : value;
}

int rs_order_compare(const void *a, const void *b, const rs_order *keys, size_t n_keys,
                     const rs_strings *texts)
{
    for (const rs_order *key = keys; key < keys + n_keys; key++) {
        const char *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;
        if (key->is_id || key->kind == RS_AS_TEXT) {
            int c = compare_texts(key, x, y, texts);
            if (c) return c;
            continue;
        }
        uint64_t p = in_order(key, x), q = in_order(key, y);
        if (p != q) return p < q ? -1 : 1;
    }
    return 0;
}

typedef struct sorter {
    char *rows, *spare; /* spare: room for half of them, or NULL */
    size_t size;
    const rs_order *keys;
    size_t n_keys;
    const rs_strings *texts;
} sorter;

static bool is_after(const sorter *s, const char *a, const char *b)
{
    return rs_order_compare(a, b, s->keys, s->n_keys, s->texts) > 0;
}

static void merge(const sorter *s, size_t from, size_t middle, size_t to)
{
    size_t size = s->size;
    char *left = s->spare, *right = s->rows + middle * size, *out = s->rows + from * size;
    char *const end = s->rows + to * size, *const left_end = left + (middle - from) * size;
    memcpy(left, out, (middle - from) * size);
    for (; left < left_end; out += size) {
        char **next = right < end && is_after(s, left, right) ? &right : &left;
        memcpy(out, *next, size);
        *next += size;
    }
}

static void reverse(const sorter *s, size_t from, size_t to)
{
    for (; from + 1 < to; from++) {
        char *a = s->rows + from * s->size, *b = s->rows + --to * s->size;
        for (size_t i = 0; i < s->size; i++) {
            char byte = a[i];
            a[i] = b[i];
            b[i] = byte;
        }
    }
}

/* Where memory is missing: the upper part of the left half changes places with the lower part of the right one, so that
 * every part is in order with the next, and each side is merged by itself (SymMerge of Kim and Kutzner, 2004, simplified). */
static void merge_in_place(const sorter *s, size_t from, size_t middle, size_t to)
{
    size_t left = from + (middle - from) / 2, right = middle + (to - middle) / 2, n;
    const char *const rows = s->rows;
    if (from == middle || middle == to ||
        !is_after(s, rows + (middle - 1) * s->size, rows + middle * s->size))
        return;
    if (middle - from >= to - middle) {
        RS_SEARCH(n, to - middle, is_after(s, rows + left * s->size, rows + (middle + n) * s->size));
        right = middle + n;
    } else {
        RS_SEARCH(n, middle - from, !is_after(s, rows + (from + n) * s->size, rows + right * s->size));
        left = from + n;
    }
    reverse(s, left, middle);
    reverse(s, middle, right);
    reverse(s, left, right);
    size_t border = left + (right - middle);
    merge_in_place(s, from, left, border);
    merge_in_place(s, border, right, to);
}

/* Sorts rows [from, to): each half by itself, then the two as one, unless they are in order already. */
static void sort_part(const sorter *s, size_t from, size_t to)
{
    size_t middle = from + (to - from) / 2;
    if (to - from < 2) return;
    sort_part(s, from, middle);
    sort_part(s, middle, to);
    if (!is_after(s, s->rows + (middle - 1) * s->size, s->rows + middle * s->size)) return;
    (s->spare ? merge : merge_in_place)(s, from, middle, to);
}

void rs_sort(void *rows, size_t n, size_t size, const rs_order *keys, size_t n_keys, const rs_strings *texts)
{
    if (n < 2) return;
    sorter s = {rows, rs_malloc((n / 2) * size), size, keys, n_keys, texts};
    sort_part(&s, 0, n);
    rs_free(s.spare);
}
