/* A rank's event graph, made small: chains of host events between two points that matter become one edge.
 *
 * A host node goes where it has one edge in and one edge out, both the thread's own time and spent on the
 * same kind of thing. What is left is numbered in the order of time, or where that runs against an edge in
 * the order of cause. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "engine/own_graph.h"
#include "engine/skeleton.h"
#include "trace/launch_ops.h"
#include "trace/selection.h"

#define MIN_SAMPLES 20

/* An edge between units, before these have their final numbers. */
typedef struct edge {
    uint32_t from, to; /* units */
    uint32_t base, name;
    bool at_end;
    uint8_t part, cost, origin;
} edge;

typedef struct maker {
    rs_trace *trace;
    const rs_events *e;
    const rs_classes *classes;
    const rs_path_graph *g;
    rs_own own;
    rs_skeleton *s;
    uint32_t *first, *list; /* by node: its living edges, as numbers of the graph */
    uint32_t *n_out;        /* by node: living edges out of it */
    uint32_t *only_out;     /* ... one of them */
    uint32_t *unit;         /* by node: what it belongs to, RS_NO_ITEM: contracted or not there */
    uint32_t *node;         /* by unit: its start */
    size_t n_units;
    edge *edges; /* by target, the binding one first */
    size_t n_edges, capacity;
    uint32_t *order; /* units in their final order */
    uint32_t *place; /* by unit */
    rs_lanes lanes;
    rs_map64 step_of_number;
    uint32_t last; /* node that the trace ends with: the window's end is bound to it */
} maker;

/* ---- the graph's edges --------------------------------------------------------------------------------- */

static bool is_work(const maker *m, uint32_t node)
{
    return m->own.work_of[node >> 1] != RS_NO_ITEM;
}

static rs_part part_of_work(const maker *m, uint32_t row)
{
    rs_class class = rs_class_at(m->classes, row);
    return class == RS_CLASS_COMM     ? RS_PART_TRANSFER
           : class == RS_CLASS_MEMORY ? RS_PART_COPY
                                      : RS_PART_COMPUTE;
}

static rs_part part_of_edge(const maker *m, uint32_t i)
{
    const rs_path_graph *g = m->g;
    uint32_t owner = g->owner[i], to = g->to[i];
    if (is_work(m, to)) {
        if (g->from[i] == rs_node_start(RS_OWN_WINDOW)) return RS_PART_PINNED;
        return g->type[i] == RS_EDGE_LAUNCH ? RS_PART_LAUNCH : RS_PART_GAP;
    }
    if (g->type[i] == RS_EDGE_SYNC) return RS_PART_SYNC;
    if (owner == RS_NO_ITEM || g->row[owner] == RS_NO_ROW) return RS_PART_HOST;
    uint32_t name = m->e->name[g->row[owner]];
    if (m->own.loads->named[name]) return RS_PART_LOADER;
    return m->own.role[name] == RS_OWN_RUNS ? RS_PART_HOST_COMM : RS_PART_HOST;
}

/* Between the two nodes of a piece of work; to the window's end. */
static bool is_inner(const maker *m, uint32_t i)
{
    uint32_t from = m->g->from[i], to = m->g->to[i];
    return to == rs_node_end(RS_OWN_WINDOW) || (from >> 1 == to >> 1 && is_work(m, to));
}

static bool index_edges(maker *m)
{
    const rs_path_graph *g = m->g;
    size_t n = 2 * g->n_items;
    m->first = rs_calloc(n + 2, sizeof *m->first);
    m->list = rs_malloc((g->n_edges + 1) * sizeof *m->list);
    m->n_out = rs_calloc(n + 1, sizeof *m->n_out);
    m->only_out = rs_malloc((n + 1) * sizeof *m->only_out);
    if (!m->first || !m->list || !m->n_out || !m->only_out) return false;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        bool binds = g->weight[i] == rs_own_between(&m->own, g->from[i], g->to[i]);
        if (!g->dead[i] && g->to[i] == rs_node_end(RS_OWN_WINDOW) && binds) m->last = g->from[i];
        if (g->dead[i] || is_inner(m, i)) continue;
        m->first[g->to[i] + 2]++;
        m->n_out[g->from[i]]++;
        m->only_out[g->from[i]] = i;
    }
    for (size_t i = 1; i <= n; i++) m->first[i + 1] += m->first[i];
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (!g->dead[i] && !is_inner(m, i)) m->list[m->first[g->to[i] + 1]++] = i;
    return true;
}

