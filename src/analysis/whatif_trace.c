/* whatif from the traces of all ranks: scenarios of the engine's graph. docs/whatif.md has the definitions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "analysis/gate.h"
#include "analysis/whatif_trace.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "base/try.h"
#include "clock/hosts.h"
#include "match/collective_wait.h"
#include "text/numbers.h"

#define MOST_MENDED 10 /* rows of the greedy list */
#define CANDIDATES 8   /* of each, those that are to blame most */
#define SLOW 1.02      /* S repair that needs words */
#define ENOUGH 0.01    /* of T - T(repair): what is left of it then is not worth a row */

/* ---- tables ---------------------------------------------------------------------------------------------- */

static rs_status put_steps(rs_whatif_job *a, rs_error *err)
{
    double length, *was = rs_malloc((a->n_steps + 1) * sizeof *was);
    if (!was) return rs_fail_nomem(err, "what-if");
    rs_status status = rs_scenario_replay(a, &a->recorded, &length, err);
    memcpy(was, a->steps, a->n_steps * sizeof *was);
    if (status == RS_OK) status = rs_scenario_replay(a, &a->ref.balance, &length, err);
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

static rs_status put_kinds(rs_whatif_job *a, rs_error *err)
{
    double t, *mended_steps = rs_malloc((a->n_steps + 1) * sizeof *mended_steps);
    if (!mended_steps) return rs_fail_nomem(err, "what-if");
    rs_status status = rs_scenario_replay(a, &a->ref.repair, &t, err);
    memcpy(mended_steps, a->steps, a->n_steps * sizeof *mended_steps);
    for (int k = 0; status == RS_OK && k < RS_N_SCENARIO_KINDS; k++) {
        rs_scenario u = RS_SCENARIO_ALL;
        u.kind = k;
        status = rs_scenario_leave(a, &u, &t, err);
        if (status == RS_OK)
            status = rs_whatif_put_slowdown(a->result->tables[RS_WHATIF_KINDS], -1, rs_scenario_kinds[k], 0,
                                            t / a->t_repair, err);
        for (size_t s = 0; status == RS_OK && s < a->n_steps; s++)
            status = rs_whatif_put_slowdown(a->result->tables[RS_WHATIF_KIND_STEPS], a->step_numbers[s],
                                            rs_scenario_kinds[k], 0, a->steps[s] / mended_steps[s], err);
    }
    rs_free(mended_steps);
    return status;
}

static rs_status judge_ranks(rs_whatif_job *a, rs_error *err)
{
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        rs_scenario u = RS_SCENARIO_ALL;
        u.rank = (int64_t)r;
        RS_TRY(rs_scenario_mend(a, &u, &a->gain[r], err));
        a->gain[r] = a->t - a->gain[r];
        RS_TRY(rs_scenario_leave(a, &u, &a->add[r], err));
    }
    return RS_OK;
}

static void choose_slowest(const rs_whatif_job *a, size_t n, bool *slowest)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = SIZE_MAX;
        for (size_t r = 0; r < a->e.n_ranks; r++)
            if (!slowest[r] && (best == SIZE_MAX || a->add[r] > a->add[best])) best = r;
        if (best != SIZE_MAX) slowest[best] = true;
    }
}

/* Without a pipeline all is one stage, where data ranks are known; -1: nothing tells. */
static int64_t stage_of(const rs_whatif_job *a, size_t r)
{
    return a->stages.n_stages ? (int64_t)a->stages.stage[r] : a->n_data ? 0 : -1;
}

static rs_status put_workers(rs_whatif_job *a, const bool *slowest, rs_error *err)
{
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        const rs_whatif_worker row = {.dp = a->data[r],
                                      .stage = stage_of(a, r),
                                      .slowdown = a->add[r] / a->t_repair,
                                      .slowest = slowest[r],
                                      .host = a->hosts[r],
                                      .role = a->ref.role[r],
                                      .gain = rs_scenario_per_step(a, a->gain[r]),
                                      .gain_pct = 100 * a->gain[r] / a->t};
        RS_TRY(rs_whatif_put_worker(a->of[r]->rank, &row, a->result, err));
    }
    return RS_OK;
}

static char *list_ranks(const rs_whatif_job *a, const bool *in)
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
static rs_status put_set(rs_whatif_job *a, const char *name, const bool *in, double ideal, double *removed,
                         rs_error *err)
{
    rs_scenario u = RS_SCENARIO_ALL;
    double without, with;
    u.ranks = in;
    RS_TRY(rs_scenario_mend(a, &u, &without, err));
    RS_TRY(rs_scenario_leave(a, &u, &with, err));
    char *ranks = list_ranks(a, in);
    if (!ranks) return rs_fail_nomem(err, "what-if");
    bool lost = a->t - ideal > 0.001 * a->t;
    *removed = lost ? (a->t - without) / (a->t - ideal) : (double)NAN;
    const rs_whatif_part row = {.part = name,
                                .ranks = ranks,
                                .removed = *removed,
                                .added = lost ? (with - ideal) / (a->t - ideal) : (double)NAN,
                                .t_removed = rs_scenario_per_step(a, without),
                                .t_added = rs_scenario_per_step(a, with)};
    rs_status status = rs_whatif_put_part(&row, a->result, err);
    rs_free(ranks);
    return status;
}

