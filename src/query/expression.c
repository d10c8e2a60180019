/* Conditions made by hand, printed, and asked. The parser is expression_parse.c. */
#include "query/expression.h"

#include <string.h>

#include "base/ascii.h"
#include "text/numbers.h"
#include "text/utf8.h"

void rs_expr_free(rs_expr *e)
{
    if (!e) return;
    for (size_t i = 0; i < e->n_terms; i++) {
        rs_free(e->terms[i].values);
        rs_pattern_free(e->terms[i].pattern);
        rs_expr_free(e->terms[i].inner); /* no deeper than RS_EXPR_DEPTH */
    }
    rs_free(e->terms);
    rs_arena_clear(&e->arena);
    rs_free(e);
}

/* ---- making ------------------------------------------------------------------------------------------------- */

rs_expr *rs_expr_create(const rs_language *language)
{
    rs_expr *e = rs_calloc(1, sizeof *e);
    if (e) e->language = language;
    return e;
}

rs_expr_term *rs_expr_add_term(rs_expr *e)
{
    if (e->n_terms == RS_EXPR_TERMS || !RS_GROW_ONE(e->terms, e->n_terms, e->capacity)) {
        e->failed = true;
        return NULL;
    }
    e->terms[e->n_terms] = (rs_expr_term){.function = RS_NO_FUNCTION};
    return &e->terms[e->n_terms++];
}

const char *rs_expr_keep(rs_expr *e, const char *text, size_t n)
{
    const char *kept = rs_arena_strndup(&e->arena, text, n);
    if (!kept) e->failed = true;
    return kept;
}

rs_datum_value *rs_expr_add_value(rs_expr *e, rs_expr_term *t)
{
    if (!RS_GROW_ONE(t->values, t->n, t->capacity)) {
        e->failed = true;
        return NULL;
    }
    t->values[t->n] = (rs_datum_value){0};
    return &t->values[t->n++];
}

/* A comparison of a field, pushed. NULL: it failed before, or does now. */
static rs_expr_term *push(rs_expr *e, size_t field, rs_where_op op)
{
    rs_expr_term *t = e && !e->failed ? rs_expr_add_term(e) : NULL;
    if (!t) return NULL;
    t->field = field;
    t->op = op;
    e->steps[e->n_steps++] = (uint8_t)(e->n_terms - 1);
    return t;
}

void rs_expr_push_text(rs_expr *e, size_t field, rs_where_op op, const char *text, size_t n)
{
    rs_expr_term *t = push(e, field, op);
    rs_datum_value *v = t ? rs_expr_add_value(e, t) : NULL;
    if (!v) return;
    v->text = rs_expr_keep(e, text, n);
    v->n = n;
    if (v->text && op == RS_OP_MATCHES && rs_pattern_compile(v->text, &t->pattern, NULL) != RS_OK)
        e->failed = true;
}

void rs_expr_push_spans(rs_expr *e, size_t field, rs_where_op op, const rs_span *spans, size_t n)
{
    rs_expr_term *t = push(e, field, op);
    for (size_t i = 0; t && i < n; i++) {
        rs_datum_value *v = rs_expr_add_value(e, t);
        if (!v) return;
        v->span = spans[i];
    }
}

void rs_expr_push_word(rs_expr *e, size_t field, size_t word)
{
    rs_expr_push_spans(e, field, RS_OP_EQ, &(rs_span){(int64_t)word, (int64_t)word}, 1);
}

void rs_expr_join(rs_expr *e, unsigned step)
{
    if (!e || e->failed) return;
    if (step == RS_EXPR_NOT && e->steps[e->n_steps - 1] == RS_EXPR_NOT)
        e->n_steps--;
    else
        e->steps[e->n_steps++] = (uint8_t)step;
}

/* ---- printing ----------------------------------------------------------------------------------------------- */

static bool is_reserved(const char *text, size_t n)
{
    static const char *const words[] = {"and", "or", "not", "in"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = 0;
        while (k < n && words[i][k] && rs_lower(text[k]) == words[i][k]) k++;
        if (k == n && !words[i][k]) return true;
    }
    return false;
}

/* Whether it needs quotes. */
static bool expr_is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!rs_scan_is_word(text[i]) && (!text[i] || !strchr(".:/@#-", text[i]))) return false;
    return n && text[0] != '@' && !is_reserved(text, n); /* an edit's axis begins with @ */
}

