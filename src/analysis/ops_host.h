/* ops --host: where the host's own time goes, by the names of operators and annotations. */
#ifndef RS_ANALYSIS_OPS_HOST_H
#define RS_ANALYSIS_OPS_HOST_H

#include "analysis/analysis.h"

typedef struct rs_host_op {
    char *name; /* owned */
    int64_t count, total, self;
} rs_host_op;

typedef struct rs_host_ops {
    rs_host_op *items; /* by own time, the greatest first; then by total, then by name */
    size_t n;
} rs_host_ops;

/* Of the selected events. Release with rs_host_ops_clear, also after a failure. */
rs_status rs_host_ops_of(rs_trace *trace, rs_host_ops *out, rs_error *err);
void rs_host_ops_clear(rs_host_ops *ops);
rs_status rs_host_ops_add(const rs_host_ops *ops, int64_t rank, size_t top, rs_table *table, rs_error *err);

extern const rs_layout rs_host_ops_layout;
extern const rs_table_spec rs_host_ops_table;

#endif
