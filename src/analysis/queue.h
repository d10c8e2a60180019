/* What queue knows of a rank, also for rows of peers. */
#ifndef RS_ANALYSIS_QUEUE_H
#define RS_ANALYSIS_QUEUE_H

#include "analysis/analysis.h"
#include "trace/queue_depth.h"

enum { RS_QUEUE_SUMMARY, RS_QUEUE_SERIES, RS_QUEUE_BLOCKED, RS_QUEUE_TABLES };

typedef struct rs_queue_stream {
    int64_t device, stream, launched, max, blocked, first, last;
    int64_t limit;          /* the length at which it counts as full; 0: none was seen */
    double weighted, empty; /* ns */
    bool full;
    rs_description lengths;
} rs_queue_stream;

typedef struct rs_queue {
    rs_queue_stream *streams;
    size_t n_streams, capacity;
    rs_queue_series series; /* kept with --series only */
} rs_queue;

extern const rs_layout rs_queue_layout;

/* How the samples of a rank are added up. */
typedef struct rs_queue_rules {
    const rs_events *events; /* whose calls tell where a queue is full, where no option says it */
    int64_t full;            /* full at this length where no option says it; 0: where launches had to wait */
    bool describe;           /* the samples' lengths, too */
} rs_queue_rules;

/* Adds up p->series by stream, and drops it unless it is to be printed. */
rs_status rs_queue_sum_up(const rs_run *run, rs_queue *p, const rs_queue_rules *rules, rs_error *err);
void rs_queue_free(void *partial);
size_t rs_queue_main_table(const rs_options *options);

#endif
