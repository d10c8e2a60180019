/* A run: each input is loaded once, every question is put to its ranks, the events go, the answers stay. */
#include <string.h>

#include "base/clock.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/problems.h"
#include "base/try.h"
#include "base/workers.h"
#include "job/job.h"
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
    size_t n;
    size_t n_foreseen; /* how many values that ranks may agree on are followed in the same load */
    kept_error *errors;

    /* of the pass over the inputs that goes on */
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

/* The arguments that a question reads. */
static uint64_t columns_of(const rs_question *q)
{
    const rs_analysis *a = q->analysis;
    uint64_t columns = rs_analysis_columns(a) | (a->more_columns ? a->more_columns(q->run.options) : 0);
    return q->run.policy->work ? columns | RS_USUAL_COLUMNS : columns;
}

/* ---- one input -------------------------------------------------------------------------------------- */

static rs_status ask_from(run_side *s, const rs_question *q, const rs_run *run, size_t round, rs_trace *t,
                          rs_answer *answer, rs_error *err);

/* A rank in this round, should the round before come to that. A failure is kept with the answer: it counts
 * when it does. */
static rs_status ask_under(run_side *s, const rs_question *q, const rs_run *before, const void *agreed,
                           size_t round, rs_trace *t, rs_answer *answer, rs_error *err)
{
    const rs_rank_round *last = &q->how.rounds[round - 1];
    rs_policy policy = *before->policy;
    rs_run run = *before;
    rs_answer *next;
    rs_error one = RS_ERROR_INIT;
    run.policy = &policy;
    run.agreed = agreed;
    if (last->adopt) last->adopt(agreed, &policy);
    RS_TRY(rs_answer_add(answer, last->agreed_layout, agreed, &next, err));
    next->status = ask_from(s, q, &run, round, t, next, &one);
    if (next->status == RS_OK) return RS_OK;
    if (next->status != RS_ERR_USAGE) rs_error_wrap(&one, "%s", t->file);
    next->error = keep_error(s, &one);
    return RS_OK;
}

/* One round, and those after it as far as it is known or foreseen what the rank will be told. */
static rs_status ask_from(run_side *s, const rs_question *q, const rs_run *run, size_t round, rs_trace *t,
                          rs_answer *answer, rs_error *err)
{
    if (round == q->how.n_rounds) return q->how.rank(run, t, &answer->partial, err);
    const rs_rank_round *r = &q->how.rounds[round];
    rs_status status = r->rank(run, t, &answer->partial, err);
    if (status == RS_OK && round < q->told.n)
        return ask_under(s, q, run, q->told.values[round].value, round + 1, t, answer, err);
    for (size_t i = 0; status == RS_OK && r->foresee && i < s->n_foreseen; i++) {
        void *agreed = NULL;
        status = r->foresee(answer->partial, i, &agreed, err);
        if (status != RS_OK || !agreed) break;
        status = ask_under(s, q, run, agreed, round + 1, t, answer, err);
        r->free_agreed(agreed);
    }
    return status;
}

/* When the rank was recorded, where another file might hold more of it. */
static rs_status note_times(const run_side *s, rs_trace *t, rs_rank_answer *u, rs_error *err)
{
    u->from = u->until = RS_NO_TIME;
    if (s->job->n_inputs < 2 || s->ranking.renumber || t->events->other.columns) return RS_OK;
    rs_status status = rs_trace_span(t, &u->from, &u->until, err);
    int64_t base = t->events->info.base_time_ns;
    if (status != RS_OK || u->from == RS_NO_TIME || base == RS_NO_VALUE) return status;
    u->from = rs_add_sat(u->from, base);
    u->until = rs_add_sat(u->until, base);
    return RS_OK;
}

/* Whether a question is about steps: its row asks for them, or steps are selected. */
static bool is_about_steps(const rs_question *q, const rs_trace *t)
{
    if (q->run.compat != RS_COMPAT_NONE) return false;
    if (t->selection && t->selection->by_step) return true;
    for (size_t i = 0; i < RS_FACET_NEEDS && q->analysis->facets[i]; i++)
        if (q->analysis->facets[i] == &rs_facet_steps) return true;
    return false;
}

