/* A buffered writer over an rs_sink with the conversions that the machine-readable formats need.
 *
 * A failed sink is remembered; everything written afterwards is dropped, and rs_writer_finish reports it. */
#pragma once

#include <string.h>

#include "base/each.h"
#include "rankscope/table.h"
#include "rankscope/text.h"

#define RS_WRITER_BUFFER 32768

typedef struct rs_writer {
    const rs_sink *sink;
    size_t used;
    bool failed;
    char buffer[RS_WRITER_BUFFER];
} rs_writer;

void rs_writer_init(rs_writer *writer, const rs_sink *sink);
/* Flushes; RS_ERR_IO when the sink failed at any time. */
rs_status rs_writer_finish(rs_writer *writer, rs_error *err);

void rs_writer_flush(rs_writer *writer);
void rs_writer_bytes(rs_writer *writer, const char *bytes, size_t n);
void rs_writer_repeat(rs_writer *writer, char c, size_t n);

static inline void rs_writer_char(rs_writer *writer, char c)
{
    if (writer->used == RS_WRITER_BUFFER) rs_writer_flush(writer);
    writer->buffer[writer->used++] = c;
}

static inline void rs_writer_text(rs_writer *writer, const char *text)
{
    rs_writer_bytes(writer, text, strlen(text));
}

void rs_writer_int(rs_writer *writer, int64_t value);
void rs_writer_uint(rs_writer *writer, uint64_t value);
/* RS_WRITE(writer, "rank ", rank, ": ") puts texts and whole numbers, 32 at most. A char is a number, too. */
#define RS_WRITE(writer, ...) RS_EACH(RS_WRITE_ONE, writer, __VA_ARGS__)
/* clang-format off */
#define RS_WRITE_ONE(writer, x)                                                                              \
    _Generic((x), char *: rs_writer_text, const char *: rs_writer_text, unsigned: rs_writer_uint,            \
             unsigned long: rs_writer_uint, unsigned long long: rs_writer_uint, default: rs_writer_int)(writer, x)
/* clang-format on */
/* A quoted JSON string; bytes that are no UTF-8 become U+FFFD. */
void rs_writer_json_string(rs_writer *writer, const char *text, size_t length);
/* A CSV field, quoted where RFC 4180 asks for it; bytes that are no UTF-8, and NUL, become U+FFFD. */
void rs_writer_csv_text(rs_writer *writer, const char *text, size_t length);
/* A finite double or an RS_TIME, as rs_format_real and rs_format_time write them. */
void rs_writer_real(rs_writer *writer, double value);
void rs_writer_time(rs_writer *writer, int64_t ns, rs_unit unit);
