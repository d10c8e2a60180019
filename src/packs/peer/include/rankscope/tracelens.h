/* TraceLens' performance report: the sheets that its generate_perf_report_pytorch writes about each rank, with
 * its names, its order and its numbers, faults included, so that scripts which read them go on.
 *
 *     rs_tracelens_settings settings = {.size = sizeof settings, .device = "MI300X"};
 *     rs_tracelens_report *report;
 *     rs_status status = rs_tracelens_report_create(job, &settings, &report, &told, &err);
 *     for (size_t i = 0; status == RS_OK && i < rs_tracelens_report_n_ranks(report); i++) ...
 *     rs_tracelens_report_free(report);
 *
 * Stability: the functions are stable; sheets follow TraceLens. */
#ifndef RANKSCOPE_TRACELENS_H
#define RANKSCOPE_TRACELENS_H

#include "rankscope/job.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_tracelens_settings {
    size_t size;           /* sizeof(rs_tracelens_settings): needed, so that the struct can grow */
    const char *device;    /* a name of the table of devices, or a file in TraceLens' form, for the roofline
                           columns; NULL: there are none */
    int64_t short_ns;      /* kernels shorter than this make the sheets of short kernels; 0: no such sheets */
    bool collectives_only; /* only the collective report over all ranks (rs_tracelens_report_job_sheets) */
    bool detailed;         /* that with the sheets of single collectives */
    int64_t
        micro_idle_ns; /* gpu_timeline parts idle time into pauses below this and others; 0: it does not */
    bool unlinked;     /* GPU work without a launch in the file counts in gpu_timeline */
    bool recompute; /* what activation checkpointing computes again is in rows of its own, marked in a column
                          is_recompute, in gpu_timeline and the sheets of operators */
} rs_tracelens_settings;

typedef struct rs_tracelens_report rs_tracelens_report;

/* Loads each rank of the job once and makes its sheets. told, which the caller has initialised, receives the
 * problems and notes of all traces. Errors: those of rs_job_run; RS_ERR_USAGE for settings without a size and
 * for an unknown device, with the nearest name. Memory: the ranks in flight and the sheets. */
RS_API rs_status rs_tracelens_report_create(rs_job *job, const rs_tracelens_settings *settings,
                                            rs_tracelens_report **out, rs_result *told, rs_error *err);
RS_API void rs_tracelens_report_free(rs_tracelens_report *report); /* NULL is allowed */

/* Ranks in rising order. */
RS_API size_t rs_tracelens_report_n_ranks(const rs_tracelens_report *report);
RS_API int64_t rs_tracelens_report_rank(const rs_tracelens_report *report, size_t index);
/* The sheets of the rank at that place, in TraceLens' order; a sheet's name is the table's. Sheets without
 * rows are left out. The tables are the report's. */
RS_API const rs_table *const *rs_tracelens_report_sheets(const rs_tracelens_report *report, size_t index,
                                                         size_t *n);
/* The sheets over all ranks, those of TraceLens' generate_multi_rank_collective_report_pytorch: of several ranks,
 * or where only they were asked for. */
RS_API const rs_table *const *rs_tracelens_report_job_sheets(const rs_tracelens_report *report, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
