/* The life of a metrics question: labels, reading in parallel, what is missing. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/settings.h"
#include "base/suggest.h"
#include "base/system.h"
#include "base/workers.h"
#include "metrics/dataset.h"

rs_status rs_metrics_create(const rs_metrics_settings *settings, rs_metrics **out, rs_error *err)
{
    rs_metrics_settings own;
    *out = NULL;
    RS_TAKE_SETTINGS(rs_metrics_settings, &own, settings, err);
    settings = &own;
    if (settings->skip_warmup < 0) return rs_fail(err, RS_ERR_USAGE, "--skip-warmup takes a whole number");
    if (!(settings->between_run_sd >= 0))
        return rs_fail(err, RS_ERR_USAGE, "--between-run-sd takes 0 or more percent");
    rs_metrics *m = rs_calloc(1, sizeof *m);
    if (!m) return rs_fail_nomem(err, "metrics");
    m->settings = *settings;
    m->reference = m->candidate = SIZE_MAX;
    if (m->settings.jobs == 0) m->settings.jobs = rs_system_processors();
    *out = m;
    return RS_OK;
}

void rs_metrics_free(rs_metrics *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->n; i++) rs_dataset_clear(&m->datasets[i]);
    rs_free_all(m->datasets, m);
}

size_t rs_metrics_count(const rs_metrics *m)
{
    return m->n;
}

const char *rs_metrics_label(const rs_metrics *m, size_t index)
{
    return m->datasets[index].label;
}

/* ---- labels ------------------------------------------------------------------------------------------- */

static size_t find_label(const rs_metrics *m, const char *label)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->datasets[i].label, label) == 0) return i;
    return SIZE_MAX;
}

static rs_status check_label(const rs_metrics *m, const char *label, rs_error *err)
{
    if (!*label) return rs_fail(err, RS_ERR_USAGE, "a label may not be empty: it names a file");
    if (strlen(label) > 200) return rs_fail(err, RS_ERR_USAGE, "a label may have at most 200 bytes");
    for (const char *c = label; *c; c++)
        if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
            return rs_fail(err, RS_ERR_USAGE,
                           "the label \"%.60s\" holds a slash or a control character; it names a file",
                           label);
    if (strstr(label, "..") || strcmp(label, ".") == 0)
        return rs_fail(err, RS_ERR_USAGE, "the label \"%.60s\" may not be . or hold ..: it names a file",
                       label);
    if (find_label(m, label) != SIZE_MAX)
        return rs_fail(err, RS_ERR_USAGE, "the label \"%.60s\" was given twice", label);
    return RS_OK;
}

rs_status rs_metrics_add(rs_metrics *m, const char *label, const char *directory, rs_error *err)
{
    rs_status status = check_label(m, label, err);
    if (status != RS_OK) return status;
    rs_dataset d = {.label = rs_strdup(label), .directory = rs_strdup(directory), .straggler_rank = -1};
    if (!d.label || !d.directory || !RS_GROW_ONE(m->datasets, m->n, m->capacity)) {
        rs_dataset_clear(&d);
        return rs_fail_nomem(err, "labels");
    }
    m->datasets[m->n++] = d;
    return RS_OK;
}

static rs_status known_label(const rs_metrics *m, const char *what, const char *label, size_t *out,
                             rs_error *err)
{
    char known[200] = "";
    rs_suggestion nearest = {0};
    *out = find_label(m, label);
    if (*out != SIZE_MAX) return RS_OK;
    for (size_t i = 0; i < m->n; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", m->datasets[i].label);
        rs_suggest_from(&nearest, label, m->datasets[i].label);
    }
    if (nearest.best)
        return rs_fail(err, RS_ERR_USAGE, "--%s: there is no label \"%.60s\"; did you mean %s?", what, label,
                       nearest.best);
    return rs_fail(err, RS_ERR_USAGE, "--%s: there is no label \"%.60s\"; there is %s", what, label, known);
}

