/* What counters measured of a GPU, whoever recorded them: nsys' GPU metrics, samples of PyTorch 2.15 (power, clocks, PM
 * sampling), ranges of Kineto's profiler. One list of measures, so that models and judges need not know names of counters. */
#pragma once

#include "trace/facet.h"

typedef enum rs_measure {
    RS_MEASURE_SM, /* percent of peak, like the next six */
    RS_MEASURE_TENSOR,
    RS_MEASURE_DRAM, /* reads and writes together */
    RS_MEASURE_NVLINK_RX,
    RS_MEASURE_NVLINK_TX,
    RS_MEASURE_PCIE_RX,
    RS_MEASURE_PCIE_TX,
    RS_MEASURE_CLOCK, /* MHz */
    RS_MEASURE_MEMORY_CLOCK,
    RS_MEASURE_POWER_LIMIT, /* W, like the next */
    RS_MEASURE_POWER,
    RS_MEASURE_TEMPERATURE, /* degrees Celsius */
    RS_N_MEASURES
} rs_measure;

/* What a counter of that name measures; RS_N_MEASURES: nothing of the above. *scale: by which its values are multiplied. */
rs_measure rs_measure_of(const char *counter, double *scale);

/* Values times ns, and ns in which the value is known: may be added up. */
typedef struct rs_measured {
    double sum[RS_N_MEASURES], ns[RS_N_MEASURES];
} rs_measured;

/* The mean over time, NaN: unknown. */
double rs_measured_mean(const rs_measured *m, rs_measure what);
void rs_measured_join(rs_measured *into, const rs_measured *more);

/* The samples of one counter of one device. A sample holds until the next one, at most four times as long as is usual, and the
 * value of a range as long as the range. */
typedef struct rs_measure_series {
    int64_t device; /* -1: unknown */
    uint8_t what;   /* rs_measure */
    bool leads;     /* the first of the counters that are added up to the measure: its time counts */
    int64_t period; /* ns: the median time between two samples; 0: they are ranges, or fewer than two */
    size_t n, capacity;
    int64_t *start, *end; /* ns; disjoint, ascending */
    double *value;
    double *sums, *lengths; /* before each sample: value times ns, ns; n + 1 of them */
} rs_measure_series;

typedef struct rs_measures {
    rs_measure_series *series;
    size_t n, capacity;
} rs_measures;

extern const rs_facet rs_facet_measures;
rs_status rs_trace_measures(rs_trace *trace, const rs_measures **out, rs_error *err);

/* Adds what was measured from start to end. device -1: of any. O(series log samples). */
void rs_measures_add(const rs_measures *m, int64_t device, int64_t start, int64_t end, rs_measured *into);
