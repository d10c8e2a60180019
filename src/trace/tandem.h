/* Tandem repeats: stretches of a sequence that stand several times one behind the other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rankscope/status.h"

typedef struct rs_tandem {
    size_t first, period, times; /* token[i] == token[i + period] from first on; times: whole ones */
    uint32_t level;              /* 0: in no other; 1: within one period of another, ... */
} rs_tandem;

/* Maximal repeats of at least `least` tokens that stand at least three times. Where two overlap and neither
 * is within a period of the other, the one that covers less is left out. By first, then longest first. *out
 * is the caller's (rs_free).
 *
 * A run of period p holds windows of any length >= p at distances that are multiples of p and at no other, so
 * for each power of two the next occurrence of each window tells all periods below its length; each run is
 * then walked once. O(n log n). */
rs_status rs_tandem_find(const uint32_t *token, size_t n, size_t least, rs_tandem **out, size_t *n_out,
                         rs_error *err);
