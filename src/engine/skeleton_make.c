/* A rank's event graph, made small: chains of host events between two points that matter become one edge.
 *
 * A host node goes where it has one edge in and one edge out, both the thread's own time and spent on the
 * same kind of thing. What is left is numbered in the order of time, or where that runs against an edge in
 * the order of cause. */
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/skeleton_make.h"

/* ---- the graph's edges --------------------------------------------------------------------------------- */

static rs_part part_of_edge(const rs_maker *m, uint32_t i)
{
    const rs_path_graph *g = m->g;
    uint32_t owner = g->owner[i], to = g->to[i];
    if (rs_maker_is_work(m, to)) {
        if (g->from[i] == rs_node_start(RS_OWN_WINDOW)) return RS_PART_PINNED;
        if (rs_maker_is_span(m, to)) return rs_maker_is_span(m, g->from[i]) ? RS_PART_GAP : RS_PART_HOST;
        return g->type[i] == RS_EDGE_LAUNCH ? RS_PART_LAUNCH : RS_PART_GAP;
    }
    if (g->type[i] == RS_EDGE_SYNC) return RS_PART_SYNC;
    if (owner == RS_NO_ITEM || g->row[owner] == RS_NO_ROW) return RS_PART_HOST;
    uint32_t name = m->e->name[g->row[owner]];
    if (m->own.loads->named[name]) return RS_PART_LOADER;
    return m->own.role[name] == RS_OWN_RUNS ? RS_PART_HOST_COMM : RS_PART_HOST;
}

/* Between the two nodes of a piece of work; to the window's end. */
static bool is_inner(const rs_maker *m, uint32_t i)
{
    uint32_t from = m->g->from[i], to = m->g->to[i];
    return to == rs_node_end(RS_OWN_WINDOW) || (from >> 1 == to >> 1 && rs_maker_is_work(m, to));
}

static bool index_edges(rs_maker *m)
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

static size_t n_in(const rs_maker *m, uint32_t node)
{
    return m->first[node + 1] - m->first[node];
}

static bool is_thread_time(const rs_maker *m, uint32_t i)
{
    uint8_t type = m->g->type[i];
    return type == RS_EDGE_OPERATOR || type == RS_EDGE_DEPENDENCY;
}

/* How long such calls take is asked about by their names. */
static bool allocates(const rs_maker *m, uint32_t node)
{
    uint32_t row = m->g->row[node >> 1];
    return row != RS_NO_ROW && m->own.role[m->e->name[row]] == RS_OWN_ALLOCATES;
}

/* Whether a host node says nothing that the edge through it would not. */
static bool goes(const rs_maker *m, uint32_t node)
{
    if (allocates(m, node) || n_in(m, node) != 1 || m->n_out[node] != 1 || node == m->last) return false;
    uint32_t in = m->list[m->first[node]], out = m->only_out[node];
    return is_thread_time(m, in) && is_thread_time(m, out) && !rs_maker_is_work(m, m->g->to[out]) &&
           !rs_maker_is_work(m, m->g->from[in]) && part_of_edge(m, in) == part_of_edge(m, out);
}

/* What has been used up goes at once: a rank takes most memory while its skeleton is made. */
static void drop(uint32_t **column)
{
    rs_free(*column);
    *column = NULL;
}

static bool choose_units(rs_maker *m)
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
        if ((node & 1) && rs_maker_is_work(m, node)) {
            m->unit[node] = m->unit[node - 1];
            continue;
        }
        bool kept = g->in_graph[node >> 1] && (rs_maker_is_work(m, node) || !goes(m, node));
        m->unit[node] = kept ? (uint32_t)m->n_units : RS_NO_ITEM;
        if (kept) m->node[m->n_units++] = node;
    }
    drop(&m->n_out);
    drop(&m->only_out);
    uint32_t *fitting = rs_realloc(m->node, (m->n_units + 1) * sizeof *fitting);
    if (fitting) m->node = fitting;
    return true;
}

/* ---- edges between units ------------------------------------------------------------------------------- */

