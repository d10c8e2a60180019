/* Parents that do not exist, ids that stand twice, circles: afterwards every node hangs from one root. */
#include "base/interval.h"
#include "chakra/et.h"

static const char process_name[] = "\"[pytorch|profiler|execution_trace|process]\"";
static const char thread_name[] = "\"[pytorch|profiler|execution_trace|thread]\"";

typedef struct repair {
    rs_et *et;
    rs_map64 ids;     /* id: node */
    rs_map64 threads; /* tid: thread root */
    uint32_t process; /* process root, RS_ET_NONE: not there */
    uint64_t n_duplicates, n_circles;
    bool ok;
} repair;

static uint32_t make_root(repair *x, rs_et_role role, int64_t tid)
{
    rs_et *et = x->et;
    if (!RS_GROW_ONE(et->nodes, et->n_nodes, et->nodes_capacity)) {
        x->ok = false;
        return RS_ET_NONE;
    }
    const char *name = role == RS_ET_PROCESS ? process_name : thread_name;
    size_t n = role == RS_ET_PROCESS ? sizeof process_name - 1 : sizeof thread_name - 1;
    uint32_t node = (uint32_t)et->n_nodes++;
    et->nodes[node] = (rs_host_node){.id = RS_ET_NO_VALUE,
                                     .parent = RS_ET_NO_VALUE,
                                     .rf_id = RS_ET_NO_VALUE,
                                     .tid = tid,
                                     .name = {(const uint8_t *)name, n},
                                     .role = (uint8_t)role,
                                     .up = node};
    et->n_roots_made++;
    et->order[et->n_order++] = node;
    return node;
}

static uint32_t process_root(repair *x)
{
    if (x->process == RS_ET_NONE) x->process = make_root(x, RS_ET_PROCESS, 0);
    return x->process;
}

static uint32_t thread_root(repair *x, int64_t tid)
{
    if (tid == RS_ET_NO_VALUE || tid == 0) return process_root(x);
    bool is_new;
    uint32_t *slot = rs_map64_put(&x->threads, (uint64_t)tid, &is_new);
    if (!slot) {
        x->ok = false;
        return RS_ET_NONE;
    }
    if (!is_new) return *slot;
    uint32_t process = process_root(x), made = x->ok ? make_root(x, RS_ET_THREAD, tid) : RS_ET_NONE;
    if (!x->ok) return RS_ET_NONE;
    *slot = made;
    x->et->nodes[made].up = process;
    return made;
}

static void index_nodes(repair *x, const rs_keyed *sorted, size_t n)
{
    for (size_t i = 0; x->ok && i < n; i++) {
        uint32_t node = sorted[i].value;
        const rs_host_node *m = &x->et->nodes[node];
        bool is_new, is_new_thread = false;
        uint32_t *slot = rs_map64_put(&x->ids, (uint64_t)m->id, &is_new), *root = NULL;
        x->ok = slot != NULL;
        if (!x->ok) return;
        if (is_new) *slot = node;
        x->n_duplicates += !is_new;
        if (m->role == RS_ET_PROCESS && x->process == RS_ET_NONE) x->process = node;
        if (m->role == RS_ET_THREAD && m->tid != RS_ET_NO_VALUE) {
            root = rs_map64_put(&x->threads, (uint64_t)m->tid, &is_new_thread);
            x->ok = root != NULL;
        }
        if (root && is_new_thread) *root = node;
    }
}

static void hang(repair *x, uint32_t node)
{
    rs_host_node m = x->et->nodes[node];
    const uint32_t *parent = m.parent == RS_ET_NO_VALUE ? NULL : rs_map64_get(&x->ids, (uint64_t)m.parent);
    uint32_t up;
    if (node == x->process) {
        up = node;
    } else if (parent && *parent != node) {
        up = *parent;
    } else {
        if (m.role != RS_ET_PROCESS) x->et->n_orphans++;
        up = m.role == RS_ET_OP ? thread_root(x, m.tid) : process_root(x);
    }
    x->et->nodes[node].up = up;
}

/* Walks up from every node; a walk that meets itself is a circle and is cut there. */
static void cut_circles(repair *x, uint32_t *walk)
{
    rs_et *et = x->et;
    size_t n = et->n_nodes;
    for (uint32_t i = 0; i < n && x->ok; i++) {
        uint32_t node = i, mark = i + 1;
        while (!walk[node]) {
            walk[node] = mark;
            if (et->nodes[node].up == node) break;
            uint32_t up = et->nodes[node].up;
            if (walk[up] == mark) {
                x->n_circles++;
                uint32_t root = process_root(x);
                if (!x->ok) return;
                et->nodes[node].up = root;
                break;
            }
            node = up;
        }
    }
}

rs_status rs_et_repair(rs_et *et, const char *path, rs_problems *problems, rs_error *err)
{
    size_t n = et->n_nodes;
    repair x = {.et = et, .process = RS_ET_NONE, .ok = true};
    rs_keyed *sorted = rs_malloc(n * sizeof *sorted);
    /* at worst every node needs a thread root of its own, and all a process root */
    et->order = rs_malloc((2 * n + 2) * sizeof *et->order);
    uint32_t *walk = rs_calloc(2 * n + 2, sizeof *walk);
    x.ok = sorted && et->order && walk;
    for (size_t i = 0; x.ok && i < n; i++) sorted[i] = (rs_keyed){et->nodes[i].id, (uint32_t)i};
    x.ok = x.ok && rs_keyed_sort(sorted, n);
    if (x.ok) index_nodes(&x, sorted, n);
    for (size_t i = 0; x.ok && i < n; i++) {
        hang(&x, sorted[i].value);
        if (x.ok) et->order[et->n_order++] = sorted[i].value;
    }
    if (x.ok) cut_circles(&x, walk);
    for (size_t i = 0; x.ok && i < et->n_order; i++) et->nodes[et->order[i]].place = (uint32_t)i;
    rs_map64_clear(&x.ids);
    rs_map64_clear(&x.threads);
    rs_free_all(sorted, walk);
    if (!x.ok) return rs_fail_nomem(err, "nodes");
    if (x.n_duplicates)
        rs_problems_add_many(problems, path, -1, RS_LOSS, "duplicate_id",
                             "nodes repeat another's id (duplicate ids); what they called hangs from the "
                             "first of them",
                             RS_NO_OFFSET, x.n_duplicates, NULL);
    if (et->n_orphans)
        rs_problems_add_many(problems, path, -1, RS_NOTE, "orphans",
                             "nodes whose parent is not in the file hang from their thread's root",
                             RS_NO_OFFSET, et->n_orphans, NULL);
    if (et->n_roots_made)
        rs_problems_add_many(problems, path, -1, RS_NOTE, "roots_made",
                             "process or thread roots were missing and have been made", RS_NO_OFFSET,
                             et->n_roots_made, NULL);
    if (x.n_circles)
        rs_problems_add_many(problems, path, -1, RS_WARNING, "circular_parents",
                             "nodes are their own ancestors; the circles were cut", RS_NO_OFFSET, x.n_circles,
                             NULL);
    return RS_OK;
}
