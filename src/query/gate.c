/* What --fail-on takes: the expression language of events --where (where_parse.c) over the columns of a table.
 *
 * A column's name may hold blanks and brackets, "busy_time(us)", so a term is cut at its operator; in quotes a name may
 * hold anything. Types are known when the gate meets a table: until then a value is a text, and a number where it is one.
 * A condition is kept as steps in postfix order and worked out with three truth values, as an unknown cell meets nothing,
 * behind a "not" neither. */
#include "rankscope/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/try.h"
#include "query/scan.h"
#include "rankscope/where.h"
#include "text/numbers.h"

#define MAX_DEPTH 32

typedef struct value {
    const char *text; /* in the gate's arena */
    size_t n;
    bool number, percent; /* first and last mean something; a % stood behind them */
    double first, last;
} value;

typedef struct term {
    const char *column; /* in the gate's arena */
    rs_where_op op;
    value *values; /* one, or those of a list */
    size_t n, capacity;
    rs_pattern *pattern; /* of =~ */
} term;

/* A step is the number of a term, or one of these. */
enum { STEP_NOT = -1, STEP_AND = -2, STEP_OR = -3 };

struct rs_gate {
    char *text;
    term *terms;
    size_t n, capacity;
    int *steps;
    size_t n_steps, steps_capacity;
    unsigned deepest; /* values that wait at once while it is worked out */
    rs_arena arena;
};

/* ---- words -------------------------------------------------------------------------------------------- */

typedef struct parser {
    const char *p;
    rs_gate *gate;
    unsigned depth;   /* brackets open */
    unsigned waiting; /* values on the stack */
} parser;

static rs_status fail_term(const char *at, rs_error *err)
{
    at = rs_scan_space(at);
    return rs_fail(
        err, RS_ERR_USAGE,
        "\"%.80s\" is no condition: COLUMN OP VALUE with OP one of < <= > >= = != ~ !~ =~ in, joined by "
        "and (or a comma), or, not, ( )",
        at);
}

static rs_status emit(parser *s, int step, rs_error *err)
{
    rs_gate *g = s->gate;
    if (!RS_GROW_ONE(g->steps, g->n_steps, g->steps_capacity)) return rs_fail_nomem(err, "a gate");
    g->steps[g->n_steps++] = step;
    if (step >= 0 && ++s->waiting > g->deepest) g->deepest = s->waiting;
    if (step == STEP_AND || step == STEP_OR) s->waiting--;
    return RS_OK;
}

/* ---- terms -------------------------------------------------------------------------------------------- */

