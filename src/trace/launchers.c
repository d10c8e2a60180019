#include "trace/launchers.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/facet.h"

uint32_t rs_tree_launcher_of(const rs_trace *trace, const rs_tree *t, uint32_t call)
{
    const rs_events *e = trace->events;
    uint32_t op = t->op[call];
    while (op != RS_NO_NODE && strcmp(rs_event_name(e, t->row[op]), "execute") == 0)
        op = t->parent[op] == RS_NO_NODE ? RS_NO_NODE : t->op[t->parent[op]];
    return op == RS_NO_NODE ? call : op;
}

/* The work that a node launched itself. */
static size_t own_end(const rs_tree *t, size_t node)
{
    return node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
}

static bool pair_up(const rs_trace *trace, const rs_classes *classes, const rs_tree *t, rs_keyed *pairs,
                    size_t *n)
{
    *n = 0;
    for (size_t node = 0; node < t->n; node++) {
        size_t end = own_end(t, node);
        if (t->gpu_first[node] == end) continue;
        uint32_t launcher = rs_tree_launcher_of(trace, t, (uint32_t)node);
        for (size_t i = t->gpu_first[node]; i < end; i++) {
            if (rs_class_at(classes, t->gpu_row[i]) != RS_CLASS_COMM)
                pairs[(*n)++] = (rs_keyed){launcher, t->gpu_row[i]};
        }
    }
    return rs_keyed_sort(pairs, *n);
}

static rs_launcher measure(const rs_events *e, const rs_keyed *pairs, size_t n, rs_interval *scratch,
                           bool *ok)
{
    rs_launcher l = {.node = (uint32_t)pairs[0].key, .first_kernel = pairs[0].value, .n_kernels = n};
    for (size_t i = 0; i < n; i++) {
        uint32_t row = pairs[i].value;
        int64_t start = e->start[row], first = e->start[l.first_kernel];
        scratch[i] = (rs_interval){start, e->duration[row] > 0 ? rs_add_sat(start, e->duration[row]) : start};
        if (start < first || (start == first && row < l.first_kernel)) l.first_kernel = row;
    }
    *ok = rs_intervals_sort(scratch, n);
    l.direct = rs_intervals_length(scratch, rs_intervals_unite(scratch, n));
    return l;
}

static bool in_time(const rs_events *e, const rs_tree *t, rs_launcher *items, size_t n)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    RS_LOCAL rs_launcher *sorted = rs_malloc((n + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){t->row[items[i].node], (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) keys[i].key = e->start[keys[i].key];
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) sorted[i] = items[keys[i].value];
    if (ok) memcpy(items, sorted, n * sizeof *items);
    return ok;
}

typedef struct launcher_list {
    rs_launcher *items;
    size_t n;
} launcher_list;

static rs_status find_launchers(rs_trace *trace, rs_tree *t, launcher_list *out, rs_error *err)
{
    const rs_events *e = trace->events;
    size_t n = 0, found = 0;
    const rs_classes *classes;
    RS_TRY(rs_trace_classes(trace, RS_CLASSES_OWN, &classes, err));
    RS_TRY(rs_tree_busy(trace, t, err));
    RS_LOCAL rs_keyed *pairs = rs_malloc((t->n_gpu + 1) * sizeof *pairs);
    RS_LOCAL rs_interval *scratch = rs_malloc((t->n_gpu + 1) * sizeof *scratch);
    bool ok = pairs && scratch && pair_up(trace, classes, t, pairs, &n);
    for (size_t i = 0; ok && i < n; i++) found += i == 0 || pairs[i].key != pairs[i - 1].key;
    rs_launcher *items = ok ? rs_malloc((found + 1) * sizeof *items) : NULL;
    ok = items != NULL;
    found = 0;
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && pairs[end].key == pairs[i].key; end++) {
        }
        items[found] = measure(e, pairs + i, end - i, scratch, &ok);
        items[found].subtree = t->busy[items[found].node];
        found++;
    }
    ok = ok && in_time(e, t, items, found);
    if (!ok) {
        rs_free(items);
        return rs_fail_nomem(err, "launchers");
    }
    *out = (launcher_list){items, found};
    return RS_OK;
}

static void free_list(void *value)
{
    launcher_list *list = value;
    rs_free_all(list->items, list);
}

static rs_status make_list(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    launcher_list *list = rs_calloc(1, sizeof *list);
    if (!list) return rs_fail_nomem(err, "launchers");
    rs_status status = find_launchers(trace, *(rs_tree *const *)key, list, err);
    if (status == RS_OK)
        *out = list;
    else
        free_list(list);
    return status;
}

/* A tree is the trace's and stays where it is, so its address is the key. */
const rs_facet rs_facet_launchers = {.name = "launchers",
                                     .needs = {&rs_facet_tree, &rs_facet_classes},
                                     .key_size = sizeof(rs_tree *),
                                     .make = make_list,
                                     .release = free_list};

rs_status rs_tree_launchers(rs_trace *trace, rs_tree *t, const rs_launcher **out, size_t *n, rs_error *err)
{
    const launcher_list *list;
    RS_TRY(rs_trace_facet(trace, &rs_facet_launchers, &t, &list, err));
    *out = list->items;
    *n = list->n;
    return RS_OK;
}
