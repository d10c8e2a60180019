/* whatif from the traces of all ranks: scenarios of the engine's graph. docs/whatif.md has the definitions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "analysis/gate.h"
#include "analysis/whatif.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "clock/hosts.h"
#include "engine/reference.h"
#include "match/collective_wait.h"
#include "match/stages.h"

#define MOST_MENDED 10 /* rows of the greedy list */
#define CANDIDATES 8   /* of each, those that are to blame most */
#define ENOUGH 0.01    /* of T - T(repair): what is left of it then is not worth a row */

enum { COMPUTE, COMMUNICATION, MEMORY, HOST, N_KINDS };
static const char *const kind_names[N_KINDS] = {"compute", "communication", "memory", "host"};

/* What a scenario changes: all conditions hold. */
typedef struct unit {
    int64_t rank, role, step, group; /* indices; -1: any */
    int kind;                        /* -1: any */
    const char *host;                /* NULL: any */
    bool links;                      /* transfers; else GPU work and host time */
    const bool *ranks;               /* NULL: any */
} unit;

#define EVERYTHING                                                                                           \
    {                                                                                                        \
        .rank = -1, .role = -1, .step = -1, .group = -1, .kind = -1                                          \
    }
static const unit everything = EVERYTHING;

typedef struct answer {
    const rs_run *run;
    rs_result *result;
    const rs_partial **of; /* by rank index */
    const char **hosts;    /* by rank, owned; NULL: unknown */
    rs_engine e;
    rs_weights recorded;
    rs_reference ref;
    rs_weights work; /* of the scenario that is replayed */
    int64_t *ends;   /* by step_base */
    size_t n_steps;
    int64_t *step_numbers;
    double *steps;                         /* lengths of the steps of the last replay, ns */
    double observed, t, t_ideal, t_repair; /* of the whole job, ns */
    double *gain, *add;                    /* by rank */
    rs_stages stages;
    int64_t *data, n_data; /* by rank: its data rank, -1: unknown; how many there are */
    double transplant;
    rs_whatif_scale *scales;
    size_t n_scales;
    char *scale_block;
} answer;

/* ---- replay ---------------------------------------------------------------------------------------------- */

/* The greatest number of steps that every rank has; ranks without are of no account where others have some. */
static size_t count_steps(const rs_engine *e)
{
    size_t n = SIZE_MAX;
    for (size_t r = 0; r < e->n_ranks; r++)
        if (e->ranks[r]->n_steps && e->ranks[r]->n_steps < n) n = e->ranks[r]->n_steps;
    return n == SIZE_MAX ? 0 : n;
}

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
static double measure(answer *a, const rs_times *t)
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

static rs_status replay(answer *a, const rs_weights *w, double *length, rs_error *err)
{
    rs_times times;
    RS_TRY(rs_engine_replay(&a->e, w, &times, err));
    *length = measure(a, &times);
    rs_times_clear(&times);
    return RS_OK;
}

static int kind_of(const rs_skeleton *s, uint32_t node)
{
    if (!rs_skeleton_is_work(s, node)) return HOST;
    return rs_skeleton_at(s, node)->part == RS_PART_COPY       ? MEMORY
           : rs_skeleton_at(s, node)->part == RS_PART_TRANSFER ? COMMUNICATION
                                                               : COMPUTE;
}

static bool has_rank(const answer *a, const unit *u, size_t r)
{
    return (u->rank < 0 || (size_t)u->rank == r) && (u->role < 0 || (uint32_t)u->role == a->ref.role[r]) &&
           (!u->host || (a->hosts[r] && strcmp(a->hosts[r], u->host) == 0)) && (!u->ranks || u->ranks[r]);
}

