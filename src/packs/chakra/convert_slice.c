/* Values of a linked trace, read where they are in some text. */
#include <string.h>

#include "chakra/convert_linked.h"
#include "input/json.h"
#include "format/kineto_core.h"

static const rs_json_limits limits = {RS_JSON_DEFAULT_DEPTH, RS_JSON_DEFAULT_STRING};

bool rs_slice_is_text(rs_slice s)
{
    return s.n >= 2 && s.bytes[0] == '"';
}

bool rs_slice_int(rs_slice s, int64_t *out)
{
    return s.bytes && rs_json_int(s.bytes, s.n, out);
}

bool rs_slice_time(rs_slice s, int64_t *ns)
{
    rs_exact_time exact;
    bool ok;
    if (!s.bytes || !rs_exact_time_parse(s.bytes, s.n, &exact)) return false;
    rs_exact_time_round(&exact, NULL, ns, NULL, &ok);
    return ok;
}

/* Texts end at NUL in the messages. */
static void blank_zeros(char *text, size_t n)
{
    for (char *zero = text; (zero = memchr(zero, '\0', n - (size_t)(zero - text)));) *zero++ = ' ';
}

/* Whether the bytes are the text that they represent: ASCII, no escapes, no NUL. */
static bool is_plain(const uint8_t *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t found = 0, w, slash;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&w, p, 8);
        slash = w ^ ones * '\\';
        found |= ((slash - ones) & ~slash) | ((w - ones) & ~w) | w;
    }
    for (; n; p++, n--) found |= *p == '\\' || !*p || *p > 127 ? tops : 0;
    return !(found & tops);
}

const char *rs_slice_text_of(rs_slice s, size_t *n, rs_arena *arena)
{
    bool quoted = rs_slice_is_text(s);
    *n = quoted ? s.n - 2 : s.n;
    if (s.bytes && is_plain(s.bytes + quoted, *n)) return (const char *)s.bytes + quoted;
    const char *text = rs_slice_text(s, arena);
    if (text) *n = strlen(text);
    return text;
}

char *rs_slice_text(rs_slice s, rs_arena *arena)
{
    bool quoted = rs_slice_is_text(s);
    const uint8_t *from = quoted ? s.bytes + 1 : s.bytes;
    size_t n = quoted ? s.n - 2 : s.n;
    if (n > SIZE_MAX / 4) return NULL;
    if (n && is_plain(from, n)) return rs_arena_strndup(arena, (const char *)from, n);
    char *out = rs_arena_alloc(arena, 3 * n + 1);
    if (!out) return NULL;
    size_t length = n ? rs_json_decode(from, n, out, NULL) : 0;
    out[length] = '\0';
    blank_zeros(out, length);
    return out;
}

/* ---- arrays and objects ----------------------------------------------------------------------------- */

rs_slice_walk rs_slice_elements(rs_slice array)
{
    if (array.n < 2 || array.bytes[0] != '[') return (rs_slice_walk){NULL, NULL};
    return (rs_slice_walk){array.bytes + 1, array.bytes + array.n - 1};
}

void rs_slice_to_next(rs_slice_walk *w)
{
    while (w->p < w->end && (rs_json_is_space(*w->p) || *w->p == ',')) w->p++;
}

/* The grammar was checked when the text was first walked through; only brackets and strings matter now. */
const uint8_t *rs_slice_pass(const uint8_t *p, const uint8_t *end)
{
    rs_json_text text;
    if (p < end && *p == '"')
        return rs_json_string(&p, end, limits.max_string, &text) == RS_JSON_OK ? p : NULL;
    if (p >= end || (*p != '[' && *p != '{')) return rs_json_skip(&p, end, &limits) == RS_JSON_OK ? p : NULL;
    for (size_t depth = 0; p < end;) {
        uint8_t c = *p;
        if (c == '"') {
            if (rs_json_string(&p, end, limits.max_string, &text) != RS_JSON_OK) return NULL;
            continue;
        }
        p++;
        if (c == '[' || c == '{') depth++;
        if ((c == ']' || c == '}') && --depth == 0) return p;
    }
    return NULL;
}

bool rs_slice_next(rs_slice_walk *w, rs_slice *element)
{
    rs_slice_to_next(w);
    if (w->p >= w->end) return false;
    const uint8_t *from = w->p;
    /* The closing bracket is in sight of the skipper, so that a number at the end is whole. */
    w->p = rs_slice_pass(from, w->end + 1);
    if (!w->p || w->p > w->end) {
        w->p = w->end;
        return false;
    }
    *element = (rs_slice){from, (size_t)(w->p - from)};
    return true;
}

/* The members of the object that *at is in (behind its bracket); whether its end was reached, which *at
 * then is behind. */
static bool take_members(const uint8_t **at, const uint8_t *end, const char *const *names,
                         const size_t *lengths, rs_slice *values, size_t n)
{
    const uint8_t *p = *at;
    for (;;) {
        rs_json_text key;
        p = rs_json_space(p, end);
        if (p < end && *p == ',') p = rs_json_space(p + 1, end);
        if (p < end && *p == '}') {
            *at = p + 1;
            return true;
        }
        if (p >= end || *p != '"' || rs_json_string(&p, end, limits.max_string, &key) != RS_JSON_OK)
            return false;
        p = rs_json_space(p, end);
        if (p >= end || *p != ':') return false;
        const uint8_t *from = p = rs_json_space(p + 1, end);
        if (!(p = rs_slice_pass(from, end))) return false;
        for (size_t i = 0; i < n; i++)
            if (!values[i].bytes && key.length == lengths[i] && memcmp(key.bytes, names[i], lengths[i]) == 0)
                values[i] = (rs_slice){from, (size_t)(p - from)};
    }
}

bool rs_slice_next_attribute(rs_slice_walk *w, rs_slice *name, rs_slice *value)
{
    static const char *const names[] = {"name", "value"};
    static const size_t lengths[] = {4, 5};
    rs_slice ignored;
    rs_slice_to_next(w);
    rs_slice found[2] = {{NULL, 0}, {NULL, 0}};
    if (w->p < w->end && *w->p == '{') {
        w->p++;
        if (!take_members(&w->p, w->end, names, lengths, found, 2)) w->p = w->end;
    } else if (!rs_slice_next(w, &ignored)) {
        return false;
    }
    *name = found[0];
    *value = found[1];
    return true;
}

void rs_slice_members(rs_slice object, const char *const *names, rs_slice *values, size_t n)
{
    size_t lengths[RS_SLICE_MEMBERS];
    for (size_t i = 0; i < n; i++) {
        values[i] = (rs_slice){NULL, 0};
        lengths[i] = strlen(names[i]);
    }
    if (object.n < 2 || object.bytes[0] != '{') return;
    const uint8_t *p = object.bytes + 1;
    take_members(&p, object.bytes + object.n, names, lengths, values, n);
}

rs_slice rs_slice_member(rs_slice object, const char *name)
{
    rs_slice value;
    rs_slice_members(object, &name, &value, 1);
    return value;
}

rs_slice rs_slice_attribute(rs_slice attrs, const char *name)
{
    rs_slice_walk walk = rs_slice_elements(attrs);
    rs_slice key, value;
    size_t n = strlen(name);
    while (rs_slice_next_attribute(&walk, &key, &value))
        if (rs_slice_is_text(key) && key.n == n + 2 && memcmp(key.bytes + 1, name, n) == 0) return value;
    return (rs_slice){NULL, 0};
}
