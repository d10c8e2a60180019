#include "rankscope/job.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interval.h"
#include "base/system.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/try.h"
#include "job/job.h"
#include "job/job_internal.h"
#include "format/format.h"

/* Arguments that telling ranks apart and work from anything else always need. What only a merged file needs
 * is read when it turns out to be one. */
#define BASE_COLUMNS                                                                                         \
    (RS_COLUMN_BIT(CORRELATION) | RS_COLUMN_BIT(RANK) | RS_COLUMN_BIT(META_NAME) | RS_COPY_COLUMNS)

/* ---- opening ---------------------------------------------------------------------------------------- */

static rs_status job_create(const rs_job_settings *settings, rs_job **out, rs_error *err)
{
    rs_job *job = rs_calloc(1, sizeof *job);
    if (!job) return rs_fail_nomem(err, "job");
    rs_status status = RS_OK;
    if (settings)
        status = rs_settings_read(settings, settings->size, &job->settings, sizeof job->settings,
                                  "rs_job_settings", err);
    job->selection = &job->opened;
    if (status == RS_OK)
        status = rs_selection_parse(job->settings.ranks, job->settings.steps, job->settings.window,
                                    &job->opened, err);
    job->opened_texts[0] = job->settings.ranks;
    job->opened_texts[1] = job->settings.steps;
    job->opened_texts[2] = job->settings.window;
    if (status != RS_OK) {
        rs_selection_clear(&job->opened);
        rs_free(job);
        return status;
    }
    if (job->settings.jobs == 0) job->settings.jobs = rs_system_processors();
    pthread_mutex_init(&job->lock, NULL);
    status = rs_job_store_open(job, err);
    if (status == RS_OK) status = rs_job_captures_open(job, err);
    if (status == RS_OK) status = rs_job_classes_open(job, err);
    if (status != RS_OK) {
        rs_job_close(job);
        return status;
    }
    *out = job;
    return RS_OK;
}

static uint64_t file_size(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

static void input_release(rs_input *input)
{
    for (size_t i = 0; i < input->n_traces; i++) rs_trace_clear(&input->traces[i]);
    rs_free(input->traces);
    rs_stored_input_end(input);
    rs_events_free(input->events);
    rs_free(input->marks);
    input->marks = NULL;
    input->traces = NULL;
    input->n_traces = 0;
    input->events = NULL;
    input->loaded = 0;
    input->told_by = 0;
}

static void input_clear(rs_input *input)
{
    for (size_t k = 0; k < input->n_recordings; k++) input_clear(&input->recordings[k]);
    rs_free(input->recordings);
    input_release(input);
    rs_problems_clear(&input->problems);
    rs_wire_clear(&input->stamps);
    rs_free_all(input->path, input->instead, input->role);
    for (size_t k = 0; k < input->n_parts; k++) rs_free(input->parts[k]);
    rs_free(input->parts);
}

/* Copies the texts of a file. false when out of memory: the input is then to be cleared all the same. */
static bool copy_texts(const rs_job_file *file, rs_input *input)
{
    input->path = rs_strdup(file->name);
    input->instead = file->instead ? rs_strdup(file->instead) : NULL;
    if (!input->path || (file->instead && !input->instead)) return false;
    if (file->n_parts) input->parts = rs_calloc(file->n_parts, sizeof *input->parts);
    if (file->n_parts && !input->parts) return false;
    for (; input->n_parts < file->n_parts; input->n_parts++) {
        input->parts[input->n_parts] = rs_strdup(file->parts[input->n_parts]);
        if (!input->parts[input->n_parts]) return false;
    }
    return true;
}

uint64_t rs_input_size(const rs_input *input)
{
    uint64_t size = 0;
    if (input->bytes) return input->n_bytes;
    if (input->remote) return input->remote->size;
    for (size_t k = 0; k < input->n_recordings; k++) size += rs_input_size(&input->recordings[k]);
    if (input->n_recordings) return size;
    if (!input->n_parts) return file_size(input->path);
    for (size_t k = 0; k < input->n_parts; k++) size += file_size(input->parts[k]);
    return size;
}

rs_status rs_job_open(const char *const *paths, size_t n_paths, const rs_job_settings *settings, rs_job **out,
                      rs_error *err)
{
    *out = NULL;
    rs_job *job = NULL;
    RS_TRY(job_create(settings, &job, err));
    rs_status status = rs_inputs_resolve(job, paths, n_paths, err);
    if (status != RS_OK) {
        rs_job_close(job);
        return status;
    }
    for (size_t i = 0; i < job->n_inputs; i++) job->bytes_total += rs_input_size(&job->inputs[i]);
    *out = job;
    return RS_OK;
}

rs_status rs_job_open_bytes(const void *bytes, size_t n, const char *name, const rs_job_settings *settings,
                            rs_job **out, rs_error *err)
{
    *out = NULL;
    rs_job *job = NULL;
    RS_TRY(job_create(settings, &job, err));
    rs_job_file file = {.name = name, .bytes = bytes ? bytes : "", .n_bytes = bytes ? n : 0, .rank = -1};
    rs_status status = rs_job_add(job, &file, err);
    if (status != RS_OK) {
        rs_job_close(job);
        return status;
    }
    *out = job;
    return RS_OK;
}

rs_status rs_job_add(rs_job *job, const rs_job_file *file, rs_error *err)
{
    /* what is loaded points into the array of inputs */
    for (size_t i = 0; i < job->n_inputs; i++)
        if (job->inputs[i].events)
            return rs_fail(err, RS_ERR_USAGE, "%s comes too late: add all files before the first run",
                           file->name);
    rs_input input = {.bytes = file->bytes,
                      .n_bytes = file->bytes ? file->n_bytes : 0,
                      .remote = file->bytes ? NULL : file->remote,
                      .given_rank = file->rank < 0 ? RS_NO_VALUE : file->rank,
                      .label_rank = RS_NO_VALUE,
                      .from_directory = file->optional};
    if (!copy_texts(file, &input) || !RS_GROW_ONE(job->inputs, job->n_inputs, job->capacity)) {
        input_clear(&input);
        return rs_fail_nomem(err, "inputs");
    }
    job->bytes_total += rs_input_size(&input);
    rs_inputs_insert(job, &input);
    return RS_OK;
}

const rs_job_settings *rs_job_get_settings(const rs_job *job)
{
    return &job->settings;
}

/* Recordings of one rank are files of their own to everybody else. */
size_t rs_job_n_files(const rs_job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_inputs; i++)
        n += job->inputs[i].n_recordings ? job->inputs[i].n_recordings : 1;
    return n;
}

