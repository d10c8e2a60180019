/* The trees of a rank for compare --by tree: operators with GPU work below them, and whose nearest operator
 * each piece of work has. */
#include <string.h>

#include "analysis/compare.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/try.h"
#include "trace/launchers.h"

typedef struct builder {
    rs_trace *trace;
    const rs_events *e;
    const rs_tree *t;
    uint32_t *module; /* by node of the call tree */
    rs_compare_rank *p;
    uint32_t *place; /* by node of the call tree: of its operator in p->nodes */
    rs_map64 plain;  /* by string id of the events: the plain name's id in the pool */
    char *text;
    size_t text_capacity;
    size_t nodes_capacity, work_capacity, threads_capacity;
} builder;

/* ---- names --------------------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* Copies a name without what changes from run to run: addresses (0x7f..) and lines of files (.py(12)). */
static size_t make_plain(const char *name, size_t n, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        if (n - i > 2 && name[i] == '0' && name[i + 1] == 'x' && is_hex(name[i + 2])) {
            for (i += 2; i < n && is_hex(name[i]); i++) {
            }
            continue;
        }
        if (n - i > 4 && memcmp(name + i, ".py(", 4) == 0) {
            size_t end = i + 4;
            while (end < n && name[end] >= '0' && name[end] <= '9') end++;
            if (end > i + 4 && end < n && name[end] == ')') {
                i = end + 1;
                continue;
            }
        }
        out[used++] = name[i++];
    }
    return used;
}