/* What stands in quotes from p on; *end is behind it, NULL when it is not closed. */
static const char *unquote(rs_gate *g, const char *p, const char **end, size_t *n)
{
    char quote = *p++, *out = rs_arena_alloc(&g->arena, strlen(p) + 1);
    *n = 0;
    for (; out && *p && *p != quote; p++) {
        if (*p == '\\' && (p[1] == quote || p[1] == '\\')) p++;
        out[(*n)++] = *p;
    }
    *end = *p ? p + 1 : NULL;
    if (out) out[*n] = 0;
    return out;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* "in (", or "not in (", behind a blank. */
static bool is_list(const char *p)
{
    size_t n = rs_scan_word(p, "not");
    if (n) p = rs_scan_space(p + n);
    n = rs_scan_word(p, "in");
    return n && *rs_scan_space(p + n) == '(';
}

static rs_status take_column(parser *s, term *t, rs_error *err)
{
    const char *begin = s->p = rs_scan_space(s->p), *end = begin;
    size_t n;
    if (is_quote(*begin)) {
        t->column = unquote(s->gate, begin, &end, &n);
        if (!t->column) return rs_fail_nomem(err, "a gate");
        if (!end || n == 0) return fail_term(begin, err);
        s->p = end;
        return RS_OK;
    }
    while (*end && *end != ',' && !rs_scan_sign(end) && !rs_scan_ends_value(end) &&
           !(rs_is_space(*end) && is_list(rs_scan_space(end))))
        end++;
    s->p = end;
    while (end > begin && rs_is_space(end[-1])) end--;
    if (end == begin || !*s->p) return fail_term(begin, err);
    t->column = rs_arena_strndup(&s->gate->arena, begin, (size_t)(end - begin));
    return t->column ? RS_OK : rs_fail_nomem(err, "a gate");
}

/* A number, with % perhaps, and in a list a range. */
static void read_number(value *v, bool list)
{
    size_t n = v->n;
    while (n && rs_is_space(v->text[n - 1])) n--;
    v->percent = n && v->text[n - 1] == '%';
    n -= v->percent;
    while (n && rs_is_space(v->text[n - 1])) n--;
    v->number = rs_parse_real(v->text, n, &v->first);
    v->last = v->first;
    for (size_t i = 1; list && !v->number && i + 1 < n; i++)
        v->number = v->text[i] == '-' && rs_parse_real(v->text, i, &v->first) &&
                    rs_parse_real(v->text + i + 1, n - i - 1, &v->last);
}

static rs_status take_value(parser *s, term *t, bool in_brackets, rs_error *err)
{
    value v = {0};
    const char *begin = rs_scan_space(s->p), *end;
    bool quoted = is_quote(*begin);
    if (quoted) {
        v.text = unquote(s->gate, begin, &end, &v.n);
        if (v.text && !end) return fail_term(begin, err);
    } else {
        end = rs_scan_value_end(begin, in_brackets);
        v.n = (size_t)(end - begin);
        while (v.n && rs_is_space(begin[v.n - 1])) v.n--;
        v.text = rs_arena_strndup(&s->gate->arena, begin, v.n);
        if (!v.n) return fail_term(begin, err);
    }
    if (!v.text || !RS_GROW_ONE(t->values, t->n, t->capacity)) return rs_fail_nomem(err, "a gate");
    if (!quoted) read_number(&v, t->op == RS_OP_IN);
    t->values[t->n++] = v;
    s->p = end;
    return RS_OK;
}

static rs_status take_list(parser *s, term *t, const char *begin, rs_error *err)
{
    if (!rs_scan_take_char(&s->p, '(')) return fail_term(begin, err);
    do RS_TRY(take_value(s, t, true, err));
    while (rs_scan_take_char(&s->p, ','));
    return rs_scan_take_char(&s->p, ')') ? RS_OK : fail_term(begin, err);
}

static rs_status parse_term(parser *s, rs_error *err)
{
    rs_gate *g = s->gate;
    const char *begin = s->p;
    if (!RS_GROW_ONE(g->terms, g->n, g->capacity)) return rs_fail_nomem(err, "a gate");
    size_t number = g->n++;
    term *t = &g->terms[number];
    *t = (term){0};
    RS_TRY(take_column(s, t, err));
    bool negated = rs_scan_take_word(&s->p, "not", NULL);
    if (rs_scan_take_word(&s->p, "in", NULL)) {
        t->op = RS_OP_IN;
        RS_TRY(take_list(s, t, begin, err));
    } else {
        const char *p = rs_scan_space(s->p);
        const rs_where_sign *sign = negated ? NULL : rs_scan_sign(p);
        if (!sign) return fail_term(begin, err);
        t->op = sign->op;
        s->p = p + strlen(sign->text);
        RS_TRY(take_value(s, t, s->depth > 0, err));
        if (rs_op_orders(t->op) && !t->values[0].number) return fail_term(begin, err);
    }
    if (t->op == RS_OP_MATCHES) RS_TRY(rs_pattern_compile(t->values[0].text, &t->pattern, err));
    RS_TRY(emit(s, (int)number, err));
    return negated ? emit(s, STEP_NOT, err) : RS_OK;
}

/* ---- what joins them ---------------------------------------------------------------------------------- */

static rs_status parse_any(parser *s, rs_error *err);

static rs_status parse_not(parser *s, rs_error *err)
{
    unsigned nots = 0;
    while (rs_scan_take_word(&s->p, "not", NULL) ||
           (*rs_scan_space(s->p) == '!' && rs_scan_take_char(&s->p, '!')))
        nots++;
    const char *begin = s->p;
    if (rs_scan_take_char(&s->p, '(')) {
        if (++s->depth > MAX_DEPTH) return rs_fail(err, RS_ERR_USAGE, "too many brackets");
        RS_TRY(parse_any(s, err));
        if (!rs_scan_take_char(&s->p, ')')) return fail_term(begin, err);
        s->depth--;
    } else {
        RS_TRY(parse_term(s, err));
    }
    return nots % 2 ? emit(s, STEP_NOT, err) : RS_OK;
}

static rs_status parse_all(parser *s, rs_error *err)
{
    RS_TRY(parse_not(s, err));
    while (rs_scan_take_char(&s->p, ',') || rs_scan_take_word(&s->p, "and", "&&")) {
        RS_TRY(parse_not(s, err));
        RS_TRY(emit(s, STEP_AND, err));
    }
    return RS_OK;
}

static rs_status parse_any(parser *s, rs_error *err)
{
    RS_TRY(parse_all(s, err));
    while (rs_scan_take_word(&s->p, "or", "||")) {
        RS_TRY(parse_all(s, err));
        RS_TRY(emit(s, STEP_OR, err));
    }
    return RS_OK;
}

rs_status rs_gate_parse(const char *text, rs_gate **out, rs_error *err)
{
    *out = NULL;
    rs_gate *gate = rs_calloc(1, sizeof *gate);
    if (!gate || !(gate->text = rs_strdup(text))) {
        rs_gate_free(gate);
        return rs_fail_nomem(err, "a gate");
    }
    parser s = {.p = gate->text, .gate = gate};
    rs_status status = parse_any(&s, err);
    if (status == RS_OK && *rs_scan_space(s.p)) status = fail_term(s.p, err);
    if (status == RS_OK)
        *out = gate;
    else
        rs_gate_free(gate);
    return status;
}

void rs_gate_free(rs_gate *gate)
{
    if (!gate) return;
    for (size_t i = 0; i < gate->n; i++) {
        rs_free(gate->terms[i].values);
        rs_pattern_free(gate->terms[i].pattern);
    }
    rs_free(gate->text);
    rs_free(gate->terms);
    rs_free(gate->steps);
    rs_arena_clear(&gate->arena);
    rs_free(gate);
}

/* ---- columns ------------------------------------------------------------------------------------------ */

static size_t find_column(const rs_table_spec *spec, const char *name)
{
    for (size_t at = 0; at < spec->n_columns; at++)
        if (strcmp(spec->columns[at].name, name) == 0) return at;
    return SIZE_MAX;
}

static rs_status fail_column(const term *t, const rs_table_spec *spec, rs_error *err)
{
    rs_suggestion nearest = {0};
    for (size_t i = 0; i < spec->n_columns; i++) rs_suggest_from(&nearest, t->column, spec->columns[i].name);
    if (nearest.best)
        return rs_fail(err, RS_ERR_USAGE, "table %s has no column \"%.60s\"; did you mean %s?", spec->name,
                       t->column, nearest.best);
    return rs_fail(err, RS_ERR_USAGE, "table %s has no column \"%.60s\"; --schema lists them", spec->name,
                   t->column);
}

static rs_status check_term(const term *t, const rs_table_spec *spec, rs_error *err)
{
    size_t at = find_column(spec, t->column);
    if (at == SIZE_MAX) return fail_column(t, spec, err);
    const rs_column_spec *column = &spec->columns[at];
    if (column->type == RS_TEXT)
        return !rs_op_orders(t->op)
                   ? RS_OK
                   : rs_fail(err, RS_ERR_USAGE, "column %s holds text, which no number compares with",
                             column->name);
    if (rs_op_searches(t->op))
        return rs_fail(err, RS_ERR_USAGE, "column %s holds numbers: it takes = != < <= > >= in",
                       column->name);
    for (size_t i = 0; i < t->n; i++) {
        if (!t->values[i].number)
            return rs_fail(err, RS_ERR_USAGE, "column %s holds numbers, and \"%.40s\" is none", column->name,
                           t->values[i].text);
        if (t->values[i].percent && column->unit != RS_UNIT_PERCENT && column->unit != RS_UNIT_RATIO)
            return rs_fail(err, RS_ERR_USAGE, "column %s is no share: leave the %% out", column->name);
    }
    return RS_OK;
}

rs_status rs_gate_check(const rs_gate *gate, const rs_table_spec *spec, rs_error *err)
{
    for (size_t i = 0; i < gate->n; i++) RS_TRY(check_term(&gate->terms[i], spec, err));
    return RS_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

typedef enum truth { NO, UNKNOWN, YES } truth;

static bool has(const char *text, size_t n, const value *v)
{
    for (size_t i = 0; i + v->n <= n; i++)
        if (memcmp(text + i, v->text, v->n) == 0) return true;
    return false;
}

static bool holds_text(const term *t, const char *text, size_t n)
{
    const value *v = t->values;
    switch (t->op) {
    case RS_OP_HAS: return has(text, n, v);
    case RS_OP_HAS_NOT: return !has(text, n, v);
    case RS_OP_MATCHES: return rs_pattern_matches(t->pattern, text, n);
    default: break;
    }
    for (size_t i = 0; i < t->n; i++)
        if (v[i].n == n && memcmp(v[i].text, text, n) == 0) return t->op != RS_OP_NE;
    return t->op == RS_OP_NE;
}

static bool holds_number(const term *t, double x, bool ratio)
{
    bool any = false;
    for (size_t i = 0; i < t->n; i++) {
        const value *v = &t->values[i];
        double scale = v->percent && ratio ? 100 : 1, first = v->first / scale, last = v->last / scale;
        switch (t->op) {
        case RS_OP_LT: return x < first;
        case RS_OP_LE: return x <= first;
        case RS_OP_GT: return x > first;
        case RS_OP_GE: return x >= first;
        default: any |= x >= first && x <= last; break;
        }
    }
    return any == (t->op != RS_OP_NE);
}

static truth meets(const term *t, const rs_table *table, size_t row)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t at = find_column(spec, t->column), n;
    if (rs_table_is_null(table, row, at)) return UNKNOWN;
    if (spec->columns[at].type == RS_TEXT) {
        const char *text = rs_table_text(table, row, at, &n);
        return holds_text(t, text, n) ? YES : NO;
    }
    return holds_number(t, rs_table_real(table, row, at), spec->columns[at].unit == RS_UNIT_RATIO) ? YES : NO;
}

/* stack: room for gate->deepest values. */
static truth decide(const rs_gate *gate, const rs_table *table, size_t row, truth *stack)
{
    size_t n = 0;
    for (size_t i = 0; i < gate->n_steps; i++) {
        int step = gate->steps[i];
        if (step >= 0) {
            stack[n++] = meets(&gate->terms[step], table, row);
        } else if (step == STEP_NOT) {
            stack[n - 1] = YES - stack[n - 1];
        } else {
            n--;
            bool larger = stack[n] > stack[n - 1];
            if (larger == (step == STEP_OR)) stack[n - 1] = stack[n];
        }
    }
    return stack[0];
}

rs_status rs_gate_count(const rs_gate *gate, const rs_table *table, size_t *n_rows, size_t *first_row,
                        rs_error *err)
{
    *n_rows = 0;
    RS_TRY(rs_gate_check(gate, rs_table_get_spec(table), err));
    truth *stack = rs_malloc((gate->deepest + 1) * sizeof *stack);
    if (!stack) return rs_fail_nomem(err, "a gate");
    for (size_t row = 0; row < rs_table_n_rows(table); row++) {
        if (decide(gate, table, row, stack) != YES) continue;
        if (*n_rows == 0) *first_row = row;
        ++*n_rows;
    }
    rs_free(stack);
    return RS_OK;
}

const char *rs_gate_text(const rs_gate *gate)
{
    return gate->text;
}

const char *rs_gate_values(const rs_gate *gate, const rs_table *table, size_t row, char *out, size_t out_size)
{
    size_t used = 0;
    if (out_size) out[0] = '\0';
    for (size_t i = 0; i < gate->n && used < out_size; i++) {
        const term *t = &gate->terms[i];
        size_t at = find_column(rs_table_get_spec(table), t->column), length;
        char number[RS_NUMBER_SIZE + 1] = "unknown";
        const char *shown = number;
        if (at != SIZE_MAX && !rs_table_is_null(table, row, at)) {
            shown = rs_table_text(table, row, at, &length);
            if (!shown) number[rs_format_real(rs_table_real(table, row, at), number)] = '\0';
            if (!shown) shown = number;
        }
        int n = snprintf(out + used, out_size - used, "%s%s = %s", used ? ", " : "", t->column, shown);
        used = n < 0 ? out_size : used + (size_t)n;
    }
    return out;
}
