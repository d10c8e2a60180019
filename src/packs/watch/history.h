/* The history of a watched job: one SQLite database, described in docs/watch.md.
 *
 * Whoever adds to it does so in one transaction that holds the write lock from its start (BEGIN IMMEDIATE), and what may be there
 * once has a unique key. So two watchers of one history, and one that is killed, neither lose a window nor repeat one. */
#pragma once

#include "watch/series.h"

#define RS_HISTORY_VERSION 2

typedef struct rs_watch_history rs_watch_history;

/* Opens a history, and makes it where there is none. NULL: one in memory. RS_ERR_FORMAT: it is something else, or of a newer
 * version; RS_ERR_IO: it cannot be opened or written. */
rs_status rs_history_open(const char *path, rs_watch_history **out, rs_error *err);
void rs_history_close(rs_watch_history *history); /* NULL is allowed */

/* The write lock, for which up to 30 s are waited. */
rs_status rs_history_begin(rs_watch_history *history, rs_error *err);
rs_status rs_history_commit(rs_watch_history *history, rs_error *err);
void rs_history_rollback(rs_watch_history *history);

/* At most so many pages of 4 KiB: more is as if the disk were full. */
void rs_history_limit_pages(rs_watch_history *history, int64_t pages);

/* ---- files -------------------------------------------------------------------------------------------------- */

/* A file as it was: of its path, size and time of change. */
uint64_t rs_history_file_key(const char *path, int64_t size, int64_t mtime_ns);
/* What becomes of a file that was read. A change is known three windows after it began. */
typedef enum rs_file_state {
    RS_FILE_NEEDED, /* its window is among the newest three, or is none yet */
    RS_FILE_KEPT,   /* a change began in its window, or in one of the two next to it */
    RS_FILE_SPENT
} rs_file_state;
rs_status rs_history_file_state(rs_watch_history *history, uint64_t key, rs_file_state *out, rs_error *err);
/* The window that it is of; 0: it was not read. */
rs_status rs_history_file_window(rs_watch_history *history, uint64_t key, int64_t *window, rs_error *err);
rs_status rs_history_add_file(rs_watch_history *history, uint64_t key, int64_t window, rs_error *err);

/* ---- windows ------------------------------------------------------------------------------------------------ */

typedef struct rs_history_window {
    int64_t start_ns, end_ns;
    int64_t first_step;      /* negative: unknown */
    rs_window_values values; /* id is ignored where it is added */
} rs_history_window;

/* The window that a part of a job belongs to: of those steps, at overlapping times; 0: none is there. */
rs_status rs_history_find_window(rs_watch_history *history, int64_t start_ns, int64_t end_ns,
                                 int64_t first_step, int64_t *id, rs_error *err);
/* Adds a window; *id is its number. */
rs_status rs_history_add_window(rs_watch_history *history, const rs_history_window *window, int64_t *id,
                                rs_error *err);
/* Adds the ranks that a window does not have yet; *n_added of them. */
rs_status rs_history_add_ranks(rs_watch_history *history, int64_t id, const rs_window_values *values,
                               size_t *n_added, rs_error *err);
/* The number of the newest window, 0 if there is none, and when it began. */
rs_status rs_history_newest(rs_watch_history *history, int64_t *id, int64_t *start_ns, rs_error *err);
/* Calls for each window with a number above `after`, in order. What it is given lives until it returns. */
typedef rs_status (*rs_history_window_fn)(void *context, const rs_window_values *values, rs_error *err);
/* The first of them; *after becomes its number. *has: whether there is one. */
rs_status rs_history_next_window(rs_watch_history *history, int64_t *after, rs_history_window_fn each,
                                 void *context, bool *has, rs_error *err);
rs_status rs_history_each_window(rs_watch_history *history, int64_t after, rs_history_window_fn each,
                                 void *context, rs_error *err);
rs_status rs_history_window_start(rs_watch_history *history, int64_t id, int64_t *start_ns, rs_error *err);

/* ---- changes ------------------------------------------------------------------------------------------------ */

/* A state that the job is or was in and that is worth a message. */
typedef struct rs_history_change {
    int64_t id;
    const char *kind;    /* a metric's name, "hang", or a finding's id */
    const char *subject; /* "" or what distinguishes it from others of the kind: culprits, a folder */
    int64_t rank;        /* RS_JOB */
    int64_t begun;       /* window; of a hang the newest one */
    int64_t ended;       /* window; 0: it goes on */
    double usual, now, change, low, high; /* NaN: unknown */
    const char *cause;                    /* NULL */
    int64_t fault; /* the id of the first change of the same fault; 0 where it is added: it is the first */
    const char *culprit; /* the judge's finding and whom it accuses: what changes of one fault share; NULL */
} rs_history_change;

/* *fault: what it belongs to; 0 where such a change goes on already. */
rs_status rs_history_begin_change(rs_watch_history *history, const rs_history_change *change, int64_t *fault,
                                  rs_error *err);
/* *fault: what it belonged to; 0 where no such change goes on. */
rs_status rs_history_end_change(rs_watch_history *history, const char *kind, const char *subject,
                                int64_t rank, int64_t ended, int64_t *fault, rs_error *err);
/* Those that go on; or all. */
typedef rs_status (*rs_history_change_fn)(void *context, const rs_history_change *change, rs_error *err);
rs_status rs_history_each_change(rs_watch_history *history, bool all, rs_history_change_fn each,
                                 void *context, rs_error *err);

/* ---- what was said ------------------------------------------------------------------------------------------ */

typedef struct rs_history_message {
    int64_t id;
    int64_t window, at_ns; /* at_ns: start of the window, or when it was noted */
    const char *what;      /* "begun", "over" */
    const char *kind, *subject;
    const char *text;
    int64_t fault; /* the same of its begin and its end */
} rs_history_message;

/* A second one of the same window and fault is dropped. */
rs_status rs_history_say(rs_watch_history *history, const rs_history_message *message, rs_error *err);
/* Gives each message that was not printed to `deliver`, in order, and marks it when that succeeds. The lock is held
 * meanwhile, so that no other watcher delivers it, too. After a failure the rest stays for the next call. */
typedef rs_status (*rs_history_deliver_fn)(void *context, const rs_history_message *message, rs_error *err);
rs_status rs_history_deliver(rs_watch_history *history, rs_history_deliver_fn deliver, void *context,
                             rs_error *err);

/* Takes the oldest message that is to be posted: `take` copies it. It is this watcher's until then (seconds since 1970), when others may
 * take it again. *has is false where there is none. */
rs_status rs_history_claim_post(rs_watch_history *history, int64_t now_s, int64_t until_s,
                                rs_history_deliver_fn take, void *context, bool *has, rs_error *err);
/* It was posted, or the receiver refused it, or it is to be tried again, by any watcher. */
typedef enum rs_posted { RS_POST_AGAIN, RS_POSTED, RS_POST_REFUSED } rs_posted;
rs_status rs_history_end_post(rs_watch_history *history, int64_t id, rs_posted outcome, rs_error *err);
/* Before a history is posted of for the first time: what was printed and is over is not posted. */
rs_status rs_history_skip_old_posts(rs_watch_history *history, rs_error *err);
