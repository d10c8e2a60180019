#include "engine/graph.h"

#include "base/interval.h"

const char *const rs_edge_type_names[RS_N_EDGE_TYPES] = {
    "critical_path_operator", "critical_path_dependency", "critical_path_kernel_launch_delay",
    "critical_path_kernel_kernel_delay", "critical_path_sync_dependency"};

rs_path_graph *rs_path_graph_create(size_t n)
{
    rs_path_graph *g = rs_calloc(1, sizeof *g);
    if (!g) return NULL;
    g->n_items = n;
    g->row = rs_malloc(n * sizeof *g->row);
    g->start = rs_malloc(n * sizeof *g->start);
    g->end = rs_malloc(n * sizeof *g->end);
    g->in_graph = rs_calloc(n + 1, 1);
    if (g->row && g->start && g->end && g->in_graph) return g;
    rs_path_graph_free(g);
    return NULL;
}

void rs_path_graph_drop_edges(rs_path_graph *g)
{
    rs_big_free(g->from);
    rs_big_free(g->to);
    rs_big_free(g->weight);
    rs_big_free(g->owner);
    rs_big_free(g->type);
    rs_free_all(g->dead, g->path, g->critical);
    g->from = g->to = g->owner = g->path = NULL;
    g->weight = NULL;
    g->type = g->dead = g->critical = NULL;
    g->n_edges = g->capacity = g->n_path = 0;
}

void rs_path_graph_free(rs_path_graph *g)
{
    if (!g) return;
    rs_path_graph_drop_edges(g);
    rs_free_all(g->row, g->start, g->end, g->in_graph, g);
}

#define GROW(column)                                                                                         \
    do {                                                                                                     \
        void *grown = rs_big_resize(g->column, wanted * sizeof *g->column);                                  \
        if (!grown) return false;                                                                            \
        g->column = grown;                                                                                   \
    } while (0)

static bool grow(rs_path_graph *g)
{
    size_t wanted = g->capacity ? rs_big_next(g->capacity, sizeof *g->from) : 4096;
    if (wanted >= UINT32_MAX) return false;
    GROW(from);
    GROW(to);
    GROW(weight);
    GROW(owner);
    GROW(type);
    g->capacity = wanted;
    return true;
}

bool rs_path_graph_add(rs_path_graph *g, uint32_t from, uint32_t to, rs_edge_type type, int64_t weight,
                       uint32_t owner)
{
    if (g->n_edges == g->capacity && !grow(g)) return false;
    size_t i = g->n_edges++;
    g->from[i] = from;
    g->to[i] = to;
    g->weight[i] = weight;
    g->owner[i] = owner;
    g->type[i] = (uint8_t)type;
    return true;
}

/* ---- the longest path ------------------------------------------------------------------------------- */

typedef struct solver {
    rs_path_graph *g;
    size_t n;        /* nodes, used or not */
    uint32_t *first; /* n + 1 offsets into list: edges by one of their ends */
    uint32_t *list;
    uint32_t *waiting; /* edges into a node that have not been followed */
    uint32_t *order;   /* nodes in topological order; also marks */
    int64_t *distance;
    uint32_t *best; /* edge that makes the distance */
} solver;

static void sort_edges(const solver *s, const uint32_t *end)
{
    const rs_path_graph *g = s->g;
    for (size_t i = 0; i <= s->n; i++) s->first[i] = 0;
    for (size_t i = 0; i < g->n_edges; i++) s->first[end[i] + 1]++;
    for (size_t i = 0; i < s->n; i++) s->first[i + 1] += s->first[i];
    for (size_t i = 0; i < g->n_edges; i++) s->list[s->first[end[i]]++] = (uint32_t)i;
    for (size_t i = s->n; i > 0; i--) s->first[i] = s->first[i - 1];
    s->first[0] = 0;
}

/* Between two nodes only the edge added last counts. */
static void kill_replaced(const solver *s)
{
    rs_path_graph *g = s->g;
    uint32_t *seen = s->order; /* by source: the target last met with it, + 1 */
    for (size_t i = 0; i < s->n; i++) seen[i] = 0;
    sort_edges(s, g->to);
    for (size_t v = 0; v < s->n; v++) {
        for (uint32_t k = s->first[v + 1]; k > s->first[v]; k--) {
            uint32_t edge = s->list[k - 1], from = g->from[edge];
            g->dead[edge] = seen[from] == v + 1;
            seen[from] = (uint32_t)v + 1;
        }
    }
}

