/* The parts of `rankscope flight`: its text, and what fetches a running job's answers. */
#pragma once

#include "cli/cli.h"
#include "cli/fetch.h"
#include "output/layout.h"

/* flight_text.c: the answer for people. */
rs_status rs_flight_show_text(const rs_request *r, rs_flight *flight, const rs_sink *sink, rs_error *err);
/* A stack, a line a frame. */
void rs_flight_put_stack(rs_page *layout, rs_flight *flight, uint32_t stack);

/* flight_live.c: one snapshot of a running job: of the front end at `server`, or of the workers that
 * --workers names. */
rs_status rs_flight_snapshot(const rs_request *r, const char *server, const rs_flight_settings *settings,
                             rs_flight **out, rs_error *err);
/* Sleeps, also when a signal comes. */
void rs_flight_pause(int64_t seconds);
/* ras_client.c: what NCCL's RAS at --ras answers. Only reads the job's state. */
rs_status rs_flight_ask_ras(const rs_request *r, rs_fetch *out, rs_error *err);

/* live_sources.c: what --ras and --prometheus answered, oldest first. All zero: nothing yet. */
#define RS_FLIGHT_REPORTS 8
typedef struct rs_flight_sources {
    rs_fetch ras[RS_FLIGHT_REPORTS], metrics;
    double asked[RS_FLIGHT_REPORTS]; /* when, by the monotonic clock */
    size_t n_ras;
    rs_flight_bytes texts[RS_FLIGHT_REPORTS + 1];
    char complaint[200]; /* the last: a watch makes it once */
} rs_flight_sources;
/* Asks each source once more and gives what is known to the settings. */
rs_status rs_flight_ask_sources(const rs_request *r, rs_flight_sources *sources, rs_flight_settings *settings,
                                rs_error *err);
/* The same while a job is watched: a source that does not answer is complained of once and left out. */
rs_status rs_flight_ask_sources_again(const rs_request *r, rs_flight_sources *sources,
                                      rs_flight_settings *settings, rs_error *err);
void rs_flight_sources_clear(rs_flight_sources *sources);

/* compile_findings.c: what `compile` finds in the logs of TORCH_TRACE below these folders. */
typedef struct rs_flight_compiled {
    rs_result result; /* whose texts the items are */
    rs_flight_remark *items;
    size_t n;
    char **logs; /* paths, owned */
    size_t n_logs, capacity;
} rs_flight_compiled;
rs_status rs_flight_compare_compiled(const char *const *folders, size_t n, rs_flight_compiled *out,
                                     rs_error *err);
void rs_flight_compiled_clear(rs_flight_compiled *compiled);

/* Snapshot after snapshot of a debug server or a folder, until a hang (RS_OK), an error, or the server's end:
 * *ended is then the exit code, else RS_EXIT_OK. A line goes to standard error when the state changes. */
rs_status rs_flight_watch(const rs_request *r, const char *what, rs_flight_settings *settings,
                          rs_flight_sources *sources, rs_flight **out, int *ended, rs_error *err);
