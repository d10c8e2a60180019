/* From the text of a condition to its terms. */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/try.h"
#include "input/json.h"
#include "query/where_internal.h"

const char *const rs_where_field_names[RS_N_WHERE_FIELDS] = {
    "name", "cat",    "phase",  "pid",         "tid",         "ts",      "dur",
    "step", "device", "stream", "correlation", "external_id", "position"};

#define MAX_DEPTH 32

typedef struct parser {
    const char *p, *option;
    rs_where *where;
    unsigned depth, functions; /* parentheses open; under() and its like around this place */
} parser;

static rs_status parse_any(parser *s, rs_error *err);

void rs_where_free(rs_where *where)
{
    if (!where) return;
    for (size_t i = 0; i < where->n_terms; i++) {
        rs_where_term *t = &where->terms[i];
        for (size_t k = 0; k < t->n_texts; k++) rs_free(t->texts[k].text);
        rs_free(t->texts);
        rs_free(t->spans);
        rs_pattern_free(t->pattern);
        rs_where_free(t->inner); /* no deeper than MAX_DEPTH */
    }
    rs_free(where);
}

/* ---- words -------------------------------------------------------------------------------------------- */

static rs_status emit(parser *s, unsigned step, rs_error *err)
{
    if (s->where->n_steps == RS_WHERE_STEPS)
        return rs_fail(err, RS_ERR_USAGE, "%s: the condition is too long", s->option);
    s->where->steps[s->where->n_steps++] = (uint8_t)step;
    return RS_OK;
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* The text of a value, the caller's; quotes are taken off. */
static rs_status take_value(parser *s, bool in_brackets, char **text, size_t *n, rs_error *err)
{
    const char *p = rs_scan_space(s->p);
    char quote = *p == '"' || *p == '\'' ? *p : '\0';
    const char *end = quote ? p + 1 : rs_scan_value_end(p, in_brackets);
    while (quote && *end && *end != quote) end += *end == '\\' && end[1] ? 2 : 1;
    if (quote && !*end) return rs_fail(err, RS_ERR_USAGE, "%s: no closing quote at %.40s", s->option, p);
    s->p = end + (quote != '\0');
    if (quote) p++;
    while (!quote && end > p && rs_scan_space(end - 1) != end - 1) end--;
    *text = rs_malloc((size_t)(end - p) + 1);
    if (!*text) return rs_fail_nomem(err, "condition");
    *n = 0;
    for (; p < end; p++) {
        if (quote && *p == '\\' && (p[1] == quote || p[1] == '\\')) p++;
        (*text)[(*n)++] = *p;
    }
    (*text)[*n] = '\0';
    return RS_OK;
}

/* A time in microseconds, or with a unit, in ns. */
static bool parse_time(const char *text, size_t n, int64_t *ns)
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
    if (!rs_json_real((const uint8_t *)text, n, &value)) return false;
    value *= factor;
    if (!(value > -9e18 && value < 9e18)) return false;
    *ns = (int64_t)(value + (value < 0 ? -0.5 : 0.5));
    return true;
}

static bool parse_number(rs_where_field field, const char *text, size_t n, int64_t *out)
{
    return rs_where_is_time(field) ? parse_time(text, n, out) : rs_json_int((const uint8_t *)text, n, out);
}

static rs_status add_span(parser *s, rs_where_term *t, const char *text, size_t n, rs_error *err)
{
    rs_span span;
    bool ok = parse_number(t->field, text, n, &span.first);
    span.last = span.first;
    for (size_t i = 1; !ok && t->op == RS_OP_IN && i + 1 < n; i++)
        ok = text[i] == '-' && parse_number(t->field, text, i, &span.first) &&
             parse_number(t->field, text + i + 1, n - i - 1, &span.last);
    if (!ok)
        return rs_fail(err, RS_ERR_USAGE, "%s: %s needs a number%s, not \"%.*s\"", s->option,
                       rs_where_field_names[t->field], rs_where_is_time(t->field) ? " of microseconds" : "",
                       (int)(n < 40 ? n : 40), text);
    if (!RS_GROW_ONE(t->spans, t->n_spans, t->spans_capacity)) return rs_fail_nomem(err, "condition");
    t->spans[t->n_spans++] = span;
    return RS_OK;
}

static rs_status add_text(rs_where_term *t, char *text, size_t n, rs_error *err)
{
    if (!RS_GROW_ONE(t->texts, t->n_texts, t->texts_capacity)) {
        rs_free(text);
        return rs_fail_nomem(err, "condition");
    }
    t->texts[t->n_texts++] = (rs_where_text){text, n};
    return RS_OK;
}

static rs_status add_value(parser *s, rs_where_term *t, bool in_brackets, rs_error *err)
{
    char *text = NULL;
    size_t n = 0;
    RS_TRY(take_value(s, in_brackets, &text, &n, err));
    if (rs_where_is_text(t->field)) return add_text(t, text, n, err);
    rs_status status = add_span(s, t, text, n, err);
    rs_free(text);
    return status;
}