/* Changes what belongs to a unit in `to` to what `from` has, times a factor. */
static void put_unit(const answer *a, const unit *u, const rs_weights *from, double factor, rs_weights *to)
{
    const rs_engine *e = &a->e;
    bool links = u->links || u->kind == COMMUNICATION ||
                 (u->kind < 0 && u->rank < 0 && u->role < 0 && !u->host && !u->ranks);
    for (size_t k = 0; links && k < e->n_meetings; k++) {
        const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
        const rs_coll_arrival *first = &e->coll.arrivals[c->first];
        bool in = (u->group < 0 || a->ref.group[k] == (uint32_t)u->group) &&
                  (u->step < 0 || rs_coll_op_at(&e->coll, first)->step == a->step_numbers[u->step]);
        if (in)
            to->transfer[k] = factor == 1 ? from->transfer[k] : (int64_t)(factor * (double)from->transfer[k]);
    }
    if (u->links || u->kind == COMMUNICATION) return;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        if (!has_rank(a, u, r)) continue;
        uint32_t base = e->node_base[r], edges = e->edge_base[r];
        for (uint32_t i = 1; i < s->n; i++) {
            bool work = rs_skeleton_is_work(s, i);
            if ((u->step >= 0 && s->step[i] != u->step) || (u->kind >= 0 && kind_of(s, i) != u->kind))
                continue;
            if (work && !(e->kind[base + i] & RS_ENGINE_COMES)) {
                to->work[base + i] =
                    factor == 1 ? from->work[base + i] : (int64_t)(factor * (double)from->work[base + i]);
            } else if (!work) {
                uint32_t k = edges + s->first[i];
                bool scaled = factor != 1 && from->edge[k] > 0;
                bool host = rs_edge_part(s, s->first[i]) == RS_PART_HOST ||
                            rs_edge_part(s, s->first[i]) == RS_PART_LOADER;
                if (s->first[i] < s->first[i + 1] && host)
                    to->edge[k] = scaled ? (int64_t)(factor * (double)from->edge[k]) : from->edge[k];
            }
        }
    }
}

/* Puts everything of `from` into the working weights. */
static void begin(answer *a, const rs_weights *from)
{
    const rs_engine *e = &a->e;
    memcpy(a->work.work, from->work, e->n_nodes * sizeof *from->work);
    memcpy(a->work.edge, from->edge, e->n_edges * sizeof *from->edge);
    memcpy(a->work.transfer, from->transfer, e->n_meetings * sizeof *from->transfer);
}

/* T with the unit mended. Ranks are mended to what the others take. */
static rs_status mended(answer *a, const unit *u, double *t, rs_error *err)
{
    begin(a, &a->recorded);
    put_unit(a, u, u->rank >= 0 ? &a->ref.peers : &a->ref.repair, 1, &a->work);
    return replay(a, &a->work, t, err);
}

/* T with all mended but the unit. */
static rs_status left_alone(answer *a, const unit *u, double *t, rs_error *err)
{
    begin(a, &a->ref.repair);
    put_unit(a, u, &a->recorded, 1, &a->work);
    return replay(a, &a->work, t, err);
}

static double per_step(const answer *a, double length)
{
    return length / (double)(a->n_steps ? a->n_steps : 1) / 1000; /* us */
}

/* ---- doubt ----------------------------------------------------------------------------------------------- */

/* Each step replayed with the next one's times must last as long as that one did. NaN: too few steps. */
static rs_status transplant(answer *a, double *median, double *worst, rs_error *err)
{
    double length;
    *median = *worst = (double)NAN;
    if (a->n_steps < 4) return RS_OK;
    double *was = rs_malloc(a->n_steps * sizeof *was);
    if (!was) return rs_fail_nomem(err, "what-if");
    rs_status status = replay(a, &a->recorded, &length, err);
    memcpy(was, a->steps, a->n_steps * sizeof *was);
    if (status == RS_OK) status = replay(a, &a->ref.next, &length, err);
    size_t n = 0;
    for (size_t k = 1; status == RS_OK && k + 2 < a->n_steps; k++)
        if (was[k + 1] > 0) was[n++] = fabs(a->steps[k] / was[k + 1] - 1);
    if (status == RS_OK && n) {
        rs_sort_doubles(was, n);
        *median = rs_quantile(was, n, 0.5);
        *worst = was[n - 1];
    }
    rs_free(was);
    return status;
}

