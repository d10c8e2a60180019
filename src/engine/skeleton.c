/* What a skeleton holds, how it is given back and how it travels. */
#include "engine/skeleton.h"

#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/structure.h"

const char *const rs_part_names[RS_N_PARTS] = {"computation",        "transfer",    "copy",   "launch",
                                               "stream_gap",         "sync",        "host",   "loader",
                                               "host_communication", "unexplained", "pinned", "window"};

void rs_skeleton_free(void *skeleton)
{
    rs_skeleton *s = skeleton;
    if (!s || atomic_fetch_sub(&s->shared, 1) > 0) return;
    rs_free_all(s->since, s->block, s->far, s->duration, s->labels, s->longs, s->tie, s->ties, s->phase,
                s->layer, s->lanes, s->steps, s->doing);
    rs_packed *const columns[] = {&s->label, &s->row, &s->step, &s->first, &s->source, &s->base};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) rs_packed_clear(columns[i]);
    rs_coll_rank_free(s->comm);
    rs_free_all(s->comm_node, s->share, s->shares);
    rs_pool_clear(&s->pool);
    rs_free(s);
}

/* ---- shares -------------------------------------------------------------------------------------------- */

static rs_status make_skeleton(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    rs_skeleton *s;
    RS_TRY(rs_skeleton_of(trace, key, &s, err));
    *out = s;
    return RS_OK;
}

const rs_facet rs_facet_skeleton = {
    .name = "event graph",
    .columns = RS_SKELETON_COLUMNS,
    .needs = {&rs_facet_work_details, &rs_facet_steps, &rs_facet_host_gaps, &rs_facet_measures},
    .key_size = sizeof(rs_policy),
    .same = rs_policy_same,
    .selected = true,
    .make = make_skeleton,
    .release = rs_skeleton_free};

rs_status rs_trace_skeleton(rs_trace *trace, const rs_policy *policy, rs_skeleton **out, rs_error *err)
{
    void *value;
    *out = NULL;
    RS_TRY(rs_trace_facet(trace, &rs_facet_skeleton, policy, &value, err));
    *out = value;
    if (*out) atomic_fetch_add(&(*out)->shared, 1);
    return RS_OK;
}

uint32_t rs_skeleton_launch_edge(const rs_skeleton *s, uint32_t work)
{
    RS_EDGES_INTO(s, work, k)
        if (rs_edge_cost(s, k) < RS_COST_STREAM && rs_edge_source(s, k) >> 1 &&
            !rs_skeleton_is_work(s, rs_edge_source(s, k) >> 1))
            return k;
    return UINT32_MAX;
}

void rs_skeleton_mark_launches(const rs_skeleton *s, uint8_t *launches)
{
    for (uint32_t i = 1; i < s->n; i++) {
        if (!rs_skeleton_is_work(s, i)) continue;
        RS_EDGES_INTO(s, i, k)
            if (rs_edge_cost(s, k) < RS_COST_STREAM) launches[rs_edge_source(s, k) >> 1] = 1;
    }
}

/* ---- size ---------------------------------------------------------------------------------------------- */

#define NODE_BYTES (2 * sizeof(uint32_t)) /* of what is not packed */

uint64_t rs_skeleton_bytes(const rs_skeleton *s)
{
    const rs_packed *const columns[] = {&s->label, &s->row, &s->step, &s->first, &s->source, &s->base};
    uint64_t packed = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) packed += rs_packed_size(columns[i]);
    return sizeof *s + packed + s->n * NODE_BYTES + s->n_edges * sizeof *s->tie +
           s->n_placed * (sizeof *s->phase + sizeof *s->layer) + s->n_shared * sizeof *s->share +
           s->n_shares * sizeof *s->shares + s->n_lanes * sizeof *s->lanes + s->n_labels * sizeof *s->labels +
           s->n_ties * sizeof *s->ties + (s->n_longs + s->n_far) * sizeof *s->longs +
           s->n_blocks * sizeof *s->block + s->n_steps * sizeof *s->steps +
           s->n_comm * (sizeof(rs_coll_op) + sizeof *s->comm_node) +
           s->comm->n_shapes * sizeof(rs_coll_shape);
}

/* ---- what 32 bits do not hold -------------------------------------------------------------------------- */

