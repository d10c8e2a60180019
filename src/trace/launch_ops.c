#include "trace/launch_ops.h"

#include "base/interval.h"
#include "base/memory.h"

#define IS_CALL UINT32_C(0x80000000)

/* One thread's operators and launching calls in order of start. */
typedef struct lane {
    rs_keyed *items; /* value: row of an operator, or IS_CALL | index of a call */
    size_t n;
} lane;

static bool is_call(const rs_keyed *k)
{
    return k->value & IS_CALL;
}

/* Where two begin together the longer one is outside; a call is never outside. */
static bool goes_first(const rs_events *e, const rs_keyed *a, const rs_keyed *b)
{
    if (is_call(a) != is_call(b)) return is_call(b);
    return !is_call(a) && e->duration[a->value] > e->duration[b->value];
}

static void order_ties(const rs_events *e, lane *l)
{
    for (size_t i = 1; i < l->n; i++) {
        rs_keyed x = l->items[i];
        size_t k = i;
        for (; k > 0 && l->items[k - 1].key == x.key && goes_first(e, &x, &l->items[k - 1]); k--)
            l->items[k] = l->items[k - 1];
        l->items[k] = x;
    }
}

static void sweep(const rs_events *e, const lane *l, uint32_t *stack, uint32_t *op_of_call)
{
    size_t depth = 0;
    for (size_t i = 0; i < l->n; i++) {
        const rs_keyed *k = &l->items[i];
        while (depth && rs_event_end(e, stack[depth - 1]) <= k->key && e->start[stack[depth - 1]] < k->key)
            depth--;
        if (is_call(k))
            op_of_call[k->value & ~IS_CALL] = depth ? stack[depth - 1] : RS_NO_ROW;
        else
            stack[depth++] = k->value;
    }
}

/* Counts, then fills, so that every thread's items lie together. */
static rs_status collect(const rs_trace *t, const rs_links *links, rs_keyed *all, size_t *first,
                         rs_error *err)
{
    const rs_events *e = t->events;
    size_t n_threads = e->n_threads;
    size_t *at = rs_calloc(n_threads + 1, sizeof *at);
    if (!at) return rs_fail_nomem(err, "operators");
    for (int pass = 0; pass < 2; pass++) {
        size_t call = 0;
        for (size_t i = 0; i < t->n_rows; i++) {
            uint32_t row = rs_trace_row(t, i), value = row;
            bool launches = call < links->n_calls && links->call[call] == row;
            if (launches)
                value = IS_CALL | (uint32_t)call++;
            else if (rs_event_kind(e, row) != RS_KIND_CPU_OP || !rs_event_is_span(e, row))
                continue;
            if (launches && e->start[row] == RS_NO_TIME) continue;
            uint32_t thread = e->thread[row];
            if (pass == 0)
                first[thread + 1]++;
            else
                all[at[thread]++] = (rs_keyed){.key = e->start[row], .value = value};
        }
        if (pass) break;
        for (size_t i = 0; i < n_threads; i++) first[i + 1] += first[i];
        for (size_t i = 0; i < n_threads; i++) at[i] = first[i];
    }
    rs_free(at);
    return RS_OK;
}

rs_status rs_launch_ops(const rs_trace *t, const rs_links *links, uint32_t **out, rs_error *err)
{
    const rs_events *e = t->events;
    *out = NULL;
    if (e->n >= IS_CALL) return rs_fail(err, RS_ERR_LIMIT, "more than %u events in one file", IS_CALL);
    uint32_t *op_of_call = rs_malloc((links->n_calls + 1) * sizeof *op_of_call);
    rs_keyed *all = rs_malloc((t->n_rows + 1) * sizeof *all);
    uint32_t *stack = rs_malloc((t->n_rows + 1) * sizeof *stack);
    size_t *first = rs_calloc(e->n_threads + 2, sizeof *first);
    rs_status status = RS_OK;
    if (!op_of_call || !all || !stack || !first) status = rs_fail_nomem(err, "operators");
    if (status == RS_OK) {
        for (size_t i = 0; i < links->n_calls; i++) op_of_call[i] = RS_NO_ROW;
        status = collect(t, links, all, first, err);
    }
    for (size_t i = 0; status == RS_OK && i < e->n_threads; i++) {
        lane l = {.items = all + first[i], .n = first[i + 1] - first[i]};
        if (l.n == 0) continue;
        if (!rs_keyed_sort(l.items, l.n)) {
            status = rs_fail_nomem(err, "operators");
            break;
        }
        order_ties(e, &l);
        sweep(e, &l, stack, op_of_call);
    }
    rs_free(all);
    rs_free(stack);
    rs_free(first);
    if (status == RS_OK)
        *out = op_of_call;
    else
        rs_free(op_of_call);
    return status;
}
