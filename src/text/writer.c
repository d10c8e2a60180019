#include "text/writer.h"

#include "text/numbers.h"
#include "text/utf8.h"

void rs_writer_init(rs_writer *writer, const rs_sink *sink)
{
    writer->sink = sink;
    writer->used = 0;
    writer->failed = false;
}

void rs_writer_flush(rs_writer *writer)
{
    if (writer->used && !writer->failed &&
        !writer->sink->write(writer->sink->context, writer->buffer, writer->used))
        writer->failed = true;
    writer->used = 0;
}

rs_status rs_writer_finish(rs_writer *writer, rs_error *err)
{
    rs_writer_flush(writer);
    return writer->failed ? rs_fail(err, RS_ERR_IO, "the output could not be written") : RS_OK;
}

void rs_writer_bytes(rs_writer *writer, const char *bytes, size_t n)
{
    while (n > RS_WRITER_BUFFER - writer->used) {
        size_t part = RS_WRITER_BUFFER - writer->used;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        n -= part;
        rs_writer_flush(writer);
    }
    if (n) memcpy(writer->buffer + writer->used, bytes, n);
    writer->used += n;
}

void rs_writer_repeat(rs_writer *writer, char c, size_t n)
{
    while (n-- > 0) rs_writer_char(writer, c);
}

/* Where a number can be written straight into the buffer: room for its longest form. */
static char *number_room(rs_writer *writer)
{
    if (RS_WRITER_BUFFER - writer->used < RS_NUMBER_SIZE) rs_writer_flush(writer);
    return writer->buffer + writer->used;
}

void rs_writer_int(rs_writer *writer, int64_t value)
{
    writer->used += rs_format_int(value, number_room(writer));
}

void rs_writer_uint(rs_writer *writer, uint64_t value)
{
    writer->used += rs_format_uint(value, number_room(writer));
}

void rs_writer_real(rs_writer *writer, double value)
{
    writer->used += rs_format_real(value, number_room(writer));
}

void rs_writer_time(rs_writer *writer, int64_t ns, rs_unit unit)
{
    writer->used += rs_format_time(ns, unit, number_room(writer));
}

/* Bytes from text[i] on that may be copied as they are. */
static size_t plain_run(const char *text, size_t length, size_t i, const unsigned char *special)
{
    size_t start = i;
    while (i < length && !special[(unsigned char)text[i]]) i++;
    return i - start;
}

#define EVERY_16(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x

/* 1: needs a look. Control characters, quote, backslash, and all that is not ASCII. */
static const unsigned char json_special[256] = {
    EVERY_16(1),         EVERY_16(1),         [' '] = 0,           ['"'] = 1,           ['\\'] = 1,
    [127] = 1,           [128] = EVERY_16(1), [144] = EVERY_16(1), [160] = EVERY_16(1), [176] = EVERY_16(1),
    [192] = EVERY_16(1), [208] = EVERY_16(1), [224] = EVERY_16(1), [240] = EVERY_16(1),
};

static const unsigned char csv_special[256] = {
    [0] = 1,
    ['"'] = 1,
    [128] = EVERY_16(1),
    [144] = EVERY_16(1),
    [160] = EVERY_16(1),
    [176] = EVERY_16(1),
    [192] = EVERY_16(1),
    [208] = EVERY_16(1),
    [224] = EVERY_16(1),
    [240] = EVERY_16(1),
};

static void json_escape(rs_writer *writer, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    const char *brief = c == '"'    ? "\\\""
                        : c == '\\' ? "\\\\"
                        : c == '\n' ? "\\n"
                        : c == '\r' ? "\\r"
                        : c == '\t' ? "\\t"
                                    : NULL;
    if (brief)
        rs_writer_bytes(writer, brief, 2);
    else
        rs_writer_bytes(writer, escape, 6);
}

/* Writes the character at text, or U+FFFD for a bad byte; returns the bytes consumed. */
static size_t put_character(rs_writer *writer, const char *text, size_t length)
{
    uint32_t code;
    size_t n = rs_utf8_next(text, length, &code);
    if (n)
        rs_writer_bytes(writer, text, n);
    else
        rs_writer_bytes(writer, RS_REPLACEMENT, 3);
    return n ? n : 1;
}

/* \u in one half, or two beyond 16 bits. */
static void escape_code(rs_writer *writer, uint32_t code)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t halves[2] = {code, 0};
    size_t n = code > 0xFFFF ? 2 : 1;
    if (n == 2) {
        halves[0] = 0xD800 + ((code - 0x10000) >> 10);
        halves[1] = 0xDC00 + ((code - 0x10000) & 0x3FF);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t half = halves[i];
        const char escape[6] = {'\\',          'u', hex[half >> 12], hex[half >> 8 & 15], hex[half >> 4 & 15],
                                hex[half & 15]};
        rs_writer_bytes(writer, escape, sizeof escape);
    }
}

/* As put_character; what would steer a terminal that shows the JSON is escaped, and reads as the same text. */
static size_t put_json_character(rs_writer *writer, const char *text, size_t length)
{
    uint32_t code;
    size_t n = rs_utf8_next(text, length, &code);
    if (!n || !rs_utf8_steers(code)) return put_character(writer, text, length);
    escape_code(writer, code);
    return n;
}

void rs_writer_json_string(rs_writer *writer, const char *text, size_t length)
{
    rs_writer_char(writer, '"');
    for (size_t i = 0; i < length;) {
        size_t run = plain_run(text, length, i, json_special);
        rs_writer_bytes(writer, text + i, run);
        i += run;
        if (i == length) break;
        if ((unsigned char)text[i] < 0x80)
            json_escape(writer, (unsigned char)text[i++]);
        else
            i += put_json_character(writer, text + i, length - i);
    }
    rs_writer_char(writer, '"');
}

static bool needs_quotes(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r') return true;
    return false;
}

void rs_writer_csv_text(rs_writer *writer, const char *text, size_t length)
{
    bool quoted = needs_quotes(text, length);
    if (quoted) rs_writer_char(writer, '"');
    for (size_t i = 0; i < length;) {
        size_t run = plain_run(text, length, i, csv_special);
        rs_writer_bytes(writer, text + i, run);
        i += run;
        if (i == length) break;
        if (text[i] == '"') {
            rs_writer_bytes(writer, "\"\"", 2);
            i++;
        } else if (text[i] == '\0') {
            rs_writer_bytes(writer, RS_REPLACEMENT, 3);
            i++;
        } else {
            i += put_character(writer, text + i, length - i);
        }
    }
    if (quoted) rs_writer_char(writer, '"');
}
