/* JSON values as Python literals: the form in which traces carry tensors. Most of a trace goes through here,
 * so that plain text is copied while its end is looked for. */
#include <string.h>

#include "chakra/convert_linked.h"
#include "input/json.h"

/* A string that Python writes as it stands, but for the quotes: neither quotes nor backslashes nor control
 * characters, ASCII. The lowest of the marks is on such a byte for sure. */
static uint64_t special_bytes(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\', single = w ^ ones * '\'',
             rubout = w ^ ones * 127;
    uint64_t found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((single - ones) & ~single) |
                     ((rubout - ones) & ~rubout) | ((w - ones * ' ') & ~w) | w;
    return found & tops;
}

/* *p behind the opening quote. Copies eight bytes at a time, which may write that many beyond what counts.
 * false: it is no plain string; *p and *to are as they were. */
static bool put_plain(const uint8_t **p, const uint8_t *end, char **to)
{
    const uint8_t *q = *p;
    char *out = *to;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - q >= 8) {
        uint64_t w;
        memcpy(&w, q, 8);
        memcpy(out, &w, 8);
        uint64_t found = special_bytes(w);
        unsigned n = found ? (unsigned)__builtin_ctzll(found) / 8 : 8;
        q += n;
        out += n;
        if (found) break;
    }
#endif
    for (; q < end && *q != '"'; q++) {
        if (*q < ' ' || *q >= 127 || *q == '\\' || *q == '\'') return false;
        *out++ = (char)*q;
    }
    if (q >= end) return false;
    *p = q + 1;
    *to = out;
    return true;
}

/* A decoded string in the quotes that Python would choose. */
static char *put_quoted(char *to, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char quote = memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';
    *to++ = quote;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == (unsigned char)quote || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (c == '\n' || c == '\r' || c == '\t') {
            *to++ = '\\';
            *to++ = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
        } else if (c < ' ' || c == 127) {
            memcpy(to, "\\x", 2);
            to[2] = hex[c >> 4];
            to[3] = hex[c & 15];
            to += 4;
        } else {
            *to++ = (char)c;
        }
    }
    *to++ = quote;
    return to;
}

/* The opening quote is at *p. false when out of memory. */
static bool put_string(const uint8_t **p, const uint8_t *end, char **to, rs_arena *scratch)
{
    rs_json_text text;
    const uint8_t *q = *p + 1;
    char *out = *to;
    *out++ = '\'';
    if (put_plain(&q, end, &out)) {
        *out++ = '\'';
        *p = q;
        *to = out;
        return true;
    }
    if (rs_json_string(p, end, SIZE_MAX, &text) != RS_JSON_OK) { /* nothing ends it: it is no string */
        *(*to)++ = (char)*(*p)++;
        return true;
    }
    char *decoded = rs_arena_alloc(scratch, 3 * text.length + 1);
    if (!decoded) return false;
    *to = put_quoted(*to, decoded, rs_json_decode(text.bytes, text.length, decoded, NULL));
    return true;
}

/* A word, or else the one byte. */
static char *put_word(const uint8_t **p, const uint8_t *end, char *to)
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
            size_t n = strlen(words[i].python);
            *p += words[i].n;
            memcpy(to, words[i].python, n);
            return to + n;
        }
    *to = **p ? (char)**p : ' '; /* texts end at NUL in the messages */
    (*p)++;
    return to + 1;
}

/* How many bytes more than one a byte becomes: white space none, what separates is followed by a space. */
#define SPECIAL 2
static const short more_bytes[256] = {
    [' '] = -1,      ['\n'] = -1,     ['\r'] = -1,     ['\t'] = -1,      [','] = 1,
    [':'] = 1,       ['"'] = SPECIAL, ['t'] = SPECIAL, ['f'] = SPECIAL,  ['n'] = SPECIAL,
    ['N'] = SPECIAL, ['I'] = SPECIAL, ['-'] = SPECIAL, ['\0'] = SPECIAL,
};

size_t rs_slice_put_python(rs_slice s, char *out, rs_arena *scratch)
{
    if (!s.bytes) s = (rs_slice){(const uint8_t *)"[]", 2};
    const uint8_t *p = s.bytes, *end = s.bytes + s.n;
    char *to = out;
    while (p < end) {
        int more = more_bytes[*p];
        if (more != SPECIAL) {
            to[0] = (char)*p++;
            to[1] = ' ';
            to += 1 + more;
        } else if (*p == '"') {
            if (!put_string(&p, end, &to, scratch)) return SIZE_MAX;
        } else {
            to = put_word(&p, end, to);
        }
    }
    return (size_t)(to - out);
}

char *rs_slice_python(rs_slice s, rs_arena *arena)
{
    if (s.n > RS_SLICE_MOST) return NULL;
    char *out = rs_arena_alloc(arena, rs_slice_python_room(s));
    size_t n = out ? rs_slice_put_python(s, out, arena) : SIZE_MAX;
    if (n == SIZE_MAX) return NULL;
    out[n] = '\0';
    return out;
}
