/* TraceLens' comparison of performance reports: the sheets of its compare_perf_reports_pytorch, with its names, columns
 * and order, of workbooks, folders of CSV files, or sheets that were just made of a trace.
 *
 *     const rs_tracelens_input inputs[] = {{.name = "old", .path = "old.xlsx"}, {.name = "new", .path = "new/"}};
 *     rs_tracelens_comparison *c;
 *     rs_status status = rs_tracelens_compare(inputs, 2, NULL, &c, &told, &err);
 *     const rs_table *const *sheets = rs_tracelens_comparison_sheets(c, &n);
 *     rs_tracelens_comparison_free(c);
 *
 * A row of a report is in one row of a sheet: rows of equal keys are paired one by one, not each with each
 * (docs/differences.md, D1).
 *
 * Stability: the functions are stable; sheets follow TraceLens. */
#ifndef RANKSCOPE_TRACELENS_COMPARE_H
#define RANKSCOPE_TRACELENS_COMPARE_H

#include "rankscope/analysis.h"
#include "rankscope/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_tracelens_input {
    const char *name; /* what its columns are called: unique */
    const char *path; /* a workbook or a folder of CSV files; NULL: the sheets below */
    const rs_table *const *sheets;
    size_t n_sheets;
} rs_tracelens_input;

typedef struct rs_tracelens_comparison rs_tracelens_comparison;

/* Whether a path is a workbook, or a folder with a report's sheets as CSV files. */
RS_API bool rs_tracelens_is_report(const char *path);

/* Compares the others with the first. groups: of gpu_timeline, ops_summary, kernel_summary, ops_all, roofline and
 * all, with commas between; NULL: all. told, which the caller has initialised, receives what a report lacks.
 * Everything is copied. Errors: RS_ERR_USAGE (fewer than two inputs, equal names, unknown groups, a group that is asked
 * for and is in no report), those of reading. O(n log n) in the rows. */
RS_API rs_status rs_tracelens_compare(const rs_tracelens_input *inputs, size_t n, const char *groups,
                                      rs_tracelens_comparison **out, rs_result *told, rs_error *err);
RS_API void rs_tracelens_comparison_free(rs_tracelens_comparison *comparison); /* NULL is allowed */

RS_API const rs_table *const *rs_tracelens_comparison_sheets(const rs_tracelens_comparison *comparison,
                                                             size_t *n);
/* Whether TraceLens hides that column in its workbook; of all columns of the sheet. */
RS_API const bool *rs_tracelens_comparison_hidden(const rs_tracelens_comparison *comparison, size_t sheet);

#ifdef __cplusplus
}
#endif
#endif
