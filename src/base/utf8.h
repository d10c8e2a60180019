/* The one decoder and the one encoder of UTF-8 (RFC 3629). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text, 0 when it is no valid UTF-8 (overlong, surrogate, truncated, > U+10FFFF).
 * *code is set when valid. length must be > 0. */
static inline size_t rs_utf8_next(const char *text, size_t length, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }
    size_t n = p[0] >= 0xC2 && p[0] <= 0xDF   ? 2
               : (p[0] & 0xF0) == 0xE0        ? 3
               : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                              : 0;
    if (n == 0 || n > length) return 0;
    uint32_t c = p[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if ((n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10FFFF)) || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code = c;
    return n;
}

/* Writes the character (at most U+10FFFF) and returns its bytes, 1 to 4. */
static inline size_t rs_utf8_put(uint32_t code, char *out)
{
    if (code < 0x80) return out[0] = (char)code, (size_t)1;
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00u >> n & 0xF0) | code);
    return n;
}
