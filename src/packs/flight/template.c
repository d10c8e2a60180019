#define _GNU_SOURCE
#include "flight/template.h"
#include "base/ascii.h"

#include <string.h>

static bool is_word(char c)
{
    return rs_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '-';
}

static bool is_address(char c)
{
    return rs_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}

const char *rs_fl_find(const char *text, size_t n, const char *what)
{
    return n ? memmem(text, n, what, strlen(what)) : NULL;
}

/* The end of a field of that class at p; p itself when it is empty. */
static const char *end_of_field(char class, const char *p, const char *end)
{
    const char *at = p;
    switch (class) {
    case 'd':
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end || !rs_is_digit(*at)) return p;
        while (at < end && rs_is_digit(*at)) at++;
        return at;
    case 'w':
        while (at < end && is_word(*at)) at++;
        return at;
    case 's':
        while (at < end && *at != ' ' && *at != '\t') at++;
        return at;
    case 'x':
        while (at < end && is_address(*at)) at++;
        return at;
    case 'q':
        while (at < end && *at != '\'') at++;
        return at;
    default: return end;
    }
}

/* The literal at the beginning of a pattern: up to the next % or blank. */
static size_t literal_length(const char *pattern)
{
    return strcspn(pattern, "% ");
}

/* Matches at p. *gap is where a later try may go on when the pattern has a gap: only the first is retried, so
 * the cost stays linear. */
static bool match_at(const char *p, const char *end, const char *pattern, rs_fl_span *fields, size_t n)
{
    while (*pattern) {
        if (*pattern == ' ') {
            if (p == end || *p != ' ') return false;
            while (p < end && *p == ' ') p++;
            pattern++;
        } else if (*pattern != '%') {
            if (p == end || *p != *pattern) return false;
            p++;
            pattern++;
        } else if (pattern[1] == '%') {
            if (p == end || *p != '%') return false;
            p++;
            pattern += 2;
        } else if (pattern[1] == '?') {
            while (p < end && *p == ' ') p++;
            pattern += 2;
        } else if (pattern[1] == '*') {
            pattern += 2;
            char literal[64];
            size_t length = literal_length(pattern);
            if (length == 0 || length >= sizeof literal) return length == 0 && !*pattern;
            memcpy(literal, pattern, length);
            literal[length] = '\0';
            const char *found = rs_fl_find(p, (size_t)(end - p), literal);
            if (!found) return false;
            p = found;
        } else {
            const char *stop = end_of_field(pattern[1], p, end);
            if (stop == p && pattern[1] != 'r' && pattern[1] != 'q') return false;
            if (n < RS_FL_MAX_FIELDS) fields[n++] = (rs_fl_span){p, (size_t)(stop - p)};
            p = stop;
            pattern += 2;
        }
    }
    return true;
}

bool rs_fl_template(const char *text, size_t n, const char *pattern, rs_fl_span *fields)
{
    char literal[96];
    size_t length = literal_length(pattern);
    const char *end = text + n;
    if (length >= sizeof literal) length = sizeof literal - 1;
    memcpy(literal, pattern, length);
    literal[length] = '\0';
    memset(fields, 0, RS_FL_MAX_FIELDS * sizeof *fields);
    /* A few places are tried: a line that repeats the literal without the rest costs no more. */
    for (int tries = 0; tries < 4; tries++) {
        const char *found = rs_fl_find(text, (size_t)(end - text), literal);
        if (!found) return false;
        if (match_at(found, end, pattern, fields, 0)) return true;
        text = found + 1;
    }
    return false;
}

int64_t rs_fl_span_int(rs_fl_span span)
{
    int64_t value = 0;
    size_t i = 0;
    bool negative = span.n && span.text[0] == '-';
    if (span.n && (span.text[0] == '-' || span.text[0] == '+')) i = 1;
    for (size_t digits = 0; i < span.n && rs_is_digit(span.text[i]) && digits < 18; i++, digits++)
        value = value * 10 + (span.text[i] - '0');
    return negative ? -value : value;
}

bool rs_fl_span_is(rs_fl_span span, const char *text)
{
    return strlen(text) == span.n && memcmp(span.text, text, span.n) == 0;
}
