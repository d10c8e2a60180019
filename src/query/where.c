/* A condition asked of the rows of one rank. */
#include "query/where.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "query/where_internal.h"
#include "text/numbers.h"
#include "trace/enclosing.h"
#include "trace/selection.h"

/* What a term remembers of a rank. */
typedef struct term_state {
    uint8_t *of_text; /* by string, thread or category: 0 not yet asked, else the answer + 1 */
    uint8_t *rows;    /* under, after, before: a bit for each row of the file */
    rs_cursor cursor;
} term_state;

struct rs_where_rank {
    const rs_where *where;
    const rs_events *e;
    int64_t origin;
    term_state *terms;
    rs_step_finder steps;
    bool uses_step;
};

/* ---- what a condition needs ---------------------------------------------------------------------------- */

bool rs_where_uses_time(const rs_where *w)
{
    for (size_t i = 0; i < w->n_terms; i++)
        if (w->terms[i].kind == RS_TERM_FIELD && w->terms[i].field == RS_WHERE_TS) return true;
    return false;
}

static bool column_of(rs_where_field field, rs_column_id *column)
{
    switch (field) {
    case RS_WHERE_DEVICE: *column = RS_COL_DEVICE; return true;
    case RS_WHERE_STREAM: *column = RS_COL_STREAM; return true;
    case RS_WHERE_CORRELATION: *column = RS_COL_CORRELATION; return true;
    case RS_WHERE_EXTERNAL_ID: *column = RS_COL_EXTERNAL_ID; return true;
    default: return false;
    }
}

uint64_t rs_where_columns(const rs_where *w)
{
    uint64_t columns = 0;
    for (size_t i = 0; i < w->n_terms; i++) {
        const rs_where_term *t = &w->terms[i];
        rs_column_id column;
        if (t->inner)
            columns |= rs_where_columns(t->inner) | RS_LINK_COLUMNS;
        else if (column_of(t->field, &column))
            columns |= UINT64_C(1) << column;
        else if (t->field == RS_WHERE_STEP)
            columns |= RS_LINK_COLUMNS;
    }
    return columns;
}

/* ---- one term ------------------------------------------------------------------------------------------ */

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

static bool holds_text(const rs_where_term *t, const char *text, size_t n)
{
    bool equal = false;
    if (t->op == RS_OP_MATCHES) return rs_pattern_matches(t->pattern, text, n);
    if (t->op == RS_OP_HAS || t->op == RS_OP_HAS_NOT)
        return contains(text, n, t->texts[0].text, t->texts[0].n) == (t->op == RS_OP_HAS);
    for (size_t i = 0; !equal && i < t->n_texts; i++)
        equal = n == t->texts[i].n && memcmp(text, t->texts[i].text, n) == 0;
    return equal == (t->op != RS_OP_NE);
}

static bool holds_number(const rs_where_term *t, bool known, int64_t v)
{
    if (!known) return t->op == RS_OP_NE;
    switch (t->op) {
    case RS_OP_NE: return v != t->spans[0].first;
    case RS_OP_LT: return v < t->spans[0].first;
    case RS_OP_LE: return v <= t->spans[0].first;
    case RS_OP_GT: return v > t->spans[0].first;
    case RS_OP_GE: return v >= t->spans[0].first;
    default:
        for (size_t i = 0; i < t->n_spans; i++)
            if (v >= t->spans[i].first && v <= t->spans[i].last) return true;
        return false;
    }
}

static bool holds_string(const rs_events *e, const rs_where_term *t, uint32_t id)
{
    const rs_string *s = &e->strings.items[id];
    return holds_text(t, s->text, s->length);
}

static bool holds_id(const rs_events *e, const rs_where_term *t, int64_t number, uint32_t text)
{
    char digits[RS_NUMBER_SIZE];
    if (text != RS_NO_STRING) return holds_string(e, t, text);
    return holds_text(t, digits, number == RS_NO_VALUE ? 0 : rs_format_int(number, digits));
}

