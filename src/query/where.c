/* The conditions of --where: their fields, and what rows of a rank meet them. */
#include "query/where.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "query/expression.h"
#include "text/numbers.h"
#include "trace/enclosing.h"
#include "trace/selection.h"

enum {
    NAME, /* text from here ... */
    CAT,
    PHASE,
    PID,
    TID, /* ... to here */
    TS,
    DUR,
    STEP,
    DEVICE,
    STREAM,
    CORRELATION,
    EXTERNAL_ID,
    POSITION
};
static const rs_field_spec fields[] = {[NAME] = {.name = "name"},
                                       [CAT] = {.name = "cat"},
                                       [PHASE] = {.name = "phase"},
                                       [PID] = {.name = "pid"},
                                       [TID] = {.name = "tid"},
                                       [TS] = {.name = "ts", .type = RS_DATUM_TIME, .outside = true},
                                       [DUR] = {.name = "dur", .type = RS_DATUM_TIME},
                                       [STEP] = {.name = "step", .type = RS_DATUM_WHOLE},
                                       [DEVICE] = {.name = "device", .type = RS_DATUM_WHOLE},
                                       [STREAM] = {.name = "stream", .type = RS_DATUM_WHOLE},
                                       [CORRELATION] = {.name = "correlation", .type = RS_DATUM_WHOLE},
                                       [EXTERNAL_ID] = {.name = "external_id", .type = RS_DATUM_WHOLE},
                                       [POSITION] = {.name = "position", .type = RS_DATUM_WHOLE}};
enum { UNDER, AFTER, BEFORE };
static const char *const functions[] = {[UNDER] = "under", [AFTER] = "after", [BEFORE] = "before", NULL};

const rs_language rs_where_language = {.fields = fields,
                                       .n_fields = sizeof fields / sizeof *fields,
                                       .functions = functions,
                                       .may_be_empty = true};

struct rs_where {
    rs_expr *expr;
};

rs_status rs_where_parse(const char *text, const char *option, rs_where **out, rs_error *err)
{
    *out = NULL;
    rs_where *w = rs_calloc(1, sizeof *w);
    if (!w) return rs_fail_nomem(err, "condition");
    rs_status status = rs_expr_parse(text ? text : "", &rs_where_language, &w->expr, err);
    if (status == RS_OK)
        *out = w;
    else
        rs_where_free(w);
    return status == RS_ERR_USAGE ? rs_error_wrap(err, "%s", option) : status;
}

void rs_where_free(rs_where *w)
{
    if (!w) return;
    rs_expr_free(w->expr);
    rs_free(w);
}

/* What a term remembers of a rank. */
typedef struct term_state {
    uint8_t *of_text; /* by string, thread or category: 0 not yet asked, else the answer + 1 */
    uint8_t *rows;    /* under, after, before: a bit for each row of the file */
    rs_cursor cursor;
} term_state;

struct rs_where_rank {
    const rs_expr *expr;
    const rs_events *e;
    int64_t origin;
    term_state *terms;
    rs_step_finder steps;
    bool uses_step;
};

/* ---- what a condition needs ---------------------------------------------------------------------------- */

static bool is_of_time(const rs_expr_term *t)
{
    return t->function == RS_NO_FUNCTION && t->field == TS;
}

bool rs_where_uses_time(const rs_where *w)
{
    for (size_t i = 0; i < w->expr->n_terms; i++)
        if (is_of_time(&w->expr->terms[i])) return true;
    return false;
}

static bool column_of(size_t field, rs_column_id *column)
{
    switch (field) {
    case DEVICE: *column = RS_COL_DEVICE; return true;
    case STREAM: *column = RS_COL_STREAM; return true;
    case CORRELATION: *column = RS_COL_CORRELATION; return true;
    case EXTERNAL_ID: *column = RS_COL_EXTERNAL_ID; return true;
    default: return false;
    }
}

static uint64_t columns_of(const rs_expr *e)
{
    uint64_t columns = 0;
    for (size_t i = 0; i < e->n_terms; i++) {
        const rs_expr_term *t = &e->terms[i];
        rs_column_id column;
        if (t->inner)
            columns |= columns_of(t->inner) | RS_LINK_COLUMNS;
        else if (column_of(t->field, &column))
            columns |= UINT64_C(1) << column;
        else if (t->field == STEP)
            columns |= RS_LINK_COLUMNS;
    }
    return columns;
}

uint64_t rs_where_columns(const rs_where *w)
{
    return columns_of(w->expr);
}

/* ---- one term ------------------------------------------------------------------------------------------ */

static bool is_text(const rs_expr_term *t)
{
    return t->field <= TID;
}

static bool holds_number(const rs_expr_term *t, bool known, int64_t v)
{
    return known ? rs_term_holds_whole(t, v) : t->op == RS_OP_NE;
}