/* The share of the path behind the job's end that no known cause explains. */
static rs_status find_unexplained(answer *a, double *share, rs_error *err)
{
    const rs_engine *e = &a->e;
    rs_times t;
    uint32_t at = RS_NO_CAUSE;
    int64_t latest = INT64_MIN, sum = 0;
    RS_TRY(rs_engine_replay(e, &a->recorded, &t, err));
    for (size_t r = 0; r < e->n_ranks; r++) {
        uint32_t moment = (e->node_base[r] + (e->ranks[r]->last >> 1)) << 1 | (e->ranks[r]->last & 1);
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
static rs_status observe(answer *a, rs_error *err)
{
    const rs_engine *e = &a->e;
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
    rs_times_clear(&t);
    return ok ? RS_OK : rs_fail_nomem(err, "what-if");
}

/* ---- tables ---------------------------------------------------------------------------------------------- */

static rs_status put_steps(answer *a, rs_error *err)
{
    double length, *was = rs_malloc((a->n_steps + 1) * sizeof *was);
    if (!was) return rs_fail_nomem(err, "what-if");
    rs_status status = replay(a, &a->recorded, &length, err);
    memcpy(was, a->steps, a->n_steps * sizeof *was);
    if (status == RS_OK) status = replay(a, &a->ref.balance, &length, err);
    for (size_t k = 0; status == RS_OK && k < a->n_steps; k++) {
        const rs_whatif_step row = {.step = a->step_numbers[k],
                                    .actual = was[k] / 1000,
                                    .replayed = was[k] / 1000,
                                    .ideal = a->steps[k] / 1000,
                                    .slowdown = was[k] / a->steps[k],
                                    .delay_slowdown = (double)NAN};
        status = rs_whatif_put_step(&row, a->result, err);
    }
    rs_free(was);
    return status;
}

static rs_status put_kinds(answer *a, rs_error *err)
{
    double t, *mended_steps = rs_malloc((a->n_steps + 1) * sizeof *mended_steps);
    if (!mended_steps) return rs_fail_nomem(err, "what-if");
    rs_status status = replay(a, &a->ref.repair, &t, err);
    memcpy(mended_steps, a->steps, a->n_steps * sizeof *mended_steps);
    for (int k = 0; status == RS_OK && k < N_KINDS; k++) {
        unit u = everything;
        u.kind = k;
        status = left_alone(a, &u, &t, err);
        if (status == RS_OK)
            status = rs_whatif_put_slowdown(a->result->tables[RS_WHATIF_KINDS], -1, kind_names[k], 0,
                                            t / a->t_repair, err);
        for (size_t s = 0; status == RS_OK && s < a->n_steps; s++)
            status = rs_whatif_put_slowdown(a->result->tables[RS_WHATIF_KIND_STEPS], a->step_numbers[s],
                                            kind_names[k], 0, a->steps[s] / mended_steps[s], err);
    }
    rs_free(mended_steps);
    return status;
}

static rs_status judge_ranks(answer *a, rs_error *err)
{
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        unit u = everything;
        u.rank = (int64_t)r;
        RS_TRY(mended(a, &u, &a->gain[r], err));
        a->gain[r] = a->t - a->gain[r];
        RS_TRY(left_alone(a, &u, &a->add[r], err));
    }
    return RS_OK;
}

static void choose_slowest(const answer *a, size_t n, bool *slowest)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = SIZE_MAX;
        for (size_t r = 0; r < a->e.n_ranks; r++)
            if (!slowest[r] && (best == SIZE_MAX || a->add[r] > a->add[best])) best = r;
        if (best != SIZE_MAX) slowest[best] = true;
    }
}

/* Without a pipeline all is one stage, where data ranks are known; -1: nothing tells. */
static int64_t stage_of(const answer *a, size_t r)
{
    return a->stages.n_stages ? (int64_t)a->stages.stage[r] : a->n_data ? 0 : -1;
}

static rs_status put_workers(answer *a, const bool *slowest, rs_error *err)
{
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        const rs_whatif_worker row = {.dp = a->data[r],
                                      .stage = stage_of(a, r),
                                      .slowdown = a->add[r] / a->t_repair,
                                      .slowest = slowest[r],
                                      .host = a->hosts[r],
                                      .role = a->ref.role[r],
                                      .gain = per_step(a, a->gain[r]),
                                      .gain_pct = 100 * a->gain[r] / a->t};
        RS_TRY(rs_whatif_put_worker(a->of[r]->rank, &row, a->result, err));
    }
    return RS_OK;
}

static char *list_ranks(const answer *a, const bool *in)
{
    char *text = rs_malloc(a->e.n_ranks * 21 + 1);
    size_t used = 0;
    if (!text) return NULL;
    text[0] = '\0';
    for (size_t r = 0; r < a->e.n_ranks; r++)
        if (in[r])
            used += (size_t)snprintf(text + used, 22, "%s%lld", used ? "," : "", (long long)a->of[r]->rank);
    return text;
}

