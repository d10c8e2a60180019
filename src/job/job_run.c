/* A run: each input is loaded once, every question is put to its ranks, the events go, the answers stay. */
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/problems.h"
#include "job/job_internal.h"
#include "job/partial.h"

/* Errors of inputs, which several questions may share; few inputs have one. */
typedef struct kept_error {
    struct kept_error *next;
    rs_error error;
} kept_error;

/* One job and what is asked of it. */
typedef struct run_side {
    rs_job *job;
    rs_ranking ranking;
    rs_question *questions;
    rs_question *trimmed; /* rs_job_map only: the same, trimming every rank, for inputs that may need it */
    size_t n;
    kept_error *errors;

    /* of the pass over the inputs that goes on */
    uint64_t columns;    /* of all questions that are due */
    _Atomic size_t next; /* the input to take */
    unsigned threads_each;
} run_side;

static const rs_error *keep_error(run_side *s, const rs_error *err)
{
    kept_error *kept = rs_malloc(sizeof *kept);
    if (!kept) return NULL;
    kept->error = *err;
    pthread_mutex_lock(&s->job->lock);
    kept->next = s->errors;
    s->errors = kept;
    pthread_mutex_unlock(&s->job->lock);
    return &kept->error;
}

/* ---- one input -------------------------------------------------------------------------------------- */

/* What a file says of its rank before others are known: its own word, then its name. */
static int64_t own_rank(const rs_input *input, const rs_trace *t, const char **rule)
{
    if (input->given_rank != RS_NO_VALUE && input->n_traces == 1) {
        *rule = "given on the command line";
        return input->given_rank;
    }
    if (t->rank != RS_NO_VALUE) {
        *rule = "named by the events";
        return t->rank;
    }
    if (input->n_traces > 1) {
        *rule = "order of the launching processes in the merged file";
        return RS_NO_VALUE;
    }
    if (t->events->info.rank != RS_NO_VALUE && t->events->info.rank >= 0) {
        *rule = "distributedInfo.rank";
        return t->events->info.rank;
    }
    int64_t named = rs_rank_in_name(input->path);
    *rule = "the file's name";
    return named;
}

/* Puts one question to every rank of a loaded input. */
static rs_status ask_ranks(run_side *s, const rs_question *q, rs_input *input, size_t at, rs_share *share,
                           rs_error *err)
{
    share->units = rs_calloc(input->n_traces, sizeof *share->units);
    if (!share->units) return rs_fail_nomem(err, "results");
    for (size_t k = 0; k < input->n_traces; k++) {
        rs_trace *t = &input->traces[k];
        rs_rank_part *u = &share->units[share->n_units++];
        u->share = at;
        u->index = k;
        u->rank = own_rank(input, t, &u->rule);
        u->first = RS_NO_TIME;
        bool wanted = s->ranking.renumber || u->rank == RS_NO_VALUE ||
                      rs_options_in_ranges(s->ranking.wanted, "ranks", u->rank);
        if (!wanted) continue;
        rs_status looked = rs_trace_look(t, &u->selected, err);
        if (looked != RS_OK) return looked;
        t->problems = &share->problems;
        int64_t last;
        rs_status status = q->moments ? rs_trace_span(t, &u->first, &last, err) : RS_OK;
        if (status == RS_OK) status = q->analysis->rank(&q->run, t, &u->value, err);
        t->problems = &input->problems;
        if (status != RS_OK) {
            /* a wrong option is wrong for every file */
            if (status != RS_ERR_USAGE) rs_error_wrap(err, "%s", input->path);
            return status;
        }
    }
    return RS_OK;
}

static double index_seconds(const rs_input *input)
{
    double sum = 0;
    for (size_t k = 0; k < input->n_traces; k++) sum += input->traces[k].index_seconds;
    return sum;
}

/* Puts one question to a loaded input. */
static void ask_input(run_side *s, rs_question *q, size_t i)
{
    rs_job *job = s->job;
    rs_input *input = &job->inputs[i];
    rs_share *share = &q->shares[i];
    rs_error err = RS_ERROR_INIT;
    if (!rs_job_goes_on(job)) {
        share->status = rs_fail(&err, RS_ERR_CANCELLED, "interrupted");
    } else {
        rs_problems_view(&share->problems, &input->problems,
                         rs_input_columns(job, input, q->analysis->columns));
        share->status = ask_ranks(s, q, input, i, share, &err);
    }
    if (share->status == RS_OK) return;
    rs_question_clear_share(q, share);
    share->error = keep_error(s, &err);
}

/* Whether HTA's rule over all ranks, once they are together, may ask this input again. */
static bool may_be_trimmed(const rs_question *q, const rs_share *share)
{
    for (size_t k = 0; k < share->n_units; k++) {
        const void *value = share->units[k].value;
        if (value && q->analysis->steps_seen(value).n < 2) return true;
    }
    return share->status != RS_OK;
}

