/* What the files of the watch share. */
#pragma once

#include "base/strings.h"
#include "base/text.h"
#include "rankscope/verdict.h"
#include "rankscope/watch.h"
#include "watch/history.h"
#include "watch/pieces.h"

/* What is known of a file, by its path. */
typedef struct rs_watched_file {
    int64_t size, mtime_ns;
    uint64_t key;
    double seen_at;  /* seconds of the steady clock: when it was first seen like this */
    bool is_settled; /* read, or not to be read until it changes */
    bool is_broken;  /* ... since it breaks off */
    bool is_kept;    /* a change began in its window: it is not deleted */
    bool in_scan;    /* it was there when the sources were looked at last */
} rs_watched_file;

/* A window that is being put together. */
typedef struct rs_forming {
    int64_t start_ns, end_ns, first_step;
    int64_t world;
    double last_came;        /* steady clock */
    rs_window_piece *pieces; /* by rank */
    size_t n, capacity;
    uint32_t *files; /* in the watch's paths */
    size_t n_files, files_capacity;
    int64_t id; /* in the history; 0: it is not there */
} rs_forming;

/* A finding of the judge that is there in windows that follow each other, or is known to go on. */
typedef struct rs_condition {
    char *id, *subject, *text;
    unsigned run, away; /* windows in a row with it, and without */
    int64_t since;      /* first window of the run */
    bool open, seen;
} rs_condition;

/* The changes that go on, as the history has them. */
typedef struct rs_open_change {
    char *kind, *subject;
    int64_t rank, begun, fault;
    char *culprit; /* NULL */
    double usual, now, change;
} rs_open_change;

struct rs_watch {
    rs_watch_history *history;
    rs_window_series *series;
    rs_job_settings job;
    double min_effect;
    int64_t settle_ns;
    bool delete_traces;
    int64_t newest; /* window up to which the series are */
    size_t n_windows;
    bool is_stale; /* the series must be made again from the history */
    rs_strings paths;
    rs_watched_file *files; /* by the path's id */
    size_t files_capacity;
    rs_forming *forming; /* by start */
    size_t n_forming, forming_capacity;
    rs_forming
        recent[RS_SERIES_IN_A_ROW - 1]; /* the newest windows but the one that is judged, newest first */
    size_t expected, most_ranks;        /* ranks of the newest window, and of any */
    rs_condition *conditions;
    size_t n_conditions, conditions_capacity;
    rs_open_change *open;
    size_t n_open, open_capacity;
};

/* Brings the series up to the history, and the list of open changes. */
rs_status rs_watch_catch_up(rs_watch *watch, rs_error *err);
void rs_watch_clear_open(rs_watch *watch);

/* Sees which files are there now: in_scan of each. */
rs_status rs_watch_scan(rs_watch *watch, const char *const *sources, size_t n, rs_error *err);

/* Adds a complete window to the history, judges it and keeps what is to be said, in one transaction. *is_new is
 * false where it was there already. */
rs_status rs_watch_seal(rs_watch *watch, const rs_forming *window, bool *is_new, rs_error *err);

/* A window as medians over its ranks; NaN: unknown. */
typedef struct rs_window_medians {
    int64_t id, start, ranks;
    double step, own, exposed, idle, mfu, memory; /* us a step, percent, bytes */
} rs_window_medians;
rs_status rs_watch_describe(const rs_window_values *values, rs_window_medians *out, rs_error *err);

/* ---- words -------------------------------------------------------------------------------------------------- */

/* "window 41, 2026-11-24 12:00:05 UTC"; without a date where the time is no time of the epoch clock. */
void rs_watch_put_window(rs_text *text, int64_t id, int64_t start_ns);
/* The changes of one fault that begin together, or that end together, as one message: the job's first, then the ranks', by
 * metric. at_ns: start of the window they count from. cause NULL: none is given. */
void rs_watch_put_events(rs_text *text, const rs_series_event *events, size_t n, int64_t at_ns,
                         const char *cause);
/* Whose they are: "job", or "rank 5, rank 7". */
void rs_watch_put_subject(rs_text *text, const rs_series_event *events, size_t n);
