/* The data dependencies of a trace: each thread's nodes in a chain, kernels behind their launcher and behind
 * the one before them on their stream, and whatever waits for something else. */
#include <stdio.h>
#include <string.h>

#include "chakra/convert_internal.h"
#include "base/try.h"

typedef struct building {
    const rs_linked *linked;
    rs_convert_graph *graph;
    rs_chakra_convert_report *report;
    uint32_t *parent; /* index; itself for roots and where there is none */
    uint32_t *top;    /* the node whose chain a CPU node belongs to */
    uint32_t *before; /* the node before it in its chain or on its stream; RS_LINKED_NONE */
    uint32_t *seen;   /* by node: the last one that depends on it */
    rs_error *err;
} building;

/* Gaps are numbered after all nodes. */
uint64_t rs_convert_id(const rs_linked *l, uint32_t index)
{
    if (index < l->n_nodes) return (uint64_t)l->nodes[index].id;
    return (uint64_t)l->nodes[l->n_nodes - 1].id + 1 + (index - l->n_nodes);
}

static uint64_t id_of_node(const void *context, uint32_t index)
{
    return rs_convert_id(context, index);
}

static void dropped(building *b, const rs_linked_node *n, const char *kind, const char *message)
{
    rs_problems_add(&b->report->problems, b->linked->file, -1, RS_LOSS, kind, message,
                    rs_linked_offset(b->linked, n->name.bytes));
}

static bool ends_thread(const rs_linked_node *n)
{
    static const char end[] = "|thread]\"";
    size_t length = sizeof end - 1;
    return n->name.n >= length && memcmp(n->name.bytes + n->name.n - length, end, length) == 0;
}

static void find_parents(building *b)
{
    const rs_linked *l = b->linked;
    for (size_t i = 0; i < l->n_nodes; i++) {
        const rs_linked_node *n = &l->nodes[i];
        uint32_t at = rs_linked_find(l, n->parent);
        if (at == RS_LINKED_NONE)
            dropped(b, n, "dangling_parent", "nodes name a parent that does not exist; they have none now");
        b->parent[i] = at == RS_LINKED_NONE ? (uint32_t)i : at;
    }
}

static rs_status check_parents(building *b)
{
    size_t n = b->linked->n_nodes, at = 0;
    while (at < n && b->parent[at] <= at) at++;
    if (at == n) return RS_OK; /* parents mostly stand before their children */
    RS_LOCAL uint64_t *first = rs_malloc((n + 1) * sizeof *first);
    RS_LOCAL uint32_t *deps = rs_malloc((n + 1) * sizeof *deps);
    rs_status status = RS_OK;
    if (!first || !deps) {
        status = rs_fail_nomem(b->err, "parents");
    } else {
        uint64_t k = 0;
        for (size_t i = 0; i < n; i++) {
            first[i] = k;
            if (b->parent[i] != i) deps[k++] = b->parent[i];
        }
        first[n] = k;
        status = rs_graph_has_no_cycle(first, deps, n, id_of_node, b->linked, "parents", b->err);
    }
    return status;
}

/* Tops of all nodes, walking each way up once. The parents form no cycle. */
static void find_tops(building *b, uint32_t *way)
{
    const rs_linked *l = b->linked;
    for (size_t i = 0; i < l->n_nodes; i++) b->top[i] = RS_LINKED_NONE;
    for (size_t i = 0; i < l->n_nodes; i++) {
        size_t n = 0;
        uint32_t at = (uint32_t)i;
        while (b->top[at] == RS_LINKED_NONE && b->parent[at] != at && !ends_thread(&l->nodes[at])) {
            way[n++] = at;
            at = b->parent[at];
        }
        if (b->top[at] == RS_LINKED_NONE) b->top[at] = at;
        while (n > 0) b->top[way[--n]] = b->top[at];
    }
    /* What ran on another thread than it hangs from: the leader's top is the leader itself or its root. */
    for (size_t i = 0; i < l->n_nodes; i++) {
        int64_t chain = rs_linked_more_of(l, &l->nodes[i])->chain;
        uint32_t leader = chain < 0 ? RS_LINKED_NONE : rs_linked_find(l, chain);
        if (leader == RS_LINKED_NONE || l->nodes[i].gpu || l->nodes[leader].gpu) continue;
        b->top[i] = leader;
    }
}

static void find_chains(building *b, uint32_t *last)
{
    const rs_linked *l = b->linked;
    for (size_t i = 0; i < l->n_nodes; i++) last[i] = (uint32_t)i;
    for (size_t i = 0; i < l->n_nodes; i++) {
        b->before[i] = RS_LINKED_NONE;
        uint32_t top = b->top[i];
        if (l->nodes[i].gpu || top == i) continue;
        /* A kernel cannot lead a chain. */
        b->before[i] = l->nodes[last[top]].gpu ? RS_LINKED_NONE : last[top];
        last[top] = (uint32_t)i;
    }
}

/* ---- streams ---------------------------------------------------------------------------------------- */