static bool holds_string(const rs_events *e, const rs_expr_term *t, uint32_t id)
{
    const rs_string *s = &e->strings.items[id];
    return rs_term_holds_text(t, s->text, s->length);
}

static bool holds_id(const rs_events *e, const rs_expr_term *t, int64_t number, uint32_t text)
{
    char digits[RS_NUMBER_SIZE + 1] = "";
    if (text != RS_NO_STRING) return holds_string(e, t, text);
    if (number != RS_NO_VALUE) digits[rs_format_int(number, digits)] = '\0';
    return rs_term_holds_text(t, digits, strlen(digits));
}

/* A text term is asked once for each text that differs. */
static bool holds_row_text(rs_where_rank *r, const rs_expr_term *t, term_state *state, uint32_t row)
{
    const rs_events *e = r->e;
    uint32_t key = t->field == NAME ? e->name[row] : t->field == CAT ? e->category[row] : e->thread[row];
    if (t->field == PHASE) {
        const char phase[] = {(char)e->phase[row], '\0'}; /* terminated, as regular expressions want it */
        return rs_term_holds_text(t, phase, phase[0] != '\0');
    }
    if (!state->of_text[key]) {
        bool holds = t->field == NAME  ? holds_string(e, t, key)
                     : t->field == CAT ? holds_string(e, t, e->categories[key].name)
                     : t->field == PID ? holds_id(e, t, e->threads[key].pid, e->threads[key].pid_text)
                                       : holds_id(e, t, e->threads[key].tid, e->threads[key].tid_text);
        state->of_text[key] = holds ? 2 : 1;
    }
    return state->of_text[key] == 2;
}

static bool has_bit(const uint8_t *bits, uint32_t row)
{
    return bits[row / 8] >> (row % 8) & 1;
}

static void set_bit(uint8_t *bits, uint32_t row)
{
    bits[row / 8] |= (uint8_t)(1u << (row % 8));
}

static rs_truth ask(rs_where_rank *r, size_t number, uint32_t row)
{
    const rs_expr_term *t = &r->expr->terms[number];
    term_state *state = &r->terms[number];
    const rs_events *e = r->e;
    int64_t v = RS_NO_VALUE;
    if (t->inner) return has_bit(state->rows, row) ? RS_YES : RS_NO;
    if (is_text(t)) return holds_row_text(r, t, state, row) ? RS_YES : RS_NO;
    switch (t->field) {
    case TS:
        if (e->start[row] == RS_NO_TIME) break;
        if (r->origin == RS_NO_TIME) return RS_UNKNOWN;
        v = rs_sub_sat(e->start[row], r->origin);
        break;
    case DUR: v = e->duration[row]; break;
    case STEP: v = rs_step_finder_next(&r->steps, row); break;
    case POSITION: v = row; break;
    default: v = rs_cursor_int(&state->cursor, row, RS_NO_VALUE);
    }
    return holds_number(t, v != RS_NO_VALUE, v) ? RS_YES : RS_NO;
}

/* ---- all terms ----------------------------------------------------------------------------------------- */

rs_truth rs_where_row(rs_where_rank *r, uint32_t row, uint64_t *terms)
{
    const rs_expr *e = r->expr;
    rs_truths known = {.n = 0};
    if (terms) *terms = 0;
    for (size_t i = 0; i < e->n_steps; i++) {
        unsigned step = e->steps[i];
        if (step >= RS_EXPR_AND) {
            rs_truths_join(&known, step);
            continue;
        }
        rs_truth answer = ask(r, step, row);
        if (terms && answer == RS_YES) *terms |= UINT64_C(1) << step;
        rs_truths_push(&known, answer);
    }
    return rs_truths_end(&known);
}

bool rs_where_decide(const rs_where *w, uint64_t terms, int64_t ts)
{
    const rs_expr *e = w->expr;
    rs_truths known = {.n = 0};
    for (size_t i = 0; i < e->n_steps; i++) {
        unsigned step = e->steps[i];
        if (step >= RS_EXPR_AND) {
            rs_truths_join(&known, step);
            continue;
        }
        const rs_expr_term *t = &e->terms[step];
        bool holds = is_of_time(t) ? holds_number(t, ts != RS_NO_TIME, ts) : (terms >> step & 1) != 0;
        rs_truths_push(&known, holds ? RS_YES : RS_NO);
    }
    return rs_truths_end(&known) == RS_YES;
}

/* ---- under, after, before ------------------------------------------------------------------------------ */

static rs_status begin(const rs_expr *expr, rs_trace *trace, int64_t origin, rs_where_rank **out,
                       rs_error *err);

