#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "trace/job_internal.h"

/* One rank of one input: its partial result until all ranks have theirs. */
typedef struct unit {
    void *value;
    int64_t rank; /* RS_NO_VALUE until settled */
    const char *rule;
    size_t input, index;
} unit;

typedef struct run_state {
    rs_job *job;
    const rs_analysis *analysis;
    rs_run run;
    rs_policy policy;
    _Atomic size_t next; /* the input to take */
    unsigned threads_each;
    unit **units; /* by input */
    size_t *n_units;
    rs_error *errors; /* by input */
    const rs_options *ranks_wanted;
} run_state;

static const rs_option_spec ranks_spec[] = {
    {"ranks", RS_OPTION_RANGES, "RANKS", NULL, NULL, "only these ranks"},
};

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

static rs_status run_input(run_state *s, size_t i, rs_error *err)
{
    rs_job *job = s->job;
    rs_input *input = &job->inputs[i];
    rs_status status = rs_input_load(job, input, s->analysis->columns, s->threads_each, err);
    if (status != RS_OK) {
        if (err->n_causes && !err->causes[0].file[0]) rs_error_wrap(err, "%s", input->path);
        return status;
    }
    s->units[i] = rs_calloc(input->n_traces, sizeof *s->units[i]);
    if (!s->units[i]) return rs_fail_nomem(err, "results");
    double shared = 0;
    double begin = rs_clock_seconds();
    for (size_t k = 0; k < input->n_traces; k++) {
        rs_trace *t = &input->traces[k];
        unit *u = &s->units[i][s->n_units[i]++];
        u->input = i;
        u->index = k;
        u->rank = own_rank(input, t, &u->rule);
        bool wanted = job->settings.renumber || u->rank == RS_NO_VALUE ||
                      rs_options_in_ranges(s->ranks_wanted, "ranks", u->rank);
        if (!wanted) continue;
        shared -= t->index_seconds;
        status = s->analysis->rank(&s->run, t, &u->value, err);
        shared += t->index_seconds;
        if (status != RS_OK) {
            /* a wrong option is wrong for every file */
            if (status != RS_ERR_USAGE) rs_error_wrap(err, "%s", input->path);
            break;
        }
    }
    double spent = rs_clock_seconds() - begin;
    pthread_mutex_lock(&job->lock);
    job->stats.index_seconds += shared;
    job->stats.analysis_seconds += spent - shared;
    pthread_mutex_unlock(&job->lock);
    rs_input_keep(job, input);
    return status;
}

static void *worker(void *context)
{
    run_state *s = context;
    for (;;) {
        size_t i = atomic_fetch_add(&s->next, 1);
        if (i >= s->job->n_inputs) return NULL;
        s->errors[i] = (rs_error)RS_ERROR_INIT;
        s->job->inputs[i].status = run_input(s, i, &s->errors[i]);
    }
}