static size_t n_in(const maker *m, uint32_t node)
{
    return m->first[node + 1] - m->first[node];
}

static bool is_thread_time(const maker *m, uint32_t i)
{
    uint8_t type = m->g->type[i];
    return type == RS_EDGE_OPERATOR || type == RS_EDGE_DEPENDENCY;
}

/* How long such calls take is asked about by their names. */
static bool allocates(const maker *m, uint32_t node)
{
    uint32_t row = m->g->row[node >> 1];
    return row != RS_NO_ROW && m->own.role[m->e->name[row]] == RS_OWN_ALLOCATES;
}

/* Whether a host node says nothing that the edge through it would not. */
static bool goes(const maker *m, uint32_t node)
{
    if (allocates(m, node) || n_in(m, node) != 1 || m->n_out[node] != 1 || node == m->last) return false;
    uint32_t in = m->list[m->first[node]], out = m->only_out[node];
    return is_thread_time(m, in) && is_thread_time(m, out) && !is_work(m, m->g->to[out]) &&
           !is_work(m, m->g->from[in]) && part_of_edge(m, in) == part_of_edge(m, out);
}

static bool choose_units(maker *m)
{
    const rs_path_graph *g = m->g;
    size_t n = 2 * g->n_items;
    m->unit = rs_malloc((n + 1) * sizeof *m->unit);
    m->node = rs_malloc((n + 1) * sizeof *m->node);
    if (!m->unit || !m->node) return false;
    m->unit[0] = 0;
    m->unit[1] = RS_NO_ITEM;
    m->node[m->n_units++] = 0;
    for (uint32_t node = 2; node < n; node++) {
        if ((node & 1) && is_work(m, node)) {
            m->unit[node] = m->unit[node - 1];
            continue;
        }
        bool kept = g->in_graph[node >> 1] && (is_work(m, node) || !goes(m, node));
        m->unit[node] = kept ? (uint32_t)m->n_units : RS_NO_ITEM;
        if (kept) m->node[m->n_units++] = node;
    }
    return true;
}

/* ---- edges between units ------------------------------------------------------------------------------- */

