/* From the text of a condition to its value. */
#include <string.h>

#include "base/ascii.h"
#include "base/real.h"
#include "base/suggest.h"
#include "base/try.h"
#include "input/json.h"
#include "query/expression.h"

typedef struct parser {
    const char *p;
    const rs_language *language;
    rs_expr *expr;
    unsigned depth;     /* brackets and functions open */
    unsigned functions; /* functions around this place */
} parser;

static rs_status parse_any(parser *s, rs_error *err);

/* What is shown of a text in a message. */
#define SHOWN 60
static int shown(size_t n)
{
    return (int)(n < SHOWN ? n : SHOWN);
}

static rs_status fail_memory(rs_error *err)
{
    return rs_fail_nomem(err, "condition");
}

/* ---- texts and numbers -------------------------------------------------------------------------------------- */

/* Where a value without quotes ends, at this depth. */
static const char *value_end(const parser *s, const char *p)
{
    unsigned where = s->depth ? RS_SCAN_BRACKETS : 0;
    if (s->language->selector) where |= RS_SCAN_SELECTOR | (s->depth ? 0 : RS_SCAN_EDIT);
    return rs_scan_value_end(p, where);
}

static rs_status take_quoted(parser *s, const char **text, size_t *n, rs_error *err)
{
    const char *end;
    size_t length = rs_scan_quoted(s->p, NULL, &end);
    char *out = end ? rs_arena_alloc(&s->expr->arena, length + 1) : NULL;
    if (!end) return rs_fail(err, RS_ERR_USAGE, "no closing quote at %.40s", s->p);
    if (!out) return fail_memory(err);
    *n = rs_scan_quoted(s->p, out, &end);
    out[*n] = '\0';
    *text = out;
    s->p = end;
    return RS_OK;
}

/* The text of a value, kept; in_list: in the brackets of a list. */
static rs_status take_text(parser *s, bool in_list, const char **text, size_t *n, bool *quoted, rs_error *err)
{
    s->p = rs_scan_space(s->p);
    *quoted = rs_scan_is_quote(*s->p);
    if (*quoted) return take_quoted(s, text, n, err);
    s->depth += in_list;
    const char *end = value_end(s, s->p), *begin = s->p;
    s->depth -= in_list;
    s->p = end;
    while (end > begin && rs_scan_space(end - 1) != end - 1) end--;
    *n = (size_t)(end - begin);
    *text = rs_arena_strndup(&s->expr->arena, begin, *n);
    return *text ? RS_OK : fail_memory(err);
}

/* A time in microseconds, or with a unit, in ns. */
static bool read_time(const char *text, size_t n, int64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double factor = 1e3, value;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t m = strlen(units[i].unit);
        if (n <= m || memcmp(text + n - m, units[i].unit, m) != 0) continue;
        factor = units[i].ns;
        n -= m;
        while (n && text[n - 1] == ' ') n--;
        break;
    }
    if (factor == 1 && rs_json_int((const uint8_t *)text, n, ns)) return true;
    if (!rs_json_real((const uint8_t *)text, n, &value)) return false;
    value *= factor;
    if (!(value > -9e18 && value < 9e18)) return false;
    *ns = rs_int_of(value + (value < 0 ? -0.5 : 0.5));
    return true;
}

static bool read_number(rs_datum type, const char *text, size_t n, int64_t *out)
{
    while (n && rs_is_space(*text)) text++, n--;
    while (n && rs_is_space(text[n - 1])) n--;
    return type == RS_DATUM_TIME ? read_time(text, n, out) : rs_json_int((const uint8_t *)text, n, out);
}

static bool read_span(rs_datum type, const char *text, size_t n, bool ranges, rs_span *out)
{
    bool ok = read_number(type, text, n, &out->first);
    out->last = out->first;
    for (size_t i = 1; !ok && ranges && i + 1 < n; i++)
        ok = text[i] == '-' && read_number(type, text, i, &out->first) &&
             read_number(type, text + i + 1, n - i - 1, &out->last);
    return ok;
}

