/* What the rest of the library may ask of a job beyond rankscope/job.h: work on every rank that is no row of
 * the registry, and a single file that stays loaded. */
#pragma once

#include "analysis/analysis.h"
#include "rankscope/job.h"

typedef struct rs_each_rank {
    const char *name; /* in messages */
    uint64_t columns; /* RS_COLUMN_BIT(...) of the arguments that rank reads */
    /* Called on any thread; run->context is the context. *value may stay NULL. */
    rs_status (*rank)(const rs_run *run, rs_trace *trace, void **value, rs_error *err);
    void (*free_value)(void *value);
    void *context;
    bool takes_captures; /* it can follow --captures */
    bool judges_window;  /* the caller itself refuses a window in which nothing was selected */
} rs_each_rank;

typedef struct rs_rank_value {
    int64_t rank;
    const char *source; /* the file: the job's */
    void *value;        /* the caller's to free */
} rs_rank_value;

/* Loads every rank of the job once and calls each->rank on it, on as many threads as the job has. *values:
 * those that are not NULL, sorted by rank; freed by the caller with rs_free. Files that cannot be used are
 * told of in problems and notes of the result, which the caller has initialised, as a run of an analysis
 * tells of them; the call fails where that would. */
rs_status rs_job_each_rank(rs_job *job, const rs_each_rank *each, rs_rank_value **values, size_t *n,
                           rs_result *result, rs_error *err);

/* The ranks of the one file of a job. */
typedef struct rs_loaded_file {
    rs_trace *traces; /* their rank is settled, RS_NO_VALUE where nothing tells it */
    size_t n;
    const char *domain_rule;
    rs_problems *problems;
} rs_loaded_file;

/* Loads the one file of a job and keeps it until the job is closed; all that *out points to is the job's. */
rs_status rs_job_load_file(rs_job *job, uint64_t columns, rs_loaded_file *out, rs_error *err);

/* The settings of a job, with the number of threads filled in; the job's. */
const rs_job_settings *rs_job_get_settings(const rs_job *job);