/* Puts the first round of a question to every rank of a loaded input. */
static rs_status ask_ranks(run_side *s, const rs_question *q, rs_input *input, size_t at,
                           rs_input_answer *answer, rs_error *err)
{
    answer->ranks = rs_calloc(input->n_traces, sizeof *answer->ranks);
    if (!answer->ranks) return rs_fail_nomem(err, "results");
    for (size_t k = 0; k < input->n_traces; k++) {
        rs_trace *t = &input->traces[k];
        rs_rank_answer *u = &answer->ranks[answer->n_ranks++];
        u->input = at;
        u->index = k;
        u->at = &u->first;
        u->begin = RS_NO_TIME;
        u->own_rank = rs_input_rank(input, t, &u->own_rule);
        u->asked = rs_ranking_may_want(&s->ranking, u->own_rank);
        rs_status timed = note_times(s, t, u, err);
        if (timed != RS_OK) return timed;
        if (!u->asked) continue;
        rs_status looked = rs_trace_look(t, &u->selected, err);
        if (looked == RS_OK && is_about_steps(q, t))
            looked = rs_trace_step_source(t, &u->selected.steps_by, err);
        if (looked != RS_OK) return looked;
        t->problems = &answer->problems;
        int64_t last;
        rs_status status = q->moments ? rs_trace_span(t, &u->begin, &last, err) : RS_OK;
        if (status == RS_OK) status = ask_from(s, q, &q->run, 0, t, &u->first, err);
        t->problems = &input->problems;
        if (status != RS_OK) {
            /* a wrong option is wrong for every file */
            if (status != RS_ERR_USAGE) rs_error_wrap(err, "%s", input->path);
            return status;
        }
    }
    return RS_OK;
}

/* Tells the ranks what was agreed on and they did not foresee. */
static rs_status ask_again(run_side *s, const rs_question *q, rs_input *input, rs_input_answer *answer,
                           rs_error *err)
{
    if (input->n_traces != answer->n_ranks)
        return rs_fail_at(err, RS_ERR_FORMAT, input->path, RS_NO_OFFSET,
                          "has changed while it was read: it held %zu ranks, now %zu", answer->n_ranks,
                          input->n_traces);
    for (size_t k = 0; k < input->n_traces; k++) {
        rs_trace *t = &input->traces[k];
        rs_rank_answer *u = &answer->ranks[k];
        if (!u->behind) continue;
        t->problems = &answer->problems;
        rs_status status = ask_under(s, q, &q->run, q->agreed[q->round - 1].value, q->round, t, u->at, err);
        t->problems = &input->problems;
        if (status != RS_OK) return status;
        rs_answer_take(answer, u, &u->at->next[u->at->n_next - 1]);
    }
    return RS_OK;
}

static double index_seconds(const rs_input *input)
{
    double sum = 0;
    for (size_t k = 0; k < input->n_traces; k++) sum += input->traces[k].index_seconds;
    return sum;
}

/* Whether a question that is due is so for this input. */
static bool is_due(const rs_question *q, const rs_input_answer *answer)
{
    if (!q->due) return false;
    if (!answer->path) return true;
    bool behind = false;
    for (size_t k = 0; k < answer->n_ranks; k++) behind |= answer->ranks[k].behind;
    return answer->status == RS_OK && behind;
}

/* Whether a question reads the kind of recording that was loaded, maybe for another one. */
static bool reads(const rs_question *q, const rs_input *input, rs_error *err)
{
    const rs_format *format = input->events->format;
    return !format || rs_format_refuses(format, q->records, input->path, NULL, 0, err) == RS_OK;
}

/* Puts one question to an input that was loaded, or not. */
static void ask_input(run_side *s, rs_question *q, size_t i, rs_status loaded, const rs_error *load_error)
{
    rs_job *job = s->job;
    rs_input *input = &job->inputs[i];
    rs_input_answer *answer = &q->answers[i];
    bool first = !answer->path;
    rs_error err = RS_ERROR_INIT;
    answer->path = input->path;
    answer->role = input->role;
    answer->from_directory = input->from_directory;
    answer->instead = input->instead;
    if (loaded != RS_OK) {
        answer->status = loaded;
        answer->error = load_error;
        return;
    }
    answer->domain_rule = input->domain_rule;
    rs_status status;
    if (!rs_job_goes_on(job)) {
        status = rs_fail(&err, RS_ERR_CANCELLED, "interrupted");
    } else if (!reads(q, input, &err)) {
        status = err.status;
    } else if (first) {
        rs_problems_view(&answer->problems, &input->problems, rs_input_columns(job, input, columns_of(q)));
        status = ask_ranks(s, q, input, i, answer, &err);
    } else {
        status = ask_again(s, q, input, answer, &err);
    }
    if (status == RS_OK) return;
    rs_question_clear_input(q, answer);
    answer->status = status;
    answer->error = keep_error(s, &err);
}

static bool is_asked(const rs_question *q, size_t i)
{
    return q->due && q->answers[i].asked;
}

