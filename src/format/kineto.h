/* Reads Kineto / Chrome trace JSON into event columns: object form, bare array, NDJSON, concatenated
 * documents, damaged and truncated files. docs/formats.md says what is accepted. */
#pragma once

#include "input/json.h"
#include "input/source.h"
#include "trace/events.h"

typedef struct rs_load_settings {
    uint64_t columns;                /* RS_COLUMN_BIT of the arguments to keep; RS_OTHER_ARGUMENTS */
    uint64_t max_memory;             /* bytes the columns may take; 0: no limit */
    uint64_t max_string;             /* 0: 16 MiB */
    unsigned max_depth;              /* 0: 1024 */
    unsigned records;                /* RS_TAKES_...: the kinds of recording that are wanted; 0: events */
    unsigned threads;                /* for this file; 0 or 1: only the calling one */
    int simd;                        /* rs_job_settings.simd; -1: no learned layouts (tests) */
    bool (*progress)(void *context); /* called about every megabyte; false cancels. May be NULL */
    void *progress_context;
} rs_load_settings;

/* Reads the whole source. The events belong to the caller (rs_events_free). Damage is counted in
 * events->problems, not an error. RS_ERR_FORMAT: the text is no trace at all. */
rs_status rs_kineto_load(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err);
