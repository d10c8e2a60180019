/* A row is chosen by the condition and the job's selection; of a window also what the GPU does in that time,
 * launched whenever. Around the chosen ones go, upwards only: the calls that launched them, the events that
 * enclose them on their thread, the annotations of their steps, the arrows between what is there, and the
 * records about processes and threads. */
#include "rewrite/slice_rows.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "rewrite/fuse_internal.h"
#include "trace/enclosing.h"
#include "trace/selection.h"

typedef struct choosing {
    rs_trace *trace;
    const rs_events *e;
    const rs_slice_choice *choice;
    uint8_t *states;   /* rs_slice_state of each row of the rank */
    uint8_t *launches; /* a bit for each: it launched chosen work */
    rs_slice_rows *out;
} choosing;

static bool is_record(const rs_events *e, uint32_t row)
{
    return e->phase[row] == 'M' || e->phase[row] == 0;
}

static bool is_arrow(const rs_events *e, uint32_t row)
{
    return e->phase[row] == 's' || e->phase[row] == 't' || e->phase[row] == 'f';
}

static uint8_t *state_of(choosing *c, uint32_t row)
{
    return &c->states[rs_fuse_index_of(c->trace, row)];
}

/* True when the row was not in the slice before. */
static bool put_around(choosing *c, uint32_t row)
{
    uint8_t *state = state_of(c, row);
    if (*state != RS_SLICE_OUT) return false;
    *state = RS_SLICE_AROUND;
    return true;
}

/* ---- what was asked for -------------------------------------------------------------------------------- */

/* What goes on in the window. */
typedef struct window {
    bool asked;
    int64_t from, to; /* ns; `to` is outside of it */
    const rs_ranges *steps;
    rs_step_finder finder; /* only with steps */
} window;

static rs_status window_begin(rs_trace *trace, window *w, rs_error *err)
{
    const rs_selection *s = trace->selection;
    *w = (window){.asked = s && s->by_window};
    if (!w->asked) return RS_OK;
    w->from = rs_add_sat(s->origin, s->from);
    w->to = rs_add_sat(s->origin, s->to);
    w->steps = s->by_step ? &s->steps : NULL;
    return w->steps ? rs_step_finder_begin(trace, &w->finder, err) : RS_OK;
}

static bool goes_on(window *w, const rs_events *e, uint32_t row)
{
    if (!w->asked || !rs_event_is_span(e, row) || rs_event_kind(e, row) == RS_KIND_SPAN) return false;
    if (e->start[row] >= w->to || rs_event_end(e, row) <= w->from) return false;
    return !w->steps || rs_ranges_has(w->steps, rs_step_finder_next(&w->finder, row));
}

static bool is_of_gpu(const rs_events *e, uint32_t row)
{
    return rs_kind_is_gpu_work(rs_event_kind(e, row)) || rs_event_kind(e, row) == RS_KIND_SYNC;
}

static rs_status choose(choosing *c, rs_error *err)
{
    const rs_selection *s = c->trace->selection;
    int64_t origin = s && s->by_window ? s->origin : c->choice->origin;
    bool around = c->choice->enclosing != RS_SLICE_ENCLOSING_NONE;
    rs_row_test selected;
    rs_where_rank *where;
    window w;
    RS_TRY(rs_row_test_begin(c->trace, &selected, err));
    RS_TRY(window_begin(c->trace, &w, err));
    RS_TRY(rs_where_begin(c->choice->where, c->trace, origin, &where, err));
    for (size_t i = 0; i < c->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(c->trace, i);
        if (is_record(c->e, row) || is_arrow(c->e, row) || c->e->phase[row] == 'E') continue;
        bool is_selected = rs_row_test_next(&selected, row), is_there = goes_on(&w, c->e, row);
        if ((!is_selected && !is_there) || rs_where_row(where, row, NULL) != RS_YES) continue;
        if (is_selected || is_of_gpu(c->e, row))
            c->states[i] = RS_SLICE_CHOSEN;
        else if (around)
            c->states[i] = RS_SLICE_AROUND;
    }
    rs_where_end(where);
    return RS_OK;
}

/* ---- what belongs to it -------------------------------------------------------------------------------- */

static rs_status put_launches(choosing *c, rs_error *err)
{
    const uint32_t *rows;
    const rs_links *links;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(c->trace, &rows, &n, err));
    RS_TRY(rs_trace_launches(c->trace, &links, err));
    for (size_t i = 0; i < n; i++)
        if (links->launch_of[i] != RS_NO_ROW && *state_of(c, rows[i]) == RS_SLICE_CHOSEN) {
            size_t at = rs_fuse_index_of(c->trace, links->launch_of[i]);
            c->launches[at / 8] |= (uint8_t)(1u << (at % 8));
            put_around(c, links->launch_of[i]);
        }
    return RS_OK;
}

