/* The bandwidth of copies in use over time: what bandwidth prints and annotate writes. */
#pragma once

#include "analysis/plan.h"

/* One copy. */
typedef struct rs_copy {
    int64_t start, end, pid, bytes; /* bytes: -1 when unknown */
    double gbps;
    uint32_t name; /* of its kind, in the pool */
} rs_copy;

/* A copy begins or ends. */
typedef struct rs_copy_point {
    int64_t ns, pid;
    double change, in_use; /* GB/s; in_use: from ns on */
    int running;           /* +1 begins, -1 ends */
    uint32_t name;         /* of its kind, in the pool */
    uint32_t order;        /* all begins in row order, then all ends; or as rules sort them */
    bool settled;          /* no point of the kind with the same time comes after it */
} rs_copy_point;

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

/* The copies of a rank. */
typedef struct rs_copies {
    rs_copy *items;
    size_t n;
    rs_copy_point *points; /* 2 n, by name, then time, then order */
} rs_copies;

/* Under the run's policy, in the relations' scratch memory. rules: NULL: our own. */
rs_status rs_copies_of(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_relations *out,
                       rs_copies *copies, rs_error *err);

/* All copies of a kind, by its name. */
typedef struct rs_copy_kind {
    uint32_t name;
    int64_t count, known, unknown, bytes, active, active_known;
    double peak;
    rs_description single;  /* GB/s of each copy */
    rs_description samples; /* GB/s in use wherever it changes and is not zero */
} rs_copy_kind;

/* A change of the bandwidth in use. */
typedef struct rs_copy_change {
    uint32_t name;
    int64_t ns, pid;
    double in_use;
} rs_copy_change;

/* What kinds are added up of: a copy, or a point of the bandwidth in use. The members of the other are unknown. */
typedef struct rs_copy_part {
    uint32_t name;
    int64_t start, end, known_start, bytes;
    double rate, in_use, settled;
} rs_copy_part;

/* Relations of the plans, and their tables. */
enum { RS_BANDWIDTH_SUMMARY, RS_BANDWIDTH_SERIES, RS_BANDWIDTH_TABLES };
extern const rs_aggregate rs_bandwidth_by_kind[10];
extern const rs_order rs_bandwidth_by_name[1];
extern const rs_layout rs_bandwidth_change_layout;
#define RS_BANDWIDTH_KINDS                                                                                   \
    RS_GROUPED(RS_BANDWIDTH_SUMMARY, rs_copy_kind, rs_copy_part, rs_bandwidth_by_kind),                      \
        RS_IN_ORDER(rs_bandwidth_by_name)
#define RS_BANDWIDTH_CHANGES RS_LISTED(RS_BANDWIDTH_SERIES, rs_copy_change, &rs_bandwidth_change_layout)
/* Puts kinds, and with --series changes. */
rs_status rs_bandwidth_put(const rs_run *run, rs_trace *trace, const rs_copy_rules *rules, rs_relations *out,
                           rs_error *err);
