/* Opening: dumps are read on several threads and merged in the order of their paths, so that numbers do not
 * depend on how many threads there are. */
#define _DEFAULT_SOURCE
#include "base/settings.h"
#include "base/system.h"
#include "base/try.h"
#include "flight/files.h"
#include "flight/live.h"
#include "flight/log.h"
#include "flight/p2p.h"
#include "flight/sources.h"
#include "input/source.h"
#include "input/tar.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* An unusable file is judged once all are read: what shares its name with dumps should have been one. */
typedef struct verdictless {
    char *path;
    int64_t rank;
    bool named;
    rs_problems problems;
} verdictless;

typedef struct opening {
    rs_flight *flight;
    rs_fl_files files;
    verdictless *unusable;
    size_t n_unusable, unusable_capacity;
    rs_strings stems; /* of usable dumps */
    pthread_mutex_t lock;
    pthread_cond_t turn_changed;
    size_t next_file, turn, done;
    rs_status status;
    rs_error error;
} opening;

static void stop_all(opening *o, rs_status status, const rs_error *error)
{
    if (o->status == RS_OK) {
        o->status = status;
        o->error = *error;
    }
    pthread_cond_broadcast(&o->turn_changed);
}

/* Takes one read dump over; the lock is held and it is this file's turn. */
static rs_status accept(opening *o, rs_fl_draft *draft, const char *path, const char *rule, bool named,
                        bool usable, rs_problems *problems, rs_error *err)
{
    if (!usable) {
        if (!RS_GROW_ONE(o->unusable, o->n_unusable, o->unusable_capacity)) return rs_fail_nomem(err, path);
        verdictless *v = &o->unusable[o->n_unusable];
        *v = (verdictless){.path = rs_strdup(path), .rank = draft->rank.rank, .named = named};
        if (!v->path) return rs_fail_nomem(err, path);
        o->n_unusable++;
        rs_problems_move(&v->problems, problems);
        return RS_OK;
    }
    size_t n;
    const char *stem = rs_fl_stem_of_path(path, &n);
    draft->rank.file = rs_strdup(path);
    draft->rank.rule = rule;
    if (!draft->rank.file || rs_strings_add(&o->stems, stem, n) == RS_NO_STRING)
        return rs_fail_nomem(err, path);
    rs_problems_move(&o->flight->problems, problems);
    if (draft->rank.rank < 0 && o->files.n == 1) {
        draft->rank.rank = 0;
        draft->rank.rule = "the only file";
    }
    if (draft->rank.rank < 0) {
        rs_problems_add(&o->flight->problems, path, -1, RS_LOSS, "no_rank",
                        "a dump's name has no rank; give it as RANK=PATH", RS_NO_OFFSET);
        return RS_OK;
    }
    return rs_fl_merge(o->flight, draft, err);
}

static rs_status wait_for_turn(opening *o, size_t file)
{
    while (o->turn != file && o->status == RS_OK) pthread_cond_wait(&o->turn_changed, &o->lock);
    return o->status;
}

/* Reads one dump and hands it over in turn. The lock is not held. */
static rs_status read_one(opening *o, rs_fl_reader *reader, const uint8_t *bytes, size_t n, size_t file,
                          const char *path, int64_t rank, const char *rule, bool named, rs_error *err)
{
    rs_fl_draft draft;
    RS_SCOPED(rs_problems_clear) rs_problems problems = {0};
    bool usable;
    rs_status status = rs_fl_read_dump(reader, bytes, n, path, rank, &draft, &usable, &problems, err);
    if (status == RS_OK) {
        pthread_mutex_lock(&o->lock);
        if (wait_for_turn(o, file) == RS_OK)
            status = accept(o, &draft, path, rule, named, usable, &problems, err);
        pthread_mutex_unlock(&o->lock);
    }
    rs_fl_draft_clear(&draft);
    return status;
}

static rs_status read_tar(opening *o, rs_fl_reader *reader, const uint8_t *bytes, size_t n, size_t file,
                          const char *path, rs_error *err)
{
    rs_tar tar = {.bytes = bytes, .size = n};
    rs_tar_member member;
    rs_status status = RS_OK;
    while (status == RS_OK && rs_tar_next(&tar, &member)) {
        char name[1024];
        size_t a = strlen(path), b = strlen(member.name);
        if (a > 500) a = 500;
        memcpy(name, path, a);
        name[a] = '/';
        memcpy(name + a + 1, member.name, b + 1);
        int64_t rank;
        const char *rule;
        bool says_rank;
        const char *prefix = o->flight->settings.prefix;
        bool found = rs_fl_rank_of_path(member.name, prefix, &rank, &rule, &says_rank);
        if (!found && prefix && *prefix && !says_rank) continue;
        status = read_one(o, reader, member.bytes, member.size, file, name, rank, rule, says_rank, err);
    }
    if (status == RS_OK && tar.cut) {
        pthread_mutex_lock(&o->lock);
        if (wait_for_turn(o, file) == RS_OK)
            rs_problems_add(&o->flight->problems, path, -1, RS_LOSS, "truncated_archive",
                            "the archive is damaged or cut short: what follows is lost", tar.at);
        pthread_mutex_unlock(&o->lock);
    }
    return status;
}

