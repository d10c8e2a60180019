/* JSON as bytes: scanning primitives for readers that keep no tree, and a pull reader for small documents.
 *
 * Nothing here recurses or allocates. Text is UTF-8 but not trusted: bytes >= 0x80 are flagged, not checked,
 * until a string is decoded. Raw control characters inside strings are accepted and flagged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rs_json_status {
    RS_JSON_OK,
    RS_JSON_END,  /* the text ends (or: more of it is needed) */
    RS_JSON_BAD,  /* not JSON; the cursor is at the byte at fault */
    RS_JSON_DEEP, /* nesting beyond the limit */
    RS_JSON_LONG  /* a string beyond the limit */
} rs_json_status;

typedef struct rs_json_limits {
    unsigned max_depth; /* at most RS_JSON_MAX_DEPTH */
    size_t max_string;
} rs_json_limits;

#define RS_JSON_DEFAULT_DEPTH 1024
#define RS_JSON_MAX_DEPTH 65536
#define RS_JSON_DEFAULT_STRING ((size_t)16 << 20)

/* A string's raw bytes between its quotes. */
typedef struct rs_json_text {
    const uint8_t *bytes;
    size_t length;
    bool escaped; /* has a backslash: decode before use */
    bool control; /* has a raw control character */
    bool high;    /* has a byte >= 0x80: may be invalid UTF-8 */
} rs_json_text;

static inline bool rs_json_is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The first byte at or after p that is not white space, or end. */
static inline const uint8_t *rs_json_space(const uint8_t *p, const uint8_t *end)
{
    while (p < end && rs_json_is_space(*p)) p++;
    return p;
}

/* *p on the opening quote; on OK it is past the closing one. END leaves *p unchanged. */
rs_json_status rs_json_string(const uint8_t **p, const uint8_t *end, size_t max_string, rs_json_text *out);

/* Passes over one value of any kind; *p on its first byte (no white space before it). Strings inside are only
 * delimited: escapes, raw control characters and UTF-8 are not looked at. NaN, Infinity, -Infinity, nan and
 * inf count as values, numbers may have leading zeros and any size. On BAD and DEEP, *p is on the byte at
 * fault; END leaves it unchanged. */
rs_json_status rs_json_skip(const uint8_t **p, const uint8_t *end, const rs_json_limits *limits);

/* Passes over a number, NaN or Infinity. END when it touches the end of the text. */
rs_json_status rs_json_skip_number(const uint8_t **p, const uint8_t *end);

/* Decodes escapes and replaces each byte of invalid UTF-8 by U+FFFD. out needs 3 * length bytes; returns the
 * bytes written. *repaired says whether anything was invalid (may be NULL). A bad escape is kept as it
 * stands. */
size_t rs_json_decode(const uint8_t *bytes, size_t length, char *out, bool *repaired);

/* Replaces each byte that is no UTF-8 by U+FFFD and leaves the rest, backslashes too, as it is. out needs
 * 3 * length bytes; returns the bytes written. */
size_t rs_utf8_repair(const uint8_t *bytes, size_t length, char *out);

/* Whether the bytes are valid UTF-8. */
bool rs_utf8_valid(const uint8_t *bytes, size_t length);

/* A number's text as int64: true when it is exactly a whole number in range ("12", "-3", "5.0", "1e3"). */
bool rs_json_int(const uint8_t *text, size_t length, int64_t *out);
/* A number's text as the nearest double, in any locale; false for anything that is no finite number. */
bool rs_json_real(const uint8_t *text, size_t length, double *out);

/* ---- pull reader ------------------------------------------------------------------------------------ */

typedef enum rs_json_token {
    RS_JSON_T_END, /* the document is complete */
    RS_JSON_T_OBJECT,
    RS_JSON_T_OBJECT_END,
    RS_JSON_T_ARRAY,
    RS_JSON_T_ARRAY_END,
    RS_JSON_T_KEY,
    RS_JSON_T_STRING,
    RS_JSON_T_NUMBER,
    RS_JSON_T_TRUE,
    RS_JSON_T_FALSE,
    RS_JSON_T_NULL, /* also NaN and Infinity */
    RS_JSON_T_ERROR /* see status and at */
} rs_json_token;

/* Reads a whole document held in memory, token by token. Start with rs_json_reader_init; when one document is
 * done (T_END) and text is left, another rs_json_next starts the next one: NDJSON and concatenated documents.
 */
typedef struct rs_json_reader {
    const uint8_t *begin, *p, *end;
    rs_json_limits limits;
    unsigned depth;
    uint64_t stack[RS_JSON_DEFAULT_DEPTH / 64]; /* 1 bit a level: in an object */
    uint8_t expect;
    rs_json_status status; /* why T_ERROR */
    rs_json_text text;     /* of T_KEY, T_STRING (without quotes), T_NUMBER */
} rs_json_reader;

void rs_json_reader_init(rs_json_reader *reader, const void *text, size_t length);
rs_json_token rs_json_next(rs_json_reader *reader);
/* After T_KEY, or before an array element: skips the value that follows. false on error. After T_OBJECT
 * or T_ARRAY use rs_json_leave instead. */
bool rs_json_skip_value(rs_json_reader *reader);
/* Passes over the rest of the innermost open object or array, its end included. */
bool rs_json_leave(rs_json_reader *reader);
/* Whether the current key or string (undecoded) equals a plain ASCII word. */
bool rs_json_is(const rs_json_reader *reader, const char *word);
/* The byte position of the reader in the text. */
static inline size_t rs_json_at(const rs_json_reader *reader)
{
    return (size_t)(reader->p - reader->begin);
}
