/* How far a replay can be trusted: its own errors, of each step of each rank. */
#include <math.h>
#include <string.h>

#include "engine/asker.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"

void rs_replayed_clear(rs_replayed *r)
{
    rs_weights_clear(&r->recorded);
    rs_times_clear(&r->times);
    rs_free_all(r->rows, r->row_base);
    *r = (rs_replayed){0};
}

/* When steps are over, of one replay. */
typedef struct ends {
    int64_t *all; /* by step_base */
    int64_t *gpu; /* the last end of work launched in the step; RS_NO_TIME: none */
} ends;

static void clear_ends(ends *e)
{
    rs_free_all(e->all, e->gpu);
    *e = (ends){0};
}

static rs_status find_ends(const rs_engine *e, const rs_times *t, ends *out, rs_error *err)
{
    size_t n = e->step_base[e->n_ranks];
    *out = (ends){.all = rs_malloc((n + 1) * sizeof *out->all), .gpu = rs_malloc((n + 1) * sizeof *out->gpu)};
    if (!out->all || !out->gpu) {
        clear_ends(out);
        return rs_fail_nomem(err, "replay");
    }
    rs_engine_step_ends(e, t, out->all);
    for (size_t i = 0; i < n; i++) out->gpu[i] = RS_NO_TIME;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        rs_packed_reader steps = {.of = &s->step};
        for (uint32_t i = 0; i < s->n; i++) {
            if (!(e->kind[e->node_base[r] + i] & RS_ENGINE_WORK)) continue;
            const int32_t step = (int32_t)rs_packed_read(&steps, i) - 1;
            if (step < 0) continue;
            int64_t *gpu = &out->gpu[e->step_base[r] + (uint32_t)step], end = rs_times_end_of(e, t, r, i);
            if (*gpu == RS_NO_TIME || end > *gpu) *gpu = end;
        }
    }
    return RS_OK;
}

static int64_t last_moment(const rs_engine *e, size_t rank)
{
    uint32_t last = e->ranks[rank]->last;
    return (e->node_base[rank] + (last >> 1)) << 1 | (last & 1);
}

/* Of the whole rank: from its first step, or its start, to the end of its last. */
static int64_t length_of(const rs_engine *e, const rs_times *t, const ends *x, size_t rank)
{
    size_t n = e->ranks[rank]->n_steps;
    int64_t end = n ? x->all[e->step_base[rank] + n - 1] : rs_moment_time(t, (uint32_t)last_moment(e, rank));
    return rs_sub_sat(end, rs_engine_begin(e, t, rank, NULL));
}

static int64_t step_length(const rs_engine *e, const rs_times *t, const ends *x, size_t rank, size_t step)
{
    uint32_t base = e->step_base[rank];
    int64_t begin = step ? x->all[base + step - 1] : rs_engine_begin(e, t, rank, NULL);
    return rs_sub_sat(x->all[base + step], begin);
}

static double off_by(int64_t replayed, int64_t recorded)
{
    return recorded <= 0 ? NAN : 100.0 * (double)rs_sub_sat(replayed, recorded) / (double)recorded;
}

/* ---- errors -------------------------------------------------------------------------------------------- */

/* Constants only. fold -1: fills model_error of all rows; else held_out_error of the fold's steps. begin: of each
 * rank, as recorded. The times are overwritten. */
static rs_status replay_constants(rs_replayed *r, rs_edges_used edges, int fold, const ends *recorded,
                                  const int64_t *begin_of, rs_error *err)
{
    const rs_engine *e = r->engine;
    const rs_times *t = &r->times;
    RS_SCOPED(rs_weights_clear) rs_weights w = {0};
    RS_SCOPED(clear_ends) ends x = {0};
    rs_status status = rs_weights_constant(e, edges, fold, &w, err);
    if (status == RS_OK) status = rs_engine_replay_again(e, &w, &r->times, err);
    if (status == RS_OK) status = find_ends(e, t, &x, err);
    for (size_t k = 0; status == RS_OK && k < e->n_ranks; k++) {
        rs_replay_row *row = &r->rows[r->row_base[k]];
        if (fold < 0) row->model_error = off_by(length_of(e, t, &x, k), row->recorded);
        for (size_t s = 0; s < e->ranks[k]->n_steps; s++) {
            double error = off_by(step_length(e, t, &x, k, s), row[1 + s].recorded);
            size_t at = e->step_base[k] + s;
            if (fold >= 0 && s % RS_SKELETON_FOLDS == (size_t)fold) row[1 + s].held_out_error = error;
            if (fold >= 0) continue;
            row[1 + s].model_error = error;
            if (recorded->gpu[at] == RS_NO_TIME) continue;
            /* the GPU's last end against the step's begin, both as replayed */
            int64_t begin = s ? x.all[at - 1] : rs_engine_begin(e, t, k, NULL);
            int64_t was = s ? recorded->all[at - 1] : begin_of[k];
            row[1 + s].gpu_error = off_by(rs_sub_sat(x.gpu[at], begin), rs_sub_sat(recorded->gpu[at], was));
        }
    }
    return status;
}

