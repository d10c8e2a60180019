/* Several ranks as one trace that a viewer opens.
 *
 *     rs_fuse_settings settings = {.size = sizeof settings, .align = true, .max_events = 200000};
 *     rs_result result;
 *     rs_status status = rs_fuse(job, &settings, &sink, &result, &err);
 *     ...
 *     rs_result_clear(&result);
 *
 * Stability: stable; new settings come at the end of the struct. */
#ifndef RANKSCOPE_FUSE_H
#define RANKSCOPE_FUSE_H

#include "rankscope/job.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_fuse_settings {
    size_t size;            /* sizeof(rs_fuse_settings): needed, so that the struct can grow */
    const char *categories; /* only these, separated by commas; NULL: all */
    const char *without;    /* not these; NULL: none */
    bool align; /* clocks are corrected by the ends of collectives, not only by baseTimeNanoseconds */
    uint64_t max_events; /* about that many events of all ranks, the most telling ones; 0: all */
    const char *clocks;  /* with align: "ends" (NULL, too), "likely", "certain": as of the command clocks */
    bool perfetto; /* Perfetto's own form (protobuf) instead of JSON; inputs may be of any format then */
} rs_fuse_settings;

/* Writes one trace of all ranks of a job that was not asked anything yet. Its --ranks and --steps select.
 *
 * Reads the job's inputs twice: once for what tells ranks, identifiers and clocks, once to copy the events,
 * one file after another, so that no more than the ranks in flight are ever in memory. Writes JSON to the
 * sink. result gets one table, a row a rank; clear it either way.
 *
 * Identifiers of every kind (processes, flows, correlations, External ids, sequence numbers, ...) of the n-th
 * rank are moved by n times a power of ten of the kind, so that the old one can still be read off; every
 * event tells its rank in args.rank; processes are named and ordered by rank; what each file said of itself
 * stands under "rankscope".
 *
 * With max_events events are taken in this order, of each kind the longest first, until the next would be too
 * many: records about processes and threads and the steps (always), GPU work with its launches and the
 * arrows between them, annotations, host events, Python functions, the rest. What is left out is told in the
 * result's notes: for one kind a duration, the same on every rank. The job's steps leave out what belongs to
 * no wanted step.
 *
 * The result's notes and problems are the caller's to show, after a failure too. Errors: those of rs_job_run;
 * RS_ERR_FORMAT for a trace that is no Kineto trace, or standard input, which cannot be read twice;
 * RS_ERR_USAGE for settings without a size; RS_ERR_IO when the sink fails. Time: two readings of the inputs.
 * Memory: the ranks in flight, and two bytes an event with max_events. */
RS_API rs_status rs_fuse(rs_job *job, const rs_fuse_settings *settings, const rs_sink *sink,
                         rs_result *result, rs_error *err);

/* Whether a file's name asks for Perfetto's form: .pftrace, .perfetto-trace, perhaps with .gz. */
RS_API bool rs_is_perfetto_name(const char *name);

/* The table of its result: a row a rank, with its shift, what distance of its clock remains, the interval that
 * its clock lies in, and events kept and left out. */
RS_API extern const rs_table_spec *const rs_fuse_tables[1];

#ifdef __cplusplus
}
#endif
#endif