/* A set of ranks mended together, and left alone together. loss: T less what T is compared with. */
static rs_status put_set(answer *a, const char *name, const bool *in, double ideal, double *removed,
                         rs_error *err)
{
    unit u = everything;
    double without, with;
    u.ranks = in;
    RS_TRY(mended(a, &u, &without, err));
    RS_TRY(left_alone(a, &u, &with, err));
    char *ranks = list_ranks(a, in);
    if (!ranks) return rs_fail_nomem(err, "what-if");
    bool lost = a->t - ideal > 0.001 * a->t;
    *removed = lost ? (a->t - without) / (a->t - ideal) : (double)NAN;
    const rs_whatif_part row = {.part = name,
                                .ranks = ranks,
                                .removed = *removed,
                                .added = lost ? (with - ideal) / (a->t - ideal) : (double)NAN,
                                .t_removed = per_step(a, without),
                                .t_added = per_step(a, with)};
    rs_status status = rs_whatif_put_part(&row, a->result, err);
    rs_free(ranks);
    return status;
}

/* The ranks that are to blame most and are not in the set. */
static size_t choose_candidates(const answer *a, const bool *in, size_t *out, size_t most)
{
    size_t n = 0;
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        if (in[r]) continue;
        size_t k = n < most ? n++ : most;
        if (k == most && !(a->add[r] > a->add[out[most - 1]])) continue;
        if (k == most) k--;
        for (; k > 0 && a->add[r] > a->add[out[k - 1]]; k--) out[k] = out[k - 1];
        out[k] = r;
    }
    return n;
}

/* Mended one after another: first the rank that is to blame most, then what saves most with those before. */
static rs_status put_greedy(answer *a, rs_error *err)
{
    char name[32];
    double left = a->t - a->t_repair, now = a->t;
    bool *in = rs_calloc(a->e.n_ranks + 1, sizeof *in);
    if (!in) return rs_fail_nomem(err, "what-if");
    rs_status status = RS_OK;
    for (unsigned i = 0; status == RS_OK && i < MOST_MENDED && i < a->e.n_ranks; i++) {
        if (left < 0.001 * a->t || now - a->t_repair < ENOUGH * left) break;
        size_t best = SIZE_MAX, candidates[CANDIDATES];
        size_t n = choose_candidates(a, in, candidates, i ? CANDIDATES : 1);
        double least = INFINITY, t = -INFINITY;
        for (size_t k = 0; status == RS_OK && k < n; k++) {
            unit u = everything;
            in[candidates[k]] = true;
            u.ranks = in;
            if (i) status = mended(a, &u, &t, err);
            in[candidates[k]] = false;
            if (t >= least) continue;
            least = t;
            best = candidates[k];
        }
        if (best == SIZE_MAX || (i && least >= now)) break;
        in[best] = true;
        double removed;
        snprintf(name, sizeof name, "mended-%u", i + 1);
        if (status == RS_OK) status = put_set(a, name, in, a->t_repair, &removed, err);
        unit u = everything;
        u.ranks = in;
        if (status == RS_OK) status = mended(a, &u, &now, err);
    }
    rs_free(in);
    return status;
}

static rs_status put_parts(answer *a, rs_whatif_row *job, rs_error *err)
{
    size_t n = rs_whatif_n_slowest(a->run->options, a->e.n_ranks);
    bool *slowest = rs_calloc(a->e.n_ranks + 1, sizeof *slowest),
         *last = rs_calloc(a->e.n_ranks + 1, sizeof *last);
    rs_status status = slowest && last ? RS_OK : rs_fail_nomem(err, "what-if");
    if (status == RS_OK) {
        choose_slowest(a, n, slowest);
        for (size_t r = 0; r < a->e.n_ranks; r++)
            last[r] = a->stages.n_stages ? a->stages.stage[r] + 1 == a->stages.n_stages
                                         : a->ref.role[r] + 1 == a->ref.n_roles;
        status = put_workers(a, slowest, err);
    }
    if (status == RS_OK) status = put_set(a, "slowest-workers", slowest, a->t_ideal, &job->m_w, err);
    if (status == RS_OK && (a->stages.n_stages || a->ref.n_roles > 1))
        status = put_set(a, "last-stage", last, a->t_ideal, &job->m_s, err);
    if (status == RS_OK) status = put_greedy(a, err);
    rs_free(slowest);
    rs_free(last);
    return status;
}

