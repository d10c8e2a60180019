/* Things in order of time, by lane: "the last launch onto that stream before this moment". */
#pragma once

#include "base/strings.h"

typedef struct rs_lane_entry {
    int64_t time;
    uint32_t lane, value;
} rs_lane_entry;

#define RS_LANE_RECENT 8

/* A lane is told by two numbers (device and stream, thread and stream). All-zero is a valid empty one. */
typedef struct rs_lanes {
    rs_map64 firsts, seconds, pairs;
    size_t n_firsts, n_seconds, n_lanes;
    rs_lane_entry *entries; /* after rs_lanes_finish by lane, then time, then order of adding */
    size_t n, capacity;
    struct rs_lane_recent {
        int64_t first, second;
        uint32_t lane_after;  /* the lane + 1; 0: none yet */
    } recent[RS_LANE_RECENT]; /* pairs come in runs: most need no map */
    uint32_t *begin;          /* n_lanes + 1 offsets */
} rs_lanes;

/* false when out of memory. */
bool rs_lanes_add(rs_lanes *lanes, int64_t first, int64_t second, int64_t time, uint32_t value);
bool rs_lanes_finish(rs_lanes *lanes);
void rs_lanes_clear(rs_lanes *lanes);

/* The lane of a pair, or UINT32_MAX. */
uint32_t rs_lanes_find(const rs_lanes *lanes, int64_t first, int64_t second);
/* Index of the last entry of the lane with time <= t (< t if strictly), SIZE_MAX if there is none. */
size_t rs_lanes_before(const rs_lanes *lanes, uint32_t lane, int64_t t, bool strictly);
/* Index of the first entry with time >= t. */
size_t rs_lanes_after(const rs_lanes *lanes, uint32_t lane, int64_t t);
