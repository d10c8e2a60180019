/* From what the inputs gave to the tables: which files could be used, how the ranks are called, and the
 * merge. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "job/job_internal.h"
#include "trace/facet.h"

/* ---- questions -------------------------------------------------------------------------------------- */

rs_status rs_ranking_init(rs_ranking *ranking, const rs_job_settings *settings, rs_error *err)
{
    *ranking = (rs_ranking){
        .renumber = settings->renumber, .single_rank = settings->single_rank, .settings = settings};
    return rs_selection_parse(settings->ranks, NULL, NULL, &ranking->wanted, err);
}

void rs_ranking_clear(rs_ranking *ranking)
{
    rs_selection_clear(&ranking->wanted);
    *ranking = (rs_ranking){0};
}

bool rs_ranking_wants(const rs_ranking *ranking, int64_t rank)
{
    return !ranking->wanted.by_rank || rs_ranges_has(&ranking->wanted.ranks, rank);
}

bool rs_ranking_may_want(const rs_ranking *ranking, int64_t own_rank)
{
    return ranking->renumber || ranking->roles || own_rank == RS_NO_VALUE ||
           rs_ranking_wants(ranking, own_rank);
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
                           rs_error *err)
{
    const rs_analysis *a = query->analysis;
    *q = (rs_question){
        .analysis = a, .how = rs_analysis_method(a, query->compat), .policy = rs_policy_of(query->compat)};
    q->policy.keep_last_step = settings->include_last_step;
    q->classes = settings->classes;
    if (q->classes && query->compat != RS_COMPAT_NONE)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--class holds for rankscope's own classes, and --compat takes another tool's: leave one out");
    q->run = (rs_run){.options = query->options,
                      .plan = q->how.plan,
                      .over = q->how.over,
                      .compat = query->compat,
                      .policy = &q->policy,
                      .absolute = settings->absolute,
                      .jobs = settings->jobs};
    q->moments = has_moments(a, query->compat);
    q->agreed = rs_calloc(q->how.n_rounds, sizeof *q->agreed);
    if (!q->agreed && q->how.n_rounds) return rs_fail_nomem(err, "run");
    if (query->options) return RS_OK;
    rs_status status = rs_options_create(a->options, a->n_options, &q->defaults, err);
    q->run.options = q->defaults;
    return status;
}

rs_status rs_question_reserve(rs_question *q, size_t n_answers, rs_error *err)
{
    q->answers = rs_calloc(n_answers, sizeof *q->answers);
    if (!q->answers && n_answers) return rs_fail_nomem(err, "run");
    q->n_answers = n_answers;
    return RS_OK;
}

/* As deep as there are rounds. */
static void clear_answer(const rs_question *q, rs_answer *answer, size_t round)
{
    for (size_t i = 0; i < answer->n_next; i++) clear_answer(q, &answer->next[i], round + 1);
    rs_free(answer->next);
    if (answer->borrowed) return;
    bool last = round == q->how.n_rounds;
    void (*release)(void *) = last ? q->how.free_partial : q->how.rounds[round].free_partial;
    if (answer->partial && release) release(answer->partial);
    rs_bytes_free(&answer->given);
}

void rs_question_clear_input(const rs_question *q, rs_input_answer *answer)
{
    for (size_t k = 0; k < answer->n_ranks; k++) {
        clear_answer(q, &answer->ranks[k].first, 0);
        rs_selected_clear(&answer->ranks[k].selected);
    }
    rs_free(answer->ranks);
    answer->ranks = NULL;
    answer->n_ranks = 0;
    rs_problems_clear(&answer->problems);
    rs_arena_clear(&answer->arena);
}

void rs_question_clear(rs_question *q)
{
    for (size_t i = 0; i < q->n_answers; i++) rs_question_clear_input(q, &q->answers[i]);
    rs_free(q->answers);
    q->answers = NULL;
    q->n_answers = 0;
    for (size_t r = 0; q->agreed && r < q->how.n_rounds; r++) {
        if (q->agreed[r].value) q->how.rounds[r].free_agreed(q->agreed[r].value);
        rs_bytes_free(&q->agreed[r].packed);
    }
    rs_free(q->agreed);
    q->agreed = NULL;
    rs_options_free(q->defaults);
    q->defaults = NULL;
}

uint64_t rs_method_fingerprint(const rs_method *how)
{
    uint64_t sum = rs_layout_fingerprint(how->partial_layout);
    for (size_t r = 0; r < how->n_rounds; r++) {
        sum = rs_hash_u64(sum ^ rs_layout_fingerprint(how->rounds[r].partial_layout));
        sum = rs_hash_u64(sum ^ rs_layout_fingerprint(how->rounds[r].agreed_layout));
    }
    return sum;
}

