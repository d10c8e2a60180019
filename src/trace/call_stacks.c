#include "trace/call_stacks.h"

#include "base/interval.h"
#include "base/memory.h"

static int64_t second_key(const rs_nested *items, rs_keyed which, bool by_start)
{
    const rs_nested *x = &items[which.value];
    return rs_sub_sat(0, by_start ? x->end : x->start);
}

/* Sorts by key, then, where keys are equal, by the second key; both stable. */
static bool sort_by_two(rs_keyed *list, size_t n, const rs_nested *items, bool by_start)
{
    if (!rs_keyed_sort(list, n)) return false;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t key = list[i].key;
        bool ordered = true;
        for (end = i + 1; end < n && list[end].key == key; end++)
            ordered = ordered &&
                      second_key(items, list[end - 1], by_start) <= second_key(items, list[end], by_start);
        if (ordered) continue;
        for (size_t k = i; k < end; k++) list[k].key = second_key(items, list[k], by_start);
        if (!rs_keyed_sort(list + i, end - i)) return false;
        for (size_t k = i; k < end; k++) list[k].key = key;
    }
    return true;
}

/* The order where items nest, in one walk: what ends by the next start leaves the stack before it. stack is
 * scratch. false, with order half written, where two overlap without nesting. */
static bool order_nested(const rs_nested *items, const rs_keyed *starts, size_t n, const rs_keyed *points,
                         size_t n_points, rs_keyed *stack, uint32_t *order)
{
    size_t depth = 0, p = 0, out = 0;
    for (size_t i = 0; i <= n; i++) {
        const rs_nested *x = i < n ? &items[starts[i].value] : NULL;
        for (; depth && (!x || stack[depth - 1].key <= x->start); depth--) {
            for (; p < n_points && points[p].key <= stack[depth - 1].key; p++) {
                order[out++] = items[points[p].value].id << 1;
                order[out++] = items[points[p].value].id << 1 | RS_STACK_END;
            }
            order[out++] = stack[depth - 1].value << 1 | RS_STACK_END;
        }
        for (; p < n_points && (!x || points[p].key < x->start); p++) {
            order[out++] = items[points[p].value].id << 1;
            order[out++] = items[points[p].value].id << 1 | RS_STACK_END;
        }
        if (!x) break;
        if (depth && stack[depth - 1].key < x->end) return false;
        stack[depth++] = (rs_keyed){x->end, x->id};
        order[out++] = x->id << 1;
    }
    return true;
}

/* By end, then the one that began last; of two that start and end together the later one ends first. */
static bool sort_ends(const rs_nested *items, size_t n, rs_keyed *ends)
{
    size_t out = 0;
    for (size_t i = n; i-- > 0;)
        if (items[i].end > items[i].start) ends[out++] = (rs_keyed){items[i].end, (uint32_t)i};
    return sort_by_two(ends, out, items, false);
}

/* The order from sorted starts, ends and points, whether they nest or not. */
static void merge(const rs_nested *items, const rs_keyed *starts, const rs_keyed *ends, size_t n,
                  const rs_keyed *points, size_t n_points, uint32_t *order)
{
    size_t s = 0, e = 0, p = 0, out = 0;
    while (s < n || e < n || p < n_points) {
        int64_t t = INT64_MAX;
        if (s < n && starts[s].key < t) t = starts[s].key;
        if (e < n && ends[e].key < t) t = ends[e].key;
        if (p < n_points && points[p].key < t) t = points[p].key;
        bool inside = e < n && ends[e].key == t;
        for (int when = 0; when < 2; when++) {
            for (; inside == (when == 0) && p < n_points && points[p].key == t; p++) {
                order[out++] = items[points[p].value].id << 1;
                order[out++] = items[points[p].value].id << 1 | RS_STACK_END;
            }
            if (when) break;
            for (; e < n && ends[e].key == t; e++) order[out++] = items[ends[e].value].id << 1 | RS_STACK_END;
            for (; s < n && starts[s].key == t; s++) order[out++] = items[starts[s].value].id << 1;
        }
    }
}

bool rs_call_stack_order(const rs_nested *items, size_t n, uint32_t *order)
{
    RS_LOCAL rs_keyed *starts = rs_malloc(n * sizeof *starts), *ends = rs_malloc(n * sizeof *ends);
    RS_LOCAL rs_keyed *points = NULL;
    size_t n_long = 0, n_points = 0, points_capacity = 0;
    bool ok = starts && ends;
    for (size_t i = 0; ok && i < n; i++) {
        if (items[i].end > items[i].start) {
            starts[n_long++] = (rs_keyed){items[i].start, (uint32_t)i};
        } else {
            ok = RS_PUSH(points, n_points, points_capacity, (rs_keyed){items[i].start, (uint32_t)i});
        }
    }
    ok = ok && sort_by_two(starts, n_long, items, true) && rs_keyed_sort(points, n_points);
    if (ok && !order_nested(items, starts, n_long, points, n_points, ends, order)) {
        ok = sort_ends(items, n, ends);
        if (ok) merge(items, starts, ends, n_long, points, n_points, order);
    }
    return ok;
}
