/* A job that is watched for weeks: traces and other recordings that keep coming are summarised into a history, and what changes is
 * said once, with its cause, and once when it is over.
 *
 *     rs_watch_settings settings = {.size = sizeof settings, .history = "job.db"};
 *     rs_watch_open(&settings, &watch, &err);
 *     while (goes_on()) {
 *         rs_watch_look(watch, sources, n, false, &round, &err);          // reads what is complete, and judges it
 *         rs_watch_deliver(watch, print, NULL, &err);                     // each message once
 *     }
 *     rs_watch_close(watch);
 *
 * Recordings of all ranks over the same steps are a window. A window's numbers are kept in the history (docs/watch.md), less than 100
 * bytes a rank; a series of them has changed when three windows in a row are above its limit (rankscope help watch).
 *
 * Several processes may watch with one history. An rs_watch is not thread-safe. Stability: experimental; structs grow at their
 * end. */
#ifndef RANKSCOPE_WATCH_H
#define RANKSCOPE_WATCH_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_watch rs_watch;

typedef struct rs_watch_settings {
    size_t size;                /* sizeof(rs_watch_settings) */
    const char *history;        /* path of the database, made where there is none; NULL: in memory */
    const rs_job_settings *job; /* how traces are read; borrowed; NULL: the defaults */
    double min_effect;          /* least change that counts, as a share; 0: 0.03 */
    int64_t settle_ns;          /* a file is complete when it has not changed for so long; negative: 10 s */
    bool
        delete_traces; /* removes traces once they are three windows old, but those in whose windows a change began */
} rs_watch_settings;

/* Opens a history and goes on where it ends. RS_ERR_FORMAT, RS_ERR_IO: the history cannot be used. Cost: reads the values of the
 * last 432 windows. */
RS_API rs_status rs_watch_open(const rs_watch_settings *settings, rs_watch **out, rs_error *err);
RS_API void rs_watch_close(rs_watch *watch); /* NULL is allowed */

/* What one look came to. */
typedef struct rs_watch_round {
    size_t files_read;
    size_t files_changing;  /* changed a moment ago: they are read when they settle */
    size_t files_broken;    /* settled, and break off: they are read when they change again */
    size_t windows;         /* added to the history */
    size_t windows_waiting; /* some of whose ranks have not come */
    size_t files_deleted;
} rs_watch_round;

/* Looks at the sources (files and folders) once: reads files that are complete and not in the history yet, forms windows of them,
 * adds those that are complete, and judges them. A window is complete when all ranks are there, or nothing has come for three
 * settle times. last: nothing more will come, and windows are taken as they are once no file changes any more. Files that cannot
 * be used go to problems, once. After RS_ERR_IO of the history (the disk is full) nothing is lost: the next look does the same
 * again. RS_ERR_CANCELLED: the job settings' progress function said so. */
RS_API rs_status rs_watch_look(rs_watch *watch, const char *const *sources, size_t n_sources, bool last,
                               rs_watch_round *round, rs_problems *problems, rs_error *err);

/* A state that was found elsewhere, such as a hang: begun or over. kind: one word; subject: what distinguishes it ("" if
 * nothing). Says nothing where it is known already. */
RS_API rs_status rs_watch_note(rs_watch *watch, const char *kind, const char *subject, bool goes_on,
                               const char *text, rs_error *err);

typedef struct rs_watch_message {
    int64_t id;       /* of the message, in this history: a second delivery has the same */
    int64_t window;   /* in which it was found */
    int64_t at_ns;    /* start of that window, ns since 1970 */
    const char *what; /* "begun", "over" or "settled" */
    const char *
        kind; /* "step", "own_work", "exposed_comm", "idle", "mfu", "memory", "missing", "hang", or a finding's id */
    const char *subject; /* "job", "rank 5, rank 7", or of a finding its culprits */
    const char *text;    /* one sentence or several: all that the fault changed, and its cause */
    int64_t
        fault; /* number of the fault: its begin and its end have the same; 0: of a version that had none */
} rs_watch_message;

typedef rs_status (*rs_watch_deliver_fn)(void *context, const rs_watch_message *message, rs_error *err);
/* Gives each message that no watcher of the history has delivered to the function, oldest first, and marks it when that succeeds. The history is locked meanwhile. A process that is killed between both delivers it again, under the same
 * id. */
RS_API rs_status rs_watch_deliver(rs_watch *watch, rs_watch_deliver_fn deliver, void *context, rs_error *err);

/* Messages for a receiver that takes its time, such as a webhook; delivered apart from the above. rs_watch_begin_posts comes before the
 * first look: of a history that was never posted of, what was printed and is over is not posted. rs_watch_claim_post gives the oldest one
 * that no watcher has to `take`, which copies it; *has is false without any. It is this watcher's for lease_s seconds, within which it calls
 * rs_watch_end_post: RS_WATCH_POST_AGAIN gives it back. Nothing is locked in between. One that was claimed by a process that was killed is
 * claimed again after its lease, under the same id. */
typedef enum rs_watch_posted { RS_WATCH_POST_AGAIN, RS_WATCH_POSTED, RS_WATCH_POST_REFUSED } rs_watch_posted;
RS_API rs_status rs_watch_begin_posts(rs_watch *watch, rs_error *err);
RS_API rs_status rs_watch_claim_post(rs_watch *watch, int64_t lease_s, rs_watch_deliver_fn take,
                                     void *context, bool *has, rs_error *err);
RS_API rs_status rs_watch_end_post(rs_watch *watch, int64_t id, rs_watch_posted outcome, rs_error *err);

/* How many changes go on. */
RS_API size_t rs_watch_n_open(const rs_watch *watch);

/* Tables: changes, windows, limits. rs_watch_tables: their specs; static. rs_watch_result fills a result, which is empty. */
RS_API const rs_table_spec *const *rs_watch_tables(size_t *n);
RS_API rs_status rs_watch_result(rs_watch *watch, rs_result *result, rs_error *err);

/* Adds tables to the result: columns and map, which are the history as ranks by time (days or hours, or windows in a row; at most 96 columns,
 * and 128 rows of ranks in a row), and kept, the windows whose traces are in the sources. Reads the history twice; memory: a window. */
RS_API rs_status rs_watch_map(rs_watch *watch, const char *const *sources, size_t n_sources,
                              rs_result *result, rs_error *err);

/* The windows whose traces were in the sources of the last rs_watch_map, oldest first, with their paths, which live as long as the
 * watch. */
typedef rs_status (*rs_watch_kept_fn)(void *context, int64_t window, const char *const *paths, size_t n,
                                      rs_error *err);
RS_API rs_status rs_watch_each_kept(rs_watch *watch, rs_watch_kept_fn take, void *context, rs_error *err);

/* The newest window and the changes that go on, as OpenMetrics text (counters, gauges; ranks are named only where they are in a
 * change, at most 32 of them). */
RS_API rs_status rs_watch_write_metrics(rs_watch *watch, const rs_sink *sink, rs_error *err);

/* The oldest window with a number above `after` as the same metrics, for OTLP/HTTP (protobuf, ExportMetricsServiceRequest). *window: its
 * number; 0: there is none, and nothing is written. */
RS_API rs_status rs_watch_write_otlp(rs_watch *watch, int64_t after, const rs_sink *sink, int64_t *window,
                                     rs_error *err);
/* Of the answer to it: how many of its points the receiver rejected. */
RS_API int64_t rs_watch_otlp_rejected(const char *bytes, size_t n);
/* The number of the newest window; 0: there is none. */
RS_API int64_t rs_watch_newest(const rs_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
