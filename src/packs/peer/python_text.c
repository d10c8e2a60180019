#include "peer/python_text.h"

#include <string.h>

#include "base/memory.h"
#include "input/json.h"
#include "text/numbers.h"

void rs_python_put_int(rs_text *t, int64_t value)
{
    char out[RS_NUMBER_SIZE];
    rs_text_add(t, out, rs_format_int(value, out));
}

void rs_python_put_float(rs_text *t, double value)
{
    char out[RS_NUMBER_SIZE];
    size_t n = rs_format_real(value, out);
    bool whole = true;
    for (size_t i = 0; i < n; i++) whole = whole && out[i] != '.' && (out[i] | 32) < 'a';
    rs_text_add(t, out, n);
    if (whole) rs_text_add(t, ".0", 2);
}

void rs_python_put_bool(rs_text *t, bool value)
{
    rs_text_put(t, value ? "True" : "False");
}

void rs_python_put_string(rs_text *t, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char quote = n && memchr(text, '\'', n) && !memchr(text, '"', n) ? '"' : '\'';
    rs_text_add(t, &quote, 1);
    for (size_t i = 0, from = 0; i <= n; i++) {
        unsigned char c = i < n ? (unsigned char)text[i] : 0;
        bool plain = i < n && c >= ' ' && c != 127 && c != '\\' && c != (unsigned char)quote;
        if (plain) continue;
        rs_text_add(t, text + from, i - from);
        from = i + 1;
        if (i == n) break;
        char escape[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
        bool is_short = true;
        if (c == '\\' || c == (unsigned char)quote)
            escape[1] = (char)c;
        else if (c == '\n' || c == '\r' || c == '\t')
            escape[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
        else
            is_short = false;
        rs_text_add(t, escape, is_short ? 2 : 4);
    }
    rs_text_add(t, &quote, 1);
}

void rs_python_put_tuple(rs_text *t, const int64_t *values, size_t n)
{
    rs_text_add(t, "(", 1);
    for (size_t i = 0; i < n; i++) {
        if (i) rs_text_add(t, ", ", 2);
        rs_python_put_int(t, values[i]);
    }
    rs_text_put(t, n == 1 ? ",)" : ")");
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static void put_json_string(rs_text *t, const rs_json_text *text)
{
    RS_LOCAL char *decoded = rs_malloc(3 * text->length + 1);
    if (decoded) {
        size_t n = rs_json_decode(text->bytes, text->length, decoded, NULL);
        rs_python_put_string(t, decoded, n);
    } else {
        t->failed = true;
    }
}

/* A number with neither point nor exponent is an int and stays as it is. */
static void put_json_number(rs_text *t, const rs_json_text *text)
{
    double value;
    bool whole = true;
    for (size_t i = 0; i < text->length; i++)
        whole = whole && text->bytes[i] != '.' && (text->bytes[i] | 32) != 'e';
    if (whole || !rs_json_real(text->bytes, text->length, &value))
        rs_text_add(t, (const char *)text->bytes, text->length);
    else
        rs_python_put_float(t, value);
}

/* False when the text is no array of arrays, strings, numbers and words. */
static bool convert(rs_text *t, const char *json, size_t n)
{
    uint32_t counts[RS_JSON_DEFAULT_DEPTH + 1] = {0};
    rs_json_reader r;
    size_t depth = 0;
    rs_json_reader_init(&r, json, n);
    for (;;) {
        rs_json_token token = rs_json_next(&r);
        if (token == RS_JSON_T_ARRAY_END) {
            rs_text_add(t, "]", 1);
            if (--depth == 0) return true;
            continue;
        }
        if (depth && counts[depth]++) rs_text_add(t, ", ", 2);
        switch (token) {
        case RS_JSON_T_ARRAY:
            rs_text_add(t, "[", 1);
            counts[++depth] = 0;
            break;
        case RS_JSON_T_STRING: put_json_string(t, &r.text); break;
        case RS_JSON_T_NUMBER: put_json_number(t, &r.text); break;
        case RS_JSON_T_TRUE: rs_text_put(t, "True"); break;
        case RS_JSON_T_FALSE: rs_text_put(t, "False"); break;
        case RS_JSON_T_NULL: rs_text_put(t, "None"); break;
        default: return false;
        }
        if (depth == 0) return false;
    }
}

void rs_python_put_list(rs_text *t, const char *json, size_t n)
{
    size_t before = t->n;
    if (convert(t, json, n) || t->failed) return;
    t->n = before;
    rs_text_add(t, json, n);
}
