/* Several ranks as one trace that a viewer opens. */
#ifndef RS_REWRITE_FUSE_H
#define RS_REWRITE_FUSE_H

#include "rankscope/job.h"
#include "rankscope/text.h"

typedef struct rs_fuse_settings {
    const char *categories; /* only these, separated by commas; NULL: all */
    const char *without;    /* not these; NULL: none */
    bool align; /* clocks are corrected by the ends of collectives, not only by baseTimeNanoseconds */
    uint64_t max_events; /* about that many events of all ranks, the most telling ones; 0: all */
} rs_fuse_settings;

/* Reads the job's inputs twice: once for what tells ranks, identifiers and clocks, once to copy the events,
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
 * no wanted step. */
rs_status rs_fuse(rs_job *job, const rs_fuse_settings *settings, const rs_sink *sink, rs_result *result,
                  rs_error *err);

extern const rs_table_spec *const rs_fuse_tables[1];

#endif
