/* A text line by line, in bounded memory. */
#pragma once

#include "input/source.h"

#define RS_LINES_MAX ((size_t)32 << 20) /* longest line that is read */

typedef struct rs_lines {
    rs_source *source; /* borrowed */
    uint8_t *buffer;
    size_t capacity, begin, end; /* text not yet handed out */
    uint64_t offset;             /* of buffer[begin] */
    uint64_t number;             /* of the line handed out last, from 1 */
    bool ended;                  /* the source has no more */
} rs_lines;

typedef struct rs_line_text {
    const uint8_t *text; /* without its newline; valid until the next call */
    size_t n;
    uint64_t offset, number;
    bool whole;    /* ended by a newline */
    bool too_long; /* skipped; text is NULL */
} rs_line_text;

rs_status rs_lines_open(rs_source *source, rs_lines *out, rs_error *err);
void rs_lines_close(rs_lines *lines);
/* false at the end of the text or on an error (*status). */
bool rs_lines_next(rs_lines *lines, rs_line_text *out, rs_status *status, rs_error *err);