static uint32_t held(int64_t ns)
{
    return ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static rs_origin origin_of_wait(const maker *m, uint32_t source_row, uint32_t target_row)
{
    size_t from, to;
    rs_sync_into(m->own.sync, target_row, &from, &to);
    for (size_t k = from; k < to; k++)
        if (m->own.sync->items[k].source == source_row)
            return m->own.sync->items[k].sync == RS_NO_ROW ? RS_ORIGIN_CALL : RS_ORIGIN_TOLD;
    return RS_ORIGIN_DEVICE;
}

/* What the edge into work takes, and how it is known. */
static void set_work_cost(const maker *m, uint32_t i, edge *out)
{
    const rs_path_graph *g = m->g;
    uint32_t work = m->own.work_of[g->to[i] >> 1], source = g->row[g->from[i] >> 1];
    const rs_causes *c = &m->own.causes;
    if (g->from[i] == rs_node_start(RS_OWN_WINDOW)) return;
    if (g->type[i] == RS_EDGE_LAUNCH) {
        int64_t call_end = rs_event_end(m->e, source);
        bool inside = rs_launch_counts_from_start(c, work, call_end);
        out->cost = (uint8_t)((inside ? RS_COST_INSIDE : RS_COST_LAUNCH) + c->kind[work]);
        out->base = inside ? 0 : held(rs_sub_sat(call_end, m->e->start[source]));
        out->origin = RS_ORIGIN_LAUNCH;
    } else if (g->type[i] == RS_EDGE_KERNEL) {
        out->cost = (uint8_t)(RS_COST_STREAM + c->kind[work]);
    } else if (g->type[i] == RS_EDGE_SYNC) {
        out->cost = (uint8_t)(RS_COST_EVENT + c->kind[work]);
        out->origin = (uint8_t)origin_of_wait(m, source, g->row[g->to[i] >> 1]);
    }
}

/* A call that waited for something ends no sooner than one that need not wait. */
static void set_host_cost(const maker *m, uint32_t i, bool waits, bool queued, edge *out)
{
    const rs_path_graph *g = m->g;
    if (g->type[i] == RS_EDGE_SYNC) {
        out->cost = g->from[i] & 1 ? RS_COST_ANSWER : RS_COST_ROOM;
        out->origin = g->from[i] & 1 ? RS_ORIGIN_TOLD : RS_ORIGIN_QUEUE;
    } else if (waits && g->type[i] == RS_EDGE_OPERATOR) {
        out->cost = queued ? RS_COST_ISSUE : RS_COST_CALL;
    }
}

/* The edge of the graph as one between units: back over what was contracted, and the name of the event that
 * took most of that. */
static edge contracted(const maker *m, uint32_t i, uint32_t to)
{
    const rs_path_graph *g = m->g;
    edge out = {.to = to,
                .name = RS_NO_STRING,
                .part = (uint8_t)part_of_edge(m, i),
                .cost = RS_COST_NONE,
                .origin = RS_ORIGIN_ORDER};
    int64_t base = 0, longest = -1;
    uint32_t at = i;
    for (;;) {
        uint32_t from = g->from[at], owner = g->owner[at];
        int64_t length = rs_own_between(&m->own, from, g->to[at]);
        if (length > longest && owner != RS_NO_ITEM && g->row[owner] != RS_NO_ROW) {
            longest = length;
            out.name = m->e->name[g->row[owner]];
        }
        if (m->unit[from] != RS_NO_ITEM) break;
        at = m->list[m->first[from]];
        base = rs_add_sat(base, rs_own_between(&m->own, g->from[at], from));
    }
    out.from = m->unit[g->from[at]];
    out.at_end = (g->from[at] & 1) && is_work(m, g->from[at]);
    out.base = held(base);
    return out;
}

static bool add_edge(maker *m, edge e)
{
    if (!RS_GROW_ONE(m->edges, m->n_edges, m->capacity)) return false;
    m->edges[m->n_edges++] = e;
    return true;
}

/* Without a binding edge the unit keeps its recorded distance from the start of the trace. */
static bool pin(maker *m, uint32_t unit)
{
    return add_edge(m, (edge){.to = unit,
                              .name = RS_NO_STRING,
                              .part = RS_PART_PINNED,
                              .cost = RS_COST_NONE,
                              .origin = RS_ORIGIN_ORDER});
}

static bool connect_unit(maker *m, uint32_t unit)
{
    const rs_path_graph *g = m->g;
    uint32_t node = m->node[unit], binding = RS_NO_ITEM;
    bool waits = false, queued = false;
    for (uint32_t k = m->first[node]; k < m->first[node + 1]; k++) {
        uint32_t i = m->list[k];
        if (binding == RS_NO_ITEM && g->weight[i] == rs_own_between(&m->own, g->from[i], node)) binding = i;
        waits |= g->type[i] == RS_EDGE_SYNC;
        queued |= g->type[i] == RS_EDGE_SYNC && !(g->from[i] & 1);
    }
    if (binding == RS_NO_ITEM && !pin(m, unit)) return false;
    for (uint32_t k = m->first[node]; k <= m->first[node + 1]; k++) {
        /* the binding edge first, then the others in their order */
        uint32_t i = k == m->first[node] ? binding : m->list[k - 1];
        if (i == RS_NO_ITEM || (k > m->first[node] && i == binding)) continue;
        edge e = contracted(m, i, unit);
        if (is_work(m, node))
            set_work_cost(m, i, &e);
        else
            set_host_cost(m, i, waits, queued, &e);
        if (!add_edge(m, e)) return false;
    }
    return true;
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* Units in the order of cause. */
static bool order_by_cause(maker *m)
{
    size_t n = m->n_units, at = 0, end = 0;
    uint32_t *first = rs_calloc(n + 2, sizeof *first), *out = rs_malloc((m->n_edges + 1) * sizeof *out);
    uint32_t *waiting = rs_calloc(n + 1, sizeof *waiting);
    bool ok = first && out && waiting;
    for (size_t i = 0; ok && i < m->n_edges; i++) {
        first[m->edges[i].from + 2]++;
        waiting[m->edges[i].to]++;
    }
    for (size_t i = 1; ok && i <= n; i++) first[i + 1] += first[i];
    for (size_t i = 0; ok && i < m->n_edges; i++) out[first[m->edges[i].from + 1]++] = m->edges[i].to;
    for (uint32_t i = 0; ok && i < n; i++)
        if (!waiting[i]) m->order[end++] = i;
    for (; ok && at < end; at++)
        for (uint32_t k = first[m->order[at]]; k < first[m->order[at] + 1]; k++)
            if (--waiting[out[k]] == 0) m->order[end++] = out[k];
    rs_free(first);
    rs_free(out);
    rs_free(waiting);
    return ok && end == n;
}

static int64_t time_of_unit(const maker *m, uint32_t unit)
{
    return rs_node_time(m->g, m->node[unit]);
}

/* Whether every edge leads forward in m->order; sets m->place. */
static bool leads_forward(maker *m)
{
    bool ok = m->order[0] == 0;
    for (uint32_t i = 0; i < m->n_units; i++) m->place[m->order[i]] = i;
    for (size_t i = 0; i < m->n_edges; i++) ok &= m->place[m->edges[i].from] < m->place[m->edges[i].to];
    return ok;
}

static rs_status order_units(maker *m, rs_error *err)
{
    size_t n = m->n_units;
    rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    m->order = rs_malloc((n + 1) * sizeof *m->order);
    m->place = rs_malloc((n + 1) * sizeof *m->place);
    bool ok = keys && m->order && m->place && order_by_cause(m);
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){time_of_unit(m, m->order[i]), m->order[i]};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) m->order[i] = keys[i].value;
    if (ok && !leads_forward(m)) ok = order_by_cause(m) && leads_forward(m);
    rs_free(keys);
    return ok ? RS_OK : rs_fail_nomem(err, "skeleton");
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static bool make_columns(maker *m)
{
    rs_skeleton *s = m->s;
    size_t n = m->n_units, k = m->n_edges;
    s->n = n;
    s->n_first = n + 1;
    s->time = rs_malloc(n * sizeof *s->time);
    s->duration = rs_malloc(n * sizeof *s->duration);
    s->name = rs_malloc(n * sizeof *s->name);
    s->operator_name = rs_malloc(n * sizeof *s->operator_name);
    s->row = rs_malloc(n * sizeof *s->row);
    s->step = rs_malloc(n * sizeof *s->step);
    s->lane = rs_calloc(n, sizeof *s->lane);
    s->part = rs_malloc(n);
    s->flags = rs_malloc(n);
    s->first = rs_malloc((n + 1) * sizeof *s->first);
    s->source = rs_malloc((k + 1) * sizeof *s->source);
    s->base = rs_malloc((k + 1) * sizeof *s->base);
    s->edge_part = rs_malloc(k + 1);
    s->cost = rs_malloc(k + 1);
    s->origin = rs_malloc(k + 1);
    return s->time && s->duration && s->name && s->operator_name && s->row && s->step && s->lane && s->part &&
           s->flags && s->first && s->source && s->base && s->edge_part && s->cost && s->origin;
}

static int32_t step_at(const rs_step *steps, size_t n, int64_t pid, int64_t ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle].start <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low > 0 && steps[low - 1].reach > ns; low--)
        if (steps[low - 1].end > ns && steps[low - 1].pid == pid) return (int32_t)(low - 1);
    return -1;
}

