/* What --fail-on takes: conditions (query/expression.h) over the columns of a table. Any name is a field, and types are
 * known when the gate meets a table. An unknown cell meets nothing, nor does its negation. */
#include "rankscope/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/try.h"
#include "query/expression.h"
#include "query/gate.h"
#include "text/numbers.h"
#include "table/cells.h"

const rs_language rs_gate_language = {.fields = NULL};

struct rs_gate {
    char *text;
    rs_expr *expr;
};

rs_status rs_gate_parse(const char *text, rs_gate **out, rs_error *err)
{
    *out = NULL;
    rs_gate *gate = rs_calloc(1, sizeof *gate);
    rs_status status = gate && (gate->text = rs_strdup(text)) ? RS_OK : rs_fail_nomem(err, "a gate");
    if (status == RS_OK) status = rs_expr_parse(gate->text, &rs_gate_language, &gate->expr, err);
    if (status == RS_OK)
        *out = gate;
    else
        rs_gate_free(gate);
    return status;
}

void rs_gate_free(rs_gate *gate)
{
    if (!gate) return;
    rs_expr_free(gate->expr);
    rs_free_all(gate->text, gate);
}

/* ---- columns ------------------------------------------------------------------------------------------ */

static rs_status fail_column(const rs_expr_term *t, const rs_table_spec *spec, rs_error *err)
{
    rs_suggestion nearest = {0};
    for (size_t i = 0; i < spec->n_columns; i++) rs_suggest_from(&nearest, t->column, spec->columns[i].name);
    if (nearest.best)
        return rs_fail(err, RS_ERR_USAGE, "table %s has no column \"%.60s\"; did you mean %s?", spec->name,
                       t->column, nearest.best);
    return rs_fail(err, RS_ERR_USAGE, "table %s has no column \"%.60s\"; --schema lists them", spec->name,
                   t->column);
}

static rs_status check_term(const rs_expr_term *t, const rs_table_spec *spec, rs_error *err)
{
    size_t at = rs_table_spec_column_of(spec, t->column);
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
    for (size_t i = 0; i < gate->expr->n_terms; i++) RS_TRY(check_term(&gate->expr->terms[i], spec, err));
    return RS_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static bool holds_number(const rs_expr_term *t, double x, bool ratio)
{
    bool any = false;
    for (size_t i = 0; i < t->n; i++) {
        const rs_datum_value *v = &t->values[i];
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

static rs_truth meets(const rs_expr_term *t, const rs_table *table, size_t row)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t at = rs_table_spec_column_of(spec, t->column), n;
    bool holds;
    if (rs_table_is_null(table, row, at)) return RS_UNKNOWN;
    if (spec->columns[at].type == RS_TEXT) {
        const char *text = rs_table_text(table, row, at, &n);
        holds = rs_term_holds_text(t, text, n);
    } else {
        holds = holds_number(t, rs_table_real(table, row, at), spec->columns[at].unit == RS_UNIT_RATIO);
    }
    return holds ? RS_YES : RS_NO;
}

static rs_truth decide(const rs_expr *e, const rs_table *table, size_t row)
{
    rs_truths known = {.n = 0};
    for (size_t i = 0; i < e->n_steps; i++)
        if (e->steps[i] < RS_EXPR_AND)
            rs_truths_push(&known, meets(&e->terms[e->steps[i]], table, row));
        else
            rs_truths_join(&known, e->steps[i]);
    return rs_truths_end(&known);
}

rs_status rs_gate_count(const rs_gate *gate, const rs_table *table, size_t *n_rows, size_t *first_row,
                        rs_error *err)
{
    *n_rows = 0;
    RS_TRY(rs_gate_check(gate, rs_table_get_spec(table), err));
    for (size_t row = 0; row < rs_table_n_rows(table); row++) {
        if (decide(gate->expr, table, row) != RS_YES) continue;
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
    for (size_t i = 0; i < gate->expr->n_terms && used < out_size; i++) {
        const rs_expr_term *t = &gate->expr->terms[i];
        size_t at = rs_table_spec_column_of(rs_table_get_spec(table), t->column), length;
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
