/* When steps begin and are over, in any replay.
 *
 * A step lasts from the end of the one before it. The first has none before it in the traces: it begins with its
 * annotation, or where the GPU is still at work that was launched before the recording began or before that
 * annotation, when this work is over. Else the first step would be longer by what others launched. */

#include "base/interval.h"
#include "base/memory.h"
#include "engine/engine.h"

/* The first start of the first step's work on each stream; INT64_MAX: it has none there. kind: of the rank's nodes. */
static void first_starts(const rs_skeleton *s, const uint8_t *kind, int64_t *starts)
{
    rs_packed_reader steps = {.of = &s->step};
    for (size_t i = 0; i < s->n_lanes; i++) starts[i] = INT64_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!(kind[i] & RS_ENGINE_WORK) || rs_packed_read(&steps, i) != 1) continue;
        int64_t *start = &starts[rs_skeleton_at(s, i)->lane];
        if (rs_skeleton_time(s, i) < *start) *start = rs_skeleton_time(s, i);
    }
}

/* Of each stream the work of no step ahead of the first step's that ends last. */
static void last_before(const rs_skeleton *s, const uint8_t *kind, const int64_t *starts, uint32_t *last)
{
    rs_packed_reader steps = {.of = &s->step};
    for (size_t i = 0; i < s->n_lanes; i++) last[i] = RS_NO_NODE;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!(kind[i] & RS_ENGINE_WORK) || rs_packed_read(&steps, i)) continue;
        uint16_t lane = rs_skeleton_at(s, i)->lane;
        if (rs_skeleton_time(s, i) >= starts[lane] || starts[lane] == INT64_MAX) continue;
        if (last[lane] == RS_NO_NODE || rs_skeleton_end(s, i) > rs_skeleton_end(s, last[lane]))
            last[lane] = i;
    }
}

rs_status rs_engine_find_ahead(rs_engine *e, rs_error *err)
{
    size_t most = 0, n = 0;
    for (size_t r = 0; r < e->n_ranks; r++) {
        n += e->ranks[r]->n_lanes;
        if (e->ranks[r]->n_lanes > most) most = e->ranks[r]->n_lanes;
    }
    RS_LOCAL int64_t *starts = rs_malloc((most + 1) * sizeof *starts);
    RS_LOCAL uint32_t *last = rs_malloc((most + 1) * sizeof *last);
    e->ahead = rs_malloc((n + 1) * sizeof *e->ahead);
    e->ahead_base = rs_calloc(e->n_ranks + 1, sizeof *e->ahead_base);
    bool ok = starts && last && e->ahead && e->ahead_base;
    for (size_t r = 0; ok && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        uint32_t at = e->ahead_base[r];
        if (s->n_steps) {
            const uint8_t *kind = e->kind + e->node_base[r];
            first_starts(s, kind, starts);
            last_before(s, kind, starts, last);
            for (size_t i = 0; i < s->n_lanes; i++)
                if (last[i] != RS_NO_NODE) e->ahead[at++] = e->node_base[r] + last[i];
        }
        e->ahead_base[r + 1] = at;
    }
    return ok ? RS_OK : rs_fail_nomem(err, "engine");
}

int64_t rs_engine_first_mark(const rs_engine *e, const rs_times *t, size_t rank)
{
    const rs_skeleton *s = e->ranks[rank];
    if (!s->n_steps) return rs_times_start(t, e->node_base[rank]);
    return rs_add_sat(rs_times_end(t, e->node_base[rank] + s->steps[0].mark), s->steps[0].after);
}

int64_t rs_engine_begin(const rs_engine *e, const rs_times *t, size_t rank, uint32_t *moment)
{
    int64_t begin = rs_engine_first_mark(e, t, rank);
    if (moment) *moment = RS_NO_CAUSE;
    for (uint32_t i = e->ahead_base[rank]; i < e->ahead_base[rank + 1]; i++) {
        int64_t end = rs_times_end(t, e->ahead[i]);
        if (end <= begin) continue;
        begin = end;
        if (moment) *moment = e->ahead[i] << 1 | 1;
    }
    return begin;
}

void rs_engine_step_ends(const rs_engine *e, const rs_times *t, int64_t *ends)
{
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        rs_packed_reader steps = {.of = &s->step};
        uint32_t base = e->node_base[r];
        int64_t *end = ends + e->step_base[r];
        for (size_t k = 0; k < s->n_steps; k++)
            end[k] = rs_add_sat(rs_times_end(t, base + s->steps[k].last), s->steps[k].tail);
        for (uint32_t i = 0; i < s->n; i++) {
            const int32_t step =
                e->kind[base + i] & RS_ENGINE_WORK ? (int32_t)rs_packed_read(&steps, i) - 1 : -1;
            const int64_t over = step < 0 ? INT64_MIN : rs_times_end_of(e, t, r, i);
            if (step >= 0 && over > end[step]) end[step] = over;
        }
        int64_t before = s->n_steps ? rs_engine_begin(e, t, r, NULL) : 0;
        for (size_t k = 0; k < s->n_steps; before = end[k++])
            if (end[k] < before) end[k] = before;
    }
}

uint32_t rs_engine_step_moment(const rs_engine *e, const rs_times *t, size_t rank, size_t place,
                               int64_t *tail)
{
    const rs_skeleton *s = e->ranks[rank];
    const uint32_t base = e->node_base[rank];
    uint32_t moment = (base + s->steps[place].last) << 1 | 1;
    int64_t end = rs_add_sat(rs_moment_time(t, moment), s->steps[place].tail);
    *tail = s->steps[place].tail;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!(e->kind[base + i] & RS_ENGINE_WORK) || rs_skeleton_step_of(s, i) != (int64_t)place ||
            rs_times_end_of(e, t, rank, i) <= end)
            continue;
        moment = (base + i) << 1 | 1;
        end = rs_times_end_of(e, t, rank, i);
        *tail = 0;
    }
    return moment;
}

uint32_t rs_engine_last_moment(const rs_engine *e, size_t rank)
{
    const uint32_t last = e->ranks[rank]->last;
    return (e->node_base[rank] + (last >> 1)) << 1 | (last & 1);
}