static const rs_input *file_at(const rs_job *job, size_t at)
{
    for (size_t i = 0;; i++) {
        const rs_input *input = &job->inputs[i];
        size_t n = input->n_recordings ? input->n_recordings : 1;
        if (at < n) return input->n_recordings ? &input->recordings[at] : input;
        at -= n;
    }
}

rs_job_file rs_job_get_file(const rs_job *job, size_t i)
{
    const rs_input *input = file_at(job, i);
    return (rs_job_file){.name = input->path,
                         .bytes = input->bytes,
                         .n_bytes = input->n_bytes,
                         .remote = input->remote,
                         .rank = input->given_rank == RS_NO_VALUE ? -1 : input->given_rank,
                         .optional = input->from_directory,
                         .parts = (const char *const *)input->parts,
                         .n_parts = input->n_parts,
                         .instead = input->instead};
}

void rs_job_close(rs_job *job)
{
    if (!job) return;
    rs_job_store_close(job);
    rs_job_forget_other(job);
    rs_job_captures_free(job->captures);
    rs_job_classes_free(job->classes);
    for (size_t i = 0; i < job->n_inputs; i++) input_clear(&job->inputs[i]);
    rs_free(job->inputs);
    rs_selection_clear(&job->opened);
    pthread_mutex_destroy(&job->lock);
    rs_free(job);
}

rs_job_stats rs_job_get_stats(const rs_job *job)
{
    return job->stats;
}

/* ---- loading one input ------------------------------------------------------------------------------ */

static void forget_kept(rs_job *job, rs_input *input)
{
    pthread_mutex_lock(&job->lock);
    job->kept -= input->kept;
    input->kept = 0;
    pthread_mutex_unlock(&job->lock);
}

void rs_input_forget(rs_job *job, rs_input *input)
{
    forget_kept(job, input);
    input_release(input);
}

