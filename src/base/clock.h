/* Time that passes, for statistics: never part of a result. */
#pragma once

#include <time.h>

/* Seconds since some fixed moment; only differences mean anything. */
static inline double rs_clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