/* All questions that are due, to one input. */
static void run_input(run_side *s, size_t i)
{
    rs_job *job = s->job;
    rs_input *input = &job->inputs[i];
    rs_error err = RS_ERROR_INIT;
    rs_status loaded = rs_input_load(job, input, s->columns, s->threads_each, &err);
    const rs_error *load_error = NULL;
    if (loaded != RS_OK) {
        if (err.n_causes && !err.causes[0].file[0]) rs_error_wrap(&err, "%s", input->path);
        load_error = keep_error(s, &err);
    }
    double begin = rs_clock_seconds(), shared = -index_seconds(input);
    for (size_t k = 0; k < s->n; k++) {
        rs_question *q = &s->questions[k];
        if (!q->due) continue;
        const rs_share fresh = {.path = input->path,
                                .domain_rule = input->domain_rule,
                                .from_directory = input->from_directory,
                                .instead = input->instead,
                                .status = loaded,
                                .error = load_error};
        q->shares[i] = fresh;
        if (loaded != RS_OK) continue;
        ask_input(s, q, i);
        rs_question *trimmed = s->trimmed ? &s->trimmed[k] : NULL;
        if (!trimmed || !trimmed->shares || !may_be_trimmed(q, &q->shares[i])) continue;
        trimmed->shares[i] = fresh;
        ask_input(s, trimmed, i);
    }
    shared += index_seconds(input);
    double spent = rs_clock_seconds() - begin;
    pthread_mutex_lock(&job->lock);
    job->stats.index_seconds += shared;
    job->stats.analysis_seconds += spent - shared;
    pthread_mutex_unlock(&job->lock);
    rs_input_keep(job, input);
}

/* ---- all inputs ------------------------------------------------------------------------------------- */

static void *worker(void *context)
{
    run_side *s = context;
    for (;;) {
        size_t i = atomic_fetch_add(&s->next, 1);
        if (i >= s->job->n_inputs) return NULL;
        run_input(s, i);
    }
}

