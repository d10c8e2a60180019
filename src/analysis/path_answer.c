#include "analysis/path_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "match/collective_names.h"
#include "trace/data_loader.h"

const char *const rs_bound_names[RS_N_BOUNDS] = {"cpu_bound",
                                                 "data_loading",
                                                 "gpu_compute_bound",
                                                 "gpu_communication_bound",
                                                 "gpu_copy_bound",
                                                 "gpu_kernel_launch_overhead",
                                                 "gpu_kernel_kernel_overhead",
                                                 "host_communication_bound",
                                                 ""};

void rs_path_answer_free(void *answer)
{
    rs_path_answer *a = answer;
    if (!a) return;
    rs_free_all(a->path, a->edges, a->nodes, a->syncs);
    rs_strings_clear(&a->strings);
    rs_free(a);
}

typedef struct maker {
    rs_trace *trace;
    const rs_events *e;
    const rs_policy *policy;
    const rs_classes *classes;
    const rs_data_loader *loads;
    const rs_path_graph *g;
    rs_path_answer *a;
    uint32_t *copied;         /* by the trace's string id: the answer's, + 1 */
    const char *data_load;    /* names of events that load data */
    const rs_path_peer *peer; /* NULL: the program's own rules */
    bool failed;              /* out of memory */
} maker;

static uint32_t copy_string(maker *m, uint32_t id)
{
    if (!m->copied[id]) {
        const rs_string *s = &m->e->strings.items[id];
        uint32_t copy = rs_strings_add(&m->a->strings, s->text, s->length);
        if (copy == RS_NO_STRING) {
            m->failed = true;
            return 0;
        }
        m->copied[id] = copy + 1;
    }
    return m->copied[id] - 1;
}

static uint32_t copy_number(maker *m, int64_t number, uint32_t text)
{
    char digits[24];
    if (text != RS_NO_STRING) return copy_string(m, text);
    int n = snprintf(digits, sizeof digits, "%lld", (long long)number);
    uint32_t id = rs_strings_add(&m->a->strings, digits, (size_t)n);
    if (id == RS_NO_STRING) m->failed = true;
    return id == RS_NO_STRING ? 0 : id;
}

/* ---- what bounds an edge ----------------------------------------------------------------------------- */

static bool is_gpu_side(const maker *m, uint32_t row)
{
    rs_kind kind = rs_event_kind(m->e, row);
    int64_t stream;
    if (!m->peer) return rs_kind_is_gpu_work(kind);
    return rs_events_int(m->e, RS_COL_STREAM, row, &stream) && stream >= 0;
}

static rs_bound bound_of_work(maker *m, uint32_t row)
{
    rs_class class = rs_class_at(m->classes, row);
    if (class == RS_CLASS_COMM) return RS_BOUND_COMM;
    return class == RS_CLASS_MEMORY && !m->peer ? RS_BOUND_COPY : RS_BOUND_COMPUTE;
}