/* In double quotes. What would steer a terminal, and bytes that are no UTF-8, are written as \xHH. */
static void print_quoted(const char *text, size_t n, rs_text *out)
{
    static const char hex[] = "0123456789abcdef";
    rs_text_add(out, "\"", 1);
    for (size_t i = 0, m; i < n; i += m) {
        uint32_t code;
        m = rs_utf8_next(text + i, n - i, &code);
        bool plain = m && !rs_utf8_steers(code);
        if (!m) m = 1;
        if (text[i] == '"' || text[i] == '\\') rs_text_add(out, "\\", 1);
        if (plain) rs_text_add(out, text + i, m);
        for (size_t k = i; !plain && k < i + m; k++) {
            const unsigned char byte = (unsigned char)text[k];
            rs_text_add(out, (const char[]){'\\', 'x', hex[byte >> 4], hex[byte & 15]}, 4);
        }
    }
    rs_text_add(out, "\"", 1);
}

void rs_expr_print_text(const char *text, size_t n, rs_text *out)
{
    if (expr_is_plain(text, n))
        rs_text_add(out, text, n);
    else
        print_quoted(text, n, out);
}

/* A double holds times below this to less than half a nanosecond when they are read as microseconds. */
#define EXACT_IN_US ((int64_t)1 << 50)

static void print_time(int64_t ns, rs_text *out)
{
    char digits[RS_NUMBER_SIZE];
    bool in_us = ns > -EXACT_IN_US && ns < EXACT_IN_US;
    rs_text_add(out, digits, in_us ? rs_format_time(ns, RS_UNIT_US, digits) : rs_format_int(ns, digits));
    if (!in_us) rs_text_put(out, "ns");
}

static void print_number(rs_datum type, int64_t value, rs_text *out)
{
    char digits[RS_NUMBER_SIZE];
    if (type == RS_DATUM_TIME)
        print_time(value, out);
    else
        rs_text_add(out, digits, rs_format_int(value, digits));
}

static rs_datum type_of(const rs_expr *e, const rs_expr_term *t)
{
    return e->language->fields ? e->language->fields[t->field].type : RS_DATUM_CELL;
}

static void print_value(const rs_expr *e, const rs_expr_term *t, const rs_datum_value *v, rs_text *out)
{
    rs_datum type = type_of(e, t);
    bool list = t->op == RS_OP_IN;
    switch (type) {
    case RS_DATUM_TEXT: rs_expr_print_text(v->text, v->n, out); break;
    case RS_DATUM_WORD: rs_text_put(out, e->language->fields[t->field].words[v->span.first]); break;
    case RS_DATUM_CELL:
        if (v->number)
            rs_text_add(out, v->text, v->n);
        else if (rs_scan_number(v->text, v->n, list, &(rs_scanned){0}))
            print_quoted(v->text, v->n, out); /* in quotes it stays a text */
        else
            rs_expr_print_text(v->text, v->n, out);
        break;
    default:
        print_number(type, v->span.first, out);
        if (v->span.last == v->span.first) break;
        rs_text_add(out, "-", 1);
        print_number(type, v->span.last, out);
    }
}

static bool is_word(const char *text)
{
    size_t n = 0;
    while (rs_scan_is_word(text[n])) n++;
    return n && !text[n] && !rs_is_digit(text[0]) && !is_reserved(text, n);
}

static void print_comparison(const rs_expr *e, const rs_expr_term *t, bool negated, rs_text *out)
{
    bool list = t->op == RS_OP_IN;
    const char *name = e->language->fields ? e->language->fields[t->field].name : t->column;
    if (is_word(name))
        rs_text_put(out, name);
    else
        print_quoted(name, strlen(name), out);
    rs_text_put(out, list ? negated ? " not in (" : " in (" : rs_scan_text_of(t->op));
    for (size_t i = 0; i < t->n; i++) {
        if (i) rs_text_put(out, list ? ", " : "|");
        print_value(e, t, &t->values[i], out);
    }
    if (list) rs_text_add(out, ")", 1);
}

static void print_term(const rs_expr *e, const rs_expr_term *t, bool negated, rs_text *out)
{
    if (t->function == RS_NO_FUNCTION) {
        print_comparison(e, t, negated, out);
        return;
    }
    rs_text_printf(out, "%s(", e->language->functions[t->function]);
    rs_expr_print(t->inner, out);
    rs_text_add(out, ")", 1);
}

