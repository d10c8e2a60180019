#include "trace/folded_tree.h"

#include <fnmatch.h>
#include <string.h>

#include "base/interval.h"
#include "trace/step_name.h"
#include "trace/thread_names.h"
#include "trace/graft.h"

void rs_folded_tree_free(void *tree)
{
    rs_folded_tree *t = tree;
    if (!t) return;
    rs_pool_clear(&t->pool);
    rs_free_all(t->nodes, t);
}

typedef struct fold {
    rs_trace *trace;
    const rs_events *e;
    rs_tree *t;
    const rs_folded_settings *s;
    rs_folded_tree *out;
    size_t capacity;
    rs_map64 places;       /* folded parent and name -> node */
    uint32_t *folded;      /* by node of the tree; RS_NO_NODE: not shown */
    uint32_t *thread_name; /* by thread: string of its name record, RS_NO_STRING */
    int8_t *matches;       /* by string id: does it match settings.root; 0: not yet asked */
    bool ok;
} fold;

/* ---- making nodes -------------------------------------------------------------------------------------- */

static uint32_t new_node(fold *f, uint32_t parent, uint32_t name, const char *kind, uint32_t row)
{
    rs_folded_tree *o = f->out;
    if (!f->ok || o->n >= RS_NO_NODE || !RS_GROW_ONE(o->nodes, o->n, f->capacity)) {
        f->ok = false;
        return RS_NO_NODE;
    }
    o->nodes[o->n] = (rs_folded_node){.parent = parent,
                                      .depth = parent == RS_NO_NODE ? 0 : o->nodes[parent].depth + 1,
                                      .name = name,
                                      .kind = kind,
                                      .uid = row,
                                      .start = row == RS_NO_ROW ? RS_NO_TIME : f->e->start[row]};
    return (uint32_t)o->n++;
}

/* Steps have their number in their name: folded, they are one. */
static uint32_t shown_name(fold *f, uint32_t row)
{
    const rs_string *s = &f->e->strings.items[f->e->name[row]];
    if (f->s->each || s->length < sizeof RS_STEP_PREFIX || !rs_names_step(s->text))
        return rs_pool_add(&f->out->pool, f->e, f->e->name[row], &f->ok);
    uint32_t id = rs_strings_add(&f->out->pool.strings, RS_STEP_PREFIX, sizeof RS_STEP_PREFIX - 2);
    if (id == RS_NO_STRING) f->ok = false;
    return id;
}

/* The node for an event below a parent. */
static uint32_t place(fold *f, uint32_t parent, uint32_t row)
{
    rs_kind kind = rs_event_kind(f->e, row);
    uint32_t name = shown_name(f, row);
    if (!f->ok) return RS_NO_NODE;
    if (f->s->each) return new_node(f, parent, name, rs_kind_name(kind), row);
    bool is_new;
    uint32_t *slot = rs_map64_put(&f->places, (uint64_t)parent << 32 | name, &is_new);
    if (!slot) {
        f->ok = false;
        return RS_NO_NODE;
    }
    if (is_new) *slot = new_node(f, parent, name, rs_kind_name(kind), row);
    rs_folded_node *node = f->ok ? &f->out->nodes[*slot] : NULL;
    if (node && f->e->start[row] < node->start) {
        node->start = f->e->start[row];
        node->uid = row;
    }
    return *slot;
}

static bool matches(fold *f, uint32_t row)
{
    uint32_t name = f->e->name[row];
    if (!f->s->root) return true;
    if (f->matches[name] == 0)
        f->matches[name] = fnmatch(f->s->root, rs_event_name(f->e, row), 0) == 0 ? 1 : -1;
    return f->matches[name] > 0;
}

static uint32_t thread_label(fold *f, uint32_t thread)
{
    char text[RS_THREAD_LABEL];
    rs_thread_label(f->e, thread, f->thread_name[thread], text);
    uint32_t id = rs_strings_add(&f->out->pool.strings, text, strlen(text));
    if (id == RS_NO_STRING) f->ok = false;
    return id;
}

/* ---- folding ------------------------------------------------------------------------------------------- */

static size_t own_end(const rs_tree *t, size_t node)
{
    return node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
}

