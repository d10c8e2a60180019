/* The drift of one clock against another, from bounds on their distance at many moments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At the moment `at` the distance of the two clocks is in [low, high]; ns. */
typedef struct rs_clock_bound {
    int64_t at, low, high;
} rs_clock_bound;

/* The least and the greatest slope of a straight line that passes every bound, exactly. items: by `at`.
 * scratch: room for n numbers. false when n < 2, when a side is open, or when no line passes. O(n log n). (B.
 * Poirier, R. Roy, M. Dagenais: Accurate offline synchronization of distributed traces.) */
bool rs_clock_slopes(const rs_clock_bound *items, size_t n, size_t *scratch, double *least, double *greatest);
