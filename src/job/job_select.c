/* What of a job is asked about, over all of its ranks: which analyses can follow a selection, where the
 * window counts from, and whether anything was selected at all. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/workers.h"
#include "job/job_internal.h"
#include "trace/facet.h"

/* ---- rows that cannot follow --------------------------------------------------------------------------- */

rs_status rs_analysis_can_follow(const rs_analysis *a, const rs_job_settings *settings, bool as_file,
                                 rs_error *err)
{
    const struct {
        const char *given, *name;
        unsigned part;
    } parts[] = {{settings->ranks, "ranks", RS_FOLLOWS_RANKS},
                 {settings->steps, "steps", RS_FOLLOWS_STEPS},
                 {settings->window, "window", RS_FOLLOWS_WINDOW}};
    unsigned follows = as_file && a->file_is ? a->file_follows : a->follows;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].given && !(follows & parts[i].part))
            return rs_fail(err, RS_ERR_USAGE, "%s cannot follow --%s: %s", a->name, parts[i].name,
                           a->follows_not ? a->follows_not : "it looks at the whole job");
    if (settings->captures && !(follows & RS_FOLLOWS_CAPTURES))
        return rs_fail(
            err, RS_ERR_USAGE,
            "%s cannot follow --captures: it goes by when the host did what, and operators of a replayed graph "
            "have no times",
            a->name);
    return RS_OK;
}

rs_status rs_job_can_ask(const rs_job *job, const rs_analysis *analysis, rs_error *err)
{
    return rs_analysis_can_follow(analysis, &job->settings, rs_job_is_for_file(job, analysis), err);
}

/* ---- another part of the job --------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool are_same_texts(const char *const *a, const char *const *b)
{
    for (size_t i = 0; i < RS_JOB_PARTS; i++)
        if (!is_same_text(a[i], b[i])) return false;
    return true;
}

void rs_job_forget_other(rs_job *job)
{
    for (size_t i = 0; i < job->n_inputs; i++)
        for (size_t k = 0; k < job->inputs[i].n_traces; k++)
            rs_facets_forget(&job->inputs[i].traces[k], &job->other);
    rs_selection_clear(&job->other);
    job->other = (rs_selection){0};
    for (size_t i = 0; i < RS_JOB_PARTS; i++) {
        rs_free(job->other_texts[i]);
        job->other_texts[i] = NULL;
    }
}

/* Facets are kept by the address of their selection: another one takes the place of `other` only after these
 * are gone. */
static rs_status keep_other(rs_job *job, const char *const *texts, rs_error *err)
{
    char *copies[RS_JOB_PARTS] = {0};
    rs_selection made = {0};
    rs_status status = RS_OK;
    for (size_t i = 0; i < RS_JOB_PARTS && status == RS_OK; i++) {
        if (texts[i]) copies[i] = rs_strdup(texts[i]);
        if (texts[i] && !copies[i]) status = rs_fail_nomem(err, "selection");
    }
    if (status == RS_OK) status = rs_selection_parse(copies[0], copies[1], copies[2], &made, err);
    if (status != RS_OK) {
        rs_selection_clear(&made);
        for (size_t i = 0; i < RS_JOB_PARTS; i++) rs_free(copies[i]);
        return status;
    }
    rs_job_forget_other(job);
    job->other = made;
    memcpy(job->other_texts, copies, sizeof copies);
    return RS_OK;
}

static void ask_about(rs_job *job, rs_selection *selection, const char *const *texts)
{
    job->selection = selection;
    job->settings.ranks = texts[0];
    job->settings.steps = texts[1];
    job->settings.window = texts[2];
    for (size_t i = 0; i < job->n_inputs; i++)
        for (size_t k = 0; k < job->inputs[i].n_traces; k++) job->inputs[i].traces[k].selection = selection;
}

rs_status rs_job_select(rs_job *job, const char *ranks, const char *steps, const char *window, rs_error *err)
{
    const char *given[RS_JOB_PARTS] = {ranks, steps, window};
    for (size_t i = 0; i < RS_JOB_PARTS; i++)
        if (!given[i]) given[i] = job->opened_texts[i];
    if (are_same_texts(given, job->opened_texts)) {
        ask_about(job, &job->opened, job->opened_texts);
        return RS_OK;
    }
    if (!are_same_texts(given, (const char *const *)job->other_texts)) {
        ask_about(job, &job->opened, job->opened_texts); /* nobody points to what is taken away */
        rs_status status = keep_other(job, given, err);
        if (status != RS_OK) return status;
    }
    ask_about(job, &job->other, (const char *const *)job->other_texts);
    return RS_OK;
}

/* ---- where the window counts from ---------------------------------------------------------------------- */

typedef struct origin_search {
    rs_job *job;
    uint64_t columns;
    unsigned threads_each;
    bool stays;    /* what was loaded is kept for the questions */
    int64_t first; /* under the job's lock */
} origin_search;

