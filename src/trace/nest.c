#include "trace/nest.h"

#include <string.h>

#include "trace/call_stacks.h"

void rs_nest_free(rs_nest *nest)
{
    if (!nest) return;
    rs_free_all(nest->row, nest->parent, nest->depth, nest->end, nest->node_of, nest);
}

static rs_nest *make(size_t n, size_t n_rows)
{
    rs_nest *t = rs_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->row = rs_malloc(n * sizeof *t->row);
    t->parent = rs_malloc(n * sizeof *t->parent);
    t->depth = rs_malloc(n * sizeof *t->depth);
    t->end = rs_malloc(n * sizeof *t->end);
    t->node_of = rs_malloc(n_rows * sizeof *t->node_of);
    if (t->row && t->parent && t->depth && t->end && t->node_of) {
        memset(t->node_of, 0xff, n_rows * sizeof *t->node_of);
        return t;
    }
    rs_nest_free(t);
    return NULL;
}

static void sweep(rs_nest *t, const uint32_t *rows, const uint32_t *order, size_t n, uint32_t *stack)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (order[i] & RS_STACK_END) {
            if (depth) t->end[stack[--depth]] = (uint32_t)t->n;
            continue;
        }
        uint32_t row = rows[order[i] >> 1], node = (uint32_t)t->n++;
        t->row[node] = row;
        t->parent[node] = depth ? stack[depth - 1] : RS_NO_ROW;
        t->depth[node] = (uint32_t)depth;
        t->end[node] = node + 1;
        t->node_of[row] = node;
        stack[depth++] = node;
    }
}

rs_status rs_nest_create(const rs_events *e, const uint32_t *rows, const int64_t *starts, const int64_t *ends,
                         size_t n, rs_nest **out, rs_error *err)
{
    if (n > UINT32_MAX / 2) return rs_fail(err, RS_ERR_LIMIT, "too many host events");
    rs_nest *t = make(n, e->n);
    RS_LOCAL size_t *first = rs_calloc(e->n_threads + 2, sizeof *first);
    RS_LOCAL rs_nested *nested = rs_malloc(n * sizeof *nested);
    RS_LOCAL uint32_t *order = rs_malloc(2 * n * sizeof *order), *stack = rs_malloc(n * sizeof *stack);
    bool ok = t && first && nested && order && stack;
    for (size_t i = 0; ok && i < n; i++) first[e->thread[rows[i]] + 2]++;
    for (size_t i = 1; ok && i <= e->n_threads; i++) first[i + 1] += first[i];
    for (size_t i = 0; ok && i < n; i++)
        nested[first[e->thread[rows[i]] + 1]++] = (rs_nested){starts[i], ends[i], (uint32_t)i};
    for (size_t i = 0; ok && i < e->n_threads; i++) {
        size_t count = first[i + 1] - first[i];
        ok = count == 0 || rs_call_stack_order(nested + first[i], count, order);
        if (ok) sweep(t, rows, order, 2 * count, stack);
    }
    if (ok) {
        *out = t;
        return RS_OK;
    }
    rs_nest_free(t);
    return rs_fail_nomem(err, "call stacks");
}
