/* HTA's tables of names: every name while there are few, else the largest and "others". */
#pragma once

#include "analysis/plan.h"

/* A name and its durations in ns. */
typedef struct rs_hta_named {
    uint32_t name;
    rs_moments time;
    rs_class class;
    bool keep; /* never folded */
} rs_hta_named;

typedef struct rs_hta_row {
    uint32_t name;
    double sum, max, min, std, mean; /* us */
    uint8_t class;                   /* rs_class */
    int64_t rank;
} rs_hta_row;

/* The five numbers of a row, as HTA's columns. */
#define RS_HTA_FOLD_CELLS(CELL, total, what)                                                                 \
    CELL(OF(rs_hta_row, sum), "sum (us)", REAL, US, total, NULL)                                             \
    CELL(OF(rs_hta_row, max), "max (us)", REAL, US, "longest; of totals when HTA folded " what, NULL)        \
    CELL(OF(rs_hta_row, min), "min (us)", REAL, US, "shortest; of totals when HTA folded " what, NULL)       \
    CELL(OF(rs_hta_row, std), "stddev", REAL, US, "standard deviation; of totals when HTA folded " what,     \
         NULL)                                                                                               \
    CELL(OF(rs_hta_row, mean), "mean (us)", REAL, US, "mean; of totals when HTA folded " what, NULL)

/* Puts the rows of one rank and class into a relation; items stand by time, longest first. */
void rs_hta_fold(const rs_hta_named *items, size_t n, int64_t rank, double ratio, size_t top,
                 rs_relations *out, unsigned at);