static rs_bound bound_of(maker *m, size_t edge)
{
    const rs_path_graph *g = m->g;
    rs_edge_type type = (rs_edge_type)g->type[edge];
    uint32_t owner = g->owner[edge], to = g->to[edge] >> 1;
    if (type == RS_EDGE_LAUNCH) return RS_BOUND_LAUNCH;
    if (type == RS_EDGE_KERNEL) return RS_BOUND_GAP;
    if (m->peer && type != RS_EDGE_OPERATOR) return RS_BOUND_NONE;
    /* work that waits is a gap; a call that returns late is the host's */
    if (type == RS_EDGE_SYNC && g->row[to] != RS_NO_ROW && is_gpu_side(m, g->row[to])) return RS_BOUND_GAP;
    if (owner == RS_NO_ITEM || g->row[owner] == RS_NO_ROW) return RS_BOUND_CPU;
    uint32_t row = g->row[owner];
    if (is_gpu_side(m, row)) return type == RS_EDGE_OPERATOR ? bound_of_work(m, row) : RS_BOUND_GAP;
    const rs_string *name = &m->e->strings.items[m->e->name[row]];
    if (rs_text_contains_any(name, m->data_load)) return RS_BOUND_LOADING;
    if (!m->peer && m->loads->named[m->e->name[row]]) return RS_BOUND_LOADING;
    return !m->peer && rs_coll_is_host_span(name->text) ? RS_BOUND_HOST_COMM : RS_BOUND_CPU;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static rs_path_point point_of(maker *m, uint32_t node)
{
    const rs_path_graph *g = m->g;
    uint32_t item = node >> 1, row = g->row[item];
    rs_path_point p = {
        .position = RS_NO_POSITION, .time = rs_node_time(g, node), .name = RS_NO_STRING, .is_end = node & 1};
    int64_t length = rs_sub_sat(g->end[item], g->start[item]);
    p.within = p.is_end && length > 0 ? rs_sub_sat(p.time, length < 1000 ? length : 1000) : p.time;
    if (row == RS_NO_ROW) return p;
    p.position = row;
    p.name = copy_string(m, m->e->name[row]);
    return p;
}

static rs_path_edge edge_row(maker *m, size_t i)
{
    const rs_path_graph *g = m->g;
    rs_path_edge r = {.source = point_of(m, g->from[i]),
                      .target = point_of(m, g->to[i]),
                      .weight = g->weight[i],
                      .owner = RS_NO_POSITION,
                      .owner_stream = -1,
                      .owner_name = RS_NO_STRING,
                      .owner_category = RS_NO_STRING,
                      .owner_pid = RS_NO_STRING,
                      .owner_tid = RS_NO_STRING,
                      .type = g->type[i],
                      .bound = (uint8_t)bound_of(m, i),
                      .critical = g->critical[i]};
    uint32_t owner = g->owner[i], row = owner == RS_NO_ITEM ? RS_NO_ROW : g->row[owner];
    if (row == RS_NO_ROW) return r;
    const rs_thread *t = &m->e->threads[m->e->thread[row]];
    r.owner = row;
    rs_events_int(m->e, RS_COL_STREAM, row, &r.owner_stream);
    r.owner_name = copy_string(m, m->e->name[row]);
    r.owner_category = copy_string(m, m->e->categories[m->e->category[row]].name);
    r.owner_pid = copy_number(m, t->pid, t->pid_text);
    r.owner_tid = copy_number(m, t->tid, t->tid_text);
    return r;
}

static bool fill_edges(maker *m, const rs_path_wanted *wanted)
{
    const rs_path_graph *g = m->g;
    rs_path_answer *a = m->a;
    for (size_t i = 0; i < g->n_path; i++) a->time[bound_of(m, g->path[i])] += g->weight[g->path[i]];
    if (wanted->path) {
        a->path = rs_malloc(g->n_path * sizeof *a->path);
        if (!a->path) return false;
        for (size_t i = 0; i < g->n_path; i++) a->path[a->n_path_rows++] = edge_row(m, g->path[i]);
    }
    for (size_t i = 0; i < g->n_edges; i++) a->n_edges += !g->dead[i];
    if (wanted->edges) {
        a->edges = rs_malloc(a->n_edges * sizeof *a->edges);
        if (!a->edges) return false;
        for (size_t i = 0; i < g->n_edges; i++)
            if (!g->dead[i]) a->edges[a->n_edge_rows++] = edge_row(m, i);
    }
    return !m->failed;
}

/* The place of each node on the path, + 1. */
static uint32_t *places_on_path(const rs_path_graph *g)
{
    uint32_t *place = rs_calloc(2 * g->n_items + 1, sizeof *place);
    if (!place || g->n_path == 0) return place;
    place[g->from[g->path[0]]] = 1;
    for (size_t i = 0; i < g->n_path; i++) place[g->to[g->path[i]]] = (uint32_t)i + 2;
    return place;
}

static bool fill_nodes(maker *m)
{
    const rs_path_graph *g = m->g;
    rs_path_answer *a = m->a;
    RS_LOCAL uint32_t *place = places_on_path(g);
    RS_LOCAL rs_keyed *order = rs_malloc((2 * g->n_items + 1) * sizeof *order);
    size_t n = 0;
    a->nodes = rs_malloc((2 * g->n_items + 1) * sizeof *a->nodes);
    bool ok = place && order && a->nodes;
    for (uint32_t node = 0; ok && node < 2 * g->n_items; node++)
        if (g->in_graph[node >> 1]) order[n++] = (rs_keyed){rs_node_time(g, node), node};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t node = order[i].value, row = g->row[node >> 1];
        a->nodes[a->n_node_rows++] =
            (rs_path_node){.point = point_of(m, node),
                           .place = (int64_t)place[node] - 1,
                           .blocking = row != RS_NO_ROW && rs_path_is_blocking(rs_event_name(m->e, row))};
    }
    return ok && !m->failed;
}