static void add_event(fold *f, uint32_t node)
{
    const rs_tree *t = f->t;
    uint32_t row = t->row[node];
    rs_folded_node *n = &f->out->nodes[f->folded[node]];
    int64_t host = f->e->duration[row] > 0 ? f->e->duration[row] : 0, children = 0;
    for (uint32_t child = node + 1; child < t->end[node]; child = t->end[child])
        if (f->e->duration[t->row[child]] > 0 && !rs_is_grafted(f->e, t->row[child]))
            children = rs_add_sat(children, f->e->duration[t->row[child]]);
    n->count++;
    n->no_host |= rs_is_grafted(f->e, row);
    n->host = rs_add_sat(n->host, host);
    n->self = rs_add_sat(n->self, children < host ? host - children : 0);
    n->gpu = rs_add_sat(n->gpu, t->busy[node]);
    n->n_kernels += rs_tree_kernels(t, node);
}

static void add_work(fold *f, uint32_t node)
{
    for (size_t i = f->t->gpu_first[node]; f->ok && i < own_end(f->t, node); i++) {
        uint32_t row = f->t->gpu_row[i], at = place(f, f->folded[node], row);
        if (!f->ok) return;
        rs_folded_node *n = &f->out->nodes[at];
        n->is_gpu = true;
        n->count++;
        n->n_kernels++;
        n->gpu = rs_add_sat(n->gpu, f->e->duration[row] > 0 ? f->e->duration[row] : 0);
    }
}

/* The thread's own node: its GPU time is the union over all that it launched. Where only some of its events
 * are asked for, it is the sum over them instead, which add_root makes. */
static bool add_thread(fold *f, size_t first, size_t end, uint32_t *out)
{
    const rs_tree *t = f->t;
    const rs_events *e = f->e;
    size_t from = t->gpu_first[first], to = f->s->root ? from : t->gpu_first[end];
    RS_LOCAL rs_interval *items = rs_malloc((to - from + 1) * sizeof *items);
    *out = new_node(f, RS_NO_NODE, thread_label(f, e->thread[t->row[first]]), "thread", RS_NO_ROW);
    if (!items || !f->ok) return false;
    for (size_t i = from; i < to; i++) {
        uint32_t row = t->gpu_row[i];
        items[i - from] =
            (rs_interval){e->start[row], e->duration[row] > 0 ? rs_event_end(e, row) : e->start[row]};
    }
    bool ok = rs_intervals_sort(items, to - from);
    rs_folded_node *n = &f->out->nodes[*out];
    n->count = 1;
    n->n_kernels = to - from;
    if (ok) n->gpu = rs_intervals_length(items, rs_intervals_unite(items, to - from));
    return ok;
}

static void add_root(fold *f, uint32_t thread, uint32_t node)
{
    rs_folded_node *n = &f->out->nodes[thread];
    int64_t host = f->e->duration[f->t->row[node]];
    if (host > 0) n->host = rs_add_sat(n->host, host);
    if (!f->s->root) return;
    n->gpu = rs_add_sat(n->gpu, f->t->busy[node]);
    n->n_kernels += rs_tree_kernels(f->t, node);
}

static bool fold_thread(fold *f, size_t first, size_t end)
{
    const rs_tree *t = f->t;
    uint32_t thread = RS_NO_NODE;
    for (size_t node = first; node < end; node++) {
        uint32_t parent = t->parent[node] == RS_NO_NODE ? RS_NO_NODE : f->folded[t->parent[node]];
        bool inside = parent != RS_NO_NODE;
        f->folded[node] = RS_NO_NODE;
        if (!inside && (!matches(f, t->row[node]) || (!f->s->root && t->parent[node] != RS_NO_NODE)))
            continue;
        if (!inside && thread == RS_NO_NODE && !add_thread(f, first, end, &thread)) return false;
        if (!inside) {
            f->out->n_found++;
            parent = thread;
            add_root(f, thread, (uint32_t)node);
        }
        if (f->s->depth && f->out->nodes[parent].depth >= f->s->depth) continue;
        f->folded[node] = place(f, parent, t->row[node]);
        if (!f->ok) return false;
        add_event(f, (uint32_t)node);
        if (!f->s->depth || f->out->nodes[f->folded[node]].depth < f->s->depth) add_work(f, (uint32_t)node);
        if (!f->ok) return false;
    }
    return true;
}