static int32_t step_numbered(const maker *m, int64_t number)
{
    const uint32_t *at = number < 0 ? NULL : rs_map64_get(&m->step_of_number, (uint64_t)number);
    return at ? (int32_t)*at : -1;
}

static bool number_steps(maker *m, const rs_step *steps, size_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool is_new;
        uint32_t *slot = rs_map64_put(&m->step_of_number, (uint64_t)steps[i].number, &is_new);
        if (!slot) return false;
        if (is_new) *slot = i;
    }
    return true;
}

/* The step of work is its launch's. */
static int32_t step_of(const maker *m, const rs_step *steps, size_t n, uint32_t node)
{
    const rs_events *e = m->e;
    uint32_t row = m->g->row[node >> 1], work = m->own.work_of[node >> 1];
    if (row == RS_NO_ROW || n == 0) return -1;
    if (work != RS_NO_ITEM) {
        uint32_t launch = m->own.w->launch[work];
        if (launch == RS_NO_ROW) return step_numbered(m, m->own.w->step[work]);
        return step_at(steps, n, e->threads[e->thread[launch]].pid, e->start[launch]);
    }
    return step_at(steps, n, e->threads[e->thread[row]].pid, rs_node_time(m->g, node));
}

static bool lane_of(maker *m, uint32_t node, uint16_t *out)
{
    uint32_t row = m->g->row[node >> 1], work = m->own.work_of[node >> 1];
    const rs_thread *t = row == RS_NO_ROW ? NULL : &m->e->threads[m->e->thread[row]];
    rs_skeleton_lane lane = {.device = -1, .stream = -1, .is_thread = work == RS_NO_ITEM};
    if (work != RS_NO_ITEM) {
        lane.device = m->own.w->device[work];
        lane.stream = m->own.w->stream[work];
        if (lane.device < 0) lane.pid = t->pid;
    } else if (t) {
        lane.pid = t->pid;
        lane.tid = t->tid;
    }
    /* the sign of the first number tells streams from threads */
    int64_t first = lane.is_thread ? lane.pid : (lane.device < 0 ? lane.pid : lane.device) ^ INT64_MIN;
    if (!rs_lanes_add(&m->lanes, first, lane.is_thread ? lane.tid : lane.stream, 0, 0)) return false;
    size_t at = m->lanes.entries[--m->lanes.n].lane;
    if (at >= UINT16_MAX) at = UINT16_MAX - 1; /* so many are no streams or threads of a real job */
    if (at == m->s->n_lanes) m->s->lanes[m->s->n_lanes++] = lane;
    *out = (uint16_t)at;
    return true;
}

