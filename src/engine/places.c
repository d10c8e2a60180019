/* Where in the model the nodes of a skeleton stand. */
#include "base/memory.h"
#include "engine/skeleton.h"
#include "trace/structure.h"

static void place_work(rs_skeleton *s, const rs_structure *structure)
{
    for (size_t i = 0; i < s->n; i++) {
        s->phase[i] = RS_PHASE_UNKNOWN;
        s->layer[i] = RS_SKELETON_NO_LAYER;
        size_t at = rs_skeleton_is_work(s, i) ? rs_structure_at(structure, rs_skeleton_row(s, i)) : SIZE_MAX;
        if (at == SIZE_MAX) continue;
        s->phase[i] = structure->phase[at];
        if (structure->layer[at] < RS_SKELETON_NO_LAYER) s->layer[i] = (uint16_t)structure->layer[at];
    }
}

/* Backwards over the nodes: edges lead forward, so that a launched node is met before the call that launched it.
 * launched: by node, the first work that it launches. next: by lane, the first that is launched later. The end of a
 * launching call belongs to what the call launched. */
static void place_points(rs_skeleton *s, uint32_t *launched, uint32_t *next)
{
    for (size_t i = 0; i < s->n; i++) launched[i] = RS_NO_NODE;
    for (size_t i = 0; i < s->n_lanes; i++) next[i] = RS_NO_NODE;
    for (uint32_t i = 1; i < s->n; i++)
        RS_EDGES_INTO(s, i, k)
            if (rs_edge_origin(s, k) == RS_ORIGIN_LAUNCH && launched[rs_edge_source(s, k) >> 1] == RS_NO_NODE)
                launched[rs_edge_source(s, k) >> 1] = i;
    for (uint32_t i = 1; i < s->n; i++) { /* work launches none, and its lanes have no points */
        uint32_t *open = &next[rs_skeleton_at(s, i)->lane];
        if (launched[i] != RS_NO_NODE)
            *open = i;
        else if (*open != RS_NO_NODE && rs_skeleton_row(s, *open) == rs_skeleton_row(s, i))
            launched[i] = launched[*open];
    }
    for (size_t i = 0; i < s->n_lanes; i++) next[i] = RS_NO_NODE;
    for (size_t i = s->n; i-- > 1;) {
        uint32_t *to = &next[rs_skeleton_at(s, i)->lane];
        if (launched[i] != RS_NO_NODE) *to = launched[i];
        if (*to == RS_NO_NODE || rs_skeleton_step_of(s, *to) != rs_skeleton_step_of(s, i)) continue;
        s->phase[i] = s->phase[*to];
        s->layer[i] = s->layer[*to];
    }
}

rs_status rs_skeleton_place(rs_skeleton *s, rs_trace *trace, rs_error *err)
{
    const rs_structure *structure;
    rs_status status = rs_trace_structure(trace, RS_FROM_AUTO, &structure, err);
    if (status != RS_OK) return status;
    RS_LOCAL uint32_t *launched = rs_malloc((s->n + 1) * sizeof *launched),
                      *next = rs_malloc((s->n_lanes + 1) * sizeof *next);
    s->phase = rs_malloc(s->n + 1);
    s->layer = rs_malloc((s->n + 1) * sizeof *s->layer);
    bool ok = launched && next && s->phase && s->layer;
    if (ok) {
        s->n_placed = s->n;
        place_work(s, structure);
        place_points(s, launched, next);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "skeleton");
}
