/* The summary of a sample that several analyses print: count, mean, spread and quartiles. */
#ifndef RS_ANALYSIS_DESCRIBE_H
#define RS_ANALYSIS_DESCRIBE_H

#include "rankscope/table.h"

typedef struct rs_description {
    size_t n;
    double sum, mean, std, min, p25, p50, p75, max; /* NaN where undefined */
} rs_description;

/* Reorders the values. */
rs_description rs_describe(double *values, size_t n);

/* With every number but the count rounded. */
rs_description rs_description_rounded(const rs_description *d, int decimals);

/* Cells of a record (table/record.h): d is a member of the row that is an rs_description. */
#define RS_DESCRIPTION_CELLS(CELL, row, d, unit, what)                                                       \
    CELL(OF(row, d.n), "count", REAL, COUNT, "how many " what, NULL)                                         \
    CELL(OF(row, d.mean), "mean", REAL, unit, "mean", NULL)                                                  \
    CELL(OF(row, d.std), "std", REAL, unit, "sample deviation", NULL)                                        \
    CELL(OF(row, d.min), "min", REAL, unit, "least", NULL)                                                   \
    CELL(OF(row, d.p25), "25%", REAL, unit, "quartile", NULL)                                                \
    CELL(OF(row, d.p50), "50%", REAL, unit, "median", NULL)                                                  \
    CELL(OF(row, d.p75), "75%", REAL, unit, "quartile", NULL)                                                \
    CELL(OF(row, d.max), "max", REAL, unit, "greatest", NULL)

#endif