/* Where the linker has numbered the streams of all devices, that number says it all. */
typedef struct on_stream {
    int64_t lane, device, stream, ts, launch, position, id;
    uint32_t index;
    bool has_lane, has_device, has_stream;
} on_stream;

#define COMPARE(a, b)                                                                                        \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

static int in_stream_order(const void *a, const void *b)
{
    const on_stream *x = a, *y = b;
    COMPARE(x->has_lane, y->has_lane);
    COMPARE(x->lane, y->lane);
    COMPARE(x->has_device, y->has_device);
    COMPARE(x->device, y->device);
    COMPARE(x->has_stream, y->has_stream);
    COMPARE(x->stream, y->stream);
    COMPARE(x->ts, y->ts);
    COMPARE(x->launch, y->launch);
    COMPARE(x->position, y->position);
    COMPARE(x->id, y->id);
    return 0;
}

static bool same_stream(const on_stream *a, const on_stream *b)
{
    return a->has_lane == b->has_lane && a->lane == b->lane && a->has_device == b->has_device &&
           a->device == b->device && a->has_stream == b->has_stream && a->stream == b->stream;
}

static rs_status find_streams(building *b)
{
    const rs_linked *l = b->linked;
    size_t n = 0;
    RS_LOCAL on_stream *ops = rs_malloc((l->n_nodes + 1) * sizeof *ops);
    if (!ops) return rs_fail_nomem(b->err, "the order of streams");
    for (size_t i = 0; i < l->n_nodes; i++) {
        const rs_linked_node *node = &l->nodes[i];
        if (!node->gpu) continue;
        const rs_linked_gpu *g = rs_linked_gpu_of(l, node);
        on_stream op = {.ts = node->ts,
                        .launch = g->has_launch ? g->launch : INT64_MIN,
                        .position = g->position,
                        .id = node->id,
                        .index = (uint32_t)i,
                        .has_lane = g->has_lane,
                        .lane = g->lane};
        if (!g->has_lane) {
            op.has_device = g->has_device;
            op.device = g->device;
            op.has_stream = g->has_stream;
            op.stream = g->stream;
        }
        ops[n++] = op;
    }
    if (n) qsort(ops, n, sizeof *ops, in_stream_order);
    for (size_t i = 1; i < n; i++)
        if (same_stream(&ops[i - 1], &ops[i])) b->before[ops[i].index] = ops[i - 1].index;
    return RS_OK;
}

/* ---- dependencies ----------------------------------------------------------------------------------- */

static rs_status depend(building *b, uint32_t node, uint32_t on, uint64_t *count)
{
    rs_convert_graph *g = b->graph;
    if (b->seen[on] == node) return RS_OK;
    b->seen[on] = node;
    if (!RS_PUSH(g->deps, g->n_deps, g->capacity, on)) return rs_fail_nomem(b->err, "dependencies");
    (*count)++;
    return RS_OK;
}

static rs_status depend_on_id(building *b, uint32_t node, int64_t id, uint64_t *count)
{
    const rs_linked_node *n = &b->linked->nodes[node];
    uint32_t on = rs_linked_find(b->linked, id);
    if (on == RS_LINKED_NONE) {
        char detail[80];
        snprintf(detail, sizeof detail, "node %lld names node %lld", (long long)n->id, (long long)id);
        rs_problems_add_many(&b->report->problems, b->linked->file, -1, RS_LOSS, "dangling_dependency",
                             "dependencies on nodes that do not exist were dropped",
                             rs_linked_offset(b->linked, n->name.bytes), 1, detail);
        return RS_OK;
    }
    return depend(b, node, on, count);
}

static rs_status depend_on_syncs(building *b, uint32_t node)
{
    const rs_linked_more *n = rs_linked_more_of(b->linked, &b->linked->nodes[node]);
    rs_slice_walk walk = rs_slice_elements(n->sync_dep);
    rs_slice element;
    while (rs_slice_next(&walk, &element)) {
        int64_t id;
        if (!rs_slice_int(element, &id))
            return rs_fail_at(b->err, RS_ERR_FORMAT, b->linked->file,
                              rs_linked_offset(b->linked, element.bytes), "sync_dep holds what is no id");
        RS_TRY(depend_on_id(b, node, id, &b->report->sync));
    }
    return RS_OK;
}

/* All that a node waited for on other threads. */
static rs_status depend_on_threads(building *b, uint32_t node)
{
    const rs_linked_more *n = rs_linked_more_of(b->linked, &b->linked->nodes[node]);
    rs_slice_walk walk = rs_slice_elements(n->inter_threads);
    rs_slice element;
    if (n->inter_thread < 0) return RS_OK;
    rs_status status = depend_on_id(b, node, n->inter_thread, &b->report->inter_thread);
    while (n->inter_threads.bytes && status == RS_OK && rs_slice_next(&walk, &element)) {
        int64_t id;
        if (!rs_slice_int(element, &id))
            return rs_fail_at(b->err, RS_ERR_FORMAT, b->linked->file,
                              rs_linked_offset(b->linked, element.bytes),
                              "inter_thread_deps holds what is no id");
        status = depend_on_id(b, node, id, &b->report->inter_thread);
    }
    return status;
}