bool rs_question_wants_origin(const rs_question *q)
{
    return q->analysis->wants_origin && q->analysis->wants_origin(q->run.options);
}

/* ---- which inputs could be used ---------------------------------------------------------------------- */

static bool is_no_trace(const rs_input_answer *answer)
{
    return answer->from_directory && answer->status == RS_ERR_FORMAT;
}

bool rs_status_is_fatal(rs_status status, const rs_ranking *ranking)
{
    return status == RS_ERR_CANCELLED || status == RS_ERR_USAGE ||
           (status == RS_ERR_AMBIGUOUS && ranking->single_rank);
}

static const rs_error *error_of(const rs_input_answer *answer, rs_error *other)
{
    if (answer->error) return answer->error;
    rs_fail_nomem(other, "run");
    return other;
}

static rs_status fail_as(const rs_input_answer *answer, rs_error *err)
{
    rs_error other = RS_ERROR_INIT;
    *err = *error_of(answer, &other);
    return err->status;
}

/* The files that another input is read instead of, in one line at the first of them. */
static void note_instead(const rs_question *q, size_t at, rs_result *result)
{
    const rs_input_answer *answer = &q->answers[at];
    size_t n = 0;
    for (size_t i = 0; i < q->n_answers; i++) {
        if (!q->answers[i].instead || strcmp(q->answers[i].instead, answer->instead) != 0) continue;
        if (i < at) return;
        n++;
    }
    if (n > 1)
        rs_result_note(result, "skipped: %s and %zu more files, whose run is in %s, too", answer->path, n - 1,
                       answer->instead);
    else
        rs_result_note(result, "skipped: %s, whose run is in %s, too", answer->path, answer->instead);
}

/* Files of a directory that are no traces are named up to here, and counted beyond. */
enum { MAX_NAMED = 5 };

rs_status rs_question_judge(rs_question *q, const rs_ranking *ranking, rs_result *result, rs_error *err)
{
    size_t usable = 0, passed_over = 0;
    const rs_input_answer *first_bad = NULL;
    char line[1024];
    for (size_t i = 0; i < q->n_answers; i++) {
        rs_input_answer *answer = &q->answers[i];
        if (answer->status == RS_OK) {
            usable++;
            rs_problems_move(&result->problems, &answer->problems);
            continue;
        }
        if (rs_status_is_fatal(answer->status, ranking)) return fail_as(answer, err);
        if (!first_bad || (is_no_trace(first_bad) && !is_no_trace(answer))) first_bad = answer;
        rs_error other = RS_ERROR_INIT;
        rs_error_text(error_of(answer, &other), line, sizeof line);
        if (is_no_trace(answer) && answer->instead)
            note_instead(q, i, result);
        else if (is_no_trace(answer) && ++passed_over <= MAX_NAMED)
            rs_result_note(result, "skipped: %s", line);
        else if (is_no_trace(answer))
            continue;
        else
            rs_problems_add_many(&result->problems, answer->path, -1, RS_LOSS, "unusable_file",
                                 "a file could not be used", RS_NO_OFFSET, 1, line);
    }
    if (passed_over > MAX_NAMED)
        rs_result_note(result, "skipped: %zu more files that are no traces", passed_over - MAX_NAMED);
    if (usable) return RS_OK;
    return first_bad ? fail_as(first_bad, err) : rs_fail(err, RS_ERR_FORMAT, "no input files");
}

/* ---- rank numbers ----------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const rs_rank_answer *x = *(rs_rank_answer *const *)a, *y = *(rs_rank_answer *const *)b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static const char *role_of(const rs_question *q, const rs_rank_answer *u)
{
    return q->answers[u->input].role;
}

/* Programs of different roles may each count their ranks from 0: then those of a role come after those of the roles before it, in the
 * order of the inputs. all is in that order. */
static void apart_roles(const rs_question *q, rs_rank_answer **all, size_t n)
{
    bool apart = false;
    for (size_t i = 0; i < n && !apart; i++)
        for (size_t k = 0; k < i && !apart; k++) {
            const char *a = role_of(q, all[i]), *b = role_of(q, all[k]);
            apart = a && b && all[i]->rank == all[k]->rank && strcmp(a, b) != 0;
        }
    int64_t base = 0, next = 0;
    for (size_t i = 0; apart && i < n; i++) {
        const char *role = role_of(q, all[i]);
        bool is_new = role != NULL;
        for (size_t k = 0; role && k < i; k++)
            if (role_of(q, all[k]) && strcmp(role_of(q, all[k]), role) == 0) is_new = false;
        if (!is_new) continue;
        base = next;
        for (size_t k = i; k < n; k++) {
            if (!role_of(q, all[k]) || strcmp(role_of(q, all[k]), role) != 0) continue;
            all[k]->rank = rs_add_sat(all[k]->rank, base);
            if (base) all[k]->rule = "its own number, after the ranks of the roles before";
            if (all[k]->rank >= next) next = rs_add_sat(all[k]->rank, 1);
        }
    }
}