static void run_all(run_state *s)
{
    enum { MAX_WORKERS = 256 };
    pthread_t threads[MAX_WORKERS];
    size_t jobs = s->job->settings.jobs, n = s->job->n_inputs;
    size_t n_workers = jobs < n ? jobs : n;
    if (n_workers > MAX_WORKERS) n_workers = MAX_WORKERS;
    s->threads_each = n_workers ? (unsigned)(jobs / n_workers) : 1;
    size_t started = 0;
    for (; started + 1 < n_workers; started++)
        if (pthread_create(&threads[started], NULL, worker, s) != 0) break;
    worker(s);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

/* ---- rank numbers ----------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const unit *x = *(unit *const *)a, *y = *(unit *const *)b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Gives every unit its number; RS_ERR_AMBIGUOUS when two claim one. all is in input order. */
static rs_status settle_ranks(const rs_job *job, unit **all, size_t n, rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        unit *u = all[i];
        const rs_input *input = &job->inputs[u->input];
        bool merged = input->n_traces > 1 || u->index > 0 || (i + 1 < n && all[i + 1]->input == u->input);
        if (job->settings.renumber) {
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
            job->inputs[all[i - 1]->input].path, job->inputs[all[i]->input].path, (long long)all[i]->rank);
    }
    return RS_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------ */

static bool is_no_trace(const rs_input *input)
{
    return input->from_directory && input->status == RS_ERR_FORMAT;
}

/* Reports inputs that could not be read. Fails when there is none that could. */
static rs_status judge_inputs(run_state *s, rs_result *result, rs_error *err)
{
    const rs_job *job = s->job;
    size_t usable = 0, first_bad = SIZE_MAX;
    char line[1024];
    for (size_t i = 0; i < job->n_inputs; i++) {
        rs_input *input = &job->inputs[i];
        if (input->status == RS_OK) {
            usable++;
            rs_problems_copy(&result->problems, &input->problems); /* kept events keep theirs */
            continue;
        }
        if (input->status == RS_ERR_CANCELLED || input->status == RS_ERR_USAGE ||
            (input->status == RS_ERR_AMBIGUOUS && job->settings.single_rank)) {
            *err = s->errors[i];
            return input->status;
        }
        if (first_bad == SIZE_MAX || !is_no_trace(input)) {
            if (first_bad == SIZE_MAX || is_no_trace(&job->inputs[first_bad])) first_bad = i;
        }
        if (is_no_trace(input))
            rs_result_note(result, "passed over: %s", rs_error_text(&s->errors[i], line, sizeof line));
        else
            rs_problems_add_many(&result->problems, input->path, -1, RS_LOSS, "unusable_file",
                                 "a file could not be used", RS_NO_OFFSET, 1,
                                 rs_error_text(&s->errors[i], line, sizeof line));
    }
    if (usable) return RS_OK;
    if (first_bad == SIZE_MAX) return rs_fail(err, RS_ERR_FORMAT, "no input files");
    *err = s->errors[first_bad];
    return job->inputs[first_bad].status;
}

static rs_status create_tables(const rs_analysis *a, rs_compat compat, rs_result *result, rs_error *err)
{
    size_t n;
    const rs_table_spec *const *specs = rs_analysis_tables(a, compat, &n);
    if (!specs) return rs_fail(err, RS_ERR_USAGE, "%s cannot imitate that peer", a->name);
    result->tables = rs_calloc(n, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "tables");
    for (size_t i = 0; i < n; i++) {
        result->tables[i] = rs_table_create(specs[i]);
        if (!result->tables[i]) return rs_fail_nomem(err, "tables");
        result->n_tables++;
    }
    return RS_OK;
}

/* The partials of one job, sorted by rank, added behind those that *partials holds already. */
static rs_status gather(run_state *s, unsigned side, rs_partial **partials, size_t *n_partials, rs_error *err)
{
    const rs_job *job = s->job;
    size_t n = 0, at = 0, kept = *n_partials;
    for (size_t i = 0; i < job->n_inputs; i++) n += s->n_units[i];
    unit **all = rs_malloc(n * sizeof *all);
    rs_partial *grown =
        n < SIZE_MAX / sizeof *grown - kept ? rs_realloc(*partials, (kept + n + 1) * sizeof *grown) : NULL;
    if (grown) *partials = grown;
    rs_status status = RS_OK;
    if (!all || !grown) status = rs_fail_nomem(err, "results");
    if (status == RS_OK) {
        for (size_t i = 0; i < job->n_inputs; i++)
            for (size_t k = 0; k < s->n_units[i]; k++) all[at++] = &s->units[i][k];
        status = settle_ranks(job, all, n, err);
    }
    if (status == RS_OK) {
        for (size_t i = 0; i < n; i++) {
            if (!rs_options_in_ranges(s->ranks_wanted, "ranks", all[i]->rank)) continue;
            grown[kept++] = (rs_partial){.rank = all[i]->rank,
                                         .value = all[i]->value,
                                         .source = job->inputs[all[i]->input].path,
                                         .rank_rule = all[i]->rule,
                                         .domain_rule = job->inputs[all[i]->input].domain_rule,
                                         .side = side};
        }
        if (kept == *n_partials)
            status = rs_fail(err, RS_ERR_USAGE, "--ranks selects none of the %zu ranks in the input", n);
        *n_partials = kept;
    }
    rs_free(all);
    return status;
}

static void free_units(run_state *s)
{
    for (size_t i = 0; i < s->job->n_inputs; i++) {
        for (size_t k = 0; k < s->n_units[i]; k++)
            if (s->units[i][k].value && s->analysis->free_partial)
                s->analysis->free_partial(s->units[i][k].value);
        rs_free(s->units[i]);
        s->units[i] = NULL;
        s->n_units[i] = 0;
    }
}

/* HTA trims every rank as soon as the ranks together show two steps: those that saw fewer are done again. */
static bool must_trim_all(const run_state *s)
{
    if (!s->policy.trim_steps || s->policy.force_trim || !s->analysis->steps_seen) return false;
    int64_t first = -1;
    bool short_of_two = false, several = false;
    for (size_t i = 0; i < s->job->n_inputs; i++) {
        for (size_t k = 0; k < s->n_units[i]; k++) {
            if (!s->units[i][k].value) continue;
            rs_steps_seen seen = s->analysis->steps_seen(s->units[i][k].value);
            if (seen.n < 2) short_of_two = true;
            if (seen.n >= 2) several = true;
            if (seen.n == 0) continue;
            if (first >= 0 && seen.first != first) several = true;
            if (first < 0) first = seen.first;
        }
    }
    return short_of_two && several;
}

/* ---- one job, or two ---------------------------------------------------------------------------------- */

static void end_run(run_state *s)
{
    if (s->units && s->n_units) free_units(s);
    rs_free(s->units);
    rs_free(s->n_units);
    rs_free(s->errors);
}

/* Reads a job's inputs and does every rank's share. */
static rs_status run_ranks(run_state *s, rs_result *result, rs_error *err)
{
    size_t n = s->job->n_inputs;
    s->units = rs_calloc(n, sizeof *s->units);
    s->n_units = rs_calloc(n, sizeof *s->n_units);
    s->errors = rs_calloc(n, sizeof *s->errors);
    if (!s->units || !s->n_units || !s->errors) return rs_fail_nomem(err, "run");
    run_all(s);
    if (must_trim_all(s)) {
        free_units(s);
        s->policy.force_trim = true;
        s->next = 0;
        run_all(s);
    }
    return judge_inputs(s, result, err);
}

/* An analysis of something that is no trace. */
static rs_status run_file(const run_state *s, rs_result *result, rs_error *err)
{
    const rs_job *job = s->job;
    if (job->n_inputs != 1)
        return rs_fail(err, RS_ERR_USAGE, "%s takes one file, not %zu", s->analysis->name, job->n_inputs);
    const rs_input *input = &job->inputs[0];
    rs_source *source;
    rs_status status = input->bytes ? rs_source_open_bytes(input->bytes, input->n_bytes, input->path,
                                                           job->settings.max_ratio, &source, err)
                                    : rs_source_open(input->path, job->settings.max_ratio, &source, err);
    if (status != RS_OK) return status;
    status = create_tables(s->analysis, s->run.compat, result, err);
    if (status == RS_OK) status = s->analysis->file(&s->run, source, result, err);
    rs_source_close(source);
    return status;
}

static rs_status run_jobs(rs_job *const *jobs, unsigned n_jobs, const rs_analysis *analysis,
                          const rs_options *options, rs_compat compat, void *context, rs_result *result,
                          rs_error *err)
{
    *result = (rs_result){0};
    rs_error local = RS_ERROR_INIT;
    if (!err) err = &local;
    if (n_jobs != (analysis->two_sided ? 2u : 1u))
        return rs_fail(err, RS_ERR_USAGE, "%s %s", analysis->name,
                       analysis->two_sided ? "compares two jobs" : "takes one job");
    rs_options *defaults = options ? NULL : rs_options_create(analysis->options, analysis->n_options);
    rs_options *ranks[2] = {NULL, NULL}; /* each job selects its own */
    run_state s[2] = {{0}};
    rs_partial *partials = NULL;
    size_t n_partials = 0;
    rs_status status = RS_OK;
    if (!options && !defaults) status = rs_fail_nomem(err, "run");
    for (unsigned i = 0; i < n_jobs && status == RS_OK; i++) {
        ranks[i] = rs_options_create(ranks_spec, 1);
        if (!ranks[i])
            status = rs_fail_nomem(err, "run");
        else if (jobs[i]->settings.ranks)
            status = rs_options_set(ranks[i], "ranks", jobs[i]->settings.ranks, err);
    }
    for (unsigned i = 0; i < n_jobs; i++) {
        jobs[i]->cancelled = false; /* an earlier run's */
        jobs[i]->bytes_done = 0;
        s[i].job = jobs[i];
        s[i].analysis = analysis;
        s[i].policy = rs_policy_of(compat);
        s[i].policy.keep_last_step = jobs[i]->settings.include_last_step;
        s[i].run = (rs_run){.options = options ? options : defaults,
                            .compat = compat,
                            .policy = &s[i].policy,
                            .absolute = jobs[i]->settings.absolute,
                            .context = context};
        s[i].ranks_wanted = ranks[i];
        if (analysis->file || status != RS_OK) continue;
        status = run_ranks(&s[i], result, err);
        if (status == RS_OK) status = gather(&s[i], i, &partials, &n_partials, err);
    }
    if (status == RS_OK && analysis->file) {
        status = run_file(&s[0], result, err);
    } else if (status == RS_OK) {
        status = create_tables(analysis, compat, result, err);
        if (status == RS_OK) status = analysis->merge(&s[0].run, partials, n_partials, result, err);
    }
    rs_free(partials);
    for (unsigned i = 0; i < n_jobs; i++) end_run(&s[i]);
    rs_options_free(ranks[0]);
    rs_options_free(ranks[1]);
    rs_options_free(defaults);
    return status;
}

rs_status rs_job_run(rs_job *job, const rs_analysis *analysis, const rs_options *options, rs_compat compat,
                     rs_result *result, rs_error *err)
{
    return run_jobs(&job, 1, analysis, options, compat, NULL, result, err);
}

rs_status rs_job_run_pair(rs_job *a, rs_job *b, const rs_analysis *analysis, const rs_options *options,
                          rs_compat compat, rs_result *result, rs_error *err)
{
    return run_jobs((rs_job *const[]){a, b}, 2, analysis, options, compat, NULL, result, err);
}

rs_status rs_job_run_with(rs_job *job, const rs_analysis *analysis, const rs_options *options, void *context,
                          rs_result *result, rs_error *err)
{
    return run_jobs(&job, 1, analysis, options, RS_COMPAT_NONE, context, result, err);
}