/* The first step of the condition that ends with this one. */
static size_t begin_of(const rs_expr *e, size_t end)
{
    for (size_t needed = 1;; end--) {
        if (e->steps[end] < RS_EXPR_AND)
            needed--;
        else if (e->steps[end] != RS_EXPR_NOT)
            needed++;
        if (!needed) return end;
    }
}

static void print_to(const rs_expr *e, size_t end, bool in_brackets, rs_text *out);

/* The condition that ends there, in brackets where it is joined by what binds no tighter than what is around it. */
static void print_part(const rs_expr *e, size_t end, unsigned around, rs_text *out)
{
    unsigned step = e->steps[end];
    print_to(e, end, step >= RS_EXPR_AND && step != RS_EXPR_NOT && step >= around, out);
}

static void print_to(const rs_expr *e, size_t end, bool in_brackets, rs_text *out)
{
    unsigned step = e->steps[end];
    if (in_brackets) rs_text_add(out, "(", 1);
    if (step < RS_EXPR_AND) {
        print_term(e, &e->terms[step], false, out);
    } else if (step == RS_EXPR_NOT) {
        const rs_expr_term *list = e->steps[end - 1] < RS_EXPR_AND ? &e->terms[e->steps[end - 1]] : NULL;
        if (list && list->function == RS_NO_FUNCTION && list->op == RS_OP_IN) {
            print_term(e, list, true, out);
        } else {
            rs_text_put(out, "not ");
            print_part(e, end - 1, RS_EXPR_AND, out);
        }
    } else {
        /* left to right: on the left what binds as tight needs no brackets */
        print_part(e, begin_of(e, end - 1) - 1, step + 1, out);
        rs_text_put(out, step == RS_EXPR_OR ? " or " : e->language->selector ? "&" : " and ");
        print_part(e, end - 1, step, out);
    }
    if (in_brackets) rs_text_add(out, ")", 1);
}

void rs_expr_print(const rs_expr *e, rs_text *out)
{
    if (e->n_steps) print_to(e, e->n_steps - 1, false, out);
}

/* ---- asking ------------------------------------------------------------------------------------------------- */

static uint64_t required_to(const rs_expr *e, size_t end)
{
    unsigned step = e->steps[end];
    if (step < RS_EXPR_AND) return UINT64_C(1) << step;
    return step != RS_EXPR_AND ? 0 : required_to(e, end - 1) | required_to(e, begin_of(e, end - 1) - 1);
}

uint64_t rs_expr_required(const rs_expr *e)
{
    return e->n_steps ? required_to(e, e->n_steps - 1) : 0;
}

static bool contains(const char *text, size_t n, const char *part, size_t m)
{
    const char *end = text + n;
    if (m == 0) return true;
    for (const char *p = text; (size_t)(end - p) >= m; p++) {
        p = memchr(p, part[0], (size_t)(end - p) - m + 1);
        if (!p) return false;
        if (memcmp(p, part, m) == 0) return true;
    }
    return false;
}

bool rs_term_holds_text(const rs_expr_term *t, const char *text, size_t n)
{
    const rs_datum_value *v = t->values;
    bool equal = false;
    if (t->op == RS_OP_MATCHES) return rs_pattern_matches(t->pattern, text, n);
    if (rs_op_searches(t->op)) return contains(text, n, v->text, v->n) == (t->op == RS_OP_HAS);
    for (size_t i = 0; !equal && i < t->n; i++) equal = n == v[i].n && memcmp(text, v[i].text, n) == 0;
    return equal == (t->op != RS_OP_NE);
}

bool rs_term_holds_whole(const rs_expr_term *t, int64_t x)
{
    bool any = false;
    switch (t->op) {
    case RS_OP_LT: return x < t->values->span.first;
    case RS_OP_LE: return x <= t->values->span.first;
    case RS_OP_GT: return x > t->values->span.first;
    case RS_OP_GE: return x >= t->values->span.first;
    default: break;
    }
    for (size_t i = 0; !any && i < t->n; i++)
        any = x >= t->values[i].span.first && x <= t->values[i].span.last;
    return any == (t->op != RS_OP_NE);
}
