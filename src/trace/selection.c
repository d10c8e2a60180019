#include "trace/selection.h"

#include <string.h>

#include "base/interval.h"
#include "base/order.h"
#include "base/try.h"

/* ---- the texts ----------------------------------------------------------------------------------------- */

/* Milliseconds with decimals as ns, exactly; digits below the nanosecond are dropped. */
static bool parse_ms(const char **text, int64_t *ns)
{
    const char *c = *text;
    int64_t whole = 0, rest = 0, unit = 1000000;
    bool digits = *c >= '0' && *c <= '9';
    if (digits && !rs_parse_whole(c, &whole, &c)) return false;
    if (*c == '.') {
        for (c++; *c >= '0' && *c <= '9'; c++) {
            digits = true;
            unit /= 10;
            rest += (*c - '0') * unit;
        }
    }
    *text = c;
    return digits && !__builtin_mul_overflow(whole, 1000000, &whole) &&
           !__builtin_add_overflow(whole, rest, ns);
}

static rs_status parse_window(const char *text, rs_selection *out, rs_error *err)
{
    static const char own[] = "own:";
    const char *c = text;
    out->own = strncmp(c, own, sizeof own - 1) == 0;
    if (out->own) c += sizeof own - 1;
    bool ok = parse_ms(&c, &out->from) && *c == '-';
    c += ok;
    ok = ok && parse_ms(&c, &out->to) && *c == '\0';
    if (!ok)
        return rs_fail(err, RS_ERR_USAGE,
                       "--window takes FROM-TO in milliseconds from the job's first event, like 10-12.5, not "
                       "\"%.80s\"",
                       text);
    if (out->to <= out->from)
        return rs_fail(err, RS_ERR_USAGE, "--window %.80s is empty: its end must be after its start", text);
    return RS_OK;
}

rs_status rs_selection_parse(const char *ranks, const char *steps, const char *window, rs_selection *out,
                             rs_error *err)
{
    *out = (rs_selection){.by_rank = ranks != NULL,
                          .by_step = steps != NULL,
                          .by_window = window != NULL,
                          .origin = RS_NO_TIME,
                          .steps_text = steps,
                          .window_text = window};
    rs_status status = RS_OK;
    if (ranks) {
        status = rs_ranges_parse(ranks, &out->ranks, err);
        if (status != RS_OK) {
            rs_error_wrap(err, "--ranks");
            return status;
        }
    }
    if (steps) {
        status = rs_ranges_parse(steps, &out->steps, err);
        if (status != RS_OK) {
            rs_error_wrap(err, "--steps");
            return status;
        }
    }
    return window ? parse_window(window, out, err) : RS_OK;
}

void rs_selection_clear(rs_selection *selection)
{
    rs_ranges_clear(&selection->ranks);
    rs_ranges_clear(&selection->steps);
    *selection = (rs_selection){.origin = RS_NO_TIME};
}

bool rs_selection_has_time(const rs_selection *s, int64_t ns)
{
    return !s->by_window ||
           (ns != RS_NO_TIME && ns >= rs_add_sat(s->origin, s->from) && ns < rs_add_sat(s->origin, s->to));
}

/* ---- the test of a row --------------------------------------------------------------------------------- */

bool rs_trace_is_selected(const rs_trace *trace)
{
    return trace->selection && (trace->selection->by_step || trace->selection->by_window);
}

rs_status rs_trace_selector(rs_trace *trace, rs_selector *out, rs_error *err)
{
    *out = (rs_selector){.e = trace->events};
    if (!rs_trace_is_selected(trace)) return RS_OK;
    const rs_selection *s = out->selection = trace->selection;
    rs_status status = RS_OK;
    if (s->by_step) status = rs_trace_steps(trace, &out->steps, &out->n_steps, err);
    if (s->by_step && status == RS_OK)
        status = rs_trace_gpu_steps(trace, &out->gpu_steps, &out->n_gpu_steps, err);
    return status;
}

static int64_t step_at(const rs_events *e, const rs_step *steps, size_t n, uint32_t row)
{
    if (e->start[row] == RS_NO_TIME) return -1;
    return rs_trace_step_at(steps, n, e->threads[e->thread[row]].pid, e->start[row]);
}

/* What the profiler shows on the GPU's side without being work. */
static bool is_gpu_side(rs_kind kind)
{
    return kind == RS_KIND_GPU_USER_ANNOTATION || kind == RS_KIND_SYNC || kind == RS_KIND_PROFILER_RANGE;
}