static rs_path_sync sync_row(maker *m, uint32_t source, uint32_t target, uint32_t sync, rs_sync_kind kind)
{
    const rs_events *e = m->e;
    rs_path_sync r = {.source = source,
                      .target = target,
                      .sync = sync == RS_NO_ROW ? RS_NO_POSITION : (int64_t)sync,
                      .source_id = RS_NO_VALUE,
                      .target_id = RS_NO_VALUE,
                      .source_stream = -1,
                      .target_stream = -1,
                      .source_end = rs_event_end(e, source),
                      .source_name = copy_string(m, e->name[source]),
                      .target_name = copy_string(m, e->name[target]),
                      .kind = (uint8_t)kind,
                      .to_gpu = rs_sync_is_of_work(kind)};
    r.target_time = r.to_gpu ? e->start[target] : rs_event_end(e, target);
    rs_events_int(e, RS_COL_EXTERNAL_ID, source, &r.source_id);
    rs_events_int(e, RS_COL_EXTERNAL_ID, target, &r.target_id);
    rs_events_int(e, RS_COL_STREAM, source, &r.source_stream);
    rs_events_int(e, RS_COL_STREAM, target, &r.target_stream);
    return r;
}

/* HTA's edges do not say which kind they are; the call they end in does. */
static rs_sync_kind kind_of_call(const maker *m, uint32_t row)
{
    const rs_string *name = &m->e->strings.items[m->e->name[row]];
    if (is_gpu_side(m, row)) return RS_SYNC_STREAM_WAIT;
    if (rs_text_contains(name, "Event")) return RS_SYNC_EVENT;
    return rs_text_contains(name, "Stream") ? RS_SYNC_STREAM : RS_SYNC_CONTEXT;
}

static bool fill_peer_syncs(maker *m)
{
    const rs_path_graph *g = m->g;
    size_t n = 0;
    for (size_t i = 0; i < g->n_edges; i++) n += g->type[i] == RS_EDGE_SYNC && !g->dead[i];
    m->a->syncs = rs_malloc(n * sizeof *m->a->syncs);
    if (!m->a->syncs) return false;
    for (size_t i = 0; i < g->n_edges; i++) {
        if (g->type[i] != RS_EDGE_SYNC || g->dead[i]) continue;
        uint32_t source = g->row[g->from[i] >> 1], target = g->row[g->to[i] >> 1];
        rs_path_sync *r = &m->a->syncs[m->a->n_syncs++];
        *r = sync_row(m, source, target, RS_NO_ROW, kind_of_call(m, target));
        r->critical = g->critical[i];
    }
    return !m->failed;
}

/* Whether the path runs over the edge: both its ends follow each other on it. */
static bool mark_critical(maker *m)
{
    const rs_path_graph *g = m->g;
    rs_path_answer *a = m->a;
    RS_SCOPED(rs_map64_clear) rs_map64 pairs = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < g->n_path; i++) {
        uint32_t edge = g->path[i], from = g->row[g->from[edge] >> 1], to = g->row[g->to[edge] >> 1];
        bool is_new;
        if (g->type[edge] == RS_EDGE_SYNC)
            ok = rs_map64_put(&pairs, (uint64_t)from << 32 | to, &is_new) != NULL;
    }
    for (size_t i = 0; ok && i < a->n_syncs; i++)
        a->syncs[i].critical =
            rs_map64_get(&pairs, (uint64_t)a->syncs[i].source << 32 | (uint64_t)a->syncs[i].target) != NULL;
    return ok;
}

