/* A part of a job as a trace of its own.
 *
 *     rs_slice_settings settings = {.size = sizeof settings, .align = true, .under = "forward"};
 *     rs_slicing *slice;
 *     rs_result result;
 *     rs_status status = rs_slice_open(job, &settings, &slice, &result, &err);
 *     if (status == RS_OK) status = rs_slice_write(slice, RS_SLICE_ALL, &sink, &result, &err);
 *     ...
 *     rs_slice_close(slice);
 *     rs_result_clear(&result);
 *
 * Stability: experimental; new settings come at the end of the struct. */
#ifndef RANKSCOPE_SLICE_H
#define RANKSCOPE_SLICE_H

#include "rankscope/job.h"
#include "rankscope/text.h"
#include "rankscope/where.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What lies around the events that were asked for: the events that enclose them, the annotations of their
 * steps. */
typedef enum rs_slice_enclosing {
    RS_SLICE_ENCLOSING_CUT,   /* is shortened to the time of the selected steps or window */
    RS_SLICE_ENCLOSING_WHOLE, /* keeps its times */
    RS_SLICE_ENCLOSING_NONE   /* is left out */
} rs_slice_enclosing;

typedef struct rs_slice_settings {
    size_t size;         /* sizeof(rs_slice_settings): needed, so that the struct can grow */
    const char *where;   /* a condition, as `events --where` takes it; NULL: all */
    const char *streams; /* GPU work of these streams, "7,20-23"; NULL: all */
    const char *threads; /* what these threads (tid) do, with the GPU work they launch: "12,14"; NULL: all */
    const char *categories; /* only these, separated by commas; NULL: all */
    const char *without;    /* not these; NULL: none */
    const char *name;       /* only events whose name contains it; NULL: all */
    const char *under; /* only what lies in an event of this name, with the GPU work launched there, or for
                               which this condition holds; NULL: all */
    rs_slice_enclosing enclosing;
    bool align;    /* of several ranks in one trace: clocks are corrected by the ends of collectives */
    bool left_out; /* the trace tells what was left out, by category */
    /* Names of users, hosts, paths, scripts and of what a user has written are replaced or left out, the same
     * name by the same one everywhere; of arguments and of what files say of themselves only what is known and
     * harmless stays. */
    bool share;
    bool keep_names;  /* with share: those of operators, kernels, annotations, modules stay */
    bool keep_values; /* with share: numbers among the values of operators' inputs stay */
    bool
        perfetto; /* Perfetto's own form (protobuf) instead of JSON, of inputs of any format; not with share */
} rs_slice_settings;

/* The options that users choose these settings by; in Python '-' becomes '_'. Those of share come beside those of
 * slice; its "map" is a file for what rs_slice_map writes, and no setting. Static. */
RS_API const rs_option_spec *rs_slice_options(size_t *n);
RS_API const rs_option_spec *rs_share_options(size_t *n);
/* Puts what was chosen of them into the settings; texts stay the options' own. share: NULL for a slice. output: the
 * name of the trace, whose end may ask for Perfetto's own form; NULL: JSON. */
RS_API void rs_slice_settings_take(const rs_options *given, const rs_options *share, const char *output,
                                   rs_slice_settings *settings);

typedef struct rs_slicing rs_slicing;

/* All ranks in one trace. */
#define RS_SLICE_ALL SIZE_MAX

/* RS_ERR_USAGE when the settings contradict themselves or cannot be read; a cheap test before the job is
 * opened. */
RS_API rs_status rs_slice_check(const rs_slice_settings *settings, rs_error *err);

/* The first reading of a job that was not asked anything yet: which events of each rank the slice holds. The
 * job's ranks, steps and window select, the settings pick among that. Beside what is picked a slice holds what
 * it needs to be understood: the calls that launched GPU work, enclosing events, annotations of steps, arrows
 * between events that are there, records about processes and threads.
 *
 * result gets two tables; clear it either way, and show its notes and problems, after a failure too. Errors:
 * those of rs_job_run; RS_ERR_USAGE when nothing is picked or the settings are wrong; RS_ERR_FORMAT for what is
 * no Kineto trace. The job stays the caller's and must outlive the slice. Memory: the ranks in flight, and two
 * bits an event. */
RS_API rs_status rs_slice_open(rs_job *job, const rs_slice_settings *settings, rs_slicing **out,
                               rs_result *result, rs_error *err);
RS_API void rs_slice_close(rs_slicing *slice); /* NULL is allowed */

/* The ranks, ascending. */
RS_API size_t rs_slice_n_ranks(const rs_slicing *slice);
RS_API int64_t rs_slice_rank(const rs_slicing *slice, size_t i);

/* Writes JSON to the sink, in a second reading of the files it needs: the i-th rank alone, whose events keep
 * every byte but the times of those that are cut; or RS_SLICE_ALL, several ranks as rs_fuse writes them.
 * Problems are added to the result. */
RS_API rs_status rs_slice_write(rs_slicing *slice, size_t i, const rs_sink *sink, rs_result *result,
                                rs_error *err);

/* With share: adds the table of what was removed by all that was written so far to the result. */
RS_API rs_status rs_slice_removed(const rs_slicing *slice, rs_result *result, rs_error *err);
/* With share: writes what stands for what, as CSV. It belongs to whoever made the trace. */
RS_API rs_status rs_slice_map(const rs_slicing *slice, const rs_sink *sink, rs_error *err);

/* The tables of its result: what of each rank is there, and what was left out; with share also what was
 * removed. */
#define RS_N_SLICE_TABLES 2
#define RS_N_SHARE_TABLES 3
RS_API extern const rs_table_spec *const rs_slice_tables[RS_N_SHARE_TABLES];

#ifdef __cplusplus
}
#endif
#endif
