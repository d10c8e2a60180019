/* The words and signs of the expression language: what --where and --fail-on are cut into. Each reads zero-ended text;
 * none allocates. */
#ifndef RS_QUERY_SCAN_H
#define RS_QUERY_SCAN_H

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

/* The sign that stands at p; NULL: none does. */
const rs_where_sign *rs_scan_sign(const char *p);

/* The first character from p on that is no blank. */
const char *rs_scan_space(const char *p);

/* Whether the character can stand in a word. */
bool rs_scan_is_word(char c);

/* The length of the word at p when it is this one, in either case; 0: it is another. `word` is in small letters. */
size_t rs_scan_word(const char *p, const char *word);

/* Moves *p behind the word, or behind the sign that means the same (NULL: none does), and the blanks before it. false:
 * neither stands there, and *p stays. */
bool rs_scan_take_word(const char **p, const char *word, const char *sign);
bool rs_scan_take_char(const char **p, char c);

/* Whether blanks and "and" or "or" follow. */
bool rs_scan_ends_value(const char *p);

/* Where a value without quotes ends: at a comma, at " and ", at a bracket that it did not open. Brackets that never
 * close are text. */
const char *rs_scan_value_end(const char *p, bool in_brackets);

#endif
