#include "trace/launch_phases.h"

#include <string.h>

#include "base/order.h"
#include "base/memory.h"

typedef struct span {
    int64_t start, end;
    uint32_t thread, below; /* below: the span that holds this one, UINT32_MAX: none */
    uint8_t phase;
    bool evaluation, annotated; /* by autograd; its phase is an annotation's */
} span;

typedef struct span_list {
    span *items;
    size_t n, capacity;
} span_list;

static const rs_order by_start[] = {RS_RISING(span, start), RS_FALLING(span, end),
                                    RS_RISING(span, annotated)};

static uint8_t phase_of_annotation(const rs_string *name)
{
    const char *end = name->length > 3 ? name->text + name->length - 3 : "";
    if (strcmp(end, "(F)") == 0) return RS_LAUNCH_FORWARD;
    return strcmp(end, "(B)") == 0 || strcmp(end, "(W)") == 0 ? RS_LAUNCH_BACKWARD : RS_LAUNCH_UNKNOWN;
}

static bool is_evaluation(const rs_string *name)
{
    static const char prefix[] = "autograd::engine::evaluate_function";
    return strncmp(name->text, prefix, sizeof prefix - 1) == 0;
}

/* Annotations count where both phases are among them: one by itself may name anything. */
static bool collect(const rs_trace *trace, span_list *out)
{
    const rs_events *e = trace->events;
    bool seen[3] = {false}, ok = true;
    for (size_t i = 0; ok && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        if ((kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) || !rs_event_is_span(e, row))
            continue;
        const rs_string *name = &e->strings.items[e->name[row]];
        bool annotated = kind == RS_KIND_USER_ANNOTATION;
        uint8_t phase = annotated             ? phase_of_annotation(name)
                        : is_evaluation(name) ? RS_LAUNCH_BACKWARD
                                              : RS_LAUNCH_UNKNOWN;
        if (!phase) continue;
        seen[phase] |= annotated;
        ok = RS_GROW_ONE(out->items, out->n, out->capacity);
        if (ok)
            out->items[out->n++] = (span){.start = e->start[row],
                                          .end = rs_event_end(e, row),
                                          .thread = e->thread[row],
                                          .phase = phase,
                                          .evaluation = !annotated,
                                          .annotated = annotated};
    }
    size_t kept = 0;
    bool both = seen[RS_LAUNCH_FORWARD] && seen[RS_LAUNCH_BACKWARD];
    for (size_t i = 0; i < out->n; i++)
        if (both || !out->items[i].annotated) out->items[kept++] = out->items[i];
    out->n = kept;
    if (ok) RS_SORT(out->items, out->n, by_start);
    return ok;
}

/* What a thread launches, and how much of it autograd does. */
typedef struct counts {
    uint32_t top; /* the innermost open span, UINT32_MAX: none */
    bool evaluates;
    size_t launches, evaluated;
} counts;

static void close_before(counts *c, const span *spans, int64_t ns)
{
    while (c->top != UINT32_MAX && spans[c->top].end <= ns) c->top = spans[c->top].below;
}

/* Autograd within an annotation is of the annotation's phase. */
static void open_span(counts *c, span *spans, uint32_t i)
{
    span *s = &spans[i];
    close_before(c, spans, s->start);
    s->below = c->top;
    c->top = i;
    c->evaluates |= s->evaluation;
    if (s->evaluation && s->below != UINT32_MAX && spans[s->below].annotated) {
        s->phase = spans[s->below].phase;
        s->annotated = true;
    }
}

bool rs_launch_phases(const rs_trace *trace, const rs_launch_order *o, uint8_t *phases, uint8_t *autograd)
{
    const rs_events *e = trace->events;
    span_list list = {0};
    counts *threads = rs_calloc(e->n_threads + 1, sizeof *threads);
    bool ok = threads && collect(trace, &list);
    size_t next = 0;
    for (size_t t = 0; ok && t < e->n_threads; t++) threads[t].top = UINT32_MAX;
    for (size_t i = 0; ok && i < o->n; i++) {
        uint32_t launch = o->launch[i];
        phases[i] = RS_LAUNCH_UNKNOWN;
        if (launch == RS_NO_ROW) continue;
        for (; next < list.n && list.items[next].start <= e->start[launch]; next++)
            open_span(&threads[list.items[next].thread], list.items, (uint32_t)next);
        counts *c = &threads[e->thread[launch]];
        close_before(c, list.items, e->start[launch]);
        c->launches++;
        if (c->top == UINT32_MAX) continue;
        phases[i] = list.items[c->top].phase;
        c->evaluated += list.items[c->top].evaluation;
    }
    for (; ok && next < list.n; next++)
        threads[list.items[next].thread].evaluates |= list.items[next].evaluation;
    for (size_t t = 0; ok && t < e->n_threads; t++)
        autograd[t] = threads[t].evaluates && 2 * threads[t].evaluated >= threads[t].launches;
    for (size_t i = 0; ok && i < o->n; i++)
        if (o->launch[i] != RS_NO_ROW && phases[i] == RS_LAUNCH_UNKNOWN && autograd[e->thread[o->launch[i]]])
            phases[i] = RS_LAUNCH_BACKWARD;
    rs_free_all(threads, list.items);
    return ok;
}
