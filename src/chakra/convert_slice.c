/* Values of a linked trace, read where they stand in some text. */
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

char *rs_slice_text(rs_slice s, rs_arena *arena)
{
    bool quoted = rs_slice_is_text(s);
    const uint8_t *from = quoted ? s.bytes + 1 : s.bytes;
    size_t n = quoted ? s.n - 2 : s.n;
    if (n > SIZE_MAX / 4) return NULL;
    char *out = rs_arena_alloc(arena, 3 * n + 1);
    if (!out) return NULL;
    size_t length = n ? rs_json_decode(from, n, out, NULL) : 0;
    out[length] = '\0';
    blank_zeros(out, length);
    return out;
}

/* ---- Python literals -------------------------------------------------------------------------------- */

typedef struct literal {
    char *text;
    size_t n;
} literal;

static void put(literal *l, const char *text)
{
    size_t n = strlen(text);
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

/* A string that Python writes as it stands, but for the quotes, is copied while its end is looked for. Such
 * strings are most of what traces hold. false: it is another; nothing is changed. */
static bool put_plain(literal *l, const uint8_t **p, const uint8_t *end)
{
    char *to = l->text + l->n;
    const uint8_t *q = *p + 1;
    *to++ = '\'';
    for (; q < end && *q != '"'; q++) {
        if (*q < ' ' || *q >= 127 || *q == '\\' || *q == '\'') return false;
        *to++ = (char)*q;
    }
    if (q >= end) return false;
    *to++ = '\'';
    l->n = (size_t)(to - l->text);
    *p = q + 1;
    return true;
}

/* A decoded string in the quotes that Python would choose. */
static void put_quoted(literal *l, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char quote = memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';
    l->text[l->n++] = quote;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == (unsigned char)quote || c == '\\') {
            l->text[l->n++] = '\\';
            l->text[l->n++] = (char)c;
        } else if (c == '\n' || c == '\r' || c == '\t') {
            l->text[l->n++] = '\\';
            l->text[l->n++] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
        } else if (c < ' ' || c == 127) {
            put(l, "\\x");
            l->text[l->n++] = hex[c >> 4];
            l->text[l->n++] = hex[c & 15];
        } else {
            l->text[l->n++] = (char)c;
        }
    }
    l->text[l->n++] = quote;
}

static bool put_word(literal *l, const uint8_t **p, const uint8_t *end)
{
    static const struct {
        const char *json;
        size_t n;
        const char *python;
    } words[] = {{"true", 4, "True"}, {"false", 5, "False"},  {"null", 4, "None"},
                 {"NaN", 3, "nan"},   {"Infinity", 8, "inf"}, {"-Infinity", 9, "-inf"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (**p == (uint8_t)words[i].json[0] && (size_t)(end - *p) >= words[i].n &&
            memcmp(*p, words[i].json, words[i].n) == 0) {
            *p += words[i].n;
            put(l, words[i].python);
            return true;
        }
    return false;
}

char *rs_slice_python(rs_slice s, rs_arena *arena)
{
    /* A byte comes out as at most four ("\x01"), invalid UTF-8 as three, decoded first. */
    if (!s.bytes) s = (rs_slice){(const uint8_t *)"[]", 2};
    if (s.n > SIZE_MAX / 16) return NULL;
    literal l = {.text = rs_arena_alloc(arena, 4 * s.n + 16)};
    char *decoded = rs_arena_alloc(arena, 3 * s.n + 1);
    if (!l.text || !decoded) return NULL;
    const uint8_t *p = s.bytes, *end = s.bytes + s.n;
    while (p < end) {
        rs_json_text text;
        if (*p == '"' && put_plain(&l, &p, end)) continue;
        if (*p == '"' && rs_json_string(&p, end, s.n, &text) == RS_JSON_OK)
            put_quoted(&l, decoded, rs_json_decode(text.bytes, text.length, decoded, NULL));
        else if (rs_json_is_space(*p))
            p++;
        else if (*p == ',' || *p == ':') {
            l.text[l.n++] = (char)*p++;
            l.text[l.n++] = ' ';
        } else if ((*p >= '0' && *p <= '9') || !put_word(&l, &p, end))
            l.text[l.n++] = (char)*p++;
    }
    l.text[l.n] = '\0';
    blank_zeros(l.text, l.n);
    return l.text;
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

/* The members of the object that *at stands in (behind its bracket); whether its end was reached, which *at
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
