/* Overlap metrics: what each rank's rank_R_metrics.jsonl tells about computation and communication, summed up
 * and compared between runs. docs/metrics.md defines every number. */
#ifndef RANKSCOPE_METRICS_H
#define RANKSCOPE_METRICS_H

#include "rankscope/analysis.h"
#include "rankscope/job.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RS_METRICS_WARMUP 5 /* records of each rank that are left out by default */

typedef struct rs_metrics_settings {
    size_t size;         /* sizeof(rs_metrics_settings): needed, so that the struct can grow */
    bool aorta;          /* AORTA's numbers: stored overlap, every run of a file, its keys only */
    int64_t skip_warmup; /* records of each rank's run; a run of at most that many keeps all */
    unsigned jobs;       /* worker threads; 0: one for each core */
    bool traces;         /* read torch profiler traces in the directories, too */
    rs_progress_fn progress;
    void *progress_context;
    /* relative standard deviation of a number over equal runs, known from elsewhere; 0: not known, and then no
     * difference between two runs is called better or worse */
    double between_run_sd;
} rs_metrics_settings;

typedef struct rs_metrics rs_metrics;

RS_API rs_status rs_metrics_create(const rs_metrics_settings *settings, rs_metrics **out, rs_error *err);
RS_API void rs_metrics_free(rs_metrics *metrics); /* NULL is allowed */

/* Adds a directory of rank files under a label; nothing is read yet. The label becomes part of a file's name:
 * RS_ERR_USAGE when it is empty, repeated, holds a slash or a control character, or is "." or ".." or begins
 * with "..". Both texts are copied. */
RS_API rs_status rs_metrics_add(rs_metrics *metrics, const char *label, const char *directory, rs_error *err);

/* Names the two labels to compare. RS_ERR_USAGE for one that was not added (it says which there are). */
RS_API rs_status rs_metrics_compare(rs_metrics *metrics, const char *reference, const char *candidate,
                                    rs_error *err);

/* Reads all files, ranks in parallel. problems receives what was wrong with them, on failure too; its notes
 * cost no exit code. RS_ERR_FORMAT when a label is left without a usable record. */
RS_API rs_status rs_metrics_read(rs_metrics *metrics, rs_problems *problems, rs_error *err);

/* After rs_metrics_read: the tables datasets, comparison, ranks, percentiles, collectives, dips, traces,
 * steps and exposed, in that order. result is overwritten; the caller clears it. */
RS_API rs_status rs_metrics_result(rs_metrics *metrics, rs_result *result, rs_error *err);
RS_API const rs_table_spec *const *rs_metrics_tables(size_t *n);
/* Whether --fail-on EXPR can be answered under the settings; the text is read again by rs_metrics_gate. */
RS_API rs_status rs_metrics_gate_check(const char *text, const rs_metrics_settings *settings, bool compared,
                                       rs_error *err);
/* Sets result->found and notes the row when rows of comparison or, for columns it does not have, of datasets
 * meet the expression. */
RS_API rs_status rs_metrics_gate(const char *text, rs_result *result, rs_error *err);

/* summary.json. */
RS_API rs_status rs_metrics_summary(const rs_metrics *metrics, const rs_sink *sink, rs_error *err);

RS_API size_t rs_metrics_count(const rs_metrics *metrics); /* labels */
RS_API const char *rs_metrics_label(const rs_metrics *metrics, size_t index);
/* Draws a label's timeline as a PNG file (written in place, not atomically). RS_ERR_USAGE when this build has
 * no plotting library. Not thread-safe: the plotting library is not. */
RS_API rs_status rs_metrics_plot(const rs_metrics *metrics, size_t index, const char *path, rs_error *err);
/* Whether this build can draw. */
RS_API bool rs_metrics_can_plot(void);

#ifdef __cplusplus
}
#endif
#endif