/* Gives every rank its number; RS_ERR_AMBIGUOUS when two claim one. all is in the order of the inputs. */
static rs_status settle_ranks(const rs_question *q, const rs_ranking *ranking, rs_rank_answer **all, size_t n,
                              rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        rs_rank_answer *u = all[i];
        bool merged = u->index > 0 || (i + 1 < n && all[i + 1]->input == u->input);
        u->rank = u->own_rank;
        u->rule = u->own_rule;
        if (ranking->renumber) {
            u->rank = (int64_t)i;
            u->rule = "--renumber";
        } else if (u->rank == RS_NO_VALUE) {
            u->rank = merged ? (int64_t)u->index : (int64_t)i;
            if (!merged) u->rule = n == 1 ? "the only file" : "order of the file names";
        }
    }
    if (ranking->roles && !ranking->renumber) apart_roles(q, all, n);
    if (n) qsort(all, n, sizeof *all, by_rank);
    for (size_t i = 1; i < n; i++) {
        if (all[i]->rank != all[i - 1]->rank) continue;
        return rs_fail(
            err, RS_ERR_AMBIGUOUS,
            "%s and %s both are rank %lld: say which is which as RANK=PATH, or number them by name with "
            "--renumber%s",
            q->answers[all[i - 1]->input].path, q->answers[all[i]->input].path, (long long)all[i]->rank,
            q->records == RS_TAKES(ALLOCATIONS) ? "; two states of one rank are compared by --base" : "");
    }
    return RS_OK;
}

/* None of the ranks that were read is selected. One that memory was missing for may be the one that is meant. */
static rs_status none_left(const rs_question *q, size_t n, rs_error *err)
{
    for (size_t i = 0; i < q->n_answers; i++)
        if (q->answers[i].status == RS_ERR_NOMEM) return rs_fail_nomem(err, "the ranks of --ranks");
    return rs_fail(err, RS_ERR_USAGE, "--ranks selects none of the %zu ranks in the input", n);
}