/* ---- values ------------------------------------------------------------------------------------------------- */

static const rs_field_spec *field_of(const parser *s, const rs_expr_term *t)
{
    static const rs_field_spec any = {.type = RS_DATUM_CELL};
    return s->language->fields ? &s->language->fields[t->field] : &any;
}

static const char *name_of(const parser *s, const rs_expr_term *t)
{
    return t->column ? t->column : field_of(s, t)->name;
}

/* "0-3|8" */
static rs_status add_spans(parser *s, rs_expr_term *t, const char *text, size_t n, rs_error *err)
{
    rs_datum type = field_of(s, t)->type;
    bool several = t->op == RS_OP_EQ || t->op == RS_OP_NE;
    for (const char *at = text, *end = text + n, *next; at <= end; at = next + 1) {
        const char *bar = several ? memchr(at, '|', (size_t)(end - at)) : NULL;
        next = bar ? bar : end;
        rs_datum_value *v = rs_expr_add_value(s->expr, t);
        if (!v) return fail_memory(err);
        if (!read_span(type, at, (size_t)(next - at), !rs_op_orders(t->op), &v->span))
            return rs_fail(err, RS_ERR_USAGE, "%s needs a %s, not \"%.*s\"", name_of(s, t),
                           type == RS_DATUM_TIME ? "number of microseconds" : "whole number", shown(n), text);
    }
    return RS_OK;
}

static rs_status add_word(parser *s, rs_expr_term *t, const char *text, rs_error *err)
{
    const rs_field_spec *f = field_of(s, t);
    rs_suggestion nearest = {0};
    rs_datum_value *v = rs_expr_add_value(s->expr, t);
    if (!v) return fail_memory(err);
    for (size_t i = 0; f->words[i]; i++) {
        if (strcmp(f->words[i], text) == 0) {
            v->span = (rs_span){(int64_t)i, (int64_t)i};
            return RS_OK;
        }
        rs_suggest_from(&nearest, text, f->words[i]);
    }
    return rs_fail(err, RS_ERR_USAGE, "there is no %s \"%.60s\"%s%s%s", f->name, text,
                   nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
                   nearest.best ? "?" : "");
}

static rs_status add_cell(parser *s, rs_expr_term *t, const char *text, size_t n, bool quoted, rs_error *err)
{
    rs_scanned number;
    bool is_number = !quoted && rs_scan_number(text, n, t->op == RS_OP_IN, &number);
    if (!quoted && !n)
        return rs_fail(err, RS_ERR_USAGE, "no value after %s %s", name_of(s, t), rs_scan_text_of(t->op));
    if (rs_op_orders(t->op) && !is_number)
        return rs_fail(err, RS_ERR_USAGE, "%s%s needs a number, not \"%.*s\"", name_of(s, t),
                       rs_scan_text_of(t->op), shown(n), text);
    rs_datum_value *v = rs_expr_add_value(s->expr, t);
    if (!v) return fail_memory(err);
    *v = (rs_datum_value){.text = text, .n = n, .number = is_number};
    if (!is_number) return RS_OK;
    v->first = number.first;
    v->last = number.last;
    v->percent = number.percent;
    return RS_OK;
}

static rs_status add_value(parser *s, rs_expr_term *t, bool in_list, rs_error *err)
{
    const char *text = NULL;
    size_t n = 0;
    bool quoted = false;
    RS_TRY(take_text(s, in_list, &text, &n, &quoted, err));
    switch (field_of(s, t)->type) {
    case RS_DATUM_TEXT: break;
    case RS_DATUM_WORD: return add_word(s, t, text, err);
    case RS_DATUM_CELL: return add_cell(s, t, text, n, quoted, err);
    default: return add_spans(s, t, text, n, err);
    }
    rs_datum_value *v = rs_expr_add_value(s->expr, t);
    if (!v) return fail_memory(err);
    *v = (rs_datum_value){.text = text, .n = n};
    return RS_OK;
}

