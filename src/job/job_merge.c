/* From what the inputs gave to the tables: which files could be used, how the ranks are called, and the
 * merge. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "job/job_internal.h"

/* ---- questions -------------------------------------------------------------------------------------- */

static const rs_option_spec ranks_spec[] = {
    {"ranks", RS_OPTION_RANGES, "RANKS", NULL, NULL, "only these ranks"},
};

rs_status rs_ranking_init(rs_ranking *ranking, const rs_job_settings *settings, rs_error *err)
{
    *ranking = (rs_ranking){
        .renumber = settings->renumber, .single_rank = settings->single_rank, .settings = settings};
    rs_status status = rs_options_create(ranks_spec, 1, &ranking->wanted, err);
    if (status != RS_OK) return status;
    return settings->ranks ? rs_options_set(ranking->wanted, "ranks", settings->ranks, err) : RS_OK;
}

void rs_ranking_clear(rs_ranking *ranking)
{
    rs_options_free(ranking->wanted);
    *ranking = (rs_ranking){0};
}

static bool has_moments(const rs_analysis *a, rs_compat compat)
{
    size_t n = 0;
    const rs_table_spec *const *specs = rs_analysis_tables(a, compat, &n);
    for (size_t i = 0; specs && i < n; i++)
        for (size_t k = 0; k < specs[i]->n_columns; k++)
            if (specs[i]->columns[k].type == RS_MOMENT) return true;
    return false;
}

rs_status rs_question_init(rs_question *q, const rs_query *query, const rs_job_settings *settings,
                           void *context, rs_error *err)
{
    const rs_analysis *a = query->analysis;
    *q = (rs_question){.analysis = a, .policy = rs_policy_of(query->compat)};
    q->policy.keep_last_step = settings->include_last_step;
    q->run = (rs_run){.options = query->options,
                      .compat = query->compat,
                      .policy = &q->policy,
                      .absolute = settings->absolute,
                      .context = context};
    q->moments = has_moments(a, query->compat);
    if (query->options) return RS_OK;
    rs_status status = rs_options_create(a->options, a->n_options, &q->defaults, err);
    q->run.options = q->defaults;
    return status;
}

rs_status rs_question_reserve(rs_question *q, size_t n_shares, rs_error *err)
{
    q->shares = rs_calloc(n_shares, sizeof *q->shares);
    if (!q->shares && n_shares) return rs_fail_nomem(err, "run");
    q->n_shares = n_shares;
    return RS_OK;
}

void rs_question_clear_share(rs_question *q, rs_share *share)
{
    for (size_t k = 0; k < share->n_units; k++)
        if (share->units[k].value && q->analysis->free_partial && !q->borrowed)
            q->analysis->free_partial(share->units[k].value);
    for (size_t k = 0; k < share->n_units; k++) rs_selected_clear(&share->units[k].selected);
    rs_free(share->units);
    share->units = NULL;
    share->n_units = 0;
    rs_problems_clear(&share->problems);
}

void rs_question_clear(rs_question *q)
{
    for (size_t i = 0; i < q->n_shares; i++) rs_question_clear_share(q, &q->shares[i]);
    rs_free(q->shares);
    q->shares = NULL;
    q->n_shares = 0;
    rs_options_free(q->defaults);
    q->defaults = NULL;
}

bool rs_question_must_trim(const rs_question *q)
{
    if (!q->policy.trim_steps || q->policy.force_trim || !q->analysis->steps_seen) return false;
    int64_t first = -1;
    bool short_of_two = false, several = false;
    for (size_t i = 0; i < q->n_shares; i++) {
        for (size_t k = 0; k < q->shares[i].n_units; k++) {
            const void *value = q->shares[i].units[k].value;
            if (!value) continue;
            rs_steps_seen seen = q->analysis->steps_seen(value);
            if (seen.n < 2) short_of_two = true;
            if (seen.n >= 2) several = true;
            if (seen.n == 0) continue;
            if (first >= 0 && seen.first != first) several = true;
            if (first < 0) first = seen.first;
        }
    }
    return short_of_two && several;
}

/* ---- which inputs could be used ---------------------------------------------------------------------- */