/* Loads an input and puts the questions to it that it is asked. */
static void ask_all(run_side *s, size_t i, uint64_t columns)
{
    rs_job *job = s->job;
    rs_input *input = &job->inputs[i];
    rs_error err = RS_ERROR_INIT;
    rs_status loaded = rs_input_load(job, input, columns, s->threads_each, &err);
    const rs_error *load_error = NULL;
    if (loaded != RS_OK) {
        if (err.n_causes && !err.causes[0].file[0]) rs_error_wrap(&err, "%s", input->path);
        load_error = keep_error(s, &err);
    }
    double begin = rs_clock_seconds(), shared = -index_seconds(input);
    for (size_t k = 0; k < s->n; k++)
        if (is_asked(&s->questions[k], i)) ask_input(s, &s->questions[k], i, loaded, load_error);
    shared += index_seconds(input);
    double spent = rs_clock_seconds() - begin;
    pthread_mutex_lock(&job->lock);
    job->stats.index_seconds += shared;
    job->stats.analysis_seconds += spent - shared;
    pthread_mutex_unlock(&job->lock);
}

/* All questions that are due, to one input: from the store what is there, the rest of one load. */
static void run_input(run_side *s, size_t i)
{
    rs_job *job = s->job;
    rs_input *input = &job->inputs[i];
    rs_input_stamps stamps;
    uint64_t columns = 0;
    bool due = false;
    rs_input_stamps_take(job, &s->ranking, input, s->n_foreseen > 1, &stamps);
    for (size_t k = 0; k < s->n; k++) {
        rs_question *q = &s->questions[k];
        if (!q->due) continue;
        rs_input_answer *answer = &q->answers[i];
        bool other = input->records && !(input->records & q->records); /* which loading it says */
        answer->asked = is_due(q, answer) &&
                        (answer->path || other || !rs_answer_fetch(job, q, &s->ranking, i, &stamps, answer));
        if (!answer->asked) continue;
        columns |= columns_of(q);
        due = true;
    }
    if (due) ask_all(s, i, columns);
    for (size_t k = 0; due && k < s->n; k++)
        if (is_asked(&s->questions[k], i))
            rs_answer_keep(job, &s->questions[k], i, &stamps, &s->questions[k].answers[i]);
    if (due) rs_stored_input_keep(input);
    if (due) rs_input_keep(job, input);
    rs_input_stamps_clear(&stamps);
}

/* ---- all inputs ------------------------------------------------------------------------------------- */

static rs_status run_item(void *context, size_t item, unsigned worker, rs_error *err)
{
    (void)worker;
    (void)err;
    run_input(context, item); /* what fails is kept with the input's answers */
    return RS_OK;
}

static void pass_over_inputs(run_side *s)
{
    size_t jobs = s->job->settings.jobs, n = s->job->n_inputs;
    uint64_t columns = 0;
    s->threads_each = (unsigned)(jobs / rs_workers_count(n, jobs));
    if (!s->threads_each) s->threads_each = 1;
    s->job->records = 0;
    s->job->wants_origin = false;
    for (size_t k = 0; k < s->n; k++) {
        if (!s->questions[k].due) continue;
        s->job->wants_origin |= rs_question_wants_origin(&s->questions[k]);
        columns |= columns_of(&s->questions[k]);
        s->job->records |= s->questions[k].records;
    }
    rs_job_find_origin(s->job, columns);
    rs_workers_run(n, jobs, run_item, s, NULL);
}

/* What each file is a recording of, by its first bytes. Standard input, which cannot be looked at beforehand, and what
 * cannot be opened stay unknown. */
static void look_at_records(rs_job *job)
{
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_input *input = &job->inputs[i];
        rs_source *source;
        const uint8_t *head;
        size_t n;
        if (input->records || input->instead || rs_input_is_stdin(input) || input->n_parts ||
            input->n_recordings)
            continue;
        if (rs_input_open(job, input, &source, NULL) != RS_OK) continue;
        if (rs_source_peek(source, RS_SOURCE_PEEK, &head, &n, NULL) == RS_OK)
            input->records = 1u << rs_format_of_text(head, n)->records;
        rs_source_close(source);
    }
}

/* The kinds of recording that an analysis reads of a job: of one that holds allocations, only these. side: of a job
 * that an option names. */
static unsigned choose_records(rs_job *job, const rs_analysis *analysis, const rs_side_option *side)
{
    unsigned takes = side ? side->takes : analysis->takes ? analysis->takes : RS_TAKES(EVENTS);
    if (!(takes & RS_TAKES(ALLOCATIONS)) || takes == RS_TAKES(ALLOCATIONS)) return takes;
    look_at_records(job);
    for (size_t i = 0; i < job->n_inputs; i++)
        if (job->inputs[i].records == RS_TAKES(ALLOCATIONS)) return RS_TAKES(ALLOCATIONS);
    return takes;
}

