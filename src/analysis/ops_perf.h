/* ops --perf: what operators compute and move, in the rows and numbers of roofline. */
#pragma once

#include "analysis/plan.h"
#include "analysis/roofline_rank.h"

extern const rs_plan_table rs_ops_perf_table, rs_ops_coverage_table;

/* What it reads of a trace beside what ops reads anyway. */
uint64_t rs_ops_perf_columns(void);
/* One rank's rows, the first top of them (0: all), and its line of coverage, which counts them all. */
rs_status rs_ops_perf_add(const rs_run *run, int64_t rank, const rs_roof_rank *p, size_t top, rs_table *perf,
                          rs_table *coverage, rs_result *result, rs_error *err);
