#include "trace/pool.h"

#include <string.h>

#include "input/json.h"
#include "text/numbers.h"

bool rs_pool_init(rs_pool *pool)
{
    *pool = (rs_pool){0};
    return rs_strings_init(&pool->strings);
}

void rs_pool_clear(rs_pool *pool)
{
    rs_strings_clear(&pool->strings);
    rs_map64_clear(&pool->plain);
    rs_map64_clear(&pool->tuple);
}

static uint32_t add(rs_pool *pool, rs_map64 *map, const rs_events *e, uint32_t id, bool tuple, bool *ok)
{
    if (id == RS_NO_STRING || !*ok) return RS_NO_STRING;
    bool is_new;
    uint32_t *slot = rs_map64_put(map, id, &is_new);
    if (!slot) {
        *ok = false;
        return RS_NO_STRING;
    }
    if (!is_new) return *slot;
    const rs_string *s = &e->strings.items[id];
    char *text = NULL;
    size_t n = s->length;
    if (tuple && !rs_python_tuple(s->text, s->length, &text, &n)) *ok = false;
    *slot = *ok ? rs_strings_add(&pool->strings, text ? text : s->text, n) : RS_NO_STRING;
    rs_free(text);
    if (*slot == RS_NO_STRING) *ok = false;
    return *slot;
}

uint32_t rs_pool_add(rs_pool *pool, const rs_events *e, uint32_t id, bool *ok)
{
    return add(pool, &pool->plain, e, id, false, ok);
}

uint32_t rs_pool_add_tuple(rs_pool *pool, const rs_events *e, uint32_t id, bool *ok)
{
    return add(pool, &pool->tuple, e, id, true, ok);
}

const char *rs_pool_text(const rs_pool *pool, uint32_t id)
{
    return id == RS_NO_STRING ? NULL : pool->strings.items[id].text;
}

/* ---- Python text --------------------------------------------------------------------------------------- */

typedef struct buffer {
    char *text;
    size_t n, capacity;
    bool failed;
} buffer;

static void put(buffer *b, const char *bytes, size_t n)
{
    if (b->failed || !rs_grow((void **)&b->text, &b->capacity, b->n + n + 1, 1)) {
        b->failed = true;
        return;
    }
    memcpy(b->text + b->n, bytes, n);
    b->n += n;
}

/* As repr() does: in single quotes, unless it holds some and no double ones. */
static void put_string(buffer *b, const rs_json_text *t)
{
    static const char hex[] = "0123456789abcdef";
    char *text = rs_malloc(3 * t->length + 1);
    if (!text) {
        b->failed = true;
        return;
    }
    size_t n = rs_json_decode(t->bytes, t->length, text, NULL);
    char quote = memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';
    put(b, &quote, 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
        if (c == '\\' || c == (unsigned char)quote)
            escape[1] = (char)c, put(b, escape, 2);
        else if (c == '\n' || c == '\r' || c == '\t')
            escape[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't', put(b, escape, 2);
        else if (c < ' ' || c == 127)
            put(b, escape, 4);
        else
            put(b, text + i, 1);
    }
    put(b, &quote, 1);
    rs_free(text);
}

/* A number with neither point nor exponent is an int and stays as it is; a float is written as repr() does.
 */
static void put_number(buffer *b, const rs_json_text *t)
{
    double value;
    bool whole = true;
    for (size_t i = 0; i < t->length; i++) whole = whole && t->bytes[i] != '.' && (t->bytes[i] | 32) != 'e';
    char out[RS_NUMBER_SIZE + 8];
    if (whole || !rs_json_real(t->bytes, t->length, &value)) {
        put(b, (const char *)t->bytes, t->length);
        return;
    }
    size_t n = rs_format_real(value, out);
    char *e = memchr(out, 'e', n);
    if (!e && !memchr(out, '.', n)) {
        memcpy(out + n, ".0", 2);
        n += 2;
    }
    put(b, out, n);
}

static void separate(buffer *b, uint32_t *count)
{
    if ((*count)++) put(b, ", ", 2);
}

static bool convert(const char *json, size_t length, buffer *b)
{
    uint32_t counts[RS_JSON_DEFAULT_DEPTH + 1] = {0};
    rs_json_reader r;
    rs_json_reader_init(&r, json, length);
    size_t depth = 0;
    for (;;) {
        rs_json_token token = rs_json_next(&r);
        if (token == RS_JSON_T_ARRAY_END) {
            put(b, counts[depth] == 1 ? ",)" : ")", counts[depth] == 1 ? 2 : 1);
            depth--;
            if (depth == 0) return true;
            continue;
        }
        if (depth) separate(b, &counts[depth]);
        switch (token) {
        case RS_JSON_T_ARRAY:
            put(b, "(", 1);
            counts[++depth] = 0;
            break;
        case RS_JSON_T_STRING: put_string(b, &r.text); break;
        case RS_JSON_T_NUMBER: put_number(b, &r.text); break;
        case RS_JSON_T_TRUE: put(b, "True", 4); break;
        case RS_JSON_T_FALSE: put(b, "False", 5); break;
        case RS_JSON_T_NULL: put(b, "None", 4); break;
        default: return false; /* objects, and what is no JSON */
        }
        if (depth == 0) return false; /* no array */
    }
}

bool rs_python_tuple(const char *json, size_t length, char **out, size_t *n)
{
    buffer b = {0};
    bool converted = convert(json, length, &b);
    if (!converted && !b.failed) {
        b.n = 0;
        put(&b, json, length);
    }
    if (b.failed || !rs_grow((void **)&b.text, &b.capacity, b.n + 1, 1)) {
        rs_free(b.text);
        return false;
    }
    b.text[b.n] = '\0';
    *out = b.text;
    *n = b.n;
    return true;
}

uint64_t *rs_pool_hashes(const rs_pool *pool)
{
    uint64_t *out = rs_malloc((pool->strings.n + 1) * sizeof *out);
    for (size_t i = 0; out && i < pool->strings.n; i++)
        out[i] = rs_hash_bytes(pool->strings.items[i].text, pool->strings.items[i].length);
    return out;
}
