/* The scanning primitives and the pull reader, alone and against jansson. */
#include "support.h"

#include <jansson.h>

#include "input/json.h"

static const rs_json_limits limits = {.max_depth = RS_JSON_DEFAULT_DEPTH,
                                      .max_string = RS_JSON_DEFAULT_STRING};

#define BYTES(s) ((const uint8_t *)(s))

/* ---- strings ---------------------------------------------------------------------------------------- */

static rs_json_status string_at(const char *s, size_t n, size_t max, rs_json_text *out, size_t *used)
{
    guarded g = guarded_copy(s, n);
    const uint8_t *p = g.bytes;
    rs_json_status status = rs_json_string(&p, g.bytes + n, max, out);
    *used = (size_t)(p - g.bytes);
    if (status == RS_JSON_OK) assert_ptr_equal(out->bytes, g.bytes + 1);
    guarded_free(&g);
    return status;
}

TEST(test_strings)
{
    static const struct {
        const char *s;
        size_t length;
        bool escaped, control, high;
    } cases[] = {
        {"\"\"", 0, false, false, false},
        {"\"a\" b\"", 1, false, false, false},
        {"\"a\\\"b\"", 4, true, false, false},
        {"\"\\\\\"", 2, true, false, false},
        {"\"a\tb\"", 3, false, true, false},
        {"\"\x7f\"", 1, false, false, false},
        {"\"caf\xc3\xa9\"", 5, false, false, true},
        {"\"0123456\x80\"", 8, false, false, true},
        {"\"01234567\x80\"", 9, false, false, true},
        {"\"\\\xff\"", 2, true, false, true},
        {"\"\x1f\x80\\n\"", 4, true, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_json_text t;
        size_t used;
        assert_int_equal(string_at(cases[i].s, strlen(cases[i].s), 100, &t, &used), RS_JSON_OK);
        assert_int_equal(t.length, cases[i].length);
        assert_int_equal(used, cases[i].length + 2);
        assert_int_equal(t.escaped, cases[i].escaped);
        assert_int_equal(t.control, cases[i].control);
        assert_int_equal(t.high, cases[i].high);
    }
}

/* Every length around the word size with every special byte at every place, and every cut of it. */
TEST(test_strings_at_every_place)
{
    static const uint8_t specials[] = {'x', '\\', 1, 0x1f, 0x20, 0x7f, 0x80, 0xff, 0};
    char s[48];
    for (size_t n = 1; n < 30; n++) {
        for (size_t at = 0; at < n; at++) {
            for (size_t k = 0; k < sizeof specials; k++) {
                memset(s, 'a', sizeof s);
                s[0] = s[n + 1] = '"';
                s[at + 1] = (char)specials[k];
                bool slash_last = specials[k] == '\\' && at == n - 1;
                rs_json_text t;
                size_t used;
                rs_json_status status = string_at(s, n + 2, 1000, &t, &used);
                if (slash_last) { /* it escapes the closing quote */
                    assert_int_equal(status, RS_JSON_END);
                    continue;
                }
                assert_int_equal(status, RS_JSON_OK);
                assert_int_equal(t.length, n);
                assert_int_equal(t.escaped, specials[k] == '\\');
                assert_int_equal(t.control, specials[k] < 0x20);
                assert_int_equal(t.high, specials[k] >= 0x80);
                if (at % 3 == 0) {
                    for (size_t cut = 1; cut < n + 2; cut++) {
                        assert_int_equal(string_at(s, cut, 1000, &t, &used), RS_JSON_END);
                        assert_int_equal(used, 0);
                    }
                }
                assert_int_equal(string_at(s, n + 2, n - 1, &t, &used), RS_JSON_LONG);
                assert_int_equal(string_at(s, n + 2, n, &t, &used), RS_JSON_OK);
            }
        }
    }
}

/* ---- values ----------------------------------------------------------------------------------------- */

static rs_json_status skip_at(const char *s, size_t n, const rs_json_limits *l, size_t *used)
{
    guarded g = guarded_copy(s, n);
    const uint8_t *p = g.bytes;
    rs_json_status status = rs_json_skip(&p, g.bytes + n, l);
    *used = (size_t)(p - g.bytes);
    guarded_free(&g);
    return status;
}

TEST(test_skip_table)
{
    static const struct {
        const char *s;
        rs_json_status status;
        size_t at;
    } cases[] = {
        {"1 ", RS_JSON_OK, 1},
        {"-0.5e+10,", RS_JSON_OK, 8},
        {"12", RS_JSON_END, 0},
        {"1.", RS_JSON_END, 0},
        {"1. ", RS_JSON_BAD, 2},
        {"1e ", RS_JSON_BAD, 2},
        {"1e+ ", RS_JSON_BAD, 3},
        {"- ", RS_JSON_BAD, 1},
        {"-", RS_JSON_END, 0},
        {"+1 ", RS_JSON_BAD, 0},
        {".5 ", RS_JSON_BAD, 0},
        {"1.2.3 ", RS_JSON_BAD, 3},
        {"1-2 ", RS_JSON_BAD, 1},
        {"007 ", RS_JSON_OK, 3},
        {"NaN,", RS_JSON_OK, 3},
        {"nan,", RS_JSON_OK, 3},
        {"-Infinity]", RS_JSON_OK, 9},
        {"Infinity ", RS_JSON_OK, 8},
        {"-inf ", RS_JSON_OK, 4},
        {"NaM ", RS_JSON_BAD, 2},
        {"Na", RS_JSON_END, 0},
        {"true", RS_JSON_OK, 4},
        {"tru", RS_JSON_END, 0},
        {"trux", RS_JSON_BAD, 3},
        {"false ", RS_JSON_OK, 5},
        {"null", RS_JSON_OK, 4},
        {"nul", RS_JSON_END, 0},
        {"nulx", RS_JSON_BAD, 3},
        {"n", RS_JSON_END, 0},
        {"nx", RS_JSON_BAD, 1},
        {"\"a\"", RS_JSON_OK, 3},
        {"\"a", RS_JSON_END, 0},
        {"[]", RS_JSON_OK, 2},
        {"{}", RS_JSON_OK, 2},
        {"[ ] ", RS_JSON_OK, 3},
        {"[1,]", RS_JSON_BAD, 3},
        {"[,1]", RS_JSON_BAD, 1},
        {"[1 2]", RS_JSON_BAD, 3},
        {"[1}", RS_JSON_BAD, 2},
        {"{]", RS_JSON_BAD, 1},
        {"{\"a\"}", RS_JSON_BAD, 4},
        {"{\"a\":}", RS_JSON_BAD, 5},
        {"{\"a\":1,}", RS_JSON_BAD, 7},
        {"{1:2}", RS_JSON_BAD, 1},
        {"{\"a\":1 \"b\":2}", RS_JSON_BAD, 7},
        {"{\"a\" : [ 1 , {} ] , \"b\":null}", RS_JSON_OK, 29},
        {"[[[]]", RS_JSON_END, 0},
        {"]", RS_JSON_BAD, 0},
        {"}", RS_JSON_BAD, 0},
        {",", RS_JSON_BAD, 0},
        {":", RS_JSON_BAD, 0},
        {"[1\x01]", RS_JSON_BAD, 2},
        {"{\"a\":1:2}", RS_JSON_BAD, 6},
        {"{\"a\"", RS_JSON_END, 0},
        {"{\"a\":", RS_JSON_END, 0},
        {"[\"x\x01\"]", RS_JSON_OK, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t used;
        rs_json_status status = skip_at(cases[i].s, strlen(cases[i].s), &limits, &used);
        if (status != cases[i].status || used != cases[i].at)
            fail_msg("%s: status %d at %zu, expected %d at %zu", cases[i].s, (int)status, used,
                     (int)cases[i].status, cases[i].at);
    }
}

TEST(test_depth)
{
    static const unsigned depths[] = {1, 63, 64, 65, 1023, 1024, 4096, RS_JSON_MAX_DEPTH};
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
        text t = {0};
        unsigned n = depths[k];
        for (unsigned i = 0; i < n; i++) text_puts(&t, i % 3 == 1 ? "{\"a\":" : "[");
        text_puts(&t, "1");
        for (unsigned i = n; i-- > 0;) text_puts(&t, i % 3 == 1 ? "}" : "]");
        size_t used;
        rs_json_limits l = {.max_depth = n, .max_string = 100};
        assert_int_equal(skip_at(t.s, t.n, &l, &used), RS_JSON_OK);
        assert_int_equal(used, t.n);
        l.max_depth = n - 1;
        assert_int_equal(skip_at(t.s, t.n, &l, &used), RS_JSON_DEEP);
        assert_int_equal(t.s[used], (n - 1) % 3 == 1 ? '{' : '[');
        text_clear(&t);
    }
    /* ten million levels: no recursion, no harm */
    size_t n = 10000000, used;
    char *deep = malloc(n);
    assert_non_null(deep);
    memset(deep, '[', n);
    rs_json_limits all = {.max_depth = UINT32_MAX, .max_string = 100};
    assert_int_equal(skip_at(deep, n, &all, &used), RS_JSON_DEEP);
    assert_int_equal(used, RS_JSON_MAX_DEPTH);
    rs_json_reader r;
    rs_json_reader_init(&r, deep, n);
    r.limits.max_depth = UINT32_MAX;
    while (rs_json_next(&r) == RS_JSON_T_ARRAY) continue;
    assert_int_equal(r.status, RS_JSON_DEEP);
    free(deep);
}

/* ---- against jansson -------------------------------------------------------------------------------- */

static size_t word_at(const char *s, size_t left)
{
    static const char *const words[] = {"-NaN", "NaN", "-nan", "nan", "-Infinity", "Infinity", "-inf", "inf"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (left >= n && memcmp(s, words[i], n) == 0) return n;
    }
    return 0;
}

/* Takes exactly the documented leniencies out of a text, so that what is left must be judged alike. */
static text without_leniencies(const char *s, size_t n)
{
    text t = {0};
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)s[i];
        if (in_string) {
            if (c == '"') in_string = false;
            if (c == '\\' && i + 1 < n) i++;
            text_add(&t, c == '"' ? "\"" : "x", 1);
        } else if (c >= '0' && c <= '9') {
            while (i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '9') i++;
            text_puts(&t, "1");
        } else {
            size_t word = word_at(s + i, n - i);
            if (c == '"') in_string = true;
            if (word) {
                text_puts(&t, "null");
                i += word - 1;
            } else {
                text_add(&t, &c, 1);
            }
        }
    }
    return t;
}