static uint32_t plain_name(builder *b, uint32_t id, bool *ok)
{
    bool is_new;
    uint32_t *slot = *ok ? rs_map64_put(&b->plain, id, &is_new) : NULL;
    if (slot && !is_new) return *slot;
    const rs_string *s = &b->e->strings.items[id];
    if (!slot || !rs_grow((void **)&b->text, &b->text_capacity, (size_t)s->length + 1, 1)) {
        *ok = false;
        return RS_NO_STRING;
    }
    size_t n = make_plain(s->text, s->length, b->text);
    *slot = rs_strings_add(&b->p->pool.strings, b->text, n);
    if (*slot == RS_NO_STRING) *ok = false;
    return *slot;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static uint32_t module_of(builder *b, uint32_t node, bool *ok)
{
    uint32_t module = b->module[node];
    if (module == RS_NO_NODE) return RS_NO_STRING;
    return rs_pool_add(&b->p->pool, b->e, b->e->name[b->t->row[module]], ok);
}

static bool add_node(builder *b, uint32_t node)
{
    const rs_events *e = b->e;
    rs_compare_rank *p = b->p;
    uint32_t row = b->t->row[node];
    bool ok = RS_GROW_ONE(p->nodes, p->n_nodes, b->nodes_capacity);
    if (!ok) return false;
    b->place[node] = (uint32_t)p->n_nodes;
    rs_compare_node *x = &p->nodes[p->n_nodes++];
    *x = (rs_compare_node){.name = rs_pool_add(&p->pool, e, e->name[row], &ok),
                           .plain = plain_name(b, e->name[row], &ok),
                           .dims = rs_pool_add(&p->pool, e, rs_events_text(e, RS_COL_INPUT_DIMS, row), &ok),
                           .module = module_of(b, node, &ok),
                           .uid = row,
                           .end = node, /* for now the node in the call tree */
                           .start = e->start[row]};
    return ok;
}

/* Nodes in the order of the call tree: depth first. */
static bool add_nodes(builder *b)
{
    const rs_tree *t = b->t;
    rs_compare_rank *p = b->p;
    for (size_t node = 0; node < t->n; node++) {
        uint32_t parent = t->parent[node];
        b->place[node] = parent == RS_NO_NODE ? RS_COMPARE_ROOT : b->place[parent];
        if (t->op[node] == node && rs_tree_kernels(t, (uint32_t)node) && !add_node(b, (uint32_t)node))
            return false;
    }
    /* a subtree's end among these nodes: the first one that is not below */
    RS_LOCAL uint32_t *ends = rs_malloc((p->n_nodes + 1) * sizeof *ends);
    if (!ends) return false;
    size_t depth = 0; /* of ends, used as the stack of open nodes */
    for (size_t i = 0; i < p->n_nodes; i++) {
        while (depth && b->t->end[p->nodes[ends[depth - 1]].end] <= p->nodes[i].end)
            p->nodes[ends[--depth]].end = (uint32_t)i;
        ends[depth++] = (uint32_t)i;
    }
    while (depth) p->nodes[ends[--depth]].end = (uint32_t)p->n_nodes;
    return true;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static int by_first_root(const rs_compare_rank *p, const rs_compare_thread *x, const rs_compare_thread *y)
{
    const rs_compare_node *a = &p->nodes[x->first], *b = &p->nodes[y->first];
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->uid < b->uid ? -1 : 1;
}

static bool add_threads(builder *b)
{
    rs_compare_rank *p = b->p;
    const rs_events *e = b->e;
    for (uint32_t i = 0; i < p->n_nodes; i = p->nodes[i].end) {
        bool same = p->n_threads &&
                    e->thread[p->nodes[p->threads[p->n_threads - 1].first].uid] == e->thread[p->nodes[i].uid];
        if (!same) {
            if (!RS_PUSH(p->threads, p->n_threads, b->threads_capacity, (rs_compare_thread){.first = i}))
                return false;
        }
        p->threads[p->n_threads - 1].end = p->nodes[i].end;
    }
    for (size_t i = 1; i < p->n_threads; i++) { /* almost in order: threads stand by their first event */
        rs_compare_thread x = p->threads[i];
        size_t k = i;
        for (; k > 0 && by_first_root(p, &x, &p->threads[k - 1]) < 0; k--) p->threads[k] = p->threads[k - 1];
        p->threads[k] = x;
    }
    return true;
}

/* ---- work ---------------------------------------------------------------------------------------------- */

static bool add_work(builder *b, uint32_t node, uint32_t launcher, uint32_t pieces, int64_t time)
{
    rs_compare_rank *p = b->p;
    rs_compare_work *last = p->n_work ? &p->work[p->n_work - 1] : NULL;
    if (last && last->node == node && last->launcher == launcher && last->pieces < UINT32_MAX - pieces) {
        last->pieces += pieces;
        last->time = rs_add_sat(last->time, time);
        return true;
    }
    return RS_PUSH(p->work, p->n_work, b->work_capacity, (rs_compare_work){node, launcher, pieces, time});
}

static bool add_linked(builder *b)
{
    const rs_tree *t = b->t;
    const rs_events *e = b->e;
    bool ok = true;
    for (size_t node = 0; ok && node < t->n; node++) {
        size_t first = t->gpu_first[node];
        size_t end = node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
        if (first == end) continue;
        uint32_t launcher = rs_tree_launcher_of(b->trace, t, (uint32_t)node);
        uint32_t name = rs_pool_add(&b->p->pool, e, e->name[t->row[launcher]], &ok);
        ok = ok && add_work(b, b->place[node], name, (uint32_t)(end - first),
                            rs_sub_sat(t->gpu_sum[end], t->gpu_sum[first]));
    }
    return ok;
}

static rs_status add_unlinked(builder *b, rs_error *err)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    const rs_work *work;
    RS_TRY(rs_trace_work(b->trace, &policy, &work, err));
    uint32_t name = rs_strings_add(&b->p->pool.strings, "(unlinked)", 10);
    bool ok = name != RS_NO_STRING;
    for (size_t i = 0; ok && i < work->n; i++)
        if (work->launch[i] == RS_NO_ROW)
            ok = add_work(b, RS_COMPARE_ROOT, name, 1, rs_sub_sat(work->end[i], work->start[i]));
    return ok ? RS_OK : rs_fail_nomem(err, "call tree");
}

static const rs_order by_node[] = {RS_RISING(rs_compare_work, node), RS_RISING(rs_compare_work, launcher)};

rs_status rs_compare_nodes(rs_trace *trace, rs_compare_rank *p, rs_error *err)
{
    rs_tree *tree;
    RS_TRY(rs_trace_working_tree(trace, &tree, err));
    builder b = {.trace = trace, .e = trace->events, .t = tree, .p = p};
    b.place = rs_malloc((tree->n + 1) * sizeof *b.place);
    b.module = rs_tree_modules(trace, tree);
    bool ok = b.place && b.module && add_nodes(&b) && add_threads(&b) && add_linked(&b);
    rs_status status = ok ? add_unlinked(&b, err) : rs_fail_nomem(err, "call tree");
    rs_free_all(b.place, b.module, b.text);
    rs_map64_clear(&b.plain);
    if (status == RS_OK && p->n_work) RS_SORT(p->work, p->n_work, by_node);
    return status;
}