/* Whether the job is one file that the analysis reads itself. Standard input cannot be looked at beforehand:
 * it is one. */
bool rs_job_is_for_file(const rs_job *job, const rs_analysis *analysis)
{
    rs_source *source;
    const uint8_t *head;
    size_t n;
    if (!analysis->file || !analysis->file_is) return analysis->file != NULL;
    if (job->n_inputs != 1) return false;
    if (rs_input_is_stdin(&job->inputs[0])) return true;
    if (rs_input_open(job, &job->inputs[0], &source, NULL) != RS_OK) return false;
    bool is = rs_source_peek(source, RS_SOURCE_PEEK, &head, &n, NULL) == RS_OK && analysis->file_is(head, n);
    rs_source_close(source);
    return is;
}

/* side: which option named the job; NULL: it is the one that is asked. */
static rs_status begin_side(run_side *s, rs_job *job, const rs_side_option *side, const rs_query *queries,
                            size_t n, rs_error *err)
{
    s->job = job;
    s->n_foreseen = 1;
    pthread_mutex_lock(&job->lock);
    job->cancelled = false;
    job->bytes_done = 0;
    pthread_mutex_unlock(&job->lock);
    rs_status status = rs_ranking_init(&s->ranking, &job->settings, err);
    for (size_t i = 0; i < job->n_inputs; i++) s->ranking.roles |= job->inputs[i].role != NULL;
    if (status != RS_OK) return status;
    s->questions = rs_calloc(n, sizeof *s->questions);
    if (!s->questions && n) return rs_fail_nomem(err, "run");
    for (s->n = 0; status == RS_OK && s->n < n; s->n++)
        status = rs_question_init(&s->questions[s->n], &queries[s->n], &job->settings, err);
    for (size_t k = 0; k < s->n; k++) {
        s->questions[k].run.selection = job->selection;
        s->questions[k].records = choose_records(job, queries[k].analysis, side);
        s->questions[k].as_file = status == RS_OK && rs_job_is_for_file(job, queries[k].analysis);
    }
    return status;
}

static void end_side(run_side *s)
{
    for (size_t k = 0; k < s->n; k++) rs_question_clear(&s->questions[k]);
    rs_free(s->questions);
    rs_ranking_clear(&s->ranking);
    while (s->errors) {
        kept_error *next = s->errors->next;
        rs_free(s->errors);
        s->errors = next;
    }
}

/* ---- one job, or several ---------------------------------------------------------------------------- */

/* An analysis of something that is no trace. */
static rs_status run_file(const rs_job *job, const rs_question *q, rs_result *result, rs_error *err)
{
    if (job->n_inputs != 1)
        return rs_fail(err, RS_ERR_USAGE, "%s takes one file, not %zu", q->analysis->name, job->n_inputs);
    rs_source *source;
    RS_TRY(rs_input_open(job, &job->inputs[0], &source, err));
    rs_status status = rs_question_tables(q, result, err);
    if (status == RS_OK) status = q->how.file(&q->run, source, result, err);
    rs_source_close(source);
    return status;
}

/* The state of one query on its way to a result. */
typedef struct outcome {
    rs_status status;
    rs_error error;
    rs_result_key key; /* under which the result is kept */
    bool known;        /* it came from the store */
} outcome;

static void settle(outcome *o, rs_status status, const rs_error *err)
{
    o->status = status;
    if (status != RS_OK) o->error = *err;
}

/* Files that turn out to be recordings of one rank are read as one: what was said by each is forgotten. */
static rs_status join_recordings(run_side *s, bool *joined, rs_error *err)
{
    const rs_question *any = NULL;
    *joined = false;
    for (size_t k = 0; !any && k < s->n; k++)
        if (s->questions[k].due) any = &s->questions[k];
    if (!any || s->ranking.renumber || s->job->cancelled) return RS_OK;
    size_t before = s->job->n_inputs;
    rs_status status = rs_inputs_join_recordings(s->job, any->answers, joined, err);
    for (size_t k = 0; *joined && k < s->n; k++) {
        rs_question *q = &s->questions[k];
        for (size_t i = 0; q->due && i < before; i++) {
            rs_question_clear_input(q, &q->answers[i]);
            q->answers[i] = (rs_input_answer){0};
        }
        if (q->due) q->n_answers = s->job->n_inputs;
    }
    return status;
}

/* Asks one job all that is still to be asked: a pass over its inputs, and another one as long as ranks have
 * to be told what they did not foresee. */
