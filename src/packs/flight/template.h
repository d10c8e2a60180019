/* Matching a line against a template, without backtracking over more than one gap: linear in the line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_FL_MAX_FIELDS 8

typedef struct rs_fl_span {
    const char *text;
    size_t n;
} rs_fl_span;

/* Looks for `pattern` anywhere in text. Literals represent themselves; a blank fits one or more blanks, and
 *   %d  a signed number          %w  letters, digits, _ . -       %s  anything but blanks
 *   %r  the rest of the text     %x  hexadecimal digits, : and .  %*  anything, as little as possible
 *   %?  a blank or nothing       %q  anything but a quote '       %%  a percent sign
 * %d %w %s %r %x %q are fields, in order. The pattern must begin with a literal. */
bool rs_fl_template(const char *text, size_t n, const char *pattern, rs_fl_span *fields);

/* A field as a number, clamped to 18 digits. */
int64_t rs_fl_span_int(rs_fl_span span);
bool rs_fl_span_is(rs_fl_span span, const char *text);
/* The first occurrence of a text, NULL when there is none. */
const char *rs_fl_find(const char *text, size_t n, const char *what);