static bool jansson_accepts(const char *s, size_t n)
{
    json_error_t e;
    json_t *j = json_loadb(s, n, JSON_DECODE_ANY, &e);
    json_decref(j);
    return j != NULL;
}

static bool skip_accepts(const text *t)
{
    text copy = {0};
    text_add(&copy, t->s, t->n);
    text_puts(&copy, " ");
    const uint8_t *begin = rs_json_space(BYTES(copy.s), BYTES(copy.s + copy.n)), *p = begin;
    bool ok = rs_json_skip(&p, BYTES(copy.s + copy.n), &limits) == RS_JSON_OK &&
              rs_json_space(p, BYTES(copy.s + copy.n)) == BYTES(copy.s + copy.n);
    text_clear(&copy);
    return ok;
}

/* What the pull reader saw, as compact JSON; false when it found an error. */
static bool pulled(const text *in, text *out)
{
    rs_json_reader r;
    rs_json_reader_init(&r, in->s, in->n);
    bool comma = false;
    for (;;) {
        rs_json_token t = rs_json_next(&r);
        if (t == RS_JSON_T_END) break;
        if (t == RS_JSON_T_ERROR) return false;
        bool closes = t == RS_JSON_T_OBJECT_END || t == RS_JSON_T_ARRAY_END;
        if (comma && !closes) text_puts(out, ",");
        comma = t != RS_JSON_T_OBJECT && t != RS_JSON_T_ARRAY && t != RS_JSON_T_KEY;
        switch (t) {
        case RS_JSON_T_OBJECT: text_puts(out, "{"); break;
        case RS_JSON_T_OBJECT_END: text_puts(out, "}"); break;
        case RS_JSON_T_ARRAY: text_puts(out, "["); break;
        case RS_JSON_T_ARRAY_END: text_puts(out, "]"); break;
        case RS_JSON_T_TRUE: text_puts(out, "true"); break;
        case RS_JSON_T_FALSE: text_puts(out, "false"); break;
        case RS_JSON_T_NULL: text_puts(out, "null"); break;
        case RS_JSON_T_NUMBER: text_add(out, r.text.bytes, r.text.length); break;
        default:
            text_puts(out, "\"");
            text_add(out, r.text.bytes, r.text.length);
            text_puts(out, t == RS_JSON_T_KEY ? "\":" : "\"");
            break;
        }
    }
    /* a second document, if there is one, would be told by another token */
    return rs_json_next(&r) == RS_JSON_T_END && r.p == r.end && in->n > 0;
}

