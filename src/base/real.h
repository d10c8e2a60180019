/* Reals as integers. A cast of a real beyond the integer's range is undefined; these end at its bounds. scripts/rooms holds all of the tree
 * but base/ and text/ to them. */
#pragma once

#include <math.h>
#include <stdint.h>

/* Toward 0. Beyond the range: its nearer bound; NaN: 0. */
static inline int64_t rs_int_of(double x)
{
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x <= -9223372036854775808.0) return INT64_MIN;
    return x == x ? (int64_t)x : 0;
}

/* The nearest, halves away from 0. */
static inline int64_t rs_int_near(double x)
{
    return rs_int_of(round(x));
}