/* By call of the links: the name of the operator around it. */
static rs_status operators_of(maker *m, const rs_links **links, uint32_t **op, rs_error *err)
{
    RS_TRY(rs_trace_links(m->trace, links, err));
    return rs_launch_ops(m->trace, *links, op, err);
}

static uint32_t operator_of(const maker *m, const rs_links *links, const uint32_t *op, uint32_t launch)
{
    size_t low = 0, high = links->n_calls;
    if (launch == RS_NO_ROW) return RS_NO_STRING;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (links->call[middle] < launch)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == links->n_calls || links->call[low] != launch || op[low] == RS_NO_ROW)
        return m->e->name[launch];
    return m->e->name[op[low]];
}

static rs_status fill_nodes(maker *m, const rs_step *steps, size_t n_steps, rs_error *err)
{
    rs_skeleton *s = m->s;
    const rs_links *links;
    uint32_t *op = NULL;
    RS_TRY(operators_of(m, &links, &op, err));
    bool ok = true;
    s->lanes = rs_malloc(UINT16_MAX * sizeof *s->lanes);
    ok = s->lanes != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t node = m->node[m->order[i]], row = m->g->row[node >> 1], work = m->own.work_of[node >> 1];
        bool gpu = work != RS_NO_ITEM;
        s->time[i] = rs_node_time(m->g, node);
        s->duration[i] = gpu ? rs_own_between(&m->own, node, node + 1) : 0;
        s->row[i] = row;
        s->flags[i] = gpu ? RS_NODE_WORK : 0;
        s->part[i] = (uint8_t)(gpu ? part_of_work(m, row) : RS_PART_HOST);
        s->name[i] = rs_pool_add(&s->pool, m->e, row == RS_NO_ROW ? RS_NO_STRING : m->e->name[row], &ok);
        s->operator_name[i] = RS_NO_STRING;
        if (gpu)
            s->operator_name[i] =
                rs_pool_add(&s->pool, m->e, operator_of(m, links, op, m->own.w->launch[work]), &ok);
        s->step[i] = step_of(m, steps, n_steps, node);
        ok = ok && lane_of(m, node, &s->lane[i]);
    }
    if (ok) {
        rs_skeleton_lane *fit = rs_realloc(s->lanes, (s->n_lanes + 1) * sizeof *fit);
        if (fit) s->lanes = fit;
    }
    rs_free(op);
    return ok ? RS_OK : rs_fail_nomem(err, "skeleton");
}

