/* The filter language of `events --where` and `slice --where`: a condition on one event, as text.
 *
 *     rs_where *where;
 *     if (rs_where_parse("stream in (7, 20-23) and dur >= 2ms", "--where", &where, &err) == RS_OK) ...
 *     rs_where_free(where);
 *
 * Stability: experimental. */
#ifndef RANKSCOPE_WHERE_H
#define RANKSCOPE_WHERE_H

#include "rankscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_where rs_where;

/* Fields, operators and functions, for --help. */
#define RS_WHERE_HELP                                                                                         \
    "A condition consists of terms FIELD OP VALUE, joined by \"and\" (or a comma), \"or\", \"not\" and "      \
    "parentheses. Text fields are name, cat, phase, pid, tid, with = != ~ !~ (contains) and =~ (a POSIX "     \
    "extended regular expression). Numbers are ts and dur (microseconds, or with a unit: 2ms), step, "        \
    "device, stream, correlation, external_id, position, with = != < <= > >=. FIELD in (A, B, 7-9) takes a "  \
    "list. A value with a comma, \" or \" or \" and \" in it goes in quotes, in which a backslash escapes a " \
    "quote or a backslash, and \\xHH is the byte HH. under(X): what is inside of an event X on its "          \
    "thread, X itself, and the GPU work launched there; after(X): what starts when the rank's first X is "    \
    "over; before(X): what starts before it does. X is a name or a condition."

/* option leads messages: "--where". A text that is NULL or empty holds for every event. RS_ERR_USAGE says what
 * is wrong and where, and suggests the nearest word. */
RS_API rs_status rs_where_parse(const char *text, const char *option, rs_where **out, rs_error *err);
RS_API void rs_where_free(rs_where *where); /* NULL is allowed */

/* The language's regular expressions by themselves: POSIX extended, case matters, in the C locale whatever the
 * process has. RS_ERR_USAGE says what is wrong. Compiled once, used by any number of threads. */
typedef struct rs_pattern rs_pattern;
RS_API rs_status rs_pattern_compile(const char *text, rs_pattern **out, rs_error *err);
/* Whether it is found in a terminated text of n bytes; of a longer one in its first 64 KiB. */
RS_API bool rs_pattern_matches(const rs_pattern *pattern, const char *text, size_t n);
/* Whether that takes about 0.1 s at most, whatever the n bytes are. */
RS_API bool rs_pattern_is_quick(const rs_pattern *pattern, size_t n);
RS_API void rs_pattern_free(rs_pattern *pattern); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