/* ---- data ranks and stages ------------------------------------------------------------------------------- */

/* What the job takes when these ranks alone keep their times: tables dp_ranks and stages. */
static rs_status put_places(answer *a, int table, size_t n, rs_error *err)
{
    bool *in = rs_calloc(a->e.n_ranks + 1, sizeof *in);
    rs_status status = in ? RS_OK : rs_fail_nomem(err, "what-if");
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        unit u = everything;
        double with;
        bool any = false;
        for (size_t r = 0; r < a->e.n_ranks; r++) {
            in[r] = (table == RS_WHATIF_STAGES ? stage_of(a, r) : a->data[r]) == (int64_t)k;
            any |= in[r];
        }
        if (!any) continue; /* its traces are not there */
        u.ranks = in;
        status = left_alone(a, &u, &with, err);
        if (status == RS_OK)
            status = rs_whatif_put_slowdown(a->result->tables[table], RS_NO_VALUE, NULL, (int64_t)k,
                                            with / a->t_repair, err);
    }
    rs_free(in);
    return status;
}

/* ---- units beside ranks ---------------------------------------------------------------------------------- */

static rs_status put_unit_row(answer *a, const char *kind, const char *name, const unit *u, rs_error *err)
{
    double without, with;
    RS_TRY(mended(a, u, &without, err));
    RS_TRY(left_alone(a, u, &with, err));
    return rs_whatif_put_unit(kind, name, with / a->t_repair, per_step(a, a->t - without),
                              100 * (a->t - without) / a->t, a->result, err);
}

/* "2,3 (dp_1)": the ranks that meet. */
static void name_group(const answer *a, uint32_t group, char *out, size_t size)
{
    const rs_engine *e = &a->e;
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < e->n_meetings; k++) {
        if (a->ref.group[k] != group) continue;
        const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
        for (uint32_t i = c->first; i < c->first + c->n && used + 24 < size; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%lld", used ? "," : "",
                                     (long long)a->of[e->coll.arrivals[i].rank]->rank);
        return;
    }
}

/* Each step takes two replays of all, and as many again for the rank that is to blame most. */
#define UNITS_COST 10000000 /* nodes, by the most of which so many replays are made in a second */
#define LEAST_STEPS 16

/* The steps that are asked about, by step: all where that takes seconds, else the longest. */
static rs_status choose_steps(answer *a, bool *asked, rs_error *err)
{
    size_t most = UNITS_COST / (a->e.n_nodes + 1), n;
    double length;
    if (most < LEAST_STEPS) most = LEAST_STEPS;
    RS_TRY(replay(a, &a->recorded, &length, err)); /* a->steps are the recording's */
    RS_TRY(rs_whatif_choose_longest(a->steps, a->n_steps, most, asked, &n, err));
    if (n < a->n_steps)
        rs_result_note(a->result, "units: of %zu steps the longest %zu were asked about", a->n_steps, n);
    return RS_OK;
}

static rs_status put_step_units(answer *a, const bool *asked, rs_error *err)
{
    char name[64];
    for (size_t s = 0; s < a->n_steps; s++) {
        unit u = everything;
        u.step = (int64_t)s;
        snprintf(name, sizeof name, "%lld", (long long)a->step_numbers[s]);
        if (asked[s]) RS_TRY(put_unit_row(a, "step", name, &u, err));
    }
    /* of the rank that is to blame most, which step it was */
    size_t worst = 0;
    for (size_t r = 1; r < a->e.n_ranks; r++)
        if (a->add[r] > a->add[worst]) worst = r;
    for (size_t s = 0; s < a->n_steps; s++) {
        unit u = everything;
        u.rank = (int64_t)worst;
        u.step = (int64_t)s;
        snprintf(name, sizeof name, "%lld:%lld", (long long)a->of[worst]->rank,
                 (long long)a->step_numbers[s]);
        if (asked[s]) RS_TRY(put_unit_row(a, "rank:step", name, &u, err));
    }
    return RS_OK;
}