static bool is_no_trace(const rs_share *share)
{
    return share->from_directory && share->status == RS_ERR_FORMAT;
}

bool rs_share_is_fatal(const rs_share *share, const rs_ranking *ranking)
{
    return share->status == RS_ERR_CANCELLED || share->status == RS_ERR_USAGE ||
           (share->status == RS_ERR_AMBIGUOUS && ranking->single_rank);
}

static const rs_error *error_of(const rs_share *share, rs_error *other)
{
    if (share->error) return share->error;
    rs_fail_nomem(other, "run");
    return other;
}

static rs_status fail_as(const rs_share *share, rs_error *err)
{
    rs_error other = RS_ERROR_INIT;
    *err = *error_of(share, &other);
    return err->status;
}

/* The files that another input is read instead of, in one line at the first of them. */
static void note_instead(const rs_question *q, size_t at, rs_result *result)
{
    const rs_share *share = &q->shares[at];
    size_t n = 0;
    for (size_t i = 0; i < q->n_shares; i++) {
        if (!q->shares[i].instead || strcmp(q->shares[i].instead, share->instead) != 0) continue;
        if (i < at) return;
        n++;
    }
    if (n > 1)
        rs_result_note(result, "passed over: %s and %zu more files, whose run stands in %s, too", share->path,
                       n - 1, share->instead);
    else
        rs_result_note(result, "passed over: %s, whose run stands in %s, too", share->path, share->instead);
}

rs_status rs_question_judge(rs_question *q, const rs_ranking *ranking, rs_result *result, rs_error *err)
{
    size_t usable = 0;
    const rs_share *first_bad = NULL;
    char line[1024];
    for (size_t i = 0; i < q->n_shares; i++) {
        rs_share *share = &q->shares[i];
        if (share->status == RS_OK) {
            usable++;
            rs_problems_move(&result->problems, &share->problems);
            continue;
        }
        if (rs_share_is_fatal(share, ranking)) return fail_as(share, err);
        if (!first_bad || (is_no_trace(first_bad) && !is_no_trace(share))) first_bad = share;
        rs_error other = RS_ERROR_INIT;
        rs_error_text(error_of(share, &other), line, sizeof line);
        if (is_no_trace(share) && share->instead)
            note_instead(q, i, result);
        else if (is_no_trace(share))
            rs_result_note(result, "passed over: %s", line);
        else
            rs_problems_add_many(&result->problems, share->path, -1, RS_LOSS, "unusable_file",
                                 "a file could not be used", RS_NO_OFFSET, 1, line);
    }
    if (usable) return RS_OK;
    return first_bad ? fail_as(first_bad, err) : rs_fail(err, RS_ERR_FORMAT, "no input files");
}

/* ---- rank numbers ----------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const rs_rank_part *x = *(rs_rank_part *const *)a, *y = *(rs_rank_part *const *)b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Gives every unit its number; RS_ERR_AMBIGUOUS when two claim one. all is in the order of the inputs. */
static rs_status settle_ranks(const rs_question *q, const rs_ranking *ranking, rs_rank_part **all, size_t n,
                              rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        rs_rank_part *u = all[i];
        bool merged = u->index > 0 || (i + 1 < n && all[i + 1]->share == u->share);
        if (ranking->renumber) {
            u->rank = (int64_t)i;
            u->rule = "--renumber";
        } else if (u->rank == RS_NO_VALUE) {
            u->rank = merged ? (int64_t)u->index : (int64_t)i;
            if (!merged) u->rule = n == 1 ? "the only file" : "order of the file names";
        }
    }
    if (n) qsort(all, n, sizeof *all, by_rank);
    for (size_t i = 1; i < n; i++) {
        if (all[i]->rank != all[i - 1]->rank) continue;
        return rs_fail(
            err, RS_ERR_AMBIGUOUS,
            "%s and %s both are rank %lld: say which is which as RANK=PATH, or number them by name with "
            "--renumber",
            q->shares[all[i - 1]->share].path, q->shares[all[i]->share].path, (long long)all[i]->rank);
    }
    return RS_OK;
}