int64_t rs_row_step(const rs_events *e, const rs_step *steps, size_t n, const rs_step *gpu_steps,
                    size_t n_gpu, uint32_t row)
{
    return is_gpu_side(rs_event_kind(e, row)) ? step_at(e, gpu_steps, n_gpu, row) : step_at(e, steps, n, row);
}

bool rs_selects_row(const rs_selector *s, uint32_t row)
{
    if (!s->selection) return true;
    if (!rs_selection_has_time(s->selection, s->e->start[row])) return false;
    return !s->selection->by_step ||
           rs_ranges_has(&s->selection->steps,
                         rs_row_step(s->e, s->steps, s->n_steps, s->gpu_steps, s->n_gpu_steps, row));
}

bool rs_selects_work(const rs_selector *s, uint32_t row, uint32_t launch)
{
    if (!s->selection) return true;
    uint32_t from = launch == RS_NO_ROW || s->selection->own ? row : launch;
    if (!rs_selection_has_time(s->selection, s->e->start[from])) return false;
    if (!s->selection->by_step) return true;
    int64_t step = launch == RS_NO_ROW ? step_at(s->e, s->gpu_steps, s->n_gpu_steps, row)
                                       : step_at(s->e, s->steps, s->n_steps, launch);
    return rs_ranges_has(&s->selection->steps, step);
}

bool rs_selects_step(const rs_selector *s, const rs_step *step)
{
    if (!s->selection) return true;
    if (!rs_selection_has_time(s->selection, step->start)) return false;
    return !s->selection->by_step || rs_ranges_has(&s->selection->steps, step->number);
}

rs_status rs_row_test_begin(rs_trace *trace, rs_row_test *out, rs_error *err)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    *out = (rs_row_test){.at = 0};
    rs_status status = rs_trace_selector(trace, &out->selector, err);
    if (status == RS_OK && out->selector.selection) status = rs_trace_work(trace, &policy, &out->work, err);
    return status;
}

bool rs_row_test_next(rs_row_test *t, uint32_t row)
{
    if (!t->selector.selection) return true;
    if (!rs_kind_is_gpu_work(rs_event_kind(t->selector.e, row))) return rs_selects_row(&t->selector, row);
    while (t->at < t->work->n && t->work->row[t->at] < row) t->at++;
    return t->at < t->work->n && t->work->row[t->at] == row;
}

/* ---- the step of a row --------------------------------------------------------------------------------- */

rs_status rs_step_finder_begin(rs_trace *trace, rs_step_finder *out, rs_error *err)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    policy.whole = true;
    *out = (rs_step_finder){.e = trace->events};
    RS_TRY(rs_trace_work_details(trace, &policy, &out->work, err));
    RS_TRY(rs_trace_steps(trace, &out->steps, &out->n_steps, err));
    return rs_trace_gpu_steps(trace, &out->gpu_steps, &out->n_gpu_steps, err);
}

int64_t rs_step_finder_next(rs_step_finder *f, uint32_t row)
{
    while (f->at < f->work->n && f->work->row[f->at] < row) f->at++;
    if (f->at < f->work->n && f->work->row[f->at] == row)
        return f->work->step[f->at] < 0 ? RS_NO_VALUE : f->work->step[f->at];
    if (rs_kind_is_gpu_work(rs_event_kind(f->e, row))) return RS_NO_VALUE;
    int64_t step = rs_row_step(f->e, f->steps, f->n_steps, f->gpu_steps, f->n_gpu_steps, row);
    return step < 0 ? RS_NO_VALUE : step;
}

/* ---- how many steps ------------------------------------------------------------------------------------ */

static const rs_order compare_numbers[] = {RS_RISING(rs_step, number)};

rs_status rs_trace_step_lengths(rs_trace *trace, rs_step_length **out, size_t *n, rs_error *err)
{
    const rs_step *steps;
    size_t n_steps, kept = 0;
    rs_selector selector;
    *n = 0;
    *out = NULL;
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    RS_TRY(rs_trace_selector(trace, &selector, err));
    RS_LOCAL rs_step *sorted = rs_malloc((n_steps + 1) * sizeof *sorted);
    *out = rs_malloc((n_steps + 1) * sizeof **out);
    if (!sorted || !*out) return rs_fail_nomem(err, "steps");
    for (size_t i = 0; i < n_steps; i++)
        if (rs_selects_step(&selector, &steps[i])) sorted[kept++] = steps[i];
    RS_SORT(sorted, kept, compare_numbers);
    for (size_t i = 0, next; i < kept; i = next) {
        int64_t start = sorted[i].start, end = sorted[i].end;
        for (next = i + 1; next < kept && sorted[next].number == sorted[i].number; next++) {
            if (sorted[next].start < start) start = sorted[next].start;
            if (sorted[next].end > end) end = sorted[next].end;
        }
        (*out)[(*n)++] = (rs_step_length){sorted[i].number, rs_sub_sat(end, start)};
    }
    return RS_OK;
}