static bool follow(const solver *s)
{
    const rs_path_graph *g = s->g;
    size_t n_order = 0, n_used = 0;
    sort_edges(s, g->from);
    for (size_t i = 0; i < s->n; i++) {
        s->waiting[i] = 0;
        s->distance[i] = 0;
        s->best[i] = RS_NO_ITEM;
    }
    for (size_t i = 0; i < g->n_edges; i++) s->waiting[g->to[i]] += !g->dead[i];
    for (size_t i = 0; i < s->n; i++)
        if (s->waiting[i] == 0) s->order[n_order++] = (uint32_t)i;
    for (size_t at = 0; at < n_order; at++) {
        uint32_t u = s->order[at];
        n_used++;
        for (uint32_t k = s->first[u]; k < s->first[u + 1]; k++) {
            uint32_t edge = s->list[k], v = g->to[edge];
            if (g->dead[edge]) continue;
            int64_t d = rs_add_sat(s->distance[u], g->weight[edge]);
            uint32_t now = s->best[v];
            if (d >= 0 && (now == RS_NO_ITEM || d > s->distance[v] || (d == s->distance[v] && edge < now))) {
                s->distance[v] = d;
                s->best[v] = edge;
            }
            if (--s->waiting[v] == 0) s->order[n_order++] = v;
        }
    }
    return n_used == s->n;
}

static bool trace_back(const solver *s, uint32_t sink)
{
    rs_path_graph *g = s->g;
    if (sink == RS_NO_ITEM) {
        sink = 0;
        for (uint32_t v = 1; v < s->n; v++)
            if (s->distance[v] > s->distance[sink]) sink = v;
    }
    size_t n = 0;
    for (uint32_t v = sink; s->n && s->best[v] != RS_NO_ITEM; v = g->from[s->best[v]]) n++;
    g->path = rs_malloc(n * sizeof *g->path);
    if (!g->path) return false;
    g->n_path = n;
    for (uint32_t v = sink; n; v = g->from[s->best[v]]) {
        g->path[--n] = s->best[v];
        g->critical[s->best[v]] = 1;
    }
    g->path_weight = s->n ? s->distance[sink] : 0;
    return true;
}

rs_status rs_path_graph_settle(rs_path_graph *g, rs_error *err)
{
    solver s = {.g = g, .n = 2 * g->n_items};
    rs_free(g->dead);
    g->dead = rs_calloc(g->n_edges + 1, 1);
    s.first = rs_malloc((s.n + 1) * sizeof *s.first);
    s.list = rs_malloc(g->n_edges * sizeof *s.list);
    s.order = rs_malloc(s.n * sizeof *s.order);
    bool ok = g->dead && s.first && s.list && s.order;
    if (ok) kill_replaced(&s);
    rs_free_all(s.first, s.list, s.order);
    return ok ? RS_OK : rs_fail_nomem(err, "critical path");
}

rs_status rs_path_graph_solve(rs_path_graph *g, uint32_t sink, rs_error *err)
{
    solver s = {.g = g, .n = 2 * g->n_items};
    rs_free_all(g->dead, g->critical, g->path);
    g->path = NULL;
    g->n_path = 0;
    g->dead = rs_calloc(g->n_edges + 1, 1);
    g->critical = rs_calloc(g->n_edges + 1, 1);
    s.first = rs_malloc((s.n + 1) * sizeof *s.first);
    s.list = rs_malloc(g->n_edges * sizeof *s.list);
    s.waiting = rs_malloc(s.n * sizeof *s.waiting);
    s.order = rs_malloc(s.n * sizeof *s.order);
    s.distance = rs_malloc(s.n * sizeof *s.distance);
    s.best = rs_malloc(s.n * sizeof *s.best);
    rs_status status = RS_OK;
    if (!g->dead || !g->critical || !s.first || !s.list || !s.waiting || !s.order || !s.distance || !s.best) {
        status = rs_fail_nomem(err, "critical path");
    } else {
        kill_replaced(&s);
        if (!follow(&s))
            status = rs_fail(err, RS_ERR_FORMAT, "the dependencies between events make a circle");
        else if (!trace_back(&s, sink))
            status = rs_fail_nomem(err, "critical path");
    }
    rs_free_all(s.first, s.list, s.waiting, s.order, s.distance, s.best);
    return status;
}
