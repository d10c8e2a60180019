#include "trace/repeated_steps.h"

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/work_tokens.h"

/* ---- moments ------------------------------------------------------------------------------------------- */

static const rs_order by_time[] = {RS_RISING_VALUE(int64_t)};

/* A work at which a step begins or, where no step follows, the one before has ended. */
typedef struct border {
    size_t work;
    int64_t begin;  /* what is known so far of the moment */
    int64_t launch; /* start of its launch */
    int64_t after;  /* end of the launches before it */
    uint32_t thread;
} border;

/* The first work from `at` on that has a launch. */
static size_t launched_from(const rs_launch_order *o, size_t at)
{
    while (at < o->n && o->launch[at] == RS_NO_ROW) at++;
    return at;
}

static void set_border(const rs_trace *trace, const rs_work_tokens *b, size_t work, border *out)
{
    const rs_events *e = trace->events;
    uint32_t launch = b->order->launch[work];
    bool loads = b->loader[work] != RS_NO_TIME;
    *out = (border){.work = work,
                    .begin = loads ? b->loader[work] : e->start[launch],
                    .launch = e->start[launch],
                    .after = b->reach[work],
                    .thread = e->thread[launch]};
}

/* The border moves to the start of the outermost operator that the launch is in and that no earlier
 * launch does. */
static void widen_borders(const rs_trace *trace, border *borders, size_t n)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; n && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        if ((kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) || !rs_event_is_span(e, row))
            continue;
        size_t low; /* the first border whose launch does not start before the row */
        RS_SEARCH(low, n, borders[low].launch < e->start[row]);
        if (low == n || borders[low].thread != e->thread[row]) continue;
        border *b = &borders[low];
        bool holds =
            rs_event_end(e, row) >= b->launch && (b->after == RS_NO_TIME || e->start[row] >= b->after);
        if (holds && e->start[row] < b->begin) b->begin = e->start[row];
    }
}

/* Every step's first work, and what follows it where that is no step. */
static border *list_borders(const rs_trace *trace, const rs_work_tokens *b, const rs_repetition *r, size_t *n)
{
    border *borders = rs_malloc((2 * r->n_steps + 1) * sizeof *borders);
    *n = 0;
    for (size_t i = 0; borders && i < r->n_steps; i++) {
        rs_stretch x = r->steps[i];
        size_t first = launched_from(b->order, x.first), next = launched_from(b->order, x.first + x.n);
        if (first < b->order->n && (*n == 0 || first > borders[*n - 1].work))
            set_border(trace, b, first, &borders[(*n)++]);
        if (next < b->order->n && next > borders[*n - 1].work) set_border(trace, b, next, &borders[(*n)++]);
    }
    return borders;
}

static const border *border_at(const border *borders, size_t n, size_t work)
{
    size_t low;
    RS_SEARCH(low, n, borders[low].work < work);
    return low < n ? &borders[low] : NULL;
}

/* The end of the last launching call of a stretch. */
static int64_t last_launch(const rs_trace *trace, const rs_work_tokens *b, rs_stretch x)
{
    int64_t last = RS_NO_TIME;
    for (size_t i = x.first; i < x.first + x.n; i++) {
        uint32_t launch = b->order->launch[i];
        if (launch == RS_NO_ROW) continue;
        int64_t end = rs_event_end(trace->events, launch);
        if (last == RS_NO_TIME || end > last) last = end;
    }
    return last;
}

/* Behind the last launch of all, a step has as much time as the others have in the middle. */
static void close_last(const int64_t *tails, size_t n_tails, int64_t last_launch, int64_t last_event,
                       rs_step_time *out)
{
    int64_t end = rs_add_sat(last_launch, n_tails ? tails[n_tails / 2] : 0);
    if (end > last_event) end = last_event;
    out->end = end > last_launch ? end : rs_add_sat(last_launch, 1);
}