/* A text term is asked once for each text that differs. */
static bool holds_row_text(rs_where_rank *r, const rs_where_term *t, term_state *state, uint32_t row)
{
    const rs_events *e = r->e;
    uint32_t key = t->field == RS_WHERE_NAME  ? e->name[row]
                   : t->field == RS_WHERE_CAT ? e->category[row]
                                              : e->thread[row];
    if (t->field == RS_WHERE_PHASE) {
        char phase = (char)e->phase[row];
        return holds_text(t, &phase, phase != '\0');
    }
    if (!state->of_text[key]) {
        bool holds = t->field == RS_WHERE_NAME  ? holds_string(e, t, key)
                     : t->field == RS_WHERE_CAT ? holds_string(e, t, e->categories[key].name)
                     : t->field == RS_WHERE_PID
                         ? holds_id(e, t, e->threads[key].pid, e->threads[key].pid_text)
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

static rs_where_answer ask(rs_where_rank *r, size_t number, uint32_t row)
{
    const rs_where_term *t = &r->where->terms[number];
    term_state *state = &r->terms[number];
    const rs_events *e = r->e;
    int64_t v = RS_NO_VALUE;
    if (t->kind != RS_TERM_FIELD) return has_bit(state->rows, row) ? RS_ANSWER_YES : RS_ANSWER_NO;
    if (rs_where_is_text(t->field)) return holds_row_text(r, t, state, row) ? RS_ANSWER_YES : RS_ANSWER_NO;
    switch (t->field) {
    case RS_WHERE_TS:
        if (e->start[row] == RS_NO_TIME) break;
        if (r->origin == RS_NO_TIME) return RS_ANSWER_OPEN;
        v = rs_sub_sat(e->start[row], r->origin);
        break;
    case RS_WHERE_DUR: v = e->duration[row]; break;
    case RS_WHERE_STEP: v = rs_step_finder_next(&r->steps, row); break;
    case RS_WHERE_POSITION: v = row; break;
    default: v = rs_cursor_int(&state->cursor, row, RS_NO_VALUE);
    }
    return holds_number(t, v != RS_NO_VALUE, v) ? RS_ANSWER_YES : RS_ANSWER_NO;
}

/* ---- all terms ----------------------------------------------------------------------------------------- */

static rs_where_answer both(rs_where_answer a, rs_where_answer b)
{
    if (a == RS_ANSWER_NO || b == RS_ANSWER_NO) return RS_ANSWER_NO;
    return a == RS_ANSWER_OPEN || b == RS_ANSWER_OPEN ? RS_ANSWER_OPEN : RS_ANSWER_YES;
}

static rs_where_answer opposite(rs_where_answer a)
{
    return a == RS_ANSWER_OPEN ? a : a == RS_ANSWER_YES ? RS_ANSWER_NO : RS_ANSWER_YES;
}

/* No more values wait than there are terms. */
typedef struct stack {
    rs_where_answer values[RS_WHERE_TERMS + 1];
    size_t n;
} stack;

static void join(stack *s, unsigned step)
{
    rs_where_answer top = s->values[s->n - 1];
    if (step == RS_WHERE_NOT) {
        s->values[s->n - 1] = opposite(top);
        return;
    }
    rs_where_answer below = s->values[--s->n - 1];
    s->values[s->n - 1] =
        step == RS_WHERE_AND ? both(below, top) : opposite(both(opposite(below), opposite(top)));
}

rs_where_answer rs_where_row(rs_where_rank *r, uint32_t row, uint64_t *terms)
{
    const rs_where *w = r->where;
    stack s = {.n = 0};
    if (terms) *terms = 0;
    for (size_t i = 0; i < w->n_steps; i++) {
        unsigned step = w->steps[i];
        if (step >= RS_WHERE_AND) {
            join(&s, step);
            continue;
        }
        rs_where_answer answer = ask(r, step, row);
        if (terms && answer == RS_ANSWER_YES) *terms |= UINT64_C(1) << step;
        s.values[s.n++] = answer;
    }
    return s.n ? s.values[0] : RS_ANSWER_YES;
}

bool rs_where_decide(const rs_where *w, uint64_t terms, int64_t ts)
{
    stack s = {.n = 0};
    for (size_t i = 0; i < w->n_steps; i++) {
        unsigned step = w->steps[i];
        if (step >= RS_WHERE_AND) {
            join(&s, step);
            continue;
        }
        const rs_where_term *t = &w->terms[step];
        bool of_time = t->kind == RS_TERM_FIELD && t->field == RS_WHERE_TS;
        bool holds = of_time ? holds_number(t, ts != RS_NO_TIME, ts) : (terms >> step & 1) != 0;
        s.values[s.n++] = holds ? RS_ANSWER_YES : RS_ANSWER_NO;
    }
    return !s.n || s.values[0] == RS_ANSWER_YES;
}

/* ---- under, after, before ------------------------------------------------------------------------------ */

static rs_status find_matches(const rs_where *inner, rs_trace *trace, uint8_t *bits, rs_error *err)
{
    rs_where_rank *r = NULL;
    RS_TRY(rs_where_begin(inner, trace, RS_NO_TIME, &r, err));
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_where_row(r, row, NULL) == RS_ANSWER_YES) set_bit(bits, row);
    }
    rs_where_end(r);
    return RS_OK;
}

