/* The what-if over traces: one job's graph, its references, and the scenarios that are replayed on it. Private to
 * src/analysis/whatif_trace.c, whatif_scenario.c and whatif_units.c. */
#pragma once

#include "analysis/whatif.h"
#include "engine/reference.h"
#include "match/stages.h"

/* Kinds of time that a scenario may be limited to. */
enum {
    RS_SCENARIO_COMPUTE,
    RS_SCENARIO_COMMUNICATION,
    RS_SCENARIO_MEMORY,
    RS_SCENARIO_HOST,
    RS_N_SCENARIO_KINDS
};
extern const char *const rs_scenario_kinds[RS_N_SCENARIO_KINDS];

/* What a scenario changes: all conditions hold. */
typedef struct rs_scenario {
    int64_t rank, role, step, group; /* indices; -1: any */
    int kind;                        /* -1: any */
    const char *host;                /* NULL: any */
    bool links;                      /* transfers; else GPU work and host time */
    const bool *ranks;               /* NULL: any */
} rs_scenario;

/* Changes all. */
#define RS_SCENARIO_ALL                                                                                      \
    {                                                                                                        \
        .rank = -1, .role = -1, .step = -1, .group = -1, .kind = -1                                          \
    }

typedef struct rs_whatif_job {
    const rs_run *run;
    rs_result *result;
    const rs_partial **of; /* by rank index */
    const char **hosts;    /* by rank, owned; NULL: unknown */
    rs_engine e;
    rs_weights recorded;
    rs_reference ref;
    rs_weights work; /* of the scenario that is replayed */
    int64_t *ends;   /* by step_base */
    size_t n_steps;
    int64_t *step_numbers;
    double *steps;                         /* lengths of the steps of the last replay, ns */
    double observed, t, t_ideal, t_repair; /* of the whole job, ns */
    double *gain, *add;                    /* by rank */
    rs_stages stages;
    int64_t *data, n_data; /* by rank: its data rank, -1: unknown; how many there are */
    double transplant;
    rs_whatif_scale *scales;
    size_t n_scales;
    char *scale_block;
} rs_whatif_job;

/* Replays the job with these weights: the length of all its steps in ns, and that of each in job->steps. */
rs_status rs_scenario_replay(rs_whatif_job *job, const rs_weights *weights, double *length, rs_error *err);

/* How long the job takes, in ns, when the scenario's part alone is mended; ranks are mended to what the others take. */
rs_status rs_scenario_mend(rs_whatif_job *job, const rs_scenario *u, double *length, rs_error *err);

/* How long it takes when all is mended but that part. */
rs_status rs_scenario_leave(rs_whatif_job *job, const rs_scenario *u, double *length, rs_error *err);

/* How long it takes when that part's recorded times are multiplied. */
rs_status rs_scenario_scale(rs_whatif_job *job, const rs_scenario *u, double factor, double *length,
                            rs_error *err);

/* Sets job->observed: as recorded, on the aligned clock. */
rs_status rs_scenario_observe(rs_whatif_job *job, rs_error *err);

/* Each step replayed with the next one's times must last as long as that one did: by how much the median and the worst
 * step miss it, as a share. NaN: fewer than four steps. */
rs_status rs_scenario_transplant(rs_whatif_job *job, double *median, double *worst, rs_error *err);

/* The share of the path behind the job's end that no known cause explains. */
rs_status rs_scenario_unexplained(rs_whatif_job *job, double *share, rs_error *err);

/* A length of all steps in ns as us a step. */
double rs_scenario_per_step(const rs_whatif_job *job, double length);

/* Rows of table units: hosts, roles, links, steps. And of table scales: what --scale asks. */
rs_status rs_whatif_put_units(rs_whatif_job *job, rs_error *err);
rs_status rs_whatif_put_scales(rs_whatif_job *job, rs_error *err);
