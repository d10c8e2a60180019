/* Sets of whole numbers written as "0,3,8-15". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rankscope/status.h"

typedef struct rs_span {
    int64_t first, last;
} rs_span;

typedef struct rs_ranges {
    rs_span *items; /* ascending, disjoint, not touching */
    size_t n, capacity;
} rs_ranges;

/* Parses; spaces around commas are allowed, order and overlaps do not matter. RS_ERR_USAGE says what is
 * wrong. out is empty on failure; clear it with rs_ranges_clear. */
rs_status rs_ranges_parse(const char *text, rs_ranges *out, rs_error *err);
bool rs_ranges_has(const rs_ranges *ranges, int64_t value);
void rs_ranges_clear(rs_ranges *ranges);

/* A run of digits as a number; *end is the place after it. false when there is none or it exceeds int64. */
bool rs_parse_whole(const char *text, int64_t *value, const char **end);
/* A size in bytes: 4096, 512M, 4GiB; suffixes K, M, G, T of 1024. false when it is none, or 0. */
bool rs_parse_size(const char *text, int64_t *bytes);
