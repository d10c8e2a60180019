/* The words and signs of expressions: what a condition is cut into. Each reads zero-ended text; none allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum rs_where_op {
    RS_OP_EQ,
    RS_OP_NE,
    RS_OP_HAS,
    RS_OP_HAS_NOT,
    RS_OP_MATCHES,
    RS_OP_LT,
    RS_OP_LE,
    RS_OP_GT,
    RS_OP_GE,
    RS_OP_IN
} rs_where_op;

/* Whether the operator asks for an order, which numbers have and texts have not. */
static inline bool rs_op_orders(rs_where_op op)
{
    return op >= RS_OP_LT && op <= RS_OP_GE;
}

static inline bool rs_op_searches(rs_where_op op)
{
    return op >= RS_OP_HAS && op <= RS_OP_MATCHES;
}

typedef struct rs_where_sign {
    const char *text;
    rs_where_op op;
} rs_where_sign;

/* The sign at p; NULL: there is none. */
const rs_where_sign *rs_scan_sign(const char *p);
/* The sign of an operator; "in" has none. */
const char *rs_scan_text_of(rs_where_op op);

/* The first character from p on that is no blank. */
const char *rs_scan_space(const char *p);

/* Whether the character can be part of a word. */
bool rs_scan_is_word(char c);

/* The length of the word at p when it is this one, in either case; 0: it is another. `word` is in small letters. */
size_t rs_scan_word(const char *p, const char *word);

/* Moves *p over the blanks and the word, or the sign that means the same (NULL: none does). false: neither is there, and
 * *p stays. */
bool rs_scan_take_word(const char **p, const char *word, const char *sign);
bool rs_scan_take_char(const char **p, char c);

/* Whether blanks and "and" or "or" follow. */
bool rs_scan_ends_value(const char *p);

/* Where a value without quotes is. */
enum {
    RS_SCAN_BRACKETS = 1, /* in brackets: it ends at one that it did not open */
    RS_SCAN_SELECTOR = 2, /* in a selector: it ends at & and ; too */
    RS_SCAN_EDIT = 4, /* ... which an edit's =VALUE follows: it ends at the last = before , ; or the end */
    RS_SCAN_NAME = 8  /* a name of an edit: it ends at , and ; alone */
};

/* Where a value without quotes ends: at a comma, at " and " or " or ", and as `where` says. Brackets in it are part of
 * it with what they hold; those that never close are text. */
const char *rs_scan_value_end(const char *p, unsigned where);

/* A text in quotes at p: its length without them and with escapes resolved; *end is after it, NULL when it is not closed.
 * out: room for the text, NULL: only measured. A backslash escapes a quote, a backslash, and xHH. */
size_t rs_scan_quoted(const char *p, char *out, const char **end);
static inline bool rs_scan_is_quote(char c)
{
    return c == '"' || c == '\'';
}

typedef struct rs_scanned {
    double first, last;
    bool percent;
} rs_scanned;

/* Whether a text is a number, with % perhaps; in a list also a range of two. */
bool rs_scan_number(const char *text, size_t n, bool in_list, rs_scanned *out);
