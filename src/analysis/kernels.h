/* What kernels knows of a rank, also for rows of peers. */
#ifndef RS_ANALYSIS_KERNELS_H
#define RS_ANALYSIS_KERNELS_H

#include "analysis/analysis.h"
#include "base/stats.h"

enum { RS_KERNELS_BY_NAME, RS_KERNELS_BY_TYPE, RS_KERNELS_TABLES, RS_KERNELS_BY_KIND = RS_KERNELS_TABLES };

typedef struct rs_kernel {
    const char *name; /* in the partial's arena */
    uint32_t id;      /* while the trace is there */
    rs_class class;
    rs_moments time; /* ns */
} rs_kernel;

typedef struct rs_kernels {
    rs_arena names;
    rs_kernel *items; /* by time, then name, then class */
    size_t n, capacity;
    int64_t together[8]; /* ns of each combination: 1 computation, 2 communication, 4 memory */
} rs_kernels;

extern const rs_layout rs_kernels_layout;

/* quantum: every piece of time together is cut to whole multiples of it, in ns. No partial without GPU work.
 */
rs_status rs_kernels_rank(const rs_run *run, rs_trace *trace, int64_t quantum, void **partial, rs_error *err);
void rs_kernels_free(void *partial);

/* The kinds of a combination, each by its name, with joint between. */
const char *rs_kernels_type(unsigned mask, const char *const names[3], const char *joint, char out[128]);

#endif