static rs_status parse_list(parser *s, rs_expr_term *t, rs_error *err)
{
    if (!rs_scan_take_char(&s->p, '('))
        return rs_fail(err, RS_ERR_USAGE, "\"in\" takes a list: %s in (A, B)", name_of(s, t));
    do RS_TRY(add_value(s, t, true, err));
    while (rs_scan_take_char(&s->p, ','));
    if (rs_scan_take_char(&s->p, ')')) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "the list is not closed at \"%.40s\"", s->p);
}

/* ---- terms -------------------------------------------------------------------------------------------------- */

static rs_status check_operator(const parser *s, const rs_expr_term *t, rs_error *err)
{
    const rs_field_spec *f = field_of(s, t);
    switch (f->type) {
    case RS_DATUM_CELL: return RS_OK;
    case RS_DATUM_TEXT:
        if (!rs_op_orders(t->op)) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "%s is text, it takes = != ~ !~ =~ in", f->name);
    case RS_DATUM_WORD:
        if (t->op == RS_OP_EQ) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "%s takes = alone", f->name);
    default:
        if (!rs_op_searches(t->op)) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "%s is a number, it takes = != < <= > >= in", f->name);
    }
}

/* After the field: its operator and value. */
static rs_status parse_comparison(parser *s, rs_expr_term *t, bool *negated, rs_error *err)
{
    *negated = rs_scan_take_word(&s->p, "not", NULL);
    if (field_of(s, t)->outside && s->functions)
        return rs_fail(err, RS_ERR_USAGE, "%s is not allowed inside under(), after() and before()",
                       name_of(s, t));
    if (rs_scan_take_word(&s->p, "in", NULL)) {
        t->op = RS_OP_IN;
        RS_TRY(check_operator(s, t, err));
        return parse_list(s, t, err);
    }
    const char *p = rs_scan_space(s->p);
    const rs_where_sign *sign = *negated ? NULL : rs_scan_sign(p);
    if (!sign) return rs_fail(err, RS_ERR_USAGE, "expected one of = != ~ !~ =~ < <= > >= in at \"%.40s\"", p);
    s->p = p + strlen(sign->text);
    t->op = sign->op;
    RS_TRY(check_operator(s, t, err));
    RS_TRY(add_value(s, t, false, err));
    if (t->op != RS_OP_MATCHES) return RS_OK;
    return rs_pattern_compile(t->values->text, &t->pattern, err);
}

/* The place of a word among the fields, or SIZE_MAX. */
static size_t find_field(const rs_language *l, const char *word, size_t n)
{
    for (size_t i = 0; i < l->n_fields; i++)
        if (strlen(l->fields[i].name) == n && memcmp(l->fields[i].name, word, n) == 0) return i;
    return SIZE_MAX;
}

static rs_status fail_field(const rs_language *l, const char *word, size_t n, rs_error *err)
{
    rs_suggestion nearest = {0};
    RS_SCOPED(rs_text_clear) rs_text known = {0};
    char typed[SHOWN + 1] = "";
    if (n) memcpy(typed, word, (size_t)shown(n));
    for (size_t i = 0; i < l->n_fields; i++) {
        rs_suggest_from(&nearest, typed, l->fields[i].name);
        rs_text_printf(&known, "%s%s", i ? ", " : "", l->fields[i].name);
    }
    return rs_fail(err, RS_ERR_USAGE, "there is no field \"%s\"%s%s; there is %s", typed,
                   nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
                   rs_text_get(&known) ? rs_text_get(&known) : "");
}

/* "in (", or "not in (". */
static bool is_list(const char *p)
{
    size_t n = rs_scan_word(p, "not");
    if (n) p = rs_scan_space(p + n);
    n = rs_scan_word(p, "in");
    return n && *rs_scan_space(p + n) == '(';
}

