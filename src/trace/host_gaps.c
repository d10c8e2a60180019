#include "trace/host_gaps.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/call_stacks.h"
#include "trace/data_loader.h"
#include "trace/selection.h"

/* A stretch without a call. */
typedef struct gap {
    int64_t start, end;
    int64_t before; /* length of all gaps before it in the list, ns */
    uint32_t thread;
} gap;

/* An event of a thread that reaches into a gap of it. */
typedef struct span {
    uint32_t thread, row;
    int64_t start, end;
} span;

typedef struct finder {
    const rs_events *e;
    const rs_data_loader *loads;
    const rs_step *steps;
    size_t n_steps;
    uint8_t *launches; /* by thread */
    size_t *found;     /* by thread: the last answer of gap_after */
    rs_keyed *calls;   /* rows of calls of these threads */
    size_t n_calls, calls_capacity;
    gap *gaps; /* by thread, then time */
    size_t n_gaps, gaps_capacity;
    span *spans;
    size_t n_spans, spans_capacity;
    rs_map64 places; /* what and name -> row */
    rs_host_gaps *out;
    size_t rows_capacity;
} finder;

static const rs_order by_thread[] = {RS_RISING(gap, thread), RS_RISING(gap, start)};
static const rs_order spans_by_thread[] = {RS_RISING(span, thread), RS_RISING(span, row)};
static const rs_order by_length[] = {RS_FALLING(rs_host_gap_row, ns), RS_FALLING(rs_host_gap_row, n),
                                     RS_RISING(rs_host_gap_row, what), RS_RISING(rs_host_gap_row, name)};

static bool add(finder *f, rs_host_doing what, uint32_t name, int64_t ns)
{
    rs_host_gaps *out = f->out;
    bool is_new;
    uint32_t *place = rs_map64_put(&f->places, (uint64_t)what << 32 | name, &is_new);
    if (!place) return false;
    if (is_new) {
        *place = (uint32_t)out->n;
        if (!RS_PUSH(out->rows, out->n, f->rows_capacity,
                     (rs_host_gap_row){.name = name, .what = (uint8_t)what}))
            return false;
    }
    out->rows[*place].ns = rs_add_sat(out->rows[*place].ns, ns);
    out->rows[*place].n++;
    return true;
}

/* ---- gaps ---------------------------------------------------------------------------------------------- */

static bool list_calls(finder *f, const rs_trace *t)
{
    const rs_events *e = f->e;
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (!rs_kind_is_call(rs_event_kind(e, row)) || !rs_event_is_span(e, row) || e->duration[row] < 0)
            continue;
        if (f->launches[e->thread[row]])
            ok = RS_PUSH(f->calls, f->n_calls, f->calls_capacity, (rs_keyed){e->start[row], row});
    }
    return ok && rs_keyed_sort(f->calls, f->n_calls);
}

/* Gaps from the first launch to the last; where a step begins before that launch, from its begin. */
static bool list_gaps(finder *f, const rs_selector *selector, int64_t first, int64_t last)
{
    int64_t reach = f->n_steps ? first : INT64_MAX;
    bool ok = true;
    for (size_t i = 0; ok && i < f->n_calls; i++) {
        uint32_t row = f->calls[i].value;
        int64_t start = f->calls[i].key, end = rs_event_end(f->e, row);
        if (start < first || start > last) continue;
        if (reach != INT64_MAX && rs_sub_sat(start, reach) >= RS_HOST_GAP &&
            (!selector || rs_selects_row(selector, row)))
            ok = RS_PUSH(f->gaps, f->n_gaps, f->gaps_capacity, (gap){reach, start, 0, f->e->thread[row]});
        if (reach == INT64_MAX || end > reach) reach = end;
    }
    ok = ok && (f->out->gaps = rs_malloc((f->n_gaps + 1) * sizeof *f->out->gaps));
    for (size_t i = 0; ok && i < f->n_gaps; i++)
        f->out->gaps[f->out->n_gaps++] = (rs_interval){f->gaps[i].start, f->gaps[i].end};
    RS_SORT(f->gaps, f->n_gaps, by_thread);
    for (size_t i = 1; i < f->n_gaps; i++)
        f->gaps[i].before = rs_add_sat(f->gaps[i - 1].before, f->gaps[i - 1].end - f->gaps[i - 1].start);
    return ok;
}