static rs_status read_file(opening *o, rs_fl_reader *reader, size_t i, rs_error *err)
{
    const rs_fl_file *file = &o->files.items[i];
    rs_source *source = NULL;
    RS_LOCAL uint8_t *bytes = NULL;
    size_t n = 0;
    rs_error fault = RS_ERROR_INIT;
    uint64_t max = o->flight->settings.max_file ? o->flight->settings.max_file : UINT64_C(4) << 30;
    rs_status status = rs_source_open(file->path, o->flight->settings.max_ratio, &source, &fault);
    if (status == RS_OK) status = rs_source_read_all(source, (size_t)max, &bytes, &n, &fault);
    if (status == RS_ERR_IO || status == RS_ERR_LIMIT) {
        rs_fl_draft none = {.rank.rank = file->rank};
        rs_problems problems = {0};
        rs_problems_add_many(&problems, file->path, file->rank, RS_LOSS, "unreadable",
                             "the file cannot be read", fault.causes[0].offset, 1, fault.causes[0].message);
        pthread_mutex_lock(&o->lock);
        if (wait_for_turn(o, i) == RS_OK)
            status = accept(o, &none, file->path, file->rule, file->named, false, &problems, err);
        pthread_mutex_unlock(&o->lock);
        rs_problems_clear(&problems);
    } else if (status != RS_OK) {
        *err = fault;
    } else {
        status = rs_tar_looks(bytes, n)
                     ? read_tar(o, reader, bytes, n, i, file->path, err)
                     : read_one(o, reader, bytes, n, i, file->path, file->rank, file->rule, file->named, err);
        pthread_mutex_lock(&o->lock);
        o->flight->stats.bytes_text += n;
        o->flight->stats.bytes_read += rs_source_bytes_in(source);
        if (status == RS_OK && wait_for_turn(o, i) == RS_OK)
            rs_source_report_end(source, file->rank, &o->flight->problems);
        pthread_mutex_unlock(&o->lock);
    }
    rs_source_close(source);
    return status;
}

static void *work(void *context)
{
    opening *o = context;
    rs_error err = RS_ERROR_INIT;
    rs_fl_reader *reader = rs_fl_reader_create();
    rs_status status = reader ? RS_OK : rs_fail_nomem(&err, "a reader");
    pthread_mutex_lock(&o->lock);
    while (status == RS_OK && o->status == RS_OK && o->next_file < o->files.n) {
        size_t i = o->next_file++;
        pthread_mutex_unlock(&o->lock);
        status = read_file(o, reader, i, &err);
        pthread_mutex_lock(&o->lock);
        if (status == RS_OK && wait_for_turn(o, i) == RS_OK) {
            o->turn = i + 1;
            o->done++;
            const rs_flight_settings *s = &o->flight->settings;
            if (s->progress && !s->progress(s->progress_context, o->done, o->files.n))
                status = rs_fail(&err, RS_ERR_CANCELLED, "cancelled");
            pthread_cond_broadcast(&o->turn_changed);
        }
    }
    if (status != RS_OK) stop_all(o, status, &err);
    pthread_mutex_unlock(&o->lock);
    rs_fl_reader_free(reader);
    return NULL;
}

