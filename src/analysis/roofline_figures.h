/* What follows from a row's FLOPs, bytes and time: for every command that shows it, so that none contradicts
 * another. */
#pragma once

#include "analysis/roofline_rank.h"

/* Unknown numbers are NaN. */
typedef struct rs_roof_figures {
    bool flops, bytes; /* whether these are known */
    double flops_per_byte, tflops_per_s, gb_per_s;
    rs_least_time bound; /* of one call */
    double efficiency_pct;
} rs_roof_figures;

/* rates: NULL where the device is unknown. */
rs_roof_figures rs_roof_figures_of(const rs_roof_row *row, const rs_rates *rates);

/* Rows added up: all calls. Start with zeros. */
typedef struct rs_roof_total {
    uint64_t count;
    int64_t time, matrix, vector, bytes, bounded, modelled; /* times in ns */
    double bound_us;
} rs_roof_total;

void rs_roof_total_add(rs_roof_total *total, const rs_roof_row *row, const rs_rates *rates);
/* NaN: no call has a bound. */
double rs_roof_total_efficiency(const rs_roof_total *total);

/* a * n, saturating. */
int64_t rs_roof_times(int64_t a, uint64_t n);
/* part / whole; NaN where whole is not positive. */
double rs_roof_ratio(double part, double whole);

/* What the rows do not show of a rank: no work, work without a launch, an unknown device. known: the rates. */
void rs_roof_note(const rs_run *run, int64_t rank, const rs_roof_rank *p, bool known, rs_result *result);