/* Fills the errors of all rows. The times are of the recording, before and after. */
static rs_status find_errors(rs_replayed *r, rs_edges_used edges, bool held_out, const ends *recorded,
                             rs_error *err)
{
    const rs_engine *e = r->engine;
    size_t most = 0;
    RS_LOCAL int64_t *begin = rs_malloc((e->n_ranks + 1) * sizeof *begin);
    rs_status status = begin ? RS_OK : rs_fail_nomem(err, "replay");
    for (size_t k = 0; status == RS_OK && k < e->n_ranks; k++) {
        begin[k] = rs_engine_begin(e, &r->times, k, NULL);
        if (e->ranks[k]->n_steps > most) most = e->ranks[k]->n_steps;
    }
    if (status == RS_OK) status = replay_constants(r, edges, -1, recorded, begin, err);
    for (int fold = 0; held_out && most > 1 && fold < RS_SKELETON_FOLDS && (size_t)fold < most; fold++)
        if (status == RS_OK) status = replay_constants(r, edges, fold, recorded, begin, err);
    if (status == RS_OK) status = rs_engine_replay_again(e, &r->recorded, &r->times, err);
    return status;
}

/* The whole rank's held-out error is that of its steps together. */
static void sum_up(rs_replayed *r, size_t rank)
{
    rs_replay_row *row = &r->rows[r->row_base[rank]];
    size_t n = r->engine->ranks[rank]->n_steps;
    double sum = 0, length = 0;
    row->held_out_error = NAN;
    for (size_t s = 1; s <= n; s++) {
        if (isnan(row[s].held_out_error)) continue;
        sum += fabs(row[s].held_out_error) * (double)row[s].recorded;
        length += (double)row[s].recorded;
    }
    if (length > 0) row->held_out_error = sum / length;
}

/* What the path to a moment holds that no known cause explains, back to `until`. */
static int64_t unexplained_to(const rs_replayed *r, uint32_t moment, int64_t until)
{
    int64_t sum = 0;
    while (rs_moment_time(&r->times, moment) > until) {
        rs_link l = rs_engine_link(r->engine, &r->recorded, &r->times, moment);
        if (l.from == RS_NO_CAUSE) break;
        int64_t within = rs_sub_sat(rs_moment_time(&r->times, moment), until);
        sum = rs_add_sat(sum, l.unexplained < within ? l.unexplained : within);
        moment = l.from;
    }
    return sum;
}

/* The moment that a step ends with: its last work, or the last point of its thread. */
static uint32_t moment_of_step(const rs_engine *e, const rs_times *t, const uint32_t *last_work, size_t rank,
                               size_t step)
{
    const rs_skeleton_step *s = &e->ranks[rank]->steps[step];
    uint32_t point = (e->node_base[rank] + s->last) << 1 | 1, work = last_work[e->step_base[rank] + step];
    if (work == RS_NO_NODE || rs_times_end(t, work) < rs_add_sat(rs_moment_time(t, point), s->tail))
        return point;
    return work << 1 | 1;
}

