/* What is kept of a rank's records, and its sums. */
#pragma once

#include "metrics/record.h"
#include "metrics/smi.h"

/* A sum that does not lose small terms (Neumaier). */
typedef struct rs_exact_sum {
    double sum, rest;
} rs_exact_sum;

static inline double rs_exact_value(const rs_exact_sum *s)
{
    return s->sum + s->rest;
}
void rs_exact_add(rs_exact_sum *into, double value);

/* Sums over records, which add up over ranks. */
typedef struct rs_sums {
    uint64_t n, n_loss;
    rs_exact_sum loss;
    double odd_loss; /* AORTA's rules: NaN and infinities among them, else 0 */
    rs_exact_sum total, compute, comm, overlap, idle;
    rs_exact_sum in_collective[RS_N_COLLECTIVES], hidden_collective[RS_N_COLLECTIVES];
} rs_sums;

void rs_sums_merge(rs_sums *into, const rs_sums *from);

/* The per-record columns, in milliseconds. */
enum { RS_OF_TOTAL, RS_OF_COMPUTE, RS_OF_COMM, RS_OF_OVERLAP, RS_OF_IDLE, RS_N_OF };

/* From this record on, steps count up by one. */
typedef struct rs_step_run {
    size_t index;
    int64_t step;
} rs_step_run;

typedef struct rs_smi_at {
    uint32_t index; /* of the record */
    rs_smi_sample sample;
} rs_smi_at;

/* One rank's file. */
typedef struct rs_series {
    char *file;
    int64_t rank, world_size;
    size_t n, capacity; /* records of the run used (all runs under AORTA's rules) */
    double *of[RS_N_OF];
    rs_step_run *steps;
    size_t n_steps, steps_capacity;
    rs_smi_at *smi;
    size_t n_smi, smi_capacity;
    rs_sums kept;     /* after warm-up */
    rs_sums all;      /* of every record of the run */
    size_t first;     /* the first record after warm-up */
    uint64_t n_runs;  /* runs in the file */
    uint64_t n_older; /* usable records of the runs before */
    bool skipped;     /* nothing usable */
    rs_problems problems;
    rs_status status;
    rs_error error;
} rs_series;

void rs_series_clear(rs_series *series);

/* The step of a record; indexes near those asked before are found at once. */
int64_t rs_series_step(const rs_series *series, size_t index, size_t *hint);

typedef struct rs_series_settings {
    bool aorta;
    int64_t skip_warmup;
    bool (*progress)(void *context, uint64_t more); /* bytes read since the last call; false cancels */
    void *progress_context;
} rs_series_settings;

/* Reads series->file into the rest of it. Defects go to series->problems. */
rs_status rs_series_read(rs_series *series, const rs_series_settings *settings, rs_error *err);
