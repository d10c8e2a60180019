/* What a device had reserved at the end: how much of each segment is in use, and how much of the rest could go back to
 * the device.
 *
 * Free runs are neighbouring blocks that are not in use, taken together. Releasable is what torch.cuda.empty_cache gives
 * back: a segment without blocks in use; of an expandable one every page (2 MiB, or 20 MiB of large blocks) that is in a
 * free run. What is free and cannot go back is stuck. */
#pragma once

#include "format/snapshot.h"

typedef struct rs_segment_use {
    int64_t reserved, active, allocated; /* rounded bytes; active: pending ones, too */
    int64_t requested;                   /* of active blocks */
    int64_t free, releasable, stuck, largest_free;
    int64_t free_runs, blocks; /* blocks in use */
} rs_segment_use;

rs_segment_use rs_segment_use_of(const rs_snapshot *snapshot, const rs_segment *segment);
/* Adds up, but for the largest. */
void rs_segment_use_add(rs_segment_use *sum, const rs_segment_use *one);

/* Finds the segment that an address is in. */
typedef struct rs_segment_finder {
    const rs_snapshot *snapshot;
    uint32_t *order; /* segments of the device by address */
    size_t n;
} rs_segment_finder;
/* Release with rs_segment_finder_clear, also after a failure. */
rs_status rs_segment_finder_init(rs_segment_finder *f, const rs_snapshot *snapshot, int32_t device,
                                 rs_error *err);
void rs_segment_finder_clear(rs_segment_finder *f);
const rs_segment *rs_segment_at(const rs_segment_finder *f, uint64_t address); /* NULL: none */
