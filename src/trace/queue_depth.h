/* The length of every stream's queue over time: what queue prints, annotate writes and the critical path
 * consults. */
#ifndef RS_TRACE_QUEUE_DEPTH_H
#define RS_TRACE_QUEUE_DEPTH_H

#include "peer/hta_window.h"
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
/* HTA's rules: certain launching calls only, streams by number alone, equal times as pandas leaves them. */
rs_status rs_queue_of_hta(const rs_trace *trace, const rs_hta_frame *frame, rs_queue_series *out,
                          rs_error *err);

/* Whether HTA counts a host call of this name as a launch. */
bool rs_queue_is_hta_launch(const char *name);

#endif
