#include "rankscope/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "text/numbers.h"

typedef enum comparison { LESS, LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL } comparison;

typedef struct term {
    const char *column; /* in the gate's arena */
    comparison op;
    double number;
    bool percent;
} term;

struct rs_gate {
    char *text;
    term *terms;
    size_t n, capacity;
    rs_arena arena;
};

static const char *trim(const char *text, size_t *n)
{
    while (*n && (*text == ' ' || *text == '\t')) {
        text++;
        --*n;
    }
    while (*n && (text[*n - 1] == ' ' || text[*n - 1] == '\t')) --*n;
    return text;
}

static bool parse_number(const char *text, size_t n, term *out)
{
    text = trim(text, &n);
    if (n && text[n - 1] == '%') {
        out->percent = true;
        n--;
        text = trim(text, &n);
    }
    return rs_parse_real(text, n, &out->number);
}

/* The operator is the last one in the term: a counter's name may hold others. */
static rs_status parse_term(rs_gate *gate, const char *text, size_t n, rs_error *err)
{
    term t = {0};
    text = trim(text, &n);
    size_t at = n;
    while (at > 0 && text[at - 1] != '<' && text[at - 1] != '>') at--;
    size_t after = at < n && text[at] == '=' ? at + 1 : at;
    size_t name_length = at ? at - 1 : 0;
    const char *name = trim(text, &name_length);
    if (!at || !name_length || !parse_number(text + after, n - after, &t))
        return rs_fail(err, RS_ERR_USAGE,
                       "\"%.*s\" is no condition: COLUMN OP NUMBER[%%] with OP one of < <= > >=",
                       (int)(n > 80 ? 80 : n), text);
    bool or_equal = after > at;
    t.op = text[at - 1] == '<' ? (or_equal ? LESS_OR_EQUAL : LESS) : (or_equal ? GREATER_OR_EQUAL : GREATER);
    t.column = rs_arena_strndup(&gate->arena, name, name_length);
    if (!t.column || !RS_GROW_ONE(gate->terms, gate->n, gate->capacity)) return rs_fail_nomem(err, "a gate");
    gate->terms[gate->n++] = t;
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
    for (const char *c = text; c;) {
        const char *end = strchr(c, ',');
        rs_status status = parse_term(gate, c, end ? (size_t)(end - c) : strlen(c), err);
        if (status != RS_OK) {
            rs_gate_free(gate);
            return status;
        }
        c = end ? end + 1 : NULL;
    }
    *out = gate;
    return RS_OK;
}

void rs_gate_free(rs_gate *gate)
{
    if (!gate) return;
    rs_free(gate->text);
    rs_free(gate->terms);
    rs_arena_clear(&gate->arena);
    rs_free(gate);
}

static size_t find_column(const rs_table_spec *spec, const char *name)
{
    for (size_t at = 0; at < spec->n_columns; at++)
        if (strcmp(spec->columns[at].name, name) == 0) return at;
    return SIZE_MAX;
}

static rs_status check_term(const term *t, const rs_table_spec *spec, rs_error *err)
{
    size_t at = find_column(spec, t->column);
    if (at == SIZE_MAX) {
        rs_suggestion nearest = {0};
        for (size_t i = 0; i < spec->n_columns; i++)
            rs_suggest_from(&nearest, t->column, spec->columns[i].name);
        if (nearest.best)
            return rs_fail(err, RS_ERR_USAGE, "table %s has no column \"%.60s\"; did you mean %s?",
                           spec->name, t->column, nearest.best);
        return rs_fail(err, RS_ERR_USAGE, "table %s has no column \"%.60s\"; --schema lists them", spec->name,
                       t->column);
    }
    const rs_column_spec *column = &spec->columns[at];
    if (column->type == RS_TEXT)
        return rs_fail(err, RS_ERR_USAGE, "column %s holds text, which no number compares with",
                       column->name);
    if (t->percent && column->unit != RS_UNIT_PERCENT && column->unit != RS_UNIT_RATIO)
        return rs_fail(err, RS_ERR_USAGE, "column %s is no share: leave the %% out", column->name);
    return RS_OK;
}

rs_status rs_gate_check(const rs_gate *gate, const rs_table_spec *spec, rs_error *err)
{
    for (size_t i = 0; i < gate->n; i++) {
        rs_status status = check_term(&gate->terms[i], spec, err);
        if (status != RS_OK) return status;
    }
    return RS_OK;
}

static bool meets(const term *t, const rs_table *table, size_t row)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t at = find_column(spec, t->column);
    if (rs_table_is_null(table, row, at)) return false;
    double value = rs_table_real(table, row, at), limit = t->number;
    if (t->percent && spec->columns[at].unit == RS_UNIT_RATIO) limit /= 100;
    switch (t->op) {
    case LESS: return value < limit;
    case LESS_OR_EQUAL: return value <= limit;
    case GREATER: return value > limit;
    case GREATER_OR_EQUAL: return value >= limit;
    }
    return false;
}

rs_status rs_gate_count(const rs_gate *gate, const rs_table *table, size_t *n_rows, size_t *first_row,
                        rs_error *err)
{
    *n_rows = 0;
    rs_status status = rs_gate_check(gate, rs_table_get_spec(table), err);
    if (status != RS_OK) return status;
    for (size_t row = 0; row < rs_table_n_rows(table); row++) {
        bool all = true;
        for (size_t i = 0; all && i < gate->n; i++) all = meets(&gate->terms[i], table, row);
        if (!all) continue;
        if (*n_rows == 0) *first_row = row;
        ++*n_rows;
    }
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
        size_t at = find_column(rs_table_get_spec(table), t->column);
        char number[RS_NUMBER_SIZE + 1] = "unknown";
        if (at != SIZE_MAX && !rs_table_is_null(table, row, at))
            number[rs_format_real(rs_table_real(table, row, at), number)] = '\0';
        int n = snprintf(out + used, out_size - used, "%s%s = %s", used ? ", " : "", t->column, number);
        used = n < 0 ? out_size : used + (size_t)n;
    }
    return out;
}