static rs_status explain_rows(rs_replayed *r, const ends *x, rs_error *err)
{
    const rs_engine *e = r->engine;
    size_t n = e->step_base[e->n_ranks];
    uint32_t *last_work = rs_malloc((n + 1) * sizeof *last_work);
    if (!last_work) return rs_fail_nomem(err, "replay");
    for (size_t i = 0; i < n; i++) last_work[i] = RS_NO_NODE;
    for (size_t k = 0; k < e->n_ranks; k++) {
        const rs_skeleton *s = e->ranks[k];
        uint32_t base = e->node_base[k];
        rs_packed_reader labels = {.of = &s->label}, steps = {.of = &s->step};
        rs_replay_row *row = &r->rows[r->row_base[k]];
        for (uint32_t i = 0; i < s->n; i++) {
            if (!(e->kind[base + i] & RS_ENGINE_WORK)) continue;
            bool pinned = s->labels[rs_packed_read(&labels, i)].flags & RS_NODE_PINNED ||
                          e->kind[base + i] & RS_ENGINE_ALONE;
            const uint32_t step = rs_packed_read(&steps, i);
            row->pinned += pinned;
            if (!step) continue;
            row[step].pinned += pinned;
            uint32_t *last = &last_work[e->step_base[k] + step - 1];
            if (*last == RS_NO_NODE ||
                rs_times_end_of(e, &r->times, k, i) > rs_times_end_of(e, &r->times, k, *last - base))
                *last = base + i;
        }
        row->contradicted = (int64_t)s->n_contradicted;
    }
    for (size_t i = 0; i < e->n_added; i++) {
        size_t k = rs_engine_rank_of(e, e->added[i].target);
        int32_t step = rs_skeleton_step_of(e->ranks[k], e->added[i].target - e->node_base[k]);
        r->rows[r->row_base[k]].inferred++;
        if (step >= 0) r->rows[r->row_base[k] + 1 + (uint32_t)step].inferred++;
    }
    for (size_t k = 0; k < e->n_ranks; k++) {
        rs_replay_row *row = &r->rows[r->row_base[k]];
        size_t n_steps = e->ranks[k]->n_steps;
        for (size_t s = 0; s < n_steps; s++) {
            int64_t begin = s ? x->all[e->step_base[k] + s - 1] : rs_engine_begin(e, &r->times, k, NULL);
            uint32_t moment = moment_of_step(e, &r->times, last_work, k, s);
            row[1 + s].unexplained = unexplained_to(r, moment, begin);
            row->unexplained = rs_add_sat(row->unexplained, row[1 + s].unexplained);
        }
        if (!n_steps)
            row->unexplained =
                unexplained_to(r, (uint32_t)last_moment(e, k), rs_engine_begin(e, &r->times, k, NULL));
    }
    rs_free(last_work);
    return RS_OK;
}

static void judge_row(rs_replay_row *row)
{
    row->unexplained_pct =
        row->recorded <= 0 ? NAN : 100.0 * (double)row->unexplained / (double)row->recorded;
    if (row->unexplained_pct > RS_REPLAY_UNEXPLAINED)
        row->reason = "more than 5 % of the time has no known cause";
    else if (fabs(row->model_error) > RS_REPLAY_ERROR)
        row->reason = "a replay with constants errs by more than 3 %";
    else if (fabs(row->gpu_error) > RS_REPLAY_ERROR)
        row->reason = "a replay with constants puts the GPU's last end off by more than 3 %";
    row->trusted = !row->reason;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status make_rows(rs_replayed *r, const ends *x, rs_error *err)
{
    const rs_engine *e = r->engine;
    r->row_base = rs_malloc((e->n_ranks + 1) * sizeof *r->row_base);
    r->rows = rs_calloc(e->step_base[e->n_ranks] + e->n_ranks + 1, sizeof *r->rows);
    if (!r->row_base || !r->rows) return rs_fail_nomem(err, "replay");
    for (size_t k = 0; k < e->n_ranks; k++) {
        r->row_base[k] = (uint32_t)r->n_rows;
        for (size_t s = 0; s <= e->ranks[k]->n_steps; s++)
            r->rows[r->n_rows++] = (rs_replay_row){.step = s ? e->ranks[k]->steps[s - 1].number : RS_NO_VALUE,
                                                   .recorded = s ? step_length(e, &r->times, x, k, s - 1)
                                                                 : length_of(e, &r->times, x, k),
                                                   .model_error = NAN,
                                                   .held_out_error = NAN,
                                                   .gpu_error = NAN,
                                                   .contradicted = RS_NO_VALUE};
    }
    r->row_base[e->n_ranks] = (uint32_t)r->n_rows;
    return RS_OK;
}

rs_status rs_replay_measure(rs_engine *engine, rs_edges_used edges, bool held_out, rs_replayed *out,
                            rs_error *err)
{
    ends x = {0};
    int64_t worst;
    *out = (rs_replayed){.engine = engine};
    RS_TRY(rs_weights_recorded(engine, edges, &out->recorded, err));
    RS_TRY(rs_engine_replay(engine, &out->recorded, &out->times, err));
    size_t n_off = rs_engine_deviations(engine, &out->times, &worst);
    if (n_off)
        return rs_fail(
            err, RS_ERR_FORMAT,
            "a replay of what was recorded puts %zu events elsewhere, by up to %lld ns: this is an "
            "error of rankscope, please report it with the trace",
            n_off, (long long)worst);
    rs_status status = find_ends(engine, &out->times, &x, err);
    if (status == RS_OK) status = make_rows(out, &x, err);
    if (status == RS_OK) status = find_errors(out, edges, held_out, &x, err);
    if (status == RS_OK) status = explain_rows(out, &x, err);
    for (size_t k = 0; status == RS_OK && k < engine->n_ranks; k++) sum_up(out, k);
    for (size_t i = 0; status == RS_OK && i < out->n_rows; i++) judge_row(&out->rows[i]);
    clear_ends(&x);
    return status;
}