static void run_side_of(run_side *s, outcome *outcomes, rs_result *results)
{
    const size_t n = s->n;
    bool due = false;
    for (size_t k = 0; k < n; k++) {
        rs_question *q = &s->questions[k];
        rs_error err = RS_ERROR_INIT;
        if (q->as_file || outcomes[k].known || outcomes[k].status != RS_OK) continue;
        settle(&outcomes[k], rs_question_reserve(q, s->job->n_inputs, &err), &err);
        q->due = outcomes[k].status == RS_OK;
        due |= q->due;
    }
    bool first = true;
    while (due) {
        bool again = false;
        pass_over_inputs(s);
        if (first) {
            rs_error err = RS_ERROR_INIT;
            rs_status status = join_recordings(s, &again, &err);
            for (size_t k = 0; status != RS_OK && k < n; k++) settle(&outcomes[k], status, &err);
            if (status != RS_OK) return;
        }
        first = false;
        if (again) continue;
        due = false;
        for (size_t k = 0; k < n && !s->job->cancelled; k++) {
            rs_question *q = &s->questions[k];
            rs_error err = RS_ERROR_INIT;
            if (!q->due) continue;
            settle(&outcomes[k], rs_question_settle(q, &s->ranking, &err), &err);
            q->due = q->due && outcomes[k].status == RS_OK;
            due |= q->due;
        }
    }
    for (size_t k = 0; k < n; k++) {
        rs_error err = RS_ERROR_INIT;
        if (s->questions[k].as_file || outcomes[k].known || outcomes[k].status != RS_OK) continue;
        settle(&outcomes[k],
               s->job->cancelled ? rs_fail(&err, RS_ERR_CANCELLED, "interrupted")
                                 : rs_question_judge(&s->questions[k], &s->ranking, &results[k], &err),
               &err);
    }
}

/* The questions and rankings of the k-th query, one a side. */
typedef struct side_views {
    rs_question **questions;
    const rs_ranking **rankings;
} side_views;

static void answer(run_side *sides, const side_views *v, unsigned n_sides, size_t k, outcome *o,
                   rs_result *result)
{
    rs_error err = RS_ERROR_INIT;
    for (unsigned i = 0; i < n_sides; i++) {
        v->questions[i] = &sides[i].questions[k];
        v->rankings[i] = &sides[i].ranking;
    }
    settle(o,
           v->questions[0]->as_file ? run_file(sides[0].job, v->questions[0], result, &err)
                                    : rs_question_answer(v->questions, v->rankings, n_sides, result, &err),
           &err);
    if (o->status == RS_OK)
        rs_result_keep(&o->key, (const rs_question *const *)v->questions, n_sides, result);
    for (unsigned i = 0; i < n_sides; i++)
        rs_question_clear(v->questions[i]); /* before the next one's tables */
}

/* The at-th option that names a job and is given; NULL: there are no more. */
static const rs_side_option *side_given(const rs_query *query, size_t at)
{
    const rs_side_option *side = query->options ? query->analysis->sides : NULL;
    for (; side && side->option; side++)
        if (rs_options_is_set(query->options, side->option) && at-- == 0) return side;
    return NULL;
}

static size_t count_given(const rs_query *query)
{
    size_t n = 0;
    while (side_given(query, n)) n++;
    return n;
}

/* Whether an analysis takes that many jobs. */
static rs_status check_sides(const rs_query *query, size_t n_jobs, rs_error *err)
{
    const rs_analysis *a = query->analysis;
    size_t given = count_given(query);
    if (a->many_sided)
        return n_jobs >= 2 ? RS_OK : rs_fail(err, RS_ERR_USAGE, "%s compares two jobs or more", a->name);
    if (n_jobs == (a->two_sided ? 2u : 1u) + given) return RS_OK;
    if (given)
        return rs_fail(err, RS_ERR_USAGE, "%s with --%s is asked by itself", a->name,
                       side_given(query, 0)->option);
    return rs_fail(err, RS_ERR_USAGE, "%s %s", a->name, a->two_sided ? "compares two jobs" : "takes one job");
}

