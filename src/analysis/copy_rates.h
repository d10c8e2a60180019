/* The bandwidth in use over time: what bandwidth prints and annotate writes. */
#ifndef RS_ANALYSIS_COPY_RATES_H
#define RS_ANALYSIS_COPY_RATES_H

#include "analysis/analysis.h"
#include "analysis/describe.h"
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

/* One copy. */
typedef struct rs_copy {
    int64_t start, end, pid, bytes; /* bytes: -1 when unknown */
    double gbps;
    uint32_t kind;
} rs_copy;

/* A copy begins or ends. */
typedef struct rs_copy_point {
    int64_t ns, pid;
    double change, in_use; /* GB/s */
    int running;           /* +1 begins, -1 ends */
    uint32_t kind;         /* into kinds */
    uint32_t order;        /* all begins in row order, then all ends; or as rules sort them */
} rs_copy_point;

typedef struct rs_copy_kind {
    char *name; /* in the arena */
    int64_t count, bytes, active, active_known, unknown;
    double peak;
    rs_description single; /* GB/s of each copy */
    rs_description samples;
} rs_copy_kind;

typedef struct rs_bandwidth {
    rs_arena arena;
    rs_copy_kind *kinds; /* by name */
    size_t n_kinds, kinds_capacity;
    rs_copy_point *points; /* by kind, then time; kept with --series only */
    size_t n_points, points_capacity;
} rs_bandwidth;

/* What a peer does otherwise. */
typedef struct rs_copy_rules {
    /* The part of a name that tells the kind of copy; returns its length. NULL: all of it. */
    size_t (*cut_name)(const char *name, const char **out);
    /* A copy's rate and bytes; its gbps is what the row says, 0 when it says nothing. */
    void (*measure)(const rs_events *e, uint32_t row, bool has_rate, rs_copy *copy);
    /* Sets `order` of all points; NULL: begins before ends, by row. false when out of memory. */
    bool (*order)(rs_copy_point *points, size_t n);
    bool empty_is_zero; /* where no copy runs nothing is in use, whatever adding left over */
} rs_copy_rules;

enum { RS_BANDWIDTH_SUMMARY, RS_BANDWIDTH_SERIES, RS_BANDWIDTH_TABLES };

extern const rs_layout rs_bandwidth_layout;
rs_status rs_bandwidth_make(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules,
                            rs_bandwidth **out, rs_error *err);
/* Drops the points unless they are to be printed. */
void rs_bandwidth_drop_series(const rs_run *run, rs_bandwidth *p);
void rs_bandwidth_free(void *partial);

/* Under the run's policy. rules: NULL: our own. Release with rs_copy_rates_clear. */
rs_status rs_copy_rates_of(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_copy_rates *out,
                           rs_error *err);
void rs_copy_rates_clear(rs_copy_rates *rates);

#endif
