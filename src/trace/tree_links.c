/* What belongs together across the tree: backward to forward, operator to module. */
#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/tree.h"

static bool is_module(const rs_events *e, uint32_t row)
{
    return rs_event_kind(e, row) == RS_KIND_PYTHON_FUNCTION &&
           rs_is_module_name(&e->strings.items[e->name[row]]);
}

/* Parents stand before their children. */
uint32_t *rs_tree_modules(const rs_trace *trace, const rs_tree *t)
{
    uint32_t *module = rs_malloc((t->n + 1) * sizeof *module);
    for (size_t node = 0; module && node < t->n; node++) {
        uint32_t parent = t->parent[node];
        if (parent == RS_NO_NODE)
            module[node] = RS_NO_NODE;
        else
            module[node] = is_module(trace->events, t->row[parent]) ? parent : module[parent];
    }
    return module;
}

static bool is_wrapper(const rs_events *e, uint32_t row)
{
    static const char prefix[] = "autograd::engine::evaluate_function:";
    const rs_string *s = &e->strings.items[e->name[row]];
    return s->length >= sizeof prefix - 1 && memcmp(s->text, prefix, sizeof prefix - 1) == 0;
}

/* Operators with a sequence number, as (number, node). */
static bool collect(const rs_trace *trace, const rs_tree *t, rs_keyed **out, size_t *n_out)
{
    const rs_events *e = trace->events;
    rs_keyed *by_row = rs_malloc((t->n + 1) * sizeof *by_row);
    size_t n = 0, kept = 0;
    if (!by_row) return false;
    for (size_t node = 0; node < t->n; node++)
        if (rs_event_kind(e, t->row[node]) == RS_KIND_CPU_OP)
            by_row[n++] = (rs_keyed){t->row[node], (uint32_t)node};
    bool ok = rs_keyed_sort(by_row, n);
    rs_cursor number = rs_cursor_of(e, RS_COL_SEQUENCE_NUMBER);
    for (size_t i = 0; ok && i < n; i++) {
        int64_t value = rs_cursor_int(&number, (uint32_t)by_row[i].key, -1);
        if (value >= 0) by_row[kept++] = (rs_keyed){value, by_row[i].value};
    }
    ok = ok && rs_keyed_sort(by_row, kept);
    *out = by_row;
    *n_out = kept;
    if (!ok) rs_free(by_row);
    return ok;
}

/* The last forward operators met: the latest, and the latest on another thread than that. */
typedef struct latest {
    uint32_t node[2];
} latest;

static void remember(const rs_events *e, const rs_tree *t, latest *l, uint32_t node)
{
    if (l->node[0] != RS_NO_NODE && e->thread[t->row[l->node[0]]] != e->thread[t->row[node]])
        l->node[1] = l->node[0];
    l->node[0] = node;
}

static uint32_t elsewhere(const rs_events *e, const rs_tree *t, const latest *l, uint32_t node)
{
    for (unsigned i = 0; i < 2; i++)
        if (l->node[i] != RS_NO_NODE && e->thread[t->row[l->node[i]]] != e->thread[t->row[node]])
            return l->node[i];
    return RS_NO_NODE;
}

/* items: the operators of one sequence number, in order of start. */
static size_t link_group(const rs_events *e, const rs_tree *t, const rs_keyed *items, size_t n,
                         rs_fwdbwd *out)
{
    latest l = {{RS_NO_NODE, RS_NO_NODE}};
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t node = items[i].value;
        if (!is_wrapper(e, t->row[node])) {
            remember(e, t, &l, node);
            continue;
        }
        uint32_t forward = elsewhere(e, t, &l, node);
        if (forward != RS_NO_NODE) out[found++] = (rs_fwdbwd){.backward = node, .forward = forward};
    }
    return found;
}

static bool order_by_backward(rs_fwdbwd *links, size_t n)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < n; i++) keys[i] = (rs_keyed){links[i].backward, links[i].forward};
    bool ok = rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) links[i] = (rs_fwdbwd){(uint32_t)keys[i].key, keys[i].value};
    return ok;
}

static rs_status find_links(const rs_trace *trace, const rs_tree *t, rs_fwdbwd **out, size_t *n_out,
                            rs_error *err)
{
    const rs_events *e = trace->events;
    rs_keyed *items;
    size_t n, found = 0;
    *out = NULL;
    *n_out = 0;
    if (!collect(trace, t, &items, &n)) return rs_fail_nomem(err, "forward and backward");
    rs_fwdbwd *links = rs_malloc((n + 1) * sizeof *links);
    bool ok = links != NULL;
    for (size_t i = 0, end; ok && i < n; i = end) {
        int64_t number = items[i].key;
        for (end = i; end < n && items[end].key == number; end++)
            items[end].key = e->start[t->row[items[end].value]];
        /* keys behind `end` are still sequence numbers */
        ok = rs_keyed_sort(items + i, end - i);
        if (ok) found += link_group(e, t, items + i, end - i, links + found);
    }
    ok = ok && order_by_backward(links, found);
    rs_free(items);
    if (!ok) {
        rs_free(links);
        return rs_fail_nomem(err, "forward and backward");
    }
    *out = links;
    *n_out = found;
    return RS_OK;
}

typedef struct link_list {
    rs_fwdbwd *items;
    size_t n;
} link_list;

static void free_list(void *value)
{
    link_list *list = value;
    rs_free_all(list->items, list);
}

static rs_status make_list(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    link_list *list = rs_calloc(1, sizeof *list);
    if (!list) return rs_fail_nomem(err, "forward and backward");
    rs_status status = find_links(trace, *(rs_tree *const *)key, &list->items, &list->n, err);
    if (status == RS_OK)
        *out = list;
    else
        free_list(list);
    return status;
}

/* A tree is the trace's and stays where it is, so its address is the key. */
const rs_facet rs_facet_fwdbwd = {.name = "forward and backward",
                                  .columns = RS_COLUMN_BIT(SEQUENCE_NUMBER),
                                  .needs = {&rs_facet_tree},
                                  .key_size = sizeof(rs_tree *),
                                  .make = make_list,
                                  .release = free_list};

rs_status rs_tree_fwdbwd(rs_trace *trace, rs_tree *t, const rs_fwdbwd **out, size_t *n, rs_error *err)
{
    const link_list *list;
    RS_TRY(rs_trace_facet(trace, &rs_facet_fwdbwd, &t, &list, err));
    *out = list->items;
    *n = list->n;
    return RS_OK;
}
