/* A run out of a job: the steps that all ranks have, and what the settled ones went to. */
#include <string.h>

#include "analysis/skeletons.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "regress/path.h"
#include "regress/rank.h"
#include "trace/facet.h"
#include "trace/structure.h"
#include "trace/trace.h"
#include "trace/tree.h"

/* ---- ranks --------------------------------------------------------------------------------------------- */

typedef struct rank_value {
    rs_rank_pieces *pieces;
    rs_skeleton *skeleton; /* NULL where no path is wanted, as host */
    rs_host_time *host;
} rank_value;

static void free_value(void *value)
{
    rank_value *v = value;
    if (!v) return;
    rs_pieces_free(v->pieces);
    rs_skeleton_free(v->skeleton);
    rs_host_time_free(v->host);
    rs_free(v);
}

/* Ranks without steps take no part. */
static rs_status look_at_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    const rs_regress_side *side = run->context;
    void *pieces = NULL, *skeleton = NULL;
    rs_host_time *host = NULL;
    RS_TRY(rs_pieces_rank(run, trace, &pieces, err));
    if (!pieces) return RS_OK;
    rs_status status = RS_OK;
    if (side->path || side->step == RS_REGRESS_STEP_JOB)
        status = rs_skeletons_rank(run, trace, &skeleton, err);
    if (status == RS_OK && skeleton) status = rs_skeleton_place(skeleton, trace, err);
    if (status == RS_OK && skeleton) status = rs_host_time_of(trace, &host, err);
    rank_value *v = status == RS_OK ? rs_calloc(1, sizeof *v) : NULL;
    if (status == RS_OK && !v) status = rs_fail_nomem(err, "a rank");
    if (status != RS_OK) {
        rs_pieces_free(pieces);
        rs_skeleton_free(skeleton);
        rs_host_time_free(host);
        return status;
    }
    *v = (rank_value){pieces, skeleton, host};
    *value = v;
    return RS_OK;
}

