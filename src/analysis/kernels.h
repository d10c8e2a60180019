/* What kernels knows of a rank, also for rows of peers. */
#pragma once

#include "analysis/plan.h"

/* Relations of the plan, and its tables. */
enum { RS_KERNELS_NAMED, RS_KERNELS_TOGETHER, RS_KERNELS_KINDS };
enum { RS_KERNELS_BY_NAME, RS_KERNELS_BY_TYPE, RS_KERNELS_TABLES };

/* All runs of a name and class, by time, then name, then class. */
typedef struct rs_kernel {
    uint32_t name;
    uint8_t class;   /* rs_class */
    rs_moments time; /* ns */
} rs_kernel;

/* How long exactly these kinds of work run: 1 computation, 2 communication, 4 memory. By time, then combination. */
typedef struct rs_kernels_together {
    uint8_t mask;
    int64_t time; /* ns */
} rs_kernels_together;