void rs_input_keep(rs_job *job, rs_input *input)
{
    if (input->kept) return; /* since an earlier run */
    bool keep = job->settings.keep && input->events;
    if (keep) {
        uint64_t bytes = input->events->memory, limit = job->settings.keep_memory;
        pthread_mutex_lock(&job->lock);
        keep = !limit || (bytes <= limit && job->kept <= limit - bytes);
        if (keep) job->kept += input->kept = bytes;
        pthread_mutex_unlock(&job->lock);
    }
    if (!keep) input_release(input);
}

typedef struct load_progress {
    rs_job *job;
    rs_source *source;
    uint64_t reported;
} load_progress;

static bool on_progress(void *context)
{
    load_progress *p = context;
    rs_job *job = p->job;
    uint64_t in = rs_source_bytes_in(p->source);
    pthread_mutex_lock(&job->lock);
    job->bytes_done += in - p->reported;
    p->reported = in;
    if (job->settings.progress && !job->cancelled)
        job->cancelled =
            !job->settings.progress(job->settings.progress_context, job->bytes_done, job->bytes_total);
    bool go_on = !job->cancelled;
    pthread_mutex_unlock(&job->lock);
    return go_on;
}

/* *needs: columns that have to be loaded before the ranks of this file can be told apart; 0 when they are. */
static rs_status make_traces(const rs_job *job, rs_input *input, uint64_t *needs, rs_error *err)
{
    rs_domains domains = {0};
    rs_status status = rs_domains_split(input->events, input->path, &domains, err);
    *needs = domains.needs;
    input->told_by = domains.told_by;
    if (status != RS_OK || *needs) return status;
    if (domains.n > 1 && job->settings.single_rank) {
        char ranks[160];
        size_t used = 0;
        for (size_t i = 0; i < domains.n && used < sizeof ranks - 24; i++)
            used +=
                (size_t)snprintf(ranks + used, sizeof ranks - used, "%s%lld", i ? "," : "",
                                 (long long)(domains.rank[i] == RS_NO_VALUE ? (int64_t)i : domains.rank[i]));
        status = rs_fail_at(
            err, RS_ERR_AMBIGUOUS, input->path, RS_NO_OFFSET,
            "holds %zu ranks (%s; %s) and --single-rank was given: record and analyse one file a rank, "
            "or leave --single-rank out to get one result a rank",
            domains.n, ranks, domains.rule);
        rs_domains_clear(&domains);
        return status;
    }
    input->traces = rs_calloc(domains.n, sizeof *input->traces);
    if (!input->traces) {
        rs_domains_clear(&domains);
        return rs_fail_nomem(err, "ranks");
    }
    input->n_traces = domains.n;
    input->domain_rule = domains.rule;
    for (size_t i = 0; i < domains.n; i++) {
        rs_trace *t = &input->traces[i];
        rs_trace_init(t, input->events, domains.rows ? domains.rows[i] : NULL,
                      domains.rows ? domains.n_rows[i] : input->events->n);
        if (domains.rows) domains.rows[i] = NULL; /* now the trace's */
        t->file = input->path;
        t->parts = input->parts;
        t->n_parts = input->n_parts;
        t->problems = &input->problems;
        t->rank = domains.rank ? domains.rank[i] : RS_NO_VALUE;
        t->selection = job->selection;
        t->judge = rs_job_classes_judge(job);
        t->role = input->role;
    }
    input->events->one_rank =
        domains.n == 1 && !domains.rows && domains.rank && domains.rank[0] == RS_NO_VALUE;
    input->events->one_rank_by = domains.told_by;
    rs_domains_clear(&domains);
    return RS_OK;
}

bool rs_job_goes_on(rs_job *job)
{
    pthread_mutex_lock(&job->lock);
    if (job->settings.progress && !job->cancelled)
        job->cancelled =
            !job->settings.progress(job->settings.progress_context, job->bytes_done, job->bytes_total);
    bool go_on = !job->cancelled;
    pthread_mutex_unlock(&job->lock);
    return go_on;
}

bool rs_input_is_stdin(const rs_input *input)
{
    return !input->bytes && !input->remote && strcmp(input->path, "-") == 0;
}

rs_status rs_input_open(const rs_job *job, const rs_input *input, rs_source **source, rs_error *err)
{
    uint64_t ratio = job->settings.max_ratio;
    if (input->remote) return rs_source_open_remote(input->remote, input->path, ratio, source, err);
    if (!input->bytes) return rs_source_open(input->path, ratio, source, err);
    return rs_source_open_bytes(input->bytes, input->n_bytes, input->path, ratio, source, err);
}