static const rs_rank_pieces *pieces_of(const rs_rank_value *rank)
{
    return ((const rank_value *)rank->value)->pieces;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static const rs_step_length *find_length(const rs_rank_pieces *p, int64_t number)
{
    size_t low;
    RS_SEARCH(low, p->n_steps, p->steps[low].number < number);
    return low < p->n_steps && p->steps[low].number == number ? &p->steps[low] : NULL;
}

/* Steps that every rank has, with the sum of the ranks' lengths. */
static bool list_steps(rs_one_run *run, const rs_rank_value *ranks, size_t n)
{
    const rs_rank_pieces *first = pieces_of(&ranks[0]);
    for (size_t i = 0; i < first->n_steps; i++) {
        rs_run_step step = {.number = first->steps[i].number};
        size_t have = 0;
        for (size_t r = 0; r < n; r++) {
            const rs_step_length *own = find_length(pieces_of(&ranks[r]), step.number);
            if (!own) continue;
            have++;
            step.sum = rs_add_sat(step.sum, own->length);
        }
        if (have < n) {
            run->n_partial++;
            continue;
        }
        if (!RS_PUSH(run->steps, run->n_steps, run->steps_capacity, step)) return false;
    }
    return true;
}

/* ---- parts of the time line ---------------------------------------------------------------------------- */

static bool add_rank(rs_regress_side *side, rs_one_run *run, const rs_rank_pieces *p)
{
    rs_run_parts *parts = &run->parts[RS_REGRESS_EXPOSED];
    uint32_t part_ids[RS_N_SLICES], *names = rs_malloc(p->texts.n * sizeof *names);
    bool ok = names != NULL;
    for (int k = 0; ok && k < RS_N_SLICES; k++) {
        const char *name = rs_step_slice_name((rs_step_slice)k);
        part_ids[k] = rs_strings_add(&side->texts, name, strlen(name));
        ok = part_ids[k] != RS_NO_STRING;
    }
    for (size_t i = 0; ok && i < p->texts.n; i++) {
        names[i] = rs_strings_add(&side->texts, p->texts.items[i].text, p->texts.items[i].length);
        ok = names[i] != RS_NO_STRING;
    }
    for (size_t i = 0; ok && i < p->n_pieces; i++) {
        const rs_piece *piece = &p->pieces[i];
        const rs_run_step *step = rs_run_step_of(run, p->steps[piece->step].number);
        const rs_run_part part = {.part = part_ids[piece->part],
                                  .name = names[piece->name],
                                  .sum = piece->ns,
                                  .count = piece->count};
        if (step && step->phase == RS_RUN_SETTLED) ok = rs_run_add_part(parts, &part);
    }
    rs_free(names);
    /* rank by rank, so that memory stays that of the parts and one rank's pieces */
    return ok && rs_run_sort_parts(side, parts);
}

/* ---- the path ------------------------------------------------------------------------------------------ */

/* Takes the skeletons and what the hosts did over. */
static rs_status join(const rs_regress_side *side, const rs_one_run *run, rs_rank_value *ranks, size_t n,
                      rs_replay_run **out, const char **reason, rs_error *err)
{
    RS_LOCAL rs_skeleton **skeletons = rs_malloc((n + 1) * sizeof *skeletons);
    RS_LOCAL rs_host_time **hosts = rs_malloc((n + 1) * sizeof *hosts);
    RS_LOCAL int64_t *numbers = rs_malloc((run->n_steps + 1) * sizeof *numbers);
    rs_status status = skeletons && hosts && numbers ? RS_OK : rs_fail_nomem(err, "the paths of a run");
    for (size_t i = 0; numbers && i < run->n_steps; i++) numbers[i] = run->steps[i].number;
    for (size_t r = 0; status == RS_OK && r < n; r++) {
        skeletons[r] = ((rank_value *)ranks[r].value)->skeleton;
        hosts[r] = ((rank_value *)ranks[r].value)->host;
        ((rank_value *)ranks[r].value)->skeleton = NULL;
        ((rank_value *)ranks[r].value)->host = NULL;
    }
    if (status == RS_OK)
        status =
            rs_replay_run_create(skeletons, hosts, n, numbers, run->n_steps, side->step, out, reason, err);
    return status;
}

/* Steps become the job's: from the last rank's end to the last rank's end. */
static void take_job_steps(rs_one_run *run, const rs_replay_run *replay)
{
    size_t n = run->n_steps;
    run->per_step = 1;
    run->n_steps = 0;
    if (!replay || !rs_replay_run_is_tied(replay)) return;
    for (size_t i = 1; i < n; i++) {
        run->steps[run->n_steps] = run->steps[i];
        run->steps[run->n_steps++].sum = rs_replay_run_length(replay, &replay->replayed.times, i);
    }
}

static rs_status refuse(rs_one_run *run, const char *reason, rs_error *err)
{
    run->refused = rs_strdup(reason);
    return run->refused ? RS_OK : rs_fail_nomem(err, "a run");
}

static rs_status fill(rs_regress_side *side, rs_one_run *run, rs_rank_value *ranks, size_t n, rs_error *err)
{
    rs_replay_run *replay = NULL;
    const char *reason = NULL;
    bool by_job = side->step == RS_REGRESS_STEP_JOB;
    run->n_ranks = run->per_step = (int64_t)n;
    if (!list_steps(run, ranks, n)) return rs_fail_nomem(err, "a run");
    rs_status status = RS_OK;
    if (side->path || by_job) status = join(side, run, ranks, n, &replay, &reason, err);
    if (status == RS_OK && replay) {
        const rs_clock_trust *trust = &replay->engine.trust;
        run->clocks = (rs_run_clocks){(int64_t)trust->n, (int64_t)trust->n_loose, trust->width};
    }
    if (status == RS_OK && by_job) take_job_steps(run, replay);
    if (status == RS_OK && by_job && !reason && !run->n_steps)
        reason = "the clocks of its ranks are not tied together by what they communicate";
    if (status == RS_OK) status = rs_run_settle(run, err);
    for (size_t r = 0; status == RS_OK && !by_job && r < n; r++)
        if (!add_rank(side, run, pieces_of(&ranks[r]))) status = rs_fail_nomem(err, "a run");
    run->parts[RS_REGRESS_EXPOSED].known = !by_job;
    if (status == RS_OK && replay && !reason && side->path)
        status = rs_replay_run_parts(replay, side, run, &reason, err);
    if (status == RS_OK && reason) status = refuse(run, reason, err);
    if (status == RS_OK && !side->replay && run->parts[RS_REGRESS_PATH].known) {
        side->replayed = (size_t)(run - side->runs);
        side->replay = replay;
        replay = NULL;
    }
    rs_replay_run_free(replay);
    return status;
}

rs_status rs_regress_add_run(rs_regress_side *side, const char *label, rs_job *job, rs_result *told,
                             rs_error *err)
{
    static const rs_facet *const facets[] = {&rs_facet_work_details, &rs_facet_steps},
                                 *const more[] = {&rs_facet_structure, &rs_facet_tree};
    const bool skeletons = side->path || side->step == RS_REGRESS_STEP_JOB;
    const rs_each_rank each = {.name = "regress",
                               .columns = rs_facet_columns(facets, sizeof facets / sizeof *facets) |
                                          (skeletons ? RS_SKELETON_COLUMNS | rs_facet_columns(more, 2) : 0),
                               .rank = look_at_rank,
                               .free_value = free_value,
                               .context = side};
    RS_LOCAL rs_rank_value *ranks = NULL;
    size_t n = 0;
    rs_status status = rs_job_each_rank(job, &each, &ranks, &n, told, err);
    rs_one_run *run = status == RS_OK ? rs_side_add(side, label) : NULL;
    if (status == RS_OK && !run) status = rs_fail_nomem(err, "a run");
    if (status == RS_OK && n) status = fill(side, run, ranks, n, err);
    for (size_t r = 0; r < n; r++) free_value(ranks[r].value);
    return status;
}