/* m->edges stand by unit; those of each go to its place. */
static bool fill_edges(maker *m)
{
    rs_skeleton *s = m->s;
    uint32_t *begin = rs_calloc(m->n_units + 2, sizeof *begin); /* by unit, in m->edges */
    bool ok = begin != NULL;
    for (size_t i = 0; ok && i < m->n_edges; i++) begin[m->edges[i].to + 1]++;
    for (size_t i = 0; ok && i < m->n_units; i++) begin[i + 1] += begin[i];
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t unit = m->order[i];
        s->first[i] = (uint32_t)s->n_edges;
        for (uint32_t k = begin[unit]; k < begin[unit + 1]; k++) {
            const edge *e = &m->edges[k];
            size_t at = s->n_edges++;
            s->source[at] = m->place[e->from] << 1 | e->at_end;
            s->base[at] = e->base;
            s->edge_part[at] = e->part;
            s->cost[at] = e->cost;
            s->origin[at] = e->origin;
        }
        if (begin[unit] == begin[unit + 1]) continue;
        const edge *binding = &m->edges[begin[unit]];
        if (binding->part == RS_PART_PINNED) s->flags[i] |= RS_NODE_PINNED;
        if (!(s->flags[i] & RS_NODE_WORK))
            s->operator_name[i] = rs_pool_add(&s->pool, m->e, binding->name, &ok);
    }
    if (ok) s->first[s->n] = (uint32_t)s->n_edges;
    rs_free(begin);
    return ok;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* The last of the thread's points that is not later; node 0 if there is none. */
static uint32_t point_before(const rs_skeleton *s, const uint32_t *points, size_t n, int64_t ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->time[points[middle]] <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? points[low - 1] : 0;
}

/* Which steps have work on the GPU. */
static void mark_working(const rs_skeleton *s, bool *works)
{
    for (uint32_t i = 0; i < s->n; i++)
        if ((s->flags[i] & RS_NODE_WORK) && s->step[i] >= 0) works[s->step[i]] = true;
}

