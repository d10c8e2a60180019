/* The second reading of a job's files: the text of every event, and whose it is.
 *
 * The first reading has made event columns, told the ranks apart and chosen rows; it keeps no text. Here the
 * files are gone through again in windows, and the rows are counted as the loader counts them. */
#pragma once

#include "rankscope/job.h"

/* Rows [first, end) of a merged file that are one rank's. */
typedef struct rs_reread_run {
    uint32_t first, end;
} rs_reread_run;

/* Where a rank stands. */
typedef struct rs_reread_rank {
    const char *source;        /* the file: the job's own text */
    const rs_reread_run *runs; /* ascending; NULL: the whole file */
    size_t n_runs;
    bool lines; /* the file is a list of events without a frame */
} rs_reread_rank;

typedef struct rs_reread {
    const rs_job *job;
    const rs_reread_rank *ranks;
    size_t n_ranks;
    /* An object among the events: the at-th row of the index-th rank. The text is one that rs_json_skip
     * accepted. */
    rs_status (*event)(void *context, uint32_t index, uint64_t at, const uint8_t *text, size_t n,
                       rs_error *err);
    /* A member of the frame of the file-th file, its events excepted. The key has its quotes. */
    rs_status (*member)(void *context, size_t file, const uint8_t *key, size_t key_length,
                        const uint8_t *text, size_t n, rs_error *err);
    void *context;
} rs_reread;

/* Goes through the files in the order in which the ranks name them. What is damaged and not read to its end
 * is told in the result's problems. RS_ERR_CANCELLED when the job's progress function asks to stop. */
rs_status rs_reread_files(const rs_reread *reread, rs_result *result, rs_error *err);

/* RS_ERR_USAGE when an input can be read only once, which `what` ("fuse") does not get along with. */
rs_status rs_reread_check(const rs_job *job, const char *what, rs_error *err);
