/* Traces written again with what an analysis says of their events: counter tracks (annotate), the critical
 * path (critical-path with --overlay), frequent sequences (sequences with --overlay). */
#ifndef RANKSCOPE_REWRITE_H
#define RANKSCOPE_REWRITE_H

#include "rankscope/analysis.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_rewrite_settings {
    size_t size;        /* sizeof(rs_rewrite_settings): needed, so that the struct can grow */
    const char *name;   /* the output's: packed if it ends in .gz or .zst; NULL: not packed */
    bool compress;      /* sequences: unmarked events lose their arguments and get short names */
    bool keep_all;      /* critical-path: events off the path stay too */
    uint64_t max_ratio; /* text bytes per compressed byte of the input; 0: 1000 */
} rs_rewrite_settings;

/* Writes one input file of the result (a cell of its table "files") into the sink, event by event as it
 * stands, marks and further events added. Nothing of the text is kept: memory is that of the tables.
 * *truncated (may be NULL) tells that the file breaks off and the output holds what could be read.
 * RS_ERR_USAGE when the result has nothing to write or does not know the file; RS_ERR_IO when the sink
 * failed. The file is read again and must not have changed. Thread-safe on one result. */
RS_API rs_status rs_result_rewrite(const rs_result *result, const char *file,
                                   const rs_rewrite_settings *settings, const rs_sink *sink, bool *truncated,
                                   rs_error *err);

/* Writes the ideal replay of whatif (its table `ideal`) as a Chrome trace: an X event an operation, a process
 * a data rank, the steps end to end. RS_ERR_USAGE for another table. */
RS_API rs_status rs_ideal_trace_write(const rs_table *ideal, const rs_sink *sink, rs_error *err);

/* Writes counter tracks of memory's table `counters` (--counters): a process a rank, a track a device with what is held,
 * active and reserved. Chrome's JSON, or Perfetto's own form if settings->name asks for it (rs_is_perfetto_name). Times
 * are those of the snapshots. RS_ERR_USAGE for another table. */
RS_API rs_status rs_counters_write(const rs_table *counters, const rs_rewrite_settings *settings,
                                   const rs_sink *sink, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