static uint32_t held(int64_t ns)
{
    return ns < 0 ? 0 : ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static rs_origin origin_of_wait(const rs_maker *m, uint32_t source_row, uint32_t target_row)
{
    size_t from, to;
    rs_sync_into(m->own.sync, target_row, &from, &to);
    for (size_t k = from; k < to; k++)
        if (m->own.sync->items[k].source == source_row)
            return m->own.sync->items[k].sync == RS_NO_ROW ? RS_ORIGIN_CALL : RS_ORIGIN_TOLD;
    return RS_ORIGIN_DEVICE;
}

/* What the edge into work takes, and how it is known. */
static void set_work_cost(const rs_maker *m, uint32_t i, rs_unit_edge *out)
{
    const rs_path_graph *g = m->g;
    uint32_t work = m->own.work_of[g->to[i] >> 1], source = g->row[g->from[i] >> 1];
    const rs_causes *c = m->own.causes;
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
static void set_host_cost(const rs_maker *m, uint32_t i, bool waits, bool queued, rs_unit_edge *out)
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
static rs_unit_edge contracted(rs_maker *m, uint32_t i, uint32_t to)
{
    const rs_path_graph *g = m->g;
    rs_unit_edge out = {.to = to,
                        .name = RS_NO_STRING,
                        .part = (uint8_t)part_of_edge(m, i),
                        .cost = RS_COST_NONE,
                        .origin = RS_ORIGIN_ORDER};
    int64_t base = 0, longest = -1;
    uint32_t at = i;
    for (size_t n = 0;; n++) {
        uint32_t from = g->from[at], owner = g->owner[at];
        int64_t length = rs_own_between(&m->own, from, g->to[at]);
        if (length > longest && owner != RS_NO_ITEM && g->row[owner] != RS_NO_ROW) {
            longest = length;
            out.name = m->e->name[g->row[owner]];
        }
        if (m->unit[from] != RS_NO_ITEM) break;
        if (n > 2 * g->n_items) { /* a ring of what was contracted */
            m->circle = true;
            return out;
        }
        at = m->list[m->first[from]];
        base = rs_add_sat(base, rs_own_between(&m->own, g->from[at], from));
    }
    out.from = m->unit[g->from[at]];
    out.at_end = (g->from[at] & 1) && rs_maker_is_work(m, g->from[at]);
    out.base = held(base);
    return out;
}

static bool add_edge(rs_maker *m, rs_unit_edge e)
{
    return RS_PUSH(m->edges, m->n_edges, m->capacity, e);
}

/* Without a binding edge the unit keeps its recorded distance from the start of the trace. */
static bool pin(rs_maker *m, uint32_t unit)
{
    return add_edge(m, (rs_unit_edge){.to = unit,
                                      .name = RS_NO_STRING,
                                      .part = RS_PART_PINNED,
                                      .cost = RS_COST_NONE,
                                      .origin = RS_ORIGIN_ORDER});
}

/* Room for the edges of all units; a few pins more grow it. */
static bool reserve_edges(rs_maker *m)
{
    size_t n = m->n_units / 64 + 16;
    for (size_t i = 1; i < m->n_units; i++) n += n_in(m, m->node[i]) ? n_in(m, m->node[i]) : 1;
    m->edges = rs_malloc(n * sizeof *m->edges);
    m->capacity = m->edges ? n : 0;
    return m->edges != NULL;
}

static bool connect_unit(rs_maker *m, uint32_t unit)
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
        rs_unit_edge e = contracted(m, i, unit);
        if (m->circle) return true;
        if (rs_maker_is_gpu_work(m, node))
            set_work_cost(m, i, &e);
        else if (!rs_maker_is_span(m, node))
            set_host_cost(m, i, waits, queued, &e);
        if (!add_edge(m, e)) return false;
    }
    return true;
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* Units in the order of cause. */
static bool order_by_cause(rs_maker *m)
{
    size_t n = m->n_units, at = 0, end = 0;
    RS_LOCAL uint32_t *first = rs_calloc(n + 2, sizeof *first),
                      *out = rs_malloc((m->n_edges + 1) * sizeof *out);
    RS_LOCAL uint32_t *waiting = rs_calloc(n + 1, sizeof *waiting);
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
    m->circle |= ok && end < n;
    return ok && end == n;
}

static int64_t time_of_unit(const rs_maker *m, uint32_t unit)
{
    return rs_node_time(m->g, m->node[unit]);
}

/* Whether every edge leads forward in m->order; sets m->place. */
static bool leads_forward(rs_maker *m)
{
    bool ok = m->order[0] == 0;
    for (uint32_t i = 0; i < m->n_units; i++) m->place[m->order[i]] = i;
    for (size_t i = 0; i < m->n_edges; i++) ok &= m->place[m->edges[i].from] < m->place[m->edges[i].to];
    return ok;
}

static rs_status order_units(rs_maker *m, rs_error *err)
{
    size_t n = m->n_units;
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    m->order = rs_malloc((n + 1) * sizeof *m->order);
    m->place = rs_malloc((n + 1) * sizeof *m->place);
    bool ok = keys && m->order && m->place && order_by_cause(m);
    if (m->circle) return rs_fail(err, RS_ERR_FORMAT, "the dependencies between events make a circle");
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){time_of_unit(m, m->order[i]), m->order[i]};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) m->order[i] = keys[i].value;
    if (ok && !leads_forward(m)) ok = order_by_cause(m) && leads_forward(m);
    return ok ? RS_OK : rs_fail_nomem(err, "skeleton");
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static bool number_steps(rs_maker *m, const rs_step *steps, size_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool is_new;
        uint32_t *slot = rs_map64_put(&m->step_of_number, (uint64_t)steps[i].number, &is_new);
        if (!slot) return false;
        if (is_new) *slot = i;
    }
    return true;
}