/* Parents come before their children: backwards, each event hands on that it is there. */
static rs_status put_enclosing(choosing *c, rs_error *err)
{
    const rs_enclosing *in;
    RS_TRY(rs_trace_enclosing(c->trace, &in, err));
    for (size_t i = in->n; i-- > 0;) {
        if (in->parent[i] == RS_NO_ROW || is_arrow(c->e, in->row[i])) continue;
        if (*state_of(c, in->row[i]) != RS_SLICE_OUT) put_around(c, in->row[in->parent[i]]);
    }
    return RS_OK;
}

static bool has_number(rs_map64 *numbers, int64_t number)
{
    return rs_map64_get(numbers, (uint64_t)number) != NULL;
}

static rs_status put_steps(choosing *c, rs_error *err)
{
    const rs_step *steps, *gpu_steps;
    size_t n, n_gpu;
    rs_step_source source;
    rs_step_finder finder;
    rs_map64 numbers = {0};
    bool ok = true;
    RS_TRY(rs_trace_step_source(c->trace, &source, err));
    if (source != RS_STEPS_ANNOTATED && source != RS_STEPS_SERVING) return RS_OK;
    RS_TRY(rs_trace_steps(c->trace, &steps, &n, err));
    RS_TRY(rs_trace_gpu_steps(c->trace, &gpu_steps, &n_gpu, err));
    RS_TRY(rs_step_finder_begin(c->trace, &finder, err));
    for (size_t i = 0; ok && i < c->trace->n_rows; i++) {
        if (c->states[i] != RS_SLICE_CHOSEN) continue;
        int64_t step = rs_step_finder_next(&finder, rs_trace_row(c->trace, i));
        bool is_new;
        if (step != RS_NO_VALUE) ok = rs_map64_put(&numbers, (uint64_t)step, &is_new) != NULL;
    }
    for (size_t i = 0; ok && i < n; i++)
        if (has_number(&numbers, steps[i].number)) put_around(c, steps[i].row);
    for (size_t i = 0; ok && i < n_gpu; i++)
        if (has_number(&numbers, gpu_steps[i].number)) put_around(c, gpu_steps[i].row);
    rs_map64_clear(&numbers);
    return ok ? RS_OK : rs_fail_nomem(err, "steps");
}

/* ---- arrows -------------------------------------------------------------------------------------------- */

enum { SOME_END_THERE = 1, SOME_END_OUT = 2 };

/* Arrows are distinguished by category and id. One whose number is taken by another is left out with it. */
static uint64_t arrow_key(const rs_events *e, rs_cursor *ids, uint32_t row)
{
    return (uint64_t)rs_cursor_int(ids, row, -1) ^ (uint64_t)e->category[row] << 52;
}

/* An arrow is there when no event that it begins or ends in is left out, and some is there. */
static rs_status put_arrows(choosing *c, rs_error *err)
{
    const rs_enclosing *in;
    RS_TRY(rs_trace_enclosing(c->trace, &in, err));
    rs_map64 arrows = {0};
    bool ok = true, is_new;
    for (size_t i = 0; ok && i < in->n; i++) {
        if (!is_arrow(c->e, in->row[i]) || in->parent[i] == RS_NO_ROW) continue;
        rs_cursor ids = rs_cursor_of(c->e, RS_COL_FLOW_ID); /* rows come by thread */
        uint32_t *state = rs_map64_put(&arrows, arrow_key(c->e, &ids, in->row[i]), &is_new);
        ok = state != NULL;
        if (!ok) break;
        if (is_new) *state = 0;
        *state |= *state_of(c, in->row[in->parent[i]]) == RS_SLICE_OUT ? SOME_END_OUT : SOME_END_THERE;
    }
    rs_cursor ids = rs_cursor_of(c->e, RS_COL_FLOW_ID);
    for (size_t i = 0; ok && i < c->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(c->trace, i);
        if (!is_arrow(c->e, row)) continue;
        const uint32_t *state = rs_map64_get(&arrows, arrow_key(c->e, &ids, row));
        if (state && *state == SOME_END_THERE) c->states[i] = RS_SLICE_AROUND;
    }
    rs_map64_clear(&arrows);
    return ok ? RS_OK : rs_fail_nomem(err, "arrows");
}

/* ---- the time of the slice ----------------------------------------------------------------------------- */

static void widen(int64_t start, int64_t end, int64_t *from, int64_t *to)
{
    if (*from == RS_NO_TIME || start < *from) *from = start;
    if (*to == RS_NO_TIME || end > *to) *to = end;
}

/* The time of all that steps and window select; of a window with the GPU work that runs in it, and its
 * launches. */
static rs_status find_time(choosing *c, int64_t *from, int64_t *to, rs_error *err)
{
    const rs_selection *s = c->trace->selection;
    RS_TRY(rs_trace_selected_span(c->trace, from, to, err));
    if (!s->by_window) return RS_OK;
    if (!s->by_step) widen(rs_add_sat(s->origin, s->from), rs_add_sat(s->origin, s->to), from, to);
    for (size_t i = 0; i < c->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(c->trace, i);
        if (rs_event_is_span(c->e, row) && ((c->states[i] == RS_SLICE_CHOSEN && is_of_gpu(c->e, row)) ||
                                            (c->launches[i / 8] >> (i % 8) & 1)))
            widen(c->e->start[row], rs_event_end(c->e, row), from, to);
    }
    return RS_OK;
}

