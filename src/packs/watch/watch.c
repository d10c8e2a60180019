#define _GNU_SOURCE
#include "watch/watch.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system.h"
#include "base/try.h"
#include "base/workers.h"

#define SETTLE_NS (INT64_C(10) * 1000000000)
#define N_RECENT (RS_SERIES_IN_A_ROW - 1)
#define PATIENCE 3  /* settle times without a new piece, after which a window is taken as it is */
#define MAX_DEPTH 8 /* of folders */
#define SAME_NS (INT64_C(60) * 1000000000) /* how far clocks of one window's ranks may be apart */

rs_status rs_watch_open(const rs_watch_settings *settings, rs_watch **out, rs_error *err)
{
    rs_watch *w = rs_calloc(1, sizeof *w);
    *out = NULL;
    if (!w || !rs_strings_init(&w->paths)) {
        rs_watch_close(w);
        return rs_fail_nomem(err, "the watch");
    }
    if (settings->job) w->job = *settings->job;
    w->job.size = sizeof w->job;
    w->job.absolute = w->job.store_optional = true;
    w->min_effect = settings->min_effect > 0 ? settings->min_effect : 0.03;
    w->settle_ns = settings->settle_ns < 0 ? SETTLE_NS : settings->settle_ns;
    w->delete_traces = settings->delete_traces;
    w->is_stale = true;
    rs_status status = rs_history_open(settings->history, &w->history, err);
    if (status == RS_OK) status = rs_watch_catch_up(w, err);
    if (status == RS_OK)
        *out = w;
    else
        rs_watch_close(w);
    return status;
}

static void clear_forming(rs_forming *f)
{
    rs_free_all(f->pieces, f->files);
}

void rs_watch_close(rs_watch *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->n_forming; i++) clear_forming(&w->forming[i]);
    for (size_t i = 0; i < N_RECENT; i++) clear_forming(&w->recent[i]);
    for (size_t i = 0; i < w->n_conditions; i++) {
        rs_free_all(w->conditions[i].id, w->conditions[i].subject, w->conditions[i].text);
    }
    rs_watch_clear_open(w);
    rs_free_all(w->open, w->conditions, w->forming, w->files);
    rs_strings_clear(&w->paths);
    rs_series_free(w->series);
    rs_history_close(w->history);
    rs_free(w);
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static rs_status see_file(rs_watch *w, const char *path, const struct stat *info, rs_error *err)
{
    char *real = realpath(path, NULL); /* two watchers may name a folder differently */
    size_t before = w->paths.n;
    uint32_t id = real ? rs_strings_add(&w->paths, real, strlen(real)) : 0;
    int64_t mtime = rs_system_ns(info->st_mtim);
    const size_t had = w->files_capacity;
    int64_t window = 0;
    if (!real) return errno == ENOMEM ? rs_fail_nomem(err, path) : RS_OK;
    if (id == RS_NO_STRING ||
        !rs_grow((void **)&w->files, &w->files_capacity, w->paths.n, sizeof *w->files)) {
        free(real);
        return rs_fail_nomem(err, path);
    }
    memset(w->files + had, 0, (w->files_capacity - had) * sizeof *w->files); /* the first is no path's */
    rs_watched_file *f = &w->files[id];
    if (w->paths.n > before) *f = (rs_watched_file){.size = -1};
    f->in_scan = true;
    if (f->size != info->st_size || f->mtime_ns != mtime) {
        *f = (rs_watched_file){.size = info->st_size, .mtime_ns = mtime, .in_scan = true};
        f->seen_at = rs_clock_seconds();
        f->key = rs_history_file_key(real, f->size, f->mtime_ns);
        rs_status status = rs_history_file_window(w->history, f->key, &window, err);
        f->is_settled = window != 0;
        free(real);
        return status;
    }
    free(real);
    return RS_OK;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static rs_status scan(rs_watch *w, const char *path, unsigned depth, rs_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0) return RS_OK; /* it went a moment ago */
    if (S_ISREG(info.st_mode)) return see_file(w, path, &info, err);
    if (!S_ISDIR(info.st_mode) || depth > (w->job.recursive ? MAX_DEPTH : 0)) return RS_OK;
    struct dirent **entries;
    int n = scandir(path, &entries, is_visible, alphasort);
    rs_status status = RS_OK;
    for (int i = 0; i < n; i++) {
        rs_text full = {0};
        rs_text_printf(&full, "%s/%s", path, entries[i]->d_name);
        if (status == RS_OK)
            status =
                rs_text_get(&full) ? scan(w, rs_text_get(&full), depth + 1, err) : rs_fail_nomem(err, path);
        rs_text_clear(&full);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return status;
}

rs_status rs_watch_scan(rs_watch *w, const char *const *sources, size_t n, rs_error *err)
{
    for (size_t i = 0; i < w->paths.n; i++)
        if (i < w->files_capacity) w->files[i].in_scan = false;
    for (size_t i = 0; i < n; i++) {
        struct stat info;
        if (stat(sources[i], &info) != 0)
            return rs_fail_at(err, RS_ERR_IO, sources[i], RS_NO_OFFSET, "cannot be looked at: %s",
                              strerror(errno));
        RS_TRY(scan(w, sources[i], 0, err));
    }
    return RS_OK;
}

/* By the wall clock, and where that was set back or the file is from the future, by how long it has been seen unchanged. */
static bool has_settled(const rs_watch *w, const rs_watched_file *f)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t age = rs_system_ns(wall) - f->mtime_ns;
    return age >= w->settle_ns || (rs_clock_seconds() - f->seen_at) * 1e9 >= (double)w->settle_ns;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

typedef struct reading {
    rs_watch *watch;
    uint32_t *files;
    rs_pieces *pieces;
    size_t n;
    rs_job_settings settings; /* of one file on one thread */
    pthread_mutex_t lock;     /* the caller's progress function is called by one thread at a time */
} reading;

static bool step(void *context, uint64_t done, uint64_t total)
{
    reading *r = context;
    pthread_mutex_lock(&r->lock);
    bool on = !r->watch->job.progress || r->watch->job.progress(r->watch->job.progress_context, done, total);
    pthread_mutex_unlock(&r->lock);
    return on;
}

static rs_status read_one(void *context, size_t i, unsigned worker, rs_error *err)
{
    reading *r = context;
    (void)worker;
    return rs_pieces_read(r->watch->paths.items[r->files[i]].text, &r->settings, &r->pieces[i], err);
}

static rs_status list_ready(rs_watch *w, reading *r, rs_watch_round *round, rs_error *err)
{
    r->files = rs_malloc((w->paths.n + 1) * sizeof *r->files);
    if (!r->files) return rs_fail_nomem(err, "the files");
    for (uint32_t i = 1; i < w->paths.n; i++) {
        const rs_watched_file *f = &w->files[i];
        if (!f->in_scan) continue;
        if (f->is_broken) round->files_broken++;
        if (f->is_settled) continue;
        if (has_settled(w, f))
            r->files[r->n++] = i;
        else
            round->files_changing++;
    }
    r->pieces = rs_calloc(r->n + 1, sizeof *r->pieces);
    return r->pieces ? RS_OK : rs_fail_nomem(err, "the files");
}

/* ---- windows ------------------------------------------------------------------------------------------------ */

static bool has_rank(const rs_forming *f, int64_t rank)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->pieces[i].rank == rank) return true;
    return false;
}

