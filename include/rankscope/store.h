/* What is kept of traces that were read (docs/store.md): looking at it, checking it, removing it, filling it.
 * Experimental: the calls may change. */
#ifndef RANKSCOPE_STORE_H
#define RANKSCOPE_STORE_H

#include "rankscope/analysis.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rs_store_task {
    RS_STORE_LIST,   /* every entry */
    RS_STORE_VERIFY, /* reads every byte, removes what can never be used again, and lists that */
    RS_STORE_DROP    /* removes entries and lists them */
} rs_store_task;

/* One table, a row an entry: what, of which file, its state, bytes, hours since it was used. */
RS_API extern const rs_table_spec *const rs_store_tables[1];

/* Does that to a folder. paths: only entries of these files, or of files in these folders; n_paths 0: all. A folder
 * that is not there has no entries. result is filled; the caller clears it in any case. Other files of the folder are
 * left alone. */
RS_API rs_status rs_store_do(const char *folder, rs_store_task task, const char *const *paths, size_t n_paths,
                             rs_result *result, rs_error *err);

typedef struct rs_job rs_job; /* rankscope/job.h */

/* Reads every file of a job with all known arguments and keeps its events in the store of the job's settings, so that
 * no question to it reads the text again. RS_ERR_USAGE: the job has no store. */
RS_API rs_status rs_job_build_store(rs_job *job, rs_result *result, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