/* What lies in one of them on its thread, and the work that was launched there. */
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

static void spread_in_time(const rs_trace *trace, rs_where_kind kind, uint8_t *bits)
{
    const rs_events *e = trace->events;
    uint32_t first = first_match(trace, bits);
    memset(bits, 0, e->n / 8 + 1);
    for (size_t i = 0; first != RS_NO_ROW && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (e->start[row] == RS_NO_TIME) continue;
        bool is_in = kind == RS_TERM_AFTER ? row != first && e->start[row] >= rs_event_end(e, first)
                                           : e->start[row] < e->start[first];
        if (is_in) set_bit(bits, row);
    }
}

static rs_status prepare_rows(const rs_where_term *t, rs_trace *trace, term_state *state, rs_error *err)
{
    state->rows = rs_calloc(trace->events->n / 8 + 1, 1);
    if (!state->rows) return rs_fail_nomem(err, "condition");
    RS_TRY(find_matches(t->inner, trace, state->rows, err));
    if (t->kind == RS_TERM_UNDER) return spread_under(trace, state->rows, err);
    spread_in_time(trace, t->kind, state->rows);
    return RS_OK;
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

static rs_status prepare(rs_where_rank *r, rs_trace *trace, size_t number, rs_error *err)
{
    const rs_where_term *t = &r->where->terms[number];
    term_state *state = &r->terms[number];
    const rs_events *e = trace->events;
    rs_column_id column;
    if (t->inner) return prepare_rows(t, trace, state, err);
    if (column_of(t->field, &column)) state->cursor = rs_cursor_of(e, column);
    if (t->field == RS_WHERE_STEP && !r->uses_step) {
        r->uses_step = true;
        return rs_step_finder_begin(trace, &r->steps, err);
    }
    if (!rs_where_is_text(t->field) || t->field == RS_WHERE_PHASE) return RS_OK;
    size_t n = t->field == RS_WHERE_NAME  ? e->strings.n
               : t->field == RS_WHERE_CAT ? e->n_categories
                                          : e->n_threads;
    state->of_text = rs_calloc(n + 1, 1);
    return state->of_text ? RS_OK : rs_fail_nomem(err, "condition");
}

rs_status rs_where_begin(const rs_where *where, rs_trace *trace, int64_t origin, rs_where_rank **out,
                         rs_error *err)
{
    rs_where_rank *r = rs_calloc(1, sizeof *r);
    if (!r) return rs_fail_nomem(err, "condition");
    *r = (rs_where_rank){.where = where, .e = trace->events, .origin = origin};
    r->terms = rs_calloc(where->n_terms + 1, sizeof *r->terms);
    rs_status status = r->terms ? RS_OK : rs_fail_nomem(err, "condition");
    for (size_t i = 0; status == RS_OK && i < where->n_terms; i++) status = prepare(r, trace, i, err);
    if (status == RS_OK)
        *out = r;
    else
        rs_where_end(r);
    return status;
}

void rs_where_end(rs_where_rank *r)
{
    if (!r) return;
    for (size_t i = 0; r->terms && i < r->where->n_terms; i++) {
        rs_free(r->terms[i].of_text);
        rs_free(r->terms[i].rows);
    }
    rs_free(r->terms);
    rs_free(r);
}