/* One file, whatever its format. */
static rs_status load_file(rs_job *job, rs_input *input, const rs_load_settings *settings,
                           load_progress *progress, uint64_t *bytes_in, rs_error *err)
{
    rs_source *source;
    RS_TRY(rs_input_open(job, input, &source, err));
    progress->source = source;
    rs_trace_input in = {input->path, input->bytes, input->n_bytes, input->remote, source};
    rs_status status = rs_trace_load(&in, settings, &input->events, err);
    on_progress(progress);
    *bytes_in = rs_source_bytes_in(source);
    rs_source_close(source);
    return status;
}

/* One of the files of a run. */
static rs_status load_part(rs_job *job, const char *path, const rs_format *format, rs_run_reader *run,
                           const rs_load_settings *settings, load_progress *progress, uint64_t *bytes_in,
                           rs_error *err)
{
    rs_source *source;
    RS_TRY(rs_source_open(path, job->settings.max_ratio, &source, err));
    progress->source = source;
    progress->reported = 0;
    rs_status status = format->run_add(run, source, settings, err);
    on_progress(progress);
    *bytes_in += rs_source_bytes_in(source);
    rs_source_close(source);
    return status;
}

/* The files of a run. One that is unusable beside others is a loss. */
static rs_status load_run(rs_job *job, rs_input *input, const rs_load_settings *settings,
                          load_progress *progress, uint64_t *bytes_in, rs_error *err)
{
    const rs_format *format = rs_run_name_of(input->parts[0]).format;
    rs_run_reader *run;
    RS_SCOPED(rs_problems_clear) rs_problems unusable = {0};
    size_t usable = 0;
    rs_status status = format->run_open(settings, &run, err);
    for (size_t i = 0; i < input->n_parts && status == RS_OK; i++) {
        rs_error one = RS_ERROR_INIT;
        char line[1024];
        status = load_part(job, input->parts[i], format, run, settings, progress, bytes_in, &one);
        if (status == RS_OK) {
            usable += !rs_run_name_of(input->parts[i]).alone_useless;
        } else if ((status == RS_ERR_FORMAT || status == RS_ERR_IO) && (usable || i + 1 < input->n_parts)) {
            rs_problems_add_many(&unusable, input->parts[i], -1, RS_LOSS, "unusable_file",
                                 "one of a run's files could not be used", RS_NO_OFFSET, 1,
                                 rs_error_text(&one, line, sizeof line));
            status = RS_OK;
        } else if (err) {
            *err = one;
        }
    }
    if (status == RS_OK && !usable)
        status = rs_fail_at(err, RS_ERR_FORMAT, input->path, RS_NO_OFFSET,
                            "none of the %zu files of its run holds a trace", input->n_parts);
    format->run_close(run, status == RS_OK ? &input->events : NULL);
    if (status == RS_OK) rs_problems_move(&input->events->problems, &unusable);
    return status;
}

/* Fills input->events, from the store if they are there with all columns, else from the file or the files of its
 * run. What is read a second time, for want of columns, is read with all of them. *known: they need not be
 * kept (again). */
static rs_status read_events(rs_job *job, rs_input *input, const rs_load_settings *settings,
                             const rs_events_key *key, load_progress *progress, uint64_t *bytes_in,
                             bool *known, rs_error *err)
{
    rs_load_settings all = *settings;
    if (rs_events_fetch(job, key, settings->threads, &all.columns, &input->events, known)) return RS_OK;
    return input->n_parts ? load_run(job, input, &all, progress, bytes_in, err)
                          : load_file(job, input, &all, progress, bytes_in, err);
}

/* One recording behind those before it. They share the first one's clock. */
static rs_status add_recording(rs_input *input, size_t at, rs_error *err)
{
    rs_input *r = &input->recordings[at];
    rs_events *e = r->events;
    input->marks[at] = (rs_recording){.file = r->path,
                                      .first_row = input->events ? (uint32_t)input->events->n : 0,
                                      .packing = e->packing,
                                      .form = e->form,
                                      .n_bytes = e->n_bytes,
                                      .n_lost = e->n_lost,
                                      .n_rounded = e->n_rounded,
                                      .truncated = e->truncated};
    rs_problems_move(&input->problems, &e->problems);
    r->events = NULL;
    if (!input->events) {
        input->events = e;
        return RS_OK;
    }
    int64_t base = e->info.base_time_ns, first = input->events->info.base_time_ns;
    bool known = base != RS_NO_VALUE && first != RS_NO_VALUE;
    rs_status status = rs_events_append(input->events, e, known ? rs_sub_sat(base, first) : 0, err);
    rs_events_free(e);
    return status;
}

