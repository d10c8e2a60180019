/* Conditions as values: terms FIELD OP VALUE, joined by and, or, not. One grammar for all who pick something by a text
 * of a user, and one printer, which undoes the parser for every value.
 *
 *     cat=kernel, name~gemm, dur>=100         a comma is "and"
 *     stream in (7, 20-23) and not name =~ "^nccl.*Ring"
 *     under(name=forward) or after(name="ProfilerStep#3")
 *     class=communication&group="mesh_dp,shard"&rank=0-3|8
 *
 * A user of the grammar has a language: its fields with their types, and what else it takes. Texts may hold any byte. In
 * quotes (double or single) a backslash is written before a quote or a backslash, and \xHH is the byte HH; a text without
 * quotes ends where the language goes on: at a comma, " and ", " or ", a bracket that it did not open, and so on.
 *
 *     rs_expr *e;
 *     if (rs_expr_parse("step=3 and name~gemm", &language, &e, err) == RS_OK) rs_expr_print(e, &text);
 *     rs_expr_free(e);
 *
 * A value is only read once it is made, and may be used by several threads. */
#pragma once

#include "base/memory.h"
#include "base/ranges.h"
#include "base/text.h"
#include "query/scan.h"
#include "rankscope/where.h"

/* What a field's value is. */
typedef enum rs_datum {
    RS_DATUM_TEXT,
    RS_DATUM_WHOLE, /* whole numbers: 5, 0-3|8, in (5, 7-9) */
    RS_DATUM_TIME,  /* ns; a number of microseconds, or with a unit: 2ms */
    RS_DATUM_WORD,  /* one of the field's words, by its place */
    RS_DATUM_CELL   /* of a column whose type is known later: a text and, where it reads as one, a number */
} rs_datum;

typedef struct rs_field_spec {
    const char *name;
    rs_datum type;
    const char *const *words; /* of RS_DATUM_WORD; ended by NULL */
    bool outside;             /* not allowed inside a function */
} rs_field_spec;

typedef struct rs_language {
    const rs_field_spec *fields; /* NULL: any name is a field, of type RS_DATUM_CELL */
    size_t n_fields;
    const char *const
        *functions; /* FUNCTION(X): X is a condition, or a text of the first field; ended by NULL */
    bool selector;  /* & joins terms, too; ends at ; or , and at the = before the value of an edit */
    bool may_be_empty;
} rs_language;

typedef struct rs_expr rs_expr;

typedef struct rs_datum_value {
    const char *text; /* TEXT, CELL: terminated, but may hold NUL bytes before that */
    size_t n;
    rs_span span;         /* WHOLE; TIME: ns; WORD: first is the word's place */
    double first, last;   /* CELL: where `number` */
    bool number, percent; /* CELL: it reads as a number, or in a list as a range; with a % after it */
} rs_datum_value;

typedef struct rs_expr_term {
    size_t function;    /* place in the language's functions; RS_NO_FUNCTION: a comparison */
    rs_expr *inner;     /* of a function */
    size_t field;       /* place in the language's fields */
    const char *column; /* the field's name where the language has no fields; terminated */
    rs_where_op op;
    rs_datum_value *values; /* one, or those of a list */
    size_t n, capacity;
    rs_pattern *pattern; /* of =~ */
} rs_expr_term;

#define RS_NO_FUNCTION SIZE_MAX
#define RS_EXPR_TERMS 64  /* one bit each */
#define RS_EXPR_STEPS 256 /* enough for that many terms */
#define RS_EXPR_DEPTH 64  /* brackets and functions in each other */

/* A step of a condition in postfix order is the number of a term, or what joins the topmost values. */
enum { RS_EXPR_AND = 250, RS_EXPR_OR, RS_EXPR_NOT };

struct rs_expr {
    const rs_language *language;
    rs_expr_term *terms;
    size_t n_terms, capacity;
    uint8_t steps[RS_EXPR_STEPS];
    size_t n_steps; /* 0: it always holds */
    rs_arena arena; /* texts and names */
    bool failed;    /* memory ran out, or there are too many terms, while it was made */
};

/* ---- making ------------------------------------------------------------------------------------------------- */

/* RS_ERR_USAGE says what is wrong and where, and suggests the nearest word. *out is NULL on failure. */
rs_status rs_expr_parse(const char *text, const rs_language *language, rs_expr **out, rs_error *err);
/* As much of the text as is a condition; *at is then after it. */
rs_status rs_expr_parse_part(const char **at, const rs_language *language, rs_expr **out, rs_error *err);
void rs_expr_free(rs_expr *expr); /* NULL is allowed */

/* By hand: terms are pushed, and join what is topmost. What fails leaves `failed` set.
 * NULL when out of memory; the others take NULL. */
rs_expr *rs_expr_create(const rs_language *language);
void rs_expr_push_text(rs_expr *expr, size_t field, rs_where_op op, const char *text, size_t n);
/* Whole numbers, and times in ns. */
void rs_expr_push_spans(rs_expr *expr, size_t field, rs_where_op op, const rs_span *spans, size_t n);
void rs_expr_push_word(rs_expr *expr, size_t field, size_t word);
/* RS_EXPR_AND, RS_EXPR_OR, RS_EXPR_NOT; a second "not" takes the first away. */
void rs_expr_join(rs_expr *expr, unsigned step);

/* A term with what it owns elsewhere; for the parser. NULL: there are too many, or no memory. */
rs_expr_term *rs_expr_add_term(rs_expr *expr);
/* A text of the condition's own. */
const char *rs_expr_keep(rs_expr *expr, const char *text, size_t n);
rs_datum_value *rs_expr_add_value(rs_expr *expr, rs_expr_term *term);

/* ---- printing ----------------------------------------------------------------------------------------------- */

/* The text that parses to this very condition. Without terms: nothing. */
void rs_expr_print(const rs_expr *expr, rs_text *out);
/* A text as a value: as it is where nothing in it means anything to any language, else in double quotes. */
void rs_expr_print_text(const char *text, size_t n, rs_text *out);

/* ---- deciding ----------------------------------------------------------------------------------------------- */

/* What is known of a condition: a row whose time is not known yet, a cell without a value. */
typedef enum rs_truth { RS_NO, RS_UNKNOWN, RS_YES } rs_truth;

/* The values that wait while a condition is worked out. */
typedef struct rs_truths {
    rs_truth values[RS_EXPR_TERMS + 1];
    size_t n;
} rs_truths;

static inline void rs_truths_push(rs_truths *t, rs_truth value)
{
    t->values[t->n++] = value;
}
/* A step that is no term. */
static inline void rs_truths_join(rs_truths *t, unsigned step)
{
    if (step == RS_EXPR_NOT) {
        t->values[t->n - 1] = (rs_truth)(RS_YES - t->values[t->n - 1]);
        return;
    }
    rs_truth top = t->values[--t->n], *below = &t->values[t->n - 1];
    if ((top > *below) == (step == RS_EXPR_OR)) *below = top;
}
static inline rs_truth rs_truths_end(const rs_truths *t)
{
    return t->n ? t->values[0] : RS_YES;
}

/* The terms that must hold for the condition to hold, a bit each: those that nothing but "and" joins. */
uint64_t rs_expr_required(const rs_expr *expr);

/* Whether a text, or a whole number, meets a comparison of that type. */
bool rs_term_holds_text(const rs_expr_term *term, const char *text, size_t n);
bool rs_term_holds_whole(const rs_expr_term *term, int64_t value);