static bool fill_steps(maker *m, const rs_step *steps, size_t n)
{
    rs_skeleton *s = m->s;
    bool *works = rs_calloc(n + 1, sizeof *works);
    size_t n_threads = m->e->n_threads;
    uint32_t *first = rs_calloc(n_threads + 2, sizeof *first),
             *points = rs_malloc((s->n + 1) * sizeof *points);
    s->steps = rs_malloc((n + 1) * sizeof *s->steps);
    bool ok = works && first && points && s->steps;
    if (ok) mark_working(s, works);
    for (uint32_t i = 1; ok && i < s->n; i++)
        if (!(s->flags[i] & RS_NODE_WORK)) first[m->e->thread[s->row[i]] + 2]++;
    for (size_t i = 1; ok && i <= n_threads; i++) first[i + 1] += first[i];
    for (uint32_t i = 1; ok && i < s->n; i++)
        if (!(s->flags[i] & RS_NODE_WORK)) points[first[m->e->thread[s->row[i]] + 1]++] = i;
    for (size_t k = 0; ok && k < n; k++) {
        uint32_t thread = m->e->thread[steps[k].row];
        const uint32_t *of = points + first[thread];
        size_t n_of = first[thread + 1] - first[thread];
        rs_skeleton_step *t = &s->steps[s->n_steps++];
        *t = (rs_skeleton_step){.number = steps[k].number, .start = steps[k].start, .end = steps[k].end};
        t->mark = point_before(s, of, n_of, t->start);
        t->after = rs_sub_sat(t->start, s->time[t->mark]);
        t->last = point_before(s, of, n_of, t->end);
        /* a step whose thread has no point ends with its work, if it has any */
        t->tail = rs_sub_sat(t->last || !works[k] ? t->end : t->start, s->time[t->last]);
    }
    rs_free(works);
    rs_free(first);
    rs_free(points);
    return ok;
}

/* ---- costs --------------------------------------------------------------------------------------------- */

/* The constants from the samples that stand in `by_cost` (first: offsets by cost) but for those of one fold.
 */
static void learn(const rs_causes *c, const uint32_t *by_cost, const size_t *first, const uint8_t *fold,
                  int without, int64_t *values, rs_skeleton_costs *out)
{
    for (unsigned cost = 0; cost < RS_N_COSTS; cost++) {
        size_t n = 0;
        out->least[cost] = out->typical[cost] = RS_NO_COST;
        for (size_t i = first[cost]; i < first[cost + 1]; i++)
            if (fold[by_cost[i]] != without) values[n++] = c->samples[by_cost[i]].value;
        if (n < MIN_SAMPLES) continue;
        out->least[cost] = rs_select_number(values, n, n / 10);
        out->typical[cost] = rs_select_number(values, n, n / 2);
        if (out->least[cost] < 0) out->least[cost] = 0;
        if (out->typical[cost] < 0) out->typical[cost] = 0;
    }
}

