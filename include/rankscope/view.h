/* A job as one packed trace in memory that a viewer opens quickly. What serves it to a browser is the
 * program's alone.
 *
 *     rs_view_trace trace;
 *     rs_result told;
 *     rs_status status = rs_view_reduce(job, RS_VIEW_EVENTS, false, &trace, &told, &err);
 *     ... trace.bytes, trace.n ...
 *     rs_view_trace_clear(&trace);
 *     rs_result_clear(&told);
 *
 * Stability: experimental. */
#ifndef RANKSCOPE_VIEW_H
#define RANKSCOPE_VIEW_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What Perfetto's UI imports in a few seconds. */
#define RS_VIEW_EVENTS 200000

typedef struct rs_view_trace {
    char *bytes; /* gzip; free with rs_view_trace_clear */
    size_t n, capacity;
    uint64_t n_ranks, n_kept, n_left_out; /* events */
    const char *name; /* what the file is called: trace.json.gz, trace.pftrace.gz. Static */
} rs_view_trace;

/* As rs_fuse with max_events (0: all) and perfetto, which see: ranks kept apart, clocks aligned, what tells most is kept.
 * result gets its table and the notes that say what was left out; clear both either
 * way. Errors, time and memory are those of rs_fuse; the packed trace is held whole. */
RS_API rs_status rs_view_reduce(rs_job *job, uint64_t max_events, bool perfetto, rs_view_trace *trace,
                                rs_result *result, rs_error *err);
RS_API void rs_view_trace_clear(rs_view_trace *trace);

/* ---- the explorer (docs/view.md) ----------------------------------------------------------------------- */

/* A job that answers what the explorer's page asks: the endpoints below /api, without a socket.
 *
 *     rs_explorer *explorer;
 *     if (rs_explorer_open(paths, n, &settings, &explorer, &problems, &err) == RS_OK) {
 *         rs_explorer_answer answer;
 *         rs_explorer_ask(explorer, &(rs_explorer_request){.path = "map", .query = "width=100", .json = true}, &answer);
 *         ... answer.status, answer.bytes, answer.n ...
 *         rs_explorer_answer_clear(&answer);
 *     }
 *     rs_explorer_close(explorer); */
typedef struct rs_explorer rs_explorer;

/* Reads every rank once. Paths and settings are borrowed until it is closed. problems, which the caller has initialised, gets
 * problems and notes, after a failure too. Errors: those of rs_job_run. */
rs_status rs_explorer_open(const char *const *paths, size_t n, const rs_job_settings *settings,
                           rs_explorer **out, rs_result *problems, rs_error *err);
void rs_explorer_close(rs_explorer *explorer); /* NULL is allowed */

/* An explorer of 16 ranks of a large job, at even distances, which answers while rs_explorer_open reads all of them: of 64 files and more
 * whose names say their ranks, without a selection of ranks or a window. *out is NULL where there is no use in it, and where a rank
 * cannot be read: the job says why. Paths and settings are borrowed. Errors: RS_ERR_CANCELLED, and those of rs_job_open. */
rs_status rs_explorer_preview(const char *const *paths, size_t n, const rs_job_settings *settings,
                              rs_explorer **out, rs_error *err);

/* Snapshots of PyTorch's allocator, to be shown next to the traces: what `rankscope memory` takes. Reads all once. Before anything is
 * asked, once; paths are borrowed until it is closed. problems: as above. RS_ERR_FORMAT where there is none. */
rs_status rs_explorer_add_memory(rs_explorer *explorer, const char *const *paths, size_t n,
                                 rs_result *problems, rs_error *err);

typedef struct rs_explorer_request {
    const char *path;  /* below /api/: "map" */
    const char *query; /* "from=0&to=100", encoded; NULL: none */
    const char *body;  /* of POST; NULL: it is no POST */
    size_t n_body;
    bool json; /* JSON is wanted where there is a binary form, too */
} rs_explorer_request;

typedef struct rs_explorer_answer {
    unsigned status;  /* of HTTP */
    const char *type; /* Content-Type; static */
    char *bytes;
    size_t n, capacity;
    bool packed; /* gzip */
} rs_explorer_answer;

/* Who answers a path. What the map has is answered by any thread, at once; of each other desk one thread at a time asks. */
typedef enum rs_explorer_desk {
    RS_DESK_NONE, /* there is no such path, or not by this method */
    RS_DESK_MAP,
    RS_DESK_RANK, /* one rank's events */
    RS_DESK_JOB,  /* questions over ranks */
    RS_N_DESKS
} rs_explorer_desk;
rs_explorer_desk rs_explorer_desk_of(const char *path, bool post);

/* Seconds after which a question ends with status 503. */
#define RS_EXPLORER_SECONDS 10

void rs_explorer_ask(rs_explorer *explorer, const rs_explorer_request *request, rs_explorer_answer *answer);
void rs_explorer_answer_clear(rs_explorer_answer *answer);
/* Packs an answer as gzip where it is text of more than 64 KiB; one that memory does not suffice for stays as it is. A map stays as
 * it is: to pack it takes longer than to draw it. */
void rs_explorer_answer_pack(rs_explorer_answer *answer);
/* Grows when something is known that answers to GET may show: those of the same number are the same. Any thread. */
unsigned rs_explorer_stage(const rs_explorer *explorer);
/* The map of a job for a page without a server, as JSON: `from`, `to`, `width`, `classes`, `ranks`, and `data`, base 64 of gzip of
 * bytes by rank, column and class: shares of the column in 255ths. As many columns as fit into `most` bytes, 256 at least. map: the
 * table of that name; arrivals: that of `collectives`, which divides communication into waits and transfers, or NULL. Without a rank it
 * is null. */
RS_API rs_status rs_view_picture(const rs_table *map, const rs_table *arrivals, size_t most,
                                 rs_explorer_answer *out, rs_error *err);
/* Questions under way, and all later ones, end soon. Any thread. */
void rs_explorer_stop(rs_explorer *explorer);

#ifdef __cplusplus
}
#endif
#endif