static rs_status put_units(answer *a, rs_error *err)
{
    char name[256];
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        size_t first = 0;
        unit u = everything;
        while (a->hosts[r] && !(a->hosts[first] && strcmp(a->hosts[first], a->hosts[r]) == 0)) first++;
        if (!a->hosts[r] || first != r) continue;
        u.host = a->hosts[r];
        RS_TRY(put_unit_row(a, "host", a->hosts[r], &u, err));
    }
    for (size_t i = 0; a->ref.n_roles > 1 && i < a->ref.n_roles; i++) {
        unit u = everything;
        u.role = (int64_t)i;
        snprintf(name, sizeof name, "%zu", i);
        RS_TRY(put_unit_row(a, "role", name, &u, err));
    }
    for (uint32_t i = 0; i < a->ref.n_groups; i++) {
        unit u = everything;
        u.group = i;
        u.links = true;
        name_group(a, i, name, sizeof name);
        RS_TRY(put_unit_row(a, "link", name, &u, err));
    }
    bool *asked = rs_calloc(a->n_steps + 1, sizeof *asked);
    rs_status status = asked ? choose_steps(a, asked, err) : rs_fail_nomem(err, "what-if");
    if (status == RS_OK) status = put_step_units(a, asked, err);
    rs_free(asked);
    return status;
}

/* ---- scales ---------------------------------------------------------------------------------------------- */

static rs_status scale_unit(const answer *a, const rs_whatif_scale *scale, unit *u, rs_error *err)
{
    *u = everything;
    for (int k = 0; scale->number < 0 && k < N_KINDS; k++)
        if (rs_whatif_scale_is(scale, kind_names[k])) {
            u->kind = k;
            return RS_OK;
        }
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        if (scale->number < 0 || !rs_whatif_scale_is(scale, "rank") || a->of[r]->rank != scale->number)
            continue;
        u->rank = (int64_t)r;
        return RS_OK;
    }
    for (size_t s = 0; s < a->n_steps; s++)
        if (rs_whatif_scale_is(scale, "step") && a->step_numbers[s] == scale->number) {
            u->step = (int64_t)s;
            return RS_OK;
        }
    if (rs_whatif_scale_is(scale, "role") && scale->number >= 0 && scale->number < (int64_t)a->ref.n_roles) {
        u->role = scale->number;
        return RS_OK;
    }
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        size_t n = a->hosts[r] ? strlen(a->hosts[r]) : 0;
        if (n && scale->n_what == n + 5 && memcmp(scale->what, "host:", 5) == 0 &&
            memcmp(scale->what + 5, a->hosts[r], n) == 0) {
            u->host = a->hosts[r];
            return RS_OK;
        }
    }
    return rs_whatif_refuse_scale(
        scale, "compute, communication, memory, host, rank:N, role:N, host:NAME and step:N of these traces",
        err);
}

