/* The operator around each launching call. Operators and calls of a thread are two lists by start, which are
 * walked together with the stack of the operators that are open. */
#include "trace/launch_ops.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"

/* The rows of one kind of event, those of a thread together: of thread t from first[t] to end[t]. */
typedef struct lanes {
    uint32_t *rows; /* of a call: its index among the links' calls */
    size_t *first, *end;
} lanes;

static void lanes_clear(lanes *l)
{
    rs_free_all(l->rows, l->first, l->end);
}

/* From the counts in first[t + 1] to where each thread's rows begin. */
static bool make_room(lanes *l, size_t n_threads)
{
    for (size_t i = 0; i < n_threads; i++) l->first[i + 1] += l->first[i];
    memcpy(l->end, l->first, (n_threads + 1) * sizeof *l->end);
    l->rows = rs_malloc((l->first[n_threads] + 1) * sizeof *l->rows);
    return l->rows != NULL;
}

static bool lanes_init(lanes *l, size_t n_threads)
{
    l->first = rs_calloc(n_threads + 1, sizeof *l->first);
    l->end = rs_malloc((n_threads + 1) * sizeof *l->end);
    return l->first && l->end;
}

static bool list_calls(const rs_events *e, const rs_links *links, lanes *calls)
{
    if (!lanes_init(calls, e->n_threads)) return false;
    for (size_t i = 0; i < links->n_calls; i++) calls->first[e->thread[links->call[i]] + 1]++;
    if (!make_room(calls, e->n_threads)) return false;
    for (size_t i = 0; i < links->n_calls; i++) {
        uint32_t row = links->call[i];
        if (e->start[row] != RS_NO_TIME) calls->rows[calls->end[e->thread[row]]++] = (uint32_t)i;
    }
    return true;
}

/* Operators of the threads that have calls: the others' are around nothing. */
static bool list_ops(const rs_trace *t, const lanes *calls, lanes *ops)
{
    const rs_events *e = t->events;
    RS_LOCAL uint32_t *found = NULL;
    size_t n = 0, capacity = 0;
    bool ok = lanes_init(ops, e->n_threads);
    for (size_t i = 0; ok && i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (rs_event_kind(e, row) != RS_KIND_CPU_OP) continue;
        uint32_t thread = e->thread[row];
        if (calls->end[thread] == calls->first[thread] || !rs_event_is_span(e, row)) continue;
        ok = RS_GROW_ONE(found, n, capacity);
        if (!ok) break;
        found[n++] = row;
        ops->first[thread + 1]++;
    }
    ok = ok && make_room(ops, e->n_threads);
    for (size_t i = 0; ok && i < n; i++) ops->rows[ops->end[e->thread[found[i]]]++] = found[i];
    return ok;
}

/* Orders by start, equal ones as they are in the file. Mostly they are in order. */
static bool order(const rs_events *e, const uint32_t *row_of, uint32_t *items, size_t n)
{
    size_t at = 1;
    while (at < n && e->start[row_of ? row_of[items[at]] : items[at]] >=
                         e->start[row_of ? row_of[items[at - 1]] : items[at - 1]])
        at++;
    if (at >= n) return true;
    RS_LOCAL rs_keyed *keys = rs_malloc(n * sizeof *keys);
    for (size_t i = 0; keys && i < n; i++)
        keys[i] = (rs_keyed){e->start[row_of ? row_of[items[i]] : items[i]], items[i]};
    bool ok = keys && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) items[i] = keys[i].value;
    return ok;
}

/* Where two operators begin together the longer one is outside. */
static void order_ties(const rs_events *e, uint32_t *ops, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t x = ops[i];
        size_t k = i;
        for (; k > 0 && e->start[ops[k - 1]] == e->start[x] && e->duration[ops[k - 1]] < e->duration[x]; k--)
            ops[k] = ops[k - 1];
        ops[k] = x;
    }
}

/* A call is inside what begins with it. What ends where the call begins is around it only if it began there,
 * too. The operators walked over give their place to the stack. */
static void sweep(const rs_events *e, const rs_links *links, uint32_t *ops, size_t n_ops,
                  const uint32_t *calls, size_t n_calls, uint32_t *op_of_call)
{
    size_t at = 0, depth = 0;
    for (size_t i = 0; i < n_calls; i++) {
        int64_t now = e->start[links->call[calls[i]]];
        for (; at < n_ops && e->start[ops[at]] <= now; at++) {
            while (depth && rs_event_end(e, ops[depth - 1]) <= e->start[ops[at]] &&
                   e->start[ops[depth - 1]] < e->start[ops[at]])
                depth--;
            ops[depth++] = ops[at];
        }
        while (depth && rs_event_end(e, ops[depth - 1]) <= now && e->start[ops[depth - 1]] < now) depth--;
        op_of_call[calls[i]] = depth ? ops[depth - 1] : RS_NO_ROW;
    }
}

static bool find_ops(const rs_trace *t, const rs_links *links, lanes *calls, lanes *ops, uint32_t *op_of_call)
{
    const rs_events *e = t->events;
    for (size_t i = 0; i < links->n_calls; i++) op_of_call[i] = RS_NO_ROW;
    if (!list_calls(e, links, calls) || !list_ops(t, calls, ops)) return false;
    for (size_t i = 0; i < e->n_threads; i++) {
        size_t n_ops = ops->end[i] - ops->first[i], n_calls = calls->end[i] - calls->first[i];
        uint32_t *o = ops->rows + ops->first[i], *c = calls->rows + calls->first[i];
        if (!n_ops || !n_calls) continue;
        if (!order(e, NULL, o, n_ops) || !order(e, links->call, c, n_calls)) return false;
        order_ties(e, o, n_ops);
        sweep(e, links, o, n_ops, c, n_calls, op_of_call);
    }
    return true;
}

rs_status rs_launch_ops(const rs_trace *t, const rs_links *links, uint32_t **out, rs_error *err)
{
    RS_SCOPED(lanes_clear) lanes calls = {0}, ops = {0};
    uint32_t *op_of_call = rs_malloc((links->n_calls + 1) * sizeof *op_of_call);
    bool ok = op_of_call && find_ops(t, links, &calls, &ops, op_of_call);
    *out = ok ? op_of_call : NULL;
    if (ok) return RS_OK;
    rs_free(op_of_call);
    return rs_fail_nomem(err, "operators");
}