/* The ranks that are to blame most and are not in the set. */
static size_t choose_candidates(const rs_whatif_job *a, const bool *in, size_t *out, size_t most)
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
static rs_status put_greedy(rs_whatif_job *a, rs_error *err)
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
            rs_scenario u = RS_SCENARIO_ALL;
            in[candidates[k]] = true;
            u.ranks = in;
            if (i) status = rs_scenario_mend(a, &u, &t, err);
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
        rs_scenario u = RS_SCENARIO_ALL;
        u.ranks = in;
        if (status == RS_OK) status = rs_scenario_mend(a, &u, &now, err);
    }
    rs_free(in);
    return status;
}

static rs_status put_parts(rs_whatif_job *a, rs_whatif_row *job, rs_error *err)
{
    size_t n = rs_whatif_n_slowest(a->run->options, a->e.n_ranks);
    RS_LOCAL bool *slowest = rs_calloc(a->e.n_ranks + 1, sizeof *slowest),
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
    return status;
}

/* ---- data ranks and stages ------------------------------------------------------------------------------- */

/* What the job takes when these ranks alone keep their times: tables dp_ranks and stages. */
static rs_status put_places(rs_whatif_job *a, int table, size_t n, rs_error *err)
{
    bool *in = rs_calloc(a->e.n_ranks + 1, sizeof *in);
    rs_status status = in ? RS_OK : rs_fail_nomem(err, "what-if");
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        rs_scenario u = RS_SCENARIO_ALL;
        double with;
        bool any = false;
        for (size_t r = 0; r < a->e.n_ranks; r++) {
            in[r] = (table == RS_WHATIF_STAGES ? stage_of(a, r) : a->data[r]) == (int64_t)k;
            any |= in[r];
        }
        if (!any) continue; /* its traces are not there */
        u.ranks = in;
        status = rs_scenario_leave(a, &u, &with, err);
        if (status == RS_OK)
            status = rs_whatif_put_slowdown(a->result->tables[table], RS_NO_VALUE, NULL, (int64_t)k,
                                            with / a->t_repair, err);
    }
    rs_free(in);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

/* Data ranks of which there are traces. */
static int64_t count_data(const rs_whatif_job *a)
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

static rs_status find_places(rs_whatif_job *a, size_t n, rs_error *err)
{
    RS_LOCAL int64_t *numbers = rs_malloc((n + 1) * sizeof *numbers);
    rs_status status = numbers ? RS_OK : rs_fail_nomem(err, "what-if");
    for (size_t r = 0; status == RS_OK && r < n; r++) numbers[r] = a->of[r]->rank;
    if (status == RS_OK) status = rs_stages_find(&a->e.coll, &a->stages, err);
    if (status == RS_OK) status = rs_data_ranks(&a->e.coll, numbers, a->data, &a->n_data, err);
    return status;
}

/* The greatest number of steps that every rank has; ranks without are of no account where others have some. */
static size_t count_steps(const rs_engine *e)
{
    size_t n = SIZE_MAX;
    for (size_t r = 0; r < e->n_ranks; r++)
        if (e->ranks[r]->n_steps && e->ranks[r]->n_steps < n) n = e->ranks[r]->n_steps;
    return n == SIZE_MAX ? 0 : n;
}

static rs_status open_engine(rs_whatif_job *a, const rs_skeleton *const *ranks, size_t n, rs_error *err)
{
    const rs_engine_how how = {rs_clock_how_of(rs_options_text(a->run->options, "clocks")), .infer = true};
    RS_TRY(rs_engine_join(ranks, n, &how, &a->e, err));
    RS_TRY(rs_weights_recorded(&a->e, RS_EDGES_ALL, &a->recorded, err));
    RS_TRY(rs_weights_copy(&a->e, &a->recorded, &a->work, err));
    RS_TRY(rs_reference_find(&a->e, &a->recorded, true, &a->ref, err));
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

/* What fixing all would give, and fixing a few ranks would not: each of most ranks gives much of it, or none alone gives half. Sorts what
 * ranks add, whose rows are put. */
static void explain_repair(rs_whatif_job *a)
{
    const size_t n = a->e.n_ranks;
    const double lost = a->t - a->t_repair;
    if (n < 2 || a->t < SLOW * a->t_repair) return;
    rs_sort_doubles(a->add, n);
    const double middle = a->add[(n - 1) / 2] - a->t_repair, slowest = a->add[n - 1] - a->t_repair;
    if ((4 * middle < lost || slowest > 2 * middle) && 2 * slowest > lost) return;
    rs_result_note(
        a->result,
        "S repair is not of a few ranks: the middle rank alone slows a step %s times, the slowest %s "
        "times; the rest is what all ranks and transfers vary by",
        RS_FIXED(1 + middle / a->t_repair, 3), RS_FIXED(1 + slowest / a->t_repair, 3));
}

static void explain(const rs_whatif_job *a, const rs_whatif_row *job, double worst)
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
            "the replay misses the recording by more than 0.5 %: clocks or records contradict each other",
            RS_NO_OFFSET);
    if (worst > 0.05)
        rs_problems_add(
            &r->problems, NULL, -1, RS_WARNING, "unreliable",
            "some step replayed with the next one's times misses it by more than 5 %: do not rely on "
            "these numbers",
            RS_NO_OFFSET);
    if (unkeyed > 0.05)
        rs_result_note(r,
                       "%d %% of the time is in steps that no other rank or step runs: it has no "
                       "reference and counts as it is",
                       (int)rs_int_of(100 * unkeyed + 0.5));
    if (e->n_alone)
        rs_result_note(r,
                       "%zu kernels of communication have partners that are not in the traces: their waits "
                       "cannot be separated from their transfers",
                       e->n_alone);
    if (rs_coll_on_host(&e->coll)) rs_coll_note_host(&e->coll, r);
    rs_coll_note_trust(&e->trust, r);
}