static rs_status put_scales(answer *a, rs_error *err)
{
    RS_TRY(rs_whatif_scales(a->run->options, &a->scales, &a->n_scales, &a->scale_block, err));
    for (size_t i = 0; i < a->n_scales; i++) {
        unit u;
        double t;
        RS_TRY(scale_unit(a, &a->scales[i], &u, err));
        begin(a, &a->recorded);
        put_unit(a, &u, &a->recorded, a->scales[i].factor, &a->work);
        RS_TRY(replay(a, &a->work, &t, err));
        RS_TRY(rs_whatif_put_scale(a->scales[i].text, a->t / t, a->result, err));
    }
    return RS_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

/* Data ranks of which there are traces. */
static int64_t count_data(const answer *a)
{
    int64_t n = 0;
    for (int64_t k = 0; k < a->n_data; k++)
        for (size_t r = 0; r < a->e.n_ranks; r++)
            if (a->data[r] == k) {
                n++;
                break;
            }
    return n;
}

static rs_status find_places(answer *a, size_t n, rs_error *err)
{
    int64_t *numbers = rs_malloc((n + 1) * sizeof *numbers);
    rs_status status = numbers ? RS_OK : rs_fail_nomem(err, "what-if");
    for (size_t r = 0; status == RS_OK && r < n; r++) numbers[r] = a->of[r]->rank;
    if (status == RS_OK) status = rs_stages_find(&a->e.coll, &a->stages, err);
    if (status == RS_OK) status = rs_data_ranks(&a->e.coll, numbers, a->data, &a->n_data, err);
    rs_free(numbers);
    return status;
}

static rs_status open_engine(answer *a, const rs_skeleton *const *ranks, size_t n, rs_error *err)
{
    const rs_engine_how how = {rs_clock_how_of(rs_options_text(a->run->options, "clocks")), .infer = true};
    RS_TRY(rs_engine_join(ranks, n, &how, &a->e, err));
    RS_TRY(rs_weights_recorded(&a->e, RS_EDGES_ALL, &a->recorded, err));
    RS_TRY(rs_weights_copy(&a->e, &a->recorded, &a->work, err));
    RS_TRY(rs_reference_find(&a->e, &a->recorded, &a->ref, err));
    a->n_steps = count_steps(&a->e);
    a->ends = rs_calloc((size_t)a->e.step_base[n] + 1, sizeof *a->ends);
    a->steps = rs_calloc(a->n_steps + 1, sizeof *a->steps);
    a->step_numbers = rs_calloc(a->n_steps + 1, sizeof *a->step_numbers);
    a->gain = rs_calloc(n + 1, sizeof *a->gain);
    a->add = rs_calloc(n + 1, sizeof *a->add);
    a->hosts = rs_calloc(n + 1, sizeof *a->hosts);
    a->data = rs_malloc((n + 1) * sizeof *a->data);
    if (!a->data || !a->ends || !a->steps || !a->step_numbers || !a->gain || !a->add || !a->hosts)
        return rs_fail_nomem(err, "what-if");
    RS_TRY(find_places(a, n, err));
    for (size_t r = 0; r < n; r++) {
        const char *text = rs_pool_text(&ranks[r]->comm->pool, ranks[r]->comm->host);
        size_t length = text ? strlen(text) : 0;
        for (size_t k = 0; k < a->n_steps && k < ranks[r]->n_steps; k++)
            a->step_numbers[k] = ranks[r]->steps[k].number;
        if (a->of[r]->source) rs_host_in_name(a->of[r]->source, &text, &length);
        if (!text || !length) continue;
        a->hosts[r] = rs_strndup(text, length);
        if (!a->hosts[r]) return rs_fail_nomem(err, "what-if");
    }
    return RS_OK;
}

static void explain(const answer *a, const rs_whatif_row *job, double worst)
{
    const rs_engine *e = &a->e;
    rs_result *r = a->result;
    double unkeyed = (double)a->ref.unkeyed / ((double)a->ref.keyed + (double)a->ref.unkeyed + 1);
    if (e->n_ranks < 2)
        rs_result_note(r, "one rank: it is compared with its own steps only; give the traces of all ranks");
    if (!a->n_steps)
        rs_result_note(
            r, "no steps (ProfilerStep): ranks are compared over the whole recording, which counts as "
               "one step");
    if (fabs(job->replay_error) > 0.5)
        rs_problems_add(
            &r->problems, NULL, -1, RS_WARNING, "replay_error",
            "the replay misses the recording by more than 0.5 %: clocks or records contradict each "
            "other",
            RS_NO_OFFSET);
    if (worst > 0.05)
        rs_problems_add(
            &r->problems, NULL, -1, RS_WARNING, "unreliable",
            "some step replayed with the next one's times misses it by more than 5 %: do not rely on "
            "these numbers",
            RS_NO_OFFSET);
    if (unkeyed > 0.05)
        rs_result_note(r,
                       "%d %% of the time is in steps that no other rank or step runs alike: it has no "
                       "reference and counts as it is",
                       (int)(100 * unkeyed + 0.5));
    if (e->n_alone)
        rs_result_note(r,
                       "%zu kernels of communication have partners that are not in the traces: their waits "
                       "cannot be told from their transfers",
                       e->n_alone);
    if (rs_coll_on_host(&e->coll))
        rs_result_note(
            r,
            "communication on the host (gloo, mpi, ucc) is not followed over ranks: what one waits for the others "
            "counts as its own time; `rankscope stragglers` tells who comes late");
    rs_coll_note_trust(&e->trust, r);
}

/* Each rank takes two replays. */
#define MAP_COST 100000000 /* nodes, by the most of which so many replays are made in a few seconds */

static bool is_for_map(const answer *a)
{
    if (a->e.n_ranks > 1 && a->e.n_nodes <= MAP_COST / a->e.n_ranks) return true;
    rs_result_note(a->result, a->e.n_ranks > 1 ? "too many ranks and events for --map: leave it out"
                                               : "one rank: --map compares ranks; give the traces of all");
    return false;
}

static rs_status put_map(answer *a, rs_error *err)
{
    bool *slowest = rs_calloc(a->e.n_ranks + 1, sizeof *slowest);
    rs_status status = slowest ? RS_OK : rs_fail_nomem(err, "what-if");
    if (slowest) choose_slowest(a, rs_whatif_n_slowest(a->run->options, a->e.n_ranks), slowest);
    if (status == RS_OK) status = put_workers(a, slowest, err);
    rs_free(slowest);
    return status;
}

static rs_status fill(answer *a, rs_error *err)
{
    rs_whatif_row job = {.ranks = (int64_t)a->e.n_ranks,
                         .dp_ranks = a->n_data ? count_data(a) : -1,
                         .stages = a->stages.n_stages ? (int64_t)a->stages.n_stages
                                   : a->n_data        ? 1
                                                      : -1,
                         .steps = (int64_t)a->n_steps,
                         .operations = (int64_t)a->e.n_nodes,
                         .delay_slowdown = (double)NAN,
                         .m_w = (double)NAN,
                         .m_s = (double)NAN,
                         .fb_correlation = (double)NAN,
                         .fb_variation = (double)NAN};
    double median, worst;
    bool map = rs_options_flag(a->run->options, "map");
    if (map && !is_for_map(a)) return RS_OK;
    RS_TRY(observe(a, err));
    RS_TRY(replay(a, &a->recorded, &a->t, err));
    RS_TRY(replay(a, &a->ref.balance, &a->t_ideal, err));
    RS_TRY(replay(a, &a->ref.repair, &a->t_repair, err));
    RS_TRY(transplant(a, &median, &worst, err));
    RS_TRY(find_unexplained(a, &job.unexplained, err));
    RS_TRY(judge_ranks(a, err));
    if (map) {
        RS_TRY(put_map(a, err));
    } else {
        RS_TRY(put_steps(a, err));
        RS_TRY(put_kinds(a, err));
        RS_TRY(put_parts(a, &job, err));
        RS_TRY(put_places(a, RS_WHATIF_DP_RANKS, (size_t)a->n_data, err));
        RS_TRY(put_places(a, RS_WHATIF_STAGES, a->stages.n_stages, err));
        RS_TRY(put_units(a, err));
    }
    RS_TRY(put_scales(a, err));
    job.actual = per_step(a, a->observed);
    job.replayed = per_step(a, a->t);
    job.ideal = per_step(a, a->t_ideal);
    job.slowdown = a->t / a->t_ideal;
    job.repaired = per_step(a, a->t_repair);
    job.repair_slowdown = a->t / a->t_repair;
    job.replay_error = 100 * (a->t / a->observed - 1);
    job.transplant_error = 100 * median;
    job.unexplained *= 100;
    RS_TRY(rs_whatif_put(&job, a->result, err));
    explain(a, &job, worst);
    return rs_gate_apply(a->run->options, a->result->tables[RS_WHATIF], a->result, err);
}

rs_status rs_whatif_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    answer a = {.run = run, .result = result};
    const rs_skeleton **ranks = rs_malloc((n + 1) * sizeof *ranks);
    size_t n_ranks = 0;
    a.of = rs_malloc((n + 1) * sizeof *a.of);
    rs_status status = ranks && a.of ? RS_OK : rs_fail_nomem(err, "what-if");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        if (!partials[i].value) continue;
        a.of[n_ranks] = &partials[i];
        ranks[n_ranks++] = partials[i].value;
    }
    if (status == RS_OK && rs_options_text(run->options, "ideal-trace"))
        status = rs_fail(err, RS_ERR_USAGE,
                         "--ideal-trace writes the replay of a table of operations, not of traces");
    if (status == RS_OK && n_ranks) status = open_engine(&a, ranks, n_ranks, err);
    if (status == RS_OK && n_ranks) status = fill(&a, err);
    for (size_t r = 0; a.hosts && r < n_ranks; r++) rs_free((void *)(uintptr_t)a.hosts[r]);
    rs_engine_clear(&a.e);
    rs_weights_clear(&a.recorded);
    rs_weights_clear(&a.work);
    rs_reference_clear(&a.ref);
    rs_stages_clear(&a.stages);
    void *const blocks[] = {ranks,          a.of,   a.hosts, a.data,   a.ends,       a.steps,
                            a.step_numbers, a.gain, a.add,   a.scales, a.scale_block};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) rs_free(blocks[i]);
    return status;
}
