/* The ways to read JSON text agree with each other: rs_json_skip, the pull reader, its shortcuts, and
 * decoding. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "input/json.h"

/* Everything that is promised about one string. */
static void check_string(const rs_json_text *t)
{
    bool high = false, slash = false;
    for (size_t i = 0; i < t->length; i++) {
        high |= t->bytes[i] >= 0x80;
        slash |= t->bytes[i] == '\\';
    }
    PROMISE(t->high == high && t->escaped == slash);

    char *out = malloc(t->length * 3 + !t->length);
    PROMISE(out);
    bool repaired = false, valid = rs_utf8_valid(t->bytes, t->length);
    size_t n = rs_json_decode(t->bytes, t->length, out, &repaired);
    PROMISE(n <= t->length * 3);
    PROMISE(rs_utf8_valid((const uint8_t *)out, n));
    PROMISE(valid || repaired);
    if (!slash) PROMISE(repaired == !valid);
    if (!slash && valid) PROMISE(n == t->length && memcmp(out, t->bytes, n) == 0);
    free(out);
}

static void check_number(const rs_json_text *t)
{
    double real;
    int64_t whole;
    bool is_real = rs_json_real(t->bytes, t->length, &real),
         is_int = rs_json_int(t->bytes, t->length, &whole);
    if (is_real) PROMISE(isfinite(real));
    if (is_int && is_real) PROMISE(fabs(real - (double)whole) <= fabs(real) * 1e-15);
}

/* Reads one document token by token; OK, or why it is none. */
static rs_json_status pull(const uint8_t *data, size_t n, size_t *at, unsigned max_depth)
{
    rs_json_reader r;
    rs_json_reader_init(&r, data, n);
    r.limits.max_depth = max_depth;
    for (;;) {
        rs_json_token t = rs_json_next(&r);
        PROMISE(r.p >= r.begin && r.p <= r.end);
        *at = rs_json_at(&r);
        if (t == RS_JSON_T_ERROR) {
            PROMISE(r.status != RS_JSON_OK);
            return r.status;
        }
        if (t == RS_JSON_T_END) return RS_JSON_OK;
        if (t == RS_JSON_T_KEY || t == RS_JSON_T_STRING) check_string(&r.text);
        if (t == RS_JSON_T_NUMBER) check_number(&r.text);
    }
}

/* A value whose end is marked by its own last byte: cut anywhere, it is unfinished and nothing else. */
static void check_cut(const uint8_t *data, size_t begin, size_t end, const rs_json_limits *limits)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = begin; i < end; i++) h = (h ^ data[i]) * 1099511628211u;
    size_t n = begin + (size_t)(h % (end - begin));
    uint8_t *cut = malloc(n + !n);
    PROMISE(cut);
    memcpy(cut, data, n);
    const uint8_t *p = cut + begin;
    PROMISE(rs_json_skip(&p, cut + n, limits) == RS_JSON_END && p == cut + begin);
    free(cut);
}

static void check_document(const uint8_t *data, size_t n, unsigned max_depth)
{
    const rs_json_limits limits = {.max_depth = max_depth, .max_string = RS_JSON_DEFAULT_STRING};
    const uint8_t *begin = rs_json_space(data, data + n), *p = begin, *end = data + n;
    size_t at;
    rs_json_status pulled = pull(data, n, &at, max_depth);
    if (begin == end) {
        PROMISE(pulled == RS_JSON_OK);
        return;
    }
    rs_json_status skipped = rs_json_skip(&p, end, &limits);
    /* only the pull reader knows that a bare number at the end is complete */
    bool bare = strchr("-0123456789", *begin) != NULL && *begin != '\0';
    if (!(bare && pulled == RS_JSON_OK && at == n)) PROMISE(skipped == pulled);
    if (skipped == RS_JSON_OK) {
        PROMISE((size_t)(p - data) == at);
        if (strchr("[{\"", *begin) && *begin) check_cut(data, (size_t)(begin - data), at, &limits);
    }
    if (skipped == RS_JSON_END) PROMISE(p == begin);

    rs_json_reader r;
    rs_json_reader_init(&r, data, n);
    r.limits.max_depth = max_depth;
    PROMISE(rs_json_skip_value(&r) == (pulled == RS_JSON_OK));
    if (pulled == RS_JSON_OK) PROMISE(rs_json_at(&r) == at);

    if (*begin == '[' || *begin == '{') {
        rs_json_reader_init(&r, data, n);
        r.limits.max_depth = max_depth;
        rs_json_token t = rs_json_next(&r);
        PROMISE(t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY);
        PROMISE(rs_json_leave(&r) == (pulled == RS_JSON_OK));
        if (pulled == RS_JSON_OK) PROMISE(rs_json_at(&r) == at && r.depth == 0);
    }
}

int fuzz_one(const uint8_t *data, size_t n)
{
    check_document(data, n, RS_JSON_DEFAULT_DEPTH);
    check_document(data, n, 3);
    return 0;
}