/* What fails here fails again when the questions load it, and is told then. */
static void look_at(origin_search *s, rs_input *input)
{
    int64_t first = RS_NO_TIME;
    if (!rs_job_goes_on(s->job) || rs_input_load(s->job, input, s->columns, s->threads_each, NULL) != RS_OK)
        return;
    for (size_t k = 0; k < input->n_traces; k++) {
        int64_t start, end;
        if (rs_trace_span(&input->traces[k], &start, &end, NULL) != RS_OK || start == RS_NO_TIME) continue;
        if (first == RS_NO_TIME || start < first) first = start;
    }
    pthread_mutex_lock(&s->job->lock);
    if (first != RS_NO_TIME && (s->first == RS_NO_TIME || first < s->first)) s->first = first;
    pthread_mutex_unlock(&s->job->lock);
    bool once = rs_input_is_stdin(input); /* standard input cannot be read again */
    if (!s->stays && !once) rs_input_keep(s->job, input);
}

static rs_status look_at_item(void *context, size_t item, unsigned worker, rs_error *err)
{
    origin_search *s = context;
    (void)worker;
    (void)err;
    look_at(s, &s->job->inputs[item]);
    return RS_OK;
}

void rs_job_find_origin(rs_job *job, uint64_t columns)
{
    if (!(job->selection->by_window || job->wants_origin) || job->selection->origin != RS_NO_TIME) return;
    size_t jobs = job->settings.jobs, n = job->n_inputs;
    unsigned n_workers = rs_workers_count(n, jobs);
    origin_search s = {.job = job,
                       .columns = columns,
                       .threads_each = jobs >= n_workers ? (unsigned)(jobs / n_workers) : 1,
                       .stays = n <= n_workers,
                       .first = RS_NO_TIME};
    rs_workers_run(n, jobs, look_at_item, &s, NULL);
    job->selection->origin = s.first == RS_NO_TIME ? 0 : s.first;
    /* what the traces keep was made before the origin was known */
}

/* ---- what was selected --------------------------------------------------------------------------------- */

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

/* "10-13, 20" of the numbers in the order of size; cut off with "..." */
static void write_numbers(const int64_t *numbers, size_t n, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0, end; i < n; i = end) {
        int64_t last = numbers[i];
        for (end = i + 1; end < n && numbers[end] <= last + 1; end++) last = numbers[end];
        if (used + 48 > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "", (long long)numbers[i]);
        if (last > numbers[i]) used += (size_t)snprintf(text + used, size - used, "-%lld", (long long)last);
    }
}

static rs_status refuse_steps(const rs_selected *const *ranks, size_t n, const char *wanted, rs_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) total += ranks[i]->steps.n;
    if (!total)
        return rs_fail(
            err, RS_ERR_USAGE,
            "no step %.80s: the traces have no steps, neither ProfilerStep#N nor by the repetition of "
            "their work",
            wanted);
    RS_LOCAL int64_t *numbers = rs_malloc(total * sizeof *numbers);
    if (!numbers) return rs_fail_nomem(err, "steps");
    total = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ranks[i]->steps.n; k++) numbers[total++] = ranks[i]->steps.items[k].first;
    RS_SORT(numbers, total, by_number);
    char text[200];
    write_numbers(numbers, total, text, sizeof text);
    bool one = numbers[0] == numbers[total - 1];
    return rs_fail(err, RS_ERR_USAGE, "no step %.80s: the traces have %s %s", wanted, one ? "step" : "steps",
                   text);
}

static rs_status refuse_window(const rs_selected *const *ranks, size_t n, const char *wanted, rs_error *err)
{
    int64_t last = RS_NO_TIME;
    for (size_t i = 0; i < n; i++)
        if (ranks[i]->last_start != RS_NO_TIME && (last == RS_NO_TIME || ranks[i]->last_start > last))
            last = ranks[i]->last_start;
    if (last == RS_NO_TIME || last < 0)
        return rs_fail(err, RS_ERR_USAGE, "--window %.80s: the traces have no events with times", wanted);
    return rs_fail(
        err, RS_ERR_USAGE,
        "--window %.80s: no host event starts there and no GPU work was launched there; the job's last "
        "event starts at %lld.%03lld ms",
        wanted, (long long)(last / 1000000), (long long)(last / 1000 % 1000));
}

rs_status rs_selected_judge(const rs_selected *const *ranks, size_t n, const rs_job_settings *settings,
                            rs_error *err)
{
    bool any = false, any_step = false, any_time = false;
    for (size_t i = 0; i < n; i++) {
        any = any || ranks[i]->any;
        any_step = any_step || ranks[i]->any_step;
        any_time = any_time || ranks[i]->any_time;
    }
    if (any || n == 0 || (!settings->steps && !settings->window)) return RS_OK;
    if (settings->steps && !any_step) return refuse_steps(ranks, n, settings->steps, err);
    if (settings->window && !any_time) return refuse_window(ranks, n, settings->window, err);
    if (!settings->window) return RS_OK; /* the steps are there, and nothing lies in them */
    return rs_fail(err, RS_ERR_USAGE, "nothing is both in --steps %.80s and in --window %.80s",
                   settings->steps ? settings->steps : "", settings->window);
}