/* The name of a column may hold blanks and brackets, "busy_time(us)": it ends at its operator. */
static rs_status take_column(parser *s, rs_expr_term *t, rs_error *err)
{
    const char *begin = s->p, *end = begin;
    size_t n = 0;
    if (rs_scan_is_quote(*begin)) {
        RS_TRY(take_quoted(s, &t->column, &n, err));
        return n ? RS_OK : rs_fail(err, RS_ERR_USAGE, "a column has a name, \"\" is none");
    }
    while (*end && *end != ',' && !rs_scan_sign(end) && !rs_scan_ends_value(end) &&
           !(rs_is_space(*end) && is_list(rs_scan_space(end))))
        end++;
    s->p = end;
    while (end > begin && rs_is_space(end[-1])) end--;
    if (end == begin || !*s->p)
        return rs_fail(err, RS_ERR_USAGE,
                       "\"%.80s\" is no condition: COLUMN OP VALUE with OP one of < <= > >= = != ~ !~ =~ in, "
                       "joined by and (or a comma), or, not, ( )",
                       begin);
    t->column = rs_arena_strndup(&s->expr->arena, begin, (size_t)(end - begin));
    return t->column ? RS_OK : fail_memory(err);
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (rs_scan_is_word(p[n])) n++;
    return n;
}

/* The function that opens at p, or RS_NO_FUNCTION. */
static size_t find_function(const rs_language *l, const char *p)
{
    for (size_t i = 0; l->functions && l->functions[i]; i++) {
        size_t n = rs_scan_word(p, l->functions[i]);
        if (n && *rs_scan_space(p + n) == '(') return i;
    }
    return RS_NO_FUNCTION;
}

/* Whether what a function holds is a condition; else it is a text of the first field. */
static bool is_condition(const rs_language *l, const char *p)
{
    p = rs_scan_space(p);
    const char *next = rs_scan_space(p + word_length(p));
    if (find_field(l, p, word_length(p)) != SIZE_MAX)
        return rs_scan_sign(next) || rs_scan_word(next, "in") || rs_scan_word(next, "not");
    return *p == '(' || rs_scan_word(p, "not") || find_function(l, p) != RS_NO_FUNCTION;
}

static rs_status emit(parser *s, unsigned step, rs_error *err)
{
    rs_expr_join(s->expr, step);
    return s->expr->failed ? fail_memory(err) : RS_OK;
}

static rs_status new_term(parser *s, rs_expr_term **out, rs_error *err)
{
    if (s->expr->n_terms == RS_EXPR_TERMS)
        return rs_fail(err, RS_ERR_USAGE, "more than %d terms", RS_EXPR_TERMS);
    *out = rs_expr_add_term(s->expr);
    return *out ? RS_OK : fail_memory(err);
}

static rs_status parse_first_field(parser *s, rs_error *err)
{
    rs_expr_term *t = NULL;
    RS_TRY(new_term(s, &t, err));
    t->op = RS_OP_EQ;
    RS_TRY(add_value(s, t, false, err));
    return emit(s, 0, err);
}

static rs_status parse_function(parser *s, rs_expr_term *t, rs_error *err)
{
    parser inner = {.p = s->p, .language = s->language, .depth = s->depth + 1, .functions = s->functions + 1};
    if (inner.depth > RS_EXPR_DEPTH) return rs_fail(err, RS_ERR_USAGE, "too many brackets");
    inner.expr = t->inner = rs_expr_create(s->language);
    if (!inner.expr) return fail_memory(err);
    RS_TRY(is_condition(s->language, inner.p) ? parse_any(&inner, err) : parse_first_field(&inner, err));
    s->p = inner.p;
    if (rs_scan_take_char(&s->p, ')')) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "a bracket is not closed at \"%.40s\"", s->p);
}

