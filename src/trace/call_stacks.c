#include "trace/call_stacks.h"

#include "base/interval.h"
#include "base/memory.h"

static void reverse(rs_keyed *list, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        rs_keyed x = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = x;
    }
}

/* Sorts by start and outermost first, or by end and innermost first. What starts and ends together stands as
 * it came in by start, and the other way round by end. The list comes in by rising starts or nearly so, which
 * is nearly by rising ends too. */
static bool sort_by_two(rs_keyed *list, size_t n, const rs_nested *items, bool by_start)
{
    if (!rs_keyed_sort(list, n)) return false;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t key = list[i].key;
        for (end = i + 1; end < n && list[end].key == key; end++) {
        }
        if (end - i == 1) continue;
        if (!by_start) reverse(list + i, end - i);
        for (size_t k = i; k < end; k++) {
            const rs_nested *x = &items[list[k].value];
            list[k].key = by_start ? rs_sub_sat(0, x->end) : rs_sub_sat(0, x->start);
        }
        if (!rs_keyed_sort(list + i, end - i)) return false;
        for (size_t k = i; k < end; k++) list[k].key = key;
    }
    return true;
}

static size_t merge(const rs_nested *items, const rs_keyed *starts, const rs_keyed *ends, size_t n,
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
    return out;
}

bool rs_call_stack_order(const rs_nested *items, size_t n, uint32_t *order)
{
    rs_keyed *starts = rs_malloc(n * sizeof *starts), *ends = rs_malloc(n * sizeof *ends);
    rs_keyed *points = NULL;
    size_t n_long = 0, n_points = 0, points_capacity = 0;
    bool ok = starts && ends;
    for (size_t i = 0; ok && i < n; i++) {
        if (items[i].end > items[i].start) {
            starts[n_long++] = (rs_keyed){items[i].start, (uint32_t)i};
        } else {
            ok = RS_GROW_ONE(points, n_points, points_capacity);
            if (ok) points[n_points++] = (rs_keyed){items[i].start, (uint32_t)i};
        }
    }
    for (size_t i = 0; ok && i < n_long; i++)
        ends[i] = (rs_keyed){items[starts[i].value].end, starts[i].value};
    ok = ok && sort_by_two(starts, n_long, items, true) && sort_by_two(ends, n_long, items, false) &&
         rs_keyed_sort(points, n_points);
    if (ok) (void)merge(items, starts, ends, n_long, points, n_points, order);
    rs_free(starts);
    rs_free(ends);
    rs_free(points);
    return ok;
}