static void pass_over_inputs(run_side *s)
{
    enum { MAX_WORKERS = 256 };
    pthread_t threads[MAX_WORKERS];
    size_t jobs = s->job->settings.jobs, n = s->job->n_inputs;
    size_t n_workers = jobs < n ? jobs : n;
    if (n_workers > MAX_WORKERS) n_workers = MAX_WORKERS;
    s->threads_each = n_workers ? (unsigned)(jobs / n_workers) : 1;
    s->next = 0;
    s->columns = 0;
    for (size_t k = 0; k < s->n; k++)
        if (s->questions[k].due) s->columns |= s->questions[k].analysis->columns;
    rs_job_find_origin(s->job, s->columns);
    size_t started = 0;
    for (; started + 1 < n_workers; started++)
        if (pthread_create(&threads[started], NULL, worker, s) != 0) break;
    worker(s);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* HTA trims every rank as soon as the ranks together show two steps: where some saw fewer, all are asked
 * again.
 */
static bool ask_again(run_side *s)
{
    bool any = false;
    for (size_t k = 0; k < s->n; k++) {
        rs_question *q = &s->questions[k];
        q->due = q->due && rs_question_must_trim(q);
        if (!q->due) continue;
        for (size_t i = 0; i < q->n_shares; i++) rs_question_clear_share(q, &q->shares[i]);
        q->policy.force_trim = true;
        any = true;
    }
    return any;
}

static rs_status begin_side(run_side *s, rs_job *job, const rs_query *queries, size_t n, void *context,
                            rs_error *err)
{
    s->job = job;
    pthread_mutex_lock(&job->lock);
    job->cancelled = false;
    job->bytes_done = 0;
    pthread_mutex_unlock(&job->lock);
    rs_status status = rs_ranking_init(&s->ranking, &job->settings, err);
    if (status != RS_OK) return status;
    s->questions = rs_calloc(n, sizeof *s->questions);
    if (!s->questions && n) return rs_fail_nomem(err, "run");
    for (s->n = 0; status == RS_OK && s->n < n; s->n++)
        status = rs_question_init(&s->questions[s->n], &queries[s->n], &job->settings, context, err);
    return status;
}

static void end_side(run_side *s)
{
    for (size_t k = 0; k < s->n; k++) {
        rs_question_clear(&s->questions[k]);
        if (s->trimmed) rs_question_clear(&s->trimmed[k]);
    }
    rs_free(s->questions);
    rs_free(s->trimmed);
    rs_ranking_clear(&s->ranking);
    while (s->errors) {
        kept_error *next = s->errors->next;
        rs_free(s->errors);
        s->errors = next;
    }
}

/* ---- one job, or two -------------------------------------------------------------------------------- */

/* An analysis of something that is no trace. */
static rs_status run_file(const rs_job *job, const rs_question *q, rs_result *result, rs_error *err)
{
    if (job->n_inputs != 1)
        return rs_fail(err, RS_ERR_USAGE, "%s takes one file, not %zu", q->analysis->name, job->n_inputs);
    const rs_input *input = &job->inputs[0];
    rs_source *source;
    rs_status status = input->bytes ? rs_source_open_bytes(input->bytes, input->n_bytes, input->path,
                                                           job->settings.max_ratio, &source, err)
                                    : rs_source_open(input->path, job->settings.max_ratio, &source, err);
    if (status != RS_OK) return status;
    status = rs_question_tables(q, result, err);
    if (status == RS_OK) status = q->analysis->file(&q->run, source, result, err);
    rs_source_close(source);
    return status;
}

/* The state of one query on its way to a result. */
typedef struct outcome {
    rs_status status;
    rs_error error;
} outcome;

static void settle(outcome *o, rs_status status, const rs_error *err)
{
    o->status = status;
    if (status != RS_OK) o->error = *err;
}

/* Asks one job all that is still to be asked. */
static void run_side_of(run_side *s, outcome *outcomes, rs_result *results)
{
    bool any = false;
    for (size_t k = 0; k < s->n; k++) {
        rs_question *q = &s->questions[k];
        rs_error err = RS_ERROR_INIT;
        if (q->analysis->file || outcomes[k].status != RS_OK) continue;
        settle(&outcomes[k], rs_question_reserve(q, s->job->n_inputs, &err), &err);
        q->due = outcomes[k].status == RS_OK;
        any |= q->due;
    }
    if (any) pass_over_inputs(s);
    if (any && ask_again(s)) pass_over_inputs(s);
    for (size_t k = 0; k < s->n; k++) {
        rs_error err = RS_ERROR_INIT;
        if (s->questions[k].analysis->file || outcomes[k].status != RS_OK) continue;
        settle(&outcomes[k],
               s->job->cancelled ? rs_fail(&err, RS_ERR_CANCELLED, "interrupted")
                                 : rs_question_judge(&s->questions[k], &s->ranking, &results[k], &err),
               &err);
    }
}

static void answer(run_side *sides, unsigned n_sides, size_t k, outcome *o, rs_result *result)
{
    rs_question *questions[2] = {NULL, NULL};
    const rs_ranking *rankings[2] = {NULL, NULL};
    rs_error err = RS_ERROR_INIT;
    for (unsigned i = 0; i < n_sides; i++) {
        questions[i] = &sides[i].questions[k];
        rankings[i] = &sides[i].ranking;
    }
    settle(o,
           questions[0]->analysis->file ? run_file(sides[0].job, questions[0], result, &err)
                                        : rs_question_answer(questions, rankings, n_sides, result, &err),
           &err);
    for (unsigned i = 0; i < n_sides; i++) rs_question_clear(questions[i]); /* before the next one's tables */
}

static rs_status run_queries(rs_job *const *jobs, unsigned n_jobs, const rs_query *queries, size_t n,
                             void *context, rs_result *results, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    if (!err) err = &local;
    for (size_t k = 0; k < n; k++) results[k] = (rs_result){0};
    run_side sides[2] = {{0}};
    outcome *outcomes = rs_calloc(n, sizeof *outcomes);
    rs_status status = outcomes || !n ? RS_OK : rs_fail_nomem(err, "run");
    for (unsigned i = 0; status == RS_OK && i < n_jobs; i++)
        status = begin_side(&sides[i], jobs[i], queries, n, context, err);
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        const rs_analysis *a = queries[k].analysis;
        if (n_jobs != (a->two_sided ? 2u : 1u))
            outcomes[k].status = rs_fail(&outcomes[k].error, RS_ERR_USAGE, "%s %s", a->name,
                                         a->two_sided ? "compares two jobs" : "takes one job");
        for (unsigned i = 0; outcomes[k].status == RS_OK && i < n_jobs; i++)
            outcomes[k].status = rs_analysis_can_follow(a, &jobs[i]->settings, &outcomes[k].error);
    }
    for (unsigned i = 0; status == RS_OK && i < n_jobs; i++) run_side_of(&sides[i], outcomes, results);
    size_t failed = n;
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        if (outcomes[k].status == RS_OK) answer(sides, n_jobs, k, &outcomes[k], &results[k]);
        if (outcomes[k].status == RS_OK) continue;
        rs_result_drop_tables(&results[k]);
        if (failed == n) failed = k;
    }
    if (failed < n) {
        status = outcomes[failed].status;
        *err = outcomes[failed].error;
        if (n > 1) rs_error_wrap(err, "%s", queries[failed].analysis->name);
    }
    for (unsigned i = 0; i < n_jobs; i++) end_side(&sides[i]);
    rs_free(outcomes);
    return status;
}