int64_t rs_skeleton_long_of(const rs_skeleton_long *items, size_t n, size_t node)
{
    size_t low;
    RS_SEARCH(low, n, items[low].node < node);
    return low < n && items[low].node == node ? items[low].ns : RS_SKELETON_LONG;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static bool check_labels(const rs_skeleton *s)
{
    for (size_t i = 0; i < s->n_labels; i++) {
        const rs_skeleton_label *l = &s->labels[i];
        if (l->part >= RS_N_PARTS || l->lane >= s->n_lanes) return false;
        if (l->name != RS_NO_STRING && l->name >= s->pool.strings.n) return false;
        if (l->operator_name != RS_NO_STRING && l->operator_name >= s->pool.strings.n) return false;
    }
    for (size_t i = 0; i < s->n_longs; i++) {
        const rs_skeleton_long *l = &s->longs[i];
        if (l->node >= s->n || s->duration[l->node] != RS_SKELETON_LONG) return false;
        if (l->ns < RS_SKELETON_LONG || l->ns > INT64_MAX / 4) return false;
        if (i && l->node <= s->longs[i - 1].node) return false;
    }
    for (size_t i = 0; i < s->n_far; i++) {
        if (s->far[i].node >= s->n || s->since[s->far[i].node] != RS_SKELETON_LONG) return false;
        if (i && s->far[i].node <= s->far[i - 1].node) return false;
    }
    if (s->n_blocks != (s->n >> RS_SKELETON_BLOCK) + 1) return false;
    for (size_t i = 0; i < s->n_blocks; i++)
        if (s->block[i] > INT64_MAX / 4 || s->block[i] < INT64_MIN / 2) return false;
    for (size_t i = 0; i < s->n_ties; i++)
        if (s->ties[i].part >= RS_N_PARTS || s->ties[i].cost > RS_COST_NONE ||
            s->ties[i].origin >= RS_N_ORIGINS)
            return false;
    return true;
}

/* Edges lead forward, so that a replay in order of the nodes needs no search for circles; every node but the
 * first has one. */
static bool check(const void *value)
{
    const rs_skeleton *s = value;
    if (s->n == 0 || s->n >= UINT32_MAX / 2 || s->n_edges >= UINT32_MAX) return false;
    /* before anything is read from a packed column */
    if (!rs_packed_holds(&s->label, s->n) || !rs_packed_holds(&s->row, s->n) ||
        !rs_packed_holds(&s->step, s->n) || !rs_packed_holds(&s->first, s->n + 1) ||
        !rs_packed_holds(&s->source, s->n_edges) || !rs_packed_holds(&s->base, s->n_edges))
        return false;
    if (!check_labels(s)) return false;
    if (rs_skeleton_first(s, 0) != 0 || rs_skeleton_first(s, 1) != 0 ||
        rs_skeleton_first(s, s->n) != s->n_edges)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        int64_t time = rs_skeleton_time(s, i);
        bool far = time > INT64_MAX / 4 || time < INT64_MIN / 4;
        if (far || rs_packed_at(&s->label, i) >= s->n_labels) return false;
        if (rs_skeleton_step_of(s, i) < -1 ||
            (rs_skeleton_step_of(s, i) >= 0 && (size_t)rs_skeleton_step_of(s, i) >= s->n_steps))
            return false;
        if (i && rs_skeleton_first(s, i + 1) <= rs_skeleton_first(s, i)) return false;
        if (i)
            RS_EDGES_INTO(s, i, k)
                if (k >= s->n_edges || rs_edge_source(s, k) >> 1 >= i || s->tie[k] >= s->n_ties) return false;
    }
    if (s->n_placed && s->n_placed != s->n) return false;
    for (size_t i = 0; i < s->n_placed; i++)
        if (s->phase[i] >= RS_N_PHASES) return false;
    if (s->n_shared && s->n_shared != s->n) return false;
    for (size_t i = 0; i < s->n_shared; i++)
        if (s->share[i] >= s->n_shares) return false;
    for (size_t i = 0; i < s->n_shares; i++)
        if (s->shares[i].m < 0 || s->shares[i].n < 0 || s->shares[i].k < 0) return false;
    for (size_t k = 0; k < s->n_steps; k++) {
        const rs_skeleton_step *t = &s->steps[k];
        if (t->mark >= s->n || t->last >= s->n) return false;
        if (t->after > INT64_MAX / 4 || t->after < INT64_MIN / 4 || t->tail > INT64_MAX / 4 ||
            t->tail < INT64_MIN / 4)
            return false;
    }
    if (s->n_comm != s->comm->n || s->last >> 1 >= s->n) return false;
    for (size_t k = 0; k < s->n_comm; k++)
        if (s->comm_node[k] != RS_NO_NODE &&
            (s->comm_node[k] >= s->n || !rs_skeleton_is_work(s, s->comm_node[k])))
            return false;
    return true;
}

static const rs_field lane_fields[] = {RS_FIELD(rs_skeleton_lane, device), RS_FIELD(rs_skeleton_lane, stream),
                                       RS_FIELD(rs_skeleton_lane, pid), RS_FIELD(rs_skeleton_lane, tid),
                                       RS_FIELD(rs_skeleton_lane, is_thread)};
static const rs_layout lane_layout = RS_LAYOUT(rs_skeleton_lane, lane_fields);

static const rs_field label_fields[] = {
    RS_FIELD(rs_skeleton_label, name), RS_FIELD(rs_skeleton_label, operator_name),
    RS_FIELD(rs_skeleton_label, lane), RS_FIELD(rs_skeleton_label, part), RS_FIELD(rs_skeleton_label, flags)};
static const rs_layout label_layout = RS_LAYOUT(rs_skeleton_label, label_fields);

