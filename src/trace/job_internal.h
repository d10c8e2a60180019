/* The parts of a job. Private to src/trace/job*.c. */
#ifndef RS_TRACE_JOB_INTERNAL_H
#define RS_TRACE_JOB_INTERNAL_H

#include <pthread.h>

#include "analysis/analysis.h"
#include "rankscope/job.h"
#include "trace/kineto.h"
#include "trace/trace.h"

/* One input file. */
typedef struct rs_input {
    char *path;        /* "-": standard input */
    const void *bytes; /* or memory */
    size_t n_bytes;
    int64_t given_rank;  /* RANK=PATH, else RS_NO_VALUE */
    bool from_directory; /* found there: what is no trace is passed over */
    rs_status status;    /* of the last load */
    bool skipped;        /* no trace, passed over */
    uint64_t loaded;     /* columns of the kept events */
    uint64_t kept;       /* bytes that count in the job's kept */
    rs_events *events;   /* while loaded */
    rs_trace *traces;    /* its ranks */
    size_t n_traces;
    const char *domain_rule; /* how they were told apart */
    rs_problems problems;
} rs_input;

struct rs_job {
    rs_input *inputs; /* sorted by path */
    size_t n_inputs, capacity;
    rs_job_settings settings;
    rs_job_stats stats;
    pthread_mutex_t lock;
    uint64_t bytes_done, bytes_total;
    uint64_t kept; /* bytes of events that stay for the next run */
    bool cancelled;
};

/* Turns paths into inputs: RANK=PATH, directories, "-". */
rs_status rs_inputs_resolve(rs_job *job, const char *const *paths, size_t n, rs_error *err);
/* The number behind the last "rank" in a file's name, or RS_NO_VALUE. */
int64_t rs_rank_in_name(const char *path);

/* Reads an input's events and splits them into ranks. Already loaded with enough columns: nothing is done. */
rs_status rs_input_load(rs_job *job, rs_input *input, uint64_t columns, unsigned threads, rs_error *err);
void rs_input_release(rs_input *input);
/* Behind a run: keeps the events for the next one if the settings want it and they fit, else releases them.
 */
void rs_input_keep(rs_job *job, rs_input *input);

/* As rs_job_run, for work that is no row of the registry: context is handed to its functions. */
rs_status rs_job_run_with(rs_job *job, const rs_analysis *analysis, const rs_options *options, void *context,
                          rs_result *result, rs_error *err);

#endif