/* An input that is no row of recordings: events, then its ranks; *needs as make_traces has it. Events are kept when it is
 * known how many ranks they are of. */
static rs_status load_single(rs_job *job, rs_input *input, const rs_load_settings *settings,
                             load_progress *progress, uint64_t *bytes_in, uint64_t *needs, rs_error *err)
{
    rs_events_key key;
    bool known;
    rs_events_key_make(job, input, &key);
    rs_status status = read_events(job, input, settings, &key, progress, bytes_in, &known, err);
    if (status == RS_OK) {
        status = make_traces(job, input, needs, err);
        rs_events_keeping *keeping = status == RS_OK && !known && !*needs
                                         ? rs_events_keep(job, &key, input->events, settings->threads)
                                         : NULL;
        rs_problems_move(&input->problems, &input->events->problems);
        if (status == RS_OK && !*needs && (known || keeping))
            rs_stored_input_begin(job, input, &key, keeping);
    }
    rs_events_key_clear(&key);
    return status;
}

static rs_status load_recordings(rs_job *job, rs_input *input, const rs_load_settings *settings,
                                 load_progress *progress, uint64_t *bytes_in, rs_error *err)
{
    rs_status status = RS_OK;
    input->marks = rs_calloc(input->n_recordings, sizeof *input->marks);
    if (!input->marks) return rs_fail_nomem(err, "recordings");
    for (size_t k = 0; status == RS_OK && k < input->n_recordings; k++) {
        rs_input *r = &input->recordings[k];
        uint64_t bytes = 0;
        progress->reported = 0;
        rs_events_key key;
        bool known;
        rs_events_key_make(job, r, &key);
        status = read_events(job, r, settings, &key, progress, &bytes, &known, err);
        /* the next one is put behind them: they are kept at once */
        if (status == RS_OK && !known) rs_events_keep_end(rs_events_keep(job, &key, r->events, 1));
        rs_events_key_clear(&key);
        *bytes_in += bytes;
        if (status == RS_OK) status = add_recording(input, k, err);
    }
    if (status != RS_OK) input_release(input);
    return status;
}

/* Recordings of one run count their steps on. Where a number comes again, two runs may lie in one folder. */
static rs_status warn_of_repeats(rs_input *input, rs_trace *t, rs_error *err)
{
    const rs_step *steps;
    size_t n;
    uint64_t repeated = 0;
    rs_status status = rs_trace_steps(t, &steps, &n, err);
    RS_LOCAL rs_keyed *seen =
        status == RS_OK ? rs_malloc((n + 1) * sizeof *seen) : NULL; /* number, recording */
    for (size_t i = 0; seen && i < n; i++) {
        uint32_t at = 0;
        while (at + 1 < input->n_recordings && input->marks[at + 1].first_row <= steps[i].row) at++;
        seen[i] = (rs_keyed){steps[i].number, at};
    }
    if (status == RS_OK && (!seen || !rs_keyed_sort(seen, n))) status = rs_fail_nomem(err, "recordings");
    for (size_t i = 1; status == RS_OK && i < n; i++)
        repeated += seen[i].key == seen[i - 1].key && seen[i].value != seen[i - 1].value;
    if (repeated)
        rs_problems_add_many(
            &input->problems, input->path, -1, RS_WARNING, "repeated_steps",
            "recordings of this rank repeat step numbers, and steps of one number count as one: if "
            "two runs lie here, give the files of one",
            RS_NO_OFFSET, repeated, NULL);
    return status;
}

/* All recordings together are the one rank that each of them is. */
static rs_status make_recorded_trace(const rs_job *job, rs_input *input, rs_error *err)
{
    input->traces = rs_calloc(1, sizeof *input->traces);
    if (!input->traces) return rs_fail_nomem(err, "ranks");
    input->n_traces = 1;
    input->domain_rule = "one rank";
    rs_trace *t = &input->traces[0];
    rs_trace_init(t, input->events, NULL, input->events->n);
    t->file = input->path;
    t->recordings = input->marks;
    t->n_recordings = input->n_recordings;
    t->problems = &input->problems;
    t->selection = job->selection;
    t->judge = rs_job_classes_judge(job);
    t->role = input->role;
    return warn_of_repeats(input, t, err);
}

