/* A run out of a job: the steps that all ranks have, and what the settled ones went to. */
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "regress/rank.h"
#include "regress/run.h"
#include "trace/facet.h"
#include "trace/trace.h"

static const rs_step_length *find_length(const rs_rank_pieces *p, int64_t number)
{
    size_t low = 0, high = p->n_steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->steps[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->n_steps && p->steps[low].number == number ? &p->steps[low] : NULL;
}

/* Steps that every rank has, with the sum of the ranks' lengths. */
static bool list_steps(rs_one_run *run, const rs_rank_value *ranks, size_t n)
{
    const rs_rank_pieces *first = ranks[0].value;
    for (size_t i = 0; i < first->n_steps; i++) {
        rs_run_step step = {.number = first->steps[i].number};
        size_t have = 0;
        for (size_t r = 0; r < n; r++) {
            const rs_step_length *own = find_length(ranks[r].value, step.number);
            if (!own) continue;
            have++;
            step.sum = rs_add_sat(step.sum, own->length);
        }
        if (have < n) {
            run->n_partial++;
            continue;
        }
        if (!RS_GROW_ONE(run->steps, run->n_steps, run->steps_capacity)) return false;
        run->steps[run->n_steps++] = step;
    }
    return true;
}

static bool is_settled(const rs_one_run *run, int64_t number)
{
    size_t low = 0, high = run->n_steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->steps[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_steps && run->steps[low].number == number && run->steps[low].phase == RS_RUN_SETTLED;
}

static bool add_rank(rs_regress_side *side, rs_one_run *run, const rs_rank_pieces *p)
{
    uint32_t part_ids[RS_N_STEP_PARTS], *names = rs_malloc(p->texts.n * sizeof *names);
    bool ok = names != NULL;
    for (int k = 0; ok && k < RS_N_STEP_PARTS; k++) {
        const char *name = rs_step_part_name((rs_step_part)k);
        part_ids[k] = rs_strings_add(&side->texts, name, strlen(name));
        ok = part_ids[k] != RS_NO_STRING;
    }
    for (size_t i = 0; ok && i < p->texts.n; i++) {
        names[i] = rs_strings_add(&side->texts, p->texts.items[i].text, p->texts.items[i].length);
        ok = names[i] != RS_NO_STRING;
    }
    for (size_t i = 0; ok && i < p->n_pieces; i++) {
        const rs_piece *piece = &p->pieces[i];
        if (is_settled(run, p->steps[piece->step].number))
            ok = rs_run_add_part(run, part_ids[piece->part], names[piece->name], piece->ns, piece->count);
    }
    rs_free(names);
    /* rank by rank, so that memory stays that of the parts and one rank's pieces */
    return ok && rs_run_sort_parts(side, run);
}

rs_status rs_regress_add_run(rs_regress_side *side, const char *label, rs_job *job, rs_result *told,
                             rs_error *err)
{
    static const rs_facet *const facets[] = {&rs_facet_work_details, &rs_facet_steps};
    const rs_each_rank each = {.name = "regress",
                               .columns = rs_facet_columns(facets, sizeof facets / sizeof *facets),
                               .rank = rs_pieces_rank,
                               .free_value = rs_pieces_free};
    rs_rank_value *ranks = NULL;
    size_t n = 0;
    rs_status status = rs_job_each_rank(job, &each, &ranks, &n, told, err);
    rs_one_run *run = status == RS_OK ? rs_side_add(side, label) : NULL;
    if (status == RS_OK && !run) status = rs_fail_nomem(err, "a run");
    if (status == RS_OK && n) {
        run->n_ranks = (int64_t)n;
        if (!list_steps(run, ranks, n)) status = rs_fail_nomem(err, "a run");
        if (status == RS_OK) status = rs_run_settle(run, err);
        for (size_t r = 0; status == RS_OK && r < n; r++)
            if (!add_rank(side, run, ranks[r].value)) status = rs_fail_nomem(err, "a run");
    }
    for (size_t r = 0; r < n; r++) rs_pieces_free(ranks[r].value);
    rs_free(ranks);
    return status;
}
