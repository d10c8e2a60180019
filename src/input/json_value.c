/* What JSON strings and numbers mean. */
#include "input/json.h"

#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "text/numbers.h"

/* Length of the valid UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_sequence(const uint8_t *p, size_t left)
{
    uint32_t code;
    return rs_utf8_next((const char *)p, left, &code);
}

size_t rs_utf8_repair(const uint8_t *bytes, size_t length, char *out)
{
    size_t o = 0;
    for (size_t i = 0, n; i < length; i += n ? n : 1) {
        n = utf8_sequence(bytes + i, length - i);
        if (n == 0) o += rs_utf8_put(0xfffd, out + o);
        for (size_t k = 0; k < n; k++) out[o++] = (char)bytes[i + k];
    }
    return o;
}

bool rs_utf8_valid(const uint8_t *bytes, size_t length)
{
    size_t i = 0;
    while (i < length) {
        uint64_t w;
        if (length - i >= 8) {
            memcpy(&w, bytes + i, 8);
            if (!(w & UINT64_C(0x8080808080808080))) {
                i += 8;
                continue;
            }
        }
        size_t n = utf8_sequence(bytes + i, length - i);
        if (n == 0) return false;
        i += n;
    }
    return true;
}

static int hex4(const uint8_t *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int d = rs_hex_digit((char)p[i]);
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* Decodes one escape at bytes[i] (a backslash); returns how many input bytes it took, 0 if it is no valid
 * escape. */
static size_t decode_escape(const uint8_t *bytes, size_t left, char *out, size_t *written, bool *bad)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (left < 2) return 0;
    const char *simple = memchr(from, bytes[1], sizeof from - 1);
    if (simple) {
        out[0] = to[simple - from];
        *written = 1;
        return 2;
    }
    if (bytes[1] != 'u' || left < 6) return 0;
    int c = hex4(bytes + 2);
    if (c < 0) return 0;
    if (c >= 0xd800 && c < 0xdc00 && left >= 12 && bytes[6] == '\\' && bytes[7] == 'u') {
        int low = hex4(bytes + 8);
        if (low >= 0xdc00 && low < 0xe000) {
            *written = rs_utf8_put(0x10000 + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00), out);
            return 12;
        }
    }
    if (c >= 0xd800 && c < 0xe000) {
        *bad = true; /* half a surrogate pair represents nothing */
        c = 0xfffd;
    }
    *written = rs_utf8_put((uint32_t)c, out);
    return 6;
}

/* Whether none of eight bytes is a backslash or beyond ASCII. */
static bool plain_bytes(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t slash = w ^ (ones * '\\');
    return !((w | ((slash - ones) & ~slash)) & tops);
}

size_t rs_json_decode(const uint8_t *bytes, size_t length, char *out, bool *repaired)
{
    size_t i = 0, o = 0;
    bool bad = false;
    while (i < length) {
        uint64_t w;
        if (length - i >= 8 && (memcpy(&w, bytes + i, 8), plain_bytes(w))) {
            memcpy(out + o, &w, 8);
            i += 8;
            o += 8;
            continue;
        }
        if (bytes[i] == '\\') {
            size_t written = 0, taken = decode_escape(bytes + i, length - i, out + o, &written, &bad);
            if (taken) {
                i += taken;
                o += written;
                continue;
            }
            bad = true;
            out[o++] = '\\';
            i++;
            continue;
        }
        size_t n = utf8_sequence(bytes + i, length - i);
        if (n) {
            for (size_t k = 0; k < n; k++) out[o++] = (char)bytes[i + k];
            i += n;
        } else {
            o += rs_utf8_put(0xfffd, out + o);
            bad = true;
            i++;
        }
    }
    if (repaired) *repaired = bad;
    return o;
}

/* The parts of a number's text. */
typedef struct number {
    bool negative;
    const uint8_t *digits; /* the first of the mantissa */
    size_t n_digits;       /* with the point, if there is one */
    int64_t exponent;
} number;

/* Splits a number; false when it is none. */
static bool split_number(const uint8_t *text, size_t length, number *out)
{
    size_t i = 0, point = SIZE_MAX;
    *out = (number){0};
    if (length && text[0] == '-') {
        out->negative = true;
        i++;
    }
    out->digits = text + i;
    size_t first = i;
    for (; i < length && ((text[i] >= '0' && text[i] <= '9') || (text[i] == '.' && point == SIZE_MAX)); i++)
        if (text[i] == '.') point = i;
    out->n_digits = i - first;
    if (i == first || point == first || point == i - 1) return false;
    if (i == length) return true;
    if (text[i] != 'e' && text[i] != 'E') return false;
    i++;
    bool minus = i < length && text[i] == '-';
    if (i < length && (text[i] == '+' || text[i] == '-')) i++;
    if (i == length) return false;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        /* beyond any text's length its size makes no difference */
        if (out->exponent < INT64_C(1) << 40) out->exponent = out->exponent * 10 + (text[i] - '0');
    }
    if (minus) out->exponent = -out->exponent;
    return true;
}

/* v * 10^n + digit; false when that exceeds 64 bits. */
static bool shift_in(uint64_t *v, uint64_t n, uint64_t digit)
{
    for (; n && *v; n--)
        if (__builtin_mul_overflow(*v, 10, v)) return false;
    return !__builtin_add_overflow(*v, digit, v);
}

bool rs_json_int(const uint8_t *text, size_t length, int64_t *out)
{
    number d;
    if (!split_number(text, length, &d)) return false;
    uint64_t v = 0, zeros = 0; /* zeros: at the end of what was seen, they may yet be behind the point */
    bool fraction = false;
    for (size_t i = 0; i < d.n_digits; i++) {
        if (d.digits[i] == '.') {
            fraction = true;
            continue;
        }
        if (fraction) d.exponent--;
        zeros++;
        if (d.digits[i] == '0') continue;
        if (!shift_in(&v, zeros, d.digits[i] - (uint64_t)'0')) return false;
        zeros = 0;
    }
    if (v) {
        d.exponent += (int64_t)zeros;
        if (d.exponent < 0 || !shift_in(&v, (uint64_t)d.exponent, 0)) return false;
    }
    if (v > (uint64_t)INT64_MAX + d.negative) return false;
    *out = d.negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool rs_json_real(const uint8_t *text, size_t length, double *out)
{
    number d;
    return split_number(text, length, &d) && rs_parse_real((const char *)text, length, out);
}