static bool fold_all(fold *f)
{
    const rs_tree *t = f->t;
    for (size_t first = 0, end; first < t->n; first = end) {
        uint32_t thread = f->e->thread[t->row[first]];
        for (end = t->end[first]; end < t->n && f->e->thread[t->row[end]] == thread; end = t->end[end]) {
        }
        if (!fold_thread(f, first, end)) return false;
    }
    return true;
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* Parents stand before their children; this makes it depth first, siblings in the order asked for, and drops
 * what is too short. */
static bool arrange(rs_folded_tree *o, const rs_folded_settings *s)
{
    size_t n = o->n;
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    RS_LOCAL uint32_t *first = rs_malloc((n + 2) * sizeof *first), *next = rs_malloc((n + 1) * sizeof *next),
                      *moved = rs_malloc((n + 1) * sizeof *moved);
    rs_folded_node *nodes = rs_malloc((n + 1) * sizeof *nodes);
    bool ok = keys && first && next && moved && nodes;
    /* earlier passes decide where later ones do not */
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){o->nodes[i].uid, (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) {
        const rs_folded_node *x = &o->nodes[keys[i].value];
        keys[i].key = x->depth == 0 ? 0 : s->each ? x->start : s->by_host ? -x->gpu : -x->host;
    }
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && !s->each && i < n; i++) {
        const rs_folded_node *x = &o->nodes[keys[i].value];
        keys[i].key = x->depth == 0 ? 0 : s->by_host ? -x->host : -x->gpu;
    }
    ok = ok && rs_keyed_sort(keys, n);
    if (ok) {
        for (size_t i = 0; i <= n; i++) first[i] = RS_NO_NODE; /* first[n]: threads */
        for (size_t i = n; i-- > 0;) {
            uint32_t node = keys[i].value, parent = o->nodes[node].parent;
            size_t slot = parent == RS_NO_NODE ? n : parent;
            next[node] = first[slot];
            first[slot] = node;
        }
        size_t kept = 0;
        for (uint32_t at = first[n], up; at != RS_NO_NODE;) {
            const rs_folded_node *x = &o->nodes[at];
            bool keep = (s->by_host ? x->host : x->gpu) >= s->min_time;
            if (keep) {
                nodes[kept] = *x;
                if (x->parent != RS_NO_NODE) nodes[kept].parent = moved[x->parent];
                moved[at] = (uint32_t)kept++;
            }
            up = at;
            at = keep ? first[at] : RS_NO_NODE;
            while (at == RS_NO_NODE && up != RS_NO_NODE) {
                at = next[up];
                up = o->nodes[up].parent;
            }
        }
        rs_free(o->nodes);
        o->nodes = nodes;
        o->n = kept;
        nodes = NULL;
    }
    rs_free(nodes);
    return ok;
}

rs_status rs_fold_tree(rs_trace *trace, const rs_folded_settings *settings, rs_folded_tree **out,
                       rs_error *err)
{
    fold f = {.trace = trace, .e = trace->events, .s = settings, .ok = true};
    *out = NULL;
    f.out = rs_calloc(1, sizeof *f.out);
    if (!f.out || !rs_pool_init(&f.out->pool)) {
        rs_folded_tree_free(f.out);
        return rs_fail_nomem(err, "call tree");
    }
    rs_status status = rs_trace_tree(trace, settings->python, &f.t, err);
    if (status == RS_OK) status = rs_tree_busy(trace, f.t, err);
    if (status == RS_OK) status = rs_tree_total_busy(trace, f.t, &f.out->busy, err);
    if (status == RS_OK) {
        f.out->n_host = f.t->n_host;
        f.folded = rs_malloc((f.t->n + 1) * sizeof *f.folded);
        f.matches = settings->root ? rs_calloc(f.e->strings.n + 1, 1) : NULL;
        bool ok = f.folded && (!settings->root || f.matches) && (f.thread_name = rs_thread_names(f.trace)) &&
                  fold_all(&f) && arrange(f.out, settings);
        if (!ok) status = rs_fail_nomem(err, "call tree");
    }
    rs_free_all(f.folded, f.matches, f.thread_name);
    rs_map64_clear(&f.places);
    if (status != RS_OK)
        rs_folded_tree_free(f.out);
    else
        *out = f.out;
    return status;
}
