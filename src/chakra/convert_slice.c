/* Values of a linked trace, read where they stand in its text. */
#include <string.h>

#include "chakra/convert_linked.h"
#include "input/json.h"
#include "trace/kineto_core.h"

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

char *rs_slice_text(rs_slice s, rs_arena *arena)
{
    bool quoted = rs_slice_is_text(s);
    const uint8_t *from = quoted ? s.bytes + 1 : s.bytes;
    size_t n = quoted ? s.n - 2 : s.n;
    if (n > SIZE_MAX / 4) return NULL;
    char *out = rs_arena_alloc(arena, 3 * n + 1);
    if (!out) return NULL;
    size_t length = n ? rs_json_decode(from, n, out, NULL) : 0;
    for (size_t i = 0; i < length; i++)
        if (!out[i]) out[i] = ' '; /* texts end at NUL in the messages */
    out[length] = '\0';
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

static bool word_at(const uint8_t **p, const uint8_t *end, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(end - *p) < n || memcmp(*p, word, n) != 0) return false;
    *p += n;
    return true;
}

static bool put_word(literal *l, const uint8_t **p, const uint8_t *end)
{
    static const char *const words[][2] = {{"true", "True"}, {"false", "False"},  {"null", "None"},
                                           {"NaN", "nan"},   {"Infinity", "inf"}, {"-Infinity", "-inf"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word_at(p, end, words[i][0])) {
            put(l, words[i][1]);
            return true;
        }
    return false;
}

char *rs_slice_python(rs_slice s, rs_arena *arena)
{
    /* A byte comes out as at most four ("\x01"), invalid UTF-8 as three, decoded first. */
    if (s.n > SIZE_MAX / 16) return NULL;
    literal l = {.text = rs_arena_alloc(arena, 4 * s.n + 16)};
    char *decoded = rs_arena_alloc(arena, 3 * s.n + 1);
    if (!l.text || !decoded) return NULL;
    const uint8_t *p = s.bytes, *end = s.bytes + s.n;
    if (!s.bytes) put(&l, "[]");
    while (p && p < end) {
        rs_json_text text;
        if (*p == '"' && rs_json_string(&p, end, s.n, &text) == RS_JSON_OK)
            put_quoted(&l, decoded, rs_json_decode(text.bytes, text.length, decoded, NULL));
        else if (rs_json_is_space(*p))
            p++;
        else if (*p == ',' || *p == ':') {
            l.text[l.n++] = (char)*p++;
            l.text[l.n++] = ' ';
        } else if (!put_word(&l, &p, end))
            l.text[l.n++] = (char)*p++;
    }
    l.text[l.n] = '\0';
    for (size_t i = 0; i < l.n; i++)
        if (!l.text[i]) l.text[i] = ' ';
    return l.text;
}

/* ---- arrays and objects ----------------------------------------------------------------------------- */

rs_slice_walk rs_slice_elements(rs_slice array)
{
    if (array.n < 2 || array.bytes[0] != '[') return (rs_slice_walk){NULL, NULL};
    return (rs_slice_walk){array.bytes + 1, array.bytes + array.n - 1};
}

bool rs_slice_next(rs_slice_walk *w, rs_slice *element)
{
    while (w->p < w->end && (rs_json_is_space(*w->p) || *w->p == ',')) w->p++;
    if (w->p >= w->end) return false;
    const uint8_t *from = w->p;
    /* The closing bracket is in sight of the skipper, so that a number at the end is whole. */
    if (rs_json_skip(&w->p, w->end + 1, &limits) != RS_JSON_OK || w->p > w->end) {
        w->p = w->end;
        return false;
    }
    *element = (rs_slice){from, (size_t)(w->p - from)};
    return true;
}

rs_slice rs_slice_member(rs_slice object, const char *name)
{
    rs_slice none = {NULL, 0};
    if (object.n < 2 || object.bytes[0] != '{') return none;
    rs_json_reader r;
    rs_json_reader_init(&r, object.bytes, object.n);
    if (rs_json_next(&r) != RS_JSON_T_OBJECT) return none;
    while (rs_json_next(&r) == RS_JSON_T_KEY) {
        bool found = rs_json_is(&r, name);
        const uint8_t *from = r.p;
        if (!rs_json_skip_value(&r)) return none;
        while (from < r.p && (rs_json_is_space(*from) || *from == ':')) from++;
        if (found) return (rs_slice){from, (size_t)(r.p - from)};
    }
    return none;
}

rs_slice rs_slice_attribute(rs_slice attrs, const char *name)
{
    rs_slice_walk walk = rs_slice_elements(attrs);
    rs_slice element;
    size_t n = strlen(name);
    while (rs_slice_next(&walk, &element)) {
        rs_slice key = rs_slice_member(element, "name");
        if (rs_slice_is_text(key) && key.n == n + 2 && memcmp(key.bytes + 1, name, n) == 0)
            return rs_slice_member(element, "value");
    }
    return (rs_slice){NULL, 0};
}