static rs_status add_communication(rs_maker *m, const rs_policy *policy, rs_error *err)
{
    rs_skeleton *s = m->s;
    RS_TRY(rs_coll_rank_any(m->trace, policy, &s->comm, err));
    s->n_comm = s->comm->n;
    s->comm_node = rs_malloc((s->n_comm + 1) * sizeof *s->comm_node);
    if (!s->comm_node) return rs_fail_nomem(err, "skeleton");
    for (size_t i = 0; i < s->n_comm; i++) {
        uint32_t item = m->own.item_of[s->comm->ops[i].row];
        bool work = item != RS_NO_ITEM && rs_maker_is_work(m, rs_node_start(item));
        s->comm_node[i] = work ? m->place[m->unit[rs_node_start(item)]] : RS_NO_NODE;
    }
    return RS_OK;
}

static rs_status add_gaps(rs_maker *m, const rs_policy *policy, rs_error *err)
{
    const rs_host_gaps *gaps;
    rs_skeleton *s = m->s;
    RS_TRY(rs_trace_host_gaps(m->trace, policy, &gaps, err));
    size_t n_of[2] = {0}; /* samples have no length and come last */
    bool ok = (s->doing = rs_malloc(2 * RS_SKELETON_DOING * sizeof *s->doing)) != NULL;
    for (size_t i = 0; ok && i < gaps->n; i++) {
        const rs_host_gap_row *row = &gaps->rows[i];
        if (n_of[!row->ns]++ >= RS_SKELETON_DOING) continue;
        s->doing[s->n_doing++] =
            (rs_skeleton_doing){rs_pool_add(&s->pool, m->e, row->name, &ok), row->what, row->ns, row->n};
    }
    s->n_samples = gaps->n_samples;
    if (!ok) return rs_fail_nomem(err, "skeleton");
    s->launching = gaps->span;
    s->elsewhere = gaps->elsewhere;
    s->loading = gaps->loading;
    return RS_OK;
}

/* What counters say of the device while it computes. */
static rs_status add_measures(rs_maker *m, rs_error *err)
{
    const rs_measures *measures;
    const rs_work *w = m->own.w;
    rs_measured sum = {0};
    RS_TRY(rs_trace_measures(m->trace, &measures, err));
    for (size_t i = 0; measures->n && i < w->n; i++)
        if (w->class[i] == RS_CLASS_COMPUTE)
            rs_measures_add(measures, w->device[i], w->start[i], w->end[i], &sum);
    m->s->clock_mhz = rs_measured_mean(&sum, RS_MEASURE_CLOCK);
    m->s->power_w = rs_measured_mean(&sum, RS_MEASURE_POWER);
    m->s->power_limit_w = rs_measured_mean(&sum, RS_MEASURE_POWER_LIMIT);
    return RS_OK;
}

