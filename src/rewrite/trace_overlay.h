/* What the tables of a result add to the traces they were made from: counter tracks, the critical path's
 * marks and arrows, the marks of frequent sequences. */
#pragma once

#include "rewrite/trace_writer.h"
#include "rankscope/analysis.h"

/* Writes the trace of source again, with what the result's tables say of the ranks in it (annotate's
 * "counter_events", critical-path's "overlay", sequences' "marks": whichever there is). compress: events that
 * are not marked lose their arguments and get short names ("marks" only). */
typedef struct rs_overlay {
    const rs_result *result;
    const int64_t *ranks; /* those read from this file */
    size_t n_ranks;
    bool compress; /* "marks": unmarked events lose their arguments and get short names */
    bool keep_all; /* "overlay": events off the path stay too */
} rs_overlay;

/* Whether the result has a table that rs_overlay_write can use. */
bool rs_overlay_applies(const rs_result *result);
rs_status rs_overlay_write(rs_source *source, const rs_overlay *overlay, rs_writer *out, bool *truncated,
                           rs_error *err);