TEST(test_mutations_judged_alike)
{
    static const char *const seeds[] = {
        "{\"a\": [1, -2.5e3, true, null], \"b\\n\": {\"c\": \"\\u00e9\\\"x\", \"d\": {}}, \"e\": [[0]]}",
        "[{\"ph\":\"X\",\"ts\":123.456,\"args\":{\"Input Dims\":[[2,3],[]],\"x\":NaN}},{\"ph\":\"M\"}]",
        "\"only a string\"",
        "[0.0, 1E-5, -0, 12345678901, Infinity, -Infinity]",
        "{\"k\":\"v\",\"n\":null,\"t\":true,\"f\":false,\"o\":{\"p\":{\"q\":[[[[1]]]]}}}",
    };
    rng r = {20};
    size_t accepted = 0, rejected = 0;
    for (size_t i = 0; i < ROUNDS(60000); i++) {
        text t = {0};
        text_puts(&t, seeds[i % (sizeof seeds / sizeof *seeds)]);
        if (i >= sizeof seeds / sizeof *seeds) text_mutate(&t, &r);
        text plain = without_leniencies(t.s, t.n);
        bool theirs = jansson_accepts(plain.s, plain.n), ours = skip_accepts(&t);
        if (ours != theirs) fail_msg("%s\nours %d, jansson of %s %d", t.s, ours, plain.s, theirs);
        text out = {0};
        bool reader = pulled(&t, &out);
        if (reader != ours) fail_msg("%s\npull reader %d, skip %d", t.s, reader, ours);
        if (ours && jansson_accepts(t.s, t.n)) {
            json_t *x = json_loadb(t.s, t.n, JSON_DECODE_ANY, NULL),
                   *y = json_loadb(out.s, out.n, JSON_DECODE_ANY, NULL);
            if (!y || !json_equal(x, y)) fail_msg("%s\nbecame %s", t.s, out.s);
            json_decref(x);
            json_decref(y);
        }
        accepted += ours;
        rejected += !ours;
        text_clear(&out);
        text_clear(&plain);
        text_clear(&t);
    }
    assert_true(accepted > ROUNDS(60000) / 20 && rejected > ROUNDS(60000) / 20);
}