/* All whose target ends, or starts, in the window. */
static bool fill_own_syncs(maker *m, const rs_sync_edges *edges)
{
    m->a->syncs = rs_malloc(edges->n * sizeof *m->a->syncs);
    if (!m->a->syncs) return false;
    for (size_t i = 0; i < edges->n; i++) {
        const rs_sync_edge *s = &edges->items[i];
        rs_path_sync r = sync_row(m, s->source, s->target, s->sync, s->kind);
        if (r.target_time < m->a->start || m->e->start[s->target] > m->a->end) continue;
        m->a->syncs[m->a->n_syncs++] = r;
    }
    return mark_critical(m) && !m->failed;
}

/* ---- one rank ----------------------------------------------------------------------------------------- */

static rs_status find_part(maker *m, const rs_path_window *window, bool default_window,
                           const rs_sync_edges *sync, rs_path_part *part, rs_error *err)
{
    rs_path_window whole = {.annotation = ""};
    rs_status status = m->peer ? m->peer->build(m->trace, m->policy, window, part, err)
                               : rs_path_build_own(m->trace, m->policy, window, sync, part, err);
    m->a->n_instances = part->n_instances;
    m->a->found = part->graph != NULL;
    if (status != RS_OK || part->graph || part->n_instances || !default_window || m->peer) return status;
    status = rs_path_build_own(m->trace, m->policy, &whole, sync, part, err);
    m->a->whole_trace = part->graph != NULL;
    m->a->found = part->graph != NULL;
    return status;
}

static rs_status fill(maker *m, const rs_path_window *window, bool default_window,
                      const rs_path_wanted *wanted, rs_error *err)
{
    RS_SCOPED(rs_path_part_clear) rs_path_part part = {0};
    const rs_sync_edges *sync = NULL;
    rs_status status = RS_OK;
    if (!m->peer) {
        status = rs_trace_sync(m->trace, &sync, err);
        m->a->n_untold = status == RS_OK ? (size_t)sync->n_untold : 0;
    }
    if (status == RS_OK) status = find_part(m, window, default_window, sync, &part, err);
    if (status == RS_OK && part.graph) {
        m->g = part.graph;
        m->a->start = part.start;
        m->a->end = part.end;
        m->a->n_contradicted = part.n_contradicted;
        m->a->n_nodes = part.graph->n_nodes;
        m->a->n_path = part.graph->n_path;
        m->a->weight = part.graph->path_weight;
        bool ok = fill_edges(m, wanted);
        if (ok && wanted->nodes) ok = fill_nodes(m);
        if (ok && wanted->syncs) ok = m->peer ? fill_peer_syncs(m) : fill_own_syncs(m, sync);
        if (!ok) status = rs_fail_nomem(err, "critical path");
    }
    return status;
}

rs_status rs_path_answer_create(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                                bool default_window, const rs_path_wanted *wanted, const rs_path_peer *peer,
                                rs_path_answer **out, rs_error *err)
{
    rs_path_answer *a = rs_calloc(1, sizeof *a);
    maker m = {.trace = trace,
               .e = trace->events,
               .policy = policy,
               .a = a,
               .data_load = window->data_load,
               .peer = peer};
    m.copied = rs_calloc(m.e->strings.n + 1, sizeof *m.copied);
    int64_t last;
    rs_status status = RS_OK;
    if (!a || !m.copied || !rs_strings_init(&a->strings)) status = rs_fail_nomem(err, "critical path");
    if (status == RS_OK) status = rs_trace_span(trace, &a->base, &last, err);
    if (status == RS_OK) status = rs_trace_classes(trace, policy->classes, &m.classes, err);
    if (status == RS_OK) status = rs_trace_data_loader(trace, &m.loads, err);
    if (status == RS_OK) a->absent = a->base == RS_NO_TIME;
    if (status == RS_OK && peer) status = peer->base(trace, policy, &a->base, err);
    if (status == RS_OK) status = fill(&m, window, default_window, wanted, err);
    rs_free(m.copied);
    if (status != RS_OK) {
        rs_path_answer_free(a);
        return status;
    }
    *out = a;
    return RS_OK;
}