static rs_status run_sides(rs_job *const *jobs, run_side *sides, const side_views *views, unsigned n_jobs,
                           rs_judged_queries *judged, outcome *outcomes, rs_error *err)
{
    const rs_query *queries = judged->items;
    rs_result *results = judged->results;
    const size_t n = judged->n, n_judges = judged->n_judges;
    rs_status status = RS_OK;
    for (unsigned i = 0; status == RS_OK && i < n_jobs; i++)
        status = begin_side(&sides[i], jobs[i], i ? side_given(&queries[0], i - 1) : NULL, queries, n, err);
    if (status != RS_OK) return status;
    for (size_t k = 0; k < n; k++) {
        const rs_analysis *a = queries[k].analysis;
        outcomes[k].status = check_sides(&queries[k], n_jobs, &outcomes[k].error);
        for (unsigned i = 0; outcomes[k].status == RS_OK && i < n_jobs; i++)
            outcomes[k].status = rs_analysis_can_follow(a, &jobs[i]->settings, sides[i].questions[k].as_file,
                                                        &outcomes[k].error);
    }
    for (size_t k = 0; k < n; k++) {
        if (outcomes[k].status != RS_OK) continue;
        rs_result_key_make(jobs, n_jobs, &sides[0].questions[k], &outcomes[k].key);
        outcomes[k].known = rs_result_fetch(&outcomes[k].key, &sides[0].questions[k], &results[k]);
    }
    for (unsigned i = 0; i < n_jobs; i++) run_side_of(&sides[i], outcomes, results);
    size_t failed = n;
    for (size_t k = 0; k < n; k++) {
        sides[0].questions[k].run.verdicts = rs_judged_verdicts(judged, k);
        if (outcomes[k].status == RS_OK && !outcomes[k].known)
            answer(sides, views, n_jobs, k, &outcomes[k], &results[k]);
        if (outcomes[k].status == RS_OK) continue;
        rs_result_drop_tables(&results[k]);
        if (k < n_judges)
            rs_judged_failed(&results[k], outcomes[k].status, &outcomes[k].error);
        else if (failed == n)
            failed = k;
    }
    if (failed == n) return RS_OK;
    *err = outcomes[failed].error;
    if (n - n_judges > 1) rs_error_wrap(err, "%s", queries[failed].analysis->name);
    return outcomes[failed].status;
}

static rs_status run_queries(rs_job *const *jobs, unsigned n_jobs, const rs_query *queries, size_t n,
                             rs_result *results, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_judged_queries judged;
    if (!err) err = &local;
    for (size_t k = 0; k < n; k++) results[k] = (rs_result){0};
    rs_status status =
        rs_judged_queries_make(&jobs[0]->settings, n_jobs == 1 ? jobs[0] : NULL, queries, n, &judged, err);
    if (status != RS_OK) {
        rs_judged_queries_clear(&judged);
        return status;
    }
    run_side *sides = rs_calloc(n_jobs, sizeof *sides);
    outcome *outcomes = rs_calloc(judged.n, sizeof *outcomes);
    side_views views = {rs_calloc(n_jobs, sizeof *views.questions),
                        rs_calloc(n_jobs, sizeof *views.rankings)};
    bool ok = sides && (outcomes || !n) && views.questions && views.rankings;
    status = ok ? run_sides(jobs, sides, &views, n_jobs, &judged, outcomes, err) : rs_fail_nomem(err, "run");
    for (unsigned i = 0; sides && i < n_jobs; i++) end_side(&sides[i]);
    for (size_t k = 0; outcomes && k < judged.n; k++) rs_result_key_clear(&outcomes[k].key);
    for (unsigned i = 0; i < n_jobs; i++) rs_job_forget_stamps(jobs[i]);
    rs_judged_deliver(&judged, results);
    rs_judged_queries_clear(&judged);
    rs_free_all(sides, outcomes, views.questions, views.rankings);
    return status;
}

/* ---- packed ----------------------------------------------------------------------------------------- */

/* The first answer below this one that would fail a run whatever other machines say. As deep as there are
 * rounds. */
static const rs_answer *find_fatal(const rs_answer *answer, const rs_ranking *ranking)
{
    const rs_answer *found = NULL;
    if (rs_status_is_fatal(answer->status, ranking)) return answer;
    for (size_t i = 0; !found && i < answer->n_next; i++) found = find_fatal(&answer->next[i], ranking);
    return found;
}

static rs_status fail_early(const run_side *s, rs_error *err)
{
    for (size_t k = 0; k < s->n; k++) {
        for (size_t i = 0; i < s->questions[k].n_answers; i++) {
            const rs_input_answer *input = &s->questions[k].answers[i];
            const rs_answer *fatal = NULL;
            for (size_t u = 0; !fatal && u < input->n_ranks; u++)
                fatal = find_fatal(&input->ranks[u].first, &s->ranking);
            bool all = rs_status_is_fatal(input->status, &s->ranking);
            if (!all && !fatal) continue;
            const rs_error *error = all ? input->error : fatal->error;
            if (error)
                *err = *error;
            else
                rs_fail_nomem(err, "run");
            if (s->n > 1) rs_error_wrap(err, "%s", s->questions[k].analysis->name);
            return err->status;
        }
    }
    return s->job->cancelled ? rs_fail(err, RS_ERR_CANCELLED, "interrupted") : RS_OK;
}

