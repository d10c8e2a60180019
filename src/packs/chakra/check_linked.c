/* Conservation: nothing of the linked trace may be lost on the way, no node, no time, no byte. */
#include <string.h>

#include "base/interval.h"
#include "chakra/check_internal.h"

static bool ends_with(rs_slice s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.bytes + s.n - n, end, n) == 0;
}

/* Simulators do without the roots. */
static bool may_be_missing(const rs_linked_node *n)
{
    return ends_with(n->name, "|process]\"") || ends_with(n->name, "|thread]\"");
}

/* Within a microsecond, without overflow for any value. */
static bool agrees(uint64_t micros, int64_t ns)
{
    uint64_t want = ns > 0 ? (uint64_t)ns / 1000 : 0;
    bool whole = ns <= 0 || ns % 1000 == 0;
    return micros == want || (!whole && micros == want + 1);
}

/* graph: with the times that a conversion gives the nodes; without them durations are exclusive times. */
static rs_status compare_times(rs_check *c, const rs_convert_graph *graph, const rs_linked_node *l,
                               size_t index, const rs_check_node *n, rs_error *err)
{
    rs_status status = RS_OK;
    bool good = (graph->recorded ? n->micros_duration == graph->times.micros[index]
                                 : agrees(n->micros_duration, l->exclusive)) &&
                (!l->timed || !n->exact || n->duration == l->exclusive);
    if (!good) status = rs_check_fault(c, RS_FAULT_DURATION, n->id, 0, err);
    good = l->timed ? agrees(n->micros_start, l->ts) && (!n->exact || n->start == l->ts)
                    : !n->micros_start && !n->exact;
    if (status == RS_OK && !good) status = rs_check_fault(c, RS_FAULT_START, n->id, 0, err);
    return status;
}

/* Whether it is communication depends on the groups and the target, how much on neither. */
static rs_status compare_host_bytes(rs_check *c, const rs_linked *linked, const rs_linked_node *l,
                                    const rs_check_node *n, rs_arena *arena, rs_error *err)
{
    rs_comm comm;
    if (!rs_comm_is_of_host(linked, l)) return RS_OK;
    rs_arena_clear(arena);
    if (!rs_comm_of_host(linked, l, NULL, arena, &comm)) return rs_fail_nomem(err, "collectives");
    if (!n || n->type < RS__ET__NODE_TYPE__COMM_SEND_NODE) return RS_OK;
    if (comm.has_size) c->linked_bytes = rs_add_sat(c->linked_bytes, comm.size);
    bool same =
        n->type == comm.node_type && n->has_size == comm.has_size && (!comm.has_size || n->size == comm.size);
    return same ? RS_OK : rs_check_fault(c, RS_FAULT_BYTES, n->id, 0, err);
}

static rs_status compare_bytes(rs_check *c, const rs_linked *linked, const rs_linked_node *l,
                               const rs_check_node *n, rs_arena *arena, rs_error *err)
{
    rs_comm comm;
    if (!l->gpu) return compare_host_bytes(c, linked, l, n, arena, err);
    rs_arena_clear(arena);
    if (!rs_comm_of(linked, l, arena, &comm)) return rs_fail_nomem(err, "collectives");
    comm.has_peers = !n || n->type == comm.node_type; /* only the converter knows */
    rs_comm_for_target(c->for_astra ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY, &comm);
    if (comm.has_size) c->linked_bytes = rs_add_sat(c->linked_bytes, comm.size);
    if (!n) return RS_OK;
    bool is_comm = n->type >= RS__ET__NODE_TYPE__COMM_SEND_NODE;
    bool same = is_comm == (comm.node_type != 0) && (!is_comm || n->type == comm.node_type) &&
                (!comm.has_size || (n->has_size && n->size == comm.size));
    return same ? RS_OK : rs_check_fault(c, RS_FAULT_BYTES, n->id, 0, err);
}

/* Time between operators is conserved, too: its nodes are those that a conversion makes. */
static rs_status compare_gaps(rs_check *c, const rs_linked *linked, const rs_convert_graph *graph,
                              rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t k = 0; k < graph->times.n_gaps && status == RS_OK; k++) {
        const rs_convert_gap *gap = &graph->times.gaps[k];
        uint64_t id = rs_convert_id(linked, (uint32_t)(linked->n_nodes + k));
        uint32_t at = rs_check_find(c, id);
        if (at == RS_LINKED_NONE)
            status = rs_check_fault(c, RS_FAULT_LOST_NODE, id, 0, err);
        else if (c->nodes[at].micros_duration != rs_convert_micros(gap->start, gap->end))
            status = rs_check_fault(c, RS_FAULT_DURATION, id, 0, err);
    }
    return status;
}

static rs_status convert_again(const rs_check *c, const rs_linked *linked, rs_convert_graph *graph,
                               rs_error *err)
{
    rs_chakra_convert_report report = {0};
    *graph = (rs_convert_graph){0};
    if (!c->as_recorded) return RS_OK;
    rs_status status = rs_convert_graph_make(linked, RS_CHAKRA_TIMING_RECORDED, graph, &report, err);
    rs_chakra_convert_report_clear(&report);
    return status;
}

rs_status rs_check_conservation(rs_check *c, uint64_t max_ratio, rs_error *err)
{
    rs_linked linked;
    rs_arena arena = {0};
    rs_convert_graph graph;
    rs_status status = rs_linked_open(c->linked, max_ratio, &linked, err);
    if (status != RS_OK) return status;
    status = convert_again(c, &linked, &graph, err);
    if (status != RS_OK) {
        rs_linked_clear(&linked);
        return status;
    }
    c->linked_nodes = linked.n_nodes;
    for (size_t i = 0; i < linked.n_nodes && status == RS_OK; i++) {
        const rs_linked_node *l = &linked.nodes[i];
        uint32_t at = rs_check_find(c, (uint64_t)l->id);
        const rs_check_node *n = at == RS_LINKED_NONE ? NULL : &c->nodes[at];
        c->linked_time = rs_add_sat(c->linked_time, l->exclusive);
        if (!n && !may_be_missing(l)) status = rs_check_fault(c, RS_FAULT_LOST_NODE, (uint64_t)l->id, 0, err);
        if (status == RS_OK && n) status = compare_times(c, &graph, l, i, n, err);
        if (status == RS_OK) status = compare_bytes(c, &linked, l, n, &arena, err);
    }
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++) {
        uint64_t id = c->nodes[i].id;
        if (c->nodes[i].gap && linked.n_nodes && id > (uint64_t)linked.nodes[linked.n_nodes - 1].id &&
            id - (uint64_t)linked.nodes[linked.n_nodes - 1].id <= graph.times.n_gaps)
            continue;
        if (id > INT64_MAX || rs_linked_find(&linked, (int64_t)id) == RS_LINKED_NONE)
            status = rs_check_fault(c, RS_FAULT_NEW_NODE, id, 0, err);
    }
    if (status == RS_OK) status = compare_gaps(c, &linked, &graph, err);
    rs_arena_clear(&arena);
    rs_convert_graph_clear(&graph);
    rs_linked_clear(&linked);
    return status;
}