rs_status rs_metrics_compare(rs_metrics *m, const char *reference, const char *candidate, rs_error *err)
{
    size_t a, b;
    rs_status status = known_label(m, "reference", reference, &a, err);
    if (status == RS_OK) status = known_label(m, "candidate", candidate, &b, err);
    if (status != RS_OK) return status;
    m->reference = a;
    m->candidate = b;
    return RS_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

typedef struct crew {
    rs_metrics *metrics;
    pthread_mutex_t lock;
    uint64_t done, total;
    bool stop;
} crew;

static bool on_progress(void *context, uint64_t more)
{
    crew *c = context;
    pthread_mutex_lock(&c->lock);
    c->done += more;
    const rs_metrics_settings *s = &c->metrics->settings;
    if (!c->stop && s->progress) c->stop = !s->progress(s->progress_context, c->done, c->total);
    bool go_on = !c->stop;
    pthread_mutex_unlock(&c->lock);
    return go_on;
}

static rs_series *file_at(crew *c, size_t index)
{
    rs_dataset *d = c->metrics->datasets;
    for (; index >= d->n_series; d++) index -= d->n_series;
    return &d->series[index];
}

/* What becomes of a file stays with it: only a stop ends the reading of the others. */
static rs_status read_one(void *context, size_t item, unsigned worker, rs_error *err)
{
    (void)worker;
    crew *c = context;
    const rs_metrics_settings *m = &c->metrics->settings;
    rs_series_settings settings = {
        .aorta = m->aorta, .skip_warmup = m->skip_warmup, .progress = on_progress, .progress_context = c};
    rs_series *s = file_at(c, item);
    s->status = rs_series_read(s, &settings, &s->error);
    if (s->status != RS_ERR_CANCELLED) return RS_OK;
    *err = s->error;
    return s->status;
}

static rs_status read_all(crew *c, rs_error *err)
{
    size_t n_files = 0;
    for (size_t i = 0; i < c->metrics->n; i++) n_files += c->metrics->datasets[i].n_series;
    return rs_workers_run(n_files, c->metrics->settings.jobs, read_one, c, err);
}

/* ---- what is missing ---------------------------------------------------------------------------------- */

static void list_missing(const rs_dataset *d, char *out, size_t size)
{
    size_t used = 0;
    int64_t next = 0;
    unsigned shown = 0;
    for (size_t i = 0; i <= d->n_series && used < size; i++) {
        int64_t to = i < d->n_series ? d->series[i].rank : d->world_size;
        for (; next < to && used < size; next++) {
            if (++shown > 12) {
                snprintf(out + used, size - used, ", ...");
                return;
            }
            used +=
                (size_t)snprintf(out + used, size - used, "%s%lld", shown > 1 ? ", " : "", (long long)next);
        }
        next = to + 1;
    }
}

static void note_missing(const rs_dataset *d, rs_problems *problems)
{
    char detail[240], list[160] = "";
    if (d->world_size > 0 && (uint64_t)d->world_size > d->n_series) {
        list_missing(d, list, sizeof list);
        snprintf(detail, sizeof detail, "%zu of %lld; none for rank %s", d->n_series,
                 (long long)d->world_size, list);
        rs_problems_add_many(problems, d->directory, -1, RS_NOTE, "missing_ranks",
                             "there are fewer rank files than world_size says", RS_NO_OFFSET, 1, detail);
    }
    size_t most = 0;
    for (size_t i = 0; i < d->n_series; i++)
        if (d->series[i].n > most) most = d->series[i].n;
    for (size_t i = 0; i < d->n_series; i++) {
        const rs_series *s = &d->series[i];
        if (s->skipped || s->n == most) continue;
        snprintf(detail, sizeof detail, "%zu of %zu", s->n, most);
        rs_problems_add_many(problems, s->file, s->rank, RS_NOTE, "fewer_steps",
                             "the rank has fewer records than others, so it weighs less in the means",
                             RS_NO_OFFSET, 1, detail);
    }
}

/* Problems in the order of ranks; a file that could not be read is one of them. */
static rs_status settle_dataset(rs_dataset *d, rs_problems *problems, rs_error *err)
{
    char text[RS_ERROR_TEXT * 2];
    for (size_t i = 0; i < d->n_series; i++) {
        rs_series *s = &d->series[i];
        rs_problems_move(problems, &s->problems);
        if (s->status == RS_ERR_NOMEM || s->status == RS_ERR_CANCELLED) {
            *err = s->error;
            return s->status;
        }
        if (s->status != RS_OK) {
            rs_error_text(&s->error, text, sizeof text);
            rs_problems_add_many(problems, s->file, s->rank, RS_LOSS, "unreadable", "the file was left out",
                                 RS_NO_OFFSET, 1, text);
            s->n = 0;
            s->skipped = true;
        } else if (s->skipped) {
            rs_problems_add(problems, s->file, s->rank, RS_LOSS, "no_records",
                            "the file holds no usable record", RS_NO_OFFSET);
        }
        if (s->skipped) continue;
        d->count += s->n;
        d->used += s->kept.n;
        rs_sums_merge(&d->sums, &s->kept);
        if (s->world_size > d->world_size) d->world_size = s->world_size;
    }
    if (!d->count)
        return rs_fail_at(err, RS_ERR_FORMAT, d->directory, RS_NO_OFFSET,
                          "label %.80s is left without a usable record", d->label);
    note_missing(d, problems);
    return RS_OK;
}

rs_status rs_metrics_read(rs_metrics *m, rs_problems *problems, rs_error *err)
{
    crew c = {.metrics = m};
    rs_status status = RS_OK;
    for (size_t i = 0; i < m->n && status == RS_OK; i++) {
        rs_dataset *d = &m->datasets[i];
        status = rs_dataset_scan(d, m->settings.aorta, problems, err);
        struct stat info;
        for (size_t k = 0; k < d->n_series; k++)
            if (stat(d->series[k].file, &info) == 0) c.total += (uint64_t)info.st_size;
    }
    if (status != RS_OK) return status;
    pthread_mutex_init(&c.lock, NULL);
    status = read_all(&c, err);
    pthread_mutex_destroy(&c.lock);
    for (size_t i = 0; i < m->n && status == RS_OK; i++) {
        rs_dataset *d = &m->datasets[i];
        status = settle_dataset(d, problems, err);
        if (status == RS_OK && !m->settings.aorta) status = rs_dataset_report(d, err);
        if (status == RS_OK && m->settings.traces)
            status = rs_dataset_traces(d, m->settings.jobs, problems, err);
    }
    return status;
}