static bool rounds_travel(const rs_method *how)
{
    for (size_t r = 0; r < how->n_rounds; r++)
        if (!how->rounds[r].partial_layout) return false;
    return how->partial_layout != NULL;
}

bool rs_analysis_can_map(const rs_analysis *analysis)
{
    return rs_analysis_method(analysis, RS_COMPAT_NONE).partial_layout != NULL;
}

static rs_status map_with(rs_job *job, const rs_query *queries, size_t n, const rs_told *told, rs_bytes *out,
                          rs_error *err)
{
    for (size_t k = 0; k < n; k++) {
        size_t n_tables;
        rs_method how = rs_analysis_method(queries[k].analysis, queries[k].compat);
        if (!rounds_travel(&how))
            return rs_fail(err, RS_ERR_USAGE, "%s cannot be mapped: its partial results do not travel",
                           queries[k].analysis->name);
        if (!rs_analysis_tables(queries[k].analysis, queries[k].compat, &n_tables))
            return rs_fail(err, RS_ERR_USAGE, "%s cannot imitate that peer", queries[k].analysis->name);
        const rs_side_option *given = side_given(&queries[k], 0);
        if (given)
            return rs_fail(err, RS_ERR_USAGE, "%s cannot be mapped with --%s", queries[k].analysis->name,
                           given->option);
        rs_status follows = rs_analysis_can_follow(queries[k].analysis, &job->settings, false, err);
        if (follows != RS_OK) return follows;
    }
    if (job->selection->by_window)
        return rs_fail(err, RS_ERR_USAGE,
                       "a window counts from the job's first event, which a part of the job "
                       "does not know: give --steps, or analyse all ranks in one place");
    run_side side = {0};
    rs_status status = begin_side(&side, job, NULL, queries, n, err);
    for (size_t k = 0; status == RS_OK && k < n; k++)
        if (rs_question_wants_origin(&side.questions[k]))
            status = rs_fail(
                err, RS_ERR_USAGE,
                "%s counts from the job's first event under these options, which a part of the job does "
                "not know",
                queries[k].analysis->name);
    side.n_foreseen = SIZE_MAX;
    for (size_t k = 0; status == RS_OK && k < n; k++) {
        rs_question *q = &side.questions[k];
        status = rs_question_reserve(q, job->n_inputs, err);
        q->due = true;
        if (told) q->told = told[k];
    }
    if (status == RS_OK) {
        bool again = false;
        pass_over_inputs(&side);
        status = join_recordings(&side, &again, err);
        if (again && status == RS_OK) pass_over_inputs(&side);
        if (status == RS_OK) status = fail_early(&side, err);
    }
    if (status == RS_OK) status = rs_partials_write(job, side.questions, n, out, err);
    end_side(&side);
    return status;
}

/* With the judge's questions; "told" has an item for each query of the caller. */
static rs_status map_judged(rs_job *job, const rs_query *queries, size_t n, const rs_told *told,
                            rs_bytes *out, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_judged_queries judged;
    if (!err) err = &local;
    *out = (rs_bytes){0};
    rs_status status = rs_judged_queries_make(&job->settings, NULL, queries, n, &judged, err);
    rs_told *all = told ? rs_calloc(judged.n + 1, sizeof *all) : NULL;
    if (status == RS_OK && told && !all) status = rs_fail_nomem(err, "run");
    for (size_t k = 0; all && k < n; k++) all[judged.n_judges + k] = told[k];
    if (status == RS_OK) status = map_with(job, judged.items, judged.n, all, out, err);
    rs_free(all);
    rs_judged_queries_clear(&judged);
    return status;
}

rs_status rs_job_map(rs_job *job, const rs_query *queries, size_t n, rs_bytes *out, rs_error *err)
{
    return map_judged(job, queries, n, NULL, out, err);
}

rs_status rs_job_map_agreed(rs_job *job, const rs_query *queries, size_t n, const rs_bytes *agreed,
                            rs_bytes *out, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_arena arena = {0};
    const rs_told *told = NULL;
    if (!err) err = &local;
    *out = (rs_bytes){0};
    rs_status status = rs_agreed_read(agreed, queries, n, &arena, &told, err);
    if (status == RS_OK) status = map_judged(job, queries, n, told, out, err);
    rs_arena_clear(&arena);
    return status;
}

/* ---- work that is no analysis ------------------------------------------------------------------------- */

