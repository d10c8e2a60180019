/* Several ranks as one trace that a viewer opens. */
#ifndef RS_TREE_FUSE_H
#define RS_TREE_FUSE_H

#include "rankscope/job.h"
#include "rankscope/render.h"

typedef struct rs_fuse_settings {
    const char *categories; /* only these, separated by commas; NULL: all */
    const char *without;    /* not these; NULL: none */
    bool align; /* clocks are corrected by the ends of collectives, not only by baseTimeNanoseconds */
} rs_fuse_settings;

/* Reads the job's inputs twice: once for what tells ranks, identifiers and clocks, once to copy the events,
 * one file after another, so that no more than the ranks in flight are ever in memory. Writes JSON to the
 * sink. result gets one table, a row a rank; clear it either way.
 *
 * Identifiers of every kind (processes, flows, correlations, External ids, sequence numbers, ...) of the n-th
 * rank are moved by n times a power of ten of the kind, so that the old one can still be read off; every
 * event tells its rank in args.rank; processes are named and ordered by rank; what each file said of itself
 * stands under "rankscope". */
rs_status rs_fuse(rs_job *job, const rs_fuse_settings *settings, const rs_sink *sink, rs_result *result,
                  rs_error *err);

extern const rs_table_spec *const rs_fuse_tables[1];

#endif