/* Same steps and near in time, by the ranks' clocks or by when they came; without steps, at overlapping times. */
static bool belongs(const rs_forming *f, const rs_window_piece *p, double now, double patience)
{
    if (f->first_step != p->first_step) return false;
    bool overlaps = p->start_ns <= f->end_ns && p->end_ns >= f->start_ns;
    if (overlaps || p->first_step < 0) return overlaps;
    return (p->start_ns <= f->end_ns + SAME_NS && p->end_ns >= f->start_ns - SAME_NS) ||
           (!has_rank(f, p->rank) && now - f->last_came < patience && f->last_came > 0 &&
            f->n < (size_t)f->world);
}

static rs_forming *forming_of(rs_watch *w, const rs_window_piece *p)
{
    double now = rs_clock_seconds();
    for (size_t i = 0; i < w->n_forming; i++)
        if (belongs(&w->forming[i], p, now, PATIENCE * (double)w->settle_ns * 1e-9)) return &w->forming[i];
    if (!RS_GROW_ONE(w->forming, w->n_forming, w->forming_capacity)) return NULL;
    size_t at = w->n_forming++;
    for (; at && w->forming[at - 1].start_ns > p->start_ns; at--) w->forming[at] = w->forming[at - 1];
    w->forming[at] = (rs_forming){
        .start_ns = p->start_ns, .end_ns = p->end_ns, .first_step = p->first_step, .world = p->world};
    return &w->forming[at];
}

static rs_status add_piece(rs_watch *w, const rs_window_piece *p, uint32_t file, rs_error *err)
{
    rs_forming *f = forming_of(w, p);
    if (!f || !RS_GROW_ONE(f->pieces, f->n, f->capacity) ||
        !RS_GROW_ONE(f->files, f->n_files, f->files_capacity))
        return rs_fail_nomem(err, "a window");
    f->files[f->n_files++] = file;
    f->last_came = rs_clock_seconds();
    if (has_rank(f, p->rank)) return RS_OK; /* a copy */
    size_t at = f->n++;
    for (; at && f->pieces[at - 1].rank > p->rank; at--) f->pieces[at] = f->pieces[at - 1];
    f->pieces[at] = *p;
    if (p->start_ns < f->start_ns) f->start_ns = p->start_ns;
    if (p->end_ns > f->end_ns) f->end_ns = p->end_ns;
    if (p->world > f->world) f->world = p->world;
    return RS_OK;
}