rs_status rs_trace_count_steps(rs_trace *trace, size_t *n, int64_t *length, rs_error *err)
{
    RS_LOCAL rs_step_length *steps = NULL;
    *length = 0;
    RS_TRY(rs_trace_step_lengths(trace, &steps, n, err));
    for (size_t i = 0; i < *n; i++) *length = rs_add_sat(*length, steps[i].length);
    return RS_OK;
}

/* ---- what a rank has of it ----------------------------------------------------------------------------- */

static void widen(int64_t start, int64_t end, int64_t *first, int64_t *last)
{
    if (*first == RS_NO_TIME || start < *first) *first = start;
    if (*last == RS_NO_TIME || end > *last) *last = end;
}

rs_status rs_trace_selected_span(rs_trace *trace, int64_t *first, int64_t *last, rs_error *err)
{
    if (!rs_trace_is_selected(trace)) return rs_trace_span(trace, first, last, err);
    const rs_events *e = trace->events;
    rs_row_test test;
    rs_status status = rs_row_test_begin(trace, &test, err);
    *first = *last = RS_NO_TIME;
    for (size_t i = 0; status == RS_OK && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (!rs_event_is_span(e, row) || rs_event_kind(e, row) == RS_KIND_SPAN) continue;
        if (rs_row_test_next(&test, row)) widen(e->start[row], rs_event_end(e, row), first, last);
    }
    return status;
}

static bool add_number(rs_ranges *numbers, int64_t number)
{
    if (rs_ranges_has(numbers, number)) return true;
    if (!RS_GROW_ONE(numbers->items, numbers->n, numbers->capacity)) return false;
    size_t at = numbers->n++;
    for (; at > 0 && numbers->items[at - 1].first > number; at--) numbers->items[at] = numbers->items[at - 1];
    numbers->items[at] = (rs_span){number, number};
    return true;
}

static rs_status list_steps(const rs_selector *s, rs_selected *out, rs_error *err)
{
    bool ok = true;
    for (int side = 0; ok && side < 2; side++) {
        const rs_step *steps = side ? s->gpu_steps : s->steps;
        size_t n = side ? s->n_gpu_steps : s->n_steps;
        for (size_t i = 0; ok && i < n; i++) {
            out->any_step = out->any_step || rs_ranges_has(&s->selection->steps, steps[i].number);
            ok = add_number(&out->steps, steps[i].number);
        }
    }
    return ok ? RS_OK : rs_fail_nomem(err, "steps");
}

rs_status rs_trace_look(rs_trace *trace, rs_selected *out, rs_error *err)
{
    const rs_events *e = trace->events;
    rs_row_test test;
    *out = (rs_selected){.any = true, .any_step = true, .any_time = true, .last_start = RS_NO_TIME};
    if (!rs_trace_is_selected(trace) || e->other.columns)
        return RS_OK; /* which its own readers select from */
    out->any = out->any_step = out->any_time = false;
    rs_status status = rs_row_test_begin(trace, &test, err);
    const rs_selector *s = &test.selector;
    if (status == RS_OK && trace->selection->by_step) status = list_steps(s, out, err);
    if (status != RS_OK) return status;
    int64_t last = RS_NO_TIME;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (!rs_event_is_span(e, row) || rs_event_kind(e, row) == RS_KIND_SPAN) continue;
        if (last == RS_NO_TIME || e->start[row] > last) last = e->start[row];
        bool work = rs_kind_is_gpu_work(rs_event_kind(e, row));
        out->any = out->any || rs_row_test_next(&test, row);
        out->any_time =
            out->any_time || out->any || (!work && rs_selection_has_time(trace->selection, e->start[row]));
    }
    if (last != RS_NO_TIME && trace->selection->by_window)
        out->last_start = rs_sub_sat(last, trace->selection->origin);
    return RS_OK;
}

void rs_selected_clear(rs_selected *selected)
{
    rs_ranges_clear(&selected->steps);
}
