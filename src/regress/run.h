/* A run as the comparison sees it. */
#ifndef RS_REGRESS_RUN_H
#define RS_REGRESS_RUN_H

#include "base/strings.h"
#include "rankscope/regress.h"

typedef enum rs_run_phase { RS_RUN_SETTLED, RS_RUN_WARM_UP, RS_RUN_OUTLIER } rs_run_phase;

/* A step of all ranks. */
typedef struct rs_run_step {
    int64_t number;
    int64_t sum; /* ns: of the ranks' own lengths */
    uint8_t phase;
} rs_run_step;

/* What time of the settled steps went to, over all ranks. */
typedef struct rs_run_part {
    uint32_t part, name; /* texts of the side */
    int64_t sum;         /* ns */
    int64_t count;       /* pieces of work; of kinds of time without pieces the steps in which they occur */
} rs_run_part;

typedef struct rs_one_run {
    char *label;
    int64_t n_ranks;
    rs_run_step *steps; /* by number, those that all ranks have */
    size_t n_steps, steps_capacity;
    size_t n_partial;   /* steps that some ranks have not */
    bool settled;       /* warm-up ends before the middle */
    rs_run_part *parts; /* by text of part, then of name */
    size_t n_parts, parts_capacity;
} rs_one_run;

struct rs_regress_side {
    rs_strings texts;
    rs_one_run *runs;
    size_t n, capacity;
};

/* Adds an empty run; NULL when out of memory. */
rs_one_run *rs_side_add(rs_regress_side *side, const char *label);
/* Adds to a part of the run's, which is made when it is new. */
bool rs_run_add_part(rs_one_run *run, uint32_t part, uint32_t name, int64_t ns, int64_t count);
/* Brings the parts into their order and adds up what stands twice; false when out of memory. */
bool rs_run_sort_parts(const rs_regress_side *side, rs_one_run *run);
/* Sets apart warm-up and outliers. */
rs_status rs_run_settle(rs_one_run *run, rs_error *err);
/* The settled steps: how many there are times ranks, and the sum of their lengths. */
void rs_run_total(const rs_one_run *run, int64_t *samples, int64_t *sum);

#endif