static bool set_host_times(const rs_trace *trace, const rs_work_tokens *b, rs_repeated_steps *out,
                           int64_t last_event)
{
    const rs_repetition *r = &out->found;
    size_t n, n_tails = 0;
    RS_LOCAL border *borders = list_borders(trace, b, r, &n);
    RS_LOCAL int64_t *tails = rs_malloc((r->n_steps + 1) * sizeof *tails);
    bool ok = borders && tails;
    if (ok) widen_borders(trace, borders, n);
    for (int pass = 0; ok && pass < 2; pass++) {
        RS_SORT(tails, n_tails, by_time);
        for (size_t i = 0; i < r->n_steps; i++) {
            rs_stretch x = r->steps[i];
            const border *first = border_at(borders, n, x.first);
            const border *next = border_at(borders, n, x.first + x.n);
            int64_t last = last_launch(trace, b, x);
            if (!first || last == RS_NO_TIME) continue;
            out->when[i].begin = first->begin;
            out->when[i].launch = b->order->launch[first->work];
            if (next) out->when[i].end = next->begin;
            if (next && pass == 0) tails[n_tails++] = rs_sub_sat(next->begin, last);
            if (!next) close_last(tails, n_tails, last, last_event, &out->when[i]);
        }
    }
    return ok;
}

static void set_gpu_times(const rs_trace *trace, const rs_work_tokens *b, rs_repeated_steps *out)
{
    const rs_events *e = trace->events;
    const rs_repetition *r = &out->found;
    int64_t last = INT64_MIN;
    for (size_t i = r->n_steps; i-- > 0;) {
        rs_stretch x = r->steps[i];
        bool followed = i + 1 < r->n_steps && r->steps[i + 1].first == x.first + x.n;
        last = INT64_MIN;
        for (size_t k = x.first; k < x.first + x.n; k++) {
            int64_t end = rs_event_end(e, b->order->row[k]);
            if (end > last) last = end;
        }
        uint32_t row = b->order->row[x.first];
        out->when[i].row = row;
        out->when[i].gpu_begin = e->start[row];
        out->when[i].gpu_end = followed ? out->when[i + 1].gpu_begin : last;
        if (out->when[i].gpu_end <= e->start[row]) out->when[i].gpu_end = rs_add_sat(e->start[row], 1);
    }
}

/* ---- the facet ----------------------------------------------------------------------------------------- */

static void free_steps(void *value)
{
    rs_repeated_steps *s = value;
    rs_repetition_clear(&s->found);
    rs_free_all(s->when, s);
}

static rs_status make_steps(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const rs_work_tokens *tokens;
    int64_t first_event, last_event;
    RS_TRY(rs_trace_work_tokens(trace, &tokens, err));
    RS_TRY(rs_trace_span(trace, &first_event, &last_event, err));
    rs_repeated_steps *made = rs_calloc(1, sizeof *made);
    if (!made) return rs_fail_nomem(err, "steps");
    rs_status status = rs_repetition_find(&tokens->tokens, &made->found, err);
    if (!tokens->trains) {
        /* operators of a forward alone: what repeats may be a layer, whatever it begins with */
        made->found.n_steps = 0;
        made->found.border = RS_BORDER_NONE;
    }
    if (status == RS_OK) {
        size_t n = made->found.n_steps;
        made->when = rs_malloc((n + 1) * sizeof *made->when);
        for (size_t i = 0; made->when && i < n; i++)
            made->when[i] = (rs_step_time){.begin = RS_NO_TIME, .end = RS_NO_TIME, .launch = RS_NO_ROW};
        if (made->when) set_gpu_times(trace, tokens, made);
        if (!made->when || (tokens->order->told && !set_host_times(trace, tokens, made, last_event)))
            status = rs_fail_nomem(err, "steps");
    }
    if (status == RS_OK)
        *out = made;
    else
        free_steps(made);
    return status;
}

const rs_facet rs_facet_repeated_steps = {.name = "steps by repetition",
                                          .needs = {&rs_facet_work_tokens, &rs_facet_span},
                                          .make = make_steps,
                                          .release = free_steps};

rs_status rs_trace_repeated_steps(rs_trace *trace, const rs_repeated_steps **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_repeated_steps, NULL, out, err);
}
