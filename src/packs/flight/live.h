/* A job that still runs, or that wrote snapshots of itself: answers of its servers, stacks, progress.
 * Internal to src/packs/flight. */
#pragma once

#include "flight/analyse.h"

/* ---- pages (pages.c) ----------------------------------------------------------------------------------- */

/* One rank's block of a debug server's page. Texts are in the page. */
typedef struct rs_fl_block {
    int64_t rank;
    const char *address; /* "http://host:port/handler/name?args" */
    size_t n_address;
    int status; /* 200, or what the front end got from the worker */
    const char *text;
    size_t n;
} rs_fl_block;

/* The next block from *at on; false when there is no more. */
bool rs_fl_next_block(const char *page, size_t n, size_t *at, rs_fl_block *out);
/* The same in the periodic dumper's files: "=== Rank N: ADDRESS ===". */
bool rs_fl_next_section(const char *text, size_t n, size_t *at, rs_fl_block *out);
/* The five entities of HTML undone, in a buffer of n bytes; only where the text holds no raw '<'. The new
 * length. */
size_t rs_fl_unescape(const char *text, size_t n, char *out);

/* ---- stacks (stacks.c) --------------------------------------------------------------------------------- */

/* One thread of one rank. */
typedef struct rs_fl_thread {
    int64_t rank;
    uint32_t address, id, name, state; /* texts; RS_FL_NONE unknown */
    uint32_t stack;                    /* innermost frame first; 0: no Python frame */
    bool is_main, collecting;
} rs_fl_thread;

/* Reads what faulthandler or py-spy printed of one rank, appends its threads and notes the main one's stack.
 * False when out of memory. *n_threads: how many there were. */
bool rs_fl_read_stacks(rs_flight *flight, int64_t rank, uint32_t address, const char *text, size_t n,
                       size_t *n_threads);

/* ---- answers (answers.c) ------------------------------------------------------------------------------- */

/* Notes host and address of a rank; false when out of memory. */
bool rs_fl_note_address(rs_flight *flight, int64_t rank, const char *address, size_t n);

/* ---- progress (progress.c) ----------------------------------------------------------------------------- */

/* Whether the job moves, as far as snapshots tell; then what only looks like a hang is taken out of the
 * findings. */
rs_status rs_fl_weigh_progress(rs_fl_analysis *a, rs_error *err);
/* How long the main stacks have been what they are, by the snapshot before. */
void rs_fl_carry_stacks(rs_flight *flight);
/* "No hang: 9 operations open, the oldest for 0.4 s."; NULL when nothing is open or out of memory. */
const char *rs_fl_moving_text(rs_fl_analysis *a);

/* ---- the periodic dumper's files (periodic.c) ---------------------------------------------------------- */

typedef struct rs_fl_periodic rs_fl_periodic;
/* Whether a file's name is one of the periodic dumper's; its moment as a number that orders, YYYYmmddHHMMSS,
 * and its kind's length. */
bool rs_fl_is_periodic(const char *path, int64_t *moment);
/* Reads the newest of these files. */
rs_status rs_fl_read_periodic(rs_flight *flight, char *const *paths, size_t n, rs_error *err);
/* Findings from the tables, where there is no dump. */
rs_status rs_fl_judge_periodic(rs_fl_analysis *a, rs_error *err);
void rs_fl_periodic_free(rs_fl_periodic *periodic);
