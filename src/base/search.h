/* Binary search. */
#pragma once

#include <stddef.h>

/* Sets the variable `at` (a size_t) to the first of `n` places at which `is_before`, an expression over `at`, no longer
 * holds, or to n. It must hold before some place and at no later one. O(log n). The step whose start is not below a time:
 *
 *     size_t at;
 *     RS_SEARCH(at, n_steps, steps[at].start < time); */
#define RS_SEARCH(at, n, is_before) RS_SEARCH_BETWEEN(at, 0, n, is_before)

/* The same among the places from `from` to below `to`. */
#define RS_SEARCH_BETWEEN(at, from, to, is_before)                                                           \
    do {                                                                                                     \
        size_t rs_low = (from), rs_high = (to);                                                              \
        while (rs_low < rs_high) {                                                                           \
            (at) = rs_low + (rs_high - rs_low) / 2;                                                          \
            if (is_before)                                                                                   \
                rs_low = (at) + 1;                                                                           \
            else                                                                                             \
                rs_high = (at);                                                                              \
        }                                                                                                    \
        (at) = rs_low;                                                                                       \
    } while (0)
