#include "input/json.h"

#include <string.h>

/* Bytes that end the plain run of a string: quote, backslash, controls. High bytes are only noted. */
static uint64_t special_bytes(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    uint64_t is_quote = (quote - ones) & ~quote, is_slash = (slash - ones) & ~slash;
    uint64_t is_control = (w - ones * 0x20) & ~w;
    return (is_quote | is_slash | is_control) & tops;
}

rs_json_status rs_json_string(const uint8_t **p, const uint8_t *end, size_t max_string, rs_json_text *out)
{
    const uint8_t *begin = *p + 1, *q = begin;
    bool escaped = false, control = false;
    uint64_t high = 0;
    for (;;) {
        while (end - q >= 8) {
            uint64_t w;
            memcpy(&w, q, 8);
            uint64_t special = special_bytes(w);
            if (special) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                /* the lowest of the marks is a special byte for sure */
                unsigned before = (unsigned)__builtin_ctzll(special) / 8;
                high |= w & ((UINT64_C(1) << 8 * before) - 1);
                q += before;
#endif
                break;
            }
            high |= w;
            q += 8;
        }
        if ((size_t)(q - begin) > max_string) {
            *p = q;
            return RS_JSON_LONG;
        }
        /* byte by byte up to the special one (the word test may report a byte after it too) */
        while (q < end && *q >= 0x20 && *q != '"' && *q != '\\') high |= (uint64_t)(*q++) << 56;
        if (q >= end) return RS_JSON_END;
        if (*q == '"') break;
        if (*q == '\\') {
            escaped = true;
            if (end - q < 2) return RS_JSON_END;
            high |= (uint64_t)q[1] << 56;
            q += 2;
        } else {
            control = true;
            q++;
        }
    }
    *out = (rs_json_text){.bytes = begin,
                          .length = (size_t)(q - begin),
                          .escaped = escaped,
                          .control = control,
                          .high = (high & UINT64_C(0x8080808080808080)) != 0};
    *p = q + 1;
    return (size_t)(q - begin) > max_string ? RS_JSON_LONG : RS_JSON_OK;
}

static bool is_number_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/* Matches a word; END when the text ends inside it. */
static rs_json_status match_word(const uint8_t **p, const uint8_t *end, const char *word)
{
    const uint8_t *q = *p;
    for (; *word; word++, q++) {
        if (q >= end) return RS_JSON_END;
        if (*q != (uint8_t)*word) {
            *p = q;
            return RS_JSON_BAD;
        }
    }
    *p = q;
    return RS_JSON_OK;
}

static rs_json_status match_at(const uint8_t **p, const uint8_t *q, const uint8_t *end, const char *word)
{
    rs_json_status s = match_word(&q, end, word);
    if (s != RS_JSON_END) *p = q;
    return s;
}

/* Past a run of digits; long fractions are passed eight at a time. */
static const uint8_t *skip_digits(const uint8_t *q, const uint8_t *end)
{
    const uint64_t threes = UINT64_C(0x3030303030303030), tops = UINT64_C(0xf0f0f0f0f0f0f0f0);
    while (end - q >= 8) {
        uint64_t w;
        memcpy(&w, q, 8);
        if ((w & tops) != threes || ((w + UINT64_C(0x0606060606060606)) & tops) != threes) break;
        q += 8;
    }
    while (q < end && *q >= '0' && *q <= '9') q++;
    return q;
}

rs_json_status rs_json_skip_number(const uint8_t **p, const uint8_t *end)
{
    const uint8_t *q = *p;
    if (q < end && *q == '-') q++;
    if (q >= end) return RS_JSON_END;
    /* in the spellings that writers use */
    if (*q == 'N' || *q == 'n') return match_at(p, q, end, *q == 'N' ? "NaN" : "nan");
    if (*q == 'I' || *q == 'i') return match_at(p, q, end, *q == 'I' ? "Infinity" : "inf");
    if (*q < '0' || *q > '9') {
        *p = q;
        return RS_JSON_BAD;
    }
    q = skip_digits(q, end);
    if (q < end && *q == '.') {
        q++;
        if (q < end && (*q < '0' || *q > '9')) {
            *p = q;
            return RS_JSON_BAD;
        }
        q = skip_digits(q, end);
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        q++;
        if (q < end && (*q == '+' || *q == '-')) q++;
        if (q < end && (*q < '0' || *q > '9')) {
            *p = q;
            return RS_JSON_BAD;
        }
        q = skip_digits(q, end);
    }
    if (q >= end) return RS_JSON_END;
    if (is_number_byte(*q)) {
        *p = q;
        return RS_JSON_BAD;
    }
    *p = q;
    return RS_JSON_OK;
}

