/* The parts of `capture`. Private to src/cli/capture*.c and cmd_capture.c. */
#pragma once

#include <sys/types.h>

#include "cli/cli.h"

#define RS_EXIT_CAPTURE 125 /* faults of capture itself */

/* Whether a program of that name can be run; where it lies goes into path (cut to size), which may be NULL.
 */
bool rs_capture_on_path(const char *program, char *path, size_t size);

/* Times of one moment on the clocks that profilers use. */
typedef struct rs_capture_clocks {
    int64_t realtime_ns, boottime_ns, monotonic_ns;
} rs_capture_clocks;
rs_capture_clocks rs_capture_now(void);

/* What the manifest says of the machine and the profiler; texts are rs_free'd by rs_capture_machine_clear. */
typedef struct rs_capture_machine {
    char *devices;        /* a JSON array; NULL: unknown */
    const char *source;   /* the program that told them */
    char reason[200];     /* why devices is NULL */
    char version[64];     /* of the profiler; empty: unknown */
    char no_version[200]; /* why */
    char path[1024];      /* of the profiler; empty: unknown */
} rs_capture_machine;
/* Asks the machine's tools; takes a second or a few. */
void rs_capture_look(const char *profiler, rs_capture_machine *out);
void rs_capture_machine_clear(rs_capture_machine *machine);

/* What is known of a run. */
typedef struct rs_capture_run {
    const char *profiler, *folder;
    const char *rank; /* NULL: not set */
    char *const *profiled,
        *const *target; /* the command with the profiler, and as it was given; ended by NULL */
    const char *mask;   /* further names of arguments whose values are secrets, "a,b"; NULL: none */
    pid_t pid;
    int exit_code; /* -1: still running */
    rs_capture_clocks start, end;
    rs_capture_machine machine;
} rs_capture_run;

/* capture_mask.c: a word of a command line as a JSON string, its secret replaced by three stars. before: the word
 * before it, NULL: none. mask: as in rs_capture_run. */
void rs_capture_put_word(rs_writer *w, const char *before, const char *word, const char *mask);

/* Writes manifest_rankR_WHEN.json into the run's folder. */
bool rs_capture_write_manifest(const rs_capture_run *run, const char *when);