/* ---- packed ----------------------------------------------------------------------------------------- */

/* What would fail a run over these inputs whatever other machines say. */
static rs_status fail_early(const run_side *s, rs_error *err)
{
    for (size_t k = 0; k < s->n; k++) {
        for (size_t i = 0; i < s->questions[k].n_shares; i++) {
            const rs_share *share = &s->questions[k].shares[i];
            if (!rs_share_is_fatal(share, &s->ranking)) continue;
            if (share->error)
                *err = *share->error;
            else
                rs_fail_nomem(err, "run");
            if (s->n > 1) rs_error_wrap(err, "%s", s->questions[k].analysis->name);
            return err->status;
        }
    }
    return s->job->cancelled ? rs_fail(err, RS_ERR_CANCELLED, "interrupted") : RS_OK;
}

static rs_status begin_trimmed(run_side *s, const rs_query *queries, rs_error *err)
{
    s->trimmed = rs_calloc(s->n, sizeof *s->trimmed);
    if (!s->trimmed && s->n) return rs_fail_nomem(err, "run");
    for (size_t k = 0; k < s->n; k++) {
        rs_question *q = &s->questions[k];
        rs_status status = rs_question_reserve(q, s->job->n_inputs, err);
        q->due = true;
        if (status == RS_OK && q->policy.trim_steps && q->analysis->steps_seen) {
            status = rs_question_init(&s->trimmed[k], &queries[k], &s->job->settings, NULL, err);
            s->trimmed[k].policy.force_trim = true;
            if (status == RS_OK) status = rs_question_reserve(&s->trimmed[k], s->job->n_inputs, err);
        }
        if (status != RS_OK) return status;
    }
    return RS_OK;
}

bool rs_analysis_can_map(const rs_analysis *analysis)
{
    return analysis->partial_layout != NULL;
}

rs_status rs_job_map(rs_job *job, const rs_query *queries, size_t n, rs_bytes *out, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    if (!err) err = &local;
    *out = (rs_bytes){0};
    for (size_t k = 0; k < n; k++) {
        size_t n_tables;
        if (!rs_analysis_can_map(queries[k].analysis))
            return rs_fail(err, RS_ERR_USAGE, "%s cannot be mapped: its partial results do not travel",
                           queries[k].analysis->name);
        if (!rs_analysis_tables(queries[k].analysis, queries[k].compat, &n_tables))
            return rs_fail(err, RS_ERR_USAGE, "%s cannot imitate that peer", queries[k].analysis->name);
        rs_status follows = rs_analysis_can_follow(queries[k].analysis, &job->settings, err);
        if (follows != RS_OK) return follows;
    }
    if (job->selection.by_window)
        return rs_fail(err, RS_ERR_USAGE,
                       "a window counts from the job's first event, which a part of the job "
                       "does not know: give --steps, or analyse all ranks in one place");
    run_side side = {0};
    rs_status status = begin_side(&side, job, queries, n, NULL, err);
    if (status == RS_OK) status = begin_trimmed(&side, queries, err);
    if (status == RS_OK) {
        pass_over_inputs(&side);
        status = fail_early(&side, err);
    }
    if (status == RS_OK) status = rs_partials_write(job, side.questions, side.trimmed, n, out, err);
    end_side(&side);
    return status;
}

/* ---- the calls -------------------------------------------------------------------------------------- */

rs_status rs_job_run(rs_job *job, const rs_analysis *analysis, const rs_options *options, rs_compat compat,
                     rs_result *result, rs_error *err)
{
    return run_queries(&job, 1, &(rs_query){analysis, options, compat}, 1, NULL, result, err);
}

rs_status rs_job_run_many(rs_job *job, const rs_query *queries, size_t n, rs_result *results, rs_error *err)
{
    return run_queries(&job, 1, queries, n, NULL, results, err);
}

rs_status rs_job_run_pair(rs_job *a, rs_job *b, const rs_analysis *analysis, const rs_options *options,
                          rs_compat compat, rs_result *result, rs_error *err)
{
    return run_queries((rs_job *const[]){a, b}, 2, &(rs_query){analysis, options, compat}, 1, NULL, result,
                       err);
}

rs_status rs_job_run_with(rs_job *job, const rs_analysis *analysis, const rs_options *options, void *context,
                          rs_result *result, rs_error *err)
{
    return run_queries(&job, 1, &(rs_query){analysis, options, RS_COMPAT_NONE}, 1, context, result, err);
}
