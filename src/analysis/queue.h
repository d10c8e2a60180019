/* What queue knows of a rank, also for rows of peers. */
#pragma once

#include "analysis/plan.h"
#include "trace/queue_depth.h"

typedef struct rs_queue_stream {
    int64_t device, stream, launched, max, blocked;
    int64_t span;           /* from the first launch to the last start */
    int64_t limit;          /* the length at which it counts as full; 0: none was seen */
    double mean, empty_pct; /* weighted by time; NaN where all is at one moment */
    bool full;
    rs_description lengths;
} rs_queue_stream;

/* Relations of the plans: streams, and with --series samples. */
enum { RS_QUEUE_STREAMS, RS_QUEUE_SAMPLES, RS_QUEUE_RELATIONS };
extern const rs_layout rs_queue_stream_layout, rs_queue_sample_layout;
#define RS_QUEUE_STREAM_ROWS RS_LISTED(RS_QUEUE_STREAMS, rs_queue_stream, &rs_queue_stream_layout)
#define RS_QUEUE_SAMPLE_ROWS RS_LISTED(RS_QUEUE_SAMPLES, rs_queue_sample, &rs_queue_sample_layout)

/* How the samples of a rank are added up. */
typedef struct rs_queue_rules {
    const rs_events *events; /* whose calls tell where a queue is full, where no option says it */
    int64_t full;            /* full at this length where no option says it; 0: where launches had to wait */
    bool describe;           /* the samples' lengths, too */
} rs_queue_rules;

/* Adds the series up by stream; it is released, or becomes the relation of samples. */
rs_status rs_queue_put(const rs_run *run, rs_queue_series *series, const rs_queue_rules *rules,
                       rs_relations *out, rs_error *err);

/* The tables that options choose; --series before --blocked. */
#define RS_QUEUE_SERIES_CHOICE RS_WITH(RS_IS_SET("series"))
#define RS_QUEUE_BLOCKED_CHOICE RS_WITH({.option = "blocked", .unless = "series"})