rs_status rs_question_gather(rs_question *q, const rs_ranking *ranking, unsigned side, rs_partial **partials,
                             size_t *n_partials, rs_error *err)
{
    size_t n = 0, at = 0, kept = *n_partials;
    for (size_t i = 0; i < q->n_answers; i++)
        if (q->answers[i].status == RS_OK) n += q->answers[i].n_ranks;
    RS_LOCAL rs_rank_answer **all = rs_malloc(n * sizeof *all);
    RS_LOCAL const rs_selected **selected = rs_malloc((n + 1) * sizeof *selected);
    rs_partial *grown =
        n < SIZE_MAX / sizeof *grown - kept ? rs_realloc(*partials, (kept + n + 1) * sizeof *grown) : NULL;
    if (grown) *partials = grown;
    rs_status status = RS_OK;
    if (!all || !grown || !selected) status = rs_fail_nomem(err, "results");
    if (status == RS_OK) {
        for (size_t i = 0; i < q->n_answers; i++)
            for (size_t k = 0; q->answers[i].status == RS_OK && k < q->answers[i].n_ranks; k++)
                all[at++] = &q->answers[i].ranks[k];
        status = settle_ranks(q, ranking, all, n, err);
    }
    if (status == RS_OK) {
        for (size_t i = 0; i < n; i++) {
            if (!rs_ranking_wants(ranking, all[i]->rank)) continue;
            selected[kept - *n_partials] = &all[i]->selected;
            q->n_repeated += all[i]->selected.steps_by == RS_STEPS_REPETITION;
            grown[kept++] = (rs_partial){.rank = all[i]->rank,
                                         .value = all[i]->at->partial,
                                         .first = all[i]->begin,
                                         .source = q->answers[all[i]->input].path,
                                         .role = q->answers[all[i]->input].role,
                                         .rank_rule = all[i]->rule,
                                         .domain_rule = q->answers[all[i]->input].domain_rule,
                                         .side = side};
        }
        if (kept == *n_partials) status = none_left(q, n, err);
        bool judged = q->judges_window && !ranking->settings->steps;
        if (status == RS_OK && !judged)
            status = rs_selected_judge(selected, kept - *n_partials, ranking->settings, err);
        *n_partials = kept;
    }
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

#define MANY_ABSENT 4 /* from so many ranks on they are told in one line */

/* "ranks 0-3, 8: no GPU work" of ranks without a partial, which come in ascending order. */
static void note_absent(const rs_partial *partials, size_t n, const char *why, rs_result *result)
{
    char list[160];
    size_t used = 0, absent = 0, listed = 0;
    for (size_t i = 0; i < n; i++) absent += !partials[i].value;
    for (size_t i = 0; i < n && used < sizeof list - 48; i++) {
        if (partials[i].value) continue;
        size_t first = i;
        while (i + 1 < n && !partials[i + 1].value && partials[i + 1].rank == partials[i].rank + 1) i++;
        listed += i - first + 1;
        used +=
            (size_t)snprintf(list + used, sizeof list - used, i > first ? "%s%lld-%lld" : "%s%lld",
                             used ? ", " : "", (long long)partials[first].rank, (long long)partials[i].rank);
    }
    if (listed < absent)
        rs_result_note(result, "ranks %s and %zu more: %s", list, absent - listed, why);
    else
        rs_result_note(result, "ranks %s: %s", list, why);
}

/* Ranks that have nothing to say are told of and left out. Returns how many are left. */
static size_t leave_out_absent(const rs_method *how, rs_partial *partials, size_t n, rs_result *result)
{
    size_t kept = 0, absent = 0;
    for (size_t i = 0; i < n; i++) absent += !partials[i].value;
    if (how->absent && absent >= MANY_ABSENT) note_absent(partials, n, how->absent, result);
    for (size_t i = 0; i < n; i++) {
        if (partials[i].value)
            partials[kept++] = partials[i];
        else if (how->absent && absent < MANY_ABSENT)
            rs_result_note(result, "rank %lld: %s", (long long)partials[i].rank, how->absent);
    }
    return kept;
}

/* What is not annotated is an inference, and the reader is to know that. */
static void tell_steps(rs_question *const *sides, unsigned n_sides, rs_result *result)
{
    size_t n = 0;
    for (unsigned i = 0; i < n_sides; i++) n += sides[i]->n_repeated;
    if (n)
        rs_result_note(
            result,
            "steps of %zu rank%s: no annotation marks them (ProfilerStep#N); they are detected from the "
            "repetition of the GPU work",
            n, n == 1 ? "" : "s");
}

/* Whether one of the facets needs the classes of GPU work. */
static bool use_classes(const rs_facet *const *facets, size_t n)
{
    for (size_t i = 0; i < n && facets[i]; i++)
        if (facets[i] == &rs_facet_classes || use_classes(facets[i]->needs, RS_FACET_NEEDS)) return true;
    return false;
}

static void note_classes(const rs_question *q, rs_result *result)
{
    char rules[120];
    size_t n = 1, used = 0;
    if (!q->classes || !*q->classes || !use_classes(q->analysis->facets, RS_FACET_NEEDS)) return;
    for (const char *c = q->classes; *c; c++) {
        n += *c == '\n';
        if (used + 1 < sizeof rules) rules[used++] = *c == '\n' ? ' ' : *c;
    }
    rules[used] = '\0';
    rs_result_note(result, "classes of GPU work by %zu rule%s of --class: %s%s", n, n == 1 ? "" : "s", rules,
                   used + 1 < sizeof rules ? "" : "...");
}

rs_status rs_question_answer(rs_question *const *sides, const rs_ranking *const *rankings, unsigned n_sides,
                             rs_result *result, rs_error *err)
{
    RS_LOCAL rs_partial *partials = NULL;
    size_t n_partials = 0;
    rs_status status = RS_OK;
    for (unsigned i = 0; status == RS_OK && i < n_sides; i++)
        status = rs_question_gather(sides[i], rankings[i], i, &partials, &n_partials, err);
    if (status == RS_OK) status = rs_question_tables(sides[0], result, err);
    if (status == RS_OK) tell_steps(sides, n_sides, result);
    if (status == RS_OK) note_classes(sides[0], result);
    sides[0]->run.origin = find_origin(&sides[0]->run, partials, n_partials);
    size_t n_ranks = n_partials;
    if (status == RS_OK) n_partials = leave_out_absent(&sides[0]->how, partials, n_partials, result);
    sides[0]->run.n_absent = n_ranks - n_partials;
    if (status == RS_OK) status = sides[0]->how.merge(&sides[0]->run, partials, n_partials, result, err);
    for (size_t i = 0; status == RS_OK && i < result->n_tables; i++)
        if (!rs_table_has_origin(result->tables[i]))
            rs_table_count_from(result->tables[i], sides[0]->run.origin);
    return status;
}