static rs_json_status skip_scalar(const uint8_t **p, const uint8_t *end, const rs_json_limits *limits)
{
    rs_json_text text;
    switch (**p) {
    case '"': return rs_json_string(p, end, limits->max_string, &text);
    case 't': return match_word(p, end, "true");
    case 'f': return match_word(p, end, "false");
    case 'n':
        if (end - *p > 1 && (*p)[1] == 'a') return rs_json_skip_number(p, end);
        return match_word(p, end, "null");
    default: return rs_json_skip_number(p, end);
    }
}

/* The grammar is kept in `want`: what may come next at this point. */
rs_json_status rs_json_skip(const uint8_t **p, const uint8_t *end, const rs_json_limits *limits)
{
    uint64_t in_object[RS_JSON_MAX_DEPTH / 64];
    unsigned depth = 0;
    enum { VALUE, VALUE_OR_CLOSE, KEY, KEY_OR_CLOSE, COMMA_OR_CLOSE } want = VALUE;
    const uint8_t *q = *p;
    if (q < end && *q != '[' && *q != '{' && !rs_json_is_space(*q)) return skip_scalar(p, end, limits);
    for (;;) {
        q = rs_json_space(q, end);
        if (q >= end) return RS_JSON_END;
        uint8_t c = *q;
        bool object = depth && (in_object[(depth - 1) >> 6] >> ((depth - 1) & 63) & 1);
        if ((c == ']' || c == '}') && depth && want != VALUE && want != KEY) {
            if (object != (c == '}')) goto bad;
            q++;
            depth--;
            want = COMMA_OR_CLOSE;
        } else if (want == COMMA_OR_CLOSE) {
            if (c != ',') goto bad;
            q++;
            want = object ? KEY : VALUE;
            continue;
        } else if (want == KEY || want == KEY_OR_CLOSE) {
            rs_json_text key;
            if (c != '"') goto bad;
            rs_json_status s = rs_json_string(&q, end, limits->max_string, &key);
            if (s != RS_JSON_OK) {
                if (s != RS_JSON_END) *p = q;
                return s;
            }
            q = rs_json_space(q, end);
            if (q >= end) return RS_JSON_END;
            if (*q != ':') goto bad;
            q++;
            want = VALUE;
            continue;
        } else if (c == '[' || c == '{') {
            if (depth >= limits->max_depth || depth >= RS_JSON_MAX_DEPTH) {
                *p = q;
                return RS_JSON_DEEP;
            }
            uint64_t bit = UINT64_C(1) << (depth & 63);
            if ((depth & 63) == 0) in_object[depth >> 6] = 0;
            if (c == '{')
                in_object[depth >> 6] |= bit;
            else
                in_object[depth >> 6] &= ~bit;
            depth++;
            q++;
            want = c == '{' ? KEY_OR_CLOSE : VALUE_OR_CLOSE;
            continue;
        } else {
            rs_json_status s = skip_scalar(&q, end, limits);
            if (s != RS_JSON_OK) {
                if (s != RS_JSON_END) *p = q;
                return s;
            }
            want = COMMA_OR_CLOSE;
        }
        if (depth == 0) {
            *p = q;
            return RS_JSON_OK;
        }
    }
bad:
    *p = q;
    return RS_JSON_BAD;
}

/* ---- pull reader ------------------------------------------------------------------------------------ */

enum { WANT_VALUE, WANT_VALUE_OR_CLOSE, WANT_KEY, WANT_KEY_OR_CLOSE, WANT_COMMA, WANT_DONE };

void rs_json_reader_init(rs_json_reader *reader, const void *text, size_t length)
{
    memset(reader, 0, sizeof *reader);
    reader->begin = reader->p = text;
    reader->end = reader->begin + length;
    reader->limits =
        (rs_json_limits){.max_depth = RS_JSON_DEFAULT_DEPTH, .max_string = RS_JSON_DEFAULT_STRING};
    reader->expect = WANT_VALUE;
}

static bool in_object(const rs_json_reader *r)
{
    return r->depth && (r->stack[(r->depth - 1) >> 6] >> ((r->depth - 1) & 63) & 1);
}

static rs_json_token fail(rs_json_reader *r, rs_json_status status)
{
    r->status = status;
    return RS_JSON_T_ERROR;
}

static void value_done(rs_json_reader *r)
{
    r->expect = r->depth ? WANT_COMMA : WANT_DONE;
}

static rs_json_token open_container(rs_json_reader *r, bool object)
{
    if (r->depth >= r->limits.max_depth || r->depth >= RS_JSON_DEFAULT_DEPTH) return fail(r, RS_JSON_DEEP);
    uint64_t bit = UINT64_C(1) << (r->depth & 63);
    if (object)
        r->stack[r->depth >> 6] |= bit;
    else
        r->stack[r->depth >> 6] &= ~bit;
    r->depth++;
    r->p++;
    r->expect = object ? WANT_KEY_OR_CLOSE : WANT_VALUE_OR_CLOSE;
    return object ? RS_JSON_T_OBJECT : RS_JSON_T_ARRAY;
}

