/* HTA's tables of names: every name while there are few, else the largest and "others". */
#ifndef RS_PEER_HTA_FOLD_H
#define RS_PEER_HTA_FOLD_H

#include "base/stats.h"
#include "trace/trace.h"

/* A name and its durations in ns; names are borrowed. */
typedef struct rs_hta_named {
    const char *name;
    rs_moments time;
    rs_class class;
    bool keep; /* never folded */
} rs_hta_named;

typedef struct rs_hta_row {
    const char *name;
    double sum, max, min, std, mean; /* us */
    rs_class class;
    int64_t rank;
} rs_hta_row;

typedef struct rs_hta_rows {
    rs_hta_row *items;
    size_t n, capacity;
} rs_hta_rows;

/* The five numbers of a row, as HTA's columns. */
#define RS_HTA_FOLD_CELLS(CELL, total, what)                                                                 \
    CELL(OF(rs_hta_row, sum), "sum (us)", REAL, US, total, NULL)                                             \
    CELL(OF(rs_hta_row, max), "max (us)", REAL, US, "longest; of totals when HTA folded " what, NULL)        \
    CELL(OF(rs_hta_row, min), "min (us)", REAL, US, "shortest; of totals when HTA folded " what, NULL)       \
    CELL(OF(rs_hta_row, std), "stddev", REAL, US, "standard deviation; of totals when HTA folded " what,     \
         NULL)                                                                                               \
    CELL(OF(rs_hta_row, mean), "mean (us)", REAL, US, "mean; of totals when HTA folded " what, NULL)

/* Appends the rows of one rank and class; items stand by time, longest first. false when out of memory. */
bool rs_hta_fold(const rs_hta_named *items, size_t n, int64_t rank, double ratio, size_t top,
                 rs_hta_rows *out);

#endif
