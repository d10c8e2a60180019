/* What `summary` knows of one rank, and the sentences it makes of all of them. */
#pragma once

#include "analysis/analysis.h"

/* Time and count of one kernel or operator name. */
typedef struct rs_name_total {
    char *name; /* owned */
    uint8_t class;
    int64_t count, time;
} rs_name_total;

typedef struct rs_rank_summary {
    int64_t span; /* of all events, 0 if none; without what lies between recordings */
    size_t n_steps;
    int64_t mean_step;                                       /* ns, -1 without steps */
    size_t n_host, n_gpu;                                    /* device calls of the host, GPU events */
    int64_t gpu_span;                                        /* first start to last end of GPU work */
    int64_t computation, exposed_comm, exposed_copies, idle; /* these four make gpu_span */
    int64_t communication, gpu_sum; /* union of communication; sum of all durations */
    int64_t host_wait;              /* idle time in which the next work had not even been launched */
    int64_t elsewhere;    /* ... and launching threads were in no GPU call for long (trace/host_gaps.h) */
    int64_t launch_bound; /* host_wait without elsewhere */
    int64_t latency;      /* idle time between that work's launch and its start */
    size_t n_unlinked;
    int64_t unlinked_time;
    int64_t longest_gap, longest_gap_at; /* at: from the rank's first event */
    int64_t mean_kernel, mean_launch;    /* of linked work and its launching calls, -1 without */
    bool on_host;                        /* a rank of a job that has no GPU */
    bool communicates;                   /* ... and has communication on the host */
    int64_t host_waiting;                /* ... its time in communication that no operator hides */
    int64_t data_loading;                /* host time in data loader annotations */
    uint8_t role;                        /* rs_job_role, without ROLE=PATH */
    rs_name_total *kernels, *operators;
    size_t n_kernels, n_operators;
} rs_rank_summary;

rs_status rs_summary_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
void rs_summary_free(void *partial);

/* Fills the findings table: at most five sentences, the judge's first, then own ones by weight. Own sentences are left out
 * where the judge examined their topic. `median`: of the ranks' own times. */
rs_status rs_summary_findings(const rs_run *run, const rs_partial *partials, size_t n, int64_t median,
                              rs_table *findings, rs_error *err);

/* The time a rank needed for itself, without waiting in communication: of its GPU span; of a job that has no
 * GPU, of all that was recorded. */
static inline int64_t rs_summary_own_time(const rs_rank_summary *s)
{
    return s->on_host ? rs_sub_sat(s->span, s->host_waiting) : s->gpu_span - s->exposed_comm;
}

/* Whether that is known: of a rank without GPU work, of which no host's view was taken either, nothing is. */
static inline bool rs_summary_own_known(const rs_rank_summary *s)
{
    return s->n_gpu > 0 || s->on_host;
}