static bool learn_costs(maker *m, const rs_step *steps, size_t n_steps)
{
    const rs_causes *c = &m->own.causes;
    uint8_t *fold = rs_malloc(c->n_samples + 1);
    uint32_t *by_cost = rs_malloc((c->n_samples + 1) * sizeof *by_cost);
    int64_t *values = rs_malloc((c->n_samples + 1) * sizeof *values);
    size_t first[RS_N_COSTS + 2] = {0};
    bool ok = fold && by_cost && values;
    for (size_t i = 0; ok && i < c->n_samples; i++) {
        uint32_t item = m->own.item_of[c->samples[i].row];
        int32_t step = item == RS_NO_ITEM ? -1 : step_of(m, steps, n_steps, rs_node_start(item));
        fold[i] = (uint8_t)(step < 0 ? UINT8_MAX : step % RS_SKELETON_FOLDS);
        first[c->samples[i].cost + 2]++;
    }
    for (size_t k = 1; k <= RS_N_COSTS; k++) first[k + 1] += first[k];
    for (uint32_t i = 0; ok && i < c->n_samples; i++) by_cost[first[c->samples[i].cost + 1]++] = i;
    if (ok) learn(c, by_cost, first, fold, -1, values, &m->s->all);
    size_t n_told = first[RS_COST_EVENT + RS_N_WORK_KINDS] - first[RS_COST_EVENT];
    m->s->told_gap = RS_NO_COST;
    for (size_t i = 0; ok && i < n_told; i++) values[i] = c->samples[by_cost[first[RS_COST_EVENT] + i]].value;
    if (ok && n_told >= MIN_SAMPLES) m->s->told_gap = rs_select_number(values, n_told, n_told * 9 / 10);
    for (int k = 0; ok && k < RS_SKELETON_FOLDS; k++) {
        if ((size_t)k < n_steps)
            learn(c, by_cost, first, fold, k, values, &m->s->without[k]);
        else
            m->s->without[k] = m->s->all;
    }
    rs_free(fold);
    rs_free(by_cost);
    rs_free(values);
    return ok;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status add_communication(maker *m, const rs_policy *policy, rs_error *err)
{
    rs_skeleton *s = m->s;
    RS_TRY(rs_coll_rank_any(m->trace, policy, &s->comm, err));
    s->n_comm = s->comm->n;
    s->comm_node = rs_malloc((s->n_comm + 1) * sizeof *s->comm_node);
    if (!s->comm_node) return rs_fail_nomem(err, "skeleton");
    for (size_t i = 0; i < s->n_comm; i++) {
        uint32_t item = m->own.item_of[s->comm->ops[i].row];
        bool work = item != RS_NO_ITEM && m->own.work_of[item] != RS_NO_ITEM;
        s->comm_node[i] = work ? m->place[m->unit[rs_node_start(item)]] : RS_NO_NODE;
    }
    return RS_OK;
}

static rs_status make(maker *m, const rs_policy *policy, rs_error *err)
{
    const rs_step *steps;
    size_t n_steps;
    RS_TRY(rs_trace_steps(m->trace, &steps, &n_steps, err));
    bool ok = number_steps(m, steps, n_steps) && index_edges(m) && choose_units(m);
    for (uint32_t i = 1; ok && i < m->n_units; i++) ok = connect_unit(m, i);
    if (!ok) return rs_fail_nomem(err, "skeleton");
    RS_TRY(order_units(m, err));
    if (!make_columns(m)) return rs_fail_nomem(err, "skeleton");
    RS_TRY(fill_nodes(m, steps, n_steps, err));
    if (!fill_edges(m) || !fill_steps(m, steps, n_steps) || !learn_costs(m, steps, n_steps))
        return rs_fail_nomem(err, "skeleton");
    m->s->start = m->own.start;
    m->s->last = m->place[m->unit[m->last]] << 1 | ((m->last & 1) && is_work(m, m->last));
    m->s->end = m->own.end;
    m->s->n_events = m->trace->n_rows;
    m->s->n_contradicted = m->own.causes.n_contradicted;
    m->s->n_untold = m->own.sync->n_untold;
    m->s->strict = m->own.strict;
    return add_communication(m, policy, err);
}

rs_status rs_skeleton_of(rs_trace *trace, const rs_policy *policy, rs_skeleton **out, rs_error *err)
{
    const rs_path_window window = {.annotation = "", .whole = true};
    rs_policy all = *policy;
    rs_sync_edges sync = {0};
    size_t n_instances;
    maker m = {.trace = trace, .e = trace->events};
    all.whole = true;
    *out = NULL;
    RS_TRY(rs_trace_classes(trace, policy->classes, &m.classes, err));
    RS_TRY(rs_sync_find(trace, &all, &sync, err));
    rs_status status = rs_own_open(trace, &all, &window, &sync, &m.own, &n_instances, err);
    if (status == RS_OK && m.own.g) {
        m.g = m.own.g;
        m.s = rs_calloc(1, sizeof *m.s);
        if (!m.s || !rs_pool_init(&m.s->pool)) status = rs_fail_nomem(err, "skeleton");
        if (status == RS_OK) status = make(&m, &all, err);
        if (status == RS_OK) {
            *out = m.s;
            m.s = NULL;
        }
    }
    rs_skeleton_free(m.s);
    rs_free(m.first);
    rs_free(m.list);
    rs_free(m.n_out);
    rs_free(m.only_out);
    rs_free(m.unit);
    rs_free(m.node);
    rs_free(m.edges);
    rs_free(m.order);
    rs_free(m.place);
    rs_lanes_clear(&m.lanes);
    rs_map64_clear(&m.step_of_number);
    rs_own_close(&m.own);
    rs_sync_clear(&sync);
    return status;
}