/* What is around may begin earlier and end later than that. */
static rs_status cut(choosing *c, rs_error *err)
{
    int64_t from, to;
    if (!rs_trace_is_selected(c->trace) || c->choice->enclosing != RS_SLICE_ENCLOSING_CUT) return RS_OK;
    RS_TRY(find_time(c, &from, &to, err));
    c->out->from = from;
    c->out->to = to;
    for (size_t i = 0; from != RS_NO_TIME && i < c->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(c->trace, i);
        if (c->states[i] != RS_SLICE_AROUND || !rs_event_is_span(c->e, row)) continue;
        int64_t start = c->e->start[row], end = rs_event_end(c->e, row);
        if (end < from || start > to)
            c->states[i] = RS_SLICE_OUT;
        else if (start < from || end > to)
            c->states[i] = RS_SLICE_CUT;
    }
    return RS_OK;
}

/* ---- what was left out --------------------------------------------------------------------------------- */

static const rs_order by_number[] = {RS_FALLING(rs_slice_left, n), RS_RISING(rs_slice_left, category)};

static rs_status count(choosing *c, rs_error *err)
{
    const rs_events *e = c->e;
    rs_slice_rows *out = c->out;
    rs_slice_left *left = rs_calloc(e->n_categories + 1, sizeof *left);
    if (!left) return rs_fail_nomem(err, "categories");
    out->left = left;
    for (size_t i = 0; i < c->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(c->trace, i);
        if (e->phase[row] == 'E') {
            out->has_ends = true; /* the text decides */
            c->states[i] = RS_SLICE_OUT;
            continue;
        }
        if (is_record(e, row)) {
            c->states[i] = e->phase[row] == 'M' ? RS_SLICE_AROUND : RS_SLICE_OUT;
            continue;
        }
        out->n_chosen += c->states[i] == RS_SLICE_CHOSEN;
        out->n_around += c->states[i] == RS_SLICE_AROUND || c->states[i] == RS_SLICE_CUT;
        out->n_cut += c->states[i] == RS_SLICE_CUT;
        if (c->states[i] != RS_SLICE_OUT) continue;
        out->n_out++;
        rs_slice_left *l = &left[e->category[row]];
        l->n++;
        if (rs_event_is_span(e, row)) l->ns = rs_add_sat(l->ns, e->duration[row]);
    }
    for (size_t i = 0; i < e->n_categories; i++) {
        if (!left[i].n) continue;
        rs_slice_left *l = &left[out->n_left];
        *l = left[i];
        l->category = rs_strdup(e->strings.items[e->categories[i].name].text);
        if (!l->category) return rs_fail_nomem(err, "categories");
        out->n_left++;
    }
    RS_SORT(left, out->n_left, by_number);
    return RS_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

void rs_slice_rows_free(rs_slice_rows *rows)
{
    if (!rows) return;
    for (size_t i = 0; i < rows->n_left; i++) rs_free(rows->left[i].category);
    rs_free_all(rows->left, rows->states, rows);
}

static rs_status pack(choosing *c, rs_error *err)
{
    c->out->n_rows = c->trace->n_rows;
    c->out->states = rs_calloc(c->out->n_rows / 4 + 1, 1);
    if (!c->out->states) return rs_fail_nomem(err, "slice");
    for (size_t i = 0; i < c->out->n_rows; i++)
        c->out->states[i / 4] |= (uint8_t)(c->states[i] << (i % 4 * 2));
    return RS_OK;
}

static rs_status fill(choosing *c, rs_error *err)
{
    RS_TRY(choose(c, err));
    RS_TRY(put_launches(c, err));
    if (c->choice->enclosing != RS_SLICE_ENCLOSING_NONE) {
        RS_TRY(put_enclosing(c, err));
        RS_TRY(put_steps(c, err));
    }
    RS_TRY(cut(c, err));
    RS_TRY(put_arrows(c, err));
    RS_TRY(count(c, err));
    return pack(c, err);
}

rs_status rs_slice_choose(rs_trace *trace, const rs_slice_choice *choice, rs_slice_rows **out, rs_error *err)
{
    choosing c = {.trace = trace, .e = trace->events, .choice = choice};
    c.out = rs_calloc(1, sizeof *c.out);
    c.states = rs_calloc(trace->n_rows + 1, 1);
    c.launches = rs_calloc(trace->n_rows / 8 + 1, 1);
    rs_status status = c.out && c.states && c.launches ? fill(&c, err) : rs_fail_nomem(err, "slice");
    rs_free_all(c.states, c.launches);
    if (status == RS_OK)
        *out = c.out;
    else
        rs_slice_rows_free(c.out);
    return status;
}
