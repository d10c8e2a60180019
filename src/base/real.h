/* Reals as integers: the one place where that is done outside base/ and text/, as a cast of what lies beyond the range is undefined. */
#ifndef RS_BASE_REAL_H
#define RS_BASE_REAL_H

#include <math.h>
#include <stdint.h>

/* Toward 0; the ends of the range for what lies beyond them, 0 for what is no number. */
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

#endif