/* The partials of one side, sorted by rank, added behind those that *partials holds already. */
static rs_status gather(rs_question *q, const rs_ranking *ranking, unsigned side, rs_partial **partials,
                        size_t *n_partials, rs_error *err)
{
    size_t n = 0, at = 0, kept = *n_partials;
    for (size_t i = 0; i < q->n_shares; i++) n += q->shares[i].n_units;
    rs_rank_part **all = rs_malloc(n * sizeof *all);
    const rs_selected **selected = rs_malloc((n + 1) * sizeof *selected);
    rs_partial *grown =
        n < SIZE_MAX / sizeof *grown - kept ? rs_realloc(*partials, (kept + n + 1) * sizeof *grown) : NULL;
    if (grown) *partials = grown;
    rs_status status = RS_OK;
    if (!all || !grown || !selected) status = rs_fail_nomem(err, "results");
    if (status == RS_OK) {
        for (size_t i = 0; i < q->n_shares; i++)
            for (size_t k = 0; k < q->shares[i].n_units; k++) all[at++] = &q->shares[i].units[k];
        status = settle_ranks(q, ranking, all, n, err);
    }
    if (status == RS_OK) {
        for (size_t i = 0; i < n; i++) {
            if (!rs_options_in_ranges(ranking->wanted, "ranks", all[i]->rank)) continue;
            selected[kept - *n_partials] = &all[i]->selected;
            grown[kept++] = (rs_partial){.rank = all[i]->rank,
                                         .value = all[i]->value,
                                         .first = all[i]->first,
                                         .source = q->shares[all[i]->share].path,
                                         .rank_rule = all[i]->rule,
                                         .domain_rule = q->shares[all[i]->share].domain_rule,
                                         .side = side};
        }
        if (kept == *n_partials)
            status = rs_fail(err, RS_ERR_USAGE, "--ranks selects none of the %zu ranks in the input", n);
        if (status == RS_OK) status = rs_selected_judge(selected, kept - *n_partials, ranking->settings, err);
        *n_partials = kept;
    }
    rs_free(selected);
    rs_free(all);
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------------- */

rs_status rs_question_tables(const rs_question *q, rs_result *result, rs_error *err)
{
    size_t n;
    const rs_table_spec *const *specs = rs_analysis_tables(q->analysis, q->run.compat, &n);
    if (!specs) return rs_fail(err, RS_ERR_USAGE, "%s cannot imitate that peer", q->analysis->name);
    result->tables = rs_calloc(n, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "tables");
    for (size_t i = 0; i < n; i++) {
        result->tables[i] = rs_table_create(specs[i]);
        if (!result->tables[i]) return rs_fail_nomem(err, "tables");
        result->n_tables++;
    }
    return RS_OK;
}

/* The first event of all ranks, which moments count from. */
static int64_t find_origin(const rs_run *run, const rs_partial *partials, size_t n)
{
    int64_t origin = RS_NO_TIME;
    for (size_t i = 0; i < n && !run->absolute; i++)
        if (partials[i].first != RS_NO_TIME && (origin == RS_NO_TIME || partials[i].first < origin))
            origin = partials[i].first;
    return origin == RS_NO_TIME ? 0 : origin;
}

rs_status rs_question_answer(rs_question *const *sides, const rs_ranking *const *rankings, unsigned n_sides,
                             rs_result *result, rs_error *err)
{
    rs_partial *partials = NULL;
    size_t n_partials = 0;
    rs_status status = RS_OK;
    for (unsigned i = 0; status == RS_OK && i < n_sides; i++)
        status = gather(sides[i], rankings[i], i, &partials, &n_partials, err);
    if (status == RS_OK) status = rs_question_tables(sides[0], result, err);
    sides[0]->run.origin = find_origin(&sides[0]->run, partials, n_partials);
    if (status == RS_OK)
        status = sides[0]->analysis->merge(&sides[0]->run, partials, n_partials, result, err);
    for (size_t i = 0; status == RS_OK && i < result->n_tables; i++)
        if (!rs_table_has_origin(result->tables[i]))
            rs_table_count_from(result->tables[i], sides[0]->run.origin);
    rs_free(partials);
    return status;
}