static bool is_before(const finder *f, size_t at, uint32_t thread, int64_t t)
{
    const gap *g = &f->gaps[at];
    return g->thread < thread || (g->thread == thread && g->end <= t);
}

/* The first gap of the thread that ends after t. Events of a thread come in order of time: it is often the one found last. */
static size_t gap_after(const finder *f, uint32_t thread, int64_t t)
{
    size_t at = f->found[thread];
    if ((at && !is_before(f, at - 1, thread, t)) || (at < f->n_gaps && is_before(f, at, thread, t)))
        RS_SEARCH(at, f->n_gaps, is_before(f, at, thread, t));
    f->found[thread] = at;
    return at;
}

/* The length of all gaps in the list up to a time of the thread. */
static int64_t gaps_until(const finder *f, uint32_t thread, int64_t t)
{
    size_t i = gap_after(f, thread, t);
    if (i == f->n_gaps) return rs_add_sat(f->gaps[i - 1].before, f->gaps[i - 1].end - f->gaps[i - 1].start);
    const gap *g = &f->gaps[i];
    return g->thread == thread && g->start < t ? rs_add_sat(g->before, rs_sub_sat(t, g->start)) : g->before;
}

/* How much of [start, end) is in gaps of the thread. There is at least one gap in the list. */
static int64_t in_gaps(const finder *f, uint32_t thread, int64_t start, int64_t end)
{
    return rs_sub_sat(gaps_until(f, thread, end), gaps_until(f, thread, start));
}

/* ---- what the thread was in ----------------------------------------------------------------------------- */

static rs_host_doing doing_of(rs_kind kind)
{
    switch (kind) {
    case RS_KIND_CPU_OP: return RS_DOING_OPERATOR;
    case RS_KIND_PYTHON_FUNCTION: return RS_DOING_PYTHON;
    case RS_KIND_USER_ANNOTATION: return RS_DOING_ANNOTATION;
    case RS_KIND_OS_CALL: return RS_DOING_OS_CALL;
    case RS_KIND_OFF_CPU: return RS_DOING_OFF_CPU;
    case RS_KIND_CPU_SAMPLE: return RS_DOING_SAMPLE;
    default: return RS_DOING_UNKNOWN;
    }
}

/* Counts samples and time off the CPU, and lists what may be innermost. */
static bool look(finder *f, const rs_trace *t)
{
    const rs_events *e = f->e;
    bool ok = true;
    for (size_t i = 0; ok && i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i), thread = e->thread[row];
        rs_host_doing what = doing_of(rs_event_kind(e, row));
        if (!what || !f->launches[thread] || e->start[row] == RS_NO_TIME) continue;
        int64_t start = e->start[row], end = e->duration[row] > 0 ? rs_event_end(e, row) : start;
        size_t at = gap_after(f, thread, start);
        if (at == f->n_gaps || f->gaps[at].thread != thread) continue;
        if (what == RS_DOING_SAMPLE) {
            if (f->gaps[at].start > start) continue;
            f->out->n_samples++;
            ok = add(f, what, e->name[row], 0);
        } else if (end > f->gaps[at].start) {
            ok = what == RS_DOING_OFF_CPU
                     ? add(f, what, e->name[row], in_gaps(f, thread, start, end))
                     : RS_PUSH(f->spans, f->n_spans, f->spans_capacity, (span){thread, row, start, end});
        }
    }
    RS_SORT(f->spans, f->n_spans, spans_by_thread);
    return ok;
}

/* Gives the time from `from` to `to` to the innermost event `top`, or to loading. loaders: how many are on the stack. */
static bool give(finder *f, uint32_t thread, int64_t from, int64_t to, uint32_t top, size_t loaders)
{
    int64_t ns = to > from ? in_gaps(f, thread, from, to) : 0;
    if (!ns) return true;
    if (loaders) {
        f->out->loading = rs_add_sat(f->out->loading, ns);
        return true;
    }
    f->out->elsewhere = rs_add_sat(f->out->elsewhere, ns);
    if (top == RS_NO_ROW) return add(f, RS_DOING_UNKNOWN, RS_NO_STRING, ns);
    return add(f, doing_of(rs_event_kind(f->e, top)), f->e->name[top], ns);
}