/* Hands over what the wanted ranks made. */
static rs_status take_values(rs_question *q, const rs_ranking *ranking, rs_rank_value **values, size_t *n,
                             rs_error *err)
{
    rs_partial *partials = NULL;
    size_t n_partials = 0;
    rs_status status = rs_question_gather(q, ranking, 0, &partials, &n_partials, err);
    rs_rank_value *out = status == RS_OK ? rs_malloc((n_partials + 1) * sizeof *out) : NULL;
    if (status == RS_OK && !out) status = rs_fail_nomem(err, "ranks");
    for (size_t i = 0; status == RS_OK && i < n_partials; i++)
        if (partials[i].value)
            out[(*n)++] = (rs_rank_value){partials[i].rank, partials[i].source, partials[i].value};
    for (size_t i = 0; status == RS_OK && i < q->n_answers; i++)
        for (size_t k = 0; q->answers[i].status == RS_OK && k < q->answers[i].n_ranks; k++)
            if (rs_ranking_wants(ranking, q->answers[i].ranks[k].rank))
                q->answers[i].ranks[k].first.partial = NULL;
    rs_free(partials);
    *values = out;
    return status;
}

rs_status rs_job_each_rank(rs_job *job, const rs_each_rank *each, rs_rank_value **values, size_t *n,
                           rs_result *result, rs_error *err)
{
    const rs_analysis work = {.name = each->name,
                              .columns = each->columns,
                              .follows = RS_FOLLOWS_ALL | (each->takes_captures ? RS_FOLLOWS_CAPTURES : 0),
                              .rank = each->rank,
                              .free_partial = each->free_value};
    run_side side = {0};
    outcome o = {.status = RS_OK};
    rs_error local = RS_ERROR_INIT;
    if (!err) err = &local;
    *values = NULL;
    *n = 0;
    rs_status status = rs_analysis_can_follow(&work, &job->settings, false, err);
    if (status == RS_OK) status = begin_side(&side, job, NULL, &(rs_query){.analysis = &work}, 1, err);
    if (status == RS_OK && side.n == 1) { /* "o" has room for one */
        side.questions[0].run.context = each->context;
        side.questions[0].judges_window = each->judges_window;
        run_side_of(&side, &o, result);
        status = o.status;
        if (status != RS_OK) *err = o.error;
    }
    if (status == RS_OK) status = take_values(&side.questions[0], &side.ranking, values, n, err);
    end_side(&side);
    return status;
}

/* ---- with jobs that options name ------------------------------------------------------------------------ */

static rs_status run_with_sides(rs_job *job, const rs_query *query, size_t n, rs_result *result,
                                rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_job **jobs = rs_calloc(n + 1, sizeof *jobs);
    rs_job_settings settings = job->settings;
    if (!err) err = &local;
    *result = (rs_result){0};
    if (!jobs) return rs_fail_nomem(err, "jobs");
    settings.keep = false;
    jobs[0] = job;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const char *option = side_given(query, i)->option, *path = rs_options_text(query->options, option);
        status = rs_job_open(&path, 1, &settings, &jobs[i + 1], err);
        if (status != RS_OK) rs_error_wrap(err, "--%s", option);
    }
    if (status == RS_OK) status = run_queries(jobs, (unsigned)n + 1, query, 1, result, err);
    for (size_t i = 0; i < n; i++) rs_job_close(jobs[i + 1]);
    rs_free(jobs);
    return status;
}

/* ---- the calls -------------------------------------------------------------------------------------- */

rs_status rs_job_run(rs_job *job, const rs_analysis *analysis, const rs_options *options, rs_compat compat,
                     rs_result *result, rs_error *err)
{
    return rs_job_run_many(job, &(rs_query){.analysis = analysis, .options = options, .compat = compat}, 1,
                           result, err);
}

rs_status rs_job_run_many(rs_job *job, const rs_query *queries, size_t n, rs_result *results, rs_error *err)
{
    size_t given = n == 1 ? count_given(queries) : 0;
    return given ? run_with_sides(job, queries, given, results, err)
                 : run_queries(&job, 1, queries, n, results, err);
}

rs_status rs_job_run_pair(rs_job *a, rs_job *b, const rs_analysis *analysis, const rs_options *options,
                          rs_compat compat, rs_result *result, rs_error *err)
{
    return run_queries((rs_job *const[]){a, b}, 2,
                       &(rs_query){.analysis = analysis, .options = options, .compat = compat}, 1, result,
                       err);
}

rs_status rs_job_run_jobs(rs_job *const *jobs, size_t n_jobs, const rs_analysis *analysis,
                          const rs_options *options, rs_compat compat, rs_result *result, rs_error *err)
{
    if (n_jobs == 0 || n_jobs > INT32_MAX) {
        *result = (rs_result){0};
        return rs_fail(err, RS_ERR_USAGE, "%s cannot compare %zu jobs", analysis->name, n_jobs);
    }
    return run_queries(jobs, (unsigned)n_jobs,
                       &(rs_query){.analysis = analysis, .options = options, .compat = compat}, 1, result,
                       err);
}
