/* A labelled directory of rank files: what was read and what it comes to. */
#pragma once

#include "job/job.h"
#include "metrics/series.h"
#include "rankscope/metrics.h"

/* What percentiles are taken of. */
enum { RS_Q_STEP, RS_Q_COMPUTE, RS_Q_COMM, RS_Q_EXPOSED, RS_Q_OVERLAP, RS_Q_IDLE, RS_N_Q };
extern const char *const rs_quantity_names[RS_N_Q];

typedef struct rs_percentiles {
    double mean, p50, p90, p99, max;
} rs_percentiles;

/* The numbers that runs are compared by. */
typedef enum rs_metric {
    RS_M_STEP,
    RS_M_COMPUTE,
    RS_M_COMM,
    RS_M_EXPOSED,
    RS_M_OVERLAP,
    RS_M_IDLE,
    RS_M_OVERLAP_RATIO,
    RS_M_HIDDEN_SHARE,
    RS_M_COMPUTE_SHARE,
    RS_M_IDLE_SHARE,
    RS_M_LOSS,
    RS_M_STRAGGLER,
    RS_N_METRICS
} rs_metric;

typedef struct rs_metric_info {
    const char *name, *unit;
    int better; /* -1: lower, 1: higher, 0: neither by itself */
} rs_metric_info;
extern const rs_metric_info rs_metric_infos[RS_N_METRICS];

/* A metric of sums; NaN when it is unknown. Not for RS_M_STRAGGLER. */
double rs_metric_of(const rs_sums *sums, rs_metric metric);

typedef struct rs_rank_report {
    double median_step, median_compute, straggler_index; /* NaN: unknown */
} rs_rank_report;

/* Steps that took much longer than the others. */
typedef struct rs_dip {
    int64_t first_step, last_step;
    size_t n_steps;
    double median_ms, ratio; /* of its steps; over the median of all */
    double smi[RS_N_SMI];    /* mean of the readings in it; NaN without */
} rs_dip;

/* What `metrics --traces` found for a rank. */
typedef struct rs_trace_report {
    int64_t rank, steps;
    int64_t total_ns, compute_ns, comm_ns, overlap_ns, idle_ns;
    size_t n_matched; /* steps beside which a record was set */
    bool by_number;   /* ... by ProfilerStep's number; else by order */
} rs_trace_report;

/* A record and the training step of the trace that is the same iteration. Milliseconds, by RS_OF_. */
typedef struct rs_step_pair {
    int64_t rank, step, trace_step;
    bool by_number;
    double recorded[RS_N_OF], traced[RS_N_OF];
} rs_step_pair;

/* A collective of a process group in the traces, over all ranks. */
typedef struct rs_exposed {
    char *collective, *group, *description; /* the last two NULL where they were not recorded */
    int64_t n_ranks, count, time_ns, exposed_ns;
} rs_exposed;

typedef struct rs_dataset {
    char *label, *directory;
    rs_series *series; /* by rank */
    size_t n_series, capacity;
    uint64_t count, used;
    int64_t world_size;
    rs_sums sums; /* after warm-up, all ranks */
    rs_percentiles percentiles[RS_N_Q];
    rs_rank_report *ranks; /* by series */
    double straggler_index;
    int64_t straggler_rank;     /* -1: none */
    double noise[RS_N_METRICS]; /* standard error of each metric within the run; NaN: unknown */
    rs_dip *dips;
    size_t n_dips, dips_capacity;
    double median_step; /* over steps, of the median over ranks */
    double smi_outside[RS_N_SMI];
    bool has_smi;
    rs_trace_report *traces;
    size_t n_traces;
    const char *trace_reason; /* why there are none */
    rs_step_pair *pairs;      /* by rank, then as the trace has them */
    size_t n_pairs, pairs_capacity;
    char **unmatched; /* a line for each rank of which something was not matched */
    size_t n_unmatched, unmatched_capacity;
    rs_exposed *exposed; /* most exposed time first */
    size_t n_exposed, exposed_capacity;
} rs_dataset;

struct rs_metrics {
    rs_metrics_settings settings;
    rs_dataset *datasets;
    size_t n, capacity;
    size_t reference, candidate; /* SIZE_MAX: no comparison */
};

void rs_dataset_clear(rs_dataset *dataset);
/* Lists the rank files of the directory into series. Defects of names go to problems. */
rs_status rs_dataset_scan(rs_dataset *dataset, bool aorta, rs_problems *problems, rs_error *err);
/* Everything beyond sums. */
rs_status rs_dataset_report(rs_dataset *dataset, rs_error *err);
rs_status rs_dataset_dips(rs_dataset *dataset, rs_error *err);
/* Per step, the same from the torch profiler's kernels; rs_dataset.traces. */
rs_status rs_dataset_traces(rs_dataset *dataset, unsigned jobs, rs_problems *problems, rs_error *err);

/* Sets the records of each rank next to the steps of its trace; rs_dataset.pairs. ranks: what
 * rs_metrics_by_steps made of them, in the order of rs_dataset.traces. */
rs_status rs_dataset_align(rs_dataset *dataset, const rs_rank_value *ranks, rs_error *err);

/* Quantiles (linear interpolation) of values, which are reordered. qs ascending. NaN for none. */
void rs_select_quantiles(double *values, size_t n, const double *qs, size_t n_qs, double *out);

/* One row of the comparison. It is judged as regress judges: steps of one run do not say how much equal runs
 * differ, so that two runs are undecided unless the settings know that. */
typedef struct rs_comparison {
    double reference, candidate, difference, ratio; /* NaN: unknown */
    double worse_percent;                           /* > 0: the candidate is worse; NaN without a direction */
    double noise;                                   /* standard error of the difference; NaN: unknown */
    int beyond_noise;                               /* 1, 0, -1 unknown */
    const char *verdict;
} rs_comparison;
rs_comparison rs_metrics_compared(const rs_metrics *metrics, rs_metric metric);
double rs_dataset_metric(const rs_dataset *dataset, rs_metric metric);
/* The collective with most exposed time on average; -1 when there is none. */
int rs_dataset_dominant(const rs_dataset *dataset);
extern const char *const rs_collective_names[RS_N_COLLECTIVES];
