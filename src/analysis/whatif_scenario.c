/* Scenarios over the graph of a job: what it takes with a part of it mended, left as it was, or scaled; and what such
 * answers are worth. docs/whatif.md has the definitions. */
#include <math.h>
#include <string.h>

#include "analysis/whatif_trace.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "base/try.h"

const char *const rs_scenario_kinds[RS_N_SCENARIO_KINDS] = {"compute", "communication", "memory", "host"};

/* ---- replay ---------------------------------------------------------------------------------------------- */

/* From the first start to the last end of all ranks. */
static double measure_whole(const rs_engine *e, const rs_times *t)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        uint32_t moment = (e->node_base[r] + (s->last >> 1)) << 1 | (s->last & 1);
        int64_t tail = rs_sub_sat(s->end, rs_skeleton_source_time(s, s->last));
        int64_t end = rs_add_sat(rs_moment_time(t, moment), tail), start = t->start[e->node_base[r]];
        if (start < first) first = start;
        if (end > last) last = end;
    }
    return (double)rs_sub_sat(last, first);
}

/* Lengths of the steps, from the last end of all ranks to the next, as replay measures them too, and their sum. Of traces
 * without steps the length of the recording. */
static double measure(rs_whatif_job *a, const rs_times *t)
{
    const rs_engine *e = &a->e;
    int64_t first = INT64_MAX;
    if (!a->n_steps) return measure_whole(e, t);
    for (size_t r = 0; r < e->n_ranks; r++) {
        int64_t begin = e->ranks[r]->n_steps ? rs_engine_begin(e, t, r, NULL) : INT64_MAX;
        if (begin < first) first = begin;
    }
    rs_engine_step_ends(e, t, a->ends);
    int64_t before = first;
    for (size_t k = 0; k < a->n_steps; k++) {
        int64_t end = INT64_MIN;
        for (size_t r = 0; r < e->n_ranks; r++)
            if (k < e->ranks[r]->n_steps && a->ends[e->step_base[r] + k] > end)
                end = a->ends[e->step_base[r] + k];
        a->steps[k] = (double)rs_sub_sat(end, before);
        before = end;
    }
    return (double)rs_sub_sat(before, first);
}

rs_status rs_scenario_replay(rs_whatif_job *a, const rs_weights *w, double *length, rs_error *err)
{
    rs_times times;
    RS_TRY(rs_engine_replay(&a->e, w, &times, err));
    *length = measure(a, &times);
    rs_times_clear(&times);
    return RS_OK;
}

static int kind_of(const rs_skeleton *s, uint32_t node)
{
    if (!rs_skeleton_is_work(s, node)) return RS_SCENARIO_HOST;
    return rs_skeleton_at(s, node)->part == RS_PART_COPY       ? RS_SCENARIO_MEMORY
           : rs_skeleton_at(s, node)->part == RS_PART_TRANSFER ? RS_SCENARIO_COMMUNICATION
                                                               : RS_SCENARIO_COMPUTE;
}

static bool has_rank(const rs_whatif_job *a, const rs_scenario *u, size_t r)
{
    return (u->rank < 0 || (size_t)u->rank == r) && (u->role < 0 || (uint32_t)u->role == a->ref.role[r]) &&
           (!u->host || (a->hosts[r] && strcmp(a->hosts[r], u->host) == 0)) && (!u->ranks || u->ranks[r]);
}

/* Changes what belongs to a unit in `to` to what `from` has, times a factor. */
static void put_unit(const rs_whatif_job *a, const rs_scenario *u, const rs_weights *from, double factor,
                     rs_weights *to)
{
    const rs_engine *e = &a->e;
    bool links = u->links || u->kind == RS_SCENARIO_COMMUNICATION ||
                 (u->kind < 0 && u->rank < 0 && u->role < 0 && !u->host && !u->ranks);
    for (size_t k = 0; links && k < e->n_meetings; k++) {
        const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
        const rs_coll_arrival *first = &e->coll.arrivals[c->first];
        bool in = (u->group < 0 || a->ref.group[k] == (uint32_t)u->group) &&
                  (u->step < 0 || rs_coll_op_at(&e->coll, first)->step == a->step_numbers[u->step]);
        if (in)
            to->transfer[k] = factor == 1 ? from->transfer[k] : rs_int_of(factor * (double)from->transfer[k]);
    }
    if (u->links || u->kind == RS_SCENARIO_COMMUNICATION) return;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        if (!has_rank(a, u, r)) continue;
        uint32_t base = e->node_base[r], edges = e->edge_base[r];
        for (uint32_t i = 1; i < s->n; i++) {
            bool work = rs_skeleton_is_work(s, i);
            if ((u->step >= 0 && rs_skeleton_step_of(s, i) != u->step) ||
                (u->kind >= 0 && kind_of(s, i) != u->kind))
                continue;
            if (work && !(e->kind[base + i] & RS_ENGINE_COMES)) {
                to->work[base + i] =
                    factor == 1 ? from->work[base + i] : rs_int_of(factor * (double)from->work[base + i]);
            } else if (!work) {
                uint32_t k = edges + rs_skeleton_first(s, i);
                bool scaled = factor != 1 && from->edge[k] > 0;
                bool host = rs_edge_part(s, rs_skeleton_first(s, i)) == RS_PART_HOST ||
                            rs_edge_part(s, rs_skeleton_first(s, i)) == RS_PART_LOADER;
                if (rs_skeleton_first(s, i) < rs_skeleton_first(s, i + 1) && host)
                    to->edge[k] = scaled ? rs_int_of(factor * (double)from->edge[k]) : from->edge[k];
            }
        }
    }
}

