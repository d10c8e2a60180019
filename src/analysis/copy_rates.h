/* The bandwidth in use over time: what bandwidth prints and annotate writes. */
#ifndef RS_ANALYSIS_COPY_RATES_H
#define RS_ANALYSIS_COPY_RATES_H

#include "analysis/analysis.h"
#include "base/memory.h"

typedef struct rs_copy_rate {
    int64_t ns, pid;
    double gbps;      /* in use from ns on */
    const char *name; /* the kind of copy */
} rs_copy_rate;

/* By name, then time. */
typedef struct rs_copy_rates {
    rs_copy_rate *items;
    size_t n;
    rs_arena names;
} rs_copy_rates;

/* Under the run's policy. Release with rs_copy_rates_clear. */
rs_status rs_copy_rates_of(const rs_run *run, rs_trace *trace, rs_copy_rates *out, rs_error *err);
void rs_copy_rates_clear(rs_copy_rates *rates);

#endif