static void run_threads(opening *o)
{
    size_t n = o->flight->settings.jobs ? o->flight->settings.jobs : rs_system_processors();
    if (n > o->files.n) n = o->files.n;
    if (n > 64) n = 64;
    pthread_t threads[64];
    size_t started = 0;
    while (n > 1 && started < n - 1 && pthread_create(&threads[started], NULL, work, o) == 0) started++;
    work(o);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static rs_status note_unusable(opening *o, rs_error *err)
{
    rs_flight *flight = o->flight;
    for (size_t i = 0; i < o->n_unusable; i++) {
        verdictless *v = &o->unusable[i];
        size_t n;
        const char *stem = rs_fl_stem_of_path(v->path, &n);
        bool expected =
            v->named || flight->n_ranks == 0 || rs_strings_find(&o->stems, stem, n) != RS_NO_STRING;
        bool replaced = v->rank >= 0 && rs_fl_rank_index(flight, v->rank) != RS_FL_NONE;
        if (!expected) {
            rs_problems_add(&flight->problems, v->path, -1, RS_NOTE, "not_a_dump",
                            "the file is no flight-recorder dump and was skipped", RS_NO_OFFSET);
            continue;
        }
        for (size_t p = 0; replaced && p < v->problems.n; p++) v->problems.items[p].severity = RS_WARNING;
        rs_problems_move(&flight->problems, &v->problems);
        if (replaced) continue;
        flight->n_unusable_files++;
        if (v->rank < 0) continue;
        if (!RS_GROW_ONE(flight->unusable, flight->n_unusable, flight->unusable_capacity))
            return rs_fail_nomem(err, "the list of unusable dumps");
        size_t at = flight->n_unusable++;
        while (at > 0 && flight->unusable[at - 1] > v->rank) {
            flight->unusable[at] = flight->unusable[at - 1];
            at--;
        }
        flight->unusable[at] = v->rank;
    }
    return RS_OK;
}

static rs_status init_texts(opening *o, rs_error *err)
{
    rs_flight *flight = o->flight;
    if (!rs_strings_init(&flight->texts) || !rs_strings_init(&flight->call_keys) ||
        !rs_strings_init(&flight->stack_keys) || !rs_strings_init(&flight->frame_keys) ||
        !rs_strings_init(&flight->group_keys) || !rs_strings_init(&o->stems))
        return rs_fail_nomem(err, "the job");
    return RS_OK;
}

static rs_status finish_opening(opening *o, size_t n_files, rs_error *err)
{
    rs_status status = rs_fl_index(o->flight, err);
    if (status == RS_OK) status = rs_fl_resolve_log(o->flight, err);
    if (status == RS_OK) status = note_unusable(o, err);
    if (status == RS_OK && o->flight->n_ranks == 0 && !o->flight->periodic &&
        !(o->flight->log && n_files == 0))
        status = rs_fail(err, RS_ERR_FORMAT, "none of %zu files is a usable flight-recorder dump", n_files);
    return status;
}

/* Reads what the sources know among the files, which are then no files that could be dumps. */
static rs_status take_sources(opening *o, rs_error *err)
{
    rs_status status = RS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < o->files.n; i++) {
        bool taken = false;
        if (status == RS_OK) status = rs_fl_read_source(o->flight, o->files.items[i].path, &taken, err);
        if (taken)
            rs_free(o->files.items[i].path);
        else
            o->files.items[kept++] = o->files.items[i];
    }
    o->files.n = kept;
    return status;
}

static rs_status open_files(opening *o, const char *const *paths, size_t n_paths, rs_error *err)
{
    rs_flight *flight = o->flight;
    char *named = NULL;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < flight->settings.n_logs; i++)
        status = rs_fl_read_log(flight, flight->settings.logs[i], err);
    if (status == RS_OK) status = rs_fl_read_given(flight, err);
    if (status == RS_OK && n_paths == 0) status = rs_fl_find_named_dumps(flight, &named, err);
    const char *prefix = named;
    if (status == RS_OK && (n_paths || named))
        status = rs_fl_find_files(named ? &prefix : paths, named ? 1 : n_paths, flight->settings.prefix,
                                  &o->files, err);
    rs_free(named);
    if (status == RS_OK) status = take_sources(o, err);
    if (status != RS_OK) return status;
    if (o->files.n_periodic)
        status = rs_fl_read_periodic(flight, o->files.periodic, o->files.n_periodic, err);
    if (status != RS_OK) return status;
    if (o->files.n == 0 && (o->files.n_periodic || flight->log || rs_fl_has_sources(flight)))
        return finish_opening(o, 0, err);
    if (o->files.n == 0)
        return rs_fail(err, RS_ERR_FORMAT,
                       flight->settings.prefix ? "no file whose name contains the prefix"
                                               : "there are no files to read");
    run_threads(o);
    if (o->status != RS_OK) {
        if (err) *err = o->error;
        return o->status;
    }
    return finish_opening(o, o->files.n, err);
}

static rs_status open_bytes(opening *o, const rs_flight_bytes *dumps, size_t n_dumps, rs_error *err)
{
    rs_fl_reader *reader = rs_fl_reader_create();
    rs_status status = reader ? RS_OK : rs_fail_nomem(err, "a reader");
    for (size_t i = 0; status == RS_OK && i < o->flight->settings.n_logs; i++)
        status = rs_fl_read_log(o->flight, o->flight->settings.logs[i], err);
    if (status == RS_OK) status = rs_fl_read_given(o->flight, err);
    for (size_t i = 0; i < n_dumps && status == RS_OK; i++)
        status = read_one(o, reader, dumps[i].bytes, dumps[i].n, 0, dumps[i].name, dumps[i].rank, "given",
                          true, err);
    rs_fl_reader_free(reader);
    return status == RS_OK ? finish_opening(o, n_dumps, err) : status;
}