static rs_status take_pieces(rs_watch *w, reading *r, rs_watch_round *round, rs_problems *problems,
                             rs_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        rs_watched_file *f = &w->files[r->files[i]];
        const rs_pieces *p = &r->pieces[i];
        f->is_settled = true;
        f->is_broken = p->state == RS_READ_BROKEN;
        round->files_broken += f->is_broken;
        round->files_read += p->state == RS_READ_COMPLETE;
        rs_problems_move(problems, &r->pieces[i].problems);
        if (f->is_broken)
            rs_problems_add(
                problems, w->paths.items[r->files[i]].text, -1, RS_LOSS, "incomplete",
                "the file breaks off, and has not changed for the settle time; it is read when it does",
                RS_NO_OFFSET);
        for (size_t k = 0; k < p->n; k++) RS_TRY(add_piece(w, &p->items[k], r->files[i], err));
    }
    return RS_OK;
}

static rs_status read_files(rs_watch *w, rs_watch_round *round, rs_problems *problems, rs_error *err)
{
    reading r = {.watch = w, .settings = w->job};
    unsigned jobs = w->job.jobs ? w->job.jobs : rs_system_processors();
    pthread_mutex_init(&r.lock, NULL);
    r.settings.jobs = 1;
    r.settings.progress = step;
    r.settings.progress_context = &r;
    rs_status status = list_ready(w, &r, round, err);
    if (status == RS_OK) status = rs_workers_run(r.n, jobs, read_one, &r, err);
    if (status == RS_OK) status = take_pieces(w, &r, round, problems, err);
    for (size_t i = 0; r.pieces && i < r.n; i++) rs_pieces_clear(&r.pieces[i]);
    rs_free_all(r.pieces, r.files);
    pthread_mutex_destroy(&r.lock);
    return status;
}

static bool is_complete(const rs_watch *w, const rs_forming *f, bool last)
{
    size_t wanted = f->world > 0 ? (size_t)f->world : 0;
    double quiet = (rs_clock_seconds() - f->last_came) * 1e9;
    if (last || (wanted && f->n >= wanted) || quiet >= PATIENCE * (double)w->settle_ns) return true;
    return w->expected && f->n >= w->expected; /* chosen ranks of a larger job */
}

/* In the order of their starts: a window waits for those before it. */
static rs_status seal_windows(rs_watch *w, bool last, rs_watch_round *round, rs_error *err)
{
    while (w->n_forming && is_complete(w, &w->forming[0], last)) {
        bool is_new;
        RS_TRY(rs_watch_seal(w, &w->forming[0], &is_new, err));
        w->expected = w->forming[0].n;
        w->forming[0].id = is_new ? w->newest : 0;
        clear_forming(&w->recent[N_RECENT - 1]);
        memmove(w->recent + 1, w->recent, (N_RECENT - 1) * sizeof *w->recent);
        w->recent[0] = w->forming[0];
        memmove(w->forming, w->forming + 1, --w->n_forming * sizeof *w->forming);
        round->windows += is_new;
    }
    round->windows_waiting = w->n_forming;
    return RS_OK;
}

/* Removes what the history holds by now. A file that was replaced since is another file, and stays. */
static rs_status delete_spent(rs_watch *w, rs_watch_round *round, rs_error *err)
{
    for (size_t i = 0; w->delete_traces && i < w->paths.n && i < w->files_capacity; i++) {
        rs_watched_file *f = &w->files[i];
        const char *path = w->paths.items[i].text;
        struct stat now;
        rs_file_state state;
        if (!f->in_scan || !f->is_settled || f->is_broken || f->is_kept) continue;
        RS_TRY(rs_history_file_state(w->history, f->key, &state, err));
        f->is_kept = state == RS_FILE_KEPT;
        if (state != RS_FILE_SPENT || lstat(path, &now) != 0 || !S_ISREG(now.st_mode) ||
            now.st_size != f->size || rs_system_ns(now.st_mtim) != f->mtime_ns)
            continue;
        if (unlink(path) == 0)
            round->files_deleted++;
        else
            f->is_kept = true;
    }
    return RS_OK;
}

rs_status rs_watch_look(rs_watch *w, const char *const *sources, size_t n_sources, bool last,
                        rs_watch_round *round, rs_problems *problems, rs_error *err)
{
    *round = (rs_watch_round){0};
    RS_TRY(rs_watch_catch_up(w, err));
    RS_TRY(rs_watch_scan(w, sources, n_sources, err));
    RS_TRY(read_files(w, round, problems, err));
    RS_TRY(seal_windows(w, last && !round->files_changing, round, err));
    return delete_spent(w, round, err);
}