/* What the times ask for: gaps in the chain, ends of waits and of launches. */
static rs_status depend_in_time(building *b, uint32_t node, size_t *at)
{
    const rs_convert_times *t = &b->graph->times;
    rs_status status = RS_OK;
    if (node < b->linked->n_nodes && t->gap_before[node] != RS_LINKED_NONE)
        status = depend(b, node, t->gap_before[node], &b->report->timing);
    for (; status == RS_OK && *at < t->n_deps && t->deps[*at].node == node; (*at)++)
        status = depend(b, node, t->deps[*at].on, &b->report->timing);
    return status;
}

static rs_status add_node(building *b, uint32_t i)
{
    rs_chakra_convert_report *report = b->report;
    const rs_linked_node *n = &b->linked->nodes[i];
    rs_status status = RS_OK;
    if (n->gpu) {
        report->gpu_nodes++;
        if (b->parent[i] != i)
            status = depend(b, i, b->parent[i], &report->launch);
        else if (rs_linked_find(b->linked, n->parent) != RS_LINKED_NONE)
            dropped(b, n, "no_launcher", "GPU nodes have no node that launches them");
        if (status == RS_OK && b->before[i] != RS_LINKED_NONE)
            status = depend(b, i, b->before[i], &report->stream);
    } else {
        status = depend_on_threads(b, i);
        if (status == RS_OK && b->before[i] != RS_LINKED_NONE)
            status = depend(b, i, b->before[i], &report->chain);
    }
    return status == RS_OK ? depend_on_syncs(b, i) : status;
}

static rs_status add_nodes(building *b)
{
    rs_convert_graph *g = b->graph;
    size_t n = b->linked->n_nodes + g->times.n_gaps, at = 0;
    for (size_t i = 0; i < n; i++) b->seen[i] = RS_LINKED_NONE;
    for (size_t i = 0; i < n; i++) {
        const rs_convert_gap *gap = i < b->linked->n_nodes ? NULL : &g->times.gaps[i - b->linked->n_nodes];
        rs_status status = RS_OK;
        g->first[i] = g->n_deps;
        if (!gap)
            status = add_node(b, (uint32_t)i);
        else if (gap->after != RS_LINKED_NONE)
            status = depend(b, (uint32_t)i, gap->after, &b->report->chain);
        if (status == RS_OK && g->recorded) status = depend_in_time(b, (uint32_t)i, &at);
        if (status != RS_OK) return status;
    }
    g->first[n] = g->n_deps;
    b->report->nodes = n;
    b->report->gaps = g->times.n_gaps;
    if (!g->deps && !(g->deps = rs_malloc(sizeof *g->deps))) return rs_fail_nomem(b->err, "dependencies");
    return rs_graph_has_no_cycle(g->first, g->deps, n, id_of_node, b->linked, "data dependencies", b->err);
}

/* The times decide how many nodes there are, so that only now there can be room for what is by node. */
static rs_status add_times(building *b, rs_chakra_timing timing)
{
    rs_convert_graph *g = b->graph;
    size_t n = b->linked->n_nodes;
    rs_convert_places places = {b->parent, b->top, b->before};
    g->recorded = timing == RS_CHAKRA_TIMING_RECORDED && n > 0;
    if (g->recorded) RS_TRY(rs_convert_time(b->linked, &places, &g->times, b->err));
    n += g->times.n_gaps;
    b->seen = rs_malloc((n + 1) * sizeof *b->seen);
    g->first = rs_malloc((n + 1) * sizeof *g->first);
    return b->seen && g->first ? RS_OK : rs_fail_nomem(b->err, "dependencies");
}

rs_status rs_convert_graph_make(const rs_linked *linked, rs_chakra_timing timing, rs_convert_graph *graph,
                                rs_chakra_convert_report *report, rs_error *err)
{
    size_t n = linked->n_nodes;
    uint32_t *room = rs_malloc((3 * n + 1) * sizeof *room);
    *graph = (rs_convert_graph){.tops = rs_malloc((n + 1) * sizeof *graph->tops)};
    rs_status status = RS_OK;
    if (!room || !graph->tops) {
        status = rs_fail_nomem(err, "dependencies");
    } else {
        building b = {linked, graph, report, room, graph->tops, room + n, NULL, err};
        find_parents(&b);
        status = check_parents(&b);
        if (status == RS_OK) {
            find_tops(&b, room + 2 * n);
            find_chains(&b, room + 2 * n);
            status = find_streams(&b);
        }
        if (status == RS_OK) status = add_times(&b, timing);
        if (status == RS_OK) status = add_nodes(&b);
        rs_free(b.seen);
    }
    rs_free(room);
    if (status != RS_OK) rs_convert_graph_clear(graph);
    return status;
}

void rs_convert_graph_clear(rs_convert_graph *graph)
{
    rs_free_all(graph->first, graph->deps, graph->tops);
    rs_convert_times_clear(&graph->times);
    *graph = (rs_convert_graph){0};
}