static bool walk_thread(finder *f, uint32_t thread, const span *spans, size_t n)
{
    const rs_events *e = f->e;
    RS_LOCAL rs_nested *nested = rs_malloc((n + 1) * sizeof *nested);
    RS_LOCAL uint32_t *order = rs_malloc((2 * n + 1) * sizeof *order),
                      *stack = rs_malloc((n + 1) * sizeof *stack);
    size_t depth = 0, loaders = 0;
    int64_t now = INT64_MIN;
    bool ok = nested && order && stack;
    for (size_t i = 0; ok && i < n; i++) nested[i] = (rs_nested){spans[i].start, spans[i].end, (uint32_t)i};
    ok = ok && rs_call_stack_order(nested, n, order);
    for (size_t i = 0; ok && i < 2 * n; i++) {
        const span *s = &spans[order[i] >> 1];
        bool ends = order[i] & RS_STACK_END;
        int64_t time = ends ? s->end : s->start;
        ok = give(f, thread, now, time, depth ? stack[depth - 1] : RS_NO_ROW, loaders);
        if (time > now) now = time;
        if (!ends) {
            loaders += f->loads->named[e->name[s->row]];
            stack[depth++] = s->row;
        } else if (depth) {
            loaders -= f->loads->named[e->name[stack[--depth]]];
        }
    }
    return ok && give(f, thread, now, INT64_MAX, RS_NO_ROW, 0);
}

static bool walk(finder *f)
{
    bool ok = true;
    size_t at = 0;
    for (size_t i = 0, k; ok && i < f->n_gaps; i = k) {
        uint32_t thread = f->gaps[i].thread;
        for (k = i; k < f->n_gaps && f->gaps[k].thread == thread;) k++;
        while (at < f->n_spans && f->spans[at].thread < thread) at++;
        size_t first = at;
        while (at < f->n_spans && f->spans[at].thread == thread) at++;
        ok = walk_thread(f, thread, f->spans ? f->spans + first : NULL, at - first);
    }
    return ok;
}

/* ---- the facet ----------------------------------------------------------------------------------------- */

static void release(void *value)
{
    rs_host_gaps *g = value;
    if (!g) return;
    rs_free_all(g->gaps, g->rows, g);
}

static bool find(finder *f, const rs_trace *t, const rs_work *w, const rs_selector *selector)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW) continue;
        int64_t start = f->e->start[w->launch[i]];
        f->launches[f->e->thread[w->launch[i]]] = 1;
        if (start < first) first = start;
        if (start > last) last = start;
    }
    if (first >= last) return true;
    if (f->n_steps && f->steps->start < first) first = f->steps->start;
    f->out->span = rs_sub_sat(last, first);
    bool ok = list_calls(f, t) && list_gaps(f, selector, first, last);
    if (ok && f->n_gaps) ok = look(f, t) && walk(f);
    RS_SORT(f->out->rows, f->out->n, by_length);
    return ok;
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_policy *policy = key;
    const rs_work *w;
    rs_selector selector;
    finder f = {.e = trace->events};
    RS_TRY(rs_trace_work(trace, policy, &w, err));
    RS_TRY(rs_trace_data_loader(trace, &f.loads, err));
    RS_TRY(rs_trace_steps(trace, &f.steps, &f.n_steps, err));
    RS_TRY(rs_trace_selector(trace, &selector, err));
    f.out = rs_calloc(1, sizeof *f.out);
    f.launches = rs_calloc(f.e->n_threads + 1, 1);
    f.found = rs_calloc(f.e->n_threads + 1, sizeof *f.found);
    bool ok = f.out && f.launches && f.found &&
              find(&f, trace, w, policy->whole || !selector.selection ? NULL : &selector);
    rs_free_all(f.launches, f.found, f.calls, f.gaps, f.spans);
    rs_map64_clear(&f.places);
    if (ok) {
        *out = f.out;
        return RS_OK;
    }
    release(f.out);
    return rs_fail_nomem(err, "the host's gaps");
}

const rs_facet rs_facet_host_gaps = {.name = "gaps between calls",
                                     .needs = {&rs_facet_work, &rs_facet_data_loader, &rs_facet_steps},
                                     .key_size = sizeof(rs_policy),
                                     .same = rs_policy_same,
                                     .selected = true,
                                     .make = make,
                                     .release = release};

rs_status rs_trace_host_gaps(rs_trace *trace, const rs_policy *policy, const rs_host_gaps **out,
                             rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_host_gaps, policy, out, err);
}