static rs_status parse_list(parser *s, rs_where_term *t, rs_error *err)
{
    if (!rs_scan_take_char(&s->p, '('))
        return rs_fail(err, RS_ERR_USAGE, "%s: \"in\" takes a list: %s in (A, B)", s->option,
                       rs_where_field_names[t->field]);
    do RS_TRY(add_value(s, t, true, err));
    while (rs_scan_take_char(&s->p, ','));
    if (rs_scan_take_char(&s->p, ')')) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "%s: the list is not closed at \"%.40s\"", s->option, s->p);
}

static rs_status compile(parser *s, rs_where_term *t, rs_error *err)
{
    rs_error why = RS_ERROR_INIT;
    rs_status status = rs_pattern_compile(t->texts[0].text, &t->pattern, &why);
    return status == RS_OK ? RS_OK : rs_fail(err, status, "%s: %s", s->option, why.causes[0].message);
}

/* ---- terms -------------------------------------------------------------------------------------------- */

static rs_status check_operator(const parser *s, const rs_where_term *t, rs_error *err)
{
    bool is_text = rs_where_is_text(t->field);
    bool for_text = rs_op_searches(t->op);
    bool for_number = rs_op_orders(t->op);
    if (is_text && for_number)
        return rs_fail(err, RS_ERR_USAGE, "%s: %s is text, it takes = != ~ !~ =~ in", s->option,
                       rs_where_field_names[t->field]);
    if (!is_text && for_text)
        return rs_fail(err, RS_ERR_USAGE, "%s: %s is a number, it takes = != < <= > >= in", s->option,
                       rs_where_field_names[t->field]);
    return RS_OK;
}

static rs_status find_field(const parser *s, const char *word, rs_where_field *out, rs_error *err)
{
    rs_suggestion nearest = {0};
    for (unsigned f = 0; f < RS_N_WHERE_FIELDS; f++) {
        *out = (rs_where_field)f;
        if (strcmp(rs_where_field_names[f], word) == 0) return RS_OK;
        rs_suggest_from(&nearest, word, rs_where_field_names[f]);
    }
    return rs_fail(err, RS_ERR_USAGE,
                   "%s: there is no field \"%s\"%s%s; there is name, cat, phase, pid, tid, ts, dur, step, "
                   "device, stream, correlation, external_id, position",
                   s->option, word, nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "");
}

/* Behind the field: its operator and value. */
static rs_status parse_comparison(parser *s, rs_where_term *t, bool *negated, rs_error *err)
{
    *negated = rs_scan_take_word(&s->p, "not", NULL);
    if (rs_scan_take_word(&s->p, "in", NULL)) {
        t->op = RS_OP_IN;
        return parse_list(s, t, err);
    }
    const char *p = rs_scan_space(s->p);
    const rs_where_sign *sign = *negated ? NULL : rs_scan_sign(p);
    if (!sign)
        return rs_fail(err, RS_ERR_USAGE, "%s: expected one of = != ~ !~ =~ < <= > >= in at \"%.40s\"",
                       s->option, p);
    s->p = p + strlen(sign->text);
    t->op = sign->op;
    if (t->field == RS_WHERE_TS && s->functions)
        return rs_fail(err, RS_ERR_USAGE, "%s: ts cannot stand inside under(), after() and before()",
                       s->option);
    RS_TRY(check_operator(s, t, err));
    RS_TRY(add_value(s, t, s->depth > 0, err));
    return t->op == RS_OP_MATCHES ? compile(s, t, err) : RS_OK;
}

/* Whether what stands in under(...) is a condition; else it is a name. */
static bool is_condition(const char *p)
{
    p = rs_scan_space(p);
    if (*p == '(') return true;
    const char *end = p;
    while (rs_scan_is_word(*end)) end++;
    const char *next = rs_scan_space(end);
    for (unsigned f = 0; f < RS_N_WHERE_FIELDS; f++) {
        size_t n = strlen(rs_where_field_names[f]);
        if ((size_t)(end - p) == n && memcmp(p, rs_where_field_names[f], n) == 0)
            return rs_scan_sign(next) || rs_scan_word(next, "in") || rs_scan_word(next, "not");
    }
    return rs_scan_word(p, "not") || (*next == '(' && (rs_scan_word(p, "under") || rs_scan_word(p, "after") ||
                                                       rs_scan_word(p, "before")));
}

static rs_status parse_name(parser *s, rs_error *err)
{
    rs_where_term *t = &s->where->terms[s->where->n_terms++];
    *t = (rs_where_term){.kind = RS_TERM_FIELD, .field = RS_WHERE_NAME, .op = RS_OP_EQ};
    RS_TRY(add_value(s, t, true, err));
    return emit(s, 0, err);
}