static rs_status find_matches(const rs_expr *inner, rs_trace *trace, uint8_t *bits, rs_error *err)
{
    rs_where_rank *r = NULL;
    RS_TRY(begin(inner, trace, RS_NO_TIME, &r, err));
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_where_row(r, row, NULL) == RS_YES) set_bit(bits, row);
    }
    rs_where_end(r);
    return RS_OK;
}

/* What is in one of them on its thread, and the work that was launched there. */
static rs_status spread_under(rs_trace *trace, uint8_t *bits, rs_error *err)
{
    const rs_enclosing *in;
    const rs_links *links;
    const uint32_t *rows;
    size_t n;
    RS_TRY(rs_trace_enclosing(trace, &in, err));
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    RS_TRY(rs_trace_launches(trace, &links, err));
    for (size_t i = 0; i < in->n; i++)
        if (in->parent[i] != RS_NO_ROW && has_bit(bits, in->row[in->parent[i]])) set_bit(bits, in->row[i]);
    for (size_t i = 0; i < n; i++)
        if (links->launch_of[i] != RS_NO_ROW && has_bit(bits, links->launch_of[i])) set_bit(bits, rows[i]);
    return RS_OK;
}

/* The first that matches in time, by start; RS_NO_ROW: none. */
static uint32_t first_match(const rs_trace *trace, const uint8_t *bits)
{
    uint32_t first = RS_NO_ROW;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (!has_bit(bits, row) || trace->events->start[row] == RS_NO_TIME) continue;
        if (first == RS_NO_ROW || trace->events->start[row] < trace->events->start[first]) first = row;
    }
    return first;
}

static void spread_in_time(const rs_trace *trace, size_t function, uint8_t *bits)
{
    const rs_events *e = trace->events;
    uint32_t first = first_match(trace, bits);
    memset(bits, 0, e->n / 8 + 1);
    for (size_t i = 0; first != RS_NO_ROW && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (e->start[row] == RS_NO_TIME) continue;
        bool is_in = function == AFTER ? row != first && e->start[row] >= rs_event_end(e, first)
                                       : e->start[row] < e->start[first];
        if (is_in) set_bit(bits, row);
    }
}

static rs_status prepare_rows(const rs_expr_term *t, rs_trace *trace, term_state *state, rs_error *err)
{
    state->rows = rs_calloc(trace->events->n / 8 + 1, 1);
    if (!state->rows) return rs_fail_nomem(err, "condition");
    RS_TRY(find_matches(t->inner, trace, state->rows, err));
    if (t->function == UNDER) return spread_under(trace, state->rows, err);
    spread_in_time(trace, t->function, state->rows);
    return RS_OK;
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

static rs_status prepare(rs_where_rank *r, rs_trace *trace, size_t number, rs_error *err)
{
    const rs_expr_term *t = &r->expr->terms[number];
    term_state *state = &r->terms[number];
    const rs_events *e = trace->events;
    rs_column_id column;
    if (t->inner) return prepare_rows(t, trace, state, err);
    if (column_of(t->field, &column)) state->cursor = rs_cursor_of(e, column);
    if (t->field == STEP && !r->uses_step) {
        r->uses_step = true;
        return rs_step_finder_begin(trace, &r->steps, err);
    }
    if (!is_text(t) || t->field == PHASE) return RS_OK;
    size_t n = t->field == NAME ? e->strings.n : t->field == CAT ? e->n_categories : e->n_threads;
    state->of_text = rs_calloc(n + 1, 1);
    return state->of_text ? RS_OK : rs_fail_nomem(err, "condition");
}

static rs_status begin(const rs_expr *expr, rs_trace *trace, int64_t origin, rs_where_rank **out,
                       rs_error *err)
{
    rs_where_rank *r = rs_calloc(1, sizeof *r);
    if (!r) return rs_fail_nomem(err, "condition");
    *r = (rs_where_rank){.expr = expr, .e = trace->events, .origin = origin};
    r->terms = rs_calloc(expr->n_terms + 1, sizeof *r->terms);
    rs_status status = r->terms ? RS_OK : rs_fail_nomem(err, "condition");
    for (size_t i = 0; status == RS_OK && i < expr->n_terms; i++) status = prepare(r, trace, i, err);
    if (status == RS_OK)
        *out = r;
    else
        rs_where_end(r);
    return status;
}

rs_status rs_where_begin(const rs_where *where, rs_trace *trace, int64_t origin, rs_where_rank **out,
                         rs_error *err)
{
    return begin(where->expr, trace, origin, out, err);
}

void rs_where_end(rs_where_rank *r)
{
    if (!r) return;
    for (size_t i = 0; r->terms && i < r->expr->n_terms; i++) {
        rs_free_all(r->terms[i].of_text, r->terms[i].rows);
    }
    rs_free_all(r->terms, r);
}