static rs_status parse_term(parser *s, rs_error *err)
{
    const rs_language *l = s->language;
    rs_expr_term *t = NULL;
    size_t number = s->expr->n_terms, n;
    bool negated = false;
    RS_TRY(new_term(s, &t, err));
    s->p = rs_scan_space(s->p);
    t->function = find_function(l, s->p);
    if (t->function != RS_NO_FUNCTION) {
        s->p += strlen(l->functions[t->function]);
        rs_scan_take_char(&s->p, '(');
        RS_TRY(parse_function(s, t, err));
    } else {
        if (l->fields) {
            n = word_length(s->p);
            t->field = find_field(l, s->p, n);
            if (t->field == SIZE_MAX) return fail_field(l, s->p, n, err);
            s->p += n;
        } else {
            RS_TRY(take_column(s, t, err));
        }
        RS_TRY(parse_comparison(s, t, &negated, err));
    }
    RS_TRY(emit(s, (unsigned)number, err));
    return negated ? emit(s, RS_EXPR_NOT, err) : RS_OK;
}

/* ---- what joins them ---------------------------------------------------------------------------------------- */

static rs_status parse_not(parser *s, rs_error *err)
{
    unsigned nots = 0;
    while (rs_scan_take_word(&s->p, "not", NULL) ||
           (*rs_scan_space(s->p) == '!' && rs_scan_take_char(&s->p, '!')))
        nots++;
    if (rs_scan_take_char(&s->p, '(')) {
        if (++s->depth > RS_EXPR_DEPTH) return rs_fail(err, RS_ERR_USAGE, "too many brackets");
        RS_TRY(parse_any(s, err));
        if (!rs_scan_take_char(&s->p, ')'))
            return rs_fail(err, RS_ERR_USAGE, "a bracket is not closed at \"%.40s\"", s->p);
        s->depth--;
    } else {
        RS_TRY(parse_term(s, err));
    }
    return nots % 2 ? emit(s, RS_EXPR_NOT, err) : RS_OK;
}

/* A comma is "and" but where it parts one selector from the next. */
static bool take_and(parser *s)
{
    bool selector = s->language->selector;
    return ((!selector || s->depth) && rs_scan_take_char(&s->p, ',')) ||
           rs_scan_take_word(&s->p, "and", "&&") || (selector && rs_scan_take_char(&s->p, '&'));
}

static rs_status parse_all(parser *s, rs_error *err)
{
    RS_TRY(parse_not(s, err));
    while (take_and(s)) {
        if (!*rs_scan_space(s->p) && s->p[-1] == ',') return RS_OK; /* at the end it joins nothing */
        RS_TRY(parse_not(s, err));
        RS_TRY(emit(s, RS_EXPR_AND, err));
    }
    return RS_OK;
}

static rs_status parse_any(parser *s, rs_error *err)
{
    RS_TRY(parse_all(s, err));
    while (rs_scan_take_word(&s->p, "or", "||")) {
        RS_TRY(parse_all(s, err));
        RS_TRY(emit(s, RS_EXPR_OR, err));
    }
    return RS_OK;
}

rs_status rs_expr_parse_part(const char **at, const rs_language *language, rs_expr **out, rs_error *err)
{
    parser s = {.p = *at, .language = language, .expr = rs_expr_create(language)};
    *out = NULL;
    if (!s.expr) return fail_memory(err);
    bool empty = language->may_be_empty && !*rs_scan_space(s.p);
    rs_status status = empty ? RS_OK : parse_any(&s, err);
    *at = rs_scan_space(s.p);
    if (status == RS_OK)
        *out = s.expr;
    else
        rs_expr_free(s.expr);
    return status;
}

rs_status rs_expr_parse(const char *text, const rs_language *language, rs_expr **out, rs_error *err)
{
    const char *at = text;
    RS_TRY(rs_expr_parse_part(&at, language, out, err));
    if (!*at) return RS_OK;
    rs_expr_free(*out);
    *out = NULL;
    return rs_fail(err, RS_ERR_USAGE, "expected \"and\", \"or\" or the end at \"%.40s\"", at);
}