static rs_status make(rs_maker *m, const rs_policy *policy, rs_error *err)
{
    const rs_step *steps;
    size_t n_steps;
    RS_TRY(rs_trace_steps(m->trace, &steps, &n_steps, err));
    bool ok = number_steps(m, steps, n_steps) && index_edges(m) && choose_units(m) && reserve_edges(m);
    for (uint32_t i = 1; ok && !m->circle && i < m->n_units; i++) ok = connect_unit(m, i);
    if (!ok) return rs_fail_nomem(err, "skeleton");
    drop(&m->first);
    drop(&m->list);
    rs_path_graph_drop_edges(m->own.g);
    RS_TRY(order_units(m, err));
    RS_TRY(rs_maker_fill(m, steps, n_steps, err));
    if (!rs_maker_learn(m, steps, n_steps)) return rs_fail_nomem(err, "skeleton");
    m->s->start = m->own.start;
    m->s->last = m->place[m->unit[m->last]] << 1 | ((m->last & 1) && rs_maker_is_work(m, m->last));
    m->s->end = m->own.end;
    m->s->n_events = m->trace->n_rows;
    m->s->n_contradicted = m->own.causes->n_contradicted;
    m->s->n_untold = m->own.sync->n_untold;
    m->s->strict = m->own.strict;
    RS_TRY(add_gaps(m, policy, err));
    RS_TRY(add_measures(m, err));
    return add_communication(m, policy, err);
}

static void clear(rs_maker *m)
{
    rs_skeleton_free(m->s);
    rs_free_all(m->first, m->list, m->n_out, m->only_out, m->unit, m->node, m->edges, m->order, m->place);
    rs_lanes_clear(&m->lanes);
    rs_map64_clear(&m->step_of_number);
    rs_map64_clear(&m->pairs);
    rs_map64_clear(&m->labels);
    rs_own_close(&m->own);
}

/* path: the graph's path is looked for as well, which leaves out edges that run against time where they close circles.
 * Without it RS_ERR_FORMAT tells that there are circles. */
static rs_status try(rs_trace *trace, const rs_policy *all, const rs_sync_edges *sync, bool path,
                     rs_skeleton **out, rs_error *err)
{
    const rs_path_window window = {.annotation = "", .whole = true};
    size_t n_instances;
    rs_maker m = {.trace = trace, .e = trace->events};
    RS_TRY(rs_trace_classes(trace, all->classes, &m.classes, err));
    rs_status status = path ? rs_own_open(trace, all, &window, sync, &m.own, &n_instances, err)
                            : rs_own_open_graph(trace, all, &window, sync, &m.own, err);
    if (status == RS_OK && m.own.g) {
        m.g = m.own.g;
        m.s = rs_calloc(1, sizeof *m.s);
        if (!m.s || !rs_pool_init(&m.s->pool)) status = rs_fail_nomem(err, "skeleton");
        if (status == RS_OK) status = make(&m, all, err);
        if (status == RS_OK) {
            *out = m.s;
            m.s = NULL;
        }
    }
    clear(&m);
    return status;
}

rs_status rs_skeleton_of(rs_trace *trace, const rs_policy *policy, rs_skeleton **out, rs_error *err)
{
    rs_policy all = *policy;
    const rs_sync_edges *sync;
    rs_error circle = RS_ERROR_INIT;
    all.whole = true;
    *out = NULL;
    RS_TRY(rs_trace_sync(trace, &sync, err));
    rs_status status = try(trace, &all, sync, false, out, &circle);
    if (status == RS_ERR_FORMAT)
        status = try(trace, &all, sync, true, out, err);
    else if (status != RS_OK && err)
        *err = circle;
    return status;
}