/* ---- the pull reader -------------------------------------------------------------------------------- */

TEST(test_reader)
{
    static const char s[] =
        " {\"a\":[1,{\"b\":2},\"c\"],\"d\":{\"e\":{}},\"f\":-Infinity}\n[true]  12 \"x\" 7";
    rs_json_reader r;
    rs_json_reader_init(&r, s, sizeof s - 1);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_OBJECT);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_KEY);
    assert_true(rs_json_is(&r, "a"));
    assert_false(rs_json_is(&r, "ab"));
    assert_true(rs_json_skip_value(&r));
    assert_int_equal(rs_json_next(&r), RS_JSON_T_KEY);
    assert_true(rs_json_is(&r, "d"));
    assert_int_equal(rs_json_next(&r), RS_JSON_T_OBJECT);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_KEY);
    assert_true(rs_json_leave(&r));
    assert_int_equal(rs_json_next(&r), RS_JSON_T_KEY);
    assert_true(rs_json_is(&r, "f"));
    assert_int_equal(rs_json_next(&r), RS_JSON_T_NULL);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_OBJECT_END);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_END);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_ARRAY);
    assert_true(rs_json_skip_value(&r));
    assert_false(rs_json_skip_value(&r)); /* there is none: the array ends */
    assert_int_equal(rs_json_next(&r), RS_JSON_T_END);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_NUMBER);
    assert_true(rs_json_is(&r, "12"));
    assert_int_equal(rs_json_next(&r), RS_JSON_T_END);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_STRING);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_END);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_NUMBER);
    assert_int_equal(rs_json_at(&r), sizeof s - 1);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_END);
    assert_int_equal(rs_json_next(&r), RS_JSON_T_END);
}

TEST(test_reader_cut_numbers)
{
    static const char *const cut[] = {"-", "1.", "1e", "1e+", "-N", "1.2e-", "tr", "\"x", "[1", "{\"a\":1"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        rs_json_reader r;
        rs_json_reader_init(&r, cut[i], strlen(cut[i]));
        rs_json_token t;
        while ((t = rs_json_next(&r)) != RS_JSON_T_ERROR)
            if (t == RS_JSON_T_END) fail_msg("%s was taken for whole", cut[i]);
        assert_int_equal(r.status, RS_JSON_END);
    }
}