/* Starts a job; finish with `end`. */
static rs_status begin(opening *o, const rs_flight_settings *settings, rs_flight **out, rs_error *err)
{
    *out = rs_calloc(1, sizeof **out);
    if (!*out) return rs_fail_nomem(err, "the job");
    if (settings) RS_TAKE_SETTINGS(rs_flight_settings, &(*out)->settings, settings, err);
    /* Of a row of snapshots only the last two are compared. */
    rs_flight *older = settings && settings->previous ? settings->previous->settings.previous : NULL;
    if (older) {
        settings->previous->settings.previous = NULL;
        rs_flight_close(older);
    }
    *o = (opening){.flight = *out,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .turn_changed = PTHREAD_COND_INITIALIZER,
                   .error = RS_ERROR_INIT};
    RS_TRY(init_texts(o, err));
    if (settings && settings->history &&
        !((*out)->settings.history = rs_fl_print(*out, "%s", settings->history)))
        return rs_fail_nomem(err, "the history");
    return RS_OK;
}

static rs_status end(opening *o, rs_flight **out, rs_status status)
{
    for (size_t i = 0; i < o->n_unusable; i++) {
        rs_free(o->unusable[i].path);
        rs_problems_clear(&o->unusable[i].problems);
    }
    rs_free(o->unusable);
    rs_strings_clear(&o->stems);
    rs_fl_files_clear(&o->files);
    if (*out)
        (*out)->settings.prefix = NULL, (*out)->settings.logs = NULL, (*out)->settings.n_logs = 0,
        (*out)->settings.evidence = NULL, (*out)->settings.n_evidence = 0, (*out)->settings.compiled = NULL,
        (*out)->settings.n_compiled = 0;
    if (status == RS_OK || status == RS_ERR_FORMAT) return status;
    if (*out) (*out)->settings.previous = NULL; /* it stays the caller's */
    rs_flight_close(*out);
    *out = NULL;
    return status;
}

rs_status rs_flight_open(const char *const *paths, size_t n_paths, const rs_flight_settings *settings,
                         rs_flight **out, rs_error *err)
{
    opening o = {0};
    rs_status status = begin(&o, settings, out, err);
    if (status == RS_OK) status = open_files(&o, paths, n_paths, err);
    return end(&o, out, status);
}

rs_status rs_flight_open_bytes(const rs_flight_bytes *dumps, size_t n_dumps,
                               const rs_flight_settings *settings, rs_flight **out, rs_error *err)
{
    opening o = {0};
    rs_status status = begin(&o, settings, out, err);
    if (status == RS_OK) status = open_bytes(&o, dumps, n_dumps, err);
    return end(&o, out, status);
}

rs_job_stats rs_flight_get_stats(const rs_flight *flight)
{
    rs_job_stats stats = {0};
    if (flight) stats = flight->stats;
    for (size_t r = 0; flight && r < flight->n_ranks; r++) stats.events += flight->ranks[r].n;
    return stats;
}

void rs_flight_close(rs_flight *flight)
{
    if (!flight) return;
    rs_flight_close(flight->settings.previous);
    for (size_t r = 0; r < flight->n_ranks; r++) {
        rs_free_all(flight->ranks[r].file, flight->ranks[r].entries, flight->ranks[r].order,
                    flight->ranks[r].members, flight->ranks[r].loose);
    }
    rs_free(flight->ranks);
    rs_fl_p2p_free(flight);
    for (size_t g = 0; g < flight->n_groups; g++) {
        rs_free_all(flight->groups[g].ranks, flight->groups[g].index, flight->groups[g].sorted);
    }
    rs_free(flight->groups);
    rs_strings_clear(&flight->texts);
    rs_strings_clear(&flight->call_keys);
    rs_strings_clear(&flight->stack_keys);
    rs_strings_clear(&flight->frame_keys);
    rs_strings_clear(&flight->group_keys);
    rs_map64_clear(&flight->member_texts);
    rs_free_all(flight->calls, flight->frames, flight->stacks, flight->stack_frames, flight->by_group,
                flight->unusable, flight->notes);
    rs_fl_clear_sources(flight);
    rs_fl_log_clear(flight->log);
    rs_fl_periodic_free(flight->periodic);
    rs_free(flight->threads);
    rs_problems_clear(&flight->problems);
    rs_arena_clear(&flight->arena);
    rs_free(flight);
}

const rs_problems *rs_flight_problems(const rs_flight *flight)
{
    return &flight->problems;
}