/* Each rank takes two replays. */
#define MAP_COST 100000000 /* nodes, by the most of which so many replays are made in a few seconds */

static bool is_for_map(const rs_whatif_job *a)
{
    if (a->e.n_ranks > 1 && a->e.n_nodes <= MAP_COST / a->e.n_ranks) return true;
    rs_result_note(a->result, a->e.n_ranks > 1 ? "too many ranks and events for --map: leave it out"
                                               : "one rank: --map compares ranks; give the traces of all");
    return false;
}

static rs_status put_map(rs_whatif_job *a, rs_error *err)
{
    RS_LOCAL bool *slowest = rs_calloc(a->e.n_ranks + 1, sizeof *slowest);
    rs_status status = slowest ? RS_OK : rs_fail_nomem(err, "what-if");
    if (slowest) choose_slowest(a, rs_whatif_n_slowest(a->run->options, a->e.n_ranks), slowest);
    if (status == RS_OK) status = put_workers(a, slowest, err);
    return status;
}

/* T_ideal. Stages do equal work where that makes the job faster: what a heavy stage does while others wait anyway costs less on it than
 * elsewhere. What ranks differ by may even have helped: then there is nothing to gain. */
static rs_status find_ideal(rs_whatif_job *a, rs_error *err)
{
    rs_weights *ideal = &a->ref.balance;
    RS_TRY(rs_scenario_replay(a, ideal, &a->t_ideal, err));
    if (a->ref.n_roles > 1) {
        double even;
        rs_weights_recopy(&a->e, ideal, &a->work);
        RS_TRY(rs_reference_balance_roles(&a->e, &a->ref, err));
        RS_TRY(rs_scenario_replay(a, ideal, &even, err));
        if (even > a->t_ideal) rs_weights_recopy(&a->e, &a->work, ideal);
        a->t_ideal = fmin(a->t_ideal, even);
    }
    if (a->t_ideal > a->t) rs_weights_recopy(&a->e, &a->recorded, ideal);
    a->t_ideal = fmin(a->t_ideal, a->t);
    return RS_OK;
}

static rs_status fill(rs_whatif_job *a, rs_error *err)
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
    RS_TRY(rs_scenario_observe(a, err));
    RS_TRY(rs_scenario_replay(a, &a->recorded, &a->t, err));
    RS_TRY(find_ideal(a, err));
    RS_TRY(rs_scenario_replay(a, &a->ref.repair, &a->t_repair, err));
    RS_TRY(rs_scenario_transplant(a, &median, &worst, err));
    RS_TRY(rs_scenario_unexplained(a, &job.unexplained, err));
    RS_TRY(judge_ranks(a, err));
    if (map) {
        RS_TRY(put_map(a, err));
    } else {
        RS_TRY(put_steps(a, err));
        RS_TRY(put_kinds(a, err));
        RS_TRY(put_parts(a, &job, err));
        RS_TRY(put_places(a, RS_WHATIF_DP_RANKS, (size_t)a->n_data, err));
        RS_TRY(put_places(a, RS_WHATIF_STAGES, a->stages.n_stages, err));
        RS_TRY(rs_whatif_put_units(a, err));
    }
    RS_TRY(rs_whatif_put_scales(a, err));
    job.actual = rs_scenario_per_step(a, a->observed);
    job.replayed = rs_scenario_per_step(a, a->t);
    job.ideal = rs_scenario_per_step(a, a->t_ideal);
    job.slowdown = a->t / a->t_ideal;
    job.repaired = rs_scenario_per_step(a, a->t_repair);
    job.repair_slowdown = a->t / a->t_repair;
    job.replay_error = 100 * (a->t / a->observed - 1);
    job.transplant_error = 100 * median;
    job.unexplained *= 100;
    RS_TRY(rs_whatif_put(&job, a->result, err));
    explain(a, &job, worst);
    explain_repair(a);
    return rs_gate_apply(a->run->options, a->result->tables[RS_WHATIF], a->result, err);
}

rs_status rs_whatif_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_whatif_job a = {.run = run, .result = result};
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