static const rs_field tie_fields[] = {RS_FIELD(rs_skeleton_tie, part), RS_FIELD(rs_skeleton_tie, cost),
                                      RS_FIELD(rs_skeleton_tie, origin)};
static const rs_layout tie_layout = RS_LAYOUT(rs_skeleton_tie, tie_fields);

static const rs_field long_fields[] = {RS_FIELD(rs_skeleton_long, node), RS_FIELD(rs_skeleton_long, ns)};
static const rs_layout long_layout = RS_LAYOUT(rs_skeleton_long, long_fields);

static const rs_field step_fields[] = {RS_FIELD(rs_skeleton_step, number), RS_FIELD(rs_skeleton_step, start),
                                       RS_FIELD(rs_skeleton_step, end),    RS_FIELD(rs_skeleton_step, mark),
                                       RS_FIELD(rs_skeleton_step, after),  RS_FIELD(rs_skeleton_step, last),
                                       RS_FIELD(rs_skeleton_step, tail)};
static const rs_layout step_layout = RS_LAYOUT(rs_skeleton_step, step_fields);

static const rs_field cost_fields[] = {RS_FIELD_ARRAY(rs_skeleton_costs, least),
                                       RS_FIELD_ARRAY(rs_skeleton_costs, typical)};
static const rs_layout cost_layout = RS_LAYOUT(rs_skeleton_costs, cost_fields);

static const rs_field share_fields[] = {
    RS_FIELD(rs_skeleton_share, m), RS_FIELD(rs_skeleton_share, n), RS_FIELD(rs_skeleton_share, k),
    RS_FIELD_BELOW(rs_skeleton_share, how, RS_N_SHARES), RS_FIELD_BELOW(rs_skeleton_share, over, 3)};
static const rs_layout share_layout = RS_LAYOUT(rs_skeleton_share, share_fields);

static const rs_field doing_fields[] = {
    RS_FIELD_INDEX_OR_NONE(rs_skeleton_doing, name, rs_skeleton, pool.strings.n),
    RS_FIELD_BELOW(rs_skeleton_doing, what, RS_N_DOING), RS_FIELD(rs_skeleton_doing, ns),
    RS_FIELD(rs_skeleton_doing, n)};
static const rs_layout doing_layout = RS_LAYOUT(rs_skeleton_doing, doing_fields);

static const rs_field fields[] = {
    RS_FIELDS(rs_skeleton, start, end, last),
    RS_FIELD_STRINGS(rs_skeleton, pool.strings),
    RS_FIELD_VALUES(rs_skeleton, since, n),
    RS_FIELD_VALUES(rs_skeleton, block, n_blocks),
    RS_FIELD_ROW(rs_skeleton, duration, rs_skeleton, n),
    RS_FIELD_STRUCT(rs_skeleton, label, &rs_packed_layout),
    RS_FIELD_STRUCT(rs_skeleton, row, &rs_packed_layout),
    RS_FIELD_STRUCT(rs_skeleton, step, &rs_packed_layout),
    RS_FIELD_STRUCT(rs_skeleton, first, &rs_packed_layout),
    RS_FIELD_STRUCT(rs_skeleton, source, &rs_packed_layout),
    RS_FIELD_STRUCT(rs_skeleton, base, &rs_packed_layout),
    RS_FIELD_VALUES(rs_skeleton, tie, n_edges),
    RS_FIELD_LIST(rs_skeleton, ties, n_ties, &tie_layout),
    RS_FIELD_VALUES(rs_skeleton, phase, n_placed),
    RS_FIELD_ROW(rs_skeleton, layer, rs_skeleton, n_placed),
    RS_FIELD_LIST(rs_skeleton, shares, n_shares, &share_layout),
    RS_FIELD_VALUES(rs_skeleton, share, n_shared),
    RS_FIELD(rs_skeleton, memory),
    RS_FIELD_LIST(rs_skeleton, labels, n_labels, &label_layout),
    RS_FIELD_LIST(rs_skeleton, longs, n_longs, &long_layout),
    RS_FIELD_LIST(rs_skeleton, far, n_far, &long_layout),
    RS_FIELD_LIST(rs_skeleton, lanes, n_lanes, &lane_layout),
    RS_FIELD_LIST(rs_skeleton, steps, n_steps, &step_layout),
    RS_FIELD_ONE(rs_skeleton, comm, &rs_coll_rank_layout),
    RS_FIELD_VALUES(rs_skeleton, comm_node, n_comm),
    RS_FIELD_STRUCT(rs_skeleton, all, &cost_layout),
    RS_FIELD_STRUCTS(rs_skeleton, without, &cost_layout),
    RS_FIELDS(rs_skeleton, told_gap, launching, elsewhere, loading, n_samples, clock_mhz, power_w,
              power_limit_w),
    RS_FIELD_LIST(rs_skeleton, doing, n_doing, &doing_layout),
    RS_FIELDS(rs_skeleton, n_events, n_contradicted, n_untold, strict),
};
const rs_layout rs_skeleton_layout = RS_LAYOUT_CHECKED(rs_skeleton, fields, check);
