#include "input/lines.h"

#include <string.h>

#include "base/memory.h"
#include "base/try.h"

#ifdef RS_SMALL_WINDOWS
#define FIRST_ROOM ((size_t)64) /* fuzzing: lines span reads */
#else
#define FIRST_ROOM ((size_t)256 << 10)
#endif

rs_status rs_lines_open(rs_source *source, rs_lines *out, rs_error *err)
{
    *out = (rs_lines){.source = source, .capacity = FIRST_ROOM};
    out->buffer = rs_malloc(out->capacity);
    return out->buffer ? RS_OK : rs_fail_nomem(err, "a buffer of lines");
}

void rs_lines_close(rs_lines *lines)
{
    rs_free(lines->buffer);
    *lines = (rs_lines){0};
}

/* Reads behind what is there; makes room first. */
static rs_status fill(rs_lines *lines, rs_error *err)
{
    size_t left = lines->end - lines->begin, got = 0;
    memmove(lines->buffer, lines->buffer + lines->begin, left);
    lines->begin = 0;
    lines->end = left;
    if (left == lines->capacity) {
        uint8_t *larger = rs_realloc(lines->buffer, lines->capacity * 2);
        if (!larger) return rs_fail_nomem(err, "a long line");
        lines->buffer = larger;
        lines->capacity *= 2;
    }
    RS_TRY(rs_source_read(lines->source, lines->buffer + left, lines->capacity - left, &got, err));
    lines->ended = got == 0;
    lines->end += got;
    return RS_OK;
}

static void hand_out(rs_lines *lines, size_t n, bool newline, rs_line_text *out)
{
    *out = (rs_line_text){.text = lines->buffer + lines->begin,
                          .n = n,
                          .offset = lines->offset,
                          .number = ++lines->number,
                          .whole = newline};
    lines->begin += n + newline;
    lines->offset += n + newline;
}

/* Drops text up to the next newline. */
static rs_status pass_over(rs_lines *lines, rs_line_text *out, rs_error *err)
{
    *out = (rs_line_text){.offset = lines->offset, .number = ++lines->number, .too_long = true};
    for (;;) {
        uint8_t *from = lines->buffer + lines->begin;
        uint8_t *newline = memchr(from, '\n', lines->end - lines->begin);
        size_t n = newline ? (size_t)(newline - from) + 1 : lines->end - lines->begin;
        lines->begin += n;
        lines->offset += n;
        out->whole = newline != NULL;
        if (newline || lines->ended) return RS_OK;
        RS_TRY(fill(lines, err));
    }
}

bool rs_lines_next(rs_lines *lines, rs_line_text *out, rs_status *status, rs_error *err)
{
    size_t searched = 0;
    *status = RS_OK;
    for (;;) {
        size_t n = lines->end - lines->begin;
        uint8_t *from = lines->buffer + lines->begin;
        uint8_t *newline = n > searched ? memchr(from + searched, '\n', n - searched) : NULL;
        /* also where the whole of it is in the buffer by now */
        if ((newline ? (size_t)(newline - from) : n) > RS_LINES_MAX) {
            *status = pass_over(lines, out, err);
            return *status == RS_OK;
        }
        if (newline) {
            hand_out(lines, (size_t)(newline - from), true, out);
            return true;
        }
        if (lines->ended) {
            if (n) hand_out(lines, n, false, out);
            return n > 0;
        }
        searched = n;
        *status = fill(lines, err);
        if (*status != RS_OK) return false;
    }
}