static rs_status parse_function(parser *s, rs_where_term *t, rs_error *err)
{
    parser inner = {.p = s->p, .option = s->option, .depth = s->depth + 1, .functions = s->functions + 1};
    if (inner.depth > MAX_DEPTH) return rs_fail(err, RS_ERR_USAGE, "%s: too many brackets", s->option);
    t->inner = inner.where = rs_calloc(1, sizeof *inner.where);
    if (!inner.where) return rs_fail_nomem(err, "condition");
    RS_TRY(is_condition(inner.p) ? parse_any(&inner, err) : parse_name(&inner, err));
    s->p = inner.p;
    if (rs_scan_take_char(&s->p, ')')) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "%s: a bracket is not closed at \"%.40s\"", s->option, s->p);
}

static rs_status parse_term(parser *s, rs_error *err)
{
    static const struct {
        const char *name;
        rs_where_kind kind;
    } functions[] = {{"under", RS_TERM_UNDER}, {"after", RS_TERM_AFTER}, {"before", RS_TERM_BEFORE}};
    const char *begin = s->p = rs_scan_space(s->p);
    size_t n = 0;
    char word[40];
    bool negated = false;
    if (s->where->n_terms == RS_WHERE_TERMS)
        return rs_fail(err, RS_ERR_USAGE, "%s: more than %d terms", s->option, RS_WHERE_TERMS);
    while (rs_scan_is_word(begin[n])) n++;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), begin);
    size_t number = s->where->n_terms++;
    rs_where_term *t = &s->where->terms[number];
    *t = (rs_where_term){.kind = RS_TERM_FIELD};
    s->p = begin + n;
    if (*rs_scan_space(s->p) == '(')
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
            if (rs_scan_word(begin, functions[i].name)) t->kind = functions[i].kind;
    if (t->kind != RS_TERM_FIELD) {
        rs_scan_take_char(&s->p, '(');
        RS_TRY(parse_function(s, t, err));
    } else {
        RS_TRY(find_field(s, word, &t->field, err));
        RS_TRY(parse_comparison(s, t, &negated, err));
    }
    RS_TRY(emit(s, (unsigned)number, err));
    return negated ? emit(s, RS_WHERE_NOT, err) : RS_OK;
}

/* ---- what joins them ---------------------------------------------------------------------------------- */

static rs_status parse_not(parser *s, rs_error *err)
{
    unsigned nots = 0;
    while (rs_scan_take_word(&s->p, "not", NULL) ||
           (*rs_scan_space(s->p) == '!' && rs_scan_take_char(&s->p, '!')))
        nots++;
    if (rs_scan_take_char(&s->p, '(')) {
        if (++s->depth > MAX_DEPTH) return rs_fail(err, RS_ERR_USAGE, "%s: too many brackets", s->option);
        RS_TRY(parse_any(s, err));
        if (!rs_scan_take_char(&s->p, ')'))
            return rs_fail(err, RS_ERR_USAGE, "%s: a bracket is not closed at \"%.40s\"", s->option, s->p);
        s->depth--;
    } else {
        RS_TRY(parse_term(s, err));
    }
    return nots % 2 ? emit(s, RS_WHERE_NOT, err) : RS_OK;
}

static rs_status parse_all(parser *s, rs_error *err)
{
    RS_TRY(parse_not(s, err));
    for (;;) {
        bool comma = rs_scan_take_char(&s->p, ',');
        if (comma && !*rs_scan_space(s->p)) return RS_OK; /* at the end it joins nothing */
        if (!comma && !rs_scan_take_word(&s->p, "and", "&&")) return RS_OK;
        RS_TRY(parse_not(s, err));
        RS_TRY(emit(s, RS_WHERE_AND, err));
    }
}

static rs_status parse_any(parser *s, rs_error *err)
{
    RS_TRY(parse_all(s, err));
    while (rs_scan_take_word(&s->p, "or", "||")) {
        RS_TRY(parse_all(s, err));
        RS_TRY(emit(s, RS_WHERE_OR, err));
    }
    return RS_OK;
}

rs_status rs_where_parse(const char *text, const char *option, rs_where **out, rs_error *err)
{
    parser s = {.p = text ? text : "", .option = option};
    *out = NULL;
    s.where = rs_calloc(1, sizeof *s.where);
    if (!s.where) return rs_fail_nomem(err, "condition");
    rs_status status = *rs_scan_space(s.p) ? parse_any(&s, err) : RS_OK;
    if (status == RS_OK && *rs_scan_space(s.p))
        status = rs_fail(err, RS_ERR_USAGE, "%s: expected \"and\", \"or\" or the end at \"%.40s\"", option,
                         rs_scan_space(s.p));
    if (status == RS_OK)
        *out = s.where;
    else
        rs_where_free(s.where);
    return status;
}