/* Rows that are put in belong to ranks, too. */
static rs_status graft(rs_job *job, rs_input *input, uint64_t *needs, rs_error *err)
{
    bool changed;
    rs_status status = rs_input_graft(job, input, &changed, err);
    if (status != RS_OK || !changed) return status;
    for (size_t i = 0; i < input->n_traces; i++) rs_trace_clear(&input->traces[i]);
    rs_free(input->traces);
    input->traces = NULL;
    input->n_traces = 0;
    return make_traces(job, input, needs, err);
}

uint64_t rs_input_columns(const rs_job *job, const rs_input *input, uint64_t columns)
{
    if (job->settings.all_columns) return RS_ALL_COLUMNS | (columns & RS_OTHER_ARGUMENTS);
    columns |= BASE_COLUMNS | input->told_by;
    if (job->settings.captures) columns |= RS_LINK_COLUMNS;
    if (rs_input_is_stdin(input)) columns |= RS_COLUMN_BIT(EXTERNAL_ID); /* read only once */
    return columns;
}

rs_status rs_input_load(rs_job *job, rs_input *input, uint64_t columns, unsigned threads, rs_error *err)
{
    if (input->instead)
        return rs_fail_at(err, RS_ERR_FORMAT, input->path, RS_NO_OFFSET,
                          "its run is in %s too, which is read instead", input->instead);
    columns = rs_input_columns(job, input, columns);
    if (input->events && (input->loaded & columns) == columns) return RS_OK;
    if (job->settings.keep) columns |= RS_ALL_COLUMNS;
    forget_kept(job, input);
    input_release(input);
    rs_problems_clear(&input->problems);
    double begin = rs_clock_seconds();
    load_progress progress = {.job = job};
    rs_load_settings settings = {.columns = columns,
                                 .max_memory = job->settings.max_memory,
                                 .max_string = job->settings.max_string,
                                 .max_depth = job->settings.max_depth,
                                 .records = job->records,
                                 .threads = threads,
                                 .simd = job->settings.simd,
                                 .progress = on_progress,
                                 .progress_context = &progress};
    uint64_t bytes_in = 0;
    uint64_t needs = 0;
    rs_status status;
    if (input->n_recordings) {
        status = load_recordings(job, input, &settings, &progress, &bytes_in, err);
        if (status == RS_OK) rs_problems_move(&input->problems, &input->events->problems);
        if (status == RS_OK) status = make_recorded_trace(job, input, err);
    } else {
        status = load_single(job, input, &settings, &progress, &bytes_in, &needs, err);
    }
    if (status == RS_OK && !needs && job->captures) status = graft(job, input, &needs, err);
    if (status != RS_OK) {
        input_release(input);
        return status;
    }
    input->loaded = columns;
    if (needs) return rs_input_load(job, input, columns | needs, threads, err);
    pthread_mutex_lock(&job->lock);
    job->stats.bytes_read += bytes_in;
    if (bytes_in) job->stats.bytes_text += input->events->n_bytes;
    job->stats.events += input->events->n;
    job->stats.load_seconds += rs_clock_seconds() - begin;
    pthread_mutex_unlock(&job->lock);
    return RS_OK;
}

int64_t rs_input_rank(const rs_input *input, const rs_trace *t, const char **rule)
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
    return named == RS_NO_VALUE ? input->label_rank : named;
}

rs_status rs_job_load_file(rs_job *job, uint64_t columns, rs_loaded_file *out, rs_error *err)
{
    rs_input *input = &job->inputs[0];
    *out = (rs_loaded_file){0};
    if (job->n_inputs != 1)
        return rs_fail(err, RS_ERR_USAGE, "one file is loaded at a time, not %zu", job->n_inputs);
    RS_TRY(rs_input_load(job, input, columns, job->settings.jobs, err));
    for (size_t i = 0; i < input->n_traces; i++) {
        const char *rule;
        int64_t rank = rs_input_rank(input, &input->traces[i], &rule);
        if (rank == RS_NO_VALUE && input->n_traces > 1) rank = (int64_t)i;
        input->traces[i].rank = rank;
    }
    *out = (rs_loaded_file){.traces = input->traces,
                            .n = input->n_traces,
                            .domain_rule = input->domain_rule,
                            .problems = &input->problems};
    return RS_OK;
}
