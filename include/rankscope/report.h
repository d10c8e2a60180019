/* The report page: what a job's traces, flight-recorder dumps and rank metrics say, as one HTML file that
 * opens from disk and needs no network. Its numbers are those of the commands that its sections name.
 *
 *     const char *paths[] = {"traces/"};
 *     rs_report_settings settings = {.size = sizeof settings, .inputs = paths, .n_inputs = 1};
 *     rs_result told;
 *     rs_status status = rs_report_write(job, &settings, &sink, &told, &err);
 *     ...
 *     rs_result_clear(&told);
 *
 * Stability: the functions are stable, what the page shows is not; new settings come at the end of the
 * struct. */
#ifndef RANKSCOPE_REPORT_H
#define RANKSCOPE_REPORT_H

#include "rankscope/job.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rank metrics of one run: `--metrics LABEL=DIR`. */
typedef struct rs_report_run {
    const char *label, *directory;
} rs_report_run;

typedef struct rs_report_settings {
    size_t size;               /* sizeof(rs_report_settings): needed, so that the struct can grow */
    const char *const *inputs; /* the traces as the user named them: the page's title and command line */
    size_t n_inputs;
    const char *const *flight; /* flight-recorder dumps, as rs_flight_open takes them */
    size_t n_flight;
    const rs_report_run *metrics; /* the first is the reference, the second the candidate */
    size_t n_metrics;
    const char *ranks, *steps,
        *window;            /* what the job was restricted to: the page says so; NULL: to nothing */
    const char *trace_link; /* address of a link "Open the trace" in the page's head; NULL: none */
    unsigned jobs;          /* for flight, metrics and memory; the job has its own */
    rs_progress_fn progress;
    void *progress_context;
    const char *const *memory; /* snapshots of PyTorch's allocator, or a folder of those of a job */
    size_t n_memory;
} rs_report_settings;

/* RS_ERR_USAGE, with the remedy, when this build has no page in it (it takes Node.js when it is built). */
RS_API rs_status rs_report_check(rs_error *err);

/* Asks the job (which must be open, and not asked anything yet) and writes the whole page. Nothing is written
 * before everything has been read. told is overwritten and receives the problems and notes of all traces,
 * dumps and metrics, on failure too; the caller clears it. told->found: doctor calls the capture unfit, or
 * flight has a verdict other than healthy. The bytes depend on the inputs and settings only, not on the
 * number of threads or the time.
 *
 * Errors: those of rs_job_run, of opening flight dumps and of reading metrics (no usable dump is no error:
 * the page says so), RS_ERR_USAGE when the build has no page or the settings no size, RS_ERR_IO when the sink
 * fails. Time: one load of each rank and every analysis of the page; memory: the ranks in flight and the
 * page's tables. */
RS_API rs_status rs_report_write(rs_job *job, const rs_report_settings *settings, const rs_sink *sink,
                                 rs_result *told, rs_error *err);

/* A page with the history of runs alone: the tables of rs_regress_history. folder: as the user named it. */
RS_API rs_status rs_report_write_history(const char *folder, const rs_result *history, const rs_sink *sink,
                                         rs_error *err);

/* A page with the history of a watched job alone: the tables of rs_watch_result and rs_watch_map. file: as the user named it. */
RS_API rs_status rs_report_write_watch(const char *file, const rs_result *history, const rs_sink *sink,
                                       rs_error *err);

/* A page with a comparison alone: the tables of the analysis "compare". inputs: as the user named them, n of them,
 * the first being what the others are compared with. */
RS_API rs_status rs_report_write_comparison(const char *const *inputs, size_t n, const rs_result *comparison,
                                            const rs_sink *sink, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