rs_json_token rs_json_next(rs_json_reader *r)
{
    if (r->expect == WANT_DONE) {
        r->expect = WANT_VALUE;
        return RS_JSON_T_END;
    }
    r->p = rs_json_space(r->p, r->end);
    if (r->p >= r->end) {
        if (r->depth == 0 && r->expect == WANT_VALUE) return RS_JSON_T_END;
        return fail(r, RS_JSON_END);
    }
    if (r->expect == WANT_COMMA && *r->p == ',') {
        r->p = rs_json_space(r->p + 1, r->end);
        r->expect = in_object(r) ? WANT_KEY : WANT_VALUE;
        if (r->p >= r->end) return fail(r, RS_JSON_END);
    }
    uint8_t c = *r->p;
    if (c == '}' || c == ']') {
        bool may =
            r->expect == WANT_COMMA || r->expect == WANT_KEY_OR_CLOSE || r->expect == WANT_VALUE_OR_CLOSE;
        if (!may || !r->depth || in_object(r) != (c == '}')) return fail(r, RS_JSON_BAD);
        r->p++;
        r->depth--;
        value_done(r);
        return c == '}' ? RS_JSON_T_OBJECT_END : RS_JSON_T_ARRAY_END;
    }
    if (r->expect == WANT_COMMA) return fail(r, RS_JSON_BAD);
    if (r->expect == WANT_KEY || r->expect == WANT_KEY_OR_CLOSE) {
        if (c != '"') return fail(r, RS_JSON_BAD);
        rs_json_status s = rs_json_string(&r->p, r->end, r->limits.max_string, &r->text);
        if (s != RS_JSON_OK) return fail(r, s);
        r->p = rs_json_space(r->p, r->end);
        if (r->p >= r->end) return fail(r, RS_JSON_END);
        if (*r->p != ':') return fail(r, RS_JSON_BAD);
        r->p++;
        r->expect = WANT_VALUE;
        return RS_JSON_T_KEY;
    }
    if (c == '{' || c == '[') return open_container(r, c == '{');
    if (c == '"') {
        rs_json_status s = rs_json_string(&r->p, r->end, r->limits.max_string, &r->text);
        if (s != RS_JSON_OK) return fail(r, s);
        value_done(r);
        return RS_JSON_T_STRING;
    }
    const uint8_t *begin = r->p;
    rs_json_status s = skip_scalar(&r->p, r->end, &r->limits);
    if (s == RS_JSON_END && r->depth == 0 && (is_number_byte(c))) {
        /* a bare number may end with the text, if it is whole */
        if (r->end[-1] >= '0' && r->end[-1] <= '9') {
            r->p = r->end;
            s = RS_JSON_OK;
        }
    }
    if (s != RS_JSON_OK) return fail(r, s);
    r->text = (rs_json_text){.bytes = begin, .length = (size_t)(r->p - begin)};
    value_done(r);
    if (c == 't') return RS_JSON_T_TRUE;
    if (c == 'f') return RS_JSON_T_FALSE;
    bool number =
        (c >= '0' && c <= '9') || (c == '-' && r->text.length > 1 && begin[1] >= '0' && begin[1] <= '9');
    return number ? RS_JSON_T_NUMBER : RS_JSON_T_NULL;
}

bool rs_json_skip_value(rs_json_reader *r)
{
    unsigned depth = r->depth;
    if (r->expect == WANT_VALUE && depth) {
        /* Whole values are passed without telling their tokens apart; for faults the walk below finds the
         * place. */
        const uint8_t *p = rs_json_space(r->p, r->end);
        rs_json_limits limits = r->limits;
        limits.max_depth = limits.max_depth > depth ? limits.max_depth - depth : 0;
        if (p < r->end && rs_json_skip(&p, r->end, &limits) == RS_JSON_OK) {
            r->p = p;
            value_done(r);
            return true;
        }
    }
    for (;;) {
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return false;
        if (r->depth == depth && t != RS_JSON_T_KEY) return true;
        if (r->depth < depth) return false; /* there was no value, the container ended */
    }
}

bool rs_json_leave(rs_json_reader *r)
{
    unsigned depth = r->depth;
    while (r->depth >= depth) {
        rs_json_token t = rs_json_next(r);
        if (t == RS_JSON_T_ERROR || t == RS_JSON_T_END) return false;
    }
    return true;
}

bool rs_json_is(const rs_json_reader *reader, const char *word)
{
    size_t n = strlen(word);
    return reader->text.length == n && memcmp(reader->text.bytes, word, n) == 0;
}
