/* A run as the comparison sees it. */
#pragma once

#include "base/strings.h"
#include "rankscope/regress.h"

typedef enum rs_run_phase { RS_RUN_SETTLED, RS_RUN_WARM_UP, RS_RUN_OUTLIER } rs_run_phase;

/* A step of all ranks. */
typedef struct rs_run_step {
    int64_t number;
    int64_t sum; /* ns: of the ranks' own lengths; by job: of the job's step */
    uint8_t phase;
} rs_run_step;

/* What time of the settled steps went to, over all ranks. Texts are the side's. */
typedef struct rs_run_part {
    uint32_t part, name;
    uint32_t operator_name, phase, group; /* of the path; 0 is none */
    int64_t sum;                          /* ns */
    int64_t count; /* pieces of work, links of the path; of kinds of time without pieces the steps */
    int64_t work;  /* of the path: ns of everything of the kind in the steps, on the path or not */
} rs_run_part;

typedef struct rs_run_parts {
    rs_run_part *items; /* by text of part, name, operator, phase, group */
    size_t n, capacity;
    bool known;
} rs_run_parts;

/* A piece of GPU work in the order of the program. */
typedef struct rs_run_token {
    uint32_t name, operator_name; /* texts of the side */
} rs_run_token;

/* The intervals of the ranks' clocks that the path is based on: how many, how many clocks have none, the widest in ns. */
typedef struct rs_run_clocks {
    int64_t n, loose, width;
} rs_run_clocks;

typedef struct rs_one_run {
    char *label;
    int64_t n_ranks;
    int64_t per_step;   /* samples of a step: its ranks, by job 1 */
    rs_run_step *steps; /* by number, those that all ranks have */
    size_t n_steps, steps_capacity;
    size_t n_partial;      /* steps that some ranks have not */
    bool settled;          /* warm-up ends before the middle */
    rs_run_parts parts[2]; /* by rs_regress_method */
    rs_run_clocks clocks;
    char *refused;        /* why there are no parts of the path; NULL */
    rs_run_token *tokens; /* the GPU work of the step that most steps are like */
    size_t n_tokens, tokens_capacity;
    char *mesh; /* sizes of the process groups, ascending, with commas; NULL: not known */
} rs_one_run;

typedef struct rs_replay_run rs_replay_run; /* path.h */

struct rs_regress_side {
    rs_regress_step step;
    bool path; /* parts of the path are wanted */
    rs_strings texts;
    rs_one_run *runs;
    size_t n, capacity;
    rs_replay_run *replay; /* of its first run with parts of the path; NULL: none, as in what was saved */
    size_t replayed;       /* index of that run */
};

/* Some runs of a side, one behind the other. */
typedef struct rs_run_range {
    const rs_regress_side *side;
    size_t from, to;
} rs_run_range;

/* Adds an empty run; NULL when out of memory. */
rs_one_run *rs_side_add(rs_regress_side *side, const char *label);
void rs_run_clear(rs_one_run *run);
/* Adds to a list; false when out of memory. */
bool rs_run_add_part(rs_run_parts *parts, const rs_run_part *part);
/* Brings the parts into their order and adds up what stands twice; false when out of memory. */
bool rs_run_sort_parts(const rs_regress_side *side, rs_run_parts *parts);
/* Sets apart warm-up and outliers. */
rs_status rs_run_settle(rs_one_run *run, rs_error *err);
/* The settled steps: how many there are times ranks, and the sum of their lengths. */
void rs_run_total(const rs_one_run *run, int64_t *samples, int64_t *sum);
/* The step of that number; NULL. */
const rs_run_step *rs_run_step_of(const rs_one_run *run, int64_t number);
