/* ops --host: where the host's own time goes, by the names of operators and annotations. */
#pragma once

#include "analysis/plan.h"

/* Relations of ops. */
enum {
    RS_OPS_KINDS,
    RS_OPS_BY_OP,
    RS_OPS_BY_CATEGORY,
    RS_OPS_BY_ARGS,
    RS_OPS_COUNTS,
    RS_OPS_HOST,
    RS_OPS_PERF,
    RS_OPS_ACROSS
};

/* By own time, the greatest first; then by total, then by name. */
typedef struct rs_host_op {
    uint32_t name;
    int64_t count, total, self;
} rs_host_op;

/* Puts those of the selected events into a relation, in any order. */
rs_status rs_host_ops_put(rs_trace *trace, rs_relations *out, unsigned at, rs_error *err);

extern const rs_order rs_host_ops_order[3];
extern const rs_layout rs_host_ops_layout;
extern const rs_plan_table rs_host_ops_table;
