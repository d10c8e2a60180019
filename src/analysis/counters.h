/* What counters knows of a rank, also for rows of peers. */
#pragma once

#include "analysis/analysis.h"
#include "base/interval.h"

typedef struct rs_row_list {
    rs_keyed *items; /* start and row */
    size_t n, capacity;
} rs_row_list;

/* What the ranges are matched with. */
typedef struct rs_counters_rows {
    bool (*is_launch)(const char *name); /* whether a call launches kernels */
    bool runtime_only;                   /* calls of the driver do not count */
    rs_row_list ranges, launches, host;  /* host: operators and launches, by row */
    uint8_t *launching;                  /* by string id: 1 launches, 2 does not, 0 not yet asked */
} rs_counters_rows;

/* Puts a row where it belongs. false when out of memory. */
bool rs_counters_put_row(const rs_events *e, uint32_t row, int64_t start, rs_counters_rows *out);

/* Fills out by rs_counters_put_row. */
typedef rs_status (*rs_counters_collect_fn)(const rs_run *run, rs_trace *trace, rs_counters_rows *out,
                                            rs_error *err);

extern const rs_layout rs_counters_layout;
rs_status rs_counters_rank(const rs_run *run, rs_trace *trace, rs_counters_collect_fn collect, void **partial,
                           rs_error *err);
void rs_counters_free(void *partial);
/* unmatched: ranges stand in the table also where nothing tells what launched them. */
rs_status rs_counters_merge(const rs_partial *partials, size_t n, bool unmatched, rs_result *result,
                            rs_error *err);
