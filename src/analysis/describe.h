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

/* Adds count (as a number) and the seven others as cells; decimals < 0: not rounded. */
void rs_add_description(rs_table *table, const rs_description *d, int decimals);

#define RS_DESCRIPTION_COLUMNS(unit, what)                                                                   \
    {"count", RS_REAL, RS_UNIT_COUNT, "how many " what, NULL}, {"mean", RS_REAL, unit, "mean", NULL},        \
        {"std", RS_REAL, unit, "sample deviation", NULL}, {"min", RS_REAL, unit, "least", NULL},             \
        {"25%", RS_REAL, unit, "quartile", NULL}, {"50%", RS_REAL, unit, "median", NULL},                    \
        {"75%", RS_REAL, unit, "quartile", NULL},                                                            \
    {                                                                                                        \
        "max", RS_REAL, unit, "greatest", NULL                                                               \
    }

#endif