/* Puts everything of `from` into the working weights. */
static void begin(rs_whatif_job *a, const rs_weights *from)
{
    const rs_engine *e = &a->e;
    memcpy(a->work.work, from->work, e->n_nodes * sizeof *from->work);
    memcpy(a->work.edge, from->edge, e->n_edges * sizeof *from->edge);
    memcpy(a->work.transfer, from->transfer, e->n_meetings * sizeof *from->transfer);
}

/* T with the unit mended. Ranks are mended to what the others take. */
rs_status rs_scenario_mend(rs_whatif_job *a, const rs_scenario *u, double *t, rs_error *err)
{
    begin(a, &a->recorded);
    put_unit(a, u, u->rank >= 0 ? &a->ref.peers : &a->ref.repair, 1, &a->work);
    return rs_scenario_replay(a, &a->work, t, err);
}

/* T with all mended but the unit. */
rs_status rs_scenario_leave(rs_whatif_job *a, const rs_scenario *u, double *t, rs_error *err)
{
    begin(a, &a->ref.repair);
    put_unit(a, u, &a->recorded, 1, &a->work);
    return rs_scenario_replay(a, &a->work, t, err);
}

rs_status rs_scenario_scale(rs_whatif_job *a, const rs_scenario *u, double factor, double *length,
                            rs_error *err)
{
    begin(a, &a->recorded);
    put_unit(a, u, &a->recorded, factor, &a->work);
    return rs_scenario_replay(a, &a->work, length, err);
}

double rs_scenario_per_step(const rs_whatif_job *a, double length)
{
    return length / (double)(a->n_steps ? a->n_steps : 1) / 1000; /* us */
}

/* ---- doubt ----------------------------------------------------------------------------------------------- */

/* Each step replayed with the next one's times must last as long as that one did. NaN: too few steps. */
rs_status rs_scenario_transplant(rs_whatif_job *a, double *median, double *worst, rs_error *err)
{
    double length;
    *median = *worst = (double)NAN;
    if (a->n_steps < 4) return RS_OK;
    RS_LOCAL double *was = rs_malloc(a->n_steps * sizeof *was);
    if (!was) return rs_fail_nomem(err, "what-if");
    rs_status status = rs_scenario_replay(a, &a->recorded, &length, err);
    memcpy(was, a->steps, a->n_steps * sizeof *was);
    if (status == RS_OK) status = rs_scenario_replay(a, &a->ref.next, &length, err);
    size_t n = 0;
    for (size_t k = 1; status == RS_OK && k + 2 < a->n_steps; k++)
        if (was[k + 1] > 0) was[n++] = fabs(a->steps[k] / was[k + 1] - 1);
    if (status == RS_OK && n) {
        rs_sort_doubles(was, n);
        *median = rs_quantile(was, n, 0.5);
        *worst = was[n - 1];
    }
    return status;
}

/* The share of the path behind the job's end that no known cause explains. */
rs_status rs_scenario_unexplained(rs_whatif_job *a, double *share, rs_error *err)
{
    const rs_engine *e = &a->e;
    rs_times t;
    uint32_t at = RS_NO_CAUSE;
    int64_t latest = INT64_MIN, sum = 0;
    RS_TRY(rs_engine_replay(e, &a->recorded, &t, err));
    for (size_t r = 0; r < e->n_ranks; r++) {
        const uint32_t moment = rs_engine_last_moment(e, r);
        if (rs_moment_time(&t, moment) <= latest) continue;
        latest = rs_moment_time(&t, moment);
        at = moment;
    }
    while (at != RS_NO_CAUSE) {
        rs_link l = rs_engine_link(e, &a->recorded, &t, at);
        sum = rs_add_sat(sum, l.unexplained);
        at = l.from;
    }
    double whole = measure_whole(e, &t);
    rs_times_clear(&t);
    *share = whole > 0 ? (double)sum / whole : (double)NAN;
    return RS_OK;
}

/* As recorded, on the aligned clock. */
rs_status rs_scenario_observe(rs_whatif_job *a, rs_error *err)
{
    const rs_engine *e = &a->e;
    RS_SCOPED(rs_times_clear)
    rs_times t = {.start = rs_malloc((e->n_nodes + 1) * sizeof *t.start),
                  .end = rs_malloc((e->n_nodes + 1) * sizeof *t.end)};
    bool ok = t.start && t.end;
    for (size_t r = 0; ok && r < e->n_ranks; r++)
        for (uint32_t i = 0; i < e->ranks[r]->n; i++) {
            int64_t start = rs_engine_recorded(e, r, i);
            t.start[e->node_base[r] + i] = start;
            t.end[e->node_base[r] + i] = rs_add_sat(start, rs_skeleton_duration(e->ranks[r], i));
        }
    if (ok) a->observed = measure(a, &t);
    return ok ? RS_OK : rs_fail_nomem(err, "what-if");
}
