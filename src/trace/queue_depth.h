/* The length of every stream's queue over time: what queue prints, annotate writes and the critical path
 * consults. */
#pragma once

#include "base/interval.h"
#include "trace/trace.h"

typedef struct rs_queue_sample {
    int64_t ns;
    int64_t device, stream, pid, tid; /* of the work */
    int64_t length;                   /* from ns on */
    uint32_t row;                     /* the launch or the work */
    int8_t change;                    /* +1 launch, -1 start */
} rs_queue_sample;

/* By stream (device, then number), then time; launches before starts where times are equal. */
typedef struct rs_queue_series {
    rs_queue_sample *items;
    size_t n, capacity;
} rs_queue_series;

void rs_queue_series_clear(rs_queue_series *series);

/* Every piece of linked work waits from its launch's start to its own. */
rs_status rs_queue_of(const rs_trace *trace, const rs_work *work, rs_queue_series *out, rs_error *err);

/* To make one by other rules: a sample after the others, and all of them, which order[] puts by time, by
 * stream without touching that order, with their lengths. false when out of memory. */
bool rs_queue_add(rs_queue_series *series, rs_queue_sample sample);
bool rs_queue_put_by_stream(rs_queue_series *series, const rs_keyed *order);
